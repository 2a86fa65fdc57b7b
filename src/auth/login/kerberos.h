/* Kerberos: who the sender of a client's token is. Layer 5 (auth). Sessions are not made here.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A ticket of Active Directory says who somebody is and in which groups (PAC), signed by the KDC, so no directory is needed. For a ticket without a PAC the
 * directory of its realm is asked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "ldapdir.h"
#include "runtime.h"

struct gss_acceptor;
struct kerberos;
/* What a connection keeps between two tokens of one negotiation. */
struct kerberos_leg;
void kerberos_leg_free(void *leg); /* NULL is allowed */

/* For whom a directory is asked at the sign-on even though the ticket tells groups. In the order of the option's words. */
enum kerberos_live_check { KERBEROS_ASK_NOBODY, KERBEROS_ASK_PRIVILEGED, KERBEROS_ASK_ALL };
const char *kerberos_live_check_name(enum kerberos_live_check check); /* "off", "privileged", "always"; static */

struct kerberos_options {
    const struct runtime *runtime;
    struct ldapdirs *ldapdirs; /* for tickets without groups */
    const char *keytab;        /* copied, as all texts here */
    const char *replay_cache;  /* path of a file in the runtime folder */
    const char *const
        *realms; /* whose people may come in, ended by NULL; NULL or empty: the realms of the keytab's own principals */
    const char *const *encryption_types; /* names as in krb5.conf, ended by NULL; NULL or empty: all of AES */
    bool looks_at_bindings;
    bool requires_pac; /* a ticket must have a PAC if the realm's directory is Active Directory */
    enum kerberos_live_check live_check;
    /* May this person do more than role `user` may? Asked for KERBEROS_ASK_PRIVILEGED. */
    bool (*is_privileged)(void *arg, const char *principal_id, const struct group_set *groups);
    void *arg;
};

/* Makes the acceptor of tokens; a keytab that cannot be read is no error. ERR_CONFIG (krb5.conf, unknown encryption type), ERR_NOMEM. */
int kerberos_new(const struct kerberos_options *options, struct kerberos **out, struct err *err);
void kerberos_free(struct kerberos *kerberos); /* no call may be running; NULL is allowed */

/* Sets the TLS certificate that clients see (PEM; its issuers may follow): tokens are bound to it (RFC 5929, tls-server-end-point). ERR_UNPROCESSABLE. */
int kerberos_set_certificate(struct kerberos *kerberos, const char *cert_pem, struct err *err);

struct kerberos_token {
    const char *text;          /* base64, from header or body */
    struct kerberos_leg *kept; /* taken over; NULL: none */
    bool is_noted_later;       /* the caller stores peer->digest with its own write, and refuses one that is stored already */
};

/* Who sent a token, and the outcome; filled as far as known, also for a refused token. Texts malloc'ed. */
struct kerberos_peer {
    char *name;              /* "alice@AD.TEST"; NULL: not known */
    const char *realm;       /* part of `name` */
    char *principal_id;      /* "sid:S-1-5-21-..."; NULL: the ticket does not say */
    char *full_name;         /* NULL: not known */
    uint8_t digest[32];      /* of the token, the same however it is wrapped */
    int64_t digest_until_ms; /* wall clock; the token may not be used again until then */
    bool is_other_account;   /* the ticket is that of an account of another name, which the KDC found for this one */
    bool has_groups;         /* the ticket has groups */
    struct group_set groups;
    int64_t password_set_at;   /* set if has_groups; in the form of pwdLastSet */
    int64_t ends_at_ms;        /* of the ticket; wall clock */
    char *reply;               /* base64, to send to the client whatever the outcome; NULL: none */
    struct kerberos_leg *kept; /* the client has to send another token on the same connection */
    const char *reason;        /* word for log and audit log ("replay"); NULL: accepted. Static */
    char why[256];             /* in the library's words, for the log */
    bool is_alarming;          /* an operator should look at it: altered PAC, keytab that is out of date */
    int enctype;               /* of the ticket; 0: not known */
    long kvno;                 /* -1: not known */
};
void kerberos_peer_done(struct kerberos_peer *peer); /* NULL is allowed */

/* Sets *err to ERR_CREDENTIALS, with the same text for all reasons, and returns it. */
int kerberos_refuse(struct err *err);

#define KERBEROS_GO_ON 1 /* peer->kept and peer->reply are for the next leg */

/* Accepts a token: its sender is the principal peer->name, and the token cannot be used again, here or at another replica. Does not check what the principal
 * may do. Blocks (database). *out (uninitialised) is freed by kerberos_peer_done in any case. Returns 0; KERBEROS_GO_ON; ERR_INVALID, ERR_TOO_LARGE (no
 * token); ERR_CREDENTIALS (proves nothing; one text for all reasons); ERR_FORBIDDEN (PAC altered, or missing where it is required; realm not allowed);
 * ERR_UNAVAILABLE (keytab, replay cache); errors of the store. */
int kerberos_accept(struct kerberos *kerberos, struct kerberos_token *token, struct kerberos_peer *out, struct err *err);

/* Finds the person with groups, after kerberos_accept: from the ticket, or from the directory of the realm. Blocks (directory). Copies into *out
 * (uninitialised), freed by ldapdir_person_done; out->directory is the directory of the realm, which can be asked again later; NULL: none. ERR_FORBIDDEN when
 * no source knows the person's groups, or a directory has to be asked and there is none; ERR_CREDENTIALS when the directory says that the account is
 * disabled; ERR_UNAVAILABLE when the directory has to be asked and cannot be; ERR_BUSY. With KERBEROS_ASK_PRIVILEGED the ticket is enough then, and
 * out->is_unasked is set. */
int kerberos_find_person(struct kerberos *kerberos, const struct kerberos_peer *peer, struct ldapdir_person *out,
                         struct err *err);

/* -- state of Kerberos ---------------------------------------------------------------------------------------------------------- */

struct kerberos_key {
    char *principal;
    unsigned kvno;
    char encryption_type[40];
    int64_t made_at_ms; /* wall clock; 0: not told */
    bool is_used;
};
struct kerberos_status {
    struct kerberos_key *keys;
    size_t keys_count;
    unsigned newest_kvno;
    char **realms; /* realms whose people may sign in */
    size_t realms_count;
    bool looks_at_bindings, requires_pac;
    enum kerberos_live_check live_check;
    struct err problem; /* code 0: tokens can be accepted */
    int64_t since_ms;   /* wall clock: since when they can, or cannot */
};
/* Reads the state of keytab and replay cache. Does not block for long: looks at two files. ERR_NOMEM. *out is freed by kerberos_status_done. */
int kerberos_get_status(struct kerberos *kerberos, struct kerberos_status *out, struct err *err);
void kerberos_status_done(struct kerberos_status *status); /* NULL is allowed */

/* The acceptor behind it, for whoever signs in by a key of the same keytab; lives as long. */
struct gss_acceptor *kerberos_acceptor(const struct kerberos *kerberos);

/* Call it once a second: checks whether tokens can be accepted. Looks at two files. */
void kerberos_tick(struct kerberos *kerberos);
/* True if the last kerberos_tick found that tokens can be accepted. Does not block. */
bool kerberos_is_usable(const struct kerberos *kerberos);

/* Deletes used tokens from the database that have expired. Blocks (database). */
int kerberos_purge(struct kerberos *kerberos, struct err *err);

/* Adds a finding on the keytab; `keytab` is its path. Looks at files. `kerberos` NULL adds nothing. */
void kerberos_check_health(struct kerberos *kerberos, const char *keytab, struct findings *out);
