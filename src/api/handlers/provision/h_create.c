/* Handlers of /v2/clusters:create and /v2/clusters/{id}/deletion. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "api_call.h"
#include "cluster_spec.h"
#include "h_jobs.h"
#include "inventory.h"
#include "names.h"
#include "problem.h"
#include "provision.h"
#include "reply.h"
#include "str.h"
#include "views.h"

static int create_reply(struct http_response *resp, const char *cluster_id, const char *job_id, struct err *err) {
    json_t *object = json_object();
    json_put_string(object, "cluster_id", cluster_id);
    json_put_string(object, "job_id", job_id);
    reply_location(resp, "/v2/jobs/", job_id);
    return reply_json(resp, 202, object, err);
}

int h_clusters_make(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    _cleanup_spec_ struct cluster_spec spec;
    struct provision_begun begun = {0};
    int rc = cluster_spec_read(call->body, &spec, err);
    rc = rc ? rc : provision_create(options->provision, options->jobs, &spec, API_ACTOR(call), &begun, err);
    return rc ? rc : create_reply(resp, begun.cluster_id, begun.job_id, err);
}

static const char *deletion_id(const struct api_call *call) {
    return http_request_param(call->req, "id");
}

static int deletion_missing(const struct api_call *call, struct err *err) {
    const struct inventory_cluster *entry = inventory_find_cluster(call->snapshot, deletion_id(call));
    err_clear(err);
    if (!entry)
        return err_set(err, ERR_NOT_FOUND, "there is no cluster %s", deletion_id(call));
    (void)err_set(err, ERR_NOT_FOUND, "kaasd has not made the cluster \"%s\"", entry->record->name);
    return err_remedy(err, "what made it must delete it; its record goes by: kaasctl cluster rm %s",
                      name_quote(entry->record->name).text);
}

/* What would go, and what would stay. */
int h_deletion_show(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(findings_done) struct findings found = {.count = 0};
    int rc = provision_look(call->api->options.provision, deletion_id(call), &found, err);
    if (rc == ERR_NOT_FOUND)
        return deletion_missing(call, err);
    if (rc)
        return rc;
    json_t *object = json_object();
    json_put(object, "steps", view_findings(&found));
    return reply_json(resp, 200, object, err);
}

const struct member_body h_deletion_begin_body = {.more = JSON_MEMBERS(JSON_NEEDS(STRING, "name"))};

/* Nobody deletes the wrong one: its name is said once more. */
int h_deletion_begin(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    const struct inventory_cluster *entry = inventory_find_cluster(call->snapshot, deletion_id(call));
    const char *name = json_get_string(call->body, "name");
    char job_id[UUID_TEXT_BYTES] = "";
    if (!entry)
        return deletion_missing(call, err);
    if (!str_eq(entry->record->name, name))
        return err_set(err, ERR_UNPROCESSABLE, "the cluster is called \"%s\", not \"%s\": nothing was done", entry->record->name,
                       name);
    int rc = provision_delete(options->provision, options->jobs, deletion_id(call), API_ACTOR(call), job_id, err);
    if (rc == ERR_NOT_FOUND)
        return deletion_missing(call, err);
    if (rc && *job_id)
        problem_add(call, "job_id", json_string(job_id));
    return rc ? rc : create_reply(resp, deletion_id(call), job_id, err);
}
