/* The vCenters we are joined to, one link each. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The database says which vCenters there are; platform_sync makes links of them. A link owns the vCenter client and the worker pool in which
 * everything that may wait for that vCenter runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "link.h"
#include "link_env.h"

struct platform;

/* Makes the set, without links. ERR_NOMEM. */
int platform_new(const struct platform_options *options, struct platform **out, struct err *err);

/* Ends the worker pools and watches of all links and logs out of every vCenter, all at the same time; the clients of platform_open_client have a moment
 * to end by themselves. Blocks, about six seconds at most when vCenters hang. Later calls of platform_sync make no links. NULL is allowed. */
void platform_stop(struct platform *platform);

/* True from the beginning of platform_stop. */
bool platform_is_stopping(struct platform *platform);

/* Makes a client for a task beside the links, whose calls platform_stop ends, however long they might take. ERR_CANCELED once the service stops; else as
 * vim_client_new. */
int platform_open_client(struct platform *platform, const struct vim_options *options, struct vim_client **out, struct err *err);
/* Logs out and frees it. True if a session may be left behind (vim_take_orphan_hint). NULL is allowed. */
bool platform_close_client(struct platform *platform, struct vim_client *client);

/* Stops and frees. No call may run and no link reference be held. NULL is allowed. */
void platform_free(struct platform *platform);

/* The installation's UUID, once known: the owner mark of extension records. Copied. */
void platform_set_installation(struct platform *platform, const char *uuid);

/* Version of the vSphere Client plug-in at public_url/plugin/plugin.json, "0.1.0.48213"; "": there is none, and the extension records name
 * no manifest. Copied; before the first platform_sync. */
void platform_set_plugin_version(struct platform *platform, const char *version);

/* The environment that its links share; lives as long as the platform. */
const struct link_env *platform_env(const struct platform *platform);

/* The options given to platform_new; valid as long as the platform. The server certificate may change meanwhile: ask by link_env_get_server_cert. */
const struct platform_options *platform_options_of(const struct platform *platform);

/* Notes that the certificate that public_url shows was replaced: the extension records are to name the new one (asks for LINK_WORK_RECONCILE if it differs).
 * Copied; NULL: unknown. ERR_NOMEM. */
int platform_set_server_cert(struct platform *platform, const char *cert_pem, struct err *err);

/* Plugs in a kind of work that links do (remote_work.h); copied. Before the first platform_sync; a second call for a bit replaces the first. */
void platform_set_work(struct platform *platform, const struct remote_work *kind);

/* Makes, changes and retires links so that they fit the vCenters in the database. Blocks. To be called at start and after every
 * CHANGE_VCENTER. Errors of the store. */
int platform_sync(struct platform *platform, struct err *err);

/* Queues what is due in each link's worker pool (first contact, retries with back-off, keep-alive) and clears away retired links. Call
 * about once a second from a thread that is not a worker pool of ours; it may wait for a retired worker pool's last job. */
void platform_tick(struct platform *platform);

/* The link of a vCenter with one reference for the caller. ERR_NOT_FOUND. Does not block. */
int platform_find(struct platform *platform, const char *vcenter_id, struct link **out, struct err *err);

/* Is this vCenter away (link_is_away)? False for one that is not there. Does not block. */
bool platform_is_away(struct platform *platform, const char *vcenter_id);

/* References to all links, an array of *count that the caller frees after link_unref on each. NULL without memory. */
struct link **platform_list(struct platform *platform, size_t *count);

/* Calls `fn` for each link that is there now, holding a reference meanwhile. */
void platform_each(struct platform *platform, void (*fn)(struct link *link, void *arg), void *arg);

/* Notes that this vCenter has changed, perhaps its login credential (CHANGE_VCENTER): asks its link for LINK_WORK_LOGIN. Does not block. */
void platform_note_login_changed(struct platform *platform, const char *vcenter_id);
