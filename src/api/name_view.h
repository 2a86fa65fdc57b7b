/* Names of people and groups beside their ids. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "json.h"

#include "api_call.h"

/* Puts the name under which an id is known as a member, or null: names are looked up in the background, and may be there the next time. */
void name_view_put(const struct api_call *call, json_t *object, const char *member, const char *id);
