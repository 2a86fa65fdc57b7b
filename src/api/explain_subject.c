/* Who an explanation is about. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "explain_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "identity.h"
#include "name_lookup.h"
#include "str.h"

const char *explain_basis_name(enum explain_basis basis) {
    static const char *const words[] = {[EXPLAIN_BY_ID] = "id",
                                        [EXPLAIN_BY_ACCOUNT] = "account",
                                        [EXPLAIN_BY_SESSION] = "session",
                                        [EXPLAIN_BY_DIRECTORY] = "directory",
                                        [EXPLAIN_BY_VCENTER] = "vcenter"};
    return words[basis];
}

void explain_done(struct subject *s) {
    free(s->principal_id);
    object_set_done(&s->rights);
    signon_linked_done(s->links, s->links_count);
    group_set_done(&s->found);
    free(s->picked);
}

bool explain_is_of_directory(const char *id) {
    return str_starts(id, "sid:") || str_starts(id, "ldap:");
}

/* -- what holds for everybody ------------------------------------------------------------------------------------------------ */

/* What somebody sees by sessions that were linked to further vCenters. */
static void take_links(const struct api_call *call, struct subject *s) {
    s->links_count = signon_get_linked(call->api->options.signon, s->principal_id, s->links);
    for (size_t i = 0; i < s->links_count; i++) {
        const struct signon_linked *link = &s->links[i];
        s->linked[i] = (struct viewer_vcenter){link->vcenter_id, link->objects ? shared_objects_get(link->objects) : NULL};
    }
    s->viewer.linked = s->linked;
    s->viewer.linked_count = s->links_count;
}

static int subject_pick_grants(const struct dir_platform *platform, struct subject *s, struct err *err) {
    static const struct group_set none;
    const struct policy_grantee who = {s->principal_id, s->groups ? s->groups : &none};
    int rc = policy_pick_grants(platform->grants, platform->grants_count, &who, &s->picked, &s->viewer.grants_count, err);
    s->viewer.grants = platform->grants;
    s->viewer.picked = s->picked;
    return rc;
}

static int subject_finish(const struct api_call *call, struct subject *s, struct err *err) {
    take_links(call, s);
    s->viewer.principal_id = s->principal_id;
    return subject_pick_grants(call->snapshot->platform, s, err);
}

/* -- local users, programs, who is signed in --------------------------------------------------------------------------------- */

static bool is_user(const struct user *user, const char *wanted) {
    return str_starts(wanted, "local:") ? str_eq_nocase(user->id, wanted + 6) : str_eq_nocase(user->name, wanted);
}

/* By id or name among the local users. */
static int take_user(const struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    struct user_list users = {0};
    int rc = access_list_users(call->api->options.access, &users, err);
    for (size_t i = 0; !rc && i < users.count && !s->principal_id; i++) {
        if (!is_user(&users.items[i], wanted))
            continue;
        s->principal_id = str_format("local:%s", users.items[i].id);
        s->viewer.role = users.items[i].is_disabled ? ROLE_NONE : users.items[i].role;
        s->basis = EXPLAIN_BY_ACCOUNT;
        s->has_no_groups = true;
    }
    user_list_done(&users);
    return rc;
}

/* A program: what its account says. */
static bool subject_take_service(const struct api_call *call, const char *wanted, struct subject *s) {
    const struct service_account *account =
        str_starts(wanted, "svc:") ? dir_find_service(call->snapshot->platform, wanted + 4) : NULL;
    if (!account)
        return false;
    s->principal_id = str_dup(wanted);
    s->viewer.role = account->is_disabled ? ROLE_NONE : ROLE_SERVICE;
    s->viewer.limits = account;
    s->has_no_groups = true;
    s->basis = EXPLAIN_BY_ACCOUNT;
    return s->principal_id != NULL;
}

/* A bare name may be that of somebody else in another directory, who is not signed in: the directories are asked first. */
static bool is_bare_name(const struct principal *who, const char *wanted) {
    return explain_is_of_directory(who->id) && !str_eq_nocase(who->id, wanted) && !strchr(wanted, '@');
}

static bool take_known(const struct api_call *call, const char *wanted, struct subject *s) {
    struct session known = {.sid = ""};
    if (signon_find_known(call->api->options.signon, wanted, &known, NULL))
        return false;
    if (is_bare_name(&known.who, wanted)) {
        session_done(&known);
        return false;
    }
    s->principal_id = STEAL(known.who.id);
    s->viewer.role = known.who.role;
    s->found = known.groups;
    s->groups = &s->found;
    known.groups = (struct group_set){0};
    s->basis = EXPLAIN_BY_SESSION;
    session_done(&known);
    return true;
}

/* A local user goes before somebody else of that name. */
static int take_user_or_person(const struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    int rc = explain_is_of_directory(wanted) ? 0 : take_user(call, wanted, s, err);
    if (rc || s->principal_id || take_known(call, wanted, s))
        return rc;
    return EXPLAIN_LOOK_UP;
}

static int take_vc_person(const struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    struct err why = {0};
    s->principal_id = str_dup(wanted);
    if (!s->principal_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    str_lower(s->principal_id);
    (void)snprintf(s->vcenter_id, sizeof(s->vcenter_id), "%s", link_id(call->link));
    s->viewer.role = ROLE_USER;
    s->has_no_groups = true;
    s->viewer.vcenter_id = s->vcenter_id;
    s->basis = EXPLAIN_BY_VCENTER;
    (void)snprintf(
        s->note, sizeof(s->note),
        "asked by the user's name: the vCenter does not say whether there is such an account, and what a session there was shown by "
        "further vCenters counts only while it is under way");
    if (!signon_lookup_rights(call->api->options.signon, s->vcenter_id, s->principal_id, &s->rights, &why))
        s->viewer.vsphere_clusters = &s->rights;
    else
        (void)snprintf(s->unknown, sizeof(s->unknown), "not known: %.200s", why.text);
    return 0;
}

int explain_take(const struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    int rc = 0;
    if (!subject_take_service(call, wanted, s))
        rc = call->link ? take_vc_person(call, wanted, s, err) : take_user_or_person(call, wanted, s, err);
    return rc ? rc : subject_finish(call, s, err);
}

/* -- who is not signed in ----------------------------------------------------------------------------------------------------- */

static int nobody(const char *wanted, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND,
                  "there is no local user \"%.100s\", nobody of that name is signed in, and no directory knows it", wanted);
    return err_remedy(err, "give an id: vc:<instance uuid of the vCenter>:<user name>, sid:S-1-5-... or ldap:<source>:<uuid>");
}

/* Its id, if it is none. */
static int read_id(struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    const struct identity_reference reference = {.kind = IDENTITY_PERSON, .name = wanted};
    struct err why = {0};
    int rc = principal_id_read(wanted, &s->principal_id, NULL);
    if (!rc && !explain_is_of_directory(s->principal_id))
        return nobody(wanted, err);
    if (rc == ERR_UNPROCESSABLE)
        rc = name_lookup_find(call, &reference, &s->principal_id, &why);
    if (rc == ERR_UNPROCESSABLE)
        return nobody(wanted, err);
    return err_move(err, rc, &why);
}

static void subject_take_person(struct subject *s, struct identity_person *person) {
    s->found = person->groups;
    s->groups = &s->found;
    person->groups = (struct group_set){0};
    s->basis = EXPLAIN_BY_DIRECTORY;
    if (*person->refusal)
        (void)snprintf(s->barred, sizeof(s->barred), "%s", person->refusal);
    (void)snprintf(s->note, sizeof(s->note), "not signed in: account and groups as the directory %s tells them now%s%s",
                   person->directory, *person->refusal ? "; nobody signs in by it, since " : "", person->refusal);
    identity_person_done(person);
}

/* By the id that was found for a name. */
static bool is_signed_in(const struct api_call *call, struct subject *s) {
    _cleanup_free_ char *id = STEAL(s->principal_id);
    if (take_known(call, id, s))
        return true;
    s->principal_id = STEAL(id);
    return false;
}

int explain_look_up(struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    struct identity_person person = {0};
    struct err why = {0};
    int rc = read_id(call, wanted, s, err);
    if (rc)
        return rc;
    if (is_signed_in(call, s))
        return subject_finish(call, s, err);
    rc = identity_lookup_person(call->api->options.identity, s->principal_id, &person, &why);
    if (!rc)
        subject_take_person(s, &person);
    else
        (void)snprintf(s->note, sizeof(s->note), "not signed in, and the groups are not known: %.200s", why.text);
    if (!*s->barred)
        s->viewer.role = signon_mapped_role(call->api->options.signon, s->principal_id, s->groups);
    return subject_finish(call, s, err);
}
