/* The gate that passwords pass. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failures are counted three times: of a party (net_addr.h) at one name, which is what slows a guesser down; of a party at all names; and at a
 * name from everywhere, so that many parties cannot guess at it without limit. The last two would let strangers keep somebody out. So a name
 * that has signed in from a party lately is free of them there; and at one name, sites that have not failed at it lately have an
 * allowance of their own, with a wait of a few seconds at most. Names that nobody has are counted like others. */
#include "gate.h"

#include <stdlib.h>

#include "names.h"
#include "net_addr.h"
#include "principal.h"
#include "signon_state.h"
#include "str.h"
#include "throttle.h"

#define KNOWN_MS (30LL * 24 * 3600 * 1000)
#define FAILED_LATELY_MS (15LL * 60 * 1000)

static const struct throttle_pace name_pace = {.burst = 30, .every_ms = 4000}; /* twice: of fresh sites, and of others */

void gate_done(struct gate *gate) {
    free(gate->name);
}

/* A directory compares names without the blanks at their ends and with one for several in the middle (RFC 4518 2.6.1): those are one name here, too. */
static void gate_squeeze(char *text) {
    char *to = text;
    for (const char *at = text; *at; at++)
        if (*at != ' ' || (to > text && to[-1] != ' ' && to[-1] != '\n'))
            *to++ = *at;
    while (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
}

/* Of this party at this name. */
static struct throttle_key pair_of(const struct gate *gate) {
    return (struct throttle_key){.kind = 'p', .name = gate->name, .party = gate->party};
}

static struct throttle_key party_of(const struct gate *gate) {
    return (struct throttle_key){.kind = 'a', .party = gate->party};
}

static struct throttle_key site_of(const struct gate *gate) {
    return (struct throttle_key){.kind = 's', .name = gate->name, .party = net_party_site(gate->party)};
}

static struct throttle_key gate_name_of(const struct gate *gate) {
    return (struct throttle_key){.kind = gate->is_from_fresh_site ? 'f' : 'n', .name = gate->name};
}

int gate_open(struct gate *gate, struct signon *s, const struct actor *actor, const char *where, const char *account,
              struct err *err) {
    struct throttle_key site;
    gate->signon = s;
    gate->name = str_format("%s\n%s", where, account);
    if (!gate->name)
        return err_set(err, ERR_NOMEM, "out of memory");
    name_fold(gate->name);
    gate_squeeze(gate->name);
    gate->party = net_party(actor->address);
    site = site_of(gate);
    gate->is_from_fresh_site = !throttle_is_marked(s->throttle, &site, FAILED_LATELY_MS);
    return gate_check(gate, err);
}

int gate_check(const struct gate *gate, struct err *err) {
    const struct throttle_key pair = pair_of(gate), party = party_of(gate), name = gate_name_of(gate);
    int64_t wait_ms;
    if (!gate->name)
        return 0;
    wait_ms = throttle_delay_ms(gate->signon->throttle, &pair, SIGNON_FREE_TRIES);
    if (!wait_ms && !throttle_is_marked(gate->signon->known, &pair, KNOWN_MS)) {
        wait_ms = throttle_delay_ms(gate->signon->throttle, &party, SIGNON_FREE_TRIES_PARTY);
        if (!wait_ms)
            wait_ms = throttle_pace_ms(gate->signon->throttle, &name, &name_pace);
    }
    if (!wait_ms)
        return 0;
    (void)err_set(err, ERR_TOO_MANY, "too many failed sign-ons; wait before the next one");
    if (err)
        err->retry_after_s = (unsigned)((wait_ms + 999) / 1000);
    return ERR_TOO_MANY;
}

/* An unreachable vCenter is not a guess. A good sign-on takes only one failure off the party, and none while others there have to wait: otherwise
 * one good account would buy any number of guesses at others. */
void gate_note(const struct gate *gate, int rc) {
    const struct throttle_key pair = pair_of(gate), party = party_of(gate), site = site_of(gate), name = gate_name_of(gate);
    struct throttle *throttle = gate->name ? gate->signon->throttle : NULL;
    if (!throttle || (rc && rc != ERR_CREDENTIALS))
        return;
    if (!rc) {
        throttle_forget(throttle, &pair);
        if (!throttle_delay_ms(throttle, &party, SIGNON_FREE_TRIES_PARTY))
            throttle_forgive(throttle, &party);
        throttle_mark(gate->signon->known, &pair);
        return;
    }
    throttle_fail(throttle, &pair);
    throttle_fail(throttle, &party);
    throttle_mark(throttle, &site);
    throttle_spend(throttle, &name, &name_pace);
}
