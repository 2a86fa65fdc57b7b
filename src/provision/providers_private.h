/* What the files of providers share. Layer 5 (provision); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "link.h"
#include "providers.h"

struct providers {
    struct providers_options options;
};

/* How a place of this kind is called in messages: "vSphere cluster"; static. */
const char *provider_place_noun(enum provider_place_kind kind);

/* Finds the places of a document at its vCenter, and sets what they are; those that were resolved before are forgotten. Errors of providers_apply. */
int provider_resolve(struct link *link, struct provider *provider, struct err *err);
