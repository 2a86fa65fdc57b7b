/* A limit for what libldap does not limit: a thread that cuts a socket when the time is up. Layer 2 (ldap); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libldap 2.5 with GnuTLS waits for ever within a TLS handshake, whatever LDAP_OPT_NETWORK_TIMEOUT says, and would spin on a socket that does not block. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "err.h"

struct ldap_guard {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the two below */
    pthread_cond_t ended;
    bool is_over, has_fired;
    struct timespec until; /* monotonic */
    int fd;                /* a duplicate: it stays what it is, whoever closes the other */
};

/* From now on the socket is cut after so long, until ldap_guard_end. ERR_NOMEM: then there is nothing to end. */
int ldap_guard_begin(struct ldap_guard *guard, int fd, long timeout_ms, struct err *err);
/* True if it was cut. */
bool ldap_guard_end(struct ldap_guard *guard);
