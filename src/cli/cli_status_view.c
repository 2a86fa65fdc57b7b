/* The status of a vCenter, laid out for people. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_status_view.h"

#include "cli_show.h"
#include "cli_table.h"
#include "str.h"

static const char *or_unknown(const char *text) {
    return text ? text : "unknown";
}

static void add_product(struct table *t, const json_t *product) {
    const char *name = json_get_string(product, "full_name");
    table_add(t, "Product");
    if (!name && !json_get_string(product, "version"))
        table_add(t, "unknown");
    else if (name)
        table_addf(t, "%s, API %s", name, or_unknown(json_get_string(product, "api_version")));
    else
        table_addf(t, "version %s, build %s, API %s", or_unknown(json_get_string(product, "version")),
                   or_unknown(json_get_string(product, "build")), or_unknown(json_get_string(product, "api_version")));
}

/* How the record is kept as it should be: by itself, unless something is in the way. */
static void add_reconciliation(struct table *t, const json_t *extension) {
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

static void add_extension(struct table *t, const json_t *extension) {
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
    table_addf(t, "%s%s%s: %s", or_unknown(json_get_string(extension, "key")), version ? " version " : "", version ? version : "",
               or_unknown(record));
    if (json_array_size(json_object_get(extension, "differences"))) {
        table_add(t, "  differs in");
        show_words(t, json_object_get(extension, "differences"));
    }
    if (json_get_string(extension, "reconciled_at"))
        add_reconciliation(t, extension);
}

/* Before the registration a way that works is one that will be taken. */
static const char *strategy_in_use(const json_t *status) {
    const char *strategy = json_get_string(json_object_get(status, "login"), "strategy");
    if (str_eq(json_get_string(status, "state"), "not_registered"))
        return "not registered";
    return strategy ? strategy : "none works";
}

static void add_login(struct table *t, const json_t *status) {
    const json_t *login = json_object_get(status, "login"), *certificate = json_object_get(login, "certificate"), *attempt;
    size_t i;
    table_add(t, "Login");
    table_addf(t, "%s%s", strategy_in_use(status),
               str_eq(json_get_string(login, "strategy"), "account") ? " (works, less safe)" : "");
    if (json_get_string(login, "account")) {
        table_add(t, "  account");
        table_add(t, json_get_string(login, "account"));
    }
    json_array_foreach (json_object_get(login, "strategies"), i, attempt) {
        const char *reason = json_get_string(attempt, "reason");
        bool works = json_get_bool(attempt, "works", false);
        table_addf(t, "  %s", or_unknown(json_get_string(attempt, "name")));
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
static void add_shown_certificate(struct table *t, const json_t *certificate) {
    if (!json_is_object(certificate))
        return;
    table_add(t, "vCenter shows");
    table_add(t, json_get_string(certificate, "subject"));
    table_add(t, "  SHA-256");
    table_addf(t, "%s%s", or_unknown(json_get_string(certificate, "sha256")),
               json_get_bool(certificate, "trusted", false) ? ", trusted" : ", NOT trusted");
    table_add(t, "  valid until");
    show_time(t, json_object_get(certificate, "not_after"));
}

static void add_privileges(struct table *t, const json_t *status) {
    const json_t *missing = json_object_get(status, "missing_privileges");
    bool is_known = str_eq(json_get_string(status, "state"), "connected");
    table_add(t, "Privileges");
    if (json_array_size(missing))
        show_words(t, missing);
    else
        table_add(t, is_known ? "none is missing" : "not known");
}

static void add_hx(struct table *t, const json_t *list) {
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
        table_addf(t, "  %s", or_unknown(json_get_string(hx, "name")));
        table_addf(t, "%s/%s (%s)%s", datacenter ? datacenter : "?", name ? name : "?",
                   or_unknown(json_get_string(show_member(hx, "vsphere_cluster"), "moref")),
                   json_get_bool(hx, "present", true) ? "" : ", gone");
    }
}

static void add_watch(struct table *t, const json_t *watch) {
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

static void add_problem(struct strbuf *out, const char *text) {
    strbuf_addf(out, "%s%s", out->len ? "; " : "", text);
}

/* Of a registration that is there; what stands in the way of the login is the state's reason. */
static void add_record_problems(const json_t *extension, struct strbuf *out) {
    const char *record = json_get_string(extension, "record"), *problem = json_get_string(extension, "problem");
    if (str_eq(record, "outdated"))
        add_problem(out, "the extension record differs");
    if (str_eq(record, "foreign"))
        add_problem(out, "the extension record is another installation's");
    if (str_eq(record, "missing"))
        add_problem(out, "there is no extension record");
    if (problem)
        add_problem(out, problem);
}

void status_view_problems(const json_t *status, struct strbuf *out) {
    const char *state = json_get_string(status, "state"), *reason = json_get_string(status, "state_reason");
    const char *unwatched = json_get_string(json_object_get(status, "watch"), "reason");
    const json_t *missing = json_object_get(status, "missing_privileges"), *item;
    size_t i;
    if (!str_eq(state, "connected")) {
        add_problem(out, reason ? reason : or_unknown(state));
        return;
    }
    add_record_problems(json_object_get(status, "extension"), out);
    if (!json_get_bool(json_object_get(status, "vcenter_certificate"), "trusted", true))
        add_problem(out, "the certificate that it shows is not trusted");
    json_array_foreach ((json_t *)(uintptr_t)missing, i, item)
        strbuf_addf(out, "%s%s",
                    i          ? ", "
                    : out->len ? "; privileges missing: "
                               : "privileges missing: ",
                    json_string_value(item));
    if (unwatched)
        add_problem(out, unwatched);
}

int status_view_write(struct cli *cli, const json_t *status, struct err *err) {
    const char *reason = json_get_string(status, "state_reason");
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 2);
    show_line(cli, "%s (%s): %s", or_unknown(json_get_string(status, "name")), or_unknown(json_get_string(status, "address")),
              or_unknown(json_get_string(status, "state")));
    if (reason) {
        table_add(&t, "Reason");
        table_add(&t, reason);
    }
    add_product(&t, json_object_get(status, "product"));
    add_extension(&t, json_object_get(status, "extension"));
    add_login(&t, status);
    add_shown_certificate(&t, json_object_get(status, "vcenter_certificate"));
    add_privileges(&t, status);
    add_hx(&t, json_object_get(status, "hx_clusters"));
    add_watch(&t, json_object_get(status, "watch"));
    table_add(&t, "Checked");
    show_time(&t, json_object_get(status, "checked_at"));
    return table_write(&t, &cli->out, err);
}
