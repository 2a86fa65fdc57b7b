/* What we remember of our registration with a vCenter. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "registration_store.h"

#include <stdlib.h>
#include <string.h>

#include "db_stmt.h"
#include "store_tx.h"

#define MEMBERS_CHARS_MAX 400U

void registration_row_done(struct registration_row *row) {
    if (!row)
        return;
    free(row->repaired);
    free(row->role_name);
    free(row->role_principal);
    *row = (struct registration_row){0};
}

static int registration_take(const struct db_row *from, void *arg, struct err *err) {
    struct registration_row *row = arg;
    (void)err;
    registration_row_done(row);
    row->registration_no = (unsigned)db_row_number(from, 0);
    row->repaired_at_ms = db_row_number(from, 1);
    row->repaired = db_row_dup(from, 2);
    row->role_name = db_row_dup(from, 3);
    row->role_id = (int)db_row_number(from, 4);
    row->role_principal = db_row_dup(from, 5);
    row->is_certificate_due = db_row_number(from, 6) != 0;
    return 0;
}

struct registration_call {
    const char *vcenter_id;
    struct registration_row row;
    int64_t number;
};

static int registration_read(struct db_conn *conn, void *arg, struct err *err) {
    struct registration_call *call = arg;
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT registration_no, repaired_at_ms, repaired, role_name, role_id,"
                                              " role_principal, certificate_due FROM vcenter_registrations WHERE vcenter_id = ?",
                                       .args = DB_ARGS(db_text(call->vcenter_id)),
                                       .columns = "iittiti",
                                       .row = registration_take,
                                       .arg = &call->row},
                    err);
}

int registration_store_load(struct store *store, const char *vcenter_id, struct registration_row *out, struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id};
    int rc = store_read(store, registration_read, &call, err);
    if (rc)
        registration_row_done(&call.row);
    else
        *out = call.row;
    return rc;
}

/* The row is made by the first that needs it; a vCenter that is gone has none. */
static int need_row(struct store_tx *tx, const char *vcenter_id, struct err *err) {
    int64_t known = 0;
    int rc = db_query_number(store_tx_conn(tx), "SELECT COUNT(*) FROM vcenters WHERE id = ?", DB_ARGS(db_text(vcenter_id)),
                             &known, err);
    if (!rc && !known)
        return err_set(err, ERR_NOT_FOUND, "there is no such vCenter");
    return rc ? rc
              : db_run(store_tx_conn(tx), "INSERT IGNORE INTO vcenter_registrations (vcenter_id) VALUES (?)",
                       DB_ARGS(db_text(vcenter_id)), NULL, err);
}

static int registration_count(struct store_tx *tx, void *arg, struct err *err) {
    struct registration_call *call = arg;
    int rc = need_row(tx, call->vcenter_id, err);
    if (!rc)
        rc = db_run(store_tx_conn(tx),
                    "UPDATE vcenter_registrations SET registration_no = registration_no + 1 WHERE vcenter_id = ?",
                    DB_ARGS(db_text(call->vcenter_id)), NULL, err);
    return rc ? rc
              : db_query_number(store_tx_conn(tx), "SELECT registration_no FROM vcenter_registrations WHERE vcenter_id = ?",
                                DB_ARGS(db_text(call->vcenter_id)), &call->number, err);
}

int registration_store_count(struct store *store, const char *vcenter_id, unsigned *number, struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id};
    int rc = store_tx(store, registration_count, &call, err);
    if (!rc)
        *number = (unsigned)call.number;
    return rc;
}

static int set_due(struct store_tx *tx, void *arg, struct err *err) {
    const struct registration_call *call = arg;
    int rc = need_row(tx, call->vcenter_id, err);
    return rc ? rc
              : db_run(store_tx_conn(tx), "UPDATE vcenter_registrations SET certificate_due = ? WHERE vcenter_id = ?",
                       DB_ARGS(db_number(call->number), db_text(call->vcenter_id)), NULL, err);
}

int registration_store_set_due(struct store *store, const char *vcenter_id, bool is_due, struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id, .number = is_due};
    return store_tx(store, set_due, &call, err);
}

static size_t registration_cut(const char *text, size_t chars_max) {
    size_t at = 0;
    for (size_t chars = 0; text[at] && chars < chars_max; chars++) {
        at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
    }
    return at;
}

static int registration_note_repair(struct store_tx *tx, void *arg, struct err *err) {
    const struct registration_call *call = arg;
    struct db_arg members = db_text(call->row.repaired);
    int rc = need_row(tx, call->vcenter_id, err);
    members.bytes = registration_cut(call->row.repaired, MEMBERS_CHARS_MAX);
    return rc ? rc
              : db_run(store_tx_conn(tx),
                       "UPDATE vcenter_registrations SET repaired_at_ms = ?, repaired = ? WHERE vcenter_id = ?",
                       DB_ARGS(db_number(call->row.repaired_at_ms), members, db_text(call->vcenter_id)), NULL, err);
}

int registration_store_note_repair(struct store *store, const char *vcenter_id, int64_t at_ms, const char *members,
                                   struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id};
    call.row.repaired_at_ms = at_ms;
    call.row.repaired = (char *)(uintptr_t)members; /* borrowed */
    return store_tx(store, registration_note_repair, &call, err);
}

static int set_role(struct store_tx *tx, void *arg, struct err *err) {
    const struct registration_call *call = arg;
    int rc = need_row(tx, call->vcenter_id, err);
    return rc ? rc
              : db_run(store_tx_conn(tx),
                       "UPDATE vcenter_registrations SET role_name = ?, role_id = ?, role_principal = ? WHERE vcenter_id = ?",
                       DB_ARGS(db_text(call->row.role_name), db_number(call->row.role_id), db_text(call->row.role_principal),
                               db_text(call->vcenter_id)),
                       NULL, err);
}

int registration_store_set_role(struct store *store, const char *vcenter_id, const struct registration_row *role,
                                struct err *err) {
    struct registration_call call = {.vcenter_id = vcenter_id};
    if (role)
        call.row = *role; /* borrowed */
    return store_tx(store, set_role, &call, err);
}
