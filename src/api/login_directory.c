/* Sign-on by name and password of a directory. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Why somebody is refused (no such account, disabled, wrong password, ...) is told to the audit trail and the log, never to who asks. */
#include "login_directory.h"

#include "identity.h"
#include "log.h"
#include "reply_grant.h"
#include "login.h"
#include "str.h"

static int directory_open_session(struct api_call *call, const struct actor *actor, const struct identity_person *person,
                                  struct signon_grant *grant, struct err *err) {
    const struct signon_person who = {.principal_id = person->principal_id,
                                      .name = person->name,
                                      .full_name = person->full_name,
                                      .directory = person->directory,
                                      .directory_mark = person->mark,
                                      .source = SOURCE_LDAP,
                                      .groups = &person->groups};
    return signon_login_person(call->api->options.signon, actor, &who, grant, err);
}

/* Which servers there are and what ails them is not for somebody who is not signed in. */
static int hide(int rc, const char *source, const struct err *why, struct err *err) {
    const bool is_loss = rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS;
    if (rc == ERR_CREDENTIALS || rc == ERR_UNPROCESSABLE || rc == ERR_BUSY || rc == ERR_CANCELED || rc == ERR_NOMEM)
        return err_move(err, rc, why);
    rc = err_set(err, is_loss ? rc : ERR_UPSTREAM, "the directory %s cannot be asked at the moment", source);
    if (err) {
        err->retry_after_s = why->retry_after_s;
        (void)err_detail(err, "%s", why->text);
    }
    (void)err_remedy(err, "try again in a moment, or tell an administrator of this service");
    return rc;
}

static int directory_log_in(struct api_call *call, const char *where, const char *account, struct signon_grant *grant,
                            struct err *err) {
    struct signon *signon = call->api->options.signon;
    const struct actor actor = api_actor(call);
    const struct identity_password given = {.source = json_get_string(call->body, "source"),
                                            .user = json_get_string(call->body, "username"),
                                            .password = json_get_string(call->body, "password")};
    const struct signon_password password = {.where = where, .user = given.user, .account = account};
    struct identity_person person = {0};
    struct err why = {0};
    int rc = signon_admit_password(signon, &actor, &password, err);
    if (rc)
        return rc;
    rc = identity_check_password(call->api->options.identity, &given, &person, &why);
    signon_note_password(signon, &actor, &password, rc, why.detail[0] ? why.detail : why.text);
    if (rc)
        log_error(LOG_LEVEL_INFO, "directory_login_refused", &why, "where", where, NULL);
    rc = rc ? hide(rc, given.source, &why, err) : directory_open_session(call, &actor, &person, grant, err);
    identity_person_done(&person);
    return rc;
}

static int directory_login_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *source = json_get_string(call->body, "source");
    _cleanup_free_ char *where = str_format("ldap:%s", source);
    _cleanup_free_ char *account =
        identity_account_name(call->api->options.identity, source, json_get_string(call->body, "username"));
    struct signon_grant grant = {0};
    int rc = where && account ? directory_log_in(call, where, account, &grant, err) : err_set(err, ERR_NOMEM, "out of memory");
    return rc ? rc : reply_grant(resp, &grant, err);
}

int login_directory(struct api_call *call, const char *source, struct err *err) {
    struct lane *lane = NULL;
    struct err why = {0};
    int rc = identity_lane(call->api->options.identity, source, &lane, &why);
    if (!rc)
        return api_go_slow(call, lane, directory_login_in_lane);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the member \"source\" is \"%.60s\"", source);
        return err_remedy(err, "use local, vcenter:NAME, or the name of a directory");
    }
    return err_move(err, rc, &why);
}
