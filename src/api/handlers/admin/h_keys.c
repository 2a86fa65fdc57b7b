/* Handlers of /v2/keys. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
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
    int rc = signon_list_keys(call->api->options.signon, &list, err);
    if (rc)
        return rc;
    object = json_object();
    items = json_array();
    for (size_t i = 0; i < list.count; i++)
        json_add(items, view_key(&list.items[i]));
    json_put(object, "items", items);
    return reply_json(resp, 200, object, err);
}

const struct member_body h_keys_signing_rotate_body = {
    .more = JSON_MEMBERS(JSON_TAKES(BOOLEAN, "immediately"), JSON_TAKES(BOOLEAN, "drop_old"))};

int h_keys_signing_rotate(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct signon_key_rotation rotation = {.is_immediate = json_get_bool(call->body, "immediately", false),
                                                 .drops_old = json_get_bool(call->body, "drop_old", false)};
    struct signon_key next;
    int rc = signon_rotate_keys(call->api->options.signon, API_ACTOR(call), &rotation, &next, err);
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
        json_add(keys, object);
    }
    return keys;
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
        json_put(object, "keys", view_words(r->key_ids));
        json_add(replicas, object);
    }
    return replicas;
}

int h_keys_master(struct api_call *call, struct http_response *resp, struct err *err) {
    struct sealing_report report = {0};
    json_t *object;
    int rc = sealing_get_report(call->api->options.sealing, &report, err);
    if (rc)
        return rc;
    object = json_object();
    json_put(object, "keys", view_held(&report));
    json_put(object, "replicas", view_replicas(&report));
    json_put_int(object, "remaining", (int64_t)report.remaining);
    sealing_report_done(&report);
    return reply_json(resp, 200, object, err);
}

int h_keys_master_rotate(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = sealing_rotate(call->api->options.sealing, API_ACTOR(call), err);
    return rc ? rc : h_keys_master(call, resp, err);
}
