/* Database and vCenter in memory for tests of sign-on. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "code_store.h"
#include "grant.h"
#include "session.h"
#include "signon.h"
#include "user_store.h"

#define VC_A "aaaaaaaa-0a53-4a8e-8a54-2f1f9f3f6f10"
#define VC_B "bbbbbbbb-0a53-4a8e-8a54-2f1f9f3f6f10"
#define OWN_REPLICA 3U
#define ACTOR (&(struct actor){.address = sw.address, .request_id = "r1"})

struct signon_world {
    /* database; the counters are guarded by its lock */
    struct session *sessions; /* in order of making */
    size_t sessions_count;
    struct user *user;      /* the one local user, or NULL */
    struct login_code code; /* the one code or cookie that was made last; sid "": none */
    unsigned keys_count;
    int fail_code;            /* != 0: store calls fail with it ... */
    int fail_after;           /* ... after this many that work */
    bool rotates_for_another; /* the next rotation finds that another caller was first */
    bool loses_key_race;      /* another replica makes the first key while we try to */
    char last_action[40], last_result[40], last_principal[200], last_reason[1100];
    struct role_mapping mappings[8]; /* texts are the test's */
    size_t mappings_count;
    unsigned audited;             /* lines of the audit log */
    unsigned noted;               /* of them, those that were left to be written together */
    int trail_code;               /* != 0: a session together with its line is refused with it */
    void (*before_session)(void); /* what happens just before a session is written; NULL: nothing */
    const char *address;          /* from where requests come */
    void (*after_session)(void);  /* and just after that */
    int some_code;                /* != 0: reading several sessions at once fails with it */
    unsigned session_reads;       /* statements that read sessions by their sids */
    void (*after_load)(void);     /* what happens just after a session was read, once; NULL: nothing */
    unsigned live_max;            /* of the last session that was opened */
    struct signon_limits limits;  /* of replicas made from now on, as the two next */
    size_t sessions_in_memory_max, group_places_max;
    /* a directory */
    int directory_code; /* != 0: what it answers */
    unsigned directory_questions;
    void (*in_directory)(void);        /* what happens while it is asked; NULL: nothing */
    struct group_set directory_groups; /* what it says otherwise */
    char directory_mark[80];           /* what it was asked about last */
    /* vCenter */
    const char *good_secret;
    const char *user_name; /* whose session it is */
    bool is_extension;
    int check_code; /* != 0: what the check gives */
    int rights_code;
    unsigned viewable; /* number of clusters the user may view */
    /* Instead of `viewable`: what this person may view; key NULL: asked by name. May change the world first. */
    unsigned (*viewable_of)(const char *vcenter_id, const char *session_key, const char *user_name);
    const char *session_key; /* of the next sign-on by cookie */
    atomic_bool is_away, is_b_away;
    atomic_uint checks, questions, at_gate;
    atomic_bool is_gate_closed;
    atomic_uint interest; /* mark of the vSphere clusters that matter, less one */
    int worker_pool_code; /* != 0: nothing can be submitted */
    bool runs_at_once;    /* what is submitted runs then and there */
    uint64_t party;       /* for whom a job was submitted last */
    atomic_bool was_asked_by_key;
};
extern struct signon_world sw;

/* Runs what was submitted to the worker pools of the vCenters, one job after the other, also what they submit meanwhile; returns the number. */
unsigned signon_world_run_pools(void);
void signon_world_end_pools(void);    /* gives up what waits there */
unsigned signon_world_in_pools(void); /* number of jobs that wait there */

/* Has the credential checked at once, beside whatever waits in the worker. What signon_check_new gives; *out is freed by signon_check_free. */
int signon_world_check(struct signon *signon, const struct signon_credential *credential, struct signon_check **out,
                       struct err *err);
/* The same, and signs in. */
int signon_world_log_in(struct signon *signon, const struct signon_credential *credential, struct signon_issued *out,
                        struct err *err);

/* An empty world with user "Anna" (password "right horse", role admin), a signed-in vCenter user and a fresh room. */
struct signon *signon_world_new(void);
/* Another replica over the same database. */
struct signon *signon_world_replica(void);
void signon_world_free(struct signon *signon);

/* Signs in by a clone ticket (asked by name) or a cookie (asked by key) as this user; the bearer is given back by signon_bearer_done. */
void signon_world_sign_in(struct signon *signon, enum vc_credential_kind kind, const char *user_name, struct signon_bearer *out);

size_t signon_world_live(void); /* sessions in the database that are not revoked */
struct session *signon_world_session(size_t i);
