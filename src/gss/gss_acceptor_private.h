/* Inside of an acceptor, and what else the files of this folder share. Layer 2 (gss); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gssapi/gssapi.h>
#include <krb5.h>
#include <pthread.h>
#include <sys/stat.h>

#include "gss_acceptor.h"

/* A credential that one thread at a time uses. */
struct gss_slot {
    struct gss_slot *next;
    gss_cred_id_t cred;
    unsigned long generation; /* of the keytab it holds */
};

struct gss_acceptor {
    char *keytab, *replay_cache;
    int enctypes[GSS_ENCTYPES_MAX];
    krb5_context context; /* kept, since without any the library reads krb5.conf for each token; used under the lock */
    int64_t skew_ms;
    pthread_mutex_t lock; /* guards what is below */
    struct gss_slot *idle;
    krb5_keytab keys; /* in memory; NULL: the file cannot be read */
    struct stat seen; /* of the file from which `keys` was read */
    bool was_seen;
    unsigned long generation; /* rises when the file is read again */
    char why[GSS_TEXT_BYTES]; /* why there are no keys */
    struct gss_keys list;
};

struct gss_negotiation {
    gss_ctx_id_t context;
    bool has_digest;
    uint8_t digest[GSS_DIGEST_BYTES];
    int enctype;
    long kvno;
};

/* -- gss_keytab.c: need the lock -- */

/* Reads the file again if it has changed. False, with acceptor->why, if there are no keys. */
bool gss_keytab_refresh(struct gss_acceptor *acceptor);
void gss_keytab_drop(struct gss_acceptor *acceptor);
bool gss_takes_enctype(const struct gss_acceptor *acceptor, int enctype);

/* -- gss_accept.c: for acceptor and initiator -- */

extern const gss_OID_desc gss_oid_krb5, gss_oid_spnego;
bool gss_is_krb5(const gss_OID_desc *mech); /* NULL: no */
/* What the library says of a minor code. */
void gss_display(OM_uint32 code, const gss_OID_desc *mech, char why[GSS_TEXT_BYTES]);
/* A copy of a token that the library made, malloc'ed; NULL of an empty one. False without memory. */
bool gss_copy_token(const gss_buffer_desc *from, uint8_t **out, size_t *bytes);
