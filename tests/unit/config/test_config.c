/* Unit tests of src/config: every form of error with its place, values, files, printing.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "daemon_config.h"
#include "fsutil.h"
#include "option_table.h"
#include "str.h"

static int parse(const char *text, struct config *config, struct config_report *report, struct err *err) {
    config_report_init(report);
    return config_parse("k.yaml", text, strlen(text), config, report, err);
}

/* The text gives exactly this report. */
static void assert_report(const char *text, const char *expected) {
    _cleanup_config_report_ struct config_report report;
    struct config config = {0};
    struct err err = {0};
    assert_int_equal(parse(text, &config, &report, &err), ERR_CONFIG);
    assert_string_equal(report.text.data, expected);
    assert_int_equal(err.code, ERR_CONFIG);
    assert_null(config.server_listen);
}

static void assert_fine(const char *text, struct config *config) {
    _cleanup_config_report_ struct config_report report;
    struct err err = {0};
    int rc = parse(text, config, &report, &err);
    if (rc)
        print_message("%s", report.text.data);
    assert_int_equal(rc, 0);
    assert_int_equal(report.error_count, 0);
}

static void test_defaults(void **state) {
    (void)state;
    _cleanup_config_ struct config c = {0};
    assert_fine("", &c);
    assert_string_equal(c.server_listen, "127.0.0.1:8443");
    assert_string_equal(c.server_unix_socket, "");
    assert_string_equal(c.server_admin_socket, "/run/kaas/admin.sock");
    assert_string_equal(c.secrets_master_key_file, "/etc/kaas/master.key");
    assert_int_equal(c.auth_token_lifetime_ms, 15 * 60 * 1000);
    assert_int_equal(c.auth_session_lifetime_ms, 8 * 3600 * 1000);
    assert_int_equal(c.auth_clone_ticket_lifetime_ms, 3600 * 1000);
    assert_string_equal(c.auth_vcenter_view_privilege, "System.Read");
    assert_int_equal(c.auth_rights_fresh_ms, 30000);
    assert_int_equal(c.auth_rights_recheck_per_s, 5);
    assert_string_equal(c.vcenter_extension_key, "com.cisco.kaas");
    assert_int_equal(c.vcenter_call_timeout_ms, 30000);
    assert_int_equal(c.vcenter_connect_timeout_ms, 5000);
    assert_int_equal(c.vcenter_keepalive_ms, 10000);
    assert_int_equal(c.vcenter_reconcile_interval_ms, 3600000);
    assert_int_equal(c.log_level, CONFIG_LOG_INFO);
    assert_int_equal(config_key_bits(&c), 3072);
    assert_int_equal(c.server_trusted_proxies.count, 0);
}

static void test_empty_files(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "# nothing\n", "---\n", "{}\n", "server:\n", "server:\n  # listen: x\ndatabase: {}\n", "\xef\xbb\xbf# BOM\n"};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        _cleanup_config_ struct config c = {0};
        assert_fine(texts[i], &c);
        assert_string_equal(c.server_listen, "127.0.0.1:8443");
    }
}

static void test_values(void **state) {
    (void)state;
    _cleanup_config_ struct config c = {0};
    assert_fine("state_dir: /srv/kaas\n"
                "server:\n"
                "  listen: '*:443'\n"
                "  trusted_proxies: [192.0.2.0/24, \"2001:db8::1\", unix]\n"
                "  connections_max: 100\n"
                "  public_url: https://kaas.example.com\n"
                "auth:\n"
                "  token_lifetime: 90s\n"
                "  vcenter: {view_privilege: KaaS.View}\n"
                "vcenter:\n"
                "  extension_key: com.example.kaas-2\n"
                "  admin_email: ops@example.com\n"
                "log:\n"
                "  level: \"debug\"\n",
                &c);
    assert_string_equal(c.state_dir, "/srv/kaas");
    assert_string_equal(c.server_listen, "*:443");
    assert_int_equal(c.server_trusted_proxies.count, 3);
    assert_string_equal(c.server_trusted_proxies.items[1], "2001:db8::1");
    assert_null(c.server_trusted_proxies.items[3]);
    assert_int_equal(c.server_connections_max, 100);
    assert_int_equal(c.auth_token_lifetime_ms, 90000);
    assert_string_equal(c.auth_vcenter_view_privilege, "KaaS.View");
    assert_int_equal(c.log_level, CONFIG_LOG_DEBUG);
    assert_int_equal(c.lines[CONFIG_INDEX_server_listen], 3);
    assert_int_equal(c.lines[CONFIG_INDEX_server_page_dir], 0);
}

static void test_key_bits(void **state) {
    (void)state;
    static const int good[] = {2048, 3072, 4096};
    static const char *const bad[] = {"1024", "2049", "3000", "8192", "0", "-2048", "2048.0", "many"};
    char text[100];
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        _cleanup_config_ struct config c = {0};
        (void)snprintf(text, sizeof(text), "certificates:\n  key_bits: %d\n", good[i]);
        assert_fine(text, &c);
        assert_int_equal(config_key_bits(&c), good[i]);
    }
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        (void)snprintf(text, sizeof(text), "certificates:\n  key_bits: %s\n", bad[i]);
        assert_report(text, "k.yaml:2:13: certificates.key_bits must be \"2048\", \"3072\" or \"4096\"\n");
    }
}

static void test_unknown_keys(void **state) {
    (void)state;
    assert_report("server:\n  lisen: x\n", "k.yaml:2:3: unknown key \"server.lisen\", did you mean \"server.listen\"\n");
    assert_report("servre:\n  listen: x\n", "k.yaml:1:1: unknown key \"servre\", did you mean \"server.listen\"\n");
    assert_report("listen: x\n", "k.yaml:1:1: unknown key \"listen\", did you mean \"server.listen\"\n");
    assert_report("database:\n  password: x\n",
                  "k.yaml:2:3: unknown key \"database.password\", did you mean \"database.password_file\"\n");
    assert_report("zzzzzzzzzzzz: 1\n",
                  "k.yaml:1:1: unknown key \"zzzzzzzzzzzz\"; see the reference page for all keys, or remove the line\n");
    assert_report("server.listen: x\n", "k.yaml:1:1: a key must be a short word; write nested sections instead of dots\n");
    assert_report("? [a, b]\n: x\n", "k.yaml:1:3: a key must be a short word\n");
    assert_report("\"a\\nb\": x\n", "k.yaml:1:1: a key must be a short word\n");
    assert_report("<<: {}\n", "k.yaml:1:1: unknown key \"<<\"; see the reference page for all keys, or remove the line\n");
}

static void test_wrong_types(void **state) {
    (void)state;
    assert_report("server:\n  listen: [a]\n", "k.yaml:2:11: server.listen must be a text of 0 to 64 bytes\n");
    assert_report("server:\n  listen:\n    host: x\n", "k.yaml:3:5: server.listen must be a text of 0 to 64 bytes\n");
    assert_report("server:\n  trusted_proxies: 192.0.2.1\n",
                  "k.yaml:2:20: server.trusted_proxies must be a list of up to 64 texts; write [\"first\", \"second\"]\n");
    assert_report("server:\n  connections_max: many\n",
                  "k.yaml:2:20: server.connections_max must be a whole number from 16 to 1000000\n");
    assert_report("server:\n  connections_max: '100'\n",
                  "k.yaml:2:20: server.connections_max must be a whole number from 16 to 1000000; write it without quotes\n");
    assert_report("server:\n  connections_max: 0x100\n",
                  "k.yaml:2:20: server.connections_max must be a whole number from 16 to 1000000\n");
    assert_report("server: 8443\n",
                  "k.yaml:1:9: server is a section, not a value; put its keys below it, indented by two blanks\n");
    assert_report("- server\n", "k.yaml:1:1: the file must consist of sections, as in \"server:\"\n");
    assert_report("log:\n  level: loud\n",
                  "k.yaml:2:10: log.level must be \"error\", \"warning\", \"notice\", \"info\" or \"debug\"\n");
    assert_report("log:\n  level:\n",
                  "k.yaml:2:9: log.level has no value; remove the line to get the default, or write \"\" for an empty text\n");
    assert_report("state_dir: kaas\n", "k.yaml:1:12: state_dir must be an absolute path of up to 4000 bytes\n");
    assert_report("server:\n  trusted_proxies: [[a]]\n", "k.yaml:2:21: server.trusted_proxies has an item that is no text\n");
    assert_report("server:\n  connections_max: !!int 100\n",
                  "k.yaml:2:20: server.connections_max has a tag (!), which is not allowed\n");
    assert_report("server:\n  listen: !!str x\n", "k.yaml:2:11: server.listen has a tag (!), which is not allowed\n");
}

static void test_bounds(void **state) {
    (void)state;
    assert_report("server:\n  connections_max: 15\n",
                  "k.yaml:2:20: server.connections_max must be a whole number from 16 to 1000000\n");
    assert_report("server:\n  connections_max: 99999999999999999999\n",
                  "k.yaml:2:20: server.connections_max must be a whole number from 16 to 1000000\n");
    assert_report("auth:\n  token_lifetime: 2h\n", "k.yaml:2:19: auth.token_lifetime must be a duration from 1m to 1h\n");
    assert_report(
        "auth:\n  token_lifetime: 900\n",
        "k.yaml:2:19: auth.token_lifetime must be a duration from 1m to 1h; write a number with one of the units ms, s, m, h, d, as in 15m\n");
    assert_report(
        "auth:\n  token_lifetime: 15 min\n",
        "k.yaml:2:19: auth.token_lifetime must be a duration from 1m to 1h; write a number with one of the units ms, s, m, h, d, as in 15m\n");
    assert_report("auth:\n  token_lifetime: 9000000000000000000d\n",
                  "k.yaml:2:19: auth.token_lifetime must be a duration from 1m to 1h\n");
    assert_report("auth:\n  token_lifetime: -5m\n", "k.yaml:2:19: auth.token_lifetime must be a duration from 1m to 1h\n");
}

static void test_syntax(void **state) {
    (void)state;
    _cleanup_config_report_ struct config_report report;
    struct config config = {0};
    static const struct {
        const char *text, *start, *word;
    } cases[] = {
        {"server:\n\tlisten: x\n", "k.yaml:2:1: not valid YAML: ", "tabs"},
        {"server: {listen: x\n", "k.yaml:2:1: not valid YAML: ", "expected"},
        {"server:\n  listen: \"x\n", "k.yaml:3:1: not valid YAML: ", "quoted scalar"},
        {"server: \xff\xfe\n", "k.yaml:1:9: not valid YAML: ", "UTF-8"},
        {"server:\n  listen: *:8443\n", "k.yaml:2:12: not valid YAML: ", "; put a text that starts with * or & into quotes"},
        {"a: b: c\n", "k.yaml:1:5: not valid YAML: ", "mapping values"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        assert_int_equal(parse(cases[i].text, &config, &report, NULL), ERR_CONFIG);
        if (!str_starts(report.text.data, cases[i].start) || !strstr(report.text.data, cases[i].word))
            print_message("%s", report.text.data);
        assert_true(str_starts(report.text.data, cases[i].start));
        assert_non_null(strstr(report.text.data, cases[i].word));
        config_report_done(&report);
    }
    config_report_init(&report);
    assert_int_equal(config_parse("k.yaml", "a\0b", 3, &config, &report, NULL), ERR_CONFIG);
    config_report_done(&report);
    assert_report("state_dir: \"/a\\0b\"\n", "k.yaml:1:12: a NUL character is not allowed\n");
}

static void test_refused_features(void **state) {
    (void)state;
    assert_report(
        "a: &x 1\n",
        "k.yaml:1:4: anchors and aliases (& and *) are not allowed; write the value itself, in quotes if it starts with & or *\n");
    assert_report(
        "server:\n  page_dir: *x\n",
        "k.yaml:2:13: anchors and aliases (& and *) are not allowed; write the value itself, in quotes if it starts with & or *\n");
    assert_report("state_dir: /a\n---\nstate_dir: /b\n", "k.yaml:2:1: a second document is not allowed; remove the line ---\n");
    assert_report("[[[[[[[[[[]]]]]]]]]]\n", "k.yaml:1:9: nested too deeply\n");
    assert_report("server:\n  listen: '*:1'\n  listen: '*:2'\n", "k.yaml:3:3: key \"server.listen\" is given twice\n");
    assert_report("server: {}\nserver: {}\n", "k.yaml:2:1: key \"server\" is given twice\n");
}

static void test_checks(void **state) {
    (void)state;
    static const char *const listen_bad[] = {"8443",     "localhost:8443", "127.0.0.1", "127.0.0.1:70000",
                                             "::1:8443", "[127.0.0.1]:1",  ":1",        "[]:1"};
    static const char *const url_bad[] = {"http://kaas.example.com", "kaas.example.com", "https://user@kaas.example.com",
                                          "https://"};
    static const char *const key_bad[] = {"com.Cisco.kaas", "kaas", "com..kaas", ".kaas", "com.kaas.", "com.kaas x"};
    static const char *const proxy_bad[] = {"proxy.example", "192.0.2.0/33", "2001:db8::/129",
                                            "192.0.2.0/",    "/8",           "192.0.2.0/8x"};
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_COUNT(listen_bad); i++)
        assert_int_equal(option_check_listen(listen_bad[i], NULL), ERR_CONFIG);
    for (size_t i = 0; i < ARRAY_COUNT(url_bad); i++)
        assert_int_equal(option_check_url(url_bad[i], NULL), ERR_CONFIG);
    for (size_t i = 0; i < ARRAY_COUNT(key_bad); i++)
        assert_int_equal(option_check_extension_key(key_bad[i], NULL), ERR_CONFIG);
    for (size_t i = 0; i < ARRAY_COUNT(proxy_bad); i++)
        assert_int_equal(option_check_proxy(proxy_bad[i], NULL), ERR_CONFIG);
    assert_int_equal(option_check_listen("[::1]:8443", &err), 0);
    assert_int_equal(option_check_listen("0.0.0.0:0", &err), 0);
    assert_int_equal(option_check_proxy("2001:db8::/32", &err), 0);
    assert_int_equal(option_check_email("a@b.example", &err), 0);
    assert_int_equal(option_check_email("A <a@b.example>", NULL), ERR_CONFIG);
    assert_int_equal(option_check_host("db.example", &err), 0);
    assert_int_equal(option_check_host("db.example:3306", NULL), ERR_CONFIG);
    assert_int_equal(option_check_identifier("kaas_1", &err), 0);
    assert_int_equal(option_check_identifier("kaas-1", NULL), ERR_CONFIG);
    assert_int_equal(option_check_privilege("System", NULL), ERR_CONFIG);
    assert_int_equal(option_check_replica("node-1.example", &err), 0);
    assert_int_equal(option_check_replica("node 1", NULL), ERR_CONFIG);
    assert_report(
        "server:\n  listen: localhost:8443\n",
        "k.yaml:2:11: server.listen must be an address with a port; write it as 127.0.0.1:8443, [::1]:8443 or *:8443; host names are not "
        "resolved here\n");
}

static void test_together(void **state) {
    (void)state;
    assert_report("server:\n  tls_key: /k\n",
                  "k.yaml:2:1: server.tls_certificate and server.tls_key belong together: give both or neither\n");
    assert_report("server:\n  listen: \"\"\n",
                  "k.yaml:2:1: server.listen and server.unix_socket are both empty: nobody could connect\n");
    assert_report("database:\n  socket: /s\n  host: db\n  tls_ca_file: /c\n",
                  "k.yaml:3:1: database.socket and database.host are both given: remove one\n");
    assert_report("database:\n  socket: \"\"\n", "k.yaml:2:1: database.socket and database.host are both empty: give one\n");
    assert_report("auth:\n  token_lifetime: 1h\n  session_lifetime: 30m\n",
                  "k.yaml:2:1: auth.token_lifetime is longer than auth.session_lifetime\n");
    assert_report("vcenter:\n  call_timeout: 2s\n  connect_timeout: 3s\n",
                  "k.yaml:3:1: vcenter.connect_timeout is longer than vcenter.call_timeout\n");
    _cleanup_config_ struct config c = {0};
    assert_fine("database:\n  host: db\n  tls_ca_file: /c\n", &c);
    assert_report(
        "database:\n  host: db\n",
        "k.yaml:2:1: database.host needs database.tls_ca_file: connections by TCP are made with TLS only, also on this machine, "
        "where database.socket needs none\n");
    assert_report(
        "server:\n  client_crl_file: /c\n",
        "k.yaml:2:1: server.client_crl_file is set, but server.client_ca_file is not: name the CA whose revocation lists these "
        "are\n");
}

static void test_several_errors(void **state) {
    (void)state;
    _cleanup_config_report_ struct config_report report;
    struct config config = {0};
    struct err err = {0};
    _cleanup_strbuf_ struct strbuf text;
    assert_report("server:\n  lisen: x\n  connections_max: 1\nlog:\n  level: x\n",
                  "k.yaml:2:3: unknown key \"server.lisen\", did you mean \"server.listen\"\n"
                  "k.yaml:3:20: server.connections_max must be a whole number from 16 to 1000000\n"
                  "k.yaml:5:10: log.level must be \"error\", \"warning\", \"notice\", \"info\" or \"debug\"\n");
    strbuf_init(&text, 10000);
    for (int i = 0; i < 30; i++)
        strbuf_addf(&text, "wrong%dkey: 1\n", i);
    assert_int_equal(parse(text.data, &config, &report, &err), ERR_CONFIG);
    unsigned lines = 0;
    for (const char *p = report.text.data; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, CONFIG_ERRORS_SHOWN_MAX + 1);
    assert_true(str_ends(report.text.data, "k.yaml: further errors are not shown\n"));
    assert_non_null(strstr(err.text, "more than 20 errors"));
}

/* All kinds, those that kaasd has no option of included. */
struct sample {
    bool flag;
    int64_t size;
    char *text;
    struct config_list list;
};

static const struct option sample_rows[] = {
    {.kind = OPTION_BOOL, .offset = offsetof(struct sample, flag), .key = "a.flag", .fallback = "false"},
    {.kind = OPTION_SIZE,
     .offset = offsetof(struct sample, size),
     .key = "a.size",
     .fallback = "64KiB",
     .min = 1024,
     .max = 1 << 30},
    {.kind = OPTION_STRING, .offset = offsetof(struct sample, text), .key = "text", .fallback = "x", .min = 1, .max = 4},
    {.kind = OPTION_LIST, .offset = offsetof(struct sample, list), .key = "list", .fallback = "", .max = 2},
};
static const struct option_table sample_table = {sample_rows, ARRAY_COUNT(sample_rows)};

static int read_sample(const char *text, struct sample *out, struct config_report *report) {
    unsigned lines[ARRAY_COUNT(sample_rows)] = {0};
    const struct config_source source = {"s", text, strlen(text)};
    config_report_init(report);
    memset(out, 0, sizeof(*out));
    assert_int_equal(option_defaults(&sample_table, out, NULL), 0);
    return config_yaml_read(&sample_table, &source, out, lines, report, NULL);
}

static void test_all_kinds(void **state) {
    (void)state;
    struct config_report report;
    struct sample s;
    assert_int_equal(read_sample("a: {flag: true, size: 3MiB}\ntext: \"a\\\"b\"\nlist: [p, q]\n", &s, &report), 0);
    assert_int_equal(report.error_count, 0);
    assert_true(s.flag);
    assert_int_equal(s.size, 3 << 20);
    struct strbuf out;
    strbuf_init(&out, 1000);
    for (size_t i = 0; i < ARRAY_COUNT(sample_rows); i++) {
        option_write(&sample_rows[i], &s, &out);
        strbuf_addc(&out, '\n');
    }
    assert_string_equal(out.data, "true\n3MiB\n\"a\\\"b\"\n[\"p\", \"q\"]\n");
    strbuf_done(&out);
    option_done_all(&sample_table, &s);
    config_report_done(&report);
    assert_int_equal(read_sample("a: {flag: yes, size: 1MB}\ntext: toolong\nlist: [p, q, r]\n", &s, &report), 0);
    assert_string_equal(
        report.text.data,
        "s:1:11: a.flag must be true or false\n"
        "s:1:22: a.size must be a size from 1KiB to 1GiB; write a number with one of the units B, KiB, MiB, GiB, as in 64KiB\n"
        "s:2:7: text must be a text of 1 to 4 bytes\n"
        "s:3:14: list must be a list of up to 2 texts\n");
    option_done_all(&sample_table, &s);
    config_report_done(&report);
}

struct folder {
    char path[64];
};

static char *put_file(const char *folder, const char *name, const char *text, mode_t mode) {
    char *path = str_format("%s/%s", folder, name);
    assert_int_equal(fs_write_new(path, text, strlen(text), mode, NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static void test_files(void **state) {
    (void)state;
    char folder[] = "/tmp/kaas-config-XXXXXX";
    _cleanup_config_report_ struct config_report report;
    _cleanup_config_ struct config c = {0};
    struct err err = {0};
    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *key = put_file(folder, "master.key", "0123456789abcdef0123456789abcdef", 0600);
    _cleanup_free_ char *cert = put_file(folder, "cert.pem", "x", 0644), *open_key = put_file(folder, "key.pem", "x", 0644);
    _cleanup_free_ char *owner = put_file(folder, "owner", "x", 0640), *empty = put_file(folder, "empty", "", 0600);
    _cleanup_free_ char *text = str_format("secrets: {master_key_file: %s}\nstate_dir: %s/new\n", key, folder);
    _cleanup_free_ char *path = put_file(folder, "good.yaml", text, 0644);
    config_report_init(&report);
    assert_int_equal(config_load(path, &c, &report, &err), 0);
    assert_int_equal(config_check_files(&c, &report, &err), 0);
    config_free(&c);

    _cleanup_free_ char *bad =
        str_format("secrets: {master_key_file: %s}\nserver: {tls_certificate: %s, tls_key: %s, page_dir: %s/none}\n"
                   "database: {owner_password_file: %s, tls_ca_file: %s/nothing.pem}\nstate_dir: %s\n",
                   empty, cert, open_key, folder, owner, folder, cert);
    assert_int_equal(config_parse("bad", bad, strlen(bad), &c, &report, &err), 0);
    assert_int_equal(config_check_files(&c, &report, &err), ERR_CONFIG);
    assert_int_equal(report.error_count, 6);
    assert_non_null(strstr(report.text.data, "server.tls_key: "));
    assert_non_null(strstr(report.text.data, "chmod 0600"));
    assert_non_null(strstr(report.text.data, "server.page_dir: "));
    assert_non_null(strstr(report.text.data, "database.owner_password_file: "));
    assert_non_null(strstr(report.text.data, "secrets.master_key_file: "));
    assert_non_null(strstr(report.text.data, "database.tls_ca_file: "));
    assert_non_null(strstr(report.text.data, "state_dir: "));
    assert_null(strstr(report.text.data, "tls_certificate"));

    config_report_fault(&report, "server.tls_key", "another fault of the same option", "");
    config_report_warning(&report, "server.page_dir", "is old", "renew it");
    assert_int_equal(report.error_count, 6);
    assert_string_equal(report.warnings.data, "server.page_dir: warning: is old; renew it\n");
    config_report_fault(&report, "server.tls", "a fault of another option", "mend it");
    assert_non_null(strstr(report.text.data, "server.tls: a fault of another option; mend it\n"));

    err_clear(&err);
    _cleanup_free_ char *missing = str_format("%s/none.yaml", folder);
    struct config none = {0};
    assert_int_equal(config_load(missing, &none, &report, &err), ERR_NOT_FOUND);
    const char *const paths[] = {key, cert, open_key, owner, empty, path};
    for (size_t i = 0; i < ARRAY_COUNT(paths); i++)
        assert_int_equal(unlink(paths[i]), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_too_large(void **state) {
    (void)state;
    char path[] = "/tmp/kaas-config-XXXXXX";
    _cleanup_config_report_ struct config_report report;
    struct config c = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, CONFIG_FILE_BYTES_MAX + 1), 0);
    close(fd);
    config_report_init(&report);
    assert_int_equal(config_load(path, &c, &report, NULL), ERR_TOO_LARGE);
    assert_int_equal(unlink(path), 0);
}

static void test_print(void **state) {
    (void)state;
    _cleanup_config_ struct config c = {0}, other = {0};
    _cleanup_strbuf_ struct strbuf out;
    assert_fine("server:\n  listen: '*:443'\n  trusted_proxies: [unix]\nlog: {level: debug}\n", &c);
    strbuf_init(&out, 100000);
    config_print(&c, &out);
    assert_non_null(strstr(out.data, "server.listen = \"*:443\"  # line 2\n"));
    assert_non_null(strstr(out.data, "server.trusted_proxies = [\"unix\"]  # line 3\n"));
    assert_non_null(strstr(out.data, "auth.session_lifetime = 8h  # default\n"));
    assert_non_null(strstr(out.data, "log.level = debug  # line 4\n"));
    assert_fine("", &other);
    strbuf_reset(&out);
    config_print_unreloadable(&other, &c, &out);
    assert_string_equal(out.data, "server.listen, server.trusted_proxies");
}

/* The page names every option, and every default is one that the parser takes. */
static void test_reference(void **state) {
    (void)state;
    _cleanup_strbuf_ struct strbuf page;
    strbuf_init(&page, 1000000);
    config_write_reference(&page);
    assert_int_equal(page.failed, 0);
    for (size_t i = 0; i < option_table_daemon.count; i++) {
        _cleanup_free_ char *heading = str_format("\n### `%s`\n", option_table_daemon.rows[i].key);
        assert_non_null(strstr(page.data, heading));
    }
    assert_non_null(strstr(page.data, "Takes a duration from 1m to 1h. Default: `15m`.\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),     cmocka_unit_test(test_empty_files),      cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown_keys), cmocka_unit_test(test_wrong_types),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_syntax),       cmocka_unit_test(test_refused_features), cmocka_unit_test(test_checks),
        cmocka_unit_test(test_together),     cmocka_unit_test(test_several_errors),   cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_files),        cmocka_unit_test(test_too_large),        cmocka_unit_test(test_print),
        cmocka_unit_test(test_reference),    cmocka_unit_test(test_key_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
