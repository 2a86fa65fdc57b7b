/* kaasctl vcenter status: how things stand at the vCenters, laid out for people. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"
#include "str.h"

#define PROBLEMS_BYTES_MAX 16384U

/* -- one status ------------------------------------------------------------------------------------------------------------------- */

/* A text of an object, or "unknown". */
static const char *cmd_status_text(const json_t *object, const char *path) {
    const char *text = json_string_value(show_member(object, path));
    return text ? text : "unknown";
}

/* A line, if there is a text. */
static void cmd_status_add_if(struct table *t, const char *title, const char *text) {
    if (text)
        table_pair(t, title, text);
}

static void cmd_status_add_time(struct table *t, const char *title, const json_t *object, const char *member) {
    table_add(t, title);
    show_time(t, json_object_get(object, member));
}

static void cmd_status_add_verdict(struct table *t, const char *title, const json_t *verdict) {
    table_add(t, title);
    table_add(t, cmd_status_text(verdict, "verdict"));
    show_time(t, json_object_get(verdict, "since"));
}

static void cmd_status_add_objects(struct table *t, const json_t *objects) {
    const json_t *object;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)objects, i, object) {
        const json_t *authorised = json_object_get(object, "authorised"),
                     *missing = json_object_get(object, "missing_privileges");
        const char *path = cmd_status_text(object, "path");
        table_addf(t, "  %s", str_eq(path, "/") ? "/ (root folder)" : path);
        table_add(t, cmd_status_text(authorised, "verdict"));
        show_time(t, json_object_get(authorised, "since"));
        if (json_array_size(missing))
            show_words(t, missing);
        else
            table_add(t, json_get_string(authorised, "fault"));
    }
}

/* What is judged, what of it is bad, and below authorised each object. */
static int cmd_status_write_verdicts(struct cli *cli, const json_t *verdicts, struct err *err) {
    static const char *const kinds[] = {"reachable", "valid", "authorised"};
    _cleanup_table_ struct table t;
    table_init(&t, 4, 2);
    table_add(&t, "VERDICT");
    table_add(&t, "");
    table_add(&t, "SINCE");
    table_add(&t, "FAULT");
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        const json_t *verdict = json_object_get(verdicts, kinds[i]);
        cmd_status_add_verdict(&t, kinds[i], verdict);
        table_add(&t, json_get_string(verdict, "fault"));
    }
    cmd_status_add_objects(&t, json_object_get(verdicts, "objects"));
    return table_write(&t, &cli->out, err);
}

/* Those that are bad, in words. False if none is. */
static bool cmd_status_add_bad(struct table *t, const json_t *verdicts) {
    static const char *const kinds[] = {"reachable", "valid", "authorised"};
    bool is_bad = false;
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        const json_t *verdict = json_object_get(verdicts, kinds[i]);
        const char *remedy = json_get_string(verdict, "remedy");
        if (!json_get_string(verdict, "fault"))
            continue;
        table_addf(t, "Not %s", kinds[i]);
        table_add(t, cmd_status_text(verdict, "reason"));
        if (remedy)
            table_pair(t, "  remedy", remedy);
        is_bad = true;
    }
    return is_bad;
}

static void cmd_status_add_product(struct table *t, const json_t *product) {
    const char *name = json_get_string(product, "full_name");
    table_add(t, "Product");
    if (!name && !json_get_string(product, "version"))
        table_add(t, "unknown");
    else if (name)
        table_addf(t, "%s, API %s", name, cmd_status_text(product, "api_version"));
    else
        table_addf(t, "version %s, build %s, API %s", cmd_status_text(product, "version"), cmd_status_text(product, "build"),
                   cmd_status_text(product, "api_version"));
}

/* How the record is kept as it should be: by itself, unless something is in the way. */
static void cmd_status_add_reconciliation(struct table *t, const json_t *extension) {
    const char *repaired = json_get_string(extension, "repaired"), *problem = json_get_string(extension, "problem");
    const json_t *limit;
    size_t i;
    cmd_status_add_time(t, "  compared", extension, "reconciled_at");
    if (repaired) {
        cmd_status_add_time(t, "  repaired", extension, "repaired_at");
        table_pair(t, "  what", repaired);
    }
    cmd_status_add_if(t, "  problem", problem);
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
    table_addf(t, "%s%s%s: %s", cmd_status_text(extension, "key"), version ? " version " : "", version ? version : "",
               record ? record : "unknown");
    if (json_array_size(json_object_get(extension, "differences"))) {
        table_add(t, "  differs in");
        show_words(t, json_object_get(extension, "differences"));
    }
    if (json_get_string(extension, "reconciled_at"))
        cmd_status_add_reconciliation(t, extension);
}

void cmd_vcenter_add_ways(struct table *t, const char *indent, const json_t *ways) {
    const json_t *way;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)ways, i, way) {
        const char *reason = json_get_string(way, "reason");
        table_addf(t, "%s%s", indent, cmd_status_text(way, "name"));
        table_addf(t, "%s%s%s", json_get_bool(way, "works", false) ? "works" : "does not work", reason ? ": " : "",
                   reason ? reason : "");
    }
}

/* Before the registration a way that works is one that will be taken. */
static void cmd_status_add_login(struct table *t, const json_t *status) {
    const json_t *login = json_object_get(status, "login"), *certificate = json_object_get(login, "certificate");
    const char *strategy = json_get_string(login, "strategy"), *in_use = strategy ? strategy : "none works";
    if (str_eq(json_get_string(status, "state"), "not_registered"))
        in_use = "not registered";
    table_add(t, "Login");
    table_addf(t, "%s%s", in_use, str_eq(strategy, "account") ? " (works, less safe)" : "");
    cmd_status_add_if(t, "  account", json_get_string(login, "account"));
    cmd_vcenter_add_ways(t, "  ", json_object_get(login, "strategies"));
    if (!json_is_object(certificate))
        return;
    table_pair(t, "Certificate", json_get_string(certificate, "subject"));
    table_pair(t, "  SHA-256", json_get_string(certificate, "sha256"));
    cmd_status_add_time(t, "  valid until", certificate, "not_after");
}

/* The vCenter's own certificate. */
static void cmd_status_add_shown_certificate(struct table *t, const json_t *certificate) {
    if (!json_is_object(certificate))
        return;
    table_pair(t, "vCenter shows", json_get_string(certificate, "subject"));
    table_add(t, "  SHA-256");
    table_addf(t, "%s%s", cmd_status_text(certificate, "sha256"),
               json_get_bool(certificate, "trusted", false) ? ", trusted" : ", NOT trusted");
    cmd_status_add_time(t, "  valid until", certificate, "not_after");
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
        const char *name = json_string_value(show_member(hx, "vsphere_cluster.name"));
        const char *datacenter = json_string_value(show_member(hx, "vsphere_cluster.datacenter"));
        table_addf(t, "  %s", cmd_status_text(hx, "name"));
        table_addf(t, "%s/%s (%s)%s", datacenter ? datacenter : "?", name ? name : "?",
                   cmd_status_text(hx, "vsphere_cluster.moref"), json_get_bool(hx, "present", true) ? "" : ", gone");
    }
}

static void cmd_status_add_watch(struct table *t, const json_t *watch) {
    const char *reason = json_get_string(watch, "reason");
    table_add(t, "Watched since");
    if (json_get_string(watch, "since"))
        show_time(t, json_object_get(watch, "since"));
    else
        table_add(t, "not watched");
    cmd_status_add_if(t, "  problem", reason);
    cmd_status_add_time(t, "  last news", watch, "updated_at");
    table_add(t, "  objects");
    table_addf(t, "%lld, %lld of them nodes of clusters", (long long)json_get_int(watch, "objects", 0),
               (long long)json_get_int(watch, "nodes", 0));
    table_pair(t, "  saved by", json_get_bool(watch, "saving", false) ? "this replica" : "another replica, or nobody yet");
}

static void cmd_status_add_problem(struct strbuf *out, const char *text) {
    strbuf_addf(out, "%s%s", out->len ? "; " : "", text);
}

/* Appends what of the API's VcenterStatus is not as it should be, in one line; nothing if all is. */
static void cmd_status_problems(const json_t *status, struct strbuf *out) {
    static const char *const records[][2] = {{"outdated", "the extension record differs"},
                                             {"foreign", "the extension record is another installation's"},
                                             {"missing", "there is no extension record"}};
    const json_t *extension = json_object_get(status, "extension");
    const char *record = json_get_string(extension, "record"), *problem = json_get_string(extension, "problem");
    const char *state = json_get_string(status, "state"), *reason = json_get_string(status, "state_reason");
    const char *unwatched = json_get_string(json_object_get(status, "watch"), "reason");
    const json_t *verdicts = json_object_get(status, "verdicts"), *verdict;
    const char *kind;
    size_t i;
    if (!str_eq(state, "connected")) {
        cmd_status_add_problem(out, reason ? reason : cmd_status_text(status, "state"));
        return;
    }
    for (i = 0; i < ARRAY_COUNT(records); i++)
        if (str_eq(record, records[i][0]))
            cmd_status_add_problem(out, records[i][1]);
    if (problem)
        cmd_status_add_problem(out, problem);
    if (!json_get_bool(json_object_get(status, "vcenter_certificate"), "trusted", true))
        cmd_status_add_problem(out, "the certificate that it shows is not trusted");
    json_object_foreach ((json_t *)(uintptr_t)verdicts, kind, verdict)
        if (json_get_string(verdict, "fault"))
            cmd_status_add_problem(out, cmd_status_text(verdict, "reason"));
    if (unwatched)
        cmd_status_add_problem(out, unwatched);
}

int cmd_vcenter_show_status(struct cli *cli, const json_t *status, struct err *err) {
    const char *reason = json_get_string(status, "state_reason");
    _cleanup_table_ struct table t;
    int rc;
    table_init(&t, 2, 2);
    show_line(cli, "%s (%s): %s", cmd_status_text(status, "name"), cmd_status_text(status, "address"),
              cmd_status_text(status, "state"));
    rc = cmd_status_write_verdicts(cli, json_object_get(status, "verdicts"), err);
    if (rc)
        return rc;
    if (!cmd_status_add_bad(&t, json_object_get(status, "verdicts")))
        cmd_status_add_if(&t, "Reason", reason);
    cmd_status_add_product(&t, json_object_get(status, "product"));
    cmd_status_add_extension(&t, json_object_get(status, "extension"));
    cmd_status_add_login(&t, status);
    cmd_status_add_shown_certificate(&t, json_object_get(status, "vcenter_certificate"));
    cmd_status_add_privileges(&t, status);
    cmd_status_add_hx(&t, json_object_get(status, "hx_clusters"));
    cmd_status_add_watch(&t, json_object_get(status, "watch"));
    cmd_status_add_time(&t, "Checked", status, "checked_at");
    return table_write(&t, &cli->out, err);
}

/* -- the command ------------------------------------------------------------------------------------------------------------------- */

static void cmd_status_show_problems(struct table *t, const json_t *status) {
    _cleanup_strbuf_ struct strbuf problems;
    strbuf_init(&problems, PROBLEMS_BYTES_MAX);
    cmd_status_problems(status, &problems);
    table_add(t, problems.len ? problems.data : NULL);
}

static int cmd_status_show_all(struct cli *cli, const json_t *all, struct err *err) {
    static const struct cli_column columns[] = {
        {"NAME", "name"},
        {"STATE", "state"},
        {"VERSION", "product.version"},
        {"RECORD", "extension.record"},
        {"LOGIN", "login.strategy"},
        {"PROBLEM", NULL, cmd_status_show_problems},
        {NULL},
    };
    const json_t *status;
    size_t i;
    int rc = 0;
    if (cli->is_json)
        return show_json(cli, cli_word(cli, 0) ? json_array_get(all, 0) : all, err);
    if (!json_array_size(all))
        show_line(cli, "there is no vCenter yet; add one with: kaasctl vcenter add ADDRESS");
    else if (opt_get(&cli->given, "short"))
        return show_list(cli, all, columns, err);
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

int cmd_vcenter_status(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *vcenters = NULL, *all = json_array();
    json_t *vcenter;
    size_t i;
    int rc = cli_word(cli, 0) ? cli_find_object(cli, err) : cli_list(cli, "/v2/vcenters", NULL, NULL, &vcenters, err);
    if (rc)
        return rc;
    if (cli->object)
        vcenters = json_pack("[O]", cli->object);
    json_array_foreach (vcenters, i, vcenter) {
        json_t *status = NULL;
        rc = cli_send(cli, "GET /v2/vcenters/{id}/status", vcenter, NULL, &status, err);
        if (rc)
            return rc;
        (void)json_array_append_new(all, status);
    }
    rc = cmd_status_show_all(cli, all, err);
    if (!rc && !cmd_status_is_well(all))
        cli->status = CLI_FAILED;
    return rc;
}
