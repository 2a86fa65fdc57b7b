/* Which certificate a vCenter shows, beside the one we expect. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "x509.h"

struct vim_client;

struct vim_certificate {
    struct x509_info seen; /* the leaf that the server shows now: SHA-256, validity, names, PEM */
    bool has_pin;          /* trust is by SHA-256; else by CA */
    uint8_t pin[X509_SHA256_BYTES];
    bool is_trusted; /* this certificate is what our trust allows, now: calls will not fail with ERR_TLS */
};
void vim_certificate_done(struct vim_certificate *certificate); /* frees and zeroes; NULL is allowed */

/* Looks at the certificate of the SDK port, whether it is trusted or not (call it after ERR_TLS, or for its expiry), by a TLS
 * handshake on a connection of its own. Where trust is by CA, chain and host name are judged by a second connection that asks for
 * the list of API versions, without cookie. ERR_UNREACHABLE, ERR_TIMEOUT, ERR_TLS (the peer speaks no TLS), ERR_CANCELED. */
int vim_peek_certificate(struct vim_client *client, struct vim_certificate *out, struct err *err);
