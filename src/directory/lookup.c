/* Look-ups in a snapshot: by id, by name, by what people type. Layer 3 (directory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "query.h"
#include "str.h"

#define ADDRESS_BYTES 300

size_t dir_find_position(const struct dir_snapshot *s, const char *id) {
    size_t low = 0, high = s->clusters_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(id, s->clusters[s->by_id[mid]]->record->id);
        if (!order)
            return s->by_id[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return SIZE_MAX;
}

const struct dir_cluster *dir_find_cluster(const struct dir_snapshot *s, const char *id) {
    const size_t position = dir_find_position(s, id);
    return position == SIZE_MAX ? NULL : s->clusters[position];
}

const struct dir_cluster *dir_find_cluster_by_name(const struct dir_snapshot *s, const char *name) {
    size_t low = 0, high = s->clusters_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(name, s->clusters[mid]->record->name);
        if (!order)
            return s->clusters[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const struct vcenter *dir_find_vcenter(const struct dir_platform *platform, const char *id) {
    for (size_t i = 0; i < platform->vcenters_count; i++)
        if (str_eq(platform->vcenters[i].id, id))
            return &platform->vcenters[i];
    return NULL;
}

const struct vsphere_cluster *dir_find_vsphere(const struct dir_platform *platform, const struct object_ref *ref) {
    size_t low = 0, high = platform->vsphere_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = object_ref_compare(ref, &platform->vsphere[mid].ref);
        if (!order)
            return &platform->vsphere[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const struct hx_cluster *dir_find_hx(const struct dir_platform *platform, const char *id) {
    size_t low = 0, high = platform->hx_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct hx_cluster *hx = &platform->hx[platform->hx_by_id[mid]];
        int order = strcmp(id, hx->id);
        if (!order)
            return hx;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const struct service_account *dir_find_service(const struct dir_platform *platform, const char *id) {
    size_t low = 0, high = platform->services_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(id, platform->services[mid].id);
        if (!order)
            return &platform->services[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

size_t dir_first_hx(const struct dir_platform *platform, const char *name) {
    size_t low = 0, high = platform->hx_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(platform->hx[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The vSphere clusters of one vCenter are neighbours; the first of them, or where it would be. */
static size_t first_vsphere(const struct dir_platform *platform, const char *vcenter_id) {
    size_t low = 0, high = platform->vsphere_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(platform->vsphere[mid].ref.vcenter_id, vcenter_id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct hx_cluster *dir_find_hx_on(const struct dir_platform *platform, const struct object_ref *ref) {
    const struct vsphere_cluster *on = dir_find_vsphere(platform, ref);
    size_t index = on ? platform->hx_of_vsphere[on - platform->vsphere] : SIZE_MAX;
    return index == SIZE_MAX ? NULL : &platform->hx[index];
}

static bool vcenter_fits(const struct vcenter *vc, const char *reference) {
    char with_port[ADDRESS_BYTES];
    const bool is_v6 = strchr(vc->address, ':');
    if (str_eq_nocase(vc->id, reference) || str_eq_nocase(vc->address, reference) || str_eq_nocase(vc->name, reference))
        return true;
    (void)snprintf(with_port, sizeof(with_port), "%s%s%s:%u", is_v6 ? "[" : "", vc->address, is_v6 ? "]" : "", vc->port);
    return str_eq_nocase(with_port, reference);
}

/* A NULL viewer sees everything. */
static bool sees_vcenter(const struct dir_platform *platform, const struct viewer_key *viewer, const struct vcenter *vc) {
    if (!viewer || policy_sees_all(viewer) || policy_viewer_is_of(viewer, vc->id))
        return true;
    for (size_t i = first_vsphere(platform, vc->id); i < platform->vsphere_count; i++) {
        if (!str_eq(platform->vsphere[i].ref.vcenter_id, vc->id))
            break;
        if (dir_sees_vsphere(platform, viewer, &platform->vsphere[i].ref))
            return true;
    }
    return false;
}

int dir_resolve_visible_vcenter(const struct dir_platform *platform, const struct viewer_key *viewer, const char *reference,
                                const struct vcenter **out, struct err *err) {
    const struct vcenter *found = NULL;
    for (size_t i = 0; i < platform->vcenters_count; i++) {
        const struct vcenter *vc = &platform->vcenters[i];
        if (!vcenter_fits(vc, reference) || !sees_vcenter(platform, viewer, vc))
            continue;
        if (found) {
            (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits more than one vCenter", reference);
            return err_remedy(err, "name the vCenter by ADDRESS:PORT or by its instance UUID");
        }
        found = vc;
    }
    if (!found) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no vCenter \"%s\" here", reference);
        return err_remedy(err, "compare with 'kaasctl vcenter list'; add it with 'kaasctl vcenter add'");
    }
    *out = found;
    return 0;
}

int dir_resolve_vcenter(const struct dir_platform *platform, const char *reference, const struct vcenter **out, struct err *err) {
    return dir_resolve_visible_vcenter(platform, NULL, reference, out, err);
}

static bool vsphere_fits(const struct vsphere_cluster *c, const char *reference) {
    size_t datacenter = c->datacenter ? strlen(c->datacenter) : 0;
    if (str_eq(c->ref.moref, reference))
        return true;
    return datacenter && c->name && !strncmp(reference, c->datacenter, datacenter) && reference[datacenter] == '/' &&
           str_eq(reference + datacenter + 1, c->name);
}

/* Present, on this vCenter, of this name and visible? */
static bool is_vsphere_meant(const struct dir_platform *platform, const struct viewer_key *viewer, const struct vcenter *vcenter,
                             const char *reference, const struct vsphere_cluster *c) {
    if (c->is_gone || !str_eq(c->ref.vcenter_id, vcenter->id) || !vsphere_fits(c, reference))
        return false;
    return !viewer || dir_sees_vsphere(platform, viewer, &c->ref);
}

int dir_resolve_visible_vsphere(const struct dir_platform *platform, const struct viewer_key *viewer,
                                const struct vcenter *vcenter, const char *reference, const struct vsphere_cluster **out,
                                struct err *err) {
    const struct vsphere_cluster *found = NULL;
    for (size_t i = first_vsphere(platform, vcenter->id); i < platform->vsphere_count; i++) {
        const struct vsphere_cluster *c = &platform->vsphere[i];
        if (!str_eq(c->ref.vcenter_id, vcenter->id))
            break;
        if (!is_vsphere_meant(platform, viewer, vcenter, reference, c))
            continue;
        if (found) {
            (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits more than one vSphere cluster of vCenter %s", reference,
                          vcenter->name);
            return err_remedy(err, "name the cluster by its managed object id, e.g. %s or %s", found->ref.moref, c->ref.moref);
        }
        found = c;
    }
    if (!found) {
        (void)err_set(err, ERR_NOT_FOUND, "vCenter %s has no vSphere cluster \"%s\"", vcenter->name, reference);
        return err_remedy(err, "give it as DATACENTER/CLUSTER; 'kaasctl vcenter rescan' reads the inventory again");
    }
    *out = found;
    return 0;
}

int dir_resolve_vsphere(const struct dir_platform *platform, const struct vcenter *vcenter, const char *reference,
                        const struct vsphere_cluster **out, struct err *err) {
    return dir_resolve_visible_vsphere(platform, NULL, vcenter, reference, out, err);
}
