/* Accepting tokens of Kerberos. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kerberos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "kerberos_private.h"
#include "negotiate.h"
#include "session_store.h"
#include "str.h"
#include "x509.h"

/* The clocks of the replicas may differ a little. */
#define REPLICAS_DIFFER_MS (5LL * 60 * 1000)
#define PURGE_BATCH 5000U

_Static_assert(REPLAY_DIGEST_BYTES == GSS_DIGEST_BYTES, "one digest for both");

bool kerberos_read_header(const char *header, const char **text) {
    return negotiate_is_scheme(header, text);
}

void kerberos_leg_free(void *leg) {
    gss_negotiation_free(leg);
}

void kerberos_peer_done(struct kerberos_peer *peer) {
    if (!peer)
        return;
    free(peer->name);
    free(peer->principal_id);
    free(peer->full_name);
    group_set_done(&peer->groups);
    free(peer->reply);
    kerberos_leg_free(peer->kept);
    memset(peer, 0, sizeof(*peer));
}

/* -- one token -------------------------------------------------------------------------------------------------------------- */

/* One text for all of them: what exactly was wrong helps whoever tries. */
int kerberos_refuse(struct err *err) {
    (void)err_set(err, ERR_CREDENTIALS, "the Kerberos token was not accepted");
    return err_remedy(err, "get a new ticket and a new token for this service; the log of the service tells why");
}

static int unavailable(const struct gss_answer *answer, struct err *err) {
    (void)err_set(err, ERR_UNAVAILABLE, "Kerberos tokens cannot be accepted now");
    return err_remedy(err, "an administrator looks at: kaasctl kerberos status (%s)", gss_reason_word(answer->reason));
}

/* What the answer knows goes over to the peer, good or not. */
static int take_over(struct gss_answer *answer, struct kerberos_peer *out, struct err *err) {
    out->reason = answer->verdict == GSS_ACCEPTED || answer->verdict == GSS_GO_ON ? NULL : gss_reason_word(answer->reason);
    out->is_alarming = answer->reason == GSS_REASON_OLD_KEYTAB || answer->reason == GSS_REASON_WRONG_KEY;
    (void)snprintf(out->why, sizeof(out->why), "%s", answer->why);
    out->name = STEAL(answer->principal);
    out->realm = answer->realm;
    out->ends_at_ms = answer->ends_at_ms;
    out->enctype = answer->enctype;
    out->kvno = answer->kvno;
    out->kept = (struct kerberos_leg *)STEAL(answer->kept);
    if (answer->reply) {
        out->reply = negotiate_encode(answer->reply, answer->reply_bytes);
        if (!out->reply)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

/* Active Directory gives a ticket in the name "x" to the account "x$" when there is no "x", and to whoever has the UPN "x@REALM". A name with a slash can be
 * that of no account. */
static bool is_other_account(const struct gss_answer *answer, const struct kerberos_peer *peer) {
    const char *account = answer->person.account;
    const size_t n = account ? strlen(account) : 0, name_bytes = (size_t)(peer->realm - 1 - peer->name);
    if (!n || memchr(peer->name, '/', name_bytes))
        return false;
    return n != name_bytes || strncasecmp(account, peer->name, n) != 0;
}

static void take_person(struct gss_answer *answer, struct kerberos_peer *out) {
    if (answer->pac != GSS_PAC_GOOD)
        return;
    out->is_other_account = is_other_account(answer, out);
    out->has_groups = true;
    out->principal_id = STEAL(answer->person.sid);
    out->full_name = STEAL(answer->person.full_name);
    out->password_set_at = answer->person.password_set_at;
    out->groups = answer->person.groups;
    answer->person.groups = (struct group_set){0};
}

static int forbid(struct kerberos_peer *out, const char *reason, const char *text, struct err *err) {
    out->reason = reason;
    return err_set(err, ERR_FORBIDDEN, "%s", text);
}

/* Without a PAC the name decides alone who somebody is, and in Active Directory who may write a UPN can choose one. */
static bool lacks_pac(const struct kerberos *k, const struct gss_answer *answer, const char *realm) {
    const struct identity_principal who = {.realm = realm, .id = "sid:"}; /* an id that Active Directory alone knows */
    char directory[IDENTITY_SOURCE_BYTES];
    return k->requires_pac && answer->pac == GSS_PAC_NONE && identity_source_of(k->identity, &who, directory);
}

/* The token was good; is what it says? */
static int judge_accepted(struct kerberos *k, const struct gss_answer *answer, struct kerberos_peer *out, struct err *err) {
    if (answer->pac == GSS_PAC_ALTERED || answer->pac == GSS_PAC_UNREADABLE) {
        out->is_alarming = true;
        return forbid(out, answer->pac == GSS_PAC_ALTERED ? "pac_altered" : "pac_unreadable",
                      "the ticket's statement about groups cannot be trusted", err);
    }
    if (!kerberos_allows_realm(k, out->realm) || str_starts(out->name, "WELLKNOWN/"))
        return forbid(out, "realm", "people of this realm may not sign in here", err);
    if (lacks_pac(k, answer, out->realm)) {
        (void)forbid(out, "no_pac", "the ticket lacks the statement that the domain signs about an account", err);
        return err_remedy(err, "an administrator of the domain lets it be made for our account; see: kaasctl ldap test");
    }
    memcpy(out->digest, answer->digest, sizeof(out->digest));
    out->digest_until_ms = answer->taken_until_ms + REPLICAS_DIFFER_MS;
    return 0;
}

/* For all replicas; the replay cache of libkrb5 is this one's own. */
static int note_use(struct kerberos *k, struct kerberos_peer *out, struct err *err) {
    struct err why = {0};
    int rc = replay_store_note(k->store, out->digest, out->digest_until_ms, &why);
    if (rc == ERR_EXISTS) {
        out->reason = "replay";
        return kerberos_refuse(err);
    }
    return err_move(err, rc, &why);
}

static int judge(struct kerberos *k, const struct gss_answer *answer, struct kerberos_peer *out, struct err *err) {
    switch (answer->verdict) {
    case GSS_ACCEPTED: return judge_accepted(k, answer, out, err);
    case GSS_GO_ON: return KERBEROS_GO_ON;
    case GSS_MALFORMED: return err_set(err, ERR_INVALID, "this is no token of Negotiate");
    case GSS_UNAVAILABLE: return unavailable(answer, err);
    case GSS_REFUSED:
    default: return kerberos_refuse(err);
    }
}

static size_t copy_binding(struct kerberos *k, uint8_t out[GSS_BINDING_BYTES_MAX]) {
    size_t n;
    if (!k->looks_at_bindings)
        return 0;
    (void)pthread_mutex_lock(&k->lock);
    n = k->binding_bytes;
    memcpy(out, k->binding, n);
    (void)pthread_mutex_unlock(&k->lock);
    return n;
}

int kerberos_accept(struct kerberos *k, struct kerberos_token *token, struct kerberos_peer *out, struct err *err) {
    uint8_t binding[GSS_BINDING_BYTES_MAX];
    struct gss_token in = {.kept = (struct gss_negotiation *)STEAL(token->kept), .binding_bytes = copy_binding(k, binding)};
    struct gss_answer answer = {0};
    _cleanup_free_ uint8_t *bytes = NULL;
    int rc = negotiate_decode(token->text, &bytes, &in.count, err);
    *out = (struct kerberos_peer){.kvno = -1};
    if (rc) {
        out->reason = "malformed";
        gss_negotiation_free(in.kept);
        return rc;
    }
    in.bytes = bytes;
    in.binding = in.binding_bytes ? binding : NULL;
    rc = gss_acceptor_accept(k->acceptor, &in, &answer, err);
    if (!rc)
        rc = take_over(&answer, out, err);
    if (!rc)
        rc = judge(k, &answer, out, err);
    if (!rc && !token->is_noted_later)
        rc = note_use(k, out, err);
    if (!rc)
        take_person(&answer, out);
    gss_answer_done(&answer);
    return rc;
}

int kerberos_purge(struct kerberos *k, struct err *err) {
    unsigned long deleted = PURGE_BATCH;
    int rc = 0;
    while (!rc && deleted == PURGE_BATCH)
        rc = replay_store_purge(k->store, clock_wall_ms(), PURGE_BATCH, &deleted, err);
    return rc;
}

int kerberos_set_certificate(struct kerberos *k, const char *cert_pem, struct err *err) {
    uint8_t binding[GSS_BINDING_BYTES_MAX];
    size_t n = 0;
    int rc = x509_end_point_binding(cert_pem, binding, sizeof(binding), &n, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&k->lock);
    memcpy(k->binding, binding, n);
    k->binding_bytes = n;
    (void)pthread_mutex_unlock(&k->lock);
    return 0;
}
