/* Accepting tokens of Kerberos, whom they make of somebody, and how it stands with the keytab. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kerberos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "clock.h"
#include "code_store.h"
#include "kerberos_private.h"
#include "names.h"
#include "negotiate.h"
#include "session_store.h"
#include "str.h"
#include "x509_chain.h"

/* The clocks of the replicas may differ a little. */
#define REPLICAS_DIFFER_MS (5LL * 60 * 1000)
#define PURGE_BATCH 5000U

_Static_assert(REPLAY_DIGEST_BYTES == GSS_DIGEST_BYTES, "one digest for both");

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

/* What the answer knows goes over to the peer, good or not. */
static int kerberos_take_answer(struct gss_answer *answer, struct kerberos_peer *out, struct err *err) {
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
    const size_t name_bytes = (size_t)(peer->realm - 1 - peer->name);
    _cleanup_free_ char *name = NULL;
    if (str_empty(account) || memchr(peer->name, '/', name_bytes))
        return false;
    name = strndup(peer->name, name_bytes);
    return !name || !name_same(account, name);
}

static void kerberos_take_person(struct gss_answer *answer, struct kerberos_peer *out) {
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

static int kerberos_forbid(struct kerberos_peer *out, const char *reason, const char *text, struct err *err) {
    out->reason = reason;
    return err_set(err, ERR_FORBIDDEN, "%s", text);
}

/* Without a PAC the name decides alone who somebody is, and in Active Directory who may write a UPN can choose one. */
static bool lacks_pac(const struct kerberos *k, const struct gss_answer *answer, const char *realm,
                      char directory[LDAPDIR_SOURCE_BYTES]) {
    const struct ldapdir_principal who = {.realm = realm, .id = "sid:"}; /* an id that Active Directory alone knows */
    return k->requires_pac && answer->pac == GSS_PAC_NONE && ldapdir_source_of(k->ldapdirs, &who, directory);
}

/* The token was good; is what it says? */
static int judge_accepted(struct kerberos *k, const struct gss_answer *answer, struct kerberos_peer *out, struct err *err) {
    char directory[LDAPDIR_SOURCE_BYTES];
    if (answer->pac == GSS_PAC_ALTERED || answer->pac == GSS_PAC_UNREADABLE) {
        out->is_alarming = true;
        return kerberos_forbid(out, answer->pac == GSS_PAC_ALTERED ? "pac_altered" : "pac_unreadable",
                               "the ticket's statement about groups cannot be trusted", err);
    }
    if (!kerberos_allows_realm(k, out->realm) || str_starts(out->name, "WELLKNOWN/"))
        return kerberos_forbid(out, "realm", "people of this realm may not sign in here", err);
    if (lacks_pac(k, answer, out->realm, directory)) {
        (void)kerberos_forbid(out, "no_pac", "the ticket lacks the statement that the domain signs about an account", err);
        return err_remedy(err, "an administrator of the domain lets it be made for our account; see: kaasctl ldap test %s",
                          directory);
    }
    memcpy(out->digest, answer->digest, sizeof(out->digest));
    out->digest_until_ms = answer->taken_until_ms + REPLICAS_DIFFER_MS;
    return 0;
}

/* For all replicas; the replay cache of libkrb5 is this one's own. */
static int kerberos_note_use(struct kerberos *k, struct kerberos_peer *out, struct err *err) {
    struct err why = {0};
    int rc = replay_store_note(k->store, out->digest, out->digest_until_ms, &why);
    if (rc == ERR_EXISTS) {
        out->reason = "replay";
        return kerberos_refuse(err);
    }
    return err_move(err, rc, &why);
}

static int kerberos_judge(struct kerberos *k, const struct gss_answer *answer, struct kerberos_peer *out, struct err *err) {
    switch (answer->verdict) {
    case GSS_ACCEPTED: return judge_accepted(k, answer, out, err);
    case GSS_GO_ON: return KERBEROS_GO_ON;
    case GSS_MALFORMED: return err_set(err, ERR_INVALID, "this is no token of Negotiate");
    case GSS_UNAVAILABLE:
        (void)err_set(err, ERR_UNAVAILABLE, "Kerberos tokens cannot be accepted now");
        return err_remedy(err, "an administrator looks at: kaasctl kerberos status (%s)", gss_reason_word(answer->reason));
    case GSS_REFUSED:
    default: return kerberos_refuse(err);
    }
}

static size_t copy_binding(struct kerberos *k, uint8_t out[GSS_BINDING_BYTES_MAX]) {
    size_t n;
    if (!k->looks_at_bindings)
        return 0;
    LOCKED(&k->lock);
    n = k->binding_bytes;
    memcpy(out, k->binding, n);
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
        rc = kerberos_take_answer(&answer, out, err);
    if (!rc)
        rc = kerberos_judge(k, &answer, out, err);
    if (!rc && !token->is_noted_later)
        rc = kerberos_note_use(k, out, err);
    if (!rc)
        kerberos_take_person(&answer, out);
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
    _cleanup_done_(x509_chain_done) struct x509_chain chain = {0};
    int rc = x509_chain_read(cert_pem, NULL, &chain, err);
    rc = rc ? rc : x509_end_point_binding(chain.certs[0].pem, binding, sizeof(binding), &n, err);
    if (rc)
        return rc;
    LOCKED(&k->lock);
    memcpy(k->binding, binding, n);
    k->binding_bytes = n;
    return 0;
}

/* -- from the principal of a ticket to a person with groups -------------------------------------------------------- */

/* At most a few wait for a directory at a time: the others' tokens do not need it. */
static int ask_directory(struct kerberos *k, const struct ldapdir_principal *who, struct ldapdir_person *out, struct err *err) {
    int rc;
    if (atomic_fetch_add(&k->asking, 1) >= KERBEROS_ASKING_MAX)
        rc = err_set(err, ERR_BUSY, "others wait for the directory already; try again shortly");
    else
        rc = ldapdir_lookup_principal(k->ldapdirs, who, out, err);
    (void)atomic_fetch_sub(&k->asking, 1);
    return rc;
}

/* What the ticket says. The directory of the realm, if there is one, is asked soon after: a ticket may be older than what became of the account. */
static int go_by_ticket(struct kerberos *k, const struct kerberos_peer *peer, const struct ldapdir_principal *who,
                        struct ldapdir_person *out, struct err *err) {
    struct ldapdir_person person = {.principal_id = str_dup(peer->principal_id), .name = str_dup(peer->name)};
    char directory[LDAPDIR_SOURCE_BYTES];
    const bool is_watched = ldapdir_source_of(k->ldapdirs, who, directory);
    int rc = person.principal_id && person.name ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    person.full_name = str_dup(peer->full_name);
    if (!rc && is_watched) {
        person.directory = str_dup(directory);
        person.mark = ldapdir_ticket_mark(peer->password_set_at);
        rc = person.directory && person.mark ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    }
    if (!rc)
        rc = group_set_copy(&peer->groups, &person.groups, err);
    if (rc)
        ldapdir_person_done(&person);
    else
        *out = person;
    return rc;
}

static int kerberos_fail(const struct kerberos *k, const struct kerberos_peer *peer, int rc, const struct err *why,
                         struct err *err) {
    const struct ldapdir_principal who = {.realm = peer->realm, .id = peer->principal_id};
    char directory[LDAPDIR_SOURCE_BYTES];
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_FORBIDDEN,
                      peer->has_groups ? "a directory has to be asked about you, and none serves the realm of the ticket"
                                       : "the ticket says nothing about groups, and no directory serves its realm");
        return err_remedy(err, "an administrator adds the directory of the realm: kaasctl ldap set NAME --realm %s", peer->realm);
    }
    if (rc == ERR_CREDENTIALS || rc == ERR_BUSY || rc == ERR_NOMEM)
        return err_move(err, rc, why);
    (void)err_set(err, ERR_UNAVAILABLE, "the directory that knows your groups cannot be asked now");
    (void)err_detail(err, "%s", why->text);
    if (!ldapdir_source_of(k->ldapdirs, &who, directory)) /* it was taken away just now */
        return err_remedy(err, "try again later");
    return err_remedy(err, "try again later; an administrator runs: kaasctl ldap test %s", directory);
}

static bool kerberos_has_to_ask(const struct kerberos *k, const struct kerberos_peer *peer) {
    if (!peer->has_groups || k->live_check == KERBEROS_ASK_ALL)
        return true;
    return k->live_check == KERBEROS_ASK_PRIVILEGED && k->is_privileged(k->arg, peer->principal_id, &peer->groups);
}

/* Nobody could say, in contrast to an answer, or to nobody being there to be asked at all. */
static bool kerberos_is_silence(int rc) {
    return rc != ERR_NOT_FOUND && rc != ERR_CREDENTIALS && rc != ERR_NOMEM;
}

/* After a PAC that was altered nobody comes here: there is no second way around a statement that somebody has changed. */
int kerberos_find_person(struct kerberos *k, const struct kerberos_peer *peer, struct ldapdir_person *out, struct err *err) {
    _cleanup_free_ char *name = str_format("%.*s", (int)(peer->realm - 1 - peer->name), peer->name); /* without the realm */
    const struct ldapdir_principal who = {.realm = peer->realm, .name = name, .id = peer->principal_id};
    struct err why = {0};
    int rc;
    if (!name)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!kerberos_has_to_ask(k, peer))
        return go_by_ticket(k, peer, &who, out, err);
    rc = ask_directory(k, &who, out, &why);
    if (!rc)
        return 0;
    if (!peer->has_groups || k->live_check != KERBEROS_ASK_PRIVILEGED || !kerberos_is_silence(rc))
        return kerberos_fail(k, peer, rc, &why, err);
    rc = go_by_ticket(k, peer, &who, out, err);
    if (!rc)
        out->is_unasked = true;
    return rc;
}

/* -- kerberos: life, allowed realms, and how it stands with the keytab --------------------------------------------- */

static const char *const aes[] = {"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha384-192",
                                  "aes128-cts-hmac-sha256-128", NULL};

static int read_enctypes(const char *const *names, int out[GSS_ENCTYPES_MAX], struct err *err) {
    size_t n = 0;
    for (; *names; names++) {
        int enctype = gss_enctype_parse(*names);
        if (!enctype || n + 1 == GSS_ENCTYPES_MAX) {
            (void)err_set(err, ERR_CONFIG, "auth.kerberos.encryption_types names \"%.60s\", which is %s", *names,
                          enctype ? "one too many" : "no encryption type that libkrb5 knows");
            return err_remedy(err, "use names as in krb5.conf, such as aes256-cts-hmac-sha1-96");
        }
        out[n++] = enctype;
    }
    return 0;
}

static char **kerberos_copy_texts(const char *const *from) {
    size_t n = 0;
    char **copy;
    while (from && from[n])
        n++;
    copy = calloc(n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = str_dup(from[i]);
        if (copy[i])
            continue;
        while (i--)
            free(copy[i]);
        free((void *)copy);
        return NULL;
    }
    return copy;
}

const char *kerberos_live_check_name(enum kerberos_live_check check) {
    static const char *const words[] = {
        [KERBEROS_ASK_NOBODY] = "off", [KERBEROS_ASK_PRIVILEGED] = "privileged", [KERBEROS_ASK_ALL] = "always"};
    return words[check];
}

int kerberos_new(const struct kerberos_options *options, struct kerberos **out, struct err *err) {
    const bool has_types = options->encryption_types && options->encryption_types[0];
    struct gss_options gss = {.keytab = options->keytab, .replay_cache = options->replay_cache};
    struct kerberos *k = calloc(1, sizeof(*k));
    int rc = k ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    (void)pthread_mutex_init(&k->lock, NULL);
    k->store = options->runtime->store;
    k->ldapdirs = options->ldapdirs;
    k->looks_at_bindings = options->looks_at_bindings;
    k->requires_pac = options->requires_pac;
    k->live_check = options->live_check;
    k->is_privileged = options->is_privileged;
    k->arg = options->arg;
    k->realms = kerberos_copy_texts(options->realms);
    rc = k->realms ? read_enctypes(has_types ? options->encryption_types : aes, gss.enctypes, err)
                   : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = gss_acceptor_new(&gss, &k->acceptor, err);
    if (rc) {
        kerberos_free(k);
        return rc;
    }
    kerberos_tick(k);
    *out = k;
    return 0;
}

void kerberos_free(struct kerberos *k) {
    if (!k)
        return;
    gss_acceptor_free(k->acceptor);
    for (char **realm = k->realms; realm && *realm; realm++)
        free(*realm);
    free((void *)k->realms);
    (void)pthread_mutex_destroy(&k->lock);
    free(k);
}

/* -- realms ----------------------------------------------------------------------------------------------------------------- */

static const char *realm_of(const char *principal) {
    const char *at = strrchr(principal, '@');
    return at ? at + 1 : "";
}

/* Realms are compared as they stand: case matters (RFC 4120 section 6.1). */
bool kerberos_allows_realm(struct kerberos *k, const char *realm) {
    if (!k->realms[0])
        return gss_acceptor_is_of_realm(k->acceptor, realm);
    for (size_t i = 0; k->realms[i]; i++)
        if (str_eq(k->realms[i], realm))
            return true;
    return false;
}

/* -- status ----------------------------------------------------------------------------------------------------------------- */

void kerberos_status_done(struct kerberos_status *status) {
    if (!status)
        return;
    for (size_t i = 0; i < status->keys_count; i++)
        free(status->keys[i].principal);
    free(status->keys);
    for (size_t i = 0; i < status->realms_count; i++)
        free(status->realms[i]);
    free((void *)status->realms);
    memset(status, 0, sizeof(*status));
}

static bool has_realm(const struct kerberos_status *status, const char *realm) {
    for (size_t i = 0; i < status->realms_count; i++)
        if (str_eq(status->realms[i], realm))
            return true;
    return false;
}

/* There is room for as many as there are keys, or configured realms. */
static int add_realm(struct kerberos_status *status, const char *realm) {
    if (has_realm(status, realm))
        return 0;
    status->realms[status->realms_count] = str_dup(realm);
    return status->realms[status->realms_count] ? (int)(status->realms_count++, 0) : ERR_NOMEM;
}

static int list_realms(const struct kerberos *k, struct kerberos_status *out) {
    size_t n = 0;
    int rc = 0;
    while (k->realms[n])
        n++;
    out->realms = calloc(n + out->keys_count + 1, sizeof(*out->realms));
    if (!out->realms)
        return ERR_NOMEM;
    for (size_t i = 0; !rc && i < n; i++)
        rc = add_realm(out, k->realms[i]);
    for (size_t i = 0; !rc && !n && i < out->keys_count; i++)
        rc = out->keys[i].is_used ? add_realm(out, realm_of(out->keys[i].principal)) : 0;
    return rc;
}

static int list_keys(struct gss_keys *keys, struct kerberos_status *out) {
    out->keys = calloc(keys->count + 1, sizeof(*out->keys));
    if (!out->keys)
        return ERR_NOMEM;
    for (size_t i = 0; i < keys->count; i++) {
        struct gss_key *from = &keys->items[i];
        struct kerberos_key *to = &out->keys[out->keys_count++];
        *to = (struct kerberos_key){
            .principal = STEAL(from->principal), .kvno = from->kvno, .made_at_ms = from->made_at_ms, .is_used = from->is_used};
        memcpy(to->encryption_type, from->enctype_name, sizeof(to->encryption_type));
        if (from->is_used && from->kvno > out->newest_kvno)
            out->newest_kvno = from->kvno;
    }
    return 0;
}

int kerberos_get_status(struct kerberos *k, struct kerberos_status *out, struct err *err) {
    struct kerberos_status status = {.looks_at_bindings = k->looks_at_bindings,
                                     .requires_pac = k->requires_pac,
                                     .live_check = k->live_check,
                                     .since_ms = atomic_load(&k->since_ms)};
    struct gss_keys keys;
    int rc;
    (void)gss_acceptor_look(k->acceptor, &keys, &status.problem);
    rc = list_keys(&keys, &status);
    if (!rc)
        rc = list_realms(k, &status);
    gss_keys_done(&keys);
    if (rc) {
        kerberos_status_done(&status);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = status;
    return 0;
}

struct gss_acceptor *kerberos_acceptor(const struct kerberos *k) {
    return k->acceptor;
}

void kerberos_tick(struct kerberos *k) {
    struct gss_keys keys;
    struct err err = {0};
    const bool is_usable = gss_acceptor_look(k->acceptor, &keys, &err) == 0;
    if (atomic_exchange(&k->is_usable, is_usable) != is_usable || !atomic_load(&k->since_ms))
        atomic_store(&k->since_ms, clock_wall_ms());
    gss_keys_done(&keys);
}

bool kerberos_is_usable(const struct kerberos *k) {
    return atomic_load(&k->is_usable);
}

/* Others than its owner and its group can read it, or change it: 0644, 0660. */
static bool kerberos_is_open(const char *path, char *out, size_t n) {
    struct stat st;
    if (*path != '/' || stat(path, &st) || !(st.st_mode & (S_IRWXO | S_IWGRP)))
        return false;
    (void)snprintf(out, n, "the keytab %s is open to others (mode %04o): who reads it can make tickets for everybody", path,
                   st.st_mode & 07777U);
    return true;
}

void kerberos_check_health(struct kerberos *kerberos, const char *keytab, struct findings *out) {
    struct finding f = {.step = "kerberos"};
    struct kerberos_status status;
    char words[512];
    if (!kerberos || kerberos_get_status(kerberos, &status, NULL))
        return;
    f.since_ms = status.since_ms;
    if (status.problem.code) {
        finding_say_error(&f, FINDING_FAILED, &status.problem);
    } else if (kerberos_is_open(keytab, words, sizeof(words))) {
        finding_say(&f, FINDING_WARNING, "%s", words);
        finding_advise(&f,
                       "chmod 0400 the file, owned by the user that kaasd runs as; if strangers could read it, make a new key");
    } else {
        finding_say(&f, FINDING_OK, "%zu keys, the newest of version %u", status.keys_count, status.newest_kvno);
    }
    findings_add(out, &f);
    kerberos_status_done(&status);
}
