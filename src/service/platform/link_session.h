/* How a link makes its own session again: what it logs in with, and the checks before. Layer 4 (service/platform); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdatomic.h>

#include "err.h"
#include "link.h"
#include "link_login.h"

/* Belongs to one link. */
struct link_session {
    struct link *link;
    atomic_bool is_loaded;          /* false: the next login reads the credentials again */
    atomic_bool is_identity_fresh;  /* link_connect has just compared it: the login that follows need not */
    struct login_material material; /* touched by the login only, which the client's session lock serialises */
};

/* vim_login_fn with a struct link_session. */
int link_session_log_in(struct vim_client *client, void *session, struct err *err);

/* The credentials in the database have changed: the next login reads them again. */
void link_session_forget(struct link_session *session);

/* Wipes what is in memory. */
void link_session_done(struct link_session *session);
