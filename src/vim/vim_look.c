/* Looking at how a vCenter answers. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_look.h"

#include <stdio.h>
#include <string.h>

#include "secret.h"
#include "str.h"
#include "vim_client.h"
#include "vim_property.h"
#include "vim_session.h"

/* ---- pages ---- */

static void note_machine(const struct vim25__ObjectContent *object, struct vim_page *page) {
    if (page->moref[0] || !object->obj || str_empty(object->obj->__item))
        return;
    for (int i = 0; i < object->__sizepropSet; i++)
        if (object->propSet[i].__type == SOAP_TYPE_string && object->propSet[i].val) {
            (void)snprintf(page->moref, sizeof(page->moref), "%s", object->obj->__item);
            (void)snprintf(page->instance_uuid, sizeof(page->instance_uuid), "%s", (const char *)object->propSet[i].val);
            return;
        }
}

static void cancel_pages(struct vim_context *ctx, const char *token) {
    VIM_REQUEST(ctx, CancelRetrievePropertiesEx, "PropertyCollector", ctx->content.property_collector);
    request.token = vim_in_lines(ctx, token, "the page token");
    (void)VIM_CALL(ctx, CancelRetrievePropertiesEx, &request, &response, NULL); /* simulators do not know this call */
}

static int read_page(struct vim_context *ctx, const char *view, struct vim_page *page, struct err *err) {
    static const char *const paths[] = {"config.instanceUuid", NULL};
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, "ContainerView", view, 1);
    struct vim25__RetrieveOptions options = {0};
    _cleanup_free_ char *token = NULL;
    int ret;
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_in_paths(ctx, &spec->propSet[0], "VirtualMachine", paths);
    vim_in_view(ctx, &spec->objectSet[0], NULL);
    VIM_REQUEST(ctx, RetrievePropertiesEx, "PropertyCollector", ctx->content.property_collector, .__sizespecSet = 1,
                .specSet = spec, .options = &options);
    ret = VIM_CALL(ctx, RetrievePropertiesEx, &request, &response, err);
    if (ret || !response.returnval)
        return ret;
    page->count = (size_t)response.returnval->__sizeobjects;
    page->has_more = response.returnval->token != NULL;
    for (int i = 0; i < response.returnval->__sizeobjects; i++)
        note_machine(&response.returnval->objects[i], page);
    token = str_dup(response.returnval->token);
    if (token)
        cancel_pages(ctx, token);
    return 0;
}

static int op_page(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const types[] = {"VirtualMachine", NULL};
    char view[VIM_VIEW_BYTES];
    int ret = vim_create_view(ctx, types, view, err);
    if (ret)
        return ret;
    memset(arg, 0, sizeof(struct vim_page));
    ret = read_page(ctx, view, arg, err);
    vim_destroy_view(ctx, view);
    return ret;
}

int vim_look_at_page(struct vim_client *client, struct vim_page *out, struct err *err) {
    struct vim_page page = {0};
    int ret = vim_client_run_as_us(client, op_page, &page, err);
    if (!ret)
        *out = page;
    return ret;
}

/* ---- events ---- */

static int count_events(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property property = {"latestPage", SOAP_TYPE_vim25__ArrayOfEvent, VIM_MAY_UNSET};
    const void *value = NULL;
    int ret = vim_property_get(ctx, object, &property, &value, err);
    if (!ret)
        *(size_t *)arg = value ? (size_t)((const struct vim25__ArrayOfEvent *)value)->__sizeEvent : 0;
    return ret;
}

static void vim_look_destroy_collector(struct vim_context *ctx, const char *collector) {
    struct vim_fault fault = ctx->fault;
    if (ctx->err.code) /* no connection */
        return;
    VIM_REQUEST(ctx, DestroyCollector, "EventHistoryCollector", collector);
    (void)VIM_CALL(ctx, DestroyCollector, &request, &response, NULL);
    ctx->fault = fault;
}

static int op_events(struct vim_context *ctx, void *arg, struct err *err) {
    char collector[VIM_VIEW_BYTES];
    struct vim_one one = {"EventHistoryCollector", collector, "latestPage"};
    int ret;
    if (!ctx->content.event_manager[0])
        return err_set(err, ERR_UPSTREAM, "%s tells no manager of events", ctx->route->peer);
    ret = vim_collect_permission_events(ctx, collector, err);
    if (ret)
        return ret;
    ret = vim_retrieve_one(ctx, &one, count_events, arg, err);
    vim_look_destroy_collector(ctx, collector);
    return ret;
}

int vim_look_at_events(struct vim_client *client, size_t *count, struct err *err) {
    size_t n = 0;
    int ret = vim_client_run_as_us(client, op_events, &n, err);
    if (!ret)
        *count = n;
    return ret;
}

/* ---- REST, and pages ---- */

#define REST_REPLY_BYTES_MAX 16384U
#define REST_ID_CHARS_MAX 128U

/* One exchange with another interface of the same host. */
struct rest {
    const char *method, *path, *header; /* header: NULL for none */
    const char *operation;              /* for metrics; static */
    bool is_once, is_id_wanted;
    size_t reply_bytes_max;
    long status;
    char *id; /* secret; what stood in quotes */
};

/* The answer is a JSON text and nothing else: "0a1b...". */
static int take_id(struct vim_context *ctx, struct rest *rest, struct err *err) {
    const char *text = ctx->reply.data;
    size_t n = ctx->reply.len;
    while (n && strchr(" \r\n\t", text[n - 1]))
        n--;
    if (n < 3 || n > REST_ID_CHARS_MAX + 2 || text[0] != '"' || text[n - 1] != '"' || memchr(text + 1, '"', n - 2) ||
        memchr(text, '\\', n))
        return err_set(err, ERR_PROTOCOL, "%s answers %s %s with something else than a session id", ctx->route->peer,
                       rest->method, rest->path);
    rest->id = str_format("%.*s", (int)(n - 2), text + 1);
    return rest->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int op_rest(struct vim_context *ctx, void *arg, struct err *err) {
    struct rest *rest = arg;
    const char *const headers[] = {"Accept: */*", rest->header, NULL};
    _cleanup_free_ char *url = str_format("https://%s%s", ctx->route->peer, rest->path);
    struct http_exchange http = {.method = rest->method,
                                 .url = url,
                                 .headers = headers,
                                 .is_once = rest->is_once,
                                 .reply_max_bytes = rest->reply_bytes_max};
    int ret;
    if (!url)
        return err_set(err, ERR_NOMEM, "out of memory");
    ctx->operation = rest->operation;
    ret = vim_context_exchange(ctx, &http, &rest->status, err);
    if (!ret && rest->is_id_wanted && rest->status / 100 == 2)
        ret = take_id(ctx, rest, err);
    if (ctx->reply.data)
        secret_wipe(ctx->reply.data, ctx->reply.len);
    return ret;
}

static int run_rest(struct vim_client *client, struct rest *rest, struct err *err) {
    struct vim_run run = {.identity = VIM_AS_NOBODY, .is_before_connect = true, .fn = op_rest, .arg = rest};
    return vim_client_run(client, &run, err);
}

static char *basic_header(const char *user, const char *password) {
    _cleanup_strbuf_ struct strbuf pair, header;
    strbuf_init_secret(&pair, 4096);
    strbuf_init_secret(&header, 8192);
    strbuf_addf(&pair, "%s:%s", user, password);
    strbuf_adds(&header, "Authorization: Basic ");
    str_base64(&header, (const uint8_t *)pair.data, pair.len);
    for (size_t n = pair.len; n % 3; n++) /* RFC 7617 takes base64 with padding */
        strbuf_addc(&header, '=');
    return pair.failed ? NULL : strbuf_steal(&header);
}

int vim_look_at_rest_session(struct vim_client *client, const char *user, const char *password, struct vim_user_session *out,
                             struct err *err) {
    _cleanup_secret_ char *basic = basic_header(user, password), *given = NULL, *id = NULL;
    struct rest login = {.method = "POST",
                         .path = "/api/session",
                         .header = basic,
                         .operation = "rest.login",
                         .is_once = true,
                         .is_id_wanted = true,
                         .reply_bytes_max = REST_REPLY_BYTES_MAX};
    struct rest logout = {
        .method = "DELETE", .path = login.path, .operation = "rest.logout", .reply_bytes_max = REST_REPLY_BYTES_MAX};
    int ret;
    if (!basic)
        return err_set(err, ERR_NOMEM, "out of memory");
    ret = run_rest(client, &login, err);
    if (ret)
        return ret;
    id = login.id;
    if (login.status == 404)
        return err_set(err, ERR_NOT_FOUND, "%s has no POST /api/session (404)", client->peer);
    if (!id)
        return err_set(err, ERR_UPSTREAM, "%s answers HTTP %ld to POST /api/session", client->peer, login.status);
    ret = vim_peek_session(client, id, out, err);
    given = str_format("vmware-api-session-id: %s", id);
    logout.header = given;
    if (given)
        (void)run_rest(client, &logout, NULL);
    return ret;
}

#define PAGE_REPLY_BYTES_MAX (4UL * 1024 * 1024)

int vim_look_at_path(struct vim_client *client, const char *path, long *status, struct err *err) {
    struct rest rest = {.method = "GET", .path = path, .operation = "page", .reply_bytes_max = PAGE_REPLY_BYTES_MAX};
    int ret = run_rest(client, &rest, err);
    if (!ret)
        *status = rest.status;
    return ret;
}
