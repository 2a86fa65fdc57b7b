/* The certificate that kaasd shows: the configured one, or one of its own making. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "server_cert.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "fsutil.h"
#include "secret.h"
#include "str.h"
#include "x509.h"

#define PEM_BYTES_MAX (256U * 1024U)
#define OWN_DAYS 825

int server_cert_read(const struct server_cert_paths *paths, char **cert_pem, char **key_pem, struct err *err) {
    _cleanup_strbuf_ struct strbuf cert, key;
    int rc;
    strbuf_init(&cert, PEM_BYTES_MAX);
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

static bool is_address(const char *host) {
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
        san_host = str_format("%s:%s", is_address(host) ? "IP" : "DNS", host);
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

int server_cert_load(const struct config *config, char **cert_pem, char **key_pem, struct err *err) {
    _cleanup_server_cert_paths_ struct server_cert_paths paths = {0};
    int rc = server_cert_find(config, &paths, err);
    if (!rc && paths.is_own && !paths.is_there)
        rc = make_pair(config, paths.cert, paths.key, err);
    return rc ? rc : server_cert_read(&paths, cert_pem, key_pem, err);
}
