/* The certificate that kaasd shows: the configured one, or one of its own making. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "fsutil.h"
#include "secret.h"
#include "str.h"
#include "wire_private.h"
#include "x509.h"

#define PEM_BYTES_MAX (256U * 1024U)
#define OWN_DAYS 825

static int read_pair(const char *cert_path, const char *key_path, char **cert_pem, char **key_pem, struct err *err) {
    _cleanup_strbuf_ struct strbuf cert, key;
    int rc;
    strbuf_init(&cert, PEM_BYTES_MAX);
    strbuf_init_secret(&key, PEM_BYTES_MAX);
    rc = fs_read(cert_path, &cert, err);
    if (!rc)
        rc = fs_read_secret(key_path, &key, err);
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
    rc = fs_make_dirs(config->state_dir, 0700, err);
    if (!rc)
        rc = x509_make_self_signed(&request, &cert, &key, err);
    if (!rc)
        rc = fs_write_atomic(key_path, key, strlen(key), 0600, err);
    return rc ? rc : fs_write_atomic(cert_path, cert, strlen(cert), 0644, err);
}

int server_cert_load(const struct config *config, char **cert_pem, char **key_pem, struct err *err) {
    _cleanup_free_ char *cert_path = str_format("%s/server.crt", config->state_dir),
                        *key_path = str_format("%s/server.key", config->state_dir);
    int rc = 0;
    if (!cert_path || !key_path)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (*config->server_tls_certificate) {
        if (*config->server_tls_key)
            return read_pair(config->server_tls_certificate, config->server_tls_key, cert_pem, key_pem, err);
        return err_set(err, ERR_CONFIG, "server.tls_certificate is set, but server.tls_key is not");
    }
    if (access(cert_path, F_OK) || access(key_path, F_OK))
        rc = make_pair(config, cert_path, key_path, err);
    return rc ? rc : read_pair(cert_path, key_path, cert_pem, key_pem, err);
}
