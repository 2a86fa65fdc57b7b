/* What the ways to sign on share. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "login_call.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "names.h"
#include "query.h"
#include "secret.h"
#include "str.h"
#include "views.h"

#define COOKIE_CHARS_MIN 8
#define COOKIE_CHARS_MAX 512
#define TICKET_CHARS_MAX 1024
#define PLUGIN_HEADER "vmware-api-session-id" /* what the vSphere Client gives to the page of a plug-in */

/* -- the state of a call ------------------------------------------------------------------------------------------------ */

static void login_free(void *p) {
    struct login *login = p;
    signon_check_free(login->check);
    kerberos_leg_free(login->leg);
    free(login->service);
    free(login);
}

int login_begin(struct api_call *call, struct err *err) {
    struct login *login = calloc(1, sizeof(*login));
    if (!login)
        return err_set(err, ERR_NOMEM, "out of memory");
    api_set_part(&call->feature, login, login_free);
    return 0;
}

struct login *login_of(const struct api_call *call) {
    return call->feature.data;
}

/* -- credentials for a vCenter ----------------------------------------------------------------------------------------------- */

struct signon_credential login_credential(const struct api_call *call, const char *vcenter_id) {
    const struct login *login = login_of(call);
    const struct service_caller *service = login->service;
    const char *secret = login->secret_member ? json_get_string(call->body, login->secret_member) : NULL;
    struct signon_credential credential = {.kind = VC_CREDENTIAL_PLUGIN, .vcenter_id = vcenter_id, .secret = secret};
    if (login->user_name) { /* what somebody says of a user: by the key of a session, or by the name alone */
        credential.kind = secret ? VC_CREDENTIAL_KEY : VC_CREDENTIAL_USER;
        credential.secret = secret ? secret : "";
        credential.user = login->user_name;
        credential.acting_id = service ? service->principal_id : NULL;
        credential.service_id = service ? service->id : NULL;
        credential.ends_at_ms = service ? service->ends_at_ms : 0;
        return credential;
    }
    if (!secret) {
        credential.secret = http_request_header(call->req, PLUGIN_HEADER);
        return credential;
    }
    credential.user = json_get_string(call->body, "username"); /* with a password */
    if (credential.user)
        credential.kind = VC_CREDENTIAL_PASSWORD;
    else
        credential.kind = str_eq(login->secret_member, "clone_ticket") ? VC_CREDENTIAL_TICKET : VC_CREDENTIAL_COOKIE;
    return credential;
}

/* Of a line that was pasted, mostly. */
static int refuse_secret_text(const char *name, struct err *err) {
    (void)err_set(err, ERR_UNPROCESSABLE, "\"%s\" holds a character that none of them has", name);
    return err_remedy(
        err, "send the value alone: of a cookie's line what stands between \"=\" and \";\", without blanks and line ends%s",
        str_eq(name, "clone_ticket") ? "" : "; of vmware_soap_session the 40 hex digits");
}

/* `name` is the member or header that the secret came in. */
static int check_secret_text(const char *text, size_t max, const char *name, struct err *err) {
    size_t n = strlen(text);
    if (n < COOKIE_CHARS_MIN || n > max)
        return err_set(err, ERR_UNPROCESSABLE, "\"%s\" must have %d to %zu characters", name, COOKIE_CHARS_MIN, max);
    for (const char *p = text; *p; p++)
        if (*p < '!' || *p > '~')
            return refuse_secret_text(name, err);
    return 0;
}

const char *login_plugin_session(const struct api_call *call) {
    const char *header = http_request_header(call->req, PLUGIN_HEADER);
    return header && !check_secret_text(header, COOKIE_CHARS_MAX, PLUGIN_HEADER, NULL) ? header : NULL;
}

int login_read_credential(struct api_call *call, struct err *err) {
    const char *header = http_request_header(call->req, PLUGIN_HEADER), *name;
    const bool is_ticket = json_object_get(call->body, "clone_ticket") != NULL;
    const bool is_session = json_object_get(call->body, "session_id") != NULL;
    int rc;
    if (header) {
        if (is_ticket || is_session)
            return err_set(err, ERR_UNPROCESSABLE, "give either the header %s or a credential in the body, not both",
                           PLUGIN_HEADER);
        rc = json_check(call->body, JSON_MEMBERS(JSON_NEEDS(STRING, "vcenter")), NULL, err);
        return rc ? rc : check_secret_text(header, COOKIE_CHARS_MAX, PLUGIN_HEADER, err);
    }
    login_of(call)->secret_member = name = is_ticket ? "clone_ticket" : "session_id";
    if (is_ticket && is_session)
        return err_set(err, ERR_UNPROCESSABLE, "give either \"session_id\" or \"clone_ticket\", not both");
    rc = json_check(call->body, JSON_MEMBERS(JSON_NEEDS(STRING, "vcenter"), JSON_NEEDS(STRING, name)), NULL, err);
    if (rc)
        return rc;
    return check_secret_text(json_get_string(call->body, name), is_ticket ? TICKET_CHARS_MAX : COOKIE_CHARS_MAX, name, err);
}

int login_use_vcenter(struct api_call *call, const char *reference, struct err *err) {
    const struct vcenter *vc = NULL;
    int rc = inventory_resolve_vcenter(call->snapshot->platform, reference, &vc, err);
    if (!rc && !vc->registered_at_ms) {
        (void)err_set(err, ERR_NOT_REGISTERED, "vCenter %s is configured, but not joined yet", vc->name);
        rc = err_remedy(err, "an administrator runs: kaasctl vcenter register %s --user administrator@vsphere.local",
                        name_word(vc->name, vc->id));
    }
    return rc ? rc : api_use_link(call, vc->id, err);
}

/* -- the word of the vCenter -------------------------------------------------------------------------------------------- */

int login_make_check(struct api_call *call, struct err *err) {
    struct signon_credential credential = login_credential(call, link_id(call->link));
    return signon_check_new(call->api->options.signon, API_ACTOR(call), &credential, &login_of(call)->check, err);
}

/* Not before the request is suspended: until then header fields are where the server reads the next ones to. */
static int login_wait_for_check(void *arg, worker_fn *run, void *run_arg, struct err *err) {
    struct api_call *call = arg;
    int rc = login_make_check(call, err);
    return rc ? rc : signon_check_wait(login_of(call)->check, run, run_arg, err);
}

/* In the thread that brought the vCenter's word. The one for whom it was asked goes on there; whoever came along has a worker pool that takes a crowd. */
static int login_go_on_checked(struct http_request *req, struct http_response *resp, struct err *err) {
    struct api_call *call = api_call_of(req);
    if (!signon_check_is_in_worker(login_of(call)->check))
        return api_go_slow(call, call->api->options.signons, call->next, err);
    log_set_request_id(http_request_id(req));
    return call->next(call, resp, err);
}

/* Goes on with `next` in a worker when the vCenter has said what it thinks of the credential. Who goes away meanwhile gets no session. */
int login_check(struct api_call *call, api_handler_fn *next) {
    call->next = next;
    return http_request_go_waiting(call->req,
                                   &(struct http_wait){login_wait_for_check, call, login_go_on_checked, clock_mono_ms()});
}

static int login_go_on_at_once(struct http_request *req, struct http_response *resp, struct err *err) {
    log_set_request_id(http_request_id(req));
    return api_call_of(req)->next(api_call_of(req), resp, err);
}

int login_check_briefly(struct api_call *call, api_handler_fn *next) {
    call->next = next;
    return http_request_go_waiting(call->req,
                                   &(struct http_wait){login_wait_for_check, call, login_go_on_at_once, clock_mono_ms()});
}

/* -- the token ---------------------------------------------------------------------------------------------------------- */

/* The JSON of a secret member is written into a wiped buffer. Releases `object`. */
static int reply_secret(struct http_response *resp, json_t *object, const char *member, struct err *err) {
    struct strbuf text;
    int rc;
    strbuf_init_secret(&text, 16384);
    rc = json_write(object, &text, err);
    json_wipe_string(json_object_get(object, member));
    if (!rc)
        http_response_set_text(resp, "application/json", &text);
    strbuf_done(&text);
    json_decref(object);
    return rc;
}

int login_reply(struct http_response *resp, struct signon_issued *issued, struct err *err) {
    json_t *object = json_object();
    json_put_string(object, "access_token", issued->token);
    json_put_string(object, "token_type", "Bearer");
    json_put_int(object, "expires_in", issued->token_lifetime_ms / 1000);
    json_put_time(object, "session_expires_at", issued->session_ends_at_ms);
    signon_issued_done(issued);
    return reply_secret(resp, object, "access_token", err);
}

int login_reply_code(struct api_call *call, struct http_response *resp, struct signon_issued *issued, const char *origin,
                     struct err *err) {
    char code[ONE_TIME_CODE_BYTES];
    json_t *object;
    int rc = signon_make_code(call->api->options.signon, API_ACTOR(call), issued->sid, origin, code, err);
    signon_issued_done(issued);
    if (rc)
        return rc;
    object = json_object();
    json_put_string(object, "code", code);
    json_put_int(object, "expires_in", ONE_TIME_CODE_MS / 1000);
    view_put_text(object, "origin", origin);
    secret_wipe(code, sizeof(code));
    return reply_secret(resp, object, "code", err);
}
