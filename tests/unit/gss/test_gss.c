/* The acceptor without any KDC: tokens that prove nothing, and keytabs that come, change, break and go. Tickets: tests/integ/auth/test_kerberos.py.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <fcntl.h>
#include <krb5.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gss_acceptor.h"

static char folder[] = "/tmp/kaas-gss-XXXXXX";
static char keytab[64], cache[64];
static struct gss_acceptor *acceptor;

/* Writes a keytab with one key, or adds one. */
static void write_key(const char *principal_text, unsigned kvno, int enctype, bool is_new) {
    char name[80];
    krb5_context context;
    krb5_keytab file;
    krb5_keytab_entry entry = {.vno = kvno};
    if (is_new)
        (void)unlink(keytab);
    (void)snprintf(name, sizeof(name), "WRFILE:%s", keytab);
    assert_int_equal(krb5_init_context(&context), 0);
    assert_int_equal(krb5_kt_resolve(context, name, &file), 0);
    assert_int_equal(krb5_parse_name(context, principal_text, &entry.principal), 0);
    assert_int_equal(krb5_c_make_random_key(context, enctype, &entry.key), 0);
    assert_int_equal(krb5_kt_add_entry(context, file, &entry), 0);
    (void)krb5_free_keytab_entry_contents(context, &entry);
    (void)krb5_kt_close(context, file);
    krb5_free_context(context);
}

static void write_bytes(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static int set_up(void **state) {
    struct gss_options options = {.keytab = keytab, .replay_cache = cache};
    (void)state;
    options.enctypes[0] = gss_enctype_parse("aes256-cts-hmac-sha1-96");
    options.enctypes[1] = gss_enctype_parse("aes128-cts");
    (void)unlink(keytab);
    (void)unlink(cache);
    return gss_acceptor_new(&options, &acceptor, NULL);
}

static int tear_down(void **state) {
    (void)state;
    gss_acceptor_free(acceptor);
    return 0;
}

static void expect(const void *token, size_t n, enum gss_verdict verdict, enum gss_reason reason) {
    const struct gss_token in = {.bytes = token, .count = n};
    struct gss_answer answer;
    assert_int_equal(gss_acceptor_accept(acceptor, &in, &answer, NULL), 0);
    if (answer.verdict != verdict || answer.reason != reason)
        fail_msg("verdict %d, reason %s: %s", (int)answer.verdict, gss_reason_word(answer.reason), answer.why);
    assert_null(answer.principal);
    gss_answer_done(&answer);
}

static int look(struct gss_keys *keys, struct err *err) {
    memset(err, 0, sizeof(*err));
    return gss_acceptor_look(acceptor, keys, err);
}

/* SPNEGO of a client that offers krb5 second, without a token for it: the negotiation needs another leg. */
static const uint8_t krb5_second[] = {0x60, 0x27, 0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02, 0xa0, 0x1d, 0x30, 0x1b,
                                      0xa0, 0x19, 0x30, 0x17, 0x06, 0x0a, 0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02,
                                      0x02, 0x0a, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02};
static const uint8_t ntlm_only[] = {0x60, 0x1c, 0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02, 0xa0, 0x12, 0x30, 0x10, 0xa0,
                                    0x0e, 0x30, 0x0c, 0x06, 0x0a, 0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a};
static const uint8_t second_leg[] = {0xa1, 0x07, 0x30, 0x05, 0xa0, 0x03, 0x0a, 0x01, 0x01};

/* AP-REQ with a ticket in AES-256 and an authenticator in AES-128, of nobody's key. */
static const uint8_t ap_req[] = {0x6e, 0x4a, 0x30, 0x48, 0xa0, 0x03, 0x02, 0x01, 0x05, 0xa1, 0x03, 0x02, 0x01, 0x0e, 0xa2, 0x07,
                                 0x03, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0xa3, 0x25, 0x61, 0x23, 0x30, 0x21, 0xa0, 0x03, 0x02,
                                 0x01, 0x05, 0xa1, 0x03, 0x1b, 0x01, 0x52, 0xa2, 0x02, 0x30, 0x00, 0xa3, 0x11, 0x30, 0x0f, 0xa0,
                                 0x03, 0x02, 0x01, 0x12, 0xa1, 0x03, 0x02, 0x01, 0x01, 0xa2, 0x03, 0x04, 0x01, 0x74, 0xa4, 0x0c,
                                 0x30, 0x0a, 0xa0, 0x03, 0x02, 0x01, 0x11, 0xa2, 0x03, 0x04, 0x01, 0x61};
#define TICKET_ENCTYPE_AT 51 /* in it */
#define AUTHENTICATOR_ENCTYPE_AT 70

/* -- tokens ------------------------------------------------------------------------------------------------------------------- */

static void tokens_that_prove_nothing(void **state) {
    (void)state;
    write_key("HTTP/h@R.TEST", 1, ENCTYPE_AES256_CTS_HMAC_SHA1_96, true);
    expect("", 0, GSS_MALFORMED, GSS_REASON_MALFORMED);
    expect("garbage", 7, GSS_MALFORMED, GSS_REASON_MALFORMED);
    expect("NTLMSSP\0\1\0\0\0\0\0", 14, GSS_REFUSED, GSS_REASON_NTLM);
    expect(ntlm_only, sizeof(ntlm_only), GSS_REFUSED, GSS_REASON_NTLM);
    expect(second_leg, sizeof(second_leg), GSS_REFUSED, GSS_REASON_MALFORMED); /* of nothing that was begun */
}

/* Before anybody looks for a key: the ticket's, and that of the session, which the authenticator is in. */
static void encryption_types_that_are_not_taken(void **state) {
    static const size_t places[] = {TICKET_ENCTYPE_AT, AUTHENTICATOR_ENCTYPE_AT};
    (void)state;
    write_key("HTTP/h@R.TEST", 1, ENCTYPE_AES256_CTS_HMAC_SHA1_96, true);
    for (size_t i = 0; i < UNIT_COUNT(places); i++) {
        uint8_t token[sizeof(ap_req)];
        memcpy(token, ap_req, sizeof(token));
        token[places[i]] = ENCTYPE_ARCFOUR_HMAC;
        expect(token, sizeof(token), GSS_REFUSED, GSS_REASON_ENCTYPE);
    }
}

static void begun_and_not_ended(void **state) {
    struct gss_token in = {.bytes = krb5_second, .count = sizeof(krb5_second)};
    struct gss_answer answer;
    (void)state;
    write_key("HTTP/h@R.TEST", 1, ENCTYPE_AES256_CTS_HMAC_SHA1_96, true);
    assert_int_equal(gss_acceptor_accept(acceptor, &in, &answer, NULL), 0);
    assert_int_equal(answer.verdict, GSS_GO_ON);
    assert_non_null(answer.kept);
    assert_non_null(answer.reply);
    /* an end that proves nothing, with what was kept */
    in = (struct gss_token){.bytes = second_leg, .count = sizeof(second_leg), .kept = answer.kept};
    answer.kept = NULL;
    gss_answer_done(&answer);
    assert_int_equal(gss_acceptor_accept(acceptor, &in, &answer, NULL), 0);
    assert_int_equal(answer.verdict, GSS_REFUSED);
    gss_answer_done(&answer);
}

/* -- keytab and replay cache ---------------------------------------------------------------------------------------------------- */

static void keytab_comes_changes_and_goes(void **state) {
    struct gss_keys keys;
    struct err err;
    (void)state;
    expect(krb5_second, 1, GSS_MALFORMED, GSS_REASON_MALFORMED);
    assert_int_equal(look(&keys, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "No such file"));
    assert_true(err.remedy[0]);
    gss_keys_done(&keys);
    write_key("HTTP/h@R.TEST", 1, ENCTYPE_AES256_CTS_HMAC_SHA1_96, true);
    assert_int_equal(look(&keys, &err), 0);
    assert_int_equal(keys.count, 1);
    assert_string_equal(keys.items[0].principal, "HTTP/h@R.TEST");
    assert_string_equal(keys.items[0].enctype_name, "aes256-cts-hmac-sha1-96");
    assert_true(keys.items[0].is_used && keys.items[0].made_at_ms > 0);
    gss_keys_done(&keys);
    write_key("HTTP/h@R.TEST", 2, ENCTYPE_AES256_CTS_HMAC_SHA1_96, false);
    assert_int_equal(look(&keys, &err), 0);
    assert_int_equal(keys.count, 2);
    gss_keys_done(&keys);
    assert_true(gss_acceptor_is_of_realm(acceptor, "R.TEST"));
    assert_false(gss_acceptor_is_of_realm(acceptor, "r.test"));
    (void)unlink(keytab);
    assert_int_equal(look(&keys, &err), ERR_CONFIG);
    gss_keys_done(&keys);
    assert_false(gss_acceptor_is_of_realm(acceptor, "R.TEST"));
}

static void keytab_that_is_broken(void **state) {
    struct gss_keys keys;
    struct err err;
    (void)state;
    write_bytes(keytab, "this is no keytab");
    assert_int_equal(look(&keys, &err), ERR_CONFIG);
    gss_keys_done(&keys);
    write_bytes(keytab, "");
    assert_int_equal(look(&keys, &err), ERR_CONFIG);
    gss_keys_done(&keys);
    write_key("HTTP/h@R.TEST", 1, ENCTYPE_ARCFOUR_HMAC, true);
    assert_int_equal(look(&keys, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "encryption type"));
    assert_int_equal(keys.count, 1); /* so that one sees what is wrong */
    assert_false(keys.items[0].is_used);
    gss_keys_done(&keys);
}

static void replay_cache_that_cannot_be_written(void **state) {
    struct gss_keys keys;
    struct err err;
    (void)state;
    write_key("HTTP/h@R.TEST", 1, ENCTYPE_AES128_CTS_HMAC_SHA1_96, true);
    assert_int_equal(mkdir(cache, 0700), 0);
    assert_int_equal(look(&keys, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, cache));
    gss_keys_done(&keys);
    assert_int_equal(rmdir(cache), 0);
    assert_int_equal(symlink("/dev/null", cache), 0); /* none of ours */
    assert_int_equal(look(&keys, &err), ERR_CONFIG);
    gss_keys_done(&keys);
}

static void names_of_encryption_types(void **state) {
    (void)state;
    assert_int_equal(gss_enctype_parse("aes256-cts-hmac-sha1-96"), ENCTYPE_AES256_CTS_HMAC_SHA1_96);
    assert_int_equal(gss_enctype_parse("aes128-cts-hmac-sha256-128"), ENCTYPE_AES128_CTS_HMAC_SHA256_128);
    assert_int_equal(gss_enctype_parse("rot13"), 0);
    assert_int_equal(gss_enctype_parse("a name that is longer than any encryption type that anybody will ever think of"), 0);
    for (int i = 0; i <= GSS_REASON_OTHER + 1; i++)
        assert_true(gss_reason_word((enum gss_reason)i)[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tokens_that_prove_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(encryption_types_that_are_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(begun_and_not_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keytab_comes_changes_and_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keytab_that_is_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replay_cache_that_cannot_be_written, set_up, tear_down),
        cmocka_unit_test(names_of_encryption_types),
    };
    int failed;
    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(keytab, sizeof(keytab), "%s/keytab", folder);
    (void)snprintf(cache, sizeof(cache), "%s/rcache", folder);
    failed = cmocka_run_group_tests_name("gss", tests, NULL, NULL);
    (void)unlink(keytab);
    (void)unlink(cache);
    (void)rmdir(folder);
    return failed;
}
