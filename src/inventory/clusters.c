/* Cluster records and HX cluster attributes: changing them. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit_store.h"
#include "backoff.h"
#include "clock.h"
#include "cluster_store.h"
#include "names.h"
#include "platform_store.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define REASON_BYTES_MAX 4096U

#define CHANGE_TRIES 12

static const struct backoff between_tries = {.first_ms = 2, .max_ms = 120, .jitter_percent = 100};

struct clusters {
    struct clusters_options options;
};

int clusters_new(const struct clusters_options *options, struct clusters **out, struct err *err) {
    struct clusters *c = calloc(1, sizeof(*c));
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory");
    c->options = *options;
    *out = c;
    return 0;
}

void clusters_free(struct clusters *clusters) {
    free(clusters);
}

/* Counting is for the last fifth: the inventory may be a second behind, and others write, too. */
static bool clusters_is_close(size_t known, size_t added, size_t most) {
    return known + added > most - most / 5;
}

/* The caps to be counted against by a write of so many clusters and nodes; NULL: there is room for far more. */
static const struct cluster_room *clusters_room(const struct clusters *c, size_t clusters, size_t nodes) {
    static const struct cluster_room caps = {.clusters_max = KAAS_CLUSTERS_COUNT_MAX, .nodes_max = KAAS_NODES_COUNT_MAX};
    size_t known_clusters = 0, known_nodes = 0;
    if (!c->options.get_size || !c->options.get_size(c->options.get_size_arg, &known_clusters, &known_nodes))
        return &caps;
    return clusters_is_close(known_clusters, clusters, caps.clusters_max) || clusters_is_close(known_nodes, nodes, caps.nodes_max)
               ? &caps
               : NULL;
}

/* Every write ends here. What was made is in the audit log already, by the same transaction; what was refused gets its line now. */
static int clusters_finish(struct clusters *c, const struct audit_record *line, int rc, const struct err *why) {
    if (rc)
        audit_store_append_outcome(c->options.runtime->store, line, rc, why);
    else
        runtime_note_written(c->options.runtime);
    return rc;
}

static int clusters_insert(struct clusters *c, struct cluster *record, const struct audit_record *audit, struct err *err) {
    int rc = cluster_check(record, err);
    const struct cluster_writing with = {audit, clusters_room(c, 1, record->nodes_count)};
    if (!rc)
        rc = cluster_store_insert(c->options.runtime->store, record, &with, err);
    if (rc == ERR_EXISTS)
        (void)err_remedy(err, "choose another name, or change the record that is there");
    return rc;
}

/* Without memory record->id is NULL. */
static void name_record(struct cluster *record, char id[UUID_TEXT_BYTES]) {
    uuid_new(id);
    free(record->id);
    record->id = str_dup(id);
    record->created_at_ms = record->updated_at_ms;
}

int clusters_create(struct clusters *c, const struct actor *actor, struct cluster *record, char id[37], struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){
                   .action = "cluster.create", .object_kind = "cluster", .object_id = id, .object_name = record->name});
    record->updated_at_ms = clock_wall_ms();
    name_record(record, id);
    return clusters_finish(c, &line,
                           record->id ? clusters_insert(c, record, &line, err) : err_set(err, ERR_NOMEM, "out of memory"), err);
}

static int clusters_precondition(struct err *err) {
    (void)err_set(err, ERR_PRECONDITION, "the record has been changed since it was read; nothing was done");
    return err_remedy(err, "read it again and repeat the change");
}

static int clusters_update(struct clusters *c, const struct cluster *record, unsigned parts, const struct audit_record *audit,
                           struct err *err) {
    const bool has_nodes = parts & CLUSTER_PART_NODES;
    const struct cluster_writing with = {audit, has_nodes ? clusters_room(c, 0, record->nodes_count) : NULL};
    return cluster_store_update(c->options.runtime->store, record, parts, &with, err);
}

/* Somebody else was quicker, and the caller has made no condition: once more after a moment, or all who write to one record at several
 * replicas would meet again. Never 412 for a request that asked for nothing of the kind. */
static bool clusters_try_again(int *rc, int64_t version_no, unsigned attempt, struct err *why) {
    const int64_t ms = backoff_delay_ms(&between_tries, attempt, random_u32());
    const struct timespec pause = {.tv_nsec = ms * 1000000};
    if (*rc != ERR_PRECONDITION || version_no)
        return false;
    err_clear(why);
    if (attempt < CHANGE_TRIES) {
        (void)nanosleep(&pause, NULL);
        return true;
    }
    *rc = err_set(why, ERR_BUSY, "others keep changing this record; nothing was done, try again shortly");
    return false;
}

/* A report that says what the record said before: it still ends a silence, which the replicas must learn of. */
static int save_time(struct clusters *c, const struct cluster *record, struct err *err) {
    struct report_time time = {.at_ms = record->reported_at_ms};
    (void)snprintf(time.cluster_id, sizeof(time.cluster_id), "%s", record->id);
    return cluster_store_save_report_times(c->options.runtime->store, &time, 1, true, err);
}

/* What differs, for the audit log: "name: prod-1 -> prod-2; labels". */
static void clusters_describe(const struct cluster *before, const struct cluster *after, unsigned parts, struct strbuf *out) {
    static const struct {
        unsigned part;
        const char *name;
    } lists[] = {{CLUSTER_PART_PLACEMENT, "placement"}, {CLUSTER_PART_LABELS, "labels"}, {CLUSTER_PART_NODES, "nodes"}};
    members_describe(cluster_members, before, after, out);
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
        if (parts & lists[i].part)
            strbuf_addf(out, "%s%s", out->len ? "; " : "", lists[i].name);
}

/* A change, or a report: one with nothing new writes its time alone, and the audit log learns of those that change what
 * was reported. */
static int clusters_edit_once(struct clusters *c, const struct clusters_edit *edit, bool is_report,
                              const struct audit_record *audit, struct err *err) {
    _cleanup_(cluster_free) struct cluster *record = NULL;
    struct cluster before = {0};
    _cleanup_strbuf_ struct strbuf reason; /* longer than its column it is cut there */
    unsigned parts = 0;
    strbuf_init(&reason, REASON_BYTES_MAX);
    int rc = cluster_store_load(c->options.runtime->store, edit->id, &record, err);
    if (!rc && edit->version_no && record->version_no != edit->version_no)
        rc = clusters_precondition(err);
    if (!rc)
        rc = cluster_copy(record, &before, err);
    if (!rc)
        rc = edit->fn(edit->arg, record, &parts, err);
    if (!rc && is_report && cluster_same(&before, record) && before.state_since_ms == record->state_since_ms) {
        rc = save_time(c, record, err);
    } else if (!rc) {
        const bool is_news = !is_report || !cluster_is_reported(&before) || before.reported_state != record->reported_state;
        record->updated_at_ms = clock_wall_ms();
        record->observed_at_ms = is_report ? record->updated_at_ms : record->observed_at_ms;
        clusters_describe(&before, record, parts, &reason);
        struct audit_record told = *audit;
        told.event.object_name = record->name;
        told.event.reason = is_report || !reason.len ? NULL : reason.data;
        rc = cluster_check(record, err);
        if (!rc)
            rc = clusters_update(c, record, parts, is_news ? &told : NULL, err);
    }
    cluster_done(&before);
    return rc;
}

static int clusters_edit(struct clusters *c, const struct clusters_edit *edit, bool is_report, const struct audit_record *audit,
                         struct err *err) {
    struct err why = {0};
    unsigned attempt = 0;
    int rc;
    do
        rc = clusters_edit_once(c, edit, is_report, audit, &why);
    while (clusters_try_again(&rc, edit->version_no, ++attempt, &why));
    return err_move(err, rc, &why);
}

int clusters_change(struct clusters *c, const struct actor *actor, const struct clusters_edit *edit, struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "cluster.change", .object_kind = "cluster", .object_id = edit->id});
    return clusters_finish(c, &line, clusters_edit(c, edit, false, &line, err), err);
}

/* A report that was refused is not in the audit log. */
int clusters_report(struct clusters *c, const struct actor *actor, const struct clusters_edit *edit, struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "cluster.report", .object_kind = "cluster", .object_id = edit->id});
    int rc = clusters_edit(c, edit, true, &line, err);
    if (!rc)
        runtime_note_written(c->options.runtime);
    return rc;
}

int clusters_remove(struct clusters *c, const struct actor *actor, const char *id, int64_t version_no, struct err *err) {
    const struct audit_record line =
        audit_record_make(actor, &(struct audit_event){.action = "cluster.remove", .object_kind = "cluster", .object_id = id});
    int rc = cluster_store_delete(c->options.runtime->store, id, version_no, &line, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    return clusters_finish(c, &line, rc, err);
}

/* The name that discovery gives is that of the vSphere cluster below. */
static int clusters_give_name_back(struct clusters *c, struct hx_cluster *hx, struct err *err) {
    struct vsphere_cluster on = {0};
    int rc = platform_store_load_vsphere(c->options.runtime->store, &hx->vsphere_cluster, &on, err);
    if (!rc)
        rc = str_replace(&hx->name, on.name ? on.name : hx->vsphere_cluster.moref, err);
    vsphere_cluster_done(&on);
    return rc;
}

/* Who is read has the name that it tells. */
static int clusters_change_hx_name(struct clusters *c, const char *name, struct hx_cluster *hx, struct err *err) {
    if (hx->is_name_read && name) {
        (void)err_set(err, ERR_UNPROCESSABLE, "name: kaasd reads the name of this HX cluster from itself: \"%s\"", hx->name);
        return err_remedy(err, "change it at HX, or disconnect it first: kaasctl hx disconnect %s", hx->id);
    }
    if (hx->is_name_read)
        return 0;
    hx->is_name_set = name != NULL;
    return name ? str_replace(&hx->name, name, err) : clusters_give_name_back(c, hx, err);
}

static int apply_hx(struct clusters *c, const struct clusters_hx_change *change, struct hx_cluster *hx, struct err *err) {
    int rc = 0;
    if (change->has_name && change->name)
        rc = name_check(change->name, "name", err);
    if (!rc && change->has_address && change->address)
        rc = name_check_host(change->address, "management_address", err);
    if (rc)
        return rc;
    if (change->has_name)
        rc = clusters_change_hx_name(c, change->name, hx, err);
    if (!rc && change->has_address)
        rc = str_replace(&hx->address, change->address, err);
    return rc;
}

static void describe_text(const char *what, const char *before, const char *after, struct strbuf *out) {
    if (!str_eq(before, after))
        strbuf_addf(out, "%s%s: %s -> %s", out->len ? "; " : "", what, before ? before : "none", after ? after : "none");
}

static int change_hx_once(struct clusters *c, const char *id, int64_t version_no, const struct clusters_hx_change *change,
                          const struct audit_record *audit, struct err *err) {
    struct hx_cluster *hx = NULL;
    _cleanup_free_ char *name = NULL, *address = NULL;
    _cleanup_strbuf_ struct strbuf reason;
    struct audit_record told = *audit;
    int64_t next = 0;
    strbuf_init(&reason, REASON_BYTES_MAX);
    int rc = platform_store_load_hx(c->options.runtime->store, id, &hx, err);
    if (!rc && version_no && hx->version_no != version_no)
        rc = clusters_precondition(err);
    if (!rc) {
        name = str_dup(hx->name);
        address = str_dup(hx->address);
        rc = apply_hx(c, change, hx, err);
    }
    if (!rc) {
        describe_text("name", name, hx->name, &reason);
        describe_text("management_address", address, hx->address, &reason);
        told.event.object_name = hx->name;
        told.event.reason = reason.len ? reason.data : NULL;
        rc = platform_store_update_hx(c->options.runtime->store, hx, &told, &next, err);
    }
    hx_cluster_free(hx);
    return rc;
}

int clusters_change_hx(struct clusters *c, const struct actor *actor, const char *id, int64_t version_no,
                       const struct clusters_hx_change *change, struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "hx_cluster.change", .object_kind = "hx_cluster", .object_id = id});
    struct err why = {0};
    unsigned attempt = 0;
    int rc;
    do
        rc = change_hx_once(c, id, version_no, change, &line, &why);
    while (clusters_try_again(&rc, version_no, ++attempt, &why));
    return clusters_finish(c, &line, err_move(err, rc, &why), err);
}

/* -- many cluster records at once: adding and changing them -------------------------------------------------------- */

#define LINES_PER_TX 100U /* rows locked at once, and what a replica reads anew in one go */

int clusters_load(struct clusters *c, const char *id, struct cluster **out, struct err *err) {
    return cluster_store_load(c->options.runtime->store, id, out, err);
}

static bool clusters_is_to_write(const struct clusters_line *line) {
    return line->record && !line->err.code && !line->is_unchanged && !line->is_written;
}

static int prepare_record(struct clusters_line *line, struct err *err) {
    struct cluster *record = line->record;
    char id[UUID_TEXT_BYTES];
    record->updated_at_ms = clock_wall_ms();
    if (!line->is_change)
        name_record(record, id);
    return record->id ? cluster_check(record, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* Looks at all of them before anything is written; true if one cannot be. */
static bool prepare_lines(struct clusters_lines *lines) {
    bool has_error = false;
    for (size_t i = 0; i < lines->count; i++) {
        struct clusters_line *line = &lines->items[i];
        if (clusters_is_to_write(line))
            (void)prepare_record(line, &line->err);
        has_error |= line->err.code != 0;
    }
    return has_error;
}

/* What one transaction writes. */
struct chunk {
    struct clusters_line **lines;
    struct cluster_batch_item *items;
    size_t count;
    size_t added, nodes; /* new clusters, and nodes of all */
};

static void clusters_add_item(struct chunk *chunk, const struct actor *actor, struct clusters_line *line) {
    const struct audit_event what = {.action = line->is_change ? "cluster.change" : "cluster.create",
                                     .object_kind = "cluster",
                                     .object_id = line->record->id,
                                     .object_name = line->record->name};
    chunk->items[chunk->count] = (struct cluster_batch_item){
        .cluster = line->record, .parts = line->parts, .is_change = line->is_change, .audit = audit_record_make(actor, &what)};
    chunk->lines[chunk->count++] = line;
    chunk->added += !line->is_change;
    chunk->nodes += line->record->nodes_count;
}

/* True: go on with the lines behind it. */
static bool take_outcome(const struct chunk *chunk, bool is_atomic) {
    bool has_error = false, is_full = false;
    for (size_t i = 0; i < chunk->count; i++)
        has_error |= chunk->items[i].err.code != 0;
    for (size_t i = 0; i < chunk->count; i++) {
        struct clusters_line *line = chunk->lines[i];
        line->err = chunk->items[i].err;
        line->is_written = !line->err.code && !chunk->items[i].is_skipped && !(is_atomic && has_error);
        is_full |= line->err.code == ERR_INVENTORY_FULL;
        if (line->err.code == ERR_EXISTS)
            (void)err_remedy(&line->err, "choose another name, or import with update");
    }
    return !is_full;
}

/* *goes_on: lines behind these may be written, too. */
static int write_chunk(struct clusters *c, struct chunk *chunk, bool is_atomic, bool *goes_on, struct err *err) {
    const struct cluster_batch batch = {.items = chunk->items,
                                        .count = chunk->count,
                                        .is_atomic = is_atomic,
                                        .room = clusters_room(c, chunk->added, chunk->nodes)};
    int rc = chunk->count ? cluster_store_write_batch(c->options.runtime->store, &batch, err) : 0;
    if (rc || !chunk->count)
        return rc;
    *goes_on = take_outcome(chunk, is_atomic);
    runtime_note_written(c->options.runtime);
    return 0;
}

/* After the first chunk an error belongs to the lines that were not tried. */
static void set_rest(struct clusters_lines *lines, size_t from, const struct err *why) {
    for (size_t i = from; i < lines->count; i++)
        if (clusters_is_to_write(&lines->items[i]))
            lines->items[i].err = *why;
}

static int write_chunks(struct clusters *c, const struct actor *actor, struct clusters_lines *lines, struct chunk *chunk,
                        struct err *err) {
    const size_t most = lines->is_atomic ? lines->count : LINES_PER_TX;
    bool goes_on = true;
    for (size_t at = 0, first = 0; goes_on && at < lines->count; first = at) {
        struct err why = {0};
        chunk->count = chunk->added = chunk->nodes = 0;
        for (; at < lines->count && chunk->count < most; at++)
            if (clusters_is_to_write(&lines->items[at]))
                clusters_add_item(chunk, actor, &lines->items[at]);
        if (lines->is_given_up && lines->is_given_up(lines->arg))
            (void)err_set(&why, ERR_CANCELED, "nobody waited for it any more");
        else
            (void)write_chunk(c, chunk, lines->is_atomic, &goes_on, &why);
        if (why.code && first == 0)
            return err_move(err, why.code, &why);
        if (why.code) {
            set_rest(lines, first, &why);
            return 0;
        }
    }
    return 0;
}

int clusters_write_lines(struct clusters *c, const struct actor *actor, struct clusters_lines *lines, struct err *err) {
    const size_t most = lines->is_atomic ? lines->count : LINES_PER_TX;
    struct chunk chunk = {.lines = calloc(most + 1, sizeof(struct clusters_line *)),
                          .items = calloc(most + 1, sizeof(struct cluster_batch_item))};
    const bool has_error = prepare_lines(lines);
    int rc = 0;
    if (!chunk.lines || !chunk.items)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    else if (!lines->is_atomic || !has_error)
        rc = write_chunks(c, actor, lines, &chunk, err);
    free(chunk.lines);
    free(chunk.items);
    return rc;
}
