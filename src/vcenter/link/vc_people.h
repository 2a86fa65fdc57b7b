/* What a vCenter says about people: who somebody is, and what they may view. Layer 4 (vcenter). All block: in the link's worker pool.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "link.h"
#include "object_ref.h"
#include "vim_authorization.h"
#include "vim_session.h"

enum vc_credential_kind {
    VC_CREDENTIAL_COOKIE,
    VC_CREDENTIAL_TICKET,
    VC_CREDENTIAL_PASSWORD,
    VC_CREDENTIAL_PLUGIN, /* the session id that the vSphere Client gives to a plug-in; the vCenter makes a clone ticket of it */
    VC_CREDENTIAL_KEY,    /* a session key: proves only that there is such a session, and that it is this user's */
    VC_CREDENTIAL_USER,   /* a user name: proves only that there is such a user, who is a person */
};

/* A credential to check. Borrowed. */
struct vc_credential {
    enum vc_credential_kind kind;
    const char *user;   /* with a password; with a key or a name: in stored form, "DOMAIN\\name" */
    const char *secret; /* cookie, ticket, password, the session id that the vSphere Client gave to a plug-in, or a key */
};

/* Checks a credential and fills *out with its user; vim_user_session_done frees it. out->is_extension: the session belongs to an extension or another
 * program. ERR_CREDENTIALS, ERR_UNPROCESSABLE (a session key where a cookie is needed), errors of vim.h. */
int vc_people_check(struct link *link, const struct vc_credential *credential, struct vim_user_session *out, struct err *err);

/* Asks which of `objects` (vSphere clusters of this vCenter) the person may view: by session key if given, else by user name. The answer
 * is added to `out`, an empty set. Needs our own session. Errors of vim.h. */
int vc_people_ask_rights(struct link *link, const struct vim_user_session *who, const struct object_set *objects,
                         struct object_set *out, struct err *err);

/* Asks whether the person has one of these privileges on the root folder, as vc_people_ask_rights does; *out gets the answer. Errors of vim.h. */
int vc_people_ask_root(struct link *link, const struct vim_user_session *who, const struct vim_root_query *privileges, bool *out,
                       struct err *err);
