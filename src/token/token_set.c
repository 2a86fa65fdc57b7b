/* The set of keys: rotation with overlap, JWKS. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "token_set.h"

#include <string.h>

#include "digest.h"
#include "json.h"
#include "limits.h"
#include "secret.h"
#include "str.h"

#define BAD_COUNT_MAX 4096 /* known bad tokens: a client that repeats one costs a look-up, no curve operation */

int token_set_new(const struct token_options *options, struct token_set **out, struct err *err) {
    struct token_set *set = calloc(1, sizeof(*set));
    if (!set)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_rwlock_init(&set->lock, NULL);
    set->issuer = str_dup(options->issuer);
    set->audience = str_dup(options->audience);
    set->good = token_cache_new(options->cache_count ? options->cache_count : KAAS_TOKEN_CACHE_COUNT_MAX);
    set->bad = token_cache_new(BAD_COUNT_MAX);
    if (!set->issuer || !set->audience || !set->good || !set->bad) {
        token_set_free(set);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = set;
    return 0;
}

void token_set_free(struct token_set *set) {
    if (!set)
        return;
    for (size_t i = 0; i < set->key_count; i++)
        token_held_key_unref(set->keys[i]);
    (void)pthread_rwlock_destroy(&set->lock);
    token_cache_free(set->good);
    token_cache_free(set->bad);
    free(set->issuer);
    free(set->audience);
    free(set);
}

void token_held_key_unref(struct token_held_key *key) {
    if (!key || atomic_fetch_sub(&key->refs, 1) != 1)
        return;
    (void)cjose_jwk_release(key->jwk);
    free(key);
}

/* Index of the key with this id, or key_count. Caller holds the lock. */
static size_t index_of(const struct token_set *set, const char *kid) {
    size_t i = 0;
    while (i < set->key_count && strcmp(set->keys[i]->kid, kid))
        i++;
    return i;
}

static size_t index_of_active(const struct token_set *set) {
    size_t i = 0;
    while (i < set->key_count && set->keys[i]->state != TOKEN_KEY_ACTIVE)
        i++;
    return i;
}

static struct token_held_key *ref_at(struct token_set *set, size_t index) {
    if (index == set->key_count)
        return NULL;
    atomic_fetch_add(&set->keys[index]->refs, 1);
    return set->keys[index];
}

struct token_held_key *token_set_find_key(struct token_set *set, const char *kid) {
    pthread_rwlock_rdlock(&set->lock);
    struct token_held_key *key = ref_at(set, index_of(set, kid));
    pthread_rwlock_unlock(&set->lock);
    return key;
}

struct token_held_key *token_set_find_active(struct token_set *set) {
    pthread_rwlock_rdlock(&set->lock);
    struct token_held_key *key = ref_at(set, index_of_active(set));
    pthread_rwlock_unlock(&set->lock);
    return key;
}

static int token_set_load_key(const struct token_key *from, struct token_held_key **out, struct err *err) {
    cjose_err fault;
    char kid[TOKEN_KID_BYTES];
    _cleanup_(cjose_jwk_release) cjose_jwk_t *jwk = cjose_jwk_import(from->jwk, strlen(from->jwk), &fault);
    if (!jwk)
        return err_set(err, ERR_CONFIG, "a token signing key cannot be read");
    int rc = token_key_thumbprint(jwk, kid, err);
    if (rc)
        return rc;
    if (strcmp(kid, from->kid))
        return err_set(err, ERR_CONFIG, "a token signing key does not belong to its id");
    struct token_held_key *key = calloc(1, sizeof(*key));
    if (!key)
        return err_set(err, ERR_NOMEM, "out of memory");
    atomic_init(&key->refs, 1);
    memcpy(key->kid, kid, sizeof(kid));
    key->jwk = STEAL(jwk);
    key->state = from->state;
    key->not_after_s = from->not_after_s;
    *out = key;
    return 0;
}

/* Puts the key in its place and gives back what it replaces, or the key itself if there is no room. Caller holds the lock. */
static struct token_held_key *place_key(struct token_set *set, struct token_held_key *key, bool *is_full) {
    size_t i = index_of(set, key->kid);
    *is_full = i == TOKEN_KEYS_COUNT_MAX;
    if (*is_full)
        return key;
    struct token_held_key *old = i < set->key_count ? set->keys[i] : NULL;
    set->keys[i] = key;
    if (!old)
        set->key_count++;
    return old;
}

int token_set_add_key(struct token_set *set, const struct token_key *from, struct err *err) {
    struct token_held_key *key = NULL;
    bool is_full;
    int rc = token_set_load_key(from, &key, err);
    if (rc)
        return rc;
    pthread_rwlock_wrlock(&set->lock);
    size_t active = index_of_active(set);
    struct token_held_key *old = place_key(set, key, &is_full);
    if (!is_full && key->state == TOKEN_KEY_ACTIVE && active < set->key_count && set->keys[active] != key)
        set->keys[active]->state = TOKEN_KEY_VERIFY_ONLY; /* read under the lock only */
    pthread_rwlock_unlock(&set->lock);
    token_held_key_unref(old);
    token_set_drop_cache(set); /* ends of keys and verdicts on unknown keys may have changed */
    return is_full ? err_set(err, ERR_TOO_LARGE, "there are %d token signing keys already", TOKEN_KEYS_COUNT_MAX) : 0;
}

static bool is_among(const char *kid, const char *const *kids, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(kid, kids[i]))
            return true;
    return false;
}

void token_set_retain(struct token_set *set, const char *const *kids, size_t count) {
    struct token_held_key *gone[TOKEN_KEYS_COUNT_MAX];
    size_t gone_count = 0, kept = 0;
    pthread_rwlock_wrlock(&set->lock);
    for (size_t i = 0; i < set->key_count; i++) {
        if (is_among(set->keys[i]->kid, kids, count))
            set->keys[kept++] = set->keys[i];
        else
            gone[gone_count++] = set->keys[i];
    }
    set->key_count = kept;
    pthread_rwlock_unlock(&set->lock);
    for (size_t i = 0; i < gone_count; i++)
        token_held_key_unref(gone[i]);
    if (gone_count)
        token_set_drop_cache(set);
}

void token_set_drop_cache(struct token_set *set) {
    token_cache_clear(set->good);
    token_cache_clear(set->bad);
}

void token_set_get_stats(struct token_set *set, struct token_stats *out) {
    *out = (struct token_stats){
        .hits = atomic_load(&set->hits),
        .verified = atomic_load(&set->verified),
        .refused = atomic_load(&set->refused),
        .refused_hits = atomic_load(&set->refused_hits),
        .cached = token_cache_count(set->good),
    };
}

static json_t *public_jwk(const struct token_held_key *key) {
    cjose_err fault;
    _cleanup_free_ char *text = cjose_jwk_to_json(key->jwk, false, &fault);
    _cleanup_json_ json_t *parts = text ? json_loads(text, 0, NULL) : NULL;
    json_t *jwk = parts ? json_object() : NULL;
    if (!jwk)
        return NULL;
    /* named one by one: nothing private can slip in */
    json_put_string(jwk, "kty", "EC");
    json_put_string(jwk, "crv", "P-256");
    json_put_string(jwk, "x", json_get_string(parts, "x"));
    json_put_string(jwk, "y", json_get_string(parts, "y"));
    json_put_string(jwk, "kid", key->kid);
    json_put_string(jwk, "alg", "ES256");
    json_put_string(jwk, "use", "sig");
    return jwk;
}

int token_set_write_jwks(struct token_set *set, int64_t now_s, struct strbuf *out, struct err *err) {
    _cleanup_json_ json_t *answer = json_object();
    json_t *keys = json_array();
    bool is_ok = answer && keys && !json_object_set_new(answer, "keys", keys);
    pthread_rwlock_rdlock(&set->lock);
    for (size_t i = 0; is_ok && i < set->key_count; i++) {
        const struct token_held_key *key = set->keys[i];
        if (!key->not_after_s || key->not_after_s > now_s)
            is_ok = !json_array_append_new(keys, public_jwk(key));
    }
    pthread_rwlock_unlock(&set->lock);
    return is_ok ? json_write(answer, out, err) : err_set(err, ERR_NOMEM, "out of memory while writing the JWK set");
}

/* -- one signing key: making it, naming it ------------------------------------------------------------------------- */

int token_key_thumbprint(const cjose_jwk_t *jwk, char kid[TOKEN_KID_BYTES], struct err *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    cjose_err fault;
    if (cjose_jwk_get_kty(jwk, &fault) != CJOSE_JWK_KTY_EC || cjose_jwk_EC_get_curve(jwk, &fault) != CJOSE_JWK_EC_P_256)
        return err_set(err, ERR_CONFIG, "a token signing key is not an EC key on P-256");
    _cleanup_free_ char *text = cjose_jwk_to_json(jwk, false, &fault);
    _cleanup_json_ json_t *parts = text ? json_loads(text, 0, NULL) : NULL;
    const char *x = json_get_string(parts, "x"), *y = json_get_string(parts, "y");
    /* RFC 7638 3.2: required members in the order of their names, without blanks */
    _cleanup_free_ char *canonical =
        x && y ? str_format("{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%s\",\"y\":\"%s\"}", x, y) : NULL;
    _cleanup_strbuf_ struct strbuf name;
    strbuf_init(&name, TOKEN_KID_BYTES);
    if (!canonical)
        return err_set(err, ERR_NOMEM, "out of memory while naming a key");
    digest_sha256(canonical, strlen(canonical), digest);
    str_base64url(&name, digest, sizeof(digest));
    if (name.failed)
        return strbuf_check(&name, "key id", err);
    memcpy(kid, name.data, name.len + 1);
    return 0;
}

int token_key_generate(char kid[TOKEN_KID_BYTES], char **jwk, struct err *err) {
    cjose_err fault;
    char name[TOKEN_KID_BYTES];
    _cleanup_(cjose_jwk_release) cjose_jwk_t *key = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &fault);
    if (!key)
        return err_set(err, ERR_INTERNAL, "a token signing key could not be made");
    int rc = token_key_thumbprint(key, name, err);
    if (rc)
        return rc;
    if (!cjose_jwk_set_kid(key, name, strlen(name), &fault))
        return err_set(err, ERR_NOMEM, "out of memory while naming a key");
    char *text = cjose_jwk_to_json(key, true, &fault);
    if (!text)
        return err_set(err, ERR_NOMEM, "out of memory while writing a key");
    memcpy(kid, name, sizeof(name));
    *jwk = text; /* cjose allocates by malloc unless told otherwise, which we never do */
    return 0;
}

/* -- issue of tokens ----------------------------------------------------------------------------------------------- */

static bool is_sound(const struct token_claims *c) {
    return c->sub[0] && c->jti[0] && c->sid[0] && c->src != SOURCE_NONE && c->role != ROLE_NONE && c->iat_s > 0 &&
           c->exp_s > c->iat_s;
}

static int write_payload(const struct token_set *set, const struct token_claims *c, struct strbuf *out, struct err *err) {
    _cleanup_json_ json_t *payload = json_object();
    json_put_string(payload, "iss", set->issuer);
    json_put_string(payload, "aud", set->audience);
    json_put_string(payload, "sub", c->sub);
    json_put_string(payload, "jti", c->jti);
    json_put_string(payload, "sid", c->sid);
    json_put_string(payload, "src", source_name(c->src));
    json_put_string(payload, "role", role_name(c->role));
    if (c->act[0]) {
        json_t *act = json_object();
        json_put_string(act, "sub", c->act);
        json_object_set_new(payload, "act", act);
    }
    json_put_int(payload, "iat", c->iat_s);
    json_put_int(payload, "exp", c->exp_s);
    return json_write(payload, out, err);
}

static cjose_header_t *make_header(const char *kid) {
    cjose_err fault;
    cjose_header_t *header = cjose_header_new(&fault);
    if (header && cjose_header_set(header, CJOSE_HDR_ALG, CJOSE_HDR_ALG_ES256, &fault) &&
        cjose_header_set(header, "typ", "JWT", &fault) && cjose_header_set(header, CJOSE_HDR_KID, kid, &fault))
        return header;
    cjose_header_release(header);
    return NULL;
}

/* The order n of the curve P-256, and half of it, big-endian (NIST SP 800-186 section 3.2.1.3). */
static const uint8_t order[32] = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                  0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};
static const uint8_t half[32] = {0x7f, 0xff, 0xff, 0xff, 0x80, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                 0xde, 0x73, 0x7d, 0x56, 0xd3, 0x8b, 0xcf, 0x42, 0x79, 0xdc, 0xe5, 0x61, 0x7e, 0x31, 0x92, 0xa8};

bool token_is_lower_s(const uint8_t s[32]) {
    return memcmp(s, half, sizeof(half)) <= 0;
}

/* Writes n - s in place of s where that is the smaller one. */
static int lower_s(char *token, struct err *err) {
    char *signature = strrchr(token, '.') + 1;
    _cleanup_strbuf_ struct strbuf text;
    uint8_t raw[64];
    unsigned borrow = 0;
    strbuf_init(&text, TOKEN_SIGNATURE_CHARS);
    if (str_unbase64url(signature, strlen(signature), raw, sizeof(raw)) != sizeof(raw))
        return err_set(err, ERR_INTERNAL, "a token got a signature of another length");
    if (token_is_lower_s(raw + 32))
        return 0;
    for (int i = 31; i >= 0; i--) {
        const unsigned less = raw[32 + i] + borrow;
        borrow = order[i] < less;
        raw[32 + i] = (uint8_t)(order[i] - less);
    }
    str_base64url(&text, raw, sizeof(raw));
    if (text.failed)
        return err_set(err, ERR_NOMEM, "out of memory");
    memcpy(signature, text.data, TOKEN_SIGNATURE_CHARS);
    return 0;
}

int token_issue(struct token_set *set, const struct token_claims *claims, char **out, struct err *err) {
    cjose_err fault;
    const char *text = NULL;
    _cleanup_strbuf_ struct strbuf payload;
    strbuf_init(&payload, KAAS_TOKEN_BYTES_MAX);
    if (!is_sound(claims))
        return err_set(err, ERR_INTERNAL, "a token cannot be issued: claims are missing");
    _cleanup_(token_held_key_unref) struct token_held_key *key = token_set_find_active(set);
    if (!key) {
        (void)err_set(err, ERR_UNAVAILABLE, "there is no key to sign tokens with yet");
        return err_remedy(err, "try again in a moment");
    }
    int rc = write_payload(set, claims, &payload, err);
    if (rc)
        return rc;
    _cleanup_(cjose_header_release) cjose_header_t *header = make_header(key->kid);
    _cleanup_(cjose_jws_release) cjose_jws_t *jws =
        header ? cjose_jws_sign(key->jwk, header, (const uint8_t *)payload.data, payload.len, &fault) : NULL;
    if (!jws || !cjose_jws_export(jws, &text, &fault))
        return err_set(err, ERR_INTERNAL, "a token could not be signed");
    if (strlen(text) > KAAS_TOKEN_BYTES_MAX)
        return err_set(err, ERR_INTERNAL, "a token would be longer than %d bytes", KAAS_TOKEN_BYTES_MAX);
    _cleanup_secret_ char *copy = str_dup(text);
    if (!copy)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = lower_s(copy, err);
    if (!rc)
        *out = STEAL(copy);
    return rc;
}
