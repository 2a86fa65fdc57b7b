/* Who asks, and with which rights, before any handler runs. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* What is missing before the handler may run. */
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

/* Waits for the answer about rights that the call needs (http_submit_fn; `arg` is the call). Does not block and takes no thread. */
int authn_wait(void *arg, worker_fn *run, void *run_arg, struct err *err);

/* Goes on when the wait is over, with what is known by then; *step may ask for another wait, if the caller is known to several vCenters. As
 * authn_check, and why nothing is known. */
int authn_take_answer(struct api_call *call, enum authn_step *step, struct err *err);

/* The refresh cookie: a secret in `buffer`, which is returned, or NULL if the request has none that could be one. */
#define AUTHN_COOKIE_NAME "__Host-kaas"
#define AUTHN_COOKIE_BYTES 33
const char *authn_cookie(const struct api_call *call, char buffer[AUTHN_COOKIE_BYTES]);
