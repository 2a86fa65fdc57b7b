/* One vCenter endpoint: making the client, connecting, our own session. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls of a connected client: vim_session.h (other people's sessions), vim_authorization.h, vim_watch.h, vim_extension.h.
 *
 * A client holds one session cookie and up to KAAS_VIM_CONTEXTS_COUNT connections that share it. All functions but
 * vim_client_free may be called from several threads at once; each call blocks (worker pools only). More than KAAS_VIM_QUEUE_COUNT_MAX
 * waiting calls give ERR_BUSY. After three time-outs in a row calls fail at once with ERR_UNREACHABLE until a back-off has
 * passed; then one call is let through as a probe.
 *
 * Errors that every call below may give, besides those at its prototype: ERR_UNREACHABLE, ERR_TIMEOUT, ERR_TLS, ERR_PROTOCOL
 * (answer not understood), ERR_TOO_LARGE, ERR_UPSTREAM (a fault, named in the text), ERR_UPSTREAM_DENIED (a privilege is missing:
 * the text names it; or our own login is not accepted any more), ERR_BUSY, ERR_CANCELED, ERR_NOMEM; ERR_UNPROCESSABLE for a text that XML cannot carry. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"

struct vim_client;
struct http_transport;

struct net_policy;

struct vim_options {
    const char *host;                       /* name or address of the vCenter; all texts are copied */
    unsigned port;                          /* SDK endpoint, normally 443 */
    const char *ca_pem;                     /* trust: exactly one of these two */
    const uint8_t *pin_sha256;              /* 32 bytes, SHA-256 of the leaf certificate */
    const char *instance_uuid;              /* of the vCenter that must answer; NULL: any */
    const char *user_agent;                 /* shown in vCenter's session list */
    const struct net_policy *networks;      /* in which the vCenter may be; outlives the client; NULL: anywhere */
    unsigned tunnel_port;                   /* plain-HTTP CONNECT proxy for certificate login (80); 0: strategy off */
    unsigned direct_port;                   /* port where vpxd itself ends TLS; 0: strategy off */
    long connect_timeout_ms;                /* 0: KAAS_VIM_CONNECT_TIMEOUT_MS */
    long call_timeout_ms;                   /* 0: KAAS_VIM_CALL_TIMEOUT_MS */
    const struct http_transport *transport; /* NULL: HTTPS by libcurl; tests put canned answers here (http_client.h) */
};

/* Makes a client; nothing is sent yet. Needs http_client_global_init. ERR_CONFIG (no host, no or two kinds of trust), ERR_NOMEM. */
int vim_client_new(const struct vim_options *options, struct vim_client **out, struct err *err);

/* Frees; the cookie is wiped. Does not log out: call vim_logout before. No call may be running. NULL is allowed. */
void vim_client_free(struct vim_client *client);
CLEANUP_DEFINE(struct vim_client, vim_client_free);

/* Makes running and later calls of this client end with ERR_CANCELED, for shutdown. */
void vim_client_cancel(struct vim_client *client);

/* What vCenter says about itself before any login. Texts malloc'ed. */
struct vim_about {
    char *instance_uuid;               /* lower case; identity of the vCenter */
    char *full_name, *version, *build; /* "VMware vCenter Server 8.0.3 build-...", "8.0.3", "24022515" */
    char *api_version;                 /* negotiated version that we speak, "8.0.3.0" */
    char *server_api_version;          /* version that the server reports, may be newer */
};
void vim_about_done(struct vim_about *about); /* NULL is allowed */

/* Negotiates the API version and reads ServiceContent; needs no login. The first other call does this by itself; it may be repeated after an upgrade of
 * vCenter. `out` may be NULL. ERR_UPSTREAM if the server is no vCenter (an ESXi host) or older than API 6.5, ERR_CONFLICT if it is another vCenter than
 * vim_options.instance_uuid. */
int vim_connect(struct vim_client *client, struct vim_about *out, struct err *err);

/* True if API version `version` ("8.0.2.0") is known and not older than `minimum`. */
bool vim_version_is_at_least(const char *version, const char *minimum);

/* Logs in by name and password and keeps the session for this client. `user` as typed (UPN or DOMAIN\user). Our copies of the
 * password are wiped. ERR_CREDENTIALS. */
int vim_login_password(struct vim_client *client, const char *user, const char *password, struct err *err);

/* The ways to make our own login, in order of preference: two ways for a certificate to reach vpxd, and two kinds of accounts, which
 * log in by vim_login_password. */
enum vim_strategy { VIM_STRATEGY_TUNNEL, VIM_STRATEGY_DIRECT, VIM_STRATEGY_SERVICE_ACCOUNT, VIM_STRATEGY_ACCOUNT };
#define VIM_STRATEGY_COUNT 4
/* "certificate_tunnel", "certificate_direct", "service_account", "account"; static */
const char *vim_strategy_name(enum vim_strategy strategy);

struct vim_extension_login {
    enum vim_strategy strategy; /* one of the two for certificates */
    const char *extension_key;
    const char *cert_pem, *key_pem; /* the login certificate and its key */
};

/* Logs in as an extension (LoginExtensionByCertificate). Only this call goes through the strategy's port; the cookie is then valid on the
 * normal port. ERR_CREDENTIALS: key not registered or certificate not the stored one; ERR_UPSTREAM: vCenter did not get the
 * certificate this way; ERR_CONFIG: the strategy's port is 0 or the PEM texts are bad. */
int vim_login_extension(struct vim_client *client, const struct vim_extension_login *login, struct err *err);

/* Finds out whether certificate login works with this strategy, with any certificate and key, registered or not: 0 if vCenter got the
 * certificate. Leaves our session alone; if the login makes a session, that is logged out. Errors as vim_login_extension. */
int vim_probe_extension_login(struct vim_client *client, const struct vim_extension_login *login, struct err *err);

/* Sets how to log in again when vCenter has forgotten the session: `fn` calls vim_login_password or vim_login_extension. It runs under
 * the login lock, once for all threads that noticed; a call that met NotAuthenticated is then repeated. */
typedef int vim_login_fn(struct vim_client *client, void *arg, struct err *err);
void vim_set_login(struct vim_client *client, vim_login_fn *fn, void *arg);

/* Logs in by the function of vim_set_login unless there is a session. ERR_UPSTREAM_DENIED if vCenter does not accept it,
 * ERR_NOT_REGISTERED without a function. */
int vim_ensure_session(struct vim_client *client, struct err *err);

/* Asks the server's time, which keeps the session alive and proves that it is (logging in again where vim_set_login allows). The question may take
 * KAAS_VIM_KEEPALIVE_TIMEOUT_MS at most. */
int vim_keepalive(struct vim_client *client, struct err *err);

/* Asks the server's time, in milliseconds since 1970 UTC. Compare with clock_wall_ms() right before and after. */
int vim_lookup_time(struct vim_client *client, int64_t *out_ms, struct err *err);

/* Texts malloc'ed; NULL: not told. */
struct vim_user_session {
    char *key;       /* never NULL */
    char *user_name; /* stored form, "VSPHERE.LOCAL\\Administrator"; never NULL */
    char *full_name;
    char *ip_address, *user_agent;
    char *login_time, *last_active_time; /* as sent: xsd:dateTime in UTC */
    bool is_extension;                   /* session of an extension (program), not of a person */
};
/* Frees the texts and zeroes the struct. NULL is allowed. */
void vim_user_session_done(struct vim_user_session *session);

/* A copy of the UserSession that our login gave; freed by vim_user_session_done. ERR_NOT_FOUND without session. */
int vim_get_own_session(struct vim_client *client, struct vim_user_session *out, struct err *err);

/* As vim_get_own_session, but waits for a login under way: so any other session of this client that vCenter showed before the call has been
 * replaced. Blocks as long as that login. Not from within a vim_login_fn. */
int vim_get_settled_session(struct vim_client *client, struct vim_user_session *out, struct err *err);

/* True if this client may have left a session behind at vCenter: the answer to a login was lost, or a logout did not get through. Clears the
 * hint. Memory only. */
bool vim_take_orphan_hint(struct vim_client *client);

/* Logs out and forgets the cookie, also when vCenter does not answer. Waits for a login under way first, so that its session ends, too.
 * Not from within a vim_login_fn. 0 without a session. */
int vim_logout(struct vim_client *client, struct err *err);

/* Logs out and in again, by `fn`, or if that is NULL by the function of vim_set_login; no other thread can log in between. The pause after a refused
 * login is skipped, since the caller has changed something. The old session ends also if the login fails. Not from within a vim_login_fn. Errors of `fn`,
 * else as vim_ensure_session. */
int vim_replace_session(struct vim_client *client, vim_login_fn *fn, void *arg, struct err *err);

/* Logs in by the function of vim_set_login, although there is a session. The old session stays in use until the new one has replaced it, and is then
 * logged out; if the login fails, it stays. The pause after a refused login is skipped. Not from within a vim_login_fn. Errors as vim_ensure_session. */
int vim_exchange_session(struct vim_client *client, struct err *err);

/* As vim_logout, within `timeout_ms`, on a connection of its own, and without waiting for a login: works after vim_client_cancel, too. */
int vim_logout_within(struct vim_client *client, long timeout_ms, struct err *err);
