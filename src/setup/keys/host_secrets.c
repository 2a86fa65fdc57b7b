/* All secrets of an installation that this host can read. Layer 4 (setup). SPDX-License-Identifier: GPL-3.0-or-later */
#include "host_secrets.h"

#include <string.h>
#include <unistd.h>

#include "fsutil.h"
#include "ldap_store.h"
#include "seal.h"
#include "sealing.h"
#include "setup_files.h"
#include "str.h"

#define FILE_BYTES_MAX (1024U * 1024U)
#define TOLD_BYTES_MAX 16384U

CLEANUP_DEFINE(struct seal, seal_free);

enum secret_kind { SECRET_TEXT, SECRET_MASTER_KEYS, SECRET_KEYTAB };

/* The length of the key of a keytab's entry whose keyblock, as the MIT documentation of the format has it, begins here: type and length, 16 bits
 * each, then the key; 0: none does. */
static size_t host_secrets_keyblock(const uint8_t *at, size_t left) {
    const size_t type = left > 4 ? (size_t)(at[0] << 8 | at[1]) : 0, n = left > 4 ? (size_t)(at[2] << 8 | at[3]) : 0;
    return type && type < 64 && (n == 16 || n == 24 || n == 32) && n + 4 <= left ? n : 0;
}

/* Keys of a fixed length are looked for one by one. In a keytab whatever could be a key is taken for one. */
static int host_secrets_add_keys(struct masker *masker, enum secret_kind kind, const struct strbuf *bytes, struct err *err) {
    const uint8_t *at = (const uint8_t *)bytes->data;
    bool is_known;
    int rc = 0;
    for (size_t i = 0; !rc && i < bytes->len; i += kind == SECRET_KEYTAB ? 1 : SEAL_KEY_BYTES) {
        const size_t left = bytes->len - i;
        const size_t n = kind == SECRET_KEYTAB   ? host_secrets_keyblock(at + i, left)
                         : left < SEAL_KEY_BYTES ? left
                                                 : SEAL_KEY_BYTES;
        rc = n ? masker_add(masker, kind == SECRET_KEYTAB ? at + i + 4 : at + i, n, &is_known, err) : 0;
    }
    return rc;
}

static int host_secrets_add_file(struct host_secrets *s, const char *path, enum secret_kind kind, struct err *err) {
    _cleanup_strbuf_ struct strbuf bytes;
    struct err why = {0};
    bool is_known = true;
    strbuf_init_secret(&bytes, FILE_BYTES_MAX);
    if (str_empty(path))
        return 0;
    int rc = kind == SECRET_TEXT ? fs_read_text(path, &bytes, &why) : fs_read(path, &bytes, &why);
    if (rc == ERR_NOT_FOUND)
        return 0;
    if (rc) {
        s->is_all = false;
        strbuf_addf(&s->told, "%s\n", why.text);
        return 0;
    }
    rc = kind == SECRET_TEXT ? masker_add(s->masker, bytes.data, bytes.len, &is_known, err)
                             : host_secrets_add_keys(s->masker, kind, &bytes, err);
    s->files += !rc && is_known;
    if (!rc && !is_known && bytes.len) {
        s->is_all = false;
        strbuf_addf(&s->told, "what is in %s is shorter than %d characters: it is not looked for\n", path,
                    MASKER_SECRET_BYTES_MIN);
    }
    return rc;
}

static int host_secrets_add_beside(struct host_secrets *s, const char *config_path, const char *name, struct err *err) {
    _cleanup_free_ char *path = db_settings_beside(config_path, name);
    return path ? host_secrets_add_file(s, path, SECRET_TEXT, err) : err_set(err, ERR_NOMEM, "out of memory");
}

int host_secrets_none(struct host_secrets *out, struct err *err) {
    *out = (struct host_secrets){.is_all = true};
    strbuf_init(&out->told, TOLD_BYTES_MAX);
    return masker_new(&out->masker, err);
}

int host_secrets_load(const struct config *config, const char *config_path, struct host_secrets *out, struct err *err) {
    _cleanup_server_cert_paths_ struct server_cert_paths cert = {0};
    int rc = host_secrets_none(out, err);
    for (size_t at = 0; !rc;) {
        const char *path = config_next_secret_file(config, &at);
        if (!path)
            break;
        rc = host_secrets_add_file(out, path, str_eq(path, config->secrets_master_key_file) ? SECRET_MASTER_KEYS : SECRET_TEXT,
                                   err);
    }
    rc = rc ? rc : server_cert_find(config, &cert, err);
    rc = rc || !cert.is_own ? rc : host_secrets_add_file(out, cert.key, SECRET_TEXT, err);
    rc = rc ? rc : host_secrets_add_file(out, config->auth_kerberos_keytab, SECRET_KEYTAB, err);
    rc = rc ? rc : host_secrets_add_beside(out, config_path, DB_PASSWORD_FILE, err);
    return rc ? rc : host_secrets_add_beside(out, config_path, DB_OWNER_PASSWORD_FILE, err);
}

/* -- in the database --------------------------------------------------------------------------------------------------------- */

struct host_secrets_reading {
    struct host_secrets *secrets;
    struct err err;
};

static void host_secrets_see(void *arg, const void *plain, size_t n) {
    struct host_secrets_reading *reading = arg;
    bool is_known = false;
    (void)masker_add(reading->secrets->masker, plain, n, &is_known, &reading->err);
    reading->secrets->sealed += is_known;
    if (is_known || reading->err.code)
        return;
    reading->secrets->is_all = false;
    strbuf_addf(&reading->secrets->told, "a value in the database is shorter than %d characters: it is not looked for\n",
                MASKER_SECRET_BYTES_MIN);
}

static void host_secrets_tell_sealed(struct host_secrets *s, const char *why) {
    s->is_all = false;
    strbuf_addf(&s->told, "what is sealed in the database is not known, or not all of it: %s\n", why);
}

int host_secrets_load_sealed(struct host_secrets *s, const struct config *config, struct store *store, struct err *err) {
    struct host_secrets_reading reading = {.secrets = s};
    const struct sealing_reader reader = {host_secrets_see, &reading};
    _cleanup_(seal_free) struct seal *seal = NULL;
    struct ldap_row_list rows = {0};
    struct err why = {0};
    uint64_t refused = 0;
    int rc = seal_open_file(config->secrets_master_key_file, &seal, &why);
    rc = rc ? rc : sealing_read(store, seal, &reader, &refused, &why);
    rc = rc ? rc : ldap_store_list(store, &rows, &why);
    if (rc)
        host_secrets_tell_sealed(s, why.text);
    else if (refused)
        host_secrets_tell_sealed(s, "no master key of this host opens some of it");
    rc = reading.err.code ? err_move(err, reading.err.code, &reading.err) : 0;
    for (size_t i = 0; !rc && i < rows.count; i++)
        rc = host_secrets_add_file(s, rows.items[i].source.keytab, SECRET_KEYTAB, err);
    ldap_row_list_done(&rows);
    return rc;
}

void host_secrets_done(struct host_secrets *s) {
    if (!s)
        return;
    masker_free(s->masker);
    s->masker = NULL;
    strbuf_done(&s->told);
}
