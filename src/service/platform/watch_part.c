/* The live watch of one vCenter: saving a part of what is known of nodes. Layer 4 (service/platform). The whole is watch_save.c.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A changed cluster or machine concerns few nodes: those, and the ones that fit the same machines, since which of them a machine belongs to
 * may come out differently now. Saving the whole picture takes seconds when there are 100,000 nodes. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "discovery.h"
#include "link.h"
#include "platform_links.h"
#include "str.h"
#include "watch_private.h"

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

static void tell(struct told *t, const struct node_observation *seen) {
    t->items[t->count++] = *seen;
    add_uuid(t, seen->instance_uuid);
}

/* The node's id is borrowed. */
static void tell_none(struct told *t, char *node_id) {
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

static bool has_item(const struct told *t, size_t count, const struct node_observation *seen) {
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
        if (has_uuid(t, nodes->items[i].instance_uuid) && !has_item(t, count, &nodes->items[i]))
            t->items[t->count++] = nodes->items[i];
    return 0;
}

/* Twice if something changed: a node that let its machine go may have been judged after one that waits for it. */
static int write_told(struct watch *w, const struct told *t, struct err *err) {
    struct platform *platform = link_platform(w->link);
    struct observation_picture picture = {
        .vcenter_id = link_id(w->link), .items = t->items, .count = t->count, .now_ms = clock_wall_ms()};
    unsigned changed = 0, total = 0;
    int rc = t->count ? watch_check_rights(w, err) : 0;
    for (int round = 0; !rc && t->count && round < 2 && (!round || changed); round++) {
        rc = observation_store_save(platform_options_of(platform)->store, &picture, &changed, err);
        total += rc ? 0 : changed;
    }
    if (total)
        platform_note_written(platform);
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
            tell_none(t, a->node_id);
        else
            tell(t, b);
    }
}

int watch_save_news(struct watch *w, struct watch_nodes *nodes, struct err *err) {
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
        rc = observation_store_list_cluster_nodes(platform_options_of(link_platform(w->link))->store, link_id(w->link),
                                                  noted->ids[i], &some, err);
        if (!rc)
            rc = append_targets(out, &some, err);
        node_target_list_done(&some);
    }
    sort_targets(out);
    return rc;
}

static int match(struct watch *w, const struct node_target_list *targets, struct watch_nodes *out, struct err *err) {
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
           str_eq(a->vcenter_id, b->vcenter_id);
}

/* Are these the targets that the clusters had before? */
static bool are_known(const struct watch *w, const struct watch_noted *noted, const struct node_target_list *fresh) {
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
            tell(t, &found->items[at++]);
        else
            tell_none(t, fresh->items[i].node_id);
    }
}

static int write_part(struct watch *w, const struct concerned *concerned, const struct node_target_list *fresh,
                      const struct watch_nodes *found, struct err *err) {
    struct told t = {0};
    int rc = told_init(&t, fresh->count + w->saved.count, err);
    if (!rc) {
        tell_found(&t, fresh, found);
        for (size_t i = 0; i < w->saved.count; i++)
            if (is_concerned(concerned, w->saved.items[i].node_id))
                add_uuid(&t, w->saved.items[i].instance_uuid);
        rc = add_rivals(&t, &w->saved, err);
    }
    if (!rc)
        rc = write_told(w, &t, err);
    told_done(&t);
    return rc;
}

/* How many nodes are seen, and whether any fits several machines: the latter is counted over all. */
static int report(struct watch *w, unsigned ambiguous, struct err *err) {
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

int watch_save_part(struct watch *w, const struct watch_noted *noted, struct err *err) {
    struct node_target_list fresh = {0};
    struct watch_nodes found = {0};
    struct concerned concerned = {0};
    int rc = load_noted(w, noted, &fresh, err);
    if (!rc)
        rc = match(w, &fresh, &found, err);
    const unsigned ambiguous = found.ambiguous;
    if (!rc)
        rc = find_concerned(w, noted, &fresh, &concerned, err);
    if (!rc)
        rc = write_part(w, &concerned, &fresh, &found, err);
    if (!rc)
        rc = replace_saved(w, &concerned, &found, err);
    free(concerned.ids); /* borrowed from targets that go now */
    if (!rc && !are_known(w, noted, &fresh))
        rc = replace_targets(w, noted, &fresh, err);
    if (!rc)
        rc = report(w, ambiguous, err);
    watch_nodes_done(&found);
    node_target_list_done(&fresh);
    return rc;
}
