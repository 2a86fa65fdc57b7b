/* What the files about Kerberos share. Layer 5 (auth); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "gss_acceptor.h"
#include "kerberos.h"

#define KERBEROS_ASKING_MAX 4 /* at most so many of the threads that accept tokens wait for a directory at a time */

struct kerberos {
    struct store *store;
    struct ldapdirs *ldapdirs;
    struct gss_acceptor *acceptor;
    char **realms; /* configured; ended by NULL; empty: those of the keytab */
    bool looks_at_bindings, requires_pac;
    enum kerberos_live_check live_check;
    bool (*is_privileged)(void *arg, const char *principal_id, const struct group_set *groups);
    void *arg;
    atomic_int asking;
    atomic_bool is_usable; /* as of the last tick */
    atomic_llong since_ms; /* wall clock: since when is_usable is as it is */
    pthread_mutex_t lock;  /* guards the binding */
    uint8_t binding[GSS_BINDING_BYTES_MAX];
    size_t binding_bytes; /* 0: no certificate is known */
};

/* Is the realm one whose people may come in? */
bool kerberos_allows_realm(struct kerberos *kerberos, const char *realm);
