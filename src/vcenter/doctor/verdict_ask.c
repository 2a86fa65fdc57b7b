/* Asking a vCenter what our session may do there, on each object that we use. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later */
#include "verdict_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "inventory.h"
#include "link.h"
#include "names.h"
#include "query.h"
#include "snapshot.h"
#include "str.h"
#include "strbuf.h"
#include "vcenter_store.h"
#include "vim_authorization.h"
#include "watch_mirror.h"
#include "watch_run.h"

/* -- what we need ---------------------------------------------------------------------------------------------------------- */

enum need_place { NEED_ROOT = 1U << 0, NEED_CLUSTER = 1U << 1 };

/* Each with what does not work without it (vSphere API reference, "Required Privileges" of the calls that we make). An extension's own session may always update its own
 * record; an account may not. */
static const struct need {
    const char *privilege, *lost;
    unsigned places; /* bits of enum need_place */
    bool is_vital, is_for_accounts, is_for_events;
} needs[] = {
    {"System.View", "nothing can be asked at all", NEED_ROOT, .is_vital = true},
    {"System.Read", "clusters, HX clusters and the rights of people cannot be read", NEED_ROOT | NEED_CLUSTER, .is_vital = true},
    {"Sessions.TerminateSession", "sessions that were left behind are not found and ended", NEED_ROOT, .is_vital = false},
    {"Global.LogEvent", "Kubernetes clusters are not told of in vCenter's events", NEED_CLUSTER, .is_for_events = true},
    {"Extension.Update", "the extension record is not repaired by itself", NEED_ROOT, .is_for_accounts = true},
};
#define NEED_COUNT ARRAY_COUNT(needs)
_Static_assert(ARRAY_COUNT(needs) <= VERDICT_PRIVILEGES_MAX, "an object can miss all of them");

struct verdict_need verdict_need(size_t i) {
    const struct need none = {0}, *need = i < NEED_COUNT ? &needs[i] : &none;
    return (struct verdict_need){need->privilege, need->lost, need->is_vital};
}

/* One round of questions. */
struct asking {
    struct link *link;
    struct vim_user_session own;
    struct verdicts before; /* of the link: paths, and what we may not see any more */
    struct verdict_object *objects;
    size_t count,
        in_use; /* those behind in_use were known before, and are nowhere any more, or are HX clusters that show nowhere */
    bool *granted;
    enum vim_entity_state *states;
    char *unseen_remedy; /* malloc'ed; NULL: that the account does not see all HX clusters is what somebody wants */
};

static bool verdict_is_needed(const struct asking *a, const struct need *need, bool is_root) {
    const bool has_events = link_env(a->link)->options.has_events;
    return (need->places & (is_root ? NEED_ROOT : NEED_CLUSTER)) && (!need->is_for_events || has_events) &&
           (!need->is_for_accounts || !a->own.is_extension);
}

/* -- what we use ----------------------------------------------------------------------------------------------------------- */

static const struct verdict_object *verdict_known(const struct asking *a, const char *moref) {
    for (size_t i = 0; i < a->before.count; i++)
        if (str_eq(a->before.objects[i].moref, moref))
            return &a->before.objects[i];
    return NULL;
}

/* As the watch shows it now, else as it was known last; what was never seen with its folders has the folder that each datacenter has. */
static void verdict_find_path(const struct asking *a, const struct vsphere_cluster *cluster, struct verdict_object *o) {
    const struct verdict_object *known = verdict_known(a, o->moref);
    _cleanup_strbuf_ struct strbuf path;
    strbuf_init(&path, sizeof(o->path) - 1);
    if (!watch_get_path(link_watch(a->link), o->moref, &path)) {
        strbuf_reset(&path);
        if (known)
            strbuf_adds(&path, known->path);
        else if (cluster && cluster->name && cluster->datacenter)
            strbuf_addf(&path, "/%s/host/%s", cluster->datacenter, cluster->name);
    }
    (void)snprintf(o->path, sizeof(o->path), "%s", path.len && !path.failed ? path.data : o->moref);
}

static void verdict_add(struct asking *a, const char *moref, const struct vsphere_cluster *cluster) {
    struct verdict_object *o = &a->objects[a->count++];
    (void)snprintf(o->moref, sizeof(o->moref), "%s", moref);
    verdict_find_path(a, cluster, o);
}

static bool verdict_is_listed(const struct asking *a, const char *moref) {
    for (size_t i = 0; i < a->count; i++)
        if (str_eq(a->objects[i].moref, moref))
            return true;
    return false;
}

#define UNSEEN_ASKED_MAX 50 /* who may register extensions may register any number */

static bool verdict_is_watched(const struct watch_inventory *watched, const char *moref) {
    for (size_t i = 0; i < watched->count; i++)
        if (str_eq(watched->clusters[i].moref, moref))
            return true;
    return false;
}

/* What HX has registered and the watch does not show: it may be kept from our account, or gone. */
static void verdict_add_unseen_hx(struct asking *a, const struct watch_inventory *watched) {
    const size_t before = a->count;
    char moref[MOREF_BYTES];
    for (size_t i = 0; i < watched->keys.count && a->count - before < UNSEEN_ASKED_MAX; i++) {
        if (!hx_extension_key_parse(watched->keys.items[i], moref) || verdict_is_watched(watched, moref) ||
            verdict_is_listed(a, moref)) /* some have two keys */
            continue;
        a->objects[a->count].is_unseen_hx = true;
        verdict_add(a, moref, NULL);
    }
}

/* Where the places of the account's role were not named but found, it is to have it on HX clusters that come, too. */
static int verdict_find_unseen_remedy(struct asking *a, struct err *err) {
    struct store *store = link_env(a->link)->options.runtime->store;
    _cleanup_done_(registration_row_done) struct registration_row row = {0};
    _cleanup_(vcenter_credential_free) struct vcenter_credential *login = NULL;
    char name[LINK_NAME_BYTES];
    int rc = registration_store_load(store, link_id(a->link), &row, err);
    if (rc || !row.is_role_on_used || !row.role_name)
        return rc;
    rc = credential_store_load(store, link_id(a->link), CREDENTIAL_ACTIVE, &login, err);
    if (rc || !login || !login->user_name)
        return rc;
    link_get_name(a->link, name);
    a->unseen_remedy = str_format(
        "have the role granted there, too: kaasctl vcenter register %s --user administrator@vsphere.local --%s %s --create-role=%s",
        name_word(name, link_id(a->link)), login->kind == CREDENTIAL_SERVICE_ACCOUNT ? "service-account" : "login-account",
        name_quote(login->user_name).text, name_quote(row.role_name).text);
    return a->unseen_remedy ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int verdict_list_objects(struct asking *a, const struct inventory_snapshot *snapshot, struct err *err) {
    _cleanup_done_(watch_inventory_done) struct watch_inventory watched = {.count = 0};
    struct object_set used = {0};
    int rc = snapshot ? inventory_objects_in_use(snapshot, link_id(a->link), &used, err) : 0;
    if (!rc && !a->own.is_extension) { /* which sees all that there is */
        (void)watch_get_inventory(link_watch(a->link), &watched, NULL);
        rc = verdict_find_unseen_remedy(a, err);
    }
    if (!rc) {
        a->objects = calloc(1 + used.count + a->before.count + UNSEEN_ASKED_MAX, sizeof(*a->objects));
        rc = a->objects ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    }
    if (!rc) {
        (void)snprintf(a->objects[a->count++].path, VERDICT_PATH_BYTES, "/");
        for (size_t i = 0; i < used.count; i++)
            verdict_add(a, used.items[i].moref, inventory_find_vsphere(snapshot->platform, &used.items[i]));
        a->in_use = a->count;
        for (size_t i = 0; i < a->before.count && !a->before.drops_unused; i++)
            if (!a->before.objects[i].is_unseen_hx && !verdict_is_listed(a, a->before.objects[i].moref))
                verdict_add(a, a->before.objects[i].moref, NULL);
        verdict_add_unseen_hx(a, &watched);
    }
    object_set_done(&used);
    return rc;
}

/* -- asking ---------------------------------------------------------------------------------------------------------------- */

static int verdict_send(struct asking *a, struct vim_client *client, struct err *err) {
    const char *privileges[NEED_COUNT];
    const char **clusters = calloc(a->count, sizeof(*clusters));
    struct vim_objects_query query = {.subject = {.session_key = a->own.key},
                                      .privileges = privileges,
                                      .privilege_count = NEED_COUNT,
                                      .clusters = clusters,
                                      .count = a->count - 1};
    struct err why = {0};
    int rc;
    a->granted = calloc(a->count * NEED_COUNT, sizeof(*a->granted));
    a->states = calloc(a->count, sizeof(*a->states));
    if (!clusters || !a->granted || !a->states) {
        free(clusters);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < NEED_COUNT; i++)
        privileges[i] = needs[i].privilege;
    for (size_t i = 1; i < a->count; i++)
        clusters[i - 1] = a->objects[i].moref;
    rc = vim_check_objects(client, &query, a->granted, a->states, &why);
    free(clusters);
    return rc == ERR_UPSTREAM_DENIED ? 0 : err_move(err, rc, &why); /* who may not ask at all has nothing */
}

static void verdict_judge(const struct asking *a, size_t i) {
    struct verdict_object *o = &a->objects[i];
    const bool *granted = &a->granted[i * NEED_COUNT];
    if (a->states[i] == VIM_ENTITY_GONE) {
        o->authorised.fault = VC_FAULT_OBJECT_GONE;
        return;
    }
    if (o->is_unseen_hx) {
        o->authorised.fault = a->unseen_remedy ? VC_FAULT_HX_UNSEEN : VC_FAULT_NONE;
        if (a->unseen_remedy && strlen(a->unseen_remedy) < sizeof(o->authorised.remedy)) /* else the general one */
            (void)snprintf(o->authorised.remedy, sizeof(o->authorised.remedy), "%s", a->unseen_remedy);
        return;
    }
    for (size_t p = 0; p < NEED_COUNT; p++)
        if (!granted[p] && verdict_is_needed(a, &needs[p], i == 0) &&
            (a->states[i] == VIM_ENTITY_JUDGED || str_eq(needs[p].privilege, "System.Read"))) /* all that a denial tells */
            o->missing[o->missing_count++] = needs[p].privilege;
    if (o->missing_count)
        o->authorised.fault = i ? VC_FAULT_OBJECT_PRIVILEGE_MISSING : VC_FAULT_PRIVILEGE_MISSING;
}

/* What was known before and is used no more stays as long as it is there and kept from us: that is why it shows no more. So do HX clusters that never showed. */
static void verdict_drop_unused(struct asking *a) {
    size_t kept = a->in_use;
    for (size_t i = a->in_use; i < a->count; i++)
        if (a->states[i] == VIM_ENTITY_DENIED)
            a->objects[kept++] = a->objects[i];
    a->count = kept;
}

int verdict_ask(struct link *link, struct vim_client *client, struct verdict_object **out, size_t *count, struct err *err) {
    struct inventory *inventory = link_env(link)->options.inventory;
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory ? inventory_get(inventory) : NULL;
    struct asking a = {.link = link};
    int rc = vim_get_own_session(client, &a.own, err);
    if (!rc)
        rc = link_get_verdicts(link, &a.before, err);
    if (!rc)
        rc = verdict_list_objects(&a, snapshot, err);
    if (!rc)
        rc = verdict_send(&a, client, err);
    for (size_t i = 0; !rc && i < a.count; i++)
        verdict_judge(&a, i);
    if (!rc) {
        verdict_drop_unused(&a);
        *count = a.count;
        *out = STEAL(a.objects);
    }
    vim_user_session_done(&a.own);
    verdicts_done(&a.before);
    free(a.unseen_remedy);
    free(a.objects);
    free(a.granted);
    free(a.states);
    return rc;
}

/* -- the link's own -------------------------------------------------------------------------------------------------------- */

/* The same call keeps the session alive, so it costs no more than that. */
static int verdict_look_at_clock(struct link *link, struct err *err) {
    const int64_t since_ms = clock_mono_ms(), before_ms = clock_wall_ms();
    int64_t theirs_ms = 0;
    struct err why = {0};
    int rc = link_note(link, since_ms, vim_lookup_time(link_client(link), &theirs_ms, &why), &why);
    if (!rc)
        link_note_clock(link, (theirs_ms - (before_ms + clock_wall_ms()) / 2) / 1000);
    return err_move(err, rc, &why);
}

/* What somebody keeps from our account on purpose is no fault of it. */
static size_t verdict_drop_named(struct verdict_object *objects, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!objects[i].is_unseen_hx || objects[i].authorised.fault)
            objects[kept++] = objects[i];
    return kept;
}

int verdict_work(struct remote *remote, struct err *err) {
    struct link *link = link_of(remote);
    const int64_t since_ms = clock_mono_ms();
    struct verdict_object *objects = NULL;
    size_t count = 0;
    struct err why = {0};
    int rc = verdict_ask(link, link_client(link), &objects, &count, &why);
    if (rc == ERR_NOT_FOUND) /* no session: the next contact makes one, and then it is asked again */
        return ERR_CANCELED;
    (void)link_note(link, since_ms, rc, &why);
    if (!rc)
        link_note_objects(link, &objects, verdict_drop_named(objects, count));
    free(objects);
    return rc ? err_move(err, rc, &why) : verdict_look_at_clock(link, err);
}
