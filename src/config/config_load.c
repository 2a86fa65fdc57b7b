/* Reading a configuration: defaults, file, and what must fit together. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "fsutil.h"
#include "option_table.h"

/* Fills in all defaults. ERR_NOMEM. Freed by config_free. */
static int config_defaults(struct config *out, struct err *err) {
    struct config config = {0};
    int rc = option_defaults(&option_table_daemon, &config, err);
    if (!rc)
        *out = config;
    return rc;
}

void config_free(struct config *config) {
    if (!config)
        return;
    option_done_all(&option_table_daemon, config);
    memset(config, 0, sizeof(*config));
}

int config_key_bits(const struct config *config) {
    static const int bits[] = {2048, 3072, 4096}; /* in the order of the words in options.def */
    return bits[config->certificates_key_bits];
}

/* Reports a clash at the line where the file sets the option. */
static void clash(const struct config *c, const char *name, int index, struct config_report *report, const char *text) {
    const struct config_place place = {name, c->lines[index], 1};
    config_report_add(report, &place, text, "");
}

/* Each option may be fine by itself, and yet two contradict each other. */
static void check_together(const struct config *c, const char *name, struct config_report *report) {
    if (!*c->server_listen && !*c->server_unix_socket)
        clash(c, name, CONFIG_INDEX_server_listen, report,
              "server.listen and server.unix_socket are both empty: nobody could connect");
    if (!*c->server_tls_certificate != !*c->server_tls_key)
        clash(c, name, *c->server_tls_key ? CONFIG_INDEX_server_tls_key : CONFIG_INDEX_server_tls_certificate, report,
              "server.tls_certificate and server.tls_key belong together: give both or neither");
    if (c->lines[CONFIG_INDEX_database_socket] && *c->database_socket && *c->database_host)
        clash(c, name, CONFIG_INDEX_database_host, report, "database.socket and database.host are both given: remove one");
    if (!*c->database_socket && !*c->database_host)
        clash(c, name, CONFIG_INDEX_database_socket, report, "database.socket and database.host are both empty: give one");
    if (*c->database_host && !*c->database_tls_ca_file)
        clash(c, name, CONFIG_INDEX_database_host, report,
              "database.host needs database.tls_ca_file: connections by TCP are made with TLS only, also on this machine, where "
              "database.socket needs none");
    if (*c->server_client_crl_file && !*c->server_client_ca_file)
        clash(c, name, CONFIG_INDEX_server_client_crl_file, report,
              "server.client_crl_file is set, but server.client_ca_file is not: name the CA whose revocation lists these are");
    if (c->auth_token_lifetime_ms > c->auth_session_lifetime_ms)
        clash(c, name, CONFIG_INDEX_auth_token_lifetime_ms, report, "auth.token_lifetime is longer than auth.session_lifetime");
    if (c->vcenter_connect_timeout_ms > c->vcenter_call_timeout_ms)
        clash(c, name, CONFIG_INDEX_vcenter_connect_timeout_ms, report,
              "vcenter.connect_timeout is longer than vcenter.call_timeout");
}

int config_parse(const char *name, const char *text, size_t n, struct config *out, struct config_report *report,
                 struct err *err) {
    struct config config;
    const struct config_source source = {name, text, n};
    int rc = config_defaults(&config, err);
    if (rc)
        return rc;
    rc = config_yaml_read(&option_table_daemon, &source, &config, config.lines, report, err);
    if (!rc && !report->error_count)
        check_together(&config, name, report);
    if (!rc)
        rc = config_report_finish(report, name, err);
    if (rc)
        config_free(&config);
    else
        *out = config;
    return rc;
}

int config_load(const char *path, struct config *out, struct config_report *report, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, CONFIG_FILE_BYTES_MAX);
    int rc = fs_read(path, &text, err);
    if (rc == ERR_NOT_FOUND)
        (void)err_remedy(err, "run: kaasctl init, or name another file by --config");
    if (rc == ERR_IO)
        (void)config_tell_user(err);
    return rc ? rc : config_parse(path, text.data, text.len, out, report, err);
}
