/* Handlers of /v2/services: service accounts. Layer 6 (api). Signing in as one is h_login.c. Reading is from memory.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "accounts.h"
#include "inventory.h"
#include "api_call.h"
#include "member_json.h"
#include "reply.h"
#include "str.h"
#include "uuid.h"
#include "views.h"
#include "x509.h"

#define PEM_BEGIN "-----BEGIN CERTIFICATE-----"

/* -- looking ---------------------------------------------------------------------------------------------------------------- */

static json_t *certificates_view(const struct service_account *a) {
    json_t *array = json_array();
    for (size_t i = 0; i < a->certificates_count; i++) {
        json_t *object = json_object();
        json_put_string(object, "sha256", a->certificates[i].sha256);
        view_put_time(object, "not_after", a->certificates[i].not_after_ms);
        json_add(array, object);
    }
    return array;
}

static json_t *hx_clusters_view(const struct inventory_platform *platform, const struct service_account *a) {
    json_t *array = json_array();
    for (size_t i = 0; i < a->hx_clusters_count; i++) {
        const struct hx_cluster *hx = inventory_find_hx(platform, a->hx_clusters[i]);
        json_t *object = json_object();
        json_put_string(object, "id", a->hx_clusters[i]);
        _cleanup_free_ char *path = vsphere_cluster_path(hx ? inventory_find_vsphere(platform, &hx->vsphere_cluster) : NULL);
        view_put_text(object, "name", hx ? hx->name : NULL);
        view_put_text(object, "path", path);
        json_add(array, object);
    }
    return array;
}

static json_t *account_view(const struct api_call *call, const void *record) {
    const struct service_account *a = record;
    _cleanup_free_ char *principal_id = service_principal_id(a->id);
    json_t *object = member_json_show(service_account_members, a);
    json_put_string(object, "principal_id", principal_id);
    json_put(object, "certificates", certificates_view(a));
    json_put(object, "hx_clusters", hx_clusters_view(call->snapshot->platform, a));
    return object;
}

static const char *account_key(const void *record, char *buffer, size_t n) {
    const struct service_account *a = record;
    (void)snprintf(buffer, n, "%s\x01%s", a->name, a->id);
    return buffer;
}

static bool account_is_wanted(const struct api_call *call, const void *record, const void *filter) {
    const char *name = http_request_query(call->req, "name");
    (void)filter;
    return !name || str_eq(name, ((const struct service_account *)record)->name);
}

int h_services_list(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    return view_list(
        call, resp,
        VIEW_LIST(platform->services, platform->services_count, account_key, account_view, .is_wanted = account_is_wanted), err);
}

static int services_find_account(const struct inventory_platform *platform, const char *id, const struct service_account **out,
                                 struct err *err) {
    char lower[UUID_TEXT_BYTES] = "";
    if (uuid_is_valid(id))
        memcpy(lower, id, sizeof(lower));
    str_lower(lower);
    *out = inventory_find_service(platform, lower);
    if (*out)
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "there is no service account %s", id);
    return err_remedy(err, "see: kaasctl service list, or GET /v2/services");
}

/* As it is in memory now, which a write of ours has reached. */
static int answer_account(struct api_call *call, struct http_response *resp, int status, const char *id, struct err *err) {
    const struct service_account *a = NULL;
    int rc;
    api_renew_snapshot(call);
    rc = call->snapshot ? services_find_account(call->snapshot->platform, id, &a, err)
                        : err_set(err, ERR_UNAVAILABLE, "the service is starting");
    return rc ? rc : reply_object(call, resp, status, account_view(call, a), err);
}

int h_services_show(struct api_call *call, struct http_response *resp, struct err *err) {
    reply_freshness(call, resp);
    return answer_account(call, resp, 200, http_request_param(call->req, "id"), err);
}

/* -- reading what is wanted ----------------------------------------------------------------------------------------------------- */

/* What stands there twice counts twice. */
static int services_check_count(const json_t *body, const char *name, unsigned max, struct err *err) {
    if (json_array_size(json_object_get(body, name)) <= max)
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "\"%s\" may have %u entries", name, max);
}

static int h_services_read_certificates(const json_t *body, struct service_account *out, struct err *err) {
    const json_t *item, *array = json_object_get(body, "certificates");
    size_t i;
    int rc = services_check_count(body, "certificates", SERVICE_CERTIFICATES_COUNT_MAX, err);
    if (rc)
        return rc;
    json_array_foreach (array, i, item) {
        struct service_certificate c = {.not_after_ms = 0};
        struct x509_info info = {0};
        const char *text = json_string_value(item);
        if (!text)
            return err_set(err, ERR_UNPROCESSABLE, "\"certificates\" must hold texts: fingerprints or certificates in PEM");
        if (strstr(text, PEM_BEGIN)) {
            rc = x509_parse_pem(text, &info, err);
            str_hex(info.sha256, sizeof(info.sha256), c.sha256);
            c.not_after_ms = info.not_after_ms;
            x509_info_done(&info);
        } else {
            rc = service_fingerprint_read(text, c.sha256, err);
        }
        if (!rc)
            rc = service_account_add_certificate(out, &c, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_hx_cluster(const struct inventory_platform *platform, const char *text, struct service_account *out,
                           struct err *err) {
    char id[UUID_TEXT_BYTES] = "";
    if (text && uuid_is_valid(text))
        memcpy(id, text, sizeof(id));
    str_lower(id);
    const struct hx_cluster *hx = inventory_find_hx(platform, inventory_get_hx_id(platform, id));
    if (hx)
        return service_account_add_hx_cluster(out, hx->id, err);
    (void)err_set(err, ERR_UNPROCESSABLE, "\"hx_clusters\" names \"%.60s\", which is the id of no HX cluster", text ? text : "");
    return err_remedy(err, "compare with GET /v2/hx-clusters");
}

/* Those that the account has already stay, even when they are gone from the vCenter. */
static int read_hx_clusters(const struct api_call *call, const struct service_account *now, struct service_account *out,
                            struct err *err) {
    const json_t *item, *array = json_object_get(call->body, "hx_clusters");
    size_t i;
    int bad = services_check_count(call->body, "hx_clusters", SERVICE_HX_CLUSTERS_COUNT_MAX, err);
    if (bad)
        return bad;
    json_array_foreach (array, i, item) {
        const char *text = json_string_value(item);
        int rc = text && service_account_has_hx_cluster(now, text) ? service_account_add_hx_cluster(out, text, err)
                                                                   : read_hx_cluster(call->snapshot->platform, text, out, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* What the body says of a credential, in its one spelling; "" is none. */
static int services_read_credential(const json_t *body, const char *name,
                                    int (*read)(const char *text, char **out, struct err *err), char **out, struct err *err) {
    const char *text = json_get_string(body, name);
    char *credential = NULL;
    int rc = str_empty(text) ? 0 : read(text, &credential, err);
    if (rc || !json_object_get(body, name))
        return rc;
    free(*out);
    *out = credential;
    return 0;
}

/* Lists are replaced as a whole. */
static int read_lists(const struct api_call *call, struct service_account *a, struct err *err) {
    struct service_account given = {.id = NULL};
    int rc = h_services_read_certificates(call->body, &given, err);
    if (!rc)
        rc = read_hx_clusters(call, a, &given, err);
    if (!rc && json_object_get(call->body, "certificates")) {
        SWAP(a->certificates, given.certificates);
        SWAP(a->certificates_count, given.certificates_count);
    }
    if (!rc && json_object_get(call->body, "hx_clusters")) {
        SWAP(a->hx_clusters, given.hx_clusters);
        SWAP(a->hx_clusters_count, given.hx_clusters_count);
    }
    service_account_done(&given);
    return rc;
}

/* Puts what the body says over what the account is. */
static int services_read_account(void *arg, struct service_account *a, struct err *err) {
    const struct api_call *call = arg;
    int rc = member_json_read(call->body, service_account_members, BY_ADMIN, a, err);
    if (!rc && a->description && !*a->description)
        rc = str_replace(&a->description, NULL, err);
    if (!rc)
        rc = services_read_credential(call->body, "kerberos", service_kerberos_read, &a->kerberos, err);
    if (!rc)
        rc = services_read_credential(call->body, "subject", service_subject_read, &a->subject, err);
    return rc ? rc : read_lists(call, a, err);
}

/* -- writing ---------------------------------------------------------------------------------------------------------------- */

#define LISTS JSON_MEMBERS(JSON_TAKES(ARRAY, "certificates"), JSON_TAKES(ARRAY, "hx_clusters"))
const struct member_body h_services_add_body = {
    .members = service_account_members, .writer = BY_ADMIN, .is_new = true, .more = LISTS};
const struct member_body h_services_patch_body = {.members = service_account_members, .writer = BY_ADMIN, .more = LISTS};

int h_services_add(struct api_call *call, struct http_response *resp, struct err *err) {
    struct service_account wanted = {.id = NULL};
    int rc = services_read_account(call, &wanted, err);
    if (!rc)
        rc = accounts_add(call->api->options.ldapdirs, API_ACTOR(call), &wanted, err);
    if (!rc)
        reply_location(resp, "/v2/services/", wanted.id);
    if (!rc)
        rc = answer_account(call, resp, 201, wanted.id, err);
    service_account_done(&wanted);
    return rc;
}

/* The account {id} of the path, and the version that an If-Match speaks of (0: none). */
static int find_version(struct api_call *call, const struct service_account **a, int64_t *version_no, struct err *err) {
    int rc = services_find_account(call->snapshot->platform, http_request_param(call->req, "id"), a, err);
    return rc ? rc : reply_check_version(call, account_view(call, *a), (*a)->version_no, version_no, err);
}

int h_services_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct service_account *now = NULL;
    struct account_edit edit = {.fn = services_read_account, .arg = call};
    int rc = find_version(call, &now, &edit.version_no, err);
    if (rc)
        return rc;
    edit.id = now->id;
    rc = accounts_change(call->api->options.ldapdirs, API_ACTOR(call), &edit, err);
    return rc ? rc : answer_account(call, resp, 200, http_request_param(call->req, "id"), err);
}

int h_services_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct service_account *now = NULL;
    int64_t version_no = 0;
    int rc = find_version(call, &now, &version_no, err);
    if (!rc)
        rc = accounts_remove(call->api->options.ldapdirs, API_ACTOR(call), now->id, version_no, err);
    return view_nothing(resp, rc);
}
