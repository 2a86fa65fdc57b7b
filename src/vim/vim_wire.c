/* SOAP calls of SessionManager that both our own and other people's sessions need. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_wire.h"

#include <string.h>

#include "secret.h"
#include "str.h"

void vim_user_session_done(struct vim_user_session *s) {
    if (!s)
        return;
    free(s->key);
    free(s->user_name);
    free(s->full_name);
    free(s->ip_address);
    free(s->user_agent);
    free(s->login_time);
    free(s->last_active_time);
    memset(s, 0, sizeof(*s));
}

/* False without memory, or when the copy of a text that is there is not. */
static bool copy_text(const char *from, char **to) {
    *to = str_dup(from);
    return *to || !from;
}

int vim_user_session_copy(const struct vim_user_session *from, struct vim_user_session *out, struct err *err) {
    struct vim_user_session to = {.is_extension = from->is_extension};
    if (!copy_text(from->key, &to.key) || !copy_text(from->user_name, &to.user_name) ||
        !copy_text(from->full_name, &to.full_name) || !copy_text(from->ip_address, &to.ip_address) ||
        !copy_text(from->user_agent, &to.user_agent) || !copy_text(from->login_time, &to.login_time) ||
        !copy_text(from->last_active_time, &to.last_active_time)) {
        vim_user_session_done(&to);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = to;
    return 0;
}

int vim_wire_user_session(const struct vim25__UserSession *from, struct vim_user_session *out, struct err *err) {
    struct vim_user_session view;
    if (!from || str_empty(from->key) || str_empty(from->userName))
        return err_set(err, ERR_PROTOCOL, "vCenter sent a session without key or user name");
    view = (struct vim_user_session){
        .key = from->key,
        .user_name = from->userName,
        .full_name = from->fullName,
        .ip_address = from->ipAddress,
        .user_agent = from->userAgent,
        .login_time = from->loginTime,
        .last_active_time = from->lastActiveTime,
        .is_extension = from->extensionSession && *from->extensionSession == xsd__boolean__true_,
    };
    return vim_user_session_copy(&view, out, err);
}

void vim_wire_login_done(struct vim_wire_login *login) {
    secret_free(login->cookie);
    login->cookie = NULL;
    vim_user_session_done(&login->session);
}

/* Keeps the session and the cookie that came with it. */
static int keep_login(struct vim_context *ctx, const struct vim25__UserSession *session, struct vim_wire_login *login,
                      struct err *err) {
    const char *operation = ctx->operation;
    int ret;
    if (!ctx->cookie_seen)
        return vim_call_lacks(ctx, operation, "the session cookie", err);
    vim_wire_login_done(login);
    ret = vim_wire_user_session(session, &login->session, err);
    if (!ret)
        login->cookie = STEAL(ctx->cookie_seen);
    return ret;
}

int vim_wire_login_password(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_wire_login *login = arg;
    struct _vim25__Login request = {0};
    struct _vim25__LoginResponse response;
    int ret;
    request._USCOREthis = vim_in_ref(ctx, "SessionManager", ctx->content.session_manager);
    request.userName = vim_in_text(ctx, login->user, "the user name");
    request.password = vim_in_secret(ctx, login->secret, "the password");
    ret = VIM_CALL(ctx, Login, &request, &response, err);
    return ret ? ret : keep_login(ctx, response.returnval, login, err);
}

int vim_wire_login_extension(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_wire_login *login = arg;
    struct _vim25__LoginExtensionByCertificate request = {0};
    struct _vim25__LoginExtensionByCertificateResponse response;
    int ret;
    request._USCOREthis = vim_in_ref(ctx, "SessionManager", ctx->content.session_manager);
    request.extensionKey = vim_in_text(ctx, login->extension_key, "the extension key");
    ret = VIM_CALL(ctx, LoginExtensionByCertificate, &request, &response, err);
    return ret ? ret : keep_login(ctx, response.returnval, login, err);
}

int vim_wire_clone_session(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_wire_login *login = arg;
    struct _vim25__CloneSession request = {0};
    struct _vim25__CloneSessionResponse response;
    int ret;
    request._USCOREthis = vim_in_ref(ctx, "SessionManager", ctx->content.session_manager);
    request.cloneTicket = vim_in_secret(ctx, login->secret, "the clone ticket");
    ret = VIM_CALL(ctx, CloneSession, &request, &response, err);
    return ret ? ret : keep_login(ctx, response.returnval, login, err);
}

int vim_wire_logout(struct vim_context *ctx, struct err *err) {
    struct _vim25__Logout request = {0};
    struct _vim25__LogoutResponse response;
    request._USCOREthis = vim_in_ref(ctx, "SessionManager", ctx->content.session_manager);
    return VIM_CALL(ctx, Logout, &request, &response, err);
}
