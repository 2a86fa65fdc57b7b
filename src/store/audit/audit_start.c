/* The key under which audit lines are hashed: random, the same for all replicas and for good, sealed by the master key. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It is not derived from the master key, so that replacing that (which seals this key anew like all other values) leaves the chain as it is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit_tx.h"
#include "audit_store.h"
#include "clock.h"
#include "db_stmt.h"
#include "fsutil.h"
#include "seal.h"
#include "secret.h"
#include "store_tx.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define SEALED_BYTES_MAX 255U

struct audit_key_sealed {
    uint8_t bytes[SEALED_BYTES_MAX];
    size_t count;
};

static int audit_key_read(struct store *store, struct audit_key_sealed *out, struct err *err) {
    int rc = store_query_row(store, "SELECT sealed FROM audit_keys WHERE id = ?", DB_ARGS(db_text(AUDIT_KEY_ID)),
                             DB_INTO(DB_TO_BYTES(out->bytes, &out->count)), "there is no key of the audit log", err);
    return rc || out->count <= sizeof(out->bytes)
               ? rc
               : err_set(err, ERR_TOO_LARGE, "the sealed key is larger than %u bytes", SEALED_BYTES_MAX);
}

/* Two replicas may make one at the same time: the first one's counts. */
static int audit_key_make(struct store *store, struct seal *seal, struct err *err) {
    uint8_t key[AUDIT_KEY_BYTES];
    _cleanup_strbuf_ struct strbuf sealed;
    struct err why = {0};
    int rc;
    strbuf_init(&sealed, SEALED_BYTES_MAX);
    random_bytes(key, sizeof(key));
    rc = seal_seal(seal, AUDIT_KEY_PURPOSE, key, sizeof(key), &sealed, err);
    secret_wipe(key, sizeof(key));
    if (rc)
        return rc;
    rc = store_run(store, "INSERT INTO audit_keys (id, sealed, created_at_ms) VALUES (?, ?, ?)",
                   DB_ARGS(db_text(AUDIT_KEY_ID), db_bytes(sealed.data, sealed.len), db_number(clock_wall_ms())), NULL, &why);
    return rc == ERR_EXISTS ? 0 : err_move(err, rc, &why);
}

int audit_store_open_key(struct store *store, struct seal *seal, struct err *err) {
    struct audit_key_sealed sealed;
    _cleanup_strbuf_ struct strbuf plain;
    struct err missing = {0};
    strbuf_init_secret(&plain, AUDIT_KEY_BYTES);
    int rc = audit_key_read(store, &sealed, &missing);
    if (rc == ERR_NOT_FOUND) {
        rc = audit_key_make(store, seal, err);
        rc = rc ? rc : audit_key_read(store, &sealed, err);
    } else {
        (void)err_move(err, rc, &missing);
    }
    rc = rc ? rc : seal_unseal(seal, AUDIT_KEY_PURPOSE, sealed.bytes, sealed.count, &plain, err);
    if (!rc && plain.len != AUDIT_KEY_BYTES)
        rc = err_set(err, ERR_CONFIG, "the key of the audit log has another length than it was made with");
    if (!rc)
        audit_chain_set_key(&store_audit_side(store)->chain, (const uint8_t *)plain.data);
    return rc;
}

/* -- the end of the chain in the state folder ---------------------------------------------------------------------- */

/* The file: a line "REPLICA HEAD TIME", where HEAD is what the row of the replica had, in hexadecimal, and so signed for this replica; lines
 * with # are comments. */

#define FILE_BYTES_MAX 1024U
#define FILE_MODE 0600
#define COMMENT \
    "# The last audit line that this replica has written; it goes with the database. See " DOC_PAGE("admin/audit.md") ".\n"
#define ACCEPT "kaasctl audit accept-restore, on the host of this replica"

struct file {
    bool is_there, is_readable, is_ours; /* ours: signed for this replica, with the key of this database */
    unsigned replica_id;
    struct audit_state state;
    char at[CLOCK_RFC3339_BYTES];
};

static bool parse_file(char *text, struct file *out) {
    char *rest = text, *line;
    int64_t id = 0, at_ms = 0;
    do
        line = strsep(&rest, "\n");
    while (line && *line == '#');
    const char *replica = strsep(&line, " "), *head = strsep(&line, " ");
    if (!line || !str_to_i64(replica, 0, UINT16_MAX, &id) || !str_unhex(head, out->state.head, sizeof(out->state.head)) ||
        !clock_parse(line, &at_ms))
        return false;
    out->replica_id = (unsigned)id;
    clock_format(at_ms, out->at);
    return true;
}

static int start_load_file(struct store *store, const uint8_t key[AUDIT_KEY_BYTES], struct file *out, struct err *err) {
    const struct audit_owner owner = {key, store_get_replica(store), AUDIT_END_HEAD};
    _cleanup_strbuf_ struct strbuf text;
    struct audit_end end;
    struct err why = {0};
    int rc;
    *out = (struct file){.is_there = true};
    strbuf_init(&text, FILE_BYTES_MAX);
    rc = fs_read(store_audit_side(store)->head_path, &text, &why);
    if (rc == ERR_NOT_FOUND) {
        out->is_there = false;
        return 0;
    }
    if (rc && rc != ERR_TOO_LARGE)
        return err_move(err, rc, &why);
    out->is_readable = !rc && parse_file(text.data, out);
    out->is_ours = out->is_readable && audit_mac_check(&owner, out->state.head, sizeof(out->state.head), &end);
    if (!out->is_ours)
        return 0;
    out->state.seq = end.seq;
    out->state.has_head = true;
    memcpy(out->state.hash, end.hash, sizeof(end.hash));
    return 0;
}

int audit_store_set_place(struct store *store, const char *state_dir, const char *replica_name, struct err *err) {
    struct audit_side *side = store_audit_side(store);
    side->name = str_dup(replica_name);
    side->head_path = str_format("%s/audit-head-%s", state_dir, replica_name);
    return side->name && side->head_path ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int write_file(const char *path, unsigned replica_id, const struct audit_state *state, struct err *err) {
    char hex[2 * AUDIT_END_BYTES + 1], at[CLOCK_RFC3339_BYTES];
    _cleanup_free_ char *text = NULL;
    str_hex(state->head, sizeof(state->head), hex);
    clock_format(clock_wall_ms(), at);
    text = str_format(COMMENT "%u %s %s\n", replica_id, hex, at);
    return text ? fs_write_atomic(path, text, strlen(text), FILE_MODE, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* What was found in the database, and is not ours, is never saved. */
int audit_store_save_head(struct store *store, struct err *err) {
    struct audit_side *side = store_audit_side(store);
    uint8_t key[AUDIT_KEY_BYTES];
    const struct audit_owner owner = {key, store_get_replica(store), AUDIT_END_HEAD};
    struct audit_state sure;
    struct audit_end end;
    bool is_signed = false;
    int rc = 0;
    if (side->head_path && audit_chain_peek(&side->chain, &sure, key))
        is_signed = sure.has_head && audit_mac_check(&owner, sure.head, sizeof(sure.head), &end);
    secret_wipe(key, sizeof(key));
    if (!is_signed)
        return 0;
    (void)pthread_mutex_lock(&side->head_lock);
    if (memcmp(sure.head, side->head_saved, sizeof(sure.head)) != 0)
        rc = write_file(side->head_path, owner.replica_id, &sure, err);
    if (!rc)
        memcpy(side->head_saved, sure.head, sizeof(sure.head));
    (void)pthread_mutex_unlock(&side->head_lock);
    return rc;
}

/* -- against the database ---------------------------------------------------------------------------------------------------------- */

struct start_comparing {
    uint8_t key[AUDIT_KEY_BYTES];
    unsigned replica_id;
    struct file file;
    struct audit_ends ends;
    uint8_t hash[AUDIT_HASH_BYTES]; /* of the line that the file names */
    bool has_line;
};

/* The line first: what is removed by age meanwhile is behind an anchor then. */
static int read_database(struct db_conn *conn, void *arg, struct err *err) {
    struct start_comparing *c = arg;
    int rc = audit_read_hash(conn, c->replica_id, c->file.state.seq, c->hash, &c->has_line, err);
    return rc ? rc : audit_read_ends(conn, c->replica_id, c->key, &c->ends, err);
}

static int audit_start_read_both(struct store *store, struct start_comparing *c, struct err *err) {
    struct audit_state sure;
    int rc;
    c->replica_id = store_get_replica(store);
    if (!audit_chain_peek(&store_audit_side(store)->chain, &sure, c->key))
        return err_set(err, ERR_UNAVAILABLE, "kaasd has not come to the audit log yet");
    rc = start_load_file(store, c->key, &c->file, err);
    return rc ? rc : store_read(store, read_database, c, err);
}

static int audit_start_refuse(const struct start_comparing *c, const struct audit_side *side, struct err *err) {
    const struct file *f = &c->file;
    const bool is_behind = !c->ends.is_head_ok || c->ends.head.seq < f->state.seq;
    if (!f->is_readable)
        (void)err_set(err, ERR_AUDIT_BEHIND, "%s is not as replica %u (%s) writes it", side->head_path, c->replica_id,
                      side->name);
    else if (f->replica_id != c->replica_id)
        (void)err_set(
            err, ERR_AUDIT_BEHIND,
            "%s is of replica %u, but the database knows %s as replica %u: its row was removed, or the file comes from elsewhere",
            side->head_path, f->replica_id, side->name, c->replica_id);
    else if (!f->is_ours)
        (void)err_set(
            err, ERR_AUDIT_BEHIND,
            "%s of replica %u (%s) was not signed with the audit key of this database: that is another database, or another key "
            "was put into it",
            side->head_path, c->replica_id, side->name);
    else if (is_behind)
        (void)err_set(err, ERR_AUDIT_BEHIND,
                      "the database has line %" PRIu64
                      " as the last one of replica %u (%s), but this replica had written line %" PRIu64
                      " by %s: audit lines were removed, or the database is an older copy",
                      c->ends.head.seq, c->replica_id, side->name, f->state.seq, f->at);
    else
        (void)err_set(err, ERR_AUDIT_BEHIND,
                      "line %" PRIu64
                      " of replica %u (%s) is not the one that this replica had written by %s: audit lines were replaced, or "
                      "the database is an older copy that was written to",
                      f->state.seq, c->replica_id, side->name, f->at);
    return err_remedy(
        err, "find out who changed the database, and put its newest copy back; if an older one was put back on purpose: " ACCEPT);
}

/* The row may be newer than the file, which is written once a second. */
static int audit_start_compare(const struct start_comparing *c, const struct audit_side *side, struct err *err) {
    const struct audit_state *state = &c->file.state;
    const bool is_removed_by_age = c->ends.is_anchor_ok && c->ends.anchor.seq >= state->seq;
    if (!c->file.is_ours || !c->ends.is_head_ok || c->ends.head.seq < state->seq)
        return audit_start_refuse(c, side, err);
    if (!state->seq || is_removed_by_age)
        return 0;
    return c->has_line && !memcmp(c->hash, state->hash, sizeof(c->hash)) ? 0 : audit_start_refuse(c, side, err);
}

static int append_accept(struct store *store, const struct audit_event *who, const char *reason, struct err *err) {
    struct audit_record record = {.at_ms = clock_wall_ms(), .event = *who};
    record.event.action = AUDIT_ACTION_ACCEPT;
    record.event.object_kind = "audit";
    record.event.result = "ok";
    record.event.reason = reason;
    return audit_store_append(store, &record, err);
}

/* The file comes before the line: where it cannot be written, each try would leave a line. */
static int begin_file(struct store *store, const struct start_comparing *c, struct err *err) {
    const struct audit_side *side = store_audit_side(store);
    const struct audit_owner owner = {c->key, c->replica_id, AUDIT_END_HEAD};
    struct audit_state state = {.seq = c->ends.head.seq, .has_head = true};
    char reason[160];
    int rc;
    memcpy(state.hash, c->ends.head.hash, sizeof(state.hash));
    audit_mac_sign(&owner, &c->ends.head, state.head);
    rc = write_file(side->head_path, c->replica_id, &state, err);
    if (rc || (c->ends.is_head_ok && !c->ends.last_seq))
        return rc;
    (void)snprintf(reason, sizeof(reason),
                   "the state folder had no file about this replica: line %" PRIu64 ", the last one of the database, was taken",
                   c->ends.last_seq);
    rc = append_accept(store, &(struct audit_event){.source = AUDIT_SOURCE_SYSTEM}, reason, err);
    if (rc)
        (void)unlink(side->head_path);
    return rc;
}

int audit_store_start(struct store *store, struct err *err) {
    struct audit_side *side = store_audit_side(store);
    struct start_comparing c = {.replica_id = 0};
    _cleanup_free_ char *folder = str_dup(side->head_path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash)
        return err_set(err, ERR_NOMEM, "out of memory");
    *slash = '\0';
    int rc = fs_make_dirs(folder, 0700, err);
    rc = rc ? rc : audit_start_read_both(store, &c, err);
    if (!rc && c.file.is_there) /* before anything is signed */
        rc = audit_start_compare(&c, side, err);
    rc = rc ? rc : audit_store_sign_new(store, err);
    if (!rc && !c.file.is_there) {
        rc = audit_start_read_both(store, &c, err);
        rc = rc ? rc : begin_file(store, &c, err);
    }
    if (!rc && c.file.is_there) { /* it is not written again as it is: a full disk keeps nobody from starting */
        audit_chain_trust(&side->chain, &c.file.state, 0);
        (void)pthread_mutex_lock(&side->head_lock);
        memcpy(side->head_saved, c.file.state.head, sizeof(side->head_saved));
        (void)pthread_mutex_unlock(&side->head_lock);
    }
    secret_wipe(c.key, sizeof(c.key));
    return rc ? rc : audit_store_save_head(store, err);
}

int audit_store_accept(struct store *store, const struct audit_event *who, struct err *err) {
    const struct audit_side *side = store_audit_side(store);
    struct start_comparing c = {.replica_id = 0};
    struct err why = {0};
    int rc = audit_start_read_both(store, &c, err);
    secret_wipe(c.key, sizeof(c.key));
    if (rc)
        return rc;
    if (!c.file.is_there || !audit_start_compare(&c, side, &why))
        return err_set(err, ERR_CONFLICT, "there is nothing to accept: the database has all that replica %u (%s) has written",
                       c.replica_id, side->name);
    audit_chain_trust(&store_audit_side(store)->chain, NULL, c.file.state.seq);
    rc = append_accept(store, who, why.text, err);
    return rc ? rc : audit_store_save_head(store, err);
}
