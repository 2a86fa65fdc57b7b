/* A database and an HX cluster in memory for tests of src/hyperflex. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hx_connection.h"
#include "hyperflex_private.h"

#define HX_ID "11111111-0a53-4a8e-8a54-2f1f9f3f6f10"
#define VCENTER_ID "aaaaaaaa-0a53-4a8e-8a54-2f1f9f3f6f10"
#define READ_EVERY_MS (10 * 60 * INT64_C(1000))

/* One HX cluster; a wall clock that stands at `hyperflex_world_new`. */
struct hyperflex_world {
    /* database */
    struct hx_connection *connection; /* NULL: there is none */
    struct hx_status *status;
    struct hx_credential *credential; /* of its vCenter; NULL: there is none */
    struct hx_publication *publication;
    char secrets[2][64];       /* by enum hx_secret_kind; "": none is kept */
    const char *taken_lease;   /* another replica holds the one whose name begins so; NULL: none */
    unsigned puts;             /* connections that were written */
    unsigned saves, saves_max; /* times that a status was written; from the last one on it fails */
    /* vCenter */
    struct hx_addresses told;
    /* HX */
    int login_code, read_code, publish_code; /* 0: all is well */
    bool is_chain_valid;
    unsigned logins, reads, tokens_held, publishes, withdrawals, handshakes;
    int64_t next_login_at_ms; /* as it stood in the database when HX was asked for the last login */
};
extern struct hyperflex_world hw;

/* An empty world, in which the HX cluster has a connection that was never tried. `names`: hx.names. */
struct hyperflex *hyperflex_world_new(const char *const *names);
void hyperflex_world_free(struct hyperflex *h);
/* Reads the HX cluster as somebody who asks; what hyperflex_test gives. The status is in hw.status. */
int hyperflex_world_test(struct hyperflex *h);
