/* Builds the daemon out of its parts, in order, and takes it down in reverse. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire.h"

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "access.h"
#include "audit_store.h"
#include "clock.h"
#include "event_make.h"
#include "fsutil.h"
#include "http_client.h"
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
#define SIGNON_THREADS 4U   /* half of the connections to the database that there are by default */
#define KERBEROS_THREADS 8U /* most of what one does is waiting for the database */
#define KERBEROS_QUEUE_COUNT 1024U
#define QUEUE_COUNT 256U
#define PEM_BYTES_MAX (1024U * 1024U)
#define CA_PEM_BYTES_MAX (4U * 1024U * 1024U) /* revocation lists of large CAs */
#define DESCRIPTORS_OF_VCENTERS 512U          /* 64 of them: up to four calls and a watch each, connections for sign-ons beside */
#define DESCRIPTORS_OF_FILES 64U /* standard streams, logs, files that are read, connections for looking at a new vCenter */

/* -- parts ---------------------------------------------------------------------------------------------------------------- */

/* A password costs a hundred requests' time by design. A flood of them may take what is left over, not what lists need. */
static void begin_hashing(void) {
    const id_t me = (id_t)gettid();
    store_thread_begin();
    (void)setpriority(PRIO_PROCESS, me, getpriority(PRIO_PROCESS, me) + HASHING_NICE); /* Linux: of this thread alone */
}

static int wire_make_pool(const struct worker_pool_options *wanted, struct worker_pool **out, struct err *err) {
    struct worker_pool_options options = *wanted;
    options.thread_begin = wanted->thread_begin ? wanted->thread_begin : store_thread_begin;
    options.thread_end = store_thread_end;
    return worker_pool_new(&options, out, err);
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
    int rc = seal_open_file(w->config.secrets_master_key_file, &w->seal, err);
    rc = rc ? rc : scrape_token_read(&w->config, &w->scrape_token, err);
    return rc ? rc : server_cert_load(&w->config, &w->chain, &w->key_pem, err);
}

/* Without a trailing slash, so that paths can be appended. */
static int make_public_url(struct wire *w, struct err *err) {
    size_t n;
    w->public_url = str_dup(w->config.server_public_url);
    if (!w->public_url)
        return err_set(err, ERR_NOMEM, "out of memory");
    n = strlen(w->public_url);
    while (n && w->public_url[n - 1] == '/')
        w->public_url[--n] = 0;
    return 0;
}

static int make_inventory(struct wire *w, struct err *err) {
    struct inventory_options options = {
        .store = w->store,
        .on_changes = wire_on_changes,
        .on_gap = wire_on_gap,
        .on_difference = wire_on_difference,
        .on_change_arg = w,
        .on_published = wire_on_published,
        .on_published_arg = w,
        .report_stale_after_ms = w->config.clusters_report_stale_after_ms,
    };
    int rc = inventory_new(&options, &w->parts.inventory, err);
    return rc ? rc : event_maker_new(w->store, w->parts.inventory, &w->event_maker, err);
}

static int make_networks(struct wire *w, struct err *err) {
    int rc = net_policy_init(&w->vcenter_networks, "vcenter.allowed_networks",
                             (const char *const *)w->config.vcenter_allowed_networks.items, err);
    return rc ? rc
              : net_policy_init(&w->hx_networks, "hx.allowed_networks", (const char *const *)w->config.hx_allowed_networks.items,
                                err);
}

static int make_platform(struct wire *w, struct err *err) {
    const char *email = w->config.vcenter_admin_email;
    int rc = manifest_log_new(&w->parts.manifest_log, err);
    struct platform_options options = {
        .store = w->store,
        .seal = w->seal,
        .version = PACKAGE_VERSION,
        .extension_key = w->config.vcenter_extension_key,
        .public_url = w->public_url,
        .server_cert_pem = w->chain.certs[0].pem,
        .admin_email = *email ? email : "noreply@localhost.invalid",
        .networks = &w->vcenter_networks,
        .view_privilege = w->config.auth_vcenter_view_privilege,
        .inventory = w->parts.inventory,
        .has_events = w->config.vcenter_events,
        .manifest_log = w->parts.manifest_log,
        .connect_timeout_ms = (long)w->config.vcenter_connect_timeout_ms,
        .call_timeout_ms = (long)w->config.vcenter_call_timeout_ms,
        .keepalive_ms = w->config.vcenter_keepalive_ms,
        .login_certificate_days = (int)w->config.vcenter_login_certificate_days,
        .key_bits = config_key_bits(&w->config),
        .on_permissions = wire_on_permissions,
        .on_permissions_arg = w,
        .on_refused = wire_on_refused,
        .on_written = wire_on_written,
        .on_written_arg = w,
    };
    if (!rc)
        rc = platform_new(&options, &w->parts.platform, err);
    if (!rc)
        wire_plug_in_work(w); /* before there are links: what they do without being told */
    return rc;
}

static struct signon_limits signon_limits_of(const struct config *config) {
    return (struct signon_limits){.sessions_max = (unsigned)config->auth_sessions_per_principal,
                                  .per_s = (unsigned)config->auth_signon_rate};
}

static int make_signon(struct wire *w, struct err *err) {
    struct signon_options options = {
        .store = w->store,
        .seal = w->seal,
        .platform = w->parts.platform,
        .inventory = w->parts.inventory,
        .ldapdirs = w->parts.ldapdirs,
        .issuer = *w->public_url ? w->public_url : "kaas",
        .token_lifetime_ms = w->config.auth_token_lifetime_ms,
        .session_lifetime_ms = w->config.auth_session_lifetime_ms,
        .ticket_session_lifetime_ms = w->config.auth_clone_ticket_lifetime_ms,
        .signing_key_lifetime_ms = w->config.auth_signing_key_lifetime_ms,
        .signing_key_publish_ms = w->config.auth_signing_key_publish_ms,
        .rights_fresh_ms = w->config.auth_rights_fresh_ms,
        .maps_privileges = w->config.auth_vcenter_privilege_roles,
        .directory_check_ms = w->config.auth_directory_live_check_ms,
        .rights_rechecks_per_s = (unsigned)w->config.auth_rights_recheck_per_s,
        .limits = signon_limits_of(&w->config),
    };
    return signon_new(&options, &w->parts.signon, err);
}

static int make_sealing(struct wire *w, struct err *err) {
    struct sealing_options options = {.store = w->store, .seal = w->seal, .key_file = w->config.secrets_master_key_file};
    return sealing_new(&options, &w->parts.sealing, err);
}

static int make_clusters(struct wire *w, struct err *err) {
    struct clusters_options options = {
        .store = w->store, .on_written = wire_on_written, .on_written_arg = w, .get_size = wire_get_size, .get_size_arg = w};
    return clusters_new(&options, &w->parts.clusters, err);
}

static int make_access(struct wire *w, struct err *err) {
    struct access_options options = {.store = w->store,
                                     .on_written = wire_on_written,
                                     .on_written_arg = w,
                                     .maps_privileges = w->config.auth_vcenter_privilege_roles};
    return access_new(&options, &w->parts.access, err);
}

static int make_identity(struct wire *w, struct err *err) {
    const struct ldapdir_options options = {
        .store = w->store,
        .seal = w->seal,
        .connect_timeout_ms = (long)w->config.ldap_connect_timeout_ms,
        .call_timeout_ms = (long)w->config.ldap_call_timeout_ms,
        .thread_begin = store_thread_begin,
        .thread_end = store_thread_end,
        .on_written = wire_on_written,
        .on_written_arg = w,
    };
    return ldapdir_new(&options, &w->parts.ldapdirs, err);
}

static int make_folder_of(const char *path, struct err *err) {
    _cleanup_free_ char *folder = str_dup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash || slash == folder)
        return 0;
    *slash = 0;
    return access(folder, F_OK) ? fs_make_dirs(folder, 0755, err) : 0;
}

/* The certificate that clients see: `cert_pem`, or the one that `config` names. One that cannot be used is told of in the log. */
static void set_kerberos_certificate(struct wire *w, const struct config *config, const char *cert_pem) {
    _cleanup_strbuf_ struct strbuf pem;
    const char *path = config->auth_kerberos_channel_certificate;
    struct err err = {0};
    int rc = 0;
    strbuf_init(&pem, PEM_BYTES_MAX);
    if (!w->parts.kerberos)
        return;
    if (*path)
        rc = fs_read_text(path, &pem, &err);
    if (!rc)
        rc = kerberos_set_certificate(w->parts.kerberos, *path ? pem.data : cert_pem, &err);
    if (rc)
        log_error(LOG_LEVEL_WARNING, "kerberos_channel_bindings", &err, "hint",
                  "tokens that are bound to the TLS connection are taken without a look at what they are bound to", NULL);
}

static int make_kerberos(struct wire *w, struct err *err) {
    const struct config *config = &w->config;
    const struct kerberos_options options = {
        .store = w->store,
        .ldapdirs = w->parts.ldapdirs,
        .keytab = config->auth_kerberos_keytab,
        .replay_cache = config->auth_kerberos_replay_cache,
        .realms = (const char *const *)config->auth_kerberos_realms.items,
        .encryption_types = (const char *const *)config->auth_kerberos_encryption_types.items,
        .looks_at_bindings = config->auth_kerberos_channel_bindings != 0,
        .requires_pac = config->auth_kerberos_require_pac,
        .live_check = (enum kerberos_live_check)config->auth_kerberos_live_check,
        .is_privileged = wire_is_privileged,
        .arg = w,
    };
    const struct worker_pool_options workers = {
        .name = "kerberos", .threads = KERBEROS_THREADS, .queue_count = KERBEROS_QUEUE_COUNT};
    struct err folder_err = {0};
    int rc;
    if (!*config->auth_kerberos_keytab)
        return 0;
    if (make_folder_of(config->auth_kerberos_replay_cache, &folder_err)) /* no reason not to start: health tells of it */
        log_error(LOG_LEVEL_WARNING, "kerberos_folder", &folder_err, NULL);
    rc = wire_make_pool(&workers, &w->parts.kerberos_pool, err);
    if (!rc)
        rc = kerberos_new(&options, &w->parts.kerberos, err);
    if (!rc)
        set_kerberos_certificate(w, config, w->chain.pem);
    return rc;
}

static int make_peers(struct wire *w, struct err *err) {
    const struct peers_options options = {
        .store = w->store,
        .kerberos = w->parts.kerberos,
        .keytab = w->config.auth_kerberos_keytab,
        .networks = &w->hx_networks,
        .connect_timeout_ms = (long)w->config.peers_call_timeout_ms,
        .call_timeout_ms = (long)w->config.peers_call_timeout_ms,
        .check_every_ms = w->config.peers_check_interval_ms,
        .thread_begin = store_thread_begin,
        .thread_end = store_thread_end,
        .on_news = wire_on_peer_news,
        .on_news_arg = w,
        .on_set = wire_on_peer_set,
        .on_set_arg = w,
    };
    return peers_new(&options, &w->parts.peers, err);
}

static int wire_read_file(const char *path, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text = {0};
    int rc;
    if (!*path)
        return 0;
    strbuf_init(&text, CA_PEM_BYTES_MAX);
    rc = fs_read_text(path, &text, err);
    if (rc)
        return rc;
    *out = strbuf_steal(&text);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int set_hx_ca(struct wire *w, const struct config *config, struct err *err) {
    _cleanup_free_ char *pem = NULL;
    int rc = wire_read_file(config->hx_ca_file, &pem, err);
    return rc ? rc : hyperflex_set_ca(w->parts.hyperflex, pem, err);
}

static int make_hyperflex(struct wire *w, struct err *err) {
    const struct hyperflex_options options = {
        .store = w->store,
        .seal = w->seal,
        .networks = &w->hx_networks,
        .names = (const char *const *)w->config.hx_names.items,
        .call_timeout_ms = (long)w->config.hx_call_timeout_ms,
        .read_every_ms = w->config.hx_read_interval_ms,
        .public_url = w->public_url,
        .version = PACKAGE_VERSION,
        .publishes = w->config.hx_auto_publish,
        .thread_begin = store_thread_begin,
        .thread_end = store_thread_end,
        .on_news = wire_on_hx_news,
        .list_addresses = wire_list_hx_addresses,
        .on_set = wire_on_hx_set,
        .on_published = wire_on_hx_published,
        .get_certificate = wire_get_certificate,
        .ask_peer = wire_ask_peer,
        .arg = w,
    };
    int rc = hyperflex_new(&options, &w->parts.hyperflex, err);
    return rc ? rc : set_hx_ca(w, &w->config, err);
}

static int make_updates(struct wire *w, struct err *err) {
    const struct updates_options options = {.store = w->store, .replica = w->replica_name, .version = PACKAGE_VERSION};
    int rc = updates_new(&options, &w->parts.updates, err);
    return rc ? rc : updates_configure(w->parts.updates, &w->config, err);
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
        rc = make_folder_of(w->config.server_admin_socket, err);
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
    int rc = db_settings_open(&w->config, w->config_path, DB_ACCOUNT_RUNTIME, &w->store, err);
    if (rc)
        return rc;
    (void)snprintf(w->replica_name, sizeof(w->replica_name), "%s", *name ? name : "localhost");
    if (!*name)
        (void)gethostname(w->replica_name, sizeof(w->replica_name) - 1);
    store_set_lock_listener(w->store, wire_log_lock, w);
    if (w->config.audit_log)
        store_set_audit_listener(w->store, wire_log_audit, w);
    return audit_store_set_place(w->store, w->config.state_dir, w->replica_name, err);
}

int wire_up(struct config *config, const char *config_path, struct wire **out, struct err *err) {
    static part_fn *const parts[] = {make_secrets,  make_public_url, wire_make_store, make_pools,         make_inventory,
                                     make_networks, make_platform,   make_identity,   make_signon,        make_sealing,
                                     make_clusters, make_access,     make_kerberos,   make_peers,         make_hyperflex,
                                     make_updates,  make_api,        start_servers,   wire_start_periodic};
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

/* Who waits for vCenters, directories, KDCs and peers is ended at the same time: each may take some seconds. */
static void *stop_platform(void *arg) {
    struct wire *w = arg;
    store_thread_begin();
    platform_stop(w->parts.platform);
    store_thread_end();
    return NULL;
}

static void stop_waiting(struct wire *w) {
    pthread_t thread;
    const bool has_thread = w->parts.platform && !pthread_create(&thread, NULL, stop_platform, w);
    ldapdir_stop(w->parts.ldapdirs);
    peers_stop(w->parts.peers);
    hyperflex_stop(w->parts.hyperflex);
    updates_stop(w->parts.updates);
    if (has_thread)
        (void)pthread_join(thread, NULL);
    else
        platform_stop(w->parts.platform);
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
    if (!store_check_answers(w->store, NULL)) {
        (void)audit_store_write_notes(w->store, NULL);
        (void)audit_store_note_heads(w->store, true, NULL);
    }
    if (audit_store_save_head(w->store, &err))
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
    if (atomic_load(&w->is_ready) && !store_check_answers(w->store, NULL)) {
        (void)replica_store_leave(w->store, NULL);
        hyperflex_sign_out(w->parts.hyperflex);
    }
    end_audit(w);
    for (size_t i = 0; i < WIRE_SERVERS; i++)
        httpd_free(w->servers[i]);
    api_free(w->api);
    peers_free(w->parts.peers);
    hyperflex_free(w->parts.hyperflex);
    updates_free(w->parts.updates);
    kerberos_free(w->parts.kerberos);
    worker_pool_free(w->parts.kerberos_pool);
    ldapdir_free(w->parts.ldapdirs);
    access_free(w->parts.access);
    clusters_free(w->parts.clusters);
    signon_free(w->parts.signon);
    sealing_free(w->parts.sealing);
    platform_free(w->parts.platform);
    manifest_log_free(w->parts.manifest_log);
    event_maker_free(w->event_maker);
    inventory_free(w->parts.inventory);
    worker_pool_free(w->parts.database);
    worker_pool_free(w->parts.hashing);
    worker_pool_free(w->parts.signons);
    worker_pool_free(w->parts.outside);
    store_free(w->store);
    seal_free(w->seal);
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
        set_kerberos_certificate(w, fresh, chain.pem);
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
    if (!rc)
        rc = set_hx_ca(w, &fresh, err);
    if (!rc)
        rc = updates_configure(w->parts.updates, &fresh, err);
    if (rc)
        return rc;
    wire_set_scrape_token(w, &token);
    scheduler_wake(w->scheduler, "check");
    scheduler_wake(w->scheduler, "updates");
    log_set_level((enum log_level)(LOG_LEVEL_ERROR + fresh.log_level));
    log_set_format((enum log_format)fresh.log_format);
    signon_set_limits(w->parts.signon, signon_limits_of(&fresh));
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
