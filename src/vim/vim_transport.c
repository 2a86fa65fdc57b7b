/* The transport that carries the bytes by HTTPS. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_transport.h"

static int https_open(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    struct http_client *client = NULL;
    int ret = http_client_new(options, &client, err);
    (void)arg;
    if (!ret)
        *conn = client;
    return ret;
}

static int https_run(void *conn, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err) {
    int ret = http_client_run(conn, exchange, reply, status, err);
    if (ret != ERR_TOO_LARGE)
        return ret;
    if (err && err->code == ERR_TOO_LARGE) /* to a caller of ours that code speaks of the own request */
        err->code = ERR_PROTOCOL;
    return ERR_PROTOCOL;
}

static void https_cancel(void *conn) {
    http_client_cancel(conn);
}

static void https_close(void *conn) {
    http_client_free(conn);
}

const struct vim_transport *vim_transport_https(void) {
    static const struct vim_transport https = {NULL, https_open, https_run, https_cancel, https_close};
    return &https;
}
