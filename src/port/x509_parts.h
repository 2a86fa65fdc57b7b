/* Parts that certificates of our own are made of. Layer 0 (port), for x509*.c and pki.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

#include "cleanup.h"

#define X509_TEXT_BYTES_MAX (64U * 1024U) /* of one printed part of a certificate */
#define X509_CLOCK_SLACK_S 300 /* certificates begin so long before they are made: the clock of a peer may be a little behind */

CLEANUP_DEFINE(BIO, BIO_free_all);
CLEANUP_DEFINE(GENERAL_NAMES, GENERAL_NAMES_free);
CLEANUP_DEFINE(X509, X509_free);
CLEANUP_DEFINE(EVP_PKEY, EVP_PKEY_free);

/* A random serial number. False without memory; so are all of these. */
bool x509_set_serial(X509 *cert);

/* Adds an extension by its text form ("critical,CA:FALSE"), which must be ours. */
bool x509_add_extension(X509 *cert, X509 *issuer, int nid, const char *value);

/* Adds the subject alternative names of a list "DNS:host", "IP:address" that is ended by NULL. False also for a name that is none. */
bool x509_add_san(X509 *cert, const char *const *san);

/* What was written to a memory BIO, as text of its own; NULL without memory or if too long. */
char *x509_bio_text(BIO *bio);

/* As PEM; NULL without memory. A key (PKCS #8, no passphrase) is to be freed by secret_free. */
char *x509_cert_text(X509 *cert);
char *x509_key_text(EVP_PKEY *key);
