/* The role for an account that kaasd logs in by: making it, giving it, taking it away. Layer 4 (service/platform); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "registration_work.h"

/* Checks that the account may do what making the role takes. Nothing without a role. ERR_FORBIDDEN. */
registration_step registration_check_role;

/* Makes the role, or gives it the privileges of extension/role.def, and grants it to the login account if there is one; remembered at once, so that
 * unregister removes what a failed registration left. Nothing without a role. */
registration_step registration_make_role;

/* Takes the permission back that we gave, then removes the role we made, unless others have it; what stays is told in the report. Nothing
 * that was not made by us is touched. A failure stops nothing: a role is no way in. */
void registration_remove_role(struct registration_work *w);

/* Sentences for a dry run. ERR_EXISTS as the step would give it. */
registration_step registration_describe_role;
