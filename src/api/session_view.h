/* A session and its vCenters in JSON. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "json.h"
#include "signon.h"
#include "snapshot.h"

/* How somebody signed in, as docs/openapi.yaml spells it; static. */
const char *session_view_method(enum source source);

/* A vCenter that a session speaks for: a new reference, or NULL without memory. */
json_t *session_view_vcenter(const struct dir_platform *platform, const struct signon_part *part);
