/* The members of an etcd that a cluster runs on: by the JSON form of its API. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: etcd 3.5 and 3.6, "gRPC gateway" and rpc.proto (Cluster, Maintenance). 64-bit numbers are texts in it. A member is asked at its client port, 2379, with a client
 * certificate of etcd's CA. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "k8s.h"

#define ETCD_MEMBERS_MAX 32U
#define ETCD_TEXT_BYTES 256 /* of a name and of a URL; what is longer is refused */

struct etcd_member {
    uint64_t id;
    char name[ETCD_TEXT_BYTES];     /* of the node; "" until it has started */
    char peer_url[ETCD_TEXT_BYTES]; /* its first; "" none */
    bool is_learner;                /* has no vote yet */
};
struct etcd_members {
    struct etcd_member items[ETCD_MEMBERS_MAX];
    size_t count;
    uint64_t asked_id; /* of the member that answered */
};

struct etcd_client;
/* A client of the member at endpoint->url ("https://10.9.0.21:2379"), one thread at a time; the endpoint has trust and client certificate. ERR_CONFIG, ERR_NOMEM. */
int etcd_client_new(const struct k8s_endpoint *endpoint, struct etcd_client **out, struct err *err);
void etcd_client_free(struct etcd_client *client); /* NULL is allowed */
CLEANUP_DEFINE(struct etcd_client, etcd_client_free);
/* Makes a running call of another thread and every later one end with ERR_CANCELED. */
void etcd_client_cancel(struct etcd_client *client);

/* All members, as this one knows them: it answers without a leader, too. Errors of all calls: those of http_client_run; ERR_UPSTREAM with etcd's own text;
 * ERR_PROTOCOL for an answer that cannot be read. */
int etcd_list_members(struct etcd_client *client, struct etcd_members *out, struct err *err);

/* Takes a member out. ERR_NOT_FOUND: there is none with this id. ERR_UNAVAILABLE: the others would be too few, or have not been connected for long. ERR_TIMEOUT also
 * where there is no leader: etcd waits for one, and what was asked for may happen later. */
int etcd_remove_member(struct etcd_client *client, uint64_t id, struct err *err);

/* Gives a learner its vote. As above; ERR_UNAVAILABLE also while it is behind; ERR_CONFLICT: it has a vote. */
int etcd_promote_member(struct etcd_client *client, uint64_t id, struct err *err);

/* How the member itself is. */
struct etcd_status {
    uint64_t member_id, leader_id; /* leader_id 0: it knows none */
    uint64_t applied_index;        /* how far it has come */
    int64_t db_bytes;
    bool is_learner;
    char version[32]; /* "3.6.8" */
};
int etcd_get_status(struct etcd_client *client, struct etcd_status *out, struct err *err);

/* -- for tests and fuzzing ------------------------------------------------------------------------------------------------- */

/* Reads answers. ERR_PROTOCOL. */
int etcd_decode_members(const char *json, size_t n, struct etcd_members *out, struct err *err);
int etcd_decode_status(const char *json, size_t n, struct etcd_status *out, struct err *err);
/* The error of an answer that is not 200 to 299. */
int etcd_judge(const char *peer, const char *asked, long status, const char *json, size_t n, struct err *err);
