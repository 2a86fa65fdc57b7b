/* Handlers of /v2/clusters: writing. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "clock.h"
#include "cluster_input.h"
#include "clusters.h"
#include "directory.h"
#include "load.h"
#include "handlers.h"
#include "limits.h"
#include "problem.h"
#include "query.h"
#include "reply.h"
#include "str.h"

/* The change is made. It is not in memory: because it took the record out of the caller's view, or because the database went away just
 * after it, and then "no such cluster" would be wrong. */
static int clusters_look_again(struct api_call *call, const char *id, struct strbuf *text, uint64_t *hash, struct err *err) {
    err_clear(err);
    if (directory_poll(call->api->options.directory, NULL)) {
        (void)err_set(err, ERR_DATABASE, "the change was made, but the database went away before it could be read back");
        return err_remedy(err, "read it again instead of repeating the change");
    }
    api_renew_snapshot(call);
    return dir_show_cluster(call->snapshot, &call->viewer, id, text, hash, err);
}

static int answer_with(struct api_call *call, struct http_response *resp, int status, const char *id, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    char etag[REPLY_ETAG_BYTES];
    uint64_t hash = 0;
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    api_renew_snapshot(call);
    rc = dir_show_cluster(call->snapshot, &call->viewer, id, &text, &hash, err);
    if (rc == ERR_NOT_FOUND)
        rc = clusters_look_again(call, id, &text, &hash, err);
    if (rc)
        return rc;
    reply_format_etag(hash, false, etag);
    http_response_set_status(resp, status);
    http_response_set_header(resp, "ETag", etag);
    http_response_set_text(resp, "application/json", &text);
    return 0;
}

int h_clusters_create(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    _cleanup_(cluster_free) struct cluster *record = NULL;
    char id[37];
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/json", err);
    if (!rc)
        rc = cluster_input_create(call->body, call->snapshot->platform, &record, err);
    if (!rc)
        rc = clusters_create(call->api->options.clusters, &actor, record, id, err);
    if (rc)
        return rc;
    reply_location(resp, "/v2/clusters/", id);
    return answer_with(call, resp, 201, id, err);
}

/* The version that an If-Match speaks of; 0 if there is none. */
static int clusters_read_version(struct api_call *call, const char *id, int64_t *version_no, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    const struct dir_cluster *entry = NULL;
    char etag[REPLY_ETAG_BYTES];
    uint64_t hash = 0, mask = 0;
    bool is_given = false;
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    *version_no = 0;
    rc = dir_show_cluster(call->snapshot, &call->viewer, id, &text, &hash, err);
    if (!rc)
        rc = dir_get_visible_cluster(call->snapshot, &call->viewer, id, &entry, &mask, err);
    if (rc)
        return rc;
    reply_format_etag(hash, false, etag);
    rc = reply_check_if_match(call, etag, &is_given, err);
    if (!rc && is_given)
        *version_no = entry->record->version_no;
    return rc;
}

/* As read_version, in a lane: another replica may have made or changed it a moment ago, so the news are read before "no such cluster" or
 * "changed since" is said. */
static int read_newest_version(struct api_call *call, const char *id, int64_t *version_no, struct err *err) {
    struct err why = {0};
    int rc = clusters_read_version(call, id, version_no, &why);
    if ((rc == ERR_NOT_FOUND || rc == ERR_PRECONDITION) && !directory_poll(call->api->options.directory, NULL)) {
        api_renew_snapshot(call);
        return clusters_read_version(call, id, version_no, err);
    }
    return err_move(err, rc, &why);
}

struct patch {
    json_t *body;
    const struct dir_platform *platform;
};

static int clusters_apply_patch(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    struct patch *patch = arg;
    return cluster_input_patch(patch->body, patch->platform, record, parts, err);
}

int h_clusters_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    const char *id = http_request_param(call->req, "id");
    struct patch patch = {0};
    struct clusters_edit edit = {.fn = clusters_apply_patch, .arg = &patch, .id = id};
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/merge-patch+json", err);
    if (!rc)
        rc = read_newest_version(call, id, &edit.version_no, err);
    if (!rc)
        rc = cluster_input_check_patch(call->body, err);
    patch = (struct patch){.body = call->body, .platform = call->snapshot->platform};
    if (!rc)
        rc = clusters_change(call->api->options.clusters, &actor, &edit, err);
    return rc ? rc : answer_with(call, resp, 200, id, err);
}

/* -- the provisioner's report ------------------------------------------------------------------------------------------- */

struct report {
    json_t *body;
    struct cluster_reporter by;
};

static int apply_report(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    struct report *report = arg;
    return cluster_input_status(report->body, &report->by, record, parts, err);
}

static struct report clusters_report_of(const struct api_call *call) {
    return (struct report){.body = call->body, .by = {.principal_id = call->who->id, .at_ms = clock_wall_ms()}};
}

static int report_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct report report = clusters_report_of(call);
    const char *id = http_request_param(call->req, "id");
    struct clusters_edit edit = {.fn = apply_report, .arg = &report, .id = id};
    int rc = read_newest_version(call, id, &edit.version_no, err);
    if (!rc)
        rc = clusters_report(call->api->options.clusters, &actor, &edit, err);
    return rc ? rc : answer_with(call, resp, 200, id, err);
}

/* Does the report say what is known already, of a cluster that is not silent? Then its time is all there is to note. */
static int compare_report(struct api_call *call, const struct dir_cluster *entry, bool *is_known, struct err *err) {
    _cleanup_(cluster_free) struct cluster *before = NULL;
    _cleanup_(cluster_free) struct cluster *after = NULL;
    struct report report = clusters_report_of(call);
    unsigned parts = 0;
    int rc = dir_cluster_stored(entry, &before, err);
    if (!rc)
        rc = dir_cluster_stored(entry, &after, err);
    if (!rc)
        rc = apply_report(&report, after, &parts, err);
    if (!rc)
        rc = cluster_check(after, err);
    *is_known = !rc && entry->is_reported && !entry->is_stale && cluster_same(before, after);
    return rc;
}

/* A provisioner reports every minute on thousands of clusters: with nothing new, a report stays in memory (directory_note_report). */
int h_clusters_status(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    const struct dir_cluster *entry = NULL;
    bool is_known = false;
    int64_t version_no = 0;
    uint64_t mask = 0;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/json", err);
    if (!rc)
        rc = clusters_read_version(call, id, &version_no, err);
    if (rc == ERR_NOT_FOUND || rc == ERR_PRECONDITION) { /* for another look */
        err_clear(err);
        rc = cluster_input_check_status(call->body, err);
        return rc ? rc : api_go_slow(call, call->api->options.database, report_in_lane);
    }
    if (!rc)
        rc = cluster_input_check_status(call->body, err);
    if (!rc)
        rc = dir_get_visible_cluster(call->snapshot, &call->viewer, id, &entry, &mask, err);
    if (!rc)
        rc = compare_report(call, entry, &is_known, err);
    if (rc)
        return rc;
    if (!is_known || directory_is_stale(call->api->options.directory))
        return api_go_slow(call, call->api->options.database, report_in_lane);
    directory_note_report(call->api->options.directory, id, clock_wall_ms());
    return answer_with(call, resp, 200, id, err);
}

int h_clusters_delete(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    const char *id = http_request_param(call->req, "id");
    int64_t version_no = 0;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = read_newest_version(call, id, &version_no, err);
    if (!rc)
        rc = clusters_remove(call->api->options.clusters, &actor, id, version_no, err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}
