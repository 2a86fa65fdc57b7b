/* A database in memory for tests of the directory: the store functions it reads by, over arrays that a test fills in.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "change_store.h"
#include "cluster.h"
#include "grant.h"
#include "platform.h"
#include "policy.h"
#include "service_account.h"
#include "snapshot.h"
#include "vcenter.h"

#define VC_A "aaaaaaaa-0a53-4a8e-8a54-2f1f9f3f6f10"
#define VC_B "bbbbbbbb-0a53-4a8e-8a54-2f1f9f3f6f10"
#define WORLD_CLUSTERS_MAX 2100
#define WORLD_FEW 24

struct world {
    struct vcenter vcenters[WORLD_FEW];
    struct vsphere_cluster vsphere[WORLD_FEW];
    struct hx_cluster hx[WORLD_FEW];
    struct hx_alias hx_aliases[WORLD_FEW]; /* by id; texts are the test's */
    struct grant grants[WORLD_FEW];
    struct service_account services[WORLD_FEW]; /* by id */
    struct cluster clusters[WORLD_CLUSTERS_MAX];
    size_t vcenters_count, vsphere_count, hx_count, hx_aliases_count, grants_count, services_count, clusters_count;
    struct change changes[WORLD_FEW]; /* the whole feed; seq is the position + 1 */
    size_t changes_count;
    bool is_gap;            /* the next poll meets a gap */
    size_t changes_at_once; /* != 0: the feed hands out no more at a time */
    int fail_code;          /* != 0: every call fails with it */
    int fail_after;         /* calls that still work before fail_code counts */
    unsigned full_loads, single_loads, calls, times_saved;
    void (*between)(void);         /* runs after positions were read, before anything else */
    void (*during)(void);          /* runs when all clusters were read */
    void (*between_singles)(void); /* runs after a single cluster was read */
    bool is_interrupted;           /* the reading of all clusters begins twice */
    void (*interrupted)(void);     /* runs before it begins again */
};
extern struct world world;

void world_reset(void); /* empties everything */

/* Texts are copied. */
void world_add_vcenter(const char *id, const char *name, const char *address);
struct vsphere_cluster *world_add_vsphere(const char *vcenter_id, const char *moref, const char *datacenter, const char *name);
struct hx_cluster *world_add_hx(const char *id, const char *vcenter_id, const char *moref, const char *name);
void world_add_grant(const char *principal_id, enum grant_object object, const char *object_id);
struct service_account *world_add_service(const char *id, const char *hx_cluster_id); /* in rising order of id */
/* A cluster whose id ends with `n`, without placement. */
struct cluster *world_add_cluster(unsigned n, const char *name);
void world_place(struct cluster *c, const char *vcenter_id, const char *moref);
void world_remove_cluster(const char *id);
void world_note(enum change_kind kind, const char *object_id); /* appends to the feed */

/* "cccccccc-0000-4000-8000-<n, 12 digits>", valid until the fourth later call. */
const char *world_cluster_id(unsigned n);

/* Two vCenters; on A the vSphere clusters domain-c7 (HX-East) and domain-c70 (HX-West) in DC0; on B domain-c7 (also called HX-East) in DC1
 * and domain-c9 (plain); one HX cluster on each but the last. Clusters: 1 "alpha" on A/c7, 2 "beta" on A/c70, 3 "gamma" on A/c7 and
 * A/c70, 4 "delta" on B/c7, 5 "epsilon" on A/c7 and B/c9. */
void world_fill(void);
#define HX_A7 "hxa00007-0000-4000-8000-000000000007"
#define HX_A70 "hxa00070-0000-4000-8000-000000000070"
#define HX_B7 "hxb00007-0000-4000-8000-000000000007"

/* A snapshot of the world as it is; one reference. */
struct inventory_snapshot *world_snapshot(void);

/* For cmocka: a filled world, and a snapshot of it. world_renew takes another one, of what it has become. */
extern struct inventory_snapshot *world_now;
int world_set_up(void **state);
int world_tear_down(void **state);
void world_renew(void);

struct inventory;
/* The first fragment of the cluster n, as the directory shows it now, contains the text. */
bool world_shows(struct inventory *directory, unsigned n, const char *text);

/* Somebody who came from `vcenter_id` and may view these vSphere clusters of it ("domain-c7 domain-c70"); the set belongs to the caller. */
struct viewer_key world_viewer(const char *vcenter_id, const char *morefs, struct object_set *set);
struct viewer_key world_admin(void);
