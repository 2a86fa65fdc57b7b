/* The guard: what stands between the clients of the pilot and the network, and sends what only reads. Layer 4 (pilot); private.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It looks at the bytes that are about to be sent, not at what a caller says of them. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "http_client.h"

struct pilot_recorder;

enum pilot_service { PILOT_VCENTER, PILOT_HX };

#define PILOT_NAME_BYTES 64
#define PILOT_PATH_BYTES 256

/* One exchange that was made. */
struct pilot_call {
    char name[PILOT_NAME_BYTES]; /* operation of SOAP, or the method */
    char path[PILOT_PATH_BYTES]; /* with query, cut */
    long status;
    size_t bytes; /* of the answer */
    int rc;       /* of the exchange */
};

struct pilot_guard {
    enum pilot_service service;
    const struct http_transport *below;
    struct http_transport transport; /* for the clients; its `arg` is the guard */
    struct pilot_call *calls;        /* in their order */
    size_t count, room;
    unsigned logins;                 /* at HX */
    struct pilot_recorder *recorder; /* NULL: nothing is recorded */
    int64_t date_ms;                 /* the Date header of the last answer, wall clock; 0: it had none */
};

/* `below` carries the bytes; NULL: HTTPS. The guard must outlive the clients and stay where it is. */
void pilot_guard_init(struct pilot_guard *guard, enum pilot_service service, const struct http_transport *below);
void pilot_guard_done(struct pilot_guard *guard);

/* May this be sent? Its name in `name` (PILOT_NAME_BYTES). ERR_FORBIDDEN, naming it. */
int pilot_guard_judge(enum pilot_service service, const struct http_exchange *exchange, char *name, struct err *err);

/* The last call whose path ends with this; NULL: there was none. */
const struct pilot_call *pilot_guard_find(const struct pilot_guard *guard, const char *end);
