/* Service accounts: limits, the spelling of credentials, and whose a credential is. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdlib.h>

#include "accounts.h"
#include "service_account.h"
#include "str.h"

#define NOW_MS INT64_C(1700000000000)
#define PIN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define OTHER "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_A "11111111-1111-4111-8111-111111111111"
#define ID_B "22222222-2222-4222-8222-222222222222"

/* -- lists in order --------------------------------------------------------------------------------------------------------- */

static void lists_stay_in_order_and_whole(void **state) {
    struct service_account a = {.name = str_dup("x")}, b;
    (void)state;
    assert_int_equal(service_account_add_hx_cluster(&a, "c", NULL), 0);
    assert_int_equal(service_account_add_hx_cluster(&a, "a", NULL), 0);
    assert_int_equal(service_account_add_hx_cluster(&a, "b", NULL), 0);
    assert_int_equal(service_account_add_hx_cluster(&a, "a", NULL), 0);
    assert_int_equal(a.hx_clusters_count, 3);
    assert_true(service_account_has_hx_cluster(&a, "a") && service_account_has_hx_cluster(&a, "c"));
    assert_false(service_account_has_hx_cluster(&a, "") || service_account_has_hx_cluster(&a, "d"));
    assert_int_equal(service_account_add_certificate(&a, &(struct service_certificate){OTHER, 0}, NULL), 0);
    assert_int_equal(service_account_add_certificate(&a, &(struct service_certificate){PIN, 5}, NULL), 0);
    assert_int_equal(service_account_add_certificate(&a, &(struct service_certificate){OTHER, 7}, NULL), 0);
    assert_int_equal(a.certificates_count, 2);
    assert_string_equal(a.certificates[0].sha256, PIN);
    assert_int_equal(a.certificates[1].not_after_ms, 7);
    assert_int_equal(service_account_copy(&a, &b, NULL), 0);
    assert_null(service_account_difference(&a, &b));
    b.certificates[1].not_after_ms = 8;
    assert_string_equal(service_account_difference(&a, &b), "certificates");
    service_account_clear_hx_clusters(&b);
    b.certificates[1].not_after_ms = 7;
    assert_string_equal(service_account_difference(&a, &b), "hx_clusters");
    service_account_done(&a);
    service_account_done(&b);
}

static void lists_have_an_end(void **state) {
    struct service_account a = {.id = NULL};
    struct service_certificate c = {.not_after_ms = 0};
    char id[16];
    (void)state;
    for (unsigned i = 0; i < SERVICE_CERTIFICATES_COUNT_MAX; i++) {
        (void)snprintf(c.sha256, sizeof(c.sha256), "%u", i);
        assert_int_equal(service_account_add_certificate(&a, &c, NULL), 0);
    }
    (void)snprintf(c.sha256, sizeof(c.sha256), "x");
    assert_int_equal(service_account_add_certificate(&a, &c, NULL), ERR_UNPROCESSABLE);
    for (unsigned i = 0; i < SERVICE_HX_CLUSTERS_COUNT_MAX; i++) {
        (void)snprintf(id, sizeof(id), "%u", i);
        assert_int_equal(service_account_add_hx_cluster(&a, id, NULL), 0);
    }
    assert_int_equal(service_account_add_hx_cluster(&a, "x", NULL), ERR_UNPROCESSABLE);
    service_account_done(&a);
}

/* -- spelling --------------------------------------------------------------------------------------------------------------- */

typedef int read_fn(const char *text, char **out, struct err *err);

static void check_spelling(read_fn *read, const char *text, const char *wanted) {
    char *out = NULL;
    int rc = read(text, &out, NULL);
    if (rc != (wanted ? 0 : ERR_UNPROCESSABLE))
        print_error("%s: %d\n", text, rc);
    assert_int_equal(rc, wanted ? 0 : ERR_UNPROCESSABLE);
    if (wanted)
        assert_string_equal(out, wanted);
    free(out);
}

static void subjects_have_one_spelling(void **state) {
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"CN=hx-east,O=Example", "CN=hx-east,O=Example"},
        {" cn = hx-east , o= Example Inc ", "CN=hx-east,O=Example Inc"},
        {"CN=a\\,b,O=x", "CN=a\\,b,O=x"},
        {"CN=a\\ ,O=x", "CN=a\\ ,O=x"},
        {"CN=a+OU=b,O=x", "CN=a+OU=b,O=x"},
        {"1.2.840.113549.1.9.1=#1603", "1.2.840.113549.1.9.1=#1603"},
        {"CN=", NULL},
        {"CN=a,", NULL},
        {"=a", NULL},
        {"hx-east", NULL},
        {"", NULL},
        {"CN=a\\", NULL},
        {"CN=a;O=b", NULL},
        {"CN=\"a\"", NULL},
        {"CN=a\nO=b", NULL},
        {"CN=\xff", NULL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        check_spelling(service_subject_read, cases[i].text, cases[i].wanted);
}

static void principals_have_a_realm(void **state) {
    (void)state;
    check_spelling(service_kerberos_read, "hx@EXAMPLE.COM", "hx@EXAMPLE.COM");
    check_spelling(service_kerberos_read, "HTTP/hx.example.com@EXAMPLE.COM", "HTTP/hx.example.com@EXAMPLE.COM");
    static const char *const bad[] = {"hx", "@R", "hx@", "a@b@c", "a b@R", "/x@R", "HTTP/@R", "x\n@R", "\xff@R"};
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        check_spelling(service_kerberos_read, bad[i], NULL);
}

static void fingerprints_are_read_in_any_form(void **state) {
    char out[SERVICE_FINGERPRINT_BYTES];
    (void)state;
    assert_int_equal(service_fingerprint_read(PIN, out, NULL), 0);
    assert_string_equal(out, PIN);
    assert_int_equal(
        service_fingerprint_read(
            "AA:AA:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa:aa", out, NULL),
        0);
    assert_string_equal(out, PIN);
    assert_int_equal(service_fingerprint_read("sha256 Fingerprint=" PIN, out, NULL), 0); /* as openssl prints it */
    assert_int_equal(service_fingerprint_read("SHA256:" PIN, out, NULL), 0);
    assert_string_equal(out, PIN);
    assert_int_equal(service_fingerprint_read("aa", out, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(service_fingerprint_read(PIN "a", out, NULL), ERR_UNPROCESSABLE);
}

static void a_key_in_place_of_a_certificate_is_not_repeated(void **state) {
    char out[SERVICE_FINGERPRINT_BYTES];
    struct err err = {0};
    (void)state;
    assert_int_equal(service_fingerprint_read("-----BEGIN PRIVATE KEY-----\nMIIE", out, &err), ERR_UNPROCESSABLE);
    assert_null(strstr(err.text, "MIIE"));
    assert_non_null(strstr(err.text, "certificate"));
}

static void an_account_needs_a_credential(void **state) {
    static char name[] = "x", kerberos[] = "x@R", blank[] = " x";
    (void)state;
    assert_int_equal(service_account_check(&(struct service_account){.name = name}, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(service_account_check(&(struct service_account){.name = name, .kerberos = kerberos}, NULL), 0);
    assert_int_equal(service_account_check(&(struct service_account){.name = blank, .kerberos = kerberos}, NULL),
                     ERR_UNPROCESSABLE);
}

/* -- whose is it? ----------------------------------------------------------------------------------------------------------- */

static char id_a[] = ID_A, id_b[] = ID_B, subject[] = "CN=hx,O=Example", kerberos[] = "hx@R";
static struct service_certificate pin = {PIN, 0};
static struct service_account accounts[] = {
    {.id = id_a, .certificates = &pin, .certificates_count = 1},
    {.id = id_b, .subject = subject, .kerberos = kerberos},
};
static const struct inventory_platform platform = {.services = accounts, .services_count = 2};

static void certificates_belong_to_accounts(void **state) {
    static const struct {
        const char *name;
        struct accounts_credential credential;
        const char *wanted; /* NULL: refused */
    } cases[] = {
        {"pinned", {PIN, "CN=whoever", 1, NOW_MS + 1, false, false}, ID_A},
        {"pinned, no subject to go by", {PIN, "", 1, NOW_MS + 1, false, false}, ID_A},
        {"pinned goes before the subject", {PIN, "CN=hx,O=Example", 1, NOW_MS + 1, true, false}, ID_A},
        {"pinned, revoked", {PIN, "CN=whoever", 1, NOW_MS + 1, false, true}, NULL},
        {"pinned, expired", {PIN, "CN=whoever", 1, NOW_MS, false, false}, NULL},
        {"pinned, too early", {PIN, "CN=whoever", NOW_MS + 1, NOW_MS + 2, false, false}, NULL},
        {"subject under the CA", {OTHER, "CN=hx,O=Example", 1, NOW_MS + 1, true, false}, ID_B},
        {"spelled otherwise by the library", {OTHER, "cn=hx, O=Example", 1, NOW_MS + 1, true, false}, ID_B},
        {"subject of another CA", {OTHER, "CN=hx,O=Example", 1, NOW_MS + 1, false, false}, NULL},
        {"another subject", {OTHER, "CN=hx,O=Other", 1, NOW_MS + 1, true, false}, NULL},
        {"longer subject", {OTHER, "CN=hx,O=Example,C=DE", 1, NOW_MS + 1, true, false}, NULL},
        {"no subject", {OTHER, "", 1, NOW_MS + 1, true, false}, NULL},
        {"subject, revoked", {OTHER, "CN=hx,O=Example", 1, NOW_MS + 1, true, true}, NULL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const struct service_account *found = NULL;
        struct err err = {0};
        int rc = accounts_find_by_certificate(&platform, &cases[i].credential, NOW_MS, &found, &err);
        if ((rc == 0) != (cases[i].wanted != NULL))
            print_error("%s: %s\n", cases[i].name, err.detail);
        assert_int_equal(rc, cases[i].wanted ? 0 : ERR_CREDENTIALS);
        if (cases[i].wanted)
            assert_string_equal(found->id, cases[i].wanted);
        else
            assert_string_equal(err.text, "no service account signs in by this");
    }
}

static void a_disabled_account_sounds_like_none(void **state) {
    const struct service_account *found = NULL;
    struct err none = {0}, off = {0};
    (void)state;
    assert_int_equal(accounts_find_by_kerberos(&platform, "hx@R", &found, NULL), 0);
    assert_string_equal(found->id, ID_B);
    assert_int_equal(accounts_find_by_kerberos(&platform, "HX@R", &found, &none), ERR_CREDENTIALS);
    accounts[1].is_disabled = true;
    assert_int_equal(accounts_find_by_kerberos(&platform, "hx@R", &found, &off), ERR_CREDENTIALS);
    accounts[1].is_disabled = false;
    assert_string_equal(none.text, off.text);
    assert_string_not_equal(none.detail, off.detail);
}

static void sessions_follow_their_account(void **state) {
    static char svc[] = "svc:" ID_A, gone[] = "33333333-3333-4333-8333-333333333333";
    const struct principal person = {.id = NULL}, itself = {.service_id = id_a}, acting = {.service_id = id_a, .acting_id = svc},
                           orphan = {.service_id = gone}, strange = {.acting_id = svc};
    const struct service_account *limits = NULL;
    (void)state;
    assert_int_equal(accounts_check_session(&platform, &person, &limits, NULL), 0);
    assert_null(limits);
    assert_int_equal(accounts_check_session(&platform, &itself, &limits, NULL), 0);
    assert_ptr_equal(limits, &accounts[0]);
    assert_int_equal(accounts_check_session(&platform, &acting, &limits, NULL), ERR_SESSION_ENDED);
    accounts[0].may_delegate = true;
    assert_int_equal(accounts_check_session(&platform, &acting, &limits, NULL), 0);
    accounts[0].is_disabled = true;
    assert_int_equal(accounts_check_session(&platform, &acting, &limits, NULL), ERR_SESSION_ENDED);
    assert_int_equal(accounts_check_session(&platform, &itself, &limits, NULL), ERR_SESSION_ENDED);
    accounts[0].is_disabled = accounts[0].may_delegate = false;
    assert_int_equal(accounts_check_session(&platform, &orphan, &limits, NULL), ERR_SESSION_ENDED);
    assert_int_equal(accounts_check_session(&platform, &strange, &limits, NULL), ERR_SESSION_ENDED);
    assert_null(limits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_stay_in_order_and_whole),       cmocka_unit_test(lists_have_an_end),
        cmocka_unit_test(subjects_have_one_spelling),          cmocka_unit_test(principals_have_a_realm),
        cmocka_unit_test(fingerprints_are_read_in_any_form),   cmocka_unit_test(a_key_in_place_of_a_certificate_is_not_repeated),
        cmocka_unit_test(an_account_needs_a_credential),       cmocka_unit_test(certificates_belong_to_accounts),
        cmocka_unit_test(a_disabled_account_sounds_like_none), cmocka_unit_test(sessions_follow_their_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
