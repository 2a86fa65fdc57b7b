/* Tokens of HTTP Negotiate: their kind, and the few parts that are readable without a key; and the challenges that ask for tokens. Layer 2 (gss); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Everything here comes from senders who have proved nothing yet. RFC 4178 (SPNEGO), RFC 4121 (krb5), RFC 4120 (AP-REQ), RFC 4559 (HTTP). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define NEGOTIATE_TOKEN_BYTES_MAX (64U * 1024U) /* Windows makes none above 48,000 */

enum negotiate_kind {
    NEGOTIATE_MALFORMED,
    NEGOTIATE_NTLM,        /* "NTLMSSP", without any frame */
    NEGOTIATE_SPNEGO,      /* the first token of a negotiation */
    NEGOTIATE_SPNEGO_NEXT, /* a later token, which needs the gss_negotiation of the first */
    NEGOTIATE_KRB5,        /* a token of krb5 without SPNEGO */
    NEGOTIATE_AP_REQ,      /* a bare AP-REQ, without the frame that GSS-API wants */
    NEGOTIATE_OTHER,       /* a token of another mechanism without SPNEGO */
};

/* Bytes inside the token. */
struct negotiate_part {
    const uint8_t *bytes; /* NULL: not there */
    size_t count;
};

struct negotiate_token {
    enum negotiate_kind kind;
    bool offers_krb5, offers_ntlm;       /* SPNEGO: in its list of mechanisms */
    struct negotiate_part old_oid;       /* OID in the frame of krb5's token, if it is the wrong one that Microsoft once used */
    struct negotiate_part authenticator; /* ciphertext of the authenticator: differs in each token that a client makes */
    int ticket_enctype;                  /* encryption type of the ticket (RFC 3961 number); 0 without an AP-REQ */
    int session_enctype;                 /* of the key that client and service share; 0 likewise */
    long ticket_kvno;                    /* -1: not told */
};

/* Takes a token apart; the parts point into it. A token that is not what it seems is NEGOTIATE_MALFORMED, and then nothing else is set. */
void negotiate_read(const uint8_t *token, size_t n, struct negotiate_token *out);

/* Makes a krb5 token from a bare AP-REQ by adding the frame that GSS-API wants (RFC 4121 section 4.1). *out is freed by the caller. ERR_NOMEM. */
int negotiate_frame(const uint8_t *ap_req, size_t n, uint8_t **out, size_t *out_n, struct err *err);

/* Decodes base64 with padding (RFC 4648 section 4), nothing else, to at most NEGOTIATE_TOKEN_BYTES_MAX bytes. *out is freed by the caller. ERR_INVALID when
 * malformed or empty, ERR_TOO_LARGE, ERR_NOMEM. */
int negotiate_decode(const char *text, uint8_t **out, size_t *n, struct err *err);
/* Encodes as base64 with padding. Caller frees; NULL without memory. */
char *negotiate_encode(const uint8_t *bytes, size_t n);

/* -- challenges of a server, in its header WWW-Authenticate -------------------------------------------------------- */

/* They come from outside, before the server has proved anything. RFC 9110 section 11.6.1, RFC 4559 section 4.1. */

#define CHALLENGE_TOKEN_CHARS_MAX ((NEGOTIATE_TOKEN_BYTES_MAX + 2U) / 3U * 4U)

/* All challenges of an answer together. Zeroed before its first header line. */
struct challenge {
    bool is_there;  /* there is a challenge of any scheme */
    bool negotiate; /* there is one of the scheme Negotiate */
    bool is_twice;  /* several of the scheme Negotiate have a token */
    bool is_bad;    /* a token is malformed or longer than CHALLENGE_TOKEN_CHARS_MAX, or there was no memory for it */
    char *token;    /* base64 as it came; malloc'ed; NULL: none */
};
void challenge_done(struct challenge *challenge); /* NULL is allowed */

/* Takes one header line, "Name: value" without line end; others than WWW-Authenticate change nothing. */
void challenge_read(struct challenge *challenge, const char *line, size_t n);
