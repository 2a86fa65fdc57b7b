/* POST /v2/login/service: programs sign in, for themselves or for a user of a vCenter. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The proof is a client certificate, which TLS has checked the possession of, or a Kerberos ticket. For a person nothing is proved: that the program may
 * act for people is what its account says, and what the person may see is what the vCenter says. */
#include <stdio.h>
#include <string.h>

#include "accounts.h"
#include "api_call.h"
#include "http_request.h"
#include "log.h"
#include "negotiate_call.h"
#include "reply_grant.h"
#include "service_caller.h"
#include "signon_calls.h"
#include "str.h"

static const struct json_member members[] = {{"token", JSON_KIND_STRING, false, false},
                                             {"on_behalf_of", JSON_KIND_OBJECT, false, false},
                                             {NULL, JSON_KIND_ANY, false, false}};
static const struct json_member person_members[] = {{"vcenter", JSON_KIND_STRING, true, false},
                                                    {"user_name", JSON_KIND_STRING, true, false},
                                                    {NULL, JSON_KIND_ANY, false, false}};

/* -- for itself ------------------------------------------------------------------------------------------------------------- */

static int service_log_in(struct api_call *call, struct signon_grant *grant, struct err *err) {
    const struct service_caller *service = call->service;
    struct signon *signon = call->api->options.signon;
    const struct actor actor = api_actor(call);
    const struct signon_person person = {.principal_id = service->principal_id,
                                         .name = service->name,
                                         .service_id = service->id,
                                         .source = SOURCE_SERVICE,
                                         .role_at_least = ROLE_SERVICE,
                                         .ends_at_ms = service->ends_at_ms};
    int rc = signon_login_person(signon, &actor, &person, grant, err);
    if (!rc && service->is_end_news)
        accounts_note_certificate(call->api->options.identity, service->id, &service->certificate);
    return rc;
}

static int log_in_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_grant grant = {0};
    int rc = service_log_in(call, &grant, err);
    return rc ? rc : reply_grant(resp, &grant, err);
}

/* -- for a person ----------------------------------------------------------------------------------------------------------- */

static int log_in_for(struct api_call *call, const json_t *person, struct err *err) {
    int rc;
    call->user_name = json_get_string(person, "user_name");
    call->secret_member = NULL; /* the vCenter gets no secret, only the name */
    rc = service_caller_check_user(call->user_name, err);
    if (rc)
        return rc;
    if (!service_caller_may_delegate(call))
        return api_go_slow(call, call->api->options.database, service_caller_refuse);
    rc = signon_calls_use_vcenter(call, json_get_string(person, "vcenter"), err);
    return rc ? rc : signon_calls_log_in(call);
}

/* -- who is it? ------------------------------------------------------------------------------------------------------------- */

static int service_read_body(struct api_call *call, struct err *err) {
    int rc = api_read_members(call, members, "token", err);
    json_t *person = rc ? NULL : json_object_get(call->body, "on_behalf_of");
    return person ? json_check(person, person_members, "on_behalf_of", err) : rc;
}

/* Who it is is known. */
static int go_on(struct api_call *call, struct err *err) {
    const json_t *person = json_object_get(call->body, "on_behalf_of");
    if (call->service->refusal.code)
        return api_go_slow(call, call->api->options.database, service_caller_refuse);
    return person ? log_in_for(call, person, err) : api_go_slow(call, call->api->options.database, log_in_in_lane);
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
        return service_caller_by_kerberos(call, peer->name, peer->ends_at_ms, err);
    peer->is_alarming = true;
    negotiate_call_refuse(call, peer, "account_name", ERR_CREDENTIALS);
    return kerberos_refuse(err);
}

static int accept_ticket(struct api_call *call, struct err *err) {
    struct kerberos_peer peer = {0};
    int rc;
    call->negotiate.text = find_ticket(call); /* now that the request is suspended it stays where it is */
    rc = negotiate_call_accept(call, &peer, err);
    if (!rc)
        rc = service_take_ticket(call, &peer, err);
    kerberos_peer_done(&peer);
    return rc;
}

static int accept_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc;
    (void)resp;
    rc = accept_ticket(call, err);
    return rc ? rc : go_on(call, err);
}

static int begin_ticket(struct api_call *call, struct err *err) {
    call->negotiate.is_spoken = true;
    call->negotiate.leg = http_request_take_kept(call->req);
    if (call->api->options.kerberos)
        return api_go_slow(call, call->api->options.kerberos_lane, accept_in_lane);
    (void)err_set(err, ERR_NOT_FOUND, "sign-on by Kerberos is not set up here");
    return err_remedy(err, "an administrator sets auth.kerberos.keytab; or use a client certificate");
}

int h_login_service(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = service_read_body(call, err);
    (void)resp;
    if (!rc && find_ticket(call))
        return begin_ticket(call, err);
    if (!rc)
        rc = service_caller_by_certificate(call, err);
    call->negotiate.is_spoken = rc == ERR_UNAUTHENTICATED && call->api->options.kerberos;
    return rc ? rc : go_on(call, err);
}
