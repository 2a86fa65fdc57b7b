/* A program that has proved itself with this very request. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "service_caller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "accounts.h"
#include "clock.h"
#include "api_call.h"
#include "http_request.h"
#include "log.h"
#include "str.h"

#define USER_NAME_BYTES_MAX 512

static int caller_make(struct api_call *call, const char *shown, struct err *err) {
    free(call->service);
    call->service = calloc(1, sizeof(*call->service));
    if (!call->service)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)snprintf(call->service->shown, sizeof(call->service->shown), "%s", shown);
    return call->snapshot ? 0 : err_set(err, ERR_UNAVAILABLE, "the service is starting");
}

static void caller_take(struct service_caller *service, const struct service_account *a, int64_t ends_at_ms) {
    (void)snprintf(service->id, sizeof(service->id), "%s", a->id);
    (void)snprintf(service->principal_id, sizeof(service->principal_id), "svc:%s", a->id);
    (void)snprintf(service->name, sizeof(service->name), "%s", a->name);
    service->may_delegate = a->may_delegate;
    service->ends_at_ms = ends_at_ms;
}

/* -- by certificate --------------------------------------------------------------------------------------------------------- */

static void caller_note_certificate(struct service_caller *service, const struct service_account *a,
                                    const struct http_peer *peer) {
    memcpy(service->certificate.sha256, peer->sha256, sizeof(service->certificate.sha256));
    service->certificate.not_after_ms = peer->not_after_ms;
    for (size_t i = 0; i < a->certificates_count; i++)
        if (str_eq(a->certificates[i].sha256, peer->sha256) && !a->certificates[i].not_after_ms)
            service->is_end_news = true;
}

int service_caller_by_certificate(struct api_call *call, struct err *err) {
    const struct service_account *found = NULL;
    struct http_peer peer;
    struct accounts_proof proof;
    int rc;
    if (!http_request_peer(call->req, &peer)) {
        (void)err_set(err, ERR_UNAUTHENTICATED, "there is no client certificate in the connection");
        return err_remedy(err, "connect to the port of server.service_listen with a certificate, or send a Kerberos ticket");
    }
    rc = caller_make(call, peer.subject[0] ? peer.subject : peer.sha256, err);
    if (rc)
        return rc;
    proof = (struct accounts_proof){.sha256 = peer.sha256,
                                    .subject = peer.subject,
                                    .not_before_ms = peer.not_before_ms,
                                    .not_after_ms = peer.not_after_ms,
                                    .is_trusted = peer.chain == HTTP_CHAIN_GOOD,
                                    .is_revoked = peer.chain == HTTP_CHAIN_REVOKED};
    if (accounts_find_by_certificate(call->snapshot->platform, &proof, clock_wall_ms(), &found, &call->service->refusal))
        return 0;
    caller_take(call->service, found, peer.not_after_ms);
    caller_note_certificate(call->service, found, &peer);
    return 0;
}

/* -- by Kerberos, by token ---------------------------------------------------------------------------------------------------- */

int service_caller_by_kerberos(struct api_call *call, const char *principal, int64_t ends_at_ms, struct err *err) {
    const struct service_account *found = NULL;
    int rc = caller_make(call, principal, err);
    if (rc || accounts_find_by_kerberos(call->snapshot->platform, principal, &found, &call->service->refusal))
        return rc;
    caller_take(call->service, found, ends_at_ms);
    return 0;
}

static int refuse_bearer(struct api_call *call) {
    (void)err_set(&call->service->refusal, ERR_FORBIDDEN, "this is not the session of a service account for itself");
    (void)err_remedy(&call->service->refusal, "sign in as a service account: POST /v2/login/service");
    return 0;
}

int service_caller_by_token(struct api_call *call, bool may_block, struct err *err) {
    struct signon *signon = call->api->options.signon;
    const char *header = http_request_header(call->req, "Authorization");
    const struct service_account *found = NULL;
    struct signon_bearer bearer = {0};
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
    if (!rc && (who->source != SOURCE_SERVICE || !who->service_id || who->acting_id))
        rc = refuse_bearer(call);
    else if (!rc)
        rc = accounts_check_session(call->snapshot->platform, who, &found, err);
    if (!rc && found)
        caller_take(call->service, found, live_session_ends_ms(bearer.session));
    signon_bearer_done(&bearer);
    return rc;
}

/* -- refusing --------------------------------------------------------------------------------------------------------------- */

bool service_caller_may_delegate(struct api_call *call) {
    struct service_caller *service = call->service;
    if (!service->refusal.code && !service->may_delegate) {
        (void)err_set(&service->refusal, ERR_FORBIDDEN, "the service account \"%s\" may not act for people", service->name);
        (void)err_remedy(&service->refusal, "an administrator runs: kaasctl service set %s --may-delegate", service->name);
    }
    return !service->refusal.code;
}

int service_caller_refuse(struct api_call *call, struct http_response *resp, struct err *err) {
    struct service_caller *service = call->service;
    struct signon *signon = call->api->options.signon;
    const struct actor actor = api_actor(call);
    const char *name = service->id[0] ? service->name : service->shown;
    const struct signon_refusal refusal = {.where = "service",
                                           .user = call->user_name ? call->user_name : name,
                                           .acting_id = service->id[0] ? service->principal_id : NULL,
                                           .reason = service->refusal.detail[0] ? service->refusal.detail : NULL,
                                           .rc = service->refusal.code};
    (void)resp;
    signon_note_refusal(signon, &actor, &refusal);
    return err_move(err, refusal.rc, &service->refusal);
}

/* The stored form is the one that names a person wherever they come from; a UPN may be spelled in several ways. */
int service_caller_check_user(const char *name, struct err *err) {
    const char *slash = strchr(name, '\\');
    if (slash && slash != name && slash[1] && !strchr(slash + 1, '\\') && !strchr(name, '@') &&
        strlen(name) <= USER_NAME_BYTES_MAX && str_utf8_chars(name, strlen(name)) > 0 && !str_has_control(name))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "\"user_name\" is not a user name as a vCenter stores it");
    return err_remedy(err, "give it as UserSession.userName has it: DOMAIN\\user");
}
