/* Going on without a master key that is lost. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "forget.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit_store.h"
#include "first_setup.h"
#include "sealing.h"
#include "secret.h"
#include "setup_files.h"
#include "store_schema.h"
#include "str.h"
#include "uuid.h"

#define IDS_BYTES_MAX 1024U
#define REASON_BYTES 500

/* -- what is lost ---------------------------------------------------------------------------------------------------------- */

static int forget_read_held(struct forget *f, struct err *err) {
    struct err why = {0};
    struct seal_ids ids;
    int rc = master_key_file_read(f->config->secrets_master_key_file, &ids, &why);
    if (rc == ERR_NOT_FOUND)
        return 0;
    if (rc)
        return err_move(err, rc, &why);
    for (size_t i = 0; i < ids.count; i++)
        strbuf_addf(&f->held, "%s%s", i ? "," : "", ids.items[i]);
    return strbuf_check(&f->held, "ids of master keys", err);
}

static void forget_add_missing(struct forget *f, const char *key_id) {
    if (*key_id && !strstr(f->held.data, key_id) && !strstr(f->missing.data, key_id))
        strbuf_addf(&f->missing, "%s%s", f->missing.len ? ", " : "", key_id);
}

static int forget_find_missing(struct forget *f, struct err *err) {
    char chosen[SEAL_STORE_ID_BYTES] = "";
    struct seal_counts counts;
    int rc = seal_store_load_choice(f->store, chosen, err);
    rc = rc ? rc : seal_store_count(f->store, &counts, err);
    if (rc)
        return rc;
    forget_add_missing(f, chosen);
    for (size_t i = 0; i < counts.count; i++)
        forget_add_missing(f, counts.items[i].key_id);
    if (f->missing.len)
        return strbuf_check(&f->missing, "ids of master keys", err);
    (void)err_set(err, ERR_CONFLICT, "nothing is lost: the master key file %s holds all keys that sealed something",
                  f->config->secrets_master_key_file);
    return err_remedy(err, "see: kaasctl key master");
}

/* A key that a running replica holds is not lost. What it noted stays when it stops, or waits for the key; the caller knows how it is here. */
static int forget_check_replicas(struct forget *f, struct err *err) {
    struct seal_replica_list list = {0};
    char own[64] = "";
    int rc = seal_store_list_replicas(f->store, &list, err);
    (void)gethostname(own, sizeof(own) - 1);
    if (*f->config->replica_name)
        (void)snprintf(own, sizeof(own), "%s", f->config->replica_name);
    for (size_t i = 0; i < list.count && !rc; i++) {
        const struct seal_replica *replica = &list.items[i];
        const bool is_alive = replica->heartbeat_age_ms >= 0 && replica->heartbeat_age_ms <= SEALING_ALIVE_MS;
        char id[SEAL_KEY_ID_BYTES];
        bool holds = false;
        for (const char *at = f->missing.data; *at && strlen(at) >= sizeof(id) - 1;
             at += strcspn(at, " ") + (strchr(at, ' ') != NULL)) {
            (void)snprintf(id, sizeof(id), "%.8s", at);
            holds = holds || sealing_holds(replica->key_ids, id);
        }
        if (!is_alive || !holds || str_eq(replica->name, own))
            continue;
        (void)err_set(err, ERR_CONFLICT, "the replica %s runs, and may hold the missing master key: then it is not lost",
                      replica->name);
        rc = err_remedy(
            err, "copy its master key file to this host; if it has none, stop kaasd there, and repeat this after a minute");
    }
    seal_replica_list_done(&list);
    return rc;
}

int forget_look(const struct config *config, const char *config_path, struct forget *f, struct err *err) {
    *f = (struct forget){.config = config};
    strbuf_init(&f->held, IDS_BYTES_MAX);
    strbuf_init(&f->missing, IDS_BYTES_MAX);
    int rc = db_settings_open(config, config_path, DB_ACCOUNT_OWNER, &f->store, err);
    rc = rc ? rc : store_check_schema(f->store, store_schema_builtin(), err);
    rc = rc ? rc : forget_read_held(f, err);
    rc = rc ? rc : forget_find_missing(f, err);
    rc = rc ? rc : forget_check_replicas(f, err);
    rc = rc ? rc : seal_store_list_losses(f->store, f->held.data, &f->losses, err);
    for (size_t i = 0; i < f->losses.count; i++)
        f->is_audit_key_lost = f->is_audit_key_lost || f->losses.items[i].owner == SEAL_OWNER_AUDIT_KEY;
    return rc;
}

void forget_done(struct forget *f) {
    store_free(f->store);
    strbuf_done(&f->held);
    strbuf_done(&f->missing);
    seal_losses_done(&f->losses);
}

/* -- giving it up ---------------------------------------------------------------------------------------------------------- */

static int forget_make_key(struct forget *f, const struct setup_user *user, struct err *err) {
    const struct setup_owner owner = {.uid = user->uid, .gid = user->gid, .mode = 0600};
    _cleanup_strbuf_ struct strbuf key;
    uint8_t bytes[SEAL_KEY_BYTES];
    enum setup_file became;
    random_bytes(bytes, sizeof(bytes));
    strbuf_init_secret(&key, sizeof(bytes));
    strbuf_add(&key, bytes, sizeof(bytes));
    secret_wipe(bytes, sizeof(bytes));
    int rc = strbuf_check(&key, "master key", err);
    rc = rc ? rc : setup_put_file(f->config->secrets_master_key_file, &key, &owner, user, &became, err);
    f->is_key_new = !rc;
    return rc;
}

/* The newest key of the file seals. */
static int forget_open_key(struct forget *f, struct seal **out, struct err *err) {
    struct seal_ids ids;
    int rc = seal_open_file(f->config->secrets_master_key_file, out, err);
    if (rc)
        return rc;
    seal_get_ids(*out, &ids);
    memcpy(f->key_id, ids.items[ids.count - 1], sizeof(f->key_id));
    return seal_choose(*out, f->key_id, err);
}

/* Signed with the lost key, they would keep kaasd from starting; without them it takes what the database says, and writes that down. */
static void forget_remove_notes(const struct config *config) {
    _cleanup_free_ char *pattern = str_format("%s/audit-head-*", config->state_dir);
    glob_t found = {0};
    if (pattern && !glob(pattern, GLOB_NOSORT, NULL, &found))
        for (size_t i = 0; i < found.gl_pathc; i++)
            (void)unlink(found.gl_pathv[i]);
    globfree(&found);
}

int forget_run(struct forget *f, const char *who, const struct setup_user *user, struct err *err) {
    struct seal *seal = NULL;
    char reason[REASON_BYTES];
    int rc = f->held.len ? 0 : forget_make_key(f, user, err);
    rc = rc ? rc : forget_open_key(f, &seal, err);
    if (!rc && !f->is_audit_key_lost)
        rc = audit_store_open_key(f->store, seal, err);
    if (!rc && !f->is_audit_key_lost)
        rc = audit_store_sign_new(f->store, err);
    (void)snprintf(reason, sizeof(reason), "master key %.100s is lost, and what it sealed given up; %s seals from now on%s",
                   f->missing.data, f->key_id,
                   f->is_audit_key_lost
                       ? "; all audit lines up to here were taken as they stood and hashed anew: whether they were changed "
                         "before cannot be told"
                       : "");
    const struct audit_record line = audit_record_make(NULL, &(struct audit_event){.action = "master_key.forget",
                                                                                   .principal_name = who,
                                                                                   .source = "socket",
                                                                                   .object_kind = "master_key",
                                                                                   .object_id = f->key_id,
                                                                                   .reason = reason});
    struct seal_forgetting call = {
        .held = f->held.data, .key_id = f->key_id, .seal = seal, .audit = &line, .is_audit_key_lost = f->is_audit_key_lost};
    rc = rc ? rc : seal_store_forget(f->store, &call, err);
    seal_free(seal);
    if (rc)
        return rc;
    f->audit_lines = call.audit_lines;
    if (f->is_audit_key_lost)
        forget_remove_notes(f->config);
    return 0;
}
