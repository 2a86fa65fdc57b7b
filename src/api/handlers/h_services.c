/* Handlers of /v2/services: service accounts. Layer 6 (api). Signing in as one is h_login.c. Reading is from memory.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "clock.h"
#include "inventory.h"
#include "api_call.h"
#include "member_json.h"
#include "problem.h"
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
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *hx_clusters_view(const struct inventory_platform *platform, const struct service_account *a) {
    json_t *array = json_array();
    for (size_t i = 0; i < a->hx_clusters_count; i++) {
        const struct hx_cluster *hx = inventory_find_hx(platform, a->hx_clusters[i]);
        json_t *object = json_object();
        json_put_string(object, "id", a->hx_clusters[i]);
        view_put_text(object, "name", hx ? hx->name : NULL);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *account_view(const struct inventory_platform *platform, const struct service_account *a) {
    _cleanup_free_ char *principal_id = service_principal_id(a->id);
    json_t *object = member_json_show(service_account_members, a);
    json_put_string(object, "principal_id", principal_id);
    json_object_set_new(object, "certificates", certificates_view(a));
    json_object_set_new(object, "hx_clusters", hx_clusters_view(platform, a));
    return object;
}

struct account_page {
    const struct inventory_platform *platform;
    const struct service_account **items;
};

static const char *account_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct service_account *a = ((const struct account_page *)arg)->items[i];
    (void)snprintf(buffer, n, "%s\x01%s", a->name, a->id);
    return buffer;
}

static json_t *account_item(const void *arg, size_t i) {
    const struct account_page *page = arg;
    return account_view(page->platform, page->items[i]);
}

static int services_compare_names(const void *a, const void *b) {
    return strcmp((*(const struct service_account *const *)a)->name, (*(const struct service_account *const *)b)->name);
}

int h_services_list(struct api_call *call, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"name", "limit", "cursor", NULL};
    const struct inventory_platform *platform = call->snapshot->platform;
    const char *name = http_request_query(call->req, "name");
    _cleanup_free_ const struct service_account **items = calloc(platform->services_count + 1, sizeof(*items));
    struct account_page page = {platform, items};
    struct reply_list list = {.key = account_key, .item = account_item, .arg = &page};
    int rc = http_request_check_query(call->req, known, err);
    if (!rc && !items)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    for (size_t i = 0; i < platform->services_count; i++)
        if (!name || str_eq(name, platform->services[i].name))
            items[list.count++] = &platform->services[i];
    if (list.count > 1)
        qsort((void *)items, list.count, sizeof(*items), services_compare_names);
    return reply_list(call, resp, &list, err);
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
    return rc ? rc : reply_object(call, resp, status, account_view(call->snapshot->platform, a), err);
}

int h_services_show(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = api_check_no_query(call, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    return answer_account(call, resp, 200, http_request_param(call->req, "id"), err);
}

/* -- reading what is wanted ----------------------------------------------------------------------------------------------------- */

static int read_pem(const char *text, struct service_certificate *out, struct err *err) {
    struct x509_info info = {0};
    int rc = x509_parse_pem(text, &info, err);
    if (rc)
        return rc;
    str_hex(info.sha256, sizeof(info.sha256), out->sha256);
    out->not_after_ms = info.not_after_ms;
    x509_info_done(&info);
    return 0;
}

/* What stands there twice counts twice. */
static int services_check_count(const json_t *body, const char *name, unsigned max, struct err *err) {
    if (json_array_size(json_object_get(body, name)) <= max)
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "\"%s\" may have %u entries", name, max);
}

static int h_services_read_certificates(const json_t *body, struct service_account *out, struct err *err) {
    const json_t *item, *array = json_object_get(body, "certificates");
    size_t i;
    json_array_foreach (array, i, item) {
        struct service_certificate c = {.not_after_ms = 0};
        const char *text = json_string_value(item);
        int rc;
        if (!text)
            return err_set(err, ERR_UNPROCESSABLE, "\"certificates\" must hold texts: fingerprints or certificates in PEM");
        rc = strstr(text, PEM_BEGIN) ? read_pem(text, &c, err) : service_fingerprint_read(text, c.sha256, err);
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
    if (inventory_find_hx(platform, id))
        return service_account_add_hx_cluster(out, id, err);
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
    struct service_account given = {.id = NULL}, before = *a;
    int rc = services_check_count(call->body, "certificates", SERVICE_CERTIFICATES_COUNT_MAX, err);
    if (!rc)
        rc = h_services_read_certificates(call->body, &given, err);
    if (!rc)
        rc = read_hx_clusters(call, a, &given, err);
    if (!rc && json_object_get(call->body, "certificates")) {
        a->certificates = given.certificates;
        a->certificates_count = given.certificates_count;
        given.certificates = before.certificates;
        given.certificates_count = before.certificates_count;
    }
    if (!rc && json_object_get(call->body, "hx_clusters")) {
        a->hx_clusters = given.hx_clusters;
        a->hx_clusters_count = given.hx_clusters_count;
        given.hx_clusters = before.hx_clusters;
        given.hx_clusters_count = before.hx_clusters_count;
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

static const struct json_member lists[] = {
    {"certificates", JSON_KIND_ARRAY, false, false},
    {"hx_clusters", JSON_KIND_ARRAY, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};

static int services_answer_new(struct api_call *call, struct http_response *resp, const char *id, struct err *err) {
    reply_location(resp, "/v2/services/", id);
    return answer_account(call, resp, 201, id, err);
}

int h_services_add(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct service_account wanted = {.id = NULL};
    struct json_member expected[MEMBER_JSON_MAX];
    member_json_expect(&(struct member_body){service_account_members, BY_ADMIN, true, lists}, expected);
    int rc = api_read_members(call, expected, err);
    if (!rc)
        rc = services_read_account(call, &wanted, err);
    if (!rc)
        rc = accounts_add(call->api->options.identity, &actor, &wanted, err);
    if (!rc)
        rc = services_answer_new(call, resp, wanted.id, err);
    service_account_done(&wanted);
    return rc;
}

/* The account {id} of the path, and the version that an If-Match speaks of (0: none). */
static int find_version(struct api_call *call, const struct service_account **a, int64_t *version_no, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    int rc = services_find_account(platform, http_request_param(call->req, "id"), a, err);
    return rc ? rc : reply_check_version(call, account_view(platform, *a), (*a)->version_no, version_no, err);
}

int h_services_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    const struct service_account *now = NULL;
    struct account_edit edit = {.fn = services_read_account, .arg = call};
    struct json_member expected[MEMBER_JSON_MAX];
    member_json_expect(&(struct member_body){service_account_members, BY_ADMIN, false, lists}, expected);
    int rc = api_read_patch(call, expected, err);
    if (!rc)
        rc = find_version(call, &now, &edit.version_no, err);
    if (rc)
        return rc;
    edit.id = now->id;
    rc = accounts_change(call->api->options.identity, &actor, &edit, err);
    return rc ? rc : answer_account(call, resp, 200, http_request_param(call->req, "id"), err);
}

int h_services_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    const struct service_account *now = NULL;
    int64_t version_no = 0;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = find_version(call, &now, &version_no, err);
    if (!rc)
        rc = accounts_remove(call->api->options.identity, &actor, now->id, version_no, err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}
