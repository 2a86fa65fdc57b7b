/* Unit tests of src/token. Tokens to be refused are built here with OpenSSL, independently of the code under test.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cjose/cjose.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "limits.h"
#include "secret.h"
#include "str.h"
#include "token.h"
#include "token_set.h"

#define NOW 1800000000
#define ISSUER "https://kaas.example"
#define AUDIENCE "kaas"
#define JTI "0b7a5c9e-1111-4222-8333-444455556666"
#define SID "1c8b6d0f-1111-4222-8333-444455556666"

struct world {
    struct token_set *set;
    char kid[TOKEN_KID_BYTES];
    char *jwk;
};

static const struct token_claims sample = {.sub = "vc:5c0f:vsphere.local\\anna",
                                           .act = "svc:0b7a5c9e-1111-4222-8333-444455556666",
                                           .jti = JTI,
                                           .sid = SID,
                                           .src = SOURCE_VC_TICKET,
                                           .role = ROLE_USER,
                                           .iat_s = NOW,
                                           .exp_s = NOW + 900};

static struct token_set *new_set(void) {
    struct token_set *set = NULL;
    struct err err = {0};
    assert_int_equal(
        token_set_new(&(struct token_options){.issuer = ISSUER, .audience = AUDIENCE, .cache_count = 64}, &set, &err), 0);
    return set;
}

static int begin(void **state) {
    static struct world w;
    struct err err = {0};
    w = (struct world){.set = new_set()};
    assert_int_equal(token_key_generate(w.kid, &w.jwk, &err), 0);
    assert_int_equal(token_set_add_key(w.set, &(struct token_key){.kid = w.kid, .jwk = w.jwk, .state = TOKEN_KEY_ACTIVE}, &err),
                     0);
    *state = &w;
    return 0;
}

static int end(void **state) {
    struct world *w = *state;
    token_set_free(w->set);
    secret_free(w->jwk);
    return 0;
}

static char *issue(struct world *w, const struct token_claims *claims) {
    char *text = NULL;
    struct err err = {0};
    assert_int_equal(token_issue(w->set, claims, &text, &err), 0);
    return text;
}

static int verify_at(struct world *w, const char *text, int64_t now_s, struct token_claims *out, struct err *err) {
    err_clear(err);
    return token_verify(w->set, text, strlen(text), now_s, out, err);
}

static void assert_accepted(struct world *w, const char *text) {
    struct token_claims claims = {0};
    struct err err = {0};
    int rc = verify_at(w, text, NOW + 1, &claims, &err);
    if (rc)
        print_message("refused: %s (%s)\n", err.text, err.detail);
    assert_int_equal(rc, 0);
    assert_string_equal(claims.sub, sample.sub);
}

/* Refused for this reason, with the general text for the client, twice: the second time perhaps from the cache of bad tokens. */
static void assert_refused(struct world *w, const char *text, size_t n, const char *reason) {
    struct token_claims claims = {0};
    struct err err = {0};
    assert_int_equal(token_verify(w->set, text, n, NOW + 1, &claims, &err), ERR_UNAUTHENTICATED);
    if (!strstr(err.detail, reason))
        print_message("detail: %s\nwanted: %s\n", err.detail, reason);
    assert_non_null(strstr(err.detail, reason));
    assert_string_equal(err.text, "the token is not valid");
    assert_string_equal(claims.sub, "");
    err_clear(&err);
    assert_int_equal(token_verify(w->set, text, n, NOW + 1, &claims, &err), ERR_UNAUTHENTICATED);
}

/* ---- tokens made by hand ---- */

static EVP_PKEY *key_of_jwk(const char *jwk) {
    uint8_t point[65] = {4}, d[32];
    EVP_PKEY *key = NULL;
    _cleanup_json_ json_t *parts = json_loads(jwk, 0, NULL);
    const char *x = json_get_string(parts, "x"), *y = json_get_string(parts, "y"), *secret = json_get_string(parts, "d");
    assert_int_equal(str_unbase64url(x, strlen(x), point + 1, 32), 32);
    assert_int_equal(str_unbase64url(y, strlen(y), point + 33, 32), 32);
    assert_int_equal(str_unbase64url(secret, strlen(secret), d, 32), 32);
    BIGNUM *number = BN_bin2bn(d, 32, NULL);
    OSSL_PARAM_BLD *list = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_utf8_string(list, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(list, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point));
    OSSL_PARAM_BLD_push_BN(list, OSSL_PKEY_PARAM_PRIV_KEY, number);
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(list);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_KEYPAIR, params), 1);
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(list);
    BN_free(number);
    return key;
}

/* Puts n - s in place of s. True if that is the larger one. */
static bool take_other_s(uint8_t raw[64]) {
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    BIGNUM *s = BN_bin2bn(raw + 32, 32, NULL), *other = BN_new();
    assert_int_equal(BN_sub(other, EC_GROUP_get0_order(group), s), 1);
    const bool is_larger = BN_cmp(other, s) > 0;
    assert_int_equal(BN_bn2binpad(other, raw + 32, 32), 32);
    BN_free(s);
    BN_free(other);
    EC_GROUP_free(group);
    return is_larger;
}

static void sign_es256(const char *jwk, const char *text, uint8_t raw[64]) {
    uint8_t der[128];
    size_t der_bytes = sizeof(der);
    EVP_PKEY *key = key_of_jwk(jwk);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestSign(ctx, der, &der_bytes, (const uint8_t *)text, strlen(text)), 1);
    const uint8_t *p = der;
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &p, (long)der_bytes);
    assert_non_null(sig);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, 32), 32);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + 32, 32), 32);
    if (!token_is_lower_s(raw + 32))
        (void)take_other_s(raw);
    ECDSA_SIG_free(sig);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
}

/* A correctly signed token with these texts as header and payload. */
static char *forge(const char *jwk, const char *header, const char *payload) {
    struct strbuf b;
    uint8_t raw[64];
    strbuf_init(&b, 200000);
    str_base64url(&b, (const uint8_t *)header, strlen(header));
    strbuf_addc(&b, '.');
    str_base64url(&b, (const uint8_t *)payload, strlen(payload));
    sign_es256(jwk, b.data, raw);
    strbuf_addc(&b, '.');
    str_base64url(&b, raw, sizeof(raw));
    assert_int_equal(b.failed, 0);
    return strbuf_steal(&b);
}

static char *good_header(const struct world *w) {
    return str_format("{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", w->kid);
}

/* The good payload, with one claim replaced by a JSON text, or left out (NULL), or the whole as is (no name). */
static char *payload_with(const char *name, const char *json) {
    _cleanup_json_ json_t *claims =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I}", "iss", ISSUER, "aud", AUDIENCE, "sub", sample.sub, "jti", JTI, "sid",
                  SID, "src", "local", "role", "user", "iat", (json_int_t)NOW, "exp", (json_int_t)NOW + 900);
    assert_non_null(claims);
    if (name && !json)
        assert_int_equal(json_object_del(claims, name), 0);
    if (name && json)
        assert_int_equal(json_object_set_new(claims, name, json_loads(json, JSON_DECODE_ANY, NULL)), 0);
    return json_dumps(claims, JSON_COMPACT);
}

static void refuse_payload(struct world *w, const char *payload, const char *reason) {
    _cleanup_free_ char *header = good_header(w), *text = forge(w->jwk, header, payload);
    assert_refused(w, text, strlen(text), reason);
}

static void refuse_header(struct world *w, const char *header, const char *reason) {
    _cleanup_free_ char *payload = payload_with(NULL, NULL), *text = forge(w->jwk, header, payload);
    assert_refused(w, text, strlen(text), reason);
}

/* ---- tests ---- */

static void test_round_trip(void **state) {
    struct world *w = *state;
    struct token_claims claims = {0};
    struct token_stats stats;
    struct err err = {0};
    _cleanup_free_ char *text = issue(w, &sample);
    assert_int_equal(verify_at(w, text, NOW, &claims, &err), 0);
    assert_string_equal(claims.sub, sample.sub);
    assert_string_equal(claims.jti, JTI);
    assert_string_equal(claims.sid, SID);
    assert_int_equal(claims.src, SOURCE_VC_TICKET);
    assert_int_equal(claims.role, ROLE_USER);
    assert_int_equal(claims.iat_s, NOW);
    assert_int_equal(claims.exp_s, NOW + 900);
    claims = (struct token_claims){0};
    assert_int_equal(verify_at(w, text, NOW + 899, &claims, &err), 0);
    assert_string_equal(claims.sub, sample.sub);
    assert_string_equal(claims.act, sample.act); /* from the cache */
    token_set_get_stats(w->set, &stats);
    assert_int_equal(stats.verified, 1);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.cached, 1);
}

static void test_hand_made_is_accepted(void **state) {
    struct world *w = *state;
    _cleanup_free_ char *header = good_header(w), *payload = payload_with(NULL, NULL), *text = forge(w->jwk, header, payload);
    assert_accepted(w, text);
    /* claims that a newer version may add do no harm */
    _cleanup_free_ char *more = payload_with("new", "{\"sub\":\"svc:hx\"}"), *newer = forge(w->jwk, header, more);
    assert_accepted(w, newer);
}

/* The other signature for the same text, (r, n - s). True if its s is the larger one. */
static bool make_twin(char *text) {
    char *signature = text + strlen(text) - 86;
    uint8_t raw[64];
    struct strbuf b;
    assert_int_equal(str_unbase64url(signature, strlen(signature), raw, sizeof(raw)), 64);
    const bool is_larger = take_other_s(raw);
    strbuf_init(&b, 100);
    str_base64url(&b, raw, sizeof(raw));
    memcpy(signature, b.data, b.len);
    strbuf_done(&b);
    return is_larger;
}

static void test_one_of_two_signatures_is_written_and_read(void **state) {
    struct world *w = *state;
    for (int i = 0; i < 32; i++) {
        _cleanup_free_ char *text = issue(w, &sample);
        assert_accepted(w, text);
        assert_true(make_twin(text));
        assert_refused(w, text, strlen(text), "the larger of its two values");
    }
}

/* The bound is n / 2, which belongs to the smaller ones (n is odd). */
static void test_bound_of_s(void **state) {
    uint8_t s[32];
    BIGNUM *half = BN_new();
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    (void)state;
    assert_int_equal(BN_rshift1(half, EC_GROUP_get0_order(group)), 1);
    assert_int_equal(BN_bn2binpad(half, s, 32), 32);
    assert_true(token_is_lower_s(s));
    assert_int_equal(BN_add_word(half, 1), 1);
    assert_int_equal(BN_bn2binpad(half, s, 32), 32);
    assert_false(token_is_lower_s(s));
    EC_GROUP_free(group);
    BN_free(half);
}

static void test_expired(void **state) {
    struct world *w = *state;
    struct token_claims claims = {0};
    struct err err = {0};
    _cleanup_free_ char *text = issue(w, &sample), *unseen = NULL;
    assert_int_equal(verify_at(w, text, NOW + 899, &claims, &err), 0);
    assert_int_equal(verify_at(w, text, NOW + 900, &claims, &err), ERR_TOKEN_EXPIRED); /* from the cache */
    _cleanup_free_ char *header = good_header(w), *payload = payload_with(NULL, NULL);
    unseen = forge(w->jwk, header, payload);
    assert_int_equal(verify_at(w, unseen, NOW + 900, &claims, &err), ERR_TOKEN_EXPIRED);
    assert_int_equal(verify_at(w, unseen, NOW + 800, &claims, &err), 0); /* an expired one is not remembered as bad */
}

static void test_future(void **state) {
    struct world *w = *state;
    struct token_claims claims = {0};
    struct err err = {0};
    _cleanup_free_ char *text = issue(w, &sample);
    assert_int_equal(verify_at(w, text, NOW - TOKEN_CLOCK_SKEW_S - 1, &claims, &err), ERR_UNAUTHENTICATED);
    assert_non_null(strstr(err.detail, "future"));
    assert_int_equal(verify_at(w, text, NOW - TOKEN_CLOCK_SKEW_S, &claims, &err), 0);
}

static void test_lengths(void **state) {
    struct world *w = *state;
    _cleanup_free_ char *text = issue(w, &sample);
    _cleanup_free_ char *longer = malloc(100001);
    assert_non_null(longer);
    for (size_t n = 0; n < strlen(text); n++) {
        struct token_claims claims;
        assert_int_equal(token_verify(w->set, text, n, NOW, &claims, NULL), ERR_UNAUTHENTICATED);
    }
    memset(longer, 'A', 100000);
    longer[100000] = '\0';
    longer[100] = longer[200] = '.';
    assert_refused(w, longer, 100000, "too long");
    memset(longer, '.', 100000);
    assert_refused(w, longer, KAAS_TOKEN_BYTES_MAX, "more than three");
    assert_refused(w, "", 0, "empty");
    _cleanup_free_ char *tail = str_format("%s.x", text), *padded = str_format("%s=", text);
    assert_refused(w, tail, strlen(tail), "more than three parts");
    assert_refused(w, padded, strlen(padded), "length");
    text[strlen(text) - 1] = '!';
    assert_refused(w, text, strlen(text), "not base64url");
}

static void test_every_byte_counts(void **state) {
    struct world *w = *state;
    _cleanup_free_ char *text = issue(w, &sample);
    struct token_claims claims;
    for (size_t i = 0, n = strlen(text); i < n; i += 7) {
        char kept = text[i];
        text[i] = kept == 'A' ? 'B' : 'A';
        assert_int_equal(token_verify(w->set, text, n, NOW, &claims, NULL), ERR_UNAUTHENTICATED);
        text[i] = kept;
    }
    assert_accepted(w, text);
}

static void test_alg_none(void **state) {
    struct world *w = *state;
    struct strbuf b;
    _cleanup_free_ char *header = str_format("{\"alg\":\"none\",\"typ\":\"JWT\",\"kid\":\"%s\"}", w->kid),
                        *payload = payload_with(NULL, NULL);
    refuse_header(w, header, "alg is not ES256");
    strbuf_init(&b, 10000); /* the classic form: no signature at all */
    str_base64url(&b, (const uint8_t *)header, strlen(header));
    strbuf_addc(&b, '.');
    str_base64url(&b, (const uint8_t *)payload, strlen(payload));
    strbuf_addc(&b, '.');
    assert_refused(w, b.data, b.len, "length");
    strbuf_done(&b);
}

/* Key confusion: the public key taken as an HMAC secret, with the 32-byte MAC padded to the length of an ES256 signature. */
static void test_hs256_by_public_key(void **state) {
    struct world *w = *state;
    struct strbuf b, jwks;
    uint8_t raw[64] = {0};
    unsigned n = 0;
    _cleanup_free_ char *header = str_format("{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", w->kid),
                        *payload = payload_with(NULL, NULL);
    strbuf_init(&b, 10000);
    strbuf_init(&jwks, 10000);
    assert_int_equal(token_set_write_jwks(w->set, NOW, &jwks, NULL), 0);
    str_base64url(&b, (const uint8_t *)header, strlen(header));
    strbuf_addc(&b, '.');
    str_base64url(&b, (const uint8_t *)payload, strlen(payload));
    assert_non_null(HMAC(EVP_sha256(), jwks.data, (int)jwks.len, (const uint8_t *)b.data, b.len, raw, &n));
    size_t signed_bytes = b.len;
    strbuf_addc(&b, '.');
    str_base64url(&b, raw, 32);
    assert_refused(w, b.data, b.len, "length");
    b.len = signed_bytes;
    strbuf_addc(&b, '.');
    str_base64url(&b, raw, 64);
    assert_refused(w, b.data, b.len, "alg is not ES256");
    strbuf_done(&b);
    strbuf_done(&jwks);
}

static void test_headers(void **state) {
    struct world *w = *state;
    static const struct {
        const char *form, *reason; /* %s: the kid */
    } cases[] = {
        {"{\"alg\":\"ES384\",\"typ\":\"JWT\",\"kid\":\"%s\"}", "alg"},
        {"{\"alg\":\"es256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", "alg"},
        {"{\"alg\":256,\"typ\":\"JWT\",\"kid\":\"%s\"}", "mistyped"},
        {"{\"typ\":\"JWT\",\"kid\":\"%s\"}", "missing"},
        {"{\"alg\":\"ES256\",\"kid\":\"%s\"}", "missing"},
        {"{\"alg\":\"ES256\",\"typ\":\"at+jwt\",\"kid\":\"%s\"}", "typ"},
        {"{\"alg\":\"ES256\",\"typ\":null,\"kid\":\"%s\"}", "mistyped"},
        {"{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":[\"%s\"]}", "mistyped"},
        {"{\"alg\":\"ES256\",\"typ\":\"JWT\",\"x\":\"%s\"}", "unknown"},
        {"{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"x%s\"}", "kid has a wrong length"},
        {"{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"%s\",\"crit\":[\"exp\"]}", "unknown"},
        {"{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"%s\",\"alg\":\"ES256\"}", "not JSON"}, /* given twice */
        {"[\"ES256\",\"%s\"]", "missing, unknown or mistyped"},
        {"\"%s\"", "not JSON"},
        {"{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"%s\"", "not JSON"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct strbuf header; /* not str_format: the form is no literal */
        const char *at = strstr(cases[i].form, "%s");
        strbuf_init(&header, 1000);
        strbuf_add(&header, cases[i].form, (size_t)(at - cases[i].form));
        strbuf_adds(&header, w->kid);
        strbuf_adds(&header, at + 2);
        refuse_header(w, header.data, cases[i].reason);
        strbuf_done(&header);
    }
    refuse_header(w, "{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"0123456789012345678901234567890123456789012\"}",
                  "kid is unknown");
}

static void test_claims(void **state) {
    struct world *w = *state;
    static const char *const texts[] = {"iss", "aud", "sub", "jti", "sid", "src", "role"};
    static const char *const wrong[] = {NULL, "7", "null", "true", "[\"x\"]", "{}", "\"\"", "\"someone-else\""};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        for (size_t k = 0; k < ARRAY_COUNT(wrong); k++) {
            if (!strcmp(texts[i], "sub") && k == ARRAY_COUNT(wrong) - 1)
                continue; /* any text may be a subject */
            _cleanup_free_ char *payload = payload_with(texts[i], wrong[k]);
            refuse_payload(w, payload, texts[i]);
        }
    _cleanup_free_ char *chain = payload_with("act", "{\"sub\":\"svc:x\",\"act\":{}}");
    refuse_payload(w, chain, "act");
    static const char *const times[] = {NULL, "\"1800000000\"", "1800000000.5", "null", "0", "-5", "{}"};
    for (size_t k = 0; k < ARRAY_COUNT(times); k++) {
        _cleanup_free_ char *iat = payload_with("iat", times[k]), *exp = payload_with("exp", times[k]);
        refuse_payload(w, iat, "iat or exp");
        refuse_payload(w, exp, "iat or exp");
    }
    _cleanup_free_ char *backwards = payload_with("exp", "1799999999"), *none_role = payload_with("role", "\"none\"");
    refuse_payload(w, backwards, "iat or exp");
    refuse_payload(w, none_role, "role");
    _cleanup_free_ char *list = payload_with("aud", "[\"" AUDIENCE "\"]");
    refuse_payload(w, list, "aud");
}

static void test_payload_forms(void **state) {
    struct world *w = *state;
    _cleanup_free_ char *payload = payload_with(NULL, NULL);
    payload[strlen(payload) - 1] = '\0';
    _cleanup_free_ char *doubled = str_format("%s,\"sub\":\"local:admin\"}", payload);
    refuse_payload(w, doubled, "not JSON");
    refuse_payload(w, payload, "not JSON"); /* cut off */
    refuse_payload(w, "", "");
    refuse_payload(w, "[]", "iss");
    _cleanup_free_ char *nul = payload_with("sub", "\"a\"");
    char *at = strstr(nul, "\"a\"");
    struct strbuf b;
    strbuf_init(&b, 1000);
    strbuf_add(&b, nul, (size_t)(at - nul));
    strbuf_adds(&b, "\"a\\u0000b\"");
    strbuf_adds(&b, at + 3);
    refuse_payload(w, b.data, "not JSON");
    strbuf_done(&b);
}

static void test_other_key(void **state) {
    struct world *w = *state;
    char kid[TOKEN_KID_BYTES];
    _cleanup_secret_ char *jwk = NULL;
    struct token_stats stats;
    assert_int_equal(token_key_generate(kid, &jwk, NULL), 0);
    _cleanup_free_ char *header = good_header(w), *payload = payload_with(NULL, NULL), *text = forge(jwk, header, payload);
    assert_refused(w, text, strlen(text), "signature is wrong");
    token_set_get_stats(w->set, &stats);
    assert_int_equal(stats.verified, 1); /* the repeat cost no curve operation */
    assert_int_equal(stats.refused_hits, 1);
    _cleanup_free_ char *own = str_format("{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", kid),
                        *unknown = forge(jwk, own, payload);
    assert_refused(w, unknown, strlen(unknown), "kid is unknown");
    struct err err = {0}; /* a key that claims another's id */
    assert_int_equal(token_set_add_key(w->set, &(struct token_key){.kid = w->kid, .jwk = jwk}, &err), ERR_CONFIG);
    assert_refused(w, text, strlen(text), "");
    err_clear(&err); /* once its key is known, the token refused before is good */
    assert_int_equal(token_set_add_key(w->set, &(struct token_key){.kid = kid, .jwk = jwk, .state = TOKEN_KEY_VERIFY_ONLY}, &err),
                     0);
    assert_accepted(w, unknown);
}

static void test_rotation(void **state) {
    struct world *w = *state;
    char kid[TOKEN_KID_BYTES];
    _cleanup_secret_ char *jwk = NULL;
    struct token_claims claims;
    struct err err = {0};
    _cleanup_free_ char *old = issue(w, &sample);
    assert_int_equal(token_key_generate(kid, &jwk, NULL), 0);
    assert_int_equal(token_set_add_key(w->set, &(struct token_key){.kid = kid, .jwk = jwk, .state = TOKEN_KEY_ACTIVE}, &err), 0);
    _cleanup_free_ char *new = issue(w, &sample);
    assert_accepted(w, old);
    assert_accepted(w, new);
    token_set_retain(w->set, (const char *[]){kid}, 1);
    assert_int_equal(verify_at(w, old, NOW, &claims, &err), ERR_UNAUTHENTICATED); /* although it was cached */
    assert_accepted(w, new);
    token_set_retain(w->set, NULL, 0);
    assert_int_equal(verify_at(w, new, NOW, &claims, &err), ERR_UNAUTHENTICATED);
    char *none = NULL;
    err_clear(&err);
    assert_int_equal(token_issue(w->set, &sample, &none, &err), ERR_UNAVAILABLE);
    assert_null(none);
}

static void test_key_end(void **state) {
    struct world *w = *state;
    struct token_claims claims;
    struct err err = {0};
    _cleanup_free_ char *text = issue(w, &sample);
    struct token_key key = {.kid = w->kid, .jwk = w->jwk, .state = TOKEN_KEY_VERIFY_ONLY, .not_after_s = NOW + 100};
    assert_int_equal(token_set_add_key(w->set, &key, &err), 0);
    assert_int_equal(verify_at(w, text, NOW + 99, &claims, &err), 0);
    assert_int_equal(verify_at(w, text, NOW + 100, &claims, &err),
                     ERR_UNAUTHENTICATED); /* the cached verdict ended with the key */
}

static void test_bad_keys(void **state) {
    struct world *w = *state;
    struct err err = {0};
    static const char *const bad[] = {"", "{}", "no json", "{\"kty\":\"oct\",\"k\":\"AAAA\"}",
                                      "{\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"AA\",\"y\":\"AA\"}"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        err_clear(&err);
        assert_int_equal(token_set_add_key(w->set, &(struct token_key){.kid = w->kid, .jwk = bad[i]}, &err), ERR_CONFIG);
    }
    _cleanup_free_ char *text = issue(w, &sample);
    assert_accepted(w, text);
}

static void test_jwks(void **state) {
    struct world *w = *state;
    char kid[TOKEN_KID_BYTES];
    _cleanup_secret_ char *jwk = NULL;
    _cleanup_strbuf_ struct strbuf text;
    struct err err = {0};
    strbuf_init(&text, 10000);
    assert_int_equal(token_key_generate(kid, &jwk, NULL), 0);
    struct token_key old = {.kid = kid, .jwk = jwk, .state = TOKEN_KEY_VERIFY_ONLY, .not_after_s = NOW + 10};
    assert_int_equal(token_set_add_key(w->set, &old, &err), 0);
    assert_int_equal(token_set_write_jwks(w->set, NOW, &text, &err), 0);
    _cleanup_json_ json_t *set = json_loads(text.data, 0, NULL);
    const json_t *keys = json_object_get(set, "keys");
    assert_int_equal(json_array_size(keys), 2);
    assert_null(strstr(text.data, "\"d\""));
    assert_string_equal(json_get_string(json_array_get(keys, 0), "kid"), w->kid);
    assert_string_equal(json_get_string(json_array_get(keys, 0), "alg"), "ES256");
    assert_string_equal(json_get_string(json_array_get(keys, 1), "kid"), kid);
    strbuf_reset(&text);
    assert_int_equal(token_set_write_jwks(w->set, NOW + 10, &text, &err), 0);
    _cleanup_json_ json_t *later = json_loads(text.data, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(later, "keys")), 1);
}

/* Another implementation of JWS verifies what we issue: OpenSSL over the public key. */
static void test_issued_by_other_eyes(void **state) {
    struct world *w = *state;
    uint8_t raw[64], *der = NULL;
    _cleanup_free_ char *text = issue(w, &sample);
    char *dot = strrchr(text, '.');
    assert_int_equal(str_unbase64url(dot + 1, strlen(dot + 1), raw, sizeof(raw)), 64);
    ECDSA_SIG *sig = ECDSA_SIG_new();
    assert_int_equal(ECDSA_SIG_set0(sig, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL)), 1);
    int der_bytes = i2d_ECDSA_SIG(sig, &der);
    EVP_PKEY *key = key_of_jwk(w->jwk);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestVerify(ctx, der, (size_t)der_bytes, (const uint8_t *)text, (size_t)(dot - text)), 1);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    ECDSA_SIG_free(sig);
    OPENSSL_free(der);
}

/* RFC 7515 appendix A.3: the library we rely on knows ES256. */
static void test_rfc7515_a3(void **state) {
    static const char jwk[] = "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
                              "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}";
    char text[] = "eyJhbGciOiJFUzI1NiJ9."
                  "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
                  "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    cjose_err fault;
    cjose_jwk_t *key = cjose_jwk_import(jwk, strlen(jwk), &fault);
    (void)state;
    assert_non_null(key);
    for (int is_changed = 0; is_changed < 2; is_changed++) {
        text[strlen(text) - 2] = is_changed ? '2' : '1';
        cjose_jws_t *jws = cjose_jws_import(text, strlen(text), &fault);
        assert_non_null(jws);
        assert_int_equal(cjose_jws_verify(jws, key, &fault), !is_changed);
        cjose_jws_release(jws);
    }
    cjose_jwk_release(key);
}

static void test_unsound_claims_not_issued(void **state) {
    struct world *w = *state;
    struct token_claims bad[4] = {sample, sample, sample, sample};
    bad[0].sub[0] = '\0';
    bad[1].role = ROLE_NONE;
    bad[2].exp_s = bad[2].iat_s;
    bad[3].sid[0] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        char *text = NULL;
        assert_int_equal(token_issue(w->set, &bad[i], &text, NULL), ERR_INTERNAL);
        assert_null(text);
    }
}

static void test_cache_is_bounded(void **state) {
    struct world *w = *state;
    struct token_stats stats, after;
    struct token_claims claims = sample;
    struct err err = {0};
    _cleanup_free_ char *first = NULL;
    for (int i = 0; i < 300; i++) {
        claims.iat_s = NOW - i;
        char *text = issue(w, &claims);
        assert_accepted(w, text);
        if (first)
            free(text);
        else
            first = text;
        assert_accepted(w, first); /* stays, since it is used */
    }
    token_set_get_stats(w->set, &stats);
    assert_true(stats.cached <= 64);
    assert_int_equal(stats.verified, 300);
    assert_int_equal(stats.hits, 300);
    claims.iat_s = NOW + 1000; /* later, when all of those have ended: a new one takes two along */
    claims.exp_s = NOW + 1900;
    _cleanup_free_ char *later = issue(w, &claims);
    assert_int_equal(verify_at(w, later, NOW + 1001, &claims, &err), 0);
    token_set_get_stats(w->set, &after);
    assert_true(after.cached < stats.cached);
    token_set_drop_cache(w->set);
    token_set_get_stats(w->set, &stats);
    assert_int_equal(stats.cached, 0);
}

struct race {
    struct world *w;
    const char *text;
    atomic_bool is_stopping;
    atomic_int accepted, rounds;
};

static void *verify_all_the_time(void *arg) {
    struct race *race = arg;
    struct token_claims claims;
    for (; !atomic_load(&race->is_stopping); atomic_fetch_add(&race->rounds, 1))
        if (!token_verify(race->w->set, race->text, strlen(race->text), NOW, &claims, NULL))
            atomic_fetch_add(&race->accepted, 1);
    return NULL;
}

/* After token_set_retain has returned no token of that key is accepted, whatever other threads were about. */
static void test_removal_races(void **state) {
    struct world *w = *state;
    pthread_t threads[4];
    struct token_claims claims;
    struct token_key key = {.kid = w->kid, .jwk = w->jwk, .state = TOKEN_KEY_ACTIVE};
    _cleanup_free_ char *text = issue(w, &sample);
    struct race race = {.w = w, .text = text};
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, verify_all_the_time, &race), 0);
    for (int i = 0; i < 200; i++) {
        int before = atomic_load(&race.accepted);
        while (atomic_load(&race.accepted) == before)
            sched_yield();
        token_set_drop_cache(w->set); /* so that verifications are under way again */
        token_set_retain(w->set, NULL, 0);
        int rounds = atomic_load(&race.rounds);
        while (atomic_load(&race.rounds) < rounds + 8) /* whatever was under way has put its verdict in */
            sched_yield();
        assert_int_equal(token_verify(w->set, text, strlen(text), NOW, &claims, NULL), ERR_UNAUTHENTICATED);
        assert_int_equal(token_set_add_key(w->set, &key, NULL), 0);
    }
    atomic_store(&race.is_stopping, true);
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

/* From the first look as from the cache: until the token ends, until its key does, until any key changes. */
static void test_how_long_a_verdict_holds(void **state) {
    struct world *w = *state;
    struct token_claims claims;
    struct token_key key = {.kid = w->kid, .jwk = w->jwk, .state = TOKEN_KEY_ACTIVE};
    _cleanup_free_ char *text = issue(w, &sample);
    for (int i = 0; i < 2; i++)
        assert_int_equal(verify_at(w, text, NOW, &claims, NULL), 0);
    assert_int_equal(verify_at(w, text, sample.exp_s - 1, &claims, NULL), 0);
    assert_int_equal(verify_at(w, text, sample.exp_s, &claims, NULL), ERR_TOKEN_EXPIRED);
    assert_int_equal(verify_at(w, text, NOW, &claims, NULL), 0);
    key.not_after_s = NOW + 10;
    assert_int_equal(token_set_add_key(w->set, &key, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(verify_at(w, text, NOW + 9, &claims, NULL), 0);
    assert_int_equal(verify_at(w, text, NOW + 10, &claims, NULL), ERR_UNAUTHENTICATED);
    assert_int_equal(verify_at(w, text, NOW, &claims, NULL), 0);
    token_set_retain(w->set, NULL, 0);
    assert_int_equal(verify_at(w, text, NOW, &claims, NULL), ERR_UNAUTHENTICATED);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_round_trip),
        CASE(test_hand_made_is_accepted),
        CASE(test_one_of_two_signatures_is_written_and_read),
        CASE(test_bound_of_s),
        CASE(test_expired),
        CASE(test_future),
        CASE(test_lengths),
        CASE(test_every_byte_counts),
        CASE(test_alg_none),
        CASE(test_hs256_by_public_key),
        CASE(test_headers),
        CASE(test_claims),
        CASE(test_payload_forms),
        CASE(test_other_key),
        CASE(test_rotation),
        CASE(test_key_end),
        CASE(test_bad_keys),
        CASE(test_jwks),
        CASE(test_issued_by_other_eyes),
        CASE(test_rfc7515_a3),
        CASE(test_unsound_claims_not_issued),
        CASE(test_cache_is_bounded),
        CASE(test_removal_races),
        CASE(test_how_long_a_verdict_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
