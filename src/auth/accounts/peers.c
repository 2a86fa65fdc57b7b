/* Peers: what is stored, who is tried when, and how. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "peers.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "negotiate.h"
#include "clock.h"
#include "gss_init.h"
#include "gss_ticket.h"
#include "http_client.h"
#include "kerberos.h"
#include "worker_pool.h"
#include "limits.h"
#include "metric.h"
#include "replica_store.h"
#include "peer_store.h"
#include "str.h"

#define WORKER_POOL_THREADS 2U
#define WORKER_POOL_QUEUE_COUNT (PEERS_WAITING_MAX - WORKER_POOL_THREADS)
#define ASKING_MAX 2U
#define LEASE_NAME "peers"
#define LEASE_MS 30000

#define PEERS_AT_ONCE 4U      /* sign-ins under way, of the worker pool and of those who ask */
#define PEERS_WAITING_MAX 64U /* in the worker, those under way counted */

struct peers {
    struct peers_options options;
    char *keytab;
    struct worker_pool *workers;
    atomic_uint asking;                         /* peers_test */
    pthread_mutex_t lock;                       /* guards what follows */
    struct hx_peer_list list;                   /* as of the last tick */
    char *under_way[PEERS_WAITING_MAX];         /* ids of HX clusters in the worker */
    struct http_client *clients[PEERS_AT_ONCE]; /* exchanges that peers_stop ends */
    bool is_stopped;
};

/* -- signing in to a peer by HTTP Negotiate (RFC 4559), step by step, and what to do when it fails ----------------- */

/* The first request goes without any credential: only a peer that asks for Negotiate, behind a certificate that is trusted, gets a token. The peer has to prove itself in turn: an
 * answer that grants everything and proves nothing is a failure. */

#define ROUNDS_MAX 4U
#define REPLY_BYTES_MAX (64U * 1024U)
#define BINDING_BYTES_MAX 128U

/* One sign-in. */
struct peer_visit {
    struct peers *peers;
    const struct hx_peer *peer;
    const struct peers_request *request; /* NULL: it is only looked whether one is let in */
    char *url;                           /* of the request */
    struct hx_peer_result *result;
    struct http_client *client;
    struct gss_ticket *ticket;
    struct gss_initiator *initiator;
    char *spn;
    int64_t deadline_ms; /* monotonic */
    /* of the answer before */
    long status;
    struct challenge challenge;
};

/* -- what came of it ------------------------------------------------------------------------------------------------------- */

static bool peers_fail(struct peer_visit *v, const char *reason, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* False, so that steps can end with it. */
static bool peers_fail(struct peer_visit *v, const char *reason, const char *remedy, const char *fmt, ...) {
    struct hx_peer_result *r = v->result;
    va_list args;
    r->state = HX_PEER_FAILING;
    (void)snprintf(r->reason, sizeof(r->reason), "%s", reason);
    (void)snprintf(r->remedy, sizeof(r->remedy), "%s", remedy);
    va_start(args, fmt);
    (void)vsnprintf(r->detail, sizeof(r->detail), fmt, args);
    va_end(args);
    str_trim_utf8(r->detail);
    str_trim_utf8(r->remedy);
    return false;
}

static bool peers_fail_with(struct peer_visit *v, const char *reason, const struct err *err, const char *remedy) {
    return peers_fail(v, reason, err->remedy[0] ? err->remedy : remedy, "%s", err->text);
}

/* -- asking ---------------------------------------------------------------------------------------------------------------- */

static const char *transport_reason(int rc) {
    switch (rc) {
    case ERR_TLS: return "tls_untrusted";
    case ERR_TIMEOUT: return "timeout";
    case ERR_UNREACHABLE: return "unreachable";
    case ERR_TOO_LARGE: return "too_large";
    case ERR_CONFIG: return "trust_unreadable";
    case ERR_CANCELED: return "stopped";
    default: return "protocol";
    }
}

static int peers_advise_transport(const char *hx_id, struct err *err) {
    switch (err->code) {
    case ERR_TLS:
        return err_remedy(
            err, "compare the certificate with the one at the peer itself, then: kaasctl peer set %s --ca-file FILE, or --sha256",
            hx_id);
    case ERR_CONFIG: return err_remedy(err, "give PEM certificates: kaasctl peer set %s --ca-file FILE", hx_id);
    case ERR_TIMEOUT:
        return err_remedy(err, "see that the peer runs and is not overloaded; peers.call_timeout is how long it is waited for");
    case ERR_UNREACHABLE:
        return err_remedy(err, "see that the peer runs, that its name resolves here, and that no firewall is between");
    default: return err_remedy(err, "see that the url is the address of the peer's https service");
    }
}

static bool peers_fail_transport(struct peer_visit *v, const struct err *err) {
    struct err told = *err;
    (void)peers_advise_transport(v->peer->hx_id, &told);
    return peers_fail(v, transport_reason(told.code), told.remedy, "%s", told.text);
}

static void on_header(void *arg, const char *line, size_t n) {
    struct peer_visit *v = arg;
    challenge_read(&v->challenge, line, n);
    if (v->request && v->request->on_header)
        v->request->on_header(v->request->on_header_arg, line, n);
}

/* One request; `authorization` NULL: without credential. Sets status and challenge. */
static bool peers_ask(struct peer_visit *v, const char *authorization) {
    const struct peers_request *request = v->request;
    const char *const headers[] = {request && request->body ? "Content-Type: application/json" : "Accept: */*", authorization,
                                   NULL};
    const size_t reply_bytes_max = request ? request->reply_bytes_max : REPLY_BYTES_MAX;
    const int64_t left_ms = v->deadline_ms - clock_mono_ms();
    _cleanup_strbuf_ struct strbuf reply;
    struct err err = {0};
    struct http_exchange exchange = {.method = request ? request->method : "GET",
                                     .url = request ? v->url : v->peer->url,
                                     .headers = headers,
                                     .body = request && request->body ? request->body->data : NULL,
                                     .body_bytes = request && request->body ? request->body->len : 0,
                                     .timeout_ms = left_ms > 0 ? (long)left_ms : 1,
                                     .reply_max_bytes = reply_bytes_max,
                                     .is_once = authorization != NULL,
                                     .on_header = on_header,
                                     .on_header_arg = v};
    int rc;
    challenge_done(&v->challenge);
    strbuf_init(&reply, reply_bytes_max);
    rc = http_client_run(v->client, &exchange, &reply, &v->status, &err);
    return rc ? peers_fail_transport(v, &err) : true;
}

static bool peers_make_client(struct peer_visit *v) {
    uint8_t pin[32];
    const bool has_pin = v->peer->sha256 && str_unhex(v->peer->sha256, pin, sizeof(pin));
    const struct http_client_options options = {
        .networks = v->peers->options.networks,
        .trust = {.ca_pem = v->peer->ca_pem, .pin_sha256 = has_pin ? pin : NULL},
        .user_agent = "Harmony-KaaS",
        .connect_timeout_ms = v->peers->options.connect_timeout_ms,
    };
    struct err err = {0};
    int rc = http_client_new(&options, &v->client, &err);
    return rc ? peers_fail_transport(v, &err) : true;
}

/* Does it want to know who we are, in the way we can tell it? */
static bool peers_judge_first(struct peer_visit *v) {
    if (v->status >= 300 && v->status < 400)
        return peers_fail(v, "redirected", "set the url to where the peer itself answers: redirects are not followed",
                          "the peer answers %ld and sends us elsewhere", v->status);
    if (v->status >= 200 && v->status < 300)
        return peers_fail(v, "not_asked", "set the url to something at the peer that only those get who have signed in",
                          "the peer answers %ld to anybody: it does not ask who we are", v->status);
    if (v->status != 401)
        return peers_fail(v, "unexpected_status", "see that the url is right, and in the peer's log why it answers so",
                          "the peer answers %ld instead of asking who we are", v->status);
    if (!v->challenge.negotiate)
        return peers_fail(v, "no_negotiate", "switch Kerberos on at the peer: it has to answer WWW-Authenticate: Negotiate",
                          "the peer %s, and we sign in by Kerberos only; nothing was sent to it",
                          v->challenge.is_there ? "offers other ways" : "asks for nothing that we have");
    return true;
}

/* -- our own account ------------------------------------------------------------------------------------------------------- */

static bool peers_fail_without_account(struct peer_visit *v) {
    struct err err = {0};
    (void)err_set(&err, ERR_CONFIG, "the keytab %s has no usable key of %s", v->peers->keytab,
                  v->peer->principal ? v->peer->principal : "an account, only of services");
    (void)err_remedy(&err,
                     "add the account's own principal to the keytab (" DOC_PAGE(
                         "admin/identity.md") "), or name it: kaasctl peer set %s --principal NAME; "
                                              "in Active Directory an SPN gets no ticket",
                     v->peer->hx_id);
    return peers_fail(v, "no_account", err.remedy, "%s", err.text);
}

/* The keytab's first principal that is none of a service. */
static bool peers_find_account(struct peer_visit *v) {
    const char *wanted = v->peer->principal;
    struct kerberos_status status;
    bool is_found = false;
    if (kerberos_get_status(v->peers->options.kerberos, &status, NULL))
        return peers_fail(v, "no_keytab", "see the memory of this host", "the keytab could not be looked at");
    for (size_t i = 0; !is_found && i < status.keys_count; i++) {
        const char *principal = status.keys[i].principal;
        is_found = status.keys[i].is_used && (wanted ? str_eq(principal, wanted) : !strchr(principal, '/')) &&
                   strlen(principal) < sizeof(v->result->signed_in_as);
        if (is_found)
            (void)snprintf(v->result->signed_in_as, sizeof(v->result->signed_in_as), "%s", principal);
    }
    if (!is_found && !status.keys_count)
        (void)peers_fail(v, "no_keytab", status.problem.remedy, "%s", status.problem.text);
    else if (!is_found)
        (void)peers_fail_without_account(v);
    kerberos_status_done(&status);
    return is_found;
}

static const char *ticket_reason(enum gss_ticket_fault fault) {
    switch (fault) {
    case GSS_TICKET_FAULT_KDC: return "kdc_unreachable";
    case GSS_TICKET_FAULT_SKEW: return "clock_skew";
    case GSS_TICKET_FAULT_SERVICE: return "unknown_spn";
    case GSS_TICKET_FAULT_ACCOUNT: return "account_refused";
    case GSS_TICKET_FAULT_KEYTAB: return "no_account";
    case GSS_TICKET_FAULT_NONE:
    case GSS_TICKET_FAULT_OTHER:
    default: return "no_ticket";
    }
}

static bool get_tickets(struct peer_visit *v) {
    const struct gss_account account = {v->peers->keytab, v->result->signed_in_as, v->peers->options.call_timeout_ms};
    _cleanup_free_ char *service = NULL;
    enum gss_ticket_fault fault = GSS_TICKET_FAULT_OTHER;
    struct gss_target target = {0};
    uint8_t binding[BINDING_BYTES_MAX];
    struct err err = {0};
    int rc = gss_ticket_ask(&account, &v->ticket, &fault, &err);
    if (!rc)
        rc = gss_ticket_get_service(v->ticket, v->spn, &service, &fault, &err);
    if (rc)
        return peers_fail_with(v, rc == ERR_CANCELED ? "stopped" : ticket_reason(fault), &err, "see krb5.conf of this host");
    target.service = service;
    if (!http_client_get_end_point(v->client, binding, sizeof(binding), &target.binding_bytes, NULL))
        target.binding = binding;
    rc = gss_initiator_new(&target, &v->initiator, &err);
    return rc ? peers_fail_with(v, "no_ticket", &err, "see krb5.conf of this host") : true;
}

/* -- the negotiation ------------------------------------------------------------------------------------------------------- */

#define REFUSED_REMEDY \
    "see the peer's log: its keytab must hold the newest key of this SPN, and its rules must let our account in"

static bool peers_fail_step(struct peer_visit *v, const struct gss_init_step *step) {
    switch (step->fault) {
    case GSS_INIT_FAULT_SKEW:
        return peers_fail(v, "clock_skew",
                          "run chrony here, at the peer and on the domain controllers: clocks must agree to 5 minutes",
                          "the peer says that the clocks differ: %s", step->why);
    case GSS_INIT_FAULT_BINDING:
        return peers_fail(v, "bindings",
                          "where something in between ends TLS, the peer must know its certificate, or not look at bindings",
                          "the peer means another TLS connection than we have");
    case GSS_INIT_FAULT_TOKEN:
        return peers_fail(v, "not_proved", "look at who answers there: it does not prove that it holds the key of this SPN",
                          "the peer's token proves nothing: %s", step->why);
    case GSS_INIT_FAULT_NONE:
    case GSS_INIT_FAULT_REFUSED:
    default: return peers_fail(v, "refused", REFUSED_REMEDY, "the peer refuses our ticket: %s", step->why);
    }
}

/* The token of the answer, as bytes. False without; *has_failed if there is one that is none. */
static bool peers_take_token(struct peer_visit *v, uint8_t **token, size_t *n, bool *has_failed) {
    *has_failed = v->challenge.is_bad || v->challenge.is_twice ||
                  (v->challenge.token && negotiate_decode(v->challenge.token, token, n, NULL));
    if (*has_failed)
        (void)peers_fail(v, "bad_token", "see that nothing in between changes headers, and that the peer speaks RFC 4559",
                         "the peer's Negotiate holds no token, several, or one of more than %u bytes", NEGOTIATE_TOKEN_BYTES_MAX);
    return !*has_failed && v->challenge.token;
}

/* Makes a step with the token of the answer, or the first one. */
static bool peers_step_with(struct peer_visit *v, const uint8_t *token, size_t n, struct gss_init_step *step) {
    struct err err = {0};
    if (gss_initiator_step(v->initiator, token, n, step, &err))
        return peers_fail_with(v, "no_ticket", &err, "see the memory of this host");
    return step->fault ? peers_fail_step(v, step) : true;
}

static bool send_token(struct peer_visit *v, const struct gss_init_step *step) {
    _cleanup_free_ char *text = negotiate_encode(step->token, step->token_bytes);
    _cleanup_free_ char *line = text ? str_format("Authorization: Negotiate %s", text) : NULL;
    return line ? peers_ask(v, line) : peers_fail(v, "no_ticket", "see the memory of this host", "out of memory");
}

/* The answer to the last of our tokens; both sides have proved who they are, or the peer says no without a word. */
static bool peers_judge_last(struct peer_visit *v, bool is_proved) {
    const bool is_good = v->status >= 200 && v->status < 300;
    if (v->request && (!is_good || is_proved))
        return true; /* what it means is for who asked */
    if (v->status == 403)
        return peers_fail(v, "forbidden", "give our account its rights at the peer",
                          "the peer knows us, and answers 403: we may not do that");
    if (v->status == 401)
        return peers_fail(v, "refused", REFUSED_REMEDY, "the peer answers 401 to our ticket and does not say why");
    if (v->status >= 300 && v->status < 400)
        return peers_fail(v, "redirected", "set the url to where the peer itself answers: redirects are not followed",
                          "the peer answers %ld and sends us elsewhere", v->status);
    if (!is_good)
        return peers_fail(v, "unexpected_status", "see in the peer's log why it answers so", "the peer answers %ld to our ticket",
                          v->status);
    if (!is_proved)
        return peers_fail(v, "not_proved", "look at who answers there: it does not prove that it holds the key of this SPN",
                          "the peer answers %ld, but without a token that proves who it is", v->status);
    return true;
}

/* An answer to a token of ours: what it proves, and whether it is the last one. */
static bool peers_take_answer(struct peer_visit *v, struct gss_init_step *step, bool *is_over) {
    _cleanup_free_ uint8_t *token = NULL;
    bool has_failed, was_proved = step->is_proved;
    size_t n = 0;
    *is_over = true;
    if (!peers_take_token(v, &token, &n, &has_failed))
        return !has_failed && peers_judge_last(v, was_proved);
    gss_init_step_done(step);
    if (!peers_step_with(v, token, n, step))
        return false;
    *is_over = step->is_proved && !step->token;
    if (*is_over)
        return peers_judge_last(v, true);
    return v->status == 401 || peers_judge_last(v, false);
}

static bool peers_negotiate(struct peer_visit *v) {
    struct gss_init_step step;
    bool is_over = false, is_good = peers_step_with(v, NULL, 0, &step);
    v->deadline_ms = clock_mono_ms() + v->peers->options.call_timeout_ms; /* the KDC's time is not the peer's */
    for (unsigned i = 0; is_good && !is_over && i < ROUNDS_MAX; i++)
        is_good = send_token(v, &step) && peers_take_answer(v, &step, &is_over);
    gss_init_step_done(&step);
    if (is_good && !is_over)
        return peers_fail(v, "bad_token", "see that the peer speaks RFC 4559", "the peer wants more than %u tokens", ROUNDS_MAX);
    return is_good;
}

/* -- the whole ------------------------------------------------------------------------------------------------------------- */

/* So that peers_stop can end it. */
static bool peers_announce(struct peer_visit *v) {
    struct peers *peers = v->peers;
    bool is_done = false;
    (void)pthread_mutex_lock(&peers->lock);
    for (size_t i = 0; !peers->is_stopped && !is_done && i < PEERS_AT_ONCE; i++)
        if (!peers->clients[i]) {
            peers->clients[i] = v->client;
            is_done = true;
        }
    (void)pthread_mutex_unlock(&peers->lock);
    return is_done ? true : peers_fail(v, "stopped", "try again", "kaasd is stopping, or too many peers are tried at once");
}

static void peers_forget(struct peer_visit *v) {
    LOCKED(&v->peers->lock);
    for (size_t i = 0; i < PEERS_AT_ONCE; i++)
        if (v->peers->clients[i] == v->client)
            v->peers->clients[i] = NULL;
}

static bool peers_walk(struct peer_visit *v) {
    if (!v->peers->options.kerberos)
        return peers_fail(v, "no_keytab", "set auth.kerberos.keytab, see " DOC_PAGE("admin/identity.md"),
                          "no keytab is configured");
    v->spn = hx_peer_spn(v->peer);
    if (!v->spn)
        return peers_fail(v, "no_ticket", "see the memory of this host", "out of memory");
    return peers_find_account(v) && peers_make_client(v) && peers_announce(v) && peers_ask(v, NULL) && peers_judge_first(v) &&
           get_tickets(v) && peers_negotiate(v);
}

/* A request needs no proof where nobody asks for one. */
static bool peers_walk_request(struct peer_visit *v) {
    unsigned port;
    _cleanup_free_ char *host = http_url_host(v->peer->url, &port);
    if (host)
        v->url = str_format(strchr(host, ':') ? "https://[%s]:%u%s" : "https://%s:%u%s", host, port, v->request->path);
    v->spn = hx_peer_spn(v->peer);
    if (!v->url || !v->spn)
        return peers_fail(v, "no_ticket", "see the memory of this host", "out of memory");
    if (!peers_make_client(v) || !peers_announce(v) || !peers_ask(v, NULL))
        return false;
    if (v->status != 401)
        return true;
    if (!v->peers->options.kerberos)
        return peers_fail(v, "no_keytab", "set auth.kerberos.keytab, see " DOC_PAGE("admin/identity.md"),
                          "no keytab is configured");
    return peers_judge_first(v) && peers_find_account(v) && get_tickets(v) && peers_negotiate(v);
}

/* Signs in, for a request or to see whether one is let in, and says what came of it, in *out. Blocks. */
static void peers_sign_in(struct peers *peers, const struct hx_peer *peer, const struct peers_request *request,
                          struct hx_peer_result *out, long *status) {
    const int64_t begin_ms = clock_mono_ms();
    struct peer_visit v = {.peers = peers,
                           .peer = peer,
                           .request = request,
                           .result = out,
                           .deadline_ms = begin_ms + peers->options.call_timeout_ms};
    *out = (struct hx_peer_result){0};
    if (request ? peers_walk_request(&v) : peers_walk(&v))
        out->state = HX_PEER_OK;
    *status = v.status;
    if (v.client)
        peers_forget(&v);
    gss_initiator_free(v.initiator);
    gss_ticket_free(v.ticket);
    http_client_free(v.client);
    challenge_done(&v.challenge);
    free(v.spn);
    free(v.url);
    out->checked_at_ms = clock_wall_ms();
    out->duration_ms = clock_mono_ms() - begin_ms;
}

/* -- life ------------------------------------------------------------------------------------------------------------------ */

int peers_new(const struct peers_options *options, struct peers **out, struct err *err) {
    const struct worker_pool_options workers = {.name = "peers",
                                                .threads = WORKER_POOL_THREADS,
                                                .queue_count = WORKER_POOL_QUEUE_COUNT,
                                                .thread_begin = options->thread_begin,
                                                .thread_end = options->thread_end};
    struct peers *peers = calloc(1, sizeof(*peers));
    int rc;
    if (!peers)
        return err_set(err, ERR_NOMEM, "out of memory");
    peers->options = *options;
    (void)pthread_mutex_init(&peers->lock, NULL);
    peers->keytab = str_dup(options->keytab ? options->keytab : "");
    rc = peers->keytab ? worker_pool_new(&workers, &peers->workers, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        peers_free(peers);
    else
        *out = peers;
    return rc;
}

void peers_stop(struct peers *peers) {
    if (!peers)
        return;
    (void)pthread_mutex_lock(&peers->lock);
    peers->is_stopped = true;
    for (size_t i = 0; i < PEERS_AT_ONCE; i++)
        if (peers->clients[i])
            http_client_cancel(peers->clients[i]);
    (void)pthread_mutex_unlock(&peers->lock);
    if (peers->workers)
        worker_pool_stop(peers->workers);
}

void peers_free(struct peers *peers) {
    if (!peers)
        return;
    peers_stop(peers);
    worker_pool_free(peers->workers);
    for (size_t i = 0; i < PEERS_WAITING_MAX; i++)
        free(peers->under_way[i]);
    hx_peer_list_done(&peers->list);
    free(peers->keytab);
    (void)pthread_mutex_destroy(&peers->lock);
    free(peers);
}

/* -- audit log ----------------------------------------------------------------------------------------------------------- */

/* `actor` NULL: kaasd by itself. */
static struct audit_record peers_make_line(const struct peers *peers, const struct actor *actor, const struct audit_event *what) {
    struct audit_event event = *what;
    event.object_kind = "hx_peer";
    if (!actor)
        event.principal_name = store_replica_name(peers->options.store);
    return audit_record_make(actor, &event);
}

/* A refusal is noted, too. */
static int peers_finish(struct peers *peers, const struct audit_record *line, int rc, const struct err *why) {
    if (rc)
        audit_store_append_outcome(peers->options.store, line, rc, why);
    return rc;
}

/* -- setting --------------------------------------------------------------------------------------------------------------- */

int peers_list(struct peers *peers, struct hx_peer_list *out, struct err *err) {
    return peer_store_list(peers->options.store, out, err);
}

int peers_load(struct peers *peers, const char *hx_id, struct hx_peer **out, struct err *err) {
    return peer_store_load(peers->options.store, hx_id, out, err);
}

/* A CA that cannot be read is told now, not by the first failure. */
static int peers_check_trust(const struct hx_peer *peer, struct err *err) {
    const struct http_client_options options = {.trust = {.ca_pem = peer->ca_pem}, .user_agent = "none"};
    struct http_client *client = NULL;
    struct err why = {0};
    int rc = peer->ca_pem ? http_client_new(&options, &client, &why) : 0;
    http_client_free(client);
    return rc == ERR_CONFIG ? err_set(err, ERR_UNPROCESSABLE, "ca_pem: %s", why.text) : rc ? err_set(err, rc, "%s", why.text) : 0;
}

int peers_put(struct peers *peers, const struct actor *actor, struct hx_peer *wish, struct err *err) {
    const struct audit_record line = peers_make_line(
        peers, actor, &(struct audit_event){.action = "hx_peer.set", .object_id = wish->hx_id, .reason = wish->url});
    int rc = hx_peer_check(wish, err);
    if (!rc)
        rc = peers_check_trust(wish, err);
    if (rc)
        return rc;
    wish->updated_at_ms = clock_wall_ms();
    rc = peers_finish(peers, &line, peer_store_put(peers->options.store, wish, &line, err), err);
    if (!rc && peers->options.on_set)
        peers->options.on_set(peers->options.on_set_arg);
    return rc;
}

int peers_remove(struct peers *peers, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err) {
    const struct audit_record line =
        peers_make_line(peers, actor, &(struct audit_event){.action = "hx_peer.remove", .object_id = hx_id});
    const struct peer_removal removal = {.hx_id = hx_id, .version_no = version_no, .audit = &line};
    return peers_finish(peers, &line, peer_store_delete(peers->options.store, &removal, err), err);
}

/* -- trying ---------------------------------------------------------------------------------------------------------------- */

/* Signs in, stores what came of it, tells news. One that was stopped says nothing of the peer. */
static int peers_try(struct peers *peers, const struct actor *actor, struct hx_peer *peer, struct err *err) {
    struct audit_record line;
    bool is_news = false;
    long status;
    int rc;
    peers_sign_in(peers, peer, NULL, &peer->result, &status);
    if (str_eq(peer->result.reason, "stopped"))
        return err_set(err, ERR_CANCELED, "%s", peer->result.detail);
    line = peers_make_line(peers, actor, &(struct audit_event){.action = "hx_peer.state", .object_id = peer->hx_id});
    line.event.result = peer->result.state == HX_PEER_OK ? err_slug(0) : "upstream_error";
    line.event.reason = peer->result.state == HX_PEER_OK ? peer->result.signed_in_as : peer->result.reason;
    rc = peer_store_save_result(peers->options.store, peer, &line, &is_news, err);
    if (!rc && is_news && peers->options.on_news)
        peers->options.on_news(peers->options.on_news_arg, peer);
    return rc;
}

int peers_test(struct peers *peers, const struct actor *actor, const char *hx_id, struct hx_peer **out, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = peers_load(peers, hx_id, &peer, err);
    if (rc)
        return rc;
    if (atomic_fetch_add(&peers->asking, 1) >= ASKING_MAX)
        rc = err_set(err, ERR_BUSY, "%u peers are tried already; try again shortly", ASKING_MAX);
    else
        rc = peers_try(peers, actor, peer, err);
    atomic_fetch_sub(&peers->asking, 1);
    return rc ? rc : peers_load(peers, hx_id, out, err);
}

int peers_exchange(struct peers *peers, const char *hx_id, const struct peers_request *request, struct hx_peer_result *out,
                   long *status, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = peers_load(peers, hx_id, &peer, err);
    if (rc)
        return rc;
    peers_sign_in(peers, peer, request, out, status);
    return str_eq(out->reason, "stopped") ? err_set(err, ERR_CANCELED, "%s", out->detail) : 0;
}

/* -- by itself ------------------------------------------------------------------------------------------------------------- */

static bool peers_is_due(const struct peers *peers, const struct hx_peer *peer) {
    const int64_t now_ms = clock_wall_ms(), checked_at_ms = peer->result.checked_at_ms;
    return !checked_at_ms || now_ms - checked_at_ms >= peers->options.check_every_ms ||
           checked_at_ms > now_ms; /* another replica's clock, or ours was put back */
}

struct peer_errand {
    struct peers *peers;
    char *hx_id; /* the text of its place: valid until that is given back */
};

static void leave_place(struct peers *peers, const char *hx_id) {
    LOCKED(&peers->lock);
    for (size_t i = 0; i < PEERS_WAITING_MAX; i++)
        if (peers->under_way[i] == hx_id)
            free(STEAL(peers->under_way[i]));
}

/* It is read again: somebody may have tried it a moment ago. If what comes of it cannot be stored, it stays due. */
static void run_errand(void *arg, bool is_canceled) {
    _cleanup_free_ struct peer_errand *errand = arg;
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    struct err err = {0};
    if (!is_canceled && !peers_load(errand->peers, errand->hx_id, &peer, &err) && peers_is_due(errand->peers, peer))
        (void)peers_try(errand->peers, NULL, peer, &err);
    leave_place(errand->peers, errand->hx_id);
}

/* Takes a place in the worker. NULL if all are taken, or it is tried already. */
static char *take_place(struct peers *peers, const char *hx_id) {
    size_t place = PEERS_WAITING_MAX;
    char *taken = NULL;
    bool is_there = false;
    LOCKED(&peers->lock);
    for (size_t i = 0; i < PEERS_WAITING_MAX; i++) {
        is_there = is_there || str_eq(peers->under_way[i], hx_id);
        if (!peers->under_way[i])
            place = i;
    }
    if (!is_there && place < PEERS_WAITING_MAX)
        taken = peers->under_way[place] = str_dup(hx_id);
    return taken;
}

static void peers_send_off(struct peers *peers, const struct hx_peer *peer) {
    char *place = take_place(peers, peer->hx_id);
    struct peer_errand *errand = place ? calloc(1, sizeof(*errand)) : NULL;
    if (errand)
        *errand = (struct peer_errand){peers, place};
    if (errand && !worker_pool_submit(peers->workers, run_errand, errand, NULL))
        return;
    free(errand);
    if (place)
        leave_place(peers, place);
}

static int peers_send_all(struct peers *peers, const struct hx_peer_list *list, struct err *err) {
    struct store *store = peers->options.store;
    bool is_mine = false;
    int rc = lease_store_acquire(store, LEASE_NAME, store_replica_name(store), LEASE_MS, &is_mine, err);
    for (size_t i = 0; !rc && is_mine && i < list->count; i++)
        if (peers_is_due(peers, &list->items[i]))
            peers_send_off(peers, &list->items[i]);
    return rc;
}

int peers_tick(struct peers *peers, struct err *err) {
    struct hx_peer_list fresh = {0}, old;
    int rc = peers_list(peers, &fresh, err);
    if (rc)
        return rc;
    if (fresh.count && peers->options.check_every_ms)
        rc = peers_send_all(peers, &fresh, err);
    (void)pthread_mutex_lock(&peers->lock);
    old = peers->list;
    peers->list = fresh;
    (void)pthread_mutex_unlock(&peers->lock);
    hx_peer_list_done(&old);
    return rc;
}

/* -- health ------------------------------------------------------------------------------------------------------------------ */

static void check_peer(const struct hx_peer *peer, const struct inventory_platform *platform, struct findings *out) {
    const struct hx_cluster *hx = inventory_find_hx(platform, peer->hx_id);
    struct finding f = {.step = "hx_peer", .since_ms = peer->since_ms};
    (void)snprintf(f.subject, sizeof(f.subject), "%s", peer->hx_id);
    if (peer->result.state == HX_PEER_FAILING) {
        finding_say(&f, FINDING_WARNING, "%.255s: %s", hx ? hx->name : "its HX cluster is gone", peer->result.detail);
        finding_advise(&f, "%s", peer->result.remedy);
    }
    findings_add(out, &f);
}

void peers_check_health(struct peers *peers, const struct inventory_platform *platform, struct findings *out) {
    LOCKED(&peers->lock);
    for (size_t i = 0; i < peers->list.count; i++)
        check_peer(&peers->list.items[i], platform, out);
}

void peers_write_metrics(struct peers *peers, struct metric_page *page) {
    worker_pool_write_metrics(peers->workers, page, "peers", NULL, NULL);
}
