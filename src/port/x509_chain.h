/* The certificate file of a server, as people put it together: read, ordered, written anew. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "x509.h"

#define X509_CHAIN_MAX 8 /* the server's certificate and issuers */
#define X509_CHAIN_BYTES_MAX (256U * 1024U)

struct x509_chain {
    struct x509_info certs[X509_CHAIN_MAX]; /* the server's own first; each was issued by the next */
    size_t count;                           /* at least 1 */
    char *pem;                              /* all of them, 64 columns, LF, nothing else */
    bool is_reordered;                      /* they stood in another order */
    bool has_key;                           /* there was a private key, too */
};

/* Reads a text of PEM certificates: texts between them, CRLF, a byte order mark, blank lines, any order and one that stands there twice are fine. The
 * server's certificate is the one that `key_pem` belongs to; NULL: the one that no other was issued by. ERR_UNPROCESSABLE, mostly with a remedy: none, one that
 * cannot be read, more than X509_CHAIN_MAX, one that is none of the issuers, a key that is unusable or belongs to none. */
int x509_chain_read(const char *pem, const char *key_pem, struct x509_chain *out, struct err *err);
void x509_chain_done(struct x509_chain *chain); /* NULL and a zeroed struct are allowed */
