/* Lists that are asked for again by the same bytes on the same connection. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who polls asks the same with the same token. Then only what may have changed is looked at, in the places where every request looks: the
 * verdict on the token holds as long as the keys do, the session is looked up and judged, rights are read (and kept fresh thereby), and the answer
 * must be the one that list_memo holds for this snapshot and these rights. Nothing is decided here that is not decided on the usual way. */
#include "list_again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "directory.h"
#include "log.h"
#include "packed.h"
#include "platform_links.h"
#include "str.h"

#define PARTS_MAX 4U

struct part {
    char vcenter_id[37];
    bool is_first;
    const struct shared_objects
        *objects; /* not held: only compared with those of the key, which holds them as long as there is an answer */
};

struct list_again {
    struct signon_seen seen;
    enum role role;
    uint64_t groups_mark;
    int64_t as_of_ms; /* as the answer says it */
    bool is_packed;
    bool sees_by_us; /* clusters of vCenters that may not know the caller, by a role, grants or a service account */
    int status;
    char etag[REPLY_ETAG_BYTES];
    unsigned parts_count;
    struct part parts[PARTS_MAX];
    struct list_key key; /* last; not all of its bytes are there */
};

/* -- keeping ------------------------------------------------------------------------------------------------------------- */

static bool may_be_kept(const struct api_call *call, const struct http_response *resp, const struct list_key *key) {
    return key->len && call->bearer.session && call->bearer.proof.until_s && !call->rights.is_less_than_due &&
           call->rights.wait_for < 0 && call->rights.count <= PARTS_MAX && !http_response_header(resp, "KaaS-Stale") &&
           http_response_header(resp, "KaaS-As-Of");
}

static void copy_parts(struct list_again *again, const struct session_rights *rights) {
    again->parts_count = (unsigned)rights->count;
    for (size_t i = 0; i < rights->count; i++) {
        again->parts[i].is_first = rights->parts[i].is_first;
        again->parts[i].objects = rights->parts[i].objects;
        memcpy(again->parts[i].vcenter_id, rights->parts[i].vcenter_id, sizeof(again->parts[i].vcenter_id));
    }
}

void list_again_keep(struct api_call *call, const struct http_response *resp, const struct list_key *key,
                     const struct list_answer *answer) {
    if (!may_be_kept(call, resp, key))
        return;
    struct list_again *again = calloc(1, offsetof(struct list_again, key.bytes) + key->len);
    if (!again)
        return;
    signon_note_seen(&call->bearer, &again->seen);
    again->role = call->who->role;
    again->groups_mark = live_session_groups_mark(call->bearer.session);
    again->sees_by_us = policy_sees_all(&call->viewer) || call->viewer.grants_count || call->viewer.limits;
    again->is_packed = http_response_header(resp, "Content-Encoding") != NULL;
    again->status = http_response_status(resp);
    if (!clock_parse(http_response_header(resp, "KaaS-As-Of"), &again->as_of_ms))
        again->as_of_ms = 0;
    memcpy(again->etag, answer->etag, sizeof(again->etag));
    copy_parts(again, &call->rights);
    again->key.hash = key->hash;
    again->key.len = key->len;
    memcpy(again->key.bytes, key->bytes, key->len);
    http_request_keep_again(call->req, again, free);
}

/* -- answering ------------------------------------------------------------------------------------------------------------- */

static bool is_open(const struct api *api) {
    return !api->options.is_leaving(api->options.arg) && !api->options.check_ready(api->options.arg, NULL);
}

static bool is_same_person(const struct list_again *again, const struct live_session *live) {
    return live_session_role(live) == again->role && live_session_groups_mark(live) == again->groups_mark &&
           !live_session_must_change_password(live);
}

static bool has_same_parts(const struct list_again *again, const struct session_rights *rights) {
    if (rights->count != again->parts_count || rights->wait_for >= 0 || rights->is_less_than_due)
        return false;
    for (unsigned i = 0; i < again->parts_count; i++)
        if (rights->parts[i].is_first != again->parts[i].is_first || rights->parts[i].objects != again->parts[i].objects ||
            !str_eq(rights->parts[i].vcenter_id, again->parts[i].vcenter_id))
            return false;
    return true;
}

/* Which of them carry clusters of the caller is looked up on the usual way only. */
static bool may_miss_vcenter(struct api *api, const struct list_again *again, const struct session_rights *rights) {
    return again->sees_by_us ? platform_is_any_away(api->options.platform) : reply_misses_vcenter(api, rights);
}

/* The text as it went out last time: compressed, or not, or (304) not at all. One reference for the caller. */
static struct http_shared *find_form(struct api *api, const struct list_again *again, uint64_t generation) {
    struct list_answer answer = {.body = NULL};
    struct http_shared *form = NULL;
    if (!list_memo_find(api->list_memo, generation, &again->key, &answer))
        return NULL;
    if (str_eq(answer.etag, again->etag) && !again->is_packed)
        return answer.body;
    if (str_eq(answer.etag, again->etag))
        form = packed_find(api->packed, answer.body);
    http_shared_unref(answer.body);
    return form;
}

static void send_again(const struct list_again *again, int64_t as_of_ms, struct http_shared *form, struct http_response *resp) {
    char as_of[CLOCK_RFC3339_BYTES];
    if (as_of_ms != again->as_of_ms) {
        clock_format(as_of_ms, as_of);
        http_response_set_header(resp, "KaaS-As-Of", as_of);
    }
    http_response_set_shared(resp, NULL, form);
}

/* With the session; whatever it needs from there is in memory. */
static bool answer_for(struct http_request *req, const struct list_again *again, struct live_session *live,
                       struct http_response *resp) {
    struct api *api = ((const struct api_entrance *)http_request_app(req))->api;
    const struct signon_use use = {.is_read = true, .address = http_request_client(req), .request_id = http_request_id(req)};
    struct directory_glance glance;
    struct session_rights rights;
    struct http_shared *form = NULL;
    directory_glance(api->options.directory, &glance);
    if (glance.is_stale || !is_same_person(again, live) || signon_get_rights(api->options.signon, live, &use, &rights, NULL))
        return false;
    if (has_same_parts(again, &rights) && !may_miss_vcenter(api, again, &rights))
        form = find_form(api, again, glance.generation);
    session_rights_done(&rights);
    if (!form)
        return false;
    send_again(again, glance.as_of_ms, form, resp);
    http_shared_unref(form);
    return true;
}

/* For the line in the log. */
static void note_caller(struct http_request *req, struct live_session *live) {
    struct api_call *call = log_get_level() >= LOG_LEVEL_INFO ? api_call_of(req) : NULL;
    if (!call)
        return;
    call->bearer.session = live_session_ref(live);
    call->self = *live_session_who(live);
    call->who = &call->self;
}

bool list_again_answer(struct http_request *req, void *data, struct http_response *resp) {
    const struct list_again *again = data;
    struct api *api = ((const struct api_entrance *)http_request_app(req))->api;
    _cleanup_(live_session_unref) struct live_session *live =
        is_open(api) ? signon_verify_again(api->options.signon, &again->seen) : NULL;
    if (!live || !answer_for(req, again, live, resp))
        return false;
    note_caller(req, live);
    http_response_set_header(resp, "KaaS-Request-Id", http_request_id(req));
    return true;
}
