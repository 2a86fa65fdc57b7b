/* Cluster records and HX cluster attributes: changing them, one or many at once. Layer 3 (inventory). Reading them is the inventory's.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "err.h"
#include "platform.h"
#include "principal.h"
#include "runtime.h"

struct clusters;

struct clusters_options {
    const struct runtime *runtime;
    /* Tells how many clusters and nodes the inventory has; false: not known. If there is plenty of room, writers do not count them in the database. NULL:
     * writers always count. */
    bool (*get_size)(void *arg, size_t *clusters, size_t *nodes);
    void *get_size_arg;
};

int clusters_new(const struct clusters_options *options, struct clusters **out, struct err *err); /* ERR_NOMEM */
void clusters_free(struct clusters *clusters);                                                    /* NULL is allowed */

/* Stores a new record; the caller has filled in everything but id, times and version. *id (37 bytes) gets the new id. Blocks. ERR_EXISTS (name),
 * ERR_CONFLICT (a vSphere cluster is not known), ERR_INVENTORY_FULL, ERR_UNPROCESSABLE, errors of store.h. */
int clusters_create(struct clusters *clusters, const struct actor *actor, struct cluster *record, char id[37], struct err *err);

/* Changes a record in place and sets which lists it replaced (bits of enum cluster_parts, cluster_store.h). May be called more than once. */
typedef int clusters_change_fn(void *arg, struct cluster *record, unsigned *parts, struct err *err);
struct clusters_edit {
    clusters_change_fn *fn;
    void *arg;
    const char *id;
    int64_t version_no; /* 0: whatever it is now */
};

/* Reads the record, calls edit->fn to change it, and writes it. With version_no only if the record still has that version (ERR_PRECONDITION); with 0 this is
 * repeated if somebody else wrote meanwhile. Blocks. ERR_NOT_FOUND, else as clusters_create. */
int clusters_change(struct clusters *clusters, const struct actor *actor, const struct clusters_edit *edit, struct err *err);

/* As clusters_change for the report of a provisioner: `fn` also sets the members reported_... . A report that says what the record says already writes only
 * the time and leaves the version; only changes of the reported state are in the audit log. Blocks. Errors as clusters_change. */
int clusters_report(struct clusters *clusters, const struct actor *actor, const struct clusters_edit *edit, struct err *err);

/* Removes a record; `version_no` as above. Blocks. ERR_NOT_FOUND, ERR_PRECONDITION. */
int clusters_remove(struct clusters *clusters, const struct actor *actor, const char *id, int64_t version_no, struct err *err);

/* Name and address that an administrator sets for an HX cluster. NULL: discovery sets the member again; the flags tell which members change. A name that
 * kaasd reads from HX can be changed in HX only. */
struct clusters_hx_change {
    bool has_name, has_address;
    const char *name, *address;
};
/* Changes name and address of an HX cluster. Blocks. ERR_NOT_FOUND, ERR_PRECONDITION, ERR_UNPROCESSABLE. */
int clusters_change_hx(struct clusters *clusters, const struct actor *actor, const char *id, int64_t version_no,
                       const struct clusters_hx_change *change, struct err *err);

/* -- many cluster records at once: adding and changing them -------------------------------------------------------- */

/* One record of many. */
struct clusters_line {
    size_t number;          /* the caller's own */
    struct cluster *record; /* NULL: nothing to write. New ones get id and times; owned by the caller */
    unsigned parts;         /* of a change: the lists it replaces (enum cluster_parts, cluster_store.h) */
    bool is_change;         /* of a record that was loaded; else new */
    bool is_unchanged;      /* a change that changes nothing: not written */
    bool is_written;        /* outcome */
    /* Why the line was not written; a line with an error set beforehand is not tried. Neither written nor an error: not tried because of another line, or
     * because the inventory was full before it. */
    struct err err;
};

struct clusters_lines {
    struct clusters_line *items;
    size_t count;
    bool is_atomic;                 /* all of them or none, in one transaction; else in bounded ones, each for itself */
    bool (*is_given_up)(void *arg); /* true: nobody waits for the outcome, stop between two transactions; may be NULL */
    void *arg;
};

/* Writes the lines that can be written, each with its line in the audit log. With is_atomic an error of any line, set beforehand or found, keeps all from
 * being written. The first line without room (ERR_INVENTORY_FULL) ends it. Blocks. Returns 0 also if lines have errors; on any other result nothing was
 * written: ERR_CANCELED (is_given_up), ERR_NOMEM, errors of store.h. */
int clusters_write_lines(struct clusters *clusters, const struct actor *actor, struct clusters_lines *lines, struct err *err);

/* Loads a stored record, to change it by clusters_write_lines; freed by cluster_free. Blocks. ERR_NOT_FOUND. */
int clusters_load(struct clusters *clusters, const char *id, struct cluster **out, struct err *err);
