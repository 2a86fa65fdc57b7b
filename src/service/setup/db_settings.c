/* From the configuration to database connections. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_settings.h"

#include <string.h>
#include <unistd.h>

#include "fsutil.h"
#include "str.h"

#define PASSWORD_BYTES_MAX 1024U
#define OWNER_CALL_TIMEOUT_S 600U /* DDL on large tables */

char *db_settings_beside(const char *config_path, const char *name) {
    const char *slash = strrchr(config_path, '/');
    int folder = slash ? (int)(slash - config_path) + 1 : 0;
    return str_format("%.*s%s", folder, config_path, name);
}

/* The file's first line. */
static int read_password(const char *path, struct strbuf *out, struct err *err) {
    char *end;
    int rc = fs_read_secret(path, out, err);
    if (rc)
        return rc;
    end = strpbrk(out->data, "\r\n");
    if (end) {
        *end = 0;
        out->len = (size_t)(end - out->data);
    }
    return 0;
}

static int find_password(const char *named, const char *config_path, const char *usual, struct strbuf *out, struct err *err) {
    _cleanup_free_ char *path = NULL;
    if (*named)
        return read_password(named, out, err);
    path = db_settings_beside(config_path, usual);
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    return access(path, F_OK) == 0 ? read_password(path, out, err) : 0;
}

int db_settings_open(const struct config *config, const char *config_path, enum db_account account, struct store **out,
                     struct err *err) {
    bool is_owner = account == DB_ACCOUNT_OWNER;
    _cleanup_strbuf_ struct strbuf password;
    struct store_options options = {
        .database = config->database_name,
        .user = is_owner ? config->database_owner_user : config->database_user,
        .call_timeout_s = (unsigned)((config->database_call_timeout_ms + 999) / 1000),
        .connections_max = is_owner ? 2 : (unsigned)config->database_pool_size,
    };
    int rc;
    if (*config->database_host) {
        options.host = config->database_host;
        options.port = (unsigned)config->database_port;
        options.ca_file = *config->database_tls_ca_file ? config->database_tls_ca_file : NULL;
    } else {
        options.unix_socket = config->database_socket;
    }
    if (is_owner)
        options.call_timeout_s = OWNER_CALL_TIMEOUT_S;
    strbuf_init_secret(&password, PASSWORD_BYTES_MAX);
    rc = find_password(is_owner ? config->database_owner_password_file : config->database_password_file, config_path,
                       is_owner ? DB_OWNER_PASSWORD_FILE : DB_PASSWORD_FILE, &password, err);
    if (rc)
        return rc;
    options.password = password.len ? password.data : NULL;
    return store_new(&options, out, err);
}
