/* Builds the daemon out of its parts, in order, and takes it down in reverse. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire.h"

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit_store.h"
#include "clock.h"
#include "fsutil.h"
#include "limits.h"
#include "log.h"
#include "notify.h"
#include "replica_store.h"
#include "secret.h"
#include "setup_check.h"
#include "setup_files.h"
#include "str.h"
#include "strbuf.h"
#include "wire_private.h"

#define GRACE_MS 3000 /* before daemon.c gives up */
#define DATABASE_THREADS 8U
#define HASHING_THREADS 2U
#define HASHING_NICE 10
#define OUTSIDE_THREADS 4U
#define SIGNON_THREADS 4U /* half of the connections to the database that there are by default */
#define QUEUE_COUNT 256U
#define DESCRIPTORS_OF_VCENTERS 512U /* 64 of them: up to four calls and a watch each, connections for sign-ons beside */
#define DESCRIPTORS_OF_FILES 64U     /* standard streams, logs, files that are read, connections for looking at a new vCenter */

/* -- parts ---------------------------------------------------------------------------------------------------------------- */

/* A password costs a hundred requests' time by design. A flood of them may take what is left over, not what lists need. */
static void begin_hashing(void) {
    const id_t me = (id_t)gettid();
    store_thread_begin();
    (void)setpriority(PRIO_PROCESS, me, getpriority(PRIO_PROCESS, me) + HASHING_NICE); /* Linux: of this thread alone */
}

static int make_pools(struct wire *w, struct err *err) {
    const struct {
        struct worker_pool_options options;
        struct worker_pool **out;
    } pools[] = {
        {{.name = "database", .threads = DATABASE_THREADS, .queue_count = QUEUE_COUNT}, &w->parts.database},
        {{.name = "hashing", .threads = HASHING_THREADS, .queue_count = QUEUE_COUNT, .thread_begin = begin_hashing},
         &w->parts.hashing},
        /* all who may wait for a vCenter's word may get it at a time */
        {{.name = "signons", .threads = SIGNON_THREADS, .queue_count = KAAS_SIGNONS_WAITING_MAX}, &w->parts.signons},
        {{.name = "outside", .threads = OUTSIDE_THREADS, .queue_count = QUEUE_COUNT}, &w->parts.outside},
    };
    int rc = 0;
    for (size_t i = 0; !rc && i < ARRAY_COUNT(pools); i++)
        rc = wire_make_pool(&pools[i].options, pools[i].out, err);
    return rc;
}

static int make_secrets(struct wire *w, struct err *err) {
    int rc = seal_open_file(w->config.secrets_master_key_file, &w->runtime.seal, err);
    rc = rc ? rc : scrape_token_read(&w->config, &w->scrape_token, err);
    return rc ? rc : server_cert_load(&w->config, &w->chain, &w->key_pem, err);
}

/* The URL without a trailing slash, so that paths can be appended. */
static int wire_make_runtime(struct wire *w, struct err *err) {
    size_t n;
    w->public_url = str_dup(w->config.server_public_url);
    if (!w->public_url)
        return err_set(err, ERR_NOMEM, "out of memory");
    n = strlen(w->public_url);
    while (n && w->public_url[n - 1] == '/')
        w->public_url[--n] = 0;
    w->runtime.version = PACKAGE_VERSION;
    w->runtime.public_url = w->public_url;
    w->runtime.on_written = wire_on_written;
    w->runtime.on_written_arg = w;
    return 0;
}

static int make_networks(struct wire *w, struct err *err) {
    int rc = net_policy_init(&w->vcenter_networks, "vcenter.allowed_networks",
                             (const char *const *)w->config.vcenter_allowed_networks.items, err);
    if (!rc)
        rc = net_policy_init(&w->hx_networks, "hx.allowed_networks", (const char *const *)w->config.hx_allowed_networks.items,
                             err);
    return rc ? rc
              : net_policy_init(&w->kube_networks, "kubernetes.allowed_networks",
                                (const char *const *)w->config.kubernetes_allowed_networks.items, err);
}

static bool is_leaving(void *arg) {
    const struct wire *w = arg;
    return atomic_load_explicit(&w->is_leaving, memory_order_relaxed);
}

static int make_api(struct wire *w, struct err *err) {
    struct api_options *options = &w->parts;
    int rc;
    options->is_bounded = w->config.server_requests_per_address > 0;
    options->allows_session_keys = w->config.auth_vcenter_session_key != 0;
    options->kerberos_offer = (enum api_kerberos_offer)w->config.ui_kerberos;
    options->version = PACKAGE_VERSION;
    options->page_dir = *w->config.server_page_dir ? w->config.server_page_dir : KAAS_PAGE_DIR;
    options->check_ready = wire_check_ready;
    options->is_leaving = is_leaving;
    options->check_database = wire_check_database;
    options->check_health = wire_check_health;
    options->write_metrics = wire_write_metrics;
    options->is_admin_uid = wire_is_admin_uid;
    options->is_scrape_token = wire_is_scrape_token;
    options->get_name = wire_get_name;
    options->arg = w;
    rc = api_new(options, &w->api, err);
    if (!rc)
        platform_set_plugin_version(options->platform, api_plugin_version(w->api));
    return rc;
}

/* -- servers -------------------------------------------------------------------------------------------------------------- */

/* What the doors that everybody may come to have in common; each has its own address. */
static struct httpd_options public_options(struct wire *w, const char *listen) {
    struct httpd_options options = {
        .listen = listen,
        .threads = (unsigned)w->config.server_threads,
        .connections_max = (unsigned)w->config.server_connections_max,
        .connections_per_client_max = (unsigned)w->config.server_connections_per_address,
        .requests_per_client_max = (unsigned)w->config.server_requests_per_address,
        .trusted_proxies = (const char *const *)w->config.server_trusted_proxies.items,
    };
    api_plug_in(w->api, API_DOOR_PUBLIC, &options);
    return options;
}

/* `proxy` and `admin` are addresses of sockets, "" for none. */
static void set_doors(struct wire *w, const char *proxy, const char *admin, const struct httpd_client_ca *ca,
                      struct httpd_options doors[WIRE_SERVERS]) {
    doors[WIRE_TLS] = public_options(w, w->config.server_listen);
    doors[WIRE_PROXY] = public_options(w, proxy);
    doors[WIRE_PROXY].unix_mode = 0660;
    doors[WIRE_SERVICE] = public_options(w, w->config.server_service_listen); /* of service accounts, which show certificates */
    doors[WIRE_SERVICE].asks_client_certificate = true;
    doors[WIRE_SERVICE].client_ca = *ca;
    if (doors[WIRE_SERVICE].connections_max > KAAS_HTTP_SERVICE_CONNECTIONS)
        doors[WIRE_SERVICE].connections_max = KAAS_HTTP_SERVICE_CONNECTIONS;
    doors[WIRE_TLS].cert_pem = doors[WIRE_SERVICE].cert_pem = w->chain.pem;
    doors[WIRE_TLS].key_pem = doors[WIRE_SERVICE].key_pem = w->key_pem;
    /* mode 0600: root and our own user may open it; who is an administrator is decided by user id once more */
    doors[WIRE_ADMIN] = (struct httpd_options){.listen = admin,
                                               .threads = 1,
                                               .connections_max = KAAS_HTTP_ADMIN_CONNECTIONS,
                                               .connections_per_uid_max = KAAS_HTTP_ADMIN_CONNECTIONS_PER_UID,
                                               .trusted_proxies = doors[WIRE_TLS].trusted_proxies};
    api_plug_in(w->api, API_DOOR_ADMIN, &doors[WIRE_ADMIN]);
}

/* Texts are malloc'ed, also on failure; NULL where none is configured. */
static int read_client_ca(const struct config *config, char **ca_pem, char **crl_pem, struct err *err) {
    int rc = wire_read_file(config->server_client_ca_file, ca_pem, err);
    return rc ? rc : wire_read_file(config->server_client_crl_file, crl_pem, err);
}

static char *unix_address(const char *path) {
    return *path ? str_format("unix:%s", path) : str_dup("");
}

static int start_servers(struct wire *w, struct err *err) {
    _cleanup_free_ char *proxy = unix_address(w->config.server_unix_socket);
    _cleanup_free_ char *admin = unix_address(w->config.server_admin_socket);
    _cleanup_free_ char *ca = NULL, *crl = NULL;
    int rc = proxy && admin ? read_client_ca(&w->config, &ca, &crl, err) : err_set(err, ERR_NOMEM, "out of memory");
    struct httpd_options doors[WIRE_SERVERS];
    const unsigned rest = DESCRIPTORS_OF_VCENTERS + DESCRIPTORS_OF_FILES + (unsigned)w->config.database_pool_size;
    if (rc)
        return rc;
    set_doors(w, proxy, admin, &(struct httpd_client_ca){ca, crl}, doors);
    rc = httpd_check_descriptors(doors, WIRE_SERVERS, rest, err);
    if (!rc)
        rc = wire_make_folder_of(w->config.server_admin_socket, err);
    for (size_t i = 0; !rc && i < WIRE_SERVERS; i++) {
        struct httpd *server = NULL;
        rc = *doors[i].listen ? httpd_start(&doors[i], &server, err) : 0;
        atomic_store(&w->servers[i], server);
    }
    return rc;
}

/* -- up and down ---------------------------------------------------------------------------------------------------------- */

typedef int part_fn(struct wire *w, struct err *err);

static int wire_make_store(struct wire *w, struct err *err) {
    const char *name = w->config.replica_name;
    int rc = db_settings_open(&w->config, w->config_path, DB_ACCOUNT_RUNTIME, &w->runtime.store, err);
    if (rc)
        return rc;
    (void)snprintf(w->replica_name, sizeof(w->replica_name), "%s", *name ? name : "localhost");
    if (!*name)
        (void)gethostname(w->replica_name, sizeof(w->replica_name) - 1);
    store_set_lock_listener(w->runtime.store, wire_log_lock, w);
    if (w->config.audit_log)
        store_set_audit_listener(w->runtime.store, wire_log_audit, w);
    return audit_store_set_place(w->runtime.store, w->config.state_dir, w->replica_name, err);
}

#define MODULE(name) &module_##name,
const struct wire_module *const wire_modules[WIRE_MODULES] = {
#include "modules.def"
};
#undef MODULE

static int make_modules(struct wire *w, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < WIRE_MODULES && !rc; i++)
        rc = wire_modules[i]->make ? wire_modules[i]->make(w, err) : 0;
    return rc;
}

int wire_up(struct config *config, const char *config_path, struct wire **out, struct err *err) {
    static part_fn *const parts[] = {make_secrets, wire_make_runtime, wire_make_store, make_pools,         make_networks,
                                     make_modules, make_api,          start_servers,   wire_start_periodic};
    struct wire *w = calloc(1, sizeof(*w));
    int rc = 0;
    if (!w) {
        config_free(config);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    w->config = *config;
    memset(config, 0, sizeof(*config));
    w->config_path = str_dup(config_path);
    w->parts.started_at_ms = clock_wall_ms();
    w->parts.runtime = &w->runtime;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)err_set(&w->not_ready, ERR_UNAVAILABLE, "the service is starting");
    for (size_t i = 0; !rc && i < ARRAY_COUNT(parts); i++)
        rc = parts[i](w, err);
    if (rc) {
        wire_down(w);
        return rc;
    }
    log_event(LOG_LEVEL_NOTICE, "listening", "address", *w->config.server_listen ? w->config.server_listen : NULL,
              "service_address", *w->config.server_service_listen ? w->config.server_service_listen : NULL, "admin_socket",
              w->config.server_admin_socket, "version", PACKAGE_VERSION, NULL);
    *out = w;
    return 0;
}

/* Requests under way have until then, those of all servers. */
static void stop_servers(struct wire *w) {
    const int64_t until_ms = clock_mono_ms() + GRACE_MS;
    for (size_t i = 0; i < WIRE_SERVERS; i++) {
        const int64_t left_ms = until_ms - clock_mono_ms();
        if (w->servers[i])
            httpd_stop(w->servers[i], left_ms > 0 ? left_ms : 0);
    }
}

struct stopping {
    struct wire *wire;
    void (*stop)(struct wire *w);
    pthread_t thread;
    bool has_thread;
};

static void *stop_module(void *arg) {
    const struct stopping *s = arg;
    store_thread_begin();
    s->stop(s->wire);
    store_thread_end();
    return NULL;
}

/* Who waits for vCenters, directories, KDCs and peers is ended at the same time: each may take some seconds. */
static void stop_waiting(struct wire *w) {
    struct stopping all[WIRE_MODULES] = {{0}};
    for (size_t i = 0; i < WIRE_MODULES; i++) {
        all[i] = (struct stopping){.wire = w, .stop = wire_modules[i]->stop};
        all[i].has_thread = all[i].stop && !pthread_create(&all[i].thread, NULL, stop_module, &all[i]);
    }
    for (size_t i = 0; i < WIRE_MODULES; i++)
        if (all[i].has_thread)
            (void)pthread_join(all[i].thread, NULL);
        else if (all[i].stop)
            all[i].stop(w);
}

static void stop_pools(struct wire *w) {
    struct worker_pool *pools[] = {w->parts.kerberos_pool, w->parts.database, w->parts.hashing, w->parts.signons,
                                   w->parts.outside};
    signon_stop(w->parts.signon);
    for (size_t i = 0; i < ARRAY_COUNT(pools); i++)
        if (pools[i])
            worker_pool_stop(pools[i]);
    platform_stop(w->parts.platform);
}

/* Before it was ready nothing may be written: the lines would belong to no chain. */
static void end_audit(struct wire *w) {
    struct err err = {0};
    if (!atomic_load(&w->is_ready))
        return;
    if (!store_check_answers(w->runtime.store, NULL)) {
        (void)audit_store_write_notes(w->runtime.store, NULL);
        (void)audit_store_note_heads(w->runtime.store, true, NULL);
    }
    if (audit_store_save_head(w->runtime.store, &err))
        log_error(LOG_LEVEL_WARNING, "audit_head_not_saved", &err, NULL);
}

void wire_down(struct wire *w) {
    if (!w)
        return;
    notify("STOPPING=1");
    api_stop_waiting(w->api);
    stop_waiting(w); /* first: requests that wait there would be waited for */
    stop_servers(w);
    scheduler_free(w->scheduler);
    stop_pools(w);
    if (atomic_load(&w->is_ready) && !store_check_answers(w->runtime.store, NULL)) {
        (void)replica_store_leave(w->runtime.store, NULL);
        hyperflex_sign_out(w->parts.hyperflex);
    }
    end_audit(w);
    for (size_t i = 0; i < WIRE_SERVERS; i++)
        httpd_free(w->servers[i]);
    api_free(w->api);
    for (size_t i = WIRE_MODULES; i--;)
        if (wire_modules[i]->drop)
            wire_modules[i]->drop(w);
    worker_pool_free(w->parts.database);
    worker_pool_free(w->parts.hashing);
    worker_pool_free(w->parts.signons);
    worker_pool_free(w->parts.outside);
    store_free(w->runtime.store);
    seal_free(w->runtime.seal);
    x509_chain_done(&w->chain);
    secret_free(w->key_pem);
    free(w->public_url);
    free(w->config_path);
    config_free(&w->config);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
}

int64_t wire_drain(struct wire *w) {
    atomic_store(&w->is_leaving, true);
    notify("STATUS=draining");
    return w->config.server_drain_ms;
}

static int reload_service(struct wire *w, const struct config *fresh, const char *cert_pem, const char *key_pem,
                          struct err *err) {
    _cleanup_free_ char *ca = NULL, *crl = NULL;
    struct httpd *server = w->servers[WIRE_SERVICE];
    int rc;
    if (!server)
        return 0;
    rc = read_client_ca(fresh, &ca, &crl, err);
    if (!rc)
        rc = httpd_reload_client_ca(server, &(struct httpd_client_ca){ca, crl}, err);
    return rc ? rc : httpd_reload_tls(server, cert_pem, key_pem, err);
}

static int reload_certificate(struct wire *w, const struct config *fresh, struct err *err) {
    _cleanup_done_(x509_chain_done) struct x509_chain chain = {0};
    _cleanup_secret_ char *key = NULL;
    int rc = server_cert_load(fresh, &chain, &key, err);
    if (!rc && w->servers[WIRE_TLS])
        rc = httpd_reload_tls(w->servers[WIRE_TLS], chain.pem, key, err);
    if (!rc)
        rc = reload_service(w, fresh, chain.pem, key, err);
    if (!rc)
        wire_set_kerberos_certificate(w, fresh, chain.pem);
    return rc ? rc : platform_set_server_cert(w->parts.platform, chain.certs[0].pem, err); /* the records name it */
}

/* What is not well, and does not hold the reload up. */
static void log_warnings(const struct config_report *report) {
    for (const char *at = report->warnings.len ? report->warnings.data : ""; *at;) {
        const size_t n = strcspn(at, "\n");
        _cleanup_free_ char *line = str_format("%.*s", (int)n, at);
        log_event(LOG_LEVEL_WARNING, "config_warning", "warning", line, NULL);
        at += n + (at[n] != '\0');
    }
}

static int reload_all(struct wire *w, struct err *err) {
    _cleanup_config_ struct config fresh = {0};
    _cleanup_config_report_ struct config_report report;
    _cleanup_strbuf_ struct strbuf unreloadable;
    struct scrape_token token;
    int rc;
    config_report_init(&report);
    strbuf_init(&unreloadable, 65536);
    rc = config_load(w->config_path, &fresh, &report, err);
    if (!rc)
        rc = setup_check(&fresh, w->config_path, SETUP_CHECK_CHANGE, &report, err);
    log_warnings(&report);
    if (!rc)
        rc = scrape_token_read(&fresh, &token, err);
    if (!rc)
        rc = reload_certificate(w, &fresh, err);
    for (size_t i = 0; i < WIRE_MODULES && !rc; i++)
        rc = wire_modules[i]->reload ? wire_modules[i]->reload(w, &fresh, err) : 0;
    if (rc)
        return rc;
    wire_set_scrape_token(w, &token);
    scheduler_wake(w->scheduler, "check");
    scheduler_wake(w->scheduler, "updates");
    log_set_level((enum log_level)(LOG_LEVEL_ERROR + fresh.log_level));
    log_set_format((enum log_format)fresh.log_format);
    signon_set_limits(w->parts.signon, wire_signon_limits(&fresh));
    config_print_unreloadable(&w->config, &fresh, &unreloadable);
    if (unreloadable.len)
        log_event(LOG_LEVEL_NOTICE, "restart_needed", "options", unreloadable.data, NULL);
    return 0;
}

int wire_reload(struct wire *w, struct err *err) {
    struct err why = {0};
    int rc = reload_all(w, &why);
    (void)pthread_mutex_lock(&w->lock);
    if (!rc || !w->not_reloaded.code)
        w->not_reloaded_since_ms = clock_wall_ms();
    w->not_reloaded = why;
    (void)pthread_mutex_unlock(&w->lock);
    *err = why;
    return rc;
}
