/* The rest of the database and vCenter in memory that registering and repairing use. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "vcenter_store.h"

struct platform_world_reg {
    const char *lease_holder;  /* another replica that holds the lease; NULL: free */
    unsigned lease_lost_tries; /* so many more tries find it held */
    bool lease_fails;
    unsigned leases_taken, leases_given_back;
    struct registration_row row;
    /* our record there */
    unsigned written_no;                      /* number in its version */
    const char *company, *url, *subject_name; /* what somebody changed; NULL: nothing */
    const char *managed_by_others;            /* a member that is not ours */
    bool is_stubborn;                         /* changes stay, whatever is written */
    /* roles there */
    char role[64], role_holder[64];
    size_t role_privileges;
    bool is_role_used; /* by others */
    unsigned audits, deeds_begun;
    char audit[256]; /* the last line: action, result, reason */
};
extern struct platform_world_reg pr;

void platform_world_reg_reset(void);
