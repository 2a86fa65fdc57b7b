/* Builds the daemon out of its parts, in order, and takes it down in reverse. Layer 7 (daemon): the only place that knows all modules.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "daemon_config.h"
#include "err.h"

struct wire;

/* Builds everything and starts to listen; background work begins. Takes the configuration over, also on failure. ERR_CONFIG, ERR_IO. */
int wire_up(struct config *config, const char *config_path, struct wire **out, struct err *err);

/* Makes /readyz say that this replica stops soon, and each answer close its connection; returns for how many ms to keep serving like that. */
int64_t wire_drain(struct wire *wire);

/* Stops listening, lets work under way end, logs out of vCenters, frees everything. NULL is allowed. */
void wire_down(struct wire *wire);

/* Reloads what may change while running: level and form of the log, and server certificate. ERR_CONFIG leaves everything as it was; health reports the
 * failure until a reload succeeds. */
int wire_reload(struct wire *wire, struct err *err);
