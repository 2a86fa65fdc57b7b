/* What the parts need from their siblings, handed in as functions. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "clock.h"
#include "hashmap.h"
#include "log.h"
#include "query.h"
#include "str.h"
#include "vc_people.h"
#include "watch_run.h"
#include "wire_private.h"

/* -- sign-on asks vCenters ------------------------------------------------------------------------------------------------ */

static enum vc_proof_kind proof_of(enum signon_proof_kind proof) {
    switch (proof) {
    case SIGNON_PROOF_COOKIE: return VC_PROOF_COOKIE;
    case SIGNON_PROOF_TICKET: return VC_PROOF_TICKET;
    case SIGNON_PROOF_PLUGIN: return VC_PROOF_PLUGIN;
    case SIGNON_PROOF_KEY: return VC_PROOF_KEY;
    case SIGNON_PROOF_USER: return VC_PROOF_USER;
    case SIGNON_PROOF_PASSWORD:
    default: return VC_PROOF_PASSWORD;
    }
}

static int check_proof(void *arg, const struct signon_proof *given, struct signon_identity *out, struct err *err) {
    struct vc_proof proof = {.kind = proof_of(given->kind), .user = given->user, .secret = given->secret};
    struct wire *wire = arg;
    _cleanup_(link_unref) struct link *link = NULL;
    struct vim_user_session who = {0};
    bool is_program = false;
    int rc = platform_find(wire->platform, given->vcenter_id, &link, err);
    if (!rc)
        rc = vc_people_check(link, &proof, &who, &is_program, err);
    if (rc)
        return rc;
    out->user_name = STEAL(who.user_name);
    out->full_name = STEAL(who.full_name);
    out->session_key = STEAL(who.key);
    out->is_extension = is_program;
    vim_user_session_done(&who);
    return 0;
}

/* Whoever has a mapped privilege on the root folder administrates what runs there: that stands among what may be viewed. */
static int ask_admin(struct wire *wire, struct link *link, const struct vim_user_session *who, struct object_set *out,
                     struct err *err) {
    struct object_ref mark;
    size_t count = 0;
    _cleanup_free_ char **privileges = signon_mapped_privileges(wire->signon, link_id(link), &count);
    const struct vim_root_query query = {.privileges = (const char *const *)privileges, .count = count};
    bool is_admin = false;
    int rc = count ? vc_people_ask_root(link, who, &query, &is_admin, err) : 0;
    if (rc || !is_admin)
        return rc;
    rc = object_ref_make(link_id(link), POLICY_VCENTER_ADMIN_MOREF, &mark, err);
    return rc ? rc : object_set_add(out, &mark, err);
}

static int ask_rights(void *arg, const char *vcenter_id, const char *session_key, const char *user_name, struct object_set *out,
                      struct err *err) {
    struct wire *wire = arg;
    _cleanup_(link_unref) struct link *link = NULL;
    _cleanup_(dir_snapshot_unref) struct dir_snapshot *snapshot = directory_get(wire->directory);
    _cleanup_free_ char *key = str_dup(session_key), *user = str_dup(user_name);
    struct vim_user_session who = {.key = key, .user_name = user};
    struct object_set objects = {0};
    int rc = snapshot ? 0 : err_set(err, ERR_UNAVAILABLE, "the directory is not loaded yet");
    if (!rc)
        rc = platform_find(wire->platform, vcenter_id, &link, err);
    if (!rc)
        rc = dir_objects_of_interest(snapshot, vcenter_id, &objects, err);
    if (!rc)
        rc = vc_people_ask_rights(link, &who, &objects, out, err);
    if (!rc)
        rc = ask_admin(wire, link, &who, out, err);
    object_set_done(&objects);
    return rc;
}

static bool is_unreachable(void *arg, const char *vcenter_id) {
    struct wire *wire = arg;
    _cleanup_(link_unref) struct link *link = NULL;
    struct link_report report;
    if (platform_find(wire->platform, vcenter_id, &link, NULL))
        return false;
    link_get_report(link, &report);
    return report.state == LINK_UNREACHABLE;
}

/* A hash of what matters; never 0. Without memory the mark changes, and people are asked once more. */
static uint64_t mark_of_interest(void *arg, const char *vcenter_id) {
    struct wire *wire = arg;
    _cleanup_(dir_snapshot_unref) struct dir_snapshot *snapshot = directory_get(wire->directory);
    struct object_set objects = {0};
    uint64_t mark = 0;
    if (snapshot)
        (void)dir_objects_of_interest(snapshot, vcenter_id, &objects, NULL);
    for (size_t i = 0; i < objects.count; i++)
        mark = hash64_text(mark, objects.items[i].moref);
    object_set_done(&objects);
    return mark ? mark : 1;
}

static int submit(void *arg, const char *vcenter_id, uint64_t party, lane_fn *fn, void *fn_arg, struct err *err) {
    struct wire *wire = arg;
    _cleanup_(link_unref) struct link *link = NULL;
    int rc = platform_find(wire->platform, vcenter_id, &link, err);
    return rc ? rc : lane_submit_for(link_lane(link), party, fn, fn_arg, err);
}

struct signon_vcenter_ops wire_vcenter_ops(struct wire *wire) {
    struct signon_vcenter_ops ops = {.arg = wire,
                                     .check = check_proof,
                                     .ask_rights = ask_rights,
                                     .is_unreachable = is_unreachable,
                                     .mark_of_interest = mark_of_interest,
                                     .submit = submit};
    return ops;
}

/* -- changes -------------------------------------------------------------------------------------------------------------- */

void wire_on_written(void *arg) {
    struct wire *wire = arg;
    struct err err = {0};
    if (directory_poll(wire->directory, &err))
        log_error(LOG_LEVEL_DEBUG, "poll_after_write_failed", &err, NULL);
}

bool wire_get_size(void *arg, size_t *clusters, size_t *nodes) {
    const struct wire *wire = arg;
    struct dir_snapshot *snapshot = directory_get(wire->directory);
    if (!snapshot)
        return false;
    *clusters = snapshot->clusters_count;
    *nodes = snapshot->nodes_count;
    dir_snapshot_unref(snapshot);
    return true;
}

void wire_on_permissions(void *arg, const char *vcenter_id, const char *user) {
    struct wire *wire = arg;
    signon_drop_rights(wire->signon, vcenter_id, user);
    api_note_change(wire->api);
}

void wire_on_published(void *arg) {
    struct wire *wire = arg;
    api_note_change(wire->api);
}

/* After the change has been applied: who waits for a list looks again. */
static void tell_waiting(struct wire *wire, const struct change *change) {
    if (change->kind == CHANGE_SESSION)
        api_note_session_change(wire->api, change->object_id);
    else if (change->kind == CHANGE_USER || change->kind == CHANGE_ROLE_MAPPING)
        api_note_change(wire->api);
}

/* What failed for want of the database is told again; anything else would fail again. */
static int tell_again(int rc, const struct err *err, const char *kind) {
    if (rc)
        log_error(LOG_LEVEL_WARNING, "change_not_applied", err, "kind", kind, NULL);
    return rc == ERR_DATABASE || rc == ERR_BUSY || rc == ERR_NOMEM ? rc : 0;
}

static int apply_user_change(struct wire *wire, const char *user_id, struct err *err) {
    int rc = signon_apply_user_change(wire->signon, user_id, err);
    return rc ? rc : access_sync_names(wire->access, err);
}

int wire_on_change(void *arg, const struct change *change) {
    struct wire *wire = arg;
    struct err err = {0};
    int rc = 0;
    if (change->kind == CHANGE_SESSION)
        rc = signon_apply_session_change(wire->signon, change->object_id, &err);
    else if (change->kind == CHANGE_USER)
        rc = apply_user_change(wire, change->object_id, &err);
    else if (change->kind == CHANGE_ROLE_MAPPING)
        rc = signon_apply_role_mappings(wire->signon, &err);
    else if (change->kind == CHANGE_SIGNING_KEY && str_eq(change->object_id, SEAL_STORE_CHANGE))
        rc = sealing_follow(wire->sealing, &err);
    else if (change->kind == CHANGE_SIGNING_KEY)
        rc = signon_apply_key_change(wire->signon, &err);
    else if (change->kind == CHANGE_LDAP)
        rc = identity_sync(wire->identity, &err);
    else if (change->kind == CHANGE_VCENTER)
        rc = platform_sync(wire->platform, &err);
    else if (change->kind == CHANGE_CLUSTER)
        platform_note_cluster_changed(wire->platform, change->object_id);
    tell_waiting(wire, change);
    return tell_again(rc, &err, change_kind_name(change->kind));
}

void wire_on_difference(void *arg, const struct directory_difference *difference) {
    (void)arg;
    log_event(LOG_LEVEL_ERROR, "directory_difference", "kind", change_kind_name(difference->kind), "object",
              difference->object_id, "member", difference->member, "hint",
              "not told by the change feed: written by hand, or a defect of kaasd; memory is corrected", NULL);
}

int wire_on_gap(void *arg) {
    struct wire *wire = arg;
    struct err err = {0};
    int rc = sealing_follow(wire->sealing, &err);
    if (!rc)
        rc = signon_load(wire->signon, &err);
    if (!rc)
        rc = identity_sync(wire->identity, &err);
    if (!rc)
        rc = access_sync_names(wire->access, &err);
    if (!rc)
        rc = platform_sync(wire->platform, &err);
    platform_note_clusters_changed(wire->platform);
    return tell_again(rc, &err, "gap");
}

/* -- readiness and health ------------------------------------------------------------------------------------------------- */

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
    return store_check_answers(wire->store, err);
}

void wire_check_store(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "database"};
    struct err why = {0};
    switch (store_get_state(wire->store, &f.since_ms, &why)) {
    case STORE_AWAY:
        finding_say(&f, FINDING_FAILED, "%s",
                    directory_as_of_ms(wire->directory)
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

static void check_directory(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "directory", .since_ms = directory_as_of_ms(wire->directory)};
    struct err why = {0};
    if (!f.since_ms) {
        f.since_ms = wire->started_at_ms;
        finding_say(&f, FINDING_FAILED, "not loaded yet");
    } else if (directory_is_stale(wire->directory)) {
        if (directory_get_trouble(wire->directory, &why))
            finding_say_error(&f, FINDING_WARNING, &why);
        else
            finding_say(&f, FINDING_WARNING, "changes cannot be read at the moment");
    }
    findings_add(out, &f);
}

static void check_start(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "start", .since_ms = wire->started_at_ms};
    struct err why = {0};
    if (wire_check_ready(wire, &why))
        finding_say_error(&f, FINDING_FAILED, &why);
    findings_add(out, &f);
}

static void check_settings(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "settings", .since_ms = wire->started_at_ms};
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

/* One line for all vCenters that should be watched and are not, or whose news cannot be saved; the first one is named. */
static void check_watches(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "watch", .since_ms = wire->started_at_ms};
    size_t count = 0;
    struct link **links = platform_list(wire->platform, &count);
    for (size_t i = 0; i < count; i++) {
        struct watch_report report;
        watch_get_report(link_watch(links[i]), &report);
        if (!f.status && report.reason[0] && link_get_state(links[i]) == LINK_CONNECTED) {
            char label[LINK_NAME_BYTES];
            link_get_name(links[i], label);
            finding_say(&f, FINDING_WARNING, "changes at vCenter %s do not arrive: %s", label, report.reason);
            finding_advise(&f, "it is tried again by itself; see 'kaasctl vcenter status'");
        }
        link_unref(links[i]);
    }
    free(links);
    findings_add(out, &f);
}

/* Only while a change of the master key is not at its end. */
static void check_master_key(struct wire *wire, struct findings *out) {
    struct finding f = {.step = "master_key", .since_ms = wire->started_at_ms};
    struct sealing_rest rest;
    sealing_get_rest(wire->sealing, &rest);
    if (rest.remaining) {
        finding_say(&f, FINDING_WARNING, "%llu values are still sealed by master key %s", (unsigned long long)rest.remaining,
                    rest.old_key_id);
        finding_advise(&f, "it goes on by itself and must be done before the old key is removed; see 'kaasctl key master'");
    } else if (*rest.waiting_key_id) {
        finding_say(&f, FINDING_WARNING, "the master key file holds a newer key, %s, that does not seal yet",
                    rest.waiting_key_id);
        finding_advise(&f, "copy the file to all replicas, then run 'kaasctl key rotate-master'");
    } else {
        return;
    }
    findings_add(out, &f);
}

static bool is_for_health(const struct wire *wire, const char *name) {
    const struct link_work_kind *kinds = platform_work_of(wire->platform);
    for (unsigned i = 0; i < LINK_WORK_COUNT; i++)
        if (kinds[i].run && str_eq(kinds[i].name, name))
            return kinds[i].is_for_health;
    return false;
}

/* Work of one link that fails again and again. */
static void check_work(struct wire *wire, struct link *link, struct findings *out) {
    struct link_work_state states[LINK_WORK_COUNT];
    size_t count = link_get_work(link, states);
    for (size_t i = 0; i < count; i++) {
        struct finding f = {.since_ms = states[i].failing_since_ms};
        if (states[i].failures < 2 || !is_for_health(wire, states[i].name))
            continue;
        (void)snprintf(f.step, sizeof(f.step), "vcenter_%s", states[i].name);
        link_get_name(link, f.subject);
        finding_say_error(&f, FINDING_WARNING, &states[i].err);
        findings_add(out, &f);
    }
}

static void check_works(struct wire *wire, struct findings *out) {
    size_t count = 0;
    struct link **links = platform_list(wire->platform, &count);
    for (size_t i = 0; i < count; i++) {
        check_work(wire, links[i], out);
        link_unref(links[i]);
    }
    free(links);
}

void wire_check_health(void *arg, struct findings *out) {
    struct wire *wire = arg;
    check_start(wire, out);
    wire_check_store(wire, out);
    check_directory(wire, out);
    check_settings(wire, out);
    check_reload(wire, out);
    check_master_key(wire, out);
    check_watches(wire, out);
    check_works(wire, out);
    wire_check_records(wire, out);
    wire_check_logins(wire, out);
    wire_check_directories(wire, out);
    wire_check_kerberos(wire, out);
    wire_check_services(wire, out);
    wire_check_peers(wire, out);
}

/* Root and the user the daemon runs as: whoever can read its key file is an administrator anyway. */
bool wire_is_admin_uid(void *arg, unsigned uid) {
    (void)arg;
    return uid == 0 || uid == geteuid();
}
