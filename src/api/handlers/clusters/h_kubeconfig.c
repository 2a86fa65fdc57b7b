/* Handler of /v2/clusters/{id}/kubeconfig. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "api_call.h"
#include "cluster_admin.h"
#include "json.h"
#include "limits.h"
#include "reply.h"
#include "views.h"

const struct member_body h_kube_config_body = {.more = JSON_MEMBERS(JSON_NEEDS(BOOLEAN, "admin"))};

static json_t *kubeconfig_view(const struct api_call *call, const struct cluster *cluster, const char *text, int64_t until_ms) {
    json_t *object = json_object(), *of = json_object();
    json_put_string(of, "id", cluster->id);
    json_put_string(of, "name", cluster->name);
    json_put(object, "cluster", of);
    json_put_string(object, "user", call->who->name);
    view_put_time(object, "until", until_ms);
    json_put_string(object, "kubeconfig", text);
    return object;
}

/* Whoever asks says that they want all rights: there may be kubeconfigs with fewer one day. */
int h_kube_config(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct inventory_cluster *entry = inventory_find_cluster(call->snapshot, http_request_param(call->req, "id"));
    _cleanup_strbuf_ struct strbuf text;
    int64_t until_ms = 0;
    strbuf_init_secret(&text, KAAS_KUBECONFIG_BYTES_MAX);
    if (!json_get_bool(call->body, "admin", false))
        return err_set(err, ERR_UNPROCESSABLE, "\"admin\" must be true: there are kubeconfigs of administrators only");
    if (!entry) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no cluster %s", http_request_param(call->req, "id"));
        return err_remedy(err, "see: kaasctl cluster list");
    }
    int rc = cluster_admin_make_kubeconfig(call->api->options.runtime, call->api->options.kubernetes, API_ACTOR(call),
                                           entry->record, &text, &until_ms, err);
    return rc ? rc : reply_json(resp, 200, kubeconfig_view(call, entry->record, text.data, until_ms), err);
}
