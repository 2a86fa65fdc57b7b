/* The HTTP interface of docs/openapi.yaml: what it needs and how it is plugged into the server. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_options.h"
#include "err.h"
#include "httpd.h"

struct api;

/* Makes the interface; loads the web page. ERR_CONFIG (page folder), ERR_NOMEM. */
int api_new(const struct api_options *options, struct api **out, struct err *err);
void api_free(struct api *api); /* NULL is allowed; no server may use it */

/* Ends all requests that wait for a list to change, and refuses further ones. Call it before the servers stop. NULL is allowed. */
void api_stop_waiting(struct api *api);

/* Note that rights or data may have changed, for everybody; and that a session's rights have changed or it has ended. Requests that wait for lists look
 * again. Cheap; callable from any thread. */
void api_note_change(struct api *api);
void api_note_session_change(struct api *api, const char *sid);

/* Version of the vSphere Client plug-in that this interface serves, "0.1.0.48213"; "" without a page. Valid while the interface lives. */
const char *api_plugin_version(const struct api *api);

/* Fills in routes, hooks and app of the server's options. */
void api_plug_in(struct api *api, enum api_door door, struct httpd_options *httpd);
