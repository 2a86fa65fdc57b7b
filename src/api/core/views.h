/* What handlers answer with: model to JSON, lists, nothing. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each gives a new reference; a lack of memory shows when the JSON is written. */
#pragma once

#include "api_call.h"
#include "cluster.h"
#include "finding.h"
#include "grant.h"
#include "hx_connection.h"
#include "json.h"
#include "link.h"
#include "net_addr.h"
#include "query.h"
#include "snapshot.h"
#include "vcenter.h"

/* Set a member; null if there is no text or time. */
void view_put_text(json_t *object, const char *name, const char *value);
void view_put_time(json_t *object, const char *name, int64_t wall_ms);

/* "thumbprint_sha256" of a certificate, from its hexadecimal digits; null if there are none. */
void view_put_sha256(json_t *object, const char *hex);

/* Sets why something does not work, with the remedy if it is known; null if there is no text. */
void view_put_reason(json_t *object, const char *name, const char *text, const char *remedy);
/* Set the state of a link ("state", "state_reason"), and the login way that worked last. */
void view_put_state(json_t *object, const struct link_report *report);
void view_put_strategy(json_t *object, const char *name, const struct link_report *report);

/* Objects as docs/openapi.yaml shows them. Each is a new reference for the caller, or NULL without memory. */
json_t *view_placed(const struct inventory_platform *platform, const struct object_ref *ref);
json_t *view_hx_cluster(const struct inventory_platform *platform, const struct hx_cluster *hx);
json_t *view_hx_facts(const struct hx_status *status); /* facts for all who may see the HX cluster; null: never read */
/* Origins of the pages of HX Connect that may show the panel, first the one that kaasd connects to; none while kaasd is not connected, as nobody has vouched
 * for the HX cluster then. Returns how many. */
#define VIEW_HX_ORIGINS_MAX 2U
size_t view_hx_origins(const struct hx_cluster *hx, char out[VIEW_HX_ORIGINS_MAX][NET_ORIGIN_BYTES]);
json_t *view_hx_candidate(const struct inventory_platform *platform, const struct hx_cluster *hx);
json_t *view_counts(const struct inventory_counts *counts);
json_t *view_vsphere_cluster(const struct api_call *call, const void *vsphere_cluster);
json_t *view_findings(const struct findings *findings);

/* URL of this virtual machine in the vSphere Client of a vCenter (NULL: not known), malloc'ed; NULL if it is not known, or without memory. */
char *view_vm_client_url(const struct vcenter *vc, const char *vm_moref);

/* Arrays of strings: of these texts, and of the words of a text, separated by blanks (NULL: none). */
json_t *view_texts(const char *const *items, size_t count);
json_t *view_words(const char *words);

/* Sets a member to the name of this id, or null: unknown names are looked up in the background, and may be there the next time. */
void view_put_name(const struct api_call *call, json_t *object, const char *member, const char *id);
/* The name of the object of a grant, malloc'ed; NULL if it is not known (any more). */
char *view_grant_object_name(const struct inventory_snapshot *snapshot, const struct grant *g);

/* The id of the HX cluster {id} of the path, or of that with which it was merged. Borrowed. */
const char *view_hx_id(const struct api_call *call);

/* A list of records that lie in memory, one behind the other. */
struct view_list {
    const void *records;
    size_t count, bytes;                                                                    /* bytes of one record */
    bool (*is_wanted)(const struct api_call *call, const void *record, const void *filter); /* NULL: all are */
    const void *filter;
    const char *(*key)(const void *record, char *buffer, size_t buffer_bytes); /* the list is sorted by it; unique */
    json_t *(*show)(const struct api_call *call, const void *record);
    json_t *extra; /* further members beside items and next_cursor; taken over; NULL: none */
};
/* A view_list of `items_`; further members by name: VIEW_LIST(users.items, users.count, user_key, user_view, .is_wanted = ...). */
#define VIEW_LIST(items_, count_, key_, show_, ...) \
    (&(const struct view_list){                     \
        .records = items_, .count = count_, .bytes = sizeof(*(items_)), .key = key_, .show = show_, __VA_ARGS__})
/* Answers with one page of the list by the query's limit and cursor. As reply_list. */
int view_list(struct api_call *call, struct http_response *resp, const struct view_list *list, struct err *err);

/* Answers 204 without a body if rc is 0. Returns rc. */
int view_nothing(struct http_response *resp, int rc);

/* The query's role; ROLE_NONE if there is none. ERR_INVALID. */
int view_read_role(struct api_call *call, enum role *out, struct err *err);

/* Adds a warning if the origins of pages that may show the panel do not all fit into the header that names them. */
void panel_check_health(const struct api_call *call, struct findings *out);
