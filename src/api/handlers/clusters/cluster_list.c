/* GET /v2/clusters and /v2/clusters/counts: answers that were given before, the query, and waiting for another list than the caller holds. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An answer follows from the snapshot, from who asks with which rights, and from the query; as long as none of them has changed it
 * is the same bytes. Most requests repeat the one before (clients poll), so a few answers are kept: finding one costs less than joining
 * fragments, and nothing that grows with the number of clusters. What is kept is bounded in number and bytes; without memory nothing is.
 *
 * The cursor of "watch" is a digest of what this caller may see of this query, with what is said about its freshness. It names no place in
 * a history: every replica understands it, and a cursor of anything else just differs. */
#include "cluster_list.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "clock.h"
#include "cluster_watch.h"
#include "digest.h"
#include "hashmap.h"
#include "limits.h"
#include "list_wait.h"
#include "problem.h"
#include "query.h"
#include "reply.h"
#include "str.h"
#include "uuid.h"
#include "views.h"

#define SLOTS 256U /* power of two */
#define LOCKS 16U  /* power of two */
#define PARTS_MAX 4U
#define BODY_BYTES_MAX (64U * 1024U)
#define BYTES_MAX (8U * 1024U * 1024U)
#define KEY_BYTES 768
#define OFFSET_MAX 1000000
#define CURSOR_CHARS_MAX 64U
#define CURSOR_BYTES 17

/* -- answers that were given before --------------------------------------------------------------------------------------- */

/* What an answer depends on, beside the snapshot: the viewer (policy_viewer_bytes), what is made, and the query. */
struct list_key {
    uint64_t hash;
    size_t len; /* 0: this call's answer is not kept */
    char bytes[KEY_BYTES];
};

/* An answer; the body is one reference of the caller's. */
struct list_answer {
    struct http_shared *body;
    char etag[REPLY_ETAG_BYTES];
};

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

/* The key of a call whose viewer is known; `kind` tells answers to the same query apart. */
static void list_memo_key(const struct api_call *call, const char *kind, struct list_key *out) {
    out->len = out->hash = 0;
    if (!call->who || !call->snapshot || http_request_query(call->req, "watch") || call->rights.count > PARTS_MAX)
        return;
    out->len = policy_viewer_bytes(&call->viewer, out->bytes, sizeof(out->bytes));
    if (!out->len || !list_memo_add_text(out, kind) || !list_memo_add_query(call->req, out))
        out->len = 0;
    else
        out->hash = hash64(hash_seed(), out->bytes, out->len);
}

static bool list_memo_is_it(const struct slot *slot, uint64_t generation, const struct list_key *key) {
    return slot->hash == key->hash && slot->generation == generation && slot->key_len == key->len &&
           memcmp(slot->key, key->bytes, key->len) == 0;
}

/* True if the answer is there, made from the call's snapshot. */
static bool list_memo_find(const struct api_call *call, const struct list_key *key, struct list_answer *out) {
    struct list_memo *memo = call->api->list_memo;
    struct slot *slot = &memo->slots[key->hash % SLOTS];
    pthread_mutex_t *lock = &memo->locks[key->hash % LOCKS];
    bool is_found;
    if (!key->len)
        return false;
    (void)pthread_mutex_lock(lock);
    is_found = slot->answer.body && list_memo_is_it(slot, call->snapshot->generation, key);
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

/* Keeps an answer (takes references of its own) in place of another one. */
static void list_memo_put(const struct api_call *call, const struct list_key *key, const struct list_answer *answer) {
    struct list_memo *memo = call->api->list_memo;
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

/* -- the query -------------------------------------------------------------------------------------------------------------- */

/* "ready,degraded" to bits. */
static int read_states(struct api_call *call, unsigned *mask, struct err *err) {
    const char *p = http_request_query(call->req, "state");
    char word[24];
    while (p && *p) {
        size_t n = strcspn(p, ",");
        enum cluster_state state;
        (void)snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : sizeof(word) - 1), p);
        if (!cluster_state_parse(word, &state))
            return problem_parameter(call, "state", "must be one or more states separated by commas", err);
        if (*mask & 1U << state)
            return problem_parameter(call, "state", "names a state twice", err);
        *mask |= 1U << state;
        p += n;
        if (*p == ',' && !*++p)
            return problem_parameter(call, "state", "ends with a comma", err);
    }
    if (http_request_query(call->req, "state") && !*mask)
        return problem_parameter(call, "state", "is empty", err);
    return 0;
}

/* "env=prod,team": one label is key=value, or the key alone. */
static int read_labels(struct api_call *call, struct inventory_cluster_query *q, struct err *err) {
    const char *p = http_request_query(call->req, "label");
    if (p && !*p)
        return problem_parameter(call, "label", "is empty", err);
    while (p) {
        const size_t n = strcspn(p, ","), key_len = strcspn(p, ",=");
        if (!key_len)
            return problem_parameter(call, "label", "has a label without a key", err);
        if (q->labels_count == INVENTORY_LABELS_MAX)
            return problem_parameter(call, "label", "has more than 8 labels", err);
        q->labels[q->labels_count++] = (struct inventory_label_query){.key = p,
                                                                      .key_len = key_len,
                                                                      .value = key_len < n ? p + key_len + 1 : NULL,
                                                                      .value_len = key_len < n ? n - key_len - 1 : 0};
        p = p[n] ? p + n + 1 : NULL;
    }
    return 0;
}

static int read_on_hx(struct api_call *call, struct inventory_cluster_query *q, struct err *err) {
    bool is_on = false;
    int rc = reply_read_flag(call, "on_hx", &is_on, err);
    if (rc || !http_request_query(call->req, "on_hx"))
        return rc;
    if (q->hx_cluster || q->hx_cluster_id)
        return problem_parameter(call, "on_hx", "cannot be combined with an HX cluster", err);
    q->on_hx = is_on ? INVENTORY_ON_HX : INVENTORY_NOT_ON_HX;
    return 0;
}

static int read_offset(struct api_call *call, struct inventory_cluster_query *q, struct err *err) {
    const char *text = http_request_query(call->req, "offset");
    int64_t offset = 0;
    if (text && !str_to_i64(text, 0, OFFSET_MAX, &offset))
        return problem_parameter(call, "offset", "must be a whole number from 0 to 1000000", err);
    if (text && q->cursor)
        return problem_parameter(call, "offset", "cannot be combined with cursor", err);
    q->offset = (size_t)offset;
    return 0;
}

static int cluster_list_read_sort(struct api_call *call, struct inventory_cluster_query *q, struct err *err) {
    const char *word = http_request_query(call->req, "sort");
    q->sort = INVENTORY_SORT_NAME;
    if (!word || inventory_sort_parse(word, &q->sort, &q->is_descending))
        return 0;
    return problem_parameter(call, "sort",
                             "must be name, state, kubernetes_version, control_plane, workers, hx_cluster, created_at or "
                             "updated_at, with or without a leading -",
                             err);
}

/* An empty name is a slip of the client, not a thing that is not there. */
static int check_names(struct api_call *call, struct err *err) {
    static const char *const names[] = {"hx_cluster", "vcenter", "vsphere_cluster", "datacenter"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        const char *value = http_request_query(call->req, names[i]);
        if (value && !*value)
            return problem_parameter(call, names[i], "is empty", err);
    }
    return 0;
}

static int check_combination(struct api_call *call, const struct inventory_cluster_query *q, struct err *err) {
    if (q->hx_cluster && q->hx_cluster_id)
        return problem_parameter(call, "hx_cluster", "cannot be combined with hx_cluster_id", err);
    if (q->vsphere_cluster && (q->hx_cluster || q->hx_cluster_id))
        return problem_parameter(call, "vsphere_cluster", "cannot be combined with an HX cluster", err);
    if (q->datacenter && !q->vcenter)
        return problem_parameter(call, "datacenter", "needs \"vcenter\" beside it", err);
    if (q->datacenter && (q->vsphere_cluster || q->hx_cluster || q->hx_cluster_id))
        return problem_parameter(call, "datacenter", "cannot be combined with a vSphere or HX cluster, which lies in one", err);
    if (q->hx_cluster_id && !uuid_is_valid(q->hx_cluster_id))
        return problem_parameter(call, "hx_cluster_id", "must be a UUID", err);
    if (q->text && (!*q->text || str_utf8_chars(q->text, strlen(q->text)) > INVENTORY_TEXT_CHARS_MAX))
        return problem_parameter(call, "q", "must have 1 to 100 characters", err);
    return 0;
}

static int cluster_list_read_query(struct api_call *call, struct inventory_cluster_query *q, struct err *err) {
    int rc = check_names(call, err);
    *q = (struct inventory_cluster_query){.hx_cluster = http_request_query(call->req, "hx_cluster"),
                                          .hx_cluster_id = http_request_query(call->req, "hx_cluster_id"),
                                          .vcenter = http_request_query(call->req, "vcenter"),
                                          .vsphere_cluster = http_request_query(call->req, "vsphere_cluster"),
                                          .datacenter = http_request_query(call->req, "datacenter"),
                                          .text = http_request_query(call->req, "q"),
                                          .cursor = http_request_query(call->req, "cursor")};
    if (!rc)
        rc = read_states(call, &q->state_mask, err);
    if (!rc)
        rc = read_labels(call, q, err);
    if (!rc)
        rc = read_on_hx(call, q, err);
    if (!rc)
        rc = read_offset(call, q, err);
    if (!rc)
        rc = cluster_list_read_sort(call, q, err);
    if (!rc)
        rc = reply_read_limit(call, &q->limit, err);
    return rc ? rc : check_combination(call, q, err);
}

/* -- waiting for another list --------------------------------------------------------------------------------------------- */

/* What a query says about waiting. */
struct list_wait {
    const char *cursor; /* NULL: nothing; "" or one that an answer gave */
    unsigned wait_s;
    bool is_changed; /* outcome of list_wait_look; without a cursor true */
};

static int list_wait_read(struct api_call *call, struct list_wait *out, struct err *err) {
    const char *text = http_request_query(call->req, "wait");
    int64_t seconds = KAAS_WATCH_WAIT_DEFAULT_S;
    out->cursor = http_request_query(call->req, "watch");
    if (text && !out->cursor)
        return problem_parameter(call, "wait", "needs \"watch\" beside it", err);
    if (text && !str_to_i64(text, 1, KAAS_WATCH_WAIT_MAX_S, &seconds))
        return problem_parameter(call, "wait", "must be a whole number of seconds from 1 to 60", err);
    if (out->cursor && strspn(out->cursor, "0123456789abcdefghijklmnopqrstuvwxyz") != strlen(out->cursor))
        return problem_parameter(call, "watch", "is not a cursor that this list gave", err);
    if (out->cursor && strlen(out->cursor) > CURSOR_CHARS_MAX)
        return problem_parameter(call, "watch", "is too long for a cursor", err);
    out->wait_s = (unsigned)seconds;
    out->is_changed = true;
    return 0;
}

/* What is said about freshness belongs to what the caller sees. The cursor is the same on each replica. */
static void format_cursor(struct api_call *call, uint64_t digest, char out[CURSOR_BYTES]) {
    char stale[REPLY_STALE_BYTES];
    reply_format_stale(call, stale);
    (void)snprintf(out, CURSOR_BYTES, "%016" PRIx64, hash64_text(digest, stale));
}

/* Nothing differs from what the caller has. */
static void answer_unchanged(struct api_call *call, const char *cursor, struct http_response *resp) {
    http_response_set_header(resp, "KaaS-Watch-Cursor", cursor);
    http_response_set_status(resp, 204);
    reply_freshness(call, resp);
}

/* Looks whether the list is another one now. 0: wait->is_changed tells; if so, the cursor of the new one is in `resp`, where the list is still to be
 * put; if not, the wait is over and `resp` is the answer. HTTP_GO_SLOW's value: it waits, and the handler will be run again, with rights and
 * snapshot of that time. Errors of inventory_digest_clusters, with their candidates; ERR_TOO_MANY, ERR_BUSY. */
static int list_wait_look(struct api_call *call, struct list_wait *wait, const struct inventory_cluster_query *query,
                          struct inventory_candidates *candidates, struct http_response *resp, struct err *err) {
    struct cluster_waiter *waiter = list_waiter(call, wait->wait_s);
    char cursor[CURSOR_BYTES];
    uint64_t digest = 0;
    int rc;
    if (!waiter)
        return err_set(err, ERR_NOMEM, "out of memory");
    const bool is_over = clock_mono_ms() >= waiter->until_ms;
    /* At the end of a wait: no change was noted since the look before, and whoever follows the list looks again at once. */
    if (is_over && waiter->looked == waiter->seen) {
        wait->is_changed = false;
        answer_unchanged(call, wait->cursor, resp);
        return 0;
    }
    rc = inventory_digest_clusters(call->snapshot, &call->viewer, query, candidates, &digest, err);
    if (rc)
        return rc;
    format_cursor(call, digest, cursor);
    wait->is_changed = !str_eq(cursor, wait->cursor);
    if (wait->is_changed)
        http_response_set_header(resp, "KaaS-Watch-Cursor", cursor);
    else if (is_over)
        answer_unchanged(call, cursor, resp);
    else
        return list_wait_on(call, waiter, err);
    return 0;
}

/* -- the list ------------------------------------------------------------------------------------------------------------- */

/* The HX clusters that an ambiguous name may mean, for the problem. */
static void add_candidates(struct api_call *call, const struct inventory_candidates *found) {
    json_t *candidates = json_array();
    for (size_t i = 0; i < found->count; i++)
        json_add(candidates, view_hx_candidate(call->snapshot->platform, found->items[i]));
    problem_add(call, "candidates", candidates);
}

/* Without a body: the wait for a change is not over, or `resp` is the answer already. */
static int cluster_list_make(struct api_call *call, struct http_response *resp, struct list_answer *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct inventory_page page = {.text = &text};
    struct inventory_cluster_query query;
    struct list_wait wait = {0};
    int rc = cluster_list_read_query(call, &query, err);
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    if (!rc)
        rc = list_wait_read(call, &wait, err);
    if (!rc && wait.cursor)
        rc = list_wait_look(call, &wait, &query, &page.candidates, resp, err);
    if (!rc && wait.is_changed)
        rc = inventory_list_clusters(call->snapshot, &call->viewer, &query, &page, err);
    if (rc == ERR_AMBIGUOUS && page.candidates.count > 1)
        add_candidates(call, &page.candidates);
    if (rc || !wait.is_changed)
        return rc;
    reply_format_etag(page.etag_hash, true, out->etag);
    out->body = http_shared_new(&text);
    return out->body ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int cluster_counts_make(struct api_call *call, struct http_response *resp, struct list_answer *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct inventory_candidates candidates = {.count = 0};
    struct inventory_cluster_query query;
    struct inventory_counts counts;
    _cleanup_json_ json_t *json = NULL;
    int rc = cluster_list_read_query(call, &query, err);
    (void)resp;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    if (!rc)
        rc = inventory_count_clusters(call->snapshot, &call->viewer, &query, &candidates, &counts, err);
    if (rc == ERR_AMBIGUOUS && candidates.count > 1)
        add_candidates(call, &candidates);
    if (rc)
        return rc;
    json = view_counts(&counts);
    rc = json_write(json, &text, err);
    if (rc)
        return rc;
    reply_format_etag(digest_u64(text.data, text.len), true, out->etag);
    out->body = http_shared_new(&text);
    return out->body ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

typedef int list_make_fn(struct api_call *call, struct http_response *resp, struct list_answer *out, struct err *err);

/* Most requests are those of clients that ask the same again and again. */
static int cluster_list_answer(struct api_call *call, const char *kind, list_make_fn *make, struct http_response *resp,
                               struct err *err) {
    struct list_answer answer = {.body = NULL};
    struct list_key key;
    int rc = 0;
    list_memo_key(call, kind, &key);
    if (!list_memo_find(call, &key, &answer)) {
        rc = make(call, resp, &answer, err);
        if (rc || !answer.body)
            return rc;
        list_memo_put(call, &key, &answer);
    }
    reply_freshness(call, resp);
    rc = reply_shared(call, resp, &(struct reply_file){"application/json", answer.etag, answer.body});
    http_shared_unref(answer.body);
    return rc;
}

int h_clusters_list(struct api_call *call, struct http_response *resp, struct err *err) {
    return cluster_list_answer(call, "list", cluster_list_make, resp, err);
}

int h_clusters_counts(struct api_call *call, struct http_response *resp, struct err *err) {
    return cluster_list_answer(call, "counts", cluster_counts_make, resp, err);
}
