/* What the vCenters show of nodes: whom a watch should look for. Saving what it saw is observation_save.c. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "observation_store.h"

#include <stdlib.h>

#include "db_stmt.h"
#include "store_tx.h"

void node_target_list_done(struct node_target_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        node_target_done(&list->items[i]);
    free(list->items);
    *list = (struct node_target_list){0};
}

static int add_target(const struct db_row *row, void *arg, struct err *err) {
    struct node_target_list *list = arg;
    void *items = list->items;
    struct node_target *t = db_list_add(&items, &list->count, sizeof(*t));
    list->items = items;
    if (!t)
        return err_set(err, ERR_NOMEM, "out of memory");
    t->cluster_id = db_row_dup(row, 0);
    t->node_id = db_row_dup(row, 1);
    t->node_name = db_row_dup(row, 2);
    t->vm_name = db_row_dup(row, 3);
    t->vm_instance_uuid = db_row_dup(row, 4);
    t->vm_bios_uuid = db_row_dup(row, 5);
    t->vcenter_id = db_row_dup(row, 6);
    return 0;
}

struct observation_load {
    const char *vcenter_id;
    const char *cluster_id; /* NULL: of all clusters */
    struct node_target_list list;
};

#define SELECT_TARGETS                                                                                            \
    "SELECT n.cluster_id, n.id, n.name, COALESCE(n.vm_name, n.name), COALESCE(n.vm_instance_uuid, o.bound_uuid)," \
    " n.vm_bios_uuid, COALESCE(n.vcenter_id, IF(o.bound_uuid IS NULL, NULL, o.vcenter_id))"                       \
    " FROM nodes n LEFT JOIN node_observations o ON o.node_id = n.id"                                             \
    " WHERE (n.vcenter_id = ? OR (n.vcenter_id IS NULL AND o.bound_uuid IS NOT NULL AND o.vcenter_id = ?)"        \
    " OR (n.vcenter_id IS NULL AND o.bound_uuid IS NULL AND"                                                      \
    " (EXISTS (SELECT 1 FROM cluster_placements p WHERE p.cluster_id = n.cluster_id AND p.vcenter_id = ?)"        \
    " OR NOT EXISTS (SELECT 1 FROM cluster_placements p WHERE p.cluster_id = n.cluster_id))))"
#define ORDER_TARGETS " ORDER BY n.id"

static int observation_load_targets(struct db_conn *conn, void *arg, struct err *err) {
    struct observation_load *call = arg;
    struct db_query all = {.sql = SELECT_TARGETS ORDER_TARGETS,
                           .args = DB_ARGS(db_text(call->vcenter_id), db_text(call->vcenter_id), db_text(call->vcenter_id)),
                           .columns = "ttttttt",
                           .row = add_target,
                           .arg = &call->list};
    struct db_query some = {.sql = SELECT_TARGETS " AND n.cluster_id = ?" ORDER_TARGETS,
                            .args = DB_ARGS(db_text(call->vcenter_id), db_text(call->vcenter_id), db_text(call->vcenter_id),
                                            db_text(call->cluster_id)),
                            .columns = "ttttttt",
                            .row = add_target,
                            .arg = &call->list};
    node_target_list_done(&call->list);
    return db_query(conn, call->cluster_id ? &some : &all, err);
}

int observation_store_list_cluster_nodes(struct store *store, const char *vcenter_id, const char *cluster_id,
                                         struct node_target_list *out, struct err *err) {
    struct observation_load call = {.vcenter_id = vcenter_id, .cluster_id = cluster_id};
    int rc = store_read(store, observation_load_targets, &call, err);
    if (rc)
        node_target_list_done(&call.list);
    else
        *out = call.list;
    return rc;
}

int observation_store_list_nodes(struct store *store, const char *vcenter_id, struct node_target_list *out, struct err *err) {
    struct observation_load call = {.vcenter_id = vcenter_id};
    int rc = store_read(store, observation_load_targets, &call, err);
    if (rc)
        node_target_list_done(&call.list);
    else
        *out = call.list;
    return rc;
}
