/* Handlers of sign-on, refresh, logout, and of the vCenters a session speaks for. Layer 5 (api). Whoami is h_whoami.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "api_call.h"
#include "limits.h"
#include "log.h"
#include "login_directory.h"
#include "platform_links.h"
#include "query.h"
#include "reply.h"
#include "reply_grant.h"
#include "service_caller.h"
#include "session_view.h"
#include "signon_calls.h"
#include "str.h"
#include "uuid.h"
#include "views.h"

#define COOKIE_CHARS_MIN 8
#define COOKIE_CHARS_MAX 512
#define TICKET_CHARS_MAX 1024
#define USER_NAME_BYTES_MAX 512
#define VCENTER_SOURCE "vcenter:"
#define PLUGIN_HEADER "vmware-api-session-id" /* what the vSphere Client gives to the page of a plug-in */

/* -- vCenter session or ticket ---------------------------------------------------------------------------------------- */

static const struct json_member session_members[] = {{"vcenter", JSON_KIND_STRING, true, false},
                                                     {"session_id", JSON_KIND_STRING, true, false},
                                                     {NULL, JSON_KIND_ANY, false, false}};
static const struct json_member ticket_members[] = {{"vcenter", JSON_KIND_STRING, true, false},
                                                    {"clone_ticket", JSON_KIND_STRING, true, false},
                                                    {NULL, JSON_KIND_ANY, false, false}};

static const struct json_member plugin_members[] = {{"vcenter", JSON_KIND_STRING, true, false},
                                                    {NULL, JSON_KIND_ANY, false, false}};

/* What somebody says of a user: by the key of a session, or by the name alone. */
static struct signon_proof word_of(const struct api_call *call, const char *vcenter_id) {
    struct signon_proof proof = {.vcenter_id = vcenter_id, .user = call->user_name};
    proof.kind = call->secret_member ? SIGNON_PROOF_KEY : SIGNON_PROOF_USER;
    proof.secret = call->secret_member ? json_get_string(call->body, call->secret_member) : "";
    if (!call->service)
        return proof;
    proof.acting_id = call->service->principal_id;
    proof.service_id = call->service->id;
    proof.ends_at_ms = call->service->ends_at_ms;
    return proof;
}

static struct signon_proof login_proof(const struct api_call *call, const char *vcenter_id) {
    struct signon_proof proof = {.kind = SIGNON_PROOF_PLUGIN, .vcenter_id = vcenter_id};
    if (call->user_name)
        return word_of(call, vcenter_id);
    if (!call->secret_member) {
        proof.secret = http_request_header(call->req, PLUGIN_HEADER);
        return proof;
    }
    proof.secret = json_get_string(call->body, call->secret_member);
    proof.user = json_get_string(call->body, "username"); /* with a password */
    if (proof.user)
        proof.kind = SIGNON_PROOF_PASSWORD;
    else
        proof.kind = str_eq(call->secret_member, "clone_ticket") ? SIGNON_PROOF_TICKET : SIGNON_PROOF_COOKIE;
    return proof;
}

static int make_check(struct api_call *call, struct err *err) {
    const struct actor actor = api_actor(call);
    struct signon_proof proof = login_proof(call, link_id(call->link));
    return signon_check_new(call->api->options.signon, &actor, &proof, &call->check, err);
}

/* Not before the request is suspended: until then header fields are where the server reads the next ones to. */
static int wait_for_check(void *arg, lane_fn *run, void *run_arg, struct err *err) {
    struct api_call *call = arg;
    int rc = make_check(call, err);
    return rc ? rc : signon_check_wait(call->check, run, run_arg, err);
}

/* In the thread that brought the vCenter's word. The one for whom it was asked goes on there; whoever came along has a lane that takes a crowd. */
static int go_on_checked(struct http_request *req, struct http_response *resp, struct err *err) {
    struct api_call *call = api_call_of(req);
    if (!signon_check_is_in_lane(call->check))
        return api_go_slow(call, call->api->options.signons, call->next);
    log_set_request_id(http_request_id(req));
    return call->next(call, resp, err);
}

/* Goes on with `next` in a lane when the vCenter has said what it thinks of the proof. Who goes away meanwhile gets no session. */
static int go_on_when_checked(struct api_call *call, api_handler_fn *next) {
    call->next = next;
    return http_request_go_waiting(call->req, &(struct http_wait){wait_for_check, call, go_on_checked, clock_mono_ms()});
}

/* Its place in the crowd is free for others as soon as the session is there. */
static int login_vcenter_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct signon_grant grant = {0};
    int rc = signon_login_vcenter(call->api->options.signon, &actor, call->check, &grant, err);
    signon_check_free(STEAL(call->check));
    return rc ? rc : reply_grant(resp, &grant, err);
}

int signon_calls_use_vcenter(struct api_call *call, const char *reference, struct err *err) {
    const struct vcenter *vc = NULL;
    int rc = dir_resolve_vcenter(call->snapshot->platform, reference, &vc, err);
    if (!rc && !vc->registered_at_ms) {
        (void)err_set(err, ERR_NOT_REGISTERED, "vCenter %s is configured, but not joined yet", vc->name);
        rc = err_remedy(err, "an administrator runs: kaasctl vcenter register %s", vc->name);
    }
    return rc ? rc : api_use_link(call, vc->id, err);
}

/* `name` is the member or header that the secret came in. */
static int check_secret_text(const char *text, size_t max, const char *name, struct err *err) {
    size_t n = strlen(text);
    if (n < COOKIE_CHARS_MIN || n > max)
        return err_set(err, ERR_UNPROCESSABLE, "\"%s\" must have %d to %zu characters", name, COOKIE_CHARS_MIN, max);
    for (const char *p = text; *p; p++)
        if (*p < '!' || *p > '~')
            return err_set(err, ERR_UNPROCESSABLE, "\"%s\" holds a character that none of them has", name);
    return 0;
}

static int read_plugin_proof(struct api_call *call, struct err *err) {
    int rc = 0;
    if (json_object_get(call->body, "clone_ticket") || json_object_get(call->body, "session_id"))
        return err_set(err, ERR_UNPROCESSABLE, "give either the header %s or a proof in the body, not both", PLUGIN_HEADER);
    rc = json_check(call->body, plugin_members, NULL, err);
    return rc ? rc : check_secret_text(http_request_header(call->req, PLUGIN_HEADER), COOKIE_CHARS_MAX, PLUGIN_HEADER, err);
}

static int read_body_proof(struct api_call *call, struct err *err) {
    bool is_ticket = json_object_get(call->body, "clone_ticket") != NULL;
    int rc;
    call->secret_member = is_ticket ? "clone_ticket" : "session_id";
    if (is_ticket && json_object_get(call->body, "session_id"))
        return err_set(err, ERR_UNPROCESSABLE, "give either \"session_id\" or \"clone_ticket\", not both");
    rc = json_check(call->body, is_ticket ? ticket_members : session_members, NULL, err);
    return rc ? rc
              : check_secret_text(json_get_string(call->body, call->secret_member),
                                  is_ticket ? TICKET_CHARS_MAX : COOKIE_CHARS_MAX, call->secret_member, err);
}

static int login_read_proof(struct api_call *call, struct err *err) {
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/json", err);
    if (!rc)
        rc = http_request_header(call->req, PLUGIN_HEADER) ? read_plugin_proof(call, err) : read_body_proof(call, err);
    return rc;
}

int signon_calls_log_in(struct api_call *call) {
    return go_on_when_checked(call, login_vcenter_in_lane);
}

/* -- strangers are not told which vCenters there are ----------------------------------------------------------------------- */

/* "vcenter" of a session or ticket, or behind "vcenter:" in the source of a password. */
static const char *vcenter_of(const struct api_call *call) {
    const char *source = json_get_string(call->body, "source");
    return source ? source + strlen(VCENTER_SOURCE) : json_get_string(call->body, "vcenter");
}

/* The true reason is for log and audit trail. */
static int refuse_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct signon_proof proof = login_proof(call, vcenter_of(call));
    struct err why = {0};
    (void)resp;
    (void)signon_calls_use_vcenter(call, proof.vcenter_id, &why);
    log_error(LOG_LEVEL_INFO, "vcenter_login_refused", &why, NULL);
    return signon_refuse_unasked(call->api->options.signon, &actor, &proof, why.text, err);
}

/* A program that has proved itself may know. */
static int log_in_at_vcenter(struct api_call *call, struct err *err) {
    struct err why = {0};
    int rc = signon_calls_use_vcenter(call, vcenter_of(call), &why);
    if (!rc)
        return signon_calls_log_in(call);
    if (!call->service && (rc == ERR_NOT_FOUND || rc == ERR_AMBIGUOUS || rc == ERR_NOT_REGISTERED))
        return api_go_slow(call, call->api->options.signons, refuse_in_lane);
    return err_move(err, rc, &why);
}

/* -- the key of a session ------------------------------------------------------------------------------------------------ */

static const struct json_member key_members[] = {{"vcenter", JSON_KIND_STRING, true, false},
                                                 {"session_id", JSON_KIND_STRING, true, false},
                                                 {"user_name", JSON_KIND_STRING, true, false},
                                                 {NULL, JSON_KIND_ANY, false, false}};

static int login_refuse_key(struct err *err) {
    (void)err_set(err, ERR_FORBIDDEN,
                  "the key of a session proves nothing: only service accounts that may act for people sign in by one");
    return err_remedy(err, "hand over a clone ticket, or sign in as a service account first");
}

/* A program shows its certificate, or the token of its own session; without either it depends on the configuration. ERR_NOT_FOUND: the session is not in
 * memory. */
static int find_service(struct api_call *call, struct err *err) {
    struct http_peer peer;
    if (http_request_peer(call->req, &peer))
        return service_caller_by_certificate(call, err);
    if (http_request_header(call->req, "Authorization"))
        return service_caller_by_token(call, false, err);
    return call->api->options.allows_session_keys ? 0 : login_refuse_key(err);
}

static int read_key(struct api_call *call, struct err *err) {
    const char *key;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = json_check(call->body, key_members, NULL, err);
    if (rc)
        return rc;
    call->secret_member = "session_id";
    call->user_name = json_get_string(call->body, "user_name");
    key = json_get_string(call->body, "session_id");
    if (!uuid_is_valid(key)) {
        (void)err_set(err, ERR_UNPROCESSABLE,
                      "with \"user_name\", \"session_id\" must be the key of a session: 52xxxxxx-xxxx-...");
        return err_remedy(err, "send the cookie of a session without \"user_name\"");
    }
    if (strlen(call->user_name) > USER_NAME_BYTES_MAX || !*call->user_name || str_has_control(call->user_name))
        return err_set(err, ERR_UNPROCESSABLE, "\"user_name\" must have 1 to %d bytes and no control characters",
                       USER_NAME_BYTES_MAX);
    return 0;
}

/* Who it is is known. */
static int go_on_by_key(struct api_call *call, struct err *err) {
    if (call->service && !service_caller_may_delegate(call))
        return api_go_slow(call, call->api->options.database, service_caller_refuse);
    return log_in_at_vcenter(call, err);
}

static int find_service_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = service_caller_by_token(call, true, err);
    (void)resp;
    return rc ? rc : go_on_by_key(call, err);
}

static int login_by_key(struct api_call *call, struct err *err) {
    struct err why = {0};
    int rc = read_key(call, err);
    if (rc)
        return rc;
    rc = find_service(call, &why);
    if (rc == ERR_NOT_FOUND)
        return api_go_slow(call, call->api->options.database, find_service_in_lane);
    return rc ? err_move(err, rc, &why) : go_on_by_key(call, err);
}

int h_login_vcenter(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = api_read_body(call, "application/json", err);
    (void)resp;
    if (!rc && json_is_object(call->body) && json_object_get(call->body, "user_name"))
        return login_by_key(call, err);
    rc = rc ? rc : login_read_proof(call, err);
    return rc ? rc : log_in_at_vcenter(call, err);
}

/* -- name and password ------------------------------------------------------------------------------------------------ */

static const struct json_member password_members[] = {
    {"username", JSON_KIND_STRING, true, false},
    {"password", JSON_KIND_STRING, true, false},
    {"source", JSON_KIND_STRING, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};

static int login_local_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct signon_grant grant = {0};
    int rc = signon_login_local(call->api->options.signon, &actor, json_get_string(call->body, "username"),
                                json_get_string(call->body, "password"), &grant, err);
    return rc ? rc : reply_grant(resp, &grant, err);
}

static int read_login_password(struct api_call *call, struct err *err) {
    const char *user, *password;
    int rc = api_read_members(call, password_members, "password", err);
    if (rc)
        return rc;
    user = json_get_string(call->body, "username");
    password = json_get_string(call->body, "password");
    if (!*user || strlen(user) > 256 || str_has_control(user))
        return err_set(err, ERR_UNPROCESSABLE, "the member \"username\" must have 1 to 256 characters and no control characters");
    if (!*password || strlen(password) > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"password\" must have 1 to %d bytes", KAAS_PASSWORD_BYTES_MAX);
    return 0;
}

int h_login_password(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *source;
    int rc = read_login_password(call, err);
    (void)resp;
    if (rc)
        return rc;
    source = json_get_string(call->body, "source");
    if (!source || str_eq(source, "local"))
        return api_go_slow(call, call->api->options.hashing, login_local_in_lane);
    if (!str_starts(source, VCENTER_SOURCE) || !source[strlen(VCENTER_SOURCE)])
        return login_directory(call, source, err);
    return log_in_at_vcenter(call, err);
}

/* -- the session itself ----------------------------------------------------------------------------------------------- */

static int require_session(const struct api_call *call, struct err *err) {
    if (call->bearer.session)
        return 0;
    (void)err_set(err, ERR_UNAUTHENTICATED, "the admin socket has no session");
    return err_remedy(err, "sign in and send a token");
}

int h_token_refresh(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_grant grant = {0};
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = require_session(call, err);
    if (!rc)
        rc = signon_refresh(call->api->options.signon, live_session_sid(call->bearer.session), call->bearer.jti, &grant, err);
    return rc ? rc : reply_grant(resp, &grant, err);
}

int h_logout(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = require_session(call, err);
    if (!rc)
        rc = signon_logout(call->api->options.signon, &actor, live_session_sid(call->bearer.session), err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}

/* -- further vCenters of the session ------------------------------------------------------------------------------------ */

static json_t *linked_json(const struct api_call *call, const struct session_rights *rights) {
    for (size_t i = 0; i < rights->count; i++)
        if (str_eq_nocase(rights->parts[i].vcenter_id, link_id(call->link)))
            return session_view_vcenter(call->snapshot->platform, &rights->parts[i]);
    return NULL;
}

/* The session as it is now: with what the vCenter said just before. */
static int answer_linked(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct signon_use use = {.is_read = true, .is_given_up = UINT16_MAX};
    struct session_rights rights = {0};
    json_t *object = NULL;
    int rc = signon_get_rights(call->api->options.signon, call->bearer.session, &use, &rights, err);
    if (rc)
        return rc;
    object = linked_json(call, &rights);
    session_rights_done(&rights);
    return object ? reply_json(resp, 201, object, err) : err_set(err, ERR_CONFLICT, "the vCenter was taken away again meanwhile");
}

static int add_vcenter_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    int rc = call->check ? 0 : make_check(call, err);
    if (!rc)
        rc = signon_add_vcenter(call->api->options.signon, &actor, call->bearer.session, call->check, err);
    signon_check_free(STEAL(call->check));
    return rc ? rc : answer_linked(call, resp, err);
}

int h_session_vcenters_add(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = require_session(call, err);
    (void)resp;
    if (!rc)
        rc = login_read_proof(call, err);
    if (!rc)
        rc = signon_calls_use_vcenter(call, json_get_string(call->body, "vcenter"), err);
    if (rc)
        return rc;
    if (signon_is_first_vcenter(call->bearer.session,
                                link_id(call->link))) /* refused unasked: a ticket would be used up for nothing */
        return api_go_slow(call, call->api->options.signons, add_vcenter_in_lane);
    return go_on_when_checked(call, add_vcenter_in_lane);
}

int h_session_vcenters_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = require_session(call, err);
    if (!rc)
        rc = signon_remove_vcenter(call->api->options.signon, &actor, call->bearer.session, http_request_param(call->req, "id"),
                                   err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}
