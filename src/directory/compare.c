/* Comparing what is in memory with what is stored. Layer 3 (directory). What follows from a difference is check.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>

#include "cluster_store.h"
#include "str.h"

static void suspect(struct dir_suspects *out, enum change_kind kind, const char *id, const char *member) {
    struct dir_suspect *item;
    if (!member)
        return;
    if (out->count == DIR_SUSPECTS_AT_ONCE) {
        out->is_more = true;
        return;
    }
    item = &out->items[out->count++];
    item->kind = kind;
    item->member = member;
    (void)snprintf(item->object_id, sizeof(item->object_id), "%s", id);
}

/* -- what lies below the clusters ------------------------------------------------------------------------------------------- */

static void compare_vcenters(const struct dir_platform *old, const struct dir_platform *fresh, struct dir_suspects *out) {
    for (size_t i = 0; i < fresh->vcenters_count; i++) {
        const struct vcenter *is = &fresh->vcenters[i], *was = dir_find_vcenter(old, is->id);
        suspect(out, CHANGE_VCENTER, is->id, was ? vcenter_difference(was, is) : DIR_NOT_IN_MEMORY);
    }
    for (size_t i = 0; i < old->vcenters_count; i++)
        if (!dir_find_vcenter(fresh, old->vcenters[i].id))
            suspect(out, CHANGE_VCENTER, old->vcenters[i].id, DIR_NOT_STORED);
}

static void suspect_vsphere(struct dir_suspects *out, const struct object_ref *ref, const char *member) {
    char id[GRANT_OBJECT_ID_BYTES];
    grant_vsphere_id(ref, id);
    suspect(out, CHANGE_VSPHERE_CLUSTER, id, member);
}

static void compare_vsphere(const struct dir_platform *old, const struct dir_platform *fresh, struct dir_suspects *out) {
    for (size_t i = 0; i < fresh->vsphere_count; i++) {
        const struct vsphere_cluster *is = &fresh->vsphere[i], *was = dir_find_vsphere(old, &is->ref);
        suspect_vsphere(out, &is->ref, was ? vsphere_cluster_difference(was, is) : DIR_NOT_IN_MEMORY);
    }
    for (size_t i = 0; i < old->vsphere_count; i++)
        if (!dir_find_vsphere(fresh, &old->vsphere[i].ref))
            suspect_vsphere(out, &old->vsphere[i].ref, DIR_NOT_STORED);
}

static void compare_hx(const struct dir_platform *old, const struct dir_platform *fresh, struct dir_suspects *out) {
    for (size_t i = 0; i < fresh->hx_count; i++) {
        const struct hx_cluster *is = &fresh->hx[i], *was = dir_find_hx(old, is->id);
        suspect(out, CHANGE_HX_CLUSTER, is->id, was ? hx_cluster_difference(was, is) : DIR_NOT_IN_MEMORY);
    }
    for (size_t i = 0; i < old->hx_count; i++)
        if (!dir_find_hx(fresh, old->hx[i].id))
            suspect(out, CHANGE_HX_CLUSTER, old->hx[i].id, DIR_NOT_STORED);
}

static int compare_grants(const void *a, const void *b) {
    return grant_compare(a, b);
}

static const struct grant *find_grant(const struct dir_platform *p, const struct grant *wanted) {
    return p->grants_count ? bsearch(wanted, p->grants, p->grants_count, sizeof(*p->grants), compare_grants) : NULL;
}

static void compare_all_grants(const struct dir_platform *old, const struct dir_platform *fresh, struct dir_suspects *out) {
    for (size_t i = 0; i < fresh->grants_count; i++) {
        const struct grant *is = &fresh->grants[i], *was = find_grant(old, is);
        suspect(out, CHANGE_GRANT, is->id, was ? grant_difference(was, is) : DIR_NOT_IN_MEMORY);
    }
    for (size_t i = 0; i < old->grants_count; i++)
        if (!find_grant(fresh, &old->grants[i]))
            suspect(out, CHANGE_GRANT, old->grants[i].id, DIR_NOT_STORED);
}

static void compare_services(const struct dir_platform *old, const struct dir_platform *fresh, struct dir_suspects *out) {
    for (size_t i = 0; i < fresh->services_count; i++) {
        const struct service_account *is = &fresh->services[i], *was = dir_find_service(old, is->id);
        suspect(out, CHANGE_SERVICE_ACCOUNT, is->id, was ? service_account_difference(was, is) : DIR_NOT_IN_MEMORY);
    }
    for (size_t i = 0; i < old->services_count; i++)
        if (!dir_find_service(fresh, old->services[i].id))
            suspect(out, CHANGE_SERVICE_ACCOUNT, old->services[i].id, DIR_NOT_STORED);
}

static int compare_platform(const struct dir_loading *loading, struct dir_suspects *out, struct err *err) {
    _cleanup_(dir_platform_unref) struct dir_platform *fresh = NULL;
    const struct dir_platform *old = loading->old->platform;
    int rc = dir_load_platform(loading->store, &fresh, err);
    if (rc)
        return rc;
    compare_vcenters(old, fresh, out);
    compare_vsphere(old, fresh, out);
    compare_hx(old, fresh, out);
    compare_all_grants(old, fresh, out);
    compare_services(old, fresh, out);
    return 0;
}

/* -- clusters ---------------------------------------------------------------------------------------------------------------- */

/* Takes the record over. *member gets what differs. */
static int compare_record(const struct dir_loading *loading, struct cluster *record, const char **member, struct err *err) {
    const struct dir_cluster *was = dir_find_cluster(loading->old, record->id);
    _cleanup_(dir_cluster_unref) struct dir_cluster *is = NULL;
    int rc;
    *member = DIR_NOT_IN_MEMORY;
    if (!was) {
        cluster_free(record);
        return 0;
    }
    rc = dir_make_entry(loading, record, &is, err); /* made with the platform in memory: that differs apart from this */
    if (!rc)
        *member = dir_cluster_difference(was, is);
    return rc;
}

struct comparing {
    const struct dir_loading *loading;
    struct dir_suspects *out;
    size_t out_count; /* found before the clusters */
    bool is_out_more;
    bool *is_stored; /* for each position in memory */
    size_t clusters, nodes;
};

static void begin_comparing(void *arg) {
    struct comparing *c = arg;
    c->out->count = c->out_count;
    c->out->is_more = c->is_out_more;
    c->clusters = c->nodes = 0;
    memset(c->is_stored, 0, c->loading->old->clusters_count * sizeof(*c->is_stored));
}

static int compare_one(void *arg, struct cluster *record, struct err *err) {
    struct comparing *c = arg;
    _cleanup_free_ char *id = str_dup(record->id);
    const size_t position = dir_find_position(c->loading->old, record->id);
    const char *member = NULL;
    int rc = id ? dir_check_size(++c->clusters, c->nodes += record->nodes_count, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc) {
        cluster_free(record);
        return rc;
    }
    if (position != SIZE_MAX)
        c->is_stored[position] = true;
    rc = compare_record(c->loading, record, &member, err);
    if (!rc)
        suspect(c->out, CHANGE_CLUSTER, id, member);
    return rc;
}

static void find_gone(const struct comparing *c) {
    for (size_t i = 0; i < c->loading->old->clusters_count; i++)
        if (!c->is_stored[i])
            suspect(c->out, CHANGE_CLUSTER, c->loading->old->clusters[i]->record->id, DIR_NOT_STORED);
}

int dir_compare_all(const struct dir_loading *given, struct dir_suspects *out, struct err *err) {
    struct dir_loading loading = *given;
    struct comparing c = {.loading = &loading, .out = out};
    const struct cluster_sink sink = {.begin = begin_comparing, .take = compare_one, .arg = &c};
    int rc;
    out->count = 0;
    out->is_more = false;
    loading.basis.platform = given->old->platform;
    rc = compare_platform(&loading, out, err);
    if (rc)
        return rc;
    c.out_count = out->count;
    c.is_out_more = out->is_more;
    c.is_stored = calloc(given->old->clusters_count + 1, sizeof(*c.is_stored));
    rc = c.is_stored ? cluster_store_each(loading.store, &sink, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        find_gone(&c);
    free(c.is_stored);
    return rc;
}

/* -- a second look ------------------------------------------------------------------------------------------------------------ */

static int compare_stored(const struct dir_loading *loading, struct dir_suspect *s, struct err *err) {
    struct cluster *record = NULL;
    struct err missing = {0};
    int rc = cluster_store_load(loading->store, s->object_id, &record, &missing);
    if (!rc)
        return compare_record(loading, record, &s->member, err);
    if (rc != ERR_NOT_FOUND)
        return err_move(err, rc, &missing);
    s->member = dir_find_cluster(loading->old, s->object_id) ? DIR_NOT_STORED : NULL;
    return 0;
}

int dir_compare_again(const struct dir_loading *given, struct dir_suspects *suspects, struct err *err) {
    struct dir_loading loading = *given;
    size_t kept = 0;
    bool has_platform = false;
    loading.basis.platform = given->old->platform;
    for (size_t i = 0; i < suspects->count; i++) {
        struct dir_suspect *s = &suspects->items[i];
        int rc;
        has_platform = has_platform || s->kind != CHANGE_CLUSTER;
        if (s->kind != CHANGE_CLUSTER)
            continue; /* all of them at once, below */
        rc = compare_stored(&loading, s, err);
        if (rc)
            return rc;
        if (s->member)
            suspects->items[kept++] = *s;
    }
    suspects->count = kept;
    return has_platform ? compare_platform(&loading, suspects, err) : 0;
}
