/* The guard: a transport between the clients of the pilot and the network that sends only requests that change nothing. Layer 4 (pilot); private.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It judges the bytes that are about to be sent, not what a caller says of them. One thread. */
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
    struct pilot_call *calls;        /* all that were made, in order */
    size_t count, room;
    unsigned logins;                 /* number of logins at HX */
    struct pilot_recorder *recorder; /* NULL: nothing is recorded */
    int64_t date_ms;                 /* the Date header of the last answer, wall clock; 0: it had none */
};

/* `below` carries the bytes; NULL: HTTPS. The guard must outlive the clients and stay where it is. */
void pilot_guard_init(struct pilot_guard *guard, enum pilot_service service, const struct http_transport *below);
void pilot_guard_done(struct pilot_guard *guard);

/* 0 if the exchange may be sent, else ERR_FORBIDDEN naming it. `name` (PILOT_NAME_BYTES) gets its operation or method. */
int pilot_guard_judge(enum pilot_service service, const struct http_exchange *exchange, char *name, struct err *err);

/* The last call whose path ends with `end`; NULL: there was none. */
const struct pilot_call *pilot_guard_find(const struct pilot_guard *guard, const char *end);
