/* Handlers of /v2/vcenters/{id}: joining and leaving one, what we log in with, how it stands. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "inventory.h"
#include "rescan.h"
#include "doctor.h"
#include "gate.h"
#include "json.h"
#include "limits.h"
#include "log.h"
#include "login_account.h"
#include "names.h"
#include "platform_links.h"
#include "problem.h"
#include "registration.h"
#include "reply.h"
#include "rotation.h"
#include "str.h"
#include "vc_status.h"
#include "views.h"
#include "vim.h"

#define ROLE_NAME_DEFAULT "Harmony KaaS"
#define ROLE_NAME_ON_BYTES_MAX 70 /* vCenter takes 80 with what the second role has behind it (registration_role.c) */

/* -- how it stands ------------------------------------------------------------------------------------------------------ */

static json_t *h_vcenters_join_product(const struct vc_status *s) {
    json_t *object = json_object();
    view_put_text(object, "name", s->about.instance_uuid ? "VMware vCenter Server" : NULL);
    view_put_text(object, "full_name", s->about.full_name);
    view_put_text(object, "version", s->about.version ? s->about.version : s->vc.version);
    view_put_text(object, "build", s->about.build ? s->about.build : s->vc.build);
    view_put_text(object, "api_version", s->about.api_version ? s->about.api_version : s->vc.api_version);
    return object;
}

static json_t *h_vcenters_join_extension(const struct vc_status *s) {
    json_t *object = json_object();
    view_put_time(object, "reconciled_at", s->report.record.reconciled_at_ms);
    view_put_time(object, "repaired_at", s->report.record.repaired_at_ms);
    view_put_text(object, "repaired", s->report.record.repaired[0] ? s->report.record.repaired : NULL);
    view_put_reason(object, "problem", s->report.record.problem, s->report.record.remedy);
    json_put(object, "limits", view_texts(s->limits, s->limits_count));
    json_put_string(object, "key", s->vc.extension_key);
    json_put_string(object, "record", record_state_name(s->record));
    view_put_text(object, "version", s->record_version);
    json_put(object, "differences", view_texts(s->differences, s->differences_count));
    return object;
}

/* With what to do about a way that does not work, or without. */
static json_t *view_attempts(const struct login_attempt *attempts, size_t count, bool has_remedy) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct login_attempt *a = &attempts[i];
        json_t *object = json_object();
        json_put_string(object, "name", vim_strategy_name(a->strategy));
        json_put_bool(object, "works", a->works);
        view_put_reason(object, "reason", a->works ? "" : a->err.text, a->works || !has_remedy ? "" : a->err.remedy);
        json_add(list, object);
    }
    return list;
}

static json_t *h_vcenters_join_certificate(const struct vc_status *s) {
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES];
    json_t *object;
    if (!s->has_certificate)
        return json_null();
    object = json_object();
    x509_thumbprint_text(s->certificate.sha256, thumbprint);
    json_put_string(object, "subject", s->certificate.subject);
    json_put_string(object, "sha256", thumbprint);
    json_put_time(object, "not_before", s->certificate.not_before_ms);
    json_put_time(object, "not_after", s->certificate.not_after_ms);
    return object;
}

static json_t *shown_certificate(const struct vc_status *s) {
    json_t *object;
    if (!s->seen.pem)
        return json_null();
    object = problem_certificate(&s->seen);
    json_put_bool(object, "trusted", s->is_trusted);
    return object;
}

static json_t *h_vcenters_join_login(const struct vc_status *s) {
    json_t *object = json_object();
    view_put_strategy(object, "strategy", &s->report);
    json_put(object, "strategies", view_attempts(s->attempts, s->attempts_count, true));
    json_put(object, "certificate", h_vcenters_join_certificate(s));
    view_put_text(object, "account", s->login_account);
    return object;
}

static json_t *view_watch(const struct watch_report *w) {
    json_t *object = json_object();
    view_put_time(object, "since", w->since_ms);
    view_put_time(object, "updated_at", w->updated_at_ms);
    view_put_time(object, "saved_at", w->saved_at_ms);
    json_put_bool(object, "saving", w->is_saving);
    json_put_int(object, "objects", w->objects);
    json_put_int(object, "nodes", w->nodes);
    json_put_int(object, "ambiguous_nodes", w->ambiguous);
    json_put_int(object, "restarts", (int64_t)w->restarts);
    json_put_int(object, "differences", (int64_t)w->differences);
    view_put_text(object, "reason", w->reason[0] ? w->reason : NULL);
    return object;
}

static json_t *view_verdict(const struct verdict *v) {
    json_t *object = json_object();
    json_put_string(object, "verdict", verdict_value_name(v->value));
    json_put_time(object, "since", v->since_ms);
    view_put_text(object, "fault", vc_fault_name(v->fault));
    view_put_text(object, "reason", v->text[0] ? v->text : NULL);
    view_put_text(object, "remedy", v->remedy[0] ? v->remedy : NULL);
    return object;
}

static void put_verdicts(json_t *object, const struct verdicts *v, const struct verdict *authorised) {
    json_put(object, verdict_kind_name(VERDICT_REACHABLE), view_verdict(&v->of[VERDICT_REACHABLE]));
    json_put(object, verdict_kind_name(VERDICT_VALID), view_verdict(&v->of[VERDICT_VALID]));
    json_put(object, verdict_kind_name(VERDICT_AUTHORISED), view_verdict(authorised));
}

/* An object is as reachable, and our login as valid for it, as the vCenter. */
static json_t *view_verdict_object(const struct verdicts *v, const struct verdict_object *o) {
    json_t *object = json_object();
    json_put_string(object, "kind", o->moref[0] ? "vsphere_cluster" : "root_folder");
    json_put_string(object, "path", o->path);
    view_put_text(object, "moref", o->moref[0] ? o->moref : NULL);
    json_put(object, "missing_privileges", view_texts(o->missing, o->missing_count));
    put_verdicts(object, v, &o->authorised);
    return object;
}

static json_t *view_verdicts(const struct verdicts *v) {
    json_t *object = json_object(), *list = json_array();
    for (size_t i = 0; i < v->count; i++)
        json_add(list, view_verdict_object(v, &v->objects[i]));
    put_verdicts(object, v, &v->of[VERDICT_AUTHORISED]);
    json_put(object, "objects", list);
    view_put_time(object, "privileges_asked_at", v->asked_at_ms);
    return object;
}

static json_t *view_status(const struct vc_status *s, const struct inventory_platform *platform) {
    json_t *object = json_object(), *hx = json_array();
    for (size_t i = 0; platform && i < platform->hx_count; i++)
        if (str_eq(platform->hx[i].vsphere_cluster.vcenter_id, s->vc.id))
            json_add(hx, view_hx_cluster(platform, &platform->hx[i]));
    json_put_string(object, "id", s->vc.id);
    json_put_string(object, "name", s->vc.name);
    json_put_string(object, "address", s->vc.address);
    view_put_state(object, &s->report);
    json_put(object, "product", h_vcenters_join_product(s));
    json_put(object, "extension", h_vcenters_join_extension(s));
    json_put(object, "login", h_vcenters_join_login(s));
    json_put(object, "vcenter_certificate", shown_certificate(s));
    json_put(object, "missing_privileges", view_texts(s->missing, s->missing_count));
    json_put(object, "hx_clusters", hx);
    json_put(object, "verdicts", view_verdicts(&s->verdicts));
    json_put(object, "watch", view_watch(&s->watch));
    json_put_time(object, "checked_at", s->checked_at_ms);
    return object;
}

static json_t *view_rescan(const struct discovery_result *r) {
    json_t *object = json_object();
    json_put_int(object, "vsphere_clusters", r->vsphere_clusters);
    json_put_int(object, "hx_clusters", r->hx_clusters);
    json_put_int(object, "added", r->added);
    json_put_int(object, "changed", r->changed);
    json_put_int(object, "gone", r->gone);
    json_put_bool(object, "differed_from_watch", r->differs_from_watch);
    json_put(object, "ignored_keys", view_texts((const char *const *)r->ignored_keys, r->ignored_count));
    json_put_time(object, "scanned_at", r->scanned_at_ms);
    return object;
}

/* -- registering -------------------------------------------------------------------------------------------------------- */

static json_t *record_members(const struct record_lines *lines) {
    json_t *list = json_array();
    for (size_t i = 0; i < lines->count; i++) {
        const struct record_line *line = &lines->items[i];
        json_t *object = json_object();
        json_put_string(object, "member", line->member);
        view_put_text(object, "now", line->now);
        view_put_text(object, "wanted", line->wanted);
        json_put_bool(object, "kept", line->is_kept);
        json_add(list, object);
    }
    return list;
}

/* docs/openapi.yaml, Registration. A new reference for the caller, or NULL without memory. */
static json_t *registration_view(const struct registration_report *report, bool is_dry_run) {
    json_t *object = json_object();
    json_put_bool(object, "dry_run", is_dry_run);
    view_put_text(object, "account", report->account);
    json_put_string(object, "extension_key", report->key);
    json_put_string(object, "record", record_state_name(report->record));
    view_put_text(object, "owner", report->owner);
    json_put(object, "members", record_members(&report->lines));
    json_put(object, "strategies", view_attempts(report->attempts, report->attempts_count, false));
    json_put(object, "steps", view_texts((const char *const *)report->steps.items, report->steps.count));
    json_put(object, "left", view_texts((const char *const *)report->left.items, report->left.count));
    return object;
}

const struct member_body h_vcenters_register_body = {
    .more =
        JSON_MEMBERS(JSON_NEEDS(STRING, "username"), JSON_NEEDS(STRING, "password"), JSON_TAKES(BOOLEAN, "take_over"),
                     JSON_TAKES(BOOLEAN, "dry_run"), JSON_TAKES(BOOLEAN, "create_alarms"), JSON_TAKES(STRING, "create_role"),
                     JSON_TAKES(ARRAY, "role_on"), JSON_TAKES(BOOLEAN, "role_provisions"), JSON_TAKES(OBJECT, "login_account"))};
const struct member_body h_vcenters_unregister_body = {
    .more = JSON_MEMBERS(JSON_TAKES(STRING, "username"), JSON_TAKES(STRING, "password"), JSON_TAKES(BOOLEAN, "dry_run"),
                         JSON_TAKES(BOOLEAN, "leave_providers"))};

static int register_read_account(const json_t *object, struct vcenter_account *out, struct err *err) {
    out->user = json_get_string(object, "username");
    out->password = json_get_string(object, "password");
    if (str_empty(out->user) || str_empty(out->password) || strlen(out->password) > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "user name and password must not be empty");
    return 0;
}

int h_vcenters_status(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = NULL;
    struct vc_status status = {0};
    int rc = vc_status_lookup(call->link, &status, err);
    if (rc)
        return rc;
    snapshot = inventory_get(call->api->options.inventory);
    rc = reply_json(resp, 200, view_status(&status, snapshot ? snapshot->platform : NULL), err);
    vc_status_done(&status);
    return rc;
}

static int read_login(json_t *body, struct register_request *out, struct err *err) {
    json_t *login = json_object_get(body, "login_account");
    int rc;
    if (!login)
        return 0;
    rc = json_check(login,
                    JSON_MEMBERS(JSON_NEEDS(STRING, "kind"), JSON_NEEDS(STRING, "username"), JSON_NEEDS(STRING, "password")),
                    "login_account", err);
    if (!rc)
        rc = register_read_account(login, &out->login, err);
    if (!rc &&
        (!credential_kind_parse(json_get_string(login, "kind"), &out->login_kind) || out->login_kind == CREDENTIAL_CERTIFICATE))
        rc = err_set(err, ERR_UNPROCESSABLE, "the member \"login_account.kind\" must be service_account or account");
    return rc;
}

/* Borrowed of the body. */
static int register_read_objects(const json_t *body, struct register_request *out, struct err *err) {
    const json_t *list = json_object_get(body, "role_on"), *path;
    size_t i;
    if (json_array_size(list) > REGISTRATION_ROLE_ON_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "\"role_on\" takes %d objects at most; name a folder or datacenter above them",
                       REGISTRATION_ROLE_ON_MAX);
    json_array_foreach (list, i, path) {
        if (str_empty(json_string_value(path)))
            return err_set(err, ERR_UNPROCESSABLE, "\"role_on\" is a list of inventory paths, none of them empty");
        out->role_on[out->role_on_count++] = json_string_value(path);
        out->role_everywhere |= str_eq(json_string_value(path), "/");
    }
    if (out->role_everywhere && out->role_on_count > 1)
        return err_set(err, ERR_UNPROCESSABLE, "\"/\" in \"role_on\" is all of the vCenter: name nothing beside it");
    if (out->role_everywhere)
        out->role_on_count = 0;
    return 0;
}

static int register_read_role(const json_t *body, struct register_request *out, struct err *err) {
    int rc = register_read_objects(body, out, err);
    if (rc)
        return rc;
    out->role_name = json_get_string(body, "create_role");
    if (out->role_name && !*out->role_name)
        out->role_name = ROLE_NAME_DEFAULT;
    out->role_provisions = json_get_bool(body, "role_provisions", false);
    if (out->role_provisions && (!out->role_name || (out->login.user && !out->role_on_count && !out->role_everywhere)))
        return err_set(
            err, ERR_UNPROCESSABLE,
            "\"role_provisions\" is about the role of \"create_role\", and needs \"role_on\" where an account gets it: folder, "
            "datastore, network and template lie outside of vSphere clusters");
    if ((out->role_on_count || out->role_everywhere) && !(out->role_name && out->login.user))
        return err_set(err, ERR_UNPROCESSABLE,
                       "\"role_on\" says where an account gets a role: it needs \"create_role\" and \"login_account\"");
    if (out->role_name && out->login.user && !out->role_everywhere && strlen(out->role_name) > ROLE_NAME_ON_BYTES_MAX)
        return err_set(
            err, ERR_UNPROCESSABLE,
            "\"create_role\" must not be longer than %d bytes where the role is given on objects: the name of the second role "
            "is longer by \" (objects)\"",
            ROLE_NAME_ON_BYTES_MAX);
    return out->role_name ? name_check(out->role_name, "create_role", err) : 0;
}

/* Texts of the body live as long as the call, and are wiped with it; but the password of the account that is kept has a
 * place of its own there. */
int h_vcenters_register(struct api_call *call, struct http_response *resp, struct err *err) {
    struct registration_report report = {0};
    struct register_request request = {.actor = api_actor(call),
                                       .take_over = json_get_bool(call->body, "take_over", false),
                                       .creates_alarms = json_get_bool(call->body, "create_alarms", false),
                                       .dry_run = json_get_bool(call->body, "dry_run", false)};
    int rc = register_read_account(call->body, &request.account, err);
    if (!rc)
        rc = read_login(call->body, &request, err);
    if (!rc)
        rc = register_read_role(call->body, &request, err);
    if (!rc)
        rc = registration_register(call->link, &request, &report, err);
    json_wipe_string(json_object_get(json_object_get(call->body, "login_account"), "password"));
    if (!rc)
        rc = request.dry_run ? reply_json(resp, 200, registration_view(&report, request.dry_run), err)
                             : h_vcenters_status(call, resp, err);
    registration_report_done(&report);
    return rc;
}

/* Without an account by our own login. */
int h_vcenters_unregister(struct api_call *call, struct http_response *resp, struct err *err) {
    const bool has_account = json_get_string(call->body, "username") || json_get_string(call->body, "password");
    struct registration_report report = {0};
    struct unregister_request request = {.actor = api_actor(call),
                                         .dry_run = json_get_bool(call->body, "dry_run", false),
                                         .leaves_providers = json_get_bool(call->body, "leave_providers", false)};
    int rc = has_account ? register_read_account(call->body, &request.account, err) : 0;
    if (!rc)
        rc = registration_unregister(call->link, &request, &report, err);
    if (!rc)
        rc = reply_json(resp, 200, registration_view(&report, request.dry_run), err);
    registration_report_done(&report);
    return rc;
}

/* -- what we log in with ------------------------------------------------------------------------------------------------ */

int h_vcenters_rotate(struct api_call *call, struct http_response *resp, struct err *err) {
    struct link_report report;
    json_t *object;
    int rc = rotation_rotate(call->link, API_ACTOR(call), err);
    if (rc)
        return rc;
    log_event(LOG_LEVEL_NOTICE, "login_certificate_rotated", "vcenter", link_id(call->link), NULL);
    link_get_report(call->link, &report);
    object = json_object();
    json_put_string(object, "vcenter_id", link_id(call->link));
    view_put_time(object, "not_after", report.certificates.login_not_after_ms);
    return reply_json(resp, 200, object, err);
}

const struct member_body h_vcenters_set_password_body = {.more = JSON_MEMBERS(JSON_NEEDS(STRING, "password"))};

int h_vcenters_set_password(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *password = json_get_string(call->body, "password");
    int rc;
    if (!*password || strlen(password) > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the password must not be empty, nor longer than %u bytes",
                       KAAS_PASSWORD_BYTES_MAX);
    rc = rotation_set_password(call->link, password, API_ACTOR(call), err);
    if (!rc)
        log_event(LOG_LEVEL_NOTICE, "vcenter_password_replaced", "vcenter", link_id(call->link), NULL);
    return view_nothing(resp, rc);
}

/* -- the account that we log in by ------------------------------------------------------------------------------------------ */

static json_t *account_lacks(const struct login_account_verdict *verdict) {
    json_t *list = json_array();
    for (size_t i = 0; i < verdict->lacks_count; i++) {
        const struct login_account_lack *lack = &verdict->lacks[i];
        json_t *object = json_object();
        json_put_string(object, "privilege", lack->privilege);
        json_put_string(object, "object_id", lack->object_id);
        json_put_string(object, "object_name", lack->name);
        json_put_bool(object, "needed", lack->is_needed);
        json_add(list, object);
    }
    return list;
}

static int login_account_answer(struct api_call *call, struct http_response *resp, const struct login_account_verdict *verdict,
                                struct err *err) {
    _cleanup_done_(login_account_done) struct login_account account = {0};
    json_t *object;
    int rc = login_account_load(call->link, &account, err);
    if (rc)
        return rc;
    object = json_object();
    json_put_string(object, "vcenter_id", link_id(call->link));
    json_put_string(object, "kind", credential_kind_name(account.kind));
    json_put_string(object, "username", account.user);
    view_put_time(object, "set_at", account.set_at_ms);
    json_put(object, "missing", verdict ? account_lacks(verdict) : json_null());
    return reply_json(resp, 200, object, err);
}

int h_account_show(struct api_call *call, struct http_response *resp, struct err *err) {
    return login_account_answer(call, resp, NULL, err);
}

static int login_account_read(const json_t *body, struct login_account_request *out, struct err *err) {
    const char *kind = json_get_string(body, "kind");
    out->kind = CREDENTIAL_ACCOUNT;
    out->user = json_get_string(body, "username");
    out->password = json_get_string(body, "password");
    if (str_empty(out->user) || str_empty(out->password) || strlen(out->password) > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE,
                       "give \"username\" and \"password\", neither empty, the password of %u bytes at most",
                       KAAS_PASSWORD_BYTES_MAX);
    if (kind && (!credential_kind_parse(kind, &out->kind) || out->kind == CREDENTIAL_CERTIFICATE))
        return err_set(err, ERR_UNPROCESSABLE, "the member \"kind\" must be service_account or account");
    return 0;
}

const struct member_body h_account_set_body = {
    .more = JSON_MEMBERS(JSON_TAKES(STRING, "kind"), JSON_NEEDS(STRING, "username"), JSON_NEEDS(STRING, "password"))};
const struct member_body h_account_test_body = {
    .more = JSON_MEMBERS(JSON_TAKES(STRING, "kind"), JSON_TAKES(STRING, "username"), JSON_TAKES(STRING, "password"))};

/* Wrong passwords count as those of people who sign in: whoever has many is slowed down before the vCenter locks the account. */
static int account_open_gate(struct api_call *call, const struct login_account_request *request, struct gate *gate,
                             struct err *err) {
    return gate_open(gate, call->api->options.signon, &request->actor, link_id(call->link), request->user, err);
}

int h_account_set(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(login_account_verdict_done) struct login_account_verdict verdict = {0};
    _cleanup_done_(gate_done) struct gate gate = {0};
    struct login_account_request request = {.actor = api_actor(call)};
    int rc = login_account_read(call->body, &request, err);
    if (!rc)
        rc = account_open_gate(call, &request, &gate, err);
    if (rc)
        return rc;
    rc = login_account_set(call->link, &request, &verdict, err);
    gate_note(&gate, rc);
    if (rc)
        return rc;
    log_event(LOG_LEVEL_NOTICE, "vcenter_login_account_set", "vcenter", link_id(call->link), "account", request.user, NULL);
    return login_account_answer(call, resp, &verdict, err);
}

static json_t *account_verdict(const struct login_account_verdict *verdict) {
    json_t *object = json_object();
    json_put_string(object, "kind", credential_kind_name(verdict->kind));
    json_put_string(object, "username", verdict->user);
    json_put_bool(object, "works", verdict->works);
    view_put_reason(object, "reason", verdict->err.text, verdict->err.remedy);
    json_put(object, "missing", account_lacks(verdict));
    return object;
}

/* What is given, or what is stored if nothing is. */
int h_account_test(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(login_account_verdict_done) struct login_account_verdict verdict = {0};
    _cleanup_done_(gate_done) struct gate gate = {0};
    struct login_account_request request = {.actor = api_actor(call)};
    int rc = 0;
    if (json_object_size(call->body))
        rc = login_account_read(call->body, &request, err);
    if (!rc && request.user)
        rc = account_open_gate(call, &request, &gate, err);
    if (!rc)
        rc = login_account_test(call->link, &request, &verdict, err);
    gate_note(&gate, rc ? rc : verdict.err.code);
    return rc ? rc : reply_json(resp, 200, account_verdict(&verdict), err);
}

int h_account_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_free_ char *left = NULL;
    json_t *object;
    int rc = login_account_remove(call->link, API_ACTOR(call), &left, err);
    if (rc)
        return rc;
    log_event(LOG_LEVEL_NOTICE, "vcenter_login_account_removed", "vcenter", link_id(call->link), NULL);
    object = json_object();
    view_put_text(object, "left", left);
    return reply_json(resp, 200, object, err);
}

/* -- looking again, and for what is wrong ------------------------------------------------------------------------------- */

int h_vcenters_rescan(struct api_call *call, struct http_response *resp, struct err *err) {
    struct discovery_result result = {0};
    struct vcenter info = {0};
    int rc = link_get_info(call->link, &info, err);
    if (!rc && !info.registered_at_ms) {
        (void)err_set(err, ERR_NOT_REGISTERED, "we are not registered with vCenter %s", info.name);
        rc =
            err_remedy(err, "run: kaasctl vcenter register %s --user administrator@vsphere.local", name_word(info.name, info.id));
    }
    vcenter_done(&info);
    if (!rc)
        rc = rescan_run(call->link, &result, err);
    if (!rc && result.differs_from_watch)
        log_event(LOG_LEVEL_WARNING, "watch_differs", "vcenter", link_id(call->link), "hint",
                  "a full read showed something else than the live watch knew: a defect, corrected now", NULL);
    if (!rc)
        rc = reply_json(resp, 200, view_rescan(&result), err);
    discovery_result_done(&result);
    return rc;
}

static json_t *report_json(const struct doctor_report *report) {
    json_t *object = json_object();
    json_put_string(object, "id", report->vc.id);
    json_put_string(object, "name", report->vc.name);
    json_put_string(object, "address", report->vc.address);
    json_put_int(object, "port", report->vc.port);
    json_put_bool(object, "registered", report->vc.registered_at_ms != 0);
    json_put_string(object, "status", finding_status_name(report->worst));
    json_put_time(object, "checked_at", report->checked_at_ms);
    json_put_int(object, "duration_ms", report->duration_ms);
    json_put(object, "findings", view_findings(&report->findings));
    return object;
}

/* It runs in the worker `outside`, so that it answers while the worker pool of that vCenter is full of calls that hang. */
int h_vcenters_doctor(struct api_call *call, struct http_response *resp, struct err *err) {
    struct doctor_report report;
    int rc = doctor_examine(call->api->options.platform, http_request_param(call->req, "id"), &report, err);
    if (rc)
        return rc;
    rc = reply_json(resp, 200, report_json(&report), err);
    doctor_report_done(&report);
    return rc;
}
