/* JSON to cluster records: create bodies and merge patches. Layer 5 (api). Lists are cluster_lists.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_input.h"

#include <stdlib.h>
#include <string.h>

#include "cluster_lists.h"
#include "cluster_store.h"
#include "member_json.h"
#include "str.h"

/* What is made by hand, beside the members that the table of the record lets an administrator or a report give. */
static const struct json_member create_more[] = {
    {"vsphere_clusters", JSON_KIND_ARRAY, true, false},
    {"control_plane", JSON_KIND_OBJECT, true, false},
    {"workers", JSON_KIND_OBJECT, true, false},
    {"state", JSON_KIND_STRING, false, false},
    {"labels", JSON_KIND_OBJECT, false, false},
    {"nodes", JSON_KIND_ARRAY, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};
static const struct json_member patch_more[] = {
    {"vsphere_clusters", JSON_KIND_ARRAY, false, false},
    {"control_plane", JSON_KIND_OBJECT, false, false},
    {"workers", JSON_KIND_OBJECT, false, false},
    {"state", JSON_KIND_STRING, false, false},
    {"labels", JSON_KIND_OBJECT, false, true},
    {"nodes", JSON_KIND_ARRAY, false, true},
    {NULL, JSON_KIND_ANY, false, false},
};
static const struct json_member status_more[] = {
    {"state", JSON_KIND_STRING, true, false},          {"reason", JSON_KIND_STRING, false, true},
    {"control_plane", JSON_KIND_OBJECT, false, false}, {"workers", JSON_KIND_OBJECT, false, false},
    {"nodes", JSON_KIND_ARRAY, false, false},          {NULL, JSON_KIND_ANY, false, false},
};
static const struct member_body create_body = {cluster_members, BY_ADMIN, true, create_more};
static const struct member_body patch_body = {cluster_members, BY_ADMIN, false, patch_more};
static const struct member_body status_body = {cluster_members, BY_REPORT, false, status_more};

static int read_state(json_t *body, enum cluster_state *out, struct err *err) {
    const char *word = json_get_string(body, "state");
    if (cluster_state_parse(word, out))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "the member \"state\" is \"%.40s\"", word);
    return err_remedy(err, "use one of unknown, creating, ready, updating, degraded, unreachable, failed, deleting");
}

/* What an administrator types is declared, and counts until the next report, which has its own call. */
static int input_take_state(json_t *body, struct cluster *c, struct err *err) {
    int rc;
    if (!json_get_string(body, "state"))
        return 0;
    rc = read_state(body, &c->state, err);
    return rc ? rc : str_replace(&c->state_source, "declared", err);
}

static int input_take_count(json_t *object, const char *where, const char *name, int *to, struct err *err) {
    json_t *value = json_object_get(object, name);
    if (!value)
        return 0;
    if (json_is_null(value)) {
        *to = -1;
        return 0;
    }
    if (json_integer_value(value) < 0 || json_integer_value(value) > 100000)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"%s.%s\" must be a number from 0 to 100000", where, name);
    *to = (int)json_integer_value(value);
    return 0;
}

static int take_replicas(json_t *body, const char *name, bool is_patch, int *ready, int *desired, struct err *err) {
    const struct json_member members[] = {{"ready", JSON_KIND_INTEGER, false, true},
                                          {"desired", JSON_KIND_INTEGER, !is_patch, false},
                                          {NULL, JSON_KIND_ANY, false, false}};
    json_t *object = json_object_get(body, name);
    int rc;
    if (!object)
        return 0;
    rc = json_check(object, members, name, err);
    if (!rc && is_patch && !json_object_size(object))
        rc = err_set(err, ERR_UNPROCESSABLE, "the member \"%s\" is empty", name);
    if (!rc)
        rc = input_take_count(object, name, "ready", ready, err);
    return rc ? rc : input_take_count(object, name, "desired", desired, err);
}

static int input_take_counts(json_t *body, bool is_patch, struct cluster *c, struct err *err) {
    int rc = take_replicas(body, "control_plane", is_patch, &c->control_plane_ready, &c->control_plane_desired, err);
    return rc ? rc : take_replicas(body, "workers", is_patch, &c->workers_ready, &c->workers_desired, err);
}

static int take_scalars(json_t *body, bool is_patch, struct cluster *c, struct err *err) {
    int rc = member_json_read(body, cluster_members, BY_ADMIN, c, err);
    if (!rc)
        rc = input_take_state(body, c, err);
    return rc ? rc : input_take_counts(body, is_patch, c, err);
}

static int take_lists(json_t *body, const struct dir_platform *platform, struct cluster *c, unsigned *parts, struct err *err) {
    int rc = 0;
    if (json_object_get(body, "vsphere_clusters")) {
        *parts |= CLUSTER_PART_PLACEMENT;
        rc = cluster_lists_placement(json_object_get(body, "vsphere_clusters"), platform, c, err);
    }
    if (!rc && json_object_get(body, "labels")) {
        *parts |= CLUSTER_PART_LABELS;
        rc = cluster_lists_labels(json_object_get(body, "labels"), c, err);
    }
    if (!rc && json_object_get(body, "nodes")) {
        *parts |= CLUSTER_PART_NODES;
        rc = cluster_lists_nodes(json_object_get(body, "nodes"), c, err);
    }
    return rc;
}

/* In a patch a null removes a label; a new record has none to remove. */
static int check_new_labels(json_t *labels, struct err *err) {
    const char *key;
    json_t *value;
    json_object_foreach (labels, key, value)
        if (!json_is_string(value))
            return err_set(err, ERR_UNPROCESSABLE, "the label \"%.80s\" must be a string", key);
    return 0;
}

int cluster_input_create(json_t *body, const struct dir_platform *platform, struct cluster **out, struct err *err) {
    _cleanup_(cluster_free) struct cluster *c = calloc(1, sizeof(*c));
    unsigned parts = 0;
    int rc = c ? member_json_check(body, &create_body, NULL, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    c->control_plane_ready = -1;
    c->workers_ready = -1;
    c->state_source = str_dup("declared");
    c->placement_source = str_dup("declared");
    if (!c->state_source || !c->placement_source)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = check_new_labels(json_object_get(body, "labels"), err);
    if (!rc)
        rc = take_scalars(body, false, c, err);
    if (!rc)
        rc = take_lists(body, platform, c, &parts, err);
    if (rc)
        return rc;
    *out = STEAL(c);
    return 0;
}

int cluster_input_check_patch(json_t *body, struct err *err) {
    int rc = member_json_check(body, &patch_body, NULL, err);
    if (!rc && !json_object_size(body)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the patch is empty");
        return err_remedy(err, "name at least one member to change");
    }
    return rc;
}

int cluster_input_patch(json_t *body, const struct dir_platform *platform, struct cluster *record, unsigned *parts,
                        struct err *err) {
    int rc = take_scalars(body, true, record, err);
    return rc ? rc : take_lists(body, platform, record, parts, err);
}

int cluster_input_check_status(json_t *body, struct err *err) {
    return member_json_check(body, &status_body, NULL, err);
}

/* The state columns say the same, for programs of the version before. */
static int take_report(json_t *body, const struct cluster_reporter *by, struct cluster *c, struct err *err) {
    int rc = read_state(body, &c->reported_state, err);
    if (!rc)
        rc = str_replace(&c->reported_reason, json_get_string(body, "reason"), err);
    if (!rc)
        rc = str_replace(&c->state_reason, json_get_string(body, "reason"), err);
    if (!rc)
        rc = str_replace(&c->reported_by, by->principal_id, err);
    if (!rc)
        rc = str_replace(&c->state_source, "reported", err);
    c->state = c->reported_state;
    c->reported_at_ms = by->at_ms;
    return rc;
}

int cluster_input_status(json_t *body, const struct cluster_reporter *by, struct cluster *record, unsigned *parts,
                         struct err *err) {
    int rc = take_report(body, by, record, err);
    if (!rc)
        rc = input_take_counts(body, true, record, err);
    if (!rc)
        rc = member_json_read(body, cluster_members, BY_REPORT, record, err);
    if (rc || !json_object_get(body, "nodes"))
        return rc;
    *parts |= CLUSTER_PART_NODES;
    return cluster_lists_reported_nodes(json_object_get(body, "nodes"), record, err);
}
