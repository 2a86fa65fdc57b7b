/* Database and vCenter in memory for tests of src/vcenter. SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions of store/ and vim/ that the room uses, over one table of vCenters and one vCenter. Calls are noted in order. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "platform_links.h"
#include "platform_store.h"
#include "vcenter.h"
#include "vim_extension.h"

#define VC_A "aaaaaaaa-0a53-4a8e-8a54-2f1f9f3f6f10"
#define VC_B "bbbbbbbb-0a53-4a8e-8a54-2f1f9f3f6f10"
#define OURS "cccccccc-0a53-4a8e-8a54-2f1f9f3f6f10"
#define ADMIN_PASSWORD "once-and-never-stored"
#define FEW 8

struct credential_row {
    unsigned generation;
    char state; /* p, a, r */
    enum credential_kind kind;
    char user_name[256];
    size_t sealed_bytes;
    char sealed[8192];
    char cert_pem[4096];
};

struct platform_world {
    /* database */
    struct vcenter vcenters[FEW];
    size_t vcenters_count;
    struct credential_row credentials[FEW];
    size_t credentials_count;
    struct vsphere_cluster vsphere[FEW];
    struct hx_cluster hx[FEW];
    size_t vsphere_count, hx_count;
    unsigned written; /* calls of on_written */
    /* vCenter */
    const char *lacking; /* privilege the account lacks, or NULL */
    bool has_record;
    const char *record_owner; /* NULL: none */
    const char *cert_pem;     /* certificate stored with the record; owned */
    unsigned strategies;      /* bits of enum vim_strategy that work */
    const char *instance_uuid;
    const char *clusters[FEW][3]; /* moref, name, datacenter */
    const char *keys[FEW];
    char *listed_agent;      /* user agent of the one session that the list shows; owned; NULL: none */
    void (*on_list)(void);   /* called before the list is handed over, or NULL */
    const char *settled_key; /* of the session that a login under way brings, or NULL */
    /* faults */
    const char *failing; /* name of the call that fails, or NULL */
    int fail_code;
    bool fails_once; /* and works then */
    int unreachable; /* != 0: every vim call gives it */
    atomic_uint connects;
    char log[2048]; /* names of the calls that change or prove something, blank after each */
};
extern struct platform_world pw;

/* An empty world with vCenter A in the database, not registered. */
struct platform *platform_world_new(void);
void platform_world_free(struct platform *platform);
void platform_world_add(const char *id, const char *address, bool is_registered);
void platform_world_forget_log(void);

/* For the other files of this world: a call to the vCenter begins (fails if the test wants it to; else the lock is held) and ends. */
int platform_world_begin(const char *call, bool is_noted, struct err *err);
int platform_world_end(int rc);
bool platform_world_has_session(const struct vim_client *client);
struct platform *platform_world_platform(void);

/* The world's lock, for a test that looks at `pw` or changes it while threads run. */
void platform_world_lock(void);
void platform_world_unlock(void);
size_t platform_world_vsphere_count(void); /* pw.vsphere_count under the lock */
