/* Clone tickets for plug-ins of the vSphere Client. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * POST /api/ui/vcenter/session/clone-ticket (vSphere Automation API; the remote plug-in samples of VMware use it). The address is that
 * of the configured vCenter, never one that came with the request. */
#include "vim_plugin_ticket.h"

#include <string.h>

#include "json.h"
#include "secret.h"
#include "str.h"
#include "vim_client.h"

#define SESSION_ID_BYTES_MAX 512U
#define TICKET_BYTES_MAX 1024U
#define REPLY_BYTES_MAX 16384U

struct exchange {
    const char *url, *header, *body;
    long status;
    char *ticket;
};

static int check_id(const char *id, struct err *err) {
    size_t n = id ? strlen(id) : 0;
    for (size_t i = 0; i < n; i++)
        if (id[i] < '!' || id[i] > '~')
            return err_set(err, ERR_UNPROCESSABLE, "the session id holds a character that none of them has");
    if (!n || n > SESSION_ID_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the session id must have 1 to %u characters", SESSION_ID_BYTES_MAX);
    return 0;
}

/* The ticket out of {"session_clone_ticket": "..."}. */
static int take_ticket(struct vim_context *ctx, struct exchange *x, struct err *err) {
    json_t *answer = NULL;
    const char *ticket = NULL;
    int ret = json_parse(ctx->reply.data ? ctx->reply.data : "", ctx->reply.len, &answer, NULL);
    if (!ret)
        ticket = json_get_string(answer, "session_clone_ticket");
    if (str_empty(ticket) || strlen(ticket) > TICKET_BYTES_MAX) {
        ret = err_set(err, ERR_PROTOCOL, "%s answers the request for a clone ticket without one", ctx->route->peer);
    } else {
        x->ticket = str_dup(ticket);
        ret = x->ticket ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    }
    json_wipe_string(json_object_get(answer, "session_clone_ticket"));
    json_decref(answer);
    return ret;
}

static int judge(struct vim_context *ctx, struct exchange *x, struct err *err) {
    const char *peer = ctx->route->peer;
    if (x->status == 200)
        return take_ticket(ctx, x, err);
    if (x->status == 401 || x->status == 403) {
        (void)err_set(err, ERR_CREDENTIALS, "%s does not know this session id of the vSphere Client", peer);
        return err_remedy(err, "open the page from the vSphere Client of this vCenter anew");
    }
    if (x->status == 503) {
        (void)err_set(err, ERR_UNREACHABLE, "%s answers HTTP 503: its API service is down or still starting", peer);
        return err_remedy(err, "check on the appliance that the services run; after a start they need some minutes");
    }
    (void)err_set(err, ERR_UPSTREAM, "%s answers HTTP %ld to the request for a clone ticket", peer, x->status);
    return err_remedy(err, "plug-ins need vCenter 7.0 Update 3 or newer; see what its service vsphere-ui says");
}

static int op_ticket(struct vim_context *ctx, void *arg, struct err *err) {
    struct exchange *x = arg;
    const char *const headers[] = {"Content-Type: application/json", "Accept: application/json", x->header, NULL};
    struct http_exchange http = {.method = "POST",
                                 .url = x->url,
                                 .headers = headers,
                                 .body = x->body,
                                 .body_bytes = strlen(x->body),
                                 .reply_max_bytes = REPLY_BYTES_MAX};
    int ret;
    ctx->operation = "rest.clone-ticket";
    ret = vim_context_exchange(ctx, &http, &x->status, err);
    if (!ret)
        ret = judge(ctx, x, err);
    if (ctx->reply.data)
        secret_wipe(ctx->reply.data, ctx->reply.len);
    return ret;
}

int vim_plugin_ticket(struct vim_client *client, const char *session_id, const char *vc_guid, char **out, struct err *err) {
    _cleanup_secret_ char *header = NULL;
    _cleanup_free_ char *url = NULL, *body = NULL;
    struct exchange x = {0};
    struct vim_run run = {.identity = VIM_AS_NOBODY, .is_before_connect = true, .fn = op_ticket, .arg = &x};
    int ret = check_id(session_id, err);
    if (ret)
        return ret;
    header = str_format("vmware-api-session-id: %s", session_id);
    url = str_format("https://%s/api/ui/vcenter/session/clone-ticket", client->peer);
    body = str_format("{\"vc_guid\":\"%s\"}", vc_guid);
    if (!header || !url || !body)
        return err_set(err, ERR_NOMEM, "out of memory");
    x.url = url;
    x.header = header;
    x.body = body;
    ret = vim_client_run(client, &run, err);
    if (!ret)
        *out = x.ticket;
    return ret;
}
