/* Password hashing by yescrypt of libxcrypt. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "passwd.h"

#include <crypt.h>
#include <string.h>

#include "cleanup.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"

#define PREFIX "$y$" /* crypt(5): yescrypt */
#define SALT_BYTES 16

/* crypt_ra with a fresh work area, which is wiped: it holds intermediate values of the password. NULL on failure. */
static char *hash_with(const char *password, const char *setting) {
    void *area = NULL;
    int area_bytes = 0;
    const char *hash = crypt_ra(password, setting, &area, &area_bytes);
    char *copy = hash && hash[0] != '*' ? str_dup(hash) : NULL; /* "*0" is the failure mark of crypt(3) */
    if (area)
        secret_wipe(area, (size_t)area_bytes);
    free(area);
    return copy;
}

/* The parameters of a new hash: libcrypt's default cost with this salt. */
static char *make_setting(const uint8_t salt[SALT_BYTES]) {
    return crypt_gensalt_ra(PREFIX, 0, (const char *)salt, SALT_BYTES);
}

int passwd_hash(const char *password, char **out, struct err *err) {
    uint8_t salt[SALT_BYTES];
    if (strlen(password) >= CRYPT_MAX_PASSPHRASE_SIZE)
        return err_set(err, ERR_UNPROCESSABLE, "the password is longer than %d bytes", CRYPT_MAX_PASSPHRASE_SIZE - 1);
    random_bytes(salt, sizeof(salt));
    _cleanup_free_ char *setting = make_setting(salt);
    if (!setting)
        return err_set(err, ERR_INTERNAL, "libcrypt cannot make yescrypt salts");
    char *hash = hash_with(password, setting);
    if (!hash)
        return err_set(err, ERR_INTERNAL, "libcrypt cannot hash by yescrypt");
    *out = hash;
    return 0;
}

/* The work of a comparison, for nothing. */
static void passwd_burn(void) {
    static const uint8_t salt[SALT_BYTES];
    _cleanup_free_ char *setting = make_setting(salt);
    if (setting)
        secret_free(hash_with("unknown user", setting));
}

bool passwd_verify(const char *password, const char *hash) {
    bool is_usable = str_starts(hash, PREFIX) && strlen(password) < CRYPT_MAX_PASSPHRASE_SIZE;
    if (!is_usable) {
        passwd_burn();
        return false;
    }
    _cleanup_secret_ char *made = hash_with(password, hash);
    return made && secret_eq(made, strlen(made), hash, strlen(hash));
}

char *passwd_generate(void) {
    /* Crockford's base 32: no i, l, o, u; 20 characters of 5 bits */
    static const char letters[] = "0123456789abcdefghjkmnpqrstvwxyz";
    uint8_t raw[20];
    char *text = malloc(sizeof(raw) + 4);
    if (!text)
        return NULL;
    random_bytes(raw, sizeof(raw));
    char *p = text;
    for (size_t i = 0; i < sizeof(raw); i++) {
        if (i && i % 5 == 0)
            *p++ = '-';
        *p++ = letters[raw[i] & 31];
    }
    *p = '\0';
    secret_wipe(raw, sizeof(raw));
    return text;
}
