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
#define LIST_PATH "/v2/clusters"
#define WAIT_S "50"
#define RENEW_MS (5LL * 60 * 1000) /* tokens live for a quarter of an hour */

/* -- members to be emptied -------------------------------------------------------------------------------------------------------- */

static int cmd_cluster_clear_member(const char *word, json_t *body, struct err *err) {
    static const char *const known[] = {"description", "state_reason", "api_endpoint", "dashboard_url", "labels", "nodes"};
    const char *label = str_starts(word, "label:") ? word + strlen("label:") : NULL;
    _cleanup_free_ char *member = str_dup(word);
    for (char *dash = member; dash && (dash = strchr(dash, '-'));)
        *dash = '_';
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (str_eq(member, known[i]))
            return json_object_set_new(body, known[i], json_null()) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    if (!label) {
        (void)err_set(err, ERR_INVALID, "--clear \"%s\" is not something that can be empty", word);
        return err_remedy(err, "use description, state-reason, api-endpoint, dashboard-url, labels, nodes or label:KEY");
    }
    if (!*label)
        return err_set(err, ERR_INVALID, "--clear label: needs a key");
    if (!json_is_object(json_object_get(body, "labels")))
        (void)json_object_set_new(body, "labels", json_object());
    (void)json_object_set_new(json_object_get(body, "labels"), label, json_null());
    return 0;
}

/* -- placement -------------------------------------------------------------------------------------------------------------------- */

/* kaasd finds out what is meant: a path, a name alone, a moref; without a vCenter (NULL) on whichever has it. */
static json_t *cmd_cluster_make_place(const char *vcenter, const char *path) {
    json_t *place = json_object();
    json_put_string(place, "vcenter", vcenter);
    json_put_string(place, "path", path);
    return place;
}

/* "VCENTER:DC/CLUSTER" for the vCenters that there are; for people who may write clusters but not list vCenters (NULL): taken as typed. */
static int cmd_cluster_place_among(const json_t *vcenters, const char *text, json_t **place, struct err *err) {
    const char *colon = memrchr(text, ':', strcspn(text, "/")), *path = text;
    _cleanup_free_ char *typed = !vcenters && colon ? strndup(text, (size_t)(colon - text)) : NULL;
    const json_t *vcenter = NULL;
    int rc = vcenters ? cli_split_vcenter(vcenters, text, &vcenter, &path, err) : 0;
    if (rc)
        return rc;
    if (vcenters && !json_array_size(vcenters)) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no vCenter yet, so \"%s\" is nowhere", text);
        return err_remedy(err, "run: kaasctl vcenter add ADDRESS");
    }
    *place = str_empty(typed) ? cmd_cluster_make_place(json_get_string(vcenter, "id"), path)
                              : cmd_cluster_make_place(typed, colon + 1);
    return 0;
}

/* Which vCenters there are is asked, since a name must be told from a path; who may not do that writes their names as they are. */
static int cmd_cluster_put_places(struct cli *cli, json_t *body, struct err *err) {
    const char *text, *common = opt_get(&cli->given, "vcenter");
    _cleanup_json_ json_t *vcenter = NULL, *vcenters = NULL, *places = json_array();
    struct err why = {0};
    size_t at = 0;
    int rc;
    if (!opt_get(&cli->given, "vsphere-cluster"))
        return common ? cli_usage(cli, err, "--vcenter says where --vsphere-cluster is; that is missing") : 0;
    rc = common ? cli_find(cli, &cli_vcenters, common, &vcenter, &why)
                : cli_list(cli, "/v2/vcenters", NULL, NULL, &vcenters, &why);
    if (rc && (rc != ERR_FORBIDDEN || !cli->client))
        return err_move(err, rc, &why);
    if (vcenter)
        common = json_get_string(vcenter, "id");
    while ((text = opt_next(&cli->given, "vsphere-cluster", &at)) != NULL) {
        json_t *place = common ? cmd_cluster_make_place(common, text) : NULL;
        rc = place ? 0 : cmd_cluster_place_among(vcenters, text, &place, err);
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
        if (rc)
            return cli_as_usage(cli, rc);
    }
    return cmd_cluster_put_places(cli, body, err);
}

static void cmd_cluster_put_default(json_t *body, const char *member, int desired) {
    if (!json_object_get(body, member))
        (void)json_object_set_new(body, member, json_pack("{si}", "desired", desired));
}

int cmd_cluster_add(struct cli *cli, json_t *body, struct err *err) {
    cmd_cluster_put_default(body, "control_plane", 1);
    cmd_cluster_put_default(body, "workers", 0);
    return cmd_cluster_put_places(cli, body, err);
}

/* Who types a command is a person, unless they say otherwise. */
int cmd_cluster_status(struct cli *cli, json_t *body, struct err *err) {
    const bool is_by_hand = !opt_get(&cli->given, "periodic");
    return json_object_set_new(body, "by_hand", json_boolean(is_by_hand)) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* What the cluster is now need not be what was reported: what is asked and observed has its say. */
int cmd_cluster_tell_status(struct cli *cli, json_t *cluster, struct err *err) {
    const char *reason = json_get_string(cluster, "state_reason"), *source = json_get_string(cluster, "state_source");
    if (cli->is_json)
        return show_json(cli, cluster, err);
    source = str_eq(source, "declared") ? "entered by hand" : show_source_word(source);
    show_line(cli, "cluster %s is %s (%s)%s%s", json_get_string(cluster, "name"), json_get_string(cluster, "state"), source,
              reason ? ": " : "", reason ? reason : "");
    show_line(cli, "%s",
              opt_get(&cli->given, "periodic")
                  ? "It becomes unknown without another report for clusters.report_stale_after (15m unless configured)."
                  : "It stays so until somebody enters another state, a program reports, or vCenter shows that it is worse.");
    return 0;
}

/* -- list ------------------------------------------------------------------------------------------------------------------------- */

static const struct backoff cmd_cluster_retry = {.first_ms = 1000, .max_ms = 30000, .jitter_percent = 25};

struct cmd_cluster_watch {
    struct cli *cli;
    json_t *query; /* of the list */
    char cursor[CLI_CURSOR_BYTES];
    int64_t renewed_ms; /* monotonic */
};

bool cmd_cluster_is_passing(int code) {
    return code == ERR_UNAVAILABLE || code == ERR_BUSY || code == ERR_TOO_MANY || code == ERR_RIGHTS_UNKNOWN ||
           code == ERR_CANCELED;
}

/* One page of one item will do: the cursor speaks of the whole list. */
static int cmd_cluster_wait_for_change(struct cmd_cluster_watch *w, bool *is_changed, struct err *err) {
    struct cli_request request = {.method = "GET", .watch_cursor = w->cursor};
    _cleanup_strbuf_ struct strbuf path;
    _cleanup_json_ json_t *page = NULL;
    struct err why = {0};
    int rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    (void)cli_add_path(w->cli, LIST_PATH, NULL, w->query, &path, err);
    cli_path_add_query(&path, "watch", w->cursor);
    cli_path_add_query(&path, "wait", WAIT_S);
    cli_path_add_query(&path, "limit", "1");
    rc = strbuf_check(&path, "the address", err);
    if (rc)
        return rc;
    request.path = path.data;
    rc = cli_client_call(w->cli->client, &request, &page, &why);
    *is_changed = page != NULL;
    return rc ? cli_fail(w->cli, &why, err) : 0;
}

/* For programs the time is a part of what is told; names alone have none. */
static int cmd_cluster_show_items(struct cli *cli, json_t *items, struct err *err) {
    _cleanup_json_ json_t *told = NULL;
    _cleanup_free_ char *at = NULL;
    char now[CLOCK_RFC3339_BYTES];
    clock_format(clock_wall_ms(), now);
    at = str_format("%.19sZ", now);
    if (cli->format == CLI_JSON || cli->format == CLI_YAML) {
        told = at ? json_pack("{s:s, s:O}", "at", at, "items", items) : NULL;
        return told ? show_json_line(cli, told, err) : err_set(err, ERR_NOMEM, "out of memory");
    }
    show_line(cli, "%s", at ? at : "");
    return show_list(cli, items, cli->command->list, err);
}

static int cmd_cluster_show_now(struct cmd_cluster_watch *w, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    int rc = cli_call(w->cli, w->query, &items, err);
    rc = rc ? rc : cmd_cluster_show_items(w->cli, items, err);
    if (rc)
        return rc;
    show_gap(w->cli);
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
        rc = w->cli->login.kept ? cli_login_renew(&w->cli->login, err) : cli_client_renew(w->cli->client, err);
        if (rc)
            return rc;
    }
    rc = cmd_cluster_wait_for_change(w, &is_changed, err);
    return rc || !is_changed ? rc : cmd_cluster_show_now(w, err);
}

/* With --watch the list is shown now and whenever it changes; kaasd holds the request until there is something to tell. That returns only with an
 * error that does not pass. */
int cmd_cluster_send_list(struct cli *cli, json_t *query, json_t **answer, struct err *err) {
    struct cmd_cluster_watch w = {.cli = cli, .query = query, .renewed_ms = clock_mono_ms()};
    unsigned failures = 0;
    int rc = opt_get(&cli->given, "watch") ? cli_connect(cli, err) : cli_call(cli, query, answer, err);
    if (rc || !opt_get(&cli->given, "watch"))
        return rc;
    for (;;) {
        struct err why = {0};
        rc = cmd_cluster_look_once(&w, &why);
        if (!rc) {
            failures = 0;
            continue;
        }
        if (cli_client_is_out_of_time(cli->client) || !cmd_cluster_is_passing(rc) ||
            !w.cursor[0]) /* the first answer must come: a slip in the options is none that passes */
            return err_move(err, rc, &why);
        const int64_t ms = backoff_delay_ms(&cmd_cluster_retry, ++failures, 0);
        const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
        cli_note("kaasctl: %s; trying again in %lld s", why.text, (long long)(ms + 999) / 1000);
        (void)nanosleep(&pause, NULL);
    }
}

/* An HX cluster by its name, or its id. */
int cmd_cluster_list(struct cli *cli, json_t *query, struct err *err) {
    const char *hx = opt_get(&cli->given, "hx-cluster");
    (void)err;
    json_put_string(query, hx && uuid_is_valid(hx) ? "hx_cluster_id" : "hx_cluster", hx);
    return 0;
}
