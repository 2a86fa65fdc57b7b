/* Handlers of /v2/login, and of /v2/kerberos. Layer 6 (api). What they share is login_call.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A sign-on through a vCenter, in its order:
 *
 *   1. h_login_vcenter        server thread: login_read_credential finds session or ticket in the body, or the header of the vSphere Client
 *   2. log_in_at_vcenter      server thread: login_use_vcenter finds the vCenter; strangers are refused in a worker (refuse_in_worker)
 *   3. login_check            suspended until the vCenter has said what it thinks of the credential
 *   4. login_vcenter_in_worker  worker: signon_login_vcenter opens the session
 *   5. login_reply            answers with the token
 *
 * HTTP Negotiate (RFC 4559): the client asks without a token first and is told the scheme, which is no failed attempt. A negotiation of two legs
 * belongs to its connection. Why a token was refused stands in log and audit log; the client is told no more than that it was. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "api_call.h"
#include "clock.h"
#include "ldapdirs.h"
#include "hashmap.h"
#include "http_request.h"
#include "ldapdir.h"
#include "kerberos.h"
#include "limits.h"
#include "log.h"
#include "login_call.h"
#include "metric.h"
#include "names.h"
#include "net_addr.h"
#include "reply.h"
#include "login.h"
#include "str.h"
#include "uuid.h"
#include "views.h"

#define ONLY_VCENTER_SOURCE "vcenter"
#define VCENTER_SOURCE ONLY_VCENTER_SOURCE ":"
#define LOGIN_USER_BYTES_MAX 512
#define NTLM_CLIENTS_KEPT 256U
#define NTLM_AGAIN_MS (3600LL * 1000)

/* -- in which ways people can sign in: what a sign-in form needs and no more: no addresses, no names of vCenters, no realms  */

/* What does not work is not offered. */
static const char *kerberos_word(const struct api_options *options) {
    static const char *const words[] = {
        [API_KERBEROS_OFF] = "off", [API_KERBEROS_BUTTON] = "button", [API_KERBEROS_AUTO] = "auto"};
    const bool works = options->kerberos && kerberos_is_usable(options->kerberos);
    return words[works ? options->kerberos_offer : API_KERBEROS_OFF];
}

int h_login_ways(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    const struct inventory_platform *platform = call->snapshot ? call->snapshot->platform : NULL;
    char names[LDAPDIR_MAX][LDAP_SOURCE_NAME_CHARS_MAX + 1];
    const size_t count = ldapdir_get_names(options->ldapdirs, names, LDAPDIR_MAX);
    json_t *object = json_object(), *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_add(list, json_string(names[i]));
    (void)err;
    json_put_bool(object, "vcenter", platform && platform->vcenters_count > 0);
    json_put(object, "directories", list);
    json_put_string(object, "kerberos", kerberos_word(options));
    return reply_json(resp, 200, object, err);
}

/* -- session, ticket or plug-in of a vCenter ---------------------------------------------------------------------------- */

/* Its place in the crowd is free for others as soon as the session is there. */
static int login_vcenter_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_issued issued = {0};
    int rc = signon_login_vcenter(call->api->options.signon, API_ACTOR(call), login_of(call)->check, &issued, err);
    signon_check_free(STEAL(login_of(call)->check));
    if (rc)
        return rc;
    return login_of(call)->origin[0] ? login_reply_code(call, resp, &issued, login_of(call)->origin, err)
                                     : login_reply(resp, &issued, err);
}

/* The id of the one that is joined; NULL: several are, or none. */
static const char *only_vcenter(const struct inventory_platform *platform) {
    const char *found = NULL;
    for (size_t i = 0; i < platform->vcenters_count; i++) {
        if (!platform->vcenters[i].registered_at_ms)
            continue;
        if (found)
            return NULL;
        found = platform->vcenters[i].id;
    }
    return found;
}

/* "vcenter" of a session or ticket, or behind "vcenter:" in the source of a password, where "vcenter" alone is the only one. */
static const char *vcenter_of(const struct api_call *call) {
    const char *source = json_get_string(call->body, "source");
    if (!source)
        return json_get_string(call->body, "vcenter");
    return str_eq(source, ONLY_VCENTER_SOURCE) ? only_vcenter(call->snapshot->platform) : source + strlen(VCENTER_SOURCE);
}

/* The true reason is for log and audit log. */
static int refuse_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_credential credential = login_credential(call, vcenter_of(call));
    struct err why = {0};
    (void)resp;
    (void)login_use_vcenter(call, credential.vcenter_id, &why);
    log_error(LOG_LEVEL_INFO, "vcenter_login_refused", &why, NULL);
    return signon_refuse_unasked(call->api->options.signon, API_ACTOR(call), &credential, why.text, err);
}

/* A program that has proved itself may know. */
static int log_in_at_vcenter(struct api_call *call, struct err *err) {
    struct err why = {0};
    int rc = login_use_vcenter(call, vcenter_of(call), &why);
    if (!rc)
        return login_check(call, login_vcenter_in_worker);
    if (!login_of(call)->service && (rc == ERR_NOT_FOUND || rc == ERR_AMBIGUOUS || rc == ERR_NOT_REGISTERED))
        return api_go_slow(call, call->api->options.signons, refuse_in_worker, err);
    return err_move(err, rc, &why);
}

/* -- programs that prove themselves with this very request ----------------------------------------------------------------------------------------------------------- */

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

/* Looks at the client certificate. Sets the program, with a refusal in it if need be; ERR_UNAUTHENTICATED when none was shown. In server threads
 * only. */
static int login_service_by_certificate(struct api_call *call, struct err *err) {
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

/* The same for the owner of a Kerberos ticket that was accepted: "name@REALM", until when. */
static int login_service_by_kerberos(struct api_call *call, const char *principal, int64_t ends_at_ms, struct err *err) {
    const struct service_account *found = NULL;
    int rc = caller_make(call, principal, err);
    if (rc || accounts_find_by_kerberos(call->snapshot->platform, principal, &found, &login_of(call)->service->refusal))
        return rc;
    caller_take(login_of(call)->service, found, ends_at_ms);
    return 0;
}

/* The same for the bearer of a token: the session must be a program's own. With `may_block` in the worker pool `database`, without it
 * ERR_NOT_FOUND where the session is not in memory. */
static int login_service_by_token(struct api_call *call, bool may_block, struct err *err) {
    struct signon *signon = call->api->options.signon;
    const char *token = http_request_credentials(call->req, "Bearer");
    const struct service_account *found = NULL;
    struct signon_bearer bearer = {0};
    struct service_caller *service;
    const struct principal *who;
    int rc;
    if (!token)
        return err_set(err, ERR_UNAUTHENTICATED, "there is no token in the request");
    rc = may_block ? signon_verify_slow(signon, token, &bearer, err)
                   : signon_verify_from(signon, http_request_client(call->req), token, &bearer, err);
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

/* True if the program may act for people; else the refusal is set. */
static bool login_service_may_delegate(struct api_call *call) {
    struct service_caller *service = login_of(call)->service;
    if (!service->refusal.code && !service->may_delegate) {
        (void)err_set(&service->refusal, ERR_FORBIDDEN, "the service account \"%s\" may not act for people", service->name);
        (void)err_remedy(&service->refusal, "an administrator runs: kaasctl service set %s --may-delegate",
                         name_word(service->name, service->id));
    }
    return !service->refusal.code;
}

/* Ends a sign-on with the program's refusal, in a worker, with a line in the audit log about `user_name` (NULL: the program itself). */
static int login_service_refuse(struct api_call *call, struct http_response *resp, struct err *err) {
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
static int login_service_check_user(const char *name, struct err *err) {
    const char *slash = strchr(name, '\\');
    if (slash && slash != name && slash[1] && !strchr(slash + 1, '\\') && !strchr(name, '@') &&
        strlen(name) <= LOGIN_USER_BYTES_MAX && str_utf8_chars(name, strlen(name)) > 0 && !str_has_control(name))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "\"user_name\" is not a user name as a vCenter stores it");
    return err_remedy(err, "give it as UserSession.userName has it: DOMAIN\\user");
}

/* -- the key of a session ----------------------------------------------------------------------------------------------- */

/* A program shows its certificate, or the token of its own session; without either it depends on the configuration. ERR_NOT_FOUND: the session is not in
 * memory. */
static int find_service(struct api_call *call, struct err *err) {
    struct http_peer peer;
    if (http_request_peer(call->req, &peer))
        return login_service_by_certificate(call, err);
    if (http_request_header(call->req, "Authorization"))
        return login_service_by_token(call, false, err);
    if (call->api->options.allows_session_keys)
        return 0;
    (void)err_set(err, ERR_FORBIDDEN,
                  "the key of a session proves nothing: only service accounts that may act for people sign in by one");
    return err_remedy(err, "hand over a clone ticket, or sign in as a service account first");
}

static int h_login_read_key(struct api_call *call, struct err *err) {
    const char *key;
    int rc =
        json_check(call->body,
                   JSON_MEMBERS(JSON_NEEDS(STRING, "vcenter"), JSON_NEEDS(STRING, "session_id"), JSON_NEEDS(STRING, "user_name")),
                   NULL, err);
    if (rc)
        return rc;
    login_of(call)->secret_member = "session_id";
    login_of(call)->user_name = json_get_string(call->body, "user_name");
    key = json_get_string(call->body, "session_id");
    if (!uuid_is_valid(key)) {
        (void)err_set(err, ERR_UNPROCESSABLE,
                      "with \"user_name\", \"session_id\" must be the key of a session: 52xxxxxx-xxxx-...");
        return err_remedy(err, "send the cookie of a session without \"user_name\"");
    }
    if (strlen(login_of(call)->user_name) > LOGIN_USER_BYTES_MAX || !*login_of(call)->user_name ||
        str_has_control(login_of(call)->user_name))
        return err_set(err, ERR_UNPROCESSABLE, "\"user_name\" must have 1 to %d bytes and no control characters",
                       LOGIN_USER_BYTES_MAX);
    return 0;
}

/* Who it is is known. */
static int h_login_go_on_by_key(struct api_call *call, struct err *err) {
    if (login_of(call)->service && !login_service_may_delegate(call))
        return api_go_slow(call, call->api->options.database, login_service_refuse, err);
    return log_in_at_vcenter(call, err);
}

static int find_service_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = login_service_by_token(call, true, err);
    (void)resp;
    return rc ? rc : h_login_go_on_by_key(call, err);
}

static int login_by_key(struct api_call *call, struct err *err) {
    struct err why = {0};
    int rc = h_login_read_key(call, err);
    if (rc)
        return rc;
    rc = find_service(call, &why);
    if (rc == ERR_NOT_FOUND)
        return api_go_slow(call, call->api->options.database, find_service_in_worker, err);
    return rc ? err_move(err, rc, &why) : h_login_go_on_by_key(call, err);
}

int h_login_vcenter(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = login_begin(call, err);
    (void)resp;
    if (rc)
        return rc;
    if (json_is_object(call->body) && json_object_get(call->body, "user_name"))
        return login_by_key(call, err);
    rc = login_read_credential(call, err);
    return rc ? rc : log_in_at_vcenter(call, err);
}

/* -- name and password of a directory ----------------------------------------------------------------------------------- */

/* A person as the directory tells. */
static struct signon_person login_person(const struct ldapdir_person *person, enum source source) {
    return (struct signon_person){.principal_id = person->principal_id,
                                  .name = person->name,
                                  .full_name = person->full_name,
                                  .directory = person->directory,
                                  .directory_mark = person->mark,
                                  .source = source,
                                  .groups = &person->groups};
}

/* Which servers there are and what ails them is not for somebody who is not signed in. */
static int h_login_hide(int rc, const char *source, const struct err *why, struct err *err) {
    const bool is_loss = rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS;
    if (rc == ERR_CREDENTIALS || rc == ERR_UNPROCESSABLE || rc == ERR_BUSY || rc == ERR_CANCELED || rc == ERR_NOMEM)
        return err_move(err, rc, why);
    rc = err_set(err, is_loss ? rc : ERR_UPSTREAM, "the directory %s cannot be asked at the moment", source);
    if (err) {
        err->retry_after_s = why->retry_after_s;
        (void)err_detail(err, "%s", why->text);
    }
    (void)err_remedy(err, "try again in a moment, or tell an administrator of this service");
    return rc;
}

static int directory_login_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon *signon = call->api->options.signon;
    const struct ldapdir_password given = {.source = json_get_string(call->body, "source"),
                                           .user = json_get_string(call->body, "username"),
                                           .password = json_get_string(call->body, "password")};
    _cleanup_free_ char *where = str_format("ldap:%s", given.source);
    _cleanup_free_ char *account = ldapdir_account_name(call->api->options.ldapdirs, given.source, given.user);
    const struct signon_password password = {.where = where, .user = given.user, .account = account};
    struct ldapdir_person person = {0};
    struct signon_person who;
    struct signon_issued issued = {0};
    struct err why = {0};
    int rc = where && account ? signon_admit_password(signon, API_ACTOR(call), &password, err)
                              : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    rc = ldapdir_check_password(call->api->options.ldapdirs, &given, &person, &why);
    signon_note_password(signon, API_ACTOR(call), &password, rc, why.detail[0] ? why.detail : why.text);
    if (rc) {
        log_error(LOG_LEVEL_INFO, "directory_login_refused", &why, "where", where, NULL);
        rc = h_login_hide(rc, given.source, &why, err);
    } else {
        who = login_person(&person, SOURCE_LDAP);
        rc = signon_login_person(signon, API_ACTOR(call), &who, &issued, err);
    }
    ldapdir_person_done(&person);
    return rc ? rc : login_reply(resp, &issued, err);
}

/* Goes on in the worker pool of the directory `source` and answers with a session. Why somebody is refused (no such account, disabled, wrong password, ...) is
 * told to the audit log and the log, never to who asks. */
static int login_directory(struct api_call *call, const char *source, struct err *err) {
    struct worker_pool *workers = NULL;
    struct err why = {0};
    int rc = ldapdir_pool(call->api->options.ldapdirs, source, &workers, &why);
    if (!rc)
        return api_go_slow(call, workers, directory_login_in_worker, err);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the member \"source\" is \"%.60s\"", source);
        return err_remedy(err, "use local, vcenter, vcenter:NAME, or the name of a directory");
    }
    return err_move(err, rc, &why);
}

/* -- name and password -------------------------------------------------------------------------------------------------- */

const struct member_body h_login_password_body = {
    .more = JSON_MEMBERS(JSON_NEEDS(STRING, "username"), JSON_NEEDS(STRING, "password"), JSON_TAKES(STRING, "source"))};

static int login_local_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_issued issued = {0};
    int rc = signon_login_local(call->api->options.signon, API_ACTOR(call), json_get_string(call->body, "username"),
                                json_get_string(call->body, "password"), &issued, err);
    return rc ? rc : login_reply(resp, &issued, err);
}

/* How many there are is not told. */
static int login_refuse_unnamed(struct err *err) {
    (void)err_set(err, ERR_UNPROCESSABLE, "the member \"source\" has to say which vCenter");
    return err_remedy(err, "name it by its address: vcenter:vc.example.com");
}

int h_login_password(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *user = json_get_string(call->body, "username"), *password = json_get_string(call->body, "password");
    const char *source = json_get_string(call->body, "source");
    int rc = login_begin(call, err);
    (void)resp;
    if (rc)
        return rc;
    login_of(call)->secret_member = "password";
    if (!*user || strlen(user) > 256 || str_has_control(user))
        return err_set(err, ERR_UNPROCESSABLE, "the member \"username\" must have 1 to 256 characters and no control characters");
    if (!*password || strlen(password) > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"password\" must have 1 to %d bytes", KAAS_PASSWORD_BYTES_MAX);
    if (!source || str_eq(source, "local"))
        return api_go_slow(call, call->api->options.hashing, login_local_in_worker, err);
    if (str_eq(source, ONLY_VCENTER_SOURCE))
        return vcenter_of(call) ? log_in_at_vcenter(call, err) : login_refuse_unnamed(err);
    if (!str_starts(source, VCENTER_SOURCE) || !source[strlen(VCENTER_SOURCE)])
        return login_directory(call, source, err);
    return log_in_at_vcenter(call, err);
}

/* -- tokens of Kerberos, and what is told about them ------------------------------------------------------------------- */

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
    metric_add(metric_get(METRIC_KERBEROS_TOKENS, result), 1);
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

static int need_token(struct err *err) {
    (void)err_set(err, ERR_UNAUTHENTICATED, "a Kerberos token is needed");
    return err_remedy(err, "send the header Authorization: Negotiate TOKEN, or {\"token\": \"...\"}");
}

/* Tells log and audit log; `reason` NULL: the audit log alone. */
static void login_negotiate_refuse(struct api_call *call, struct kerberos_peer *peer, const char *reason, int rc) {
    const struct signon_refusal refusal = {.where = "kerberos", .user = peer->name, .reason = reason, .rc = rc};
    peer->reason = reason;
    if (reason)
        negotiate_tell(call, peer);
    signon_note_refusal(call->api->options.signon, API_ACTOR(call), &refusal);
}

/* In a worker: accepts the token, and writes log and audit log if it is refused. ERR_UNAUTHENTICATED when another token has to follow. *peer
 * (uninitialised) is freed by kerberos_peer_done in any case. */
static int login_negotiate_accept(struct api_call *call, struct kerberos_peer *peer, struct err *err) {
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
        login_negotiate_refuse(call, peer, peer->reason, rc);
        return rc;
    }
    negotiate_count("accepted");
    log_event(LOG_LEVEL_INFO, "kerberos_accepted", "principal", peer->name, "sid", peer->principal_id, "enctype",
              log_fmt("%d", peer->enctype), "kvno", log_fmt("%ld", peer->kvno), "client", http_request_client(call->req), NULL);
    return 0;
}

/* The scheme Negotiate is what this endpoint speaks from here on. ERR_NOT_FOUND without Kerberos. */
static int login_negotiate_begin(struct api_call *call, const char *remedy, struct err *err) {
    call->negotiate = str_dup("");
    login_of(call)->leg = http_request_take_kept(call->req);
    if (call->api->options.kerberos)
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "sign-on by Kerberos is not set up here");
    return err_remedy(err, "%s", remedy);
}

/* Finds the token, in header or body. ERR_UNAUTHENTICATED when there is none, which is how a client asks for the scheme. */
static int login_negotiate_read(struct api_call *call, struct err *err) {
    const struct member_body body = {.more = JSON_MEMBERS(JSON_NEEDS(STRING, "token"))};
    size_t body_bytes = 0;
    int rc = login_negotiate_begin(call, "an administrator sets auth.kerberos.keytab", err);
    if (rc)
        return rc;
    (void)http_request_body(call->req, &body_bytes);
    login_of(call)->token = http_request_credentials(call->req, "Negotiate");
    if (login_of(call)->token)
        return body_bytes ? err_set(err, ERR_INVALID, "give the token either in the header or in the body, not both") : 0;
    rc = body_bytes ? api_read_members(call, "application/json", &body, err) : need_token(err);
    login_of(call)->token = rc ? NULL : json_get_string(call->body, "token");
    return rc;
}

/* -- by Kerberos --------------------------------------------------------------------------------------------------------- */

/* Who may do more than others, and whose directory does not answer, signs in for a quarter of an hour at a time. */
static int64_t h_login_end_of(const struct ldapdir_person *person, const struct kerberos_peer *peer) {
    const int64_t soon_ms = clock_wall_ms() + KAAS_UNASKED_SESSION_MS;
    return person->is_unasked && (!peer->ends_at_ms || peer->ends_at_ms > soon_ms) ? soon_ms : peer->ends_at_ms;
}

static int kerberos_open_session(struct api_call *call, const struct ldapdir_person *person, struct kerberos_peer *peer,
                                 struct signon_issued *issued, struct err *err) {
    struct signon_person who = login_person(person, SOURCE_KERBEROS);
    struct err why = {0};
    int rc;
    who.credential_digest = peer->digest;
    who.credential_until_ms = peer->digest_until_ms;
    who.ends_at_ms = h_login_end_of(person, peer);
    rc = signon_login_person(call->api->options.signon, API_ACTOR(call), &who, issued, &why);
    if (rc == ERR_CREDENTIALS) {
        peer->reason = "replay";
        negotiate_tell(call, peer); /* the audit log has its line already */
        return kerberos_refuse(err);
    }
    return err_move(err, rc, &why);
}

/* The ticket proves the name; who that is, in groups, it says itself or the directory does. */
static int kerberos_login_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    struct ldapdir_person person = {0};
    struct signon_issued issued = {0};
    struct kerberos_peer peer = {0};
    int rc = login_negotiate_accept(call, &peer, err);
    if (rc)
        goto out;
    rc = kerberos_find_person(call->api->options.kerberos, &peer, &person, err);
    if (rc)
        login_negotiate_refuse(call, &peer, rc == ERR_FORBIDDEN ? "no_groups" : "directory", rc);
    else
        rc = kerberos_open_session(call, &person, &peer, &issued, err);
    ldapdir_person_done(&person);
out:
    kerberos_peer_done(&peer);
    return rc ? rc : login_reply(resp, &issued, err);
}

int h_login_kerberos(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = login_begin(call, err);
    (void)resp;
    if (!rc)
        rc = login_negotiate_read(call, err);
    if (rc)
        return rc;
    login_of(call)->is_token_noted_later = true; /* with the session */
    return api_go_slow(call, call->api->options.kerberos_pool, kerberos_login_in_worker, err);
}

/* -- how it stands ----------------------------------------------------------------------------------------------------------- */

static json_t *key_json(const struct kerberos_key *key) {
    json_t *object = json_object();
    json_put_string(object, "principal", key->principal);
    json_put_int(object, "kvno", key->kvno);
    json_put_string(object, "encryption_type", key->encryption_type);
    view_put_time(object, "made_at", key->made_at_ms);
    json_put_bool(object, "used", key->is_used);
    return object;
}

/* All members stand in it, null where there is nothing to say. */
static json_t *status_json(const struct kerberos_status *status, bool is_configured) {
    const struct err *problem = &status->problem;
    json_t *object = json_object(), *keys = json_array();
    for (size_t i = 0; i < status->keys_count; i++)
        json_add(keys, key_json(&status->keys[i]));
    json_put_bool(object, "configured", is_configured);
    json_put_bool(object, "usable", is_configured && !problem->code);
    view_put_text(object, "problem", problem->code ? problem->text : NULL);
    view_put_text(object, "remedy", problem->remedy[0] ? problem->remedy : NULL);
    json_put(object, "newest_kvno", status->newest_kvno ? json_integer(status->newest_kvno) : json_null());
    json_put(object, "realms", view_texts((const char *const *)status->realms, status->realms_count));
    json_put_string(object, "channel_bindings", status->looks_at_bindings ? "allow" : "off");
    json_put_bool(object, "require_pac", status->requires_pac);
    json_put_string(object, "live_check", kerberos_live_check_name(status->live_check));
    json_put(object, "keys", keys);
    return object;
}

/* In a worker, since it looks at files. */
int h_kerberos_status(struct api_call *call, struct http_response *resp, struct err *err) {
    struct kerberos *kerberos = call->api->options.kerberos;
    struct kerberos_status status = {0};
    json_t *object;
    int rc = kerberos ? kerberos_get_status(kerberos, &status, err) : 0;
    if (rc)
        return rc;
    if (!kerberos) {
        (void)err_set(&status.problem, ERR_CONFIG, "no keytab is configured");
        (void)err_remedy(&status.problem, "set auth.kerberos.keytab and restart kaasd");
    }
    object = status_json(&status, kerberos);
    kerberos_status_done(&status);
    return reply_json(resp, 200, object, err);
}

const struct member_body h_login_service_body = {
    .more = JSON_MEMBERS(JSON_TAKES(STRING, "token"), JSON_TAKES(OBJECT, "on_behalf_of"), JSON_TAKES(STRING, "hand_over"),
                         JSON_TAKES(STRING, "hx_cluster"), JSON_TAKES(STRING, "origin"))};

/* -- for itself ------------------------------------------------------------------------------------------------------------- */

static int log_in_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct service_caller *service = login_of(call)->service;
    const struct signon_person person = {.principal_id = service->principal_id,
                                         .name = service->name,
                                         .service_id = service->id,
                                         .source = SOURCE_SERVICE,
                                         .role_at_least = ROLE_SERVICE,
                                         .ends_at_ms = service->ends_at_ms};
    struct signon_issued issued = {0};
    int rc = signon_login_person(call->api->options.signon, API_ACTOR(call), &person, &issued, err);
    if (rc)
        return rc;
    if (service->is_end_news)
        accounts_note_certificate(call->api->options.ldapdirs, service->id, &service->certificate);
    return login_reply(resp, &issued, err);
}

/* -- for a person ----------------------------------------------------------------------------------------------------------- */

/* Among the HX clusters that the program is for, so that it is told of no others. */
static int find_own_hx(const struct api_call *call, const char *reference, const struct hx_cluster **out, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    const struct service_account *account = inventory_find_service(platform, login_of(call)->service->id);
    size_t found = 0;
    for (size_t i = 0; account && i < account->hx_clusters_count; i++) {
        const struct hx_cluster *hx = inventory_find_hx(platform, account->hx_clusters[i]);
        if (!hx || (!str_eq_nocase(hx->id, reference) && !inventory_hx_is_called(platform, hx, reference)))
            continue;
        *out = hx;
        found++;
    }
    if (found == 1)
        return 0;
    if (found) {
        (void)err_set(err, ERR_AMBIGUOUS, "%zu HX clusters of the service account are called \"%.100s\"", found, reference);
        return err_remedy(err, "give its id");
    }
    (void)err_set(err, ERR_NOT_FOUND, "the service account is for no HX cluster \"%.100s\"", reference);
    return err_remedy(err, "an administrator runs: kaasctl service set %s --add-hx-cluster HX",
                      name_word(login_of(call)->service->name, login_of(call)->service->id));
}

/* A code for the panel is bound to one page of an HX cluster: at the address that somebody vouched for, or at the one that people use, if it says so. */
static int read_hand_over(struct api_call *call, struct err *err) {
    const char *reference = json_get_string(call->body, "hx_cluster"), *wanted = json_get_string(call->body, "origin");
    char origins[VIEW_HX_ORIGINS_MAX][NET_ORIGIN_BYTES];
    const struct hx_cluster *hx = NULL;
    int rc;
    if (!json_object_get(call->body, "hand_over"))
        return 0;
    rc = find_own_hx(call, reference, &hx, err);
    if (rc)
        return rc;
    const size_t count = view_hx_origins(hx, origins);
    for (size_t i = 0; i < count; i++)
        if (!wanted || str_eq(origins[i], wanted)) {
            memcpy(login_of(call)->origin, origins[i], sizeof(origins[i]));
            return 0;
        }
    if (count) {
        (void)err_set(err, ERR_CONFLICT, "HX cluster %s is known at %s%s%s, not at %.300s", hx->name, origins[0],
                      count > 1 ? " and " : "", count > 1 ? origins[1] : "", wanted);
        return err_remedy(err, "an administrator runs: kaasctl hx set %s --address HOST", hx->id);
    }
    (void)err_set(err, ERR_CONFLICT, "the address of HX cluster %s is not confirmed", hx->name);
    return err_remedy(err, "an administrator runs: kaasctl hx connect %s", hx->id);
}

static int log_in_for(struct api_call *call, const json_t *person, struct err *err) {
    int rc;
    login_of(call)->user_name = json_get_string(person, "user_name");
    rc = login_service_check_user(login_of(call)->user_name, err);
    if (rc)
        return rc;
    if (!login_service_may_delegate(call))
        return api_go_slow(call, call->api->options.database, login_service_refuse, err);
    rc = read_hand_over(call, err);
    if (!rc)
        rc = login_use_vcenter(call, json_get_string(person, "vcenter"), err);
    return rc ? rc : login_check(call, login_vcenter_in_worker);
}

/* Who it is is known. */
static int h_login_go_on(struct api_call *call, struct err *err) {
    const json_t *person = json_object_get(call->body, "on_behalf_of");
    if (login_of(call)->service->refusal.code)
        return api_go_slow(call, call->api->options.database, login_service_refuse, err);
    return person ? log_in_for(call, person, err) : api_go_slow(call, call->api->options.database, log_in_in_worker, err);
}

/* -- by Kerberos ------------------------------------------------------------------------------------------------------------ */

/* The token, in header or body; NULL: none was sent. Borrowed. */
static const char *find_ticket(const struct api_call *call) {
    const char *text = http_request_credentials(call->req, "Negotiate");
    return text ? text : json_get_string(call->body, "token");
}

/* The account of a program is known by name: a ticket that bears the name and belongs to somebody else proves nothing. */
static int service_take_ticket(struct api_call *call, struct kerberos_peer *peer, struct err *err) {
    if (!peer->is_other_account)
        return login_service_by_kerberos(call, peer->name, peer->ends_at_ms, err);
    peer->is_alarming = true;
    login_negotiate_refuse(call, peer, "account_name", ERR_CREDENTIALS);
    return kerberos_refuse(err);
}

static int accept_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    struct kerberos_peer peer = {0};
    int rc;
    (void)resp;
    login_of(call)->token = find_ticket(call); /* now that the request is suspended it stays where it is */
    rc = login_negotiate_accept(call, &peer, err);
    if (!rc)
        rc = service_take_ticket(call, &peer, err);
    kerberos_peer_done(&peer);
    return rc ? rc : h_login_go_on(call, err);
}

/* What is sent of a person fits together. */
static int check_person(const json_t *body, struct err *err) {
    const char *hand_over = json_get_string(body, "hand_over");
    json_t *person = json_object_get(body, "on_behalf_of");
    int rc = person ? json_check(person, JSON_MEMBERS(JSON_NEEDS(STRING, "vcenter"), JSON_NEEDS(STRING, "user_name")),
                                 "on_behalf_of", err)
                    : 0;
    if (rc)
        return rc;
    if (hand_over && !str_eq(hand_over, "code"))
        return err_set(err, ERR_UNPROCESSABLE, "the member \"hand_over\" is \"%.60s\", not \"code\"", hand_over);
    if (!hand_over == !json_object_get(body, "hx_cluster") && (hand_over ? person != NULL : !json_object_get(body, "origin")))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE,
                  "\"hand_over\" and \"hx_cluster\" go together, and need \"on_behalf_of\"; \"origin\" needs them");
    return err_remedy(err, "name the HX cluster whose page gets the code, and the person whom it is for");
}

int h_login_service(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = login_begin(call, err);
    (void)resp;
    if (!rc)
        rc = check_person(call->body, err);
    if (!rc && find_ticket(call)) {
        rc = login_negotiate_begin(call, "an administrator sets auth.kerberos.keytab; or use a client certificate", err);
        return rc ? rc : api_go_slow(call, call->api->options.kerberos_pool, accept_in_worker, err);
    }
    if (!rc)
        rc = login_service_by_certificate(call, err);
    if (rc == ERR_UNAUTHENTICATED && call->api->options.kerberos)
        call->negotiate = str_dup("");
    return rc ? rc : h_login_go_on(call, err);
}
