/* The daemon's parts. Layer 6 (main); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "api.h"
#include "clusters.h"
#include "daemon_config.h"
#include "directory.h"
#include "health_log.h"
#include "httpd.h"
#include "identity.h"
#include "kerberos.h"
#include "lane.h"
#include "manifest_log.h"
#include "peers.h"
#include "platform_links.h"
#include "scheduler.h"
#include "setup_files.h"
#include "seal.h"
#include "sealing.h"
#include "signon.h"
#include "store.h"

/* The doors of the daemon, in the order in which they are opened. */
enum wire_server { WIRE_TLS, WIRE_PROXY, WIRE_SERVICE, WIRE_ADMIN, WIRE_SERVERS };

struct wire {
    struct config config;
    char *config_path;
    char *cert_pem, *key_pem; /* server certificate; the key is wiped on release */
    char *public_url;
    char replica_name[64];
    struct seal *seal;
    struct store *store;
    struct lane *database, *hashing, *signons, *outside;
    struct directory *directory;
    struct manifest_log *manifest_log;
    struct signon *signon;
    struct sealing *sealing;
    struct platform *platform;
    struct clusters *clusters;
    struct access *access;
    struct identity *identity;
    struct kerberos *kerberos; /* NULL: no keytab is configured, as is the next */
    struct lane *kerberos_lane;
    struct peers *peers;
    struct api *api;
    struct httpd *servers[WIRE_SERVERS];
    struct scheduler *scheduler;
    int64_t started_at_ms;
    int64_t audit_lost_told;      /* lines already told of in the log; the job's own */
    struct health_log health_log; /* likewise */

    atomic_bool is_ready;
    atomic_bool is_leaving;     /* SIGTERM has come; server.drain runs */
    pthread_mutex_t lock;       /* guards all below */
    struct err not_ready;       /* why start-up has not finished */
    int64_t not_ready_since_ms; /* wall clock */
    struct err not_reloaded;    /* why the last reload failed; code 0: it did not */
    int64_t not_reloaded_since_ms;
    struct scrape_token scrape_token;
};

/* The jobs of the daemon (wire_jobs.c). */
int wire_start_jobs(struct wire *wire, struct err *err);

/* The room of identity: what the daemon makes of it (wire_identity.c). */
int wire_make_identity(struct wire *wire, struct err *err);
struct signon_directory_ops wire_directory_ops(struct wire *wire);
void wire_check_directories(struct wire *wire, struct findings *out);

/* Kerberos, if a keytab is configured (wire_kerberos.c). */
int wire_make_kerberos(struct wire *wire, struct err *err);
/* The certificate that clients see: `cert_pem`, or the one that `config` names. One that cannot be used is told of in the log. */
int wire_set_kerberos_certificate(struct wire *wire, const struct config *config, const char *cert_pem);
void wire_check_kerberos(struct wire *wire, struct findings *out);
void wire_stop_kerberos(struct wire *wire); /* when the servers have stopped */
void wire_free_kerberos(struct wire *wire);

/* Controllers of HX clusters that kaasd signs in to (wire_peers.c). */
int wire_make_peers(struct wire *wire, struct err *err);
void wire_check_peers(struct wire *wire, struct findings *out);

/* What the api and the services need from their siblings (wire_glue.c). */
struct signon_vcenter_ops wire_vcenter_ops(struct wire *wire);
void wire_on_written(void *arg);
bool wire_get_size(void *arg, size_t *clusters, size_t *nodes);
void wire_on_published(void *arg);
void wire_on_permissions(void *arg, const char *vcenter_id, const char *user);
int wire_on_change(void *arg, const struct change *change);
int wire_on_gap(void *arg);
void wire_on_difference(void *arg, const struct directory_difference *difference);
int wire_check_ready(void *arg, struct err *err);
int wire_check_database(void *arg, struct err *err);
void wire_check_store(struct wire *wire, struct findings *out);
void wire_check_health(void *arg, struct findings *out);
/* Plugs in what keeps our extension records as they should be, and tells health how they stand (wire_reconcile.c). */
void wire_plug_in_reconcile(struct wire *wire);
void wire_check_records(struct wire *wire, struct findings *out);

/* Lines of the audit trail go to the log, too, where that is wanted (wire_audit.c). */
void wire_plug_in_audit(struct wire *wire);

/* What links do for our logins by themselves, and when certificates end (wire_logins.c). */
void wire_plug_in_logins(struct wire *wire);
/* One certificate that somebody depends on. */
struct wire_expiry {
    const char *what;    /* "login", "vcenter", "server" */
    const char *vcenter; /* by its name for people; NULL for the server's */
    int64_t not_after_ms;
};
typedef void wire_expiry_fn(void *arg, const struct wire_expiry *expiry);
void wire_each_expiry(struct wire *wire, wire_expiry_fn *fn, void *arg);
void wire_check_logins(struct wire *wire, struct findings *out);

/* The port for service accounts (wire_service.c). Texts are malloc'ed, NULL where none is configured. */
int wire_read_client_ca(const struct config *config, char **ca_pem, char **crl_pem, struct err *err);
struct httpd_options wire_service_options(struct wire *wire, struct httpd_options options, const struct httpd_client_ca *ca);
int wire_reload_service(struct wire *wire, const struct config *fresh, const char *cert_pem, const char *key_pem,
                        struct err *err);
void wire_check_services(struct wire *wire, struct findings *out);

/* Who may read the metrics, and what they tell (wire_metrics.c). */
void wire_set_scrape_token(struct wire *wire, const struct scrape_token *token);
bool wire_is_scrape_token(void *arg, const char *token);
void wire_write_metrics(void *arg, struct strbuf *out);

bool wire_is_admin_uid(void *arg, unsigned uid);          /* wire_glue.c */
bool wire_get_name(void *arg, const char *id, char *out); /* wire_identity.c */
