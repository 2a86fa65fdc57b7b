/* Accepts Kerberos tokens: a token gives the name of a principal, and the groups that Active Directory put into its ticket. Layer 2 (gss), the only folder
 * that knows GSS-API and krb5.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Needs no KDC: the key of the service is in the keytab, which is read again when the file has changed. Each call uses a credential of its own, since
 * libkrb5 locks a credential while it accepts. Delegated credentials are neither taken nor kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "pac.h"

struct gss_acceptor;
/* The state between two tokens of one negotiation. */
struct gss_negotiation;

#define GSS_ENCTYPES_MAX 16U
#define GSS_DIGEST_BYTES 32U
#define GSS_TEXT_BYTES 256U
#define GSS_BINDING_BYTES_MAX 128U

struct gss_options {
    const char *keytab;             /* path; copied */
    const char *replay_cache;       /* path of a file that only we use, in a folder on a file system in memory; copied */
    int enctypes[GSS_ENCTYPES_MAX]; /* encryption types of tickets that are accepted (RFC 3961 numbers), ended by 0 */
};

/* Makes an acceptor. A keytab that cannot be read is no error: it is looked at again with each token. ERR_NOMEM, ERR_CONFIG (krb5.conf). */
int gss_acceptor_new(const struct gss_options *options, struct gss_acceptor **out, struct err *err);
void gss_acceptor_free(struct gss_acceptor *acceptor); /* no call may be running; NULL is allowed */

/* The number of an encryption type named as in krb5.conf ("aes256-cts"); 0 if libkrb5 does not know it. */
int gss_enctype_parse(const char *name);

/* One token. Borrowed. */
struct gss_token {
    const uint8_t *bytes;
    size_t count;
    const uint8_t *
        binding; /* application data of the channel (RFC 5929); a client that binds itself must have the same; NULL: not checked */
    size_t binding_bytes;
    struct gss_negotiation *kept; /* from the answer to the token before; NULL: the first token. Handed on or freed in any case */
};

enum gss_verdict {
    GSS_ACCEPTED,
    GSS_GO_ON,       /* another token is needed; hand `kept` in with it */
    GSS_MALFORMED,   /* no token at all */
    GSS_REFUSED,     /* a token that proves nothing */
    GSS_UNAVAILABLE, /* no token can be accepted now: keytab or replay cache cannot be used */
};

/* Why a token was not accepted: for log and audit log, never for the client. */
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
    GSS_REASON_OLD_KEYTAB, /* ticket for our service, but its key is newer or older than those in the keytab */
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
    GSS_PAC_UNREADABLE, /* its signature is good, but it cannot be read: gss_answer.why says why */
};

struct gss_answer {
    enum gss_verdict verdict;
    enum gss_reason reason;
    char why[GSS_TEXT_BYTES]; /* the library's message, for the log */
    uint8_t *reply;           /* token to be sent back, whatever the verdict; NULL: none */
    size_t reply_bytes;
    struct gss_negotiation *kept; /* GSS_GO_ON: for the next token */
    /* GSS_ACCEPTED: */
    char *principal;                  /* "alice@AD.TEST" */
    const char *realm;                /* points into `principal` */
    int64_t ends_at_ms;               /* wall clock: end of the ticket */
    int64_t taken_until_ms;           /* wall clock: no replica accepts this token after that, since it is too old */
    bool is_bound;                    /* the client bound itself to our channel */
    uint8_t digest[GSS_DIGEST_BYTES]; /* of the authenticator: a token with the same one is a replay, however it is wrapped */
    enum gss_pac pac;
    struct pac_person person;
    int enctype; /* of the ticket; 0: not known */
    long kvno;   /* of the ticket; -1: not known */
};
void gss_answer_done(struct gss_answer *answer); /* NULL is allowed */

/* Accepts a token or says why not. Blocks for as long as the replay cache is written: to be called in a worker. *out is freed by gss_answer_done.
 * ERR_NOMEM; everything else is a verdict. */
int gss_acceptor_accept(struct gss_acceptor *acceptor, const struct gss_token *token, struct gss_answer *out, struct err *err);

void gss_negotiation_free(struct gss_negotiation *negotiation); /* NULL is allowed */

#define GSS_KEYS_MAX 4096U

/* What a keytab says of a key; not the key itself. */
struct gss_key {
    char *principal; /* "HTTP/api.ad.test@AD.TEST" */
    unsigned kvno;
    int enctype;
    char enctype_name[40];
    int64_t made_at_ms; /* wall clock; 0: not told */
    bool is_used;       /* its encryption type is accepted (gss_options.enctypes) */
};

struct gss_keys {
    struct gss_key *items;
    size_t count;
};
void gss_keys_done(struct gss_keys *keys); /* NULL is allowed; zeroes the struct */

/* Lists the keys in the keytab now, and checks that tokens can be accepted. *keys is set in any case, so that it shows the keys also if none has an encryption
 * type that is accepted; freed by gss_keys_done. ERR_CONFIG with a remedy if the keytab or the replay cache cannot be used; ERR_NOMEM. */
int gss_acceptor_look(struct gss_acceptor *acceptor, struct gss_keys *keys, struct err *err);

/* True if the keytab, as it was read last, has a key of a principal of this realm, of an encryption type that is accepted. */
bool gss_acceptor_is_of_realm(struct gss_acceptor *acceptor, const char *realm);
