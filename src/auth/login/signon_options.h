/* What sign-on is made of. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inventory;
struct ldapdirs;
struct platform;
struct seal;
struct store;

/* What one principal may do; sessions through a program that acts for a person are counted apart, for each program. */
struct signon_limits {
    unsigned sessions_max; /* live sessions; one more ends the one used longest ago; 0: any number */
    unsigned
        per_s; /* good sign-ons a second at this replica, after a pause half a minute's worth at once; up to 1000; 0: any number */
};

struct signon_options {
    struct store *store;
    struct seal *seal;
    struct platform *platform;   /* vCenters, which check credentials and know rights */
    struct inventory *inventory; /* which vSphere clusters matter */
    struct ldapdirs *ldapdirs;   /* LDAP directories, which are asked again about people who are signed in */
    int64_t directory_check_ms;  /* how old what one of them said about somebody signed in may get */
    const char *issuer;          /* `iss` of tokens; copied */
    int64_t token_lifetime_ms;
    int64_t session_lifetime_ms;        /* absolute end */
    int64_t ticket_session_lifetime_ms; /* absolute end after a clone ticket */
    int64_t signing_key_lifetime_ms;    /* a key is replaced when it has signed for so long; 0: never by itself */
    int64_t signing_key_publish_ms;     /* how long a key is published before it signs */
    int64_t rights_fresh_ms;            /* people who are active are asked about again before their rights get older */
    bool maps_privileges;               /* role mappings by privileges of vCenters count */
    unsigned rights_rechecks_per_s;     /* bound per vCenter; one second's worth may go out at once after a pause */
    struct signon_limits limits;
    size_t sessions_in_memory_max; /* 0: 200,000 (about 100 MB); the others are read when their tokens come */
    size_t group_places_max;       /* groups of all of them; 0: 16 million (128 MB) */
};
