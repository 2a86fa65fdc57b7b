/* Sign-on by name and password of a directory. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* Goes on in the lane of the directory `source` and answers with a session; call->body holds username and password. Returns as a handler; ERR_UNPROCESSABLE if
 * there is no such directory. */
int login_directory(struct api_call *call, const char *source, struct err *err);
