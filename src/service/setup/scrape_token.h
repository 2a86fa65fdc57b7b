/* The token by which a monitoring system reads the metrics. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon_config.h"
#include "digest.h"
#include "err.h"

/* The token itself is not kept. */
struct scrape_token {
    bool is_set;
    uint8_t digest[DIGEST_SHA256_BYTES];
};

/* Reads the file of metrics.token_file, if one is configured. ERR_CONFIG with what to write into it; errors of fs_read_secret. */
int scrape_token_read(const struct config *config, struct scrape_token *out, struct err *err);
