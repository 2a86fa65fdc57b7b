/* What registering and unregistering share: the work under way and its first steps. Layer 4 (service/platform); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "admin_lease.h"
#include "platform_audit.h"
#include "platform_links.h"
#include "registration.h"
#include "vcenter_store.h"
#include "vim_session.h"

struct registration_work {
    struct link *link;
    struct platform *platform;
    const struct platform_options *options;
    const struct register_request *joining; /* one of these two */
    const struct unregister_request *leaving;
    const struct actor *actor;
    const struct vcenter_account *account;
    struct registration_report *report;
    const char *action; /* for the audit trail: "vcenter.register" */
    struct platform_begun begun;
    bool take_over, dry_run;
    bool is_over; /* the dry run has seen what there is to see */

    struct admin_lease lease;
    struct vcenter vc;
    struct vim_client *admin; /* logged in as the account: its session must never become the link's */
    struct vim_user_session who;
    struct vim_extension *found; /* NULL: no record */
    struct registration_row row;
    struct extension_record wanted;
    bool leaves_account; /* until now we log in by an account */
    struct login_credential certificate, account_credential;
    struct login_credential *chosen; /* one of the two */
    enum vim_strategy strategy;
};

typedef int registration_step(struct registration_work *w, struct err *err);

/* Takes the lease (not for a dry run), runs the steps until one fails or says w->is_over, notes the outcome in the audit trail, cleans up. */
int registration_run(struct registration_work *w, registration_step *const *steps, size_t count, struct err *err);

/* Steps of both. What is done from registration_begin_deed on is in the audit trail before it is done. */
registration_step registration_begin_deed, registration_load, registration_sign_in, registration_find_record,
    registration_check_owner;

/* ERR_FORBIDDEN naming those of the privileges that the account lacks on the root folder, and that folder. At most 8. */
int registration_require(struct registration_work *w, const char *const *privileges, size_t count, struct err *err);

/* Writes the row of the vCenter anew with this registration time (0: not registered). */
int registration_save_row(struct registration_work *w, int64_t registered_at_ms, struct err *err);
