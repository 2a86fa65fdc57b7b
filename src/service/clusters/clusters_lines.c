/* Many cluster records at once: adding and changing them. Layer 4 (service/clusters).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clusters_lines.h"

#include <stdlib.h>

#include "clock.h"
#include "cluster_store.h"
#include "clusters_private.h"
#include "str.h"
#include "uuid.h"

#define LINES_PER_TX 100U /* rows locked at once, and what a replica reads anew in one go */

int clusters_load(struct clusters *c, const char *id, struct cluster **out, struct err *err) {
    return cluster_store_load(c->options.store, id, out, err);
}

static bool is_to_write(const struct clusters_line *line) {
    return line->record && !line->err.code && !line->is_unchanged && !line->is_written;
}

static int prepare_record(struct clusters_line *line, struct err *err) {
    struct cluster *record = line->record;
    char id[UUID_TEXT_BYTES];
    record->updated_at_ms = clock_wall_ms();
    if (!line->is_change) {
        uuid_new(id);
        free(record->id);
        record->id = str_dup(id);
        record->created_at_ms = record->updated_at_ms;
    }
    return record->id ? cluster_check(record, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* Looks at all of them before anything is written; true if one cannot be. */
static bool prepare_lines(struct clusters_lines *lines) {
    bool has_error = false;
    for (size_t i = 0; i < lines->count; i++) {
        struct clusters_line *line = &lines->items[i];
        if (is_to_write(line))
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

static void add_item(struct chunk *chunk, const struct actor *actor, struct clusters_line *line) {
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
        is_full |= line->err.code == ERR_DIRECTORY_FULL;
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
    int rc = chunk->count ? cluster_store_write_batch(c->options.store, &batch, err) : 0;
    if (rc || !chunk->count)
        return rc;
    *goes_on = take_outcome(chunk, is_atomic);
    if (c->options.on_written)
        c->options.on_written(c->options.on_written_arg);
    return 0;
}

/* After the first chunk an error belongs to the lines that were not tried. */
static void set_rest(struct clusters_lines *lines, size_t from, const struct err *why) {
    for (size_t i = from; i < lines->count; i++)
        if (is_to_write(&lines->items[i]))
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
            if (is_to_write(&lines->items[at]))
                add_item(chunk, actor, &lines->items[at]);
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
