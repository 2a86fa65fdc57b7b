/* Small rules of the model: principal ids, HX extension keys, order of grants, judgement of sessions, lines of the audit log.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "audit.h"
#include "clock.h"
#include "grant.h"
#include "platform.h"
#include "principal.h"
#include "session.h"
#include "strbuf.h"

static void principal_ids_fold_case(void **state) {
    char *id = principal_vc_id("6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10", "VSPHERE.LOCAL\\Anna-\xc3\x84");
    (void)state;
    assert_string_equal(id, "vc:6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10:vsphere.local\\anna-\xc3\x84");
    free(id);
}

static void accounts_are_told_apart(void **state) {
    char anna[] = "vc:1:anna", hx[] = "svc:1", other[] = "svc:2";
    const struct principal people[] = {{.id = anna, .source = SOURCE_VC_SESSION},
                                       {.id = anna, .source = SOURCE_VC_KEY},
                                       {.id = anna, .source = SOURCE_VC_SERVICE, .acting_id = hx},
                                       {.id = anna, .source = SOURCE_VC_SERVICE, .acting_id = other},
                                       {.id = hx, .source = SOURCE_SERVICE}};
    const struct principal again = {.id = anna, .source = SOURCE_VC_TICKET};
    char *accounts[UNIT_COUNT(people)], *same = principal_account(&again);
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(people); i++) {
        accounts[i] = principal_account(&people[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(accounts[i], accounts[j]);
    }
    assert_string_equal(same, accounts[0]);
    for (size_t i = 0; i < UNIT_COUNT(people); i++)
        free(accounts[i]);
    free(same);
}

static void hx_keys_name_their_cluster(void **state) {
    static const char *const rows[][2] = {
        {"com.springpath.sysmgmt.domain-c7", "domain-c7"},
        {"com.springpath.sysmgmt.domain-c70", "domain-c70"},
        {"com.springpath.sysmgmt.uuid.domain-c26", "domain-c26"},
        {"com.springpath.sysmgmt.6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10.domain-c26", "domain-c26"},
        {"com.springpath.sysmgmt.uuidx", "uuidx"},
    };
    char moref[MOREF_BYTES];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        assert_true(hx_extension_key_parse(rows[i][0], moref));
        assert_string_equal(moref, rows[i][1]);
    }
}

static void other_keys_name_none(void **state) {
    static const char *const bad[] = {
        "",
        "com.springpath.sysmgmt",
        "com.springpath.sysmgmt.",
        "com.springpath.sysmgmt.uuid",
        "com.springpath.sysmgmt.uuid.",
        "com.springpath.sysmgmt.6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10",
        "com.springpath.sysmgmt.other.domain-c7",
        "com.springpath.sysmgmt.uuid.x.domain-c7",
        "com.springpath.sysmgmt.uuid.uuid.domain-c7",
        "com.springpath.sysmgmt..domain-c7",
        "com.springpath.sysmgmtx.domain-c7",
        "com.springpath.sysmgmt.domain c7",
        "xcom.springpath.sysmgmt.domain-c7",
        "COM.springpath.sysmgmt.domain-c7",
        "com.cisco.kaas",
        "com.springpath.sysmgmt.123456789012345678901234567890123456789012345678901234567890123456789012345678901",
    };
    char moref[MOREF_BYTES] = "kept";
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_false(hx_extension_key_parse(bad[i], moref));
    assert_false(hx_extension_key_parse(NULL, moref));
    assert_string_equal(moref, "kept");
}

static void grants_have_an_order(void **state) {
    static char anna[] = "local:a", bert[] = "local:b", one[] = "1", two[] = "2";
    const struct grant sorted[] = {
        {.principal_id = anna, .object = GRANT_CLUSTER, .object_id = two},
        {.principal_id = anna, .object = GRANT_VSPHERE_CLUSTER, .object_id = one},
        {.principal_id = anna, .object = GRANT_VSPHERE_CLUSTER, .object_id = two},
        {.principal_id = anna, .object = GRANT_HX_CLUSTER, .object_id = one},
        {.principal_id = bert, .object = GRANT_CLUSTER, .object_id = one},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(sorted); i++)
        for (size_t j = 0; j < UNIT_COUNT(sorted); j++) {
            int order = grant_compare(&sorted[i], &sorted[j]);
            assert_true(i < j ? order < 0 : i > j ? order > 0 : order == 0);
        }
}

static void paths_are_nearly_right_in_other_case(void **state) {
    static char datacenter[] = "DC0", name[] = "M\u00fcnchen";
    const struct vsphere_cluster cluster = {.datacenter = datacenter, .name = name};
    (void)state;
    assert_true(vsphere_cluster_is_nearly(&cluster, "dc0/M\u00dcNCHEN"));
    assert_true(vsphere_cluster_is_nearly(&cluster, "M\u00dcnchen"));
    assert_false(vsphere_cluster_is_nearly(&cluster, "dc0/Munchen"));
}

/* What is printed of a name with a '%' leads to it, and not to the one that vCenter would write so. */
static void printed_paths_come_back(void **state) {
    static char datacenter[] = "DC0", percent[] = "a%2fb", slash[] = "a/b";
    const struct vsphere_cluster printed = {.datacenter = datacenter, .name = percent};
    const struct vsphere_cluster other = {.datacenter = datacenter, .name = slash};
    _cleanup_strbuf_ struct strbuf path;
    (void)state;
    strbuf_init(&path, 100);
    vsphere_cluster_add_path(&printed, &path);
    assert_true(vsphere_cluster_has_path(&printed, path.data));
    assert_false(vsphere_cluster_has_path(&other, path.data));
}

static void vsphere_grant_ids(void **state) {
    struct object_ref ref = {"6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10", ""};
    char id[GRANT_OBJECT_ID_BYTES];
    (void)state;
    memset(ref.moref, 'm', MOREF_BYTES - 1);
    grant_vsphere_id(&ref, id);
    assert_int_equal(strlen(id), GRANT_OBJECT_ID_BYTES - 1);
    assert_int_equal(strncmp(id, "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10/mmm", 40), 0);
}

static void sessions_are_judged(void **state) {
    static const struct {
        const char *jti;
        int64_t now_ms, revoked_at_ms;
        enum session_verdict verdict;
    } rows[] = {
        {"new", 1000, 0, SESSION_OK},
        {"new", 99999, 0, SESSION_OK},
        {"new", 100000, 0, SESSION_ENDED}, /* the end itself */
        {"new", 1000, 900, SESSION_ENDED},
        {"old", 1000, 900, SESSION_ENDED},
        {"old", 1000, 0, SESSION_OK},
        {"old", 500 + SESSION_OLD_JTI_GRACE_MS, 0, SESSION_OK},
        {"old", 501 + SESSION_OLD_JTI_GRACE_MS, 0, SESSION_REUSED},
        {"old", 400, 0, SESSION_OK}, /* another replica's clock is ahead */
        {"older", 501, 0, SESSION_REUSED},
        {"", 501, 0, SESSION_REUSED},
        {NULL, 501, 0, SESSION_REUSED},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct session s = {
            .jti = "new", .old_jti = "old", .rotated_at_ms = 500, .ends_at_ms = 100000, .revoked_at_ms = rows[i].revoked_at_ms};
        assert_int_equal(session_judge(&s, rows[i].jti, rows[i].now_ms), rows[i].verdict);
    }
}

static void first_token_has_no_old_one(void **state) {
    const struct session s = {.jti = "new", .ends_at_ms = 1000};
    (void)state;
    assert_int_equal(session_judge(&s, "new", 1), SESSION_OK);
    assert_int_equal(session_judge(&s, "", 1), SESSION_REUSED);
}

static void lines_tell_who_acts(void **state) {
    char id[] = "vc:1:anna", name[] = "anna", program[] = "svc:1";
    const struct principal anna = {.id = id, .name = name, .source = SOURCE_VC_SERVICE, .acting_id = program};
    const struct actor actor = {.principal = &anna, .address = "192.0.2.1", .request_id = "r1"};
    const struct audit_event what = {.action = "user.change", .principal_name = "typed", .object_id = "o", .reason = "why"};
    struct audit_record line;
    (void)state;
    clock_fake(1000, 5000);
    line = audit_record_make(&actor, &what);
    assert_int_equal(line.at_ms, 5000);
    assert_string_equal(line.event.action, "user.change");
    assert_string_equal(line.event.principal_id, id);
    assert_string_equal(line.event.principal_name, name);
    assert_string_equal(line.event.acting_id, program);
    assert_string_equal(line.event.source, "vcenter-service");
    assert_string_equal(line.event.object_id, "o");
    assert_string_equal(line.event.address, "192.0.2.1");
    assert_string_equal(line.event.request_id, "r1");
    assert_string_equal(line.event.result, "ok");
    assert_string_equal(line.event.reason, "why");
    clock_advance_ms(10);
    line = audit_record_now(&line, ERR_CONFLICT);
    assert_int_equal(line.at_ms, 5010);
    assert_string_equal(line.event.result, "conflict");
    clock_unfake();
}

static void lines_tell_what_is_known_otherwise(void **state) {
    const struct actor stranger = {.address = "192.0.2.1"};
    const struct audit_event what = {
        .action = "login", .principal_name = "typed", .acting_id = "svc:1", .source = "ldap", .result = "forbidden"};
    struct audit_record line = audit_record_make(&stranger, &what);
    (void)state;
    assert_null(line.event.principal_id);
    assert_string_equal(line.event.principal_name, "typed");
    assert_string_equal(line.event.acting_id, "svc:1");
    assert_string_equal(line.event.source, "ldap");
    assert_string_equal(line.event.result, "forbidden");
    line = audit_record_make(NULL, &(struct audit_event){.action = "vcenter.repair", .principal_name = "replica-7"});
    assert_string_equal(line.event.principal_name, "replica-7");
    assert_string_equal(line.event.source, "system");
    assert_null(line.event.address);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(principal_ids_fold_case),    cmocka_unit_test(accounts_are_told_apart),
        cmocka_unit_test(hx_keys_name_their_cluster), cmocka_unit_test(other_keys_name_none),
        cmocka_unit_test(grants_have_an_order),       cmocka_unit_test(paths_are_nearly_right_in_other_case),
        cmocka_unit_test(printed_paths_come_back),    cmocka_unit_test(vsphere_grant_ids),
        cmocka_unit_test(sessions_are_judged),        cmocka_unit_test(first_token_has_no_old_one),
        cmocka_unit_test(lines_tell_who_acts),        cmocka_unit_test(lines_tell_what_is_known_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
