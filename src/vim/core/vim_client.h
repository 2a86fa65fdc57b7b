/* Inside of a client: contexts, session, breaker; how operations are run. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "limits.h"
#include "vim.h"
#include "vim_context.h"

/* -- circuit breaker: stops asking a server that only times out ---------------------------------------------------- */

/* All-zero is closed: everything passes. */
struct vim_breaker {
    unsigned timeouts;     /* in a row */
    int64_t open_until_ms; /* monotonic */
    bool is_probing;       /* one call is out to see whether the server is back */
};

/* Asks to make a call at `now_ms`. 0, or ERR_UNREACHABLE with retry_after_s while open. Every 0 must be followed by vim_breaker_leave. */
int vim_breaker_enter(struct vim_breaker *breaker, int64_t now_ms, struct err *err);

/* Tells how the call ended (0 or an ERR_* code); `random` spreads the back-off. */
void vim_breaker_leave(struct vim_breaker *breaker, int64_t now_ms, int outcome, uint32_t random);

/* -- the client ---------------------------------------------------------------------------------------------------- */

/* How often a lost session is renewed for one call: a first new session may be that of another thread and gone as well; the second one is made for this
 * call. */
#define VIM_RENEWALS_MAX 2U

struct vim_client {
    /* fixed after vim_client_new */
    char *host; /* as in URLs: IPv6 in brackets */
    char *verify_host, *peer, *url, *versions_url, *ca_pem, *user_agent;
    char *instance_uuid; /* of the vCenter that must answer; NULL: any */
    uint8_t pin_sha256[32];
    unsigned port, tunnel_port, direct_port;
    struct vim_route route;

    pthread_mutex_t connect_lock; /* held across vim_connect, so that only one thread negotiates */
    pthread_mutex_t login_lock;   /* held across a new login, so that only one thread logs in */
    vim_login_fn *login;          /* login_lock guards the three */
    void *login_arg;
    struct err login_refusal;

    pthread_mutex_t lock; /* guards all below; never held across a call */
    pthread_cond_t changed;
    struct vim_context *contexts[KAAS_VIM_CONTEXTS_COUNT];
    unsigned context_count, waiting;
    struct vim_context *beside; /* list of contexts outside the pool, so that they can be cancelled */
    bool is_canceled, is_connected;
    bool may_have_orphan;           /* vim_take_orphan_hint */
    int64_t login_refused_until_ms; /* no login before this, after refused credentials: the account must not get locked */
    struct vim_breaker breaker;
    struct vim_content content;
    char *cookie;        /* secret; NULL: no session */
    uint64_t session_no; /* counts sessions, to see whether another thread has logged in meanwhile */
    struct vim_user_session own;
};

/* As whom an operation is sent. */
enum vim_identity {
    VIM_AS_US,     /* with our session, made where needed; repeated after NotAuthenticated, VIM_RENEWALS_MAX times */
    VIM_AS_NOBODY, /* without a cookie */
    VIM_AS_GIVEN,  /* with vim_run.cookie */
};

/* One operation: all its SOAP calls on one context. Must start its outputs afresh, since it may run twice. */
typedef int vim_op_fn(struct vim_context *ctx, void *arg, struct err *err);

struct vim_run {
    enum vim_identity identity;
    const char *cookie;
    bool is_before_connect; /* run without negotiated version and ServiceContent */
    vim_op_fn *fn;
    void *arg;
};

/* Borrows a context (waiting for one if all are busy), runs fn on it, gives it back. Errors: those of fn and vim.h. */
int vim_client_run(struct vim_client *client, const struct vim_run *run, struct err *err);

/* Runs fn as us; the usual case. */
int vim_client_run_as_us(struct vim_client *client, vim_op_fn *fn, void *arg, struct err *err);

/* Runs fn on a context of the caller, which is not part of the pool. The breaker is not asked. */
int vim_client_run_on(struct vim_client *client, struct vim_context *ctx, const struct vim_run *run, struct err *err);

/* Lets vim_client_cancel reach a context that is not part of the pool, until it is taken out again. */
void vim_client_put_beside(struct vim_client *client, struct vim_context *ctx);
void vim_client_take_beside(struct vim_client *client, struct vim_context *ctx);

/* The number of the client's newest session; *has_cookie: the client has a session now. */
uint64_t vim_client_current_session(struct vim_client *client, bool *has_cookie);

/* Notes how a login or logout ended: without an answer nobody knows whether there is a session now (vim_take_orphan_hint). Returns rc. */
int vim_client_note_session_call(struct vim_client *client, int rc);

/* Makes a new session unless another thread has replaced session `seen_no` already. */
int vim_client_renew_session(struct vim_client *client, uint64_t seen_no, struct err *err);

/* -- SOAP calls of SessionManager that both our own and other people's sessions need ------------------------------- */

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
int vim_wire_clone_session(struct vim_context *ctx, void *arg, struct err *err);

/* Logout with the cookie of the context. */
int vim_wire_logout(struct vim_context *ctx, struct err *err);

/* Copies a decoded UserSession. ERR_PROTOCOL without key or user name. */
int vim_wire_user_session(const struct vim25__UserSession *from, struct vim_user_session *out, struct err *err);

/* A deep copy. ERR_NOMEM. */
int vim_user_session_copy(const struct vim_user_session *from, struct vim_user_session *out, struct err *err);
