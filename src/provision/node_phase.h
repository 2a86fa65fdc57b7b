/* What a machine tells of its becoming a node, by guestinfo.kaas.phase and guestinfo.kaas.error. Layer 5 (provision); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The writing side is node_start.sh, which runs in the machine. Whoever owns the machine can write anything there: words are those of node_phases.def, all else is capped
 * and shown as what the machine says. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define NODE_PHASE_KEY "guestinfo.kaas.phase"
#define NODE_ERROR_KEY "guestinfo.kaas.error"

enum node_phase {
#define NODE_PHASE(name, word, text) NODE_PHASE_##name,
#define NODE_FAULT(name, word, is_lasting, text, remedy)
#include "node_phases.def"
#undef NODE_PHASE
#undef NODE_FAULT
    NODE_PHASE_COUNT
};

enum node_fault {
#define NODE_PHASE(name, word, text)
#define NODE_FAULT(name, word, is_lasting, text, remedy) NODE_FAULT_##name,
#include "node_phases.def"
#undef NODE_PHASE
#undef NODE_FAULT
    NODE_FAULT_COUNT
};

#define NODE_DETAIL_CHARS_MAX 300

/* What was read. */
struct node_told {
    enum node_phase phase; /* NODE_PHASE_NONE: it has told none; NODE_PHASE_UNKNOWN: a word that is not known */
    enum node_fault fault; /* NODE_FAULT_NONE: nothing is wrong */
    char
        detail[NODE_DETAIL_CHARS_MAX * 4 + 1]; /* what the machine says of it: one line of UTF-8 without control characters; "" */
};

/* Reads the two values (NULL: not there); `bytes` that are not ended by NUL are not needed: both are texts. Never fails. */
void node_phase_read(const char *phase, const char *error, struct node_told *out);

const char *node_phase_word(enum node_phase phase); /* static, never NULL */
const char *node_phase_text(enum node_phase phase); /* for people: "kubeadm joins it to the cluster"; static, never NULL */
/* For people; static, never NULL ("" of NODE_FAULT_NONE). */
const char *node_fault_word(enum node_fault fault);
const char *node_fault_text(enum node_fault fault);
const char *node_fault_remedy(enum node_fault fault);
/* True if the machine does not get over it by waiting: it stops (NODE_PHASE_FAILED, with killed-for-memory once kubeadm has ended), and begins anew with its next boot. */
bool node_fault_is_lasting(enum node_fault fault);

/* Sets the error of a machine that failed: `node` is its name; text, what it says, and remedy. Returns ERR_UPSTREAM. */
int node_fault_set(const char *node, const struct node_told *told, struct err *err);
