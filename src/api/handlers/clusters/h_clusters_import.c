/* POST /v2/clusters:import: many cluster records, one JSON object a line. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A line that cannot be imported is told of in the answer and disturbs no other, unless all or nothing was asked for. */
#include <stdlib.h>
#include <string.h>

#include "cluster_input.h"
#include "cluster_store.h"
#include "api_call.h"
#include "clock.h"
#include "clusters.h"
#include "limits.h"
#include "problem.h"
#include "query.h"
#include "reply.h"
#include "str.h"

/* One line of the body, and what is to become of it. */
struct import {
    struct api_call *call;
    bool is_atomic, is_update;
    struct clusters_line *lines;
    size_t count;
    json_t *seen; /* names so far */
    struct cluster_writer by;
};

static int import_read_query(struct import *im, struct err *err) {
    int rc = reply_read_flag(im->call, "atomic", &im->is_atomic, err);
    if (!rc)
        rc = reply_read_flag(im->call, "update", &im->is_update, err);
    if (!rc && !http_request_is_media_type(im->call->req, "application/x-ndjson")) {
        (void)err_set(err, ERR_MEDIA_TYPE, "the body must be application/x-ndjson");
        rc = err_remedy(err, "send the header Content-Type: application/x-ndjson and one JSON object in each line");
    }
    return rc;
}

/* -- one line ------------------------------------------------------------------------------------------------------------------ */

/* Two lines of one name would depend on each other's outcome. */
static int h_clusters_import_note_name(struct import *im, const char *name, struct err *err) {
    json_t *before = json_object_get(im->seen, name);
    if (before)
        return err_set(err, ERR_UNPROCESSABLE, "the name \"%s\" stands in line %lld already", name,
                       (long long)json_integer_value(before));
    if (json_object_set_new(im->seen, name, json_integer((json_int_t)im->lines[im->count].number)))
        return err_set(err, ERR_NOMEM, "out of memory");
    return 0;
}

/* The cluster of this name, if the caller may see it: what one may not see is a name that is taken. */
static const struct inventory_cluster *find_visible(const struct api_call *call, const char *name) {
    const struct inventory_cluster *entry = inventory_find_cluster_by_name(call->snapshot, name);
    struct policy_view view;
    return entry && inventory_view_cluster(call->snapshot->platform, &call->viewer, entry->record, &view) ? entry : NULL;
}

static int h_clusters_import_read_change(struct import *im, const char *id, json_t *body, struct clusters_line *line) {
    const struct inventory_platform *platform = im->call->snapshot->platform;
    struct cluster before = {0};
    int rc = member_json_check(body, &h_clusters_patch_body, NULL, &line->err);
    line->is_change = true;
    if (!rc)
        rc = clusters_load(im->call->api->options.clusters, id, &line->record, &line->err);
    if (!rc)
        rc = cluster_copy(line->record, &before, &line->err);
    if (!rc)
        rc = cluster_input_patch(body, platform, &im->by, line->record, &line->parts, &line->err);
    if (!rc)
        line->is_unchanged = cluster_same(&before, line->record);
    cluster_done(&before);
    return rc;
}

static int read_record(struct import *im, json_t *body, struct clusters_line *line) {
    const char *name = json_get_string(body, "name");
    const struct inventory_cluster *there;
    int rc = name ? h_clusters_import_note_name(im, name, &line->err) : 0;
    if (rc)
        return rc;
    there = name && im->is_update ? find_visible(im->call, name) : NULL;
    if (there)
        return h_clusters_import_read_change(im, there->record->id, body, line);
    rc = member_json_check(body, &h_clusters_create_body, NULL, &line->err);
    return rc ? rc : cluster_input_create(body, im->call->snapshot->platform, &im->by, &line->record, &line->err);
}

static void read_line(struct import *im, const char *text, size_t n) {
    struct clusters_line *line = &im->lines[im->count];
    _cleanup_json_ json_t *body = NULL;
    if (n > KAAS_IMPORT_LINE_BYTES_MAX) {
        (void)err_set(&line->err, ERR_TOO_LARGE, "the line is longer than %u bytes", KAAS_IMPORT_LINE_BYTES_MAX);
        return;
    }
    if (json_parse(text, n, &body, &line->err))
        line->err.code = ERR_JSON; /* also for nesting that is too deep */
    else
        (void)read_record(im, body, line);
}

static int read_lines(struct import *im, struct err *err) {
    size_t len = 0, number = 0;
    const char *text = http_request_body(im->call->req, &len), *end = text + len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const size_t n = (size_t)((newline ? newline : end) - text);
        number++;
        if (strspn(text, " \t\r") < n) { /* not a blank line */
            if (im->count == KAAS_IMPORT_LINES_MAX) {
                (void)err_set(err, ERR_TOO_LARGE, "the body has more than %u records", KAAS_IMPORT_LINES_MAX);
                return err_remedy(err, "import it in parts");
            }
            im->lines[im->count].number = number; /* in the body, from 1 */
            read_line(im, text, n);
            im->count++;
        }
        text += n + 1;
    }
    return im->count ? 0 : err_set(err, ERR_UNPROCESSABLE, "the body holds no record");
}

/* -- the answer ---------------------------------------------------------------------------------------------------------------- */

static const char *h_clusters_import_result_of(const struct import *im, size_t i) {
    const struct clusters_line *line = &im->lines[i];
    if (line->err.code)
        return line->err.code == ERR_EXISTS ? "exists" : "failed";
    if (line->is_written)
        return line->is_change ? "changed" : "created";
    return line->is_unchanged ? "unchanged" : "skipped";
}

static json_t *view_line(const struct import *im, size_t i) {
    const struct clusters_line *line = &im->lines[i];
    json_t *item = json_object();
    const bool has_id = line->record && (line->is_written || line->is_change);
    json_put_int(item, "line", (int64_t)line->number);
    json_put_string(item, "result", h_clusters_import_result_of(im, i));
    json_put(item, "id", has_id ? json_string(line->record->id) : json_null());
    json_put(item, "name", line->record && line->record->name ? json_string(line->record->name) : json_null());
    if (!line->err.code)
        return item;
    json_put_string(item, "code", err_slug(line->err.code));
    json_put_string(item, "detail", err_http_status(line->err.code) == 500 ? err_default_text(ERR_INTERNAL) : line->err.text);
    if (line->err.remedy[0])
        json_put_string(item, "remedy", line->err.remedy);
    return item;
}

static int import_answer(const struct import *im, struct http_response *resp, struct err *err) {
    static const char *const results[] = {"created", "changed", "unchanged", "exists", "failed", "skipped"};
    json_t *body = json_object(), *items = json_array(), *counts = json_object();
    for (size_t i = 0; i < im->count; i++)
        json_add(items, view_line(im, i));
    for (size_t k = 0; k < ARRAY_COUNT(results); k++) {
        int64_t n = 0;
        for (size_t i = 0; i < im->count; i++)
            n += str_eq(h_clusters_import_result_of(im, i), results[k]);
        json_put_int(counts, results[k], n);
    }
    json_put_bool(body, "atomic", im->is_atomic);
    json_put(body, "counts", counts);
    json_put(body, "items", items);
    return reply_json(resp, 200, body, err);
}

/* -- all of it ------------------------------------------------------------------------------------------------------------------ */

static bool is_given_up(void *arg) {
    return http_request_is_abandoned(arg);
}

static void h_clusters_import_done(struct import *im) {
    for (size_t i = 0; im->lines && i < im->count; i++)
        cluster_free(im->lines[i].record);
    free(im->lines);
    json_decref(im->seen);
}

int h_clusters_import(struct api_call *call, struct http_response *resp, struct err *err) {
    struct import im = {.call = call, .by = {call->who->id, call->who->name, clock_wall_ms()}};
    struct clusters_lines lines;
    int rc = import_read_query(&im, err);
    if (rc)
        return rc;
    im.lines = calloc(KAAS_IMPORT_LINES_MAX + 1, sizeof(*im.lines));
    im.seen = json_object();
    if (!im.lines || !im.seen)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = read_lines(&im, err);
    lines = (struct clusters_lines){
        .items = im.lines, .count = im.count, .is_atomic = im.is_atomic, .is_given_up = is_given_up, .arg = call->req};
    if (!rc)
        rc = clusters_write_lines(call->api->options.clusters, API_ACTOR(call), &lines, err);
    if (!rc)
        rc = import_answer(&im, resp, err);
    h_clusters_import_done(&im);
    return rc;
}
