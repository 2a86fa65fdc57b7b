/* The role for an account that kaasd logs in by: made, granted, taken back. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * There are two: what vCenter asks for on the root folder is granted there, not propagating, and the rest on each object that is used or named, propagating.
 * Granted everywhere, or to nobody yet, it is one role with both. What is about to be granted is stored before, so that leaving finds it whatever happened
 * in between. */
#include "registration_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "vcenter_store.h"
#include "vim_authorization.h"

enum set { ON_ROOT = 1, ON_OBJECTS = 2, PROVISIONING = 4 };

static const struct {
    const char *id;
    enum set set;
} privileges[] = {
#define ROLE_PRIVILEGE(id, set, why) {id, set},
#include "role.def"
#undef ROLE_PRIVILEGE
};

/* One of the two roles as it is to be. */
struct role_spec {
    char name[ROLE_NAME_BYTES];
    const char *ids[ARRAY_COUNT(privileges)];
    size_t count;
    int known_id; /* of the one that we made under this name; 0: none */
};

static void spec_fill(struct role_spec *spec, const char *name, unsigned sets) {
    (void)snprintf(spec->name, sizeof(spec->name), "%s", name);
    spec->count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(privileges); i++)
        if (privileges[i].set & sets)
            spec->ids[spec->count++] = privileges[i].id;
}

static bool has_objects(const struct registration_work *w) {
    return w->objects_count;
}

static void name_object_role(const char *name, char out[ROLE_NAME_BYTES]) {
    (void)snprintf(out, ROLE_NAME_BYTES, "%s%s", name, ROLE_OBJECTS_SUFFIX);
}

static struct role_spec root_spec(const struct registration_work *w) {
    const char *name = w->joining->role_name;
    struct role_spec spec;
    spec_fill(&spec, name, has_objects(w) ? ON_ROOT : ON_ROOT | ON_OBJECTS);
    spec.known_id = str_eq(w->row.role_name, name) ? w->row.role_id : 0;
    return spec;
}

static struct role_spec object_spec(const struct registration_work *w) {
    char name[ROLE_NAME_BYTES];
    struct role_spec spec;
    name_object_role(w->joining->role_name, name);
    spec_fill(&spec, name, ON_OBJECTS | (w->joining->with_provisioning ? PROVISIONING : 0));
    spec.known_id = str_eq(w->row.role_name, w->joining->role_name) ? w->row.object_role_id : 0;
    return spec;
}

/* -- the objects ------------------------------------------------------------------------------------------------------------- */

/* Stored as "Datacenter:datacenter-2 ClusterComputeResource:domain-c70". */
struct stored_object {
    char type[64], moref[128];
};

/* The next one of the text; false at its end. */
static bool next_object(const char **at, struct stored_object *out) {
    int length = 0;
    if (!*at || sscanf(*at, " %63[^: ]:%127[^ ]%n", out->type, out->moref, &length) != 2)
        return false;
    *at += length;
    return true;
}

static bool is_wanted(const struct registration_work *w, const struct stored_object *object) {
    for (size_t i = 0; i < w->objects_count; i++)
        if (str_eq(w->objects[i]->moref, object->moref))
            return true;
    return false;
}

/* Those of this request; with_old: and those where the role was granted before. */
static char *objects_text(const struct registration_work *w, bool with_old) {
    struct stored_object object;
    const char *at = with_old ? w->row.role_objects : NULL;
    struct strbuf text;
    strbuf_init(&text, ROLE_OBJECTS_BYTES);
    for (size_t i = 0; i < w->objects_count; i++)
        strbuf_addf(&text, "%s%s:%s", i ? " " : "", w->objects[i]->type, w->objects[i]->moref);
    while (next_object(&at, &object))
        if (!is_wanted(w, &object))
            strbuf_addf(&text, "%s%s:%s", text.len ? " " : "", object.type, object.moref);
    return strbuf_steal(&text);
}

static const char *kind_of(const char *type) {
    return str_eq(type, "Datacenter") ? "the datacenter" : str_eq(type, "Folder") ? "the folder" : "the vSphere cluster";
}

/* -- making them ------------------------------------------------------------------------------------------------------------- */

int registration_check_role(struct registration_work *w, struct err *err) {
    static const char *const needed[] = {"Authorization.ModifyRoles", "Authorization.ModifyPermissions"};
    if (!w->joining->role_name)
        return 0;
    return registration_require_privileges(w, needed, w->joining->login.user ? 2 : 1, err);
}

/* A role of this name that somebody else made is not ours to change: it may be given to people. */
static int refuse_strange_role(const struct registration_work *w, const char *name, struct err *err) {
    (void)err_set(err, ERR_EXISTS, "vCenter %s has a role \"%s\" that was not made by this installation", w->vc.name, name);
    return err_remedy(err, "choose another name: --create-role NAME");
}

/* *role_id 0: there is none yet. */
static int lookup_ours(struct registration_work *w, const struct role_spec *spec, int *role_id, struct err *err) {
    struct err why = {0};
    int rc = vim_lookup_role(w->admin, spec->name, role_id, &why);
    if (rc == ERR_NOT_FOUND)
        *role_id = rc = 0;
    else if (!rc && *role_id != spec->known_id)
        return refuse_strange_role(w, spec->name, err);
    return err_move(err, rc, &why);
}

static int make_or_update(struct registration_work *w, const struct role_spec *spec, int *role_id, struct err *err) {
    const struct vim_role_change change = {spec->known_id, spec->name, spec->ids, spec->count};
    int rc = lookup_ours(w, spec, role_id, err);
    if (rc)
        return rc;
    return *role_id ? vim_update_role(w->admin, &change, err)
                    : vim_add_role(w->admin, spec->name, spec->ids, spec->count, role_id, err);
}

/* -- taking them back -------------------------------------------------------------------------------------------------------- */

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
static const struct vim_permission *registration_find_given(const struct registration_work *w, int role_id,
                                                            const struct vim_permission_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].is_group && list->items[i].role_id == role_id &&
            is_same_account(list->items[i].principal, w->row.role_principal))
            return &list->items[i];
    return NULL;
}

/* An object that is gone has taken its permissions with it. */
static int registration_take_back(struct registration_work *w, const struct vim_entity *entity, int role_id, struct err *err) {
    _cleanup_done_(vim_permission_list_done) struct vim_permission_list list = {0};
    const struct vim_permission *given;
    struct err why = {0};
    int rc = vim_list_permissions(w->admin, entity, &list, &why);
    given = rc ? NULL : registration_find_given(w, role_id, &list);
    if (given)
        rc = vim_remove_permission(w->admin, entity, given->principal, false, &why);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

/* On the objects that were named before; those of this request are kept, unless another account had it. */
static int take_back_objects(struct registration_work *w, bool keeps_wanted, struct err *err) {
    struct stored_object object;
    const char *at = w->row.role_principal ? w->row.role_objects : NULL;
    int rc = 0;
    while (!rc && next_object(&at, &object))
        if (!keeps_wanted || !is_wanted(w, &object))
            rc = registration_take_back(w, &(struct vim_entity){object.type, object.moref}, w->row.object_role_id, err);
    return rc;
}

/* The object role that is not needed any more. */
static int drop_object_role(struct registration_work *w, struct err *err) {
    struct err why = {0};
    int rc = w->row.object_role_id ? vim_remove_role(w->admin, w->row.object_role_id, false, &why) : 0;
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

/* -- granting ---------------------------------------------------------------------------------------------------------------- */

/* Whoever had it keeps it where no account is given. */
static int registration_remember(struct registration_work *w, const char *objects, struct err *err) {
    const char *user = w->joining->login.user;
    const struct registration_row made = {.role_name = (char *)(uintptr_t)w->joining->role_name, /* borrowed, as the others */
                                          .role_id = w->role_id,
                                          .role_principal = user ? (char *)(uintptr_t)user : w->row.role_principal,
                                          .object_role_id = w->object_role_id,
                                          .role_objects = user ? (char *)(uintptr_t)objects : w->row.role_objects};
    return registration_store_set_role(w->env->options.store, w->vc.id, &made, err);
}

static int grant_all(struct registration_work *w, struct err *err) {
    const char *user = w->joining->login.user;
    const struct vim_grant on_root = {user, w->role_id, !has_objects(w)}, on_object = {user, w->object_role_id, true};
    int rc = 0;
    for (size_t i = 0; !rc && i < w->objects_count; i++) /* before the root folder, where what propagated may end */
        rc = vim_grant_role(w->admin, &(struct vim_entity){w->objects[i]->type, w->objects[i]->moref}, &on_object, err);
    if (!rc)
        rc = vim_grant_role(w->admin, NULL, &on_root, err);
    if (rc == ERR_NOT_FOUND)
        return err_remedy(err, "is %s the account's name, with its domain (user@domain)?", user);
    return rc;
}

int registration_make_role(struct registration_work *w, struct err *err) {
    _cleanup_free_ char *objects = NULL;
    struct role_spec spec;
    int rc;
    if (!w->joining->role_name)
        return 0;
    objects = objects_text(w, true);
    spec = root_spec(w);
    rc = objects ? make_or_update(w, &spec, &w->role_id, err) : err_set(err, ERR_NOMEM, "out of memory");
    w->object_role_id = w->row.object_role_id;
    spec = object_spec(w);
    if (!rc && has_objects(w))
        rc = make_or_update(w, &spec, &w->object_role_id, err);
    if (!rc)
        rc = registration_remember(w, objects, err);
    return rc || !w->joining->login.user ? rc : grant_all(w, err);
}

int registration_clear_role(struct registration_work *w, struct err *err) {
    const char *user = w->joining->role_name ? w->joining->login.user : NULL;
    _cleanup_free_ char *objects = user ? objects_text(w, false) : NULL;
    const bool is_same = user && w->row.role_principal && is_same_account(w->row.role_principal, user);
    int rc = 0;
    if (!user)
        return 0;
    if (w->row.role_principal && !is_same)
        rc = registration_take_back(w, NULL, w->row.role_id, err);
    if (!rc)
        rc = take_back_objects(w, is_same, err);
    if (!rc && !has_objects(w))
        rc = drop_object_role(w, err);
    if (!rc && !has_objects(w))
        w->object_role_id = 0;
    return rc ? rc : registration_remember(w, objects && *objects ? objects : NULL, err);
}

/* -- telling it -------------------------------------------------------------------------------------------------------------- */

static int describe_spec(struct registration_work *w, const struct role_spec *spec, struct err *err) {
    _cleanup_strbuf_ struct strbuf names;
    int role_id = 0, rc = lookup_ours(w, spec, &role_id, err);
    strbuf_init(&names, 4096);
    for (size_t i = 0; i < spec->count; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", spec->ids[i]);
    if (!rc)
        report_texts_add(&w->report->steps, "%s the role \"%s\" with %zu privileges: %s", role_id ? "update" : "make", spec->name,
                         spec->count, names.data);
    return rc;
}

static void describe_old(struct registration_work *w) {
    const char *user = w->row.role_principal, *at = user ? w->row.role_objects : NULL;
    const bool is_same = user && w->joining->login.user && is_same_account(user, w->joining->login.user);
    struct stored_object object;
    if (!w->joining->login.user)
        return;
    while (next_object(&at, &object))
        if (!is_same || !is_wanted(w, &object))
            report_texts_add(&w->report->steps, "take it back from %s on %s %s", user, kind_of(object.type), object.moref);
    if (user && !is_same)
        report_texts_add(&w->report->steps, "take the role \"%s\" back from %s on the root folder", w->row.role_name, user);
}

int registration_describe_role(struct registration_work *w, struct err *err) {
    const char *user = w->joining->login.user;
    struct role_spec spec;
    int rc;
    if (!w->joining->role_name)
        return 0;
    spec = root_spec(w);
    rc = describe_spec(w, &spec, err);
    if (!rc && user)
        report_texts_add(&w->report->steps, "grant it to %s on the root folder, %s", user,
                         has_objects(w) ? "not propagating" : "propagating");
    if (!rc && has_objects(w)) {
        spec = object_spec(w);
        rc = describe_spec(w, &spec, err);
    }
    for (size_t i = 0; !rc && i < w->objects_count; i++)
        report_texts_add(&w->report->steps, "grant it to %s on %s %s (%s), propagating", user, kind_of(w->objects[i]->type),
                         w->objects[i]->path, w->objects[i]->moref);
    if (!rc)
        describe_old(w);
    return rc;
}

void registration_describe_role_removal(struct registration_work *w) {
    struct report_texts *steps = &w->report->steps;
    const char *user = w->row.role_principal, *at = user ? w->row.role_objects : NULL;
    struct stored_object object;
    if (!w->row.role_name)
        return;
    if (user)
        report_texts_add(steps, "take the role \"%s\" back from %s", w->row.role_name, user);
    while (next_object(&at, &object))
        report_texts_add(steps, "take the role \"%s%s\" back from %s on %s %s", w->row.role_name, ROLE_OBJECTS_SUFFIX, user,
                         kind_of(object.type), object.moref);
    if (w->row.object_role_id)
        report_texts_add(steps, "remove the role \"%s%s\" unless others have it", w->row.role_name, ROLE_OBJECTS_SUFFIX);
    report_texts_add(steps, "remove the role \"%s\" unless others have it", w->row.role_name);
}

/* -- leaving ----------------------------------------------------------------------------------------------------------------- */

static void tell_role_stays(struct registration_work *w, const char *name, int rc, const struct err *why) {
    if (rc == ERR_CONFLICT)
        report_texts_add(&w->report->left, "the role \"%s\": others have it, so it was left", name);
    else
        report_texts_add(&w->report->left, "the role \"%s\": %s", name, why->text);
}

/* Somebody may have removed it, or made another one under its name: then nothing of ours is left. True: it is gone. */
static bool remove_one_role(struct registration_work *w, const char *name, int role_id) {
    struct err why = {0};
    int found = 0, rc = vim_lookup_role(w->admin, name, &found, &why);
    if (rc == ERR_NOT_FOUND || (!rc && found != role_id))
        return true;
    if (!rc && w->row.role_principal)
        rc = role_id == w->row.role_id ? registration_take_back(w, NULL, role_id, &why) : take_back_objects(w, false, &why);
    if (!rc)
        rc = vim_remove_role(w->admin, role_id, false, &why);
    if (rc)
        tell_role_stays(w, name, rc, &why);
    return !rc;
}

void registration_remove_role(struct registration_work *w) {
    char object_role[ROLE_NAME_BYTES];
    bool is_gone = true;
    if (!w->row.role_name)
        return;
    name_object_role(w->row.role_name, object_role);
    if (w->row.object_role_id)
        is_gone = remove_one_role(w, object_role, w->row.object_role_id);
    if (remove_one_role(w, w->row.role_name, w->row.role_id) && is_gone)
        (void)registration_store_set_role(w->env->options.store, w->vc.id, NULL, NULL);
}
