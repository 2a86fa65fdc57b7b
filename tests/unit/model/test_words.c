/* Words of the enums: each value has one, and it leads back.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "change.h"
#include "cluster.h"
#include "grant.h"
#include "principal.h"
#include "vcenter.h"

/* Words are contracts of the API and the database: they are written out here once more on purpose. */
#define CHECK_WORDS(type, name, parse, ...)                       \
    do {                                                          \
        static const char *const words_[] = {__VA_ARGS__};        \
        enum type value_ = (enum type)0;                          \
        for (size_t i_ = 0; i_ < UNIT_COUNT(words_); i_++) {      \
            assert_string_equal(name((enum type)i_), words_[i_]); \
            assert_true(parse(words_[i_], &value_));              \
            assert_int_equal(value_, i_);                         \
        }                                                         \
        assert_false(parse("no such word", &value_));             \
        assert_false(parse("", &value_));                         \
        assert_false(parse(NULL, &value_));                       \
        assert_int_equal(value_, UNIT_COUNT(words_) - 1);         \
        assert_non_null(name((enum type)UNIT_COUNT(words_)));     \
    } while (0)

static void all_words(void **state) {
    (void)state;
    CHECK_WORDS(role, role_name, role_parse, "none", "user", "service", "provisioner", "admin");
    CHECK_WORDS(source, source_name, source_parse, "none", "local", "socket", "vcenter-session", "vcenter-ticket",
                "vcenter-password");
    CHECK_WORDS(cluster_state, cluster_state_name, cluster_state_parse, "unknown", "creating", "ready", "updating", "degraded",
                "unreachable", "failed", "deleting");
    CHECK_WORDS(grant_object, grant_object_name, grant_object_parse, "cluster", "vsphere_cluster", "hx_cluster");
    CHECK_WORDS(credential_state, credential_state_name, credential_state_parse, "pending", "active", "retired");
    CHECK_WORDS(change_kind, change_kind_name, change_kind_parse, "cluster", "vsphere_cluster", "hx_cluster", "vcenter", "grant",
                "user", "session", "signing_key");
}

static void vcenter_sources(void **state) {
    (void)state;
    for (int i = SOURCE_NONE; i <= SOURCE_VC_PASSWORD; i++)
        assert_int_equal(source_is_vcenter((enum source)i), strncmp(source_name((enum source)i), "vcenter-", 8) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_words), cmocka_unit_test(vcenter_sources)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
