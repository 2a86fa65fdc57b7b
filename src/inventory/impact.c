/* Which Kubernetes clusters a host carries, and what becomes of them without it, answered from a snapshot. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "impact.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rollup.h"
#include "str.h"

#define HOSTS_NAMED_MAX 5 /* in a remedy */

/* -- which host is meant ---------------------------------------------------------------------------------------------------- */

/* How well a reference fits a host: one that fits less well does not count beside one that fits better. */
enum host_fit { HOST_FITS_NOT, HOST_FITS_NEARLY, HOST_FITS };

/* "esx-7" is nearly "esx-7.example.com". */
static enum host_fit host_fit(const struct node_observation *seen, const char *reference) {
    const size_t len = strlen(reference);
    if (str_eq(seen->host_moref, reference) || (seen->host_name && str_eq_nocase(seen->host_name, reference)))
        return HOST_FITS;
    return len && seen->host_name && strncasecmp(seen->host_name, reference, len) == 0 && seen->host_name[len] == '.'
               ? HOST_FITS_NEARLY
               : HOST_FITS_NOT;
}

/* The hosts that fit best so far. */
struct host_choice {
    const struct inventory_snapshot *snapshot;
    const struct viewer_key *viewer;
    const struct vcenter *vcenter; /* NULL: any */
    const char *reference;
    enum host_fit fit;
    struct inventory_host_list *found;
};

static bool host_is_found(const struct inventory_host_list *found, const struct node_observation *seen) {
    for (size_t i = 0; i < found->count; i++)
        if (str_eq(found->items[i].ref.moref, seen->host_moref) &&
            str_eq_nocase(found->items[i].ref.vcenter_id, seen->vcenter_id))
            return true;
    return false;
}

static bool host_is_visible(const struct host_choice *choice, const struct inventory_cluster *entry, const struct node *node) {
    struct policy_view view;
    return inventory_view_cluster(choice->snapshot->platform, choice->viewer, entry->record, &view) &&
           inventory_sees_node(choice->snapshot->platform, choice->viewer, &(struct inventory_seen){entry, view.parts}, node);
}

static void host_look(struct host_choice *choice, const struct inventory_cluster *entry, const struct node *node) {
    const struct node_observation *seen = node->seen;
    struct inventory_host_list *found = choice->found;
    struct inventory_host host = {.seen = seen};
    if (!rollup_is_own(seen) || !seen->host_moref || (choice->vcenter && !str_eq_nocase(seen->vcenter_id, choice->vcenter->id)))
        return;
    const enum host_fit fit = host_fit(seen, choice->reference);
    if (fit == HOST_FITS_NOT || fit < choice->fit || (fit == choice->fit && host_is_found(found, seen)) ||
        !host_is_visible(choice, entry, node) || object_ref_make(seen->vcenter_id, seen->host_moref, &host.ref, NULL))
        return;
    if (fit > choice->fit)
        found->count = 0;
    choice->fit = fit;
    if (found->count < INVENTORY_CANDIDATES_MAX)
        found->items[found->count++] = host;
}

static int host_tell_none(const struct host_choice *choice, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND, "no node of a Kubernetes cluster that you may see is on a host \"%s\"%s%s",
                  choice->reference, choice->vcenter ? " of vCenter " : "", choice->vcenter ? choice->vcenter->name : "");
    return err_remedy(err, "hosts are known by the nodes on them; its name is that in vCenter, as the nodes of clusters have it");
}

static int host_tell_several(const struct host_choice *choice, struct err *err) {
    _cleanup_strbuf_ struct strbuf names;
    strbuf_init(&names, ERR_REMEDY_BYTES);
    for (size_t i = 0; i < choice->found->count && i < HOSTS_NAMED_MAX; i++) {
        const struct inventory_host *host = &choice->found->items[i];
        const struct vcenter *of = inventory_find_vcenter(choice->snapshot->platform, host->ref.vcenter_id);
        strbuf_addf(&names, "%s%s of vCenter %s", i ? " or " : "", host->ref.moref, of ? of->name : host->ref.vcenter_id);
    }
    (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits more than one host", choice->reference);
    return err_remedy(err, "give its managed object id and the vCenter, for kaasctl by --vcenter: %s", names.data);
}

int inventory_resolve_host(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                           const struct vcenter *vcenter, const char *reference, struct inventory_host_list *out,
                           struct err *err) {
    struct host_choice choice = {
        .snapshot = snapshot, .viewer = viewer, .vcenter = vcenter, .reference = reference, .found = out};
    out->count = 0;
    for (size_t i = 0; i < snapshot->clusters_count; i++) {
        const struct inventory_cluster *entry = snapshot->clusters[i];
        for (size_t k = 0; k < entry->record->nodes_count; k++)
            host_look(&choice, entry, &entry->record->nodes[k]);
    }
    if (!out->count)
        return host_tell_none(&choice, err);
    return out->count == 1 ? 0 : host_tell_several(&choice, err);
}

/* -- what becomes of its clusters ------------------------------------------------------------------------------------------- */

/* The worst first; of equals the one that loses more, then by name. */
static int impact_compare(const void *a, const void *b) {
    const struct inventory_impact_row *x = a, *y = b;
    if (x->impact.verdict != y->impact.verdict)
        return x->impact.verdict < y->impact.verdict ? -1 : 1;
    if (x->impact.control_planes_on != y->impact.control_planes_on)
        return x->impact.control_planes_on > y->impact.control_planes_on ? -1 : 1;
    if (x->impact.workers_on != y->impact.workers_on)
        return x->impact.workers_on > y->impact.workers_on ? -1 : 1;
    return strcmp(x->seen.entry->record->name, y->seen.entry->record->name);
}

static bool impact_has_node(const struct cluster *c, const struct object_ref *host) {
    for (size_t i = 0; i < c->nodes_count; i++)
        if (host_impact_is_on(&c->nodes[i], host))
            return true;
    return false;
}

/* How many of the cluster's nodes there the viewer may see; the rest is counted in *hidden. */
static size_t impact_count_seen(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                                const struct inventory_seen *in, const struct object_ref *host, size_t *hidden) {
    const struct cluster *c = in->entry->record;
    size_t shown = 0;
    for (size_t i = 0; i < c->nodes_count; i++) {
        if (!host_impact_is_on(&c->nodes[i], host))
            continue;
        if (inventory_sees_node(snapshot->platform, viewer, in, &c->nodes[i]))
            shown++;
        else
            ++*hidden;
    }
    return shown;
}

static int impact_add(struct inventory_impact *to, const struct inventory_seen *seen, const struct object_ref *host,
                      struct err *err) {
    struct inventory_impact_row *longer = reallocarray(to->rows, to->count + 1, sizeof(*longer));
    if (!longer)
        return err_set(err, ERR_NOMEM, "out of memory");
    to->rows = longer;
    longer[to->count].seen = *seen;
    host_impact_judge(seen->entry->record, host, &longer[to->count].impact);
    to->count++;
    return 0;
}

int inventory_judge_host(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                         const struct object_ref *host, struct inventory_impact *out, struct err *err) {
    struct inventory_impact made = {.rows = NULL};
    int rc = 0;
    for (size_t i = 0; i < snapshot->clusters_count && !rc; i++) {
        struct inventory_seen seen = {.entry = snapshot->clusters[i]};
        struct policy_view view;
        if (!impact_has_node(seen.entry->record, host) ||
            !inventory_view_cluster(snapshot->platform, viewer, seen.entry->record, &view))
            continue;
        seen.mask = view.parts;
        if (impact_count_seen(snapshot, viewer, &seen, host, &made.hidden))
            rc = impact_add(&made, &seen, host, err);
    }
    if (rc) {
        free(made.rows);
        return rc;
    }
    if (made.count)
        qsort(made.rows, made.count, sizeof(*made.rows), impact_compare);
    *out = made;
    return 0;
}
