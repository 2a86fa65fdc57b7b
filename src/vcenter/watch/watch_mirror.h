/* Which virtual machine is which node: pure. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node's machine is the first of these that exists: the machine with its instance UUID; the machine that it was bound to, if that has lost its
 * configuration for now (its files cannot be read); the machine with the BIOS UUID that Kubernetes tells as the node's providerID, then as its systemUUID, then
 * that which was declared, each in one byte order or the other; the machine with its VM name. If several
 * machines fit equally well the node has none, since a copy of a machine keeps name and BIOS UUID. Templates are never nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "err.h"
#include "strbuf.h"
#include "vim_extension.h"
#include "vim_watch.h"

/* What is known of an object of a vCenter; each kind has some of the members. Texts belong to whoever has the object; NULL: unknown. */
struct watch_object {
    char *moref; /* never NULL */
    char *name, *parent_moref;
    char *host_moref, *instance_uuid, *bios_uuid; /* of a virtual machine, as `power`, `connection`, `is_template` */
    enum vm_power power;
    enum vm_connection connection;
    bool is_template;
    enum host_connection host_connection;
    bool is_plain; /* vCenter's compute resource of a host that is in no cluster */
};

/* The machine found for one target (node). */
struct node_found {
    const struct watch_object *vm; /* NULL: none, or several */
    enum vm_match match;           /* by what it was found; VM_MATCH_NONE without a machine */
    bool is_ambiguous;             /* several machines fit equally well */
    bool is_by_moref;              /* it is the machine that the node was bound to, and has no configuration now */
};

struct node_matcher;

/* Makes a matcher over these targets, which must outlive it. ERR_NOMEM. */
int node_matcher_new(const struct node_target *targets, size_t count, struct node_matcher **out, struct err *err);
void node_matcher_free(struct node_matcher *matcher); /* NULL is allowed */

/* Forgets the machines looked at: begins a new round. */
void node_matcher_reset(struct node_matcher *matcher);
/* Looks at one machine, which must live until the round ends. Its cost grows with the logarithm of the number of targets. */
void node_matcher_look(struct node_matcher *matcher, const struct watch_object *vm);
/* The machine of target `i`; call it after node_matcher_look of all machines. */
struct node_found node_matcher_get(const struct node_matcher *matcher, size_t i);

/* -- what a watch knows of one vCenter: a mirror in memory --------------------------------------------------------- */

/* Filled with what vim_watch.h tells; read for what is saved to the database. No threads, no clock, no calls: the caller locks. */

/* What has changed since the bits were last taken. */
enum watch_change {
    WATCH_CLUSTERS = 1U << 0, /* vSphere clusters, their names and datacenters, extension keys */
    WATCH_NODES = 1U << 1,    /* virtual machines, their hosts, the hosts' clusters */
    WATCH_RECORD = 1U << 2,   /* our own extension record differs from the one told before, or is gone */
};

struct watch_mirror {
    void *trees[VIM_OBJECT_KINDS]; /* of struct watch_object, by moref (tsearch(3)) */
    size_t count;                  /* objects in them */
    struct vim_key_list keys;
    bool has_keys; /* the list of keys has come */
    bool has_record;
    uint64_t record_digest;
    unsigned changed; /* bits of enum watch_change */
};

void watch_mirror_done(struct watch_mirror *m); /* NULL is allowed; leaves an empty one */

/* Forgets the objects; marks everything but our own record as changed. */
void watch_mirror_clear(struct watch_mirror *m);

/* Copies what vCenter told of an object. ERR_NOMEM; ERR_TOO_LARGE over KAAS_VIM_OBJECTS_COUNT_MAX objects. */
int watch_mirror_put(struct watch_mirror *m, const struct vim_watch_object *told, struct err *err);
/* Copies the whole list of extension keys, and notes whether our own record (NULL: there is none) has changed. ERR_NOMEM. */
int watch_mirror_put_extensions(struct watch_mirror *m, const struct vim_key_list *keys, const struct vim_extension *own,
                                struct err *err);

/* A ClusterComputeResource. Texts malloc'ed. */
struct watch_cluster {
    char *moref, *name;                  /* "domain-c7"; never NULL */
    char *datacenter, *datacenter_moref; /* name and object of the datacenter; NULL if we may not see it */
};

/* The vSphere clusters of a vCenter, by moref, and the keys of all its extensions. */
struct watch_inventory {
    struct watch_cluster *clusters;
    size_t count;
    struct vim_key_list keys; /* sorted */
};
void watch_inventory_done(struct watch_inventory *inventory); /* NULL is allowed */
bool watch_inventory_same(const struct watch_inventory *a, const struct watch_inventory *b);

/* Clusters and extension keys as they are known. *out (uninitialised) is given back by watch_inventory_done. ERR_NOMEM. */
int watch_mirror_get_inventory(const struct watch_mirror *m, struct watch_inventory *out, struct err *err);

/* Writes the path of a cluster in vCenter's inventory, "/DC0/host/Racks/HX-East", with the folders; a slash in a name is %2f, as vCenter writes it. False if
 * we cannot see a part of the path. */
bool watch_mirror_get_path(const struct watch_mirror *m, const char *moref, struct strbuf *out);

/* The nodes whose machines are in this vCenter. */
struct watch_nodes {
    struct node_observation *items;
    size_t count;
    unsigned ambiguous; /* targets that fit several machines */
};
void watch_nodes_done(struct watch_nodes *nodes); /* NULL is allowed */

/* Finds the machines of the targets that `matcher` was made for. *out (uninitialised) is given back by watch_nodes_done. ERR_NOMEM. */
int watch_mirror_get_nodes(const struct watch_mirror *m, struct node_matcher *matcher, const struct node_target *targets,
                           size_t count, struct watch_nodes *out, struct err *err);

/* True if no virtual machine is known. */
bool watch_mirror_has_no_vm(const struct watch_mirror *m);
