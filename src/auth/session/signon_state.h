/* What sign-on keeps in memory. Layer 5 (auth); private to sign-on: for the folders session and login.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "live_session.h"
#include "signon_ask.h"
#include "signon_options.h"

#define SIGNON_REFUSALS_COUNT 1024U
#define SIGNON_PLUGIN_PEOPLE_COUNT 1024U
#define SIGNON_STRIPES 16U /* locks for sessions, chosen by the end of the sid */

struct singleflight;
struct grace_note;
struct throttle;
struct token_set;

/* A negative answer that is kept for a moment, so that a wrong secret does not become a stream of calls to the vCenter. */
struct refusal {
    uint8_t digest[32]; /* HMAC of vCenter and secret */
    int64_t until_ms;
};

/* The person that a vCenter named for the session of a plug-in. */
struct plugin_entry {
    uint8_t digest[32];             /* HMAC of vCenter and session */
    struct rights_subject *subject; /* one reference; NULL: the place is free */
    int64_t until_ms;               /* monotonic */
};

struct signon {
    struct signon_options options; /* issuer copied */
    struct token_set *tokens;
    struct session_table *table;
    struct throttle *throttle;
    struct throttle
        *known; /* marks of names and parties that have signed in; a table of its own, so that no flood of failures evicts them */
    struct throttle *bad_tokens;     /* failed checks of presented tokens */
    struct throttle *pace;           /* rate of good sign-ons; a table of its own for the same reason */
    atomic_uint sessions_max, per_s; /* struct signon_limits */
    struct role_mappings *mappings;
    struct signon_asker asker;
    struct rights_cache *cache;                   /* uses asker */
    struct live_shared shared;                    /* for sessions: `cache`, and the pool of groups */
    struct singleflight *checks;                  /* identical credentials in singleflight */
    uint8_t secret[32];                           /* keys the digests of credentials; made anew at each start */
    pthread_mutex_t reload_locks[SIGNON_STRIPES]; /* held from reading a row until memory follows it */
    atomic_uint told[SIGNON_STRIPES];             /* counts changes told of sessions (sessions.c) */

    pthread_mutex_t keys_lock;        /* held from reading the keys until memory follows them */
    atomic_int_least64_t keys_due_ms; /* when signon_keys_tick has something to do; wall clock */

    pthread_mutex_t lock; /* guards what is below */
    struct refusal refusals[SIGNON_REFUSALS_COUNT];
    struct plugin_entry plugin_people[SIGNON_PLUGIN_PEOPLE_COUNT]; /* by digest */
    struct grace_note *notes, *last_note;
    unsigned notes_count;
};
