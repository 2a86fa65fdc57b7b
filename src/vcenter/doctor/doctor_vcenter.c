/* The doctor's calls to a vCenter: what it is, how we log in, what we may do. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "doctor_private.h"
#include "extension_record.h"
#include "manifest_log.h"
#include "replica_store.h"
#include "str.h"
#include "verdict_ask.h"
#include "watch_run.h"

#define OLDEST_API "7.0.0.0"
#define OLDEST_NAME "7.0"
#define CLOCK_WARNING_S 60

/* -- product ----------------------------------------------------------------------------------------------------------------- */

void doctor_look_api(struct doctor_visit *v, struct finding *f) {
    struct err err = {0};
    int rc = vim_connect(v->client, &v->about, &err);
    if (rc) {
        finding_say_error(f, FINDING_FAILED, &err);
        if (rc == ERR_TIMEOUT)
            finding_advise(
                f, "vCenter takes connections but does not answer: look at its services (vCenter management on port 5480)");
        return;
    }
    finding_say(f, FINDING_OK, "%s; we speak API %s", v->about.full_name, v->about.api_version);
    if (vim_version_is_at_least(v->about.api_version, OLDEST_API))
        return;
    f->status = FINDING_WARNING;
    finding_advise(f, "this vCenter is older than " OLDEST_NAME ", the oldest that we support: upgrade it");
}

/* -- logging in ---------------------------------------------------------------------------------------------------------------- */

/* A certificate and a key of any kind will do for a probe; ours are taken when there are some. */
static int certificate_for_probe(const struct doctor_visit *v, struct login_credential *made, const struct login_credential **out,
                                 struct err *err) {
    if (v->material.active.cert_pem) {
        *out = &v->material.active;
        return 0;
    }
    *out = made;
    return login_credential_make(v->vc, 1, X509_PROBE_KEY_BITS, made, err);
}

static void tell_attempt(const struct doctor_visit *v, struct finding *f, const struct login_attempt *attempt, bool other_works) {
    enum doctor_step port = attempt->strategy == VIM_STRATEGY_TUNNEL ? DOCTOR_TUNNEL : DOCTOR_DIRECT;
    (void)snprintf(f->title, sizeof(f->title), "Way %s", vim_strategy_name(attempt->strategy));
    if (attempt->works) {
        finding_say(f, FINDING_OK, "works: vCenter gets our certificate this way");
        return;
    }
    finding_say_error(f, other_works ? FINDING_WARNING : FINDING_FAILED, &attempt->err);
    if (v->outcome[port] == FINDING_FAILED || v->outcome[port] == FINDING_WARNING)
        finding_say(f, f->status, "does not work: see \"%s\" above", doctor_title(v, port));
    finding_advise(f, "%s",
                   other_works ? "nothing to do as long as another way works"
                               : "mend that port, or log in another way (" DOC_PAGE("admin/vcenter.md") ", \"Login ways\")");
}

/* Only the ways of certificates: a password is not sent for a probe. */
void doctor_look_ways(struct doctor_visit *v, struct finding *f) {
    struct login_attempt attempts[LOGIN_STRATEGIES_MAX];
    _cleanup_done_(login_credential_done) struct login_credential made = {0};
    const struct login_credential *with = NULL;
    bool some_work = v->material.active.user != NULL;
    struct err err = {0};
    size_t count = 0;
    int rc = certificate_for_probe(v, &made, &with, &err);
    if (!rc)
        count = login_probe(v->client, v->vc, with, NULL, attempts);
    for (size_t i = 0; i < count; i++)
        some_work = some_work || attempts[i].works;
    for (size_t i = 0; i < count; i++) {
        if (i) { /* a finding for each way, the last one as those of other steps */
            findings_add(&v->report->findings, f);
            f->remedy[0] = 0;
        }
        tell_attempt(v, f, &attempts[i], some_work);
        if (!v->vc->registered_at_ms && attempts[i].works)
            finding_say(f, FINDING_OK, "works (probed before registering)");
    }
    if (rc)
        finding_say_error(f, FINDING_FAILED, &err);
    else if (!count)
        finding_say(f, FINDING_SKIPPED, "no way by certificate is switched on");
}

/* What keeps a login from being accepted can often be told by what the link saw last. */
static void tell_refusal(const struct doctor_visit *v, struct finding *f, const struct err *err) {
    struct link_report report;
    const struct record_note *note = &report.record;
    link_get_report(v->link, &report);
    finding_say(f, FINDING_FAILED, "%s", err->text);
    finding_advise(
        f, "register again, which changes nothing else: kaasctl vcenter register %s --user administrator@vsphere.local", v->ref);
    if (note->state == RECORD_MISSING) {
        finding_say(f, FINDING_FAILED, "refused: the extension %s was removed from the vCenter", v->vc->extension_key);
    } else if (note->state == RECORD_FOREIGN) {
        finding_say(f, FINDING_FAILED, "refused: %s", note->problem);
        finding_advise(
            f,
            "find out who runs that installation; if it is gone: kaasctl vcenter register %s --user administrator@vsphere.local --take-over",
            v->ref);
    } else if (err->code == ERR_CREDENTIALS && !v->material.active.user) {
        finding_say(f, FINDING_FAILED, "vCenter refuses our certificate: its extension %s is gone, or holds another certificate",
                    v->vc->extension_key);
    }
}

static void tell_login(const struct doctor_visit *v, struct finding *f, const struct login_used *used) {
    const struct login_credential *with =
        used->generation == v->material.pending.generation ? &v->material.pending : &v->material.active;
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    char expiry[80];
    const char *name = vim_strategy_name(used->strategy);
    if (!with->cert_pem || x509_parse_pem(with->cert_pem, &info, NULL)) {
        finding_say(f, FINDING_OK, "signed in as %s by %s%s", v->own.user_name, name,
                    used->strategy == VIM_STRATEGY_ACCOUNT ? ": works, less safe than a certificate" : "");
        return;
    }
    f->status = doctor_judge_expiry(info.not_after_ms, expiry, sizeof(expiry));
    if (f->status != FINDING_OK) { /* vCenter compares the certificate and does not look at its dates */
        f->status = FINDING_WARNING;
        finding_advise(f, "renew it: kaasctl vcenter rotate-certificate %s", v->ref);
    }
    finding_say(f, f->status, "signed in as %s by %s, certificate %u, %s", v->own.user_name, name, used->generation, expiry);
}

void doctor_look_login(struct doctor_visit *v, struct finding *f) {
    struct link_report report;
    struct err err = {0};
    int rc;
    if (!v->vc->registered_at_ms) {
        finding_say(f, FINDING_SKIPPED, "not registered yet; what is told above was probed before registering");
        finding_advise(f, "when the lines above are good: kaasctl vcenter register %s --user administrator@vsphere.local",
                       v->ref);
        return;
    }
    link_get_report(v->link, &report);
    rc = v->material_err.code;
    if (v->outcome[DOCTOR_WAY] == FINDING_FAILED && !v->material.active.user) {
        finding_say(f, FINDING_FAILED, "no way to log in works: see above");
        return;
    }
    if (v->material.active.user && report.status.state == REMOTE_REFUSED) {
        finding_say(f, FINDING_FAILED, "not tried: %s", report.status.detail);
        finding_advise(f, "give the password that is right now: kaasctl vcenter set-password %s", v->ref);
        return;
    }
    if (rc)
        err = v->material_err;
    else
        rc = login_with_material(v->client, v->vc, &v->material, report.has_strategy ? &report.strategy : NULL, &v->used, &err);
    if (!rc)
        rc = vim_get_own_session(v->client, &v->own, &err);
    if (!rc)
        tell_login(v, f, &v->used);
    else if (rc == ERR_CREDENTIALS || rc == ERR_UPSTREAM_DENIED)
        tell_refusal(v, f, &err);
    else
        finding_say_error(f, FINDING_FAILED, &err);
}

/* -- clock --------------------------------------------------------------------------------------------------------------------- */

/* The clock of an answer is all there is before we are signed in. */
static int read_clock(struct doctor_visit *v, int64_t *out_ms, struct err *err) {
    return v->outcome[DOCTOR_LOGIN] == FINDING_OK || v->outcome[DOCTOR_LOGIN] == FINDING_WARNING
               ? vim_lookup_time(v->client, out_ms, err)
               : doctor_get_versions(
                     v, &(struct http_trust){.ca_pem = v->vc->ca_pem, .pin_sha256 = v->vc->has_pin ? v->vc->pin_sha256 : NULL},
                     out_ms, err);
}

void doctor_look_clock(struct doctor_visit *v, struct finding *f) {
    int64_t before_ms = clock_wall_ms(), theirs_ms = 0, off_s;
    struct err err = {0};
    int rc = read_clock(v, &theirs_ms, &err);
    if (rc || !theirs_ms) {
        finding_say(f, FINDING_SKIPPED, "not known: %s", rc ? err.text : "vCenter does not tell its time before a login");
        return;
    }
    off_s = (theirs_ms - (before_ms + clock_wall_ms()) / 2) / 1000;
    if (llabs(off_s) <= CLOCK_WARNING_S) {
        finding_say(f, FINDING_OK, "the clocks differ by less than %d s", llabs(off_s) <= 2 ? 3 : CLOCK_WARNING_S);
        return;
    }
    finding_say(f, llabs(off_s) > VERDICT_CLOCK_OFF_MAX_S ? FINDING_FAILED : FINDING_WARNING, "vCenter's clock is %lld s %s ours",
                llabs(off_s), off_s > 0 ? "ahead of" : "behind");
    finding_advise(f,
                   "let both follow the same time servers (here: timedatectl; there: vCenter management, Time): certificates and "
                   "Kerberos depend on it");
}

/* -- privileges ---------------------------------------------------------------------------------------------------------------- */

#define PATHS_MAX 5

struct judged {
    const struct verdict_object *objects;
    size_t count;
};

static bool lacks(const struct verdict_object *o, const char *privilege) {
    for (size_t i = 0; i < o->missing_count; i++)
        if (str_eq(o->missing[i], privilege))
            return true;
    return false;
}

/* One privilege, the objects that it is missing on, and what does not work without it. */
static enum finding_status tell_missing(const struct judged *j, const struct verdict_need *need, struct strbuf *text) {
    size_t paths = 0;
    for (size_t i = 0; i < j->count; i++) {
        const struct verdict_object *o = &j->objects[i];
        if (!lacks(o, need->privilege) || paths++ >= PATHS_MAX)
            continue;
        if (paths == 1)
            strbuf_addf(text, "%s%s is missing on ", text->len ? "; " : "", need->privilege);
        strbuf_addf(text, "%s%s", paths > 1 ? ", " : "", o->moref[0] ? o->path : "the root folder");
    }
    if (paths > PATHS_MAX)
        strbuf_addf(text, " and %zu more", paths - PATHS_MAX);
    if (paths)
        strbuf_addf(text, ": %s", need->lost);
    return !paths ? FINDING_OK : need->is_vital ? FINDING_FAILED : FINDING_WARNING;
}

static enum finding_status tell_gone(const struct judged *j, struct strbuf *text) {
    enum finding_status status = FINDING_OK;
    for (size_t i = 0; i < j->count; i++)
        if (j->objects[i].authorised.fault == VC_FAULT_OBJECT_GONE) {
            strbuf_addf(text, "%s%s is gone: Kubernetes clusters are said to be there", text->len ? "; " : "",
                        j->objects[i].path);
            status = FINDING_WARNING;
        }
    return status;
}

/* The vSphere clusters that HX has registered and our account does not see: kept from it on purpose, or new since it got its role. A warning where nobody named
 * what it is for: *remedy says what to do then. */
static enum finding_status tell_unseen_hx(const struct doctor_visit *v, const struct judged *j, struct strbuf *text,
                                          const char **remedy) {
    size_t count = 0;
    for (size_t i = 0; i < j->count; i++) {
        const struct verdict_object *o = &j->objects[i];
        if (!o->is_unseen_hx)
            continue;
        *remedy = o->authorised.fault ? o->authorised.remedy : NULL;
        if (!count)
            strbuf_addf(text, "%s; HX has also registered ", text->len ? "" : "all that we need are there");
        if (count < PATHS_MAX)
            strbuf_addf(text, "%s%s", count ? ", " : "", o->path);
        count++;
    }
    if (!count)
        return FINDING_OK;
    if (count > PATHS_MAX)
        strbuf_addf(text, " and %zu more", count - PATHS_MAX);
    strbuf_addf(
        text,
        ", which %s does not see: kept from it, or new; what is new shows after registering again with --create-role, and --on as before",
        v->own.user_name);
    return *remedy ? FINDING_WARNING : FINDING_OK;
}

void doctor_look_privileges(struct doctor_visit *v, struct finding *f) {
    _cleanup_free_ struct verdict_object *objects = NULL;
    _cleanup_strbuf_ struct strbuf text;
    enum finding_status worst = FINDING_OK, unseen;
    const char *unseen_remedy = NULL;
    struct err err = {0};
    struct judged judged;
    size_t count = 0;
    strbuf_init(&text, sizeof(f->text));
    if (verdict_ask(v->link, v->client, &objects, &count, &err)) {
        finding_say_error(f, FINDING_FAILED, &err);
        return;
    }
    judged = (struct judged){objects, count};
    worst = tell_gone(&judged, &text);
    for (size_t i = 0; verdict_need(i).privilege; i++) {
        const struct verdict_need need = verdict_need(i);
        const enum finding_status status = tell_missing(&judged, &need, &text);
        worst = status > worst ? status : worst;
    }
    unseen = tell_unseen_hx(v, &judged, &text, &unseen_remedy);
    finding_say(f, unseen > worst ? unseen : worst, "%s", text.len ? text.data : "all that we need are there");
    if (worst != FINDING_OK)
        finding_advise(f, "grant %s a role with these there (" DOC_PAGE("admin/vcenter.md") ", \"Privileges\")",
                       v->own.user_name);
    else if (unseen_remedy)
        finding_advise(f, "%s", unseen_remedy);
}

#define MANIFEST_WAIT_MS 120000 /* vCenter may take so long to fetch it after a registration */

/* -- record ------------------------------------------------------------------------------------------------------------------- */

static void tell_foreign(const struct doctor_visit *v, struct finding *f) {
    const char *owner = extension_record_owner(v->found);
    if (owner)
        finding_say(f, FINDING_FAILED, "%s belongs to another installation (%.60s)", v->vc->extension_key, owner);
    else
        finding_say(f, FINDING_FAILED, "%s was written by a program that is not Harmony KaaS", v->vc->extension_key);
    finding_advise(
        f, "find out who wrote it; if that is gone: kaasctl vcenter register %s --user administrator@vsphere.local --take-over",
        v->ref);
}

static void tell_differences(const struct doctor_visit *v, struct finding *f, const char *const *names, size_t count) {
    _cleanup_strbuf_ struct strbuf list;
    strbuf_init(&list, 400);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&list, "%s%s", i ? ", " : "", names[i]);
    if (!count) {
        finding_say(f, FINDING_OK, "%s version %s is as it should be", v->vc->extension_key, v->found->version);
        return;
    }
    finding_say(f, FINDING_WARNING, "%s version %s differs in: %s", v->vc->extension_key, v->found->version, list.data);
    finding_advise(
        f,
        "kaasd repairs it by itself where it may; to do it now: kaasctl vcenter register %s --user administrator@vsphere.local",
        v->ref);
}

void doctor_look_record(struct doctor_visit *v, struct finding *f) {
    const char *names[EXTENSION_DIFFERENCES_MAX];
    struct extension_record wanted;
    struct err err = {0};
    size_t count;
    if (vim_find_extension(v->client, v->vc->extension_key, &v->found, &err)) {
        finding_say_error(f, FINDING_FAILED, &err);
        return;
    }
    if (!v->found) {
        finding_say(f, FINDING_FAILED, "the vCenter has no extension %s: somebody removed it", v->vc->extension_key);
        finding_advise(f, "register again: kaasctl vcenter register %s --user administrator@vsphere.local", v->ref);
        return;
    }
    if (!str_eq(extension_record_owner(v->found), v->env->installation)) {
        tell_foreign(v, f);
        return;
    }
    if (extension_record_make_current(v->env, v->vc, &wanted, &err)) {
        finding_say_error(f, FINDING_FAILED, &err);
        return;
    }
    count = extension_record_compare(v->found, &wanted.record, v->about.api_version, names);
    tell_differences(v, f, names, count);
    extension_record_done(&wanted);
}

/* -- manifest ----------------------------------------------------------------------------------------------------------------- */

static void advise_reach(const struct doctor_visit *v, struct finding *f) {
    finding_advise(f, "open TCP from the vCenter to %s; try there: curl -kv %s/plugin/plugin.json",
                   v->env->options.runtime->public_url, v->env->options.runtime->public_url);
}

static void tell_unseen(const struct doctor_visit *v, struct finding *f) {
    struct manifest_fetch stranger = {.at_ms = 0};
    char at[DOCTOR_TIME_BYTES];
    if (manifest_log_find_stranger(v->env->options.manifest_log, &stranger)) {
        finding_say(f, FINDING_WARNING,
                    "not seen: nothing came from an address of this vCenter; the last to fetch the manifest was %s, %s",
                    stranger.address, doctor_time(stranger.at_ms, at));
        finding_advise(f, "if that is a balancer, set server.trusted_proxies; if it is NAT before the vCenter, all is well");
        return;
    }
    if (clock_wall_ms() - v->vc->registered_at_ms < MANIFEST_WAIT_MS) {
        finding_say(f, FINDING_SKIPPED, "not seen yet: vCenter fetches %s/plugin/plugin.json soon after the registration",
                    v->env->options.runtime->public_url);
        return;
    }
    finding_say(f, FINDING_WARNING, "not seen: vCenter never fetched %s/plugin/plugin.json", v->env->options.runtime->public_url);
    advise_reach(v, f);
}

static void doctor_vcenter_tell_fetch(const struct doctor_visit *v, struct finding *f, const struct manifest_fetch *fetch) {
    const char *version = v->env->plugin_version;
    char at[DOCTOR_TIME_BYTES];
    (void)doctor_time(fetch->at_ms, at);
    if (str_eq(fetch->version, version)) {
        finding_say(f, FINDING_OK, "%s fetched the plug-in's manifest, version %s, on %s", fetch->address, version, at);
        return;
    }
    finding_say(f, FINDING_WARNING, "%s fetched the plug-in's manifest last on %s, version %s; it is %s now", fetch->address, at,
                fetch->version, version);
    advise_reach(v, f);
}

void doctor_look_manifest(struct doctor_visit *v, struct finding *f) {
    struct manifest_fetch fetch = {.at_ms = 0};
    struct err err = {0};
    if (!v->vc->registered_at_ms) {
        finding_say(f, FINDING_SKIPPED, "not known yet: vCenter fetches our manifest after the registration");
        return;
    }
    if (!*v->env->plugin_version || !v->env->options.manifest_log) {
        finding_say(f, FINDING_SKIPPED, "not known: no web page is installed, so vCenter has no manifest to fetch");
        return;
    }
    if (manifest_log_settle(v->env->options.manifest_log, v->platform, &err) ||
        manifest_store_load(v->env->options.runtime->store, v->vc->id, &fetch, &err))
        finding_say(f, FINDING_SKIPPED, "not known: %s", err.text);
    else if (fetch.at_ms)
        doctor_vcenter_tell_fetch(v, f, &fetch);
    else
        tell_unseen(v, f);
}

/* -- sessions ------------------------------------------------------------------------------------------------------------------ */

/* Replicas that beat their heart within the last minute; at least this one. */
static size_t count_replicas(const struct doctor_visit *v) {
    _cleanup_done_(replica_list_done) struct replica_list list = {0};
    size_t alive = 0;
    if (replica_store_list(v->env->options.runtime->store, &list, NULL))
        return 1;
    for (size_t i = 0; i < list.count; i++)
        alive += doctor_is_alive(&list.items[i]);
    return alive ? alive : 1;
}

/* All sessions of this installation, whatever its version, but the doctor's own. */
static size_t count_ours(const struct doctor_visit *v, const struct vim_session_list *list) {
    size_t ours = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct vim_user_session *s = &list->items[i];
        if (str_starts(s->user_agent, "Harmony-KaaS/") && strstr(s->user_agent, v->env->installation) &&
            !str_eq(s->key, v->own.key))
            ours++;
    }
    return ours;
}

void doctor_look_sessions(struct doctor_visit *v, struct finding *f) {
    _cleanup_done_(vim_session_list_done) struct vim_session_list list = {0};
    struct err err = {0};
    size_t ours, replicas;
    int rc = vim_list_sessions(v->client, &list, &err);
    if (rc == ERR_UPSTREAM_DENIED) {
        finding_say(f, FINDING_SKIPPED, "not known: the list of sessions needs Sessions.TerminateSession on the root folder");
        return;
    }
    if (rc) {
        finding_say_error(f, FINDING_FAILED, &err);
        return;
    }
    ours = count_ours(v, &list);
    replicas = count_replicas(v);
    if (ours <= replicas) {
        finding_say(f, FINDING_OK, "%zu of ours for %zu running replica%s, %zu in all", ours, replicas, replicas == 1 ? "" : "s",
                    list.count);
    } else {
        finding_say(f, FINDING_WARNING, "%zu of ours, but %zu running replica%s: %zu left behind", ours, replicas,
                    replicas == 1 ? "" : "s", ours - replicas);
        finding_advise(f,
                       "vCenter ends them when they were idle for 30 minutes; at once: vSphere Client, Administration, Sessions");
    }
}

/* -- watch --------------------------------------------------------------------------------------------------------------------- */

static void tell_watching(const struct watch_report *watch, struct finding *f) {
    char since[DOCTOR_TIME_BYTES];
    if (!watch->is_watching) {
        finding_say(f, FINDING_WARNING, "connected, but not watching%s%s", *watch->reason ? ": " : "", watch->reason);
        finding_advise(f, "kaasd tries again by itself; until then it reads the inventory from time to time");
        return;
    }
    finding_say(f, *watch->reason ? FINDING_WARNING : FINDING_OK, "watching %u objects since %s%s%s", watch->objects,
                doctor_time(watch->since_ms, since), *watch->reason ? ", but: " : "", watch->reason);
}

void doctor_look_watch(struct doctor_visit *v, struct finding *f) {
    struct watch_report watch = {.is_watching = false};
    struct link_report report;
    char since[DOCTOR_TIME_BYTES];
    link_get_report(v->link, &report);
    watch_get_report(link_watch(v->link), &watch);
    if (report.status.state == REMOTE_IDLE) {
        finding_say(f, FINDING_SKIPPED, "a vCenter is watched once we are registered with it");
    } else if (report.status.state == REMOTE_OK) {
        tell_watching(&watch, f);
    } else if (report.status.state == REMOTE_REFUSED) {
        finding_say(f, FINDING_FAILED, "not watching since %s: our login is refused", doctor_time(report.status.since_ms, since));
    } else {
        finding_say(f, report.status.state == REMOTE_NEW ? FINDING_WARNING : FINDING_FAILED, "%s since %s%s%s",
                    link_state_name(report.status.state), doctor_time(report.status.since_ms, since),
                    *report.status.detail ? ": " : "", report.status.detail);
        finding_advise(f, "kaasd tries again by itself; what is wrong stands above");
    }
}
