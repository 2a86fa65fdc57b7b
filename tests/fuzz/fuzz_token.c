/* Fuzz target: token_verify. The first byte chooses: a whole token; a payload, or a header, that is then signed correctly, so that
 * the code behind the signature is reached, too.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <cjose/cjose.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "str.h"
#include "token.h"
#include "token_set.h"
#include "uuid.h"

#define NOW 1800000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct token_set *set;
static cjose_jwk_t *key;
static char kid[TOKEN_KID_BYTES];

static void prepare(void) {
    char *jwk = NULL;
    cjose_err fault;
    const struct token_options options = {.issuer = "i", .audience = "a", .cache_count = 64};
    if (token_set_new(&options, &set, NULL) || token_key_generate(kid, &jwk, NULL) ||
        token_set_add_key(set, &(struct token_key){.kid = kid, .jwk = jwk, .state = TOKEN_KEY_ACTIVE}, NULL))
        abort();
    key = cjose_jwk_import(jwk, strlen(jwk), &fault);
    free(jwk);
}

static bool has_lower_s(const char *token) {
    uint8_t raw[64];
    const char *signature = strrchr(token, '.') + 1;
    return str_unbase64url(signature, strlen(signature), raw, sizeof(raw)) == sizeof(raw) && token_is_lower_s(raw + 32);
}

/* A token with this payload and header; NULL if cjose does not take the header. Every other signature has the larger s and is refused
 * before its payload is read (a unit test holds that): sign() asks for one until it has the smaller. */
static char *sign_once(const char *payload, size_t n, json_t *header) {
    cjose_err fault;
    const char *text = NULL;
    char *copy = NULL;
    cjose_jws_t *jws = cjose_jws_sign(key, header, (const uint8_t *)payload, n, &fault);
    if (jws && cjose_jws_export(jws, &text, &fault))
        copy = str_dup(text);
    cjose_jws_release(jws);
    return copy;
}

static char *sign(const char *payload, size_t n, json_t *header) {
    char *text;
    json_object_set_new(header, "alg", json_string("ES256"));
    while ((text = sign_once(payload, n, header)) && !has_lower_s(text))
        free(text);
    return text;
}

static int admit(void *arg, const struct token_claims *claims, struct err *err) {
    (void)arg;
    return claims->sub[0] && claims->role != ROLE_NONE ? 0 : err_set(err, ERR_INTERNAL, "the gate was asked about nothing");
}

static void ignore(void *arg) {
    (void)arg;
}

static int verify(const char *text, size_t n) {
    static const struct token_gate gate = {admit, ignore, NULL};
    struct token_claims claims = {0};
    struct err err = {0};
    const struct token_presented presented = {.text = text, .n = n, .now_s = NOW, .gate = &gate};
    int rc = token_verify_gated(set, &presented, &claims, &err);
    if (rc == ERR_INTERNAL)
        abort();
    if (!rc && claims.act[0] && !str_starts(claims.act, "svc:"))
        abort();
    if (rc && (!err.code || !err.text[0] || claims.sub[0]))
        abort();
    if (!rc && (!claims.sub[0] || !uuid_is_valid(claims.jti) || !uuid_is_valid(claims.sid) || claims.exp_s <= NOW ||
                claims.src == SOURCE_NONE))
        abort();
    return rc;
}

/* As it is, and again from the cache. */
static void verify_twice(const char *text) {
    const size_t n = strlen(text);
    int rc = verify(text, n);
    if (verify(text, n) != rc)
        abort();
}

/* With another signature, and again from the memory of bad ones; then with a payload that is none. */
static void verify_spoilt(char *text) {
    char *payload = strchr(text, '.') + 1, *signature = strrchr(text, '.') + 1;
    const size_t n = strlen(text);
    *signature = *signature == 'A' ? 'B' : 'A';
    for (int again = 0; again < 2; again++)
        if (!verify(text, n))
            abort();
    *payload = '!';
    if (!verify(text, n))
        abort();
}

static void verify_signed(const char *payload, size_t n, const uint8_t *header_text, size_t header_bytes, bool is_spoilt_too) {
    _cleanup_json_ json_t *header = header_text ? json_loadb((const char *)header_text, header_bytes, 0, NULL) : json_object();
    if (!json_is_object(header))
        return;
    if (!header_text) {
        json_object_set_new(header, "typ", json_string("JWT"));
        json_object_set_new(header, "kid", json_string(kid));
    }
    _cleanup_free_ char *text = sign(payload, n, header);
    if (!text)
        return;
    verify_twice(text);
    if (is_spoilt_too)
        verify_spoilt(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (!set)
        prepare();
    if (!n)
        return 0;
    const bool is_spoilt_too = data[0] / 3 % 8 == 0; /* the curve once more is a third of the time */
    switch (data[0] % 3) {
    case 0:
        if (!verify((const char *)data + 1, n - 1))
            abort(); /* nobody knows the key of this process */
        if (!token_verify(set, (const char *)data + 1, n - 1, NOW, &(struct token_claims){.act = ""}, NULL))
            abort();
        break;
    case 1: verify_signed((const char *)data + 1, n - 1, NULL, 0, is_spoilt_too); break;
    default: verify_signed("{}", 2, data + 1, n - 1, is_spoilt_too); break;
    }
    token_set_drop_cache(set); /* what is kept between inputs looks like a leak to libFuzzer, which then searches for it */
    return 0;
}
