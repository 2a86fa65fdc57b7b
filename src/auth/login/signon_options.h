/* What sign-on is made of, and what it needs from vCenters and directories. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What belongs to vCenter is handed in as functions (struct signon_vcenter_ops), since the rooms of this layer do not include each other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "worker_pool.h"

struct group_set;
struct object_set;
struct principal;
struct seal;
struct signon_identity;
struct signon_credential;
struct store;

/* What sign-on needs from vCenters; provided by main/wire.c. They block unless they say otherwise. */
struct signon_vcenter_ops {
    void *arg;
    /* Checks a credential at the vCenter. ERR_CREDENTIALS and the errors of vim.h. */
    int (*check)(void *arg, const struct signon_credential *credential, struct signon_identity *out, struct err *err);
    /* Which of the vSphere clusters that matter may this person view? By session key if `session_key` is given, else by user name. */
    int (*ask_rights)(void *arg, const char *vcenter_id, const char *session_key, const char *user_name, struct object_set *out,
                      struct err *err);
    /* True if the vCenter could not be reached at the last attempt. Does not block. */
    bool (*is_unreachable)(void *arg, const char *vcenter_id);
    /* A number that is another one once other vSphere clusters of this vCenter matter. Does not block. */
    uint64_t (*mark_of_interest)(void *arg, const char *vcenter_id);
    /* Has fn(fn_arg, false) run once in the worker pool of the vCenter, as worker_pool_submit_for. Does not block. ERR_BUSY, ERR_NOT_FOUND. */
    int (*submit)(void *arg, const char *vcenter_id, uint64_t party, worker_fn *fn, void *fn_arg, struct err *err);
};

/* Somebody who is signed in, as known so far. Borrowed. */
struct signon_directory_question {
    const struct principal *who;
    const char *mark;               /* what the account was like at the sign-on; NULL: not known */
    const struct group_set *groups; /* sealed */
};

/* How a directory is asked again about somebody who is signed in; provided by main. */
struct signon_directory_ops {
    void *arg;
    /* Asks who->directory about the person. 0: the account is as good as before, and *groups_out (uninitialised; sealed) are the groups of now.
     * ERR_SESSION_ENDED when it is disabled, gone, or its password was changed; any other code: not known. Blocks. */
    int (*check)(void *arg, const struct signon_directory_question *question, struct group_set *groups_out, struct err *err);
};

/* What one principal may do; sessions through a program that acts for a person are counted apart, for each program. */
struct signon_limits {
    unsigned sessions_max; /* live sessions; one more ends the one used longest ago; 0: any number */
    unsigned
        per_s; /* good sign-ons a second at this replica, after a pause half a minute's worth at once; up to 1000; 0: any number */
};

struct signon_options {
    struct store *store;
    struct seal *seal;
    struct signon_vcenter_ops vcenter;
    struct signon_directory_ops directory; /* .check NULL: nobody is asked again */
    int64_t directory_check_ms;            /* how old what a directory said about somebody signed in may get */
    const char *issuer;                    /* `iss` of tokens; copied */
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
