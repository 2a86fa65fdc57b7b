/* One signing key: making it, naming it. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "digest.h"
#include "json.h"
#include "secret.h"
#include "str.h"
#include "token_set.h"

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
