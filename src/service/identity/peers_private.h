/* What the files about peers share. Layer 4 (service/identity); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "http_client.h"
#include "kerberos.h"
#include "lane.h"
#include "peers.h"

#define PEERS_AT_ONCE 4U      /* sign-ins under way, of the lane and of those who ask */
#define PEERS_WAITING_MAX 64U /* in the lane, those under way counted */

struct peers {
    struct peers_options options;
    char *keytab;
    struct lane *lane;
    atomic_uint asking;                         /* peers_test */
    pthread_mutex_t lock;                       /* guards what follows */
    struct hx_peer_list list;                   /* as of the last tick */
    char *under_way[PEERS_WAITING_MAX];         /* ids of HX clusters in the lane */
    struct http_client *clients[PEERS_AT_ONCE]; /* exchanges that peers_stop ends */
    bool is_stopped;
};

/* peer_sign_in.c: signs in and says what came of it, in *out. Blocks. */
void peer_sign_in(struct peers *peers, const struct hx_peer *peer, struct hx_peer_result *out);
