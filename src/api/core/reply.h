/* Answers: JSON bodies, entity tags, freshness, pages of small lists. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api_call.h"
#include "strbuf.h"

/* Status and JSON body; releases `json`. ERR_NOMEM. */
int reply_json(struct http_response *resp, int status, json_t *json, struct err *err);

/* Location of what was made: `below` and the id behind it, "/v2/users/" for one. Left out without memory. */
void reply_location(struct http_response *resp, const char *below, const char *id);

/* Reasons why the data are older than they should be, as KaaS-Stale names them: "database, vcenter"; "" if they are not. */
#define REPLY_STALE_BYTES 64
void reply_format_stale(struct api_call *call, char out[REPLY_STALE_BYTES]);

/* KaaS-As-Of, and KaaS-Stale with its reasons where the data are older than they should be. */
void reply_freshness(struct api_call *call, struct http_response *resp);

/* Formats an entity tag from a hash. */
#define REPLY_ETAG_BYTES 32
void reply_format_etag(uint64_t hash, bool is_weak, char out[REPLY_ETAG_BYTES]);

/* Sets the ETag and the body (moved), or answers 304 if the request holds it already. Always 0. */
int reply_tagged(struct api_call *call, struct http_response *resp, const char *etag, const char *type, struct strbuf *body);

/* Is `etag` in the value of If-Match or If-None-Match (RFC 9110 section 8.8.3)? Weak comparison ignores the W/ marks. */
bool reply_etag_matches(const char *header, const char *etag, bool is_weak);

/* A text without any secret, since it may be sent compressed: compression tells its length to whoever listens, and with it, bit by bit, a secret beside a text
 * that an attacker chooses (BREACH). So tokens, problems and single objects are never compressed; lists and files are. */
struct reply_file {
    const char *type, *etag; /* media type, which lives on; strong or weak tag */
    struct http_shared *body;
};
/* Answers it with its ETag, or 304 if the request holds it already; compressed if the client takes that and it is worth it, which is done once
 * for a text. 0 or what http_request_go_slow returns. */
int reply_shared(struct api_call *call, struct http_response *resp, const struct reply_file *file);

/* As reply_shared for JSON made for this request (moved). Also ERR_NOMEM. */
int reply_once(struct api_call *call, struct http_response *resp, const char *etag, struct strbuf *body, struct err *err);

/* As reply_tagged for a JSON object, with the tag made of its text; releases `json`. ERR_NOMEM. */
int reply_object(struct api_call *call, struct http_response *resp, int status, json_t *json, struct err *err);

/* The same for an object that shows names beside ids: its tag is the one of `bare`, which has them not, since a name that comes to be known, on one
 * replica sooner than on the other, is no change. Both are taken over. */
struct reply_named {
    json_t *shown, *bare;
};
int reply_named(struct api_call *call, struct http_response *resp, int status, struct reply_named named, struct err *err);

/* The strong entity tag that reply_object gives this JSON; releases `json`. ERR_NOMEM. */
int reply_etag_of(json_t *json, char out[REPLY_ETAG_BYTES], struct err *err);

/* Checks If-Match against the tag of what is there now. 0 if absent or fitting, with *is_given; ERR_PRECONDITION. */
int reply_check_if_match(struct api_call *call, const char *etag, bool *is_given, struct err *err);

/* The same against the tag that reply_object gives this JSON (released). *version_no: the version of the record if an If-Match spoke of it, else 0. Also ERR_NOMEM. */
int reply_check_version(struct api_call *call, json_t *json, int64_t record_version_no, int64_t *version_no, struct err *err);

/* A list that is built for each request, or the part of it that begins with the page wanted. Keys rise strictly and begin with what people sort by. */
struct reply_list {
    size_t count;
    const char *(*key)(const void *arg, size_t i, char *buffer, size_t buffer_bytes);
    json_t *(*item)(const void *arg, size_t i);
    const void *arg;
    json_t *extra; /* further members beside items and next_cursor; taken over; may be NULL */
};
/* One page by the query's limit and cursor. ERR_INVALID (limit, cursor), ERR_NOMEM. */
int reply_list(struct api_call *call, struct http_response *resp, const struct reply_list *list, struct err *err);

/* The query's limit, or the default. ERR_INVALID. */
int reply_read_limit(struct api_call *call, unsigned *out, struct err *err);
/* A parameter that is true or false, false where it is not given. ERR_INVALID. */
int reply_read_flag(struct api_call *call, const char *name, bool *out, struct err *err);
/* The key of the last item of the page before, which is the cursor of such a list. ERR_INVALID. */
#define REPLY_KEY_BYTES 1024U
int reply_read_cursor(struct api_call *call, char out[REPLY_KEY_BYTES], bool *is_given, struct err *err);
