/* A ticket of our own, got from the KDC by a key in a keytab: for libraries that use the default credentials of their thread. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * No environment variable is set (KRB5_CLIENT_KTNAME would hold for the whole process): the default credential cache is set for the thread only. */
#pragma once

#include <stdbool.h>

#include "cleanup.h"
#include "err.h"

struct gss_ticket;

/* Why there is no ticket. */
enum gss_ticket_fault {
    GSS_TICKET_FAULT_NONE,
    GSS_TICKET_FAULT_KEYTAB,  /* the keytab cannot be read, or has no key of that account; or krb5.conf is wrong */
    GSS_TICKET_FAULT_KDC,     /* no KDC answers */
    GSS_TICKET_FAULT_SKEW,    /* our clock and the KDC's differ by too much */
    GSS_TICKET_FAULT_ACCOUNT, /* the KDC does not know the account, or does not let it in */
    GSS_TICKET_FAULT_SERVICE, /* the KDC knows no service of that name */
    GSS_TICKET_FAULT_OTHER,
};

/* Whose ticket: `principal`, by its key in the file `keytab`. All requests to KDCs for and with this ticket must end within `timeout_ms` of gss_ticket_ask. */
struct gss_account {
    const char *keytab, *principal;
    long timeout_ms;
};

/* Asks the KDC for a ticket. From then on GSS-API uses it by default in this thread, until gss_ticket_free in the same thread. It is in memory only. Blocks
 * (KDC); *fault tells failures apart. ERR_CONFIG (keytab, principal, krb5.conf), ERR_UNREACHABLE (no KDC answers, or not in time), ERR_CREDENTIALS (refused),
 * ERR_CANCELED (after gss_ticket_stop), ERR_BUSY (too many threads wait for KDCs), ERR_NOMEM. */
int gss_ticket_ask(const struct gss_account *account, struct gss_ticket **out, enum gss_ticket_fault *fault, struct err *err);
void gss_ticket_free(struct gss_ticket *ticket); /* NULL is allowed */
CLEANUP_DEFINE(struct gss_ticket, gss_ticket_free);

/* A GSS-API credential (gss_cred_id_t) of the ticket, for libraries that take one. It lives as long as the ticket; NULL without memory. */
void *gss_ticket_get_credential(struct gss_ticket *ticket);

/* Asks the KDC for a ticket for a service: "HTTP/host", in the realm that krb5.conf or the KDC has for that host, or "HTTP/host@REALM". DNS is not asked for
 * other names of the host. *name becomes the principal that the ticket is for, freed by the caller. Call it in the thread that the ticket belongs to. Blocks
 * (KDC). ERR_UNPROCESSABLE (no such form), ERR_NOT_FOUND (no such service), else as gss_ticket_ask. */
int gss_ticket_get_service(struct gss_ticket *ticket, const char *service, char **name, enum gss_ticket_fault *fault,
                           struct err *err);

/* For the end of the process: ends all waits for KDCs, those under way and later ones, with ERR_CANCELED. Does not block. */
void gss_ticket_stop(void);
/* True while a thread of this module still runs in libkrb5, waiting for a KDC: then the process must end by _exit, since exit would free what it uses. */
bool gss_ticket_is_waiting(void);
