/* The seam under the SOAP codec: who carries the bytes. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The four functions are those of port/http_client.h; tests and fuzzing put canned answers here instead. */
#pragma once

#include "http_client.h"

struct vim_transport {
    void *arg; /* handed to open */
    /* As http_client_new: *conn is what the others get. */
    int (*open)(void *arg, const struct http_client_options *options, void **conn, struct err *err);
    /* As http_client_run. */
    int (*run)(void *conn, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err);
    /* As http_client_cancel; called from another thread. */
    void (*cancel)(void *conn);
    /* As http_client_free. */
    void (*close)(void *conn);
};

/* HTTPS by port/http_client.h. Static. */
const struct vim_transport *vim_transport_https(void);
