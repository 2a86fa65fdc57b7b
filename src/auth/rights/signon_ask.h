/* What sign-on asks vCenters. Layer 5 (auth); private to sign-on: for the folders rights, session and login.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "worker_pool.h"
#include "vc_people.h"

struct inventory;
struct object_set;
struct platform;
struct role_mappings;

/* What it takes to ask. Borrowed. */
struct signon_asker {
    struct platform *platform;      /* vCenters */
    struct inventory *inventory;    /* tells which vSphere clusters have Kubernetes or HX clusters */
    struct role_mappings *mappings; /* whose privileges are asked about */
};

/* Checks a credential; *out is given back by vim_user_session_done. Blocks: in the worker pool of the vCenter. ERR_CREDENTIALS, ERR_NOT_FOUND, errors of
 * vim.h. */
int signon_ask_credential(const struct signon_asker *asker, const char *vcenter_id, const struct vc_credential *credential,
                          struct vim_user_session *out, struct err *err);

/* Asks which vSphere clusters with Kubernetes or HX clusters this person may view: by session key if `session_key` is given, else by user name. The answer is
 * added to `out`, an empty set, with POLICY_VCENTER_ADMIN_MOREF if the person has a mapped privilege on the root folder. Blocks: in the worker pool of the
 * vCenter. ERR_UNAVAILABLE while the cluster list is not loaded, ERR_NOT_FOUND, errors of vim.h. */
int signon_ask_rights(const struct signon_asker *asker, const char *vcenter_id, const char *session_key, const char *user_name,
                      struct object_set *out, struct err *err);

/* True if the vCenter could not be reached at the last attempt. Does not block. */
bool signon_is_unreachable(const struct signon_asker *asker, const char *vcenter_id);

/* A hash, never 0, over the vSphere clusters that signon_ask_rights asks about: when it changes, people have to be asked about again. Without memory it
 * changes, which costs one question more. Does not block. */
uint64_t signon_mark_of_interest(const struct signon_asker *asker, const char *vcenter_id);

/* Submits fn to the worker pool of the vCenter, which calls fn(arg, is_canceled) once, as worker_pool_submit_for. Does not block. ERR_BUSY, ERR_NOT_FOUND. */
int signon_submit(const struct signon_asker *asker, const char *vcenter_id, uint64_t party, worker_fn *fn, void *arg,
                  struct err *err);
