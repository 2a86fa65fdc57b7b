/* What saving vSphere and HyperFlex clusters have in common. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "platform_store.h"
#include "store_tx.h"

/* Lets one save at a time pass and checks that the vCenter exists. ERR_NOT_FOUND. */
int platform_tx_begin(struct store_tx *tx, const struct platform_seen *seen, struct err *err);
