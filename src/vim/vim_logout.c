/* Logging out when the service stops. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * By then the client's own connections may be cancelled, and a server that hangs must not hold up the end: so this takes a connection of its
 * own, and little time. */
#include "secret.h"
#include "vim_client.h"
#include "vim_wire.h"

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
    struct vim_user_session nobody = {0};
    struct vim_context *ctx = NULL;
    char *none = NULL;
    int ret;
    vim_client_put_session(client, &none, &nobody, &cookie);
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
