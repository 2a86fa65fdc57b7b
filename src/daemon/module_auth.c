/* Who people and programs are, and what they may. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "accounts.h"
#include "fsutil.h"
#include "ldapdirs.h"
#include "log.h"
#include "str.h"
#include "wire_private.h"

#define KERBEROS_THREADS 8U /* most of what one does is waiting for the database */
#define KERBEROS_QUEUE_COUNT 1024U
#define PEM_BYTES_MAX (1024U * 1024U)

/* -- LDAP directories ------------------------------------------------------------------------------------------------------------- */

static int make_ldapdirs(struct wire *w, struct err *err) {
    const struct ldapdir_options options = {
        .runtime = &w->runtime,
        .connect_timeout_ms = (long)w->config.ldap_connect_timeout_ms,
        .call_timeout_ms = (long)w->config.ldap_call_timeout_ms,
    };
    return ldapdir_new(&options, &w->parts.ldapdirs, err);
}

MODULE_DO(stop_ldapdirs, ldapdir_stop(w->parts.ldapdirs))
MODULE_DO(drop_ldapdirs, ldapdir_free(w->parts.ldapdirs))
MODULE_TRY(load_ldapdirs, ldapdir_sync(w->parts.ldapdirs, err))

static int follow_ldapdirs(struct wire *w, const struct change *change, struct err *err) {
    return change->kind == CHANGE_LDAP ? ldapdir_sync(w->parts.ldapdirs, err) : 0;
}

MODULE_CHECK(check_ldapdirs, ldapdir_check_health(w->parts.ldapdirs, out))
MODULE_MEASURE(measure_ldapdirs, ldapdir_write_metrics(w->parts.ldapdirs, page))

static int tick_identity(struct wire *wire, struct err *err) {
    (void)err;
    if (atomic_load(&wire->is_ready))
        ldapdir_tick(wire->parts.ldapdirs);
    if (wire->parts.kerberos)
        kerberos_tick(wire->parts.kerberos);
    wire_log_health(wire);
    return 0;
}

const struct wire_module module_ldapdirs = {
    .make = make_ldapdirs,
    .stop = stop_ldapdirs,
    .drop = drop_ldapdirs,
    .load = load_ldapdirs,
    .on_change = follow_ldapdirs,
    .check_health = check_ldapdirs,
    .logs_health = true,
    .write_metrics = measure_ldapdirs,
    .ticks = {{.name = "identity", .period_ms = SECOND, .retry = RETRY_QUICK, .run = tick_identity, .runs_before_ready = true}},
};

/* -- Kerberos ---------------------------------------------------------------------------------------------------------------------- */

/* By role: who may do more than see what is shown to them. */
static bool is_privileged(void *arg, const char *principal_id, const struct group_set *groups) {
    struct wire *w = arg;
    return signon_mapped_role(w->parts.signon, principal_id, groups) > ROLE_USER;
}

/* The certificate that clients see: `cert_pem`, or the one that `config` names. One that cannot be used is told of in the log. */
void wire_set_kerberos_certificate(struct wire *w, const struct config *config, const char *cert_pem) {
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
        .runtime = &w->runtime,
        .ldapdirs = w->parts.ldapdirs,
        .keytab = config->auth_kerberos_keytab,
        .replay_cache = config->auth_kerberos_replay_cache,
        .realms = (const char *const *)config->auth_kerberos_realms.items,
        .encryption_types = (const char *const *)config->auth_kerberos_encryption_types.items,
        .looks_at_bindings = config->auth_kerberos_channel_bindings != 0,
        .requires_pac = config->auth_kerberos_require_pac,
        .live_check = (enum kerberos_live_check)config->auth_kerberos_live_check,
        .is_privileged = is_privileged,
        .arg = w,
    };
    const struct worker_pool_options workers = {
        .name = "kerberos", .threads = KERBEROS_THREADS, .queue_count = KERBEROS_QUEUE_COUNT};
    struct err folder_err = {0};
    int rc;
    if (!*config->auth_kerberos_keytab)
        return 0;
    if (wire_make_folder_of(config->auth_kerberos_replay_cache, &folder_err)) /* no reason not to start: health tells of it */
        log_error(LOG_LEVEL_WARNING, "kerberos_folder", &folder_err, NULL);
    rc = wire_make_pool(&workers, &w->parts.kerberos_pool, err);
    if (!rc)
        rc = kerberos_new(&options, &w->parts.kerberos, err);
    if (!rc)
        wire_set_kerberos_certificate(w, config, w->chain.pem);
    return rc;
}

MODULE_DO(drop_kerberos, (kerberos_free(w->parts.kerberos), worker_pool_free(w->parts.kerberos_pool)))
MODULE_CHECK(check_kerberos, kerberos_check_health(w->parts.kerberos, w->config.auth_kerberos_keytab, out))

/* Rows come with each sign-on, and each is of no use after some minutes. */
MODULE_TRY(purge_used_proofs, w->parts.kerberos ? kerberos_purge(w->parts.kerberos, err) : 0)

const struct wire_module module_kerberos = {
    .make = make_kerberos,
    .drop = drop_kerberos,
    .check_health = check_kerberos,
    .logs_health = true,
    .ticks =
        {{.name = "used_proofs", .period_ms = 5 * MINUTE, .jitter_percent = 20, .retry = RETRY_SLOW, .run = purge_used_proofs}},
};

/* -- sessions and rights ----------------------------------------------------------------------------------------------------------- */

struct signon_limits wire_signon_limits(const struct config *config) {
    return (struct signon_limits){.sessions_max = (unsigned)config->auth_sessions_per_principal,
                                  .per_s = (unsigned)config->auth_signon_rate};
}

static int make_signon(struct wire *w, struct err *err) {
    struct signon_options options = {
        .runtime = &w->runtime,
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
        .limits = wire_signon_limits(&w->config),
    };
    return signon_new(&options, &w->parts.signon, err);
}

MODULE_DO(drop_signon, signon_free(w->parts.signon))
MODULE_TRY(load_signon, signon_load(w->parts.signon, err))

/* Sessions that have changed are many, and read together: wire_on_changes. */
static int follow_signon(struct wire *w, const struct change *change, struct err *err) {
    int rc = 0;
    if (change->kind == CHANGE_USER)
        rc = signon_apply_user_change(w->parts.signon, change->object_id, err);
    else if (change->kind == CHANGE_ROLE_MAPPING)
        rc = signon_apply_role_mappings(w->parts.signon, err);
    else if (change->kind == CHANGE_SIGNING_KEY && !str_eq(change->object_id, SEAL_STORE_CHANGE))
        rc = signon_apply_key_change(w->parts.signon, err);
    if (change->kind == CHANGE_USER || change->kind == CHANGE_ROLE_MAPPING)
        api_note_change(w->api);
    return rc;
}

/* By a session key, which others can see, somebody may sign in as its owner. */
static void check_signon(struct wire *wire, const struct inventory_platform *platform, struct findings *out) {
    struct finding f = {.step = "session_key", .since_ms = wire->parts.started_at_ms};
    (void)platform;
    if (!wire->config.auth_vcenter_session_key)
        return;
    finding_say(&f, FINDING_WARNING,
                "auth.vcenter.session_key is \"allow\": whoever can list the sessions of a vCenter can sign in "
                "as any person who is signed in there");
    finding_advise(&f, "give programs a service account with --may-delegate, and set the option to \"services\"");
    findings_add(out, &f);
}

MODULE_MEASURE(measure_signon, signon_write_metrics(w->parts.signon, page))
MODULE_TRY(tick_rights, (signon_rights_tick(w->parts.signon), 0))

/* People who are signed in, in the directories they came by. */
MODULE_TRY(check_people, (signon_check_directories(w->parts.signon), 0))
MODULE_TRY(purge_sessions, signon_purge(w->parts.signon, err))
MODULE_TRY(tick_signing_keys, signon_keys_tick(w->parts.signon, err))

/* Who is due is asked about soon after. */
static int64_t get_people_period_ms(const struct config *config) {
    const int64_t quarter_ms = config->auth_directory_live_check_ms / 4;
    return quarter_ms < 5 * SECOND ? quarter_ms : 5 * SECOND;
}

const struct wire_module module_signon = {
    .make = make_signon,
    .drop = drop_signon,
    .load = load_signon,
    .on_change = follow_signon,
    .check_health = check_signon,
    .write_metrics = measure_signon,
    .ticks = {{.name = "rights",
               .period_ms = SIGNON_RIGHTS_TICK_MS,
               .retry = RETRY_QUICK,
               .run = tick_rights,
               .runs_before_ready = true},
              {.name = "people", .get_period_ms = get_people_period_ms, .retry = RETRY_QUICK, .run = check_people},
              {.name = "sessions", .period_ms = MINUTE, .jitter_percent = 20, .retry = RETRY_SLOW, .run = purge_sessions},
              {.name = "signing_keys", .period_ms = SECOND, .retry = RETRY_SLOW, .run = tick_signing_keys}},
};

/* -- local users, grants, role mappings -------------------------------------------------------------------------------------------- */

static int make_access(struct wire *w, struct err *err) {
    struct access_options options = {.runtime = &w->runtime, .maps_privileges = w->config.auth_vcenter_privilege_roles};
    return access_new(&options, &w->parts.access, err);
}

MODULE_DO(drop_access, access_free(w->parts.access))
MODULE_TRY(load_access, access_sync_names(w->parts.access, err))

static int follow_access(struct wire *w, const struct change *change, struct err *err) {
    return change->kind == CHANGE_USER ? access_sync_names(w->parts.access, err) : 0;
}

static void check_access(struct wire *w, const struct inventory_platform *platform, struct findings *out) {
    access_check_users(w->parts.access, w->parts.started_at_ms, out);
    if (!platform)
        return;
    access_check_grants(platform->grants, platform->grants_count, w->parts.started_at_ms, out);
    services_check_health(platform, out);
}

const struct wire_module module_access = {
    .make = make_access, .drop = drop_access, .load = load_access, .on_change = follow_access, .check_health = check_access};
