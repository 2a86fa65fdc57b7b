/* Local users: adding, changing, removing. Layer 4 (service/access). Passwords are passwords.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "access.h"
#include "access_private.h"
#include "clock.h"
#include "names.h"
#include "passwd.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define CHANGE_TRIES 5
#define REASON_BYTES_MAX 2000

int access_list_users(struct access *access, struct user_list *out, struct err *err) {
    return user_store_list(access->options.store, out, err);
}

int access_get_user(struct access *access, const char *id, struct user **out, struct err *err) {
    return user_store_load(access->options.store, id, out, err);
}

static int check_name(const char *name, struct err *err) {
    int rc = name_check_line(name, ACCESS_USER_NAME_CHARS_MAX, "name", err);
    if (!rc && (name[0] == ' ' || str_ends(name, " ")))
        return err_set(err, ERR_UNPROCESSABLE, "name begins or ends with a blank");
    return rc ? rc : name_check_script(name, "name", err);
}

static int check_full_name(const char *full_name, struct err *err) {
    return full_name ? name_check_line(full_name, ACCESS_FULL_NAME_CHARS_MAX, "full_name", err) : 0;
}

/* -- adding ----------------------------------------------------------------------------------------------------------------- */

static int check_new(const struct user *user, const char *password, struct err *err) {
    int rc = check_name(user->name, err);
    if (!rc)
        rc = check_full_name(user->full_name, err);
    return !rc && password ? password_check(password, user->name, err) : rc;
}

int access_add_user(struct access *access, const struct actor *actor, struct user *user, const char *password, char id[37],
                    struct err *err) {
    _cleanup_free_ char *reason = str_format("role %s", role_name(user->role));
    struct audit_record line = audit_record_make(
        actor, &(struct audit_event){
                   .action = "user.create", .object_kind = "user", .object_id = id, .object_name = user->name, .reason = reason});
    int rc = check_new(user, password, err);
    uuid_new(id);
    if (!rc)
        rc = str_replace(&user->id, id, err);
    if (!rc && password)
        rc = passwd_hash(password, &user->password_hash, err);
    if (rc)
        return rc;
    user->created_at_ms = user->updated_at_ms = clock_wall_ms();
    rc = user_store_insert(access->options.store, user, &line, err);
    if (rc == ERR_EXISTS)
        (void)err_remedy(err, "choose another name, or change the user who is there");
    return access_finish(access, &line, rc);
}

/* -- changing --------------------------------------------------------------------------------------------------------------- */

/* Changes the record, checks what is new and says what differs. */
static int apply(const struct access_user_edit *edit, struct user *user, struct strbuf *reason, struct err *err) {
    struct user before;
    int rc = members_copy(user_members, user, &before, sizeof(before), "a user", err);
    if (rc)
        return rc;
    rc = edit->fn(edit->arg, user, err);
    if (!rc && !str_eq(before.name, user->name))
        rc = check_name(user->name, err);
    if (!rc && !str_eq(before.full_name, user->full_name))
        rc = check_full_name(user->full_name, err);
    if (!rc)
        members_describe(user_members, &before, user, reason);
    members_done(user_members, &before, sizeof(before));
    return rc;
}

static int precondition(struct err *err) {
    (void)err_set(err, ERR_PRECONDITION, "the user has been changed since it was read; nothing was done");
    return err_remedy(err, "read it again and repeat the change");
}

static int write_changed(struct access *access, const struct actor *actor, struct user *user, const char *reason,
                         struct err *err) {
    const struct audit_record line = audit_record_make(
        actor,
        &(struct audit_event){
            .action = "user.change", .object_kind = "user", .object_id = user->id, .object_name = user->name, .reason = reason});
    struct user_change change = {.audit = &line, .ends_sessions = user->is_disabled};
    int64_t next = 0;
    user->updated_at_ms = line.at_ms;
    secret_free(STEAL(user->password_hash)); /* stays as it is stored */
    return access_finish(access, &line, user_store_update(access->options.store, user, &change, &next, err));
}

static int change_once(struct access *access, const struct actor *actor, const struct access_user_edit *edit, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    _cleanup_strbuf_ struct strbuf reason;
    int rc = user_store_load(access->options.store, edit->id, &user, err);
    strbuf_init(&reason, REASON_BYTES_MAX);
    if (!rc && edit->version_no && user->version_no != edit->version_no)
        rc = precondition(err);
    if (!rc)
        rc = apply(edit, user, &reason, err);
    if (rc || !reason.len) /* nothing new is no change */
        return rc;
    return write_changed(access, actor, user, reason.data, err);
}

int access_change_user(struct access *access, const struct actor *actor, const struct access_user_edit *edit, struct err *err) {
    struct err why = {0};
    int rc = ERR_PRECONDITION;
    for (int i = 0; rc == ERR_PRECONDITION && i < CHANGE_TRIES; i++) {
        err_clear(&why);
        rc = change_once(access, actor, edit, &why);
        if (edit->version_no)
            break;
    }
    return err_move(err, rc, &why);
}

/* -- removing --------------------------------------------------------------------------------------------------------------- */

int access_remove_user(struct access *access, const struct actor *actor, const char *id, int64_t version_no, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    struct audit_record line =
        audit_record_make(actor, &(struct audit_event){.action = "user.remove", .object_kind = "user", .object_id = id});
    struct user_removal removal = {.id = id, .version_no = version_no, .now_ms = clock_wall_ms(), .audit = &line};
    int rc = user_store_load(access->options.store, id, &user, err);
    if (rc)
        return rc;
    line.event.object_name = user->name;
    rc = user_store_delete(access->options.store, &removal, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    return access_finish(access, &line, rc);
}
