/* Handlers of /v2/login, and of /v2/kerberos. Layer 6 (api). What they share is login_call.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A sign-on through a vCenter, in its order:
 *
 *   1. h_login_vcenter        server thread: login_read_credential finds session or ticket in the body, or the header of the vSphere Client
 *   2. log_in_at_vcenter      server thread: login_use_vcenter finds the vCenter; strangers are refused in a worker (refuse_in_worker)
 *   3. login_check            suspended until the vCenter has said what it thinks of the credential
 *   4. login_vcenter_in_worker  worker: signon_login_vcenter opens the session
 *   5. login_reply            answers with the token */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "api_call.h"
#include "clock.h"
#include "directories.h"
#include "http_request.h"
#include "identity.h"
#include "kerberos.h"
#include "limits.h"
#include "log.h"
#include "login_call.h"
#include "reply.h"
#include "login.h"
#include "str.h"
#include "uuid.h"
#include "views.h"

#define VCENTER_SOURCE "vcenter:"

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
    char names[DIRECTORIES_MAX][LDAP_SOURCE_NAME_CHARS_MAX + 1];
    const size_t count = directories_get_names(options->identity, names, DIRECTORIES_MAX);
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
    return rc ? rc : login_reply(resp, &issued, err);
}

/* "vcenter" of a session or ticket, or behind "vcenter:" in the source of a password. */
static const char *vcenter_of(const struct api_call *call) {
    const char *source = json_get_string(call->body, "source");
    return source ? source + strlen(VCENTER_SOURCE) : json_get_string(call->body, "vcenter");
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
        return api_go_slow(call, call->api->options.signons, refuse_in_worker);
    return err_move(err, rc, &why);
}

/* -- the key of a session ----------------------------------------------------------------------------------------------- */

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
        return login_service_by_certificate(call, err);
    if (http_request_header(call->req, "Authorization"))
        return login_service_by_token(call, false, err);
    return call->api->options.allows_session_keys ? 0 : login_refuse_key(err);
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
        return api_go_slow(call, call->api->options.database, login_service_refuse);
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
        return api_go_slow(call, call->api->options.database, find_service_in_worker);
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
static struct signon_person login_person(const struct identity_person *person, enum source source) {
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
    const struct identity_password given = {.source = json_get_string(call->body, "source"),
                                            .user = json_get_string(call->body, "username"),
                                            .password = json_get_string(call->body, "password")};
    _cleanup_free_ char *where = str_format("ldap:%s", given.source);
    _cleanup_free_ char *account = identity_account_name(call->api->options.identity, given.source, given.user);
    const struct signon_password password = {.where = where, .user = given.user, .account = account};
    struct identity_person person = {0};
    struct signon_person who;
    struct signon_issued issued = {0};
    struct err why = {0};
    int rc = where && account ? signon_admit_password(signon, API_ACTOR(call), &password, err)
                              : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    rc = identity_check_password(call->api->options.identity, &given, &person, &why);
    signon_note_password(signon, API_ACTOR(call), &password, rc, why.detail[0] ? why.detail : why.text);
    if (rc) {
        log_error(LOG_LEVEL_INFO, "directory_login_refused", &why, "where", where, NULL);
        rc = h_login_hide(rc, given.source, &why, err);
    } else {
        who = login_person(&person, SOURCE_LDAP);
        rc = signon_login_person(signon, API_ACTOR(call), &who, &issued, err);
    }
    identity_person_done(&person);
    return rc ? rc : login_reply(resp, &issued, err);
}

/* Goes on in the worker pool of the directory `source` and answers with a session. Why somebody is refused (no such account, disabled, wrong password, ...) is
 * told to the audit log and the log, never to who asks. */
static int login_directory(struct api_call *call, const char *source, struct err *err) {
    struct worker_pool *workers = NULL;
    struct err why = {0};
    int rc = identity_pool(call->api->options.identity, source, &workers, &why);
    if (!rc)
        return api_go_slow(call, workers, directory_login_in_worker);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the member \"source\" is \"%.60s\"", source);
        return err_remedy(err, "use local, vcenter:NAME, or the name of a directory");
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
        return api_go_slow(call, call->api->options.hashing, login_local_in_worker);
    if (!str_starts(source, VCENTER_SOURCE) || !source[strlen(VCENTER_SOURCE)])
        return login_directory(call, source, err);
    return log_in_at_vcenter(call, err);
}

/* -- signing in ------------------------------------------------------------------------------------------------------------ */

/* Who may do more than others, and whose directory does not answer, signs in for a quarter of an hour at a time. */
static int64_t h_login_end_of(const struct identity_person *person, const struct kerberos_peer *peer) {
    const int64_t soon_ms = clock_wall_ms() + KAAS_UNASKED_SESSION_MS;
    return person->is_unasked && (!peer->ends_at_ms || peer->ends_at_ms > soon_ms) ? soon_ms : peer->ends_at_ms;
}

static int kerberos_open_session(struct api_call *call, const struct identity_person *person, struct kerberos_peer *peer,
                                 struct signon_issued *issued, struct err *err) {
    struct signon_person who = login_person(person, SOURCE_KERBEROS);
    struct err why = {0};
    int rc;
    who.credential_digest = peer->digest;
    who.credential_until_ms = peer->digest_until_ms;
    who.ends_at_ms = h_login_end_of(person, peer);
    rc = signon_login_person(call->api->options.signon, API_ACTOR(call), &who, issued, &why);
    if (rc == ERR_CREDENTIALS) {
        login_negotiate_tell(call, peer, "replay");
        return kerberos_refuse(err);
    }
    return err_move(err, rc, &why);
}

/* The ticket proves the name; who that is, in groups, it says itself or the directory does. */
static int kerberos_login_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    struct identity_person person = {0};
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
    identity_person_done(&person);
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
    return api_go_slow(call, call->api->options.kerberos_pool, kerberos_login_in_worker);
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
    .more = JSON_MEMBERS(JSON_TAKES(STRING, "token"), JSON_TAKES(OBJECT, "on_behalf_of"))};

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
        accounts_note_certificate(call->api->options.identity, service->id, &service->certificate);
    return login_reply(resp, &issued, err);
}

/* -- for a person ----------------------------------------------------------------------------------------------------------- */

static int log_in_for(struct api_call *call, const json_t *person, struct err *err) {
    int rc;
    login_of(call)->user_name = json_get_string(person, "user_name");
    rc = login_service_check_user(login_of(call)->user_name, err);
    if (rc)
        return rc;
    if (!login_service_may_delegate(call))
        return api_go_slow(call, call->api->options.database, login_service_refuse);
    rc = login_use_vcenter(call, json_get_string(person, "vcenter"), err);
    return rc ? rc : login_check(call, login_vcenter_in_worker);
}

/* Who it is is known. */
static int h_login_go_on(struct api_call *call, struct err *err) {
    const json_t *person = json_object_get(call->body, "on_behalf_of");
    if (login_of(call)->service->refusal.code)
        return api_go_slow(call, call->api->options.database, login_service_refuse);
    return person ? log_in_for(call, person, err) : api_go_slow(call, call->api->options.database, log_in_in_worker);
}

/* -- by Kerberos ------------------------------------------------------------------------------------------------------------ */

/* The token, in header or body; NULL: none was sent. Borrowed. */
static const char *find_ticket(const struct api_call *call) {
    const char *text = NULL;
    return kerberos_read_header(http_request_header(call->req, "Authorization"), &text) ? text
                                                                                        : json_get_string(call->body, "token");
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

static int begin_ticket(struct api_call *call, struct err *err) {
    login_negotiate(call);
    login_of(call)->leg = http_request_take_kept(call->req);
    if (call->api->options.kerberos)
        return api_go_slow(call, call->api->options.kerberos_pool, accept_in_worker);
    (void)err_set(err, ERR_NOT_FOUND, "sign-on by Kerberos is not set up here");
    return err_remedy(err, "an administrator sets auth.kerberos.keytab; or use a client certificate");
}

int h_login_service(struct api_call *call, struct http_response *resp, struct err *err) {
    json_t *person = json_object_get(call->body, "on_behalf_of");
    int rc = login_begin(call, err);
    (void)resp;
    if (!rc && person)
        rc =
            json_check(person, JSON_MEMBERS(JSON_NEEDS(STRING, "vcenter"), JSON_NEEDS(STRING, "user_name")), "on_behalf_of", err);
    if (!rc && find_ticket(call))
        return begin_ticket(call, err);
    if (!rc)
        rc = login_service_by_certificate(call, err);
    if (rc == ERR_UNAUTHENTICATED && call->api->options.kerberos)
        login_negotiate(call);
    return rc ? rc : h_login_go_on(call, err);
}
