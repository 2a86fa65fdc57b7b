/* JSON of one cluster, made once per change. Layer 3 (inventory). Joining fragments into lists is query.c.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Written as text, member by member: building a jansson tree for each of 20,000 clusters was four fifths of the time until kaasd was
 * ready. What is hard about JSON, escapes and broken UTF-8, is still jansson's. */
#include "render.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "json.h"
#include "limits.h"
#include "str.h"
#include "strbuf.h"

/* Far above what the limits of limits.h allow (about 500 KB): one large record must never keep the list from being built. */
#define FRAGMENT_BYTES_MAX (4U * 1024U * 1024U)
#define FIRST_BYTES 2048 /* enough for nearly all */

/* Most texts need no escape and are copied; whatever does need one, or is not ASCII, is left to jansson. */
static bool render_is_plain(const char *text) {
    for (const char *c = text; *c; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
            return false;
    return true;
}

static void put_escaped(struct strbuf *out, const char *text) {
    _cleanup_json_ json_t *object = json_object();
    const json_t *value;
    json_put_string(object, "", text); /* repairs what is not UTF-8 */
    value = json_object_get(object, "");
    if (json_write(value, out, NULL) && !out->failed)
        out->failed = ERR_NOMEM;
}

static void put_string(struct strbuf *out, const char *text) {
    if (!render_is_plain(text)) {
        put_escaped(out, text);
        return;
    }
    strbuf_addc(out, '"');
    strbuf_adds(out, text);
    strbuf_addc(out, '"');
}

/* The keys of ours are plain; `start` brings the comma or the brace before it, and the colon after it. */
static void render_put_text(struct strbuf *out, const char *start, const char *value) {
    strbuf_adds(out, start);
    put_string(out, value ? value : "");
}

/* A member that is null when there is no text: the contract lists every member as required. */
static void put_text_or_null(struct strbuf *out, const char *start, const char *value) {
    strbuf_adds(out, start);
    if (value)
        put_string(out, value);
    else
        strbuf_adds(out, "null");
}

static void render_put_number(struct strbuf *out, const char *start, size_t value) {
    char digits[24];
    char *at = digits + sizeof(digits);
    *--at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    strbuf_adds(out, start);
    strbuf_adds(out, at);
}

static void put_replicas(struct strbuf *out, int ready, int desired) {
    if (ready < 0)
        strbuf_adds(out, "{\"ready\":null");
    else
        render_put_number(out, "{\"ready\":", (size_t)ready);
    render_put_number(out, ",\"desired\":", desired < 0 ? 0 : (size_t)desired);
    strbuf_addc(out, '}');
}

static void put_placed_vsphere(struct strbuf *out, const struct inventory_platform *platform, const struct object_ref *ref) {
    const struct vsphere_cluster *found = inventory_find_vsphere(platform, ref);
    render_put_text(out, "{\"vcenter_id\":", ref->vcenter_id);
    put_text_or_null(out, ",\"datacenter\":", found ? found->datacenter : NULL);
    render_put_text(out, ",\"moref\":", ref->moref);
    put_text_or_null(out, ",\"name\":", found ? found->name : NULL);
    strbuf_addc(out, '}');
}

/* Others may have its name: its place is its own. */
static void put_placed_hx(struct strbuf *out, const struct inventory_platform *platform, const struct hx_cluster *hx) {
    _cleanup_free_ char *path = vsphere_cluster_path(inventory_find_vsphere(platform, &hx->vsphere_cluster));
    render_put_text(out, "{\"id\":", hx->id);
    render_put_text(out, ",\"name\":", hx->name);
    render_put_text(out, ",\"name_source\":", hx_cluster_name_source(hx));
    put_text_or_null(out, ",\"hx_uuid\":", hx->hx_uuid);
    put_text_or_null(out, ",\"path\":", path);
    strbuf_addc(out, '}');
}

static void put_placed(struct strbuf *out, const struct cluster *c, const struct inventory_platform *platform, uint64_t mask) {
    bool is_first = true;
    for (size_t i = 0; i < c->placement.count; i++) {
        if (!inventory_mask_has(mask, i))
            continue;
        if (!is_first)
            strbuf_addc(out, ',');
        put_placed_vsphere(out, platform, &c->placement.items[i]);
        is_first = false;
    }
}

static void put_hx(struct strbuf *out, const struct cluster *c, const struct inventory_platform *platform, uint64_t mask) {
    bool is_first = true;
    for (size_t i = 0; i < c->placement.count; i++) {
        const struct hx_cluster *hx = inventory_mask_has(mask, i) ? inventory_find_hx_on(platform, &c->placement.items[i]) : NULL;
        if (!hx || hx->is_gone)
            continue;
        if (!is_first)
            strbuf_addc(out, ',');
        put_placed_hx(out, platform, hx);
        is_first = false;
    }
}

static void put_placement(struct strbuf *out, const struct inventory_cluster *entry, const struct inventory_platform *platform,
                          uint64_t mask) {
    const struct cluster *c = entry->record;
    size_t hidden = 0;
    for (size_t i = 0; i < c->placement.count; i++)
        hidden += !inventory_mask_has(mask, i);
    render_put_text(out, "{\"source\":", c->placement_source);
    strbuf_adds(out, ",\"vsphere_clusters\":[");
    put_placed(out, c, platform, mask);
    strbuf_adds(out, "],\"hx_clusters\":[");
    put_hx(out, c, platform, mask);
    render_put_number(out, "],\"hidden\":", hidden);
    strbuf_addc(out, '}');
}

static void put_labels(struct strbuf *out, const struct cluster *c) {
    strbuf_addc(out, '{');
    for (size_t i = 0; i < c->labels_count; i++) {
        if (i)
            strbuf_addc(out, ',');
        put_string(out, c->labels[i].key);
        strbuf_addc(out, ':');
        put_string(out, c->labels[i].value);
    }
    strbuf_addc(out, '}');
}

static void inventory_render_put_part(struct strbuf *out, const char *name, const struct inventory_cluster *entry,
                                      const struct inventory_platform *platform, uint64_t mask) {
    const struct cluster *c = entry->record;
    if (str_eq(name, "control_plane"))
        put_replicas(out, c->control_plane_ready, c->control_plane_desired);
    else if (str_eq(name, "workers"))
        put_replicas(out, c->workers_ready, c->workers_desired);
    else if (str_eq(name, "placement"))
        put_placement(out, entry, platform, mask);
    else
        put_labels(out, c);
}

static void inventory_render_put_value(struct strbuf *out, const struct member *m, const struct cluster *c) {
    const char *text = member_text(m, c);
    char time[CLOCK_RFC3339_BYTES];
    if (m->kind == MEMBER_LONG) {
        const int64_t wall_ms = member_number(m, c);
        if (wall_ms)
            clock_format(wall_ms, time);
        put_text_or_null(out, "", wall_ms ? time : NULL);
    } else if (text || m->flags & MEMBER_OPTIONAL) {
        put_text_or_null(out, "", text);
    } else {
        put_string(out, "");
    }
}

static void put_cluster(struct strbuf *out, const struct inventory_cluster *entry, const struct inventory_platform *platform,
                        uint64_t mask) {
    struct cluster shown = *entry->record;
    char before = '{';
    if (mask != entry->full_mask) /* names of virtual machines and hosts are for those who see every part */
        shown.state_reason = entry->reason_partial;
    for (const struct member *m = cluster_members; m->name; m++) {
        if (!m->json || m->flags & MEMBER_HIDDEN)
            continue;
        strbuf_addc(out, before);
        strbuf_addc(out, '"');
        strbuf_adds(out, m->json);
        strbuf_adds(out, "\":");
        if (m->kind == MEMBER_PART)
            inventory_render_put_part(out, m->json, entry, platform, mask);
        else
            inventory_render_put_value(out, m, &shown);
        before = ',';
    }
    strbuf_addc(out, '}');
}

int inventory_render_cluster(const struct inventory_cluster *entry, const struct inventory_platform *platform, uint64_t mask,
                             struct inventory_fragment *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    int rc;

    strbuf_init(&text, FRAGMENT_BYTES_MAX);
    strbuf_reserve(&text, FIRST_BYTES);
    put_cluster(&text, entry, platform, mask);
    rc = strbuf_check(&text, "JSON of a cluster", err);
    if (rc)
        return rc;
    out->json = malloc(text.len + 1); /* as long as it is, for as long as it lives */
    if (!out->json)
        return err_set(err, ERR_NOMEM, "out of memory");
    memcpy(out->json, text.data, text.len + 1);
    out->mask = mask;
    out->hash = digest_u64(text.data, text.len);
    out->len = text.len;
    return 0;
}
