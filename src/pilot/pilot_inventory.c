/* Probes of a vCenter: inventory, events, waiting for news, and what HX has registered there. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pilot_private.h"
#include "platform.h"
#include "str.h"
#include "vim_guest.h"
#include "vim_watch.h"

#define OBJECTS_COUNT_MAX 20000U
#define WAYS_UP_MAX 64 /* folders may stand in folders */
#define PAGE_COUNT 100U
#define WATCH_TRIES_MAX 20
#define HX_BASE_KEY "com.springpath.sysmgmt"
#define CONTROLLER_PREFIX "stCtlVM"
#define CONTROLLER_NETWORK "Storage Controller Management Network"

/* -- vSphere clusters, and what stands above them ------------------------------------------------------------------------------ */

static const struct pilot_object *pilot_find_object(const struct pilot *p, const char *moref) {
    for (size_t i = 0; moref && i < p->object_count; i++)
        if (str_eq(p->objects[i].moref, moref))
            return &p->objects[i];
    return NULL;
}

static int note_object(void *arg, const struct vim_watch_object *told, struct err *err) {
    struct pilot *p = arg;
    struct pilot_object *o;
    if (told->op == VIM_WATCH_LEAVE || pilot_find_object(p, told->moref))
        return 0;
    if (p->object_count >= OBJECTS_COUNT_MAX)
        return err_set(err, ERR_TOO_LARGE, "there are more than %u vSphere clusters and folders above them", OBJECTS_COUNT_MAX);
    if (p->object_count == p->object_room) {
        const size_t room = p->object_room ? 2 * p->object_room : 64;
        struct pilot_object *objects = reallocarray(p->objects, room, sizeof(*objects));
        if (!objects)
            return err_set(err, ERR_NOMEM, "out of memory");
        p->objects = objects;
        p->object_room = room;
    }
    o = &p->objects[p->object_count++];
    *o = (struct pilot_object){.moref = str_dup(told->moref),
                               .parent = str_dup(told->parent_moref),
                               .name = str_dup(told->name),
                               .is_cluster = told->kind == VIM_OBJECT_CLUSTER && !told->is_plain,
                               .is_datacenter = told->kind == VIM_OBJECT_DATACENTER};
    return o->moref ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int restarted(void *arg, struct err *err) {
    (void)arg, (void)err;
    return 0;
}

static bool is_below_datacenter(const struct pilot *p, const struct pilot_object *o) {
    for (int i = 0; o && !o->is_datacenter && i < WAYS_UP_MAX; i++)
        o = pilot_find_object(p, o->parent);
    return o && o->is_datacenter;
}

void pilot_probe_clusters(struct pilot *p, struct finding *f) {
    const struct vim_watch_events events = {.arg = p, .restarted = restarted, .object = note_object};
    size_t clusters = 0, lost = 0;
    struct err err = {0};
    if (!pilot_say_rc(f, vim_read_clusters(p->client, &events, &err), &err))
        return;
    for (size_t i = 0; i < p->object_count; i++) {
        clusters += p->objects[i].is_cluster;
        lost += p->objects[i].is_cluster && !is_below_datacenter(p, &p->objects[i]);
    }
    if (!clusters)
        finding_say(f, FINDING_SKIPPED, "this account sees no vSphere cluster");
    else if (lost)
        finding_say(f, FINDING_FAILED, "%zu of %zu vSphere clusters lead to no datacenter", lost, clusters);
    else
        finding_say(f, FINDING_OK, "%zu vSphere cluster%s, and the way up to the datacenter", clusters, clusters == 1 ? "" : "s");
}

/* -- pages, and a page of the client ------------------------------------------------------------------------------------------- */

void pilot_probe_pages(struct pilot *p, struct finding *f) {
    struct err err = {0};
    if (!pilot_say_rc(f, vim_look_at_page(p->client, &p->page, &err), &err))
        return;
    if (!p->page.has_more && p->page.count <= PAGE_COUNT)
        finding_say(f, FINDING_SKIPPED, "there are no more than %zu virtual machines", p->page.count);
    else
        finding_say(f, p->page.has_more && p->page.count == PAGE_COUNT ? FINDING_OK : FINDING_FAILED,
                    "%zu objects in an answer%s", p->page.count, p->page.has_more ? ", others follow" : ", which is all");
    if (f->status == FINDING_FAILED)
        finding_advise(f, "nothing to do: pages are followed, of any size");
}

void pilot_probe_client_page(struct pilot *p, struct finding *f) {
    _cleanup_free_ char *path = str_format("/ui/app/vm;nav=v/urn:vmomi:VirtualMachine:%s:%s/summary", p->page.moref,
                                           p->about.instance_uuid ? p->about.instance_uuid : "");
    struct err err = {0};
    long status = 0;
    if (!p->page.moref[0] || !path ||
        strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:;=/") != strlen(path)) {
        finding_say(f, FINDING_SKIPPED, "no virtual machine was seen");
        return;
    }
    if (!pilot_say_rc(f, vim_look_at_path(p->client, path, &status, &err), &err))
        return;
    finding_say(f, status / 100 == 2 || status / 100 == 3 ? FINDING_OK : FINDING_FAILED,
                "the page of a virtual machine answers HTTP %ld", status);
    if (f->status == FINDING_FAILED)
        finding_advise(f, "open a virtual machine in the vSphere Client and compare the address");
}

/* -- events and news ----------------------------------------------------------------------------------------------------------- */

void pilot_probe_events(struct pilot *p, struct finding *f) {
    size_t count = 0;
    struct err err = {0};
    if (!pilot_say_rc(f, vim_look_at_events(p->client, &count, &err), &err))
        return;
    if (count)
        finding_say(f, FINDING_OK, "%zu events in a collector's latest page", count);
    else
        finding_say(f, FINDING_SKIPPED, "the collector is made and read, and has no such event yet");
}

static int count_watched(void *arg, const struct vim_watch_object *object, struct err *err) {
    (void)object, (void)err;
    ++*(size_t *)arg;
    return 0;
}

/* The first answer tells all there is; after that vCenter holds the call until there are news, or for as long as it was told to. */
void pilot_probe_watch(struct pilot *p, struct finding *f) {
    const struct vim_watch_options options = {.max_wait_s = p->options->wait_s};
    _cleanup_(vim_watch_free) struct vim_watch *watch = NULL;
    size_t objects = 0;
    const struct vim_watch_events events = {.arg = &objects, .object = count_watched};
    int64_t longest_ms = 0, began_ms = clock_mono_ms();
    const int64_t wait_ms = p->options->wait_s * INT64_C(1000);
    struct err err = {0};
    int rc = vim_watch_new(p->client, &options, &watch, &err);
    if (!rc)
        rc = vim_watch_next(watch, &events, &err);
    const size_t first = objects;
    for (int i = 0;
         !rc && !pilot_is_stopped() && i < WATCH_TRIES_MAX && longest_ms < wait_ms && clock_mono_ms() - began_ms < 3 * wait_ms;
         i++) {
        const int64_t asked_ms = clock_mono_ms();
        rc = vim_watch_next(watch, &events, &err);
        if (clock_mono_ms() - asked_ms > longest_ms)
            longest_ms = clock_mono_ms() - asked_ms;
    }
    if (!pilot_say_rc(f, rc, &err)) {
        finding_advise(f, "see whether something between cuts off connections that are silent (a firewall, a proxy)");
        return;
    }
    if (longest_ms >= wait_ms)
        finding_say(f, FINDING_OK, "%zu objects at first, then a call that was held for %u s", first, p->options->wait_s);
    else
        finding_say(f, FINDING_SKIPPED, "%zu objects at first, then news all the time: the longest call was held for %lld s",
                    first, (long long)longest_ms / 1000);
}

/* -- records of HX ------------------------------------------------------------------------------------------------------------- */

void pilot_probe_extension_list(struct pilot *p, struct finding *f) {
    struct err err = {0};
    if (!pilot_say_rc(f, vim_list_extension_keys(p->client, &p->keys, &err), &err))
        return;
    p->has[PILOT_NEEDS_EXTENSIONS] = p->keys.count > 0;
    finding_say(f, p->keys.count ? FINDING_OK : FINDING_FAILED, "%zu keys in the list", p->keys.count);
}

/* FindExtension must know what the list has. */
static bool check_found(struct pilot *p, const char *key, struct finding *f) {
    _cleanup_(vim_extension_free) struct vim_extension *found = NULL;
    struct err err = {0};
    if (!pilot_say_rc(f, vim_find_extension(p->client, key, &found, &err), &err))
        return false;
    if (found && str_eq(found->key, key))
        return true;
    finding_say(f, FINDING_FAILED, "%s is in the list, and FindExtension does not find it", key);
    return false;
}

/* Says what is odd about it; true if nothing is. */
static bool take_hx_key(struct pilot *p, const char *key, struct finding *f) {
    struct pilot_hx_key *to = &p->hx_keys[p->hx_key_count];
    if (!check_found(p, key, f))
        return false;
    if (str_eq(key, HX_BASE_KEY))
        return true;
    if (!hx_extension_key_parse(key, to->moref)) {
        finding_say(f, FINDING_FAILED, "%s is of neither form", key);
        finding_advise(f, "send us this key: kaasd would ignore it");
        return false;
    }
    if (p->hx_key_count < PILOT_HX_KEYS_MAX - 1 && (to->key = str_dup(key)))
        p->hx_key_count++;
    return true;
}

void pilot_probe_hx_keys(struct pilot *p, struct finding *f) {
    size_t seen = 0;
    bool is_well = true;
    for (size_t i = 0; i < p->keys.count; i++)
        if (str_starts(p->keys.items[i], HX_BASE_KEY)) {
            seen++;
            is_well = take_hx_key(p, p->keys.items[i], f) && is_well;
        }
    p->has[PILOT_NEEDS_HX_KEYS] = p->hx_key_count > 0;
    if (!seen)
        finding_say(f, FINDING_SKIPPED, "no key begins with " HX_BASE_KEY);
    else if (is_well)
        finding_say(f, FINDING_OK, "%zu keys of HX, %zu with the moref of a vSphere cluster", seen, p->hx_key_count);
}

void pilot_probe_hx_morefs(struct pilot *p, struct finding *f) {
    size_t known = 0;
    const char *lost = NULL;
    for (size_t i = 0; i < p->hx_key_count; i++) {
        const struct pilot_object *o = pilot_find_object(p, p->hx_keys[i].moref);
        known += o && o->is_cluster;
        if (!o || !o->is_cluster)
            lost = p->hx_keys[i].moref;
    }
    if (known)
        finding_say(f, FINDING_OK, "%zu of %zu are vSphere clusters of this vCenter", known, p->hx_key_count);
    else
        finding_say(f, FINDING_FAILED, "none is a vSphere cluster that this account sees, such as %s", lost);
    if (known < p->hx_key_count)
        finding_advise(f, "%s may be gone: compare it with `hxcli cluster info`", lost);
}

static size_t count_https(const struct vim_extension *record) {
    size_t n = str_starts(record->management_url, "https://");
    for (size_t i = 0; i < record->server_count; i++)
        n += str_starts(record->servers[i].url, "https://");
    return n;
}

void pilot_probe_hx_addresses(struct pilot *p, struct finding *f) {
    size_t count = 0;
    for (size_t i = 0; i < p->hx_key_count; i++) {
        _cleanup_(vim_extension_free) struct vim_extension *record = NULL;
        struct err err = {0};
        if (!pilot_say_rc(f, vim_find_extension(p->client, p->hx_keys[i].key, &record, &err), &err))
            return;
        count += record ? count_https(record) : 0;
    }
    finding_say(f, count ? FINDING_OK : FINDING_FAILED, "%zu addresses with https:// in %zu records", count, p->hx_key_count);
    if (!count)
        finding_advise(f, "nothing to do: the address of HX Connect is told by hand (kaasctl hx connect HX --address ADDRESS)");
}

void pilot_probe_hx_controllers(struct pilot *p, struct finding *f) {
    size_t count = 0, asked = 0;
    for (size_t i = 0; i < p->hx_key_count; i++) {
        const struct vim_guest_query query = {
            .cluster = p->hx_keys[i].moref, .name_prefix = CONTROLLER_PREFIX, .network = CONTROLLER_NETWORK};
        _cleanup_done_(vim_guest_addresses_done) struct vim_guest_addresses found = {.count = 0};
        struct err err = {0};
        int rc = vim_list_guest_addresses(p->client, &query, &found, &err);
        if (rc == ERR_NOT_FOUND) /* of a vSphere cluster that is gone */
            continue;
        if (!pilot_say_rc(f, rc, &err))
            return;
        asked++;
        count += found.count;
    }
    finding_say(f, count ? FINDING_OK : FINDING_FAILED, "%zu addresses of " CONTROLLER_PREFIX "... in %zu vSphere clusters",
                count, asked);
    if (!count)
        finding_advise(f, "nothing to do: the address of HX Connect is told by hand (kaasctl hx connect HX --address ADDRESS)");
}

void pilot_probe_hx_sessions(struct pilot *p, struct finding *f) {
    _cleanup_done_(vim_session_list_done) struct vim_session_list list = {0};
    size_t extensions = 0, people = 0;
    struct err err = {0};
    int rc = vim_list_sessions(p->client, &list, &err);
    if (rc == ERR_UPSTREAM_DENIED) {
        finding_say(f, FINDING_SKIPPED, "this account may not read the list of sessions (Sessions.TerminateSession)");
        return;
    }
    if (!pilot_say_rc(f, rc, &err))
        return;
    for (size_t i = 0; i < list.count; i++)
        if (strstr(list.items[i].user_name, "springpath")) {
            extensions += list.items[i].is_extension;
            people += !list.items[i].is_extension;
        }
    if (!extensions && !people)
        finding_say(f, FINDING_SKIPPED, "none of the %zu sessions is one of HX's extension", list.count);
    else
        finding_say(f, people ? FINDING_FAILED : FINDING_OK, "%zu sessions of HX's extension%s", extensions + people,
                    people ? ", and vCenter does not show them as an extension's" : "");
}
