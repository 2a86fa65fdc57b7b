/* What virtual machines have and use, as vCenter tells it. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "limits.h"
#include "str.h"
#include "strbuf.h"

#include "vim.h"
#include "vim_fake.h"
#include "vim_machine.h"
#include "vim_property.h"

#define PROPERTY(path, type, value) "<propSet><name>" path "</name><val xsi:type=\"" type "\">" value "</val></propSet>"
#define INT(path, value) PROPERTY(path, "xsd:int", value)
#define LONG(path, value) PROPERTY(path, "xsd:long", value)
#define PAIR(name) \
    "<VirtualMachineConfigInfoDatastoreUrlPair><name>" name "</name><url>ds:///x</url></VirtualMachineConfigInfoDatastoreUrlPair>"
#define STORES(pairs) PROPERTY("config.datastoreUrl", "ArrayOfVirtualMachineConfigInfoDatastoreUrlPair", pairs)
#define MACHINE(id, properties) "<objects><obj type=\"VirtualMachine\">" id "</obj>" properties "</objects>"

static const char *const two[] = {"vm-1", "vm-2"};

static int ask(struct fake_world *w, const char *answer, struct vim_machine_list *out) {
    fake_answer(w->fake, "RetrievePropertiesEx", answer);
    return vim_list_machines(w->client, two, 2, out, NULL);
}

static void what_is_told_is_taken(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    assert_int_equal(
        ask(w,
            "<returnval>" MACHINE(
                "vm-2", INT("summary.config.numCpu", "4") INT("summary.config.memorySizeMB", "8192")
                            INT("summary.runtime.maxCpuUsage", "9600") INT("summary.quickStats.overallCpuUsage", "0")
                                INT("summary.quickStats.guestMemoryUsage", "1024") LONG("summary.storage.committed", "5000000000")
                                    LONG("summary.storage.uncommitted", "7000000000") STORES(PAIR("HX-DS%2f1") PAIR("second")))
                MACHINE("vm-9", INT("summary.config.numCpu", "1")) "</returnval>",
            &found),
        0);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].moref, "vm-2");
    assert_int_equal(found.items[0].cpu_count, 4);
    assert_int_equal(found.items[0].cpu_mhz, 9600);
    assert_int_equal(found.items[0].cpu_used_mhz, 0);
    assert_int_equal(found.items[0].memory_mib, 8192);
    assert_int_equal(found.items[0].memory_used_mib, 1024);
    assert_int_equal(found.items[0].disk_used_bytes, 5000000000);
    assert_int_equal(found.items[0].disk_bytes, 12000000000);
    assert_int_equal(found.items[0].datastore_count, 2);
    assert_string_equal(found.items[0].datastores[0], "HX-DS/1");
    vim_machine_list_done(&found);
}

static void what_is_not_told_is_not_made_up(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    assert_int_equal(ask(w,
                         "<returnval><objects/>" MACHINE("vm-1", LONG("summary.storage.committed", "5")) MACHINE("vm-1", "")
                             MACHINE("vm-2", INT("summary.config.numCpu", "-3") INT("summary.runtime.maxCpuUsage", "0")
                                                 LONG("summary.storage.committed", "9223372036854775807")
                                                     LONG("summary.storage.uncommitted", "1")) "</returnval>",
                         &found),
                     0);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.items[0].cpu_count, -1);
    assert_int_equal(found.items[0].disk_used_bytes, 5);
    assert_int_equal(found.items[0].disk_bytes, -1);
    assert_int_equal(found.items[0].datastore_count, 0);
    assert_int_equal(found.items[1].cpu_count, -1);
    assert_int_equal(found.items[1].cpu_mhz, -1);
    assert_int_equal(found.items[1].disk_bytes, -1);
    vim_machine_list_done(&found);
}

static void names_of_datastores_are_cut(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    struct strbuf b;
    strbuf_init(&b, 1U << 20);
    strbuf_adds(&b, "<returnval><objects><obj type=\"VirtualMachine\">vm-1</obj><propSet><name>config.datastoreUrl</name>"
                    "<val xsi:type=\"ArrayOfVirtualMachineConfigInfoDatastoreUrlPair\">" PAIR(""));
    for (int i = 0; i < 3 * VIM_MACHINE_DATASTORES_MAX; i++)
        strbuf_adds(&b, PAIR("store"));
    strbuf_adds(&b, "</val></propSet></objects></returnval>");
    assert_int_equal(ask(w, b.data, &found), 0);
    assert_int_equal(found.items[0].datastore_count, VIM_MACHINE_DATASTORES_MAX);
    vim_machine_list_done(&found);
    strbuf_done(&b);
}

/* The strict vCenter holds that the rest is asked again without it; here, that it ends. */
static void one_that_is_not_ours_ends_it(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    fake_fault(
        w->fake, "RetrievePropertiesEx",
        "<ManagedObjectNotFoundFault xmlns=\"urn:vim25\" xsi:type=\"ManagedObjectNotFound\"><obj type=\"VirtualMachine\">vm-7"
        "</obj></ManagedObjectNotFoundFault>",
        "");
    assert_int_equal(vim_list_machines(w->client, two, 2, &found, NULL), ERR_NOT_FOUND);
}

#define DENIED "<fault><fault xsi:type=\"NoPermission\"><privilegeId>System.Read</privilegeId></fault></fault>"
#define MISSING(path, why) "<missingSet><path>" path "</path>" why "</missingSet>"

static void those_that_may_not_be_read_are_left_out(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    assert_int_equal(
        ask(w,
            "<returnval>" MACHINE("vm-1", MISSING("summary.config.numCpu", DENIED) MISSING("config.datastoreUrl", DENIED))
                MACHINE("vm-2", INT("summary.config.numCpu", "4") MISSING("config.datastoreUrl", DENIED)) "</returnval>",
            &found),
        0);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].moref, "vm-2");
    assert_int_equal(found.items[0].cpu_count, 4);
    vim_machine_list_done(&found);
}

/* Each entry is judged by itself, not by the first one of its path: looked up one by one, as many as one answer may hold would take minutes. What is
 * allowed is fifty times what they take. */
static void many_that_may_not_be_read_are_judged_one_by_one(void **state) {
    enum { COUNT = 200000, CPU_MAX_S = 5 };
    struct vim25__NoPermission no_permission = {.privilegeId = NULL};
    struct vim25__LocalizedMethodFault denied = {.__type = SOAP_TYPE_vim25__NoPermission, .fault = &no_permission};
    struct vim25__MissingProperty *all = calloc(COUNT, sizeof(*all));
    char(*paths)[16] = calloc(COUNT, sizeof(*paths));
    struct vim25__ObjectContent object = {.__sizemissingSet = COUNT, .missingSet = all};
    struct timespec before, after;
    (void)state;
    assert_non_null(all);
    assert_non_null(paths);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "property%06d", i);
        all[i] = (struct vim25__MissingProperty){.path = paths[i], .fault = &denied};
    }
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before), 0);
    assert_true(vim_object_is_denied(&object));
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after), 0);
    assert_true(after.tv_sec - before.tv_sec <= CPU_MAX_S);
    all[COUNT - 1] = (struct vim25__MissingProperty){.path = paths[0], .fault = NULL};
    assert_false(vim_object_is_denied(&object));
    free(paths);
    free(all);
}

static void what_is_missing_for_another_reason_is_not_told(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    assert_int_equal(
        ask(w,
            "<returnval>" MACHINE("vm-1", MISSING("summary.config.numCpu", "<fault><fault xsi:type=\"SystemError\"><reason>r"
                                                                           "</reason></fault></fault>")) "</returnval>",
            &found),
        0);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].cpu_count, -1);
    vim_machine_list_done(&found);
}

static void refuse(struct fake_world *w, const char *moref) {
    char detail[256];
    (void)snprintf(detail, sizeof(detail),
                   "<NoPermissionFault xmlns=\"urn:vim25\" xsi:type=\"NoPermission\"><object type=\"VirtualMachine\">%s</object>"
                   "<privilegeId>System.Read</privilegeId></NoPermissionFault>",
                   moref);
    fake_fault(w->fake, "RetrievePropertiesEx", detail, "");
}

static void the_rest_is_asked_again(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    refuse(w, "vm-1");
    assert_int_equal(ask(w, "<returnval>" MACHINE("vm-2", INT("summary.config.numCpu", "4")) "</returnval>", &found), 0);
    assert_null(strstr(fake_last(w->fake, "RetrievePropertiesEx"), "vm-1"));
    assert_int_equal(found.count, 1);
    vim_machine_list_done(&found);
}

static void none_is_left_to_ask(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    refuse(w, "vm-1");
    refuse(w, "vm-2");
    assert_int_equal(vim_list_machines(w->client, two, 2, &found, NULL), 0);
    assert_int_equal(found.count, 0);
    vim_machine_list_done(&found);
}

/* vCenter is not asked for ever. */
static void too_many_end_it(void **state) {
    static const char *const many[] = {"vm-1", "vm-2", "vm-3", "vm-4", "vm-5", "vm-6", "vm-7", "vm-8", "vm-9", "vm-10"};
    struct fake_world *w = *state;
    struct vim_machine_list found;
    for (size_t i = 0; i < 9; i++)
        refuse(w, many[i]);
    assert_int_equal(vim_list_machines(w->client, many, ARRAY_COUNT(many), &found, NULL), ERR_UPSTREAM_DENIED);
}

/* The numbers only adorn a page; what comes after them does not. */
static void the_short_time_ends_with_the_look(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_list found;
    int64_t now_ms;
    assert_int_equal(ask(w, "<returnval/>", &found), 0);
    vim_machine_list_done(&found);
    assert_int_equal(fake_timeout_ms(w->fake), KAAS_VIM_LOOK_TIMEOUT_MS);
    assert_int_equal(vim_lookup_time(w->client, &now_ms, NULL), 0);
    assert_int_equal(fake_timeout_ms(w->fake), KAAS_VIM_CALL_TIMEOUT_MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_told_is_taken),
        TEST(what_is_not_told_is_not_made_up),
        TEST(names_of_datastores_are_cut),
        TEST(one_that_is_not_ours_ends_it),
        TEST(those_that_may_not_be_read_are_left_out),
        cmocka_unit_test(many_that_may_not_be_read_are_judged_one_by_one),
        TEST(what_is_missing_for_another_reason_is_not_told),
        TEST(the_rest_is_asked_again),
        TEST(none_is_left_to_ask),
        TEST(too_many_end_it),
        TEST(the_short_time_ends_with_the_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
