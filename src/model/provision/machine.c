/* Machines that are nodes: words and memory. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine.h"

#include <stdlib.h>

const char *const machine_role_words[] = {[MACHINE_CONTROL_PLANE] = "control-plane", [MACHINE_WORKER] = "worker", NULL};
const char *const machine_state_words[] = {[MACHINE_DRAWN] = "drawn", [MACHINE_CLONED] = "cloned", [MACHINE_SEEDED] = "seeded",
                                           [MACHINE_READY] = "ready", [MACHINE_SICK] = "sick",     NULL};

void machine_done(struct machine *machine) {
    members_done(machine_members, machine, sizeof(*machine));
}

void machine_free(struct machine *machine) {
    machine_done(machine);
    free(machine);
}

void machine_list_done(struct machine_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        machine_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct machine_list){0};
}
