/* Local users: adding, changing, removing. Layer 4 (service/access). Passwords are passwords.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "access.h"
#include "access_private.h"
#include "clock.h"
#include "names.h"
#include "passwd.h"
#include "password.h"
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

static int check_new(const struct access_new_user *wanted, struct err *err) {
    int rc = check_name(wanted->name, err);
    if (!rc)
        rc = check_full_name(wanted->full_name, err);
    if (!rc && wanted->role == ROLE_NONE)
        rc = err_set(err, ERR_UNPROCESSABLE, "the role none cannot be given");
    return !rc && wanted->password ? password_check(wanted->password, wanted->name, err) : rc;
}

static int make_user(const struct access_new_user *wanted, const char *id, struct user **out, struct err *err) {
    _cleanup_(user_free) struct user *user = calloc(1, sizeof(*user));
    int rc;
    if (!user)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = str_replace(&user->id, id, err);
    if (!rc)
        rc = str_replace(&user->name, wanted->name, err);
    if (!rc)
        rc = str_replace(&user->full_name, wanted->full_name, err);
    if (!rc && wanted->password)
        rc = passwd_hash(wanted->password, &user->password_hash, err);
    if (rc)
        return rc;
    user->role = wanted->role;
    user->is_disabled = wanted->is_disabled;
    user->must_change_password = wanted->must_change_password;
    user->created_at_ms = user->updated_at_ms = clock_wall_ms();
    *out = STEAL(user);
    return 0;
}

int access_add_user(struct access *access, const struct actor *actor, const struct access_new_user *wanted, char id[37],
                    struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    _cleanup_free_ char *reason = str_format("role %s", role_name(wanted->role));
    struct access_deed deed = {.action = "user.create", .object_kind = "user", .object_name = wanted->name, .reason = reason};
    struct audit_record record;
    int rc = check_new(wanted, err);
    uuid_new(id);
    if (!rc)
        rc = make_user(wanted, id, &user, err);
    if (rc)
        return rc;
    deed.object_id = id;
    record = access_record(actor, &deed);
    rc = user_store_insert(access->options.store, user, &record, err);
    if (rc == ERR_EXISTS)
        (void)err_remedy(err, "choose another name, or change the user who is there");
    return access_finish(access, actor, &deed, rc);
}

/* -- changing --------------------------------------------------------------------------------------------------------------- */

static const char *word(bool value) {
    return value ? "yes" : "no";
}

static void tell(struct strbuf *reason, const char *what, const char *before, const char *after) {
    if (str_eq(before, after))
        return;
    strbuf_addf(reason, "%s%s: %s -> %s", reason->len ? "; " : "", what, before ? before : "-", after ? after : "-");
}

static int check_patch(const struct access_user_patch *patch, struct err *err) {
    int rc = patch->has_name ? check_name(patch->name, err) : 0;
    if (!rc && patch->has_full_name)
        rc = check_full_name(patch->full_name, err);
    if (!rc && patch->has_role && patch->role == ROLE_NONE)
        rc = err_set(err, ERR_UNPROCESSABLE, "the role none cannot be given");
    return rc;
}

/* Applies the patch and says what it changes. */
static int apply(const struct access_user_patch *patch, struct user *user, struct strbuf *reason, struct err *err) {
    int rc = 0;
    if (patch->has_name) {
        tell(reason, "name", user->name, patch->name);
        rc = str_replace(&user->name, patch->name, err);
    }
    if (!rc && patch->has_full_name) {
        tell(reason, "full_name", user->full_name, patch->full_name);
        rc = str_replace(&user->full_name, patch->full_name, err);
    }
    if (patch->has_role) {
        tell(reason, "role", role_name(user->role), role_name(patch->role));
        user->role = patch->role;
    }
    if (patch->has_disabled) {
        tell(reason, "disabled", word(user->is_disabled), word(patch->is_disabled));
        user->is_disabled = patch->is_disabled;
    }
    if (patch->has_must_change) {
        tell(reason, "must_change_password", word(user->must_change_password), word(patch->must_change_password));
        user->must_change_password = patch->must_change_password;
    }
    return rc;
}

static int precondition(struct err *err) {
    (void)err_set(err, ERR_PRECONDITION, "the user has been changed since it was read; nothing was done");
    return err_remedy(err, "read it again and repeat the change");
}

static int write_changed(struct access *access, const struct actor *actor, struct user *user, const char *reason,
                         struct err *err) {
    struct access_deed deed = {
        .action = "user.change", .object_kind = "user", .object_id = user->id, .object_name = user->name, .reason = reason};
    struct audit_record record = access_record(actor, &deed);
    struct user_change change = {.audit = &record, .ends_sessions = user->is_disabled};
    int64_t next = 0;
    user->updated_at_ms = record.at_ms;
    secret_free(STEAL(user->password_hash)); /* stays as it is stored */
    return access_finish(access, actor, &deed, user_store_update(access->options.store, user, &change, &next, err));
}

static int change_once(struct access *access, const struct actor *actor, const struct access_user_edit *edit, struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    _cleanup_strbuf_ struct strbuf reason;
    int rc = user_store_load(access->options.store, edit->id, &user, err);
    strbuf_init(&reason, REASON_BYTES_MAX);
    if (!rc && edit->version_no && user->version_no != edit->version_no)
        rc = precondition(err);
    if (!rc)
        rc = apply(edit->patch, user, &reason, err);
    if (rc || !reason.len) /* nothing new is no change */
        return rc;
    return write_changed(access, actor, user, reason.data, err);
}

int access_change_user(struct access *access, const struct actor *actor, const struct access_user_edit *edit, struct err *err) {
    struct err why = {0};
    int rc = check_patch(edit->patch, err);
    if (rc)
        return rc;
    rc = ERR_PRECONDITION;
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
    struct access_deed deed = {.action = "user.remove", .object_kind = "user", .object_id = id};
    struct audit_record record;
    struct user_removal removal = {.id = id, .version_no = version_no, .now_ms = clock_wall_ms(), .audit = &record};
    int rc = user_store_load(access->options.store, id, &user, err);
    if (rc)
        return rc;
    deed.object_name = user->name;
    record = access_record(actor, &deed);
    rc = user_store_delete(access->options.store, &removal, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    return access_finish(access, actor, &deed, rc);
}
