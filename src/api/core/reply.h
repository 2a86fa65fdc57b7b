/* Answers: JSON bodies, entity tags, freshness, pages of small lists. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api_call.h"
#include "strbuf.h"

/* Status and JSON body; releases `json`. ERR_NOMEM. */
int reply_json(struct http_response *resp, int status, json_t *json, struct err *err);

/* Sets Location of a new object: `below` ("/v2/users/") followed by its id. Left out without memory. */
void reply_location(struct http_response *resp, const char *below, const char *id);

/* Writes why the data are older than they should be, in the words of KaaS-Stale: "database, vcenter"; "" if they are not. */
#define REPLY_STALE_BYTES 64
void reply_format_stale(struct api_call *call, char out[REPLY_STALE_BYTES]);

/* Sets KaaS-As-Of, and KaaS-Stale with its reasons if the data are older than they should be. */
void reply_freshness(struct api_call *call, struct http_response *resp);

/* Formats an entity tag from a hash. */
#define REPLY_ETAG_BYTES 32
void reply_format_etag(uint64_t hash, bool is_weak, char out[REPLY_ETAG_BYTES]);

/* Sets the ETag and the body (moved), or answers 304 if the request holds it already. Always 0. */
int reply_tagged(struct api_call *call, struct http_response *resp, const char *etag, const char *type, struct strbuf *body);

/* Is `etag` in the value of If-Match or If-None-Match (RFC 9110 section 8.8.3)? Weak comparison ignores the W/ marks. */
bool reply_etag_matches(const char *header, const char *etag, bool is_weak);

/* A text that may be sent compressed, and so must have no secret: the compressed length tells a listener, bit by bit, a secret beside a text that the
 * attacker chooses (BREACH). So tokens, problems and single objects are never compressed; lists and files are. */
struct reply_file {
    const char *type, *etag; /* media type, which lives on; strong or weak tag */
    struct http_shared *body;
};
/* Answers with the text and its ETag, or 304 if the client has it already; compressed if the client accepts that and it saves enough, which is done once for
 * a text. 0 or what http_request_go_slow returns. */
int reply_shared(struct api_call *call, struct http_response *resp, const struct reply_file *file);

/* As reply_shared for JSON made for this request (moved). Also ERR_NOMEM. */
int reply_once(struct api_call *call, struct http_response *resp, const char *etag, struct strbuf *body, struct err *err);

/* As reply_tagged for a JSON object, with the tag made of its text; releases `json`. ERR_NOMEM. */
int reply_object(struct api_call *call, struct http_response *resp, int status, json_t *json, struct err *err);

/* As reply_object for an object that shows names beside ids. Its tag is that of `bare`, the object without the names: a name that becomes known, on one
 * replica before another, is no change. Both are taken over. */
struct reply_named {
    json_t *shown, *bare;
};
int reply_named(struct api_call *call, struct http_response *resp, int status, struct reply_named named, struct err *err);

/* The strong entity tag that reply_object gives this JSON; releases `json`. ERR_NOMEM. */
int reply_etag_of(json_t *json, char out[REPLY_ETAG_BYTES], struct err *err);

/* Checks If-Match against the current entity tag. 0 if absent or matching, with *is_given; ERR_PRECONDITION. */
int reply_check_if_match(struct api_call *call, const char *etag, bool *is_given, struct err *err);

/* As reply_check_if_match, against the tag that reply_object gives this JSON (released). *version_no: record_version_no if If-Match named a tag, else 0. Also
 * ERR_NOMEM. */
int reply_check_version(struct api_call *call, json_t *json, int64_t record_version_no, int64_t *version_no, struct err *err);

/* A list that is built for each request, or its part from the wanted page on. Keys rise strictly and begin with what the list is sorted by. */
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
/* A query parameter that is true or false; false if absent. ERR_INVALID. */
int reply_read_flag(struct api_call *call, const char *name, bool *out, struct err *err);
/* Decodes the query's cursor, the key of the last item of the page before. ERR_INVALID. */
#define REPLY_KEY_BYTES 1024U
int reply_read_cursor(struct api_call *call, char out[REPLY_KEY_BYTES], bool *is_given, struct err *err);
