/* Where a page of clusters ended: order of a list, and its opaque cursor. Layer 3 (directory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "str.h"

#define KEY_BYTES_MAX 256U
#define DIGEST_BYTES 8U
#define CURSOR_BYTES_MAX 1024U

/* The sort key as a text that compares like the value: what the cursor carries. `out` needs KEY_BYTES_MAX. */
static const char *key_of(const struct dir_cluster_query *query, const struct cluster *c, char *out) {
    int64_t time_ms = query->sort == DIR_SORT_CREATED ? c->created_at_ms : c->updated_at_ms;
    switch (query->sort) {
    case DIR_SORT_NAME: return c->name;
    case DIR_SORT_KUBERNETES_VERSION: return c->kubernetes_version;
    case DIR_SORT_STATE: (void)snprintf(out, KEY_BYTES_MAX, "%02d", (int)c->state); return out;
    case DIR_SORT_CREATED:
    case DIR_SORT_UPDATED:
    default: (void)snprintf(out, KEY_BYTES_MAX, "%020" PRId64, time_ms); return out;
    }
}

/* Versions order by number ("1.9" before "1.31"), everything else byte by byte. */
static int compare_keys(const struct dir_cluster_query *query, const char *a, const char *b) {
    int order = query->sort == DIR_SORT_KUBERNETES_VERSION ? strverscmp(a, b) : strcmp(a, b);
    return query->is_descending ? -order : order;
}

static int compare_ids(const struct dir_cluster_query *query, const char *a, const char *b) {
    return query->is_descending ? -strcmp(a, b) : strcmp(a, b);
}

int dir_cursor_compare(const struct dir_cluster_query *query, const struct cluster *a, const struct cluster *b) {
    char a_key[KEY_BYTES_MAX], b_key[KEY_BYTES_MAX];
    int order = compare_keys(query, key_of(query, a, a_key), key_of(query, b, b_key));
    return order ? order : compare_ids(query, a->id, b->id);
}

bool dir_cursor_before(const struct dir_cursor *cursor, const struct dir_cluster_query *query, const struct cluster *cluster) {
    char key[KEY_BYTES_MAX];
    int order = compare_keys(query, cursor->key, key_of(query, cluster, key));
    return order ? order < 0 : compare_ids(query, cursor->id, cluster->id) < 0;
}

static void add_part(struct strbuf *text, const char *part) {
    strbuf_adds(text, part ? part : "");
    strbuf_addc(text, '\n');
}

/* A cursor fits only the query it came from: same filters and order, any limit. */
static void digest_query(const struct dir_cluster_query *query, uint8_t out[DIGEST_SHA256_BYTES]) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, 16384);
    add_part(&text, query->hx_cluster);
    add_part(&text, query->hx_cluster_id);
    add_part(&text, query->vcenter);
    add_part(&text, query->vsphere_cluster);
    add_part(&text, query->text);
    strbuf_addf(&text, "%u %d %d", query->state_mask, (int)query->sort, query->is_descending);
    digest_sha256(text.data, text.len, out);
}

void dir_cursor_write(const struct dir_cluster_query *query, const struct cluster *last, struct strbuf *out) {
    _cleanup_strbuf_ struct strbuf raw;
    uint8_t digest[DIGEST_SHA256_BYTES];
    char key[KEY_BYTES_MAX];
    strbuf_init(&raw, CURSOR_BYTES_MAX);
    digest_query(query, digest);
    strbuf_add(&raw, digest, DIGEST_BYTES);
    strbuf_adds(&raw, key_of(query, last, key));
    strbuf_addc(&raw, '\0');
    strbuf_adds(&raw, last->id);
    str_base64url(out, (const uint8_t *)raw.data, raw.len);
}

static int bad_cursor(struct err *err) {
    (void)err_set(err, ERR_INVALID, "the query parameter \"cursor\" does not belong to this query");
    return err_remedy(err, "start again without a cursor and follow next_cursor without changing the filters");
}

int dir_cursor_parse(const struct dir_cluster_query *query, struct dir_cursor *out, struct err *err) {
    uint8_t raw[CURSOR_BYTES_MAX + 1], digest[DIGEST_SHA256_BYTES];
    long n = str_unbase64url(query->cursor, strlen(query->cursor), raw, CURSOR_BYTES_MAX);
    const char *key, *id, *end;

    digest_query(query, digest);
    if (n <= (long)DIGEST_BYTES || memcmp(raw, digest, DIGEST_BYTES) != 0)
        return bad_cursor(err);
    raw[n] = 0;
    key = (const char *)raw + DIGEST_BYTES;
    end = (const char *)raw + n;
    id = key + strlen(key) + 1;
    if (id >= end || id + strlen(id) != end)
        return bad_cursor(err);
    out->key = str_dup(key);
    out->id = str_dup(id);
    return out->key && out->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

void dir_cursor_done(struct dir_cursor *cursor) {
    free(cursor->key);
    free(cursor->id);
    memset(cursor, 0, sizeof(*cursor));
}
