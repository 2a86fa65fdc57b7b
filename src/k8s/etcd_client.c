/* The members of an etcd: calls. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "etcd_client.h"

#include <stdio.h>
#include <stdlib.h>

#include "str.h"

#define REPLY_BYTES_MAX (64U * 1024U)

struct etcd_client {
    struct k8s_client *calls; /* HTTPS with JSON, as to an API server */
    char *peer;               /* "10.9.0.21:2379", for people */
};

int etcd_client_new(const struct k8s_endpoint *endpoint, struct etcd_client **out, struct err *err) {
    _cleanup_(etcd_client_free) struct etcd_client *client = calloc(1, sizeof(*client));
    unsigned port = 0;
    int rc = client ? k8s_client_new(endpoint, NULL, &client->calls, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    _cleanup_free_ char *host = http_url_host(endpoint->url, &port);
    client->peer = host ? str_format("%s:%u", host, port) : NULL;
    if (!client->peer)
        return err_set(err, ERR_NOMEM, "out of memory");
    *out = STEAL(client);
    return 0;
}

void etcd_client_free(struct etcd_client *client) {
    if (!client)
        return;
    k8s_client_free(client->calls);
    free(client->peer);
    free(client);
}

void etcd_client_cancel(struct etcd_client *client) {
    k8s_client_cancel(client->calls);
}

/* Asks at a path of /v3; `body` is its message in JSON. */
static int etcd_call(struct etcd_client *client, const char *path, const char *body, struct strbuf *reply, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct err why = {0};
    long status = 0;
    strbuf_init(&text, REPLY_BYTES_MAX);
    strbuf_adds(&text, body);
    int rc = strbuf_check(&text, "call", err);
    if (rc)
        return rc;
    const struct k8s_call call = {
        .method = "POST", .path = path, .body_type = "application/json", .body = &text, .reply_bytes_max = REPLY_BYTES_MAX};
    rc = k8s_call(client->calls, &call, reply, &status, &why);
    if (rc && status)
        return etcd_judge(client->peer, path, status, reply->data, reply->len, err);
    return err_move(err, rc, &why);
}

int etcd_list_members(struct etcd_client *client, struct etcd_members *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf reply;
    strbuf_init(&reply, REPLY_BYTES_MAX);
    int rc = etcd_call(client, "/v3/cluster/member/list", "{}", &reply, err);
    return rc ? rc : etcd_decode_members(reply.data, reply.len, out, err);
}

int etcd_get_status(struct etcd_client *client, struct etcd_status *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf reply;
    strbuf_init(&reply, REPLY_BYTES_MAX);
    int rc = etcd_call(client, "/v3/maintenance/status", "{}", &reply, err);
    return rc ? rc : etcd_decode_status(reply.data, reply.len, out, err);
}

static int etcd_change_member(struct etcd_client *client, const char *path, uint64_t id, struct err *err) {
    _cleanup_strbuf_ struct strbuf reply;
    char body[64];
    (void)snprintf(body, sizeof(body), "{\"ID\": \"%llu\"}", (unsigned long long)id);
    strbuf_init(&reply, REPLY_BYTES_MAX);
    return etcd_call(client, path, body, &reply, err);
}

int etcd_remove_member(struct etcd_client *client, uint64_t id, struct err *err) {
    return etcd_change_member(client, "/v3/cluster/member/remove", id, err);
}

int etcd_promote_member(struct etcd_client *client, uint64_t id, struct err *err) {
    return etcd_change_member(client, "/v3/cluster/member/promote", id, err);
}
