/* kaasctl audit: who did what, and whether that is all of it. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli_command.h"

/* -- actions --------------------------------------------------------------------------------------------------------------------- */

int cmd_audit_actions(struct cli *cli, struct err *err) {
    static const struct {
        const char *word, *what;
    } actions[] = {
#define AUDIT_ACTION(word, what) {word, what},
#include "audit_actions.def"
#undef AUDIT_ACTION
    };
    static const struct cli_column columns[] = {{"ACTION", "action"}, {"WHAT", "what"}, {NULL}};
    _cleanup_json_ json_t *items = json_array();
    for (size_t i = 0; i < ARRAY_COUNT(actions); i++) {
        json_t *item = json_object();
        json_put_string(item, "action", actions[i].word);
        json_put_string(item, "what", actions[i].what);
        (void)json_array_append_new(items, item);
    }
    return show_list(cli, items, columns, err);
}

/* -- verify ---------------------------------------------------------------------------------------------------------------------- */

static void cmd_audit_show_head(struct table *t, const json_t *value) {
    char text[20] = "-"; /* enough to compare with what one has noted; all of it with --output json */
    if (json_is_string(value))
        (void)snprintf(text, sizeof(text), "%.16s", json_string_value(value));
    table_add(t, text);
}

static const struct cli_column cmd_audit_verify_columns[] = {
    {"REPLICA", "replica"},
    {"NAME", "name"},
    {"STATE", "state"},
    {"LINES", "lines"},
    {"LAST LINE", "head_line"},
    {"HEAD", "head", cmd_audit_show_head},
    {NULL},
};

/* Counts of the parts of one replica are added up; all else is as the last part says. */
static void cmd_audit_add_part(json_t *items, json_t *part) {
    size_t count = json_array_size(items);
    json_t *before = count ? json_array_get(items, count - 1) : NULL;
    if (!before || json_get_int(before, "replica", -1) != json_get_int(part, "replica", -2)) {
        (void)json_array_append(items, part);
        return;
    }
    json_put_int(part, "lines", json_get_int(part, "lines", 0) + json_get_int(before, "lines", 0));
    (void)json_array_set(items, count - 1, part);
}

static int cmd_audit_read_parts(struct cli *cli, json_t *items, struct err *err) {
    _cleanup_json_ json_t *query = json_object();
    const json_t *next;
    do {
        _cleanup_json_ json_t *page = NULL;
        json_t *part;
        size_t i;
        int rc = cli_send(cli, "GET /v2/audit/verify", NULL, query, &page, err);
        if (rc)
            return rc;
        json_array_foreach (json_object_get(page, "items"), i, part)
            cmd_audit_add_part(items, part);
        next = json_object_get(page, "next_cursor");
        (void)json_object_set(query, "cursor", (json_t *)(uintptr_t)next);
    } while (json_is_string(next));
    return 0;
}

static size_t cmd_audit_tell_faults(struct cli *cli, const json_t *items) {
    size_t i, count = 0;
    json_t *item;
    json_array_foreach (items, i, item) {
        const json_t *fault = json_object_get(item, "fault");
        if (!json_is_object(fault))
            continue;
        count++;
        show_line(cli, "replica %lld: %s", (long long)json_get_int(item, "replica", 0), json_get_string(fault, "text"));
        show_line(cli, "  remedy: %s", json_get_string(fault, "remedy"));
    }
    return count;
}

int cmd_audit_verify(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *items = json_array();
    size_t faults;
    int rc = cmd_audit_read_parts(cli, items, err);
    if (rc)
        return rc;
    rc = show_list(cli, items, cmd_audit_verify_columns, err);
    if (rc)
        return rc;
    faults = cmd_audit_tell_faults(cli, items);
    return faults ? err_set(err, ERR_CONFLICT, "the audit log is not what was written, at %zu of %zu replicas", faults,
                            json_array_size(items))
                  : 0;
}

int cmd_audit_accept(struct cli *cli, struct err *err) {
    int rc = cli_refuse_server(cli, "the replica", err);
    return rc ? rc : cli_run_steps(cli, err);
}
