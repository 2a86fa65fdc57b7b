/* Tokens of Negotiate taken apart: kinds, parts, and everything that is malformed; base64.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "negotiate.h"

#define OID_SPNEGO "\x06\x06\x2b\x06\x01\x05\x05\x02"
#define OID_KRB5 "\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"
#define OID_MS "\x06\x09\x2a\x86\x48\x82\xf7\x12\x01\x02\x02"
#define OID_NTLM "\x06\x0a\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a"
#define OID_OTHER "\x06\x03\x2b\x06\x01"

/* DER, made from inside out. */
struct der {
    uint8_t bytes[2048];
    size_t n;
};

static struct der raw(const void *bytes, size_t n) {
    struct der d = {.n = n};
    memcpy(d.bytes, bytes, n);
    return d;
}
#define RAW(text) raw(text, sizeof(text) - 1)

static struct der join(struct der a, struct der b) {
    memcpy(a.bytes + a.n, b.bytes, b.n);
    a.n += b.n;
    return a;
}

static struct der wrap(uint8_t tag, struct der in) {
    uint8_t head[4] = {tag, (uint8_t)in.n};
    size_t n = 2;
    if (in.n >= 0x80) {
        head[1] = 0x82;
        head[2] = (uint8_t)(in.n >> 8);
        head[3] = (uint8_t)in.n;
        n = 4;
    }
    return join(raw(head, n), in);
}

static struct der number(uint8_t value) {
    return wrap(2, raw(&value, 1));
}

/* EncryptedData; kvno 0: none. */
static struct der sealed(uint8_t enctype, uint8_t kvno, struct der cipher) {
    struct der body = wrap(0xa0, number(enctype));
    if (kvno)
        body = join(body, wrap(0xa1, number(kvno)));
    return wrap(0x30, join(body, wrap(0xa2, wrap(4, cipher))));
}

static struct der ap_req(uint8_t enctype, uint8_t kvno) {
    struct der ticket = join(wrap(0xa0, number(5)), wrap(0xa1, wrap(0x1b, RAW("R"))));
    ticket = join(ticket, wrap(0xa2, RAW("\x30\x00")));
    ticket = join(ticket, wrap(0xa3, sealed(enctype, kvno, RAW("the ticket"))));
    struct der body = join(wrap(0xa0, number(5)), wrap(0xa1, number(14)));
    body = join(body, wrap(0xa2, RAW("\x03\x05\x00\x00\x00\x00\x00")));
    body = join(body, wrap(0xa3, wrap(0x61, wrap(0x30, ticket))));
    body = join(body, wrap(0xa4, sealed(17, 0, RAW("the authenticator"))));
    return wrap(0x6e, wrap(0x30, body));
}

static struct der krb5(void) {
    return wrap(0x60, join(RAW(OID_KRB5 "\x01\x00"), ap_req(18, 3)));
}

static struct der init(struct der mechs, const struct der *token) {
    struct der body = wrap(0xa0, wrap(0x30, mechs));
    if (token)
        body = join(body, wrap(0xa2, wrap(4, *token)));
    return wrap(0x60, join(RAW(OID_SPNEGO), wrap(0xa0, wrap(0x30, body))));
}

static struct der next(const struct der *token) {
    struct der body = wrap(0xa0, RAW("\x0a\x01\x01"));
    if (token)
        body = join(body, wrap(0xa2, wrap(4, *token)));
    return wrap(0xa1, wrap(0x30, body));
}

static struct negotiate_token read_der(struct der d) {
    struct negotiate_token seen;
    uint8_t *exact = malloc(d.n + 1);
    memcpy(exact, d.bytes, d.n);
    negotiate_read(exact, d.n, &seen);
    if (seen.authenticator.bytes) {
        assert_int_equal(seen.authenticator.count, 17);
        assert_memory_equal(seen.authenticator.bytes, "the authenticator", 17);
    }
    free(exact);
    return seen;
}

static void expect_kind(struct der d, enum negotiate_kind kind) {
    struct negotiate_token seen = read_der(d);
    assert_int_equal(seen.kind, kind);
}

/* -- kinds ------------------------------------------------------------------------------------------------------------------ */

static void kinds_of_tokens(void **state) {
    struct der inner = krb5(), ntlm = RAW("NTLMSSP\0\1\0\0\0");
    struct negotiate_token seen;
    (void)state;
    seen = read_der(krb5());
    assert_int_equal(seen.kind, NEGOTIATE_KRB5);
    assert_int_equal(seen.ticket_enctype, 18);
    assert_int_equal(seen.session_enctype, 17);
    assert_int_equal(seen.ticket_kvno, 3);
    seen = read_der(ap_req(23, 0));
    assert_int_equal(seen.kind, NEGOTIATE_AP_REQ);
    assert_int_equal(seen.ticket_enctype, 23);
    assert_int_equal(seen.ticket_kvno, -1);
    seen = read_der(init(RAW(OID_MS OID_KRB5 OID_NTLM), &inner)); /* as Windows sends */
    assert_int_equal(seen.kind, NEGOTIATE_SPNEGO);
    assert_true(seen.offers_krb5 && seen.offers_ntlm && seen.authenticator.bytes);
    seen = read_der(init(RAW(OID_NTLM OID_KRB5), &ntlm));
    assert_int_equal(seen.kind, NEGOTIATE_SPNEGO);
    assert_true(seen.offers_krb5 && seen.offers_ntlm && !seen.authenticator.bytes);
    seen = read_der(init(RAW(OID_NTLM), &ntlm));
    assert_true(seen.kind == NEGOTIATE_SPNEGO && seen.offers_ntlm && !seen.offers_krb5);
    seen = read_der(init(RAW(OID_OTHER), NULL));
    assert_true(seen.kind == NEGOTIATE_SPNEGO && !seen.offers_ntlm && !seen.offers_krb5);
    seen = read_der(next(&inner));
    assert_true(seen.kind == NEGOTIATE_SPNEGO_NEXT && seen.authenticator.bytes);
    expect_kind(next(NULL), NEGOTIATE_SPNEGO_NEXT);
    expect_kind(wrap(0x60, RAW(OID_OTHER "\x01\x00")), NEGOTIATE_OTHER);
    inner = wrap(0x60, RAW(OID_OTHER "\x01\x00"));
    seen = read_der(init(RAW(OID_OTHER OID_KRB5), &inner));
    assert_true(seen.kind == NEGOTIATE_SPNEGO && seen.offers_krb5 && !seen.authenticator.bytes);
    expect_kind(ntlm, NEGOTIATE_NTLM);
}

/* Of the frame only: what a list of mechanisms names is the library's affair. */
static void the_old_oid_is_found(void **state) {
    struct der inner = wrap(0x60, join(RAW(OID_MS "\x01\x00"), ap_req(18, 3)));
    const struct der tokens[] = {inner, init(RAW(OID_KRB5 OID_MS), &inner), next(&inner)};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct negotiate_token seen;
        negotiate_read(tokens[i].bytes, tokens[i].n, &seen);
        assert_non_null(seen.authenticator.bytes);
        assert_int_equal(seen.old_oid.count, sizeof(OID_MS) - 3);
        assert_memory_equal(seen.old_oid.bytes, &OID_MS[2], seen.old_oid.count);
    }
    inner = krb5();
    assert_null(read_der(init(RAW(OID_MS OID_KRB5), &inner)).old_oid.bytes);
}

static void what_is_no_token(void **state) {
    struct der inner = krb5(), mechs = {0};
    (void)state;
    expect_kind(RAW(""), NEGOTIATE_MALFORMED);
    expect_kind(RAW("NTLM"), NEGOTIATE_MALFORMED);
    expect_kind(RAW("hello, world"), NEGOTIATE_MALFORMED);
    expect_kind(RAW("\x60\x80"), NEGOTIATE_MALFORMED); /* no definite length */
    expect_kind(RAW("\x60\x85\1\1\1\1\1\1"), NEGOTIATE_MALFORMED);
    expect_kind(RAW("\x60\x84\xff\xff\xff\xff"), NEGOTIATE_MALFORMED);
    expect_kind(wrap(0x60, join(RAW(OID_KRB5 "\x02\x00"), ap_req(18, 1))), NEGOTIATE_MALFORMED); /* an AP-REP, or so it says */
    expect_kind(join(krb5(), RAW("x")), NEGOTIATE_MALFORMED);
    expect_kind(join(ap_req(18, 1), RAW("x")), NEGOTIATE_MALFORMED);
    expect_kind(init(RAW(OID_KRB5 "x"), &inner), NEGOTIATE_MALFORMED);
    expect_kind(init((struct der){.n = 0}, &inner), NEGOTIATE_SPNEGO);
    expect_kind(next(&(struct der){.n = 3, .bytes = {0x60, 1, 0}}), NEGOTIATE_MALFORMED);
    for (int i = 0; i < 40; i++)
        mechs = join(mechs, RAW(OID_OTHER));
    expect_kind(init(mechs, &inner), NEGOTIATE_MALFORMED);
}

static struct der part(uint8_t tag, struct der value, struct der hidden) {
    return wrap(tag, join(value, hidden));
}

static struct der init_with(struct der flags, struct der token) {
    struct der body = join(wrap(0xa0, wrap(0x30, RAW(OID_KRB5))), flags);
    body = join(body, wrap(0xa2, wrap(4, token)));
    return wrap(0x60, join(RAW(OID_SPNEGO), wrap(0xa0, wrap(0x30, body))));
}

static struct der next_with(struct der before, struct der token) {
    return wrap(0xa1, wrap(0x30, join(before, wrap(0xa2, wrap(4, token)))));
}

/* A part that is passed over must hold nothing that another reader would find in it. */
static void nothing_is_hidden(void **state) {
    const struct der hidden = wrap(0xa2, wrap(4, krb5())), none = {0};
    const struct der flags = RAW("\x03\x02\x01\x00"), went = RAW("\x0a\x01\x01"), mech = RAW(OID_KRB5);
    (void)state;
    expect_kind(init_with(part(0xa1, flags, none), krb5()), NEGOTIATE_SPNEGO);
    expect_kind(init_with(part(0xa1, flags, hidden), krb5()), NEGOTIATE_MALFORMED);
    expect_kind(init_with(wrap(0xa1, hidden), krb5()), NEGOTIATE_MALFORMED);
    expect_kind(init_with(wrap(0xa1, wrap(3, hidden)), krb5()), NEGOTIATE_MALFORMED);
    expect_kind(next_with(join(part(0xa0, went, none), part(0xa1, mech, none)), krb5()), NEGOTIATE_SPNEGO_NEXT);
    expect_kind(next_with(part(0xa0, went, hidden), krb5()), NEGOTIATE_MALFORMED);
    expect_kind(next_with(part(0xa1, mech, hidden), krb5()), NEGOTIATE_MALFORMED);
    expect_kind(next_with(wrap(0xa0, wrap(0x0a, hidden)), krb5()), NEGOTIATE_MALFORMED);
}

static struct der inside(struct der d) {
    const size_t head = d.bytes[1] == 0x82 ? 4 : 2;
    return raw(d.bytes + head, d.n - head);
}

/* Nor may anything stand behind a value that libkrb5 reads on from: behind the init itself, its sequence, the list of mechanisms, the token. */
static void nothing_stands_behind(void **state) {
    const struct der hidden = wrap(0xa2, wrap(4, krb5())), oid = RAW(OID_SPNEGO), mech = RAW(OID_KRB5);
    const struct der none = {0}, extra[] = {none, RAW("x"), RAW("\0\0"), hidden}, request = inside(ap_req(18, 3));
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(extra); i++) {
        expect_kind(wrap(0x6e, join(request, extra[i])), i ? NEGOTIATE_MALFORMED : NEGOTIATE_AP_REQ);
        expect_kind(wrap(0x6e, wrap(0x30, join(inside(request), extra[i]))), i ? NEGOTIATE_MALFORMED : NEGOTIATE_AP_REQ);
        for (unsigned place = 0; place < 7; place++) {
            struct der here[7] = {{.n = 0}};
            here[place] = extra[i];
            struct der mechs = wrap(0xa0, join(wrap(0x30, mech), here[0]));
            struct der token = wrap(0xa2, join(wrap(4, join(krb5(), here[1])), here[2]));
            struct der body = join(wrap(0x30, join(join(mechs, token), here[3])), here[4]);
            struct der whole = join(wrap(0x60, join(join(oid, wrap(0xa0, body)), here[5])), here[6]);
            struct negotiate_token seen = read_der(whole);
            if (seen.kind != (i ? NEGOTIATE_MALFORMED : NEGOTIATE_SPNEGO))
                fail_msg("%zu bytes in place %u: kind %d", extra[i].n, place, seen.kind);
        }
    }
}

/* Cut off anywhere it is no token; with a byte too many in the middle it is none either. */
static void cut_off_anywhere(void **state) {
    struct der inner = krb5(), tokens[] = {init(RAW(OID_MS OID_KRB5), &inner), next(&inner), krb5(), ap_req(18, 3)};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(tokens); i++)
        for (size_t n = 0; n < tokens[i].n; n++)
            expect_kind(raw(tokens[i].bytes, n), NEGOTIATE_MALFORMED);
}

static void frame_of_a_bare_request(void **state) {
    struct der request = ap_req(18, 3), expected = krb5();
    uint8_t *framed = NULL;
    size_t n = 0;
    (void)state;
    assert_int_equal(negotiate_frame(request.bytes, request.n, &framed, &n, NULL), 0);
    expect_kind(raw(framed, n), NEGOTIATE_KRB5);
    free(framed);
    for (size_t size = 50; size < 80000; size = size * 3 / 2) { /* lengths of one to three bytes */
        uint8_t *filler = calloc(1, size);
        assert_int_equal(negotiate_frame(filler, size, &framed, &n, NULL), 0);
        size_t head = n - size;
        assert_int_equal(framed[0], 0x60);
        assert_true(head >= 15 && head <= 18);
        free(framed);
        free(filler);
    }
    assert_true(expected.n > 0);
}

/* -- base64 ------------------------------------------------------------------------------------------------------------------- */

static void expect_decoded(const char *text, const char *bytes) {
    uint8_t *out = NULL;
    size_t n = 0;
    assert_int_equal(negotiate_decode(text, &out, &n, NULL), 0);
    assert_int_equal(n, strlen(bytes));
    assert_memory_equal(out, bytes, n);
    char *again = negotiate_encode(out, n);
    assert_string_equal(again, text);
    free(again);
    free(out);
}

static void base64_both_ways(void **state) {
    static const char *const bad[] = {"",         "a",    "ab",    "abc",  "abcde", "====", "a===", "ab=c",       "a=bc",
                                      "ab==cd==", "ab c", "abc\n", "ab-_", "Zg=",   "Zh==", "Zm9=", "Z\xc3\xa9vv"};
    uint8_t *out = NULL;
    size_t n = 0;
    (void)state;
    expect_decoded("Zg==", "f");
    expect_decoded("Zm8=", "fo");
    expect_decoded("Zm9v", "foo");
    expect_decoded("Zm9vYmFy", "foobar");
    expect_decoded("+/+/", "\xfb\xff\xbf");
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct err err = {0};
        if (negotiate_decode(bad[i], &out, &n, &err) != ERR_INVALID)
            fail_msg("\"%s\" was taken", bad[i]);
    }
}

static void base64_has_a_limit(void **state) {
    const size_t most = NEGOTIATE_TOKEN_BYTES_MAX;
    uint8_t *bytes = calloc(1, most + 1), *out = NULL;
    size_t n = 0;
    (void)state;
    char *fits = negotiate_encode(bytes, most), *more = negotiate_encode(bytes, most + 1);
    assert_int_equal(negotiate_decode(fits, &out, &n, NULL), 0);
    assert_int_equal(n, most);
    free(out);
    assert_int_equal(negotiate_decode(more, &out, &n, NULL), ERR_TOO_LARGE);
    free(fits);
    free(more);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_both_ways),   cmocka_unit_test(kinds_of_tokens),   cmocka_unit_test(the_old_oid_is_found),
        cmocka_unit_test(what_is_no_token),   cmocka_unit_test(cut_off_anywhere),  cmocka_unit_test(frame_of_a_bare_request),
        cmocka_unit_test(base64_has_a_limit), cmocka_unit_test(nothing_is_hidden), cmocka_unit_test(nothing_stands_behind),
    };
    return cmocka_run_group_tests_name("negotiate", tests, NULL, NULL);
}
