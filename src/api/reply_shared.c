/* Answers whose text is shared: as it is or compressed, or not at all when the client holds it. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A weak entity tag stands for both forms; a strong one is for one sequence of bytes, so the compressed form has its own (RFC 9110 sections
 * 8.8.3.3 and 12.5.3). */
#include <stdio.h>
#include <string.h>

#include "gzip.h"
#include "net_addr.h"
#include "reply.h"
#include "str.h"

#define JSON_TYPE "application/json"
#define GZIP_BYTES_MIN 1024U
#define GZIP_INLINE_BYTES_MAX 65536U /* compressed by a server thread: about 0.2 ms */
/* Measured with lists of 20 to 500 clusters: level 3 costs what level 1 does and gives 12.8 : 1 instead of 10.9 : 1; level 6 costs twice as much for 15 : 1. */
#define LEVEL_LIST 3
#define LEVEL_FILE 9

static void format_tag(const struct reply_file *file, bool is_gzip, char out[REPLY_ETAG_BYTES]) {
    const size_t n = strlen(file->etag);
    if (is_gzip && !str_starts(file->etag, "W/") && n && n + 5 < REPLY_ETAG_BYTES)
        (void)snprintf(out, REPLY_ETAG_BYTES, "%.*s-gzip\"", (int)n - 1, file->etag);
    else
        (void)snprintf(out, REPLY_ETAG_BYTES, "%s", file->etag);
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
    char tag[REPLY_ETAG_BYTES];
    format_tag(file, gzip != NULL, tag);
    http_response_set_header(resp, "ETag", tag);
    if (gzip)
        http_response_set_header(resp, "Content-Encoding", "gzip");
    http_response_set_shared(resp, file->type, gzip ? gzip : file->body);
    return 0;
}

/* -- large ones are compressed in a lane, or not at all --------------------------------------------------------------------------- */

struct reply_later {
    struct reply_file file;
    char etag[REPLY_ETAG_BYTES];
    struct lane *lane;
    uint64_t party;  /* of the client */
    bool is_refused; /* by the lane: it goes as it is */
};

void reply_later_free(struct reply_later *later) {
    if (later)
        http_shared_unref(later->file.body);
    free(later);
}

static int reply_submit(void *arg, lane_fn *run, void *run_arg, struct err *err) {
    struct reply_later *later = arg;
    (void)err;
    if (lane_submit_for(later->lane, later->party, run, run_arg, NULL) == 0)
        return 0; /* another thread has it now, and may be done with it */
    later->is_refused = true;
    run(run_arg, false);
    return 0;
}

static int gzip_in_lane(struct http_request *req, struct http_response *resp, struct err *err) {
    const struct reply_later *later = api_call_of(req)->later;
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
    later->lane = call->api->options.hashing;
    later->party = net_party(http_request_client(call->req));
    (void)snprintf(later->etag, sizeof(later->etag), "%s", file->etag);
    reply_later_free(call->later);
    call->later = later;
    return http_request_go_slow_by(call->req, reply_submit, later, gzip_in_lane);
}

/* -- all of them ------------------------------------------------------------------------------------------------------------------- */

/* Does the client hold one of the forms? The one it would get now is looked for first. */
static bool reply_is_held(const struct api_call *call, const struct reply_file *file, bool is_gzip, char tag[REPLY_ETAG_BYTES]) {
    const char *held = http_request_header(call->req, "If-None-Match");
    for (int i = 0; held && i < 2; i++) {
        format_tag(file, i ? !is_gzip : is_gzip, tag);
        if (reply_etag_matches(held, tag, true))
            return true;
    }
    return false;
}

static int send_gzip(struct api_call *call, struct http_response *resp, const struct reply_file *file, size_t bytes) {
    if (http_shared_gzip(file->body) || bytes <= GZIP_INLINE_BYTES_MAX)
        return send_form(resp, file, gzip_of(file));
    return gzip_later(call, resp, file);
}

int reply_shared(struct api_call *call, struct http_response *resp, const struct reply_file *file) {
    char tag[REPLY_ETAG_BYTES];
    size_t bytes = 0;
    (void)http_shared_data(file->body, &bytes);
    const bool may_gzip = is_worth_gzip(file->type, bytes);
    const bool is_gzip = may_gzip && http_request_accepts_gzip(call->req);
    if (may_gzip)
        http_response_set_header(resp, "Vary", "Accept-Encoding");
    if (reply_is_held(call, file, is_gzip, tag)) {
        http_response_set_header(resp, "ETag", tag);
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
