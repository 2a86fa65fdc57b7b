/* Permissions, removing roles, service accounts, the server's time: what is sent, and what comes of the answers.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "str.h"
#include "unit.h"
#include "vim_extension.h"
#include "vim_fake.h"
#include "vim_authorization.h"

#define FAULT(name) "<" name "Fault xmlns=\"urn:vim25\" xsi:type=\"" name "\"/>"
#define PERMISSION(principal, group, role)                                                                  \
    "<returnval><entity type=\"Folder\">group-d1</entity><principal>" principal "</principal><group>" group \
    "</group><roleId>" role "</roleId><propagate>true</propagate></returnval>"

static void permissions_are_listed(void **state) {
    struct fake_world *w = *state;
    struct vim_permission_list list = {0};
    const struct vim_entity cluster = {"ClusterComputeResource", "domain-c7"};
    fake_answer(w->fake, "RetrieveEntityPermissions",
                PERMISSION("VSPHERE.LOCAL\\Alice", "false", "-2") PERMISSION("CORP\\alice", "true", "12")
                    PERMISSION("", "true", "1"));
    assert_int_equal(vim_list_permissions(w->client, &cluster, &list, NULL), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].principal, "VSPHERE.LOCAL\\Alice");
    assert_int_equal(list.items[0].role_id, -2);
    assert_true(list.items[0].does_propagate);
    assert_false(list.items[0].is_group);
    assert_int_equal(list.items[1].role_id, 12);
    assert_true(list.items[1].is_group);
    assert_non_null(strstr(fake_last(w->fake, "RetrieveEntityPermissions"), "type=\"ClusterComputeResource\">domain-c7<"));
    assert_non_null(strstr(fake_last(w->fake, "RetrieveEntityPermissions"), "<inherited>false<"));
    vim_permission_list_done(&list);
    fake_answer(w->fake, "RetrieveEntityPermissions", "");
    assert_int_equal(vim_list_permissions(w->client, NULL, &list, NULL), 0);
    assert_int_equal(list.count, 0);
    assert_non_null(strstr(fake_last(w->fake, "RetrieveEntityPermissions"), "type=\"Folder\">group-d1<"));
    vim_permission_list_done(&list);
    fake_fault(w->fake, "RetrieveEntityPermissions", FAULT("ManagedObjectNotFound"), "");
    assert_int_equal(vim_list_permissions(w->client, &cluster, &list, NULL), ERR_NOT_FOUND);
}

static void one_permission_is_removed(void **state) {
    struct fake_world *w = *state;
    fake_answer(w->fake, "RemoveEntityPermission", "");
    assert_int_equal(vim_remove_permission(w->client, &(struct vim_entity){"Folder", "group-v3"}, "V\\a<b>", false, NULL), 0);
    assert_non_null(strstr(fake_last(w->fake, "RemoveEntityPermission"), ">group-v3<"));
    assert_non_null(strstr(fake_last(w->fake, "RemoveEntityPermission"), "<user>V\\a&lt;b&gt;</user><isGroup>false<"));
    fake_fault(w->fake, "RemoveEntityPermission", FAULT("NotFound"), "");
    assert_int_equal(vim_remove_permission(w->client, NULL, "V\\a", true, NULL), ERR_NOT_FOUND);
    assert_int_equal(vim_remove_permission(w->client, NULL, NULL, true, NULL), ERR_UNPROCESSABLE);
}

static void roles_are_removed(void **state) {
    struct fake_world *w = *state;
    struct err err = {0};
    fake_answer(w->fake, "RemoveAuthorizationRole", "");
    assert_int_equal(vim_remove_role(w->client, 77, false, NULL), 0);
    assert_non_null(strstr(fake_last(w->fake, "RemoveAuthorizationRole"), "<roleId>77</roleId><failIfUsed>true<"));
    fake_answer(w->fake, "RemoveAuthorizationRole", "");
    assert_int_equal(vim_remove_role(w->client, 77, true, NULL), 0);
    assert_non_null(strstr(fake_last(w->fake, "RemoveAuthorizationRole"), "<failIfUsed>false<"));
    fake_fault(w->fake, "RemoveAuthorizationRole", FAULT("RemoveFailed"), "");
    assert_int_equal(vim_remove_role(w->client, 77, false, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "77"));
    fake_fault(w->fake, "RemoveAuthorizationRole", FAULT("NotFound"), "");
    assert_int_equal(vim_remove_role(w->client, 77, false, NULL), ERR_NOT_FOUND);
    err_clear(&err);
    fake_fault(w->fake, "RemoveAuthorizationRole",
               "<NoPermissionFault xmlns=\"urn:vim25\" xsi:type=\"NoPermission\"><object type=\"Folder\">group-d1</object>"
               "<privilegeId>Authorization.ModifyRoles</privilegeId></NoPermissionFault>",
               "");
    assert_int_equal(vim_remove_role(w->client, 77, false, &err), ERR_UPSTREAM_DENIED);
    assert_non_null(strstr(err.text, "Authorization.ModifyRoles"));
}

static void service_account(void **state) {
    struct fake_world *w = *state;
    fake_answer(w->fake, "SetServiceAccount", "");
    assert_int_equal(vim_set_service_account(w->client, "com.example.kaas", "svc-1@vsphere.local", NULL), 0);
    assert_non_null(strstr(fake_last(w->fake, "SetServiceAccount"), "<extensionKey>com.example.kaas</extensionKey>"
                                                                    "<serviceAccount>svc-1@vsphere.local<"));
    fake_fault(w->fake, "SetServiceAccount", FAULT("NotFound"), "");
    assert_int_equal(vim_set_service_account(w->client, "com.example.kaas", "svc-1", NULL), ERR_NOT_FOUND);
    fake_fault(w->fake, "SetServiceAccount", FAULT("InvalidArgument"), "");
    assert_int_equal(vim_set_service_account(w->client, "com.example.kaas", "svc-1", NULL), ERR_UPSTREAM);
}

/* An older server would refuse the whole request as malformed. */
static void service_account_needs_a_new_server(void **state) {
    struct fake_world *w = *state;
    struct err err = {0};
    fake_set_version(w->fake, "8.0.1.0");
    assert_int_equal(vim_connect(w->client, NULL, NULL), 0);
    assert_int_equal(vim_set_service_account(w->client, "com.example.kaas", "svc-1", &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.text, "8.0.1.0"));
    assert_int_equal(fake_count(w->fake, "SetServiceAccount"), 0);
}

static void times(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"2026-01-31T12:00:00.123456789Z", 1769860800123},
        {"2026-01-31T12:00:00Z", 1769860800000},
        {"2026-01-31T12:00:00.5+02:00", 1769853600500},
        {"2026-01-31T12:00:00-05:30", 1769880600000},
        {"2026-01-31T12:00:00", 1769860800000},
    };
    static const char *const bad[] = {"", "yesterday", "2026-01-31", "2026-01-31T12:00:00Zulu", "2026-01-31T12:00:00+2"};
    struct fake_world *w = *state;
    int64_t ms = 0;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        char *answer = str_format("<returnval>%s</returnval>", rows[i].text);
        fake_answer(w->fake, "CurrentTime", answer);
        assert_int_equal(vim_lookup_time(w->client, &ms, NULL), 0);
        assert_int_equal(ms, rows[i].ms);
        free(answer);
    }
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        char *answer = str_format("<returnval>%s</returnval>", bad[i]);
        fake_answer(w->fake, "CurrentTime", answer);
        assert_int_equal(vim_lookup_time(w->client, &ms, NULL), ERR_PROTOCOL);
        free(answer);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(permissions_are_listed), TEST(one_permission_is_removed),          TEST(roles_are_removed),
        TEST(service_account),        TEST(service_account_needs_a_new_server), TEST(times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
