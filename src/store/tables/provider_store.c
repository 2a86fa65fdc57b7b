/* Providers: where clusters may be built. Layer 2 (store). SPDX-License-Identifier: GPL-3.0-or-later */
#include "provider_store.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "names.h"
#include "record_tx.h"
#include "str.h"

#define JSON_BYTES_MAX (4U * PROVIDER_BYTES_MAX)

/* A row: of a provider its JSON. */
struct provider_row {
    char *id, *name, *vcenter_id;
    char *document, *places;
    int64_t created_at_ms, updated_at_ms, version_no;
};
static const struct member provider_members[] = {
    MEMBER(provider_row, id, .flags = MEMBER_KEY),
    MEMBER(provider_row, name),
    MEMBER(provider_row, vcenter_id, .flags = MEMBER_LOWER),
    MEMBER(provider_row, document),
    MEMBER(provider_row, places),
    MEMBER(provider_row, created_at_ms, .flags = MEMBER_FIXED),
    MEMBER(provider_row, updated_at_ms),
    MEMBER(provider_row, version_no, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
static const struct db_table provider_table = {
    .name = "providers", .noun = "provider", .members = provider_members, .bytes = sizeof(struct provider_row)};

static void provider_row_done(struct provider_row *row) {
    members_done(provider_members, row, sizeof(*row));
}

DB_LIST_DEFINE(provider_list, provider_done);

/* -- reading --------------------------------------------------------------------------------------------------------------- */

static int provider_read_row(const struct provider_row *row, struct provider *out, struct err *err) {
    _cleanup_json_ json_t *document = NULL, *places = NULL;
    struct err why = {0};
    int rc = json_parse(row->document, strlen(row->document), &document, &why);
    rc = rc ? rc : json_parse(row->places, strlen(row->places), &places, &why);
    rc = rc ? rc : provider_read(document, out, NULL, &why);
    rc = rc ? rc : provider_take_places(places, out, &why);
    rc = rc ? rc : str_replace(&out->id, row->id, &why);
    rc = rc ? rc : str_replace(&out->vcenter_id, row->vcenter_id, &why);
    if (rc) {
        provider_done(out);
        return rc == ERR_NOMEM
                   ? err_move(err, rc, &why)
                   : err_set(err, ERR_SCHEMA, "the provider %s in the database is not readable: %s", row->name, why.text);
    }
    out->created_at_ms = row->created_at_ms;
    out->updated_at_ms = row->updated_at_ms;
    out->version_no = row->version_no;
    return 0;
}

int provider_store_list(struct store *store, struct provider_list *out, struct err *err) {
    struct provider_row *rows = NULL;
    struct provider_list list = {0};
    size_t count = 0;
    int rc = db_table_list(store, &provider_table, " ORDER BY name", DB_ARGS_NONE, &rows, &count, err);
    if (rc)
        return rc;
    list.items = calloc(count + 1, sizeof(*list.items));
    rc = list.items ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < count; i++)
        rc = provider_read_row(&rows[i], &list.items[list.count++], err);
    for (size_t i = 0; i < count; i++)
        provider_row_done(&rows[i]);
    free(rows);
    if (rc)
        provider_list_done(&list);
    else
        *out = list;
    return rc;
}

static int provider_load_where(struct store *store, const char *rest, const char *value, struct provider **out, struct err *err) {
    _cleanup_(provider_free) struct provider *found = calloc(1, sizeof(*found));
    struct provider_row *row = NULL;
    int rc = found ? db_table_load(store, &provider_table, rest, DB_ARGS(db_text(value)), &row, err)
                   : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    rc = provider_read_row(row, found, err);
    provider_row_done(row);
    free(row);
    if (!rc)
        *out = STEAL(found);
    return rc;
}

int provider_store_load(struct store *store, const char *id, struct provider **out, struct err *err) {
    return provider_load_where(store, " WHERE id = ?", id, out, err);
}

int provider_store_load_by_name(struct store *store, const char *name, struct provider **out, struct err *err) {
    return provider_load_where(store, " WHERE name = ?", name, out, err);
}

/* -- what it is used for ----------------------------------------------------------------------------------------------------- */

/* A cluster counts from its record on, and so before its first machine. */
static int provider_check_clusters(struct db_conn *conn, const char *id, const char *name, struct err *err) {
    _cleanup_free_ char *cluster = NULL;
    int rc = db_query_row(
        conn, "SELECT MIN(c.name) FROM made_clusters m JOIN clusters c ON c.id = m.cluster_id WHERE m.provider_id = ?",
        DB_ARGS(db_text(id)), DB_INTO(DB_TO(cluster)), NULL, err);
    if (rc || !cluster)
        return rc;
    (void)err_set(err, ERR_CONFLICT, "the cluster \"%s\" was made with the provider %s", cluster, name);
    return err_remedy(err, "delete it first: kaasctl cluster delete %s", name_quote(cluster).text);
}

static int provider_check_machines(struct db_conn *conn, const char *id, const char *name, struct err *err) {
    _cleanup_free_ char *machine = NULL;
    uint64_t machines = 0;
    int rc = db_query_row(conn, "SELECT COUNT(*), MIN(name) FROM machines WHERE provider_id = ?", DB_ARGS(db_text(id)),
                          DB_INTO(DB_TO(machines), DB_TO(machine)), NULL, err);
    if (rc || !machines)
        return rc;
    (void)err_set(err, ERR_CONFLICT, "%llu machines were built by provider %s, one is %.80s", (unsigned long long)machines, name,
                  machine);
    return err_remedy(err, "delete what it built first; see: kaasctl job list");
}

static int provider_check_use(struct db_conn *conn, const struct provider *provider, struct err *err) {
    int rc = provider_check_clusters(conn, provider->id, provider->name, err);
    return rc ? rc : provider_check_machines(conn, provider->id, provider->name, err);
}

static int provider_look_unused(struct store_tx *tx, void *arg, struct err *err) {
    const struct provider *const *provider = arg;
    return provider_check_use(store_tx_conn(tx), *provider, err);
}

int provider_store_check_unused(struct store *store, const struct provider *provider, struct err *err) {
    return store_tx_snapshot(store, provider_look_unused, &provider, err);
}

/* Once nobody can enter a cluster meanwhile. */
static int provider_lock_unused(struct store_tx *tx, const struct record_write *write, struct err *err) {
    int rc = store_tx_lock(tx, PROVIDER_LOCK, err);
    return rc ? rc : provider_check_use(store_tx_conn(tx), write->arg, err);
}

static int provider_lock(struct store_tx *tx, const struct record_write *write, struct err *err) {
    (void)write;
    return store_tx_lock(tx, PROVIDER_LOCK, err);
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

/* Releases `json`. */
static int provider_text(json_t *json, char **out, struct err *err) {
    _cleanup_json_ json_t *value = json;
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, JSON_BYTES_MAX);
    int rc = value ? json_write(value, &text, err) : err_set(err, ERR_NOMEM, "out of memory");
    rc = rc ? rc : strbuf_check(&text, "the provider", err);
    if (!rc)
        *out = strbuf_steal(&text);
    return rc;
}

int provider_store_put(struct store *store, const struct provider *provider, bool is_moved, const struct audit_record *audit,
                       struct err *err) {
    struct provider_row row = {.id = provider->id, /* borrowed, as the next two */
                               .name = provider->name,
                               .vcenter_id = provider->vcenter_id,
                               .created_at_ms = provider->created_at_ms,
                               .updated_at_ms = provider->updated_at_ms,
                               .version_no = provider->version_no};
    const struct record_write write = {.table = &provider_table,
                                       .how = row.version_no ? RECORD_UPDATE : RECORD_INSERT,
                                       .record = &row,
                                       .change = CHANGE_KIND_COUNT,
                                       .audit = audit,
                                       .before = is_moved ? provider_lock_unused : provider_lock,
                                       .arg = provider};
    int rc = provider_text(provider_document(provider), &row.document, err);
    rc = rc ? rc : provider_text(provider_places(provider), &row.places, err);
    rc = rc ? rc : record_store_write(store, &write, err);
    free(row.document);
    free(row.places);
    db_explain(rc, ERR_EXISTS, err, "a provider named %s exists already", provider->name);
    return is_moved ? rc : db_explain(rc, ERR_CONFLICT, err, "the vCenter of provider %s is not there any more", provider->name);
}

int provider_store_delete(struct store *store, const struct provider *provider, int64_t version_no,
                          const struct audit_record *audit, struct err *err) {
    return record_store_write(store,
                              &(struct record_write){.table = &provider_table,
                                                     .how = RECORD_DELETE,
                                                     .key = provider->id,
                                                     .version_no = version_no,
                                                     .change = CHANGE_KIND_COUNT,
                                                     .audit = audit,
                                                     .before = provider_lock_unused,
                                                     .arg = provider},
                              err);
}

struct held_reading {
    const struct provider *provider;
    struct address_ranges found;
};

static int provider_take_held(const struct db_row *row, void *arg, struct err *err) {
    struct held_reading *r = arg;
    uint32_t address;
    if (!address_parse(db_row_text(row, 0), &address))
        return 0;
    struct address_range *to = db_list_add(&r->found.items, &r->found.count, sizeof(*to), err);
    if (!to)
        return ERR_NOMEM;
    *to = (struct address_range){address, address};
    return 0;
}

static int provider_read_held(struct store_tx *tx, void *arg, struct err *err) {
    struct held_reading *r = arg;
    free(r->found.items);
    r->found = (struct address_ranges){0};
    return db_query(store_tx_conn(tx),
                    "SELECT address FROM address_leases WHERE vcenter_id = ? AND network = ? AND owner IS NOT NULL",
                    DB_ARGS(db_text(r->provider->vcenter_id), db_text(r->provider->places[PROVIDER_NETWORK].moref)), "t",
                    provider_take_held, r, err);
}

int provider_store_list_held(struct store *store, const struct provider *provider, struct address_ranges *out, struct err *err) {
    struct held_reading r = {.provider = provider};
    int rc = store_tx_snapshot(store, provider_read_held, &r, err);
    if (rc)
        free(r.found.items);
    else
        *out = r.found;
    return rc;
}
