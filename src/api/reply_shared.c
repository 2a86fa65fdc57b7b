/* Answers whose text is shared: as it is or compressed, or not at all when the client holds it. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A weak entity tag stands for both forms; a strong one is for one sequence of bytes, so the compressed form has its own (RFC 9110 sections
 * 8.8.3.3 and 12.5.3). */
#include <stdio.h>
#include <string.h>

#include "net_addr.h"
#include "packed.h"
#include "reply.h"
#include "str.h"

#define JSON_TYPE "application/json"

static void format_tag(const struct reply_file *file, bool is_packed, char out[REPLY_ETAG_BYTES]) {
    const size_t n = strlen(file->etag);
    if (is_packed && !str_starts(file->etag, "W/") && n && n + 5 < REPLY_ETAG_BYTES)
        (void)snprintf(out, REPLY_ETAG_BYTES, "%.*s-gzip\"", (int)n - 1, file->etag);
    else
        (void)snprintf(out, REPLY_ETAG_BYTES, "%s", file->etag);
}

static int send_form(struct http_response *resp, const struct reply_file *file, struct http_shared *form) {
    char tag[REPLY_ETAG_BYTES];
    format_tag(file, form != NULL, tag);
    http_response_set_header(resp, "ETag", tag);
    if (form)
        http_response_set_header(resp, "Content-Encoding", "gzip");
    http_response_set_shared(resp, file->type, form ? form : file->body);
    http_shared_unref(form);
    return 0;
}

static struct http_shared *pack(struct api_call *call, const struct reply_file *file) {
    return packed_make(call->api->packed, file->body, !file->is_once, !str_starts(file->etag, "W/"));
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

static int submit(void *arg, lane_fn *run, void *run_arg, struct err *err) {
    struct reply_later *later = arg;
    (void)err;
    if (lane_submit_for(later->lane, later->party, run, run_arg, NULL) == 0)
        return 0; /* another thread has it now, and may be done with it */
    later->is_refused = true;
    run(run_arg, false);
    return 0;
}

static int pack_in_lane(struct http_request *req, struct http_response *resp, struct err *err) {
    struct api_call *call = api_call_of(req);
    const struct reply_later *later = call->later;
    (void)err;
    return send_form(resp, &later->file, later->is_refused ? NULL : pack(call, &later->file));
}

static int pack_later(struct api_call *call, struct http_response *resp, const struct reply_file *file) {
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
    return http_request_go_slow_by(call->req, submit, later, pack_in_lane);
}

/* -- all of them ------------------------------------------------------------------------------------------------------------------- */

/* Does the client hold one of the forms? The one it would get now is looked for first. */
static bool is_held(const struct api_call *call, const struct reply_file *file, bool is_packed, char tag[REPLY_ETAG_BYTES]) {
    const char *held = http_request_header(call->req, "If-None-Match");
    for (int i = 0; held && i < 2; i++) {
        format_tag(file, i ? !is_packed : is_packed, tag);
        if (reply_etag_matches(held, tag, true))
            return true;
    }
    return false;
}

static int send_packed(struct api_call *call, struct http_response *resp, const struct reply_file *file, size_t bytes) {
    struct http_shared *form = file->is_once ? NULL : packed_find(call->api->packed, file->body);
    if (form || bytes <= PACKED_INLINE_BYTES_MAX)
        return send_form(resp, file, form ? form : pack(call, file));
    return pack_later(call, resp, file);
}

int reply_shared(struct api_call *call, struct http_response *resp, const struct reply_file *file) {
    char tag[REPLY_ETAG_BYTES];
    size_t bytes = 0;
    (void)http_shared_data(file->body, &bytes);
    const bool may_pack = packed_is_worth(file->type, bytes);
    const bool is_packed = may_pack && http_request_accepts_gzip(call->req);
    if (may_pack)
        http_response_set_header(resp, "Vary", "Accept-Encoding");
    if (is_held(call, file, is_packed, tag)) {
        http_response_set_header(resp, "ETag", tag);
        http_response_set_status(resp, 304);
        http_response_set_shared(resp, NULL, file->body);
        return 0;
    }
    return is_packed ? send_packed(call, resp, file, bytes) : send_form(resp, file, NULL);
}

int reply_once(struct api_call *call, struct http_response *resp, const char *etag, struct strbuf *body, struct err *err) {
    struct reply_file file = {.type = JSON_TYPE, .etag = etag, .body = http_shared_new(body), .is_once = true};
    int rc = file.body ? reply_shared(call, resp, &file) : err_set(err, ERR_NOMEM, "out of memory");
    http_shared_unref(file.body);
    return rc;
}
