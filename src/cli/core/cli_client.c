/* The REST interface of kaasd as kaasctl uses it. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_client.h"

#include <config.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "clock.h"
#include "fsutil.h"
#include "http_client.h"
#include "limits.h"
#include "secret.h"
#include "str.h"

#define CONNECT_TIMEOUT_MS 10000
#define CALL_TIMEOUT_MS 180000 /* longer than any call of kaasd to a vCenter: the answer is kaasd's to give */
#define LOGOUT_TIMEOUT_MS 3000
#define REQUEST_BYTES_MAX (4U * 1024U * 1024U)
#define CA_BYTES_MAX (4U * 1024U * 1024U)
#define PATH_BYTES_MAX 8192U
#define PAGE_MAX ((size_t)500)
#define SIGN_IN_TRIES 30U     /* where others of the same account sign in all the time */
#define SIGN_IN_WAIT_MAX_S 5U /* longer ones are for a person to know of */
#define STALE_BYTES 64
#define AUTHORIZATION "Authorization: Bearer "
#define COOKIE_BYTES 128
#define COOKIE_NAME "__Host-kaas="
#define SID_PART_BYTES 4096
#define SYSTEM_CA_FILE "/etc/ssl/certs/ca-certificates.crt"

struct cli_client {
    struct http_client *http;
    char *base; /* "https://host:port", without a slash at the end */
    char *unix_socket;
    int64_t ends_at_ms;       /* 0: none */
    char *authorization;      /* header line with the token */
    int64_t token_ends_at_ms; /* by this machine's clock */
    char session_expires_at[CLOCK_RFC3339_BYTES];
    bool is_kept;        /* the session goes on when this ends */
    cli_renew_fn *renew; /* NULL: a token that is refused stays refused */
    void *renew_arg;
    json_t *problem;
    char cookie[COOKIE_BYTES]; /* Set-Cookie of the last answer. A secret */
    char stale[STALE_BYTES];   /* KaaS-Stale of the last answer */
    unsigned retry_after_s;    /* of the last answer; 0: it did not say so */
};

static bool cli_client_is_plain(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

void cli_path_add(struct strbuf *path, const char *part) {
    for (; *part; part++) {
        if (cli_client_is_plain((unsigned char)*part))
            strbuf_addc(path, *part);
        else
            strbuf_addf(path, "%%%02X", (unsigned)(unsigned char)*part);
    }
}

void cli_path_add_query(struct strbuf *path, const char *name, const char *value) {
    if (!value)
        return;
    strbuf_addf(path, "%c%s=", strchr(path->data, '?') ? '&' : '?', name);
    cli_path_add(path, value);
}

static int cli_client_check_server(const char *server, struct err *err) {
    const char *host = str_starts(server, "https://") ? server + 8 : NULL;
    if (host && *host && !strpbrk(host, " @?#\r\n\t") && (!strchr(host, '/') || str_eq(strchr(host, '/'), "/")))
        return 0;
    (void)err_set(err, ERR_INVALID, "the address of the server is not usable");
    return err_remedy(err, "give it as https://HOST:PORT");
}

static int cli_client_read_ca(const char *path, struct strbuf *out, struct err *err) {
    struct err why = {0};
    if (!fs_read_text(path ? path : SYSTEM_CA_FILE, out, &why))
        return 0;
    (void)err_set(err, ERR_IO, "%s", why.text);
    return err_remedy(err, "give the CA of the server's certificate with --ca-file FILE");
}

static int cli_client_make_http(struct cli_client *client, const struct cli_client_options *o, struct err *err) {
    _cleanup_strbuf_ struct strbuf ca;
    struct http_client_options options = {
        .unix_socket = o->unix_socket, .user_agent = "kaasctl/" PACKAGE_VERSION, .connect_timeout_ms = CONNECT_TIMEOUT_MS};
    int rc;
    strbuf_init(&ca, CA_BYTES_MAX);
    rc = o->unix_socket || (!o->ca_file && o->ca_pem) ? 0 : cli_client_read_ca(o->ca_file, &ca, err);
    if (rc)
        return rc;
    if (!o->unix_socket)
        options.trust.ca_pem = ca.len ? ca.data : o->ca_pem;
    return http_client_new(&options, &client->http, err);
}

int cli_client_new(const struct cli_client_options *options, struct cli_client **out, struct err *err) {
    _cleanup_(cli_client_free) struct cli_client *client = calloc(1, sizeof(*client));
    int rc = options->unix_socket ? 0 : cli_client_check_server(options->server, err);
    if (rc)
        return rc;
    if (!client)
        return err_set(err, ERR_NOMEM, "out of memory");
    client->base = str_dup(options->unix_socket ? "http://localhost" : options->server);
    client->unix_socket = str_dup(options->unix_socket);
    client->ends_at_ms = options->ends_at_ms;
    if (!client->base || (options->unix_socket && !client->unix_socket))
        return err_set(err, ERR_NOMEM, "out of memory");
    if (str_ends(client->base, "/"))
        client->base[strlen(client->base) - 1] = 0;
    rc = cli_client_make_http(client, options, err);
    if (!rc)
        *out = STEAL(client);
    return rc;
}

void cli_client_free(struct cli_client *client) {
    if (!client)
        return;
    if (client->ends_at_ms) /* the session is to end none the less */
        client->ends_at_ms = clock_mono_ms() + LOGOUT_TIMEOUT_MS;
    if (client->authorization && !client->is_kept)
        (void)cli_client_call(client, &(struct cli_request){.method = "POST", .path = "/v2/logout"}, NULL, NULL);
    secret_free(client->authorization);
    secret_wipe(client->cookie, sizeof(client->cookie));
    http_client_free(client->http);
    json_decref(client->problem);
    free(client->base);
    free(client->unix_socket);
    free(client);
}

/* What may be sent twice, and changes nothing. */
static bool cli_client_is_read(const struct cli_request *request) {
    return str_eq(request->method, "GET");
}

/* -- errors --------------------------------------------------------------------------------------------------------------- */

/* Why the socket does not answer is better told by looking at it. */
static int cli_client_no_socket(const struct cli_client *client, struct err *err) {
    const char *path = client->unix_socket;
    if (access(path, F_OK) && errno != EACCES)
        (void)err_set(err, ERR_UNAVAILABLE, "kaasd is not running: there is no admin socket %s", path);
    else if (access(path, W_OK) && errno == EACCES)
        (void)err_set(err, ERR_FORBIDDEN, "you may not use the admin socket %s", path);
    else
        (void)err_set(err, ERR_UNAVAILABLE, "kaasd does not answer on its admin socket %s", path);
    if (err && err->code == ERR_FORBIDDEN)
        return err_remedy(err, "run this as root or as the user of the service, or use --server URL --user NAME");
    return err_remedy(err, "start kaasd and look at its log, or give its configuration with --config FILE");
}

/* The server had the request, or part of it: nobody knows what became of it. */
static int cli_client_no_word(const struct cli_client *client, const struct err *why, struct err *err) {
    if (client->unix_socket)
        (void)err_set(err, ERR_UNAVAILABLE, "kaasd took the request and %s: it may have been done, or not",
                      why->code == ERR_TIMEOUT ? "does not answer" : "went away before it answered");
    else
        (void)err_set(err, ERR_UNAVAILABLE, "%s; the request was sent: it may have been done, or not", why->text);
    return err_remedy(err, "look whether it was done before you repeat it");
}

static int cli_client_no_answer(const struct cli_client *client, const struct cli_request *request, const struct err *why,
                                struct err *err) {
    const bool is_lost = why->code == ERR_UNREACHABLE || why->code == ERR_PROTOCOL || why->code == ERR_TIMEOUT;
    if (is_lost && !cli_client_is_read(request) && http_client_has_sent(client->http))
        return cli_client_no_word(client, why, err);
    if (client->unix_socket && (why->code == ERR_UNREACHABLE || why->code == ERR_PROTOCOL))
        return cli_client_no_socket(client, err);
    (void)err_set(err, why->code == ERR_NOMEM ? ERR_NOMEM : ERR_UNAVAILABLE, "%s", why->text);
    if (why->code == ERR_TLS)
        return err_remedy(err, "give the CA of the server's certificate with --ca-file FILE");
    return why->remedy[0] ? err_remedy(err, "%s", why->remedy) : ERR_UNAVAILABLE;
}

/* The server speaks to programs; here the same is said to a person with kaasctl. Caller frees; NULL without memory. */
static char *cli_client_for_people(const char *text) {
    static const struct {
        const char *call, *command;
    } words[] = {
        {"GET /v2/hx-clusters", "kaasctl hx list"},
        {"GET /v2/vcenters", "kaasctl vcenter list"},
        {"GET /v2/clusters", "kaasctl cluster list"},
        {"GET /v2/health", "kaasctl health"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        const char *at = strstr(text, words[i].call);
        if (at)
            return str_format("%.*s%s%s", (int)(at - text), text, words[i].command, at + strlen(words[i].call));
    }
    return str_dup(text);
}

/* The server's words, with its code. */
static int cli_client_from_problem(const json_t *problem, long status, struct err *err) {
    const char *slug = json_get_string(problem, "code"), *detail = json_get_string(problem, "detail");
    const char *remedy = json_get_string(problem, "remedy"), *id = json_get_string(problem, "request_id");
    int code = slug ? err_code_of_slug(slug) : ERR_PROTOCOL;
    _cleanup_free_ char *spoken = NULL;
    if (!slug || !detail)
        return err_set(err, ERR_PROTOCOL, "HTTP status %ld came without an explanation; is this kaasd?", status);
    (void)err_set(err, code, "%s", detail);
    if (code == ERR_INTERNAL)
        return err_remedy(err, "look into the log of kaasd for request_id=%s", id ? id : "?");
    spoken = remedy ? cli_client_for_people(remedy) : NULL;
    return spoken ? err_remedy(err, "%s", spoken) : code;
}

/* -- calls ---------------------------------------------------------------------------------------------------------------- */

static int cli_client_judge(struct cli_client *client, const struct cli_request *request, const struct strbuf *text, long status,
                            json_t **out, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    if (request->reply && status / 100 == 2) {
        strbuf_add(request->reply, text->data, text->len);
        return strbuf_check(request->reply, "the answer", err);
    }
    if (text->len && json_parse(text->data, text->len, &answer, NULL))
        return err_set(err, ERR_PROTOCOL, "the answer (HTTP status %ld) is not JSON; is this kaasd?", status);
    if (status / 100 != 2) {
        client->problem = STEAL(answer);
        return cli_client_from_problem(client->problem, status, err);
    }
    if (!answer && cli_client_is_read(request) && !request->watch_cursor)
        return err_set(err, ERR_PROTOCOL, "the answer is empty; is this kaasd?");
    if (out)
        *out = STEAL(answer);
    return 0;
}

/* What the header fields of an answer are for. */
struct cli_client_noting {
    struct cli_client *client;
    char *watch_cursor; /* or NULL */
};

/* Takes the value if the line is that field. Names come in any case, over HTTP/2 proxies in lower case. */
static void cli_client_note_field(const char *line, size_t n, const char *name, char *out, size_t bytes) {
    const size_t skip = strlen(name);
    if (n <= skip || strncasecmp(line, name, skip) != 0)
        return;
    line += skip + (line[skip] == ' ');
    n -= skip + (line[-1] == ' ');
    if (n < bytes)
        (void)snprintf(out, bytes, "%.*s", (int)n, line);
}

static void cli_client_note_header(void *arg, const char *line, size_t n) {
    const struct cli_client_noting *noting = arg;
    char wait[16] = "";
    int64_t seconds = 0;
    if (noting->watch_cursor)
        cli_client_note_field(line, n, "KaaS-Watch-Cursor:", noting->watch_cursor, CLI_CURSOR_BYTES);
    cli_client_note_field(line, n, "Set-Cookie:", noting->client->cookie, COOKIE_BYTES);
    cli_client_note_field(line, n, "KaaS-Stale:", noting->client->stale, STALE_BYTES);
    cli_client_note_field(line, n, "Retry-After:", wait, sizeof(wait));
    if (*wait && str_to_i64(wait, 0, UINT16_MAX, &seconds))
        noting->client->retry_after_s = (unsigned)seconds;
}

bool cli_client_is_out_of_time(const struct cli_client *client) {
    return client->ends_at_ms && clock_mono_ms() >= client->ends_at_ms;
}

static long cli_client_time_left(const struct cli_client *client) {
    const int64_t left = client->ends_at_ms ? client->ends_at_ms - clock_mono_ms() : CALL_TIMEOUT_MS;
    return left < CALL_TIMEOUT_MS ? (long)left : CALL_TIMEOUT_MS;
}

static int cli_client_send_request(struct cli_client *client, const struct cli_request *request, const struct strbuf *body,
                                   struct strbuf *reply, long *status, struct err *err) {
    _cleanup_free_ char *url = str_format("%s%s", client->base, request->path), *type = NULL;
    const char *headers[8] = {"Accept: application/json, application/problem+json", "X-KaaS: 1"};
    struct cli_client_noting noting = {.client = client, .watch_cursor = request->watch_cursor};
    struct http_exchange exchange = {.method = request->method,
                                     .url = url,
                                     .headers = headers,
                                     .body = body->data,
                                     .body_bytes = body->len,
                                     .timeout_ms = cli_client_time_left(client),
                                     .reply_max_bytes = KAAS_JSON_REPLY_BYTES_MAX,
                                     .is_once = !cli_client_is_read(request),
                                     .on_header = cli_client_note_header,
                                     .on_header_arg = &noting};
    struct err why = {0};
    size_t n = 2;
    if (!url)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (request->text || request->body)
        type = str_format("Content-Type: %s", request->text             ? request->text_type
                                              : request->is_merge_patch ? "application/merge-patch+json"
                                                                        : "application/json");
    headers[n] = type;
    n += type != NULL;
    if (client->authorization)
        headers[n++] = client->authorization;
    for (const char *const *more = request->headers; more && *more && n + 1 < ARRAY_COUNT(headers); more++)
        headers[n++] = *more;
    return http_client_run(client->http, &exchange, reply, status, &why) ? cli_client_no_answer(client, request, &why, err) : 0;
}

static int cli_client_call_once(struct cli_client *client, const struct cli_request *request, json_t **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf body, reply;
    long status = 0;
    int rc;
    strbuf_init_secret(&body, REQUEST_BYTES_MAX);          /* may hold a password; */
    strbuf_init_secret(&reply, KAAS_JSON_REPLY_BYTES_MAX); /* or a token */
    if (cli_client_is_out_of_time(client))
        return err_set(err, ERR_UNAVAILABLE, "the time of --timeout is over");
    json_decref(client->problem);
    client->problem = NULL;
    client->stale[0] = 0;
    client->cookie[0] = 0;
    client->retry_after_s = 0;
    rc = request->body ? json_write(request->body, &body, err) : 0;
    if (rc)
        return rc;
    rc = cli_client_send_request(client, request, request->text ? request->text : &body, &reply, &status, err);
    return rc ? rc : cli_client_judge(client, request, &reply, status, out, err);
}

/* What was refused for its token was not done, so that it may be sent again. */
int cli_client_call(struct cli_client *client, const struct cli_request *request, json_t **out, struct err *err) {
    cli_renew_fn *const renew = client->renew;
    struct err why = {0};
    int rc = cli_client_call_once(client, request, out, &why);
    if (!renew || (rc != ERR_UNAUTHENTICATED && rc != ERR_TOKEN_EXPIRED && rc != ERR_SESSION_ENDED))
        return rc ? err_move(err, rc, &why) : 0;
    client->renew = NULL; /* it makes calls, too */
    rc = renew(client->renew_arg, err);
    rc = rc ? rc : cli_client_call_once(client, request, out, err);
    client->renew = renew;
    return rc;
}

/* One page of at most `wanted` items; *cursor is replaced by that of the next one, NULL at the end. */
static int cli_client_take_page(struct cli_client *client, const char *path, size_t wanted, char **cursor, json_t *items,
                                struct err *err) {
    _cleanup_strbuf_ struct strbuf full;
    _cleanup_json_ json_t *page = NULL;
    char limit[8];
    const char *next;
    int rc;
    (void)snprintf(limit, sizeof(limit), "%zu", wanted < PAGE_MAX ? wanted : PAGE_MAX);
    strbuf_init(&full, PATH_BYTES_MAX);
    strbuf_adds(&full, path);
    cli_path_add_query(&full, "limit", limit);
    cli_path_add_query(&full, "cursor", *cursor);
    rc = strbuf_check(&full, "the address", err);
    if (rc)
        return rc;
    rc = cli_client_call(client, &(struct cli_request){.method = "GET", .path = full.data}, &page, err);
    if (rc)
        return rc;
    if (!json_is_array(json_object_get(page, "items")) || json_array_extend(items, json_object_get(page, "items")))
        return err_set(err, ERR_PROTOCOL, "the answer is not a list");
    next = json_get_string(page, "next_cursor");
    free(*cursor);
    *cursor = str_dup(next);
    return next && !*cursor ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

int cli_client_list(struct cli_client *client, const char *path, size_t wanted, json_t **items, bool *is_more, struct err *err) {
    _cleanup_json_ json_t *all = json_array();
    _cleanup_free_ char *cursor = NULL;
    do {
        int rc = cli_client_take_page(client, path, wanted - json_array_size(all), &cursor, all, err);
        if (rc)
            return rc;
    } while (cursor && json_array_size(all) < wanted);
    *is_more = cursor != NULL;
    *items = STEAL(all);
    return 0;
}

const json_t *cli_client_problem(const struct cli_client *client) {
    return client ? client->problem : NULL;
}

/* -- sign-on -------------------------------------------------------------------------------------------------------------- */

/* The id of the session, which the token is of: a claim of it. It is only sent back, so that the signature need not be looked at. */
static void cli_client_put_session(const char *token, json_t *login) {
    const char *begin = strchr(token, '.'), *end = begin ? strchr(begin + 1, '.') : NULL;
    uint8_t text[SID_PART_BYTES];
    _cleanup_json_ json_t *claims = NULL;
    long n = end ? str_unbase64url(begin + 1, (size_t)(end - begin - 1), text, sizeof(text)) : -1;
    if (n > 0 && !json_parse((const char *)text, (size_t)n, &claims, NULL))
        json_put_string(login, "session_id", json_get_string(claims, "sid"));
}

static void cli_client_put_token(const struct cli_client *client, json_t *login) {
    const char *token = client->authorization + strlen(AUTHORIZATION);
    json_wipe_string(json_object_get(login, "token"));
    json_put_string(login, "token", token);
    json_put_int(login, "token_ends_at_ms", client->token_ends_at_ms);
    json_put_string(login, "session_expires_at", client->session_expires_at);
    cli_client_put_session(token, login);
}

/* The refresh token is a cookie's value; without one the session goes on for as long as the token does. */
static void cli_client_put_refresh(struct cli_client *client, json_t *login) {
    char *value = client->cookie + strlen(COOKIE_NAME);
    json_wipe_string(json_object_get(login, "refresh_token"));
    (void)json_object_del(login, "refresh_token");
    if (!str_starts(client->cookie, COOKIE_NAME))
        return;
    value[strcspn(value, ";")] = 0;
    if (*value)
        json_put_string(login, "refresh_token", value);
}

static int cli_client_take_token(struct cli_client *client, json_t *answer, struct err *err) {
    const char *token = json_get_string(answer, "access_token"), *end = json_get_string(answer, "session_expires_at");
    char *line = token ? str_format(AUTHORIZATION "%s", token) : NULL;
    json_wipe_string(json_object_get(answer, "access_token"));
    if (!line)
        return err_set(err, ERR_PROTOCOL, "the answer to the sign-on holds no token");
    secret_free(client->authorization);
    client->authorization = line;
    client->token_ends_at_ms = clock_wall_ms() + 1000 * json_get_int(answer, "expires_in", 0);
    (void)snprintf(client->session_expires_at, sizeof(client->session_expires_at), "%s", end ? end : "");
    return 0;
}

int cli_client_renew(struct cli_client *client, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    int rc = 0;
    if (!client->authorization)
        return 0;
    rc = cli_client_call(client, &(struct cli_request){.method = "POST", .path = "/v2/token/refresh"}, &answer, err);
    return rc ? rc : cli_client_take_token(client, answer, err);
}

/* Commands of a script come faster than one may sign in for long: then each waits for its turn. */
static bool cli_client_waits_for_turn(const struct cli_client *client, int rc, unsigned tries) {
    const bool is_soon = client->retry_after_s > 0 && client->retry_after_s <= SIGN_IN_WAIT_MAX_S;
    if (rc != ERR_TOO_MANY || !is_soon || tries == SIGN_IN_TRIES || cli_client_is_out_of_time(client))
        return false;
    (void)sleep(client->retry_after_s);
    return true;
}

int cli_client_sign_in(struct cli_client *client, const struct cli_account *account, struct err *err) {
    _cleanup_json_ json_t *body = json_object(), *answer = NULL;
    struct cli_request request = {.method = "POST", .path = "/v2/login/password", .body = body};
    struct err why = {0};
    unsigned tries = 0;
    int rc;
    json_put_string(body, "username", account->user);
    json_put_string(body, "password", account->password);
    json_put_string(body, "source", account->source);
    do {
        err_clear(&why);
        rc = cli_client_call(client, &request, &answer, &why);
    } while (cli_client_waits_for_turn(client, rc, ++tries));
    json_wipe_string(json_object_get(body, "password"));
    return rc ? err_move(err, rc, &why) : cli_client_take_token(client, answer, err);
}

/* -- a login that is kept --------------------------------------------------------------------------------------------------- */

int cli_client_keep(struct cli_client *client, json_t *login, struct err *err) {
    int rc = cli_client_call(client, &(struct cli_request){.method = "POST", .path = "/v2/session/cookie"}, NULL, err);
    if (rc)
        return rc;
    cli_client_put_refresh(client, login);
    cli_client_put_token(client, login);
    client->is_kept = true;
    return 0;
}

int cli_client_use(struct cli_client *client, const json_t *login, struct err *err) {
    char *line = str_format(AUTHORIZATION "%s", json_get_string(login, "token"));
    if (!line)
        return err_set(err, ERR_NOMEM, "out of memory");
    secret_free(client->authorization);
    client->authorization = line;
    client->is_kept = true;
    return 0;
}

/* A call with the refresh token in place of the token. */
static int cli_client_call_by_refresh(struct cli_client *client, const char *path, const json_t *login, json_t **answer,
                                      struct err *err) {
    const char *refresh = json_get_string(login, "refresh_token"), *sid = json_get_string(login, "session_id");
    _cleanup_secret_ char *cookie = str_format("Cookie: " COOKIE_NAME "%s", refresh ? refresh : "");
    _cleanup_free_ char *replaces = sid ? str_format("KaaS-Replaces: %s", sid) : NULL;
    const char *headers[] = {cookie, replaces, NULL};
    if (!cookie)
        return err_set(err, ERR_NOMEM, "out of memory");
    secret_free(client->authorization);
    client->authorization = NULL;
    return cli_client_call(client, &(struct cli_request){.method = "POST", .path = path, .headers = headers}, answer, err);
}

int cli_client_refresh(struct cli_client *client, json_t *login, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    int rc = 0;
    if (json_get_string(login, "refresh_token"))
        rc = cli_client_call_by_refresh(client, "/v2/token/refresh", login, &answer, err);
    if (!rc && !answer)
        return err_set(err, ERR_SESSION_ENDED, "the login has ended");
    rc = rc ? rc : cli_client_take_token(client, answer, err);
    if (rc)
        return rc;
    client->is_kept = true;
    cli_client_put_refresh(client, login);
    cli_client_put_token(client, login);
    return 0;
}

int cli_client_end(struct cli_client *client, const json_t *login, struct err *err) {
    int rc;
    if (json_get_string(login, "refresh_token"))
        return cli_client_call_by_refresh(client, "/v2/logout", login, NULL, err);
    rc = cli_client_use(client, login, err);
    return rc ? rc : cli_client_call(client, &(struct cli_request){.method = "POST", .path = "/v2/logout"}, NULL, err);
}

void cli_client_on_refused(struct cli_client *client, cli_renew_fn *renew, void *arg) {
    client->renew = renew;
    client->renew_arg = arg;
}

const char *cli_client_stale(const struct cli_client *client) {
    return client->stale;
}
