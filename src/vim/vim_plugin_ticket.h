/* Clone tickets for plug-ins of the vSphere Client. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"

struct vim_client;

/* Exchanges the session id that the vSphere Client gave to a plug-in (`vmware-api-session-id`) for a clone ticket of the person's session
 * at this vCenter, whose instance UUID is `vc_guid`. *out is freed by secret_free. ERR_CREDENTIALS: the vCenter does not know the id;
 * ERR_UNPROCESSABLE: it has a form that none of them has, nothing is sent; general errors: vim.h. */
int vim_plugin_ticket(struct vim_client *client, const char *session_id, const char *vc_guid, char **out, struct err *err);
