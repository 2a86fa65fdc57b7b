/* Which certificate a vCenter shows, beside the one we expect. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_certificate.h"

#include <string.h>

#include "vim_client.h"

void vim_certificate_done(struct vim_certificate *certificate) {
    if (!certificate)
        return;
    x509_info_done(&certificate->seen);
    memset(certificate, 0, sizeof(*certificate));
}

static int op_hello(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_client *client = arg;
    long status;
    ctx->operation = "vimServiceVersions";
    return vim_context_get(ctx, client->versions_url, &status, err);
}

/* A connection of its own, since one of the pool may be older than the server's certificate. */
static int judge_chain(struct vim_client *client, bool *is_trusted, struct err *err) {
    struct vim_run run = {.identity = VIM_AS_NOBODY, .is_before_connect = true, .fn = op_hello, .arg = client};
    struct vim_context *ctx = NULL;
    struct err why = {0};
    int ret = vim_context_new(&client->route, &ctx, err);
    if (ret)
        return ret;
    vim_client_put_beside(client, ctx);
    ret = vim_client_run_on(client, ctx, &run, &why);
    vim_client_take_beside(client, ctx);
    vim_context_free(ctx);
    *is_trusted = !ret;
    if (ret == ERR_TLS || !ret)
        return 0;
    if (err && !err->code)
        *err = why;
    return ret;
}

int vim_peek_certificate(struct vim_client *client, struct vim_certificate *out, struct err *err) {
    struct vim_certificate found = {.has_pin = client->route.http.trust.pin_sha256};
    int ret = x509_lookup_server(client->verify_host, client->port, client->route.http.connect_timeout_ms, &found.seen, err);
    if (!ret && found.has_pin) {
        memcpy(found.pin, client->pin_sha256, sizeof(found.pin));
        found.is_trusted = !memcmp(found.pin, found.seen.sha256, sizeof(found.pin));
    } else if (!ret) {
        ret = judge_chain(client, &found.is_trusted, err);
    }
    if (ret)
        vim_certificate_done(&found);
    else
        *out = found;
    return ret;
}
