/* Answers to list queries that were given before. Layer 6 (api); private to this folder. SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An answer follows from the snapshot, from who asks with which rights, and from the query; as long as none of them has changed it
 * is the same bytes. Most requests repeat the one before (clients poll), so a few answers are kept: finding one costs less than joining
 * fragments, and nothing that grows with the number of clusters. What is kept is bounded in number and bytes; without memory nothing is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api_call.h"
#include "reply.h"

struct list_memo;

/* What an answer depends on, beside the snapshot: the viewer (policy_viewer_bytes) and the query. */
#define LIST_KEY_BYTES 768
struct list_key {
    uint64_t hash;
    size_t len; /* 0: this call's answer is not kept */
    char bytes[LIST_KEY_BYTES];
};

/* An answer; the body is one reference of the caller's. */
struct list_answer {
    struct http_shared *body;
    char etag[REPLY_ETAG_BYTES];
};

/* ERR_NOMEM. */
int list_memo_new(struct list_memo **out, struct err *err);
void list_memo_free(struct list_memo *memo); /* NULL is allowed */

/* Fills the key of a call whose viewer is known. */
void list_memo_key(const struct api_call *call, struct list_key *out);
/* True if the answer is there, from the snapshot of this generation. */
bool list_memo_find(struct list_memo *memo, uint64_t generation, const struct list_key *key, struct list_answer *out);
/* Keeps an answer (takes references of its own) in place of another one. */
void list_memo_put(struct list_memo *memo, const struct api_call *call, const struct list_key *key,
                   const struct list_answer *answer);
