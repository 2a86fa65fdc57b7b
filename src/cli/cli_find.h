/* From what a person types to the object at kaasd: vCenters, clusters, HX clusters by name or id. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "cli_table.h"
#include "json.h"

/* The vCenter with this instance UUID, name, address or address:port. *out is the API's object, freed by json_decref.
 * ERR_NOT_FOUND; ERR_AMBIGUOUS with the candidates told below the error. Connects if necessary. */
int cli_find_vcenter(struct cli *cli, const char *ref, json_t **out, struct err *err);

/* The cluster with this name or id. As above. */
int cli_find_cluster(struct cli *cli, const char *ref, json_t **out, struct err *err);

/* The HX cluster with this name or id. As above. */
int cli_find_hx(struct cli *cli, const char *ref, json_t **out, struct err *err);

/* The local user with this name, in any case, or id. As above. */
int cli_find_user(struct cli *cli, const char *ref, json_t **out, struct err *err);

/* The service account with this name or id. As above. */
int cli_find_service(struct cli *cli, const char *ref, json_t **out, struct err *err);

/* All vCenters; *items is freed by json_decref. */
int cli_list_vcenters(struct cli *cli, json_t **items, struct err *err);

/* True if `ref` names this vCenter. */
bool cli_is_vcenter(const json_t *vcenter, const char *ref);

/* For columns: the address of a vCenter, with the port if it is not the usual one. */
void show_vcenter_address(struct table *t, const json_t *vcenter);

/* Takes "VCENTER:REST" apart, for the one of these vCenters whose longest name fits: *vcenter is borrowed from the array, *rest is in `text`. Without
 * such a prefix *vcenter is NULL and *rest is `text`. ERR_AMBIGUOUS. */
int cli_split_vcenter(const json_t *vcenters, const char *text, const json_t **vcenter, const char **rest, struct err *err);

/* Adds the `candidates` of the server's last problem, if there are any, below the error. */
void cli_add_candidates(struct cli *cli);

/* "/v2/vcenters/ID" with "/verb" behind it if verb is not NULL. Caller frees; NULL without memory. */
char *cli_path_of(const char *collection, const json_t *object, const char *verb);
