/* Local users and service accounts. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "user_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "names.h"
#include "record_tx.h"
#include "secret.h"
#include "session_tx.h"
#include "str.h"

static void user_done(void *record) {
    struct user *u = record;
    secret_free(u->password_hash);
    members_done(user_members, u, sizeof(*u));
}

void user_free(struct user *u) {
    if (!u)
        return;
    user_done(u);
    free(u);
}

DB_LIST_DEFINE(user_list, user_done);

static int read_hash(const struct db_row *row, size_t first, void *record, struct err *err) {
    struct user *u = record;
    (void)err;
    u->password_hash = db_row_dup(row, first);
    return 0;
}

static const struct db_table table_without_hash = {
    .name = "users", .noun = "user", .members = user_members, .bytes = sizeof(struct user), .done = user_done};
static const struct db_table user_table = {.name = "users",
                                           .noun = "user",
                                           .members = user_members,
                                           .bytes = sizeof(struct user),
                                           .more = ", password_hash",
                                           .more_kinds = "t",
                                           .read_more = read_hash,
                                           .done = user_done};

int user_store_list(struct store *store, struct user_list *out, struct err *err) {
    return db_table_list(store, &table_without_hash, " ORDER BY name_key", DB_ARGS_NONE, &out->items, &out->count, err);
}

static int user_store_load_by(struct store *store, const char *rest, const char *key, struct user **out, struct err *err) {
    return db_table_load(store, &user_table, rest, DB_ARGS(db_text(key)), out, err);
}

int user_store_load(struct store *store, const char *id, struct user **out, struct err *err) {
    return user_store_load_by(store, " WHERE id = ?", id, out, err);
}

static char *user_make_key(const char *name) {
    char *key = str_dup(name);
    if (key)
        str_lower(key);
    return key;
}

/* The key has the case of letters beyond ASCII, as the release before writes and looks for it. So among the names with such letters the one that is meant is found here. */
#define BEYOND_ASCII "LENGTH(name_key) <> CHAR_LENGTH(name_key)"

struct user *user_list_find(const struct user_list *users, const char *name) {
    struct user *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < users->count; i++) {
        struct user *u = &users->items[i];
        if (str_eq_nocase(u->name, name))
            return u;
        if (name_same(u->name, name)) {
            found = u;
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

static int user_load_beyond_ascii(struct store *store, const char *name, struct user **out, struct err *err) {
    struct user_list users = {0};
    struct user *found = NULL;
    int rc = db_table_list(store, &user_table, " WHERE " BEYOND_ASCII, DB_ARGS_NONE, &users.items, &users.count, err);
    if (!rc)
        found = user_list_find(&users, name);
    if (!rc && !found)
        rc = err_set(err, ERR_NOT_FOUND, "there is no such user");
    *out = rc ? NULL : malloc(sizeof(**out));
    if (*out) {
        **out = *found;
        *found = (struct user){0};
    } else if (!rc) {
        rc = err_set(err, ERR_NOMEM, "out of memory");
    }
    user_list_done(&users);
    return rc;
}

int user_store_load_by_name(struct store *store, const char *name, struct user **out, struct err *err) {
    _cleanup_free_ char *key = user_make_key(name);
    if (!key)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!name_is_ascii(name))
        return user_load_beyond_ascii(store, name, out, err);
    return user_store_load_by(store, " WHERE name_key = ?", key, out, err);
}

/* Does somebody else have the name? What the key cannot tell: two come only one after the other past the lock. */
struct user_namesake {
    const struct user *user;
    bool is_taken, is_kept; /* by somebody else; it was the user's before */
};

static int user_add_namesake(const struct db_row *row, void *arg, struct err *err) {
    struct user_namesake *namesake = arg;
    const char *name = db_row_text(row, 1);
    (void)err;
    if (!str_eq(db_row_text(row, 0), namesake->user->id))
        namesake->is_taken = namesake->is_taken || name_same(name, namesake->user->name);
    else
        namesake->is_kept = str_eq_nocase(name, namesake->user->name);
    return 0;
}

static int user_check_name(struct store_tx *tx, const struct record_write *write, struct err *err) {
    struct user_namesake namesake = {.user = write->record};
    int rc;
    if (name_is_ascii(namesake.user->name))
        return 0;
    rc = store_tx_lock(tx, "users", err);
    if (!rc)
        rc = db_query(store_tx_conn(tx), "SELECT id, name FROM users WHERE " BEYOND_ASCII " FOR UPDATE", DB_ARGS_NONE, "tt",
                      user_add_namesake, &namesake, err);
    return rc || !namesake.is_taken || namesake.is_kept ? rc : err_set(err, ERR_EXISTS, "the name is taken");
}

static int user_taken(int rc, const struct user *u, struct err *err) {
    return db_explain(rc, ERR_EXISTS, err, "a user named \"%s\" exists already", u->name);
}

int user_store_insert(struct store *store, const struct user *u, const struct audit_record *audit, struct err *err) {
    _cleanup_free_ char *key = user_make_key(u->name);
    if (!key)
        return err_set(err, ERR_NOMEM, "out of memory");
    const struct record_write write = {
        .table = &user_table,
        .how = RECORD_INSERT,
        .record = u,
        .more = DB_MORE({"password_hash", db_text(u->password_hash), NULL}, {"name_key", db_text(key), NULL}),
        .change = CHANGE_USER,
        .audit = audit,
        .before = user_check_name,
    };
    return user_taken(record_store_write(store, &write, err), u, err);
}

/* -- the last administrator ------------------------------------------------------------------------------------------------- */

static int user_count(struct store_tx *tx, const char *sql, const char *id, int64_t *out, struct err *err) {
    *out = 0;
    return db_query_number(store_tx_conn(tx), sql, DB_ARGS(db_text(id)), out, err);
}

/* Before this user ceases to be an enabled administrator. Of two such changes at the same time, on whatever node of the database, the
 * second sees what the first did. */
static int keep_an_admin(struct store_tx *tx, const struct record_write *write, struct err *err) {
    const char *id = write->how == RECORD_DELETE ? write->key : db_table_key(write->table, write->record);
    int64_t is_admin = 0, others = 0;
    int rc = store_tx_lock(tx, "users", err);
    if (!rc)
        rc = user_count(tx, "SELECT COUNT(*) FROM users WHERE id = ? AND role = 'admin' AND is_disabled = 0 FOR UPDATE", id,
                        &is_admin, err);
    if (rc || !is_admin)
        return rc;
    rc = user_count(
        tx,
        "SELECT COUNT(*) FROM users WHERE id <> ? AND role = 'admin' AND is_disabled = 0 AND password_hash IS NOT NULL FOR UPDATE",
        id, &others, err);
    if (rc || others)
        return rc;
    (void)err_set(err, ERR_CONFLICT, "this is the last administrator who can sign in");
    return err_remedy(err, "make another user an administrator first");
}

/* -- changing --------------------------------------------------------------------------------------------------------------- */

/* Whose sessions end with a change or a removal, and when. */
struct user_ending {
    const char *principal_id, *kept_sid;
    int64_t now_ms;
};

static int user_end_sessions(struct store_tx *tx, const struct record_write *write, struct err *err) {
    const struct user_ending *ending = write->arg;
    return session_tx_end(tx, "principal_id = ? AND sessions.sid <> ?",
                          DB_ARGS(db_text(ending->principal_id), db_text(ending->kept_sid ? ending->kept_sid : "")),
                          ending->now_ms, err);
}

static int user_check_change(struct store_tx *tx, const struct record_write *write, struct err *err) {
    const struct user *u = write->record;
    int rc = user_check_name(tx, write, err);
    return rc || (u->role == ROLE_ADMIN && !u->is_disabled) ? rc : keep_an_admin(tx, write, err);
}

int user_store_update(struct store *store, const struct user *u, const struct user_change *change, int64_t *version_no,
                      struct err *err) {
    _cleanup_free_ char *key = user_make_key(u->name), *principal_id = str_format("local:%s", u->id);
    const struct user_ending ending = {principal_id, change->kept_sid, u->updated_at_ms};
    if (!key || !principal_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    const struct record_write write = {
        .table = &user_table,
        .how = RECORD_UPDATE,
        .record = u,
        .more =
            DB_MORE({"password_hash", db_text(u->password_hash), "COALESCE(?, password_hash)"}, {"name_key", db_text(key), NULL}),
        .change = CHANGE_USER,
        .audit = change->audit,
        .before = user_check_change,
        .after = change->ends_sessions ? user_end_sessions : NULL,
        .arg = &ending,
    };
    int rc = user_taken(record_store_write(store, &write, err), u, err);
    if (!rc)
        *version_no = u->version_no + 1;
    return rc;
}

/* -- removing --------------------------------------------------------------------------------------------------------------- */

static int user_remove_rights(struct store_tx *tx, const struct record_write *write, struct err *err) {
    const struct user_ending *ending = write->arg;
    const struct db_args id = DB_ARGS(db_text(ending->principal_id));
    int rc = store_tx_note_rows(tx, CHANGE_GRANT, "SELECT id FROM grants WHERE principal_id = ? FOR UPDATE", id, err);
    rc = rc ? rc : db_run(store_tx_conn(tx), "DELETE FROM grants WHERE principal_id = ?", id, NULL, err);
    return rc ? rc : user_end_sessions(tx, write, err);
}

int user_store_delete(struct store *store, const struct user_removal *removal, struct err *err) {
    _cleanup_free_ char *principal_id = str_format("local:%s", removal->id);
    const struct user_ending ending = {principal_id, NULL, removal->now_ms};
    if (!principal_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    const struct record_write write = {
        .table = &user_table,
        .how = RECORD_DELETE,
        .key = removal->id,
        .version_no = removal->version_no,
        .change = CHANGE_USER,
        .audit = removal->audit,
        .before = keep_an_admin,
        .after = user_remove_rights,
        .arg = &ending,
    };
    return record_store_write(store, &write, err);
}

/* -- service accounts ---------------------------------------------------------------------------------------------- */

static void user_store_account_done(void *record) {
    service_account_done(record);
}

static const struct db_table service_table = {.name = "service_accounts",
                                              .noun = "service account",
                                              .members = service_account_members,
                                              .bytes = sizeof(struct service_account),
                                              .done = user_store_account_done};

DB_LIST_DEFINE(service_list, service_account_done);

/* -- reading: three queries of one snapshot, all in the order of the id -------------------------------------------------------- */

struct service_load {
    const char *id; /* NULL: all */
    struct service_list list;
    size_t at; /* where the rows of certificates or HX clusters have come to */
};

static struct service_account *service_account_of(struct service_load *load, const char *id) {
    while (load->at < load->list.count && strcmp(load->list.items[load->at].id, id) < 0)
        load->at++;
    return load->at < load->list.count && str_eq(load->list.items[load->at].id, id) ? &load->list.items[load->at] : NULL;
}

static int add_certificate(const struct db_row *row, void *arg, struct err *err) {
    struct service_account *a = service_account_of(arg, db_row_text(row, 0));
    struct service_certificate c = {.not_after_ms = db_row_number(row, 2)};
    db_row_copy(row, 1, c.sha256, sizeof(c.sha256));
    return a ? service_account_add_certificate(a, &c, err) : 0;
}

static int add_hx_cluster(const struct db_row *row, void *arg, struct err *err) {
    struct service_account *a = service_account_of(arg, db_row_text(row, 0));
    return a ? service_account_add_hx_cluster(a, db_row_text(row, 1), err) : 0;
}

#define BOTH(sql, column, order) (load->id ? sql " WHERE " column " = ?" order : sql order)

static int service_load_all(struct store_tx *tx, void *arg, struct err *err) {
    struct service_load *load = arg;
    struct db_conn *conn = store_tx_conn(tx);
    const struct db_args args = load->id ? DB_ARGS(db_text(load->id)) : DB_ARGS_NONE;
    struct db_records found = {0};
    int rc;
    service_list_done(&load->list);
    rc = db_table_query(conn, &service_table, load->id ? " WHERE id = ?" : " ORDER BY id", args, &found, err);
    load->list = (struct service_list){found.items, found.count};
    if (rc)
        return rc;
    load->at = 0;
    rc = db_query(
        conn,
        BOTH("SELECT service_id, sha256, not_after_ms FROM service_certificates", "service_id", " ORDER BY service_id, sha256"),
        args, "tti", add_certificate, load, err);
    if (rc)
        return rc;
    load->at = 0;
    return db_query(
        conn,
        BOTH("SELECT service_id, hx_cluster_id FROM service_hx_clusters", "service_id", " ORDER BY service_id, hx_cluster_id"),
        args, "tt", add_hx_cluster, load, err);
}

static int service_load_some(struct store *store, struct service_load *load, struct err *err) {
    int rc = store_tx_snapshot(store, service_load_all, load, err);
    if (rc)
        service_list_done(&load->list);
    return rc;
}

int service_store_list(struct store *store, struct service_list *out, struct err *err) {
    struct service_load load = {0};
    int rc = service_load_some(store, &load, err);
    if (!rc)
        *out = load.list;
    return rc;
}

int service_store_load(struct store *store, const char *id, struct service_account **out, struct err *err) {
    struct service_load load = {.id = id};
    int rc = service_load_some(store, &load, err);
    if (!rc && !load.list.count)
        rc = err_set(err, ERR_NOT_FOUND, "there is no such service account");
    if (!rc)
        *out = load.list.items; /* an array of one is one */
    return rc;
}

/* -- writing ---------------------------------------------------------------------------------------------------------------- */

struct service_write {
    const struct service_account *account;
    struct service_change change;
};

static int service_taken(int rc, const struct service_account *a, struct err *err) {
    return db_explain(rc, ERR_EXISTS, err, "the name \"%s\", or a proof of it, belongs to another service account", a->name);
}

static int write_certificates(struct store_tx *tx, const struct service_account *a, struct err *err) {
    int rc =
        db_run(store_tx_conn(tx), "DELETE FROM service_certificates WHERE service_id = ?", DB_ARGS(db_text(a->id)), NULL, err);
    for (size_t i = 0; !rc && i < a->certificates_count; i++) {
        const struct service_certificate *c = &a->certificates[i];
        rc = db_run(store_tx_conn(tx), "INSERT INTO service_certificates (sha256, service_id, not_after_ms) VALUES (?, ?, ?)",
                    DB_ARGS(db_text(c->sha256), db_text(a->id), db_number(c->not_after_ms)), NULL, err);
        db_explain(rc, ERR_EXISTS, err, "the certificate %s belongs to another service account", c->sha256);
    }
    return rc;
}

static int write_hx_clusters(struct store_tx *tx, const struct service_account *a, struct err *err) {
    int rc =
        db_run(store_tx_conn(tx), "DELETE FROM service_hx_clusters WHERE service_id = ?", DB_ARGS(db_text(a->id)), NULL, err);
    for (size_t i = 0; !rc && i < a->hx_clusters_count; i++)
        rc = db_run(store_tx_conn(tx), "INSERT INTO service_hx_clusters (service_id, hx_cluster_id) VALUES (?, ?)",
                    DB_ARGS(db_text(a->id), db_text(a->hx_clusters[i])), NULL, err);
    return rc;
}

static int service_check_room(struct store_tx *tx, struct err *err) {
    int64_t count = 0;
    int rc = db_query_number(store_tx_conn(tx), "SELECT COUNT(*) FROM service_accounts", DB_ARGS_NONE, &count, err);
    if (rc || count < (int64_t)SERVICE_ACCOUNTS_COUNT_MAX)
        return rc;
    return err_set(err, ERR_CONFLICT, "there are %u service accounts already", SERVICE_ACCOUNTS_COUNT_MAX);
}

static int service_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct service_write *call = arg;
    const struct service_account *a = call->account;
    int rc = service_check_room(tx, err);
    if (rc)
        return rc;
    rc = db_table_insert(store_tx_conn(tx), &service_table, a, DB_MORE_NONE, err);
    rc = service_taken(rc, a, err);
    rc = rc ? rc : write_certificates(tx, a, err);
    rc = rc ? rc : write_hx_clusters(tx, a, err);
    return rc ? rc : record_tx_end(tx, CHANGE_SERVICE_ACCOUNT, a->id, call->change.audit, err);
}

int service_store_insert(struct store *store, const struct service_account *a, const struct audit_record *audit,
                         struct err *err) {
    struct service_write call = {.account = a, .change = {.audit = audit}};
    return store_tx(store, service_insert, &call, err);
}

/* -- ending sessions -------------------------------------------------------------------------------------------------------- */

struct service_ending {
    const char *id;
    int64_t now_ms;
    bool own, delegated;
};

static int service_end_sessions(struct store_tx *tx, const struct service_ending *e, struct err *err) {
    if (!e->own && !e->delegated)
        return 0;
    return session_tx_end(tx, "service_id = ? AND ((? = 1 AND acting_id IS NULL) OR (? = 1 AND acting_id IS NOT NULL))",
                          DB_ARGS(db_text(e->id), db_number(e->own), db_number(e->delegated)), e->now_ms, err);
}

static int service_update(struct store_tx *tx, void *arg, struct err *err) {
    const struct service_write *call = arg;
    const struct service_account *a = call->account;
    const struct service_ending ending = {a->id, a->updated_at_ms, call->change.ends_own, call->change.ends_delegated};
    int rc = db_table_update(store_tx_conn(tx), &service_table, a, DB_MORE_NONE, err);
    rc = service_taken(rc, a, err);
    rc = rc ? rc : write_certificates(tx, a, err);
    rc = rc ? rc : write_hx_clusters(tx, a, err);
    rc = rc ? rc : service_end_sessions(tx, &ending, err);
    return rc ? rc : record_tx_end(tx, CHANGE_SERVICE_ACCOUNT, a->id, call->change.audit, err);
}

int service_store_update(struct store *store, const struct service_account *a, const struct service_change *change,
                         int64_t *version_no, struct err *err) {
    struct service_write call = {.account = a, .change = *change};
    int rc = store_tx(store, service_update, &call, err);
    if (!rc)
        *version_no = a->version_no + 1;
    return rc;
}

/* -- noting an end, removing ------------------------------------------------------------------------------------------------ */

struct noting {
    const char *id;
    const struct service_certificate *certificate;
};

static int service_note_certificate(struct store_tx *tx, void *arg, struct err *err) {
    const struct noting *call = arg;
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx),
                    "UPDATE service_certificates SET not_after_ms = ? WHERE sha256 = ? AND service_id = ? AND not_after_ms = 0",
                    DB_ARGS(db_number(call->certificate->not_after_ms), db_text(call->certificate->sha256), db_text(call->id)),
                    &met, err);
    return rc || !met ? rc : store_tx_note_change(tx, CHANGE_SERVICE_ACCOUNT, call->id, err);
}

int service_store_note_certificate(struct store *store, const char *id, const struct service_certificate *certificate,
                                   struct err *err) {
    struct noting call = {id, certificate};
    return store_tx(store, service_note_certificate, &call, err);
}

static int remove_account(struct store_tx *tx, void *arg, struct err *err) {
    const struct service_removal *what = arg;
    const struct service_ending ending = {what->id, what->now_ms, true, true};
    int rc = audit_tx_append(tx, what->audit, 1, err); /* as long as it has a name */
    rc = rc ? rc : db_table_delete(store_tx_conn(tx), &service_table, what->id, what->version_no, err);
    rc = rc ? rc : service_end_sessions(tx, &ending, err);
    return rc ? rc : record_tx_end(tx, CHANGE_SERVICE_ACCOUNT, what->id, NULL, err);
}

int service_store_delete(struct store *store, const struct service_removal *removal, struct err *err) {
    struct service_removal call = *removal;
    return store_tx(store, remove_account, &call, err);
}
