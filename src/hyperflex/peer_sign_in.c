/* Signing in to an HX cluster's controller by HTTP Negotiate (RFC 4559), step by step, and what to do when it fails. Layer 5 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The first request goes without any credential: only a peer that asks for Negotiate, behind a certificate that is trusted, gets a token. The peer has to prove itself in turn: an
 * answer that grants everything and proves nothing is a failure. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gss_acceptor.h"
#include "gss_init.h"
#include "gss_ticket.h"
#include "http_client.h"
#include "hyperflex_private.h"
#include "limits.h"
#include "negotiate.h"
#include "str.h"

#define ROUNDS_MAX 4U
#define REPLY_BYTES_MAX (64U * 1024U)
#define BINDING_BYTES_MAX 128U

/* One sign-in. */
struct peer_visit {
    struct hyperflex *h;
    struct hx_remote *at; /* entered */
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

static bool sign_in_fail(struct peer_visit *v, const char *reason, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* False, so that steps can end with it. */
static bool sign_in_fail(struct peer_visit *v, const char *reason, const char *remedy, const char *fmt, ...) {
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

static bool sign_in_fail_with(struct peer_visit *v, const char *reason, const struct err *err, const char *remedy) {
    return sign_in_fail(v, reason, err->remedy[0] ? err->remedy : remedy, "%s", err->text);
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

static int sign_in_advise_transport(const char *hx_id, struct err *err) {
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

static bool sign_in_fail_transport(struct peer_visit *v, const struct err *err) {
    struct err told = *err;
    (void)sign_in_advise_transport(v->peer->hx_id, &told);
    return sign_in_fail(v, transport_reason(told.code), told.remedy, "%s", told.text);
}

static void on_header(void *arg, const char *line, size_t n) {
    struct peer_visit *v = arg;
    challenge_read(&v->challenge, line, n);
    if (v->request && v->request->on_header)
        v->request->on_header(v->request->on_header_arg, line, n);
}

/* One request; `authorization` NULL: without credential. Sets status and challenge. */
static bool sign_in_ask(struct peer_visit *v, const char *authorization) {
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
    return rc ? sign_in_fail_transport(v, &err) : true;
}

static bool sign_in_make_client(struct peer_visit *v) {
    uint8_t pin[32];
    const bool has_pin = v->peer->sha256 && str_unhex(v->peer->sha256, pin, sizeof(pin));
    const struct http_client_options options = {
        .networks = v->h->options.networks,
        .trust = {.ca_pem = v->peer->ca_pem, .pin_sha256 = has_pin ? pin : NULL},
        .user_agent = "Harmony-KaaS",
        .connect_timeout_ms = v->h->options.peer_timeout_ms,
    };
    struct err err = {0};
    int rc = http_client_new(&options, &v->client, &err);
    return rc ? sign_in_fail_transport(v, &err) : true;
}

/* Does it want to know who we are, in the way we can tell it? */
static bool sign_in_judge_first(struct peer_visit *v) {
    if (v->status >= 300 && v->status < 400)
        return sign_in_fail(v, "redirected", "set the url to where the peer itself answers: redirects are not followed",
                            "the peer answers %ld and sends us elsewhere", v->status);
    if (v->status >= 200 && v->status < 300)
        return sign_in_fail(v, "not_asked", "set the url to something at the peer that only those get who have signed in",
                            "the peer answers %ld to anybody: it does not ask who we are", v->status);
    if (v->status != 401)
        return sign_in_fail(v, "unexpected_status", "see that the url is right, and in the peer's log why it answers so",
                            "the peer answers %ld instead of asking who we are", v->status);
    if (!v->challenge.negotiate)
        return sign_in_fail(v, "no_negotiate", "switch Kerberos on at the peer: it has to answer WWW-Authenticate: Negotiate",
                            "the peer %s, and we sign in by Kerberos only; nothing was sent to it",
                            v->challenge.is_there ? "offers other ways" : "asks for nothing that we have");
    return true;
}

/* -- our own account ------------------------------------------------------------------------------------------------------- */

static bool sign_in_fail_without_account(struct peer_visit *v) {
    struct err err = {0};
    (void)err_set(&err, ERR_CONFIG, "the keytab %s has no usable key of %s", v->h->options.keytab,
                  v->peer->principal ? v->peer->principal : "an account, only of services");
    (void)err_remedy(&err,
                     "add the account's own principal to the keytab (" DOC_PAGE(
                         "admin/identity.md") "), or name it: kaasctl peer set %s --principal NAME; "
                                              "in Active Directory an SPN gets no ticket",
                     v->peer->hx_id);
    return sign_in_fail(v, "no_account", err.remedy, "%s", err.text);
}

/* The keytab's first principal that is none of a service. */
static bool sign_in_find_account(struct peer_visit *v) {
    _cleanup_done_(gss_keys_done) struct gss_keys keys = {0};
    const char *wanted = v->peer->principal;
    struct err problem = {0};
    bool is_found = false;
    (void)gss_acceptor_look(v->h->options.acceptor, &keys, &problem);
    for (size_t i = 0; !is_found && i < keys.count; i++) {
        const char *principal = keys.items[i].principal;
        is_found = keys.items[i].is_used && (wanted ? str_eq(principal, wanted) : !strchr(principal, '/')) &&
                   strlen(principal) < sizeof(v->result->signed_in_as);
        if (is_found)
            (void)snprintf(v->result->signed_in_as, sizeof(v->result->signed_in_as), "%s", principal);
    }
    if (!is_found && !keys.count)
        return sign_in_fail(v, "no_keytab", problem.remedy, "%s", problem.text);
    return is_found ? true : sign_in_fail_without_account(v);
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
    const struct gss_account account = {v->h->options.keytab, v->result->signed_in_as, v->h->options.peer_timeout_ms};
    _cleanup_free_ char *service = NULL;
    enum gss_ticket_fault fault = GSS_TICKET_FAULT_OTHER;
    struct gss_target target = {0};
    uint8_t binding[BINDING_BYTES_MAX];
    struct err err = {0};
    int rc = gss_ticket_ask(&account, &v->ticket, &fault, &err);
    if (!rc)
        rc = gss_ticket_get_service(v->ticket, v->spn, &service, &fault, &err);
    if (rc)
        return sign_in_fail_with(v, rc == ERR_CANCELED ? "stopped" : ticket_reason(fault), &err, "see krb5.conf of this host");
    target.service = service;
    if (!http_client_get_end_point(v->client, binding, sizeof(binding), &target.binding_bytes, NULL))
        target.binding = binding;
    rc = gss_initiator_new(&target, &v->initiator, &err);
    return rc ? sign_in_fail_with(v, "no_ticket", &err, "see krb5.conf of this host") : true;
}

/* -- the negotiation ------------------------------------------------------------------------------------------------------- */

#define REFUSED_REMEDY \
    "see the peer's log: its keytab must hold the newest key of this SPN, and its rules must let our account in"

static bool sign_in_fail_step(struct peer_visit *v, const struct gss_init_step *step) {
    switch (step->fault) {
    case GSS_INIT_FAULT_SKEW:
        return sign_in_fail(v, "clock_skew",
                            "run chrony here, at the peer and on the domain controllers: clocks must agree to 5 minutes",
                            "the peer says that the clocks differ: %s", step->why);
    case GSS_INIT_FAULT_BINDING:
        return sign_in_fail(v, "bindings",
                            "where something in between ends TLS, the peer must know its certificate, or not look at bindings",
                            "the peer means another TLS connection than we have");
    case GSS_INIT_FAULT_TOKEN:
        return sign_in_fail(v, "not_proved", "look at who answers there: it does not prove that it holds the key of this SPN",
                            "the peer's token proves nothing: %s", step->why);
    case GSS_INIT_FAULT_NONE:
    case GSS_INIT_FAULT_REFUSED:
    default: return sign_in_fail(v, "refused", REFUSED_REMEDY, "the peer refuses our ticket: %s", step->why);
    }
}

/* The token of the answer, as bytes. False without; *has_failed if there is one that is none. */
static bool sign_in_take_token(struct peer_visit *v, uint8_t **token, size_t *n, bool *has_failed) {
    *has_failed = v->challenge.is_bad || v->challenge.is_twice ||
                  (v->challenge.token && negotiate_decode(v->challenge.token, token, n, NULL));
    if (*has_failed)
        (void)sign_in_fail(v, "bad_token", "see that nothing in between changes headers, and that the peer speaks RFC 4559",
                           "the peer's Negotiate holds no token, several, or one of more than %u bytes",
                           NEGOTIATE_TOKEN_BYTES_MAX);
    return !*has_failed && v->challenge.token;
}

/* Makes a step with the token of the answer, or the first one. */
static bool sign_in_step_with(struct peer_visit *v, const uint8_t *token, size_t n, struct gss_init_step *step) {
    struct err err = {0};
    if (gss_initiator_step(v->initiator, token, n, step, &err))
        return sign_in_fail_with(v, "no_ticket", &err, "see the memory of this host");
    return step->fault ? sign_in_fail_step(v, step) : true;
}

static bool send_token(struct peer_visit *v, const struct gss_init_step *step) {
    _cleanup_free_ char *text = negotiate_encode(step->token, step->token_bytes);
    _cleanup_free_ char *line = text ? str_format("Authorization: Negotiate %s", text) : NULL;
    return line ? sign_in_ask(v, line) : sign_in_fail(v, "no_ticket", "see the memory of this host", "out of memory");
}

/* The answer to the last of our tokens; both sides have proved who they are, or the peer says no without a word. */
static bool peers_judge_last(struct peer_visit *v, bool is_proved) {
    const bool is_good = v->status >= 200 && v->status < 300;
    if (v->request && (!is_good || is_proved))
        return true; /* what it means is for who asked */
    if (v->status == 403)
        return sign_in_fail(v, "forbidden", "give our account its rights at the peer",
                            "the peer knows us, and answers 403: we may not do that");
    if (v->status == 401)
        return sign_in_fail(v, "refused", REFUSED_REMEDY, "the peer answers 401 to our ticket and does not say why");
    if (v->status >= 300 && v->status < 400)
        return sign_in_fail(v, "redirected", "set the url to where the peer itself answers: redirects are not followed",
                            "the peer answers %ld and sends us elsewhere", v->status);
    if (!is_good)
        return sign_in_fail(v, "unexpected_status", "see in the peer's log why it answers so",
                            "the peer answers %ld to our ticket", v->status);
    if (!is_proved)
        return sign_in_fail(v, "not_proved", "look at who answers there: it does not prove that it holds the key of this SPN",
                            "the peer answers %ld, but without a token that proves who it is", v->status);
    return true;
}

/* An answer to a token of ours: what it proves, and whether it is the last one. */
static bool peers_take_answer(struct peer_visit *v, struct gss_init_step *step, bool *is_over) {
    _cleanup_free_ uint8_t *token = NULL;
    bool has_failed, was_proved = step->is_proved;
    size_t n = 0;
    *is_over = true;
    if (!sign_in_take_token(v, &token, &n, &has_failed))
        return !has_failed && peers_judge_last(v, was_proved);
    gss_init_step_done(step);
    if (!sign_in_step_with(v, token, n, step))
        return false;
    *is_over = step->is_proved && !step->token;
    if (*is_over)
        return peers_judge_last(v, true);
    return v->status == 401 || peers_judge_last(v, false);
}

static bool sign_in_negotiate(struct peer_visit *v) {
    struct gss_init_step step;
    bool is_over = false, is_good = sign_in_step_with(v, NULL, 0, &step);
    v->deadline_ms = clock_mono_ms() + v->h->options.peer_timeout_ms; /* the KDC's time is not the peer's */
    for (unsigned i = 0; is_good && !is_over && i < ROUNDS_MAX; i++)
        is_good = send_token(v, &step) && peers_take_answer(v, &step, &is_over);
    gss_init_step_done(&step);
    if (is_good && !is_over)
        return sign_in_fail(v, "bad_token", "see that the peer speaks RFC 4559", "the peer wants more than %u tokens",
                            ROUNDS_MAX);
    return is_good;
}

/* -- the whole ------------------------------------------------------------------------------------------------------------- */

static bool sign_in_announce(struct peer_visit *v) {
    return !hx_remote_show(v->at, NULL, v->client, NULL) ? true : sign_in_fail(v, "stopped", "try again", "kaasd is stopping");
}

static bool sign_in_walk(struct peer_visit *v) {
    if (!v->h->options.acceptor)
        return sign_in_fail(v, "no_keytab", "set auth.kerberos.keytab, see " DOC_PAGE("admin/identity.md"),
                            "no keytab is configured");
    v->spn = hx_peer_spn(v->peer);
    if (!v->spn)
        return sign_in_fail(v, "no_ticket", "see the memory of this host", "out of memory");
    return sign_in_find_account(v) && sign_in_make_client(v) && sign_in_announce(v) && sign_in_ask(v, NULL) &&
           sign_in_judge_first(v) && get_tickets(v) && sign_in_negotiate(v);
}

/* A request needs no proof where nobody asks for one. */
static bool sign_in_walk_request(struct peer_visit *v) {
    unsigned port;
    _cleanup_free_ char *host = http_url_host(v->peer->url, &port);
    if (host)
        v->url = str_format(strchr(host, ':') ? "https://[%s]:%u%s" : "https://%s:%u%s", host, port, v->request->path);
    v->spn = hx_peer_spn(v->peer);
    if (!v->url || !v->spn)
        return sign_in_fail(v, "no_ticket", "see the memory of this host", "out of memory");
    if (!sign_in_make_client(v) || !sign_in_announce(v) || !sign_in_ask(v, NULL))
        return false;
    if (v->status != 401)
        return true;
    if (!v->h->options.acceptor)
        return sign_in_fail(v, "no_keytab", "set auth.kerberos.keytab, see " DOC_PAGE("admin/identity.md"),
                            "no keytab is configured");
    return sign_in_judge_first(v) && sign_in_find_account(v) && get_tickets(v) && sign_in_negotiate(v);
}

void peer_sign_in(struct hx_remote *at, const struct hx_peer *peer, const struct peers_request *request,
                  struct hx_peer_result *out, long *status) {
    const int64_t begin_ms = clock_mono_ms();
    struct peer_visit v = {.h = at->h,
                           .at = at,
                           .peer = peer,
                           .request = request,
                           .result = out,
                           .deadline_ms = begin_ms + at->h->options.peer_timeout_ms};
    *out = (struct hx_peer_result){0};
    if (request ? sign_in_walk_request(&v) : sign_in_walk(&v))
        out->state = HX_PEER_OK;
    *status = v.status;
    hx_remote_hide(at);
    gss_initiator_free(v.initiator);
    gss_ticket_free(v.ticket);
    http_client_free(v.client);
    challenge_done(&v.challenge);
    free(v.spn);
    free(v.url);
    out->checked_at_ms = clock_wall_ms();
    out->duration_ms = clock_mono_ms() - begin_ms;
}
