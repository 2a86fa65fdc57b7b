/* Goes on without a master key that is lost: the values that it sealed are removed, all else stays. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon_config.h"
#include "err.h"
#include "seal_store.h"
#include "seal.h"
#include "setup_check.h"
#include "store.h"
#include "strbuf.h"

struct forget {
    const struct config *config;
    struct store *store;   /* of the owner */
    struct strbuf held;    /* ids in the key file, separated by commas; none: there is no file */
    struct strbuf missing; /* ids of keys that sealed something, or were chosen to seal, and are not held; separated by ", " */
    struct seal_losses losses; /* the values that they sealed */
    bool is_audit_key_lost;
    char key_id[SEAL_KEY_ID_BYTES]; /* valid from forget_run on: the key that seals now */
    bool is_key_new;                /* forget_run has made that key */
    uint64_t audit_lines;           /* number of audit lines that were hashed anew */
};

/* Finds out what is lost, with the owner's account. Changes nothing. *f (uninitialised) is given back by forget_done, also after a failure. ERR_CONFLICT:
 * nothing is lost, or a running replica holds a missing key (it is named, with a remedy); ERR_SCHEMA, ERR_CONFIG, errors of store.h. */
int forget_look(const struct config *config, const char *config_path, struct forget *f, struct err *err);
void forget_done(struct forget *f);

/* Makes a new master key, if there is no key file, and removes the lost values, with an audit line that says so and names `who`. If the key of the audit log
 * was lost, too, then removes the files about ends of audit chains from the state folder of this host, since that key signed them. ERR_IO, errors of store.h:
 * then only the key file may have changed. */
int forget_run(struct forget *f, const char *who, const struct setup_user *user, struct err *err);
