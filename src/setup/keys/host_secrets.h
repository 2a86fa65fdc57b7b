/* Gives a masker all secrets of an installation that this host can read. Layer 4 (setup). SPDX-License-Identifier: GPL-3.0-or-later */
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
    size_t files;       /* number of files whose secrets the masker knows */
    size_t sealed;      /* number of values sealed in the database that it knows */
    bool is_all;        /* it knows the secrets of all files that are there, and all sealed values that were looked for */
    struct strbuf told; /* a line for each secret that it does not know, and why */
};

/* Adds the secrets in the files that the configuration names, or kaasctl init made beside it, whatever their modes are: passwords of the database, master
 * keys, token of the metrics, TLS key, keytabs. *out (uninitialised) is given back by host_secrets_done, also after a failure. A file that cannot be read is
 * a line in out->told, and no failure. ERR_NOMEM, ERR_TOO_LARGE. */
int host_secrets_load(const struct config *config, const char *config_path, struct host_secrets *out, struct err *err);

/* For a host without a configuration: the masker knows only the shapes of secrets. ERR_NOMEM. */
int host_secrets_none(struct host_secrets *out, struct err *err);

/* Adds the values sealed in the database, opened by the master keys: passwords and keys for vCenters, HX clusters and directories, signing keys; and the
 * keytabs of directories. Blocks. Errors as host_secrets_load. */
int host_secrets_load_sealed(struct host_secrets *secrets, const struct config *config, struct store *store, struct err *err);

void host_secrets_done(struct host_secrets *secrets); /* NULL and a zeroed struct are allowed */
