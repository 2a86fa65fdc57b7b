/* Signing keys: from the database into memory, the first one made when there is none. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "signing_keys.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "key_store.h"
#include "seal.h"
#include "secret.h"
#include "signon_state.h"
#include "str.h"
#include "token.h"

#define JWK_BYTES_MAX 4096U
#define KEY_LIFETIME_MS (10LL * 365 * 24 * 3600 * 1000) /* until it is rotated out by an administrator */

int signing_keys_new(struct signon *s, struct err *err) {
    struct token_options options = {.issuer = s->options.issuer, .audience = "kaas"};
    return token_set_new(&options, &s->tokens, err);
}

static char *signing_keys_purpose(const char *kid) {
    return str_format("signing-key:%s", kid);
}

static int signing_keys_add(struct signon *s, const struct signing_key *row, struct err *err) {
    _cleanup_free_ char *purpose = signing_keys_purpose(row->kid);
    _cleanup_strbuf_ struct strbuf jwk;
    struct token_key key = {.kid = row->kid, .not_after_s = row->not_after_ms / 1000};
    int rc;
    strbuf_init_secret(&jwk, JWK_BYTES_MAX);
    if (!purpose)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = seal_unseal(s->options.runtime->seal, purpose, row->sealed, row->sealed_bytes, &jwk, err);
    if (rc)
        return rc;
    key.jwk = jwk.data;
    key.state = row->state == SIGNING_KEY_ACTIVE ? TOKEN_KEY_ACTIVE : TOKEN_KEY_VERIFY_ONLY;
    return token_set_add_key(s->tokens, &key, err);
}

/* The public part alone, as other KaaS services get it from /.well-known/jwks.json. */
static int public_part(const char *kid, const char *private_jwk, char **out, struct err *err) {
    struct token_options options = {.issuer = "-", .audience = "-"};
    struct token_key key = {.kid = kid, .jwk = private_jwk, .state = TOKEN_KEY_ACTIVE};
    _cleanup_(token_set_free) struct token_set *set = NULL;
    _cleanup_json_ json_t *jwks = NULL;
    _cleanup_strbuf_ struct strbuf text;
    int rc = token_set_new(&options, &set, err);
    strbuf_init(&text, JWK_BYTES_MAX);
    if (!rc)
        rc = token_set_add_key(set, &key, err);
    if (!rc)
        rc = token_set_write_jwks(set, clock_wall_s(), &text, err);
    if (!rc)
        rc = json_parse(text.data, text.len, &jwks, err);
    strbuf_reset(&text);
    if (!rc)
        rc = json_write(json_array_get(json_object_get(jwks, "keys"), 0), &text, err);
    if (rc)
        return rc;
    *out = strbuf_steal(&text);
    return 0;
}

static int seal_key(struct signon *s, const char *kid, const char *jwk, struct signing_key *out, struct err *err) {
    _cleanup_free_ char *purpose = signing_keys_purpose(kid);
    _cleanup_strbuf_ struct strbuf sealed;
    int rc;
    strbuf_init(&sealed, JWK_BYTES_MAX + SEAL_OVERHEAD_BYTES);
    if (!purpose)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = seal_seal(s->options.runtime->seal, purpose, jwk, strlen(jwk), &sealed, err);
    if (rc)
        return rc;
    out->sealed_bytes = sealed.len;
    out->sealed = (uint8_t *)strbuf_steal(&sealed);
    return 0;
}

int signing_keys_make(struct signon *s, int64_t from_ms, struct signing_key *out, struct err *err) {
    _cleanup_secret_ char *jwk = NULL;
    char kid[TOKEN_KID_BYTES];
    struct signing_key row = {.state = SIGNING_KEY_NEXT, .created_at_ms = clock_wall_ms(), .signs_from_ms = from_ms};
    int rc = token_key_generate(kid, &jwk, err);
    row.not_after_ms = row.created_at_ms + KEY_LIFETIME_MS;
    if (!rc)
        rc = public_part(kid, jwk, &row.public_jwk, err);
    if (!rc)
        rc = seal_key(s, kid, jwk, &row, err);
    row.kid = rc ? NULL : str_dup(kid);
    if (!rc && !row.kid)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        signing_key_done(&row);
    else
        *out = row;
    return rc;
}

static int signing_keys_make_first(struct signon *s, struct err *err) {
    struct signing_key row = {0};
    int rc = signing_keys_make(s, clock_wall_ms(), &row, err);
    row.state = SIGNING_KEY_ACTIVE;
    if (!rc)
        rc = key_store_insert_first(s->options.runtime->store, &row, err);
    signing_key_done(&row);
    return rc;
}

static bool has_active(const struct signing_key_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == SIGNING_KEY_ACTIVE)
            return true;
    return false;
}

/* Two replicas that start together: the second one finds the first one's key. */
static int signing_keys_make_and_list_again(struct signon *s, struct signing_key_list *list, struct err *err) {
    struct err why = {0};
    int rc = signing_keys_make_first(s, &why);
    if (rc && rc != ERR_EXISTS)
        return err_move(err, rc, &why);
    signing_key_list_done(list);
    return key_store_list(s->options.runtime->store, list, err);
}

/* When the tick has to look at this key; INT64_MAX: not by itself. */
static int64_t due_ms(const struct signon *s, const struct signing_key *k, bool has_next) {
    switch (k->state) {
    case SIGNING_KEY_NEXT: return k->signs_from_ms;
    case SIGNING_KEY_RETIRED: return k->not_after_ms + 1;
    case SIGNING_KEY_ACTIVE:
    default:
        return has_next || !s->options.signing_key_lifetime_ms ? INT64_MAX
                                                               : k->signs_from_ms + s->options.signing_key_lifetime_ms;
    }
}

static void note_due(struct signon *s, const struct signing_key_list *list) {
    int64_t due = INT64_MAX;
    bool has_next = false;
    for (size_t i = 0; i < list->count; i++)
        has_next = has_next || list->items[i].state == SIGNING_KEY_NEXT;
    for (size_t i = 0; i < list->count; i++) {
        int64_t one = due_ms(s, &list->items[i], has_next);
        due = one < due ? one : due;
    }
    atomic_store(&s->keys_due_ms, due);
}

static int follow_list(struct signon *s, const struct signing_key_list *list, struct err *err) {
    const char *kids[TOKEN_KEYS_COUNT_MAX];
    size_t count = 0;
    int rc = 0;
    for (size_t i = 0; i < list->count && count < ARRAY_COUNT(kids); i++)
        kids[count++] = list->items[i].kid;
    token_set_retain(s->tokens, kids, count); /* first: there is room for the new ones then */
    for (size_t i = 0; !rc && i < list->count; i++)
        rc = signing_keys_add(s, &list->items[i], err);
    if (!rc)
        note_due(s, list);
    return rc;
}

static int load_locked(struct signon *s, struct err *err) {
    struct signing_key_list list = {0};
    int rc = key_store_list(s->options.runtime->store, &list, err);
    if (!rc && !has_active(&list))
        rc = signing_keys_make_and_list_again(s, &list, err);
    if (!rc)
        rc = follow_list(s, &list, err);
    signing_key_list_done(&list);
    return rc;
}

int signon_apply_key_change(struct signon *s, struct err *err) {
    struct err why = {0};
    int rc;
    (void)pthread_mutex_lock(&s->keys_lock);
    rc = load_locked(s, &why);
    (void)pthread_mutex_unlock(&s->keys_lock);
    return err_move(err, rc, &why);
}

int signon_write_jwks(struct signon *s, struct strbuf *out, struct err *err) {
    return token_set_write_jwks(s->tokens, clock_wall_s(), out, err);
}
