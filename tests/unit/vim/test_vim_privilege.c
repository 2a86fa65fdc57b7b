/* Privileges: batches, order, vanished and unreadable objects.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "limits.h"
#include "strbuf.h"
#include "vim.h"
#include "vim_fake.h"
#include "vim_authorization.h"

#define READ "System.Read"
#define ENTITY(id, granted)                                                                             \
    "<returnval><entity type=\"ClusterComputeResource\">" id "</entity><privAvailability><privId>" READ \
    "</privId><isGranted>" granted "</isGranted></privAvailability></returnval>"
#define GONE(id)                                                                                                                  \
    "<ManagedObjectNotFoundFault xmlns=\"urn:vim25\" xsi:type=\"ManagedObjectNotFound\"><obj type=\"ClusterComputeResource\">" id \
    "</obj></ManagedObjectNotFoundFault>"
#define DENIED(id)                                                                                                 \
    "<NoPermissionFault xmlns=\"urn:vim25\" xsi:type=\"NoPermission\"><object type=\"ClusterComputeResource\">" id \
    "</object><privilegeId>System.Read</privilegeId></NoPermissionFault>"

static int ask(struct fake_world *w, const char *const *clusters, size_t n, bool *granted, struct err *err) {
    struct vim_privilege_query q = {.subject = {.session_key = "52a"}, .privilege = READ, .clusters = clusters, .count = n};
    return vim_check_privileges(w->client, &q, granted, err);
}

static const char *const three[] = {"domain-c7", "domain-c70", "domain-c700"};

static void answers_are_matched_by_entity(void **state) {
    struct fake_world *w = *state;
    bool granted[3] = {true, true, true};
    struct err err = {0};
    fake_answer(w->fake, "HasPrivilegeOnEntities",
                ENTITY("domain-c700", "true") ENTITY("domain-c7", "false") ENTITY("domain-c70", "1"));
    assert_int_equal(ask(w, three, 3, granted, &err), 0);
    assert_false(granted[0]);
    assert_true(granted[1]);
    assert_true(granted[2]);
    assert_non_null(strstr(fake_last(w->fake, "HasPrivilegeOnEntities"), "<sessionId>52a</sessionId>"));
}

static void what_is_not_answered_is_not_granted(void **state) {
    struct fake_world *w = *state;
    bool granted[3] = {true, true, true};
    fake_answer(
        w->fake, "HasPrivilegeOnEntities",
        ENTITY("domain-c7", "true") ENTITY(
            "domain-c9",
            "true") "<returnval><entity type=\"ClusterComputeResource\">domain-c70</entity><privAvailability><privId>Other</privId><isGranted>true</isGranted>"
                    "</privAvailability></returnval><returnval><privAvailability><privId>" READ
                    "</privId><isGranted>true</isGranted></privAvailability></returnval>");
    assert_int_equal(ask(w, three, 3, granted, NULL), 0);
    assert_true(granted[0]);
    assert_false(granted[1]);
    assert_false(granted[2]);
    granted[0] = true;
    fake_answer(w->fake, "HasPrivilegeOnEntities", "");
    assert_int_equal(ask(w, three, 1, granted, NULL), 0);
    assert_false(granted[0]);
}

static void vanished_and_unreadable_are_dropped(void **state) {
    struct fake_world *w = *state;
    bool granted[3] = {false, true, false};
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("domain-c70"), "");
    fake_fault(w->fake, "HasPrivilegeOnEntities", DENIED("domain-c700"), "");
    fake_answer(w->fake, "HasPrivilegeOnEntities", ENTITY("domain-c7", "true"));
    assert_int_equal(ask(w, three, 3, granted, NULL), 0);
    assert_true(granted[0]);
    assert_false(granted[1]);
    assert_false(granted[2]);
    assert_null(strstr(fake_last(w->fake, "HasPrivilegeOnEntities"), ">domain-c70<"));
    assert_int_equal(fake_count(w->fake, "HasPrivilegeOnEntities"), 3);
}

static void all_vanished_asks_nothing_more(void **state) {
    struct fake_world *w = *state;
    bool granted[1] = {true};
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("domain-c7"), "");
    assert_int_equal(ask(w, three, 1, granted, NULL), 0);
    assert_false(granted[0]);
    assert_int_equal(fake_count(w->fake, "HasPrivilegeOnEntities"), 1);
}

/* More have vanished than a batch is repeated for: halves get through to those who have not. */
static void many_vanished_fail_nobody(void **state) {
    static const char *const eight[] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    struct fake_world *w = *state;
    bool granted[8] = {false};
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("c0"), "");
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("c1"), "");
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("c2"), "");
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("c4"), "");
    fake_answer(w->fake, "HasPrivilegeOnEntities", ENTITY("c3", "true")); /* first half */
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("c5"), "");        /* second half */
    fake_answer(w->fake, "HasPrivilegeOnEntities", ENTITY("c6", "true") ENTITY("c7", "false"));
    assert_int_equal(ask(w, eight, 8, granted, NULL), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(granted[i], i == 3 || i == 6);
}

static void other_faults_are_errors(void **state) {
    struct fake_world *w = *state;
    bool granted[3] = {true, false, true};
    struct err err = {0};
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("domain-c8"), ""); /* none of ours: dropping would loop */
    assert_int_equal(ask(w, three, 3, granted, &err), ERR_NOT_FOUND);
    err_clear(&err);
    fake_fault(w->fake, "HasPrivilegeOnEntities", DENIED("group-d1"), "");
    assert_int_equal(ask(w, three, 3, granted, &err), ERR_UPSTREAM_DENIED);
    fake_error(w->fake, "HasPrivilegeOnEntities", ERR_TIMEOUT);
    assert_int_equal(ask(w, three, 3, granted, NULL), ERR_TIMEOUT);
    assert_true(granted[0] && !granted[1] && granted[2]); /* outputs untouched */
    assert_int_equal(ask(w, (const char *const[]){"bad\x01id"}, 1, granted, NULL), ERR_UNPROCESSABLE);
}

static void batches_of_the_limit(void **state) {
    enum { COUNT = KAAS_VIM_PRIVILEGE_BATCH_COUNT * 2 + 5 };
    static char ids[COUNT][16];
    static const char *list[COUNT];
    static bool granted[COUNT];
    struct fake_world *w = *state;
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "domain-c%zu", i);
        list[i] = ids[i];
    }
    fake_answer(w->fake, "HasPrivilegeOnEntities", ENTITY("domain-c99", "true"));
    fake_answer(w->fake, "HasPrivilegeOnEntities", ENTITY("domain-c100", "true"));
    fake_answer(w->fake, "HasPrivilegeOnEntities", ENTITY("domain-c204", "true"));
    assert_int_equal(ask(w, list, COUNT, granted, NULL), 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(granted[i], i == 99 || i == 100 || i == 204);
    assert_int_equal(fake_count(w->fake, "HasPrivilegeOnEntities"), 3);
    assert_non_null(strstr(fake_last(w->fake, "HasPrivilegeOnEntities"), ">domain-c200<"));
    assert_null(strstr(fake_last(w->fake, "HasPrivilegeOnEntities"), ">domain-c199<"));
}

static void by_user_name(void **state) {
    struct fake_world *w = *state;
    struct vim_privilege_query q = {.subject = {.user_name = "CORP\\Ada <&>"}, .privilege = READ, .clusters = three, .count = 1};
    bool granted[1] = {false};
    fake_answer(w->fake, "HasUserPrivilegeOnEntities", ENTITY("domain-c7", "true"));
    assert_int_equal(vim_check_privileges(w->client, &q, granted, NULL), 0);
    assert_true(granted[0]);
    assert_non_null(strstr(fake_last(w->fake, "HasUserPrivilegeOnEntities"), "<userName>CORP\\Ada &lt;&amp;&gt;</userName>"));
    fake_fault(w->fake, "HasUserPrivilegeOnEntities", "<UserNotFoundFault xmlns=\"urn:vim25\" xsi:type=\"UserNotFound\"/>", "");
    assert_int_equal(vim_check_privileges(w->client, &q, granted, NULL), ERR_NOT_FOUND);
    q.subject.session_key = "52a";
    assert_int_equal(vim_check_privileges(w->client, &q, granted, NULL), ERR_INTERNAL);
    q.count = 0;
    q.subject.session_key = NULL;
    assert_int_equal(vim_check_privileges(w->client, &q, granted, NULL), 0);
}

static void on_the_root_folder(void **state) {
    static const char *const names[] = {"Sessions.ValidateSession", "Extension.Register", "Global.LogEvent"};
    struct fake_world *w = *state;
    struct vim_root_query q = {.subject = {.session_key = "52a"}, .privileges = names, .count = 3};
    bool granted[3] = {false, true, true};
    fake_answer(
        w->fake, "HasPrivilegeOnEntities",
        "<returnval><entity type=\"Folder\">group-d1</entity><privAvailability><privId>Extension.Register</privId><isGranted>false</isGranted>"
        "</privAvailability><privAvailability><privId>Sessions.ValidateSession</privId><isGranted>true</isGranted></privAvailability></returnval>");
    assert_int_equal(vim_check_root_privileges(w->client, &q, granted, NULL), 0);
    assert_true(granted[0]);
    assert_false(granted[1]);
    assert_false(granted[2]);
    assert_non_null(strstr(fake_last(w->fake, "HasPrivilegeOnEntities"), "<entity type=\"Folder\">group-d1</entity>"));
}

/* Root folder and clusters in one call; what is gone and what is denied are told apart. */
static void several_objects_at_once(void **state) {
    static const char *const names[] = {READ, "Global.LogEvent"};
    struct fake_world *w = *state;
    struct vim_objects_query q = {
        .subject = {.session_key = "52a"}, .privileges = names, .privilege_count = 2, .clusters = three, .count = 3};
    enum vim_entity_state states[4];
    bool granted[8];
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("domain-c7"), "");
    fake_fault(w->fake, "HasPrivilegeOnEntities", DENIED("domain-c70"), "");
    fake_answer(
        w->fake, "HasPrivilegeOnEntities",
        ENTITY("domain-c700", "true") "<returnval><entity type=\"Folder\">group-d1</entity><privAvailability><privId>" READ
                                      "</privId><isGranted>true</isGranted></privAvailability></returnval>");
    assert_int_equal(vim_check_objects(w->client, &q, granted, states, NULL), 0);
    assert_non_null(strstr(fake_last(w->fake, "HasPrivilegeOnEntities"), "<entity type=\"Folder\">group-d1</entity>"));
    assert_non_null(
        strstr(fake_last(w->fake, "HasPrivilegeOnEntities"), "<entity type=\"ClusterComputeResource\">domain-c700</entity>"));
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(granted[i], i == 0 || i == 6);
    assert_int_equal(states[0], VIM_ENTITY_JUDGED);
    assert_int_equal(states[1], VIM_ENTITY_GONE);
    assert_int_equal(states[2], VIM_ENTITY_DENIED);
    assert_int_equal(states[3], VIM_ENTITY_JUDGED);
    assert_int_equal(fake_count(w->fake, "HasPrivilegeOnEntities"), 3);
}

static void session_lost_in_the_middle_starts_over(void **state) {
    static const char *const two[] = {"a", "b"};
    struct fake_world *w = *state;
    bool granted[2] = {false};
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("a"), "");
    fake_fault(w->fake, "HasPrivilegeOnEntities", "<NotAuthenticatedFault xmlns=\"urn:vim25\" xsi:type=\"NotAuthenticated\"/>",
               "");
    fake_answer(w->fake, "HasPrivilegeOnEntities", ENTITY("a", "true") ENTITY("b", "true"));
    assert_int_equal(ask(w, two, 2, granted, NULL), 0);
    assert_true(granted[0] && granted[1]);
    assert_int_equal(fake_count(w->fake, "Login"), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(answers_are_matched_by_entity),
        TEST(what_is_not_answered_is_not_granted),
        TEST(vanished_and_unreadable_are_dropped),
        TEST(all_vanished_asks_nothing_more),
        TEST(many_vanished_fail_nobody),
        TEST(other_faults_are_errors),
        TEST(batches_of_the_limit),
        TEST(by_user_name),
        TEST(on_the_root_folder),
        TEST(several_objects_at_once),
        TEST(session_lost_in_the_middle_starts_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
