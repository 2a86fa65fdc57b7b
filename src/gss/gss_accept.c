/* Accepting one token. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The major code decides what becomes of it. Minor codes come remapped out of the library, another number in each process, so the reason, which is for the log
 * only, is found by comparing texts. */
#include <gssapi/gssapi_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "digest.h"
#include "gss_private.h"
#include "negotiate.h"
#include "str.h"

_Static_assert(GSS_DIGEST_BYTES == DIGEST_SHA256_BYTES, "the authenticator's digest is SHA-256");

const char *gss_reason_word(enum gss_reason reason) {
    static const char *const words[] = {
        [GSS_REASON_NONE] = "none",
        [GSS_REASON_MALFORMED] = "malformed",
        [GSS_REASON_NTLM] = "ntlm",
        [GSS_REASON_MECHANISM] = "mechanism",
        [GSS_REASON_ENCTYPE] = "encryption_type",
        [GSS_REASON_REPLAY] = "replay",
        [GSS_REASON_SKEW] = "clock_skew",
        [GSS_REASON_EXPIRED] = "ticket_expired",
        [GSS_REASON_NO_KEY] = "no_key",
        [GSS_REASON_OLD_KEYTAB] = "old_keytab",
        [GSS_REASON_WRONG_KEY] = "wrong_key",
        [GSS_REASON_BINDING] = "channel_binding",
        [GSS_REASON_KEYTAB] = "keytab",
        [GSS_REASON_REPLAY_CACHE] = "replay_cache",
        [GSS_REASON_OTHER] = "other",
    };
    return (size_t)reason < ARRAY_COUNT(words) && words[reason] ? words[reason] : "other";
}

void gss_negotiation_free(struct gss_negotiation *negotiation) {
    OM_uint32 minor;
    if (!negotiation)
        return;
    (void)gss_delete_sec_context(&minor, &negotiation->context, GSS_C_NO_BUFFER);
    free(negotiation);
}
CLEANUP_DEFINE(struct gss_negotiation, gss_negotiation_free);

void gss_answer_done(struct gss_answer *answer) {
    if (!answer)
        return;
    free(answer->reply);
    free(answer->principal);
    gss_negotiation_free(answer->kept);
    pac_person_done(&answer->person);
    memset(answer, 0, sizeof(*answer));
}

static void refuse(struct gss_answer *out, enum gss_verdict verdict, enum gss_reason reason, const char *why) {
    out->verdict = verdict;
    out->reason = reason;
    if (why)
        (void)snprintf(out->why, sizeof(out->why), "%s", why);
}

/* -- what can be said without a key --------------------------------------------------------------------------------------- */

static void note_ap_req(struct gss_negotiation *negotiation, const struct negotiate_token *seen) {
    if (!seen->authenticator.bytes)
        return;
    digest_sha256(seen->authenticator.bytes, seen->authenticator.count, negotiation->digest);
    negotiation->has_digest = true;
    negotiation->enctype = seen->ticket_enctype;
    negotiation->kvno = seen->ticket_kvno;
}

/* An RC4 ticket, or one whose session key is for RC4, is refused by what it says of itself: said otherwise it cannot be opened. */
static bool passes(const struct gss_acceptor *acceptor, const struct negotiate_token *seen, struct gss_answer *out) {
    if (seen->kind == NEGOTIATE_MALFORMED)
        refuse(out, GSS_MALFORMED, GSS_REASON_MALFORMED, "not a token of SPNEGO or Kerberos");
    else if (seen->kind == NEGOTIATE_NTLM || (seen->kind == NEGOTIATE_SPNEGO && seen->offers_ntlm && !seen->offers_krb5))
        refuse(out, GSS_REFUSED, GSS_REASON_NTLM, "NTLM is not spoken here");
    else if (seen->authenticator.bytes && !gss_takes_enctype(acceptor, seen->ticket_enctype))
        refuse(out, GSS_REFUSED, GSS_REASON_ENCTYPE, "the encryption type of the ticket is not accepted");
    else if (seen->authenticator.bytes && !gss_takes_enctype(acceptor, seen->session_enctype))
        refuse(out, GSS_REFUSED, GSS_REASON_ENCTYPE, "the encryption type of the session key is not accepted");
    else
        return true;
    return false;
}

/* -- what the library says --------------------------------------------------------------------------------------------------- */

static void display(OM_uint32 minor_in, gss_OID mech, char why[GSS_TEXT_BYTES]) {
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor, more = 0, major = gss_display_status(&minor, minor_in, GSS_C_MECH_CODE, mech, &more, &text);
    if (!GSS_ERROR(major))
        (void)snprintf(why, GSS_TEXT_BYTES, "%.*s", (int)text.length, (const char *)text.value);
    (void)gss_release_buffer(&minor, &text);
}

static enum gss_reason reason_by_text(const char *why) {
    static const struct {
        const char *words;
        enum gss_reason reason;
    } known[] = {
        {"is a replay", GSS_REASON_REPLAY},
        {"Clock skew", GSS_REASON_SKEW},
        {"Ticket expired", GSS_REASON_EXPIRED},
        {"Ticket not yet valid", GSS_REASON_EXPIRED},
        {"keytab is likely out of date", GSS_REASON_OLD_KEYTAB},
        {"cannot decrypt ticket", GSS_REASON_WRONG_KEY},
        {"not found in keytab", GSS_REASON_NO_KEY},
        {"No key table entry", GSS_REASON_NO_KEY},
        {"Decrypt integrity check failed", GSS_REASON_WRONG_KEY},
    };
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (strstr(why, known[i].words))
            return known[i].reason;
    return GSS_REASON_OTHER;
}

/* A replay cache that cannot be written looks like a bad sign-on. */
static void judge_failure(const struct gss_acceptor *acceptor, struct gss_answer *out) {
    char broken[GSS_TEXT_BYTES] = "";
    enum gss_reason reason = reason_by_text(out->why);
    if (reason != GSS_REASON_OTHER) {
        refuse(out, GSS_REFUSED, reason, NULL);
    } else if (!gss_replay_cache_works(acceptor, broken)) {
        refuse(out, GSS_UNAVAILABLE, GSS_REASON_REPLAY_CACHE, broken);
    } else {
        bool names_cache = strstr(out->why, acceptor->replay_cache) != NULL;
        refuse(out, names_cache ? GSS_UNAVAILABLE : GSS_REFUSED, names_cache ? GSS_REASON_REPLAY_CACHE : GSS_REASON_OTHER, NULL);
    }
}

static void judge(const struct gss_acceptor *acceptor, OM_uint32 major, struct gss_answer *out) {
    switch (GSS_ROUTINE_ERROR(major)) {
    case GSS_S_BAD_BINDINGS: refuse(out, GSS_REFUSED, GSS_REASON_BINDING, NULL); break;
    case GSS_S_BAD_MECH: refuse(out, GSS_REFUSED, GSS_REASON_MECHANISM, NULL); break;
    case GSS_S_DUPLICATE_TOKEN:
    case GSS_S_OLD_TOKEN: refuse(out, GSS_REFUSED, GSS_REASON_REPLAY, NULL); break;
    case GSS_S_NO_CRED: /* the keytab was there a moment ago, and has a key: it has none for this mechanism */
    case GSS_S_CREDENTIALS_EXPIRED:
    case GSS_S_DEFECTIVE_CREDENTIAL: refuse(out, GSS_UNAVAILABLE, GSS_REASON_KEYTAB, NULL); break;
    case GSS_S_DEFECTIVE_TOKEN: refuse(out, GSS_REFUSED, GSS_REASON_MALFORMED, NULL); break;
    default: judge_failure(acceptor, out); break;
    }
}

static bool take_reply(const gss_buffer_desc *from, struct gss_answer *out) {
    if (!from->length)
        return true;
    out->reply = malloc(from->length);
    if (!out->reply)
        return false;
    memcpy(out->reply, from->value, from->length);
    out->reply_bytes = from->length;
    return true;
}

/* What one call of the library brought. */
struct step {
    OM_uint32 major, minor, flags, left_s;
    gss_name_t name;
    gss_OID mech;
    gss_buffer_desc reply;
};

static void finish(const struct gss_acceptor *acceptor, const struct gss_negotiation *negotiation, const struct step *step,
                   struct gss_answer *out) {
    if (!step->mech || step->mech->length != gss_oid_krb5.length ||
        memcmp(step->mech->elements, gss_oid_krb5.elements, gss_oid_krb5.length) != 0 || !negotiation->has_digest) {
        refuse(out, GSS_REFUSED, GSS_REASON_MECHANISM, "the context was made by something else than Kerberos");
        return;
    }
    if (!gss_peer_read(step->name, out)) {
        refuse(out, GSS_REFUSED, GSS_REASON_OTHER, "the name of the client cannot be written");
        return;
    }
    out->verdict = GSS_ACCEPTED;
    out->ends_at_ms =
        clock_wall_ms() + step->left_s * 1000LL - acceptor->skew_ms; /* the library adds what clocks may differ by */
    out->taken_until_ms = clock_wall_ms() + 2 * acceptor->skew_ms;   /* the client's clock may be wrong either way */
    out->is_bound = (step->flags & GSS_C_CHANNEL_BOUND_FLAG) != 0;
    out->enctype = negotiation->enctype;
    out->kvno = negotiation->kvno;
    memcpy(out->digest, negotiation->digest, sizeof(out->digest));
}

/* No delegated credential is asked for, so none is made. */
static void call_library(struct gss_slot *slot, const struct gss_token *token, struct gss_negotiation *negotiation,
                         struct step *step) {
    gss_buffer_desc in = {token->count, (void *)(uintptr_t)token->bytes};
    struct gss_channel_bindings_struct binding = {.application_data = {token->binding_bytes, (void *)(uintptr_t)token->binding}};
    step->major = gss_accept_sec_context(&step->minor, &negotiation->context, slot->cred, &in,
                                         token->binding ? &binding : GSS_C_NO_CHANNEL_BINDINGS, &step->name, &step->mech,
                                         &step->reply, &step->flags, &step->left_s, NULL);
}

static int take_step(struct gss_acceptor *acceptor, const struct gss_token *token, struct gss_negotiation **negotiation,
                     struct gss_answer *out) {
    struct step step = {.name = GSS_C_NO_NAME};
    struct gss_slot *slot = gss_slot_take(acceptor, out);
    OM_uint32 minor;
    bool is_kept;
    if (!slot)
        return 0;
    refuse(out, GSS_REFUSED, GSS_REASON_OTHER, NULL);
    call_library(slot, token, *negotiation, &step);
    gss_slot_give_back(acceptor, slot);
    is_kept = take_reply(&step.reply, out);
    if (GSS_ERROR(step.major)) {
        display(step.minor, step.mech ? step.mech : (gss_OID)(uintptr_t)&gss_oid_krb5, out->why);
        judge(acceptor, step.major, out);
    } else if (step.major & GSS_S_CONTINUE_NEEDED) {
        refuse(out, GSS_GO_ON, GSS_REASON_NONE, NULL);
        out->kept = STEAL(*negotiation);
    } else {
        finish(acceptor, *negotiation, &step, out);
    }
    (void)gss_release_name(&minor, &step.name);
    (void)gss_release_buffer(&minor, &step.reply);
    return is_kept ? 0 : ERR_NOMEM;
}

/* -- the whole ---------------------------------------------------------------------------------------------------------------- */

/* What was kept is for a later token only: a first one begins anew, whoever sends it on this connection. */
static struct gss_negotiation *begin(const struct gss_token *token, const struct negotiate_token *seen) {
    if (token->kept && seen->kind == NEGOTIATE_SPNEGO_NEXT)
        return token->kept;
    gss_negotiation_free(token->kept);
    return calloc(1, sizeof(struct gss_negotiation));
}

static int accept_bytes(struct gss_acceptor *acceptor, const struct gss_token *token, const struct negotiate_token *seen,
                        struct gss_answer *out, struct err *err) {
    _cleanup_(gss_negotiation_free) struct gss_negotiation *negotiation = begin(token, seen);
    if (!negotiation)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!passes(acceptor, seen, out))
        return 0;
    if (seen->kind == NEGOTIATE_SPNEGO_NEXT && !negotiation->context) {
        refuse(out, GSS_REFUSED, GSS_REASON_MALFORMED, "nothing was begun on this connection");
        return 0;
    }
    note_ap_req(negotiation, seen);
    return take_step(acceptor, token, &negotiation, out) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

int gss_acceptor_accept(struct gss_acceptor *acceptor, const struct gss_token *token, struct gss_answer *out, struct err *err) {
    struct negotiate_token seen;
    struct gss_token framed = *token;
    _cleanup_free_ uint8_t *bytes = NULL;
    int rc = 0;
    *out = (struct gss_answer){.kvno = -1};
    negotiate_read(token->bytes, token->count, &seen);
    if (seen.kind == NEGOTIATE_AP_REQ) {
        rc = negotiate_frame(token->bytes, token->count, &bytes, &framed.count, err);
        framed.bytes = bytes;
    }
    if (rc)
        gss_negotiation_free(token->kept);
    else
        rc = accept_bytes(acceptor, &framed, &seen, out, err);
    if (rc)
        gss_answer_done(out);
    return rc;
}
