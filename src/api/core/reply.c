/* Answers: JSON bodies, entity tags, freshness, pages of small lists, shared texts. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "inventory.h"
#include "gzip.h"
#include "limits.h"
#include "net_addr.h"
#include "platform_links.h"
#include "problem.h"
#include "query.h"
#include "str.h"

#define JSON_TYPE "application/json"

int reply_json(struct http_response *resp, int status, json_t *json, struct err *err) {
    _cleanup_json_ json_t *owned = json;
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    rc = json_write(owned, &text, err);
    if (rc)
        return rc;
    http_response_set_status(resp, status);
    http_response_set_text(resp, JSON_TYPE, &text);
    return 0;
}

/* Is a vCenter away that knows the viewer? */
static bool misses_vcenter(struct api *api, const struct session_rights *rights) {
    for (size_t i = 0; i < rights->count; i++)
        if (platform_is_away(api->options.platform, rights->parts[i].vcenter_id))
            return true;
    return false;
}

/* Who sees clusters by a role or a grant is known to no vCenter, but is to hear of the one they run on. */
static bool misses_vcenter_of_clusters(const struct api_call *call) {
    if (!call->snapshot || !(call->endpoint->flags & API_RIGHTS))
        return false;
    for (size_t i = 0; i < call->snapshot->platform->vcenters_count; i++) {
        const char *id = call->snapshot->platform->vcenters[i].id;
        if (platform_is_away(call->api->options.platform, id) && inventory_sees_clusters_on(call->snapshot, &call->viewer, id))
            return true;
    }
    return false;
}

static void add_reason(char out[REPLY_STALE_BYTES], const char *reason) {
    size_t n = strlen(out);
    (void)snprintf(out + n, REPLY_STALE_BYTES - n, "%s%s", n ? ", " : "", reason);
}

void reply_location(struct http_response *resp, const char *below, const char *id) {
    _cleanup_free_ char *location = str_format("%s%s", below, id);
    if (location)
        http_response_set_header(resp, "Location", location);
}

void reply_format_stale(struct api_call *call, char out[REPLY_STALE_BYTES]) {
    out[0] = 0;
    if (inventory_is_stale(call->api->options.inventory))
        add_reason(out, "database");
    if (misses_vcenter(call->api, &call->rights) || misses_vcenter_of_clusters(call))
        add_reason(out, "vcenter");
    if (call->rights.is_less_than_due)
        add_reason(out, "rights");
}

void reply_freshness(struct api_call *call, struct http_response *resp) {
    char as_of[CLOCK_RFC3339_BYTES], stale[REPLY_STALE_BYTES];
    clock_format(inventory_as_of_ms(call->api->options.inventory), as_of);
    http_response_set_header(resp, "KaaS-As-Of", as_of);
    reply_format_stale(call, stale);
    if (stale[0])
        http_response_set_header(resp, "KaaS-Stale", stale);
}

void reply_format_etag(uint64_t hash, bool is_weak, char out[REPLY_ETAG_BYTES]) {
    (void)snprintf(out, REPLY_ETAG_BYTES, "%s\"%016" PRIx64 "\"", is_weak ? "W/" : "", hash);
}

bool reply_etag_matches(const char *header, const char *etag, bool is_weak) {
    const char *plain = str_starts(etag, "W/") ? etag + 2 : etag;
    size_t n = strlen(plain);
    if (str_eq(header, "*"))
        return true;
    for (const char *p = header; (p = strstr(p, plain)); p += n) {
        bool has_mark = p >= header + 2 && p[-1] == '/' && p[-2] == 'W';
        if (is_weak || (!has_mark && plain == etag))
            return true;
    }
    return false;
}

int reply_tagged(struct api_call *call, struct http_response *resp, const char *etag, const char *type, struct strbuf *body) {
    const char *held = http_request_header(call->req, "If-None-Match");
    http_response_set_header(resp, "ETag", etag);
    if (held && reply_etag_matches(held, etag, true))
        http_response_set_status(resp, 304);
    else
        http_response_set_text(resp, type, body);
    return 0;
}

static uint64_t reply_hash(const struct strbuf *text) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    uint64_t hash;
    digest_sha256(text->data, text->len, digest);
    memcpy(&hash, digest, sizeof(hash));
    return hash;
}

static void answer_text(struct api_call *call, struct http_response *resp, int status, const char *etag, struct strbuf *text) {
    if (status == 200) {
        (void)reply_tagged(call, resp, etag, JSON_TYPE, text);
        return;
    }
    http_response_set_status(resp, status);
    http_response_set_header(resp, "ETag", etag);
    http_response_set_text(resp, JSON_TYPE, text);
}

int reply_object(struct api_call *call, struct http_response *resp, int status, json_t *json, struct err *err) {
    _cleanup_json_ json_t *owned = json;
    _cleanup_strbuf_ struct strbuf text;
    char etag[REPLY_ETAG_BYTES];
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    rc = json_write(owned, &text, err);
    if (rc)
        return rc;
    reply_format_etag(reply_hash(&text), false, etag);
    answer_text(call, resp, status, etag, &text);
    return 0;
}

int reply_named(struct api_call *call, struct http_response *resp, int status, struct reply_named named, struct err *err) {
    _cleanup_json_ json_t *owned = named.shown;
    _cleanup_strbuf_ struct strbuf text;
    char etag[REPLY_ETAG_BYTES];
    int rc = reply_etag_of(named.bare, etag, err);
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    if (!rc)
        rc = json_write(owned, &text, err);
    if (!rc)
        answer_text(call, resp, status, etag, &text);
    return rc;
}

int reply_etag_of(json_t *json, char out[REPLY_ETAG_BYTES], struct err *err) {
    _cleanup_json_ json_t *owned = json;
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    rc = json_write(owned, &text, err);
    if (!rc)
        reply_format_etag(reply_hash(&text), false, out);
    return rc;
}

int reply_check_if_match(struct api_call *call, const char *etag, bool *is_given, struct err *err) {
    const char *wanted = http_request_header(call->req, "If-Match");
    *is_given = wanted && !str_eq(wanted, "*");
    if (!wanted || reply_etag_matches(wanted, etag, false))
        return 0;
    (void)err_set(err, ERR_PRECONDITION, "the record has been changed since it was read; nothing was done");
    return err_remedy(err, "read it again and repeat the change");
}

int reply_check_version(struct api_call *call, json_t *json, int64_t record_version_no, int64_t *version_no, struct err *err) {
    char etag[REPLY_ETAG_BYTES];
    bool is_given = false;
    int rc = reply_etag_of(json, etag, err);
    if (rc)
        return rc;
    rc = reply_check_if_match(call, etag, &is_given, err);
    *version_no = is_given ? record_version_no : 0;
    return rc;
}

int reply_read_limit(struct api_call *call, unsigned *out, struct err *err) {
    const char *text = http_request_query(call->req, "limit");
    int64_t value = KAAS_PAGE_DEFAULT_COUNT;
    if (text && !str_to_i64(text, 1, KAAS_PAGE_MAX_COUNT, &value))
        return problem_parameter(call, "limit", "must be a whole number from 1 to 500", err);
    *out = (unsigned)value;
    return 0;
}

int reply_read_flag(struct api_call *call, const char *name, bool *out, struct err *err) {
    const char *text = http_request_query(call->req, name);
    *out = text && str_eq(text, "true");
    if (!text || *out || str_eq(text, "false"))
        return 0;
    return problem_parameter(call, name, "must be true or false", err);
}

int reply_read_cursor(struct api_call *call, char out[REPLY_KEY_BYTES], bool *is_given, struct err *err) {
    const char *text = http_request_query(call->req, "cursor");
    long n;
    *is_given = text != NULL;
    if (!text)
        return 0;
    n = str_unbase64url(text, strlen(text), (uint8_t *)out, REPLY_KEY_BYTES - 1);
    if (n <= 0 || memchr(out, 0, (size_t)n))
        return problem_parameter(call, "cursor", "is not one that this list gave", err);
    out[n] = 0;
    return 0;
}

static json_t *reply_cursor_json(const char *key) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, 2 * REPLY_KEY_BYTES);
    str_base64url(&text, (const uint8_t *)key, strlen(key));
    return json_string(text.data);
}

static void fill_page(const struct reply_list *list, const char *after, unsigned limit, json_t *page) {
    json_t *items = json_array(), *next = json_null();
    char buffer[REPLY_KEY_BYTES], last[REPLY_KEY_BYTES] = "";
    for (size_t i = 0; i < list->count; i++) {
        const char *key = list->key(list->arg, i, buffer, sizeof(buffer));
        if (after && strcmp(key, after) <= 0)
            continue;
        if (json_array_size(items) == limit) {
            next = reply_cursor_json(last);
            break;
        }
        (void)json_array_append_new(items, list->item(list->arg, i));
        (void)snprintf(last, sizeof(last), "%s", key);
    }
    (void)json_object_set_new(page, "items", items);
    (void)json_object_set_new(page, "next_cursor", next);
}

int reply_list(struct api_call *call, struct http_response *resp, const struct reply_list *list, struct err *err) {
    _cleanup_json_ json_t *page = list->extra ? list->extra : json_object();
    _cleanup_strbuf_ struct strbuf text;
    char after[REPLY_KEY_BYTES], etag[REPLY_ETAG_BYTES];
    bool is_given = false;
    unsigned limit = 0;
    int rc = reply_read_limit(call, &limit, err);

    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    if (!rc)
        rc = reply_read_cursor(call, after, &is_given, err);
    if (rc)
        return rc;
    fill_page(list, is_given ? after : NULL, limit, page);
    rc = json_write(page, &text, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    reply_format_etag(reply_hash(&text), true, etag);
    return reply_once(call, resp, etag, &text, err);
}

/* -- texts that are shared: as they are or compressed, or not at all when the client holds them ------------------------- */

/* A weak entity tag stands for both forms; a strong one is for one sequence of bytes, so the compressed form has its own (RFC 9110 sections
 * 8.8.3.3 and 12.5.3). */
#define GZIP_BYTES_MIN 1024U
#define GZIP_INLINE_BYTES_MAX 65536U /* compressed by a server thread: about 0.2 ms */
/* Measured with lists of 20 to 500 clusters: level 3 costs what level 1 does and gives 12.8 : 1 instead of 10.9 : 1; level 6 costs twice as much for 15 : 1. */
#define LEVEL_LIST 3
#define LEVEL_FILE 9

static const char *reply_tag_of(const struct reply_file *file, bool is_gzip, char buffer[REPLY_ETAG_BYTES]) {
    const size_t n = strlen(file->etag);
    if (!is_gzip || str_starts(file->etag, "W/") || !n || n + 5 >= REPLY_ETAG_BYTES)
        return file->etag;
    (void)snprintf(buffer, REPLY_ETAG_BYTES, "%.*s-gzip\"", (int)n - 1, file->etag);
    return buffer;
}

/* Is it worth while for this media type and size? Smaller texts gain nothing worth a header field. */
static bool is_worth_gzip(const char *type, size_t bytes) {
    static const char *const texts[] = {"application/json", "application/yaml", "image/svg+xml", "text/"};
    for (size_t i = 0; bytes >= GZIP_BYTES_MIN && i < ARRAY_COUNT(texts); i++)
        if (str_starts(type, texts[i]))
            return true;
    return false;
}

/* The compressed form, made now if there is none; NULL without memory, or if it would be larger: then the text goes as it is. */
static struct http_shared *gzip_of(const struct reply_file *file) {
    _cleanup_strbuf_ struct strbuf out;
    struct http_shared *gzip = http_shared_gzip(file->body);
    size_t n = 0;
    const char *data = http_shared_data(file->body, &n);
    strbuf_init(&out, n);
    if (gzip || gzip_pack(data, n, str_starts(file->etag, "W/") ? LEVEL_LIST : LEVEL_FILE, &out, NULL))
        return gzip;
    gzip = http_shared_new(&out);
    return gzip ? http_shared_keep_gzip(file->body, gzip) : NULL;
}

/* `gzip`: the compressed form, or NULL to send the text as it is. */
static int send_form(struct http_response *resp, const struct reply_file *file, struct http_shared *gzip) {
    char buffer[REPLY_ETAG_BYTES];
    http_response_set_header(resp, "ETag", reply_tag_of(file, gzip != NULL, buffer));
    if (gzip)
        http_response_set_header(resp, "Content-Encoding", "gzip");
    http_response_set_shared(resp, file->type, gzip ? gzip : file->body);
    return 0;
}

/* -- large ones are compressed in a worker, or not at all --------------------------------------------------------------------------- */

struct reply_later {
    struct reply_file file;
    char etag[REPLY_ETAG_BYTES];
    struct worker_pool *workers;
    uint64_t party;  /* of the client */
    bool is_refused; /* by the worker pool: it goes as it is */
};

static void later_free(void *p) {
    struct reply_later *later = p;
    http_shared_unref(later->file.body);
    free(later);
}

static int reply_submit(void *arg, worker_fn *run, void *run_arg, struct err *err) {
    struct reply_later *later = arg;
    (void)err;
    if (worker_pool_submit_for(later->workers, later->party, run, run_arg, NULL) == 0)
        return 0; /* another thread has it now, and may be done with it */
    later->is_refused = true;
    run(run_arg, false);
    return 0;
}

static int gzip_in_worker(struct http_request *req, struct http_response *resp, struct err *err) {
    const struct reply_later *later = api_call_of(req)->later.data;
    (void)err;
    return send_form(resp, &later->file, later->is_refused ? NULL : gzip_of(&later->file));
}

static int gzip_later(struct api_call *call, struct http_response *resp, const struct reply_file *file) {
    struct reply_later *later = calloc(1, sizeof(*later));
    if (!later)
        return send_form(resp, file, NULL);
    later->file = *file;
    later->file.etag = later->etag;
    later->file.body = http_shared_ref(file->body);
    later->workers = call->api->options.hashing;
    later->party = net_party(http_request_client(call->req));
    (void)snprintf(later->etag, sizeof(later->etag), "%s", file->etag);
    api_set_part(&call->later, later, later_free);
    return http_request_go_slow_by(call->req, reply_submit, later, gzip_in_worker);
}

/* -- all of them ------------------------------------------------------------------------------------------------------------------- */

/* The tag of a form that the client holds; NULL: none. The one it would get now is looked for first. */
static const char *find_held(const struct api_call *call, const struct reply_file *file, bool is_gzip,
                             char buffer[REPLY_ETAG_BYTES]) {
    const char *held = http_request_header(call->req, "If-None-Match");
    for (int i = 0; held && i < 2; i++) {
        const char *tag = reply_tag_of(file, i ? !is_gzip : is_gzip, buffer);
        if (reply_etag_matches(held, tag, true))
            return tag;
    }
    return NULL;
}

static int send_gzip(struct api_call *call, struct http_response *resp, const struct reply_file *file, size_t bytes) {
    if (http_shared_gzip(file->body) || bytes <= GZIP_INLINE_BYTES_MAX)
        return send_form(resp, file, gzip_of(file));
    return gzip_later(call, resp, file);
}

int reply_shared(struct api_call *call, struct http_response *resp, const struct reply_file *file) {
    char buffer[REPLY_ETAG_BYTES];
    const char *held;
    size_t bytes = 0;
    (void)http_shared_data(file->body, &bytes);
    const bool may_gzip = is_worth_gzip(file->type, bytes);
    const bool is_gzip = may_gzip && http_request_accepts_gzip(call->req);
    if (may_gzip)
        http_response_set_header(resp, "Vary", "Accept-Encoding");
    held = find_held(call, file, is_gzip, buffer);
    if (held) {
        http_response_set_header(resp, "ETag", held);
        http_response_set_status(resp, 304);
        http_response_set_shared(resp, NULL, file->body);
        return 0;
    }
    return is_gzip ? send_gzip(call, resp, file, bytes) : send_form(resp, file, NULL);
}

int reply_once(struct api_call *call, struct http_response *resp, const char *etag, struct strbuf *body, struct err *err) {
    struct reply_file file = {.type = JSON_TYPE, .etag = etag, .body = http_shared_new(body)};
    int rc = file.body ? reply_shared(call, resp, &file) : err_set(err, ERR_NOMEM, "out of memory");
    http_shared_unref(file.body);
    return rc;
}
