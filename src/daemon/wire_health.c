/* Readiness and health: asks each module, and tells changes in the log; who may read the metrics. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "digest.h"
#include "log.h"
#include "secret.h"
#include "str.h"
#include "wire_private.h"

int wire_check_ready(void *arg, struct err *err) {
    struct wire *wire = arg;
    if (atomic_load(&wire->is_ready))
        return 0;
    (void)pthread_mutex_lock(&wire->lock);
    if (err && !err->code) {
        const int why = wire->not_ready.code;
        *err = wire->not_ready;
        err->code = why == ERR_SCHEMA || why == ERR_DATABASE || why == ERR_AUDIT_BEHIND ? why : ERR_UNAVAILABLE;
        err->retry_after_s = 2;
    }
    (void)pthread_mutex_unlock(&wire->lock);
    return err ? err->code : ERR_UNAVAILABLE;
}

int wire_check_database(void *arg, struct err *err) {
    struct wire *wire = arg;
    return store_check_answers(wire->runtime.store, err);
}

static void wire_health_check_store(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "database"};
    struct err why = {0};
    switch (store_get_state(wire->runtime.store, &f.since_ms, &why)) {
    case STORE_AWAY:
        finding_say(&f, FINDING_FAILED, "%s",
                    inventory_as_of_ms(wire->parts.inventory)
                        ? "the database does not answer; lists go on from memory, nothing can be changed"
                        : "the database does not answer");
        finding_advise(&f, "see that MariaDB runs and that the database section of the configuration is right");
        break;
    case STORE_REFUSES: finding_say_error(&f, FINDING_FAILED, &why); break;
    case STORE_ANSWERS:
    default: break;
    }
    findings_add(out, &f);
}

static void wire_health_check_start(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "start", .since_ms = wire->parts.started_at_ms};
    struct err why = {0};
    if (wire_check_ready(wire, &why))
        finding_say_error(&f, FINDING_FAILED, &why);
    findings_add(out, &f);
}

static void check_settings(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "settings", .since_ms = wire->parts.started_at_ms};
    if (!*wire->config.server_public_url) {
        finding_say(&f, FINDING_WARNING, "server.public_url is not set: no vCenter can be registered");
        finding_advise(&f, "set it to the https address of this service");
    }
    findings_add(out, &f);
}

/* Only after a reload that failed, until one succeeds. */
static void check_reload(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "reload"};
    struct err why;
    (void)pthread_mutex_lock(&wire->lock);
    why = wire->not_reloaded;
    f.since_ms = wire->not_reloaded_since_ms;
    (void)pthread_mutex_unlock(&wire->lock);
    if (!why.code)
        return;
    finding_say_error(&f, FINDING_WARNING, &why);
    if (!f.remedy[0])
        finding_advise(&f, "what was in effect before goes on; mend it (kaasd --check-config), then: systemctl reload kaasd");
    findings_add(out, &f);
}

void wire_check_health(void *arg, struct findings *out) {
    struct wire *wire = arg;
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(wire->parts.inventory);
    wire_health_check_start(wire, out);
    wire_health_check_store(wire, out);
    check_settings(wire, out);
    check_reload(wire, out);
    for (size_t i = 0; i < WIRE_MODULES; i++)
        if (wire_modules[i]->check_health)
            wire_modules[i]->check_health(wire, snapshot ? snapshot->platform : NULL, out);
}

/* -- changes of it in the log -------------------------------------------------------------------------------------------- */

/* The check as it was last time; one that was not there was well. NULL: no room for more. */
static struct health_check *wire_health_find_check(struct health_log *log, const char *name) {
    for (size_t i = 0; i < log->count; i++)
        if (str_eq(log->checks[i].name, name))
            return &log->checks[i];
    if (log->count == HEALTH_CHECKS_MAX || strlen(name) >= sizeof(log->checks[0].name))
        return NULL;
    log->checks[log->count] = (struct health_check){0};
    (void)snprintf(log->checks[log->count].name, sizeof(log->checks[0].name), "%s", name);
    return &log->checks[log->count++];
}

static void note_status(struct health_log *log, const struct finding *f) {
    static const enum log_level levels[] = {LOG_LEVEL_NOTICE, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR};
    _cleanup_free_ char *name = str_format("%s%s%s", f->step, f->subject[0] ? ":" : "", f->subject);
    struct health_check *known = name ? wire_health_find_check(log, name) : NULL;
    if (!known)
        return;
    known->round = log->round;
    if (known->status == f->status)
        return;
    log_event(levels[f->status], "health_changed", "check", name, "status", finding_status_name(f->status), "was",
              finding_status_name(known->status), "text", f->status ? f->text : NULL, "hint", f->remedy[0] ? f->remedy : NULL,
              NULL);
    known->status = f->status;
}

static void note_changes(struct health_log *log, const struct findings *checks) {
    size_t kept = 0;
    log->round++;
    for (size_t i = 0; i < checks->count; i++)
        note_status(log, &checks->items[i]);
    for (size_t i = 0; i < log->count; i++)
        if (log->checks[i].round == log->round)
            log->checks[kept++] = log->checks[i];
    log->count = kept;
}

void wire_log_health(struct wire *wire) {
    struct findings checks = {0};
    wire_health_check_store(wire, &checks);
    for (size_t i = 0; i < WIRE_MODULES; i++)
        if (wire_modules[i]->logs_health)
            wire_modules[i]->check_health(wire, NULL, &checks);
    note_changes(&wire->health_log, &checks);
    findings_done(&checks);
}

/* -- who may read the metrics --------------------------------------------------------------------------------------- */

void wire_set_scrape_token(struct wire *wire, const struct scrape_token *token) {
    (void)pthread_mutex_lock(&wire->lock);
    wire->scrape_token = *token;
    (void)pthread_mutex_unlock(&wire->lock);
}

/* By digests, of one length whatever was sent. */
bool wire_is_scrape_token(void *arg, const char *token) {
    struct wire *wire = arg;
    uint8_t digest[DIGEST_SHA256_BYTES];
    bool is_same;
    digest_sha256(token, strlen(token), digest);
    (void)pthread_mutex_lock(&wire->lock);
    is_same = wire->scrape_token.is_set && secret_eq(digest, sizeof(digest), wire->scrape_token.digest, sizeof(digest));
    (void)pthread_mutex_unlock(&wire->lock);
    return is_same;
}

/* Root and the user the daemon runs as: whoever can read its key file is an administrator anyway. */
bool wire_is_admin_uid(void *arg, unsigned uid) {
    (void)arg;
    return uid == 0 || uid == geteuid();
}
