/* Accepting Kerberos: a token from outside becomes the name of a principal, with what Active Directory says of it. Layer 2 (gss), the only folder that
 * knows GSS-API and krb5.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Needs no KDC: the key of the service is in the keytab, which is read again when the file is another one. Each call takes a credential of its own, since
 * libkrb5 locks one while it accepts. Delegated credentials are neither taken nor kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "pac.h"

struct gss_acceptor;
/* What is kept between two tokens of one negotiation. */
struct gss_negotiation;

#define GSS_ENCTYPES_MAX 16U
#define GSS_DIGEST_BYTES 32U
#define GSS_TEXT_BYTES 256U
#define GSS_BINDING_BYTES_MAX 128U

struct gss_options {
    const char *keytab;             /* path; copied */
    const char *replay_cache;       /* path of a file that is ours alone, in a folder that is kept in memory; copied */
    int enctypes[GSS_ENCTYPES_MAX]; /* which tickets are taken (RFC 3961 numbers), ended by 0 */
};

/* Makes an acceptor. A keytab that cannot be read is no error: it is looked at again with each token. ERR_NOMEM, ERR_CONFIG (krb5.conf). */
int gss_acceptor_new(const struct gss_options *options, struct gss_acceptor **out, struct err *err);
void gss_acceptor_free(struct gss_acceptor *acceptor); /* no call may be running; NULL is allowed */

/* The name of an encryption type as in krb5.conf ("aes256-cts") to its number; 0 if libkrb5 knows none. */
int gss_enctype_parse(const char *name);

/* One token. Borrowed. */
struct gss_token {
    const uint8_t *bytes;
    size_t count;
    const uint8_t *
        binding; /* application data of the channel (RFC 5929): what the client bound itself to, if it did, must be this; NULL: not looked at */
    size_t binding_bytes;
    struct gss_negotiation *kept; /* of the token before; NULL: this is the first one. Given back or freed in any case */
};

enum gss_verdict {
    GSS_ACCEPTED,
    GSS_GO_ON,       /* another token is needed, with `kept` */
    GSS_MALFORMED,   /* no token at all */
    GSS_REFUSED,     /* a token that proves nothing */
    GSS_UNAVAILABLE, /* no token can be accepted now: keytab or replay cache */
};

/* Why it was not accepted: for log and audit log, never for the client. */
enum gss_reason {
    GSS_REASON_NONE,
    GSS_REASON_MALFORMED,
    GSS_REASON_NTLM,
    GSS_REASON_MECHANISM, /* neither krb5 nor anything else that we speak */
    GSS_REASON_ENCTYPE,
    GSS_REASON_REPLAY,
    GSS_REASON_SKEW,
    GSS_REASON_EXPIRED,
    GSS_REASON_NO_KEY,     /* ticket for another service, or for a key that the keytab does not hold (any more, or yet) */
    GSS_REASON_OLD_KEYTAB, /* the service is ours, the key is newer or older than what we have */
    GSS_REASON_WRONG_KEY,
    GSS_REASON_BINDING,
    GSS_REASON_KEYTAB,
    GSS_REASON_REPLAY_CACHE,
    GSS_REASON_OTHER,
};
const char *gss_reason_word(enum gss_reason reason); /* "replay", "clock_skew", ...; static */

/* What the ticket says about groups. */
enum gss_pac {
    GSS_PAC_NONE,       /* no PAC, or one without logon information, as MIT's KDC makes */
    GSS_PAC_GOOD,       /* signed by the KDC that made the ticket: `person` is set */
    GSS_PAC_ALTERED,    /* there is one, but its signature is wrong: somebody changed it */
    GSS_PAC_UNREADABLE, /* good, but not as it should be: gss_answer.why says how */
};

struct gss_answer {
    enum gss_verdict verdict;
    enum gss_reason reason;
    char why[GSS_TEXT_BYTES]; /* the library's words, for the log */
    uint8_t *reply;           /* to be sent back, whatever the verdict; NULL: nothing */
    size_t reply_bytes;
    struct gss_negotiation *kept; /* GSS_GO_ON: for the next token */
    /* GSS_ACCEPTED: */
    char *principal;                  /* "alice@AD.TEST" */
    const char *realm;                /* in it */
    int64_t ends_at_ms;               /* of the ticket; wall clock */
    int64_t taken_until_ms;           /* wall clock; this very token is too old for anybody after that */
    bool is_bound;                    /* the client bound itself to our channel */
    uint8_t digest[GSS_DIGEST_BYTES]; /* of the authenticator: the same again is a replay, however it is wrapped */
    enum gss_pac pac;
    struct pac_person person;
    int enctype; /* of the ticket; 0: not known, as is the next */
    long kvno;   /* -1 */
};
void gss_answer_done(struct gss_answer *answer); /* NULL is allowed */

/* Accepts a token or says why not. Blocks for as long as the replay cache is written: to be called in a worker. *out is freed by gss_answer_done.
 * ERR_NOMEM; everything else is a verdict. */
int gss_acceptor_accept(struct gss_acceptor *acceptor, const struct gss_token *token, struct gss_answer *out, struct err *err);

void gss_negotiation_free(struct gss_negotiation *negotiation); /* NULL is allowed */

#define GSS_KEYS_MAX 4096U

/* A key, without the key. */
struct gss_key {
    char *principal; /* "HTTP/api.ad.test@AD.TEST" */
    unsigned kvno;
    int enctype;
    char enctype_name[40];
    int64_t made_at_ms; /* wall clock; 0: not told */
    bool is_used;       /* its encryption type is taken */
};

struct gss_keys {
    struct gss_key *items;
    size_t count;
};
void gss_keys_done(struct gss_keys *keys); /* NULL is allowed; zeroes the struct */

/* What is in the keytab now, and whether tokens can be accepted. *keys is freed by gss_keys_done and set in any case: without a key of an encryption type that is
 * taken it tells why. ERR_CONFIG, with what to do, if the keytab or the replay cache cannot be used; ERR_NOMEM. */
int gss_acceptor_look(struct gss_acceptor *acceptor, struct gss_keys *keys, struct err *err);

/* Does the keytab hold a key, of a type that is taken, of a principal of this realm? */
bool gss_acceptor_is_of_realm(struct gss_acceptor *acceptor, const char *realm);
