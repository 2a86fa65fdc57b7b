/* Machines that are nodes, the addresses that are given out, and the folders of clusters. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "address_range.h"
#include "err.h"
#include "machine.h"
#include "store.h"
#include "uuid.h"

/* -- machines ---------------------------------------------------------------------------------------------------------------- */

/* Reads one; freed by machine_free. ERR_NOT_FOUND. */
int machine_store_load(struct store *store, const char *id, struct machine **out, struct err *err);
/* Reads those of a cluster, by name. *out (uninitialised) is given back by machine_list_done. */
int machine_store_list(struct store *store, const char *cluster_id, struct machine_list *out, struct err *err);

/* Where an address comes from. All borrowed. */
struct address_pool {
    const char *vcenter_id, *network; /* instance UUID, managed object id */
    const struct address_ranges *ranges;
    const char *provider; /* its name, for errors */
};

/* Writes a new machine, as drawn and with an address of the pool, in one transaction; address, state and time of `machine` are not looked at. 0 also if there is one
 * with its id: then nothing is written. ERR_CONFLICT: no address is left, naming provider and ranges; ERR_EXISTS: another machine has its name or instance_uuid. */
int machine_store_draw(struct store *store, const struct machine *machine, const struct address_pool *pool, struct err *err);
/* Draws a sick machine again: with this name and instance_uuid, as drawn, at no moref; its address stays. ERR_NOT_FOUND if it is not there, or not sick; ERR_EXISTS as
 * above. */
int machine_store_redraw(struct store *store, const char *id, const char *name, const char *instance_uuid, struct err *err);
/* Gives a sick machine another address, of this pool, in one transaction. ERR_NOT_FOUND if it is not there, or not sick; ERR_CONFLICT as above: then nothing changes. */
int machine_store_move(struct store *store, const char *id, const struct address_pool *pool, struct err *err);
/* Writes how far the machine with this id and instance_uuid is, and its moref (NULL: as it was). ERR_NOT_FOUND: it is gone, or was drawn again. */
int machine_store_set(struct store *store, const struct machine *machine, enum machine_state state, const char *moref,
                      struct err *err);
/* Removes a machine and gives its address back, in one transaction. 0 also if there is none. */
int machine_store_release(struct store *store, const char *id, struct err *err);

/* -- addresses of anything else ------------------------------------------------------------------------------------------------ */

#define ADDRESS_QUIET_MS (10 * 60 * 1000) /* how long nobody gets an address that was given back */

/* Gives `owner` (UUID) the first free address of the pool; the one that it has there already, if any. ERR_CONFLICT: none is left, naming provider and ranges. */
int address_store_lease(struct store *store, const struct address_pool *pool, const char *owner, char out[ADDRESS_TEXT_BYTES],
                        struct err *err);
/* Gives back what this owner has. 0 also if it has nothing. */
int address_store_release(struct store *store, const char *owner, struct err *err);
/* How many addresses of the pool nobody has, those that are quiet not counted. */
int address_store_count_free(struct store *store, const struct address_pool *pool, uint64_t *count, struct err *err);

/* -- folders of clusters ------------------------------------------------------------------------------------------------------- */

struct machine_folder {
    char vcenter_id[UUID_TEXT_BYTES];
    char moref[81]; /* managed object id */
};
/* The cluster's folder; all-zero with 0: none was written. */
int machine_store_get_folder(struct store *store, const char *cluster_id, struct machine_folder *out, struct err *err);
/* Writes or (moref NULL) forgets it. */
int machine_store_set_folder(struct store *store, const char *cluster_id, const char *vcenter_id, const char *moref,
                             struct err *err);
