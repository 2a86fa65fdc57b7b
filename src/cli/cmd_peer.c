/* kaasctl peer: controllers of HX clusters that kaasd signs in to. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "cli_table.h"
#include "fsutil.h"
#include "str.h"

#define CA_BYTES_MAX (64U * 1024U)

/* The path of the peer of the HX cluster that the first word names; `verb` is "peer" or "peer/test". */
static int find_path(struct cli *cli, const char *verb, char **path, struct err *err) {
    _cleanup_json_ json_t *hx = NULL;
    int rc = cli_find(cli, &cli_hx_clusters, cli_word(cli, 0), &hx, err);
    if (rc)
        return rc;
    *path = cli_path_of("hx-clusters", hx, verb);
    return *path ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- setting --------------------------------------------------------------------------------------------------------------- */

/* The text of a file here, so that it need not lie on each replica. */
static int put_ca(const struct cli *cli, json_t *body, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    const char *file = opt_get(&cli->given, "ca");
    int rc;
    strbuf_init(&text, CA_BYTES_MAX);
    rc = file ? fs_read(file, &text, err) : 0;
    if (!rc && file)
        json_put_string(body, "ca_pem", text.data);
    return rc;
}

/* What stands there goes on, but for what is given; "" takes a member away. One trust replaces the other. */
static void keep(const json_t *known, json_t *body, const char *member) {
    json_t *value = known ? json_object_get(known, member) : NULL;
    if (!json_object_get(body, member) && value && !json_is_null(value))
        (void)json_object_set(body, member, value);
}

static void put_text(const struct cli *cli, json_t *body, const char *option, const char *member) {
    const char *value = opt_get(&cli->given, option);
    if (value)
        (void)json_object_set_new(body, member, *value ? json_string(value) : json_null());
}

static int make_body(struct cli *cli, const json_t *known, json_t *body, struct err *err) {
    int rc = put_ca(cli, body, err);
    put_text(cli, body, "url", "url");
    put_text(cli, body, "spn", "spn");
    put_text(cli, body, "principal", "principal");
    put_text(cli, body, "sha256", "thumbprint_sha256");
    if (rc)
        return rc;
    if (!json_object_size(body))
        return cli_usage(cli, err, "nothing to set: see kaasctl peer set --help");
    keep(known, body, "url");
    keep(known, body, "principal");
    if (!opt_get(&cli->given, "url"))
        keep(known, body, "spn");
    if (!json_object_get(body, "ca_pem") && !json_object_get(body, "thumbprint_sha256")) {
        keep(known, body, "ca_pem");
        keep(known, body, "thumbprint_sha256");
    }
    if (!json_object_get(body, "url"))
        return cli_usage(cli, err, "there is no peer yet: a new one needs --url, and --ca or --sha256");
    return 0;
}

int cmd_peer_set(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *known = NULL, *body = json_object(), *answer = NULL;
    _cleanup_free_ char *path = NULL;
    struct err why = {0};
    int rc = find_path(cli, "peer", &path, err);
    if (rc)
        return rc;
    rc = cli_client_get(cli->client, path, &known, &why);
    if (rc && rc != ERR_NOT_FOUND) {
        *err = why;
        return rc;
    }
    rc = make_body(cli, known, body, err);
    if (!rc)
        rc = cli_client_call(cli->client, &(struct cli_request){.method = "PUT", .path = path, .body = body}, &answer, err);
    return rc ? rc : show_object(cli, answer, cli->command->object, err);
}

int cmd_peer_test(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *peer = NULL;
    _cleanup_free_ char *path = NULL;
    int rc = find_path(cli, "peer/test", &path, err);
    if (!rc)
        rc = cli_client_call(cli->client, &(struct cli_request){.method = "POST", .path = path}, &peer, err);
    if (rc)
        return rc;
    if (!str_eq(json_string_value(show_member(peer, "status.state")), "ok"))
        cli->status = CLI_FAILED;
    return show_object(cli, peer, cli->command->object, err);
}
