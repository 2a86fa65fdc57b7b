/* Sign-on: credentials become sessions, sessions become tokens, tokens become principals. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls marked "blocks" run in worker pools. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "live_session.h"
#include "login.h"
#include "one_time_code.h"
#include "policy.h"
#include "signon_vcenter.h"
#include "session.h"
#include "session_rights.h"
#include "sessions.h"
#include "signing_keys.h"
#include "signon_options.h"

struct signon;

/* Makes sign-on, with no session yet. ERR_NOMEM. Freed by signon_free when no call runs. */
int signon_new(const struct signon_options *options, struct signon **out, struct err *err);
void signon_free(struct signon *signon); /* NULL is allowed */
/* Sets the limits for sign-ons from now on; sessions over the limit end when their principal signs in next. */
void signon_set_limits(struct signon *signon, struct signon_limits limits);
/* Ends all waits for rights and asks no vCenter any more. Call it before the worker pools of the vCenters end. NULL is allowed. */
void signon_stop(struct signon *signon);

/* Loads signing keys (making the first one) and as many live sessions as memory has room for; ends sessions in memory that have ended in the database.
 * Blocks. Call it until it succeeds, and whenever changes may have been missed. */
int signon_load(struct signon *signon, struct err *err);

struct metric_page;
/* Puts on the page how many sessions are in memory. Does not block. */
void signon_write_metrics(struct signon *signon, struct metric_page *page);

/* Removes ended sessions from memory and database, and expired one-time codes. Blocks. */
int signon_purge(struct signon *signon, struct err *err);
