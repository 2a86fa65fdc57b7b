/* Throttling of one attempt to sign in: by name and by address. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "signon_private.h"
#include "str.h"

void gate_done(struct gate *gate) {
    free(gate->by_name);
    free(gate->by_address);
}

/* A directory compares names without the blanks at their ends and with one for several in the middle (RFC 4518 2.6.1): those are one name here, too. */
static void squeeze(char *text) {
    char *to = text;
    for (const char *at = text; *at; at++)
        if (*at != ' ' || (to > text && to[-1] != ' ' && to[-1] != ':'))
            *to++ = *at;
    while (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
}

int gate_open(struct gate *gate, struct signon *s, const struct signon_attempt *attempt, struct err *err) {
    const char *user = attempt->user;
    gate->signon = s;
    gate->has_name = user != NULL;
    gate->by_name = str_format("name:%s:%s", attempt->where, user ? user : "-");
    gate->by_address = str_format("address:%s", attempt->caller->address);
    if (!gate->by_name || !gate->by_address)
        return err_set(err, ERR_NOMEM, "out of memory");
    str_lower(gate->by_name);
    squeeze(gate->by_name);
    return gate_check(gate, err);
}

int gate_check(const struct gate *gate, struct err *err) {
    struct throttle *throttle = gate->signon->throttle;
    int rc = gate->has_name ? throttle_check(throttle, gate->by_name, SIGNON_FREE_TRIES, err) : 0;
    return rc ? rc : throttle_check(throttle, gate->by_address, SIGNON_FREE_TRIES_ADDRESS, err);
}

/* Only a refused proof counts: an unreachable vCenter is not a guess. A good sign-on clears the name, but takes only one failure off the
 * address: otherwise one good account would buy any number of guesses at others. */
void gate_note(struct gate *gate, int rc) {
    if (rc && rc != ERR_CREDENTIALS)
        return;
    if (gate->has_name)
        throttle_note(gate->signon->throttle, gate->by_name, rc);
    if (rc)
        throttle_note(gate->signon->throttle, gate->by_address, rc);
    else
        throttle_forgive(gate->signon->throttle, gate->by_address);
}
