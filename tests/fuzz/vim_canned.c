/* What the fuzz targets of src/vim share. SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_canned.h"

#include <stdlib.h>
#include <string.h>

struct tested tested;

int give_tested(struct strbuf *reply, long *status) {
    strbuf_add(reply, tested.bytes, tested.count);
    *status = tested.status;
    tested.bytes = NULL;
    return 0;
}

int give_canned(const struct canned_table *table, const struct http_exchange *x, struct strbuf *reply) {
    static const char versions[] =
        "<namespaces><namespace><name>urn:vim25</name><version>8.0.3.0</version></namespace></namespaces>";
    static const char cookie[] = "Set-Cookie: vmware_soap_session=\"0123456789abcdef\"; Path=/";
    if (!x->body) {
        strbuf_adds(reply, versions);
        return 1;
    }
    x->on_header(x->on_header_arg, cookie, sizeof(cookie) - 1);
    for (size_t i = 0; i < table->count; i++)
        if (strstr(x->body, table->items[i].op)) {
            strbuf_adds(reply, table->items[i].reply);
            return 1;
        }
    return 0;
}

static int open_conn(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    (void)options, (void)err;
    *conn = arg;
    return 0;
}

static void nothing(void *conn) {
    (void)conn;
}

static int log_in(struct vim_client *client, void *arg, struct err *err) {
    (void)arg;
    return vim_login_password(client, "u", "p", err);
}

struct vim_client *canned_client(canned_run_fn *run) {
    static int here;
    static struct http_transport transport;
    static const uint8_t pin[32];
    static struct vim_client *client;
    struct vim_options options = {.host = "vc", .port = 443, .pin_sha256 = pin, .transport = &transport};
    if (client)
        return client;
    transport = (struct http_transport){&here, open_conn, run, nothing, nothing};
    if (vim_client_new(&options, &client, NULL))
        abort();
    vim_set_login(client, log_in, NULL);
    return client;
}
