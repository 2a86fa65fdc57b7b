/* Handler of /v2/clusters/{id}/explain: why somebody sees a cluster, or does not. Layer 6 (api). The decisions are policy's.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "api_call.h"
#include "ldapdir.h"
#include "name_lookup.h"
#include "platform_links.h"
#include "query.h"
#include "reply.h"
#include "str.h"
#include "views.h"

/* What is known of somebody, and from where. */
enum explain_basis {
    EXPLAIN_BY_ID,        /* nobody knows more than what was asked for */
    EXPLAIN_BY_ACCOUNT,   /* local user, program, administrator of the host */
    EXPLAIN_BY_SESSION,   /* what counts in a session under way */
    EXPLAIN_BY_DIRECTORY, /* what the directory says now */
    EXPLAIN_BY_VCENTER,   /* what the vCenter says now about a user's name */
};

/* Somebody, before the rules. */
struct subject {
    const struct api_call *call; /* who asks */
    const struct inventory_platform *platform;
    const struct cluster *cluster;
    struct viewer_key viewer;
    char *principal_id;                            /* owned */
    char vcenter_id[37];                           /* "" for those who come from none */
    struct object_set rights;                      /* owned; what the vCenter says */
    char unknown[256];                             /* why what the vCenter says is not known; "": it is */
    const struct api_call *own;                    /* the caller itself; NULL: somebody else */
    struct signon_linked links[SIGNON_LINKED_MAX]; /* owned; of somebody else's sessions */
    struct viewer_vcenter linked[SIGNON_LINKED_MAX];
    size_t links_count;
    const struct group_set *groups; /* that count; NULL: not known */
    struct group_set found;         /* owned; of a session, or by a directory */
    uint32_t *picked;               /* owned; of viewer */
    bool has_no_groups;             /* of those who can have none */
    enum explain_basis basis;
    char note[320];  /* what has to be known to read the answer; "": nothing */
    char barred[64]; /* why somebody may not sign in; "": they may */
};

/* Somebody by id or name: local users, programs, who is signed in; with call->link a person of that vCenter. In the worker database, or the vCenter's.
 * EXPLAIN_LOOK_UP when directories have to be asked; ERR_NOT_FOUND, errors of the store. */
#define EXPLAIN_LOOK_UP 1

static const char *const explain_words[] = {[EXPLAIN_BY_ID] = "id",
                                            [EXPLAIN_BY_ACCOUNT] = "account",
                                            [EXPLAIN_BY_SESSION] = "session",
                                            [EXPLAIN_BY_DIRECTORY] = "directory",
                                            [EXPLAIN_BY_VCENTER] = "vcenter"};

static void explain_done(struct subject *s) {
    free(s->principal_id);
    object_set_done(&s->rights);
    signon_linked_done(s->links, s->links_count);
    group_set_done(&s->found);
    free(s->picked);
}

/* Is it the id of somebody whom a directory knows? */
static bool explain_is_of_directory(const char *id) {
    return str_starts(id, "sid:") || str_starts(id, "ldap:");
}

/* -- who an explanation is about: what holds for everybody -------------------------------------------------------------- */

/* What somebody sees by sessions that were linked to further vCenters, and by grants. */
static int subject_finish(const struct api_call *call, struct subject *s, struct err *err) {
    static const struct group_set none;
    const struct inventory_platform *platform = call->snapshot->platform;
    const struct policy_grantee who = {s->principal_id, s->groups ? s->groups : &none};
    s->links_count = signon_get_linked(call->api->options.signon, s->principal_id, s->links);
    for (size_t i = 0; i < s->links_count; i++) {
        const struct signon_linked *link = &s->links[i];
        s->linked[i] = (struct viewer_vcenter){link->vcenter_id, link->objects ? shared_objects_get(link->objects) : NULL};
    }
    s->viewer.linked = s->linked;
    s->viewer.linked_count = s->links_count;
    s->viewer.principal_id = s->principal_id;
    s->viewer.grants = platform->grants;
    int rc = policy_pick_grants(platform->grants, platform->grants_count, &who, &s->picked, &s->viewer.grants_count, err);
    s->viewer.picked = s->picked;
    return rc;
}

/* -- local users, programs, who is signed in --------------------------------------------------------------------------------- */

/* By id or name among the local users. */
static int take_user(const struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    const char *id = str_starts(wanted, "local:") ? wanted + strlen("local:") : NULL;
    struct user_list users = {0};
    int rc = access_list_users(call->api->options.access, &users, err);
    const struct user *user = rc || id ? NULL : user_list_find(&users, wanted);
    for (size_t i = 0; !rc && id && !user && i < users.count; i++)
        user = str_eq_nocase(users.items[i].id, id) ? &users.items[i] : NULL;
    if (user) {
        s->principal_id = str_format("local:%s", user->id);
        s->viewer.role = user->is_disabled ? ROLE_NONE : user->role;
        s->basis = EXPLAIN_BY_ACCOUNT;
        s->has_no_groups = true;
    }
    user_list_done(&users);
    return rc;
}

/* A program: what its account says. */
static bool subject_take_service(const struct api_call *call, const char *wanted, struct subject *s) {
    const struct service_account *account =
        str_starts(wanted, "svc:") ? inventory_find_service(call->snapshot->platform, wanted + 4) : NULL;
    if (!account)
        return false;
    s->principal_id = str_dup(wanted);
    s->viewer.role = account->is_disabled ? ROLE_NONE : ROLE_SERVICE;
    s->viewer.limits = account;
    s->has_no_groups = true;
    s->basis = EXPLAIN_BY_ACCOUNT;
    return s->principal_id != NULL;
}

/* Whoever is signed in. A bare name may be that of somebody else in another directory, who is not: the directories
 * are asked first. */
static bool h_explain_take_known(const struct api_call *call, const char *wanted, struct subject *s) {
    struct session known = {.sid = ""};
    bool is_known = !signon_find_known(call->api->options.signon, wanted, &known, NULL);
    if (is_known && explain_is_of_directory(known.who.id) && !str_eq_nocase(known.who.id, wanted) && !strchr(wanted, '@'))
        is_known = false;
    if (is_known) {
        s->principal_id = STEAL(known.who.id);
        s->viewer.role = known.who.role;
        SWAP(s->found, known.groups);
        s->groups = &s->found;
        s->basis = EXPLAIN_BY_SESSION;
    }
    session_done(&known);
    return is_known;
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

/* A local user goes before somebody else of that name. */
static int explain_take(const struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    int rc = 0;
    if (subject_take_service(call, wanted, s))
        return subject_finish(call, s, err);
    if (call->link)
        rc = take_vc_person(call, wanted, s, err);
    else if (!explain_is_of_directory(wanted))
        rc = take_user(call, wanted, s, err);
    if (rc)
        return rc;
    return s->principal_id || h_explain_take_known(call, wanted, s) ? subject_finish(call, s, err) : EXPLAIN_LOOK_UP;
}

/* -- who is not signed in ----------------------------------------------------------------------------------------------------- */

static int h_explain_nobody(const char *wanted, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND,
                  "there is no local user \"%.100s\", nobody of that name is signed in, and no directory knows it", wanted);
    return err_remedy(err, "give an id: vc:<instance uuid of the vCenter>:<user name>, sid:S-1-5-... or ldap:<source>:<uuid>");
}

/* Its id, if it is none. */
static int read_id(struct api_call *call, const char *wanted, char **id, struct err *err) {
    const struct ldapdir_reference reference = {.kind = LDAPDIR_PERSON, .name = wanted};
    struct err why = {0};
    int rc = principal_id_read(wanted, id, NULL);
    if (!rc && !explain_is_of_directory(*id))
        return h_explain_nobody(wanted, err);
    if (rc == ERR_UNPROCESSABLE)
        rc = name_lookup_find(call, &reference, id, &why);
    if (rc == ERR_UNPROCESSABLE)
        return h_explain_nobody(wanted, err);
    return err_move(err, rc, &why);
}

/* Somebody who is not signed in, by id or name, as directories know them; in a worker where they may be waited for. What they do not say is not
 * known, and s->note says so. ERR_NOT_FOUND, ERR_AMBIGUOUS for names; their errors for a name. */
static int explain_look_up(struct api_call *call, const char *wanted, struct subject *s, struct err *err) {
    _cleanup_free_ char *id = NULL;
    struct ldapdir_person person = {0};
    struct err why = {0};
    int rc = read_id(call, wanted, &id, err);
    if (rc)
        return rc;
    if (h_explain_take_known(call, id, s)) /* by the id that was found for a name */
        return subject_finish(call, s, err);
    s->principal_id = STEAL(id);
    rc = ldapdir_lookup_person(call->api->options.ldapdirs, s->principal_id, &person, &why);
    if (rc) {
        (void)snprintf(s->note, sizeof(s->note), "not signed in, and the groups are not known: %.200s", why.text);
    } else {
        SWAP(s->found, person.groups);
        s->groups = &s->found;
        s->basis = EXPLAIN_BY_DIRECTORY;
        (void)snprintf(s->barred, sizeof(s->barred), "%s", person.refusal);
        (void)snprintf(s->note, sizeof(s->note), "not signed in: account and groups as the directory %s tells them now%s%s",
                       person.directory, *person.refusal ? "; nobody signs in by it, since " : "", person.refusal);
        ldapdir_person_done(&person);
    }
    if (!*s->barred)
        s->viewer.role = signon_mapped_role(call->api->options.signon, s->principal_id, s->groups);
    return subject_finish(call, s, err);
}

/* -- one rule after the other ------------------------------------------------------------------------------------------------ */

enum match { MATCH_NO, MATCH_YES, MATCH_UNKNOWN };

struct row {
    const char *kind, *object_type, *object_id, *object_name;
    enum match match;
    const char *reason;
    const char *whom; /* the person or group that the rule was made for; NULL: nobody in particular */
};

static void explain_add_row(const struct subject *s, json_t *rules, const struct row *row) {
    json_t *object = json_object();
    json_put_string(object, "kind", row->kind);
    json_put_string(object, "object_type", row->object_type);
    view_put_text(object, "object_id", row->object_id);
    view_put_text(object, "object_name", row->object_name);
    json_put(object, "matched", row->match == MATCH_UNKNOWN ? json_null() : json_boolean(row->match == MATCH_YES));
    json_put_string(object, "reason", row->reason);
    view_put_text(object, "principal_id", row->whom);
    if (row->whom)
        view_put_name(s->call, object, "principal_name", row->whom);
    else
        json_put(object, "principal_name", json_null());
    json_add(rules, object);
}

static enum match match_of(unsigned rules, enum policy_rule rule) {
    return rules & (1U << rule) ? MATCH_YES : MATCH_NO;
}

static const char *no_grant_reason(const struct subject *s, bool is_hx) {
    if (s->viewer.role == ROLE_NONE && *s->barred)
        return s->barred;
    if (s->viewer.role == ROLE_NONE)
        return explain_is_of_directory(s->viewer.principal_id) ? "without a role nothing is seen"
                                                               : "a disabled user has no rights";
    if (s->viewer.role == ROLE_SERVICE && !is_hx)
        return "programs see by grants on HX clusters only";
    if (s->groups && s->groups->count)
        return "there is no grant on it, neither for the person nor for one of the groups";
    return "there is no grant on it";
}

/* Each grant that counts, by whom it is for; or that there is none. */
static void explain_add_grants(const struct subject *s, const struct row *place, enum grant_object kind, json_t *list) {
    struct row row = *place;
    bool is_first = true;
    row.kind = "grant";
    for (size_t i = 0; row.match == MATCH_YES && i < s->viewer.grants_count; i++) {
        const struct grant *g = policy_grant_at(&s->viewer, i);
        if (g->object != kind || !str_eq(g->object_id, row.object_id))
            continue;
        row.whom = g->principal_id;
        row.reason = principal_same(g->principal_id, s->viewer.principal_id) ? "there is a grant on it"
                                                                             : "there is a grant on it for this group";
        explain_add_row(s, list, &row);
        is_first = false;
    }
    if (!is_first)
        return;
    row.reason = no_grant_reason(s, kind == GRANT_HX_CLUSTER);
    if (!s->groups && !s->has_no_groups && s->viewer.role != ROLE_SERVICE) {
        row.match = MATCH_UNKNOWN;
        row.reason = "there is no grant on it for the person; nobody can say in which groups the person is";
    }
    explain_add_row(s, list, &row);
}

/* -- where the role comes from --------------------------------------------------------------------------------------------- */

static const char *mapping_reason(const struct subject *s, const struct role_mapping *m, enum match match) {
    bool is_own = str_eq(m->subject_id, s->viewer.principal_id);
    if (match == MATCH_UNKNOWN)
        return "not known: nobody can say in which groups the person is";
    if (match == MATCH_NO)
        return m->kind == ROLE_MAPPING_MEMBER ? "not a member of this group, and not this person"
                                              : "by a privilege: see vcenter_admin";
    return is_own ? "mapped to this person" : "a member of this group";
}

/* Mappings that do not match are for those who manage them. */
static void add_mappings(const struct subject *s, json_t *list) {
    static const struct group_set none;
    struct role_mapping_list all = {0};
    bool shows_all = policy_may(s->call->who->role, PERMISSION_ROLES_MANAGE);
    if (signon_list_role_mappings(s->call->api->options.signon, &all, NULL))
        return;
    for (size_t i = 0; i < all.count; i++) {
        const struct role_mapping *m = &all.items[i];
        enum match match = role_mapping_fits(m, s->viewer.principal_id, s->groups ? s->groups : &none) ? MATCH_YES
                           : s->groups || s->has_no_groups || m->kind != ROLE_MAPPING_MEMBER           ? MATCH_NO
                                                                                                       : MATCH_UNKNOWN;
        _cleanup_free_ char *reason = str_format("role %s: %s", role_name(m->role), mapping_reason(s, m, match));
        if ((shows_all || match == MATCH_YES) && m->kind == ROLE_MAPPING_MEMBER)
            explain_add_row(s, list,
                            &(struct row){.kind = "role_mapping",
                                          .object_type = "all",
                                          .object_id = m->id,
                                          .match = match,
                                          .whom = m->subject_id,
                                          .reason = reason ? reason : ""});
    }
    role_mapping_list_done(&all);
}

static void add_whole_rules(const struct subject *s, unsigned rules, json_t *list) {
    enum match role = match_of(rules, POLICY_RULE_ROLE);
    add_mappings(s, list);
    explain_add_row(s, list,
                    &(struct row){.kind = "role",
                                  .object_type = "all",
                                  .match = role,
                                  .reason = role ? "the role sees every cluster" : "the role alone shows nothing"});
    explain_add_grants(s,
                       &(struct row){.object_type = "cluster",
                                     .object_id = s->cluster->id,
                                     .object_name = s->cluster->name,
                                     .match = match_of(rules, POLICY_RULE_CLUSTER_GRANT)},
                       GRANT_CLUSTER, list);
}

/* Why what this vCenter says about somebody is not known; NULL: it is. */
static const char *why_unknown_of_other(const struct subject *s, const char *vcenter_id) {
    if (str_eq_nocase(s->vcenter_id, vcenter_id))
        return s->unknown[0] ? s->unknown : NULL;
    for (size_t i = 0; i < s->links_count; i++)
        if (str_eq_nocase(s->links[i].vcenter_id, vcenter_id) && !s->links[i].objects)
            return "not known: a session is linked to this vCenter, but what that lets it view is not in the memory of this replica";
    return NULL;
}

static const char *why_unknown(const struct subject *s, const char *vcenter_id) {
    if (!s->own)
        return why_unknown_of_other(s, vcenter_id);
    for (size_t i = 0; i < s->own->rights.count; i++)
        if (str_eq_nocase(s->own->rights.parts[i].vcenter_id, vcenter_id) && !s->own->rights.parts[i].objects)
            return "the vCenter does not say at the moment";
    return NULL;
}

static void add_vcenter_rule(const struct subject *s, const struct row *place, const struct object_ref *ref, unsigned rules,
                             json_t *list) {
    const char *unknown = why_unknown(s, ref->vcenter_id);
    struct row row = *place;
    row.kind = "vcenter_privilege";
    row.match = match_of(rules, POLICY_RULE_VCENTER);
    if (row.match)
        row.reason = "the vCenter says that the view privilege is there";
    else if (!policy_viewer_is_of(&s->viewer, ref->vcenter_id))
        row.reason =
            s->own ? "you have not shown this vCenter who you are" : "no session under way has shown this vCenter who it is";
    else if (unknown)
        row.match = MATCH_UNKNOWN, row.reason = unknown;
    else
        row.reason = "the vCenter says that the view privilege is missing";
    explain_add_row(s, list, &row);
}

/* Only where a privilege of this vCenter is mapped at all. */
static void add_vcenter_admin(const struct subject *s, const struct row *place, const struct object_ref *ref, unsigned rules,
                              json_t *list) {
    const char *unknown = why_unknown(s, ref->vcenter_id);
    struct row row = *place;
    size_t mapped = 0;
    free(signon_mapped_privileges(s->call->api->options.signon, ref->vcenter_id, &mapped));
    row.kind = "vcenter_admin";
    row.match = match_of(rules, POLICY_RULE_VCENTER_ADMIN);
    row.reason = "a privilege on the root folder of the vCenter is mapped to admin of what runs there";
    if (!row.match && (!mapped || !policy_viewer_is_of(&s->viewer, ref->vcenter_id)))
        return;
    if (!row.match)
        row.reason = "no privilege that is mapped is there on the root folder of the vCenter";
    if (!row.match && unknown) {
        row.match = MATCH_UNKNOWN;
        row.reason = unknown;
    }
    explain_add_row(s, list, &row);
}

static void add_part_rules(const struct subject *s, const struct object_ref *ref, json_t *list) {
    const struct vsphere_cluster *place = inventory_find_vsphere(s->platform, ref);
    const struct hx_cluster *hx = inventory_find_hx_on(s->platform, ref);
    unsigned rules = inventory_vsphere_rules(s->platform, &s->viewer, ref);
    char id[GRANT_OBJECT_ID_BYTES];
    struct row row = {.object_type = "vsphere_cluster", .object_id = id, .object_name = place ? place->name : NULL};
    grant_vsphere_id(ref, id);
    row.match = match_of(rules, POLICY_RULE_VSPHERE_GRANT);
    explain_add_grants(s, &row, GRANT_VSPHERE_CLUSTER, list);
    add_vcenter_rule(s, &row, ref, rules, list);
    add_vcenter_admin(s, &row, ref, rules, list);
    if (!hx)
        return;
    row.object_type = "hx_cluster";
    row.object_id = hx->id;
    row.object_name = hx->name;
    row.match = match_of(rules, POLICY_RULE_HX_GRANT);
    explain_add_grants(s, &row, GRANT_HX_CLUSTER, list);
    row.kind = "service_account";
    row.match = match_of(rules, POLICY_RULE_SERVICE);
    row.reason = row.match ? "the program is for this HX cluster" : "the program is not for this HX cluster";
    if (s->viewer.role == ROLE_SERVICE)
        explain_add_row(s, list, &row);
}

/* The parts that the caller may not see are not even named. */
static json_t *explain_rules(const struct api_call *call, const struct subject *s, unsigned whole, unsigned *hidden) {
    json_t *list = json_array();
    struct policy_view mine;
    (void)inventory_view_cluster(s->platform, &call->viewer, s->cluster, &mine);
    add_whole_rules(s, whole, list);
    *hidden = 0;
    for (size_t i = 0; i < s->cluster->placement.count; i++) {
        if (i < 64 && (mine.parts & (UINT64_C(1) << i)))
            add_part_rules(s, &s->cluster->placement.items[i], list);
        else
            ++*hidden;
    }
    return list;
}

static int explain_answer(const struct api_call *call, const struct subject *s, struct http_response *resp, struct err *err) {
    struct policy_view view;
    bool is_visible = inventory_view_cluster(s->platform, &s->viewer, s->cluster, &view), is_unknown = false;
    unsigned hidden = 0;
    json_t *object = json_object(), *rules = explain_rules(call, s, view.rules, &hidden);
    for (size_t i = 0; i < json_array_size(rules); i++)
        is_unknown = is_unknown || json_is_null(json_object_get(json_array_get(rules, i), "matched"));
    json_put_string(object, "cluster_id", s->cluster->id);
    json_put_string(object, "cluster_name", s->cluster->name);
    json_put_string(object, "principal_id", s->viewer.principal_id);
    json_put_string(object, "role", role_name(s->viewer.role));
    json_put_string(object, "basis", explain_words[s->basis]);
    view_put_text(object, "note", *s->note ? s->note : NULL);
    json_put(object, "visible", !is_visible && is_unknown ? json_null() : json_boolean(is_visible));
    json_put_int(object, "hidden", hidden);
    json_put(object, "rules", rules);
    return reply_json(resp, 200, object, err);
}

/* -- the handler -------------------------------------------------------------------------------------------------------- */

static int find_cluster(const struct api_call *call, struct subject *s, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    const struct inventory_cluster *found = inventory_find_cluster(call->snapshot, id);
    struct policy_view view;
    s->platform = call->snapshot->platform;
    s->cluster = found ? found->record : NULL;
    if (s->cluster && inventory_view_cluster(s->platform, &call->viewer, s->cluster, &view))
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "there is no cluster %.64s, or you may not see it", id);
    return err_remedy(err, "see which there are: GET /v2/clusters");
}

/* Somebody who is not signed in, in a worker where directories may be waited for. */
static int explain_looked_up(struct api_call *call, struct http_response *resp, struct err *err) {
    struct subject s = {.call = call};
    int rc = find_cluster(call, &s, err);
    if (!rc)
        rc = explain_look_up(call, http_request_query(call->req, "principal"), &s, err);
    if (!rc)
        rc = explain_answer(call, &s, resp, err);
    explain_done(&s);
    return rc;
}

static int explain_other(struct api_call *call, struct http_response *resp, struct err *err) {
    struct subject s = {.call = call};
    int rc = find_cluster(call, &s, err);
    if (!rc)
        rc = explain_take(call, http_request_query(call->req, "principal"), &s, err);
    if (rc == EXPLAIN_LOOK_UP)
        rc = name_lookup_go(call, explain_looked_up, err);
    else if (!rc)
        rc = explain_answer(call, &s, resp, err);
    explain_done(&s);
    return rc;
}

/* A person of a vCenter: in the worker pool of that one. */
static int go_to_vcenter(struct api_call *call, const char *principal, struct err *err) {
    const char *colon = strchr(principal + 3, ':');
    char id[37];
    int rc;
    if (!colon || colon - principal - 3 != 36 || !colon[1])
        return err_set(err, ERR_NOT_FOUND, "\"%.100s\" is not of the form vc:<instance uuid of the vCenter>:<user name>",
                       principal);
    memcpy(id, principal + 3, 36);
    id[36] = 0;
    rc = api_admit(call, BOUND_OUTSIDE, err);
    if (!rc)
        rc = api_use_link(call, id, err);
    return rc ? rc : api_go_slow(call, link_pool(call->link), explain_other, err);
}

static int explain_own(const struct api_call *call, struct subject *s, struct http_response *resp, struct err *err) {
    struct live_groups *groups = call->bearer.session ? live_session_groups(call->bearer.session) : NULL;
    int rc;
    s->groups = groups ? live_groups_get(groups) : NULL;
    s->has_no_groups = !groups;
    s->basis = groups ? EXPLAIN_BY_SESSION : EXPLAIN_BY_ACCOUNT;
    rc = explain_answer(call, s, resp, err);
    live_groups_unref(groups);
    return rc;
}

int h_clusters_explain(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *principal = http_request_query(call->req, "principal");
    struct subject s = {.call = call, .own = call, .viewer = call->viewer};
    int rc = find_cluster(call, &s, err);
    if (rc)
        return rc;
    if (!principal || str_eq(principal, call->who->id))
        return explain_own(call, &s, resp, err);
    rc = policy_require(call->who->role, PERMISSION_GRANTS_MANAGE_ALL, err);
    if (rc)
        return rc;
    return str_starts(principal, "vc:") ? go_to_vcenter(call, principal, err) : explain_other(call, resp, err);
}
