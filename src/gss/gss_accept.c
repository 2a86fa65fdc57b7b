/* Accepting one token. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The major code decides what becomes of it. Minor codes come remapped out of the library, another number in each process, so the reason, which is for the log
 * only, is found by comparing texts. */
#include <errno.h>
#include <fcntl.h>
#include <gssapi/gssapi_ext.h>
#include <profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "digest.h"
#include "gss_acceptor_private.h"
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

static void gss_accept_refuse(struct gss_answer *out, enum gss_verdict verdict, enum gss_reason reason, const char *why) {
    out->verdict = verdict;
    out->reason = reason;
    if (why)
        (void)snprintf(out->why, sizeof(out->why), "%s", why);
}

/* -- credentials of the acceptor: one for each thread that accepts at a time --------------------------------------- */

/* libkrb5 locks a credential while it accepts: two threads with one are slower than one thread. */

const gss_OID_desc gss_oid_krb5 = {9, (void *)(uintptr_t) "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
const gss_OID_desc gss_oid_spnego = {6, (void *)(uintptr_t) "\x2b\x06\x01\x05\x05\x02"};

static void gss_slot_free(struct gss_slot *slot) {
    OM_uint32 minor;
    if (!slot)
        return;
    (void)gss_release_cred(&minor, &slot->cred);
    free(slot);
}

/* Only krb5, also inside SPNEGO: otherwise a plug-in for NTLM that somebody installs would change what we accept. */
static OM_uint32 gss_accept_acquire(const struct gss_acceptor *acceptor, unsigned long generation, gss_cred_id_t *out) {
    gss_OID_desc mechs[2] = {gss_oid_krb5, gss_oid_spnego};
    gss_OID_set_desc all = {2, mechs}, krb5_alone = {1, mechs};
    _cleanup_free_ char *keytab = str_format("MEMORY:kaas-%p-%lu", (const void *)acceptor, generation);
    _cleanup_free_ char *cache = str_format("file2:%s", acceptor->replay_cache);
    gss_key_value_element_desc elements[] = {{"keytab", keytab}, {"rcache", cache}};
    const gss_key_value_set_desc store = {2, elements};
    OM_uint32 minor, major = GSS_S_FAILURE;
    if (keytab && cache)
        major = gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &all, GSS_C_ACCEPT, &store, out, NULL, NULL);
    if (GSS_ERROR(major))
        return major;
    major = gss_set_neg_mechs(&minor, *out, &krb5_alone);
    if (GSS_ERROR(major))
        (void)gss_release_cred(&minor, out);
    return major;
}

static bool gss_accept_renew(const struct gss_acceptor *acceptor, unsigned long generation, struct gss_slot *slot) {
    OM_uint32 minor;
    if (slot->cred && slot->generation == generation)
        return true;
    (void)gss_release_cred(&minor, &slot->cred);
    slot->generation = generation;
    return !GSS_ERROR(gss_accept_acquire(acceptor, generation, &slot->cred));
}

/* An idle one, or an empty one. The keytab in memory must not go while a credential is made of it: *keys is another handle to it. */
static struct gss_slot *gss_accept_find(struct gss_acceptor *acceptor, unsigned long *generation, krb5_keytab *keys,
                                        struct gss_answer *out) {
    struct gss_slot *slot = NULL;
    *keys = NULL;
    LOCKED(&acceptor->lock);
    if (!gss_keytab_refresh(acceptor)) {
        (void)snprintf(out->why, sizeof(out->why), "%s", acceptor->why);
    } else {
        slot = acceptor->idle;
        if (slot)
            acceptor->idle = slot->next;
        *generation = acceptor->generation;
        if (!slot || slot->generation != *generation)
            (void)krb5_kt_dup(acceptor->context, acceptor->keys, keys);
        slot = slot ? slot : calloc(1, sizeof(*slot));
    }
    return slot;
}

static void gss_accept_let_go(struct gss_acceptor *acceptor, krb5_keytab keys) {
    if (!keys)
        return;
    LOCKED(&acceptor->lock);
    (void)krb5_kt_close(acceptor->context, keys);
}

/* Can the replay cache be written? libkrb5 opens the file so, too; a link is none of ours. */
static bool gss_replay_cache_works(const struct gss_acceptor *acceptor, char why[GSS_TEXT_BYTES]) {
    int fd _cleanup_close_ = open(acceptor->replay_cache, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return true;
    (void)snprintf(why, GSS_TEXT_BYTES, "%s", fd >= 0 ? "not a file" : strerror(errno));
    return false;
}

/* A credential for the keys of now. NULL, with the reason in `out`, if there is none. */
static struct gss_slot *gss_slot_take(struct gss_acceptor *acceptor, struct gss_answer *out) {
    krb5_keytab keys = NULL;
    unsigned long generation = 0;
    struct gss_slot *slot = gss_accept_find(acceptor, &generation, &keys, out);
    out->verdict = GSS_UNAVAILABLE;
    out->reason = GSS_REASON_KEYTAB;
    if (slot && !gss_accept_renew(acceptor, generation, slot)) {
        if (!gss_replay_cache_works(acceptor, out->why))
            out->reason = GSS_REASON_REPLAY_CACHE;
        gss_slot_free(slot);
        slot = NULL;
    }
    gss_accept_let_go(acceptor, keys);
    return slot;
}

static void gss_slot_give_back(struct gss_acceptor *acceptor, struct gss_slot *slot) {
    LOCKED(&acceptor->lock);
    slot->next = acceptor->idle;
    acceptor->idle = slot;
}

/* -- who a ticket is about: name, and what its PAC says ------------------------------------------------------------ */

/* libkrb5 has checked the signature of the PAC, but a wrong one fails nothing: the attributes are then missing, as if there were no PAC. The list of attributes
 * still names it. So: readable is good; listed but unreadable is altered; not listed is absent (krb5 1.20, as tried). */

/* False unless it is there and proved by the KDC. *value is released by the caller. */
static bool get_attribute(gss_name_t name, const char *which, gss_buffer_desc *value) {
    gss_buffer_desc attribute = {strlen(which), (void *)(uintptr_t)which}, shown = GSS_C_EMPTY_BUFFER;
    int is_proved = 0, is_complete = 0, more = -1;
    OM_uint32 minor, major;
    *value = (gss_buffer_desc)GSS_C_EMPTY_BUFFER;
    major = gss_get_name_attribute(&minor, name, &attribute, &is_proved, &is_complete, value, &shown, &more);
    (void)gss_release_buffer(&minor, &shown);
    if (!GSS_ERROR(major) && is_proved)
        return true;
    (void)gss_release_buffer(&minor, value);
    return false;
}

static bool has_attribute(gss_name_t name, const char *which) {
    gss_buffer_desc attribute;
    bool is_there = get_attribute(name, which, &attribute);
    OM_uint32 minor;
    if (is_there)
        (void)gss_release_buffer(&minor, &attribute);
    return is_there;
}

/* Does the ticket carry a PAC at all, whatever it is worth? */
static bool lists_pac(gss_name_t name) {
    static const char pac[] = "urn:mspac:";
    gss_buffer_set_t attributes = GSS_C_NO_BUFFER_SET; /* stays so when there are none */
    OM_uint32 minor, major = gss_inquire_name(&minor, name, NULL, NULL, &attributes);
    bool is_listed = GSS_ERROR(major); /* not known is no reason to believe that there is none */
    for (size_t i = 0; attributes && i < attributes->count; i++)
        is_listed |=
            attributes->elements[i].length >= sizeof(pac) - 1 && memcmp(attributes->elements[i].value, pac, sizeof(pac) - 1) == 0;
    (void)gss_release_buffer_set(&minor, &attributes);
    return is_listed;
}

static enum gss_pac read_pac(gss_name_t name, struct gss_answer *out) {
    struct err err = {0};
    gss_buffer_desc logon;
    OM_uint32 minor;
    int rc;
    if (get_attribute(name, "urn:mspac:logon-info", &logon)) {
        rc = pac_read_logon(logon.value, logon.length, &out->person, &err);
        (void)gss_release_buffer(&minor, &logon);
        if (rc)
            (void)snprintf(out->why, sizeof(out->why), "%.*s", (int)sizeof(out->why) - 1, err.text);
        return rc ? GSS_PAC_UNREADABLE : GSS_PAC_GOOD;
    }
    if (!lists_pac(name))
        return GSS_PAC_NONE;
    return has_attribute(name, "urn:mspac:client-info") ? GSS_PAC_NONE : GSS_PAC_ALTERED;
}

/* The realm stands behind the last "@" that is none of the name: those have a backslash before them. */
static const char *find_realm(const char *principal) {
    const char *realm = NULL;
    for (const char *p = principal; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '@')
            realm = p + 1;
    }
    return realm;
}

static bool gss_accept_copy_name(gss_name_t name, struct gss_answer *out) {
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor, major = gss_display_name(&minor, name, &text, NULL);
    if (!GSS_ERROR(major) && text.length && !memchr(text.value, 0, text.length))
        out->principal = str_format("%.*s", (int)text.length, (const char *)text.value);
    (void)gss_release_buffer(&minor, &text);
    out->realm = out->principal ? find_realm(out->principal) : NULL;
    return out->realm && *out->realm && str_utf8_chars(out->principal, strlen(out->principal)) > 0 &&
           !str_has_control(out->principal);
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
static bool gss_accept_passes(const struct gss_acceptor *acceptor, const struct negotiate_token *seen, struct gss_answer *out) {
    if (seen->kind == NEGOTIATE_MALFORMED)
        gss_accept_refuse(out, GSS_MALFORMED, GSS_REASON_MALFORMED, "not a token of SPNEGO or Kerberos");
    else if (seen->kind == NEGOTIATE_NTLM || (seen->kind == NEGOTIATE_SPNEGO && seen->offers_ntlm && !seen->offers_krb5))
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_NTLM, "NTLM is not spoken here");
    else if (seen->kind == NEGOTIATE_OTHER)
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_MECHANISM, "a token of another mechanism than Kerberos");
    else if (seen->authenticator.bytes && !gss_takes_enctype(acceptor, seen->ticket_enctype))
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_ENCTYPE, "the encryption type of the ticket is not accepted");
    else if (seen->authenticator.bytes && !gss_takes_enctype(acceptor, seen->session_enctype))
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_ENCTYPE, "the encryption type of the session key is not accepted");
    else
        return true;
    return false;
}

/* -- what the library says --------------------------------------------------------------------------------------------------- */

void gss_display(OM_uint32 code, const gss_OID_desc *mech, char why[GSS_TEXT_BYTES]) {
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor, more = 0, major = gss_display_status(&minor, code, GSS_C_MECH_CODE, (gss_OID)(uintptr_t)mech, &more, &text);
    if (!GSS_ERROR(major))
        (void)snprintf(why, GSS_TEXT_BYTES, "%.*s", (int)text.length, (const char *)text.value);
    (void)gss_release_buffer(&minor, &text);
}

bool gss_is_krb5(const gss_OID_desc *mech) {
    return mech && mech->length == gss_oid_krb5.length && !memcmp(mech->elements, gss_oid_krb5.elements, mech->length);
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
        gss_accept_refuse(out, GSS_REFUSED, reason, NULL);
    } else if (!gss_replay_cache_works(acceptor, broken)) {
        gss_accept_refuse(out, GSS_UNAVAILABLE, GSS_REASON_REPLAY_CACHE, broken);
    } else {
        bool names_cache = strstr(out->why, acceptor->replay_cache) != NULL;
        gss_accept_refuse(out, names_cache ? GSS_UNAVAILABLE : GSS_REFUSED,
                          names_cache ? GSS_REASON_REPLAY_CACHE : GSS_REASON_OTHER, NULL);
    }
}

static void gss_accept_judge(const struct gss_acceptor *acceptor, OM_uint32 major, struct gss_answer *out) {
    switch (GSS_ROUTINE_ERROR(major)) {
    case GSS_S_BAD_BINDINGS: gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_BINDING, NULL); break;
    case GSS_S_BAD_MECH:
    case GSS_S_NO_CRED: /* our credential is there: it is for no such mechanism */
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_MECHANISM, NULL);
        break;
    case GSS_S_CREDENTIALS_EXPIRED: /* the client's ticket: a key of ours does not expire */
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_EXPIRED, NULL);
        break;
    case GSS_S_DUPLICATE_TOKEN:
    case GSS_S_OLD_TOKEN: gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_REPLAY, NULL); break;
    case GSS_S_DEFECTIVE_CREDENTIAL: /* ours, which we have made of the keytab */
        gss_accept_refuse(out, GSS_UNAVAILABLE, GSS_REASON_KEYTAB, NULL);
        break;
    case GSS_S_DEFECTIVE_TOKEN: gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_MALFORMED, NULL); break;
    default: judge_failure(acceptor, out); break;
    }
}

bool gss_copy_token(const gss_buffer_desc *from, uint8_t **out, size_t *bytes) {
    if (!from->length)
        return true;
    *out = malloc(from->length);
    if (!*out)
        return false;
    memcpy(*out, from->value, from->length);
    *bytes = from->length;
    return true;
}

/* What one call of the library brought. */
struct gss_step {
    OM_uint32 major, minor, flags, left_s;
    gss_name_t name;
    gss_OID mech;
    gss_buffer_desc reply;
};

static void gss_accept_finish(const struct gss_acceptor *acceptor, const struct gss_negotiation *negotiation,
                              const struct gss_step *step, struct gss_answer *out) {
    if (!gss_is_krb5(step->mech) || !negotiation->has_digest) {
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_MECHANISM, "the context was made by something else than Kerberos");
        return;
    }
    if (!gss_accept_copy_name(step->name, out)) {
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_OTHER, "the name of the client cannot be written");
        return;
    }
    out->pac = read_pac(step->name, out);
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
static void gss_accept_call_library(struct gss_slot *slot, const struct gss_token *token, struct gss_negotiation *negotiation,
                                    struct gss_step *step) {
    gss_buffer_desc in = {token->count, (void *)(uintptr_t)token->bytes};
    struct gss_channel_bindings_struct binding = {.application_data = {token->binding_bytes, (void *)(uintptr_t)token->binding}};
    step->major = gss_accept_sec_context(&step->minor, &negotiation->context, slot->cred, &in,
                                         token->binding ? &binding : GSS_C_NO_CHANNEL_BINDINGS, &step->name, &step->mech,
                                         &step->reply, &step->flags, &step->left_s, NULL);
}

static int gss_accept_take_step(struct gss_acceptor *acceptor, const struct gss_token *token,
                                struct gss_negotiation **negotiation, struct gss_answer *out) {
    struct gss_step step = {.name = GSS_C_NO_NAME};
    struct gss_slot *slot = gss_slot_take(acceptor, out);
    OM_uint32 minor;
    bool is_kept;
    if (!slot)
        return 0;
    gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_OTHER, NULL);
    gss_accept_call_library(slot, token, *negotiation, &step);
    gss_slot_give_back(acceptor, slot);
    is_kept = gss_copy_token(&step.reply, &out->reply, &out->reply_bytes);
    if (GSS_ERROR(step.major)) {
        gss_display(step.minor, step.mech ? step.mech : &gss_oid_krb5, out->why);
        gss_accept_judge(acceptor, step.major, out);
    } else if (step.major & GSS_S_CONTINUE_NEEDED) {
        gss_accept_refuse(out, GSS_GO_ON, GSS_REASON_NONE, NULL);
        out->kept = STEAL(*negotiation);
    } else {
        gss_accept_finish(acceptor, *negotiation, &step, out);
    }
    (void)gss_release_name(&minor, &step.name);
    (void)gss_release_buffer(&minor, &step.reply);
    return is_kept ? 0 : ERR_NOMEM;
}

/* -- the whole ---------------------------------------------------------------------------------------------------------------- */

/* What was kept is for a later token only: a first one begins anew, whoever sends it on this connection. */
static struct gss_negotiation *gss_accept_begin(const struct gss_token *token, const struct negotiate_token *seen) {
    if (token->kept && seen->kind == NEGOTIATE_SPNEGO_NEXT)
        return token->kept;
    gss_negotiation_free(token->kept);
    return calloc(1, sizeof(struct gss_negotiation));
}

static int accept_bytes(struct gss_acceptor *acceptor, const struct gss_token *token, const struct negotiate_token *seen,
                        struct gss_answer *out, struct err *err) {
    _cleanup_(gss_negotiation_free) struct gss_negotiation *negotiation = gss_accept_begin(token, seen);
    if (!negotiation)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!gss_accept_passes(acceptor, seen, out))
        return 0;
    if (seen->kind == NEGOTIATE_SPNEGO_NEXT && !negotiation->context) {
        gss_accept_refuse(out, GSS_REFUSED, GSS_REASON_MALFORMED, "nothing was begun on this connection");
        return 0;
    }
    note_ap_req(negotiation, seen);
    return gss_accept_take_step(acceptor, token, &negotiation, out) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* A copy with the OID that the library knows in the frame: both are equally long. */
static int rename_mechanism(const struct gss_token *token, const struct negotiate_token *seen, uint8_t **out, struct err *err) {
    *out = malloc(token->count);
    if (!*out)
        return err_set(err, ERR_NOMEM, "out of memory");
    memcpy(*out, token->bytes, token->count);
    memcpy(*out + (seen->old_oid.bytes - token->bytes), gss_oid_krb5.elements, seen->old_oid.count);
    return 0;
}

int gss_acceptor_accept(struct gss_acceptor *acceptor, const struct gss_token *token, struct gss_answer *out, struct err *err) {
    struct negotiate_token seen;
    struct gss_token framed = *token;
    _cleanup_free_ uint8_t *bytes = NULL;
    int rc = 0;
    *out = (struct gss_answer){.kvno = -1};
    negotiate_read(token->bytes, token->count, &seen);
    if (seen.kind == NEGOTIATE_AP_REQ)
        rc = negotiate_frame(token->bytes, token->count, &bytes, &framed.count, err);
    else if (seen.old_oid.bytes)
        rc = rename_mechanism(token, &seen, &bytes, err);
    if (bytes)
        framed.bytes = bytes;
    if (rc)
        gss_negotiation_free(token->kept);
    else
        rc = accept_bytes(acceptor, &framed, &seen, out, err);
    if (rc)
        gss_answer_done(out);
    return rc;
}

/* -- life ------------------------------------------------------------------------------------------------------------------- */

static int64_t read_skew_ms(krb5_context context) {
    struct _profile_t *profile = NULL;
    int skew_s = 300;
    if (krb5_get_profile(context, &profile) == 0) {
        (void)profile_get_integer(profile, "libdefaults", "clockskew", NULL, 300, &skew_s);
        profile_release(profile);
    }
    return skew_s * 1000LL;
}

int gss_acceptor_new(const struct gss_options *options, struct gss_acceptor **out, struct err *err) {
    struct gss_acceptor *acceptor = calloc(1, sizeof(*acceptor));
    krb5_error_code code;
    if (!acceptor)
        return err_set(err, ERR_NOMEM, "out of memory");
    code = krb5_init_context(&acceptor->context);
    if (code) {
        free(acceptor);
        (void)err_set(err, ERR_CONFIG, "libkrb5 cannot use krb5.conf: %s", error_message(code));
        return err_remedy(err, "correct /etc/krb5.conf, or the file that KRB5_CONFIG names");
    }
    (void)pthread_mutex_init(&acceptor->lock, NULL);
    acceptor->keytab = str_dup(options->keytab);
    acceptor->replay_cache = str_dup(options->replay_cache);
    memcpy(acceptor->enctypes, options->enctypes, sizeof(acceptor->enctypes));
    acceptor->skew_ms = read_skew_ms(acceptor->context);
    if (!acceptor->keytab || !acceptor->replay_cache) {
        gss_acceptor_free(acceptor);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = acceptor;
    return 0;
}

void gss_acceptor_free(struct gss_acceptor *acceptor) {
    if (!acceptor)
        return;
    while (acceptor->idle) {
        struct gss_slot *slot = acceptor->idle;
        acceptor->idle = slot->next;
        gss_slot_free(slot);
    }
    gss_keytab_drop(acceptor);
    krb5_free_context(acceptor->context);
    (void)pthread_mutex_destroy(&acceptor->lock);
    free(acceptor->keytab);
    free(acceptor->replay_cache);
    free(acceptor);
}

static int copy_keys(const struct gss_keys *from, struct gss_keys *out) {
    out->items = calloc(from->count + 1, sizeof(*out->items));
    if (!out->items)
        return ERR_NOMEM;
    for (size_t i = 0; i < from->count; i++) {
        out->items[i] = from->items[i];
        out->items[i].principal = str_dup(from->items[i].principal);
        out->count++;
        if (!out->items[i].principal)
            return ERR_NOMEM;
    }
    return 0;
}

static int fail_keytab(const struct gss_acceptor *acceptor, const char *why, struct err *err) {
    (void)err_set(err, ERR_CONFIG, "the keytab \"%s\" cannot be used: %s", acceptor->keytab, why);
    return err_remedy(
        err, "put a keytab there that this service may read, with AES keys of its HTTP/... principal; no restart is needed");
}

int gss_acceptor_look(struct gss_acceptor *acceptor, struct gss_keys *keys, struct err *err) {
    struct gss_keys copy = {0};
    char why[GSS_TEXT_BYTES];
    int rc = 0;
    (void)pthread_mutex_lock(&acceptor->lock);
    if (!gss_keytab_refresh(acceptor))
        rc = fail_keytab(acceptor, acceptor->why, err);
    if (copy_keys(&acceptor->list, &copy)) {
        gss_keys_done(&copy);
        rc = err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)pthread_mutex_unlock(&acceptor->lock);
    if (!rc && !gss_replay_cache_works(acceptor, why)) {
        rc = err_set(err, ERR_CONFIG, "the replay cache \"%s\" cannot be written: %s", acceptor->replay_cache, why);
        (void)err_remedy(err, "make its folder, writable for this service, on a file system in memory");
    }
    *keys = copy;
    return rc;
}
