/* Files of the host: server certificate, passwords of the database, master keys, token of the metrics. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "setup_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "fsutil.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define PEM_BYTES_MAX (256U * 1024U)
#define OWN_DAYS 825

int server_cert_read(const struct server_cert_paths *paths, char **cert_pem, char **key_pem, struct err *err) {
    _cleanup_strbuf_ struct strbuf cert, key;
    int rc;
    strbuf_init_secret(&cert, PEM_BYTES_MAX); /* some keep both in one file */
    strbuf_init_secret(&key, PEM_BYTES_MAX);
    rc = fs_read(paths->cert, &cert, err);
    if (!rc)
        rc = fs_read_secret(paths->key, &key, err);
    if (rc)
        return rc;
    *cert_pem = strbuf_steal(&cert);
    *key_pem = strbuf_steal(&key);
    return *cert_pem && *key_pem ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Host part of an https URL, without brackets. Caller frees. */
static char *host_of(const char *url) {
    const char *host = str_starts(url, "https://") ? url + 8 : url;
    bool is_v6 = *host == '[';
    size_t n = strcspn(host + is_v6, is_v6 ? "]" : ":/");
    return str_format("%.*s", (int)n, host + is_v6);
}

static bool setup_is_address(const char *host) {
    return strspn(host, "0123456789.") == strlen(host) || strchr(host, ':');
}

static int make_pair(const struct config *config, const char *cert_path, const char *key_path, struct err *err) {
    char name[256] = "localhost";
    _cleanup_free_ char *host = host_of(config->server_public_url), *san_host = NULL, *san_name = NULL, *cert = NULL;
    _cleanup_secret_ char *key = NULL;
    const char *san[] = {"DNS:localhost", "IP:127.0.0.1", NULL, NULL, NULL};
    struct x509_request request = {
        .organization = "Harmony KaaS", .san = san, .valid_days = OWN_DAYS, .key_bits = config_key_bits(config), .is_server = 1};
    int rc;
    (void)gethostname(name, sizeof(name) - 1);
    san_name = str_format("DNS:%s", name);
    san[2] = san_name;
    if (host && *host) {
        san_host = str_format("%s:%s", setup_is_address(host) ? "IP" : "DNS", host);
        san[3] = san_host;
    }
    request.common_name = host && *host ? host : name;
    rc = fs_make_dirs(config->state_dir, 0755, err);
    if (!rc)
        rc = x509_make_self_signed(&request, &cert, &key, err);
    if (!rc)
        rc = fs_write_atomic(key_path, key, strlen(key), 0600, err);
    return rc ? rc : fs_write_atomic(cert_path, cert, strlen(cert), 0644, err);
}

void server_cert_paths_done(struct server_cert_paths *paths) {
    free(paths->cert);
    free(paths->key);
    *paths = (struct server_cert_paths){0};
}

int server_cert_find(const struct config *config, struct server_cert_paths *out, struct err *err) {
    const bool is_own = !*config->server_tls_certificate;
    _cleanup_server_cert_paths_ struct server_cert_paths paths = {
        .cert = is_own ? str_format("%s/server.crt", config->state_dir) : str_dup(config->server_tls_certificate),
        .key = is_own ? str_format("%s/server.key", config->state_dir) : str_dup(config->server_tls_key),
        .is_own = is_own};
    if (!paths.cert || !paths.key)
        return err_set(err, ERR_NOMEM, "out of memory");
    paths.is_there = !access(paths.cert, F_OK) && !access(paths.key, F_OK);
    *out = paths;
    paths = (struct server_cert_paths){0};
    return 0;
}

int server_cert_load(const struct config *config, struct x509_chain *chain, char **key_pem, struct err *err) {
    _cleanup_server_cert_paths_ struct server_cert_paths paths = {0};
    _cleanup_secret_ char *cert = NULL, *key = NULL;
    int rc = server_cert_find(config, &paths, err);
    if (!rc && paths.is_own && !paths.is_there)
        rc = make_pair(config, paths.cert, paths.key, err);
    rc = rc ? rc : server_cert_read(&paths, &cert, &key, err);
    rc = rc ? rc : x509_chain_read(cert, key, chain, err);
    if (!rc)
        *key_pem = STEAL(key);
    return rc;
}

/* -- from the configuration to database connections ---------------------------------------------------------------- */

#define PASSWORD_BYTES_MAX 1024U
#define OWNER_CALL_TIMEOUT_S 600U /* DDL on large tables */

char *db_settings_beside(const char *config_path, const char *name) {
    const char *slash = strrchr(config_path, '/');
    int folder = slash ? (int)(slash - config_path) + 1 : 0;
    return str_format("%.*s%s", folder, config_path, name);
}

int password_file_read(const char *path, struct strbuf *out, struct err *err) {
    char *end;
    int rc = fs_read_secret_text(path, out, err);
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
        return password_file_read(named, out, err);
    path = db_settings_beside(config_path, usual);
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    return access(path, F_OK) == 0 ? password_file_read(path, out, err) : 0;
}

int db_login_load(const struct config *config, const char *config_path, enum db_account account, struct db_login *out,
                  struct err *err) {
    bool is_owner = account == DB_ACCOUNT_OWNER;
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
    strbuf_init_secret(&out->password, PASSWORD_BYTES_MAX);
    rc = find_password(is_owner ? config->database_owner_password_file : config->database_password_file, config_path,
                       is_owner ? DB_OWNER_PASSWORD_FILE : DB_PASSWORD_FILE, &out->password, err);
    options.password = out->password.len ? out->password.data : NULL;
    out->options = options;
    return rc;
}

void db_login_done(struct db_login *login) {
    strbuf_done(&login->password);
}

int db_settings_open(const struct config *config, const char *config_path, enum db_account account, struct store **out,
                     struct err *err) {
    _cleanup_done_(db_login_done) struct db_login login;
    int rc = db_login_load(config, config_path, account, &login, err);
    return rc ? rc : store_new(&login.options, out, err);
}

/* -- the master key file as the administrator's tool changes it ---------------------------------------------------- */

#define FILE_MODE 0600

int master_key_file_read(const char *path, struct seal_ids *out, struct err *err) {
    struct seal *seal = NULL;
    int rc = seal_open_file(path, &seal, err);
    if (!rc)
        seal_get_ids(seal, out);
    seal_free(seal);
    return rc;
}

static int setup_load(const char *path, struct strbuf *bytes, struct stat *owner, struct err *err) {
    struct seal_ids ids;
    int rc = master_key_file_read(path, &ids, err); /* its form is right */
    if (!rc && stat(path, owner))
        rc = err_set(err, ERR_IO, "cannot look at %s", path);
    return rc ? rc : fs_read_secret(path, bytes, err);
}

static int setup_files_store(const char *path, const struct strbuf *bytes, const struct stat *owner, struct err *err) {
    return fs_write_atomic_for(path, bytes->data, bytes->len, &(struct fs_owner){owner->st_uid, owner->st_gid, FILE_MODE}, err);
}

int master_key_file_add(const char *path, char key_id[SEAL_KEY_ID_BYTES], struct err *err) {
    _cleanup_strbuf_ struct strbuf bytes;
    uint8_t key[SEAL_KEY_BYTES];
    struct stat owner;
    int rc;
    strbuf_init_secret(&bytes, 4096);
    rc = setup_load(path, &bytes, &owner, err);
    if (rc)
        return rc;
    if (bytes.len >= SEAL_KEYS_MAX * SEAL_KEY_BYTES) {
        (void)err_set(err, ERR_CONFLICT, "master key file %s holds %d keys already", path, SEAL_KEYS_MAX);
        return err_remedy(err, "take out old ones: kaasctl key remove-master KEY");
    }
    random_bytes(key, sizeof(key));
    seal_id_of_key(key, key_id);
    strbuf_add(&bytes, key, sizeof(key));
    secret_wipe(key, sizeof(key));
    return setup_files_store(path, &bytes, &owner, err);
}

int master_key_file_remove(const char *path, const char *key_id, struct err *err) {
    _cleanup_strbuf_ struct strbuf bytes, kept;
    char id[SEAL_KEY_ID_BYTES];
    struct stat owner;
    int rc;
    strbuf_init_secret(&bytes, 4096);
    strbuf_init_secret(&kept, 4096);
    rc = setup_load(path, &bytes, &owner, err);
    for (size_t at = 0; !rc && at < bytes.len; at += SEAL_KEY_BYTES) {
        seal_id_of_key((const uint8_t *)bytes.data + at, id);
        if (!str_eq(id, key_id))
            strbuf_add(&kept, bytes.data + at, SEAL_KEY_BYTES);
    }
    if (rc)
        return rc;
    if (kept.len == bytes.len)
        return err_set(err, ERR_NOT_FOUND, "master key file %s holds no key %.16s", path, key_id);
    if (!kept.len)
        return err_set(err, ERR_CONFLICT, "%s is the only key in %s", key_id, path);
    return setup_files_store(path, &kept, &owner, err);
}

/* -- the token by which a monitoring system reads the metrics ------------------------------------------------------ */

#define TOKEN_CHARS_MIN 32U
#define TOKEN_CHARS_MAX 512U

int scrape_token_read(const struct config *config, struct scrape_token *out, struct err *err) {
    static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="; /* RFC 6750 2.1 */
    const char *path = config->metrics_token_file;
    _cleanup_strbuf_ struct strbuf text;
    struct err why = {0};
    size_t n;
    int rc;
    strbuf_init_secret(&text,
                       4 * TOKEN_CHARS_MAX); /* also for a mark and a line end, or what is wrong with it could not be told */
    *out = (struct scrape_token){0};
    if (!*path)
        return 0;
    rc = fs_read_secret_text(path, &text, &why);
    if (rc && rc != ERR_TOO_LARGE)
        return err_move(err, rc, &why);
    n = rc ? 0 : strspn(text.data, chars);
    if (n < TOKEN_CHARS_MIN || n > TOKEN_CHARS_MAX || text.data[n + strspn(text.data + n, "\r\n")]) {
        (void)err_set(err, ERR_CONFIG, "%s, the file of metrics.token_file, does not hold a token of one line", path);
        return err_remedy(err, "write %u to %u letters, digits or -._~+/= into it: openssl rand -hex 32 > FILE", TOKEN_CHARS_MIN,
                          TOKEN_CHARS_MAX);
    }
    digest_sha256(text.data, n, out->digest);
    out->is_set = true;
    return 0;
}
