/* Signs in to another service by Kerberos: the client's side of SPNEGO. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mutual: the sign-in succeeds only if the service proves that it has the key that our ticket is made for. Credentials are never delegated.
 * RFC 4178, RFC 4559. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"

struct gss_initiator;

#define GSS_INIT_TEXT_BYTES 256U

struct gss_target {
    const char *service;    /* principal, as gss_ticket_get_service gives it; copied */
    const uint8_t *binding; /* application data of the channel (RFC 5929); copied; NULL: none */
    size_t binding_bytes;
};

/* Makes an initiator that uses the ticket of this thread (gss_ticket.h); all calls must be made in that thread. ERR_NOMEM, ERR_CREDENTIALS (no ticket). */
int gss_initiator_new(const struct gss_target *target, struct gss_initiator **out, struct err *err);
void gss_initiator_free(struct gss_initiator *initiator); /* NULL is allowed */
CLEANUP_DEFINE(struct gss_initiator, gss_initiator_free);

enum gss_init_fault {
    GSS_INIT_FAULT_NONE,
    GSS_INIT_FAULT_TOKEN,   /* the service sent no token, or one of another negotiation */
    GSS_INIT_FAULT_SKEW,    /* the service says that the clocks differ by too much */
    GSS_INIT_FAULT_BINDING, /* the channel bindings of both sides differ */
    GSS_INIT_FAULT_REFUSED, /* the service refuses us, or cannot read our ticket */
};

struct gss_init_step {
    bool is_proved; /* both sides have proved who they are; only a last token may have to be sent */
    uint8_t *token; /* to be sent; NULL: none */
    size_t token_bytes;
    enum gss_init_fault fault;
    char why[GSS_INIT_TEXT_BYTES]; /* the library's message */
};
void gss_init_step_done(struct gss_init_step *step); /* NULL is allowed */

/* Takes the token of the service (NULL: the first step) and makes the next one. *out (uninitialised) is freed by gss_init_step_done. ERR_NOMEM; any other
 * failure is out->fault, and ends the negotiation. */
int gss_initiator_step(struct gss_initiator *initiator, const uint8_t *token, size_t n, struct gss_init_step *out,
                       struct err *err);
