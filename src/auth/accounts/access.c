/* Local users and their passwords, grants, role mappings, the audit log. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * src/port/passwd.c hashes passwords; src/auth/login/login.c proves one. */
#include "access.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_store.h"
#include "audit_store.h"
#include "clock.h"
#include "grant_store.h"
#include "ldap_store.h"
#include "names.h"
#include "passwd.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"
#include "vcenter_store.h"

#define CHANGE_TRIES 5
#define LOCAL "local:"

struct user_name {
    char *id, *name;
};
struct user_names { /* by id */
    struct user_name *items;
    size_t count;
};
struct access {
    struct access_options options;
    pthread_rwlock_t names_lock;
    struct user_names names; /* guarded by names_lock */
};

static void access_names_done(struct user_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i].id);
        free(names->items[i].name);
    }
    free(names->items);
    *names = (struct user_names){0};
}

int access_new(const struct access_options *options, struct access **out, struct err *err) {
    struct access *access = calloc(1, sizeof(*access));
    if (!access)
        return err_set(err, ERR_NOMEM, "out of memory");
    access->options = *options;
    (void)pthread_rwlock_init(&access->names_lock, NULL);
    *out = access;
    return 0;
}

void access_free(struct access *access) {
    if (!access)
        return;
    access_names_done(&access->names);
    (void)pthread_rwlock_destroy(&access->names_lock);
    free(access);
}

/* Ends every write, whose line is in its transaction: after success others learn of it, a refusal gets its line now. Returns rc. */
static int access_finish(struct access *access, const struct audit_record *line, int rc, const struct err *why) {
    if (rc)
        audit_store_append_outcome(access->options.runtime->store, line, rc, why);
    else
        runtime_note_written(access->options.runtime);
    return rc;
}

/* -- names of local users in memory, to be shown beside their ids -------------------------------------------------- */

static int access_compare_names(const void *a, const void *b) {
    return strcmp(((const struct user_name *)a)->id, ((const struct user_name *)b)->id);
}

/* Names and ids only: hashes of passwords are nothing to keep. */
static int access_take_names(struct user_list *users, struct user_names *out, struct err *err) {
    struct user_names names = {.items = calloc(users->count + 1, sizeof(*names.items))};
    if (!names.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (; names.count < users->count; names.count++)
        names.items[names.count] = (struct user_name){STEAL(users->items[names.count].id), STEAL(users->items[names.count].name)};
    if (names.count)
        qsort(names.items, names.count, sizeof(*names.items), access_compare_names);
    *out = names;
    return 0;
}

int access_sync_names(struct access *access, struct err *err) {
    struct user_list users = {0};
    struct user_names fresh = {0}, old;
    int rc = user_store_list(access->options.runtime->store, &users, err);
    if (!rc)
        rc = access_take_names(&users, &fresh, err);
    user_list_done(&users);
    if (rc)
        return rc;
    (void)pthread_rwlock_wrlock(&access->names_lock);
    old = access->names;
    access->names = fresh;
    (void)pthread_rwlock_unlock(&access->names_lock);
    access_names_done(&old);
    return 0;
}

bool access_get_name(struct access *access, const char *principal_id, char *out, size_t n) {
    const char *id = str_starts(principal_id, LOCAL) ? principal_id + strlen(LOCAL) : "";
    const struct user_name wanted = {.id = (char *)(uintptr_t)id};
    const struct user_name *found = NULL;
    (void)pthread_rwlock_rdlock(&access->names_lock);
    if (access->names.count)
        found = bsearch(&wanted, access->names.items, access->names.count, sizeof(*access->names.items), access_compare_names);
    if (found)
        (void)snprintf(out, n, "%s", found->name);
    (void)pthread_rwlock_unlock(&access->names_lock);
    return found != NULL;
}

/* -- spellings that are one name --------------------------------------------------------------------------------------------- */

/* Two that are one name to people and to Active Directory, and were two to the release before. */
struct access_doubles {
    unsigned count;
    const char *a, *b; /* the first ones; borrowed */
    const char *id;    /* of the second, where it is a user; likewise */
};

static void access_note_double(struct access_doubles *found, const char *a, const char *b, const char *id) {
    if (!found->count++)
        *found = (struct access_doubles){1, a, b, id};
}

static struct access_doubles access_find_grants(const struct grant *grants, size_t count) {
    struct access_doubles found = {0};
    for (size_t i = 1; i < count; i++) {
        const struct grant *a = &grants[i - 1], *b = &grants[i];
        if (principal_same(a->principal_id, b->principal_id) && !str_eq(a->principal_id, b->principal_id))
            access_note_double(&found, a->principal_id, b->principal_id, NULL);
    }
    return found;
}

/* Needs the lock. */
static struct access_doubles access_find_users(const struct user_names *names) {
    struct access_doubles found = {0};
    for (size_t i = 0; i < names->count; i++)
        for (size_t k = 0; k < i; k++)
            if (!name_is_ascii(names->items[i].name) && name_same(names->items[i].name, names->items[k].name))
                access_note_double(&found, names->items[k].name, names->items[i].name, names->items[i].id);
    return found;
}

void access_check_grants(const struct grant *grants, size_t count, int64_t started_at_ms, struct findings *out) {
    const struct access_doubles found = access_find_grants(grants, count);
    struct finding f = {.step = "grants", .since_ms = started_at_ms};
    if (!found.count)
        return;
    finding_say(&f, FINDING_WARNING,
                "%u times there are grants to spellings of one name that differ in the case of letters, first %.300s and %.300s;"
                " they may be meant for one person or for two, so each fits its own spelling alone",
                found.count, found.a, found.b);
    finding_advise(&f, "see: kaasctl grant list; remove those to one of the spellings and give them to the other");
    findings_add(out, &f);
}

void access_check_users(struct access *access, int64_t started_at_ms, struct findings *out) {
    struct finding f = {.step = "users", .since_ms = started_at_ms};
    struct access_doubles found;
    (void)pthread_rwlock_rdlock(&access->names_lock);
    found = access_find_users(&access->names);
    if (found.count) {
        finding_say(&f, FINDING_WARNING,
                    "%u local users have the name of another in other case, first \"%.200s\" and \"%.200s\"; each signs in by the"
                    " very spelling alone",
                    found.count, found.a, found.b);
        finding_advise(&f, "give one of them another name: kaasctl user set %s --name NAME", found.id);
        findings_add(out, &f);
    }
    (void)pthread_rwlock_unlock(&access->names_lock);
}

/* -- local users: adding, changing, removing-------------------------------------------------------------------------- */

#define REASON_BYTES_MAX 2000

int access_list_users(struct access *access, struct user_list *out, struct err *err) {
    return user_store_list(access->options.runtime->store, out, err);
}

int access_get_user(struct access *access, const char *id, struct user **out, struct err *err) {
    return user_store_load(access->options.runtime->store, id, out, err);
}

static int access_check_name(const char *name, struct err *err) {
    int rc = name_check_line(name, ACCESS_USER_NAME_CHARS_MAX, "name", err);
    if (!rc && (name[0] == ' ' || str_ends(name, " ")))
        return err_set(err, ERR_UNPROCESSABLE, "name begins or ends with a blank");
    rc = rc ? rc : name_check_visible(name, "name", err);
    return rc ? rc : name_check_script(name, "name", err);
}

static int access_check_full_name(const char *full_name, struct err *err) {
    int rc = full_name ? name_check_line(full_name, ACCESS_FULL_NAME_CHARS_MAX, "full_name", err) : 0;
    return rc || !full_name ? rc : name_check_visible(full_name, "full_name", err);
}

/* -- adding ----------------------------------------------------------------------------------------------------------------- */

static int access_check_new(const struct user *user, const char *password, struct err *err) {
    int rc = access_check_name(user->name, err);
    if (!rc)
        rc = access_check_full_name(user->full_name, err);
    return !rc && password ? password_check(password, user->name, err) : rc;
}

int access_add_user(struct access *access, const struct actor *actor, struct user *user, const char *password, char id[37],
                    struct err *err) {
    _cleanup_free_ char *reason = str_format("role %s", role_name(user->role));
    struct audit_record line = audit_record_make(
        actor, &(struct audit_event){
                   .action = "user.create", .object_kind = "user", .object_id = id, .object_name = user->name, .reason = reason});
    int rc = access_check_new(user, password, err);
    uuid_new(id);
    if (!rc)
        rc = str_replace(&user->id, id, err);
    if (!rc && password)
        rc = passwd_hash(password, &user->password_hash, err);
    if (rc)
        return rc;
    user->created_at_ms = user->updated_at_ms = clock_wall_ms();
    rc = user_store_insert(access->options.runtime->store, user, &line, err);
    if (rc == ERR_EXISTS)
        (void)err_remedy(err, "choose another name, or change the user who is there");
    return access_finish(access, &line, rc, err);
}

/* -- changing --------------------------------------------------------------------------------------------------------------- */

/* Changes the record, checks what is new and says what differs. */
static int access_apply_edit(const struct access_user_edit *edit, struct user *user, struct strbuf *reason, struct err *err) {
    struct user before;
    int rc = members_copy(user_members, user, &before, sizeof(before), "a user", err);
    if (rc)
        return rc;
    rc = edit->fn(edit->arg, user, err);
    if (!rc && !str_eq(before.name, user->name))
        rc = access_check_name(user->name, err);
    if (!rc && !str_eq(before.full_name, user->full_name))
        rc = access_check_full_name(user->full_name, err);
    if (!rc)
        members_describe(user_members, &before, user, reason);
    members_done(user_members, &before, sizeof(before));
    return rc;
}

static int access_write_changed(struct access *access, const struct actor *actor, struct user *user, const char *reason,
                                struct err *err) {
    const struct audit_record line = audit_record_make(
        actor,
        &(struct audit_event){
            .action = "user.change", .object_kind = "user", .object_id = user->id, .object_name = user->name, .reason = reason});
    struct user_change change = {.audit = &line, .ends_sessions = user->is_disabled};
    int64_t next = 0;
    user->updated_at_ms = line.at_ms;
    secret_free(STEAL(user->password_hash)); /* stays as it is stored */
    return access_finish(access, &line, user_store_update(access->options.runtime->store, user, &change, &next, err), err);
}

static int access_change_once(struct access *access, const struct actor *actor, const struct access_user_edit *edit,
                              struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    _cleanup_strbuf_ struct strbuf reason;
    int rc = user_store_load(access->options.runtime->store, edit->id, &user, err);
    strbuf_init(&reason, REASON_BYTES_MAX);
    if (rc)
        return rc;
    if (edit->version_no && user->version_no != edit->version_no) {
        (void)err_set(err, ERR_PRECONDITION, "the user has been changed since it was read; nothing was done");
        return err_remedy(err, "read it again and repeat the change");
    }
    rc = access_apply_edit(edit, user, &reason, err);
    if (rc || !reason.len) /* nothing new is no change */
        return rc;
    return access_write_changed(access, actor, user, reason.data, err);
}

int access_change_user(struct access *access, const struct actor *actor, const struct access_user_edit *edit, struct err *err) {
    struct err why = {0};
    int rc = ERR_PRECONDITION;
    for (int i = 0; rc == ERR_PRECONDITION && i < CHANGE_TRIES; i++) {
        err_clear(&why);
        rc = access_change_once(access, actor, edit, &why);
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
    int rc = user_store_load(access->options.runtime->store, id, &user, err);
    if (rc)
        return rc;
    line.event.object_name = user->name;
    rc = user_store_delete(access->options.runtime->store, &removal, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    return access_finish(access, &line, rc, err);
}

/* -- passwords of local users -------------------------------------------------------------------------------------- */

struct password_change {
    const struct actor *actor;
    const char *user_id, *password;
    const char *action, *kept_sid;
    bool must_change_password;
};

static int access_write_password_once(struct access *access, const struct password_change *change, const char *hash,
                                      struct err *err) {
    _cleanup_(user_free) struct user *user = NULL;
    struct audit_record line = audit_record_make(
        change->actor, &(struct audit_event){.action = change->action, .object_kind = "user", .object_id = change->user_id});
    struct user_change along = {.audit = &line, .ends_sessions = true, .kept_sid = change->kept_sid};
    int64_t next = 0;
    int rc = user_store_load(access->options.runtime->store, change->user_id, &user, err);
    if (rc)
        return rc;
    line.event.object_name = user->name;
    secret_free(user->password_hash);
    user->password_hash = str_dup(hash);
    user->must_change_password = change->must_change_password;
    user->updated_at_ms = line.at_ms;
    rc = user->password_hash ? user_store_update(access->options.runtime->store, user, &along, &next, err)
                             : err_set(err, ERR_NOMEM, "out of memory");
    return access_finish(access, &line, rc, err);
}

/* Hashing takes long: the record is read again behind it, so that nothing that was changed meanwhile is lost. */
static int access_write_password(struct access *access, const struct password_change *change, struct err *err) {
    _cleanup_secret_ char *hash = NULL;
    _cleanup_(user_free) struct user *user = NULL;
    struct err why = {0};
    int rc = user_store_load(access->options.runtime->store, change->user_id, &user, err);
    if (!rc)
        rc = password_check(change->password, user->name, err);
    if (!rc)
        rc = passwd_hash(change->password, &hash, err);
    if (rc)
        return rc;
    rc = ERR_PRECONDITION;
    for (int i = 0; rc == ERR_PRECONDITION && i < CHANGE_TRIES; i++) {
        err_clear(&why);
        rc = access_write_password_once(access, change, hash, &why);
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
    return access_write_password(access, &change, err);
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
    return access_write_password(access, &change, err);
}

/* -- grants: giving and taking away -------------------------------------------------------------------------------- */

/* The line names what the grant is on, since that is what people look for; whom it is for stands in the reason. */
static struct audit_record access_grant_make_line(const struct actor *actor, const char *action, const struct grant *g,
                                                  const char *reason) {
    return audit_record_make(
        actor, &(struct audit_event){
                   .action = action, .object_kind = grant_object_name(g->object), .object_id = g->object_id, .reason = reason});
}

static char *access_grant_reason(const struct grant *g) {
    return str_format("%s for %s", g->role ? g->role : GRANT_ROLE_VIEWER, g->principal_id);
}

/* Ids of local users are never used again, so a grant to nobody would stay one for ever. */
static int access_check_grantee(struct access *access, const struct grant *g, struct err *err) {
    struct err missing = {0};
    struct user *user = NULL;
    int rc;
    if (!str_starts(g->principal_id, LOCAL))
        return 0;
    rc = user_store_load(access->options.runtime->store, g->principal_id + sizeof(LOCAL) - 1, &user, &missing);
    user_free(user);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_UNPROCESSABLE, "there is no local user %s", g->principal_id);
        return err_remedy(err, "compare with GET /v2/users");
    }
    return err_move(err, rc, &missing);
}

static int access_set_grant_id(struct grant *g, struct err *err) {
    char id[UUID_TEXT_BYTES];
    uuid_new(id);
    free(g->id);
    g->id = str_dup(id);
    g->created_at_ms = clock_wall_ms();
    return g->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int access_add_grant(struct access *access, const struct actor *actor, struct grant *g, struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct audit_record line;
    struct err why = {0};
    int rc = grant_normalize(g, err);
    if (!rc)
        rc = access_check_grantee(access, g, err);
    if (!rc)
        rc = grant_store_settle_principal(access->options.runtime->store, &g->principal_id, err);
    if (!rc)
        rc = access_set_grant_id(g, err);
    if (rc)
        return rc;
    reason = access_grant_reason(g);
    line = access_grant_make_line(actor, "grant.create", g, reason);
    rc = grant_store_insert(access->options.runtime->store, g, g->created_at_ms, &line, &why);
    if (rc == ERR_EXISTS)
        (void)err_remedy(&why, "it need not be given again; see: kaasctl grant list, or GET /v2/grants?object_id=...");
    if (rc == ERR_CONFLICT)
        rc = ERR_NOT_FOUND; /* what one may not see and what is not there are the same */
    return access_finish(access, &line, err_move(err, rc, &why), err);
}

int access_remove_grant(struct access *access, const struct actor *actor, const char *id, struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct grant g = {0};
    struct audit_record line;
    int rc = grant_store_load(access->options.runtime->store, id, &g, err);
    if (rc)
        return rc;
    reason = access_grant_reason(&g);
    line = access_grant_make_line(actor, "grant.remove", &g, reason);
    rc = access_finish(access, &line, grant_store_delete(access->options.runtime->store, id, &line, err), err);
    grant_done(&g);
    return rc;
}

/* -- role mappings: giving, changing and taking away --------------------------------------------------------------- */

#define LDAP "ldap:"
#define NAMES_BYTES_MAX 160U /* that fit into a remedy */

/* The line names the mapping, and tells in the reason who gets which role: that is what people look for. */
static struct audit_record access_mapping_make_line(const struct actor *actor, const char *action, const struct role_mapping *m,
                                                    const char *reason) {
    return audit_record_make(
        actor, &(struct audit_event){.action = action, .object_kind = "role_mapping", .object_id = m->id, .reason = reason});
}

static char *access_mapping_reason(const struct role_mapping *m) {
    return m->privilege ? str_format("%s for %s on vCenter %s", role_name(m->role), m->privilege, m->subject_id)
                        : str_format("%s for %s", role_name(m->role), m->subject_id);
}

static int access_check_kind(const struct access *access, const struct role_mapping *m, struct err *err) {
    if (m->kind != ROLE_MAPPING_PRIVILEGE || access->options.maps_privileges)
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "roles by privileges of a vCenter are switched off");
    return err_remedy(err, "set auth.vcenter.privilege_roles: true, if whoever gives privileges there may give this role, too");
}

/* The source of "ldap:<source>:<uuid>": a mapping for one that is not there would count for whatever gets its name one day. */
static int access_check_directory(struct access *access, const struct role_mapping *m, struct err *err) {
    const char *name = m->subject_id + sizeof(LDAP) - 1;
    const size_t n = strcspn(name, ":");
    struct ldap_row_list all = {0};
    _cleanup_strbuf_ struct strbuf known;
    bool is_known = false;
    int rc = ldap_store_list(access->options.runtime->store, &all, err);
    strbuf_init(&known, NAMES_BYTES_MAX);
    for (size_t i = 0; !rc && i < all.count; i++) {
        const char *other = all.items[i].source.name;
        is_known |= strlen(other) == n && !strncmp(other, name, n);
        strbuf_addf(&known, "%s%s", i ? ", " : "", other);
    }
    ldap_row_list_done(&all);
    if (rc || is_known)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "there is no directory \"%.*s\"", (int)n, name);
    if (!known.len)
        return err_remedy(err, "there is none at all; add it first: kaasctl ldap set NAME");
    return err_remedy(err, "there are: %s%s; see: kaasctl ldap list", known.data, known.failed ? ", ..." : "");
}

static int access_check_vcenter(struct access *access, const struct role_mapping *m, struct err *err) {
    _cleanup_(vcenter_free) struct vcenter *vcenter = NULL;
    struct err why = {0};
    int rc = vcenter_store_load(access->options.runtime->store, m->subject_id, &vcenter, &why);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_UNPROCESSABLE, "there is no vCenter %s", m->subject_id);
        return err_remedy(err, "take the id of one of: kaasctl vcenter list");
    }
    return err_move(err, rc, &why);
}

/* Is there who could tell of such a subject? */
static int access_check_source(struct access *access, const struct role_mapping *m, struct err *err) {
    if (m->kind == ROLE_MAPPING_PRIVILEGE)
        return access_check_vcenter(access, m, err);
    return str_starts(m->subject_id, LDAP) ? access_check_directory(access, m, err) : 0;
}

static int access_set_mapping_id(struct role_mapping *m, struct err *err) {
    char id[UUID_TEXT_BYTES];
    uuid_new(id);
    free(m->id);
    m->id = str_dup(id);
    m->created_at_ms = m->updated_at_ms = clock_wall_ms();
    m->version_no = 1;
    return m->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int access_add_role_mapping(struct access *access, const struct actor *actor, struct role_mapping *m, struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct audit_record line;
    int rc = role_mapping_normalize(m, err);
    if (!rc)
        rc = access_check_kind(access, m, err);
    if (!rc)
        rc = access_check_source(access, m, err);
    if (!rc)
        rc = access_set_mapping_id(m, err);
    if (rc)
        return rc;
    reason = access_mapping_reason(m);
    line = access_mapping_make_line(actor, "role_mapping.create", m, reason);
    rc = role_mapping_store_insert(access->options.runtime->store, m, &line, err);
    if (rc == ERR_EXISTS)
        (void)err_remedy(err, "remove that one first, or change its role: kaasctl role-mapping list, or GET /v2/role-mappings");
    return access_finish(access, &line, rc, err);
}

int access_change_role_mapping(struct access *access, const struct actor *actor, struct role_mapping *m, struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct audit_record line;
    int rc = role_mapping_normalize(m, err);
    if (rc)
        return rc;
    reason = access_mapping_reason(m);
    line = access_mapping_make_line(actor, "role_mapping.change", m, reason);
    m->updated_at_ms = line.at_ms;
    rc = role_mapping_store_update(access->options.runtime->store, m, &line, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the change");
    return access_finish(access, &line, rc, err);
}

int access_remove_role_mapping(struct access *access, const struct actor *actor, const char *id, int64_t version_no,
                               struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct role_mapping m = {0};
    struct audit_record line;
    struct role_mapping_removal removal = {.id = id, .version_no = version_no, .audit = &line};
    int rc = role_mapping_store_load(access->options.runtime->store, id, &m, err);
    if (rc)
        return rc;
    reason = access_mapping_reason(&m);
    line = access_mapping_make_line(actor, "role_mapping.remove", &m, reason);
    rc = role_mapping_store_delete(access->options.runtime->store, &removal, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    rc = access_finish(access, &line, rc, err);
    role_mapping_done(&m);
    return rc;
}

int access_list_role_mappings(struct access *access, struct role_mapping_list *out, struct err *err) {
    return role_mapping_store_list(access->options.runtime->store, out, err);
}

int access_get_role_mapping(struct access *access, const char *id, struct role_mapping *out, struct err *err) {
    return role_mapping_store_load(access->options.runtime->store, id, out, err);
}

/* -- the audit log: reading, noting refusals, verifying ---------------------------------------------------------- */

int access_list_audit(struct access *access, const struct audit_query *query, struct audit_page *out, struct err *err) {
    return audit_store_list(access->options.runtime->store, query, out, err);
}

void access_note_refusal(struct access *access, const struct audit_event *event) {
    audit_store_note(access->options.runtime->store, event);
}

void access_audit_done(struct access_audit *found) {
    if (!found)
        return;
    free(found->items);
    *found = (struct access_audit){0};
}

/* One part of one replica; *left is what may still be looked at. */
static int access_verify_part(struct access *access, struct access_audit *found, const struct audit_chain_name *chain,
                              const struct access_audit_place *place, unsigned *left, struct err *err) {
    struct access_audit_part *part = &found->items[found->count];
    int rc;
    part->v = (struct audit_verification){.replica_id = chain->replica_id, .limit = *left};
    if (chain->replica_id == place->replica_id)
        part->v.after_seq = place->after_seq;
    memcpy(part->name, chain->name, sizeof(part->name));
    rc = audit_store_verify(access->options.runtime->store, &part->v, err);
    if (rc)
        return rc;
    found->count++;
    *left = part->v.lines < *left ? *left - (unsigned)part->v.lines : 0;
    if (part->v.is_complete)
        return 0;
    found->has_more = true;
    found->next = (struct access_audit_place){chain->replica_id, part->v.after_seq};
    return 0;
}

int access_verify_audit(struct access *access, const struct access_audit_place *place, unsigned limit, struct access_audit *out,
                        struct err *err) {
    struct audit_chain_list chains = {0};
    struct access_audit found = {0};
    int rc = audit_store_list_chains(access->options.runtime->store, &chains, err);
    if (!rc) {
        found.items = calloc(chains.count + 1, sizeof(*found.items));
        rc = found.items ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < chains.count && !rc && !found.has_more; i++) {
        if (chains.items[i].replica_id < place->replica_id)
            continue;
        if (limit) {
            rc = access_verify_part(access, &found, &chains.items[i], place, &limit, err);
        } else {
            found.has_more = true;
            found.next = (struct access_audit_place){.replica_id = chains.items[i].replica_id};
        }
    }
    audit_chain_list_done(&chains);
    if (rc)
        access_audit_done(&found);
    else
        *out = found;
    return rc;
}

int access_accept_restore(struct access *access, const struct actor *actor, struct err *err) {
    const struct audit_record record = audit_record_make(actor, &(struct audit_event){.object_kind = "audit"});
    return audit_store_accept(access->options.runtime->store, &record.event, err);
}
