/* What vCenters show of nodes. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "observation_store.h"

#include <stdlib.h>
#include <string.h>

#include "cluster_tx.h"
#include "store_tx.h"
#include "str.h"
#include "uuid.h"

DB_LIST_DEFINE(node_target_list, node_target_done);

/* Of the virtual machine that a node is bound to, as long as it is its own and in the vCenter that has the say. */
#define BOUND_THERE(column)                                                                                                  \
    "IF(o.bound_uuid IS NULL OR o.vm_match IN ('none', 'mismatch') OR o.vcenter_id <> COALESCE(n.vcenter_id, o.vcenter_id)," \
    " NULL, " column ")"

/* Of "vsphere://UUID", as the cloud provider and Cluster API for vSphere set it (kubernetes/cloud-provider-vsphere); other schemes name no machine of a vCenter. */
#define PROVIDER_UUID "IF(LEFT(k.provider_id, 10) = 'vsphere://', SUBSTRING(k.provider_id, 11), NULL)"

static const struct member target_members[] = {
    MEMBER_AS(node_target, cluster_id, "n.cluster_id", NULL),
    MEMBER_AS(node_target, node_id, "n.id", NULL),
    MEMBER_AS(node_target, node_name, "n.name", NULL),
    MEMBER_AS(node_target, vm_name, "COALESCE(n.vm_name, n.name)", NULL),
    MEMBER_AS(node_target, vm_instance_uuid, "COALESCE(n.vm_instance_uuid, o.bound_uuid)", NULL),
    MEMBER_AS(node_target, vm_bios_uuid, "n.vm_bios_uuid", NULL),
    MEMBER_AS(node_target, provider_uuid, PROVIDER_UUID, NULL),
    MEMBER_AS(node_target, system_uuid, "k.system_uuid", NULL),
    MEMBER_AS(node_target, vcenter_id, "COALESCE(n.vcenter_id, IF(o.bound_uuid IS NULL, NULL, o.vcenter_id))", NULL),
    MEMBER_AS(node_target, seen_moref, BOUND_THERE("o.vm_moref"), NULL),
    MEMBER_AS(node_target, seen_name, BOUND_THERE("o.vm_name"), NULL),
    MEMBERS_END,
};
static const struct db_table target_table = {
    .name = "nodes n LEFT JOIN node_observations o ON o.node_id = n.id LEFT JOIN kube_nodes k ON k.node_id = n.id",
    .noun = "node",
    .members = target_members,
    .bytes = sizeof(struct node_target)};

int observation_store_list_cluster_nodes(struct store *store, const char *vcenter_id, const char *cluster_id,
                                         struct node_target_list *out, struct err *err) {
    const struct db_arg vcenter = db_text(vcenter_id), cluster = db_text(cluster_id);
    /* the server drops the last condition where no cluster is named */
    return db_table_list(store, &target_table,
                         " WHERE (n.vcenter_id = ? OR (n.vcenter_id IS NULL AND o.bound_uuid IS NOT NULL AND o.vcenter_id = ?)"
                         " OR (n.vcenter_id IS NULL AND o.bound_uuid IS NULL AND"
                         " (EXISTS (SELECT 1 FROM cluster_placements p WHERE p.cluster_id = n.cluster_id AND p.vcenter_id = ?)"
                         " OR NOT EXISTS (SELECT 1 FROM cluster_placements p WHERE p.cluster_id = n.cluster_id))))"
                         " AND (? IS NULL OR n.cluster_id = ?) ORDER BY n.id",
                         DB_ARGS(vcenter, vcenter, vcenter, cluster, cluster), &out->items, &out->count, err);
}

int observation_store_list_nodes(struct store *store, const char *vcenter_id, struct node_target_list *out, struct err *err) {
    return observation_store_list_cluster_nodes(store, vcenter_id, NULL, out, err);
}

/* -- what a vCenter shows of nodes: storing what differs, in batches ------------------------- */

/* Each batch is compared with what is stored in a read-only snapshot first; only if something differs it is done again in a transaction
 * that writes. All such transactions pass one lock, so that no two nodes are bound to one virtual machine. */

#define BATCH 1000U

/* A node as stored, with what is stored of its observation. */
struct known {
    char node_id[UUID_TEXT_BYTES];
    char cluster_id[UUID_TEXT_BYTES];  /* "": the node exists no more */
    char *instance_uuid, *bios_uuid;   /* declared */
    char *provider_uuid, *system_uuid; /* as Kubernetes tells */
    char vcenter_id[UUID_TEXT_BYTES];  /* declared, or "" */
    enum vm_match bound_by;
    bool has_row;
    struct node_observation row;
};

struct known_list {
    struct known *items;
    size_t count;
};

struct observation_saving {
    const struct observation_picture *picture;
    const struct node_observation **told; /* by node id */
    size_t at;                            /* the first of `told` that is not saved yet */
    char after[UUID_TEXT_BYTES];          /* all nodes up to this one are saved */
    bool is_end;                          /* after this batch nothing is left */
    size_t next_at;
    char next_after[UUID_TEXT_BYTES];
    struct store_tx *tx;
    bool is_dry; /* count what differs, write nothing */
    unsigned changed;
};

static void observation_store_known_done(struct known *k) {
    free(k->instance_uuid);
    free(k->bios_uuid);
    free(k->provider_uuid);
    free(k->system_uuid);
    node_observation_done(&k->row);
}

static DB_LIST_DEFINE(known_list, observation_store_known_done);

/* -- reading ------------------------------------------------------------------------------------------------------------ */

#define OBSERVATION_SQL_BYTES_MAX 4096

static int observation_store_add_known(const struct db_row *row, void *arg, struct err *err) {
    struct known_list *list = arg;
    struct known *k = db_list_add(&list->items, &list->count, sizeof(*k), err);
    size_t at = 8;
    if (!k)
        return ERR_NOMEM;
    db_row_copy(row, 0, k->node_id, sizeof(k->node_id));
    db_row_copy(row, 1, k->cluster_id, sizeof(k->cluster_id));
    k->instance_uuid = db_row_dup(row, 2);
    k->bios_uuid = db_row_dup(row, 3);
    db_row_copy(row, 4, k->vcenter_id, sizeof(k->vcenter_id));
    if (!vm_match_parse(db_row_text(row, 5), &k->bound_by))
        k->bound_by = VM_MATCH_NAME;
    k->provider_uuid = db_row_dup(row, 6);
    k->system_uuid = db_row_dup(row, 7);
    int rc = db_members_read(row, &at, &observation_table, false, &k->row, err);
    k->has_row = k->row.node_id != NULL;
    if (!k->has_row)
        k->row.node_id = db_row_dup(row, 0);
    return rc;
}

/* `id` is the column of the node's id, `rest` chooses rows of nodes n, their observations o, and what Kubernetes tells, k. */
static int observation_store_load_known(struct observation_saving *call, const char *id, const char *rest, struct db_args args,
                                        struct known_list *out, struct err *err) {
    char kinds[DB_COLUMNS_MAX + 1] = "tttttttt";
    _cleanup_strbuf_ struct strbuf sql;
    strbuf_init(&sql, OBSERVATION_SQL_BYTES_MAX);
    strbuf_addf(&sql,
                "SELECT %s, n.cluster_id, n.vm_instance_uuid, n.vm_bios_uuid, n.vcenter_id, o.bound_by, " PROVIDER_UUID
                ", k.system_uuid, ",
                id);
    db_members_columns(observation_members, "o.", &sql, kinds);
    strbuf_adds(&sql, rest);
    int rc = strbuf_check(&sql, "a statement", err);
    return rc ? rc : db_query(store_tx_conn(call->tx), sql.data, args, kinds, observation_store_add_known, out, err);
}

/* The next rows of this vCenter, up to one batch. */
static int observation_load_rows(struct observation_saving *call, struct known_list *out, struct err *err) {
    return observation_store_load_known(call, "o.node_id",
                                        " FROM node_observations o LEFT JOIN nodes n ON n.id = o.node_id"
                                        " LEFT JOIN kube_nodes k ON k.node_id = o.node_id"
                                        " WHERE o.vcenter_id = ? AND o.node_id > ? ORDER BY o.node_id LIMIT ?",
                                        DB_ARGS(db_text(call->picture->vcenter_id), db_text(call->after), db_number(BATCH)), out,
                                        err);
}

/* One node with its row, of whichever vCenter; none if there is no such node. */
static int load_node(struct observation_saving *call, const char *node_id, struct known_list *out, struct err *err) {
    return observation_store_load_known(call, "n.id",
                                        " FROM nodes n LEFT JOIN node_observations o ON o.node_id = n.id"
                                        " LEFT JOIN kube_nodes k ON k.node_id = n.id WHERE n.id = ?",
                                        DB_ARGS(db_text(node_id)), out, err);
}

/* -- writing ------------------------------------------------------------------------------------------------------------ */

static int observation_note(struct observation_saving *call, const char *cluster_id, struct err *err) {
    return *cluster_id ? store_tx_note_change(call->tx, CHANGE_CLUSTER, cluster_id, err) : 0;
}

static int observation_remove_row(struct observation_saving *call, const struct known *k, struct err *err) {
    int rc;
    call->changed++;
    if (call->is_dry)
        return 0;
    rc = db_run(store_tx_conn(call->tx), "DELETE FROM node_observations WHERE node_id = ?", DB_ARGS(db_text(k->node_id)), NULL,
                err);
    return rc ? rc : observation_note(call, k->cluster_id, err);
}

/* A node whose declared virtual machine this is takes it from one that was bound to it by a weaker match. */
static int observation_release(struct observation_saving *call, const struct known *k, const char *uuid, struct err *err) {
    const struct db_args args = DB_ARGS(db_text(call->picture->vcenter_id), db_text(uuid), db_text(k->node_id));
    int rc = store_tx_note_rows(call->tx, CHANGE_CLUSTER,
                                "SELECT n.cluster_id FROM node_observations o JOIN nodes n ON n.id = o.node_id"
                                " WHERE o.vcenter_id = ? AND o.bound_uuid = LOWER(?) AND o.node_id <> ?",
                                args, err);
    return rc ? rc
              : db_run(store_tx_conn(call->tx),
                       "UPDATE node_observations SET bound_uuid = NULL, bound_by = NULL, vm_match = 'mismatch'"
                       " WHERE vcenter_id = ? AND bound_uuid = LOWER(?) AND node_id <> ?",
                       args, NULL, err);
}

static int observation_write_row(struct observation_saving *call, const struct known *k, const struct node_observation *o,
                                 enum vm_match bound_by, struct err *err) {
    struct db_conn *conn = store_tx_conn(call->tx);
    struct node_observation row = *o;
    int rc = 0;
    row.vcenter_id = (char *)(uintptr_t)call->picture->vcenter_id; /* only looked at */
    row.observed_at_ms = call->picture->now_ms;
    if (k->row.vcenter_id) /* there is a row, of this vCenter or of one that gives way */
        rc = db_run(conn, "DELETE FROM node_observations WHERE node_id = ?", DB_ARGS(db_text(k->node_id)), NULL, err);
    if (!rc) {
        const char *const names[] = {NULL}; /* they are cut where they are too long */
        struct err why = {0};
        rc = db_table_insert(conn, &observation_table, &row,
                             DB_MORE({"bound_by", db_text(o->bound_uuid ? vm_match_name(bound_by) : NULL), NULL}), &why);
        if (rc)
            rc = err_move(err, refused_rows_note(call->picture->refused, row.vm_moref ? row.vm_moref : "", names, &why), &why);
    }
    return rc ? rc : observation_note(call, k->cluster_id, err);
}

/* -- deciding ----------------------------------------------------------------------------------------------------------- */

static char *uuid_or_null(char *text) {
    return uuid_is_valid(text) ? text : NULL;
}

/* What is to be stored, with borrowed texts. */
struct verdict {
    struct node_observation row;
    enum vm_match bound_by;
    bool is_new_binding;
};

static void observation_decide(const struct known *k, const struct node_observation *told, struct verdict *out) {
    const bool has_bound = k->has_row && k->row.bound_uuid;
    const struct node_identity identity = {
        .declared_instance_uuid = k->instance_uuid,
        .declared_bios_uuid = k->bios_uuid,
        .provider_uuid = k->provider_uuid,
        .system_uuid = k->system_uuid,
        .bound_uuid = has_bound ? k->row.bound_uuid : NULL,
        .bound_by = k->bound_by,
    };
    enum vm_match match = observation_judge(&identity, told);
    memset(out, 0, sizeof(*out));
    if (match != VM_MATCH_NONE)
        out->row = *told;
    out->row.match = match;
    out->row.instance_uuid = uuid_or_null(out->row.instance_uuid);
    out->row.bios_uuid = uuid_or_null(out->row.bios_uuid);
    out->row.node_id = k->row.node_id;
    out->row.bound_uuid = has_bound ? k->row.bound_uuid : NULL;
    out->bound_by = k->bound_by;
    const bool is_own = match == VM_MATCH_INSTANCE_UUID || match == VM_MATCH_BIOS_UUID || match == VM_MATCH_NAME;
    if (!is_own || !out->row.instance_uuid)
        return;
    out->is_new_binding = !has_bound || !str_eq_nocase(k->row.bound_uuid, out->row.instance_uuid);
    out->row.bound_uuid = out->row.instance_uuid;
    out->bound_by = match;
}

/* Does another node have this virtual machine by right? For one that declares it only another that is bound to it and declares it, too, counts. The row of
 * a node that is gone is nobody's: a save under way while its cluster is removed leaves one, which goes with the next complete picture. */
static int look_for_owner(struct observation_saving *call, const struct verdict *v, const char *node_id, int64_t *owners,
                          struct err *err) {
    const struct db_arg vcenter = db_text(call->picture->vcenter_id), uuid = db_text(v->row.bound_uuid), node = db_text(node_id);
    if (v->row.match == VM_MATCH_INSTANCE_UUID)
        return db_query_number(store_tx_conn(call->tx),
                               "SELECT COUNT(*) FROM node_observations o JOIN nodes n ON n.id = o.node_id WHERE o.vcenter_id = ?"
                               " AND o.bound_uuid = LOWER(?) AND o.node_id <> ? AND LOWER(n.vm_instance_uuid) = o.bound_uuid",
                               DB_ARGS(vcenter, uuid, node), owners, err);
    return db_query_number(store_tx_conn(call->tx),
                           "SELECT (SELECT COUNT(*) FROM node_observations o JOIN nodes n ON n.id = o.node_id"
                           " WHERE o.vcenter_id = ? AND o.bound_uuid = LOWER(?) AND o.node_id <> ?)"
                           " + (SELECT COUNT(*) FROM nodes WHERE vcenter_id = ? AND vm_instance_uuid = LOWER(?) AND id <> ?)",
                           DB_ARGS(vcenter, uuid, node, vcenter, uuid, node), owners, err);
}

/* A new binding must not take what is another's; only a declared instance UUID goes before a binding. */
static int settle_binding(struct observation_saving *call, const struct known *k, struct verdict *v, struct err *err) {
    int64_t owners = 0;
    int rc = v->is_new_binding ? look_for_owner(call, v, k->node_id, &owners, err) : 0;
    if (rc || !v->is_new_binding)
        return rc;
    if (owners) {
        v->row.match = VM_MATCH_MISMATCH;
        v->row.bound_uuid = k->has_row ? k->row.bound_uuid : NULL;
        v->bound_by = k->bound_by;
        return 0;
    }
    if (call->is_dry)
        return 0;
    if (v->row.match == VM_MATCH_INSTANCE_UUID)
        return observation_release(call, k, v->row.bound_uuid, err);
    /* what a node that is gone has left behind gives way: a virtual machine is bound once */
    return db_run(store_tx_conn(call->tx),
                  "DELETE o FROM node_observations o LEFT JOIN nodes n ON n.id = o.node_id"
                  " WHERE o.vcenter_id = ? AND o.bound_uuid = LOWER(?) AND n.id IS NULL",
                  DB_ARGS(db_text(call->picture->vcenter_id), db_text(v->row.bound_uuid)), NULL, err);
}

static bool is_stored(const struct known *k, const struct verdict *v) {
    return k->has_row && node_observation_same(&k->row, &v->row) && str_eq_nocase(k->row.bound_uuid, v->row.bound_uuid) &&
           (!v->row.bound_uuid || k->bound_by == v->bound_by);
}

/* Does another vCenter have the say about this node? */
static bool is_of_another(const struct observation_saving *call, const struct known *k) {
    if (*k->vcenter_id)
        return !str_eq(k->vcenter_id, call->picture->vcenter_id);
    return k->has_row && k->row.bound_uuid && !str_eq(k->row.vcenter_id, call->picture->vcenter_id);
}

static int observation_settle(struct observation_saving *call, struct known *k, const struct node_observation *told,
                              struct err *err) {
    const struct node_observation none = {.match = VM_MATCH_NONE};
    const bool is_here = k->has_row && str_eq(k->row.vcenter_id, call->picture->vcenter_id);
    struct verdict v;
    int rc;
    if (!*k->cluster_id || is_of_another(call, k))
        return is_here ? observation_remove_row(call, k, err) : 0;
    if (!told && !is_here)
        return 0;
    k->has_row = is_here; /* an unbound row of another vCenter gives way */
    observation_decide(k, told ? told : &none, &v);
    rc = settle_binding(call, k, &v, err);
    if (rc || is_stored(k, &v))
        return rc;
    if (v.row.match == VM_MATCH_NONE && !v.row.bound_uuid)
        return k->has_row ? observation_remove_row(call, k, err) : 0;
    call->changed++;
    return call->is_dry ? 0 : observation_write_row(call, k, &v.row, v.bound_by, err);
}

/* A node that is told and has no row of this vCenter. */
static int settle_told(struct observation_saving *call, const struct node_observation *told, struct err *err) {
    struct known_list found = {0};
    int rc = load_node(call, told->node_id, &found, err);
    if (!rc && found.count)
        rc = observation_settle(call, &found.items[0], told, err);
    known_list_done(&found);
    return rc;
}

/* -- one batch ---------------------------------------------------------------------------------------------------------- */

/* The last node of a batch: where the told ones or the stored ones reach their limit first; NULL: both end. */
static const char *observation_find_end(const struct observation_saving *call, const struct known_list *rows) {
    const char *told = call->picture->count - call->at > BATCH ? call->told[call->at + BATCH - 1]->node_id : NULL;
    const char *stored = rows->count == BATCH ? rows->items[BATCH - 1].node_id : NULL;
    if (!told || !stored)
        return told ? told : stored;
    return strcmp(told, stored) < 0 ? told : stored;
}

/* The comparison alone need not go on once it has found a difference. */
static bool is_decided(const struct observation_saving *call) {
    return call->is_dry && call->changed;
}

/* Both lists are in order of the node's id: walks them side by side. */
static int observation_merge(struct observation_saving *call, struct known_list *rows, const char *end, struct err *err) {
    size_t row = 0, told = call->at;
    int rc = 0;
    while (!rc && !is_decided(call)) {
        struct known *k = row < rows->count && (!end || strcmp(rows->items[row].node_id, end) <= 0) ? &rows->items[row] : NULL;
        const struct node_observation *o = told < call->picture->count ? call->told[told] : NULL;
        if (o && end && strcmp(o->node_id, end) > 0)
            o = NULL;
        if (!k && !o)
            break;
        const int order = !o ? -1 : !k ? 1 : strcmp(k->node_id, o->node_id);
        rc = order > 0 ? settle_told(call, o, err) : observation_settle(call, k, order ? NULL : o, err);
        row += order <= 0;
        told += order >= 0;
    }
    call->next_at = told;
    return rc;
}

static int observation_store_save_complete(struct observation_saving *call, struct err *err) {
    struct known_list rows = {0};
    int rc = observation_load_rows(call, &rows, err);
    const char *end = rc ? NULL : observation_find_end(call, &rows);
    if (!rc)
        rc = observation_merge(call, &rows, end, err);
    call->is_end = !end;
    (void)snprintf(call->next_after, sizeof(call->next_after), "%s", end ? end : "");
    known_list_done(&rows);
    return rc;
}

static int save_told(struct observation_saving *call, struct err *err) {
    size_t end = call->picture->count - call->at > BATCH ? call->at + BATCH : call->picture->count;
    int rc = 0;
    for (size_t i = call->at; i < end && !rc && !is_decided(call); i++)
        rc = settle_told(call, call->told[i], err);
    call->next_at = end;
    call->is_end = end == call->picture->count;
    return rc;
}

static int observation_run_batch(struct store_tx *tx, void *arg, struct err *err) {
    struct observation_saving *call = arg;
    int rc = call->is_dry ? 0 : store_tx_lock(tx, "observations", err);
    call->tx = tx;
    call->changed = 0;
    if (rc)
        return rc;
    return call->picture->is_complete ? observation_store_save_complete(call, err) : save_told(call, err);
}

static int save_batch(struct store *store, struct observation_saving *call, struct err *err) {
    int rc;
    call->is_dry = true;
    rc = store_tx_snapshot(store, observation_run_batch, call, err);
    call->is_dry = false;
    return rc || !call->changed ? rc : store_tx(store, observation_run_batch, call, err);
}

/* -- all of it ---------------------------------------------------------------------------------------------------------- */

static int observation_check_vcenter(struct db_conn *conn, void *arg, struct err *err) {
    return db_table_check(conn, &vcenter_table, arg, err);
}

static int compare_told(const void *a, const void *b) {
    return strcmp((*(const struct node_observation *const *)a)->node_id, (*(const struct node_observation *const *)b)->node_id);
}

static int sort_told(struct observation_saving *call, struct err *err) {
    const struct observation_picture *p = call->picture;
    call->told = calloc(p->count + 1, sizeof(*call->told));
    if (!call->told)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < p->count; i++) {
        call->told[i] = &p->items[i];
        if (!p->items[i].node_id || p->items[i].match == VM_MATCH_MISMATCH)
            return err_set(err, ERR_INVALID, "an observation without a node, or with a verdict");
    }
    if (p->count > 1)
        qsort(call->told, p->count, sizeof(*call->told), compare_told);
    for (size_t i = 1; i < p->count; i++)
        if (str_eq(call->told[i]->node_id, call->told[i - 1]->node_id))
            return err_set(err, ERR_INVALID, "the node %s is observed twice", call->told[i]->node_id);
    return 0;
}

int observation_store_save(struct store *store, const struct observation_picture *picture, unsigned *changed, struct err *err) {
    struct observation_saving call = {.picture = picture};
    unsigned total = 0;
    if (picture->refused)
        *picture->refused = (struct refused_rows){0};
    int rc = sort_told(&call, err);
    if (!rc)
        rc = store_read(store, observation_check_vcenter, (void *)(uintptr_t)picture->vcenter_id, err);
    while (!rc && !call.is_end) {
        rc = save_batch(store, &call, err);
        total += call.changed;
        call.at = call.next_at;
        memcpy(call.after, call.next_after, sizeof(call.after));
    }
    free(call.told);
    if (!rc)
        *changed = total;
    return rc;
}
