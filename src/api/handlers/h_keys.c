/* Handlers of /v2/keys. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "api_call.h"
#include "reply.h"
#include "sealing.h"
#include "str.h"
#include "views.h"

static json_t *view_key(const struct signon_key *key) {
    json_t *object = json_object();
    json_put_string(object, "kid", key->kid);
    json_put_string(object, "state", key->state);
    view_put_time(object, "created_at", key->created_at_ms);
    view_put_time(object, "signs_from", key->signs_from_ms);
    view_put_time(object, "verifies_until", key->verifies_until_ms);
    return object;
}

int h_keys_signing_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_key_list list = {0};
    json_t *object, *items;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = signon_list_keys(call->api->options.signon, &list, err);
    if (rc)
        return rc;
    items = json_array();
    for (size_t i = 0; i < list.count; i++)
        (void)json_array_append_new(items, view_key(&list.items[i]));
    object = json_object();
    (void)json_object_set_new(object, "items", items);
    return reply_json(resp, 200, object, err);
}

int h_keys_signing_rotate(struct api_call *call, struct http_response *resp, struct err *err) {
    static const struct json_member members[] = {{"immediately", JSON_KIND_BOOLEAN, false, false},
                                                 {"drop_old", JSON_KIND_BOOLEAN, false, false},
                                                 {NULL, JSON_KIND_ANY, false, false}};
    const struct actor actor = api_actor(call);
    struct signon_key_rotation rotation = {0};
    struct signon_key next;
    int rc = api_read_members(call, members, err);
    if (rc)
        return rc;
    rotation.is_immediate = json_is_true(json_object_get(call->body, "immediately"));
    rotation.drops_old = json_is_true(json_object_get(call->body, "drop_old"));
    rc = signon_rotate_keys(call->api->options.signon, &actor, &rotation, &next, err);
    return rc ? rc : reply_json(resp, 200, view_key(&next), err);
}

/* -- master keys ------------------------------------------------------------------------------------------------------------ */

static uint64_t values_of(const struct seal_counts *counts, const char *key_id) {
    for (size_t i = 0; i < counts->count; i++)
        if (str_eq(counts->items[i].key_id, key_id))
            return counts->items[i].values;
    return 0;
}

static json_t *view_held(const struct sealing_report *report) {
    json_t *keys = json_array();
    for (size_t i = 0; i < report->held.count; i++) {
        json_t *object = json_object();
        json_put_string(object, "id", report->held.items[i]);
        json_put_bool(object, "seals", i == report->held.sealing);
        json_put_int(object, "sealed_values", (int64_t)values_of(&report->counts, report->held.items[i]));
        (void)json_array_append_new(keys, object);
    }
    return keys;
}

static json_t *split_words(const char *text) {
    json_t *words = json_array();
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        (void)json_array_append_new(words, json_stringn(p, n));
        p += n + (p[n] == ' ');
    }
    return words;
}

static json_t *view_replicas(const struct sealing_report *report) {
    json_t *replicas = json_array();
    const char *wanted = report->held.items[report->held.count - 1];
    for (size_t i = 0; i < report->replicas.count; i++) {
        const struct seal_replica *r = &report->replicas.items[i];
        json_t *object = json_object();
        json_put_string(object, "name", r->name);
        json_put_bool(object, "is_running", r->heartbeat_age_ms >= 0 && r->heartbeat_age_ms <= SEALING_ALIVE_MS);
        json_put_bool(object, "holds_newest", sealing_holds(r->key_ids, wanted));
        (void)json_object_set_new(object, "keys", split_words(r->key_ids));
        (void)json_array_append_new(replicas, object);
    }
    return replicas;
}

static int answer_master(struct api_call *call, struct http_response *resp, struct err *err) {
    struct sealing_report report = {0};
    json_t *object;
    int rc = sealing_get_report(call->api->options.sealing, &report, err);
    if (rc)
        return rc;
    object = json_object();
    (void)json_object_set_new(object, "keys", view_held(&report));
    (void)json_object_set_new(object, "replicas", view_replicas(&report));
    json_put_int(object, "remaining", (int64_t)report.remaining);
    sealing_report_done(&report);
    return reply_json(resp, 200, object, err);
}

int h_keys_master(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = api_check_no_query(call, err);
    return rc ? rc : answer_master(call, resp, err);
}

int h_keys_master_rotate(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = sealing_rotate(call->api->options.sealing, &actor, err);
    return rc ? rc : answer_master(call, resp, err);
}
