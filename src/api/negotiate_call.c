/* A call that proves by Kerberos who sends it. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * HTTP Negotiate (RFC 4559): the client asks without a token first and is told the scheme, which is no failed attempt. A negotiation of two legs belongs to its
 * connection. Why a token was refused stands in log and audit trail; the client is told no more than that it was. */
#include <pthread.h>
#include <stdlib.h>

#include "clock.h"
#include "hashmap.h"
#include "http_request.h"
#include "kerberos.h"
#include "log.h"
#include "metric.h"
#include "negotiate_call.h"
#include "net_addr.h"
#include "str.h"

#define NTLM_CLIENTS_KEPT 256U
#define NTLM_AGAIN_MS (3600LL * 1000)

static const struct json_member token_members[] = {{"token", JSON_KIND_STRING, true, false}, {NULL, JSON_KIND_ANY, false, false}};

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

static void tell_accepted(const struct api_call *call, const struct kerberos_peer *peer) {
    negotiate_count("accepted");
    log_event(LOG_LEVEL_INFO, "kerberos_accepted", "principal", peer->name, "sid", peer->principal_id, "enctype",
              log_fmt("%d", peer->enctype), "kvno", log_fmt("%ld", peer->kvno), "client", http_request_client(call->req), NULL);
}

/* -- the token ---------------------------------------------------------------------------------------------------------------- */

static void leave_leg(struct api_call *call, struct kerberos_peer *peer) {
    if (peer->kept)
        http_request_keep_for_next(call->req, STEAL(peer->kept), kerberos_leg_free);
}

static int need_token(struct err *err) {
    (void)err_set(err, ERR_UNAUTHENTICATED, "a Kerberos token is needed");
    return err_remedy(err, "send the header Authorization: Negotiate TOKEN, or {\"token\": \"...\"}");
}

static void negotiate_note_refusal(struct api_call *call, const struct kerberos_peer *peer, int rc) {
    const struct actor actor = api_actor(call);
    const struct signon_refusal refusal = {.where = "kerberos", .user = peer->name, .reason = peer->reason, .rc = rc};
    if (peer->reason)
        negotiate_tell(call, peer);
    signon_note_refusal(call->api->options.signon, &actor, &refusal);
}

int negotiate_call_accept(struct api_call *call, struct kerberos_peer *peer, struct err *err) {
    struct kerberos_token token = {
        .text = call->negotiate.text, .kept = STEAL(call->negotiate.leg), .is_noted_later = call->negotiate.is_noted_later};
    int rc = kerberos_accept(call->api->options.kerberos, &token, peer, err);
    call->negotiate.reply = STEAL(peer->reply);
    if (rc == KERBEROS_GO_ON) {
        leave_leg(call, peer);
        return need_token(err);
    }
    if (rc)
        negotiate_note_refusal(call, peer, rc);
    else
        tell_accepted(call, peer);
    return rc;
}

void negotiate_call_tell(struct api_call *call, struct kerberos_peer *peer, const char *reason) {
    peer->reason = reason;
    negotiate_tell(call, peer);
}

void negotiate_call_refuse(struct api_call *call, struct kerberos_peer *peer, const char *reason, int rc) {
    peer->reason = reason;
    negotiate_note_refusal(call, peer, rc);
}

static int negotiate_read_body(struct api_call *call, struct err *err) {
    int rc = api_read_members(call, token_members, "token", err);
    call->negotiate.text = rc ? NULL : json_get_string(call->body, "token");
    return rc;
}

int negotiate_call_read(struct api_call *call, struct err *err) {
    const char *header = http_request_header(call->req, "Authorization");
    size_t body_bytes = 0;
    int rc = api_check_no_query(call, err);
    call->negotiate.is_spoken = true;
    call->negotiate.leg = http_request_take_kept(call->req);
    (void)http_request_body(call->req, &body_bytes);
    if (!rc && !call->api->options.kerberos) {
        rc = err_set(err, ERR_NOT_FOUND, "sign-on by Kerberos is not set up here");
        return err_remedy(err, "an administrator sets auth.kerberos.keytab");
    }
    if (rc)
        return rc;
    if (!kerberos_read_header(header, &call->negotiate.text))
        return body_bytes ? negotiate_read_body(call, err) : need_token(err);
    return body_bytes ? err_set(err, ERR_INVALID, "give the token either in the header or in the body, not both") : 0;
}

void negotiate_call_done(struct api_call *call) {
    kerberos_leg_free(call->negotiate.leg);
    free(call->negotiate.reply);
}

void negotiate_call_headers(const struct api_call *call, struct http_response *resp) {
    const char *reply = call->negotiate.reply;
    _cleanup_free_ char *challenge = NULL;
    if (!call->negotiate.is_spoken || (http_response_status(resp) != 401 && !reply))
        return;
    challenge = str_format(reply ? "Negotiate %s" : "Negotiate", reply);
    if (challenge)
        http_response_set_header(resp, "WWW-Authenticate", challenge);
}
