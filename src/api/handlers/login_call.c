/* What the ways to sign on share. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * HTTP Negotiate (RFC 4559): the client asks without a token first and is told the scheme, which is no failed attempt. A negotiation of two legs belongs to its
 * connection. Why a token was refused stands in log and audit log; the client is told no more than that it was. */
#include "login_call.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "accounts.h"
#include "clock.h"
#include "hashmap.h"
#include "http_request.h"
#include "limits.h"
#include "log.h"
#include "metric.h"
#include "net_addr.h"
#include "query.h"
#include "secret.h"
#include "str.h"

#define COOKIE_CHARS_MIN 8
#define COOKIE_CHARS_MAX 512
#define TICKET_CHARS_MAX 1024
#define PLUGIN_HEADER "vmware-api-session-id" /* what the vSphere Client gives to the page of a plug-in */
#define NTLM_CLIENTS_KEPT 256U
#define NTLM_AGAIN_MS (3600LL * 1000)

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
        rc = err_remedy(err, "an administrator runs: kaasctl vcenter register %s", vc->name);
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
        return api_go_slow(call, call->api->options.signons, call->next);
    log_set_request_id(http_request_id(req));
    return call->next(call, resp, err);
}

/* Goes on with `next` in a worker when the vCenter has said what it thinks of the credential. Who goes away meanwhile gets no session. */
int login_check(struct api_call *call, api_handler_fn *next) {
    call->next = next;
    return http_request_go_waiting(call->req,
                                   &(struct http_wait){login_wait_for_check, call, login_go_on_checked, clock_mono_ms()});
}

/* -- Kerberos ----------------------------------------------------------------------------------------------------------- */

/* -- what is told about it ------------------------------------------------------------------------------------------------ */

/* A browser that has no ticket sends NTLM with every request: one line for each client and hour. */
static bool is_news_of_ntlm(const char *address) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct ntlm_client {
        uint64_t party;
        int64_t told_ms;
    } clients[NTLM_CLIENTS_KEPT];
    const int64_t now_ms = clock_mono_ms();
    const uint64_t party = net_party(address);
    struct ntlm_client *client = &clients[hash64(hash_seed(), &party, sizeof(party)) % NTLM_CLIENTS_KEPT];
    bool is_news;
    (void)pthread_mutex_lock(&lock);
    is_news = client->party != party || now_ms - client->told_ms > NTLM_AGAIN_MS;
    if (is_news)
        *client = (struct ntlm_client){party, now_ms};
    (void)pthread_mutex_unlock(&lock);
    return is_news;
}

static void negotiate_count(const char *result) {
    metric_add(
        metric_get(METRIC_COUNTER, "kaas_kerberos_tokens_total", "Kerberos tokens, by what came of them", "result", result), 1);
}

static void negotiate_tell(const struct api_call *call, const struct kerberos_peer *peer) {
    enum log_level level = peer->is_alarming ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE;
    const char *client = http_request_client(call->req);
    char now[CLOCK_RFC3339_BYTES];
    negotiate_count(peer->reason);
    if (str_eq(peer->reason, "ntlm") && !is_news_of_ntlm(client))
        return;
    clock_format(clock_wall_ms(), now);
    log_event(
        level, "kerberos_refused", "reason", peer->reason, "why", peer->why[0] ? peer->why : NULL, "principal", peer->name,
        "client", client, "enctype", peer->enctype ? log_fmt("%d", peer->enctype) : NULL, "kvno",
        peer->kvno >= 0 ? log_fmt("%ld", peer->kvno) : NULL, "our_clock", str_eq(peer->reason, "clock_skew") ? now : NULL, "hint",
        str_eq(peer->reason, "ntlm") ? "the client has no Kerberos ticket for this address: SPN, DNS name, or not in the domain"
                                     : NULL,
        NULL);
}

/* -- the token ---------------------------------------------------------------------------------------------------------------- */

static int need_token(struct err *err) {
    (void)err_set(err, ERR_UNAUTHENTICATED, "a Kerberos token is needed");
    return err_remedy(err, "send the header Authorization: Negotiate TOKEN, or {\"token\": \"...\"}");
}

static void negotiate_note_refusal(struct api_call *call, const struct kerberos_peer *peer, int rc) {
    const struct signon_refusal refusal = {.where = "kerberos", .user = peer->name, .reason = peer->reason, .rc = rc};
    if (peer->reason)
        negotiate_tell(call, peer);
    signon_note_refusal(call->api->options.signon, API_ACTOR(call), &refusal);
}

int login_negotiate_accept(struct api_call *call, struct kerberos_peer *peer, struct err *err) {
    struct kerberos_token token = {.text = login_of(call)->token,
                                   .kept = STEAL(login_of(call)->leg),
                                   .is_noted_later = login_of(call)->is_token_noted_later};
    int rc = kerberos_accept(call->api->options.kerberos, &token, peer, err);
    if (peer->reply) {
        free(call->negotiate);
        call->negotiate = STEAL(peer->reply);
    }
    if (rc == KERBEROS_GO_ON) {
        if (peer->kept)
            http_request_keep_for_next(call->req, STEAL(peer->kept), kerberos_leg_free);
        return need_token(err);
    }
    if (rc) {
        negotiate_note_refusal(call, peer, rc);
        return rc;
    }
    negotiate_count("accepted");
    log_event(LOG_LEVEL_INFO, "kerberos_accepted", "principal", peer->name, "sid", peer->principal_id, "enctype",
              log_fmt("%d", peer->enctype), "kvno", log_fmt("%ld", peer->kvno), "client", http_request_client(call->req), NULL);
    return 0;
}

void login_negotiate_tell(struct api_call *call, struct kerberos_peer *peer, const char *reason) {
    peer->reason = reason;
    negotiate_tell(call, peer);
}

void login_negotiate_refuse(struct api_call *call, struct kerberos_peer *peer, const char *reason, int rc) {
    peer->reason = reason;
    negotiate_note_refusal(call, peer, rc);
}

void login_negotiate(struct api_call *call) {
    call->negotiate = str_dup("");
}

int login_negotiate_read(struct api_call *call, struct err *err) {
    const char *header = http_request_header(call->req, "Authorization");
    const struct member_body body = {.more = JSON_MEMBERS(JSON_NEEDS(STRING, "token"))};
    size_t body_bytes = 0;
    int rc;
    login_negotiate(call);
    login_of(call)->leg = http_request_take_kept(call->req);
    (void)http_request_body(call->req, &body_bytes);
    if (!call->api->options.kerberos) {
        (void)err_set(err, ERR_NOT_FOUND, "sign-on by Kerberos is not set up here");
        return err_remedy(err, "an administrator sets auth.kerberos.keytab");
    }
    if (!kerberos_read_header(header, &login_of(call)->token)) {
        rc = body_bytes ? api_read_members(call, "application/json", &body, err) : need_token(err);
        login_of(call)->token = rc ? NULL : json_get_string(call->body, "token");
        return rc;
    }
    return body_bytes ? err_set(err, ERR_INVALID, "give the token either in the header or in the body, not both") : 0;
}

/* -- programs ----------------------------------------------------------------------------------------------------------- */

static int caller_make(struct api_call *call, const char *shown, struct err *err) {
    struct service_caller *service = calloc(1, sizeof(*service));
    free(login_of(call)->service);
    login_of(call)->service = service;
    if (!service)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)snprintf(service->shown, sizeof(service->shown), "%s", shown);
    return call->snapshot ? 0 : err_set(err, ERR_UNAVAILABLE, "the service is starting");
}

static void caller_take(struct service_caller *service, const struct service_account *a, int64_t ends_at_ms) {
    (void)snprintf(service->id, sizeof(service->id), "%s", a->id);
    (void)snprintf(service->principal_id, sizeof(service->principal_id), "svc:%s", a->id);
    (void)snprintf(service->name, sizeof(service->name), "%s", a->name);
    service->may_delegate = a->may_delegate;
    service->ends_at_ms = ends_at_ms;
}

int login_service_by_certificate(struct api_call *call, struct err *err) {
    const struct service_account *found = NULL;
    struct service_caller *service;
    struct http_peer peer;
    struct accounts_credential credential;
    int rc;
    if (!http_request_peer(call->req, &peer)) {
        (void)err_set(err, ERR_UNAUTHENTICATED, "there is no client certificate in the connection");
        return err_remedy(err, "connect to the port of server.service_listen with a certificate, or send a Kerberos ticket");
    }
    rc = caller_make(call, peer.subject[0] ? peer.subject : peer.sha256, err);
    if (rc)
        return rc;
    credential = (struct accounts_credential){.sha256 = peer.sha256,
                                              .subject = peer.subject,
                                              .not_before_ms = peer.not_before_ms,
                                              .not_after_ms = peer.not_after_ms,
                                              .is_trusted = peer.chain == HTTP_CHAIN_GOOD,
                                              .is_revoked = peer.chain == HTTP_CHAIN_REVOKED};
    service = login_of(call)->service;
    if (accounts_find_by_certificate(call->snapshot->platform, &credential, clock_wall_ms(), &found, &service->refusal))
        return 0;
    caller_take(service, found, peer.not_after_ms);
    memcpy(service->certificate.sha256, peer.sha256, sizeof(service->certificate.sha256));
    service->certificate.not_after_ms = peer.not_after_ms;
    for (size_t i = 0; i < found->certificates_count; i++)
        if (str_eq(found->certificates[i].sha256, peer.sha256) && !found->certificates[i].not_after_ms)
            service->is_end_news = true;
    return 0;
}

/* -- by Kerberos, by token ---------------------------------------------------------------------------------------------------- */

int login_service_by_kerberos(struct api_call *call, const char *principal, int64_t ends_at_ms, struct err *err) {
    const struct service_account *found = NULL;
    int rc = caller_make(call, principal, err);
    if (rc || accounts_find_by_kerberos(call->snapshot->platform, principal, &found, &login_of(call)->service->refusal))
        return rc;
    caller_take(login_of(call)->service, found, ends_at_ms);
    return 0;
}

int login_service_by_token(struct api_call *call, bool may_block, struct err *err) {
    struct signon *signon = call->api->options.signon;
    const char *header = http_request_header(call->req, "Authorization");
    const struct service_account *found = NULL;
    struct signon_bearer bearer = {0};
    struct service_caller *service;
    const struct principal *who;
    int rc;
    if (!header || strncasecmp(header, "Bearer ", 7) != 0)
        return err_set(err, ERR_UNAUTHENTICATED, "there is no token in the request");
    rc = may_block ? signon_verify_slow(signon, header + 7, &bearer, err)
                   : signon_verify_from(signon, http_request_client(call->req), header + 7, &bearer, err);
    if (rc)
        return rc;
    who = live_session_who(bearer.session);
    rc = caller_make(call, who->id, err);
    service = login_of(call)->service;
    if (!rc && (who->source != SOURCE_SERVICE || !who->service_id || who->acting_id)) {
        (void)err_set(&service->refusal, ERR_FORBIDDEN, "this is not the session of a service account for itself");
        (void)err_remedy(&service->refusal, "sign in as a service account: POST /v2/login/service");
    } else if (!rc) {
        rc = accounts_check_session(call->snapshot->platform, who, &found, err);
    }
    if (!rc && found)
        caller_take(service, found, live_session_ends_ms(bearer.session));
    signon_bearer_done(&bearer);
    return rc;
}

/* -- refusing --------------------------------------------------------------------------------------------------------------- */

bool login_service_may_delegate(struct api_call *call) {
    struct service_caller *service = login_of(call)->service;
    if (!service->refusal.code && !service->may_delegate) {
        (void)err_set(&service->refusal, ERR_FORBIDDEN, "the service account \"%s\" may not act for people", service->name);
        (void)err_remedy(&service->refusal, "an administrator runs: kaasctl service set %s --may-delegate", service->name);
    }
    return !service->refusal.code;
}

int login_service_refuse(struct api_call *call, struct http_response *resp, struct err *err) {
    struct service_caller *service = login_of(call)->service;
    struct signon *signon = call->api->options.signon;
    const char *name = service->id[0] ? service->name : service->shown;
    const struct signon_refusal refusal = {.where = "service",
                                           .user = login_of(call)->user_name ? login_of(call)->user_name : name,
                                           .acting_id = service->id[0] ? service->principal_id : NULL,
                                           .reason = service->refusal.detail[0] ? service->refusal.detail : NULL,
                                           .rc = service->refusal.code};
    (void)resp;
    signon_note_refusal(signon, API_ACTOR(call), &refusal);
    return err_move(err, refusal.rc, &service->refusal);
}

/* The stored form is the one that names a person wherever they come from; a UPN may be spelled in several ways. */
int login_service_check_user(const char *name, struct err *err) {
    const char *slash = strchr(name, '\\');
    if (slash && slash != name && slash[1] && !strchr(slash + 1, '\\') && !strchr(name, '@') &&
        strlen(name) <= LOGIN_USER_BYTES_MAX && str_utf8_chars(name, strlen(name)) > 0 && !str_has_control(name))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "\"user_name\" is not a user name as a vCenter stores it");
    return err_remedy(err, "give it as UserSession.userName has it: DOMAIN\\user");
}

/* -- the token ---------------------------------------------------------------------------------------------------------- */

/* The token's JSON is written by hand into a wiped buffer: it is a secret. */
int login_reply(struct http_response *resp, struct signon_issued *issued, struct err *err) {
    _cleanup_json_ json_t *object = json_object();
    struct strbuf text;
    int rc;
    strbuf_init_secret(&text, 16384);
    json_put_string(object, "access_token", issued->token);
    json_put_string(object, "token_type", "Bearer");
    json_put_int(object, "expires_in", issued->token_lifetime_ms / 1000);
    json_put_time(object, "session_expires_at", issued->session_ends_at_ms);
    rc = json_write(object, &text, err);
    json_wipe_string(json_object_get(object, "access_token"));
    if (!rc)
        http_response_set_text(resp, "application/json", &text);
    strbuf_done(&text);
    signon_issued_done(issued);
    return rc;
}
