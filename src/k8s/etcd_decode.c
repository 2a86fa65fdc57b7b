/* The members of an etcd: what it answers. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd_client.h"
#include "json.h"
#include "str.h"

#define MESSAGE_CHARS_MAX 300

static int etcd_unreadable(const char *what, struct err *err) {
    return err_set(err, ERR_PROTOCOL, "etcd's answer cannot be read: %s", what);
}

/* A number of 64 bits, which is a text; 0 where it is left out, as protobuf's JSON has it. */
static bool etcd_read_number(const json_t *object, const char *name, uint64_t *out) {
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    char *end = NULL;
    *out = 0;
    if (!value)
        return true;
    if (!text || !*text || text[strspn(text, "0123456789")])
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno;
}

/* A text of visible ASCII that fits; "" where it is left out. */
static bool etcd_read_text(const json_t *value, char *out, size_t size) {
    const char *text = json_string_value(value);
    *out = '\0';
    if (!value)
        return true;
    if (!text || strlen(text) >= size)
        return false;
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    (void)snprintf(out, size, "%s", text);
    return true;
}

/* False unless it is left out or a boolean. */
static bool etcd_read_bool(const json_t *object, const char *name, bool *out) {
    const json_t *value = json_object_get(object, name);
    *out = json_is_true(value);
    return !value || json_is_boolean(value);
}

static bool etcd_read_member(const json_t *object, struct etcd_member *out) {
    const json_t *urls = json_object_get(object, "peerURLs");
    return json_is_object(object) && etcd_read_number(object, "ID", &out->id) && out->id &&
           etcd_read_text(json_object_get(object, "name"), out->name, sizeof(out->name)) &&
           etcd_read_text(json_array_get(urls, 0), out->peer_url, sizeof(out->peer_url)) &&
           etcd_read_bool(object, "isLearner", &out->is_learner);
}

int etcd_decode_members(const char *json, size_t n, struct etcd_members *out, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    struct etcd_members members = {.count = 0};
    if (json_parse(json, n, &answer, NULL))
        return etcd_unreadable("no JSON", err);
    const json_t *list = json_object_get(answer, "members");
    if (!json_array_size(list) || json_array_size(list) > ETCD_MEMBERS_MAX)
        return etcd_unreadable("no members, or too many", err);
    if (!etcd_read_number(json_object_get(answer, "header"), "member_id", &members.asked_id))
        return etcd_unreadable("its header", err);
    for (; members.count < json_array_size(list); members.count++)
        if (!etcd_read_member(json_array_get(list, members.count), &members.items[members.count]))
            return etcd_unreadable("a member", err);
    *out = members;
    return 0;
}

int etcd_decode_status(const char *json, size_t n, struct etcd_status *out, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    struct etcd_status status = {0};
    uint64_t bytes = 0;
    if (json_parse(json, n, &answer, NULL))
        return etcd_unreadable("no JSON", err);
    const json_t *header = json_object_get(answer, "header");
    const bool is_read = etcd_read_number(header, "member_id", &status.member_id) && status.member_id &&
                         etcd_read_number(answer, "leader", &status.leader_id) &&
                         etcd_read_number(answer, "raftAppliedIndex", &status.applied_index) &&
                         etcd_read_number(answer, "dbSize", &bytes) && bytes <= INT64_MAX &&
                         etcd_read_text(json_object_get(answer, "version"), status.version, sizeof(status.version)) &&
                         etcd_read_bool(answer, "isLearner", &status.is_learner);
    if (!is_read)
        return etcd_unreadable("its status", err);
    status.db_bytes = (int64_t)bytes;
    *out = status;
    return 0;
}

/* -- errors ----------------------------------------------------------------------------------------------------------------- */

/* What some answers mean to whoever changes the members; by their status alone they cannot be told apart (etcd, api/v3rpc/rpctypes/error.go). */
static int etcd_code_of(long status, const char *message) {
    if (status == 404)
        return ERR_NOT_FOUND;
    if (status == 503 || strstr(message, "not enough started members") || strstr(message, "in sync with leader"))
        return ERR_UNAVAILABLE;
    return strstr(message, "can only promote a learner member") ? ERR_CONFLICT : ERR_UPSTREAM;
}

/* Copies a message as far as it is printable ASCII. */
static void etcd_copy_message(const char *text, char *out, size_t size) {
    size_t n = 0;
    for (; text && *text && n + 1 < size; text++)
        if (*text >= ' ' && *text <= '~')
            out[n++] = *text;
    out[n] = '\0';
}

int etcd_judge(const char *peer, const char *asked, long status, const char *json, size_t n, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    char message[MESSAGE_CHARS_MAX + 1];
    const bool is_read = !json_parse(json, n, &answer, NULL);
    etcd_copy_message(is_read ? json_get_string(answer, "message") : NULL, message, sizeof(message));
    return err_set(err, etcd_code_of(status, message), "etcd at %s refuses %s: %ld%s%s", peer, asked, status,
                   *message ? ": " : "", message);
}
