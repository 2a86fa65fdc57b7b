/* What of a snapshot a viewer sees, and which vCenter or vSphere cluster a typed name means. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "query.h"

#include <stdio.h>
#include <string.h>

#include "limits.h"
#include "names.h"
#include "str.h"

#define ADDRESS_BYTES 300
#define VSPHERE_NAMED_MAX 5

static const char *find_hx_id(const void *arg, const struct object_ref *ref) {
    const struct hx_cluster *hx = inventory_find_hx_on(arg, ref);
    return hx ? hx->id : NULL;
}

bool inventory_view_cluster(const struct inventory_platform *platform, const struct viewer_key *viewer,
                            const struct cluster *cluster, struct policy_view *out) {
    struct policy_hx_lookup hx = {.find_hx_id = find_hx_id, .arg = platform};
    return policy_cluster_visible(viewer, cluster, &hx, out);
}

unsigned inventory_vsphere_rules(const struct inventory_platform *platform, const struct viewer_key *viewer,
                                 const struct object_ref *ref) {
    struct policy_hx_lookup hx = {.find_hx_id = find_hx_id, .arg = platform};
    return policy_vsphere_rules(viewer, ref, &hx);
}

bool inventory_sees_vsphere(const struct inventory_platform *platform, const struct viewer_key *viewer,
                            const struct object_ref *ref) {
    return inventory_vsphere_rules(platform, viewer, ref) != 0;
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
static bool sees_vcenter(const struct inventory_platform *platform, const struct viewer_key *viewer, const struct vcenter *vc) {
    if (!viewer || policy_sees_all(viewer) || policy_viewer_is_of(viewer, vc->id))
        return true;
    for (size_t i = inventory_first_vsphere(platform, vc->id); i < platform->vsphere_count; i++) {
        if (!str_eq(platform->vsphere[i].ref.vcenter_id, vc->id))
            break;
        if (inventory_sees_vsphere(platform, viewer, &platform->vsphere[i].ref))
            return true;
    }
    return false;
}

int inventory_resolve_visible_vcenter(const struct inventory_platform *platform, const struct viewer_key *viewer,
                                      const char *reference, const struct vcenter **out, struct err *err) {
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
        return err_remedy(err, "compare with 'kaasctl vcenter list'; add it with 'kaasctl vcenter add ADDRESS'");
    }
    *out = found;
    return 0;
}

int inventory_resolve_vcenter(const struct inventory_platform *platform, const char *reference, const struct vcenter **out,
                              struct err *err) {
    return inventory_resolve_visible_vcenter(platform, NULL, reference, out, err);
}

/* How well a reference fits a vSphere cluster: one that fits less well does not count beside one that fits better. */
enum vsphere_fit { FITS_NOT, FITS_NEARLY, FITS_BY_NAME, FITS };

static enum vsphere_fit vsphere_fit(const struct vsphere_cluster *c, const char *reference) {
    if (str_eq(c->ref.moref, reference) || vsphere_cluster_has_path(c, reference))
        return FITS;
    return vsphere_name_is(c->name, reference) ? FITS_BY_NAME : FITS_NOT;
}

static enum vsphere_fit vsphere_nearly(const struct vsphere_cluster *c, const char *reference) {
    return vsphere_cluster_is_nearly(c, reference) ? FITS_NEARLY : FITS_NOT;
}

/* Those that fit best. */
struct vsphere_choice {
    const struct inventory_platform *platform;
    const struct viewer_key *viewer; /* NULL: sees everything */
    const struct vcenter *vcenter;   /* NULL: any */
    const struct vsphere_cluster *first;
    enum vsphere_fit fit;
    size_t count;
    struct strbuf names; /* what to give instead */
};

static void choice_name(struct vsphere_choice *choice, const struct vsphere_cluster *c) {
    const struct vcenter *of = choice->vcenter ? NULL : inventory_find_vcenter(choice->platform, c->ref.vcenter_id);
    strbuf_adds(&choice->names, !choice->count ? "" : choice->vcenter || choice->fit == FITS_NEARLY ? " or " : " and ");
    if (choice->fit == FITS_NEARLY)
        vsphere_cluster_add_path(c, &choice->names);
    else
        strbuf_adds(&choice->names, c->ref.moref);
    if (of && choice->fit != FITS_NEARLY)
        strbuf_addf(&choice->names, " of vCenter %s", of->name);
}

static void choice_add(struct vsphere_choice *choice, const struct vsphere_cluster *c, enum vsphere_fit fit) {
    if (fit < choice->fit)
        return;
    if (fit > choice->fit) {
        strbuf_reset(&choice->names);
        choice->count = 0;
        choice->first = c;
        choice->fit = fit;
    }
    if (choice->count < VSPHERE_NAMED_MAX)
        choice_name(choice, c);
    choice->count++;
}

static void choice_look(struct vsphere_choice *choice, const char *reference, bool nearly) {
    const struct inventory_platform *p = choice->platform;
    for (size_t i = choice->vcenter ? inventory_first_vsphere(p, choice->vcenter->id) : 0; i < p->vsphere_count; i++) {
        const struct vsphere_cluster *c = &p->vsphere[i];
        if (choice->vcenter && !str_eq(c->ref.vcenter_id, choice->vcenter->id))
            break;
        const enum vsphere_fit fit = nearly ? vsphere_nearly(c, reference) : vsphere_fit(c, reference);
        if (fit != FITS_NOT && !c->is_gone && (!choice->viewer || inventory_sees_vsphere(p, choice->viewer, &c->ref)))
            choice_add(choice, c, fit);
    }
}

static int choice_end(const struct vsphere_choice *choice, const char *reference, struct err *err) {
    const struct vcenter *vcenter = choice->vcenter;
    if (choice->fit > FITS_NEARLY && choice->count == 1)
        return 0;
    if (choice->fit > FITS_NEARLY) {
        (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits more than one vSphere cluster%s%s", reference,
                      vcenter ? " of vCenter " : "", vcenter ? vcenter->name : "");
        if (!vcenter)
            return err_remedy(err, "name the vCenter as well, for kaasctl as VCENTER:%.80s: there are %s", reference,
                              choice->names.data);
        return err_remedy(err, "name the cluster by its managed object id: %s", choice->names.data);
    }
    if (vcenter)
        (void)err_set(err, ERR_NOT_FOUND, "vCenter %s has no vSphere cluster \"%s\"", vcenter->name, reference);
    else
        (void)err_set(err, ERR_NOT_FOUND, "no vCenter has a vSphere cluster \"%s\"", reference);
    if (choice->fit == FITS_NEARLY)
        return err_remedy(err, "did you mean %s?", choice->names.data);
    return err_remedy(err, "give it as DATACENTER/CLUSTER; 'kaasctl vcenter rescan %s' reads the inventory again",
                      vcenter ? name_word(vcenter->name, vcenter->id) : "VCENTER");
}

int inventory_resolve_visible_vsphere(const struct inventory_platform *platform, const struct viewer_key *viewer,
                                      const struct vcenter *vcenter, const char *reference, const struct vsphere_cluster **out,
                                      struct err *err) {
    struct vsphere_choice choice = {.platform = platform, .viewer = viewer, .vcenter = vcenter};
    strbuf_init(&choice.names, ERR_REMEDY_BYTES);
    choice_look(&choice, reference, false);
    if (!choice.count)
        choice_look(&choice, reference, true);
    int rc = choice_end(&choice, reference, err);
    strbuf_done(&choice.names);
    if (!rc)
        *out = choice.first;
    return rc;
}

int inventory_resolve_vsphere(const struct inventory_platform *platform, const struct vcenter *vcenter, const char *reference,
                              const struct vsphere_cluster **out, struct err *err) {
    return inventory_resolve_visible_vsphere(platform, NULL, vcenter, reference, out, err);
}
