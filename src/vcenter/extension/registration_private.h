/* State and steps shared by the files that register and unregister. Layer 4 (vcenter); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "link_task.h"
#include "registration.h"
#include "state_alarm.h"
#include "vcenter_store.h"
#include "vim_authorization.h"
#include "vim_object.h"

/* One registration or unregistration under way. */
struct registration_work {
    struct link *link;
    const struct link_env *env;
    const struct register_request *joining; /* one of these two is set */
    const struct unregister_request *leaving;
    const struct actor *actor;
    const struct vcenter_account *account;
    struct registration_report *report;
    const char *action; /* for the audit log: "vcenter.register" */
    struct platform_begun begun;
    bool take_over, dry_run;
    bool is_over; /* the dry run has seen what there is to see */

    struct admin_lease lease;
    struct vcenter vc;
    struct vim_client *admin; /* logged in as the account: its session must never become the link's */
    struct vim_user_session who;
    struct vim_extension *found; /* NULL: no record */
    struct registration_row row;
    struct state_alarm alarm;
    struct vim_place_list places; /* inventory of the vCenter; read when an account gets a role on objects */
    const struct vim_place *objects[REGISTRATION_ROLE_ON_MAX]; /* those of `places` on which the role is granted */
    size_t objects_count;
    int role_id, object_role_id; /* roles that were made; 0: none */
    struct extension_record wanted;
    bool leaves_account; /* until now we log in by an account */
    struct login_credential certificate, account_credential;
    struct login_credential *chosen; /* one of the two */
    enum vim_strategy strategy;
    char *role_account; /* name of the account that got the role, as vCenter stores it; NULL: not known (yet) */
};

/* Appends a sentence (printf). Without memory it is left out: it only explains. */
__attribute__((format(printf, 2, 3))) void report_texts_add(struct report_texts *texts, const char *fmt, ...);

/* Checks that the account that signed in has these privileges on the root folder. ERR_FORBIDDEN names those that it lacks. */
int registration_require_privileges(struct registration_work *w, const char *const *privileges, size_t count, struct err *err);

#define ROLE_OBJECTS_SUFFIX " (objects)"
#define ROLE_NAME_BYTES 512
#define ROLE_OBJECTS_BYTES 8192
#define ROLE_ACCOUNTS_BYTES 401 /* size of the database column */

/* -- the role (registration_role.c): these do nothing if the request names no role ------------------------------------------------ */

/* A step: checks that the account may make the role. ERR_FORBIDDEN; ERR_CONFLICT: an earlier registration made a role of another name. */
int registration_check_role(struct registration_work *w, struct err *err);

/* A step (registration_places.c): finds the objects on which an account gets the role: those the request names, else those in use. ERR_UNPROCESSABLE: a path
 * names no object, or several; no object is in use; there are too many. ERR_UNAVAILABLE: the inventory has not been read yet. Errors of vim.h. */
int registration_find_objects(struct registration_work *w, struct err *err);

/* A step: makes or updates the role and grants it to the account that is stored. ERR_EXISTS: a role of this name that is not ours; ERR_CONFLICT: unfinished
 * registrations left more accounts or objects than the database row holds; errors of vim.h and store.h. */
int registration_make_role(struct registration_work *w, struct err *err);

/* A step, after the new login works: removes the permissions that an earlier registration granted and this one does not, where the account still has our
 * role. Errors of vim.h and store.h: registering again removes the rest. */
int registration_clear_role(struct registration_work *w, struct err *err);

/* In a dry run, reports what making, granting and clearing the role would do. ERR_EXISTS as registration_make_role; errors of vim.h. */
int registration_describe_role(struct registration_work *w, struct err *err);

/* In a dry run of unregistering, reports what registration_remove_role would remove. */
void registration_describe_role_removal(struct registration_work *w);

/* Removes the role and its permissions, as far as they are still ours; report->left tells what stays. */
void registration_remove_role(struct registration_work *w);
