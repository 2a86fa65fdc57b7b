/* What the HTTP interface needs of the services below. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "worker_pool.h"

struct access;
struct clusters;
struct inventory;
struct findings;
struct hyperflex;
struct jobs;
struct provision;
struct ldapdirs;
struct kerberos;
struct kubernetes;
struct manifest_log;
struct metric_page;
struct platform;
struct providers;
struct runtime;
struct sealing;
struct signon;
struct updates;

/* How the web page offers sign-on by Kerberos: not, by a button, or by itself when it is opened. In the order of the option ui.kerberos. */
enum api_kerberos_offer { API_KERBEROS_OFF, API_KERBEROS_BUTTON, API_KERBEROS_AUTO };

#define API_NAME_BYTES 257
struct api_options {
    struct inventory *inventory;
    struct signon *signon;
    struct sealing *sealing;
    struct platform *platform;
    struct clusters *clusters;
    struct access *access;
    struct ldapdirs *ldapdirs;
    struct worker_pool *database; /* writes and other short waits for the database */
    struct worker_pool *hashing;  /* password hashing */
    struct worker_pool
        *signons; /* sessions of callers that shared another's check at a vCenter; room for all that may wait for one */
    struct worker_pool *outside;       /* calls to other hosts that have no worker pool of their own */
    struct kerberos *kerberos;         /* NULL: not set up */
    struct worker_pool *kerberos_pool; /* accepting tokens */
    struct hyperflex *hyperflex;       /* HX clusters that kaasd is connected to */
    struct kubernetes *kubernetes;     /* Kubernetes clusters that kaasd is connected to */
    struct providers *providers;       /* where clusters may be built */
    struct jobs *jobs;                 /* durable work */
    struct provision *provision;       /* clusters that kaasd makes */
    const struct runtime *runtime;     /* for what has no module of its own */
    struct updates *updates;           /* newer versions, and what the replicas run */
    enum api_kerberos_offer kerberos_offer;
    struct manifest_log *manifest_log; /* who fetched the plug-in's manifest */
    const char *version;               /* of the program; copied */
    const char *page_dir;              /* folder with the built web page; copied; NULL: no page */
    int64_t started_at_ms;             /* wall clock */
    bool is_bounded;                   /* requests are limited by person and address (bounds.def) */
    bool allows_session_keys;          /* auth.vcenter.session_key: allow */
    /* 0 when this replica may serve; else why not. Does not block. */
    int (*check_ready)(void *arg, struct err *err);
    /* True when this replica will be stopped soon and clients should go elsewhere: /readyz says so, requests are still served. Does not block. */
    bool (*is_leaving)(void *arg);
    /* 0 when the database can be asked; else ERR_DATABASE at once, so that no request waits for it in a worker pool. Does not block. */
    int (*check_database)(void *arg, struct err *err);
    /* Adds the health of the daemon itself (database, schema, ...). Does not block. */
    void (*check_health)(void *arg, struct findings *out);
    /* Writes the metrics that are read from the modules' state, not counted. Does not block. */
    void (*write_metrics)(void *arg, struct metric_page *page);
    /* The name under which a directory knows a person or group, in `out` of API_NAME_BYTES. False if none is known, or not yet. Does not block; NULL:
     * no names are known. */
    bool (*get_name)(void *arg, const char *id, char *out);
    void *arg;
    /* True if this user id is an administrator on the admin socket. */
    bool (*is_admin_uid)(void *arg, unsigned uid);
    /* True if this is the token by which a monitoring system reads the metrics. Does not block. */
    bool (*is_scrape_token)(void *arg, const char *token);
};

/* The server by which a request comes in. The peer's user id counts on the admin socket only: the peer of any other unix socket is a proxy, which forwards
 * requests of everybody. */
enum api_door { API_DOOR_PUBLIC, API_DOOR_ADMIN, API_DOOR_COUNT };
