/* Looking for what is wrong between us and a vCenter: the order of the steps, and what each needs. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "doctor.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "doctor_private.h"
#include "link_task.h"
#include "names.h"
#include "str.h"
#include "x509.h"

#define LEAST_MS 200           /* with less time left a step is not begun */
#define CONNECT_LIMIT_MS 5000L /* each connection */
#define CALL_LIMIT_MS 8000L    /* each call */
#define EXAMINATIONS_MAX 2     /* at the same time: the worker pool has other work, too */

/* -- words ------------------------------------------------------------------------------------------------------------------- */

#define NEEDS(step) (1U << (step))

/* A step whose needs were not met is skipped, and says which one it was. */
static const struct doctor_row {
    const char *name, *title;
    doctor_step_fn *look;
    unsigned needs;
} steps[DOCTOR_STEPS] = {
    [DOCTOR_NAME] = {"name", "Name resolution", doctor_look_name, 0},
    [DOCTOR_PORT] = {"port", "SDK port", doctor_look_port, NEEDS(DOCTOR_NAME)},
    [DOCTOR_TLS] = {"tls", "TLS certificate", doctor_look_tls, NEEDS(DOCTOR_PORT)},
    [DOCTOR_API] = {"api", "API", doctor_look_api, NEEDS(DOCTOR_TLS)},
    [DOCTOR_TUNNEL] = {"tunnel", "Login tunnel", doctor_look_tunnel, NEEDS(DOCTOR_NAME)},
    [DOCTOR_DIRECT] = {"direct", "Direct port", doctor_look_direct, NEEDS(DOCTOR_NAME)},
    [DOCTOR_WAY] = {"way", "Login ways", doctor_look_ways, NEEDS(DOCTOR_API)},
    [DOCTOR_LOGIN] = {"login", "Our login", doctor_look_login, NEEDS(DOCTOR_API)},
    [DOCTOR_CLOCK] = {"clock", "Clock", doctor_look_clock, NEEDS(DOCTOR_API)},
    [DOCTOR_PRIVILEGES] = {"privileges", "Privileges", doctor_look_privileges, NEEDS(DOCTOR_LOGIN)},
    [DOCTOR_RECORD] = {"record", "Extension record", doctor_look_record, NEEDS(DOCTOR_LOGIN)},
    [DOCTOR_ADDRESS] = {"address", "Our address", doctor_look_address, 0},
    [DOCTOR_MANIFEST] = {"manifest", "vCenter reaches us", doctor_look_manifest, 0},
    [DOCTOR_SESSIONS] = {"sessions", "Sessions", doctor_look_sessions, NEEDS(DOCTOR_LOGIN)},
    [DOCTOR_WATCH] = {"watch", "Watch", doctor_look_watch, 0},
    [DOCTOR_REPLICAS] = {"replicas", "Replicas apart", doctor_look_replicas, NEEDS(DOCTOR_LOGIN)},
};

const char *doctor_time(int64_t wall_ms, char out[DOCTOR_TIME_BYTES]) {
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || !strftime(out, DOCTOR_TIME_BYTES, "%Y-%m-%d %H:%M:%S UTC", &parts))
        (void)snprintf(out, DOCTOR_TIME_BYTES, "?");
    return out;
}

enum finding_status doctor_judge_expiry(int64_t not_after_ms, char *words, size_t words_bytes) {
    int64_t left_ms = not_after_ms - clock_wall_ms();
    char at[DOCTOR_TIME_BYTES];
    (void)doctor_time(not_after_ms, at);
    if (left_ms < 0) {
        (void)snprintf(words, words_bytes, "expired on %s", at);
        return FINDING_FAILED;
    }
    if (left_ms < X509_EXPIRY_WARNING_MS) {
        (void)snprintf(words, words_bytes, "expires in %lld days, on %s", (long long)(left_ms / CLOCK_DAY_MS), at);
        return FINDING_WARNING;
    }
    (void)snprintf(words, words_bytes, "valid until %s", at);
    return FINDING_OK;
}

/* -- steps ------------------------------------------------------------------------------------------------------------------- */

long doctor_time_left_ms(const struct doctor_visit *v, long most_ms) {
    int64_t left_ms = v->deadline_ms - clock_mono_ms();
    return left_ms < most_ms ? (long)(left_ms > 1 ? left_ms : 1) : most_ms;
}

/* Why a step cannot be done; DOCTOR_STEPS if it can. A warning does not keep the next step from going on. */
static enum doctor_step missing_need(const struct doctor_visit *v, enum doctor_step step) {
    enum doctor_step need = 0;
    while (need < DOCTOR_STEPS &&
           (!(steps[step].needs & NEEDS(need)) || v->outcome[need] == FINDING_OK || v->outcome[need] == FINDING_WARNING))
        need++;
    return need;
}

const char *doctor_title(const struct doctor_visit *v, enum doctor_step step) {
    const struct findings *findings = &v->report->findings;
    for (size_t i = 0; i < findings->count; i++)
        if (str_eq(findings->items[i].step, steps[step].name))
            return findings->items[i].title;
    return steps[step].title;
}

static void doctor_take_step(struct doctor_visit *v, enum doctor_step step) {
    const enum doctor_step need = missing_need(v, step);
    enum doctor_step root = need;
    const size_t from = v->report->findings.count;
    const int64_t began_ms = clock_mono_ms();
    struct finding f = {.status = FINDING_SKIPPED};
    (void)snprintf(f.step, sizeof(f.step), "%s", steps[step].name);
    (void)snprintf(f.title, sizeof(f.title), "%s", steps[step].title);
    while (root < DOCTOR_STEPS && missing_need(v, root) < DOCTOR_STEPS) /* what was skipped itself is not the reason */
        root = missing_need(v, root);
    if (need == DOCTOR_LOGIN && !v->vc->registered_at_ms)
        finding_say(&f, FINDING_SKIPPED, "not looked at: we are not registered with this vCenter yet");
    else if (need < DOCTOR_STEPS)
        finding_say(&f, FINDING_SKIPPED, "not looked at, since \"%s\" %s", doctor_title(v, root),
                    v->outcome[root] == FINDING_SKIPPED ? "was not done" : "failed");
    else if (v->deadline_ms - began_ms < LEAST_MS)
        finding_say(&f, FINDING_SKIPPED, "not looked at: the %d seconds of an examination were over", DOCTOR_LIMIT_MS / 1000);
    else if (platform_is_stopping(v->platform))
        finding_say(&f, FINDING_SKIPPED, "not looked at: the service is stopping");
    else
        steps[step].look(v, &f);
    findings_add(&v->report->findings, &f);
    if (v->report->findings.count > from)
        v->report->findings.items[from].duration_ms = clock_mono_ms() - began_ms;
    v->outcome[step] = findings_worst(&v->report->findings, from);
}

/* -- an examination ------------------------------------------------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list below */
static const struct link *under_way[EXAMINATIONS_MAX];

static int doctor_begin(const struct link *link, struct err *err) {
    const struct link **free_place = NULL;
    bool is_twice = false;
    LOCKED(&lock);
    for (size_t i = 0; i < EXAMINATIONS_MAX; i++) {
        is_twice = is_twice || under_way[i] == link;
        if (!under_way[i])
            free_place = &under_way[i];
    }
    if (free_place && !is_twice) {
        *free_place = link;
        return 0;
    }
    (void)err_set(err, ERR_BUSY,
                  is_twice ? "this vCenter is being examined already" : "as many vCenters as may be are being examined already");
    if (err)
        err->retry_after_s = DOCTOR_LIMIT_MS / 1000;
    return err_remedy(err, "wait until that has ended");
}

static void doctor_end(const struct link *link) {
    LOCKED(&lock);
    for (size_t i = 0; i < EXAMINATIONS_MAX; i++)
        if (under_way[i] == link)
            under_way[i] = NULL;
}

static long doctor_shorter(long limit_ms, long configured_ms) {
    return configured_ms && configured_ms < limit_ms ? configured_ms : limit_ms;
}

/* With shorter limits than the link's, so that a vCenter that hangs does not eat the time of the other steps. */
static int doctor_make_client(struct doctor_visit *v, struct err *err) {
    _cleanup_free_ char *agent = session_agent(v->env, "doctor");
    struct vim_options options = link_env_client(v->env, v->vc, agent);
    options.connect_timeout_ms = doctor_shorter(CONNECT_LIMIT_MS, options.connect_timeout_ms);
    options.call_timeout_ms = doctor_shorter(CALL_LIMIT_MS, options.call_timeout_ms);
    return agent ? platform_open_client(v->platform, &options, &v->client, err) : err_set(err, ERR_NOMEM, "out of memory");
}

static int doctor_prepare(struct doctor_visit *v, struct err *err) {
    int rc = link_get_info(v->link, &v->report->vc, err);
    if (rc)
        return rc;
    if (!v->vc->extension_key)
        v->report->vc.extension_key = str_dup(v->env->options.extension_key);
    if (!v->vc->extension_key)
        return err_set(err, ERR_NOMEM, "out of memory");
    v->ref = name_word(v->vc->name, v->vc->id);
    (void)login_material_load(v->env->options.runtime->store, v->env->options.runtime->seal, v->vc->id, &v->material,
                              &v->material_err);
    v->material.refusals = link_refusals(v->link); /* a password that was refused once is sent again by nobody */
    return doctor_make_client(v, err);
}

static void visit_done(struct doctor_visit *v) {
    (void)platform_close_client(v->platform, v->client);
    vim_about_done(&v->about);
    vim_user_session_done(&v->own);
    vim_extension_free(v->found);
    x509_info_done(&v->seen);
    login_material_done(&v->material);
}

static int doctor_examine_visit(struct doctor_visit *v, struct err *err) {
    int64_t began_ms = clock_mono_ms();
    int rc = doctor_prepare(v, err);
    v->deadline_ms = began_ms + DOCTOR_LIMIT_MS;
    for (enum doctor_step step = 0; step < DOCTOR_STEPS; step++)
        v->outcome[step] = FINDING_SKIPPED;
    for (enum doctor_step step = 0; !rc && step < DOCTOR_STEPS; step++)
        doctor_take_step(v, step);
    visit_done(v);
    v->report->worst = findings_worst(&v->report->findings, 0);
    v->report->duration_ms = clock_mono_ms() - began_ms;
    return rc ? rc : findings_check(&v->report->findings, err);
}

int doctor_examine(struct platform *platform, const char *vcenter_id, struct doctor_report *out, struct err *err) {
    struct doctor_report report = {.checked_at_ms = clock_wall_ms()};
    struct doctor_visit v = {.platform = platform, .env = platform_env(platform), .report = &report, .vc = &report.vc};
    _cleanup_(link_unref) struct link *link = NULL;
    int rc = platform_find(platform, vcenter_id, &link, err);
    if (!rc)
        rc = doctor_begin(link, err);
    if (rc)
        return rc;
    v.link = link;
    link_begin_task(link);
    rc = doctor_examine_visit(&v, err);
    link_end_task(link);
    doctor_end(link);
    if (rc) {
        doctor_report_done(&report);
        return rc;
    }
    *out = report;
    return 0;
}

void doctor_report_done(struct doctor_report *report) {
    if (!report)
        return;
    vcenter_done(&report->vc);
    findings_done(&report->findings);
    memset(report, 0, sizeof(*report));
}
