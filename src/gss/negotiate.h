/* Tokens of HTTP Negotiate as they come in: what kind they are, and the few parts of them that are readable without a key; and the challenges that
 * ask for them. Layer 2 (gss); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Everything here stands before any check of who sent it. RFC 4178 (SPNEGO), RFC 4121 (krb5), RFC 4120 (AP-REQ), RFC 4559 (HTTP). */
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
    NEGOTIATE_SPNEGO_NEXT, /* a later one, which needs what was kept of the first */
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
    struct negotiate_part old_oid;       /* of the frame around krb5's token, if it is the one that Microsoft wrote by mistake */
    struct negotiate_part authenticator; /* its ciphertext: another one in each token that a client makes */
    int ticket_enctype;                  /* what the ticket is sealed with (RFC 3961 number); 0 without an AP-REQ */
    int session_enctype;                 /* of the key that client and service share; 0 likewise */
    long ticket_kvno;                    /* -1: not told */
};

/* Takes a token apart; the parts point into it. A token that is not what it seems is NEGOTIATE_MALFORMED, and then nothing else is set. */
void negotiate_read(const uint8_t *token, size_t n, struct negotiate_token *out);

/* Makes a token of krb5 out of a bare AP-REQ: puts the frame before it that GSS-API wants (RFC 4121 section 4.1). *out is freed by the caller.
 * ERR_NOMEM. */
int negotiate_frame(const uint8_t *ap_req, size_t n, uint8_t **out, size_t *out_n, struct err *err);

/* Base64 with padding (RFC 4648 section 4), nothing else, at most NEGOTIATE_TOKEN_BYTES_MAX bytes. *out is freed by the caller. ERR_INVALID when malformed
 * or empty, ERR_TOO_LARGE, ERR_NOMEM. */
int negotiate_decode(const char *text, uint8_t **out, size_t *n, struct err *err);
/* The other way. Caller frees; NULL without memory. */
char *negotiate_encode(const uint8_t *bytes, size_t n);

/* -- what a server that wants to know who somebody is says in WWW-Authenticate ------------------------------------- */

/* Comes from outside, before the server has proved anything. RFC 9110 section 11.6.1, RFC 4559 section 4.1. */

#define CHALLENGE_TOKEN_CHARS_MAX ((NEGOTIATE_TOKEN_BYTES_MAX + 2U) / 3U * 4U)

/* What all its header lines say together. Zeroed before the first. */
struct challenge {
    bool is_there;  /* there is a challenge of any scheme */
    bool negotiate; /* one of the scheme Negotiate */
    bool is_twice;  /* several of these have a token */
    bool is_bad;    /* what stands there is no token, or a longer one than any */
    char *token;    /* base64 as it came; malloc'ed; NULL: none */
};
void challenge_done(struct challenge *challenge); /* NULL is allowed */

/* Takes one header line, "Name: value" without line end; others than WWW-Authenticate change nothing. */
void challenge_read(struct challenge *challenge, const char *line, size_t n);
