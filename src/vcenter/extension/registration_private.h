/* One registration or unregistration, for the files that are its steps. Layer 4 (vcenter); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "link_task.h"
#include "registration.h"
#include "state_alarm.h"
#include "vcenter_store.h"
#include "vim_authorization.h"

/* One registration or unregistration under way. */
struct registration_work {
    struct link *link;
    const struct link_env *env;
    const struct register_request *joining; /* one of these two */
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
    struct vim_place_list places;                              /* read where an account gets a role on objects */
    const struct vim_place *objects[REGISTRATION_ROLE_ON_MAX]; /* of these: where the role is granted */
    size_t objects_count;
    int role_id, object_role_id; /* of the roles that were made; 0: none */
    struct extension_record wanted;
    bool leaves_account; /* until now we log in by an account */
    struct login_credential certificate, account_credential;
    struct login_credential *chosen; /* one of the two */
    enum vim_strategy strategy;
    char *role_account; /* the one that got the role, as vCenter stores its name; NULL: not known (yet) */
};

/* Appends a sentence (printf). Without memory it is left out: it only explains. */
__attribute__((format(printf, 2, 3))) void report_texts_add(struct report_texts *texts, const char *fmt, ...);

/* ERR_FORBIDDEN, which names those that the account that signed in lacks on the root folder. */
int registration_require_privileges(struct registration_work *w, const char *const *privileges, size_t count, struct err *err);

#define ROLE_OBJECTS_SUFFIX " (objects)"
#define ROLE_NAME_BYTES 512
#define ROLE_OBJECTS_BYTES 8192
#define ROLE_ACCOUNTS_BYTES 401 /* of the column */

/* -- the role (registration_role.c): without one in the request all do nothing ---------------------------------------------------- */

/* A step: may the account make it? ERR_FORBIDDEN; ERR_CONFLICT: registering made one of another name. */
int registration_check_role(struct registration_work *w, struct err *err);

/* A step (registration_places.c): finds what an account gets the role on: what the request names, else what is used. ERR_UNPROCESSABLE: a path names no object,
 * or several; nothing is used; too much is. ERR_UNAVAILABLE: the inventory has not been read yet. Errors of vim.h. */
int registration_find_objects(struct registration_work *w, struct err *err);

/* A step: makes or updates the role and gives it to the account that is kept. ERR_EXISTS: a role of this name that is not ours; ERR_CONFLICT: registrations that did
 * not end have left too much to remember; errors of vim.h and store.h. */
int registration_make_role(struct registration_work *w, struct err *err);

/* A step, once the new login stands: takes back what an earlier registration granted and this one does not, as far as it is still ours. Errors of vim.h
 * and store.h: registering again goes on with it. */
int registration_clear_role(struct registration_work *w, struct err *err);

/* Tells in a dry run what that would do. ERR_EXISTS. */
int registration_describe_role(struct registration_work *w, struct err *err);

/* Tells in a dry run of leaving what that would take back. */
void registration_describe_role_removal(struct registration_work *w);

/* Takes it back, as far as it is still ours; the report tells what stays. */
void registration_remove_role(struct registration_work *w);
