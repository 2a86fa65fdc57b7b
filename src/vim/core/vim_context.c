/* One call context: gSOAP as codec over a transport. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gSOAP's own HTTP and TLS are not used: they honour neither our time limits nor our caps. Each hook below replaces one step of its
 * transport. SOAP_IO_KEEPALIVE must stay off, or fopen, which clears the buffers, is skipped; connections are kept alive below. */
#include "vim_context.h"

#include <VimBinding.nsmap>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "limits.h"
#include "log.h"
#include "metric.h"
#include "secret.h"
#include "str.h"
#include "vim_soap.h"
#include "vim_text.h"
#include "http_client.h"

#define REPLY_KEEP_BYTES (1024U * 1024U)
#define REQUEST_BYTES_MAX (4U * 1024U * 1024U)
#define SNIFF_BYTES 2048U

/* Counts what got no usable answer (a fault is an answer). Returns `outcome`. */
static int count_failure(int outcome) {
    if (outcome)
        metric_add(metric_get(METRIC_VCENTER_CALL_FAILURES, err_slug(outcome)), 1);
    return outcome;
}

static void take_header(void *arg, const char *line, size_t n) {
    struct vim_context *ctx = arg;
    char *cookie = vim_cookie_of_header(line, n);
    if (!cookie)
        return;
    secret_free(ctx->cookie_seen);
    ctx->cookie_seen = cookie;
}

static int vim_context_fail_canceled(struct vim_context *ctx) {
    return err_set(&ctx->err, ERR_CANCELED, "the call to vCenter was given up because the service is stopping");
}

static bool vim_context_is_canceled(struct vim_context *ctx) {
    return __atomic_load_n(&ctx->is_canceled, __ATOMIC_SEQ_CST);
}

/* The order (store the connection, then look at the flag; the reverse in vim_context_cancel) leaves no gap between the two. */
static int open_conn(struct vim_context *ctx) {
    const struct vim_route *route = ctx->route;
    void *conn = ctx->conn;
    int ret = conn ? 0 : route->transport->open(route->transport->arg, &route->http, &conn, &ctx->err);
    if (ret)
        return ret;
    __atomic_store_n(&ctx->conn, conn, __ATOMIC_SEQ_CST);
    return vim_context_is_canceled(ctx) ? vim_context_fail_canceled(ctx) : 0;
}

void vim_context_cancel(struct vim_context *ctx) {
    void *conn;
    __atomic_store_n(&ctx->is_canceled, true, __ATOMIC_SEQ_CST);
    conn = __atomic_load_n(&ctx->conn, __ATOMIC_SEQ_CST);
    if (conn)
        ctx->route->transport->cancel(conn);
}

static int vim_context_run_exchange(struct vim_context *ctx, struct http_exchange *x, long *status) {
    const struct vim_route *route = ctx->route;
    const int64_t began_ms = clock_mono_ms();
    int ret;
    x->timeout_ms = ctx->timeout_ms > 0 ? ctx->timeout_ms : route->timeout_ms;
    x->on_header = take_header;
    x->on_header_arg = ctx;
    strbuf_reset(&ctx->reply);
    ctx->reply_at = 0;
    ret = open_conn(ctx);
    if (!ret)
        ret = route->transport->run(ctx->conn, x, &ctx->reply, status, &ctx->err);
    if (ret == ERR_TOO_LARGE) /* to a caller of ours that code speaks of the own request */
        ret = ctx->err.code = ERR_PROTOCOL;
    if (!ret)
        ret = strbuf_check(&ctx->reply, "the answer of vCenter", &ctx->err);
    ctx->decode_until_ms = clock_mono_ms() + (x->timeout_ms < KAAS_VIM_DECODE_MS ? x->timeout_ms : KAAS_VIM_DECODE_MS);
    metric_observe(metric_get(METRIC_VCENTER_CALL, ctx->operation), clock_mono_ms() - began_ms);
    return ret;
}

static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; text[i] && i < SNIFF_BYTES; i++)
        if (!strncasecmp(text + i, word, n))
            return true;
    return false;
}

static int vim_context_advise(struct vim_context *ctx) {
    return err_remedy(&ctx->err,
                      "check that this is the address and port of a vCenter, and not of a proxy or another web server");
}

int vim_context_judge_front(const char *peer, long status, struct err *err) {
    if (status != 502 && status != 503 && status != 504)
        return 0;
    (void)err_set(err, ERR_UNREACHABLE, "%s answers HTTP %ld: vCenter's API service is down or still starting", peer, status);
    (void)err_remedy(err, "check on the appliance that the service vmware-vpxd runs; after a start it needs some minutes");
    return err_because(err, ERR_CAUSE_STARTING);
}

/* Anything but a SOAP envelope with status 200 or 500 never reaches the XML parser. */
static int check_reply(struct vim_context *ctx, long status) {
    const char *peer = ctx->route->peer, *body = ctx->reply.data;
    if (vim_context_judge_front(peer, status, &ctx->err))
        return ERR_UNREACHABLE;
    if (status != 200 && status != 500) {
        err_set(&ctx->err, ERR_PROTOCOL, "%s answers HTTP %ld instead of SOAP", peer, status);
        return vim_context_advise(ctx);
    }
    if (has_word(body, "Envelope"))
        return 0;
    if (has_word(body, "<html") || has_word(body, "<!doctype"))
        err_set(&ctx->err, ERR_PROTOCOL, "%s answers with a web page (HTTP %ld) instead of SOAP", peer, status);
    else
        err_set(&ctx->err, ERR_PROTOCOL, "%s answers with %s (HTTP %ld) instead of SOAP", peer,
                ctx->reply.len ? "something else" : "nothing", status);
    return vim_context_advise(ctx);
}

/* A login that arrived twice would leave a session that nobody knows of; a clone ticket is good once; an event would be there twice. A second
 * clone would only fail, for the name's sake, and its task tell nothing of the first. */
static bool is_once(const char *operation) {
    return str_eq(operation, "Login") || str_eq(operation, "LoginExtensionByCertificate") || str_eq(operation, "CloneSession") ||
           str_eq(operation, "PostEvent") || str_eq(operation, "CloneVM_Task");
}

/* The answers to all others tell about one thing, or nothing. */
static bool has_large_answer(const char *operation) {
    static const char *const large[] = {
        "RetrievePropertiesEx",       "ContinueRetrievePropertiesEx", "WaitForUpdatesEx", "HasPrivilegeOnEntities",
        "HasUserPrivilegeOnEntities", "RetrieveEntityPermissions",    "FindExtension",    "GetAlarm",
    };
    for (size_t i = 0; i < ARRAY_COUNT(large); i++)
        if (str_eq(operation, large[i]))
            return true;
    return false;
}

static size_t reply_limit(const struct vim_context *ctx) {
    if (ctx->reply_max_bytes)
        return ctx->reply_max_bytes;
    return has_large_answer(ctx->operation) ? KAAS_VIM_REPLY_BYTES_MAX : KAAS_VIM_SMALL_REPLY_BYTES_MAX;
}

static int post_request(struct vim_context *ctx) {
    _cleanup_secret_ char *cookie = ctx->cookie ? str_format("Cookie: " VIM_COOKIE_NAME "=%s", ctx->cookie) : NULL;
    char action[sizeof(ctx->action) + 16];
    const char *headers[] = {"Content-Type: text/xml; charset=utf-8", action, cookie, NULL};
    struct http_exchange x = {.method = "POST",
                              .url = ctx->route->url,
                              .headers = headers,
                              .body = ctx->request.data,
                              .body_bytes = ctx->request.len,
                              .is_once = is_once(ctx->operation),
                              .reply_max_bytes = reply_limit(ctx)};
    long status = 0;
    int ret = strbuf_check(&ctx->request, "the request to vCenter", &ctx->err);
    (void)snprintf(action, sizeof(action), "SOAPAction: \"%s\"", ctx->action);
    if (!ret && ctx->cookie && !cookie)
        ret = err_set(&ctx->err, ERR_NOMEM, "out of memory");
    if (!ret)
        ret = vim_context_run_exchange(ctx, &x, &status);
    ret = count_failure(ret ? ret : check_reply(ctx, status));
    if (!ret)
        vim_text_mend(ctx->reply.data, &ctx->reply.len);
    return ret == ERR_PROTOCOL ? vim_context_advise(ctx) : ret;
}

/* ---- gSOAP hooks: the context is soap->user ---- */

static SOAP_SOCKET hook_open(struct soap *soap, const char *endpoint, const char *host, int port) {
    struct vim_context *ctx = soap->user;
    (void)endpoint, (void)host, (void)port;
    strbuf_reset(&ctx->request);
    if (ctx->err.code) /* a text that may not be sent */
        return SOAP_INVALID_SOCKET;
    return 1;
}

/* The signature is gSOAP's. */
static int hook_post(struct soap *soap, const char *endpoint, const char *host, int port, const char *path, const char *action,
                     ULONG64 count) {
    (void)soap, (void)endpoint, (void)host, (void)port, (void)path, (void)action, (void)count;
    return SOAP_OK;
}

/* How much of gSOAP's buffer has held something: it is handed over from its beginning. */
static void vim_context_note_used(struct vim_context *ctx, size_t n) {
    if (n > ctx->buf_used)
        ctx->buf_used = n;
}

static int hook_send(struct soap *soap, const char *bytes, size_t n) {
    struct vim_context *ctx = soap->user;
    vim_context_note_used(ctx, n);
    strbuf_add(&ctx->request, bytes, n);
    return SOAP_OK;
}

static int hook_exchange(struct soap *soap) {
    return post_request(soap->user) ? SOAP_EOF : SOAP_OK;
}

/* gSOAP compares each attribute with all names that the answer has had so far, and each prefix with all that are declared around it. Its lists
 * are looked at whenever it wants more bytes, while they are short. */
static int check_decoding(struct vim_context *ctx) {
    const struct vim_route *route = ctx->route;
    unsigned names = 0, prefixes = 0;
    for (const struct soap_attribute *a = ctx->soap->attributes; a; a = a->next)
        names++;
    for (const struct soap_nlist *n = ctx->soap->nlist; n; n = n->next)
        prefixes++;
    if (vim_context_is_canceled(ctx))
        return vim_context_fail_canceled(ctx);
    if (clock_mono_ms() > ctx->decode_until_ms)
        return err_set(&ctx->err, ERR_TIMEOUT, "the answer of %s to %s took too long to read", route->peer, ctx->operation);
    if (names <= KAAS_VIM_XML_ATTRIBUTES_MAX && prefixes <= KAAS_VIM_XML_NAMESPACES_MAX)
        return 0;
    err_set(&ctx->err, ERR_PROTOCOL, "the answer of %s to %s has more attributes or namespaces than any vCenter sends",
            route->peer, ctx->operation);
    return vim_context_advise(ctx);
}

static size_t hook_recv(struct soap *soap, char *out, size_t max) {
    struct vim_context *ctx = soap->user;
    size_t n = ctx->reply.len - ctx->reply_at;
    if (check_decoding(ctx))
        return 0;
    if (n > max)
        n = max;
    if (n > KAAS_VIM_DECODE_STEP_BYTES)
        n = KAAS_VIM_DECODE_STEP_BYTES;
    vim_context_note_used(ctx, n);
    memcpy(out, ctx->reply.data + ctx->reply_at, n);
    ctx->reply_at += n;
    return n;
}

static int hook_nothing(struct soap *soap) {
    (void)soap;
    return SOAP_OK;
}

static int hook_close_socket(struct soap *soap, SOAP_SOCKET socket) {
    (void)soap, (void)socket;
    return SOAP_OK;
}

static int hook_shutdown_socket(struct soap *soap, SOAP_SOCKET socket, int how) {
    (void)soap, (void)socket, (void)how;
    return SOAP_OK;
}

static struct soap *new_soap(struct vim_context *ctx) {
    const soap_mode mode = SOAP_C_UTFSTRING | SOAP_XML_TREE | SOAP_ENC_PLAIN;
    struct soap *soap = soap_new2(mode, mode | SOAP_XML_DEFAULTNS);
    if (!soap)
        return NULL;
    soap->user = ctx;
    soap->namespaces = namespaces; /* of VimBinding.nsmap; libgsoap looks for them, too */
    soap->maxlevel = KAAS_VIM_XML_DEPTH_MAX;
    soap->maxoccurs = KAAS_VIM_OBJECTS_COUNT_MAX;
    soap->fopen = hook_open;
    soap->fpost = hook_post;
    soap->fsend = hook_send;
    soap->fprepareinitrecv = hook_exchange;
    soap->frecv = hook_recv;
    soap->fparse = hook_nothing;
    soap->fclose = hook_nothing;
    soap->fpoll = hook_nothing;
    soap->fclosesocket = hook_close_socket;
    soap->fshutdownsocket = hook_shutdown_socket;
    return soap;
}

/* ---- life ---- */

int vim_context_new(const struct vim_route *route, struct vim_context **out, struct err *err) {
    _cleanup_(vim_context_free) struct vim_context *ctx = calloc(1, sizeof(*ctx));
    if (!ctx)
        return err_set(err, ERR_NOMEM, "out of memory");
    ctx->route = route;
    ctx->operation = "none";
    strbuf_init_secret(&ctx->request, REQUEST_BYTES_MAX);
    strbuf_init_secret(&ctx->reply, KAAS_VIM_REPLY_BYTES_MAX);
    ctx->soap = new_soap(ctx);
    if (!ctx->soap)
        return err_set(err, ERR_NOMEM, "out of memory");
    *out = STEAL(ctx);
    return 0;
}

static void wipe_buffers(struct vim_context *ctx) {
    strbuf_reset(&ctx->request); /* wipes it */
    if (ctx->reply.alloc > REPLY_KEEP_BYTES)
        strbuf_done(&ctx->reply);
    strbuf_reset(&ctx->reply);
    vim_context_note_used(ctx, ctx->soap->bufidx); /* what was written and could not be sent */
    vim_context_note_used(ctx, ctx->soap->buflen);
    secret_wipe(ctx->soap->buf, ctx->buf_used < sizeof(ctx->soap->buf) ? ctx->buf_used : sizeof(ctx->soap->buf));
    ctx->buf_used = 0;
}

void vim_context_reset(struct vim_context *ctx) {
    soap_destroy(ctx->soap);
    soap_end(ctx->soap);
    ctx->soap->header = NULL;
    wipe_buffers(ctx);
    ctx->operation = "none";
    err_clear(&ctx->err);
}

void vim_context_free(struct vim_context *ctx) {
    if (!ctx)
        return;
    if (ctx->soap) {
        vim_context_reset(ctx);
        soap_free(ctx->soap);
    }
    if (ctx->conn)
        ctx->route->transport->close(ctx->conn);
    strbuf_done(&ctx->request);
    strbuf_done(&ctx->reply);
    secret_free(ctx->cookie);
    secret_free(ctx->cookie_seen);
    free(ctx);
}

int vim_context_set_cookie(struct vim_context *ctx, const char *cookie, struct err *err) {
    char *copy = str_dup(cookie);
    if (cookie && !copy)
        return err_set(err, ERR_NOMEM, "out of memory");
    secret_free(ctx->cookie);
    ctx->cookie = copy;
    secret_free(ctx->cookie_seen);
    ctx->cookie_seen = NULL;
    return 0;
}

int vim_context_get(struct vim_context *ctx, const char *url, long *status, struct err *err) {
    struct http_exchange x = {.method = "GET", .url = url, .reply_max_bytes = KAAS_VIM_SMALL_REPLY_BYTES_MAX};
    return vim_context_exchange(ctx, &x, status, err);
}

int vim_context_exchange(struct vim_context *ctx, struct http_exchange *x, long *status, struct err *err) {
    int ret = count_failure(vim_context_run_exchange(ctx, x, status));
    return err_move(err, ret, &ctx->err);
}

/* -- around each SOAP call: putting texts in, turning the outcome into an error ------------------------------------ */

struct soap *vim_call_begin(struct vim_context *ctx, const char *operation) {
    const char *id = log_request_id();
    ctx->operation = operation;
    memset(&ctx->fault, 0, sizeof(ctx->fault));
    (void)snprintf(ctx->action, sizeof(ctx->action), "urn:vim25/%s", ctx->content.version);
    (void)snprintf(ctx->operation_id, sizeof(ctx->operation_id), "%s", id);
    ctx->header.vim25__operationID = ctx->operation_id;
    ctx->soap->header = str_empty(id) || str_has_control(id) ? NULL : &ctx->header;
    return ctx->soap;
}

static int report_fault(struct vim_context *ctx, struct err *err) {
    const struct SOAP_ENV__Fault *fault = ctx->soap->fault;
    struct vim_fault_source source = {0};
    if (fault) {
        source.code = fault->faultcode;
        source.text = fault->faultstring;
    }
    if (fault && fault->detail) {
        source.type = fault->detail->__type;
        source.value = fault->detail->__fault;
        source.any = fault->detail->__any;
    }
    vim_fault_read(&source, &ctx->fault);
    return vim_fault_report(&ctx->fault, ctx->operation, err);
}

static int report_codec(struct vim_context *ctx, int rc, struct err *err) {
    if (rc == SOAP_EOM)
        return err_set(err, ERR_NOMEM, "out of memory while reading the answer of vCenter");
    if (rc == SOAP_LEVEL)
        err_set(err, ERR_PROTOCOL, "the answer of %s to %s is nested too deep", ctx->route->peer, ctx->operation);
    else
        err_set(err, ERR_PROTOCOL, "the answer of %s to %s could not be understood (codec error %d after %zu bytes)",
                ctx->route->peer, ctx->operation, rc, ctx->reply_at);
    return ERR_PROTOCOL;
}

static int outcome_of(struct vim_context *ctx, int rc, struct err *err) {
    if (rc == SOAP_OK)
        return 0;
    if (ctx->err.code)
        return err_move(err, ctx->err.code, &ctx->err);
    return rc == SOAP_FAULT ? report_fault(ctx, err) : report_codec(ctx, rc, err);
}

int vim_call_end(struct vim_context *ctx, int rc, struct err *err) {
    int ret = outcome_of(ctx, rc, err);
    log_event(LOG_LEVEL_DEBUG, "vim_call", "peer", ctx->route->peer, "operation", ctx->operation, "outcome", err_slug(ret),
              "fault", ctx->fault.name[0] ? ctx->fault.name : NULL, NULL);
    return ret;
}

int vim_call_lacks(struct vim_context *ctx, const char *operation, const char *what, struct err *err) {
    return err_set(err, ERR_PROTOCOL, "the answer of %s to %s lacks %s", ctx->route->peer, operation, what);
}

/* XML 1.0 section 2.2: no C0 but tab, LF, CR; no U+FFFE, U+FFFF. */
static bool fits_xml(const char *text, bool allow_lines) {
    const unsigned char *s = (const unsigned char *)text;
    if (str_utf8_chars(text, strlen(text)) < 0 || (!allow_lines && str_has_control(text)))
        return false;
    for (; *s; s++) {
        if (*s < 0x20 && *s != '\t' && *s != '\n' && *s != '\r')
            return false;
        if (s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe)
            return false;
    }
    return true;
}

static bool is_fit(struct vim_context *ctx, const char *text, const char *what, bool allow_lines) {
    if (!text)
        err_set(&ctx->err, ERR_UNPROCESSABLE, "%s is missing", what);
    else if (!fits_xml(text, allow_lines))
        err_set(&ctx->err, ERR_UNPROCESSABLE, "%s holds control characters or is not valid UTF-8", what);
    return !ctx->err.code;
}

static char *vim_context_copy_in(struct vim_context *ctx, const char *text) {
    char *copy = soap_strdup(ctx->soap, text);
    if (!copy)
        err_set(&ctx->err, ERR_NOMEM, "out of memory");
    return copy;
}

char *vim_in_text(struct vim_context *ctx, const char *text, const char *what) {
    return is_fit(ctx, text, what, false) ? vim_context_copy_in(ctx, text) : NULL;
}

char *vim_in_lines(struct vim_context *ctx, const char *text, const char *what) {
    return is_fit(ctx, text, what, true) ? vim_context_copy_in(ctx, text) : NULL;
}

char *vim_in_optional(struct vim_context *ctx, const char *text, const char *what) {
    return text ? vim_in_lines(ctx, text, what) : NULL;
}

char *vim_in_secret(struct vim_context *ctx, const char *text, const char *what) {
    return is_fit(ctx, text, what, false) ? (char *)(uintptr_t)text : NULL;
}

void *vim_in_alloc(struct vim_context *ctx, size_t count, size_t size) {
    void *room;
    size_t bytes;
    if (!count || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    room = soap_malloc(ctx->soap, bytes);
    if (room)
        memset(room, 0, bytes);
    else
        err_set(&ctx->err, ERR_NOMEM, "out of memory");
    return room;
}

char **vim_in_texts(struct vim_context *ctx, const char *const *texts, size_t count, const char *what) {
    char **list = vim_in_alloc(ctx, count, sizeof(*list));
    for (size_t i = 0; list && i < count; i++)
        list[i] = vim_in_lines(ctx, texts[i], what);
    return list;
}

struct vim25__ManagedObjectReference *vim_in_ref(struct vim_context *ctx, const char *type, const char *id) {
    struct vim25__ManagedObjectReference *ref = vim_in_alloc(ctx, 1, sizeof(*ref));
    if (!ref)
        return NULL;
    ref->type = vim_in_text(ctx, type, "type of an object");
    ref->__item = vim_in_text(ctx, id, "id of an object");
    return ref;
}

/* -- the session cookie: reading it from an answer and sending it -------------------------------------------------- */

/* vCenter sends `Set-Cookie: vmware_soap_session="<40 hex>"; Path=/; HttpOnly; Secure;`. The quotes are part of what it takes back
 * most willingly, so the value stays raw (RFC 6265 section 4.1.1 allows them). */

/* RFC 6265 cookie-octet. */
static bool is_cookie_octet(char c) {
    return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

/* Length of the value at `s`, quotes included; 0 if malformed or empty. */
static size_t value_length(const char *s, size_t n) {
    size_t i = 0, quotes = n && s[0] == '"';
    for (i = quotes; i < n && is_cookie_octet(s[i]); i++)
        ;
    if (i == quotes || i > VIM_COOKIE_BYTES_MAX)
        return 0;
    if (!quotes)
        return i == n || s[i] == ';' || s[i] == ' ' ? i : 0;
    return i < n && s[i] == '"' ? i + 1 : 0;
}

char *vim_cookie_of_header(const char *line, size_t n) {
    static const char header[] = "set-cookie:", name[] = VIM_COOKIE_NAME "=";
    size_t i = sizeof(header) - 1, len;
    if (n < i || strncasecmp(line, header, i) != 0)
        return NULL;
    while (i < n && (line[i] == ' ' || line[i] == '\t'))
        i++;
    if (n - i < sizeof(name) || strncmp(line + i, name, sizeof(name) - 1) != 0)
        return NULL;
    i += sizeof(name) - 1;
    len = value_length(line + i, n - i);
    return len ? strndup(line + i, len) : NULL;
}
