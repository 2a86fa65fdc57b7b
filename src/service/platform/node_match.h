/* Which virtual machine is which node: pure. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node's machine is the one with its instance UUID; if there is none, the one with its BIOS UUID; if there is none, the one with its VM
 * name. Several machines that fit equally well are no answer: a copy of a machine keeps name and BIOS UUID. Templates are never nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cluster.h"
#include "err.h"

/* What is known of a virtual machine. Texts are the owner's; NULL: unknown. */
struct node_vm {
    char *moref; /* never NULL */
    char *name, *instance_uuid, *bios_uuid;
    char *host_moref;
    enum vm_power power;
    enum vm_connection connection;
    bool is_template;
};

/* What was found for one target. */
struct node_found {
    const struct node_vm *vm; /* NULL: none, or several */
    enum vm_match match;      /* how; VM_MATCH_NONE without a machine */
    bool is_ambiguous;        /* several machines fit equally well */
};

struct node_matcher;

/* Makes a matcher over these targets, which must outlive it. ERR_NOMEM. */
int node_matcher_new(const struct node_target *targets, size_t count, struct node_matcher **out, struct err *err);
void node_matcher_free(struct node_matcher *matcher); /* NULL is allowed */

/* Forgets what was looked at: begins a new round. */
void node_matcher_reset(struct node_matcher *matcher);
/* Looks at one machine, which must live until the round ends. Its cost grows with the logarithm of the number of targets. */
void node_matcher_look(struct node_matcher *matcher, const struct node_vm *vm);
/* The verdict on target `i` after all machines were looked at. */
struct node_found node_matcher_get(const struct node_matcher *matcher, size_t i);
