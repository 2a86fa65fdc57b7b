/* kaasctl config check. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_commands.h"
#include "cli_show.h"

int cmd_config_check(struct cli *cli, struct err *err) {
    _cleanup_config_report_ struct config_report report;
    int rc = cli_load_config(cli, err);
    config_report_init(&report);
    if (rc)
        return rc;
    rc = config_check_files(&cli->config, &report, err);
    if (rc && report.error_count) {
        cli_note("%s", report.text.data);
        cli->is_quiet_error = true;
    }
    if (!rc)
        show_line(cli, "%s: the configuration is valid", cli_config_path(cli));
    return rc;
}
