/* A vCenter made of canned answers, behind the transport seam of src/vim. For unit tests.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_fake.h"

#include <pthread.h>

#include "str.h"
#include "unit.h"
#include "vim_session.h"

#define ENVELOPE_OPEN                                                                                                            \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<soapenv:Envelope xmlns:soapenc=\"http://schemas.xmlsoap.org/soap/encoding/\" " \
    "xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" "                \
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\n<soapenv:Body>\n"
#define ENVELOPE_CLOSE "\n</soapenv:Body>\n</soapenv:Envelope>"

struct queued {
    struct queued *next;
    char *op, *bytes;
    size_t n;
    long status;
    int error;
};

struct seen {
    struct seen *next;
    char op[64], *text, cookie[256];
    unsigned count;
};

struct fake {
    struct http_transport transport;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct queued *queue;
    struct seen *seen;
    const char *version, *cookie, *expired;
    char action[64];
    unsigned all, at_gate;
    bool is_gate_closed;
    long timeout_ms;
    struct http_client_options options;
};

struct conn {
    struct fake *fake;
    bool is_canceled;
};

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *fmt, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    va_end(args);
    return text;
}

/* ---- the exchange ---- */

static struct queued *take_queued(struct fake *f, const char *op) {
    for (struct queued **at = &f->queue; *at; at = &(*at)->next) {
        struct queued *q = *at;
        if (!strcmp(q->op, op)) {
            *at = q->next;
            return q;
        }
    }
    return NULL;
}

static struct seen *note_seen(struct fake *f, const char *op) {
    struct seen *s = f->seen;
    while (s && strcmp(s->op, op) != 0)
        s = s->next;
    if (!s) {
        s = calloc(1, sizeof(*s));
        assert_non_null(s);
        (void)snprintf(s->op, sizeof(s->op), "%s", op);
        s->next = f->seen;
        f->seen = s;
    }
    s->count++;
    f->all++;
    return s;
}

/* Name of the first element in the SOAP body; of a call of REST the method and the path. */
static void op_of(const struct http_exchange *x, char op[64]) {
    const char *at = x->body ? strstr(x->body, "Body>") : NULL;
    size_t n;
    const char *path = strstr(x->url, "/api/");
    (void)snprintf(op, 64, "versions");
    if (!at && path)
        (void)snprintf(op, 64, "%s %s", x->method, path);
    if (!at)
        return;
    at = strchr(at + 5, '<') + 1;
    n = strcspn(at, " >/");
    if (memchr(at, ':', n)) {
        n -= (size_t)(strchr(at, ':') + 1 - at);
        at = strchr(at, ':') + 1;
    }
    (void)snprintf(op, 64, "%.*s", (int)n, at);
}

static void keep_request(struct fake *f, struct seen *s, const struct http_exchange *x) {
    free(s->text);
    s->text = x->body ? strndup(x->body, x->body_bytes) : NULL;
    s->cookie[0] = '\0';
    for (const char *const *h = x->headers; h && *h; h++) {
        if (!strncmp(*h, "Cookie:", 7) || !strncmp(*h, "vmware-api-session-id:", 22))
            (void)snprintf(s->cookie, sizeof(s->cookie), "%s", *h);
        if (!strncmp(*h, "SOAPAction:", 11))
            (void)snprintf(f->action, sizeof(f->action), "%s", *h);
    }
}

#define SESSION                                                                                                                \
    "<returnval><key>52aaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee</key><userName>VSPHERE.LOCAL\\kaas</userName><fullName>K</fullName>" \
    "<loginTime>2026-01-31T12:00:00.123456Z</loginTime></returnval>"
#define REF(name, type, id) "<" name " type=\"" type "\">" id "</" name ">"

static const char *standard_returnvals(const char *op) {
    if (str_eq(op, "RetrieveServiceContent"))
        return "<returnval>" REF("rootFolder", "Folder", "group-d1") REF("propertyCollector", "PropertyCollector", "pc") REF(
            "viewManager", "ViewManager",
            "vm") "<about><name>VMware vCenter Server</name><fullName>VMware vCenter Server 8.0.3</fullName>"
                  "<version>8.0.3</version><build>24022515</build><apiType>VirtualCenter</apiType><apiVersion>8.0.3.0</apiVersion>"
                  "<instanceUuid>6F1C9A2E-3B57-4D0A-9C11-0A1B2C3D4E5F</instanceUuid></about>" REF(
                      "sessionManager", "SessionManager", "sm") REF("authorizationManager", "AuthorizationManager", "am")
                      REF("extensionManager", "ExtensionManager", "em") "</returnval>";
    if (str_eq(op, "Login") || str_eq(op, "LoginExtensionByCertificate"))
        return SESSION;
    if (str_eq(op, "CurrentTime"))
        return "<returnval>2026-01-31T12:00:00.123456789Z</returnval>";
    if (str_eq(op, "CreatePropertyCollector"))
        return REF("returnval", "PropertyCollector", "session[k]pc");
    if (str_eq(op, "CreateFilter"))
        return REF("returnval", "PropertyFilter", "session[k]filter");
    if (str_eq(op, "Logout") || str_eq(op, "DestroyView") || str_eq(op, "CancelRetrievePropertiesEx") ||
        str_eq(op, "DestroyPropertyCollector") || str_eq(op, "DestroyCollector"))
        return "";
    return NULL;
}

static char *standard_reply(struct fake *f, const char *op) {
    const char *returnvals = standard_returnvals(op);
    if (str_eq(op, "versions"))
        return format("<?xml version=\"1.0\"?><namespaces version=\"1.0\"><namespace><name>urn:vim25</name><version>%s</version>"
                      "<priorVersions><version>6.5</version></priorVersions></namespace></namespaces>",
                      f->version);
    return returnvals ? format(ENVELOPE_OPEN "<%sResponse xmlns=\"urn:vim25\">%s</%sResponse>" ENVELOPE_CLOSE, op, returnvals, op)
                      : NULL;
}

static void send_cookie(struct fake *f, const struct http_exchange *x, const char *op) {
    char *line;
    if (!f->cookie || (!str_eq(op, "Login") && !str_eq(op, "LoginExtensionByCertificate") && !str_eq(op, "CloneSession")))
        return;
    line = format("Set-Cookie: vmware_soap_session=%s; Path=/; HttpOnly; Secure;", f->cookie);
    x->on_header(x->on_header_arg, line, strlen(line));
    free(line);
}

#define NOT_AUTHENTICATED                                                                                               \
    ENVELOPE_OPEN                                                                                                       \
    "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>The session is not authenticated.</faultstring>" \
    "<detail><NotAuthenticatedFault xmlns=\"urn:vim25\" xsi:type=\"NotAuthenticated\"/></detail></soapenv:Fault>" ENVELOPE_CLOSE

static bool is_expired(struct fake *f, const struct http_exchange *x) {
    for (const char *const *h = x->headers; f->expired && h && *h; h++)
        if (!strncmp(*h, "Cookie:", 7) && strstr(*h, f->expired))
            return true;
    return false;
}

/* the lock is held */
static int reply_to(struct fake *f, const char *op, struct strbuf *reply, long *status, struct err *err) {
    struct queued *q = take_queued(f, op);
    char *text = q ? NULL : standard_reply(f, op);
    int ret = 0;
    *status = q ? q->status : 200;
    if (q && q->error)
        ret = err_set(err, q->error, "made to fail");
    else if (q)
        strbuf_add(reply, q->bytes, q->n);
    else if (text)
        strbuf_adds(reply, text);
    else
        ret = err_set(err, ERR_INTERNAL, "no canned answer for %s", op);
    free(text);
    if (q) {
        free(q->op);
        free(q->bytes);
        free(q);
    }
    return ret;
}

static int fake_run(void *arg, const struct http_exchange *x, struct strbuf *reply, long *status, struct err *err) {
    struct conn *conn = arg;
    struct fake *f = conn->fake;
    const char *complaint = x->body && !strstr(x->url, "/api/") ? vim_schema_check(x->body, x->body_bytes) : NULL;
    char op[64];
    int ret;
    op_of(x, op);
    if (complaint)
        fail_msg("request %s: %s\n%.*s", op, complaint, (int)x->body_bytes, (const char *)x->body);
    (void)pthread_mutex_lock(&f->lock);
    keep_request(f, note_seen(f, op), x);
    f->timeout_ms = x->timeout_ms;
    f->at_gate++;
    (void)pthread_cond_broadcast(&f->changed);
    while (f->is_gate_closed && !conn->is_canceled)
        (void)pthread_cond_wait(&f->changed, &f->lock);
    f->at_gate--;
    send_cookie(f, x, op);
    if (conn->is_canceled) {
        ret = err_set(err, ERR_CANCELED, "canceled");
    } else if (is_expired(f, x)) {
        strbuf_adds(reply, NOT_AUTHENTICATED);
        *status = 500;
        ret = 0;
    } else {
        ret = reply_to(f, op, reply, status, err);
    }
    (void)pthread_mutex_unlock(&f->lock);
    return ret;
}

static int fake_open(void *arg, const struct http_client_options *options, void **out, struct err *err) {
    struct conn *conn = calloc(1, sizeof(*conn));
    struct fake *f = arg;
    (void)err;
    assert_non_null(conn);
    conn->fake = f;
    (void)pthread_mutex_lock(&f->lock);
    f->options = *options;
    (void)pthread_mutex_unlock(&f->lock);
    *out = conn;
    return 0;
}

static void fake_cancel(void *arg) {
    struct conn *conn = arg;
    (void)pthread_mutex_lock(&conn->fake->lock);
    conn->is_canceled = true;
    (void)pthread_cond_broadcast(&conn->fake->changed);
    (void)pthread_mutex_unlock(&conn->fake->lock);
}

/* ---- making it ---- */

struct fake *fake_new(void) {
    struct fake *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->transport = (struct http_transport){f, fake_open, fake_run, fake_cancel, free};
    f->version = "8.0.3.0";
    f->cookie = "\"0123456789abcdef0123456789abcdef01234567\"";
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_cond_init(&f->changed, NULL);
    return f;
}

const struct http_transport *fake_transport(struct fake *f) {
    return &f->transport;
}

void fake_free(struct fake *f) {
    if (f->queue)
        fail_msg("an answer to %s was never asked for", f->queue->op);
    for (struct queued *q = f->queue, *next; q; q = next) {
        next = q->next;
        free(q->op);
        free(q->bytes);
        free(q);
    }
    for (struct seen *s = f->seen, *next; s; s = next) {
        next = s->next;
        free(s->text);
        free(s);
    }
    (void)pthread_mutex_destroy(&f->lock);
    (void)pthread_cond_destroy(&f->changed);
    free(f);
}

long fake_timeout_ms(struct fake *f) {
    return f->timeout_ms;
}

struct vim_client *fake_client(struct fake *f) {
    static const uint8_t pin[32] = {1};
    struct vim_options options = {.host = "vc.example.test",
                                  .port = 443,
                                  .pin_sha256 = pin,
                                  .user_agent = "test",
                                  .tunnel_port = 80,
                                  .direct_port = 8089,
                                  .transport = &f->transport};
    struct vim_client *client = NULL;
    struct err err = {0};
    assert_int_equal(vim_client_new(&options, &client, &err), 0);
    return client;
}

static int log_in(struct vim_client *client, void *arg, struct err *err) {
    (void)arg;
    return vim_login_password(client, "kaas@vsphere.local", "pa<ss>&w\xc3\xb6rd", err);
}

struct vim_client *fake_client_logged_in(struct fake *f) {
    struct vim_client *client = fake_client(f);
    struct err err = {0};
    vim_set_login(client, log_in, NULL);
    assert_int_equal(vim_ensure_session(client, &err), 0);
    return client;
}

static void enqueue(struct fake *f, const char *op, struct queued *q) {
    struct queued **end = &f->queue;
    q->op = strdup(op);
    assert_non_null(q->op);
    (void)pthread_mutex_lock(&f->lock);
    while (*end)
        end = &(*end)->next;
    *end = q;
    (void)pthread_mutex_unlock(&f->lock);
}

static void enqueue_text(struct fake *f, const char *op, long status, char *text) {
    struct queued *q = calloc(1, sizeof(*q));
    assert_non_null(q);
    q->bytes = text;
    q->n = strlen(text);
    q->status = status;
    enqueue(f, op, q);
}

void fake_answer(struct fake *f, const char *op, const char *returnvals) {
    enqueue_text(f, op, 200,
                 format(ENVELOPE_OPEN "<%sResponse xmlns=\"urn:vim25\">%s</%sResponse>" ENVELOPE_CLOSE, op, returnvals, op));
}

void fake_fault(struct fake *f, const char *op, const char *detail, const char *text) {
    enqueue_text(f, op, 500,
                 format(ENVELOPE_OPEN "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>%s</faultstring>"
                                      "<detail>%s</detail></soapenv:Fault>" ENVELOPE_CLOSE,
                        text, detail));
}

void fake_raw(struct fake *f, const char *op, long status, const char *bytes, size_t n) {
    struct queued *q = calloc(1, sizeof(*q));
    assert_non_null(q);
    q->n = n ? n : strlen(bytes);
    q->bytes = malloc(q->n + 1);
    assert_non_null(q->bytes);
    memcpy(q->bytes, bytes, q->n);
    q->status = status;
    enqueue(f, op, q);
}

void fake_error(struct fake *f, const char *op, int code) {
    struct queued *q = calloc(1, sizeof(*q));
    assert_non_null(q);
    q->error = code;
    enqueue(f, op, q);
}

void fake_set_version(struct fake *f, const char *version) {
    f->version = version;
}

void fake_set_cookie(struct fake *f, const char *value) {
    f->cookie = value;
}

void fake_expire_cookie(struct fake *f, const char *value) {
    f->expired = value;
}

void fake_close_gate(struct fake *f) {
    (void)pthread_mutex_lock(&f->lock);
    f->is_gate_closed = true;
    (void)pthread_mutex_unlock(&f->lock);
}

void fake_open_gate(struct fake *f) {
    (void)pthread_mutex_lock(&f->lock);
    f->is_gate_closed = false;
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->lock);
}

void fake_wait_at_gate(struct fake *f, unsigned count) {
    (void)pthread_mutex_lock(&f->lock);
    while (f->at_gate < count)
        (void)pthread_cond_wait(&f->changed, &f->lock);
    (void)pthread_mutex_unlock(&f->lock);
}

/* ---- looking at it ---- */

static const struct seen *find_seen(struct fake *f, const char *op) {
    static const struct seen none;
    const struct seen *s;
    (void)pthread_mutex_lock(&f->lock);
    s = f->seen;
    while (s && strcmp(s->op, op) != 0)
        s = s->next;
    (void)pthread_mutex_unlock(&f->lock);
    return s ? s : &none;
}

unsigned fake_count(struct fake *f, const char *op) {
    return find_seen(f, op)->count;
}

unsigned fake_count_all(struct fake *f) {
    return f->all;
}

const char *fake_last(struct fake *f, const char *op) {
    const char *text = find_seen(f, op)->text;
    return text ? text : "";
}

const char *fake_last_cookie(struct fake *f, const char *op) {
    return find_seen(f, op)->cookie;
}

const char *fake_last_action(struct fake *f) {
    return f->action;
}

const struct http_client_options *fake_last_options(struct fake *f) {
    return &f->options;
}

int fake_world_set_up(void **state) {
    struct fake_world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->fake = fake_new();
    w->client = fake_client_logged_in(w->fake);
    *state = w;
    return 0;
}

bool fake_has_session(struct vim_client *client) {
    struct vim_user_session own = {0};
    bool has_one = !vim_get_own_session(client, &own, NULL);
    vim_user_session_done(&own);
    return has_one;
}

int fake_world_tear_down(void **state) {
    struct fake_world *w = *state;
    vim_client_free(w->client);
    fake_free(w->fake);
    free(w);
    return 0;
}
