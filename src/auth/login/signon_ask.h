/* What sign-on asks vCenters. Layer 5 (auth); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "worker_pool.h"
#include "vc_people.h"

struct object_set;
struct signon;

/* Checks a credential; *out is given back by vim_user_session_done. Blocks: in the worker pool of the vCenter. ERR_CREDENTIALS, ERR_NOT_FOUND, errors of vim.h. */
int signon_ask_credential(struct signon *signon, const char *vcenter_id, const struct vc_credential *credential,
                          struct vim_user_session *out, struct err *err);

/* Which of the vSphere clusters that matter may this person view? By session key if `session_key` is given, else by user name. The answer is added to
 * `out`, an empty set; whoever has a mapped privilege on the root folder gets POLICY_VCENTER_ADMIN_MOREF, too. Blocks: in the worker pool of the vCenter.
 * ERR_UNAVAILABLE while the cluster list is not loaded, ERR_NOT_FOUND, errors of vim.h. */
int signon_ask_rights(struct signon *signon, const char *vcenter_id, const char *session_key, const char *user_name,
                      struct object_set *out, struct err *err);

/* True if the vCenter could not be reached at the last attempt. Does not block. */
bool signon_is_unreachable(struct signon *signon, const char *vcenter_id);

/* A number, never 0, that is another one once other vSphere clusters of this vCenter matter. Without memory it changes, and people are asked about once
 * more. Does not block. */
uint64_t signon_mark_of_interest(struct signon *signon, const char *vcenter_id);

/* Has fn(arg, is_canceled) run once in the worker pool of the vCenter, as worker_pool_submit_for. Does not block. ERR_BUSY, ERR_NOT_FOUND. */
int signon_submit(struct signon *signon, const char *vcenter_id, uint64_t party, worker_fn *fn, void *arg, struct err *err);
