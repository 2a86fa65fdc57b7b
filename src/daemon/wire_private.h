/* The daemon's parts. Layer 7 (daemon); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "api.h"
#include "backoff.h"
#include "backup_health.h"
#include "clusters.h"
#include "daemon_config.h"
#include "inventory.h"
#include "finding.h"
#include "httpd.h"
#include "hx_addresses.h"
#include "ldapdir.h"
#include "kerberos.h"
#include "worker_pool.h"
#include "manifest_log.h"
#include "hyperflex.h"
#include "jobs.h"
#include "kubernetes.h"
#include "net_policy.h"
#include "platform_links.h"
#include "providers.h"
#include "runtime.h"
#include "scheduler.h"
#include "seal.h"
#include "sealing.h"
#include "setup_files.h"
#include "signon.h"
#include "store.h"
#include "updates.h"

/* The doors of the daemon, in the order in which they are opened. */
enum wire_server { WIRE_TLS, WIRE_PROXY, WIRE_SERVICE, WIRE_ADMIN, WIRE_SERVERS };

struct wire;

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define RETRY_QUICK \
    { .first_ms = 250, .max_ms = 5000, .jitter_percent = 20 }
#define RETRY_SLOW \
    { .first_ms = 5000, .max_ms = 60000, .jitter_percent = 20 }

/* Periodic work of a module; the members are those of struct periodic. */
struct wire_tick {
    const char *name; /* by which scheduler_wake finds it */
    int64_t period_ms;
    int64_t (*get_period_ms)(const struct config *config); /* of one that is configured; NULL: period_ms */
    unsigned jitter_percent;
    struct backoff retry;
    int (*run)(struct wire *w, struct err *err);
    bool runs_before_ready; /* else it waits for the end of start-up */
};
#define WIRE_TICKS_MAX 5 /* of a module */

struct wire_call {
    struct wire *wire;
    struct wire_tick tick;
};

/* A module of the daemon: all that the daemon knows of it. What is NULL the module does not have. */
struct wire_module {
    int (*make)(struct wire *w, struct err *err);
    /* Ends what waits in it for somebody outside. Called in a thread of its own, beside those of other modules; may take seconds. */
    void (*stop)(struct wire *w);
    void (*drop)(struct wire *w); /* frees it, or what there is of it */
    /* Reads what it keeps in memory: at start-up, and when changes were missed. */
    int (*load)(struct wire *w, struct err *err);
    int (*on_change)(struct wire *w, const struct change *change, struct err *err); /* of any kind */
    int (*reload)(struct wire *w, const struct config *config, struct err *err);    /* ERR_CONFIG: what was before goes on */
    /* `platform` NULL: the inventory has not been read yet, or this is for the log. */
    void (*check_health)(struct wire *w, const struct inventory_platform *platform, struct findings *out);
    bool logs_health; /* changes of it are told in the log, too */
    void (*write_metrics)(struct wire *w, const struct inventory_platform *platform, struct metric_page *page);
    struct wire_tick ticks[WIRE_TICKS_MAX]; /* those that have `run` */
};

#define MODULE(name) extern const struct wire_module module_##name;
#include "modules.def"
#undef MODULE
#define MODULE(name) WIRE_MODULE_##name,
enum {
#include "modules.def"
    WIRE_MODULES
};
#undef MODULE
#define WIRE_CALLS_MAX ((WIRE_MODULES + 1) * WIRE_TICKS_MAX) /* the daemon itself is the one more */
extern const struct wire_module *const wire_modules[WIRE_MODULES];

/* Members of a module that are one call. */
#define MODULE_DO(name, call)          \
    static void name(struct wire *w) { \
        (call);                        \
    }
#define MODULE_TRY(name, call)                         \
    static int name(struct wire *w, struct err *err) { \
        (void)err;                                     \
        return (call);                                 \
    }
#define MODULE_CHECK(name, call)                                                                        \
    static void name(struct wire *w, const struct inventory_platform *platform, struct findings *out) { \
        (void)platform;                                                                                 \
        (call);                                                                                         \
    }
#define MODULE_MEASURE(name, call)                                                                          \
    static void name(struct wire *w, const struct inventory_platform *platform, struct metric_page *page) { \
        (void)platform;                                                                                     \
        (call);                                                                                             \
    }

#define HEALTH_CHECKS_MAX 80U

#define WIRE_JOB_KINDS 4U

struct health_check {
    char name[64];
    enum finding_status status;
    unsigned round; /* in which it was seen last */
};

/* Checks as the log was told of them last: for who watches lines, not a page. Zeroed at first; used by one thread at a time. */
struct health_log {
    struct health_check checks[HEALTH_CHECKS_MAX];
    size_t count;
    unsigned round;
};

struct wire {
    struct config config;
    char *config_path;
    struct x509_chain chain; /* server certificate with its issuers */
    char *key_pem;           /* wiped on release */
    char *public_url;
    char replica_name[64];
    struct runtime runtime; /* what the modules are handed */
    struct net_policy vcenter_networks, hx_networks, kube_networks;
    struct api_options parts; /* modules and worker pools, as the interface takes them */
    struct api *api;
    _Atomic(struct httpd *) servers[WIRE_SERVERS]; /* one is asked for metrics while the next ones start */
    struct scheduler *scheduler;
    int64_t audit_lost_told;      /* lines already told of in the log; the periodic work's own */
    struct health_log health_log; /* likewise */
    struct backup_health backup;
    struct worker_pool *job_pool;
    struct job_kind job_kinds[WIRE_JOB_KINDS];
    struct event_maker *event_maker;        /* likewise */
    struct wire_call calls[WIRE_CALLS_MAX]; /* periodic work, of all modules */
    size_t calls_count;

    atomic_bool is_ready;
    atomic_bool is_leaving;  /* SIGTERM has come; server.drain runs */
    pthread_mutex_t lock;    /* guards all below */
    struct err not_ready;    /* why start-up has not finished */
    struct err not_reloaded; /* why the last reload failed; code 0: it did not */
    int64_t not_reloaded_since_ms;
    struct scrape_token scrape_token;
};

/* Periodic work of the daemon and its modules (wire_periodic.c). */
int wire_start_periodic(struct wire *wire, struct err *err);

/* What modules are handed of the daemon (wire_glue.c). */
int wire_make_pool(const struct worker_pool_options *wanted, struct worker_pool **out, struct err *err);
/* The folder that this file is to stand in, with those above it. */
int wire_make_folder_of(const char *path, struct err *err);
/* *out stays as it was where `path` is "". */
int wire_read_file(const char *path, char **out, struct err *err);
/* Of modules, for the daemon (module_auth.c). The certificate that clients see: `cert_pem`, or the one that `config` names. One that cannot be used is told of in the log. */
void wire_set_kerberos_certificate(struct wire *w, const struct config *config, const char *cert_pem);
struct signon_limits wire_signon_limits(const struct config *config);

/* Changes, names, lines of the log (wire_glue.c). */
bool wire_get_name(void *arg, const char *id, char *out);
void wire_on_written(void *arg); /* a module has written to the database: its own list sees it at once */
int wire_on_changes(void *arg, const struct change_list *changes);
int wire_on_gap(void *arg);
int wire_load(struct wire *wire, struct err *err); /* `load` of all modules */
void wire_log_audit(void *arg, const struct audit_record *record);
void wire_log_lock(void *arg, const char *problem, const char *sql);

/* Readiness, health, and who may read the metrics (wire_health.c). */
int wire_check_ready(void *arg, struct err *err);
int wire_check_database(void *arg, struct err *err);
void wire_check_health(void *arg, struct findings *out);
void wire_log_health(struct wire *wire); /* of the database and of what people sign in by, when it has changed */
void wire_set_scrape_token(struct wire *wire, const struct scrape_token *token);
bool wire_is_scrape_token(void *arg, const char *token);
bool wire_is_admin_uid(void *arg, unsigned uid);
/* Metrics that are looked at, not counted (wire_metrics.c). */
void wire_write_metrics(void *arg, struct metric_page *page);
