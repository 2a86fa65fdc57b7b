/* The identity of the installation. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "store.h"
#include "uuid.h"

/* Gives the installation's UUID, made by whoever asks first; everybody gets the same. */
int installation_store_load(struct store *store, char uuid[UUID_TEXT_BYTES], struct err *err);
