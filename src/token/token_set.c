/* The set of keys: rotation with overlap, JWKS. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "token_set.h"

#include <string.h>

#include "json.h"
#include "limits.h"
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

static int load_key(const struct token_key *from, struct token_held_key **out, struct err *err) {
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
    int rc = load_key(from, &key, err);
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
