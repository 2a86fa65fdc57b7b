/* kaasctl vcenter status. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_find.h"
#include "cli_show.h"
#include "cli_status_view.h"
#include "str.h"

#define PROBLEMS_BYTES_MAX 16384U

static int get_status(struct cli *cli, const json_t *vcenter, json_t **out, struct err *err) {
    _cleanup_free_ char *path = cli_path_of("vcenters", vcenter, "status");
    return path ? cli_client_get(cli->client, path, out, err) : err_set(err, ERR_NOMEM, "out of memory");
}

static void show_problems(struct table *t, const json_t *status) {
    _cleanup_strbuf_ struct strbuf problems;
    strbuf_init(&problems, PROBLEMS_BYTES_MAX);
    status_view_problems(status, &problems);
    table_add(t, problems.len ? problems.data : NULL);
}

static int show_short(struct cli *cli, const json_t *all, struct err *err) {
    static const struct cli_column columns[] = {
        {"NAME", "name", show_text},
        {"STATE", "state", show_text},
        {"VERSION", "product.version", show_text},
        {"RECORD", "extension.record", show_text},
        {"LOGIN", "login.strategy", show_text},
        {"PROBLEM", NULL, show_problems},
        {NULL, NULL, NULL},
    };
    return show_list(cli, all, columns, err);
}

static int show_all(struct cli *cli, const json_t *all, struct err *err) {
    const json_t *status;
    size_t i;
    int rc = 0;
    if (cli->is_json)
        return show_json(cli, cli_word(cli, 0) ? json_array_get(all, 0) : all, err);
    if (!json_array_size(all))
        show_line(cli, "there is no vCenter yet; add one with: kaasctl vcenter add ADDRESS");
    else if (opt_get(&cli->given, "short"))
        return show_short(cli, all, err);
    json_array_foreach ((json_t *)(uintptr_t)all, i, status) {
        if (i)
            strbuf_addc(&cli->out, '\n');
        rc = rc ? rc : status_view_write(cli, status, err);
    }
    return rc;
}

static bool is_well(const json_t *all) {
    _cleanup_strbuf_ struct strbuf problems;
    const json_t *status;
    size_t i;
    strbuf_init(&problems, PROBLEMS_BYTES_MAX);
    json_array_foreach ((json_t *)(uintptr_t)all, i, status)
        status_view_problems(status, &problems);
    return !problems.len && !problems.failed;
}

static int list_vcenters(struct cli *cli, json_t **out, struct err *err) {
    json_t *one = NULL;
    int rc;
    if (!cli_word(cli, 0))
        return cli_list_vcenters(cli, out, err);
    rc = cli_find(cli, &cli_vcenters, cli_word(cli, 0), &one, err);
    if (rc)
        return rc;
    *out = json_array();
    (void)json_array_append_new(*out, one);
    return 0;
}

int cmd_vcenter_status(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL, *all = json_array();
    json_t *vcenter;
    size_t i;
    int rc = list_vcenters(cli, &vcenters, err);
    json_array_foreach (vcenters, i, vcenter) {
        json_t *status = NULL;
        rc = rc ? rc : get_status(cli, vcenter, &status, err);
        if (status)
            (void)json_array_append_new(all, status);
    }
    if (!rc)
        rc = show_all(cli, all, err);
    if (!rc && !is_well(all))
        cli->status = CLI_FAILED;
    return rc;
}
