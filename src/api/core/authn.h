/* Finds the caller and its rights before any handler runs. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* What has to be done before the handler may run. */
enum authn_step {
    AUTHN_DONE,
    AUTHN_NEEDS_DATABASE, /* the session must be read first: authn_load_session in the database worker pool */
    AUTHN_NEEDS_RIGHTS,   /* a vCenter must be asked first: authn_wait, then authn_take_answer */
};

/* Identifies the caller from memory: admin socket or bearer token; checks the permission; finds the rights. *step tells what is missing.
 * ERR_UNAUTHENTICATED, ERR_TOKEN_EXPIRED, ERR_SESSION_ENDED, ERR_FORBIDDEN. */
int authn_check(struct api_call *call, enum authn_step *step, struct err *err);

/* Reads a session that is not in memory, then goes on as authn_check. Blocks. */
int authn_load_session(struct api_call *call, enum authn_step *step, struct err *err);

/* Waits for the answer about rights that the call needs (http_submit_fn; `arg` is the call). Does not block and takes no thread. ERR_NOMEM: then run is not
 * called. */
int authn_wait(void *arg, worker_fn *run, void *run_arg, struct err *err);

/* Continues after the wait, with the rights known by then; *step may ask for another wait, if the caller is known to several vCenters. Errors of authn_check
 * and signon_get_rights. */
int authn_take_answer(struct api_call *call, enum authn_step *step, struct err *err);

/* Copies the refresh cookie, a secret, to `buffer` and returns that; NULL if the request has none of the right form. */
#define AUTHN_COOKIE_NAME "__Host-kaas"
#define AUTHN_COOKIE_BYTES 33
const char *authn_cookie(const struct api_call *call, char buffer[AUTHN_COOKIE_BYTES]);
