/* The doctor's look at what we keep at a vCenter and how things go with it. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "doctor_private.h"
#include "extension_record.h"
#include "manifest_log.h"
#include "record_note.h"
#include "replica_store.h"
#include "str.h"
#include "watch_run.h"

#define REPLICA_ALIVE_MS 60000
#define MANIFEST_WAIT_MS 120000 /* vCenter may take so long to fetch it after a registration */

/* -- record ------------------------------------------------------------------------------------------------------------------- */

static void tell_foreign(const struct visit *v, struct finding *f) {
    const char *owner = extension_record_owner(v->found);
    if (owner)
        finding_say(f, FINDING_FAILED, "%s belongs to another installation (%.60s)", v->vc->extension_key, owner);
    else
        finding_say(f, FINDING_FAILED, "%s was written by a program that is not Harmony KaaS", v->vc->extension_key);
    finding_advise(f, "find out who wrote it; if that is gone: kaasctl vcenter register %s --take-over", v->ref);
}

static void tell_differences(const struct visit *v, struct finding *f, const char *const *names, size_t count) {
    _cleanup_strbuf_ struct strbuf list;
    strbuf_init(&list, 400);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&list, "%s%s", i ? ", " : "", names[i]);
    if (!count) {
        finding_say(f, FINDING_OK, "%s version %s is as it should be", v->vc->extension_key, v->found->version);
        return;
    }
    finding_say(f, FINDING_WARNING, "%s version %s differs in: %s", v->vc->extension_key, v->found->version, list.data);
    finding_advise(f, "kaasd repairs it by itself where it may; to do it now: kaasctl vcenter register %s", v->ref);
}

void doctor_look_record(struct visit *v, struct finding *f) {
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
        finding_advise(f, "register again: kaasctl vcenter register %s", v->ref);
        return;
    }
    if (!str_eq(extension_record_owner(v->found), platform_installation(v->platform))) {
        tell_foreign(v, f);
        return;
    }
    if (extension_record_make_current(v->platform, v->vc, &wanted, &err)) {
        finding_say_error(f, FINDING_FAILED, &err);
        return;
    }
    count = extension_record_compare(v->found, &wanted.record, v->about.api_version, names);
    tell_differences(v, f, names, count);
    extension_record_done(&wanted);
}

/* -- manifest ----------------------------------------------------------------------------------------------------------------- */

static void advise_reach(const struct visit *v, struct finding *f) {
    finding_advise(f, "open TCP from the vCenter to %s; try there: curl -kv %s/plugin/plugin.json", v->options->public_url,
                   v->options->public_url);
}

static void tell_unseen(const struct visit *v, struct finding *f) {
    struct manifest_fetch stranger = {.at_ms = 0};
    char at[DOCTOR_TIME_BYTES];
    if (manifest_log_find_stranger(v->options->manifest_log, &stranger)) {
        finding_say(f, FINDING_WARNING,
                    "not seen: nothing came from an address of this vCenter; the last to fetch the manifest was %s, %s",
                    stranger.address, doctor_time(stranger.at_ms, at));
        finding_advise(f, "if that is a balancer, set server.trusted_proxies; if it is NAT before the vCenter, all is well");
        return;
    }
    if (clock_wall_ms() - v->vc->registered_at_ms < MANIFEST_WAIT_MS) {
        finding_say(f, FINDING_SKIPPED, "not seen yet: vCenter fetches %s/plugin/plugin.json soon after the registration",
                    v->options->public_url);
        return;
    }
    finding_say(f, FINDING_WARNING, "not seen: vCenter never fetched %s/plugin/plugin.json", v->options->public_url);
    advise_reach(v, f);
}

static void tell_fetch(const struct visit *v, struct finding *f, const struct manifest_fetch *fetch) {
    const char *version = platform_plugin_version(v->platform);
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

void doctor_look_manifest(struct visit *v, struct finding *f) {
    struct manifest_fetch fetch = {.at_ms = 0};
    struct err err = {0};
    if (!v->vc->registered_at_ms) {
        finding_say(f, FINDING_SKIPPED, "not known yet: vCenter fetches our manifest after the registration");
        return;
    }
    if (!*platform_plugin_version(v->platform) || !v->options->manifest_log) {
        finding_say(f, FINDING_SKIPPED, "not known: no web page is installed, so vCenter has no manifest to fetch");
        return;
    }
    if (manifest_log_settle(v->options->manifest_log, v->platform, &err) ||
        manifest_store_load(v->options->store, v->vc->id, &fetch, &err))
        finding_say(f, FINDING_SKIPPED, "not known: %s", err.text);
    else if (fetch.at_ms)
        tell_fetch(v, f, &fetch);
    else
        tell_unseen(v, f);
}

/* -- sessions ------------------------------------------------------------------------------------------------------------------ */

/* Replicas that beat their heart within the last minute; at least this one. */
static size_t count_replicas(const struct visit *v) {
    struct replica_list list = {0};
    size_t alive = 0;
    if (replica_store_list(v->options->store, &list, NULL))
        return 1;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].id && list.items[i].heartbeat_age_ms >= 0 && list.items[i].heartbeat_age_ms < REPLICA_ALIVE_MS)
            alive++;
    replica_list_done(&list);
    return alive ? alive : 1;
}

/* All sessions of this installation, whatever its version, but the doctor's own. */
static size_t count_ours(const struct visit *v, const struct vim_session_list *list) {
    size_t ours = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct vim_user_session *s = &list->items[i];
        if (str_starts(s->user_agent, "Harmony-KaaS/") && strstr(s->user_agent, platform_installation(v->platform)) &&
            !str_eq(s->key, v->own.key))
            ours++;
    }
    return ours;
}

void doctor_look_sessions(struct visit *v, struct finding *f) {
    struct vim_session_list list = {0};
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
    vim_session_list_done(&list);
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

void doctor_look_watch(struct visit *v, struct finding *f) {
    struct watch_report watch = {.is_watching = false};
    struct link_report report;
    char since[DOCTOR_TIME_BYTES];
    link_get_report(v->link, &report);
    watch_get_report(link_watch(v->link), &watch);
    if (report.state == LINK_NOT_REGISTERED) {
        finding_say(f, FINDING_SKIPPED, "a vCenter is watched once we are registered with it");
    } else if (report.state == LINK_CONNECTED) {
        tell_watching(&watch, f);
    } else if (report.state == LINK_REFUSED) {
        finding_say(f, FINDING_FAILED, "not watching since %s: our login is refused", doctor_time(report.state_since_ms, since));
    } else {
        finding_say(f, report.state == LINK_CONNECTING ? FINDING_WARNING : FINDING_FAILED, "%s since %s%s%s",
                    link_state_name(report.state), doctor_time(report.state_since_ms, since), *report.reason ? ": " : "",
                    report.reason);
        finding_advise(f, "kaasd tries again by itself; what is wrong stands above");
    }
}
