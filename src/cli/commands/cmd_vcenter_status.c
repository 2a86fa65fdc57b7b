/* kaasctl vcenter status: how things stand at the vCenters, laid out for people. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "cli_table.h"
#include "str.h"

#define PROBLEMS_BYTES_MAX 16384U

/* -- one status ------------------------------------------------------------------------------------------------------------------- */

static const char *cmd_status_or_unknown(const char *text) {
    return text ? text : "unknown";
}

static void cmd_status_add_product(struct table *t, const json_t *product) {
    const char *name = json_get_string(product, "full_name");
    table_add(t, "Product");
    if (!name && !json_get_string(product, "version"))
        table_add(t, "unknown");
    else if (name)
        table_addf(t, "%s, API %s", name, cmd_status_or_unknown(json_get_string(product, "api_version")));
    else
        table_addf(t, "version %s, build %s, API %s", cmd_status_or_unknown(json_get_string(product, "version")),
                   cmd_status_or_unknown(json_get_string(product, "build")),
                   cmd_status_or_unknown(json_get_string(product, "api_version")));
}

/* How the record is kept as it should be: by itself, unless something is in the way. */
static void cmd_status_add_reconciliation(struct table *t, const json_t *extension) {
    const char *repaired = json_get_string(extension, "repaired"), *problem = json_get_string(extension, "problem");
    const json_t *limit;
    size_t i;
    table_add(t, "  compared");
    show_time(t, json_object_get(extension, "reconciled_at"));
    if (repaired) {
        table_add(t, "  repaired");
        show_time(t, json_object_get(extension, "repaired_at"));
        table_add(t, "  what");
        table_add(t, repaired);
    }
    if (problem) {
        table_add(t, "  problem");
        table_add(t, problem);
    }
    json_array_foreach (json_object_get(extension, "limits"), i, limit) {
        table_add(t, i ? "" : "  limits");
        table_add(t, json_string_value(limit));
    }
}

static void cmd_status_add_extension(struct table *t, const json_t *extension) {
    static const struct {
        const char *record, *text;
    } texts[] = {
        {"ours", "ours, as it should be"},
        {"outdated", "ours, but it differs"},
        {"foreign", "written by another installation"},
        {"missing", "not registered"},
        {"unknown", "not known, since kaasd cannot sign in"},
    };
    const char *record = json_get_string(extension, "record"), *version = json_get_string(extension, "version");
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        if (str_eq(record, texts[i].record))
            record = texts[i].text;
    table_add(t, "Extension");
    table_addf(t, "%s%s%s: %s", cmd_status_or_unknown(json_get_string(extension, "key")), version ? " version " : "",
               version ? version : "", cmd_status_or_unknown(record));
    if (json_array_size(json_object_get(extension, "differences"))) {
        table_add(t, "  differs in");
        show_words(t, json_object_get(extension, "differences"));
    }
    if (json_get_string(extension, "reconciled_at"))
        cmd_status_add_reconciliation(t, extension);
}

/* Before the registration a way that works is one that will be taken. */
static const char *cmd_status_strategy_in_use(const json_t *status) {
    const char *strategy = json_get_string(json_object_get(status, "login"), "strategy");
    if (str_eq(json_get_string(status, "state"), "not_registered"))
        return "not registered";
    return strategy ? strategy : "none works";
}

static void cmd_status_add_login(struct table *t, const json_t *status) {
    const json_t *login = json_object_get(status, "login"), *certificate = json_object_get(login, "certificate"), *attempt;
    size_t i;
    table_add(t, "Login");
    table_addf(t, "%s%s", cmd_status_strategy_in_use(status),
               str_eq(json_get_string(login, "strategy"), "account") ? " (works, less safe)" : "");
    if (json_get_string(login, "account")) {
        table_add(t, "  account");
        table_add(t, json_get_string(login, "account"));
    }
    json_array_foreach (json_object_get(login, "strategies"), i, attempt) {
        const char *reason = json_get_string(attempt, "reason");
        bool works = json_get_bool(attempt, "works", false);
        table_addf(t, "  %s", cmd_status_or_unknown(json_get_string(attempt, "name")));
        table_addf(t, "%s%s%s", works ? "works" : "does not work", reason ? ": " : "", reason ? reason : "");
    }
    if (!json_is_object(certificate))
        return;
    table_add(t, "Certificate");
    table_add(t, json_get_string(certificate, "subject"));
    table_add(t, "  SHA-256");
    table_add(t, json_get_string(certificate, "sha256"));
    table_add(t, "  valid until");
    show_time(t, json_object_get(certificate, "not_after"));
}

/* The vCenter's own certificate. */
static void cmd_status_add_shown_certificate(struct table *t, const json_t *certificate) {
    if (!json_is_object(certificate))
        return;
    table_add(t, "vCenter shows");
    table_add(t, json_get_string(certificate, "subject"));
    table_add(t, "  SHA-256");
    table_addf(t, "%s%s", cmd_status_or_unknown(json_get_string(certificate, "sha256")),
               json_get_bool(certificate, "trusted", false) ? ", trusted" : ", NOT trusted");
    table_add(t, "  valid until");
    show_time(t, json_object_get(certificate, "not_after"));
}

static void cmd_status_add_privileges(struct table *t, const json_t *status) {
    const json_t *missing = json_object_get(status, "missing_privileges");
    bool is_known = str_eq(json_get_string(status, "state"), "connected");
    table_add(t, "Privileges");
    if (json_array_size(missing))
        show_words(t, missing);
    else
        table_add(t, is_known ? "none is missing" : "not known");
}

static void cmd_status_add_hx(struct table *t, const json_t *list) {
    const json_t *hx;
    size_t i;
    table_add(t, "HX clusters");
    if (json_array_size(list))
        table_addf(t, "%zu", json_array_size(list));
    else
        table_add(t, "none");
    json_array_foreach (list, i, hx) {
        const char *name = json_get_string(show_member(hx, "vsphere_cluster"), "name");
        const char *datacenter = json_get_string(show_member(hx, "vsphere_cluster"), "datacenter");
        table_addf(t, "  %s", cmd_status_or_unknown(json_get_string(hx, "name")));
        table_addf(t, "%s/%s (%s)%s", datacenter ? datacenter : "?", name ? name : "?",
                   cmd_status_or_unknown(json_get_string(show_member(hx, "vsphere_cluster"), "moref")),
                   json_get_bool(hx, "present", true) ? "" : ", gone");
    }
}

static void cmd_status_add_watch(struct table *t, const json_t *watch) {
    const char *reason = json_get_string(watch, "reason");
    table_add(t, "Watched since");
    if (json_get_string(watch, "since"))
        show_time(t, json_object_get(watch, "since"));
    else
        table_add(t, "not watched");
    if (reason) {
        table_add(t, "  problem");
        table_add(t, reason);
    }
    table_add(t, "  last news");
    show_time(t, json_object_get(watch, "updated_at"));
    table_add(t, "  objects");
    table_addf(t, "%lld, %lld of them nodes of clusters", (long long)json_get_int(watch, "objects", 0),
               (long long)json_get_int(watch, "nodes", 0));
    table_add(t, "  saved by");
    table_add(t, json_get_bool(watch, "saving", false) ? "this replica" : "another replica, or nobody yet");
}

static void cmd_status_add_problem(struct strbuf *out, const char *text) {
    strbuf_addf(out, "%s%s", out->len ? "; " : "", text);
}

/* Of a registration that is there; what stands in the way of the login is the state's reason. */
static void cmd_status_add_record_problems(const json_t *extension, struct strbuf *out) {
    const char *record = json_get_string(extension, "record"), *problem = json_get_string(extension, "problem");
    if (str_eq(record, "outdated"))
        cmd_status_add_problem(out, "the extension record differs");
    if (str_eq(record, "foreign"))
        cmd_status_add_problem(out, "the extension record is another installation's");
    if (str_eq(record, "missing"))
        cmd_status_add_problem(out, "there is no extension record");
    if (problem)
        cmd_status_add_problem(out, problem);
}

/* Appends what of the API's VcenterStatus is not as it should be, in one line; nothing if all is. */
static void cmd_status_problems(const json_t *status, struct strbuf *out) {
    const char *state = json_get_string(status, "state"), *reason = json_get_string(status, "state_reason");
    const char *unwatched = json_get_string(json_object_get(status, "watch"), "reason");
    const json_t *missing = json_object_get(status, "missing_privileges"), *item;
    size_t i;
    if (!str_eq(state, "connected")) {
        cmd_status_add_problem(out, reason ? reason : cmd_status_or_unknown(state));
        return;
    }
    cmd_status_add_record_problems(json_object_get(status, "extension"), out);
    if (!json_get_bool(json_object_get(status, "vcenter_certificate"), "trusted", true))
        cmd_status_add_problem(out, "the certificate that it shows is not trusted");
    json_array_foreach ((json_t *)(uintptr_t)missing, i, item)
        strbuf_addf(out, "%s%s",
                    i          ? ", "
                    : out->len ? "; privileges missing: "
                               : "privileges missing: ",
                    json_string_value(item));
    if (unwatched)
        cmd_status_add_problem(out, unwatched);
}

int cmd_vcenter_show_status(struct cli *cli, const json_t *status, struct err *err) {
    const char *reason = json_get_string(status, "state_reason");
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 2);
    show_line(cli, "%s (%s): %s", cmd_status_or_unknown(json_get_string(status, "name")),
              cmd_status_or_unknown(json_get_string(status, "address")), cmd_status_or_unknown(json_get_string(status, "state")));
    if (reason) {
        table_add(&t, "Reason");
        table_add(&t, reason);
    }
    cmd_status_add_product(&t, json_object_get(status, "product"));
    cmd_status_add_extension(&t, json_object_get(status, "extension"));
    cmd_status_add_login(&t, status);
    cmd_status_add_shown_certificate(&t, json_object_get(status, "vcenter_certificate"));
    cmd_status_add_privileges(&t, status);
    cmd_status_add_hx(&t, json_object_get(status, "hx_clusters"));
    cmd_status_add_watch(&t, json_object_get(status, "watch"));
    table_add(&t, "Checked");
    show_time(&t, json_object_get(status, "checked_at"));
    return table_write(&t, &cli->out, err);
}

/* -- the command ------------------------------------------------------------------------------------------------------------------- */

static int cmd_status_get_status(struct cli *cli, const json_t *vcenter, json_t **out, struct err *err) {
    _cleanup_free_ char *path = cli_path_of("vcenters", vcenter, "status");
    return path ? cli_client_get(cli->client, path, out, err) : err_set(err, ERR_NOMEM, "out of memory");
}

static void cmd_status_show_problems(struct table *t, const json_t *status) {
    _cleanup_strbuf_ struct strbuf problems;
    strbuf_init(&problems, PROBLEMS_BYTES_MAX);
    cmd_status_problems(status, &problems);
    table_add(t, problems.len ? problems.data : NULL);
}

static int cmd_status_show_short(struct cli *cli, const json_t *all, struct err *err) {
    static const struct cli_column columns[] = {
        {"NAME", "name", show_text},
        {"STATE", "state", show_text},
        {"VERSION", "product.version", show_text},
        {"RECORD", "extension.record", show_text},
        {"LOGIN", "login.strategy", show_text},
        {"PROBLEM", NULL, cmd_status_show_problems},
        {NULL, NULL, NULL},
    };
    return show_list(cli, all, columns, err);
}

static int cmd_status_show_all(struct cli *cli, const json_t *all, struct err *err) {
    const json_t *status;
    size_t i;
    int rc = 0;
    if (cli->is_json)
        return show_json(cli, cli_word(cli, 0) ? json_array_get(all, 0) : all, err);
    if (!json_array_size(all))
        show_line(cli, "there is no vCenter yet; add one with: kaasctl vcenter add ADDRESS");
    else if (opt_get(&cli->given, "short"))
        return cmd_status_show_short(cli, all, err);
    json_array_foreach ((json_t *)(uintptr_t)all, i, status) {
        if (i)
            strbuf_addc(&cli->out, '\n');
        rc = rc ? rc : cmd_vcenter_show_status(cli, status, err);
    }
    return rc;
}

static bool cmd_status_is_well(const json_t *all) {
    _cleanup_strbuf_ struct strbuf problems;
    const json_t *status;
    size_t i;
    strbuf_init(&problems, PROBLEMS_BYTES_MAX);
    json_array_foreach ((json_t *)(uintptr_t)all, i, status)
        cmd_status_problems(status, &problems);
    return !problems.len && !problems.failed;
}

static int cmd_status_list_vcenters(struct cli *cli, json_t **out, struct err *err) {
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
    int rc = cmd_status_list_vcenters(cli, &vcenters, err);
    if (rc)
        return rc;
    json_array_foreach (vcenters, i, vcenter) {
        json_t *status = NULL;
        rc = cmd_status_get_status(cli, vcenter, &status, err);
        if (rc)
            return rc;
        (void)json_array_append_new(all, status);
    }
    rc = cmd_status_show_all(cli, all, err);
    if (!rc && !cmd_status_is_well(all))
        cli->status = CLI_FAILED;
    return rc;
}
