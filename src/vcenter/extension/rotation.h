/* Replaces the login credential while the link works on: a new login certificate, a new password. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Order: new key stored as pending (committed) -> vCenter is told by our own session -> login with it -> active, the old one retired. A kill in between
 * leaves pending beside active: a login tries both, and LINK_WORK_RENEW finishes what was begun. It always goes forward: vCenter may have been told, so a
 * pending key is never thrown away while it might be the one that vCenter knows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "link.h"
#include "principal.h"

/* Makes a new login certificate and moves to it; in the link's worker pool, blocks. ERR_NOT_REGISTERED, ERR_CONFLICT (we log in by an account; or a
 * registration runs), ERR_UPSTREAM_DENIED (our session lacks Extension.Update), errors of vim.h and store.h: if one left the outcome open, LINK_WORK_RENEW
 * finishes the rotation. */
int rotation_rotate(struct link *link, const struct actor *actor, struct err *err);

/* Takes over the new password of the account that we log in by: tried once, then stored. ERR_NOT_REGISTERED, ERR_CREDENTIALS (refused: nothing
 * is stored), ERR_CONFLICT (we log in by certificate; or a registration runs), errors of vim.h and store.h. */
int rotation_set_password(struct link *link, const char *password, const struct actor *actor, struct err *err);

/* remote_work_fn of LINK_WORK_RENEW: notes until when certificates are valid, finishes what was left half done, and rotates the login
 * certificate at two thirds of its life. ERR_BUSY while somebody else changes the registration. */
int rotation_renew(struct link *link, struct err *err);

/* Whether a certificate is to be replaced: from two thirds of its life on, less up to a twentieth that depends on `salt`, so that not
 * all come due at once. Pure. */
bool rotation_is_due(int64_t not_before_ms, int64_t not_after_ms, const char *salt, int64_t now_ms);
