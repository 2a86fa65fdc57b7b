/* Questions to a snapshot: who sees what, choosing, ordering, paging. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "digest.h"
#include "limits.h"
#include "names.h"
#include "render.h"
#include "str.h"

static const struct {
    const char *word;
    enum inventory_sort sort;
} sorts[] = {
    {"name", INVENTORY_SORT_NAME},
    {"state", INVENTORY_SORT_STATE},
    {"kubernetes_version", INVENTORY_SORT_KUBERNETES_VERSION},
    {"control_plane", INVENTORY_SORT_CONTROL_PLANE},
    {"workers", INVENTORY_SORT_WORKERS},
    {"hx_cluster", INVENTORY_SORT_HX_CLUSTER},
    {"created_at", INVENTORY_SORT_CREATED},
    {"updated_at", INVENTORY_SORT_UPDATED},
};

bool inventory_sort_parse(const char *word, enum inventory_sort *out, bool *is_descending) {
    bool descending = *word == '-';
    for (size_t i = 0; i < ARRAY_COUNT(sorts); i++) {
        if (!str_eq(sorts[i].word, word + descending))
            continue;
        *out = sorts[i].sort;
        *is_descending = descending;
        return true;
    }
    return false;
}

/* -- where a page of clusters ended: order of a list, and its opaque cursor ---------------------------------------- */

#define DIGEST_BYTES 8U
#define CURSOR_BYTES_MAX 1024U
#define PLACE_BYTES 2048U /* "datacenter/cluster": what is longer is not found by its end */

/* What a cluster is ordered by: first the number, then the text, either way around; those that are equal by name, which is unique. Borrowed. */
struct sort_key {
    int64_t number;
    const char *text, *name;
};

/* Sort key of the last item of the page before; its texts point into `raw`. */
struct cursor {
    struct sort_key key;
    char raw[CURSOR_BYTES_MAX + 1];
};

/* The order of states, from what needs nobody to what needs somebody most. */
static const int state_ranks[CLUSTER_STATE_COUNT] = {
    [CLUSTER_READY] = 0,   [CLUSTER_UPDATING] = 1, [CLUSTER_CREATING] = 2,    [CLUSTER_DELETING] = 3,
    [CLUSTER_UNKNOWN] = 4, [CLUSTER_DEGRADED] = 5, [CLUSTER_UNREACHABLE] = 6, [CLUSTER_FAILED] = 7,
};

/* By how many are wanted, then by how many are ready; not known is less than none. */
static int64_t replicas_number(int ready, int desired) {
    return ((int64_t)(desired > 0 ? desired : 0) << 32) + ready + 1;
}

/* The first of the HX clusters which are shown; NULL if there is none. */
static const struct hx_cluster *first_hx(const struct inventory_platform *platform, const struct cluster *c, uint64_t mask) {
    for (size_t i = 0; i < c->placement.count; i++) {
        const struct hx_cluster *hx = inventory_mask_has(mask, i) ? inventory_find_hx_on(platform, &c->placement.items[i]) : NULL;
        if (hx && !hx->is_gone)
            return hx;
    }
    return NULL;
}

static const char *first_hx_name(const struct inventory_platform *platform, const struct cluster *c, uint64_t mask) {
    const struct hx_cluster *hx = first_hx(platform, c, mask);
    return hx ? hx->name : "";
}

/* The sort key of a cluster of which the placements in `mask` are shown. */
static struct sort_key inventory_query_key_of(const struct inventory_platform *platform, enum inventory_sort sort,
                                              const struct cluster *c, uint64_t mask) {
    struct sort_key key = {.text = "", .name = c->name};
    switch (sort) {
    case INVENTORY_SORT_NAME: key.text = c->name; break;
    case INVENTORY_SORT_KUBERNETES_VERSION: key.text = c->kubernetes_version; break;
    case INVENTORY_SORT_HX_CLUSTER: key.text = first_hx_name(platform, c, mask); break;
    case INVENTORY_SORT_STATE: key.number = state_ranks[c->state]; break;
    case INVENTORY_SORT_CONTROL_PLANE: key.number = replicas_number(c->control_plane_ready, c->control_plane_desired); break;
    case INVENTORY_SORT_WORKERS: key.number = replicas_number(c->workers_ready, c->workers_desired); break;
    case INVENTORY_SORT_CREATED: key.number = c->created_at_ms; break;
    case INVENTORY_SORT_UPDATED:
    default: key.number = c->updated_at_ms; break;
    }
    return key;
}

/* Order of two clusters in this query's list. Versions order by number ("1.9" before "1.31"), other texts byte by byte. */
static int compare_keys(const struct inventory_cluster_query *query, const struct sort_key *a, const struct sort_key *b) {
    int order = (a->number > b->number) - (a->number < b->number);
    if (!order)
        order = query->sort == INVENTORY_SORT_KUBERNETES_VERSION ? kubernetes_version_compare(a->text, b->text)
                                                                 : strcmp(a->text, b->text);
    if (order)
        return query->is_descending ? -order : order;
    return strcmp(a->name, b->name);
}

static void query_add_part(struct strbuf *text, const char *part) {
    strbuf_adds(text, part ? part : "");
    strbuf_addc(text, '\n');
}

/* A cursor fits only the query it came from: same filters and order, any limit. */
static void digest_query(const struct inventory_cluster_query *query, uint8_t out[DIGEST_SHA256_BYTES]) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, 16384);
    query_add_part(&text, query->hx_cluster);
    query_add_part(&text, query->hx_cluster_id);
    query_add_part(&text, query->vcenter);
    query_add_part(&text, query->vsphere_cluster);
    query_add_part(&text, query->datacenter);
    query_add_part(&text, query->text);
    for (size_t i = 0; i < query->labels_count; i++) {
        const struct inventory_label_query *label = &query->labels[i];
        strbuf_add(&text, label->key, label->key_len);
        strbuf_addc(&text, label->value ? '=' : ' ');
        strbuf_add(&text, label->value, label->value_len);
        strbuf_addc(&text, '\n');
    }
    if (query->on_hx) /* without it the text is that of the version before, whose cursors go on */
        query_add_part(&text, query->on_hx == INVENTORY_ON_HX ? "on HX" : "not on HX");
    strbuf_addf(&text, "%u %d %d, then by name", query->state_mask, (int)query->sort, query->is_descending);
    digest_sha256(text.data, text.len, out);
}

/* Appends the cursor text for a page that ends with `last`: base64url of a digest of the query and the sort key. */
static void cursor_write(const struct inventory_cluster_query *query, const struct sort_key *last, struct strbuf *out) {
    _cleanup_strbuf_ struct strbuf raw;
    uint8_t digest[DIGEST_SHA256_BYTES];
    strbuf_init(&raw, CURSOR_BYTES_MAX);
    digest_query(query, digest);
    strbuf_add(&raw, digest, DIGEST_BYTES);
    strbuf_addf(&raw, "%" PRId64, last->number);
    strbuf_addc(&raw, '\0');
    strbuf_adds(&raw, last->text);
    strbuf_addc(&raw, '\0');
    strbuf_adds(&raw, last->name);
    str_base64url(out, (const uint8_t *)raw.data, raw.len);
}

/* Takes the next of the texts that end at `end`; NULL if there is none any more. */
static const char *cursor_take(const char **at, const char *end) {
    const char *text = *at;
    if (text > end)
        return NULL;
    *at = text + strlen(text) + 1;
    return text;
}

/* Reads query->cursor. ERR_INVALID if it is malformed or belongs to another query. */
static int cursor_parse(const struct inventory_cluster_query *query, struct cursor *out, struct err *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    long n = str_unbase64url(query->cursor, strlen(query->cursor), (uint8_t *)out->raw, CURSOR_BYTES_MAX);

    digest_query(query, digest);
    if (n > (long)DIGEST_BYTES && !memcmp(out->raw, digest, DIGEST_BYTES)) {
        const char *at = out->raw + DIGEST_BYTES, *end = out->raw + n;
        out->raw[n] = 0;
        const char *number = cursor_take(&at, end);
        out->key.text = cursor_take(&at, end);
        out->key.name = cursor_take(&at, end);
        if (out->key.name && at == end + 1 && str_to_i64(number, INT64_MIN, INT64_MAX, &out->key.number))
            return 0;
    }
    (void)err_set(err, ERR_INVALID, "the query parameter \"cursor\" does not belong to this query");
    return err_remedy(err, "start again without a cursor and follow next_cursor without changing the filters");
}

/* -- lists ----------------------------------------------------------------------------------------------------------------- */

/* The positions to look at: all clusters, or those on one vSphere cluster. */
struct candidates {
    const uint32_t *positions; /* NULL: all in name order */
    size_t count;
};

/* One page in the making. */
struct page {
    const struct inventory_snapshot *snapshot;
    const struct viewer_key *viewer;
    const struct inventory_cluster_query *query;
    struct candidates from;
    const char *vcenter_id;                   /* NULL: any */
    const char *datacenter;                   /* managed object id of one there; NULL: any */
    char words[INVENTORY_TEXT_BYTES_MAX + 2]; /* of the text, in lower case, each with its NUL; an empty one ends them */
    bool is_of_place[INVENTORY_TEXT_BYTES_MAX / 2 + 1]; /* each word: does any vSphere cluster have it in its names? */
    bool is_whole;                                      /* nothing is asked for: all clusters that the viewer may see */
    const struct cursor *cursor;                        /* NULL: from the beginning */
    struct strbuf *out;
    uint64_t etag;
    size_t total, written;
    bool is_full; /* there was one more, which belongs to the next page */
};

static void clusters_on(const struct inventory_snapshot *s, const struct vsphere_cluster *on, struct candidates *out) {
    const struct inventory_index *index = &s->by_vsphere[on - s->platform->vsphere];
    *out = (struct candidates){index->positions, index->count};
}

static bool hx_fits(const struct page *page, const struct hx_cluster *hx) {
    const char *vcenter_id = page->vcenter_id;
    if (vcenter_id && !str_eq(hx->vsphere_cluster.vcenter_id, vcenter_id))
        return false;
    return !hx->is_gone && inventory_sees_vsphere(page->snapshot->platform, page->viewer, &hx->vsphere_cluster);
}

/* May a name be that of one which the viewer sees, and whose own name is not known? What it may not see does not count. */
static bool hx_may_be_unread(const struct page *page) {
    const struct inventory_platform *p = page->snapshot->platform;
    for (size_t i = 0; page->query->hx_cluster && i < p->hx_count; i++)
        if (!p->hx[i].is_name_read && hx_fits(page, &p->hx[i]))
            return true;
    return false;
}

static int hx_not_found(const struct page *page, struct err *err) {
    const struct inventory_cluster_query *q = page->query;
    if (hx_may_be_unread(page)) {
        (void)err_set(err, ERR_HX_NAME_UNKNOWN,
                      "no HX cluster that you may see is known as \"%s\", and not all have told their name", q->hx_cluster);
        return err_remedy(err,
                          "connect kaasd to the HX cluster (kaasctl hx connect HX), or ask by DATACENTER/CLUSTER in vCenter or by"
                          " hx_cluster_id: GET /v2/hx-clusters");
    }
    (void)err_set(err, ERR_NOT_FOUND, "there is no HX cluster \"%s\", or you may not see it",
                  q->hx_cluster_id ? q->hx_cluster_id : q->hx_cluster);
    return err_remedy(err, "compare with GET /v2/hx-clusters");
}

static void query_find_hx(const struct page *page, struct inventory_candidates *out) {
    const struct inventory_platform *p = page->snapshot->platform;
    const struct inventory_cluster_query *q = page->query;
    const struct hx_cluster *one = q->hx_cluster_id ? inventory_find_hx(p, inventory_get_hx_id(p, q->hx_cluster_id)) : NULL;
    out->count = 0;
    if (one && hx_fits(page, one))
        out->items[out->count++] = one;
    if (q->hx_cluster_id)
        return;
    for (size_t i = 0; i < p->hx_count && out->count < INVENTORY_CANDIDATES_MAX; i++)
        if (inventory_hx_is_called(p, &p->hx[i], q->hx_cluster) && hx_fits(page, &p->hx[i]))
            out->items[out->count++] = &p->hx[i];
}

/* Finds the HX cluster that the query names among those the viewer may see. */
static int query_choose_hx(struct page *page, struct inventory_candidates *candidates, struct err *err) {
    const struct inventory_snapshot *s = page->snapshot;
    const struct vsphere_cluster *on;
    query_find_hx(page, candidates);
    if (candidates->count == 0)
        return hx_not_found(page, err);
    if (candidates->count > 1) {
        (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits %zu HX clusters", page->query->hx_cluster, candidates->count);
        return err_remedy(err, "ask again with hx_cluster_id");
    }
    on = inventory_find_vsphere(s->platform, &candidates->items[0]->vsphere_cluster);
    if (!on)
        return hx_not_found(page, err);
    clusters_on(s, on, &page->from);
    return 0;
}

static int choose_vsphere(struct page *page, const struct vcenter *vc, struct err *err) {
    const struct vsphere_cluster *on = NULL;
    int rc =
        inventory_resolve_visible_vsphere(page->snapshot->platform, page->viewer, vc, page->query->vsphere_cluster, &on, err);
    if (!rc)
        clusters_on(page->snapshot, on, &page->from);
    return rc;
}

/* Datacenters are known by the vSphere clusters in them. */
static int choose_datacenter(struct page *page, const struct vcenter *vc, struct err *err) {
    const struct inventory_platform *p = page->snapshot->platform;
    const char *wanted = page->query->datacenter;
    if (!vc)
        return err_set(err, ERR_INVALID, "the query parameter \"datacenter\" needs \"vcenter\" beside it");
    for (size_t i = inventory_first_vsphere(p, vc->id); i < p->vsphere_count && str_eq(p->vsphere[i].ref.vcenter_id, vc->id);
         i++) {
        const struct vsphere_cluster *c = &p->vsphere[i];
        const char *found = c->datacenter_moref;
        if (c->is_gone || !found || !(str_eq(found, wanted) || vsphere_name_is(c->datacenter, wanted)) ||
            !inventory_sees_vsphere(p, page->viewer, &c->ref))
            continue;
        if (page->datacenter && !str_eq(page->datacenter, found)) {
            (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits more than one datacenter of vCenter %s", wanted, vc->name);
            return err_remedy(err, "name the datacenter by its managed object id, e.g. %s or %s", page->datacenter, found);
        }
        page->datacenter = found;
    }
    if (page->datacenter)
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "vCenter %s has no datacenter \"%s\", or you may see none of its vSphere clusters",
                  vc->name, wanted);
    return err_remedy(err, "give its name or its managed object id; 'kaasctl vcenter rescan %s' reads the inventory again",
                      name_word(vc->name, vc->id));
}

/* Is the word in "datacenter/cluster" of this vSphere cluster, or in the name of the HX cluster on it? */
static bool place_has_word(const struct inventory_platform *p, const struct vsphere_cluster *on, const char *word) {
    const struct hx_cluster *hx = inventory_find_hx_on(p, &on->ref);
    char path[PLACE_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", on->datacenter ? on->datacenter : "", on->name ? on->name : "");
    return strcasestr(path, word) || (hx && !hx->is_gone && hx->name && strcasestr(hx->name, word));
}

/* Most words are in no name of a place, and then no cluster's places need to be looked at for them. */
static void query_find_places(struct page *page) {
    const struct inventory_platform *p = page->snapshot->platform;
    size_t n = 0;
    for (const char *word = page->words; *word; word += strlen(word) + 1, n++)
        for (size_t i = 0; i < p->vsphere_count && !page->is_of_place[n]; i++)
            page->is_of_place[n] = place_has_word(p, &p->vsphere[i], word);
}

/* "v1.31.2", as kubectl prints it: kept without the v. */
static bool query_is_version(const char *word) {
    const size_t digits = *word == 'v' || *word == 'V' ? strspn(word + 1, "0123456789") : 0;
    return digits && word[1 + digits] == '.';
}

static int query_read_words(struct page *page, struct err *err) {
    const char *text = page->query->text ? page->query->text : "";
    char *word = page->words;
    if (strlen(text) > INVENTORY_TEXT_BYTES_MAX)
        return err_set(err, ERR_INVALID, "the query parameter \"q\" is too long");
    for (size_t n; *(text += strspn(text, " ")); text += n, word += n + 1) {
        text += query_is_version(text);
        n = strcspn(text, " ");
        memcpy(word, text, n);
        str_lower(word);
    }
    query_find_places(page);
    return 0;
}

/* Where to look, and for what. */
static int query_choose(struct page *page, struct inventory_candidates *candidates, struct err *err) {
    const struct inventory_cluster_query *q = page->query;
    const struct vcenter *vc = NULL;
    int rc = query_read_words(page, err);
    if (rc)
        return rc;
    page->from = (struct candidates){.count = page->snapshot->clusters_count};
    if (q->vcenter) {
        rc = inventory_resolve_visible_vcenter(page->snapshot->platform, page->viewer, q->vcenter, &vc, err);
        if (rc)
            return rc;
        page->vcenter_id = vc->id;
    }
    if (q->hx_cluster || q->hx_cluster_id)
        return query_choose_hx(page, candidates, err);
    if (q->vsphere_cluster)
        return choose_vsphere(page, vc, err);
    if (q->datacenter)
        return choose_datacenter(page, vc, err);
    page->is_whole = !vc && !q->on_hx && !q->state_mask && !q->labels_count && !page->words[0];
    return 0;
}

static bool is_on_vcenter(const struct cluster *c, const char *vcenter_id, uint64_t mask) {
    for (size_t i = 0; i < c->placement.count; i++)
        if (inventory_mask_has(mask, i) && str_eq(c->placement.items[i].vcenter_id, vcenter_id))
            return true;
    return false;
}

bool inventory_sees_clusters_on(const struct inventory_snapshot *s, const struct viewer_key *viewer, const char *vcenter_id) {
    for (size_t i = 0; i < s->platform->vsphere_count; i++) {
        const struct object_ref *ref = &s->platform->vsphere[i].ref;
        if (s->by_vsphere[i].count && str_eq(ref->vcenter_id, vcenter_id) && inventory_sees_vsphere(s->platform, viewer, ref))
            return true;
    }
    for (size_t i = 0; i < viewer->grants_count; i++) {
        const struct grant *grant = policy_grant_at(viewer, i);
        const struct inventory_cluster *c = grant->object == GRANT_CLUSTER ? inventory_find_cluster(s, grant->object_id) : NULL;
        if (c && is_on_vcenter(c->record, vcenter_id, UINT64_MAX))
            return true;
    }
    return false;
}

static bool is_in_datacenter(const struct page *page, const struct cluster *c, uint64_t mask) {
    for (size_t i = 0; i < c->placement.count; i++) {
        const struct object_ref *ref = &c->placement.items[i];
        const bool is_there = inventory_mask_has(mask, i) && str_eq(ref->vcenter_id, page->vcenter_id);
        const struct vsphere_cluster *on = is_there ? inventory_find_vsphere(page->snapshot->platform, ref) : NULL;
        if (on && str_eq(on->datacenter_moref, page->datacenter))
            return true;
    }
    return false;
}

static bool is_on_place(const struct page *page, const struct cluster *c, uint64_t mask, const char *word) {
    for (size_t i = 0; i < c->placement.count; i++) {
        const struct inventory_platform *p = page->snapshot->platform;
        const bool is_shown = inventory_mask_has(mask, i);
        const struct vsphere_cluster *on = is_shown ? inventory_find_vsphere(p, &c->placement.items[i]) : NULL;
        if (on && place_has_word(p, on, word))
            return true;
    }
    return false;
}

/* What it runs on counts as far as it is shown: nobody finds out by searching what is hidden. */
static bool has_words(const struct page *page, const struct inventory_cluster *entry, uint64_t mask) {
    size_t n = 0;
    for (const char *word = page->words; *word; word += strlen(word) + 1, n++)
        if (!strstr(entry->search_text, word) && !(page->is_of_place[n] && is_on_place(page, entry->record, mask, word)))
            return false;
    return true;
}

static bool has_label(const struct cluster *c, const struct inventory_label_query *wanted) {
    for (size_t i = 0; i < c->labels_count; i++) {
        const struct label *label = &c->labels[i];
        if (strlen(label->key) != wanted->key_len || memcmp(label->key, wanted->key, wanted->key_len))
            continue;
        return !wanted->value ||
               (strlen(label->value) == wanted->value_len && !memcmp(label->value, wanted->value, wanted->value_len));
    }
    return false;
}

static bool filters_fit(const struct page *page, const struct inventory_cluster *entry, uint64_t mask) {
    const struct inventory_cluster_query *q = page->query;
    const struct cluster *c = entry->record;
    if (q->state_mask && !(q->state_mask >> c->state & 1U))
        return false;
    if (q->on_hx && (q->on_hx == INVENTORY_ON_HX) != (first_hx(page->snapshot->platform, c, mask) != NULL))
        return false;
    for (size_t i = 0; i < q->labels_count; i++)
        if (!has_label(c, &q->labels[i]))
            return false;
    if (!has_words(page, entry, mask) || (page->vcenter_id && !is_on_vcenter(c, page->vcenter_id, mask)))
        return false;
    return !page->datacenter || is_in_datacenter(page, c, mask);
}

static const struct inventory_cluster *inventory_query_entry_at(const struct page *page, size_t i) {
    return page->snapshot->clusters[page->from.positions ? page->from.positions[i] : i];
}

/* The fragment for this mask; rare combinations of placements are rendered now, into `made`, whose text the caller frees. */
static int get_fragment(const struct page *page, const struct inventory_cluster *entry, uint64_t mask,
                        struct inventory_fragment *made, const struct inventory_fragment **out, struct err *err) {
    for (size_t i = 0; i < entry->fragments_count; i++) {
        if (entry->fragments[i].mask != mask)
            continue;
        *out = &entry->fragments[i];
        return 0;
    }
    *out = made;
    return inventory_render_cluster(entry, page->snapshot->platform, mask, made, err);
}

/* Adds it, or finds that the page is full: of as many as were asked for, or, with large ones, of bytes. One always fits. */
static int add_fragment(struct page *page, const struct inventory_cluster *entry, uint64_t mask, struct err *err) {
    struct inventory_fragment made = {0};
    const struct inventory_fragment *fragment = NULL;
    int rc;
    page->is_full = page->query && page->written == page->query->limit;
    if (page->is_full)
        return 0;
    rc = get_fragment(page, entry, mask, &made, &fragment, err);
    if (rc)
        return rc;
    page->is_full = page->written && page->out->len + fragment->len > KAAS_PAGE_BYTES_MAX;
    if (!page->is_full) {
        if (page->written++)
            strbuf_addc(page->out, ',');
        strbuf_add(page->out, fragment->json, fragment->len);
        page->etag = (page->etag ^ fragment->hash) * UINT64_C(0x9E3779B97F4A7C15) + 1;
    }
    free(made.json);
    return 0;
}

/* Visible and wanted? */
static bool query_is_found(const struct page *page, const struct inventory_cluster *entry, uint64_t *mask) {
    struct policy_view view;
    if (!inventory_view_cluster(page->snapshot->platform, page->viewer, entry->record, &view))
        return false;
    *mask = view.parts;
    return filters_fit(page, entry, *mask);
}

static bool is_behind_cursor(const struct page *page, const struct sort_key *key) {
    return !page->cursor || compare_keys(page->query, &page->cursor->key, key) < 0;
}

/* A list item waiting for its turn when the order is not by name. */
struct chosen {
    const struct inventory_cluster *entry;
    uint64_t mask;
    struct sort_key key;
};

static int compare_chosen(const void *a, const void *b, void *arg) {
    return compare_keys(arg, &((const struct chosen *)a)->key, &((const struct chosen *)b)->key);
}

static int end_page(struct page *page, const struct sort_key *last, struct err *err) {
    strbuf_addf(page->out, "],\"total\":%zu,\"next_cursor\":", page->total);
    if (page->is_full) {
        strbuf_addc(page->out, '"');
        cursor_write(page->query, last, page->out);
        strbuf_addc(page->out, '"');
    } else {
        strbuf_adds(page->out, "null");
    }
    strbuf_addc(page->out, '}');
    page->etag = ((page->etag ^ page->total) * UINT64_C(0x9E3779B97F4A7C15) + 1) ^ page->is_full;
    return strbuf_check(page->out, "list of clusters", err);
}

/* Marks the clusters that the viewer sees by what they run on. Of those on very many vSphere clusters not all count: they are left out. */
static void mark_visible(const struct page *page, bool *is_marked) {
    const struct inventory_snapshot *s = page->snapshot;
    for (size_t i = 0; i < s->platform->vsphere_count; i++) {
        const struct inventory_index *on = &s->by_vsphere[i];
        if (!on->count || !inventory_sees_vsphere(s->platform, page->viewer, &s->platform->vsphere[i].ref))
            continue;
        for (size_t k = 0; k < on->count; k++)
            is_marked[on->positions[k]] = s->clusters[on->positions[k]]->full_mask != UINT64_MAX;
    }
}

/* The total of the whole list. To ask for each vSphere cluster first is ten times as quick as for each cluster. */
static int count_whole(struct page *page, struct err *err) {
    const struct inventory_snapshot *s = page->snapshot;
    _cleanup_free_ bool *is_marked = calloc(s->clusters_count + 1, sizeof(*is_marked));
    struct policy_view view;
    if (!is_marked)
        return err_set(err, ERR_NOMEM, "out of memory");
    mark_visible(page, is_marked);
    page->total = 0;
    for (size_t n = 0; n < s->clusters_count; n++)
        page->total += is_marked[n] || inventory_view_cluster(s->platform, page->viewer, s->clusters[n]->record, &view);
    return 0;
}

/* Name order is the snapshot's own order: what is behind the page is counted only. */
static int inventory_query_list_by_name(struct page *page, struct err *err) {
    const struct inventory_cluster_query *q = page->query;
    struct sort_key last = {0};
    int rc = 0;
    for (size_t n = 0; n < page->from.count && !(page->is_full && page->is_whole); n++) {
        const struct inventory_cluster *entry = inventory_query_entry_at(page, q->is_descending ? page->from.count - 1 - n : n);
        const struct sort_key key = {.text = entry->record->name, .name = entry->record->name};
        uint64_t mask;
        if (!query_is_found(page, entry, &mask))
            continue;
        if (page->total++ < q->offset || page->is_full || !is_behind_cursor(page, &key))
            continue;
        rc = add_fragment(page, entry, mask, err);
        if (rc)
            return rc;
        if (!page->is_full)
            last = key;
    }
    if (page->is_full && page->is_whole)
        rc = count_whole(page, err);
    return rc ? rc : end_page(page, &last, err);
}

static int list_sorted(struct page *page, struct err *err) {
    _cleanup_free_ struct chosen *chosen = calloc(page->from.count + 1, sizeof(*chosen));
    struct inventory_cluster_query query = *page->query;
    size_t count = 0;
    if (!chosen)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t n = 0; n < page->from.count; n++) {
        struct chosen *one = &chosen[count];
        one->entry = inventory_query_entry_at(page, n);
        if (!query_is_found(page, one->entry, &one->mask))
            continue;
        page->total++;
        one->key = inventory_query_key_of(page->snapshot->platform, query.sort, one->entry->record, one->mask);
        count += is_behind_cursor(page, &one->key);
    }
    if (count > 1)
        qsort_r(chosen, count, sizeof(*chosen), compare_chosen, &query);
    for (size_t n = query.offset; n < count && !page->is_full; n++) {
        int rc = add_fragment(page, chosen[n].entry, chosen[n].mask, err);
        if (rc)
            return rc;
    }
    return end_page(page, page->written ? &chosen[query.offset + page->written - 1].key : NULL, err);
}

int inventory_list_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                            const struct inventory_cluster_query *query, struct inventory_page *out, struct err *err) {
    struct page page = {.snapshot = snapshot, .viewer = viewer, .query = query, .out = out->text};
    struct cursor cursor;
    int rc = query_choose(&page, &out->candidates, err);
    if (!rc && query->cursor)
        rc = cursor_parse(query, &cursor, err);
    if (rc)
        return rc;
    page.cursor = query->cursor ? &cursor : NULL;
    strbuf_adds(out->text, "{\"items\":[");
    rc = query->sort == INVENTORY_SORT_NAME ? inventory_query_list_by_name(&page, err) : list_sorted(&page, err);
    if (!rc)
        out->etag_hash = page.etag;
    return rc;
}

int inventory_digest_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                              const struct inventory_cluster_query *query, struct inventory_candidates *candidates,
                              uint64_t *digest, struct err *err) {
    struct page page = {.snapshot = snapshot, .viewer = viewer, .query = query};
    uint64_t sum = 0;
    int rc = query_choose(&page, candidates, err);
    for (size_t n = 0; !rc && n < page.from.count; n++) {
        const struct inventory_cluster *entry = inventory_query_entry_at(&page, n);
        const struct inventory_fragment *fragment = NULL;
        struct inventory_fragment made = {0};
        uint64_t mask;
        if (!query_is_found(&page, entry, &mask))
            continue;
        rc = get_fragment(&page, entry, mask, &made, &fragment, err);
        if (!rc)
            sum = (sum ^ fragment->hash) * UINT64_C(0x9E3779B97F4A7C15) + 1;
        free(made.json);
    }
    if (!rc)
        *digest = sum;
    return rc;
}

void inventory_counts_add(struct inventory_counts *counts, const struct cluster *cluster) {
    counts->total++;
    counts->by_state[cluster->state]++;
    counts->ready_declared += cluster->state == CLUSTER_READY && str_eq(cluster->state_source, "declared");
}

int inventory_count_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                             const struct inventory_cluster_query *query, struct inventory_candidates *candidates,
                             struct inventory_counts *out, struct err *err) {
    struct page page = {.snapshot = snapshot, .viewer = viewer, .query = query};
    int rc = query_choose(&page, candidates, err);
    *out = (struct inventory_counts){0};
    for (size_t n = 0; !rc && n < page.from.count; n++) {
        const struct inventory_cluster *entry = inventory_query_entry_at(&page, n);
        uint64_t mask;
        if (query_is_found(&page, entry, &mask))
            inventory_counts_add(out, entry->record);
    }
    return rc;
}

int inventory_get_visible_cluster(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const char *id,
                                  const struct inventory_cluster **out, uint64_t *mask, struct err *err) {
    const struct inventory_cluster *entry = inventory_find_cluster(snapshot, id);
    struct policy_view view;
    if (!entry || !inventory_view_cluster(snapshot->platform, viewer, entry->record, &view)) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no cluster %s, or you may not see it", id);
        return err_remedy(err, "compare with GET /v2/clusters");
    }
    *out = entry;
    *mask = view.parts;
    return 0;
}

int inventory_show_cluster(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const char *id,
                           struct strbuf *out, uint64_t *etag_hash, struct err *err) {
    struct page page = {.snapshot = snapshot, .viewer = viewer, .out = out};
    const struct inventory_cluster *entry = NULL;
    uint64_t mask = 0;
    int rc = inventory_get_visible_cluster(snapshot, viewer, id, &entry, &mask, err);
    if (!rc)
        rc = add_fragment(&page, entry, mask, err);
    if (!rc)
        rc = strbuf_check(out, "cluster", err);
    if (!rc)
        *etag_hash = page.etag ^ (uint64_t)entry->record->version_no;
    return rc;
}

/* With those that are gone, where Kubernetes clusters are said to be there. */
static int add_objects(const struct inventory_snapshot *snapshot, const char *vcenter_id, bool with_gone, struct object_set *out,
                       struct err *err) {
    const struct inventory_platform *p = snapshot->platform;
    for (size_t i = 0; i < p->vsphere_count; i++) {
        const bool carries = snapshot->by_vsphere[i].count, is_gone = p->vsphere[i].is_gone;
        const bool matters = is_gone ? with_gone && carries : carries || p->hx_of_vsphere[i] != SIZE_MAX;
        int rc = 0;
        if (matters && str_eq(p->vsphere[i].ref.vcenter_id, vcenter_id))
            rc = object_set_add(out, &p->vsphere[i].ref, err);
        if (rc)
            return rc;
    }
    return 0;
}

int inventory_objects_of_interest(const struct inventory_snapshot *snapshot, const char *vcenter_id, struct object_set *out,
                                  struct err *err) {
    return add_objects(snapshot, vcenter_id, false, out, err);
}

int inventory_objects_in_use(const struct inventory_snapshot *snapshot, const char *vcenter_id, struct object_set *out,
                             struct err *err) {
    return add_objects(snapshot, vcenter_id, true, out, err);
}
