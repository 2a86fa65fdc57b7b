/* kaasctl config check. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_show.h"
#include "setup_check.h"

int cmd_config_check(struct cli *cli, struct err *err) {
    _cleanup_strbuf_ struct strbuf told = {0};
    struct setup_user user;
    int rc = setup_find_user(opt_get(&cli->given, "service-user"), &user, err);
    if (rc) {
        cli->status = CLI_USAGE;
        return rc;
    }
    rc = cli_load_config(cli, err);
    if (rc)
        return rc;
    strbuf_init(&told, CONFIG_REPORT_BYTES_MAX);
    rc = setup_check_as(&user, cli_config_path(cli), &told, err);
    if (told.len)
        cli_note("%s", told.data);
    cli->is_quiet_error = rc && told.len;
    if (!rc)
        show_line(cli, "%s: the configuration is valid (checked as user %s)", cli_config_path(cli), user.name);
    return rc;
}
