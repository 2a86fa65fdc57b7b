/* The role for an account that kaasd logs in by: made, granted, taken back. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * There are two: what vCenter asks for on the root folder is granted there, not propagating, and the rest on each object that is used or named, propagating.
 * Granted everywhere, or to nobody yet, it is one role with both. What is about to be granted to whom is stored before, beside what was granted until now, so
 * that leaving and the next registration find it whatever happened in between. */
#include "registration_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "names.h"
#include "str.h"
#include "vcenter_store.h"
#include "vim_authorization.h"

enum set { ON_ROOT = 1, ON_OBJECTS = 2, TO_PROVISION = 4 };

static const struct {
    const char *id;
    enum set set;
} privileges[] = {
#define ROLE_PRIVILEGE(id, set, why) {id, set},
#include "role.def"
#undef ROLE_PRIVILEGE
#define PROVISION_PRIVILEGE(id, place, why) {id, TO_PROVISION},
#include "provision_role.def"
#undef PROVISION_PRIVILEGE
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

/* What is needed on objects, as the request wants it. */
static unsigned object_sets(const struct registration_work *w) {
    return w->joining->role_provisions ? ON_OBJECTS | TO_PROVISION : ON_OBJECTS;
}

static struct role_spec root_spec(const struct registration_work *w) {
    const char *name = w->joining->role_name;
    struct role_spec spec;
    spec_fill(&spec, name, has_objects(w) ? ON_ROOT : ON_ROOT | object_sets(w));
    spec.known_id = w->row.role_id;
    return spec;
}

static struct role_spec object_spec(const struct registration_work *w) {
    char name[ROLE_NAME_BYTES];
    struct role_spec spec;
    name_object_role(w->joining->role_name, name);
    spec_fill(&spec, name, object_sets(w));
    spec.known_id = w->row.object_role_id;
    return spec;
}

/* The text of a list of what was granted. NULL with an error: registrations that did not end have left too much for its column. */
static char *registration_role_take_list(const struct registration_work *w, struct strbuf *text, const char *what,
                                         struct err *err) {
    if (text->failed != ERR_TOO_LARGE)
        return strbuf_check(text, what, err) ? NULL : strbuf_steal(text);
    (void)err_set(err, ERR_CONFLICT, "registrations that did not end have left the role \"%s\" with too many %s of vCenter %s",
                  w->joining->role_name, what, w->vc.name);
    (void)err_remedy(
        err,
        "register once more for an account and objects that it was for before, which takes back the rest; or unregister first");
    return NULL;
}

/* -- the accounts ------------------------------------------------------------------------------------------------------------ */

/* `user@domain` as it was typed is `DOMAIN\user` in vCenter, and the two names of the domain need not be alike. So what is compared is the name as vCenter stores
 * it, which is read there once the account has the role. A typed one is stored by a registration that ended before that. */

/* A name without its domain. Caller frees; NULL without memory. */
static char *bare_name(const char *account) {
    const char *slash = strrchr(account, '\\');
    const char *from = slash ? slash + 1 : account;
    return strndup(from, strcspn(from, "@"));
}

static bool has_same_bare_name(const char *a, const char *b) {
    _cleanup_free_ char *bare_a = bare_name(a), *bare_b = bare_name(b);
    return bare_a && bare_b && name_same(bare_a, bare_b);
}

/* The domain of `DOMAIN\user` is that of `user@domain.example.com`, or its first label. */
static bool has_like_domain(const char *typed, const char *stored) {
    const char *at = strchr(typed, '@'), *slash = strchr(stored, '\\');
    const size_t n = slash ? (size_t)(slash - stored) : 0;
    if (!at)
        return name_same(typed, stored);
    return n && strncasecmp(at + 1, stored, n) == 0 && (at[1 + n] == '\0' || at[1 + n] == '.');
}

static bool is_same_account(const char *a, const char *b) {
    return strchr(a, '\\') && strchr(b, '\\') ? name_same(a, b) : has_same_bare_name(a, b);
}

/* Stored a line each: the one that has it, and those of registrations that did not end. */
static bool next_account(const char **at, char out[ROLE_ACCOUNTS_BYTES]) {
    size_t n = *at ? strcspn(*at, "\n") : 0;
    if (!n || n >= ROLE_ACCOUNTS_BYTES)
        return false;
    (void)snprintf(out, ROLE_ACCOUNTS_BYTES, "%.*s", (int)n, *at);
    *at += n + ((*at)[n] == '\n');
    return true;
}

static bool has_had_it(const struct registration_work *w, const char *principal) {
    char name[ROLE_ACCOUNTS_BYTES];
    const char *at = w->row.role_principal;
    while (next_account(&at, name))
        if (is_same_account(name, principal))
            return true;
    return false;
}

/* Appends those that had it, but for `skipped` (NULL: all). */
static void add_accounts(const struct registration_work *w, const char *skipped, const char *between, struct strbuf *text) {
    char name[ROLE_ACCOUNTS_BYTES];
    const char *at = w->row.role_principal;
    while (next_account(&at, name))
        if (!skipped || !is_same_account(name, skipped))
            strbuf_addf(text, "%s%s", text->len ? between : "", name);
}

/* That of this request, as it is known by now, and those before it, of which one may be of the same name in another domain. NULL with an error. */
static char *accounts_text(const struct registration_work *w, struct err *err) {
    char name[ROLE_ACCOUNTS_BYTES];
    const char *at = w->row.role_principal, *typed = w->joining->login.user;
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, ROLE_ACCOUNTS_BYTES - 1);
    strbuf_adds(&text, w->role_account ? w->role_account : typed);
    while (next_account(&at, name))
        if (!name_same(name, typed) && !name_same(name, w->role_account))
            strbuf_addf(&text, "\n%s", name);
    return registration_role_take_list(w, &text, "accounts", err);
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

/* Those of this request; with_old: and those where the role was granted before. NULL with an error: what did not end has left too many. */
static char *objects_text(const struct registration_work *w, bool with_old, struct err *err) {
    struct stored_object object;
    const char *at = with_old ? w->row.role_objects : NULL;
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, ROLE_OBJECTS_BYTES);
    for (size_t i = 0; i < w->objects_count; i++)
        strbuf_addf(&text, "%s%s:%s", i ? " " : "", w->objects[i]->type, w->objects[i]->moref);
    while (next_object(&at, &object))
        if (!is_wanted(w, &object))
            strbuf_addf(&text, "%s%s:%s", text.len ? " " : "", object.type, object.moref);
    return registration_role_take_list(w, &text, "objects", err);
}

static const char *kind_of(const char *type) {
    return str_eq(type, "Datacenter") ? "the datacenter" : str_eq(type, "Folder") ? "the folder" : "the vSphere cluster";
}

/* -- making them ------------------------------------------------------------------------------------------------------------- */

/* One role for one vCenter: another name would leave the first one behind. */
static int refuse_other_name(const struct registration_work *w, struct err *err) {
    (void)err_set(err, ERR_CONFLICT, "registering made the role \"%s\" at vCenter %s, and makes no second one", w->row.role_name,
                  w->vc.name);
    return err_remedy(err, "go on with it, --create-role=\"%s\"; or unregister first, which removes it", w->row.role_name);
}

int registration_check_role(struct registration_work *w, struct err *err) {
    static const char *const needed[] = {"Authorization.ModifyRoles", "Authorization.ModifyPermissions"};
    if (!w->joining->role_name)
        return 0;
    if (w->row.role_name && !str_eq(w->row.role_name, w->joining->role_name))
        return refuse_other_name(w, err);
    return registration_require_privileges(w, needed, w->joining->login.user ? 2 : 1, err);
}

/* A role of this name that somebody else made is not ours to change: it may be given to people. */
static int refuse_strange_role(const struct registration_work *w, const char *name, struct err *err) {
    (void)err_set(err, ERR_EXISTS, "vCenter %s has a role \"%s\" that was not made by this installation", w->vc.name, name);
    return err_remedy(err, "choose another name: --create-role=NAME");
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
    return *role_id ? vim_update_role(w->admin, &change, err)
                    : vim_add_role(w->admin, spec->name, spec->ids, spec->count, role_id, err);
}

/* -- taking them back -------------------------------------------------------------------------------------------------------- */

/* From all that had it but `kept` (NULL: from all), as far as it is still our role that they have there: somebody may have given them another one. An object that
 * is gone has taken its permissions with it. */
static int registration_take_back(struct registration_work *w, const struct vim_entity *entity, int role_id, const char *kept,
                                  struct err *err) {
    _cleanup_done_(vim_permission_list_done) struct vim_permission_list list = {0};
    struct err why = {0};
    int rc = role_id && w->row.role_principal ? vim_list_permissions(w->admin, entity, &list, &why) : 0;
    for (size_t i = 0; !rc && i < list.count; i++) {
        const struct vim_permission *given = &list.items[i];
        if (!given->is_group && given->role_id == role_id && has_had_it(w, given->principal) &&
            !(kept && is_same_account(kept, given->principal)))
            rc = vim_remove_permission(w->admin, entity, given->principal, false, &why);
    }
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

/* On all objects; who is kept stays on those of this request. */
static int take_back_objects(struct registration_work *w, const char *kept, struct err *err) {
    struct stored_object object;
    const char *at = w->row.role_objects;
    int rc = 0;
    while (!rc && next_object(&at, &object))
        rc = registration_take_back(w, &(struct vim_entity){object.type, object.moref}, w->row.object_role_id,
                                    is_wanted(w, &object) ? kept : NULL, err);
    return rc;
}

/* The object role that is not needed any more. While others have it, it stays ours, and goes when we leave. */
static int drop_object_role(struct registration_work *w, struct err *err) {
    struct err why = {0};
    int rc = w->row.object_role_id ? vim_remove_role(w->admin, w->row.object_role_id, false, &why) : 0;
    if (!rc || rc == ERR_NOT_FOUND)
        w->object_role_id = 0;
    return rc == ERR_NOT_FOUND || rc == ERR_CONFLICT ? 0 : err_move(err, rc, &why);
}

/* -- granting ---------------------------------------------------------------------------------------------------------------- */

/* Whoever had it keeps it where no account is given. */
static int registration_remember(struct registration_work *w, const char *accounts, const char *objects, struct err *err) {
    const bool is_granted = w->joining->login.user, is_named = w->joining->role_everywhere || w->joining->role_on_count;
    const struct registration_row made = {.role_name = (char *)(uintptr_t)w->joining->role_name, /* borrowed, as the others */
                                          .role_id = w->role_id,
                                          .role_principal = is_granted ? (char *)(uintptr_t)accounts : w->row.role_principal,
                                          .object_role_id = w->object_role_id,
                                          .role_objects = is_granted ? (char *)(uintptr_t)objects : w->row.role_objects,
                                          .is_role_on_used = is_granted ? !is_named : w->row.is_role_on_used};
    return registration_store_set_role(w->env->options.runtime->store, w->vc.id, &made, err);
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

static bool has_role(const struct vim_permission *given, int role_id) {
    return !given->is_group && given->role_id == role_id;
}

static bool had_role(const struct vim_permission_list *list, int role_id, const char *principal) {
    for (size_t i = 0; i < list->count; i++)
        if (has_role(&list->items[i], role_id) && str_eq(list->items[i].principal, principal))
            return true;
    return false;
}

/* What tells the account of the request among those that have the role, surest first. */
enum sign { IS_NEW, IS_NAMED_SO, IS_NAMED_SO_THERE, SIGNS };

static bool bears(const struct registration_work *w, const struct vim_permission_list *before, const struct vim_permission *given,
                  enum sign sign) {
    const char *typed = w->joining->login.user;
    if (!has_role(given, w->role_id))
        return false;
    if (sign == IS_NEW)
        return !had_role(before, w->role_id, given->principal);
    return has_same_bare_name(typed, given->principal) && (sign == IS_NAMED_SO || has_like_domain(typed, given->principal));
}

/* Sets w->role_account, where one sign tells one account. */
static int find_account(struct registration_work *w, const struct vim_permission_list *before,
                        const struct vim_permission_list *after, struct err *err) {
    for (enum sign sign = IS_NEW; !w->role_account && sign < SIGNS; sign++) {
        const char *found = NULL;
        size_t count = 0;
        for (size_t i = 0; i < after->count; i++)
            if (bears(w, before, &after->items[i], sign)) {
                found = after->items[i].principal;
                count++;
            }
        if (count != 1)
            continue;
        w->role_account = str_dup(found);
        if (!w->role_account)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

/* On the root folder all have it. What vCenter made of the name is stored in place of what was typed. */
static int grant_and_find(struct registration_work *w, const char *objects, struct err *err) {
    _cleanup_done_(vim_permission_list_done) struct vim_permission_list before = {0}, after = {0};
    _cleanup_free_ char *accounts = NULL;
    int rc = vim_list_permissions(w->admin, NULL, &before, err);
    rc = rc ? rc : grant_all(w, err);
    rc = rc ? rc : vim_list_permissions(w->admin, NULL, &after, err);
    rc = rc ? rc : find_account(w, &before, &after, err);
    if (rc || !w->role_account)
        return rc;
    accounts = accounts_text(w, err);
    return accounts ? registration_remember(w, accounts, objects, err) : err->code;
}

/* Both are looked up before one is made, and each is stored as soon as it is there: the next registration knows it for ours. */
static int make_both(struct registration_work *w, const char *accounts, const char *objects, struct err *err) {
    const struct role_spec on_root = root_spec(w), on_objects = object_spec(w);
    int rc = lookup_ours(w, &on_root, &w->role_id, err);
    w->object_role_id = w->row.object_role_id;
    if (!rc && has_objects(w))
        rc = lookup_ours(w, &on_objects, &w->object_role_id, err);
    if (!rc)
        rc = make_or_update(w, &on_root, &w->role_id, err);
    if (!rc)
        rc = registration_remember(w, accounts, objects, err);
    if (rc || !has_objects(w))
        return rc;
    rc = make_or_update(w, &on_objects, &w->object_role_id, err);
    return rc ? rc : registration_remember(w, accounts, objects, err);
}

int registration_make_role(struct registration_work *w, struct err *err) {
    _cleanup_free_ char *objects = NULL, *accounts = NULL;
    int rc;
    if (!w->joining->role_name)
        return 0;
    if (!w->joining->login.user)
        return make_both(w, NULL, NULL, err);
    objects = objects_text(w, true, err);
    accounts = objects ? accounts_text(w, err) : NULL;
    rc = accounts ? make_both(w, accounts, objects, err) : err->code;
    return rc ? rc : grant_and_find(w, objects, err);
}

int registration_clear_role(struct registration_work *w, struct err *err) {
    const char *user = w->role_account ? w->role_account : w->joining->login.user;
    _cleanup_free_ char *objects = NULL;
    int rc;
    if (!w->joining->role_name || !user)
        return 0;
    objects = objects_text(w, false, err);
    rc = objects ? registration_take_back(w, NULL, w->row.role_id, user, err) : err->code;
    if (!rc)
        rc = take_back_objects(w, user, err);
    if (!rc && !has_objects(w))
        rc = drop_object_role(w, err);
    return rc ? rc : registration_remember(w, user, *objects ? objects : NULL, err);
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
    const char *user = w->joining->login.user, *at = w->row.role_objects;
    _cleanup_strbuf_ struct strbuf all, others;
    struct stored_object object;
    strbuf_init(&all, 2 * ROLE_ACCOUNTS_BYTES);
    strbuf_init(&others, 2 * ROLE_ACCOUNTS_BYTES);
    if (!user)
        return;
    add_accounts(w, NULL, ", ", &all);
    add_accounts(w, user, ", ", &others);
    while (next_object(&at, &object)) {
        const struct strbuf *from = is_wanted(w, &object) ? &others : &all;
        if (from->len)
            report_texts_add(&w->report->steps, "take it back from %s on %s %s", from->data, kind_of(object.type), object.moref);
    }
    if (others.len)
        report_texts_add(&w->report->steps, "take the role \"%s\" back from %s on the root folder", w->row.role_name,
                         others.data);
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
    const char *at = w->row.role_principal ? w->row.role_objects : NULL;
    _cleanup_strbuf_ struct strbuf accounts;
    struct stored_object object;
    strbuf_init(&accounts, 2 * ROLE_ACCOUNTS_BYTES);
    if (!w->row.role_name)
        return;
    add_accounts(w, NULL, ", ", &accounts);
    if (accounts.len)
        report_texts_add(steps, "take the role \"%s\" back from %s", w->row.role_name, accounts.data);
    while (next_object(&at, &object))
        report_texts_add(steps, "take the role \"%s%s\" back from %s on %s %s", w->row.role_name, ROLE_OBJECTS_SUFFIX,
                         accounts.data, kind_of(object.type), object.moref);
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
    if (!rc)
        rc = role_id == w->row.role_id ? registration_take_back(w, NULL, role_id, NULL, &why) : take_back_objects(w, NULL, &why);
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
        (void)registration_store_set_role(w->env->options.runtime->store, w->vc.id, NULL, NULL);
}
