/* From what a person types to the object at kaasd: vCenters, clusters, HX clusters by name or id. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "cli_show.h"
#include "json.h"

/* A kind of things that have names and ids. */
struct cli_kind {
    const char *word;                                  /* "vCenter" */
    const char *command;                               /* that lists them */
    const char *path;                                  /* of the list in the interface */
    const struct cli_column *shown;                    /* three columns, where a name fits several */
    bool (*fits)(const json_t *item, const char *ref); /* whether it is named so */
    bool has_own_path;                                 /* PATH/ID is asked before the list is searched */
};

/* vCenters by instance UUID, name, address or address:port; local users by name in any case, or id; the others by name or id. */
extern const struct cli_kind cli_vcenters, cli_clusters, cli_hx_clusters, cli_users, cli_services;

/* The one thing of this kind that `ref` names. *out is the API's object, freed by json_decref. Connects if necessary.
 * ERR_NOT_FOUND; ERR_AMBIGUOUS with the candidates told below the error. */
int cli_find(struct cli *cli, const struct cli_kind *kind, const char *ref, json_t **out, struct err *err);

/* True if `ref` names this vCenter. */
bool cli_is_vcenter(const json_t *vcenter, const char *ref);

/* For columns: the address of a vCenter, with the port if it is not the usual one. */
void show_vcenter_address(struct table *t, const json_t *vcenter);

/* Takes "VCENTER:REST" apart, for the one of these vCenters whose longest name fits: *vcenter is borrowed from the array, *rest is in `text`. Without
 * such a prefix *vcenter is the only one that there is, or NULL, and *rest is `text`. ERR_AMBIGUOUS. */
int cli_split_vcenter(const json_t *vcenters, const char *text, const json_t **vcenter, const char **rest, struct err *err);

/* Adds the `candidates` of the server's last problem, if there are any, below the error. */
void cli_add_candidates(struct cli *cli);
