/* What registering and unregistering found and did, as JSON. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "json.h"
#include "registration.h"

/* docs/openapi.yaml, Registration. A new reference for the caller, or NULL without memory. */
json_t *registration_view(const struct registration_report *report, bool is_dry_run);
