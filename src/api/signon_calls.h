/* What the handlers of sign-on through a vCenter share. Layer 5 (api); private to this folder. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* Sets call->link to a vCenter that is joined. ERR_NOT_FOUND, ERR_AMBIGUOUS, ERR_NOT_REGISTERED. */
int signon_calls_use_vcenter(struct api_call *call, const char *reference, struct err *err);

/* Has the vCenter check what call->secret_member, call->user_name and call->service say, and answers with a session. Returns as a handler. */
int signon_calls_log_in(struct api_call *call);
