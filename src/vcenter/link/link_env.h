/* What all links share: our identity, the store and the seal, how we talk to vCenters, the audit log. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "remote_work.h"
#include "principal.h"
#include "runtime.h"
#include "uuid.h"
#include "vcenter.h"
#include "vim.h"

#define ROTATION_ACTION "vcenter.rotate_certificate"
#define SET_ACCOUNT_ACTION "vcenter.set_login_account"

struct inventory;
struct link_watch_ops;
struct manifest_log;
struct net_policy;
struct platform;
struct vim_watch_maintenance;

/* All texts are copied. */
struct platform_options {
    const struct runtime *runtime;
    const char *extension_key; /* "com.cisco.kaas" */
    const char *
        server_cert_pem; /* the certificate alone that public_url shows, as x509_chain_read gives it: named in the extension record; NULL if unknown */
    const char *admin_email;
    const char *view_privilege;         /* "System.Read" */
    const struct net_policy *networks;  /* where vCenters may be; borrowed; NULL: anywhere */
    const struct link_watch_ops *watch; /* watch_link_ops (watch_run.h) */
    struct inventory *inventory;        /* what runs on which vSphere cluster; borrowed; NULL: nothing is known to run anywhere */
    struct manifest_log *manifest_log;  /* notes who fetched the plug-in's manifest; NULL: not noted */
    bool has_events;                    /* vCenters are told of Kubernetes clusters in their events */
    long connect_timeout_ms, call_timeout_ms;
    int64_t keepalive_ms;
    int login_certificate_days; /* how long a new login certificate is valid; 0: LOGIN_CERTIFICATE_DAYS */
    int key_bits;               /* of the key of a new login certificate; 0: X509_KEY_BITS */
    /* Called when the permissions of a user of this vCenter have changed; `user` NULL: perhaps those of anybody. From a thread of the watch; may be NULL. */
    void (*on_permissions)(void *arg, const char *vcenter_id, const char *user);
    void *on_permissions_arg;
    /* Called when a host of this vCenter has begun to enter maintenance mode. From a thread of the watch, must not block; may be NULL. */
    void (*on_maintenance)(void *arg, const char *vcenter_id, const struct vim_watch_maintenance *begun);
    void *on_maintenance_arg;
    /* Called when something has happened to a task or machine that `whom` waits for (vim_follow.h), or may have. From a thread of the watch, must not block; may be NULL. */
    void (*on_followed)(void *arg, const char *whom);
    void *on_followed_arg;
    /* Called when the database refuses an object of a vCenter (`text`: path, id and why); all others are saved. From a thread of the watch; may be NULL. */
    void (*on_refused)(void *arg, const char *vcenter_id, const char *text);
    void *on_refused_arg;
};

/* One for all links; outlives them. All but the certificate is set before the first link is made. */
struct link_env {
    struct platform *platform;                /* whose links they are */
    struct platform_options options;          /* with copied texts; the certificate: link_env_get_server_cert */
    char installation[UUID_TEXT_BYTES];       /* owner mark of extension records; "": not known yet */
    char plugin_version[32];                  /* "": there is no plug-in */
    struct remote_work work[REMOTE_WORK_MAX]; /* in the order of their bits; those without `run` are not there */
    pthread_mutex_t *lock;                    /* the platform's: guards the certificate */
};

/* Copies the options; link_env_done gives them back in any case. ERR_NOMEM. */
int link_env_init(struct link_env *env, const struct platform_options *options, struct err *err);
void link_env_done(struct link_env *env);

/* A copy of the certificate that public_url shows, for the caller to free. *out is NULL with 0 when it is unknown. ERR_NOMEM. */
int link_env_get_server_cert(const struct link_env *env, char **out, struct err *err);
/* Replaces the certificate by a copy of this one; NULL: unknown. *differs tells whether the two differ. ERR_NOMEM. */
int link_env_set_server_cert(struct link_env *env, const char *cert_pem, bool *differs, struct err *err);

/* How a client reaches this vCenter, with the time limits that are configured; for vim_client_new. Texts are borrowed. */
struct vim_options link_env_client(const struct link_env *env, const struct vcenter *vc, const char *user_agent);

#define SESSION_AGENT_PRODUCT "Harmony-KaaS/"
/* The user agent of our clients: "Harmony-KaaS/1.0 (<installation>; replica-3)"; that of a task ends with its name: "...; replica-3; registration)". Caller
 * frees; NULL without memory. */
char *session_agent(const struct link_env *env, const char *task);

/* -- the audit log of what is done to vCenters ----------------------------------------------------------------------------- */

/* Makes the audit line of `actor` (NULL: this replica by itself) doing `what` to a vCenter: action, object and reason as far as known. Texts are borrowed. */
struct audit_record platform_audit_make(const struct link_env *env, const struct actor *actor, const struct audit_event *what);

/* An operation under way: its id in audit_store.h; "": it has not begun. */
struct platform_begun {
    char id[UUID_TEXT_BYTES];
};
/* Writes that an operation begins, before anything is done at the vCenter: if this fails, nothing may be done. What this replica does by itself and tries
 * again and again is one operation as long as it has not ended. Errors of store.h. */
int platform_audit_begin(const struct link_env *env, const struct audit_record *line, struct platform_begun *begun,
                         struct err *err);
/* Ends with success the open operation of this line, if there is one: this replica began it by itself, and something else has completed it. */
void platform_audit_finish(const struct link_env *env, const struct audit_record *line);
/* Writes how the operation ended (`rc`: 0 or ERR_*), begun or not. If that cannot be written, a begun operation is closed later with an unknown outcome. */
void platform_audit_end(const struct link_env *env, const struct audit_record *line, int rc, const struct platform_begun *begun);
