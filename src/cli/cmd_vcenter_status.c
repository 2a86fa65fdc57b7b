/* kaasctl vcenter status. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_commands.h"
#include "cli_find.h"
#include "cli_show.h"
#include "cli_status_view.h"
#include "str.h"

static int get_status(struct cli *cli, const json_t *vcenter, json_t **out, struct err *err) {
    _cleanup_free_ char *path = cli_path_of("vcenters", vcenter, "status");
    return path ? cli_client_get(cli->client, path, out, err) : err_set(err, ERR_NOMEM, "out of memory");
}

static int show_one(struct cli *cli, const char *ref, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *status = NULL;
    int rc = cli_find_vcenter(cli, ref, &vcenter, err);
    if (!rc)
        rc = get_status(cli, vcenter, &status, err);
    if (rc)
        return rc;
    return cli->is_json ? show_json(cli, status, err) : status_view_write(cli, status, err);
}

static int show_all(struct cli *cli, const json_t *all, struct err *err) {
    const json_t *status;
    size_t i;
    int rc = 0;
    if (cli->is_json)
        return show_json(cli, all, err);
    if (!json_array_size(all))
        show_line(cli, "there is no vCenter yet; add one with: kaasctl vcenter add ADDRESS");
    json_array_foreach ((json_t *)(uintptr_t)all, i, status) {
        if (i)
            strbuf_addc(&cli->out, '\n');
        rc = rc ? rc : status_view_write(cli, status, err);
    }
    return rc;
}

int cmd_vcenter_status(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL, *all = json_array();
    json_t *vcenter;
    size_t i;
    int rc;
    if (cli_word(cli, 0))
        return show_one(cli, cli_word(cli, 0), err);
    rc = cli_list_vcenters(cli, &vcenters, err);
    json_array_foreach (vcenters, i, vcenter) {
        json_t *status = NULL;
        rc = rc ? rc : get_status(cli, vcenter, &status, err);
        if (status)
            (void)json_array_append_new(all, status);
    }
    return rc ? rc : show_all(cli, all, err);
}
