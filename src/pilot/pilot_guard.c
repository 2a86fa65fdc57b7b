/* What the pilot may send. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pilot_guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cleanup.h"
#include "hx.h"
#include "pilot_record.h"
#include "str.h"

#define CALLS_COUNT_MAX 20000U

/* Operations of vCenter that change nothing beyond the session of the caller (vSphere API reference). Views, collectors and filters are objects of that session and end with
 * it; LoginExtensionByCertificate is sent with a key that nobody has registered, AcquireCloneTicket and CloneSession for a session that is ended at once. */
static const char *const operations[] = {
    "RetrieveServiceContent",
    "CurrentTime",
    "Login",
    "LoginExtensionByCertificate",
    "Logout",
    "AcquireCloneTicket",
    "CloneSession",
    "FindExtension",
    "HasPrivilegeOnEntities",
    "HasUserPrivilegeOnEntities",
    "RetrievePropertiesEx",
    "ContinueRetrievePropertiesEx",
    "CancelRetrievePropertiesEx",
    "CreateContainerView",
    "DestroyView",
    "CreatePropertyCollector",
    "DestroyPropertyCollector",
    "CreateFilter",
    "DestroyPropertyFilter",
    "WaitForUpdatesEx",
    "CancelWaitForUpdates",
    "CreateCollectorForEvents",
    "DestroyCollector",
};

/* What else may be asked for; `path` is the whole, or with `is_prefix` its begin. */
static const struct rule {
    enum pilot_service service;
    const char *method, *path;
    bool is_prefix;
} rules[] = {
    {PILOT_VCENTER, "GET", "/sdk/vimServiceVersions.xml", false},
    {PILOT_VCENTER, "GET", "/ui/", true},
    {PILOT_VCENTER, "POST", "/api/session", false},   /* a session of REST, */
    {PILOT_VCENTER, "DELETE", "/api/session", false}, /* and its end */
    {PILOT_HX, "GET", "/coreapi/v1/", true},
    {PILOT_HX, "GET", HX_REGISTRATION_PATH, false},
    {PILOT_HX, "POST", "/aaa/v1/auth?grant_type=password", false},
    {PILOT_HX, "POST", "/aaa/v1/revoke", false},
};

static const char *path_of(const char *url) {
    const char *at = url ? strstr(url, "://") : NULL;
    at = at ? strchr(at + 3, '/') : NULL;
    return at ? at : "";
}

/* The element in the body of an envelope, without its prefix. Texts in an envelope cannot hold '<'. */
static void read_operation(const char *text, size_t n, char *out) {
    const char *end = text + n, *at = memmem(text, n, "Body>", 5);
    size_t len = 0;
    *out = '\0';
    at = at ? memchr(at, '<', (size_t)(end - at)) : NULL;
    if (!at)
        return;
    for (at++; at < end && !strchr(" \t\r\n/>", *at) && len < PILOT_NAME_BYTES - 1; at++) {
        if (*at == ':')
            len = 0;
        else
            out[len++] = *at;
    }
    out[len] = '\0';
}

static bool is_allowed(enum pilot_service service, const struct http_exchange *x, const char *path, const char *name) {
    if (service == PILOT_VCENTER && str_eq(x->method, "POST") && str_eq(path, "/sdk")) {
        for (size_t i = 0; i < ARRAY_COUNT(operations); i++)
            if (str_eq(name, operations[i]))
                return true;
        return false;
    }
    for (size_t i = 0; i < ARRAY_COUNT(rules); i++)
        if (rules[i].service == service && str_eq(x->method, rules[i].method) &&
            (rules[i].is_prefix ? str_starts(path, rules[i].path) && !strstr(path, "..") : str_eq(path, rules[i].path)))
            return true;
    return false;
}

int pilot_guard_judge(enum pilot_service service, const struct http_exchange *x, char *name, struct err *err) {
    const char *path = path_of(x->url);
    if (service == PILOT_VCENTER && str_eq(path, "/sdk"))
        read_operation(x->body ? x->body : "", x->body ? x->body_bytes : 0, name);
    else
        (void)snprintf(name, PILOT_NAME_BYTES, "%s", x->method);
    if (x->is_handshake || is_allowed(service, x, path, name))
        return 0;
    return err_set(err, ERR_FORBIDDEN, "the pilot only reads: it does not send %s %s", *name ? name : "something else", path);
}

/* -- as a transport ---------------------------------------------------------------------------------------------------------- */

struct conn {
    struct pilot_guard *guard;
    void *below;
    bool is_tunnel, has_certificate;
};

static int guard_open(void *arg, const struct http_client_options *options, void **out, struct err *err) {
    struct pilot_guard *guard = arg;
    struct conn *conn = calloc(1, sizeof(*conn));
    int rc;
    if (!conn)
        return err_set(err, ERR_NOMEM, "out of memory");
    conn->guard = guard;
    conn->is_tunnel = options->proxy != NULL;
    conn->has_certificate = options->client_cert_pem != NULL;
    rc = guard->below->open(guard->below->arg, options, &conn->below, err);
    if (rc)
        free(conn);
    else
        *out = conn;
    return rc;
}

/* The headers of one answer, on their way to the client. */
struct headers {
    struct pilot_guard *guard;
    const struct http_exchange *from;
    struct pilot_headers kept;
};

/* RFC 9110 section 6.6.1 */
static void guard_take_header(void *arg, const char *line, size_t n) {
    struct headers *headers = arg;
    char text[64];
    struct tm parts = {0};
    if (n > 6 && n < sizeof(text) && !strncasecmp(line, "Date: ", 6)) {
        memcpy(text, line, n);
        text[n] = '\0';
        if (strptime(text + 6, "%a, %d %b %Y %H:%M:%S GMT", &parts))
            headers->guard->date_ms = (int64_t)timegm(&parts) * 1000;
    }
    pilot_headers_take(&headers->kept, line, n);
    if (headers->from->on_header)
        headers->from->on_header(headers->from->on_header_arg, line, n);
}

static int note_call(struct pilot_guard *guard, const struct pilot_call *call, struct err *err) {
    if (guard->count >= CALLS_COUNT_MAX)
        return err_set(err, ERR_TOO_LARGE, "the pilot has asked %u times and asks no more", CALLS_COUNT_MAX);
    if (guard->count == guard->room) {
        const size_t room = guard->room ? 2 * guard->room : 64;
        struct pilot_call *calls = reallocarray(guard->calls, room, sizeof(*calls));
        if (!calls)
            return err_set(err, ERR_NOMEM, "out of memory");
        guard->calls = calls;
        guard->room = room;
    }
    guard->calls[guard->count++] = *call;
    return 0;
}

static void record_exchange(const struct conn *conn, struct headers *headers, const struct pilot_call *call,
                            const struct strbuf *reply) {
    const struct pilot_guard *guard = conn->guard;
    headers->kept.date_ms = guard->date_ms;
    pilot_recorder_add(guard->recorder, &(struct pilot_recorded){
                                            .service = guard->service == PILOT_HX ? "hx" : "vcenter",
                                            .way = conn->is_tunnel         ? "tunnel"
                                                   : conn->has_certificate ? "direct"
                                                                           : "https",
                                            .name = call->name,
                                            .path = path_of(headers->from->url),
                                            .exchange = headers->from,
                                            .headers = &headers->kept,
                                            .answer = reply,
                                            .status = call->status,
                                            .rc = call->rc,
                                        });
}

static int guard_run(void *arg, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err) {
    struct conn *conn = arg;
    struct pilot_guard *guard = conn->guard;
    struct headers headers = {.guard = guard, .from = exchange};
    struct http_exchange passed = *exchange;
    struct pilot_call call = {.status = 0};
    int rc = pilot_guard_judge(guard->service, exchange, call.name, err);
    if (!rc && str_starts(path_of(exchange->url), "/aaa/v1/auth") && guard->logins++)
        rc = err_set(err, ERR_FORBIDDEN, "the pilot logs in to HX once: HX allows five logins in 15 minutes");
    if (!rc)
        rc = note_call(guard, &call, err);
    if (rc)
        return rc;
    passed.on_header = guard_take_header;
    passed.on_header_arg = &headers;
    guard->date_ms = 0;
    call.rc = guard->below->run(conn->below, &passed, reply, &call.status, err);
    call.bytes = reply->len;
    (void)snprintf(call.path, sizeof(call.path), "%s", path_of(exchange->url));
    guard->calls[guard->count - 1] = call;
    *status = call.status;
    if (guard->recorder)
        record_exchange(conn, &headers, &call, reply);
    return call.rc;
}

static void guard_cancel(void *arg) {
    struct conn *conn = arg;
    conn->guard->below->cancel(conn->below);
}

static void guard_close(void *arg) {
    struct conn *conn = arg;
    conn->guard->below->close(conn->below);
    free(conn);
}

void pilot_guard_init(struct pilot_guard *guard, enum pilot_service service, const struct http_transport *below) {
    *guard = (struct pilot_guard){.service = service,
                                  .below = below ? below : http_transport_https(),
                                  .transport = {guard, guard_open, guard_run, guard_cancel, guard_close}};
}

void pilot_guard_done(struct pilot_guard *guard) {
    free(guard->calls);
    memset(guard, 0, sizeof(*guard));
}

const struct pilot_call *pilot_guard_find(const struct pilot_guard *guard, const char *end) {
    for (size_t i = guard->count; i > 0; i--)
        if (str_ends(guard->calls[i - 1].path, end))
            return &guard->calls[i - 1];
    return NULL;
}
