/* Answers to list queries that were given before. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "list_memo.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hashmap.h"
#include "live_session.h"

#define SLOTS 256U /* power of two */
#define LOCKS 16U  /* power of two */
#define PARTS_MAX 4U
#define BODY_BYTES_MAX (64U * 1024U)
#define BYTES_MAX (8U * 1024U * 1024U)

/* The key has the addresses of what the vCenters said: none of it is ever changed, and it is held here as long as the answer is. */
struct slot {
    uint64_t generation, hash;
    size_t key_len, bytes;
    char *key;
    unsigned parts;
    struct shared_objects *objects[PARTS_MAX];
    struct list_answer answer;
};

struct list_memo {
    pthread_mutex_t locks[LOCKS]; /* lock i guards the slots whose number ends in i */
    struct slot slots[SLOTS];
    atomic_size_t bytes;
};

int list_memo_new(struct list_memo **out, struct err *err) {
    struct list_memo *memo = calloc(1, sizeof(*memo));
    if (!memo)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < LOCKS; i++)
        (void)pthread_mutex_init(&memo->locks[i], NULL);
    *out = memo;
    return 0;
}

static void list_memo_empty(struct list_memo *memo, struct slot *slot) {
    for (unsigned i = 0; i < slot->parts; i++)
        shared_objects_unref(slot->objects[i]);
    http_shared_unref(slot->answer.body);
    free(slot->key);
    atomic_fetch_sub(&memo->bytes, slot->bytes);
    memset(slot, 0, sizeof(*slot));
}

void list_memo_free(struct list_memo *memo) {
    if (!memo)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        list_memo_empty(memo, &memo->slots[i]);
    for (size_t i = 0; i < LOCKS; i++)
        (void)pthread_mutex_destroy(&memo->locks[i]);
    free(memo);
}

/* With its NUL, so that two texts never read as another two. */
static bool list_memo_add_text(struct list_key *key, const char *text) {
    size_t n = strlen(text) + 1;
    if (n > sizeof(key->bytes) - key->len)
        return false;
    memcpy(key->bytes + key->len, text, n);
    key->len += n;
    return true;
}

static bool list_memo_add_query(const struct http_request *req, struct list_key *key) {
    bool fits = true;
    for (unsigned i = 0; fits && i < http_request_query_count(req); i++) {
        const char *name, *value;
        http_request_query_at(req, i, &name, &value);
        fits = list_memo_add_text(key, name) && list_memo_add_text(key, value);
    }
    return fits;
}

void list_memo_key(const struct api_call *call, struct list_key *out) {
    out->len = 0;
    out->hash = 0;
    if (!call->who || !call->snapshot || http_request_query(call->req, "watch"))
        return;
    out->len = call->rights.count <= PARTS_MAX ? policy_viewer_bytes(&call->viewer, out->bytes, sizeof(out->bytes)) : 0;
    if (!out->len || !list_memo_add_query(call->req, out))
        out->len = 0;
    else
        out->hash = hash64(hash_seed(), out->bytes, out->len);
}

static bool list_memo_is_it(const struct slot *slot, uint64_t generation, const struct list_key *key) {
    return slot->hash == key->hash && slot->generation == generation && slot->key_len == key->len &&
           memcmp(slot->key, key->bytes, key->len) == 0;
}

bool list_memo_find(struct list_memo *memo, uint64_t generation, const struct list_key *key, struct list_answer *out) {
    struct slot *slot = &memo->slots[key->hash % SLOTS];
    pthread_mutex_t *lock = &memo->locks[key->hash % LOCKS];
    bool is_found;
    if (!key->len)
        return false;
    (void)pthread_mutex_lock(lock);
    is_found = slot->answer.body && list_memo_is_it(slot, generation, key);
    if (is_found) {
        *out = slot->answer;
        (void)http_shared_ref(out->body);
    }
    (void)pthread_mutex_unlock(lock);
    return is_found;
}

static void list_memo_fill(struct slot *slot, const struct api_call *call, const struct list_key *key,
                           const struct list_answer *answer) {
    slot->generation = call->snapshot->generation;
    slot->hash = key->hash;
    slot->key_len = key->len;
    slot->parts = (unsigned)call->rights.count;
    for (unsigned i = 0; i < slot->parts; i++)
        slot->objects[i] = call->rights.parts[i].objects ? shared_objects_ref(call->rights.parts[i].objects) : NULL;
    slot->answer = *answer;
    (void)http_shared_ref(answer->body);
}

void list_memo_put(struct list_memo *memo, const struct api_call *call, const struct list_key *key,
                   const struct list_answer *answer) {
    struct slot *slot = &memo->slots[key->hash % SLOTS];
    pthread_mutex_t *lock = &memo->locks[key->hash % LOCKS];
    size_t bytes = 0;
    char *copy;
    (void)http_shared_data(answer->body, &bytes);
    if (!key->len || bytes > BODY_BYTES_MAX || !(copy = malloc(key->len)))
        return;
    memcpy(copy, key->bytes, key->len);
    (void)pthread_mutex_lock(lock);
    list_memo_empty(memo, slot);
    if (atomic_fetch_add(&memo->bytes, bytes) + bytes > BYTES_MAX) {
        atomic_fetch_sub(&memo->bytes, bytes);
        free(copy);
    } else {
        slot->key = copy;
        slot->bytes = bytes;
        list_memo_fill(slot, call, key, answer);
    }
    (void)pthread_mutex_unlock(lock);
}
