/* A list of clusters as kaasctl prints it, made into what is imported. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd_cluster_listed.h"

#include <string.h>

#include "json.h"
#include "str.h"

/* A list on its way. */
struct listed {
    bool is_update;
    struct strbuf *left;
};

static void listed_leave_out(struct listed *l, json_t *record, const char *name) {
    _cleanup_free_ char *told = str_format(", %s,", name), *before = str_format(", %s,", l->left->data);
    if (!json_object_get(record, name))
        return;
    (void)json_object_del(record, name);
    if (told && before && !strstr(before, told))
        strbuf_addf(l->left, "%s%s", l->left->len ? ", " : "", name);
}

/* By identity, so that nothing hangs on names. What is hidden cannot be said: then the record keeps where it is. */
static void listed_place(struct listed *l, json_t *record) {
    json_t *placement = json_object_get(record, "placement"), *places = json_array(), *place;
    const bool is_seen = str_eq(json_get_string(placement, "source"), "observed");
    size_t i;
    json_array_foreach (json_object_get(placement, "vsphere_clusters"), i, place) {
        json_t *one = json_object();
        json_put_string(one, "vcenter_id", json_get_string(place, "vcenter_id"));
        json_put_string(one, "moref", json_get_string(place, "moref"));
        json_add(places, one);
    }
    if (json_array_size(places) && !json_get_int(placement, "hidden", 0) && !(is_seen && l->is_update))
        json_put(record, "vsphere_clusters", json_incref(places));
    json_decref(places);
    listed_leave_out(l, record, "placement");
}

/* A state that is reported or seen would become one that was typed; so would the nodes that are ready. */
static void listed_state(struct listed *l, json_t *record) {
    if (json_object_get(record, "state_source") && !str_eq(json_get_string(record, "state_source"), "declared")) {
        listed_leave_out(l, record, "state");
        listed_leave_out(l, record, "state_reason");
        (void)json_object_del(json_object_get(record, "control_plane"), "ready");
        (void)json_object_del(json_object_get(record, "workers"), "ready");
    }
}

static int listed_put(struct listed *l, json_t *record, struct strbuf *out, struct err *err) {
    static const char *const set_by_kaasd[] = {"id",         "state_source", "state_since", "state_by",
                                               "created_at", "updated_at",   "observed_at"};
    int rc;
    listed_place(l, record);
    listed_state(l, record);
    for (size_t i = 0; i < ARRAY_COUNT(set_by_kaasd); i++)
        listed_leave_out(l, record, set_by_kaasd[i]);
    rc = json_write(record, out, err);
    strbuf_addc(out, '\n');
    return rc;
}

int cluster_listed_to_lines(struct strbuf *text, bool is_update, struct strbuf *left, struct err *err) {
    struct listed l = {.is_update = is_update, .left = left};
    _cleanup_json_ json_t *records = NULL;
    _cleanup_strbuf_ struct strbuf lines = {0};
    json_t *record;
    size_t i;
    int rc;
    if (text->data[strspn(text->data, " \t\r\n")] != '[')
        return 0;
    rc = json_parse(text->data, text->len, &records, err);
    strbuf_init(&lines, text->max_bytes);
    json_array_foreach (records, i, record)
        if (!rc)
            rc = listed_put(&l, record, &lines, err);
    if (rc)
        return rc;
    strbuf_reset(text);
    strbuf_add(text, lines.data, lines.len);
    return strbuf_check(text, "the list", err);
}
