/* Handlers of /v2/hx-clusters/{id}/connection and /publication, of /v2/hx-connections and of /v2/publications. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "hyperflex.h"
#include "inventory.h"
#include "member_json.h"
#include "problem.h"
#include "publish.h"
#include "reply.h"
#include "str.h"
#include "views.h"

/* -- what is shown ------------------------------------------------------------------------------------------------------- */

/* All of it, for administrators. */
static json_t *facts_view(const struct hx_status *status) {
    const struct hx_facts *f = &status->facts;
    json_t *object = view_hx_facts(status);
    if (!status->read_at_ms)
        return object;
    view_put_text(object, "uuid", f->uuid);
    view_put_text(object, "name", f->name);
    view_put_text(object, "messages", f->messages);
    view_put_text(object, "datacenter", f->datacenter);
    view_put_text(object, "vsphere_cluster", f->vsphere_cluster);
    return object;
}

static json_t *status_view(const struct hx_status *status) {
    json_t *object = member_json_show(hx_status_members, status);
    json_put_int(object, "duration_ms", status->duration_ms);
    json_put(object, "facts", facts_view(status));
    return object;
}

/* Of which HX cluster something is. */
static json_t *connections_cluster_view(const struct api_call *call, const char *hx_id) {
    const struct hx_cluster *hx = inventory_find_hx(call->snapshot->platform, hx_id);
    json_t *cluster = json_object();
    json_put_string(cluster, "id", hx_id);
    view_put_text(cluster, "name", hx ? hx->name : NULL);
    view_put_text(cluster, "name_source", hx ? hx_cluster_name_source(hx) : NULL);
    return cluster;
}

/* What is configured, and nothing that changes by itself. */
static json_t *connection_view_bare(const struct api_call *call, const struct hx_connection *connection) {
    json_t *object = member_json_show(hx_connection_members, connection);
    json_put(object, "hx_cluster", connections_cluster_view(call, connection->hx_id));
    view_put_sha256(object, connection->sha256);
    return object;
}

static json_t *connection_view(const struct api_call *call, const struct hx_connection *connection,
                               const struct hx_status *status) {
    json_t *object = connection_view_bare(call, connection);
    json_put(object, "status", status_view(status));
    return object;
}

/* -- list ---------------------------------------------------------------------------------------------------------------- */

struct connection_row {
    const struct hx_connection *connection;
    const struct hx_status *status;
};

static const char *connection_key(const void *record, char *buffer, size_t n) {
    (void)buffer;
    (void)n;
    return ((const struct connection_row *)record)->connection->hx_id;
}

static json_t *connection_row_view(const struct api_call *call, const void *record) {
    const struct connection_row *row = record;
    return connection_view(call, row->connection, row->status);
}

/* Both lists are by id. A connection that was set or removed between the two readings is left to the next one. */
static int connections_reply(struct api_call *call, struct http_response *resp, const struct hx_connection_list *connections,
                             const struct hx_status_list *statuses, struct err *err) {
    _cleanup_free_ struct connection_row *rows = calloc(connections->count + 1, sizeof(*rows));
    size_t count = 0;
    if (!rows)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0, k = 0; i < connections->count && k < statuses->count; i++) {
        while (k < statuses->count && strcmp(statuses->items[k].hx_id, connections->items[i].hx_id) < 0)
            k++;
        if (k < statuses->count && str_eq(statuses->items[k].hx_id, connections->items[i].hx_id))
            rows[count++] = (struct connection_row){&connections->items[i], &statuses->items[k]};
    }
    return view_list(call, resp, VIEW_LIST(rows, count, connection_key, connection_row_view), err);
}

int h_connections_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct hx_connection_list connections = {0};
    struct hx_status_list statuses = {0};
    int rc = hyperflex_list(call->api->options.hyperflex, &connections, err);
    if (!rc)
        rc = hyperflex_list_statuses(call->api->options.hyperflex, &statuses, err);
    if (!rc)
        rc = connections_reply(call, resp, &connections, &statuses, err);
    hx_connection_list_done(&connections);
    hx_status_list_done(&statuses);
    return rc;
}

/* -- one ------------------------------------------------------------------------------------------------------------------ */

static int no_connection(struct api_call *call, int rc, struct err *err) {
    if (rc != ERR_NOT_FOUND || !err)
        return rc;
    err_clear(err);
    (void)err_set(err, ERR_NOT_FOUND, "kaasd is not connected to the HX cluster %s, or there is none of this id",
                  view_hx_id(call));
    return err_remedy(err, "see: kaasctl hx connections, or GET /v2/hx-connections; kaasctl hx connect %s, or PUT, connects it",
                      view_hx_id(call));
}

static int connections_answer(struct api_call *call, struct http_response *resp, int http_status, struct err *err) {
    const char *id = view_hx_id(call);
    _cleanup_(hx_connection_free) struct hx_connection *connection = NULL;
    _cleanup_(hx_status_free) struct hx_status *status = NULL;
    int rc = hyperflex_load(call->api->options.hyperflex, id, &connection, err);
    if (!rc)
        rc = hyperflex_load_status(call->api->options.hyperflex, id, &status, err);
    if (rc)
        return no_connection(call, rc, err);
    return reply_named(call, resp, http_status,
                       (struct reply_named){connection_view(call, connection, status), connection_view_bare(call, connection)},
                       err);
}

/* What was written shows in the HX cluster, too. */
static int connections_written(struct api_call *call, struct http_response *resp, int http_status, struct err *err) {
    (void)inventory_poll(call->api->options.inventory, NULL);
    api_renew_snapshot(call);
    return connections_answer(call, resp, http_status, err);
}

int h_connections_show(struct api_call *call, struct http_response *resp, struct err *err) {
    return connections_answer(call, resp, 200, err);
}

/* What is there, if it is what an If-Match speaks of; *version_no 0: nothing is there. *is_given tells whether one did. */
static int connections_read_current(struct api_call *call, int64_t *version_no, bool *is_given, struct err *err) {
    _cleanup_(hx_connection_free) struct hx_connection *connection = NULL;
    char etag[REPLY_ETAG_BYTES] = "\"none\"";
    int rc = hyperflex_load(call->api->options.hyperflex, view_hx_id(call), &connection, err);
    if (rc == ERR_NOT_FOUND)
        err_clear(err);
    else if (!rc)
        rc = reply_etag_of(connection_view_bare(call, connection), etag, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    rc = reply_check_if_match(call, etag, is_given, err);
    if (!rc)
        *version_no = connection ? connection->version_no : 0;
    return rc;
}

const struct member_body h_connections_put_body = {
    .members = hx_connection_members, .writer = BY_ADMIN, .is_new = true, .more = JSON_MEMBERS(JSON_TAKES(STRING, "password"))};

/* Without If-Match what was read a moment ago is what is replaced, so that nothing is lost to somebody else unseen. */
int h_connections_put(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = view_hx_id(call);
    struct hx_connection wish = {0};
    bool is_given = false;
    if (!inventory_find_hx(call->snapshot->platform, id)) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no HX cluster %s", id);
        return err_remedy(err, "compare with GET /v2/hx-clusters");
    }
    int rc = connections_read_current(call, &wish.version_no, &is_given, err);
    const int http_status = wish.version_no ? 200 : 201;
    if (!rc)
        rc = str_replace(&wish.hx_id, id, err);
    if (!rc)
        rc = member_json_read(call->body, hx_connection_members, BY_ADMIN, &wish, err);
    if (!rc)
        rc = hyperflex_put(call->api->options.hyperflex, API_ACTOR(call), &wish, json_get_string(call->body, "password"), err);
    hx_connection_done(&wish);
    return rc ? rc : connections_written(call, resp, http_status, err);
}

int h_connections_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    int64_t version_no = 0;
    bool is_given = false;
    int rc = connections_read_current(call, &version_no, &is_given, err);
    if (!rc)
        rc = hyperflex_remove(call->api->options.hyperflex, API_ACTOR(call), view_hx_id(call), is_given ? version_no : 0, err);
    if (!rc)
        (void)inventory_poll(call->api->options.inventory, NULL);
    return rc ? no_connection(call, rc, err) : view_nothing(resp, 0);
}

int h_connections_test(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(hx_status_free) struct hx_status *status = NULL;
    int rc = hyperflex_test(call->api->options.hyperflex, API_ACTOR(call), view_hx_id(call), &status, err);
    return rc ? no_connection(call, rc, err) : connections_written(call, resp, 200, err);
}

/* -- where it may be ----------------------------------------------------------------------------------------------------------- */

static const char *address_key(const void *record, char *buffer, size_t n) {
    const struct hx_address *where = record;
    (void)snprintf(buffer, n, "%d\x01%s\x01%u", (int)where->source, where->address, where->port);
    return buffer;
}

static json_t *address_view(const struct api_call *call, const void *record) {
    const struct hx_address *where = record;
    struct hyperflex_look look;
    json_t *object = json_object();
    hyperflex_look_at(call->api->options.hyperflex, where, &look);
    json_put_string(object, "address", where->address);
    json_put_int(object, "port", where->port);
    json_put_string(object, "source", hx_address_source_name(where->source));
    json_put_bool(object, "chain_valid", look.is_chain_valid);
    json_put_bool(object, "trusted", look.is_trusted);
    json_put(object, "certificate", look.problem.code ? json_null() : problem_certificate(&look.certificate));
    view_put_text(object, "detail", look.problem.code ? look.problem.text : NULL);
    view_put_text(object, "remedy", look.problem.code ? look.problem.remedy : NULL);
    x509_info_done(&look.certificate);
    return object;
}

int h_connections_addresses(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(hx_addresses_done) struct hx_addresses found = {.count = 0};
    int rc = hyperflex_list_addresses(call->api->options.hyperflex, http_request_param(call->req, "id"), &found, err);
    return rc ? rc : view_list(call, resp, VIEW_LIST(found.items, found.count, address_key, address_view), err);
}

/* -- where KaaS is, for HX clusters ------------------------------------------------------------------------------------------------ */

static int publications_check_hx(const struct api_call *call, struct err *err) {
    if (inventory_find_hx(call->snapshot->platform, view_hx_id(call)))
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "there is no HX cluster %s", view_hx_id(call));
    return err_remedy(err, "compare with GET /v2/hx-clusters");
}

static int publications_reply(struct api_call *call, struct http_response *resp, const struct hx_publication *publication,
                              struct err *err) {
    json_t *object = member_json_show(hx_publication_members, publication);
    json_put(object, "hx_cluster", connections_cluster_view(call, publication->hx_id));
    return reply_json(resp, 200, object, err);
}

int h_publications_show(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(hx_publication_free) struct hx_publication *publication = NULL;
    int rc = publications_check_hx(call, err);
    if (!rc)
        rc = hyperflex_load_publication(call->api->options.hyperflex, view_hx_id(call), &publication, err);
    return rc ? rc : publications_reply(call, resp, publication, err);
}

static int publications_say(struct api_call *call, struct http_response *resp, bool is_wanted, struct err *err) {
    _cleanup_(hx_publication_free) struct hx_publication *publication = NULL;
    int rc = publications_check_hx(call, err);
    if (rc)
        return rc;
    rc = hyperflex_publish(call->api->options.hyperflex, API_ACTOR(call), view_hx_id(call), is_wanted, &publication, err);
    return rc ? no_connection(call, rc, err) : publications_reply(call, resp, publication, err);
}

int h_publications_publish(struct api_call *call, struct http_response *resp, struct err *err) {
    return publications_say(call, resp, true, err);
}

int h_publications_withdraw(struct api_call *call, struct http_response *resp, struct err *err) {
    return publications_say(call, resp, false, err);
}

/* For HX, which asks who sent it a request that it holds: what is told here nobody else can use. */
int h_publications_prove(struct api_call *call, struct http_response *resp, struct err *err) {
    struct hyperflex_proof proof;
    int rc = hyperflex_prove(call->api->options.hyperflex, http_request_param(call->req, "nonce"), &proof, err);
    if (rc)
        return rc;
    json_t *object = json_object();
    json_put_string(object, "instance_id", proof.instance_id);
    json_put_string(object, "sha256", proof.sha256);
    return reply_json(resp, 200, object, err);
}
