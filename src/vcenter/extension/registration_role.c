/* The role for an account that kaasd logs in by: made, granted, taken back. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "registration_private.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "vcenter_store.h"
#include "vim_authorization.h"

enum set { READING, PROVISIONING };

static const struct {
    const char *id;
    enum set set;
} privileges[] = {
#define ROLE_PRIVILEGE(id, set, why) {id, set},
#include "role.def"
#undef ROLE_PRIVILEGE
};

static size_t choose_privileges(bool with_provisioning, const char *out[ARRAY_COUNT(privileges)]) {
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(privileges); i++)
        if (privileges[i].set == READING || with_provisioning)
            out[n++] = privileges[i].id;
    return n;
}

int registration_check_role(struct registration_work *w, struct err *err) {
    static const char *const needed[] = {"Authorization.ModifyRoles", "Authorization.ModifyPermissions"};
    if (!w->joining->role_name)
        return 0;
    return registration_require_privileges(w, needed, w->joining->login.user ? 2 : 1, err);
}

/* A role of this name that somebody else made is not ours to change: it may be given to people. */
static int refuse_strange_role(struct registration_work *w, struct err *err) {
    (void)err_set(err, ERR_EXISTS, "vCenter %s has a role \"%s\" that was not made by this installation", w->vc.name,
                  w->joining->role_name);
    return err_remedy(err, "choose another name: --create-role NAME");
}

static int registration_make_or_update(struct registration_work *w, int *role_id, struct err *err) {
    const char *ids[ARRAY_COUNT(privileges)], *name = w->joining->role_name;
    size_t count = choose_privileges(w->joining->with_provisioning, ids);
    struct vim_role_change change = {.name = name, .privileges = ids, .count = count};
    struct err why = {0};
    int rc = vim_lookup_role(w->admin, name, role_id, &why);
    if (rc == ERR_NOT_FOUND)
        return vim_add_role(w->admin, name, ids, count, role_id, err);
    if (rc)
        return err_move(err, rc, &why);
    if (!str_eq(w->row.role_name, name))
        return refuse_strange_role(w, err);
    change.role_id = *role_id;
    return vim_update_role(w->admin, &change, err);
}

static int registration_remember(struct registration_work *w, const char *principal, int role_id, struct err *err) {
    struct registration_row made = {.role_name = (char *)(uintptr_t)w->joining->role_name, /* borrowed */
                                    .role_id = role_id,
                                    .role_principal = (char *)(uintptr_t)principal};
    return registration_store_set_role(w->env->options.store, w->vc.id, &made, err);
}

int registration_make_role(struct registration_work *w, struct err *err) {
    const char *user = w->joining->login.user;
    int role_id = 0;
    int rc;
    if (!w->joining->role_name)
        return 0;
    rc = registration_make_or_update(w, &role_id, err);
    if (!rc)
        rc = registration_remember(w, NULL, role_id, err);
    if (rc || !user)
        return rc;
    rc = vim_grant_root_role(w->admin, user, role_id, err);
    if (rc == ERR_NOT_FOUND)
        return err_remedy(err, "is %s the account's name, with its domain (user@domain)?", user);
    return rc ? rc : registration_remember(w, user, role_id, err);
}

int registration_describe_role(struct registration_work *w, struct err *err) {
    const char *ids[ARRAY_COUNT(privileges)], *name = w->joining->role_name;
    size_t count;
    int role_id = 0;
    bool is_there;
    if (!name)
        return 0;
    count = choose_privileges(w->joining->with_provisioning, ids);
    is_there = !vim_lookup_role(w->admin, name, &role_id, NULL);
    if (is_there && !str_eq(w->row.role_name, name))
        return refuse_strange_role(w, err);
    report_texts_add(&w->report->steps, "%s the role \"%s\" with %zu privileges", is_there ? "update" : "make", name, count);
    if (w->joining->login.user)
        report_texts_add(&w->report->steps, "grant it to %s on the root folder, propagating", w->joining->login.user);
    return 0;
}

/* -- taking it away --------------------------------------------------------------------------------------------------------- */

/* The name without its domain: `user@domain` as it was typed is `DOMAIN\user` in vCenter, and the two names of the domain need not be alike. */
static char *registration_bare_name(const char *account) {
    const char *slash = strrchr(account, '\\');
    const char *from = slash ? slash + 1 : account;
    return strndup(from, strcspn(from, "@"));
}

static bool is_same_account(const char *a, const char *b) {
    _cleanup_free_ char *bare_a = registration_bare_name(a), *bare_b = registration_bare_name(b);
    return bare_a && bare_b && str_eq_nocase(bare_a, bare_b);
}

/* Only if it is still our role that the account has there: somebody may have given it another one. */
static const struct vim_permission *registration_find_given(const struct registration_work *w,
                                                            const struct vim_permission_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].is_group && list->items[i].role_id == w->row.role_id &&
            is_same_account(list->items[i].principal, w->row.role_principal))
            return &list->items[i];
    return NULL;
}

static int registration_take_back(struct registration_work *w, struct err *err) {
    _cleanup_done_(vim_permission_list_done) struct vim_permission_list list = {0};
    const struct vim_permission *given;
    int rc = vim_list_permissions(w->admin, NULL, &list, err);
    if (rc)
        return rc;
    given = registration_find_given(w, &list);
    if (given)
        rc = vim_remove_permission(w->admin, NULL, given->principal, false, err);
    return rc;
}

static void tell_role_stays(struct registration_work *w, int rc, const struct err *why) {
    if (rc == ERR_CONFLICT)
        report_texts_add(&w->report->left, "the role \"%s\": others have it, so it was left", w->row.role_name);
    else
        report_texts_add(&w->report->left, "the role \"%s\": %s", w->row.role_name, why->text);
}

void registration_remove_role(struct registration_work *w) {
    struct err why = {0};
    int role_id = 0, rc;
    if (!w->row.role_name)
        return;
    rc = vim_lookup_role(w->admin, w->row.role_name, &role_id, &why);
    if (rc == ERR_NOT_FOUND || (!rc && role_id != w->row.role_id)) {
        (void)registration_store_set_role(w->env->options.store, w->vc.id, NULL,
                                          NULL); /* somebody removed it: nothing of ours is left */
        return;
    }
    if (!rc && w->row.role_principal)
        rc = registration_take_back(w, &why);
    if (!rc)
        rc = vim_remove_role(w->admin, role_id, false, &why);
    if (rc)
        tell_role_stays(w, rc, &why);
    else
        (void)registration_store_set_role(w->env->options.store, w->vc.id, NULL, NULL);
}
