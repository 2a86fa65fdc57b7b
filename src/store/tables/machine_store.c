/* Machines that are nodes, leases of addresses, folders of clusters. Layer 2 (store). SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db_table.h"
#include "store_tx.h"
#include "str.h"
#include "strbuf.h"

#define POOL_TEXT_BYTES_MAX 400

static const struct db_table machine_table = {
    .name = "machines", .noun = "machine", .members = machine_members, .bytes = sizeof(struct machine)};

/* -- addresses ---------------------------------------------------------------------------------------------------------------- */

/* What nobody may be given, as numbers, in any order. */
struct lease_list {
    uint32_t *items;
    size_t count;
};

static int lease_add_taken(const struct db_row *row, void *arg, struct err *err) {
    struct lease_list *taken = arg;
    uint32_t *address = db_list_add(&taken->items, &taken->count, sizeof(*address), err);
    if (!address)
        return ERR_NOMEM;
    return address_parse(db_row_text(row, 0), address) ? 0 : err_set(err, ERR_SCHEMA, "table address_leases has a bad address");
}

static int lease_compare(const void *a, const void *b) {
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static int lease_list_taken(struct db_conn *conn, const struct address_pool *pool, struct lease_list *taken, struct err *err) {
    *taken = (struct lease_list){0};
    int rc = db_query(conn,
                      "SELECT address FROM address_leases WHERE vcenter_id = ? AND network = ?"
                      " AND (owner IS NOT NULL OR quiet_until_ms > " DB_NOW_MS ")",
                      DB_ARGS(db_text(pool->vcenter_id), db_text(pool->network)), "t", lease_add_taken, taken, err);
    if (taken->count)
        qsort(taken->items, taken->count, sizeof(*taken->items), lease_compare);
    return rc;
}

static bool lease_is_taken(const struct lease_list *taken, uint32_t address) {
    return taken->count && bsearch(&address, taken->items, taken->count, sizeof(address), lease_compare);
}

static int lease_explain_none(const struct address_pool *pool, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    char range[ADDRESS_RANGE_TEXT_BYTES];
    strbuf_init(&text, POOL_TEXT_BYTES_MAX);
    for (size_t i = 0; i < pool->ranges->count; i++) {
        address_range_format(&pool->ranges->items[i], range);
        strbuf_addf(&text, "%s%s", i ? ", " : "", range);
    }
    (void)err_set(err, ERR_CONFLICT, "provider %s has no address left in %.200s", pool->provider,
                  text.len ? text.data : "no range");
    return err_remedy(err,
                      "give it more addresses, or remove machines; an address that was given back is free again after %d minutes",
                      ADDRESS_QUIET_MS / 60000);
}

/* The first that is free. */
static int lease_choose(struct db_conn *conn, const struct address_pool *pool, char out[ADDRESS_TEXT_BYTES], struct err *err) {
    struct lease_list taken;
    uint32_t address = 0;
    uint64_t at = 0;
    bool is_found = false;
    int rc = lease_list_taken(conn, pool, &taken, err);
    while (!rc && !is_found && address_ranges_next(pool->ranges, &at, &address))
        is_found = !lease_is_taken(&taken, address);
    free(taken.items);
    if (rc)
        return rc;
    if (!is_found)
        return lease_explain_none(pool, err);
    address_format(address, out);
    return 0;
}

/* One transaction at a time for a network: what is chosen is what is written. */
static int lease_in_tx(struct store_tx *tx, const struct address_pool *pool, const char *owner, char out[ADDRESS_TEXT_BYTES],
                       struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    const struct db_arg vcenter = db_text(pool->vcenter_id), network = db_text(pool->network);
    int rc = store_tx_lock(tx, "addresses", err);
    out[0] = '\0';
    rc = rc ? rc
            : db_query_row(conn, "SELECT address FROM address_leases WHERE vcenter_id = ? AND network = ? AND owner = ?",
                           DB_ARGS(vcenter, network, db_text(owner)),
                           DB_INTO(((struct db_to){DB_GETS_CHARS, out, ADDRESS_TEXT_BYTES, NULL})), NULL, err);
    if (rc || out[0])
        return rc;
    rc = lease_choose(conn, pool, out, err);
    return rc ? rc
              : db_run(conn,
                       "INSERT INTO address_leases (vcenter_id, network, address, owner, quiet_until_ms) VALUES (?, ?, ?, ?, 0)"
                       " ON DUPLICATE KEY UPDATE owner = VALUES(owner), quiet_until_ms = 0",
                       DB_ARGS(vcenter, network, db_text(out), db_text(owner)), NULL, err);
}

static int lease_give_back(struct db_conn *conn, const char *owner, struct err *err) {
    return db_run(conn, "UPDATE address_leases SET owner = NULL, quiet_until_ms = " DB_NOW_MS " + ? WHERE owner = ?",
                  DB_ARGS(db_number(ADDRESS_QUIET_MS), db_text(owner)), NULL, err);
}

struct leasing {
    const struct address_pool *pool;
    const char *owner;
    char *out;
};

static int lease_only_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct leasing *leasing = arg;
    return lease_in_tx(tx, leasing->pool, leasing->owner, leasing->out, err);
}

int address_store_lease(struct store *store, const struct address_pool *pool, const char *owner, char out[ADDRESS_TEXT_BYTES],
                        struct err *err) {
    struct leasing leasing = {pool, owner, out};
    return store_tx(store, lease_only_in_tx, &leasing, err);
}

int address_store_release(struct store *store, const char *owner, struct err *err) {
    return store_run(store, "UPDATE address_leases SET owner = NULL, quiet_until_ms = " DB_NOW_MS " + ? WHERE owner = ?",
                     DB_ARGS(db_number(ADDRESS_QUIET_MS), db_text(owner)), NULL, err);
}

struct lease_counting {
    const struct address_pool *pool;
    uint64_t free;
};

static int lease_count_free(struct db_conn *conn, void *arg, struct err *err) {
    struct lease_counting *counting = arg;
    struct lease_list taken;
    uint32_t address = 0;
    counting->free = 0;
    int rc = lease_list_taken(conn, counting->pool, &taken, err);
    for (uint64_t at = 0; !rc && address_ranges_next(counting->pool->ranges, &at, &address);)
        counting->free += !lease_is_taken(&taken, address);
    free(taken.items);
    return rc;
}

int address_store_count_free(struct store *store, const struct address_pool *pool, uint64_t *count, struct err *err) {
    struct lease_counting counting = {.pool = pool};
    int rc = store_read(store, lease_count_free, &counting, err);
    *count = counting.free;
    return rc;
}

/* -- machines ---------------------------------------------------------------------------------------------------------------- */

int machine_store_load(struct store *store, const char *id, struct machine **out, struct err *err) {
    return db_table_load(store, &machine_table, " WHERE id = ?", DB_ARGS(db_text(id)), out, err);
}

int machine_store_list(struct store *store, const char *cluster_id, struct machine_list *out, struct err *err) {
    return db_table_list(store, &machine_table, " WHERE cluster_id = ? ORDER BY name", DB_ARGS(db_text(cluster_id)), &out->items,
                         &out->count, err);
}

struct machine_drawing {
    const struct machine *machine;
    const struct address_pool *pool;
};

static int machine_draw_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct machine_drawing *drawing = arg;
    struct db_conn *conn = store_tx_conn(tx);
    struct machine row = *drawing->machine;
    char address[ADDRESS_TEXT_BYTES];
    int64_t met = 0;
    int rc = db_query_number(conn, "SELECT COUNT(*) FROM machines WHERE id = ?", DB_ARGS(db_text(row.id)), &met, err);
    if (rc || met)
        return rc;
    rc = lease_in_tx(tx, drawing->pool, row.id, address, err);
    rc = rc ? rc : db_query_number(conn, "SELECT " DB_NOW_MS, DB_ARGS_NONE, &row.created_at_ms, err);
    row.address = address;
    row.moref = NULL;
    row.state = MACHINE_DRAWN;
    rc = rc ? rc : db_table_insert(conn, &machine_table, &row, DB_MORE_NONE, err);
    return db_explain(rc, ERR_EXISTS, err, "another machine has the name %s, or its UUID", row.name);
}

int machine_store_draw(struct store *store, const struct machine *machine, const struct address_pool *pool, struct err *err) {
    struct machine_drawing drawing = {machine, pool};
    return store_tx(store, machine_draw_in_tx, &drawing, err);
}

static int machine_explain_gone(int rc, uint64_t met, struct err *err) {
    return rc || met ? rc : err_set(err, ERR_NOT_FOUND, "the machine is not there any more, or is another one now");
}

int machine_store_redraw(struct store *store, const char *id, const char *name, const char *instance_uuid, struct err *err) {
    uint64_t met = 0;
    int rc = store_run(store,
                       "UPDATE machines SET name = ?, instance_uuid = ?, moref = NULL, state = 'drawn'"
                       " WHERE id = ? AND state = 'sick'",
                       DB_ARGS(db_text(name), db_text(instance_uuid), db_text(id)), &met, err);
    rc = db_explain(rc, ERR_EXISTS, err, "another machine has the name %s, or its UUID", name);
    return machine_explain_gone(rc, met, err);
}

struct machine_moving {
    const char *id;
    const struct address_pool *pool;
};

static int machine_move_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct machine_moving *moving = arg;
    struct db_conn *conn = store_tx_conn(tx);
    char address[ADDRESS_TEXT_BYTES];
    uint64_t met = 0;
    int rc = lease_give_back(conn, moving->id, err);
    rc = rc ? rc : lease_in_tx(tx, moving->pool, moving->id, address, err);
    rc = rc ? rc
            : db_run(conn, "UPDATE machines SET address = ? WHERE id = ? AND state = 'sick'",
                     DB_ARGS(db_text(address), db_text(moving->id)), &met, err);
    return machine_explain_gone(rc, met, err);
}

int machine_store_move(struct store *store, const char *id, const struct address_pool *pool, struct err *err) {
    struct machine_moving moving = {id, pool};
    return store_tx(store, machine_move_in_tx, &moving, err);
}

int machine_store_set(struct store *store, const struct machine *machine, enum machine_state state, const char *moref,
                      struct err *err) {
    uint64_t met = 0;
    int rc = store_run(
        store, "UPDATE machines SET state = ?, moref = COALESCE(?, moref) WHERE id = ? AND instance_uuid = ?",
        DB_ARGS(db_text(machine_state_words[state]), db_text(moref), db_text(machine->id), db_text(machine->instance_uuid)), &met,
        err);
    return machine_explain_gone(rc, met, err);
}

static int machine_release_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const char *id = arg;
    struct db_conn *conn = store_tx_conn(tx);
    int rc = db_run(conn, "DELETE FROM machines WHERE id = ?", DB_ARGS(db_text(id)), NULL, err);
    return rc ? rc : lease_give_back(conn, id, err);
}

int machine_store_release(struct store *store, const char *id, struct err *err) {
    return store_tx(store, machine_release_in_tx, (char *)(uintptr_t)id, err);
}

/* -- folders ------------------------------------------------------------------------------------------------------------------- */

int machine_store_get_folder(struct store *store, const char *cluster_id, struct machine_folder *out, struct err *err) {
    *out = (struct machine_folder){.moref = ""};
    return store_query_row(store, "SELECT vcenter_id, moref FROM machine_folders WHERE cluster_id = ?",
                           DB_ARGS(db_text(cluster_id)), DB_INTO(DB_TO(out->vcenter_id), DB_TO(out->moref)), NULL, err);
}

int machine_store_set_folder(struct store *store, const char *cluster_id, const char *vcenter_id, const char *moref,
                             struct err *err) {
    if (!moref)
        return store_run(store, "DELETE FROM machine_folders WHERE cluster_id = ?", DB_ARGS(db_text(cluster_id)), NULL, err);
    return store_run(store,
                     "INSERT INTO machine_folders (cluster_id, vcenter_id, moref) VALUES (?, ?, ?)"
                     " ON DUPLICATE KEY UPDATE vcenter_id = VALUES(vcenter_id), moref = VALUES(moref)",
                     DB_ARGS(db_text(cluster_id), db_text(vcenter_id), db_text(moref)), NULL, err);
}
