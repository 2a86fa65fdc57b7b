/* What sign-on needs: modules, lifetimes, limits. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inventory;
struct ldapdirs;
struct platform;

/* Limits of one principal; sessions in which a program acts for a person are counted separately, for each program. */
struct signon_limits {
    unsigned sessions_max; /* live sessions; one more ends the one used longest ago; 0: any number */
    unsigned
        per_s; /* good sign-ons a second at this replica, up to 1000; after a pause 30 seconds' worth at once; 0: any number */
};

struct signon_options {
    const struct runtime *runtime;
    struct platform *platform;   /* vCenters, which check credentials and know rights */
    struct inventory *inventory; /* tells which vSphere clusters have Kubernetes or HX clusters */
    struct ldapdirs *ldapdirs;   /* LDAP directories, which are asked again about people who are signed in */
    int64_t directory_check_ms;  /* a directory is asked again about a signed-in person when its last answer is older */
    const char *issuer;          /* `iss` of tokens; copied */
    int64_t token_lifetime_ms;
    int64_t session_lifetime_ms;        /* absolute end */
    int64_t ticket_session_lifetime_ms; /* absolute end after a clone ticket */
    int64_t signing_key_lifetime_ms;    /* a key is replaced when it has signed for so long; 0: only on request */
    int64_t signing_key_publish_ms;     /* how long a key is published before it signs */
    int64_t rights_fresh_ms;            /* rights of active people are asked for again before they get older */
    bool maps_privileges;               /* role mappings by privileges of vCenters count */
    unsigned rights_rechecks_per_s;     /* questions to one vCenter; one second's worth may go out at once after a pause */
    struct signon_limits limits;
    size_t sessions_in_memory_max; /* 0: 200,000 (about 100 MB); further ones are read from the database when their tokens come */
    size_t group_places_max;       /* of memberships in groups, of all sessions; 0: 16 million (128 MB) */
};
