/* The live watch of one vCenter: what it knows is saved, by a thread of its own. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "discovery.h"
#include "lease_store.h"
#include "link.h"
#include "metric.h"
#include "str.h"
#include "uuid.h"
#include "watch_run_private.h"

#define WATCH_PATH_BYTES_MAX 65536U

static struct store *watch_save_store_of(const struct watch *w) {
    return link_env(w->link)->options.runtime->store;
}

/* -- the lease ----------------------------------------------------------------------------------------------------------------- */

static char *watch_save_lease_name(const struct watch *w) {
    return str_format("observe:%s", link_id(w->link));
}

static int ask_lease(const struct watch *w, bool *is_mine) {
    _cleanup_free_ char *name = watch_save_lease_name(w);
    if (!name)
        return ERR_NOMEM;
    return lease_store_acquire(watch_save_store_of(w), name, store_replica_name(watch_save_store_of(w)), WATCH_LEASE_MS, is_mine,
                               NULL);
}

/* The other replicas need not wait for its end. With the database away it ends by itself. */
static void release_lease(struct watch *w) {
    _cleanup_free_ char *name = NULL;
    if (clock_mono_ms() >= w->plan.lease_until_ms || store_away_since_ms(watch_save_store_of(w)))
        return;
    name = watch_save_lease_name(w);
    if (name)
        (void)lease_store_release(watch_save_store_of(w), name, store_replica_name(watch_save_store_of(w)), NULL);
}

/* -- clusters ------------------------------------------------------------------------------------------------------------------ */

static int save_clusters(struct watch *w, struct err *err) {
    _cleanup_done_(watch_inventory_done) struct watch_inventory known = {.count = 0};
    _cleanup_done_(discovery_result_done) struct discovery_result result = {0};
    int rc;
    watch_lock_saving(w);
    rc = watch_get_inventory(w, &known, err);
    if (!rc)
        rc = discovery_save(w->link, &known, &result, err);
    watch_unlock_saving(w);
    if (!rc)
        w->refused_clusters = result.refused;
    return rc;
}

/* -- nodes --------------------------------------------------------------------------------------------------------------------- */

static int load_targets(struct watch *w, struct err *err) {
    struct node_target_list list = {0};
    struct node_matcher *matcher = NULL;
    int rc = observation_store_list_nodes(watch_save_store_of(w), link_id(w->link), &list, err);
    if (rc)
        return rc;
    rc = node_matcher_new(list.items, list.count, &matcher, err);
    if (rc) {
        node_target_list_done(&list);
        return rc;
    }
    node_matcher_free(w->matcher);
    node_target_list_done(&w->targets);
    w->matcher = matcher;
    w->targets = list;
    return 0;
}

/* Finds the machines of these targets in a picture that is not in the middle of an update. *out is given back by watch_nodes_done.
 * ERR_NOT_FOUND while there is none, ERR_NOMEM. */
static int watch_find_nodes(struct watch *w, struct node_matcher *matcher, const struct node_target_list *targets,
                            struct watch_nodes *out, struct err *err) {
    int rc;
    LOCKED(&w->lock);
    while (w->is_whole && w->is_in_update && !w->is_stopping)
        watch_wait(w, 1000);
    w->has_no_vm = watch_mirror_has_no_vm(&w->mirror);
    rc = watch_is_usable(w) ? watch_mirror_get_nodes(&w->mirror, matcher, targets->items, targets->count, out, err)
                            : err_set(err, ERR_NOT_FOUND, "the vCenter is not watched at the moment");
    if (!rc && matcher == w->matcher) {
        w->report.nodes = (unsigned)out->count;
        w->report.ambiguous = out->ambiguous;
    }
    return rc;
}

/* No machine is there though nodes are looked for: that is true, or our session has lost its rights. */
static int watch_check_rights(struct watch *w, struct err *err) {
    return w->has_no_vm && w->targets.count ? discovery_check_rights(w->link, err) : 0;
}

static int write_nodes(struct watch *w, const struct watch_nodes *nodes, struct err *err) {
    struct observation_picture picture = {.vcenter_id = link_id(w->link),
                                          .items = nodes->items,
                                          .count = nodes->count,
                                          .is_complete = true,
                                          .now_ms = clock_wall_ms(),
                                          .refused = &w->refused_nodes};
    unsigned changed = 0;
    int rc = observation_store_save(watch_save_store_of(w), &picture, &changed, err);
    if (!rc && changed)
        runtime_note_written(link_env(w->link)->options.runtime);
    return rc;
}

/* -- a part of what is known of nodes ------------------------------------------------------------------------------ */

/* A changed cluster or machine concerns few nodes: those, and the ones that fit the same machines, since which of them a machine belongs to
 * may come out differently now. Saving the whole picture takes seconds when there are 100,000 nodes. */

/* What is told to the store; everything is borrowed. */
struct told {
    struct node_observation *items;
    size_t count;
    const char **uuids; /* of the machines concerned, sorted once all are known */
    size_t uuids_count;
};

static int told_init(struct told *t, size_t room, struct err *err) {
    t->items = calloc(room + 1, sizeof(*t->items));
    t->uuids = calloc(2 * room + 1, sizeof(char *));
    return t->items && t->uuids ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static void told_done(struct told *t) {
    free(t->items);
    free(t->uuids);
}

static void add_uuid(struct told *t, const char *uuid) {
    if (!str_empty(uuid))
        t->uuids[t->uuids_count++] = uuid;
}

static void watch_save_tell(struct told *t, const struct node_observation *seen) {
    t->items[t->count++] = *seen;
    add_uuid(t, seen->instance_uuid);
}

/* The node's id is borrowed. */
static void watch_save_tell_none(struct told *t, char *node_id) {
    t->items[t->count++] = (struct node_observation){.node_id = node_id, .match = VM_MATCH_NONE};
}

static int compare_uuids(const void *a, const void *b) {
    return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_items(const void *a, const void *b) {
    return strcmp(((const struct node_observation *)a)->node_id, ((const struct node_observation *)b)->node_id);
}

static bool has_uuid(const struct told *t, const char *uuid) {
    return !str_empty(uuid) && t->uuids_count && bsearch(&uuid, t->uuids, t->uuids_count, sizeof(char *), compare_uuids);
}

static bool watch_save_has_item(const struct told *t, size_t count, const struct node_observation *seen) {
    return count && bsearch(seen, t->items, count, sizeof(*t->items), compare_items);
}

/* Those of all nodes seen that fit a machine concerned and are not told yet. */
static int add_rivals(struct told *t, const struct watch_nodes *nodes, struct err *err) {
    const size_t count = t->count;
    size_t rivals = 0;
    struct node_observation *items;
    if (t->uuids_count > 1)
        qsort(t->uuids, t->uuids_count, sizeof(char *), compare_uuids);
    if (count > 1)
        qsort(t->items, count, sizeof(*t->items), compare_items);
    for (size_t i = 0; i < nodes->count; i++)
        rivals += has_uuid(t, nodes->items[i].instance_uuid);
    items = reallocarray(t->items, count + rivals + 1, sizeof(*items));
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    t->items = items;
    for (size_t i = 0; i < nodes->count; i++)
        if (has_uuid(t, nodes->items[i].instance_uuid) && !watch_save_has_item(t, count, &nodes->items[i]))
            t->items[t->count++] = nodes->items[i];
    return 0;
}

/* Twice if something changed: a node that let its machine go may have been judged after one that waits for it. */
static int write_told(struct watch *w, const struct told *t, struct err *err) {
    struct refused_rows refused = {0}; /* the next whole picture tells them all */
    struct observation_picture picture = {
        .vcenter_id = link_id(w->link), .items = t->items, .count = t->count, .now_ms = clock_wall_ms(), .refused = &refused};
    unsigned changed = 0, total = 0;
    int rc = t->count ? watch_check_rights(w, err) : 0;
    for (int round = 0; !rc && t->count && round < 2 && (!round || changed); round++) {
        rc = observation_store_save(watch_save_store_of(w), &picture, &changed, err);
        total += rc ? 0 : changed;
    }
    if (total)
        runtime_note_written(link_env(w->link)->options.runtime);
    if (!rc && refused.count)
        w->refused_nodes = refused;
    return rc;
}

/* -- machines have changed --------------------------------------------------------------------------------------------------- */

/* Walks both pictures side by side, each in order of the node's id. */
static void tell_news(struct told *t, const struct watch_nodes *was, const struct watch_nodes *is) {
    size_t i = 0, j = 0;
    while (i < was->count || j < is->count) {
        const struct node_observation *a = i < was->count ? &was->items[i] : NULL, *b = j < is->count ? &is->items[j] : NULL;
        const int order = !a ? 1 : !b ? -1 : strcmp(a->node_id, b->node_id);
        i += order <= 0;
        j += order >= 0;
        if (!order && node_observation_same(a, b))
            continue;
        if (order <= 0)
            add_uuid(t, a->instance_uuid);
        if (order < 0)
            watch_save_tell_none(t, a->node_id);
        else
            watch_save_tell(t, b);
    }
}

/* Saves what differs from what was saved, and takes `nodes` over as saved; on failure it is the caller's still. */
static int watch_save_news(struct watch *w, struct watch_nodes *nodes, struct err *err) {
    struct told t = {0};
    int rc = told_init(&t, w->saved.count + nodes->count, err);
    if (!rc) {
        tell_news(&t, &w->saved, nodes);
        rc = t.count ? add_rivals(&t, nodes, err) : 0;
    }
    if (!rc)
        rc = write_told(w, &t, err);
    told_done(&t);
    if (rc)
        return rc;
    watch_nodes_done(&w->saved);
    w->saved = *nodes;
    return 0;
}

/* -- clusters have changed ---------------------------------------------------------------------------------------------------- */

static bool is_noted(const struct watch_noted *noted, const char *cluster_id) {
    for (size_t i = 0; i < noted->count; i++)
        if (str_eq(noted->ids[i], cluster_id))
            return true;
    return false;
}

static int compare_targets(const void *a, const void *b) {
    return strcmp(((const struct node_target *)a)->node_id, ((const struct node_target *)b)->node_id);
}

static void sort_targets(struct node_target_list *list) {
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(*list->items), compare_targets);
}

/* Ids of the nodes that the clusters have or had; borrowed from the targets. */
struct concerned {
    const char **ids;
    size_t count;
};

static int compare_ids(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_concerned(const struct watch *w, const struct watch_noted *noted, const struct node_target_list *fresh,
                          struct concerned *out, struct err *err) {
    size_t room = fresh->count;
    for (size_t i = 0; i < w->targets.count; i++)
        room += is_noted(noted, w->targets.items[i].cluster_id);
    out->ids = calloc(room + 1, sizeof(char *));
    if (!out->ids)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < w->targets.count; i++)
        if (is_noted(noted, w->targets.items[i].cluster_id))
            out->ids[out->count++] = w->targets.items[i].node_id;
    for (size_t i = 0; i < fresh->count; i++)
        out->ids[out->count++] = fresh->items[i].node_id;
    if (out->count > 1)
        qsort(out->ids, out->count, sizeof(char *), compare_ids);
    return 0;
}

static bool is_concerned(const struct concerned *c, const char *node_id) {
    return c->count && bsearch(&node_id, c->ids, c->count, sizeof(char *), compare_ids);
}

/* Moves the items of `more` to the end of `list`; `more` is empty then. */
static int append_targets(struct node_target_list *list, struct node_target_list *more, struct err *err) {
    struct node_target *items = reallocarray(list->items, list->count + more->count + 1, sizeof(*items));
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    list->items = items;
    if (more->count)
        memcpy(items + list->count, more->items, more->count * sizeof(*items));
    list->count += more->count;
    more->count = 0;
    return 0;
}

static int load_noted(struct watch *w, const struct watch_noted *noted, struct node_target_list *out, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < noted->count && !rc; i++) {
        struct node_target_list some = {0};
        rc = observation_store_list_cluster_nodes(watch_save_store_of(w), link_id(w->link), noted->ids[i], &some, err);
        if (!rc)
            rc = append_targets(out, &some, err);
        node_target_list_done(&some);
    }
    sort_targets(out);
    return rc;
}

static int watch_save_match(struct watch *w, const struct node_target_list *targets, struct watch_nodes *out, struct err *err) {
    struct node_matcher *matcher = NULL;
    int rc = node_matcher_new(targets->items, targets->count, &matcher, err);
    if (!rc)
        rc = watch_find_nodes(w, matcher, targets, out, err);
    node_matcher_free(matcher);
    return rc;
}

static bool is_same_target(const struct node_target *a, const struct node_target *b) {
    return str_eq(a->node_id, b->node_id) && str_eq(a->cluster_id, b->cluster_id) && str_eq(a->vm_name, b->vm_name) &&
           str_eq_nocase(a->vm_instance_uuid, b->vm_instance_uuid) && str_eq_nocase(a->vm_bios_uuid, b->vm_bios_uuid) &&
           str_eq_nocase(a->provider_uuid, b->provider_uuid) && str_eq_nocase(a->system_uuid, b->system_uuid) &&
           str_eq(a->vcenter_id, b->vcenter_id) && str_eq(a->seen_moref, b->seen_moref) && str_eq(a->seen_name, b->seen_name);
}

/* Are these the targets that the clusters had before? */
static bool watch_save_are_known(const struct watch *w, const struct watch_noted *noted, const struct node_target_list *fresh) {
    size_t at = 0;
    for (size_t i = 0; i < w->targets.count; i++) {
        if (!is_noted(noted, w->targets.items[i].cluster_id))
            continue;
        if (at == fresh->count || !is_same_target(&w->targets.items[i], &fresh->items[at]))
            return false;
        at++;
    }
    return at == fresh->count;
}

/* Takes the fresh targets for those of the clusters. On failure everything is as it was, but for fresh targets that were moved. */
static int replace_targets(struct watch *w, const struct watch_noted *noted, struct node_target_list *fresh, struct err *err) {
    size_t kept = 0;
    int rc = append_targets(&w->targets, &(struct node_target_list){0}, err); /* there is room for all that follows */
    for (size_t i = 0; !rc && i < w->targets.count; i++) {
        if (is_noted(noted, w->targets.items[i].cluster_id))
            node_target_done(&w->targets.items[i]);
        else
            w->targets.items[kept++] = w->targets.items[i];
    }
    if (rc)
        return rc;
    w->targets.count = kept;
    node_matcher_free(w->matcher); /* it points into the targets; without one the next save reads everything */
    w->matcher = NULL;
    rc = append_targets(&w->targets, fresh, err);
    if (rc)
        return rc;
    sort_targets(&w->targets);
    return node_matcher_new(w->targets.items, w->targets.count, &w->matcher, err);
}

/* Takes what was found now for what was saved of the nodes concerned. */
static int replace_saved(struct watch *w, const struct concerned *concerned, struct watch_nodes *found, struct err *err) {
    struct node_observation *items = calloc(w->saved.count + found->count + 1, sizeof(*items));
    size_t count = 0;
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < w->saved.count; i++) {
        if (is_concerned(concerned, w->saved.items[i].node_id))
            node_observation_done(&w->saved.items[i]);
        else
            items[count++] = w->saved.items[i];
    }
    if (found->count)
        memcpy(items + count, found->items, found->count * sizeof(*items));
    count += found->count;
    found->count = 0;
    if (count > 1)
        qsort(items, count, sizeof(*items), compare_items);
    free(w->saved.items);
    w->saved.items = items;
    w->saved.count = count;
    return 0;
}

static void tell_found(struct told *t, const struct node_target_list *fresh, const struct watch_nodes *found) {
    size_t at = 0;
    for (size_t i = 0; i < fresh->count; i++) {
        const bool is_found = at < found->count && str_eq(found->items[at].node_id, fresh->items[i].node_id);
        if (is_found)
            watch_save_tell(t, &found->items[at++]);
        else
            watch_save_tell_none(t, fresh->items[i].node_id);
    }
}

static int watch_save_write_part(struct watch *w, const struct concerned *concerned, const struct node_target_list *fresh,
                                 const struct watch_nodes *found, struct err *err) {
    _cleanup_done_(told_done) struct told t = {0};
    int rc = told_init(&t, fresh->count + w->saved.count, err);
    if (!rc) {
        tell_found(&t, fresh, found);
        for (size_t i = 0; i < w->saved.count; i++)
            if (is_concerned(concerned, w->saved.items[i].node_id))
                add_uuid(&t, w->saved.items[i].instance_uuid);
        rc = add_rivals(&t, &w->saved, err);
    }
    return rc ? rc : write_told(w, &t, err);
}

/* How many nodes are seen, and whether any fits several machines: the latter is counted over all. */
static int watch_save_report(struct watch *w, unsigned ambiguous, struct err *err) {
    struct watch_nodes all = {0};
    bool is_any;
    int rc = 0;
    (void)pthread_mutex_lock(&w->lock);
    w->report.nodes = (unsigned)w->saved.count;
    is_any = ambiguous || w->report.ambiguous;
    (void)pthread_mutex_unlock(&w->lock);
    if (is_any)
        rc = watch_find_nodes(w, w->matcher, &w->targets, &all, err);
    if (is_any && !rc)
        watch_nodes_done(&all);
    return rc;
}

/* Saves the nodes of a few clusters, and of others what that may concern. There must be a picture that was saved. */
static int watch_save_part(struct watch *w, const struct watch_noted *noted, struct err *err) {
    _cleanup_done_(node_target_list_done) struct node_target_list fresh = {0};
    _cleanup_done_(watch_nodes_done) struct watch_nodes found = {0};
    struct concerned concerned = {0};
    int rc = load_noted(w, noted, &fresh, err);
    if (!rc)
        rc = watch_save_match(w, &fresh, &found, err);
    const unsigned ambiguous = found.ambiguous;
    if (!rc)
        rc = find_concerned(w, noted, &fresh, &concerned, err);
    if (!rc)
        rc = watch_save_write_part(w, &concerned, &fresh, &found, err);
    if (!rc)
        rc = replace_saved(w, &concerned, &found, err);
    free(concerned.ids); /* borrowed from targets that go now */
    if (!rc && !watch_save_are_known(w, noted, &fresh))
        rc = replace_targets(w, noted, &fresh, err);
    return rc ? rc : watch_save_report(w, ambiguous, err);
}

/* `is_forced`: what is stored may differ from what we saved last. */
static int save_nodes(struct watch *w, bool is_forced, struct err *err) {
    struct watch_nodes nodes = {0};
    int rc = watch_find_nodes(w, w->matcher, &w->targets, &nodes, err);
    if (rc)
        return rc;
    if (!is_forced && w->has_saved) {
        rc = watch_save_news(w, &nodes, err);
        if (rc)
            watch_nodes_done(&nodes);
        return rc;
    }
    rc = watch_check_rights(w, err);
    if (!rc)
        rc = write_nodes(w, &nodes, err);
    if (rc) {
        watch_nodes_done(&nodes);
        return rc;
    }
    watch_nodes_done(&w->saved);
    w->saved = nodes;
    w->has_saved = true;
    return 0;
}

/* -- the thread ---------------------------------------------------------------------------------------------------------------- */

static int watch_save_parts(struct watch *w, unsigned parts, const struct watch_noted *noted, struct err *err) {
    int rc = 0;
    if (parts & WATCH_SAVE_PART && !(w->matcher && w->has_saved))
        parts |= WATCH_SAVE_TARGETS;
    if (parts & WATCH_SAVE_CLUSTERS)
        rc = save_clusters(w, err);
    if (!rc && (parts & WATCH_SAVE_TARGETS || !w->matcher))
        rc = load_targets(w, err);
    if (!rc && parts & WATCH_SAVE_PART && !(parts & WATCH_SAVE_TARGETS))
        rc = watch_save_part(w, noted, err);
    if (!rc && parts & (WATCH_SAVE_NODES | WATCH_SAVE_TARGETS))
        rc = save_nodes(w, parts & WATCH_SAVE_TARGETS, err);
    return rc;
}

/* Needs the lock. What the database refuses is told in the report, and to the log when it is another than before. */
static void watch_save_note_refused(struct watch *w) {
    const struct refused_rows *of = w->refused_clusters.count ? &w->refused_clusters : &w->refused_nodes;
    const unsigned count = w->refused_clusters.count + w->refused_nodes.count;
    const struct platform_options *options = &link_env(w->link)->options;
    _cleanup_strbuf_ struct strbuf path;
    char text[ERR_TEXT_BYTES] = "";
    strbuf_init(&path, WATCH_PATH_BYTES_MAX);
    if (count && !watch_mirror_get_path(&w->mirror, of->id, &path))
        strbuf_reset(&path);
    if (count)
        (void)snprintf(text, sizeof(text), "%.240s (%s): %s", path.len ? path.data : "an object", of->id, of->why);
    str_trim_utf8(text);
    const bool is_news = !str_eq(text, w->report.refusal);
    w->report.refused = count;
    (void)snprintf(w->report.refusal, sizeof(w->report.refusal), "%s", text);
    if (count && is_news && options->on_refused)
        options->on_refused(options->on_refused_arg, link_id(w->link), text);
}

/* Needs the lock, gives it back meanwhile. */
static void watch_save_now(struct watch *w) {
    unsigned parts = watch_plan_take(&w->plan, clock_mono_ms());
    struct watch_noted noted = w->noted;
    struct err err = {0};
    int rc;
    w->noted.count = 0;
    (void)pthread_mutex_unlock(&w->lock);
    rc = watch_save_parts(w, parts, &noted, &err);
    if (rc && parts & WATCH_SAVE_PART) /* which ones need not be remembered for this */
        parts = (parts & ~(unsigned)WATCH_SAVE_PART) | WATCH_SAVE_TARGETS | WATCH_SAVE_NODES;
    metric_add(metric_get(METRIC_WATCH_SAVES), 1);
    if (rc)
        metric_add(metric_get(METRIC_WATCH_SAVE_FAILURES), 1);
    (void)pthread_mutex_lock(&w->lock);
    watch_plan_note_saved(&w->plan, clock_mono_ms(), parts, rc, random_u32());
    if (rc)
        (void)snprintf(w->report.reason, sizeof(w->report.reason), "%s", err.text);
    else
        w->report.saved_at_ms = clock_wall_ms();
    if (!rc)
        watch_save_note_refused(w);
    if (!rc && w->report.is_watching)
        w->report.reason[0] = 0;
}

/* Needs the lock, gives it back meanwhile. */
static void ask_lease_now(struct watch *w) {
    bool is_mine = false;
    int64_t now_ms = clock_mono_ms(); /* before the question: the answer may be late, never the end of the lease */
    int rc;
    (void)pthread_mutex_unlock(&w->lock);
    rc = ask_lease(w, &is_mine);
    (void)pthread_mutex_lock(&w->lock);
    watch_plan_note_lease(&w->plan, now_ms, rc, is_mine);
}

void *watch_save_thread(void *arg) {
    struct watch *w = arg;
    store_thread_begin();
    (void)pthread_mutex_lock(&w->lock);
    while (!w->is_stopping) {
        int64_t wait_ms = 0;
        enum watch_step step = watch_plan_next(&w->plan, clock_mono_ms(), watch_is_usable(w), &wait_ms);
        if (step == WATCH_TAKE_LEASE)
            ask_lease_now(w);
        else if (step == WATCH_SAVE)
            watch_save_now(w);
        else
            watch_wait(w, wait_ms);
    }
    (void)pthread_mutex_unlock(&w->lock);
    release_lease(w);
    store_thread_end();
    return NULL;
}
