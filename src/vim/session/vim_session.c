/* Sessions of other people: proof of who somebody is, and the list of sessions. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_session.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"
#include "vim_client.h"
#include "vim_property.h"

void vim_session_list_done(struct vim_session_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        vim_user_session_done(&list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

/* ---- with a given cookie ---- */

#define COOKIE_CHARS_MIN 16U
#define COOKIE_CHARS_MAX 128U

const char *vim_session_id_in(const char *text, size_t bytes, size_t *id_bytes) {
    const bool is_quoted = bytes >= 2 && text[0] == '"' && text[bytes - 1] == '"';
    *id_bytes = is_quoted ? bytes - 2 : bytes;
    return is_quoted ? text + 1 : text;
}

static bool is_soap_cookie(const char *bare, size_t n) {
    return n == 40 && strspn(bare, "0123456789abcdefABCDEF") >= n;
}

int vim_cookie_check(const char *text, struct err *err) {
    char uuid[UUID_TEXT_BYTES] = "";
    const char *bare;
    size_t n;
    if (str_empty(text))
        return err_set(err, ERR_UNPROCESSABLE, "the session id is empty");
    bare = vim_session_id_in(text, strlen(text), &n);
    if (n == sizeof(uuid) - 1)
        memcpy(uuid, bare, n);
    if (uuid_is_valid(uuid)) {
        err_set(err, ERR_UNPROCESSABLE, "this is the key of a session, which proves nothing; the session's cookie is needed");
        return err_remedy(err, "send the value of the cookie " VIM_COOKIE_NAME " (40 hex digits), or better a clone ticket");
    }
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)bare[i]) && bare[i] != '-' && bare[i] != '_')
            n = 0;
    if (n >= COOKIE_CHARS_MIN && n <= COOKIE_CHARS_MAX)
        return 0;
    err_set(err, ERR_UNPROCESSABLE, "this is not a vCenter session id");
    return err_remedy(err, "send the value of the cookie " VIM_COOKIE_NAME " (40 hex digits), or the id of a REST session");
}

struct peek {
    bool is_found;
    struct vim_user_session session;
};

static int take_current(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property property = {"currentSession", SOAP_TYPE_vim25__UserSession, VIM_MAY_UNSET};
    struct peek *peek = arg;
    const void *value = NULL;
    int ret = vim_property_get(ctx, object, &property, &value, err);
    if (ret || !value)
        return ret;
    vim_user_session_done(&peek->session);
    ret = vim_wire_user_session(value, &peek->session, err);
    peek->is_found = !ret;
    return ret;
}

static int op_peek(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_one one = {"SessionManager", ctx->content.session_manager, "currentSession"};
    return vim_retrieve_one(ctx, &one, take_current, arg, err);
}

static int peek_with(struct vim_client *client, const char *cookie, struct vim_user_session *out, struct err *err) {
    struct peek peek = {0};
    struct err reason = {0};
    struct vim_run run = {.identity = VIM_AS_GIVEN, .cookie = cookie, .fn = op_peek, .arg = &peek};
    int ret = vim_client_run(client, &run, &reason);
    if (!ret && peek.is_found) {
        *out = peek.session;
        return 0;
    }
    vim_user_session_done(&peek.session);
    if (!ret || ret == ERR_CREDENTIALS) {
        ret = err_set(err, ERR_CREDENTIALS, "vCenter %s knows no session with this id", client->peer);
        err_remedy(err, "the session has ended, or belongs to another vCenter: sign in there again");
    }
    return err_move(err, ret, &reason);
}

int vim_peek_session(struct vim_client *client, const char *cookie, struct vim_user_session *out, struct err *err) {
    _cleanup_secret_ char *id = NULL;
    const char *bare;
    size_t n;
    int ret = vim_cookie_check(cookie, err);
    if (ret)
        return ret;
    bare = vim_session_id_in(cookie, strlen(cookie), &n);
    if (is_soap_cookie(bare, n)) /* vCenter itself writes it either way */
        return peek_with(client, cookie, out, err);
    id = str_format("%.*s", (int)n, bare);
    return id ? peek_with(client, id, out, err) : err_set(err, ERR_NOMEM, "out of memory");
}

static enum vim_cookie_form cookie_form_of(const char *cookie) {
    size_t n;
    const char *bare = vim_session_id_in(cookie, strlen(cookie), &n);
    if (vim_cookie_check(cookie, NULL) == ERR_UNPROCESSABLE)
        return n == UUID_TEXT_BYTES - 1 ? VIM_COOKIE_UUID : VIM_COOKIE_OTHER;
    return is_soap_cookie(bare, n) ? VIM_COOKIE_HEX : VIM_COOKIE_OTHER;
}

int vim_peek_own_session(struct vim_client *client, enum vim_cookie_form *form, struct vim_user_session *out, struct err *err) {
    _cleanup_secret_ char *cookie = NULL;
    (void)pthread_mutex_lock(&client->lock);
    cookie = str_dup(client->cookie);
    (void)pthread_mutex_unlock(&client->lock);
    if (!cookie)
        return err_set(err, ERR_NOT_FOUND, "there is no session with vCenter %s", client->peer);
    *form = cookie_form_of(cookie);
    return peek_with(client, cookie, out, err);
}

/* ---- a session of its own, ended at once ---- */

static int op_acquire(struct vim_context *ctx, void *arg, struct err *err) {
    char **ticket = arg;
    VIM_REQUEST(ctx, AcquireCloneTicket, "SessionManager", ctx->content.session_manager);
    int ret = VIM_CALL(ctx, AcquireCloneTicket, &request, &response, err);
    if (ret)
        return ret;
    if (str_empty(response.returnval))
        return vim_call_lacks(ctx, "AcquireCloneTicket", "the ticket", err);
    secret_free(*ticket);
    *ticket = str_dup(response.returnval);
    secret_wipe(response.returnval, strlen(response.returnval));
    return *ticket ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int vim_acquire_clone_ticket(struct vim_client *client, char **out, struct err *err) {
    _cleanup_secret_ char *ticket = NULL;
    int ret = vim_client_run_as_us(client, op_acquire, &ticket, err);
    if (!ret)
        *out = STEAL(ticket);
    return ret;
}

typedef int wire_login_fn(struct vim_context *ctx, void *arg, struct err *err);

struct brief {
    struct vim_client *client;
    struct vim_wire_login login;
    wire_login_fn *log_in;
};

/* Logs in and out on one context. That the session could not be ended does not unsay who it was: it ends by itself after its idle time. */
static int op_brief(struct vim_context *ctx, void *arg, struct err *err) {
    struct brief *brief = arg;
    int ret = brief->log_in(ctx, &brief->login, err);
    if (!ret)
        ret = vim_context_set_cookie(ctx, brief->login.cookie, err);
    if (!ret)
        (void)vim_client_note_session_call(brief->client, vim_wire_logout(ctx, NULL));
    return ret;
}

static int run_brief(struct vim_client *client, struct brief *brief, struct vim_user_session *out, struct err *err) {
    struct vim_run run = {.identity = VIM_AS_NOBODY, .fn = op_brief, .arg = brief};
    int ret;
    brief->client = client;
    ret = vim_client_note_session_call(client, vim_client_run(client, &run, err));
    if (!ret) {
        *out = brief->login.session;
        memset(&brief->login.session, 0, sizeof(brief->login.session));
    }
    vim_wire_login_done(&brief->login);
    return ret;
}

int vim_clone_session(struct vim_client *client, const char *ticket, struct vim_user_session *out, struct err *err) {
    struct brief brief = {.login = {.secret = ticket}, .log_in = vim_wire_clone_session};
    struct err reason = {0};
    int ret = run_brief(client, &brief, out, &reason);
    if (ret == ERR_CREDENTIALS) {
        err_set(err, ret, "vCenter %s does not accept this clone ticket", client->peer);
        err_remedy(err, "a ticket works once, for a short time, and only at the vCenter that gave it: get a new one");
    }
    return err_move(err, ret, &reason);
}

int vim_check_password(struct vim_client *client, const char *user, const char *password, struct vim_user_session *out,
                       struct err *err) {
    struct brief brief = {.login = {.user = user, .secret = password}, .log_in = vim_wire_login_password};
    struct err reason = {0};
    int ret = run_brief(client, &brief, out, &reason);
    if (ret == ERR_UPSTREAM_DENIED) { /* right password, but no permission on any object: vCenter does not let such people in */
        ret = err_set(err, ERR_FORBIDDEN, "this account has no permission in vCenter %s", client->peer);
        err_remedy(err, "ask an administrator of that vCenter for a permission");
    }
    return err_move(err, ret, &reason);
}

/* ---- with our own session ---- */

static int vim_session_take_list(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property property = {"sessionList", SOAP_TYPE_vim25__ArrayOfUserSession, VIM_MAY_UNSET};
    struct vim_session_list *list = arg;
    const struct vim25__ArrayOfUserSession *array;
    const void *value = NULL;
    int ret = vim_property_get(ctx, object, &property, &value, err);
    vim_session_list_done(list);
    array = value;
    if (ret || !array || array->__sizeUserSession <= 0)
        return ret;
    list->items = calloc((size_t)array->__sizeUserSession, sizeof(*list->items));
    if (!list->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (int i = 0; !ret && i < array->__sizeUserSession; i++) {
        if (str_empty(array->UserSession[i].key) || str_empty(array->UserSession[i].userName))
            continue; /* nobody's */
        ret = vim_wire_user_session(&array->UserSession[i], &list->items[list->count], err);
        list->count += !ret;
    }
    return ret;
}

static int vim_session_op_list(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_one one = {"SessionManager", ctx->content.session_manager, "sessionList"};
    return vim_retrieve_one(ctx, &one, vim_session_take_list, arg, err);
}

int vim_list_sessions(struct vim_client *client, struct vim_session_list *out, struct err *err) {
    struct vim_session_list list = {0};
    int ret = vim_client_run_as_us(client, vim_session_op_list, &list, err);
    if (ret)
        vim_session_list_done(&list);
    else
        *out = list;
    return ret;
}

int vim_lookup_session(struct vim_client *client, const char *key, struct vim_user_session *out, struct err *err) {
    _cleanup_done_(vim_session_list_done) struct vim_session_list list = {0};
    int ret = vim_list_sessions(client, &list, err);
    if (ret)
        return ret;
    ret = ERR_NOT_FOUND;
    for (size_t i = 0; i < list.count && ret == ERR_NOT_FOUND; i++)
        if (str_eq(list.items[i].key, key))
            ret = vim_user_session_copy(&list.items[i], out, err);
    return ret == ERR_NOT_FOUND ? err_set(err, ret, "vCenter %s has no session with this key", client->peer) : ret;
}

struct active {
    const char *key, *user_name;
    bool is_active;
};

static int op_is_active(struct vim_context *ctx, void *arg, struct err *err) {
    struct active *active = arg;
    int ret;
    VIM_REQUEST(ctx, SessionIsActive, "SessionManager", ctx->content.session_manager);
    request.sessionID = vim_in_text(ctx, active->key, "the session key");
    request.userName = vim_in_text(ctx, active->user_name, "the user name");
    ret = VIM_CALL(ctx, SessionIsActive, &request, &response, err);
    if (!ret)
        active->is_active = response.returnval == xsd__boolean__true_;
    return ret;
}

int vim_session_is_active(struct vim_client *client, const char *key, const char *user_name, bool *out, struct err *err) {
    struct active active = {.key = key, .user_name = user_name};
    int ret = vim_client_run_as_us(client, op_is_active, &active, err);
    if (!ret)
        *out = active.is_active;
    return ret;
}

static int op_terminate(struct vim_context *ctx, void *arg, struct err *err) {
    const char *key = arg;
    VIM_REQUEST(ctx, TerminateSession, "SessionManager", ctx->content.session_manager);
    request.sessionId = vim_in_texts(ctx, &key, 1, "the session key");
    request.__sizesessionId = 1;
    return VIM_CALL(ctx, TerminateSession, &request, &response, err);
}

int vim_terminate_session(struct vim_client *client, const char *key, struct err *err) {
    char *copy = str_dup(key ? key : "");
    int ret = copy ? vim_client_run_as_us(client, op_terminate, copy, err) : err_set(err, ERR_NOMEM, "out of memory");
    free(copy);
    return ret;
}

/* -- clone tickets for plug-ins of the vSphere Client -------------------------------------------------------------- */

/* POST /api/ui/vcenter/session/clone-ticket (vSphere Automation API; the remote plug-in samples of VMware use it). The address is that
 * of the configured vCenter, never one that came with the request. */

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
static int vim_session_take_ticket(struct vim_context *ctx, struct exchange *x, struct err *err) {
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

static int vim_session_judge(struct vim_context *ctx, struct exchange *x, struct err *err) {
    const char *peer = ctx->route->peer;
    if (x->status == 200)
        return vim_session_take_ticket(ctx, x, err);
    if (x->status == 401 || x->status == 403) {
        (void)err_set(err, ERR_CREDENTIALS, "%s does not know this session id of the vSphere Client", peer);
        return err_remedy(err, "open the page from the vSphere Client of this vCenter anew");
    }
    if (vim_context_judge_front(peer, x->status, err))
        return ERR_UNREACHABLE;
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
        ret = vim_session_judge(ctx, x, err);
    if (ctx->reply.data)
        secret_wipe(ctx->reply.data, ctx->reply.len);
    return ret;
}

int vim_plugin_ticket(struct vim_client *client, const char *session_id, const char *vc_guid, char **out, struct err *err) {
    _cleanup_secret_ char *header = NULL;
    _cleanup_free_ char *url = NULL, *body = NULL;
    struct exchange x = {0};
    struct vim_run run = {.identity = VIM_AS_NOBODY, .is_before_connect = true, .fn = op_ticket, .arg = &x};
    size_t id_bytes;
    int ret = check_id(session_id, err);
    if (ret)
        return ret;
    session_id = vim_session_id_in(session_id, strlen(session_id), &id_bytes);
    header = str_format("vmware-api-session-id: %.*s", (int)id_bytes, session_id);
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

/* -- how a vCenter answers, for the pilot -------------------------------------------------------------------------- */

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
    ret = vim_collect_events(ctx, collector, err);
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
    char *id; /* secret */
};

/* One word that is neither an object nor a page. */
static bool is_rest_id(const char *id, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (id[i] < '!' || id[i] > '~' || strchr("\"\\{}<>", id[i]))
            return false;
    return n && n <= REST_ID_CHARS_MAX;
}

/* The answer is the id and nothing else, in the quotes of a JSON text or bare. */
static int take_id(struct vim_context *ctx, struct rest *rest, struct err *err) {
    size_t n = ctx->reply.len;
    const char *id;
    while (n && strchr(" \r\n\t", ctx->reply.data[n - 1]))
        n--;
    id = vim_session_id_in(ctx->reply.data ? ctx->reply.data : "", n, &n);
    if (!is_rest_id(id, n))
        return err_set(err, ERR_PROTOCOL, "%s answers %s %s with something else than a session id", ctx->route->peer,
                       rest->method, rest->path);
    rest->id = str_format("%.*s", (int)n, id);
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
