/* kaasctl db: the schema of the database. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_show.h"
#include "db_settings.h"
#include "first_setup.h"
#include "store_schema.h"

static void on_step(void *arg, const char *file) {
    struct cli *cli = arg;
    show_line(cli, "applying %s", file);
}

static int finish(struct cli *cli, unsigned applied, struct err *err) {
    _cleanup_json_ json_t *result = NULL;
    if (cli->is_json) {
        result = json_object();
        json_put_int(result, "applied", applied);
        return show_json(cli, result, err);
    }
    if (applied)
        show_line(cli, "the schema of database %s is up to date now", cli->config.database_name);
    else
        show_line(cli, "the schema of database %s was up to date already", cli->config.database_name);
    return 0;
}

int cmd_db_migrate(struct cli *cli, struct err *err) {
    const char *done = opt_get(&cli->given, "done"), *redo = opt_get(&cli->given, "redo");
    struct setup_migration migration = {
        .resolve_file = done ? done : redo, .resolve_as_done = done, .on_step = on_step, .on_step_arg = cli};
    unsigned applied = 0;
    int rc;
    if (done && redo)
        return cli_usage(cli, err, "give either --done or --redo, not both");
    rc = cli_load_config(cli, err);
    if (!rc)
        rc = setup_migrate(&cli->config, cli_config_path(cli), &migration, &applied, err);
    if (!rc && migration.rights.code)
        cli_note(
            "kaasctl: the account %s keeps rights that it does not need, among them to change audit lines: %s; run once as a "
            "database administrator: kaasctl init",
            cli->config.database_user, migration.rights.text);
    return rc ? rc : finish(cli, applied, err);
}

int cmd_db_status(struct cli *cli, struct err *err) {
    struct store_schema schema = store_schema_builtin();
    _cleanup_(store_free) struct store *store = NULL;
    _cleanup_json_ json_t *result = NULL;
    int rc = cli_load_config(cli, err);
    if (!rc)
        rc = db_settings_open(&cli->config, cli_config_path(cli), DB_ACCOUNT_RUNTIME, &store, err);
    if (!rc)
        rc = store_check_schema(store, schema, err);
    if (rc)
        return rc;
    show_line(cli, "the schema of database %s is up to date (%zu files)", cli->config.database_name, schema.count);
    if (!cli->is_json)
        return 0;
    result = json_object();
    json_put_string(result, "database", cli->config.database_name);
    json_put_bool(result, "up_to_date", true);
    return show_json(cli, result, err);
}
