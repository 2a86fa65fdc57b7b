/* Names of ids, from memory. Layer 5 (auth); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "directory_pool.h"

struct names;
/* Makes an empty memory, freed by names_free when nobody asks any more. ERR_NOMEM. */
int names_new(struct names **out, struct err *err);
void names_free(struct names *names); /* NULL is allowed */
/* Somebody has found out this name. */
void names_learn(struct names *names, const char *id, const char *text);
/* Resolves what is wanted of a source's; in its worker. */
void names_resolve(struct names *names, struct inventory_source *source);
/* Is there anything that this source has not been asked about? */
bool names_has_work(struct names *names, struct inventory_source *source);
/* As identity_get_name. */
bool names_get(struct names *names, const char *id, char out[IDENTITY_NAME_BYTES]);
