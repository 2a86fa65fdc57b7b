/* Going on without a master key that is lost: what it sealed is given up, all else stays. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon_config.h"
#include "err.h"
#include "key_store.h"
#include "seal.h"
#include "setup_check.h"
#include "store.h"
#include "strbuf.h"

struct forget {
    const struct config *config;
    struct store *store;       /* of the owner */
    struct strbuf held;        /* ids in the key file, separated by commas; none: there is no file */
    struct strbuf missing;     /* ids of keys that sealed something, or are to seal, and are not held; separated by ", " */
    struct seal_losses losses; /* what they sealed */
    bool is_audit_key_lost;
    char key_id[SEAL_KEY_ID_BYTES]; /* from forget_run on: which seals now */
    bool is_key_new;
    uint64_t audit_lines; /* hashed anew */
};

/* Looks what is lost, with the owner's account. Changes nothing. *f (uninitialised) is given back by forget_done, also after a failure. ERR_CONFLICT: nothing
 * is lost, or a replica runs that holds a missing key (it is named, with what to do); ERR_SCHEMA, ERR_CONFIG, errors of store.h. */
int forget_look(const struct config *config, const char *config_path, struct forget *f, struct err *err);
void forget_done(struct forget *f);

/* Makes a new master key, if there is no key file, and gives up what is lost, with an audit line that says so and names `who`. Then the state folder's notes
 * of audit lines, signed with the lost key, are removed on this host. ERR_IO, errors of store.h: then nothing but the key file has changed. */
int forget_run(struct forget *f, const char *who, const struct setup_user *user, struct err *err);
