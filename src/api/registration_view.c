/* What registering and unregistering found and did, as JSON. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "registration_view.h"

#include "views.h"

static json_t *registration_texts(const struct report_texts *from) {
    json_t *list = json_array();
    for (size_t i = 0; i < from->count; i++)
        (void)json_array_append_new(list, json_string(from->items[i]));
    return list;
}

static json_t *members(const struct record_lines *lines) {
    json_t *list = json_array();
    for (size_t i = 0; i < lines->count; i++) {
        const struct record_line *line = &lines->items[i];
        json_t *object = json_object();
        json_put_string(object, "member", line->member);
        view_put_text(object, "now", line->now);
        view_put_text(object, "wanted", line->wanted);
        json_put_bool(object, "kept", line->is_kept);
        (void)json_array_append_new(list, object);
    }
    return list;
}

static json_t *strategies(const struct registration_report *report) {
    json_t *list = json_array();
    for (size_t i = 0; i < report->attempts_count; i++) {
        const struct login_attempt *attempt = &report->attempts[i];
        json_t *object = json_object();
        json_put_string(object, "name", vim_strategy_name(attempt->strategy));
        json_put_bool(object, "works", attempt->works);
        view_put_text(object, "reason", attempt->works ? NULL : attempt->err.text);
        (void)json_array_append_new(list, object);
    }
    return list;
}

json_t *registration_view(const struct registration_report *report, bool is_dry_run) {
    json_t *object = json_object();
    json_put_bool(object, "dry_run", is_dry_run);
    view_put_text(object, "account", report->account);
    json_put_string(object, "extension_key", report->key);
    json_put_string(object, "record", record_state_name(report->record));
    view_put_text(object, "owner", report->owner);
    (void)json_object_set_new(object, "members", members(&report->lines));
    (void)json_object_set_new(object, "strategies", strategies(report));
    (void)json_object_set_new(object, "steps", registration_texts(&report->steps));
    (void)json_object_set_new(object, "left", registration_texts(&report->left));
    return object;
}
