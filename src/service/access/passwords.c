/* Passwords of local users: changing them. Layer 4 (service/access). Which are good enough is model/names.c, hashing port/passwd.c,
 * proving one service/signon.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "access.h"
#include "access_private.h"
#include "names.h"
#include "passwd.h"
#include "secret.h"
#include "str.h"

#define CHANGE_TRIES 5
#define LOCAL "local:"

struct password_change {
    const struct actor *actor;
    const char *user_id, *password;
    const char *action, *kept_sid;
    bool must_change_password;
};

static int write_once(struct access *access, const struct password_change *change, const char *hash, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    struct audit_record line = audit_record_make(
        change->actor, &(struct audit_event){.action = change->action, .object_kind = "user", .object_id = change->user_id});
    struct user_change along = {.audit = &line, .ends_sessions = true, .kept_sid = change->kept_sid};
    int64_t next = 0;
    int rc = user_store_load(access->options.store, change->user_id, &user, err);
    if (rc)
        return rc;
    line.event.object_name = user->name;
    secret_free(user->password_hash);
    user->password_hash = str_dup(hash);
    user->must_change_password = change->must_change_password;
    user->updated_at_ms = line.at_ms;
    rc = user->password_hash ? user_store_update(access->options.store, user, &along, &next, err)
                             : err_set(err, ERR_NOMEM, "out of memory");
    return access_finish(access, &line, rc);
}

static int check(struct access *access, const struct password_change *change, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    int rc = user_store_load(access->options.store, change->user_id, &user, err);
    return rc ? rc : password_check(change->password, user->name, err);
}

/* Hashing takes long: the record is read again behind it, so that nothing that was changed meanwhile is lost. */
static int change_password(struct access *access, const struct password_change *change, struct err *err) {
    _cleanup_secret_ char *hash = NULL;
    struct err why = {0};
    int rc = check(access, change, err);
    if (!rc)
        rc = passwd_hash(change->password, &hash, err);
    if (rc)
        return rc;
    rc = ERR_PRECONDITION;
    for (int i = 0; rc == ERR_PRECONDITION && i < CHANGE_TRIES; i++) {
        err_clear(&why);
        rc = write_once(access, change, hash, &why);
    }
    return err_move(err, rc, &why);
}

int access_reset_password(struct access *access, const struct actor *actor, const struct access_password *wanted,
                          struct err *err) {
    const struct password_change change = {.actor = actor,
                                           .user_id = wanted->user_id,
                                           .password = wanted->password,
                                           .action = "user.password_reset",
                                           .must_change_password = wanted->must_change_password};
    return change_password(access, &change, err);
}

int access_change_own_password(struct access *access, const struct actor *actor, const char *password, struct err *err) {
    const struct password_change change = {
        .actor = actor,
        .user_id = actor->principal->id + sizeof(LOCAL) - 1,
        .password = password,
        .action = "user.password_change",
        .kept_sid = actor->sid,
    };
    if (actor->principal->source != SOURCE_LOCAL || !str_starts(actor->principal->id, LOCAL))
        return err_set(err, ERR_CONFLICT, "you did not sign in with a password that is kept here");
    return change_password(access, &change, err);
}
