/* Grants as JSON. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"
#include "grant.h"
#include "json.h"
#include "snapshot.h"

/* A grant with the name of what it is on, and whom it is for, as far as they are known. New references for the caller, or NULL without memory. */
json_t *grant_view(const struct api_call *call, const struct grant *g);
json_t *grant_view_bare(const struct dir_snapshot *snapshot, const struct grant *g); /* without the name of whom it is for */
/* The name of what it is on, malloc'ed; NULL if it is not known, or not any more. */
char *grant_view_object_name(const struct dir_snapshot *snapshot, const struct grant *g);
