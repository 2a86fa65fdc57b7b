/* Requests that were refused to somebody who is known, for the audit trail. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* Notes the error that this call is answered with, if it is a refusal (403) to somebody who is signed in or came by the admin socket. Memory only. */
void denial_note(const struct api_call *call, const struct err *err);
