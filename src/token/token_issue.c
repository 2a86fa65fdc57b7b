/* Issue of tokens. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "json.h"
#include "limits.h"
#include "secret.h"
#include "str.h"
#include "token_set.h"

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

/* Of the two signatures that ECDSA has for a text, (r, s) and (r, n - s), the one with the smaller s is written: so that a token has one text once the
 * other is refused. Tokens of kaasd 0.1 have either, so token_verify.c must take both for as long as a replica of it may run beside us. */
static int lower_s(char *token, struct err *err) {
    static const uint8_t order[32] = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17,
                                      0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};
    char *signature = strrchr(token, '.') + 1;
    _cleanup_strbuf_ struct strbuf text;
    uint8_t raw[64], other[32];
    unsigned borrow = 0;
    strbuf_init(&text, TOKEN_SIGNATURE_CHARS);
    if (str_unbase64url(signature, strlen(signature), raw, sizeof(raw)) != sizeof(raw))
        return err_set(err, ERR_INTERNAL, "a token got a signature of another length");
    for (int i = 31; i >= 0; i--) {
        const unsigned less = raw[32 + i] + borrow;
        borrow = order[i] < less;
        other[i] = (uint8_t)(order[i] - less);
    }
    if (memcmp(raw + 32, other, sizeof(other)) <= 0)
        return 0;
    memcpy(raw + 32, other, sizeof(other));
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
