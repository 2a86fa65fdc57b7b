/* From the principal of a ticket to a person with groups. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * After a PAC that was altered nobody comes here: there is no second way around a statement that somebody has changed. */
#include <stdlib.h>
#include <string.h>

#include "kerberos_private.h"
#include "str.h"

/* The name without its realm. Caller frees. */
static char *local_part(const struct kerberos_peer *peer) {
    return str_format("%.*s", (int)(peer->realm - 1 - peer->name), peer->name);
}

/* At most a few wait for a directory at a time: the others' tokens do not need it. */
static int ask_directory(struct kerberos *k, const struct identity_principal *who, struct identity_person *out, struct err *err) {
    int rc;
    if (atomic_fetch_add(&k->asking, 1) >= KERBEROS_ASKING_MAX)
        rc = err_set(err, ERR_BUSY, "others wait for the directory already; try again shortly");
    else
        rc = identity_lookup_principal(k->identity, who, out, err);
    (void)atomic_fetch_sub(&k->asking, 1);
    return rc;
}

/* What the ticket says. The directory of the realm, if there is one, is asked soon after: a ticket may be older than what became of the account. */
static int go_by_ticket(struct kerberos *k, const struct kerberos_peer *peer, const struct identity_principal *who,
                        struct identity_person *out, struct err *err) {
    struct identity_person person = {.principal_id = str_dup(peer->principal_id), .name = str_dup(peer->name)};
    char directory[IDENTITY_SOURCE_BYTES];
    const bool is_watched = identity_source_of(k->identity, who, directory);
    int rc = person.principal_id && person.name ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    person.full_name = str_dup(peer->full_name);
    if (!rc && is_watched) {
        person.directory = str_dup(directory);
        person.mark = identity_ticket_mark(peer->password_set_at);
        rc = person.directory && person.mark ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    }
    if (!rc)
        rc = group_set_copy(&peer->groups, &person.groups, err);
    if (rc)
        identity_person_done(&person);
    else
        *out = person;
    return rc;
}

static int fail(const struct kerberos_peer *peer, int rc, const struct err *why, struct err *err) {
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_FORBIDDEN,
                      peer->has_groups ? "a directory has to be asked about you, and none serves the realm of the ticket"
                                       : "the ticket says nothing about groups, and no directory serves its realm");
        return err_remedy(err, "an administrator adds the directory of the realm: kaasctl ldap set");
    }
    if (rc == ERR_CREDENTIALS || rc == ERR_BUSY || rc == ERR_NOMEM)
        return err_move(err, rc, why);
    (void)err_set(err, ERR_UNAVAILABLE, "the directory that knows your groups cannot be asked now");
    (void)err_detail(err, "%s", why->text);
    return err_remedy(err, "try again later; an administrator runs: kaasctl ldap test");
}

static bool has_to_ask(const struct kerberos *k, const struct kerberos_peer *peer) {
    if (!peer->has_groups || k->live_check == KERBEROS_ASK_ALL)
        return true;
    return k->live_check == KERBEROS_ASK_PRIVILEGED && k->is_privileged(k->arg, peer->principal_id, &peer->groups);
}

/* Nobody could say, in contrast to an answer, or to nobody being there to be asked at all. */
static bool is_silence(int rc) {
    return rc != ERR_NOT_FOUND && rc != ERR_CREDENTIALS && rc != ERR_NOMEM;
}

int kerberos_find_person(struct kerberos *k, const struct kerberos_peer *peer, struct identity_person *out, struct err *err) {
    _cleanup_free_ char *name = local_part(peer);
    const struct identity_principal who = {.realm = peer->realm, .name = name, .id = peer->principal_id};
    struct err why = {0};
    int rc;
    if (!name)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!has_to_ask(k, peer))
        return go_by_ticket(k, peer, &who, out, err);
    rc = ask_directory(k, &who, out, &why);
    if (!rc)
        return 0;
    if (!peer->has_groups || k->live_check != KERBEROS_ASK_PRIVILEGED || !is_silence(rc))
        return fail(peer, rc, &why, err);
    rc = go_by_ticket(k, peer, &who, out, err);
    if (!rc)
        out->is_unasked = true;
    return rc;
}
