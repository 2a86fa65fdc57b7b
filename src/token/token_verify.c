/* Verification of tokens. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps in this order: length, cache, form, header, key, known-bad cache, form of the claims, gate, signature, claims. Whatever is cheap comes
 * before the curve operation. The claims may only ever condemn a token before its signature is good; what they say counts after that
 * (RFC 8725 3.1, 3.8 to 3.11), and is read anew from what was signed. */
#include <string.h>

#include "json.h"
#include "limits.h"
#include "str.h"
#include "token_set.h"
#include "uuid.h"

#define HEADER_BYTES_MAX 256

/* A token on its way through the steps. */
struct check {
    const char *text;
    size_t n;
    size_t dot1, dot2;             /* places of the two dots */
    const struct token_gate *gate; /* NULL: none */
    uint8_t digest[DIGEST_SHA256_BYTES];
    char kid[TOKEN_KID_BYTES];
    uint64_t generation; /* of the good verdicts, when the check began */
};

/* The caller learns that the token is not valid; only the log learns why, since the reason helps nobody but an attacker. */
static int token_verify_refuse(struct err *err, const char *reason) {
    (void)err_set(err, ERR_UNAUTHENTICATED, "the token is not valid");
    (void)err_remedy(err, "sign in again");
    (void)err_detail(err, "token: %s", reason);
    return ERR_UNAUTHENTICATED;
}

/* RFC 7515 7.1: three parts between two dots. */
static int token_verify_split(struct check *c, struct err *err) {
    const char *end = c->text + c->n;
    const char *first = memchr(c->text, '.', c->n);
    const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
    if (!second)
        return token_verify_refuse(err, "not three parts");
    if (memchr(second + 1, '.', (size_t)(end - second - 1)))
        return token_verify_refuse(err, "more than three parts");
    c->dot1 = (size_t)(first - c->text);
    c->dot2 = (size_t)(second - c->text);
    if (c->n - c->dot2 - 1 != TOKEN_SIGNATURE_CHARS)
        return token_verify_refuse(err, "the signature has another length than ES256 gives");
    uint8_t raw[64];
    if (str_unbase64url(second + 1, TOKEN_SIGNATURE_CHARS, raw, sizeof(raw)) != 64)
        return token_verify_refuse(err, "the signature is not base64url");
    return token_is_lower_s(raw + 32) ? 0 : token_verify_refuse(err, "the signature has the larger of its two values for s");
}

static int check_header(struct check *c, struct err *err) {
    static const struct json_member members[] = {
        {.name = "alg", .kind = JSON_KIND_STRING, .is_required = true},
        {.name = "typ", .kind = JSON_KIND_STRING, .is_required = true},
        {.name = "kid", .kind = JSON_KIND_STRING, .is_required = true},
        {.name = NULL},
    };
    uint8_t raw[HEADER_BYTES_MAX];
    _cleanup_json_ json_t *header = NULL;
    long n = str_unbase64url(c->text, c->dot1, raw, sizeof(raw));
    if (n < 0)
        return token_verify_refuse(err, "the header is not base64url or too long");
    if (json_parse((const char *)raw, (size_t)n, &header, NULL))
        return token_verify_refuse(err, "the header is not JSON");
    /* closed: whatever else a header may carry (jwk, jku, x5u, crit) is no business of ours */
    if (json_check(header, members, NULL, NULL))
        return token_verify_refuse(err, "the header has missing, unknown or mistyped members");
    if (!str_eq(json_get_string(header, "alg"), "ES256"))
        return token_verify_refuse(err, "alg is not ES256");
    if (!str_eq(json_get_string(header, "typ"), "JWT"))
        return token_verify_refuse(err, "typ is not JWT");
    const char *kid = json_get_string(header, "kid");
    if (strlen(kid) != TOKEN_KID_BYTES - 1)
        return token_verify_refuse(err, "kid has a wrong length");
    memcpy(c->kid, kid, TOKEN_KID_BYTES);
    return 0;
}

/* The curve operation. *claims becomes the signed text. */
static int check_signature(const struct check *c, const struct token_held_key *key, json_t **claims, struct err *err) {
    cjose_err fault;
    uint8_t *plain = NULL;
    size_t plain_bytes = 0;
    _cleanup_(cjose_jws_release) cjose_jws_t *jws = cjose_jws_import(c->text, c->n, &fault);
    if (!jws)
        return token_verify_refuse(err, "not a compact JWS");
    if (!cjose_jws_verify(jws, key->jwk, &fault))
        return fault.code == CJOSE_ERR_NO_MEMORY ? err_set(err, ERR_NOMEM, "out of memory")
                                                 : token_verify_refuse(err, "the signature is wrong");
    if (!cjose_jws_get_plaintext(jws, &plain, &plain_bytes, &fault))
        return token_verify_refuse(err, "no payload");
    int rc = json_parse((const char *)plain, plain_bytes, claims, NULL);
    if (rc == ERR_NOMEM)
        return err_set(err, ERR_NOMEM, "out of memory");
    return rc ? token_verify_refuse(err, "the payload is not JSON") : 0;
}

/* Copies a required text claim into its place. */
static bool token_verify_take_text(const json_t *claims, const char *name, char *out, size_t out_bytes) {
    const char *text = json_get_string(claims, name);
    size_t n = text ? strlen(text) : 0;
    if (n == 0 || n >= out_bytes)
        return false;
    memcpy(out, text, n + 1);
    return true;
}

/* One actor and no chain of them: we issue no other. */
static bool take_actor(const json_t *claims, char out[TOKEN_ACT_BYTES]) {
    const json_t *act = json_object_get(claims, "act");
    out[0] = '\0';
    if (!act)
        return true;
    return json_is_object(act) && json_object_size(act) == 1 && token_verify_take_text(act, "sub", out, TOKEN_ACT_BYTES) &&
           str_starts(out, "svc:");
}

/* Types and values; times are judged later. */
static int read_claims(const struct token_set *set, const json_t *claims, struct token_claims *out, struct err *err) {
    const char *src = json_get_string(claims, "src"), *role = json_get_string(claims, "role");
    if (!str_eq(json_get_string(claims, "iss"), set->issuer))
        return token_verify_refuse(err, "iss is another one");
    if (!str_eq(json_get_string(claims, "aud"), set->audience))
        return token_verify_refuse(err, "aud is another one");
    if (!token_verify_take_text(claims, "sub", out->sub, sizeof(out->sub)))
        return token_verify_refuse(err, "sub is missing or no usable string");
    if (!token_verify_take_text(claims, "jti", out->jti, sizeof(out->jti)) || !uuid_is_valid(out->jti))
        return token_verify_refuse(err, "jti is missing or no UUID");
    if (!token_verify_take_text(claims, "sid", out->sid, sizeof(out->sid)) || !uuid_is_valid(out->sid))
        return token_verify_refuse(err, "sid is missing or no UUID");
    if (!src || !source_parse(src, &out->src) || out->src == SOURCE_NONE)
        return token_verify_refuse(err, "src is missing or unknown");
    if (!role || !role_parse(role, &out->role) || out->role == ROLE_NONE)
        return token_verify_refuse(err, "role is missing or unknown");
    if (!take_actor(claims, out->act))
        return token_verify_refuse(err, "act is none of ours");
    out->iat_s = json_get_int(claims, "iat", -1);
    out->exp_s = json_get_int(claims, "exp", -1);
    return out->iat_s > 0 && out->exp_s > out->iat_s ? 0 : token_verify_refuse(err, "iat or exp is missing or no sound time");
}

static int check_times(const struct token_claims *claims, int64_t now_s, struct err *err) {
    if (claims->iat_s > now_s + TOKEN_CLOCK_SKEW_S)
        return token_verify_refuse(err, "iat lies in the future");
    if (claims->exp_s > now_s)
        return 0;
    (void)err_set(err, ERR_TOKEN_EXPIRED, "the token has expired");
    return err_remedy(err, "refresh it earlier, or sign in again");
}

/* What the token says of itself, before anything is proved: nonsense is refused, and the gate may find it not worth the check. */
static int look_before(const struct token_set *set, const struct check *c, struct err *err) {
    const size_t chars = c->dot2 - c->dot1 - 1;
    struct token_claims unproved;
    _cleanup_json_ json_t *claims = NULL;
    uint8_t raw[KAAS_TOKEN_BYTES_MAX];
    long n;
    int rc;
    if (!c->gate)
        return 0;
    n = str_unbase64url(c->text + c->dot1 + 1, chars, raw, sizeof(raw));
    if (n < 0)
        return token_verify_refuse(err, "the payload is not base64url");
    rc = json_parse((const char *)raw, (size_t)n, &claims, NULL);
    if (rc)
        return rc == ERR_NOMEM ? err_set(err, rc, "out of memory") : token_verify_refuse(err, "the payload is not JSON");
    rc = read_claims(set, claims, &unproved, err);
    return rc ? rc : c->gate->ask(c->gate->arg, &unproved, err);
}

/* Everything behind the positive cache. Its generation was read before the key is looked up. */
static int verify_afresh(struct token_set *set, struct check *c, int64_t now_s, struct token_claims *out, struct err *err) {
    static const struct token_claims nothing;
    struct token_claims ignored;
    uint64_t bad_generation = token_cache_generation(set->bad);
    int rc = token_verify_split(c, err);
    if (!rc)
        rc = check_header(c, err);
    if (rc)
        return rc;
    _cleanup_(token_held_key_unref) struct token_held_key *key = token_set_find_key(set, c->kid);
    if (!key || (key->not_after_s && key->not_after_s <= now_s))
        return token_verify_refuse(err, "kid is unknown or no longer valid");
    if (token_cache_find(set->bad, c->digest, now_s, &ignored)) {
        atomic_fetch_add(&set->refused_hits, 1);
        return token_verify_refuse(err, "known to be bad");
    }
    rc = look_before(set, c, err);
    if (rc)
        return rc;
    _cleanup_json_ json_t *claims = NULL;
    atomic_fetch_add(&set->verified, 1);
    rc = check_signature(c, key, &claims, err);
    if (!rc)
        rc = read_claims(set, claims, out, err);
    if (rc == ERR_UNAUTHENTICATED && c->gate)
        c->gate->on_failure(c->gate->arg);
    if (rc == ERR_UNAUTHENTICATED)
        token_cache_put(set->bad, &(struct token_verdict){c->digest, &nothing, INT64_MAX, bad_generation}, now_s);
    if (rc)
        return rc;
    rc = check_times(out, now_s, err);
    bool ends_with_key = key->not_after_s && key->not_after_s < out->exp_s;
    if (!rc)
        token_cache_put(set->good,
                        &(struct token_verdict){c->digest, out, ends_with_key ? key->not_after_s : out->exp_s, c->generation},
                        now_s);
    return rc;
}

int token_verify(struct token_set *set, const char *text, size_t n, int64_t now_s, struct token_claims *out, struct err *err) {
    return token_verify_gated(set, &(struct token_presented){.text = text, .n = n, .now_s = now_s}, out, err);
}

int token_verify_gated(struct token_set *set, const struct token_presented *p, struct token_claims *out, struct err *err) {
    struct check c = {.text = p->text, .n = p->n, .gate = p->gate};
    const int64_t now_s = p->now_s;
    const size_t n = p->n;
    struct token_claims claims;
    int rc = 0;
    if (n == 0 || n > KAAS_TOKEN_BYTES_MAX) {
        rc = token_verify_refuse(err, "empty or too long");
    } else {
        c.generation = token_cache_generation(set->good);
        digest_sha256(p->text, n, c.digest);
        if (token_cache_find(set->good, c.digest, now_s, &claims))
            atomic_fetch_add(&set->hits, 1);
        else
            rc = verify_afresh(set, &c, now_s, &claims, err);
    }
    if (rc)
        atomic_fetch_add(&set->refused, 1);
    else
        *out = claims;
    return rc;
}
