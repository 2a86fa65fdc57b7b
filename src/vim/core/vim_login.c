/* Our own session: logging in, again when needed, and out. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each login starts without a cookie, so that nobody can plant a session on us, and since a second Login in one session is refused. */
#include "vim_client.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "member.h"
#include "secret.h"
#include "str.h"
#include "vim_text.h"

#define REFUSED_PAUSE_MS 30000

static vim_op_fn vim_login_op_extension;

const char *vim_strategy_name(enum vim_strategy strategy) {
    static const char *const names[VIM_STRATEGY_COUNT] = {
        [VIM_STRATEGY_TUNNEL] = "certificate_tunnel",
        [VIM_STRATEGY_DIRECT] = "certificate_direct",
        [VIM_STRATEGY_SERVICE_ACCOUNT] = "service_account",
        [VIM_STRATEGY_ACCOUNT] = "account",
    };
    return names[strategy];
}

/* Takes over a new session (both are emptied); *old gets the former cookie, freed by secret_free. */
static void put_session(struct vim_client *client, char **cookie, struct vim_user_session *session, char **old) {
    (void)pthread_mutex_lock(&client->lock);
    *old = client->cookie;
    client->cookie = STEAL(*cookie);
    vim_user_session_done(&client->own);
    client->own = *session;
    client->session_no++;
    (void)pthread_mutex_unlock(&client->lock);
    memset(session, 0, sizeof(*session));
}

/* There is no session from now on. */
static void take_cookie(struct vim_client *client, char **cookie) {
    char *none = NULL;
    struct vim_user_session nobody = {0};
    put_session(client, &none, &nobody, cookie);
}

int vim_client_note_session_call(struct vim_client *client, int rc) {
    bool has_no_answer =
        rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_PROTOCOL || rc == ERR_TOO_LARGE || rc == ERR_CANCELED;
    if (!has_no_answer)
        return rc;
    LOCKED(&client->lock);
    client->may_have_orphan = true;
    return rc;
}

bool vim_take_orphan_hint(struct vim_client *client) {
    bool hint;
    LOCKED(&client->lock);
    hint = client->may_have_orphan;
    client->may_have_orphan = false;
    return hint;
}

static int op_logout(struct vim_context *ctx, void *arg, struct err *err) {
    (void)arg;
    return vim_wire_logout(ctx, err);
}

/* Best effort: a session that is left alone ends by itself after its idle time. */
static int log_out_cookie(struct vim_client *client, const char *cookie, struct err *err) {
    struct vim_run run = {.identity = VIM_AS_GIVEN, .cookie = cookie, .fn = op_logout};
    return cookie ? vim_client_note_session_call(client, vim_client_run(client, &run, err)) : 0;
}

static int64_t refused_until_ms(struct vim_client *client) {
    LOCKED(&client->lock);
    return client->login_refused_until_ms;
}

static void set_refused_until(struct vim_client *client, int64_t until_ms) {
    LOCKED(&client->lock);
    client->login_refused_until_ms = until_ms;
}

/* Whoever logged in: what was refused before is accepted now. */
static void vim_login_adopt(struct vim_client *client, struct vim_wire_login *login) {
    _cleanup_secret_ char *old = NULL;
    put_session(client, &login->cookie, &login->session, &old);
    set_refused_until(client, 0);
    (void)log_out_cookie(client, old, NULL);
}

int vim_login_password(struct vim_client *client, const char *user, const char *password, struct err *err) {
    _cleanup_done_(vim_wire_login_done) struct vim_wire_login login = {.user = user, .secret = password};
    struct vim_run run = {.identity = VIM_AS_NOBODY, .fn = vim_wire_login_password, .arg = &login};
    int ret = vim_client_note_session_call(client, vim_client_run(client, &run, err));
    if (!ret)
        vim_login_adopt(client, &login);
    return ret;
}

/* ---- by certificate, on a way of its own ---- */

struct side_way {
    struct vim_route route;
    char *proxy, *url, *peer;
};

/* KB 2004305: vpxd ends TLS itself behind `CONNECT sdkTunnel:8089` on port 80. That name exists only there; the certificate is
 * vCenter's own, so the host's name is what it must carry. */
static int side_way_init(struct vim_client *client, const struct vim_extension_login *login, struct side_way *way,
                         struct err *err) {
    bool is_tunnel = login->strategy == VIM_STRATEGY_TUNNEL;
    unsigned port = is_tunnel ? client->tunnel_port : client->direct_port;
    memset(way, 0, sizeof(*way));
    if (!port)
        return err_set(err, ERR_CONFIG, "login by %s is switched off for vCenter %s: its port is 0",
                       vim_strategy_name(login->strategy), client->peer);
    way->route = client->route;
    way->peer = is_tunnel ? str_format("%s:%u (tunnel)", client->host, port) : str_format("%s:%u", client->host, port);
    way->url = is_tunnel ? str_dup("https://sdkTunnel:8089/sdk") : str_format("https://%s:%u/sdk", client->host, port);
    way->proxy = is_tunnel ? str_format("http://%s:%u", client->host, port) : NULL;
    if (!way->peer || !way->url || (is_tunnel && !way->proxy))
        return err_set(err, ERR_NOMEM, "out of memory");
    way->route.peer = way->peer;
    way->route.url = way->url;
    way->route.http.proxy = way->proxy;
    way->route.http.trust.verify_host = is_tunnel && client->ca_pem ? client->verify_host : NULL;
    way->route.http.client_cert_pem = login->cert_pem;
    way->route.http.client_key_pem = login->key_pem;
    return 0;
}

static int run_aside(struct vim_client *client, const struct side_way *way, const struct vim_run *run, struct err *err) {
    struct vim_context *ctx = NULL;
    int ret = vim_context_new(&way->route, &ctx, err);
    if (ret)
        return ret;
    vim_client_put_beside(client, ctx);
    ret = vim_client_run_on(client, ctx, run, err);
    vim_client_take_beside(client, ctx);
    vim_context_free(ctx);
    return ret;
}

static int login_aside_once(struct vim_client *client, const struct vim_extension_login *login, struct vim_wire_login *out,
                            struct err *err) {
    struct side_way way;
    struct vim_run run = {.identity = VIM_AS_NOBODY, .fn = vim_login_op_extension, .arg = out};
    int ret = side_way_init(client, login, &way, err);
    out->extension_key = login->extension_key;
    if (!ret)
        ret = vim_client_note_session_call(client, run_aside(client, &way, &run, err));
    free(way.proxy);
    free(way.url);
    free(way.peer);
    return ret;
}

/* A tunnel may lose a byte, and then there is no answer: one try more, on a connection of its own. */
static int login_aside(struct vim_client *client, const struct vim_extension_login *login, struct vim_wire_login *out,
                       struct err *err) {
    struct err why = {0};
    int ret = login_aside_once(client, login, out, &why);
    if (ret == ERR_TIMEOUT && login->strategy == VIM_STRATEGY_TUNNEL) {
        err_clear(&why);
        ret = login_aside_once(client, login, out, &why);
    }
    return err_move(err, ret, &why);
}

/* Busy vCenters refuse a certificate that is good now and then (github.com/vmware/pyvmomi/issues/1100); there is no account that would be locked by a second try. */
int vim_login_extension(struct vim_client *client, const struct vim_extension_login *login, struct err *err) {
    _cleanup_done_(vim_wire_login_done) struct vim_wire_login result = {0};
    struct err first = {0};
    int ret = login_aside(client, login, &result, &first);
    ret = ret == ERR_CREDENTIALS ? login_aside(client, login, &result, err) : err_move(err, ret, &first);
    if (ret == ERR_CREDENTIALS)
        err_remedy(err, "register again: the extension %s is not known there or has another certificate", login->extension_key);
    if (!ret)
        vim_login_adopt(client, &result);
    return ret;
}

int vim_probe_extension_login(struct vim_client *client, const struct vim_extension_login *login, struct err *err) {
    struct vim_wire_login result = {0};
    struct err probe = {0};
    int ret = login_aside(client, login, &result, &probe);
    if (!ret)
        (void)log_out_cookie(client, result.cookie, NULL);
    vim_wire_login_done(&result);
    if (ret == ERR_CREDENTIALS) /* the certificate came through; that it is not registered is another matter */
        return 0;
    return err_move(err, ret, &probe);
}

/* ---- again ---- */

void vim_set_login(struct vim_client *client, vim_login_fn *fn, void *arg) {
    LOCKED(&client->login_lock);
    client->login = fn;
    client->login_arg = arg;
    set_refused_until(client, 0);
}

uint64_t vim_client_current_session(struct vim_client *client, bool *has_cookie) {
    uint64_t no;
    LOCKED(&client->lock);
    no = client->session_no;
    *has_cookie = client->cookie;
    return no;
}

/* login_lock is held. What is refused once is not asked again for a while: vCenter locks accounts after a few failures. */
static int login_again(struct vim_client *client, struct err *err) {
    struct err reason = {0}, *refusal = &client->login_refusal;
    int ret;
    if (clock_mono_ms() < refused_until_ms(client))
        return err_move(err, refusal->code, refusal);
    set_refused_until(client, 0);
    ret = client->login(client, client->login_arg, &reason);
    if (ret == ERR_CREDENTIALS) {
        err_clear(refusal);
        ret = err_set(refusal, ERR_UPSTREAM_DENIED, "vCenter %s does not accept kaasd's own login any more: %.300s", client->peer,
                      reason.text);
        err_remedy(refusal, "%s", reason.remedy[0] ? reason.remedy : "register this vCenter again");
        (void)err_because(refusal, reason.cause);
        set_refused_until(client, clock_mono_ms() + REFUSED_PAUSE_MS);
        reason = *refusal;
    }
    return err_move(err, ret, &reason);
}

int vim_client_renew_session(struct vim_client *client, uint64_t seen_no, struct err *err) {
    _cleanup_secret_ char *old = NULL;
    bool has_cookie;
    LOCKED(&client->login_lock);
    if (vim_client_current_session(client, &has_cookie) != seen_no && has_cookie)
        return 0;
    if (!client->login)
        return err_set(err, has_cookie ? ERR_CREDENTIALS : ERR_NOT_REGISTERED,
                       has_cookie ? "our session with vCenter %s has ended" : "there is no session with vCenter %s",
                       client->peer);
    take_cookie(client, &old);
    return login_again(client, err);
}

int vim_ensure_session(struct vim_client *client, struct err *err) {
    bool has_cookie;
    uint64_t no = vim_client_current_session(client, &has_cookie);
    return has_cookie ? 0 : vim_client_renew_session(client, no, err);
}

int vim_get_own_session(struct vim_client *client, struct vim_user_session *out, struct err *err) {
    LOCKED(&client->lock);
    return client->cookie ? vim_user_session_copy(&client->own, out, err)
                          : err_set(err, ERR_NOT_FOUND, "there is no session with vCenter %s", client->peer);
}

int vim_get_settled_session(struct vim_client *client, struct vim_user_session *out, struct err *err) {
    LOCKED(&client->login_lock);
    return vim_get_own_session(client, out, err);
}

/* xsd:dateTime; where it names no zone vCenter means UTC. */
static bool parse_time(const char *text, int64_t *out_ms) {
    char utc[128];
    (void)snprintf(utc, sizeof(utc), "%sZ", text);
    return clock_parse(text, out_ms) || clock_parse(utc, out_ms);
}

/* `arg` gets the time; NULL: that there is an answer is enough. */
static int op_current_time(struct vim_context *ctx, void *arg, struct err *err) {
    int ret;
    VIM_REQUEST(ctx, CurrentTime, "ServiceInstance", "ServiceInstance");
    if (!arg && ctx->route->timeout_ms > KAAS_VIM_KEEPALIVE_TIMEOUT_MS)
        ctx->timeout_ms = KAAS_VIM_KEEPALIVE_TIMEOUT_MS;
    ret = VIM_CALL(ctx, CurrentTime, &request, &response, err);
    ctx->timeout_ms = 0;
    if (ret || !arg)
        return ret;
    return response.returnval && parse_time(response.returnval, arg) ? 0 : vim_call_lacks(ctx, "CurrentTime", "a time", err);
}

int vim_keepalive(struct vim_client *client, struct err *err) {
    return vim_client_run_as_us(client, op_current_time, NULL, err);
}

int vim_lookup_time(struct vim_client *client, int64_t *out_ms, struct err *err) {
    int64_t ms = 0;
    int ret = vim_client_run_as_us(client, op_current_time, &ms, err);
    if (!ret)
        *out_ms = ms;
    return ret;
}

int vim_logout(struct vim_client *client, struct err *err) {
    _cleanup_secret_ char *cookie = NULL;
    (void)pthread_mutex_lock(&client->login_lock); /* a login under way would bring the session back that is to end */
    take_cookie(client, &cookie);
    (void)pthread_mutex_unlock(&client->login_lock);
    return log_out_cookie(client, cookie, err);
}

/* The logout wakes who waits on the old session, and he would log in as well: he finds the lock taken, and then the new session. */
int vim_replace_session(struct vim_client *client, vim_login_fn *fn, void *arg, struct err *err) {
    _cleanup_secret_ char *old = NULL;
    LOCKED(&client->login_lock);
    take_cookie(client, &old);
    (void)log_out_cookie(client, old, NULL);
    set_refused_until(client, 0);
    if (fn)
        return fn(client, arg, err);
    return client->login ? login_again(client, err)
                         : err_set(err, ERR_NOT_REGISTERED, "there is no session with vCenter %s", client->peer);
}

/* A login takes no notice of the session that there is, and ends it when it has its own (vim_login_adopt). */
int vim_exchange_session(struct vim_client *client, struct err *err) {
    LOCKED(&client->login_lock);
    set_refused_until(client, 0);
    return client->login ? login_again(client, err)
                         : err_set(err, ERR_NOT_REGISTERED, "there is no session with vCenter %s", client->peer);
}

/* -- SOAP calls of SessionManager that both our own and other people's sessions need ------------------------------- */

static const struct member session_texts[] = {
    MEMBER(vim_user_session, key),
    MEMBER(vim_user_session, user_name),
    MEMBER(vim_user_session, full_name),
    MEMBER(vim_user_session, ip_address),
    MEMBER(vim_user_session, user_agent),
    MEMBER(vim_user_session, login_time),
    MEMBER(vim_user_session, last_active_time),
    MEMBERS_END,
};

void vim_user_session_done(struct vim_user_session *s) {
    members_done(session_texts, s, sizeof(*s));
}

int vim_user_session_copy(const struct vim_user_session *from, struct vim_user_session *out, struct err *err) {
    return members_copy(session_texts, from, out, sizeof(*out), "a session", err);
}

/* Without the blanks at its ends, in place: vCenter has "root " where there is no family name. */
static void vim_login_trim(char *name) {
    size_t from = 0, n;
    vim_text_one_line(name);
    if (!name)
        return;
    while (name[from] == ' ')
        from++;
    for (n = strlen(name + from); n && name[from + n - 1] == ' '; n--)
        ;
    memmove(name, name + from, n);
    name[n] = '\0';
}

int vim_wire_user_session(const struct vim25__UserSession *from, struct vim_user_session *out, struct err *err) {
    struct vim_user_session view;
    if (!from || str_empty(from->key) || str_empty(from->userName))
        return err_set(err, ERR_PROTOCOL, "vCenter sent a session without key or user name");
    vim_text_one_line(from->userName);
    vim_login_trim(from->fullName);
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
    int ret;
    VIM_REQUEST(ctx, Login, "SessionManager", ctx->content.session_manager);
    request.userName = vim_in_text(ctx, login->user, "the user name");
    request.password = vim_in_secret(ctx, login->secret, "the password");
    ret = VIM_CALL(ctx, Login, &request, &response, err);
    return ret ? ret : keep_login(ctx, response.returnval, login, err);
}

static int vim_login_op_extension(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_wire_login *login = arg;
    int ret;
    VIM_REQUEST(ctx, LoginExtensionByCertificate, "SessionManager", ctx->content.session_manager);
    request.extensionKey = vim_in_text(ctx, login->extension_key, "the extension key");
    ret = VIM_CALL(ctx, LoginExtensionByCertificate, &request, &response, err);
    return ret ? ret : keep_login(ctx, response.returnval, login, err);
}

int vim_wire_clone_session(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_wire_login *login = arg;
    int ret;
    VIM_REQUEST(ctx, CloneSession, "SessionManager", ctx->content.session_manager);
    request.cloneTicket = vim_in_secret(ctx, login->secret, "the clone ticket");
    ret = VIM_CALL(ctx, CloneSession, &request, &response, err);
    return ret ? ret : keep_login(ctx, response.returnval, login, err);
}

int vim_wire_logout(struct vim_context *ctx, struct err *err) {
    VIM_REQUEST(ctx, Logout, "SessionManager", ctx->content.session_manager);
    return VIM_CALL(ctx, Logout, &request, &response, err);
}

/* -- logging out when the service stops ---------------------------------------------------------------------------- */

/* By then the client's own connections may be cancelled, and a server that hangs must not hold up the end: so this takes a connection of its
 * own, and little time. */

static int log_out_on(struct vim_client *client, struct vim_context *ctx, const char *cookie, struct err *err) {
    int ret;
    (void)pthread_mutex_lock(&client->lock);
    ctx->content = client->content;
    (void)pthread_mutex_unlock(&client->lock);
    ret = vim_context_set_cookie(ctx, cookie, err);
    if (!ret)
        ret = vim_wire_logout(ctx, err);
    vim_context_reset(ctx);
    return ret;
}

int vim_logout_within(struct vim_client *client, long timeout_ms, struct err *err) {
    _cleanup_secret_ char *cookie = NULL;
    struct vim_route route = client->route;
    struct vim_context *ctx = NULL;
    int ret;
    take_cookie(client, &cookie);
    if (!cookie)
        return 0;
    route.timeout_ms = timeout_ms;
    if (route.http.connect_timeout_ms > timeout_ms)
        route.http.connect_timeout_ms = timeout_ms;
    ret = vim_context_new(&route, &ctx, err);
    if (!ret)
        ret = log_out_on(client, ctx, cookie, err);
    vim_context_free(ctx);
    return ret;
}
