/* kaasctl cluster: what the options of add, set and list mean, and the list that is watched. Layer 7 (cli). Import is cmd_cluster_import.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <time.h>

#include "backoff.h"
#include "cli_command.h"
#include "clock.h"
#include "str.h"
#include "uuid.h"

#define PATH_BYTES_MAX 8192U
#define WAIT_S "50"
#define RENEW_MS (5LL * 60 * 1000) /* tokens live for a quarter of an hour */

/* -- members to be emptied -------------------------------------------------------------------------------------------------------- */

static int cmd_cluster_clear_label(json_t *body, const char *key, struct err *err) {
    json_t *labels = json_object_get(body, "labels");
    if (!*key)
        return err_set(err, ERR_INVALID, "--clear label: needs a key");
    if (!json_is_object(labels)) {
        labels = json_object();
        (void)json_object_set_new(body, "labels", labels);
    }
    (void)json_object_set_new(labels, key, json_null());
    return 0;
}

static int cmd_cluster_clear_member(const char *word, json_t *body, struct err *err) {
    static const char *const known[] = {"description", "state_reason", "api_endpoint", "dashboard_url", "labels", "nodes"};
    _cleanup_free_ char *member = str_dup(word);
    if (str_starts(word, "label:"))
        return cmd_cluster_clear_label(body, word + 6, err);
    for (char *dash = member; dash && (dash = strchr(dash, '-'));)
        *dash = '_';
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (str_eq(member, known[i])) {
            (void)json_object_set_new(body, known[i], json_null());
            return 0;
        }
    (void)err_set(err, ERR_INVALID, "--clear \"%s\" is not something that can be empty", word);
    return err_remedy(err, "use description, state-reason, api-endpoint, dashboard-url, labels, nodes or label:KEY");
}

/* -- placement -------------------------------------------------------------------------------------------------------------------- */

static json_t *cmd_cluster_make_place(const char *vcenter, const char *path) {
    json_t *place = json_object();
    bool is_path = strchr(path, '/');
    json_put_string(place, is_path ? "vcenter" : "vcenter_id", vcenter);
    json_put_string(place, is_path ? "path" : "moref", path);
    return place;
}

static int cmd_cluster_no_vcenter(const char *text, size_t count, struct err *err) {
    if (!count) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no vCenter yet, so \"%s\" is nowhere", text);
        return err_remedy(err, "run: kaasctl vcenter add ADDRESS");
    }
    (void)err_set(err, ERR_AMBIGUOUS, "on which of the %zu vCenters is \"%s\"?", count, text);
    return err_remedy(err, "give --vsphere-cluster VCENTER:%s, or add --vcenter VCENTER", text);
}

/* "VCENTER:DC/CLUSTER" for the vCenters that there are; without a prefix the only vCenter. */
static int cmd_cluster_place_among(const json_t *vcenters, const char *text, json_t **place, struct err *err) {
    const size_t count = json_array_size(vcenters);
    const json_t *vcenter = NULL;
    const char *path = NULL;
    int rc = cli_split_vcenter(vcenters, text, &vcenter, &path, err);
    if (rc)
        return rc;
    if (!vcenter && count == 1)
        vcenter = json_array_get(vcenters, 0);
    if (!vcenter)
        return cmd_cluster_no_vcenter(text, count, err);
    *place = cmd_cluster_make_place(json_get_string(vcenter, "id"), path);
    return 0;
}

/* For people who may write clusters but not list vCenters: taken as typed. */
static int cmd_cluster_place_as_typed(const char *text, json_t **place, struct err *err) {
    size_t head = strcspn(text, "/");
    const char *colon = memrchr(text, ':', head);
    _cleanup_free_ char *vcenter = colon ? strndup(text, (size_t)(colon - text)) : NULL;
    if (!vcenter || !*vcenter)
        return cmd_cluster_no_vcenter(text, 2, err);
    *place = cmd_cluster_make_place(vcenter, colon + 1);
    return 0;
}

/* The id of --vcenter; as typed for people who may not list vCenters. */
static int cmd_cluster_common_vcenter(struct cli *cli, const char *ref, char **id, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL;
    struct err why = {0};
    int rc = cli_find(cli, &cli_vcenters, ref, &vcenter, &why);
    if (rc && rc != ERR_FORBIDDEN)
        return cli_fail(cli, &why, err);
    *id = str_dup(rc ? ref : json_get_string(vcenter, "id"));
    return *id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Which vCenters there are, since a name must be told from a path; *vcenters stays NULL if that may not be asked. */
static int cmd_cluster_load_vcenters(struct cli *cli, json_t **vcenters, struct err *err) {
    struct err why = {0};
    int rc = cli_list_vcenters(cli, vcenters, &why);
    return !rc || (rc == ERR_FORBIDDEN && cli->client) ? 0 : cli_fail(cli, &why, err);
}

static int cmd_cluster_put_places(struct cli *cli, json_t *body, struct err *err) {
    const char *text, *common = opt_get(&cli->given, "vcenter");
    _cleanup_json_ json_t *vcenters = NULL, *places = json_array();
    _cleanup_free_ char *common_id = NULL;
    size_t at = 0;
    int rc;
    if (!opt_get(&cli->given, "vsphere-cluster"))
        return common ? cli_usage(cli, err, "--vcenter says where --vsphere-cluster is; that is missing") : 0;
    rc = common ? cmd_cluster_common_vcenter(cli, common, &common_id, err) : cmd_cluster_load_vcenters(cli, &vcenters, err);
    if (rc)
        return rc;
    while ((text = opt_next(&cli->given, "vsphere-cluster", &at)) != NULL) {
        json_t *place = NULL;
        if (common_id)
            place = cmd_cluster_make_place(common_id, text);
        else
            rc = vcenters ? cmd_cluster_place_among(vcenters, text, &place, err) : cmd_cluster_place_as_typed(text, &place, err);
        if (rc)
            return rc;
        (void)json_array_append_new(places, place);
    }
    (void)json_object_set(body, "vsphere_clusters", places);
    return 0;
}

/* -- add, set, status ------------------------------------------------------------------------------------------------------------- */

/* What --clear and --vsphere-cluster say. */
int cmd_cluster_set(struct cli *cli, json_t *body, struct err *err) {
    size_t at = 0;
    for (const char *word; (word = opt_next(&cli->given, "clear", &at)) != NULL;) {
        int rc = cmd_cluster_clear_member(word, body, err);
        if (rc) {
            cli->status = CLI_USAGE;
            return rc;
        }
    }
    return cmd_cluster_put_places(cli, body, err);
}

static void cmd_cluster_put_default(json_t *body, const char *member, int desired) {
    json_t *replicas;
    if (json_object_get(body, member))
        return;
    replicas = json_object();
    json_put_int(replicas, "desired", desired);
    (void)json_object_set_new(body, member, replicas);
}

int cmd_cluster_add(struct cli *cli, json_t *body, struct err *err) {
    cmd_cluster_put_default(body, "control_plane", 1);
    cmd_cluster_put_default(body, "workers", 0);
    return cmd_cluster_put_places(cli, body, err);
}

/* What the cluster is now need not be what was reported: what is observed has its say. */
int cmd_cluster_tell_status(struct cli *cli, json_t *cluster, struct err *err) {
    const char *reason = json_get_string(cluster, "state_reason");
    if (cli->is_json)
        return show_json(cli, cluster, err);
    show_line(cli, "cluster %s is %s (%s)%s%s", json_get_string(cluster, "name"), json_get_string(cluster, "state"),
              json_get_string(cluster, "state_source"), reason ? ": " : "", reason ? reason : "");
    return 0;
}

/* -- list ------------------------------------------------------------------------------------------------------------------------- */

static const struct backoff cmd_cluster_retry = {.first_ms = 1000, .max_ms = 30000, .jitter_percent = 25};

struct cmd_cluster_watch {
    struct cli *cli;
    const char *path; /* of the list, with its query */
    char cursor[CLI_CURSOR_BYTES];
    int64_t renewed_ms; /* monotonic */
};

/* kaasd is away or has no place just now, and will be back. */
static bool cmd_cluster_is_passing(int code) {
    return code == ERR_UNAVAILABLE || code == ERR_BUSY || code == ERR_TOO_MANY || code == ERR_RIGHTS_UNKNOWN ||
           code == ERR_CANCELED;
}

/* One page of one item will do: the cursor speaks of the whole list. */
static int cmd_cluster_wait_for_change(struct cmd_cluster_watch *w, bool *is_changed, struct err *err) {
    struct cli_request request = {.method = "GET", .watch_cursor = w->cursor};
    _cleanup_strbuf_ struct strbuf path;
    _cleanup_json_ json_t *page = NULL;
    int rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, w->path);
    cli_path_add_query(&path, "watch", w->cursor);
    cli_path_add_query(&path, "wait", WAIT_S);
    cli_path_add_query(&path, "limit", "1");
    rc = strbuf_check(&path, "the address", err);
    if (rc)
        return rc;
    request.path = path.data;
    rc = cli_client_call(w->cli->client, &request, &page, err);
    *is_changed = page != NULL;
    return rc;
}

static int cmd_cluster_show_now(struct cmd_cluster_watch *w, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    char now[CLOCK_RFC3339_BYTES];
    int rc = cli_list(w->cli, w->path, CLI_LINES_MAX, &items, err);
    if (rc)
        return rc;
    clock_format(clock_wall_ms(), now);
    show_line(w->cli, "%.19sZ", now);
    rc = show_list(w->cli, items, w->cli->command->list, err);
    if (rc)
        return rc;
    show_line(w->cli, "%s", "");
    rc = cli_flush(w->cli, err);
    if (!rc)
        cli_tell_stale(w->cli);
    return rc;
}

static int cmd_cluster_look_once(struct cmd_cluster_watch *w, struct err *err) {
    const int64_t now_ms = clock_mono_ms();
    bool is_changed = false;
    int rc;
    if (now_ms - w->renewed_ms >= RENEW_MS) {
        w->renewed_ms = now_ms;
        rc = cli_client_renew(w->cli->client, err);
        if (rc)
            return rc;
    }
    rc = cmd_cluster_wait_for_change(w, &is_changed, err);
    return rc || !is_changed ? rc : cmd_cluster_show_now(w, err);
}

/* Shows the list now and whenever it changes; kaasd holds the request until there is something to tell. Returns only with an error that does not
 * pass. */
static int cmd_cluster_watch(struct cli *cli, const char *path, struct err *err) {
    struct cmd_cluster_watch w = {.cli = cli, .path = path, .renewed_ms = clock_mono_ms()};
    unsigned failures = 0;
    for (;;) {
        struct err why = {0};
        const int rc = cmd_cluster_look_once(&w, &why);
        if (!rc) {
            failures = 0;
            continue;
        }
        if (!cmd_cluster_is_passing(rc) ||
            !w.cursor[0]) /* the first answer must come: a slip in the options is none that passes */
            return err_move(err, rc, &why);
        const int64_t ms = backoff_delay_ms(&cmd_cluster_retry, ++failures, 0);
        const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
        cli_note("kaasctl: %s; trying again in %lld s", why.text, (long long)(ms + 999) / 1000);
        (void)nanosleep(&pause, NULL);
    }
}

int cmd_cluster_list(struct cli *cli, struct err *err) {
    const char *hx = opt_get(&cli->given, "hx-cluster");
    _cleanup_strbuf_ struct strbuf path = {0};
    _cleanup_json_ json_t *items = NULL;
    struct err why = {0};
    int rc = cli_connect(cli, err);
    if (rc)
        return rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, "/v2/clusters");
    cli_path_add_query(&path, hx && uuid_is_valid(hx) ? "hx_cluster_id" : "hx_cluster", hx);
    cli_add_query(cli, &path);
    rc = strbuf_check(&path, "the address", err);
    if (rc)
        return rc;
    if (opt_get(&cli->given, "watch"))
        rc = cmd_cluster_watch(cli, path.data, &why);
    else
        rc = cli_list(cli, path.data, CLI_LINES_MAX, &items, &why);
    return rc ? cli_fail(cli, &why, err) : cli_show_result(cli, NULL, items, err);
}
