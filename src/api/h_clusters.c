/* Handlers of /v2/clusters: reading. Layer 5 (api). Writing is h_clusters_write.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "handlers.h"
#include "limits.h"
#include "list_memo.h"
#include "list_wait.h"
#include "node_view.h"
#include "problem.h"
#include "query.h"
#include "reply.h"
#include "str.h"
#include "uuid.h"
#include "views.h"

#define TEXT_CHARS_MAX 100

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

static int read_sort(struct api_call *call, struct dir_cluster_query *q, struct err *err) {
    const char *word = http_request_query(call->req, "sort");
    q->sort = DIR_SORT_NAME;
    if (!word || dir_sort_parse(word, &q->sort, &q->is_descending))
        return 0;
    return problem_parameter(
        call, "sort", "must be name, state, kubernetes_version, created_at or updated_at, with or without a leading -", err);
}

/* An empty name is a slip of the client, not a thing that is not there. */
static int check_names(struct api_call *call, struct err *err) {
    static const char *const names[] = {"hx_cluster", "vcenter", "vsphere_cluster"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = http_request_query(call->req, names[i]);
        if (value && !*value)
            return problem_parameter(call, names[i], "is empty", err);
    }
    return 0;
}

static int check_combination(struct api_call *call, const struct dir_cluster_query *q, struct err *err) {
    if (q->hx_cluster && q->hx_cluster_id)
        return problem_parameter(call, "hx_cluster", "cannot be combined with hx_cluster_id", err);
    if (q->vsphere_cluster && !q->vcenter)
        return problem_parameter(call, "vsphere_cluster", "needs \"vcenter\" beside it", err);
    if (q->vsphere_cluster && (q->hx_cluster || q->hx_cluster_id))
        return problem_parameter(call, "vsphere_cluster", "cannot be combined with an HX cluster", err);
    if (q->hx_cluster_id && !uuid_is_valid(q->hx_cluster_id))
        return problem_parameter(call, "hx_cluster_id", "must be a UUID", err);
    if (q->text && (!*q->text || str_utf8_chars(q->text, strlen(q->text)) > TEXT_CHARS_MAX))
        return problem_parameter(call, "q", "must have 1 to 100 characters", err);
    return 0;
}

static int clusters_read_query(struct api_call *call, struct dir_cluster_query *q, struct err *err) {
    static const char *const known[] = {"hx_cluster", "hx_cluster_id", "vcenter", "vsphere_cluster", "state", "q",
                                        "sort",       "limit",         "cursor",  "watch",           "wait",  NULL};
    int rc = http_request_check_query(call->req, known, err);
    memset(q, 0, sizeof(*q));
    q->hx_cluster = http_request_query(call->req, "hx_cluster");
    q->hx_cluster_id = http_request_query(call->req, "hx_cluster_id");
    q->vcenter = http_request_query(call->req, "vcenter");
    q->vsphere_cluster = http_request_query(call->req, "vsphere_cluster");
    q->text = http_request_query(call->req, "q");
    q->cursor = http_request_query(call->req, "cursor");
    if (!rc)
        rc = check_names(call, err);
    if (!rc)
        rc = read_states(call, &q->state_mask, err);
    if (!rc)
        rc = read_sort(call, q, err);
    if (!rc)
        rc = reply_read_limit(call, &q->limit, err);
    return rc ? rc : check_combination(call, q, err);
}

static void add_candidates(struct api_call *call, const struct dir_candidates *candidates) {
    json_t *list = json_array();
    for (size_t i = 0; i < candidates->count; i++)
        (void)json_array_append_new(list, view_hx_candidate(call->snapshot->platform, candidates->items[i]));
    problem_add(call, "candidates", list);
}

/* Without a body: the wait for a change is not over, or `resp` is the answer already. */
static int make_list(struct api_call *call, struct http_response *resp, struct list_answer *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct dir_page page = {.text = &text};
    struct dir_cluster_query query;
    struct list_wait wait = {0};
    int rc = clusters_read_query(call, &query, err);

    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    if (!rc)
        rc = list_wait_read(call, &wait, err);
    if (!rc && wait.cursor)
        rc = list_wait_look(call, &wait, &query, &page.candidates, resp, err);
    if (!rc && wait.is_changed)
        rc = dir_list_clusters(call->snapshot, &call->viewer, &query, &page, err);
    if (rc == ERR_AMBIGUOUS && page.candidates.count > 1)
        add_candidates(call, &page.candidates);
    if (rc || !wait.is_changed)
        return rc;
    reply_format_etag(page.etag_hash, true, out->etag);
    out->body = http_shared_new(&text);
    return out->body ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int send_list(struct api_call *call, struct http_response *resp, const struct list_answer *answer) {
    const struct reply_file file = {.type = "application/json", .etag = answer->etag, .body = answer->body};
    reply_freshness(call, resp);
    return reply_shared(call, resp, &file);
}

/* Most requests are those of clients that ask the same again and again. */
int h_clusters_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct list_answer answer = {.body = NULL};
    struct list_key key;
    int rc = 0;
    list_memo_key(call, &key);
    if (!list_memo_find(call->api->list_memo, call->snapshot ? call->snapshot->generation : 0, &key, &answer)) {
        rc = make_list(call, resp, &answer, err);
        if (!rc && answer.body)
            list_memo_put(call->api->list_memo, call, &key, &answer);
    }
    if (!rc && answer.body)
        rc = send_list(call, resp, &answer);
    http_shared_unref(answer.body);
    return rc;
}

int h_clusters_show(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    char etag[REPLY_ETAG_BYTES];
    uint64_t hash = 0;
    int rc = api_check_no_query(call, err);
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    if (!rc)
        rc = dir_show_cluster(call->snapshot, &call->viewer, http_request_param(call->req, "id"), &text, &hash, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    reply_format_etag(hash, false, etag);
    return reply_tagged(call, resp, etag, "application/json", &text);
}

/* Nodes of one answer, in their order. */
struct node_page {
    const struct dir_platform *platform;
    const struct node **nodes;
};

/* Order of the list: control plane first, then by name. */
static const char *node_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct node *node = ((const struct node_page *)arg)->nodes[i];
    (void)snprintf(buffer, n, "%d%s", (int)node->role, node->name);
    return buffer;
}

static json_t *node_item(const void *arg, size_t i) {
    const struct node_page *page = arg;
    return view_node(page->platform, page->nodes[i]);
}

static size_t order_nodes(const struct node_onlooker *by, const struct node **out) {
    const struct cluster *c = by->entry->record;
    size_t n = 0;
    for (int role = NODE_CONTROL_PLANE; role <= NODE_WORKER; role++)
        for (size_t i = 0; i < c->nodes_count; i++)
            if ((int)c->nodes[i].role == role && view_node_is_visible(by, &c->nodes[i]))
                out[n++] = &c->nodes[i];
    return n;
}

/* What may not be seen is only counted, as parts of the placement are. */
int h_clusters_nodes(struct api_call *call, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"limit", "cursor", NULL};
    struct node_onlooker by = {.platform = call->snapshot->platform, .viewer = &call->viewer};
    _cleanup_free_ const struct node **nodes = NULL;
    struct node_page page = {.platform = call->snapshot->platform};
    struct reply_list list = {.key = node_key, .item = node_item, .arg = &page};
    int rc = http_request_check_query(call->req, known, err);
    if (!rc)
        rc =
            dir_get_visible_cluster(call->snapshot, &call->viewer, http_request_param(call->req, "id"), &by.entry, &by.mask, err);
    if (rc)
        return rc;
    nodes = calloc(by.entry->record->nodes_count + 1, sizeof(*nodes));
    if (!nodes)
        return err_set(err, ERR_NOMEM, "out of memory");
    page.nodes = nodes;
    list.count = order_nodes(&by, nodes);
    list.extra = json_object();
    json_put_int(list.extra, "hidden", (int64_t)(by.entry->record->nodes_count - list.count));
    return reply_list(call, resp, &list, err);
}
