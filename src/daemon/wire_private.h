/* The daemon's parts. Layer 7 (daemon); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "api.h"
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
#include "net_policy.h"
#include "peers.h"
#include "platform_links.h"
#include "scheduler.h"
#include "seal.h"
#include "sealing.h"
#include "setup_files.h"
#include "signon.h"
#include "store.h"
#include "updates.h"

/* The doors of the daemon, in the order in which they are opened. */
enum wire_server { WIRE_TLS, WIRE_PROXY, WIRE_SERVICE, WIRE_ADMIN, WIRE_SERVERS };

#define HEALTH_CHECKS_MAX 80U

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
    struct seal *seal;
    struct store *store;
    struct net_policy vcenter_networks, hx_networks;
    struct api_options parts; /* modules and worker pools, as the interface takes them */
    struct api *api;
    _Atomic(struct httpd *) servers[WIRE_SERVERS]; /* one is asked for metrics while the next ones start */
    struct scheduler *scheduler;
    int64_t audit_lost_told;      /* lines already told of in the log; the periodic work's own */
    struct health_log health_log; /* likewise */
    struct backup_health backup;
    struct event_maker *event_maker; /* likewise */

    atomic_bool is_ready;
    atomic_bool is_leaving;  /* SIGTERM has come; server.drain runs */
    pthread_mutex_t lock;    /* guards all below */
    struct err not_ready;    /* why start-up has not finished */
    struct err not_reloaded; /* why the last reload failed; code 0: it did not */
    int64_t not_reloaded_since_ms;
    struct scrape_token scrape_token;
};

/* Periodic work of the daemon, and what links do by themselves (wire_periodic.c). */
int wire_start_periodic(struct wire *wire, struct err *err);
void wire_plug_in_work(struct wire *wire);

/* What the api and the services need from their siblings, and what they tell (wire_glue.c). */
bool wire_is_privileged(void *arg, const char *principal_id, const struct group_set *groups);
bool wire_get_name(void *arg, const char *id, char *out);
bool wire_get_size(void *arg, size_t *clusters, size_t *nodes);
void wire_on_written(void *arg);
void wire_on_published(void *arg);
void wire_on_permissions(void *arg, const char *vcenter_id, const char *user);
void wire_on_refused(void *arg, const char *vcenter_id, const char *text);
int wire_on_changes(void *arg, const struct change_list *changes);
int wire_on_gap(void *arg);
void wire_on_difference(void *arg, const struct inventory_difference *difference);
void wire_on_hx_news(void *arg, const struct hx_status *status);
int wire_list_hx_addresses(void *arg, const char *hx_id, struct hx_addresses *out, struct err *err);
void wire_on_hx_set(void *arg);
void wire_on_hx_published(void *arg, const struct hx_publication *publication);
int wire_ask_peer(void *arg, const char *hx_id, const struct hyperflex_request *request, struct hx_peer_result *out, long *status,
                  struct err *err);
int wire_get_certificate(void *arg, char **out, struct err *err);
void wire_on_peer_news(void *arg, const struct hx_peer *peer);
void wire_on_peer_set(void *arg);
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
