/* Handlers of /v2/providers: where clusters may be built. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "api_call.h"
#include "inventory.h"
#include "providers.h"
#include "provision.h"
#include "reply.h"
#include "str.h"
#include "views.h"

/* -- what is shown ----------------------------------------------------------------------------------------------------------- */

static const char *provider_name(const struct api_call *call) {
    return http_request_param(call->req, "name");
}

/* What is configured, and nothing that changes by itself. */
static json_t *provider_view_bare(const struct provider *provider) {
    json_t *object = json_object();
    json_put_string(object, "id", provider->id);
    json_put_string(object, "name", provider->name);
    json_put_string(object, "vcenter_id", provider->vcenter_id);
    json_put(object, "document", provider_document(provider));
    json_put(object, "places", provider_places(provider));
    json_put_time(object, "created_at", provider->created_at_ms);
    json_put_time(object, "updated_at", provider->updated_at_ms);
    return object;
}

static json_t *provider_clusters_view(const struct provider *provider, const struct made_name_list *made) {
    json_t *array = json_array();
    for (size_t i = 0; i < made->count; i++) {
        if (!str_eq(made->items[i].provider_id, provider->id))
            continue;
        json_t *cluster = json_object();
        json_put_string(cluster, "id", made->items[i].cluster_id);
        json_put_string(cluster, "name", made->items[i].name);
        json_add(array, cluster);
    }
    return array;
}

/* A provider among what was made with all of them. */
struct provider_row {
    const struct provider *provider;
    const struct made_name_list *made;
};

static json_t *provider_view(const struct api_call *call, const void *record) {
    const struct provider_row *row = record;
    const struct provider *provider = row->provider;
    json_t *object = provider_view_bare(provider);
    const struct vcenter *vc = call->snapshot ? inventory_find_vcenter(call->snapshot->platform, provider->vcenter_id) : NULL;
    view_put_text(object, "vcenter_name", vc ? vc->name : NULL);
    json_put(object, "clusters", provider_clusters_view(provider, row->made));
    return object;
}

static int provider_answer(struct api_call *call, struct http_response *resp, int status, const struct provider *provider,
                           struct err *err) {
    _cleanup_done_(made_name_list_done) struct made_name_list made = {0};
    const struct provider_row row = {provider, &made};
    int rc = provision_list_made(call->api->options.provision, &made, err);
    return rc ? rc
              : reply_named(call, resp, status, (struct reply_named){provider_view(call, &row), provider_view_bare(provider)},
                            err);
}

/* -- reading ----------------------------------------------------------------------------------------------------------------- */

static const char *provider_key(const void *record, char *buffer, size_t n) {
    (void)buffer;
    (void)n;
    return ((const struct provider_row *)record)->provider->name;
}

int h_providers_list(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(provider_list_done) struct provider_list list = {0};
    _cleanup_done_(made_name_list_done) struct made_name_list made = {0};
    int rc = providers_list(call->api->options.providers, &list, err);
    rc = rc ? rc : provision_list_made(call->api->options.provision, &made, err);
    if (rc)
        return rc;
    _cleanup_free_ struct provider_row *rows = calloc(list.count + 1, sizeof(*rows));
    if (!rows)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < list.count; i++)
        rows[i] = (struct provider_row){&list.items[i], &made};
    return view_list(call, resp, VIEW_LIST(rows, list.count, provider_key, provider_view), err);
}

int h_providers_show(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(provider_free) struct provider *provider = NULL;
    int rc = providers_load(call->api->options.providers, provider_name(call), &provider, err);
    return rc ? rc : provider_answer(call, resp, 200, provider, err);
}

/* -- writing ----------------------------------------------------------------------------------------------------------------- */

/* The number of what is there, if it is what an If-Match speaks of; 0: nothing is there. */
static int provider_read_current(struct api_call *call, int64_t *version_no, struct err *err) {
    _cleanup_(provider_free) struct provider *provider = NULL;
    char etag[REPLY_ETAG_BYTES] = "\"none\"";
    bool is_given;
    struct err why = {0};
    int rc = providers_load(call->api->options.providers, provider_name(call), &provider, &why);
    if (!rc)
        rc = reply_etag_of(provider_view_bare(provider), etag, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    rc = reply_check_if_match(call, etag, &is_given, err);
    if (!rc)
        *version_no = provider ? provider->version_no : 0;
    return rc;
}

/* Without If-Match what was read a moment ago is what is changed, so that nothing is lost to somebody else unseen. */
int h_providers_apply(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_provider_ struct provider document = {0};
    struct provider_wish wish = {.document = &document};
    int rc = provider_read(call->body, &document, NULL, err);
    if (!rc && !str_eq(document.name, provider_name(call))) {
        (void)err_set(err, ERR_UNPROCESSABLE, "name is %s in the document, and %.80s in the path", document.name,
                      provider_name(call));
        rc = err_remedy(err, "write one name in both places; a provider that exists keeps its name");
    }
    rc = rc ? rc : provider_read_current(call, &wish.version_no, err);
    rc = rc ? rc : providers_apply(call->api->options.providers, API_ACTOR(call), &wish, err);
    if (rc)
        return rc;
    if (!wish.version_no)
        reply_location(resp, "/v2/providers/", document.name);
    return provider_answer(call, resp, wish.version_no ? 200 : 201, &document, err);
}

int h_providers_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(provider_free) struct provider *provider = NULL;
    int64_t version_no = 0;
    int rc = providers_load(call->api->options.providers, provider_name(call), &provider, err);
    if (!rc)
        rc = reply_check_version(call, provider_view_bare(provider), provider->version_no, &version_no, err);
    if (!rc)
        rc = providers_remove(call->api->options.providers, API_ACTOR(call), provider->id, version_no, err);
    return view_nothing(resp, rc);
}

/* -- checking ---------------------------------------------------------------------------------------------------------------- */

/* What a finding is about is a place here. */
static json_t *provider_findings_view(const struct findings *findings) {
    json_t *array = view_findings(findings), *item;
    size_t i;
    json_array_foreach (array, i, item) {
        json_put_string(item, "place", json_get_string(item, "server"));
        (void)json_object_del(item, "server");
    }
    return array;
}

static json_t *provider_check_view(const struct provider *provider, const struct provider_check *check) {
    json_t *object = json_object();
    json_put_string(object, "name", provider->name);
    json_put_string(object, "status", finding_status_name(check->worst));
    json_put_time(object, "checked_at", check->checked_at_ms);
    json_put_int(object, "duration_ms", check->duration_ms);
    view_put_text(object, "kubernetes_version", check->kubernetes_version[0] ? check->kubernetes_version : NULL);
    json_put(object, "findings", provider_findings_view(&check->findings));
    return object;
}

int h_providers_check(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(provider_check_done) struct provider_check check = {.duration_ms = 0};
    _cleanup_(provider_free) struct provider *provider = NULL;
    const struct provider_need need = {.machines = 1};
    int rc = providers_load(call->api->options.providers, provider_name(call), &provider, err);
    rc = rc ? rc : providers_check(call->api->options.providers, provider, &need, &check, err);
    return rc ? rc : reply_json(resp, 200, provider_check_view(provider, &check), err);
}
