/* Single things of a Kubernetes cluster: a node, its volumes. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "k8s_objects.h"

#include "k8s.h"
#include "k8s_codec.h"
#include "str.h"

#define VOLUMES_PATH "/api/v1/persistentvolumes?limit=200" /* KUBE_VOLUMES_MAX */

static int objects_ask(struct k8s_client *client, const char *method, const char *path, const char *accept, struct strbuf *reply,
                       struct err *err) {
    const struct k8s_call call = {.method = method, .path = path, .accept = accept, .reply_bytes_max = reply->max_bytes};
    return k8s_call(client, &call, reply, NULL, err);
}

/* -- a node ---------------------------------------------------------------------------------------------------------------- */

static int objects_take_node(void *arg, struct kube_node *node, struct err *err) {
    struct kube_node *out = arg;
    (void)err;
    kube_node_done(out);
    *out = *node;
    *node = (struct kube_node){0};
    return 0;
}

/* As a list of one, which is what the codecs read. */
int k8s_get_node(struct k8s_client *client, const char *name, struct kube_node *out, struct err *err) {
    _cleanup_free_ char *path = str_format("/api/v1/nodes?fieldSelector=metadata.name%%3D%s", name);
    _cleanup_done_(kube_node_done) struct kube_node node = {0};
    _cleanup_done_(k8s_list_meta_done) struct k8s_list_meta meta = {.continue_token = NULL};
    const struct k8s_codec *codec = &k8s_codec_protobuf;
    _cleanup_strbuf_ struct strbuf reply;
    strbuf_init(&reply, K8S_OBJECT_BYTES_MAX);
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = objects_ask(client, "GET", path, codec->list_type, &reply, err);
    rc = rc ? rc : codec->read_nodes(reply.data, reply.len, objects_take_node, &node, &meta, err);
    if (rc)
        return rc;
    if (!str_eq(node.name, name))
        return err_set(err, ERR_NOT_FOUND, "the cluster has no node %s", name);
    *out = node;
    node = (struct kube_node){0};
    return 0;
}

int k8s_delete_node(struct k8s_client *client, const char *name, struct err *err) {
    _cleanup_free_ char *path = str_format("/api/v1/nodes/%s", name);
    _cleanup_strbuf_ struct strbuf reply;
    struct err why = {0};
    strbuf_init(&reply, K8S_OBJECT_BYTES_MAX);
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = objects_ask(client, "DELETE", path, NULL, &reply, &why);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

/* -- volumes --------------------------------------------------------------------------------------------------------------- */

int k8s_list_volumes(struct k8s_client *client, struct kube_volumes *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf reply;
    strbuf_init(&reply, K8S_PAGE_BYTES_MAX);
    int rc = objects_ask(client, "GET", VOLUMES_PATH, "application/json", &reply, err);
    return rc ? rc : k8s_volumes_read(reply.data, reply.len, out, err);
}
