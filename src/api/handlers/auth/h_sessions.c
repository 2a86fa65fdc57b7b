/* Handlers of sessions: whoami, refresh, logout, the vCenters of the own one, and who is signed in. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "api_call.h"
#include "authn.h"
#include "clock.h"
#include "login_call.h"
#include "platform_links.h"
#include "reply.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"
#include "views.h"

#define RULES_MAX 1000U             /* of each list in an answer; more are counted */
#define MAPPINGS_UNMATCHED_MAX 100U /* role mappings of others, shown to who manages them */
#define KEY_MARK '\x01'             /* names have no control characters */

/* -- views -------------------------------------------------------------------------------------------------------------- */

/* How somebody signed in, as docs/openapi.yaml spells it; static. */
static const char *session_view_method(enum source source) {
    switch (source) {
    case SOURCE_VC_SESSION: return "vcenter_session";
    case SOURCE_VC_TICKET: return "vcenter_clone_ticket";
    case SOURCE_VC_PASSWORD: return "vcenter_password";
    case SOURCE_SOCKET: return "socket";
    case SOURCE_KERBEROS: return "kerberos";
    case SOURCE_LDAP: return "directory_password";
    case SOURCE_SERVICE: return "service";
    case SOURCE_VC_KEY: return "vcenter_session_key";
    case SOURCE_VC_SERVICE: return "vcenter_service";
    case SOURCE_LOCAL:
    case SOURCE_NONE:
    default: return "password";
    }
}

/* A vCenter that a session speaks for: a new reference, or NULL without memory. */
static json_t *session_view_vcenter(const struct inventory_platform *platform, const struct signon_part *part) {
    const struct vcenter *vc = inventory_find_vcenter(platform, part->vcenter_id);
    json_t *object = json_object();
    json_put_string(object, "id", part->vcenter_id);
    view_put_text(object, "name", vc ? vc->name : NULL);
    json_put_string(object, "user_name", signon_part_user(part));
    json_put_string(object, "method", session_view_method(part->source));
    json_put_bool(object, "is_first", part->is_first);
    json_put_time(object, "added_at", part->added_at_ms);
    json_put_string(object, "rights", signon_part_state_name(part->state));
    view_put_time(object, "rights_as_of", part->as_of_ms);
    return object;
}

/* -- the session itself ------------------------------------------------------------------------------------------------- */

int session_require(const struct api_call *call, struct err *err) {
    if (call->bearer.session)
        return 0;
    (void)err_set(err, ERR_UNAUTHENTICATED, "the admin socket has no session");
    return err_remedy(err, "sign in and send a token");
}

/* The prefix: of https only, of this host alone, for all paths (draft-ietf-httpbis-rfc6265bis, section 4.1.3.2). It lives as long as the browser. */
static void set_cookie(struct http_response *resp, const char *value, const char *more) {
    _cleanup_secret_ char *text = str_format(AUTHN_COOKIE_NAME "=%s; Path=/; Secure; HttpOnly; SameSite=Strict%s", value, more);
    if (text)
        http_response_set_header(resp, "Set-Cookie", text);
}

static int give_cookie(struct api_call *call, struct http_response *resp, const char *sid, int64_t ends_at_ms, struct err *err) {
    char cookie[ONE_TIME_CODE_BYTES];
    int rc = signon_make_cookie(call->api->options.signon, sid, ends_at_ms, cookie, err);
    if (!rc)
        set_cookie(resp, cookie, "");
    secret_wipe(cookie, sizeof(cookie));
    return rc;
}

static void take_cookie_back(struct api_call *call, struct http_response *resp) {
    char cookie[AUTHN_COOKIE_BYTES] = "";
    if (authn_cookie(call, cookie)) {
        signon_forget_cookie(call->api->options.signon, cookie);
        set_cookie(resp, "", "; Max-Age=0");
    }
    secret_wipe(cookie, sizeof(cookie));
}

int h_session_cookie(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = session_require(call, err);
    if (!rc)
        rc = give_cookie(call, resp, live_session_sid(call->bearer.session), live_session_ends_ms(call->bearer.session), err);
    return view_nothing(resp, rc);
}

/* A browser does not tell its page whether there is a cookie, so asking in vain is no failure. Without memory or database for a next cookie the session goes
 * on until the page is loaded again. */
static int refresh_by_cookie(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *replaces = http_request_header(call->req, "KaaS-Replaces");
    char cookie[AUTHN_COOKIE_BYTES] = "";
    struct signon_issued issued = {0};
    int rc = ERR_UNAUTHENTICATED;
    if (authn_cookie(call, cookie))
        rc = signon_open_by_cookie(call->api->options.signon, API_ACTOR(call), cookie, replaces, &issued, err);
    secret_wipe(cookie, sizeof(cookie));
    if (rc == ERR_UNAUTHENTICATED) {
        err_clear(err);
        set_cookie(resp, "", "; Max-Age=0");
        return view_nothing(resp, 0);
    }
    if (rc == ERR_CONFLICT) { /* of the other person, at whose tab it goes on */
        err_clear(err);
        return view_nothing(resp, 0);
    }
    if (rc)
        return rc;
    (void)give_cookie(call, resp, issued.sid, issued.session_ends_at_ms, NULL);
    return login_reply(resp, &issued, err);
}

int h_token_refresh(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *replaces = http_request_header(call->req, "KaaS-Replaces");
    struct signon_issued issued = {0};
    int rc;
    if (replaces && !uuid_is_valid(replaces))
        return err_set(err, ERR_INVALID, "the header KaaS-Replaces is not the id of a session");
    if (!call->who)
        return refresh_by_cookie(call, resp, err);
    rc = session_require(call, err);
    if (!rc)
        rc = signon_refresh(call->api->options.signon, live_session_sid(call->bearer.session), call->bearer.jti, &issued, err);
    return rc ? rc : login_reply(resp, &issued, err);
}

/* A page whose own session has ended signs its browser out. */
static int logout_by_cookie(struct api_call *call, struct http_response *resp, struct err *err) {
    char cookie[AUTHN_COOKIE_BYTES] = "";
    int rc = authn_cookie(call, cookie) ? signon_end_by_cookie(call->api->options.signon, API_ACTOR(call), cookie, err) : 0;
    secret_wipe(cookie, sizeof(cookie));
    if (!rc)
        set_cookie(resp, "", "; Max-Age=0");
    return view_nothing(resp, rc);
}

int h_logout(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc;
    if (!call->who)
        return logout_by_cookie(call, resp, err);
    rc = session_require(call, err);
    if (!rc)
        rc = signon_logout(call->api->options.signon, API_ACTOR(call), live_session_sid(call->bearer.session), err);
    if (!rc)
        take_cookie_back(call, resp);
    return view_nothing(resp, rc);
}

/* -- further vCenters of the session ------------------------------------------------------------------------------------ */

/* The session as it is now: with what the vCenter said just before. */
static int answer_linked(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct signon_use use = {.is_read = true, .is_given_up = UINT16_MAX};
    struct session_rights rights = {0};
    json_t *object = NULL;
    int rc = signon_get_rights(call->api->options.signon, call->bearer.session, &use, &rights, err);
    if (rc)
        return rc;
    for (size_t i = 0; !object && i < rights.count; i++)
        if (str_eq_nocase(rights.parts[i].vcenter_id, link_id(call->link)))
            object = session_view_vcenter(call->snapshot->platform, &rights.parts[i]);
    session_rights_done(&rights);
    return object ? reply_json(resp, 201, object, err) : err_set(err, ERR_CONFLICT, "the vCenter was taken away again meanwhile");
}

static int add_vcenter_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = login_of(call)->check ? 0 : login_make_check(call, err);
    if (!rc)
        rc = signon_add_vcenter(call->api->options.signon, API_ACTOR(call), call->bearer.session, login_of(call)->check, err);
    signon_check_free(STEAL(login_of(call)->check));
    return rc ? rc : answer_linked(call, resp, err);
}

int h_session_vcenters_add(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = session_require(call, err);
    (void)resp;
    if (!rc)
        rc = login_begin(call, err);
    if (!rc)
        rc = login_read_credential(call, err);
    if (!rc)
        rc = login_use_vcenter(call, json_get_string(call->body, "vcenter"), err);
    if (rc)
        return rc;
    if (signon_is_first_vcenter(call->bearer.session,
                                link_id(call->link))) /* refused unasked: a ticket would be used up for nothing */
        return api_go_slow(call, call->api->options.signons, add_vcenter_in_worker, err);
    return login_check(call, add_vcenter_in_worker);
}

int h_session_vcenters_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    int rc = session_require(call, err);
    if (!rc)
        rc = signon_remove_vcenter(call->api->options.signon, API_ACTOR(call), call->bearer.session, id, err);
    return view_nothing(resp, rc);
}

/* -- whoami: what applies ----------------------------------------------------------------------------------------------- */

static const char *source_word(enum source source) {
    if (source_is_vcenter(source))
        return "vcenter";
    if (source == SOURCE_KERBEROS || source == SOURCE_LDAP)
        return "directory";
    if (source == SOURCE_SERVICE)
        return "service";
    return source == SOURCE_SOCKET ? "socket" : "local";
}

/* Members that are null unless something is put in their place. */
static void put_nulls(json_t *object, const char *const *names) {
    for (; *names; names++)
        json_put(object, *names, json_null());
}

static json_t *h_sessions_rule(const char *kind, const char *object_type, const char *id, const char *name) {
    static const char *const others[] = {"privilege", "checked_at", "principal_id", "principal_name", "role", NULL};
    json_t *object = json_object();
    json_put_string(object, "kind", kind);
    json_put_string(object, "object_type", object_type);
    view_put_text(object, "object_id", id);
    view_put_text(object, "object_name", name);
    put_nulls(object, others);
    return object;
}

/* For whom the rule was made: the caller, or one of the caller's groups; and what it gives. */
static void add_whom(const struct api_call *call, json_t *object, const char *principal_id, const char *role) {
    json_put_string(object, "principal_id", principal_id);
    view_put_name(call, object, "principal_name", principal_id);
    json_put_string(object, "role", role);
}

static void add_mapping_rules(const struct api_call *call, const struct live_groups *groups, json_t *rules) {
    struct role_mapping_list all = {0};
    if (signon_list_role_mappings(call->api->options.signon, &all, NULL))
        return;
    for (size_t i = 0; i < all.count; i++) {
        const struct role_mapping *m = &all.items[i];
        json_t *object = role_mapping_fits(m, call->who->id, live_groups_get(groups))
                             ? h_sessions_rule("role_mapping", "all", m->id, NULL)
                             : NULL;
        if (!object)
            continue;
        add_whom(call, object, m->subject_id, role_name(m->role));
        json_add(rules, object);
    }
    role_mapping_list_done(&all);
}

static void add_vcenter_rules(const struct api_call *call, const struct signon_part *part, json_t *rules) {
    const struct object_set *set = part->objects ? shared_objects_get(part->objects) : NULL;
    for (size_t i = 0; set && i < set->count; i++) {
        if (str_eq(set->items[i].moref, POLICY_VCENTER_ADMIN_MOREF)) {
            json_add(rules, h_sessions_rule("vcenter_admin", "all", NULL, NULL));
            continue;
        }
        const struct vsphere_cluster *c = inventory_find_vsphere(call->snapshot->platform, &set->items[i]);
        _cleanup_free_ char *id = str_format("%s/%s", set->items[i].vcenter_id, set->items[i].moref);
        json_t *object = h_sessions_rule("vcenter_privilege", "vsphere_cluster", id, c ? c->name : NULL);
        json_put_string(object, "privilege", platform_options_of(call->api->options.platform)->view_privilege);
        json_put_time(object, "checked_at", part->as_of_ms);
        json_add(rules, object);
    }
}

/* A program's own limits. */
static void add_service_rules(const struct api_call *call, json_t *rules) {
    const struct service_account *account = call->viewer.role == ROLE_SERVICE ? call->viewer.limits : NULL;
    for (size_t i = 0; account && i < account->hx_clusters_count; i++) {
        const struct hx_cluster *hx = inventory_find_hx(call->snapshot->platform, account->hx_clusters[i]);
        json_add(rules, h_sessions_rule("service_account", "hx_cluster", account->hx_clusters[i], hx ? hx->name : NULL));
    }
}

static json_t *whoami_rules(const struct api_call *call, const struct live_groups *groups) {
    json_t *rules = json_array();
    if (policy_sees_all(&call->viewer))
        json_add(rules, h_sessions_rule("role", "all", NULL, NULL));
    if (groups)
        add_mapping_rules(call, groups, rules);
    for (size_t i = 0; i < call->viewer.grants_count; i++) {
        const struct grant *g = policy_grant_at(&call->viewer, i);
        _cleanup_free_ char *name = view_grant_object_name(call->snapshot, g);
        json_t *object = h_sessions_rule("grant", grant_object_name(g->object), g->object_id, name);
        add_whom(call, object, g->principal_id, g->role);
        json_add(rules, object);
    }
    for (size_t i = 0; i < call->rights.count; i++)
        add_vcenter_rules(call, &call->rights.parts[i], rules);
    add_service_rules(call, rules);
    return rules;
}

/* -- what did not match ------------------------------------------------------------------------------------------------------ */

static bool has_rule(const json_t *rules, const char *kind, const char *object_type) {
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i);
        if (str_eq(json_get_string(rule, "kind"), kind) &&
            (!object_type || str_eq(json_get_string(rule, "object_type"), object_type)))
            return true;
    }
    return false;
}

static json_t *add_unmatched(json_t *list, const char *kind, const char *object_type, const char *reason) {
    static const char *const others[] = {"object_id", "principal_id", "principal_name", "role", NULL};
    json_t *object = json_object();
    json_put_string(object, "kind", kind);
    json_put_string(object, "object_type", object_type);
    json_put_string(object, "reason", reason);
    put_nulls(object, others);
    json_add(list, object);
    return object;
}

/* One by one for those who manage them; for others that there is none, which says nothing about whom they are for. */
static void add_unmatched_mappings(const struct api_call *call, const struct live_groups *groups, const json_t *rules,
                                   json_t *list) {
    static const struct group_set none;
    struct role_mapping_list all = {0};
    size_t count = 0;
    if (groups && !has_rule(rules, "role_mapping", NULL))
        add_unmatched(list, "role_mapping", "all", "no role is mapped to you or to one of your groups");
    if (!policy_may(call->who->role, PERMISSION_ROLES_MANAGE) || signon_list_role_mappings(call->api->options.signon, &all, NULL))
        return;
    for (size_t i = 0; i < all.count && count < MAPPINGS_UNMATCHED_MAX; i++) {
        const struct role_mapping *m = &all.items[i];
        json_t *object;
        if (m->kind != ROLE_MAPPING_MEMBER || role_mapping_fits(m, call->who->id, groups ? live_groups_get(groups) : &none))
            continue;
        object = add_unmatched(list, "role_mapping", "all", "you are not this person, and not a member of this group");
        view_put_text(object, "object_id", m->id);
        add_whom(call, object, m->subject_id, role_name(m->role));
        count++;
    }
    role_mapping_list_done(&all);
}

static const char *vcenter_reason(const struct api_call *call) {
    if (!call->rights.count)
        return "you have shown no vCenter who you are";
    for (size_t i = 0; i < call->rights.count; i++)
        if (!call->rights.parts[i].objects)
            return "a vCenter does not say at the moment what you may view";
    return "the vCenter lets you view none of the vSphere clusters that carry clusters";
}

static json_t *unmatched_of(const struct api_call *call, const struct live_groups *groups, const json_t *rules) {
    static const char *const objects[] = {"cluster", "vsphere_cluster", "hx_cluster"};
    const bool is_program = call->viewer.role == ROLE_SERVICE;
    json_t *list = json_array();
    if (!has_rule(rules, "role", NULL))
        add_unmatched(list, "role", "all", "your role alone shows no cluster");
    add_unmatched_mappings(call, groups, rules, list);
    for (size_t i = 0; !is_program && i < ARRAY_COUNT(objects); i++)
        if (!has_rule(rules, "grant", objects[i]))
            add_unmatched(list, "grant", objects[i], "nothing of this kind is granted to you or to one of your groups");
    if (!is_program && !has_rule(rules, "vcenter_privilege", NULL))
        add_unmatched(list, "vcenter_privilege", "vsphere_cluster", vcenter_reason(call));
    if (!is_program && call->rights.count && !has_rule(rules, "vcenter_admin", NULL))
        add_unmatched(list, "vcenter_admin", "all", "no mapped privilege on the root folder of a vCenter is yours");
    if (is_program && !has_rule(rules, "service_account", NULL))
        add_unmatched(list, "service_account", "hx_cluster", "the service account is for no HX cluster");
    return list;
}

/* Cuts a list; says how many went. */
static size_t whoami_cut(json_t *list) {
    const size_t count = json_array_size(list);
    for (size_t i = count; i > RULES_MAX; i--)
        (void)json_array_remove(list, i - 1);
    return count > RULES_MAX ? count - RULES_MAX : 0;
}

/* The program that acts for the caller. */
static json_t *acting_of(const struct api_call *call) {
    const char *id = call->who->acting_id;
    const struct service_account *account = id ? inventory_find_service(call->snapshot->platform, id + strlen("svc:")) : NULL;
    json_t *object = id ? json_object() : json_null();
    if (!id)
        return object;
    json_put_string(object, "id", id);
    view_put_text(object, "name", account ? account->name : NULL);
    return object;
}

static json_t *groups_of(const struct api_call *call, const struct live_groups *groups) {
    const struct group_set *set = groups ? live_groups_get(groups) : NULL;
    json_t *list = json_array();
    for (size_t i = 0; set && i < set->count; i++) {
        json_t *object = json_object();
        json_put_string(object, "id", set->ids[i]);
        view_put_name(call, object, "name", set->ids[i]);
        json_add(list, object);
    }
    return list;
}

int h_whoami(struct api_call *call, struct http_response *resp, struct err *err) {
    struct live_session *live = call->bearer.session;
    struct live_groups *groups = live ? live_session_groups(live) : NULL;
    json_t *object = json_object(), *vcenters = json_array(), *rules = whoami_rules(call, groups);
    for (size_t i = 0; i < call->rights.count; i++)
        json_add(vcenters, session_view_vcenter(call->snapshot->platform, &call->rights.parts[i]));
    json_put_string(object, "id", call->who->id);
    json_put_string(object, "name", call->who->name);
    json_put_string(object, "source", source_word(call->who->source));
    view_put_text(object, "vcenter_id", call->who->vcenter_id);
    view_put_text(object, "directory", call->who->directory);
    json_put_string(object, "role", role_name(call->who->role));
    json_put_string(object, "method", session_view_method(call->who->source));
    json_put_bool(object, "must_change_password", live && live_session_must_change_password(live));
    view_put_time(object, "signed_in_at", live ? live_session_created_ms(live) : 0);
    view_put_time(object, "token_expires_at", live ? call->bearer.token_expires_at_ms : 0);
    view_put_time(object, "session_expires_at", live ? live_session_ends_ms(live) : 0);
    json_put(object, "vcenters", vcenters);
    json_put(object, "groups", groups_of(call, groups));
    json_put(object, "acting_service", acting_of(call));
    json_put(object, "unmatched_rules", unmatched_of(call, groups, rules));
    json_put_int(object, "rules_omitted", (int64_t)whoami_cut(rules));
    json_put(object, "rules", rules);
    live_groups_unref(groups);
    return reply_json(resp, 200, object, err);
}

/* -- who is signed in --------------------------------------------------------------------------------------------------- */

static const char *session_key(const void *record, char *buffer, size_t n) {
    const struct session *s = record;
    char handle[SIGNON_HANDLE_BYTES];
    signon_handle_of(s->sid, handle);
    (void)snprintf(buffer, n, "%s%c%s", s->who.name, KEY_MARK, handle);
    return buffer;
}

static json_t *session_view(const struct api_call *call, const void *record) {
    const struct session *s = record;
    char handle[SIGNON_HANDLE_BYTES];
    json_t *object = json_object();
    signon_handle_of(s->sid, handle);
    json_put_string(object, "id", handle);
    json_put_string(object, "principal_id", s->who.id);
    json_put_string(object, "name", s->who.name);
    json_put_string(object, "role", role_name(s->who.role));
    json_put_string(object, "method", session_view_method(s->who.source));
    view_put_text(object, "vcenter_id", s->who.vcenter_id);
    json_put_bool(object, "must_change_password", s->must_change_password);
    json_put_time(object, "signed_in_at", s->created_at_ms);
    json_put_time(object, "ends_at", s->ends_at_ms);
    json_put_bool(object, "is_own", call->bearer.session && str_eq(s->sid, live_session_sid(call->bearer.session)));
    return object;
}

/* `after` is the key in the cursor, which is taken apart; one more than the page holds shows that there is more. */
static int sessions_read_query(struct api_call *call, char after[REPLY_KEY_BYTES], struct session_query *out, struct err *err) {
    bool is_given = false;
    char *mark;
    int rc = reply_read_limit(call, &out->limit, err);
    if (!rc)
        rc = reply_read_cursor(call, after, &is_given, err);
    if (rc)
        return rc;
    out->limit++;
    out->now_ms = clock_wall_ms();
    out->principal = http_request_query(call->req, "principal");
    mark = is_given ? strrchr(after, KEY_MARK) : NULL;
    if (mark)
        *mark = '\0';
    out->after_name = is_given ? after : NULL;
    out->after_handle = mark ? mark + 1 : "";
    return 0;
}

int h_sessions_list(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_session_list_ struct session_list sessions = {0};
    struct session_query query = {.principal = NULL};
    char after[REPLY_KEY_BYTES];
    int rc = sessions_read_query(call, after, &query, err);
    if (!rc)
        rc = signon_list_sessions(call->api->options.signon, &query, &sessions, err);
    return rc ? rc : view_list(call, resp, VIEW_LIST(sessions.items, sessions.count, session_key, session_view), err);
}

int h_sessions_end(struct api_call *call, struct http_response *resp, struct err *err) {
    return view_nothing(
        resp, signon_end_session(call->api->options.signon, API_ACTOR(call), http_request_param(call->req, "sid"), err));
}
