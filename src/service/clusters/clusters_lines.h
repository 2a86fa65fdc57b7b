/* Many cluster records at once: adding and changing them. Layer 4 (service/clusters).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "clusters.h"

/* One record of many. */
struct clusters_line {
    struct cluster *record; /* NULL: nothing to write. New ones get id and times; owned by the caller */
    unsigned parts;         /* of a change: the lists it replaces (enum cluster_parts, cluster_store.h) */
    bool is_change;         /* of a record that was loaded; else new */
    bool is_unchanged;      /* a change that changes nothing: not written */
    bool is_written;        /* outcome */
    struct err
        err; /* why it was not written; may be set beforehand: then it is not tried. Neither: it was not tried for another line's sake, or since the directory
                was full before it */
};

struct clusters_lines {
    struct clusters_line *items;
    size_t count;
    bool is_atomic;                 /* all of them or none, in one transaction; else in bounded ones, each for itself */
    bool (*is_given_up)(void *arg); /* nobody waits for the outcome any more: ends between two transactions; may be NULL */
    void *arg;
};

/* Writes what can be written; one line of the audit trail for each that was. With is_atomic an error of any line, set beforehand or found, keeps
 * all from being written. The first for which there is no room (ERR_DIRECTORY_FULL) ends it. Blocks. 0 also if lines have errors. Else nothing was written: errors of store.h. */
int clusters_write_lines(struct clusters *clusters, const struct actor *actor, struct clusters_lines *lines, struct err *err);

/* A record as it is stored, for a change by clusters_write_lines; freed by cluster_free. Blocks. ERR_NOT_FOUND. */
int clusters_load(struct clusters *clusters, const char *id, struct cluster **out, struct err *err);
