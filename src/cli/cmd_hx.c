/* kaasctl hx: HX clusters. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "str.h"

static const char *cmd_hx_vcenter_name(const json_t *vcenters, const char *id) {
    json_t *vcenter;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)vcenters, i, vcenter)
        if (str_eq(json_get_string(vcenter, "id"), id))
            return json_get_string(vcenter, "name");
    return id;
}

/* The API tells the id of the vCenter, and people read its name; who may not list vCenters reads the id. */
int cmd_hx_tell_list(struct cli *cli, json_t *answer, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL;
    struct err why = {0};
    json_t *hx;
    size_t i;
    int rc = cli->is_json ? 0 : cli_list_vcenters(cli, &vcenters, &why);
    if (rc && rc != ERR_FORBIDDEN)
        return cli_fail(cli, &why, err);
    json_array_foreach (answer, i, hx)
        if (!cli->is_json)
            json_put_string(hx, "vcenter_name", cmd_hx_vcenter_name(vcenters, json_get_string(hx, "vcenter_id")));
    return show_list(cli, answer, cli->command->list, err);
}
