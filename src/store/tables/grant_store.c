/* Permission grants and role mappings. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "grant_store.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "object_ref.h"
#include "principal.h"
#include "record_tx.h"
#include "str.h"
#include "uuid.h"

#define GRANT_ORDER " ORDER BY principal_id, object_kind, object_id"

static const struct db_table grant_table = {
    .name = "grants", .noun = "grant", .members = grant_members, .bytes = sizeof(struct grant)};

DB_LIST_DEFINE(grant_list, grant_done);

int grant_store_list(struct store *store, struct grant_list *out, struct err *err) {
    return db_table_list(store, &grant_table, GRANT_ORDER, DB_ARGS_NONE, &out->items, &out->count, err);
}

int grant_store_load(struct store *store, const char *id, struct grant *out, struct err *err) {
    _cleanup_free_ void *found = NULL;
    int rc = db_table_load(store, &grant_table, " WHERE id = ?", DB_ARGS(db_text(id)), &found, err);
    if (!rc)
        memcpy(out, found, sizeof(*out));
    return rc;
}

/* The events (event_store.h) about a grant that is stored, just now or still: it was given, or is taken away. They are for each vSphere cluster that it
 * concerns: of a Kubernetes cluster those where it was declared to be, and those where it is. People are called by the names that vCenter, or an
 * administrator, gave them; of others there is only the id. There are none for a vCenter that events are not made for (event_store_begin). */
#define GRANT_EVENT(name, join)                                                                                              \
    "INSERT IGNORE INTO vcenter_events (id, vcenter_id, moref, kind, name, object_id, principal, role, folded, made_at_ms)"  \
    " SELECT ?, v.id, p.moref, ?, " name ", g.object_id,"                                                                    \
    " COALESCE(u.name, s.name, IF(g.principal_id LIKE 'vc:%', SUBSTRING(g.principal_id, 41), g.principal_id)), g.role, 1, ?" \
    " FROM grants g " join " JOIN vcenters v ON v.id = p.vcenter_id AND v.registered_at_ms > 0 AND v.events_since_ms > 0"    \
    " LEFT JOIN users u ON g.principal_id LIKE 'local:%' AND u.id = SUBSTRING(g.principal_id, 7)"                            \
    " LEFT JOIN service_accounts s ON g.principal_id LIKE 'svc:%' AND s.id = SUBSTRING(g.principal_id, 5) WHERE g.id = ?"

static int grant_add_events(struct store_tx *tx, const char *grant_id, bool is_granted, struct err *err) {
    static const char *const statements[] = {
        GRANT_EVENT("c.name", "JOIN clusters c ON c.id = g.cluster_id JOIN cluster_placements p ON p.cluster_id = c.id"),
        GRANT_EVENT("c.name", "JOIN clusters c ON c.id = g.cluster_id JOIN cluster_places p ON p.cluster_id = c.id"),
        GRANT_EVENT("p.name", "JOIN vsphere_clusters p ON p.vcenter_id = g.vcenter_id AND p.moref = g.moref"),
        GRANT_EVENT("p.name", "JOIN hx_clusters p ON p.id = g.hx_cluster_id"),
    };
    char id[UUID_TEXT_BYTES];
    int rc = 0;
    uuid_new(id);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && !rc; i++)
        rc = db_run(
            store_tx_conn(tx), statements[i],
            DB_ARGS(db_text(id), db_text(is_granted ? "granted" : "withdrawn"), db_number(clock_wall_ms()), db_text(grant_id)),
            NULL, err);
    return rc;
}

static int grant_make_events(struct store_tx *tx, const struct record_write *write, struct err *err) {
    return grant_add_events(tx, db_table_key(&grant_table, write->record), true, err);
}

int grant_store_insert(struct store *store, const struct grant *g, int64_t now_ms, const struct audit_record *audit,
                       struct err *err) {
    const bool is_vsphere = g->object == GRANT_VSPHERE_CLUSTER;
    struct object_ref ref = {.moref = ""};
    struct grant row = *g;
    row.created_at_ms = now_ms;
    int rc = is_vsphere ? grant_vsphere_ref(g->object_id, &ref, err) : 0;
    if (rc)
        return rc;
    const struct record_write write = {
        .table = &grant_table,
        .how = RECORD_INSERT,
        .record = &row,
        .more = DB_MORE({"cluster_id", db_text(g->object == GRANT_CLUSTER ? g->object_id : NULL), NULL},
                        {"vcenter_id", db_text(is_vsphere ? ref.vcenter_id : NULL), NULL},
                        {"moref", db_text(is_vsphere ? ref.moref : NULL), NULL},
                        {"hx_cluster_id", db_text(g->object == GRANT_HX_CLUSTER ? g->object_id : NULL), NULL}),
        .change = CHANGE_GRANT,
        .audit = audit,
        .after = grant_make_events,
    };
    rc = record_store_write(store, &write, err);
    db_explain(rc, ERR_EXISTS, err, "there is a grant for this principal on this object already");
    return db_explain(rc, ERR_CONFLICT, err, "there is no %s \"%s\" to grant on", grant_object_name(g->object), g->object_id);
}

/* -- spellings of one name ------------------------------------------------------------------------------------------ */

/* The spellings of grants beside the wanted one. */
struct grant_spellings {
    const char *wanted;
    char *other; /* one of them */
    size_t count;
    bool is_kept; /* there are grants to the very one */
};

static int grant_add_spelling(const struct db_row *row, void *arg, struct err *err) {
    struct grant_spellings *s = arg;
    const char *stored = db_row_text(row, 0);
    (void)err;
    if (str_eq(stored, s->wanted)) {
        s->is_kept = true;
    } else if (principal_same(stored, s->wanted)) {
        free(s->other);
        s->other = db_row_dup(row, 0);
        s->count++;
    }
    return 0;
}

static int grant_settle_spelling(struct grant_spellings *s, char **principal_id, struct err *err) {
    if (s->is_kept || !s->count)
        return 0;
    if (s->count > 1) {
        (void)err_set(err, ERR_CONFLICT, "there are grants to several spellings of %.200s", s->wanted);
        return err_remedy(err, "see: kaasctl grant list; remove those that are not wanted, or grant to one of the spellings");
    }
    free(*principal_id);
    *principal_id = STEAL(s->other);
    return 0;
}

/* The rest of the name cannot be looked for: what is one name, no collation of the database knows. */
int grant_store_settle_principal(struct store *store, char **principal_id, struct err *err) {
    struct grant_spellings spellings = {.wanted = *principal_id};
    char prefix[PRINCIPAL_VC_PREFIX_BYTES];
    int rc;
    if (!principal_vc_prefix(*principal_id, prefix))
        return 0;
    rc = store_query(store, "SELECT DISTINCT principal_id FROM grants WHERE principal_id LIKE CONCAT(?, '%')",
                     DB_ARGS(db_text(prefix)), "t", grant_add_spelling, &spellings, err);
    if (!rc)
        rc = grant_settle_spelling(&spellings, principal_id, err);
    free(spellings.other);
    return rc;
}

struct grant_removal {
    const char *id;
    const struct audit_record *audit;
};

static int remove_grant(struct store_tx *tx, void *arg, struct err *err) {
    const struct grant_removal *call = arg;
    int rc = grant_add_events(tx, call->id, false, err);
    rc = rc ? rc
            : db_run_one(store_tx_conn(tx), "DELETE FROM grants WHERE id = ?", DB_ARGS(db_text(call->id)),
                         "there is no such grant", err);
    return rc ? rc : record_tx_end(tx, CHANGE_GRANT, call->id, call->audit, err);
}

int grant_store_delete(struct store *store, const char *id, const struct audit_record *audit, struct err *err) {
    struct grant_removal call = {id, audit};
    return store_tx(store, remove_grant, &call, err);
}

/* -- role mappings ------------------------------------------------------------------------------------------------- */

static const struct db_table role_mapping_table = {
    .name = "role_mappings", .noun = "role mapping", .members = role_mapping_members, .bytes = sizeof(struct role_mapping)};

DB_LIST_DEFINE(role_mapping_list, role_mapping_done);

int role_mapping_store_list(struct store *store, struct role_mapping_list *out, struct err *err) {
    return db_table_list(store, &role_mapping_table, " ORDER BY kind, subject_id, privilege", DB_ARGS_NONE, &out->items,
                         &out->count, err);
}

int role_mapping_store_load(struct store *store, const char *id, struct role_mapping *out, struct err *err) {
    _cleanup_free_ void *found = NULL;
    int rc = db_table_load(store, &role_mapping_table, " WHERE id = ?", DB_ARGS(db_text(id)), &found, err);
    if (!rc)
        memcpy(out, found, sizeof(*out));
    return rc;
}

static int role_mapping_check_room(struct store_tx *tx, const struct record_write *write, struct err *err) {
    int64_t count = 0;
    int rc = db_query_number(store_tx_conn(tx), "SELECT COUNT(*) FROM role_mappings", DB_ARGS_NONE, &count, err);
    (void)write;
    if (rc || count < ROLE_MAPPINGS_MAX)
        return rc;
    return err_set(err, ERR_CONFLICT, "there may be no more than %u role mappings", ROLE_MAPPINGS_MAX);
}

int role_mapping_store_insert(struct store *store, const struct role_mapping *m, const struct audit_record *audit,
                              struct err *err) {
    const struct record_write write = {.table = &role_mapping_table,
                                       .how = RECORD_INSERT,
                                       .record = m,
                                       .change = CHANGE_ROLE_MAPPING,
                                       .audit = audit,
                                       .before = role_mapping_check_room};
    int rc = record_store_write(store, &write, err);
    return db_explain(rc, ERR_EXISTS, err, "there is a role mapping for \"%s\" already", m->subject_id);
}

int role_mapping_store_update(struct store *store, const struct role_mapping *m, const struct audit_record *audit,
                              struct err *err) {
    const struct record_write write = {
        .table = &role_mapping_table, .how = RECORD_UPDATE, .record = m, .change = CHANGE_ROLE_MAPPING, .audit = audit};
    return record_store_write(store, &write, err);
}

int role_mapping_store_delete(struct store *store, const struct role_mapping_removal *removal, struct err *err) {
    const struct record_write write = {.table = &role_mapping_table,
                                       .how = RECORD_DELETE,
                                       .key = removal->id,
                                       .version_no = removal->version_no,
                                       .change = CHANGE_ROLE_MAPPING,
                                       .audit = removal->audit};
    return record_store_write(store, &write, err);
}
