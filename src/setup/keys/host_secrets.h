/* All secrets of an installation that this host can read, for a masker. Layer 4 (setup). SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "daemon_config.h"
#include "err.h"
#include "masker.h"
#include "store.h"
#include "strbuf.h"

struct host_secrets {
    struct masker *masker;
    size_t files;       /* whose secrets are known */
    size_t sealed;      /* values that are sealed in the database and are known */
    bool is_all;        /* the files that are there, and all that is sealed */
    struct strbuf told; /* a line for each that is not known, and why */
};

/* Tells the masker what is in the files that the configuration names, or kaasctl init made beside it, whatever their modes are: passwords of the
 * database, master keys, token of the metrics, TLS key, keytabs. *out (uninitialised) is given back by host_secrets_done, also after a failure. What
 * cannot be read is told, and is no failure. ERR_NOMEM, ERR_TOO_LARGE. */
int host_secrets_load(const struct config *config, const char *config_path, struct host_secrets *out, struct err *err);

/* Without a configuration, shapes are all that is known. ERR_NOMEM. */
int host_secrets_none(struct host_secrets *out, struct err *err);

/* Adds what is sealed in the database, opened by the master keys: passwords and keys for vCenters, HX clusters and directories, signing keys; and the keytabs
 * of directories. Blocks. As host_secrets_load. */
int host_secrets_load_sealed(struct host_secrets *secrets, const struct config *config, struct store *store, struct err *err);

void host_secrets_done(struct host_secrets *secrets); /* NULL and a zeroed struct are allowed */
