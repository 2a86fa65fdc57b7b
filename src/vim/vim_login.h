/* SOAP calls of SessionManager that both our own and other people's sessions need. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "vim_context.h"
#include "vim_session.h"

/* Input and result of a login. */
struct vim_wire_login {
    const char *user, *secret; /* password login; `secret` also: the clone ticket */
    const char *extension_key; /* certificate login */
    char *cookie;              /* secret; raw value of the new session */
    struct vim_user_session session;
};
void vim_wire_login_done(struct vim_wire_login *login);

/* Operations (vim_op_fn) on a context without cookie; arg is a struct vim_wire_login. */
int vim_wire_login_password(struct vim_context *ctx, void *arg, struct err *err);
int vim_wire_login_extension(struct vim_context *ctx, void *arg, struct err *err);
int vim_wire_clone_session(struct vim_context *ctx, void *arg, struct err *err);

/* Logout with the cookie of the context. */
int vim_wire_logout(struct vim_context *ctx, struct err *err);

/* Copies a decoded UserSession. ERR_PROTOCOL without key or user name. */
int vim_wire_user_session(const struct vim25__UserSession *from, struct vim_user_session *out, struct err *err);

/* A deep copy. ERR_NOMEM. */
int vim_user_session_copy(const struct vim_user_session *from, struct vim_user_session *out, struct err *err);
