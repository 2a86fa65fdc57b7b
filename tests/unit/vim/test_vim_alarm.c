/* Alarms that turn with events. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "vim.h"
#include "vim_alarm.h"
#include "vim_fake.h"

static const struct vim_alarm_turn turns[] = {{"com.example.failed", "red"}, {"com.example.ready", "green"}};
static const struct vim_alarm_spec spec = {.name = "State", .description = "of something", .turns = turns, .turn_count = 2};

static bool was_sent(struct fake_world *w, const char *op, const char *text) {
    return strstr(fake_last(w->fake, op), text);
}

static void each_event_is_an_expression_of_its_own_type(void **state) {
    struct fake_world *w = *state;
    const char *second;
    fake_answer(w->fake, "CreateAlarm", "<returnval type=\"Alarm\">alarm-9</returnval>");
    assert_int_equal(vim_create_alarm(w->client, &spec, NULL), 0);
    assert_true(was_sent(w, "CreateAlarm", ":OrAlarmExpression\""));
    second = strstr(fake_last(w->fake, "CreateAlarm"), ":EventAlarmExpression\"");
    assert_non_null(second);
    assert_non_null(strstr(second, "com.example.failed"));
    second = strstr(second + 1, ":EventAlarmExpression\"");
    assert_non_null(second);
    assert_null(strstr(second, "com.example.failed"));
    assert_non_null(strstr(second, "com.example.ready"));
    assert_non_null(strstr(second, ">green<"));
}

static void a_name_that_is_taken_is_told(void **state) {
    struct fake_world *w = *state;
    struct err err = {0};
    fake_fault(w->fake, "CreateAlarm",
               "<DuplicateNameFault xmlns=\"urn:vim25\" xsi:type=\"DuplicateName\"><name>State</name>"
               "<object type=\"Alarm\">alarm-1</object></DuplicateNameFault>",
               "");
    assert_int_equal(vim_create_alarm(w->client, &spec, &err), ERR_EXISTS);
    assert_non_null(strstr(err.text, "State"));
}

#define ALARM(id, name, more)                                                                                             \
    "<objects><obj type=\"Alarm\">" id "</obj><propSet><name>info.name</name><val xsi:type=\"xsd:string\">" name "</val>" \
    "</propSet>" more "</objects>"
#define TEXT "<propSet><name>info.description</name><val xsi:type=\"xsd:string\">of something</val></propSet>"

static void alarms_are_listed_with_name_and_description(void **state) {
    struct fake_world *w = *state;
    struct vim_alarm_list list;
    fake_answer(w->fake, "GetAlarm",
                "<returnval type=\"Alarm\">alarm-1</returnval><returnval type=\"Alarm\">alarm-2</returnval>");
    fake_answer(w->fake, "RetrievePropertiesEx",
                "<returnval>" ALARM("alarm-1", "50%25 %2f", TEXT) ALARM("alarm-2", "Other", "") "</returnval>");
    assert_int_equal(vim_list_alarms(w->client, &list, NULL), 0);
    assert_true(was_sent(w, "RetrievePropertiesEx", ">alarm-1<") && was_sent(w, "RetrievePropertiesEx", ">alarm-2<"));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].moref, "alarm-1");
    assert_string_equal(list.items[0].name, "50% /");
    assert_string_equal(list.items[0].description, "of something");
    assert_string_equal(list.items[1].description, "");
    vim_alarm_list_done(&list);
    fake_answer(w->fake, "GetAlarm", "");
    assert_int_equal(vim_list_alarms(w->client, &list, NULL), 0);
    assert_int_equal(list.count, 0);
}

static void an_alarm_that_was_not_asked_for_is_refused(void **state) {
    struct fake_world *w = *state;
    struct vim_alarm_list list;
    struct err err = {0};
    fake_answer(w->fake, "GetAlarm", "<returnval type=\"Alarm\">alarm-1</returnval>");
    fake_answer(w->fake, "RetrievePropertiesEx",
                "<returnval>" ALARM("alarm-1", "A", TEXT) ALARM("alarm-2", "B", TEXT) "</returnval>");
    assert_int_equal(vim_list_alarms(w->client, &list, &err), ERR_PROTOCOL);
}

static void an_alarm_that_is_gone_is_not_found(void **state) {
    struct fake_world *w = *state;
    fake_fault(w->fake, "RemoveAlarm",
               "<ManagedObjectNotFoundFault xmlns=\"urn:vim25\" xsi:type=\"ManagedObjectNotFound\"><obj type=\"Alarm\">alarm-1"
               "</obj></ManagedObjectNotFoundFault>",
               "");
    assert_int_equal(vim_remove_alarm(w->client, "alarm-1", NULL), ERR_NOT_FOUND);
    fake_answer(w->fake, "RemoveAlarm", "");
    assert_int_equal(vim_remove_alarm(w->client, "alarm-1", NULL), 0);
    assert_true(was_sent(w, "RemoveAlarm", ">alarm-1<"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_event_is_an_expression_of_its_own_type), TEST(a_name_that_is_taken_is_told),
        TEST(alarms_are_listed_with_name_and_description), TEST(an_alarm_that_was_not_asked_for_is_refused),
        TEST(an_alarm_that_is_gone_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
