/* What a vCenter says about people. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vc_people.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "names.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"
#include "vim_extension.h"
#include "vim_session.h"
#include "vim_authorization.h"

/* Solution users of SSO are called after a service and the machine's uuid: "vpxd-extension-<uuid>". People are not. */
static bool is_solution_user(const char *name) {
    const size_t n = strlen(name);
    return n > UUID_TEXT_BYTES && name[n - UUID_TEXT_BYTES] == '-' && uuid_is_valid(name + n - UUID_TEXT_BYTES + 1);
}

/* Some programs' sessions do not bear the mark; their user name is the key of a registered extension then. */
static int check_program(struct link *link, struct vim_user_session *who, struct err *err) {
    struct vim_extension *found = NULL;
    const char *name = strrchr(who->user_name, '\\');
    int rc;
    name = name ? name + 1 : who->user_name;
    who->is_extension = who->is_extension || is_solution_user(name);
    /* people's names have no dots in the middle of reverse-DNS keys; asking only for such names keeps a sign-on at two calls */
    if (who->is_extension || link_get_state(link) == REMOTE_IDLE || strchr(name, '@') || !strchr(name, '.'))
        return 0;
    rc = vim_find_extension(link_client(link), name, &found, err);
    who->is_extension = !rc && found;
    vim_extension_free(found);
    return rc;
}

/* vCenter lets nobody in who has no permission anywhere: that is the person's affair, not a fault of the vCenter. */
static int check_password(struct link *link, const struct vc_credential *credential, struct vim_user_session *out,
                          struct err *err) {
    struct err why = {0};
    int rc = vim_connect(link_client(link), NULL, &why);
    if (!rc)
        rc = vim_check_password(link_client(link), credential->user, credential->secret, out, &why);
    if (rc == ERR_UPSTREAM_DENIED) {
        (void)err_set(err, ERR_FORBIDDEN, "this account has no permission at the vCenter");
        return err_remedy(err, "an administrator of the vCenter gives it a role on the vSphere clusters it shall see");
    }
    return err_move(err, rc, &why);
}

/* A plug-in's session id becomes a clone ticket at this vCenter, and that is redeemed at once. */
static int check_plugin(struct link *link, const char *session_id, struct vim_user_session *out, struct err *err) {
    _cleanup_secret_ char *ticket = NULL;
    int rc = vim_plugin_ticket(link_client(link), session_id, link_id(link), &ticket, err);
    return rc ? rc : vim_clone_session(link_client(link), ticket, out, err);
}

/* -- what a trusted program says of somebody --------------------------------------------------------------------------------- */

/* The list is what administrators see; the name must be the one in it, and vCenter itself says that the session is alive. */
static int vc_people_check_key(struct link *link, const struct vc_credential *credential, struct vim_user_session *out,
                               struct err *err) {
    struct vim_user_session found = {0};
    struct err why = {0};
    bool is_active = false;
    int rc = vim_lookup_session(link_client(link), credential->secret, &found, &why);
    if (rc == ERR_NOT_FOUND || (!rc && !name_same(found.user_name, credential->user)))
        rc = err_set(&why, ERR_CREDENTIALS, "there is no such session of this user");
    if (!rc)
        rc = vim_session_is_active(link_client(link), found.key, found.user_name, &is_active, &why);
    if (!rc && !is_active)
        rc = err_set(&why, ERR_CREDENTIALS, "the session is not active");
    if (!rc) {
        *out = found;
        return 0;
    }
    vim_user_session_done(&found);
    return err_move(err, rc, &why);
}

static int name_user(const char *user, struct vim_user_session *out, struct err *err) {
    out->key = str_dup("");
    out->user_name = str_dup(user);
    if (out->key && out->user_name)
        return 0;
    vim_user_session_done(out);
    return err_set(err, ERR_NOMEM, "out of memory");
}

/* The question serves to hear whether there is such a user; what they may do is asked for the vSphere clusters that matter. */
static int check_user(struct link *link, const struct vc_credential *credential, struct vim_user_session *out, struct err *err) {
    const char *const privileges[] = {link_env(link)->options.view_privilege};
    const struct vim_root_query query = {.subject = {.user_name = credential->user}, .privileges = privileges, .count = 1};
    struct err why = {0};
    bool granted = false;
    int rc = vim_check_root_privileges(link_client(link), &query, &granted, &why);
    if (rc == ERR_NOT_FOUND)
        return err_set(err, ERR_CREDENTIALS, "the vCenter does not know this user");
    return rc ? err_move(err, rc, &why) : name_user(credential->user, out, err);
}

int vc_people_check(struct link *link, const struct vc_credential *credential, struct vim_user_session *out, struct err *err) {
    const int64_t since_ms = clock_mono_ms();
    struct vim_client *client = link_client(link);
    struct vim_user_session who = {0};
    int rc = ERR_INTERNAL;
    switch (credential->kind) {
    case VC_CREDENTIAL_COOKIE: rc = vim_peek_session(client, credential->secret, &who, err); break;
    case VC_CREDENTIAL_PLUGIN: rc = check_plugin(link, credential->secret, &who, err); break;
    case VC_CREDENTIAL_TICKET: rc = vim_clone_session(client, credential->secret, &who, err); break;
    case VC_CREDENTIAL_PASSWORD: rc = check_password(link, credential, &who, err); break;
    case VC_CREDENTIAL_KEY: rc = vc_people_check_key(link, credential, &who, err); break;
    case VC_CREDENTIAL_USER: rc = check_user(link, credential, &who, err); break;
    }
    /* somebody else's credentials say nothing about our own session */
    if (!rc)
        link_note_answer(link, since_ms);
    else if (rc != ERR_CREDENTIALS && rc != ERR_FORBIDDEN)
        (void)link_note(link, since_ms, rc, err);
    if (!rc)
        rc = check_program(link, &who, err);
    if (rc) {
        vim_user_session_done(&who);
        return rc;
    }
    *out = who;
    return 0;
}

static int vc_people_collect(const struct object_set *objects, const bool *granted, struct object_set *out, struct err *err) {
    for (size_t i = 0; i < objects->count; i++) {
        int rc = granted[i] ? object_set_add(out, &objects->items[i], err) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

int vc_people_ask_rights(struct link *link, const struct vim_user_session *who, const struct object_set *objects,
                         struct object_set *out, struct err *err) {
    _cleanup_free_ const char **morefs = calloc(objects->count + 1, sizeof(char *));
    _cleanup_free_ bool *granted = calloc(objects->count + 1, sizeof(bool));
    struct vim_privilege_query query = {
        .privilege = link_env(link)->options.view_privilege, .clusters = morefs, .count = objects->count};
    const int64_t since_ms = clock_mono_ms();
    struct err why = {0};
    int rc;
    if (!morefs || !granted)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!objects->count)
        return 0;
    for (size_t i = 0; i < objects->count; i++)
        morefs[i] = objects->items[i].moref;
    if (who->key)
        query.subject.session_key = who->key;
    else
        query.subject.user_name = who->user_name;
    rc = vim_check_privileges(link_client(link), &query, granted, &why);
    (void)link_note(link, since_ms, rc == ERR_NOT_FOUND ? 0 : rc, &why);
    if (rc == ERR_NOT_FOUND)
        return 0; /* the vCenter does not know this user any more: nothing may be viewed */
    return rc ? err_move(err, rc, &why) : vc_people_collect(objects, granted, out, err);
}

int vc_people_ask_root(struct link *link, const struct vim_user_session *who, const struct vim_root_query *privileges, bool *out,
                       struct err *err) {
    _cleanup_free_ bool *granted = calloc(privileges->count + 1, sizeof(bool));
    struct vim_root_query query = *privileges;
    const int64_t since_ms = clock_mono_ms();
    struct err why = {0};
    int rc;
    if (!granted)
        return err_set(err, ERR_NOMEM, "out of memory");
    query.subject = (struct vim_subject){.session_key = who->key, .user_name = who->key ? NULL : who->user_name};
    rc = vim_check_root_privileges(link_client(link), &query, granted, &why);
    (void)link_note(link, since_ms, rc == ERR_NOT_FOUND ? 0 : rc, &why);
    *out = false;
    for (size_t i = 0; !rc && i < privileges->count; i++)
        *out = *out || granted[i];
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}
