/* The rules that the record of a cluster obeys. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cluster.h"
#include "limits.h"
#include "names.h"
#include "str.h"
#include "uuid.h"

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static int check_uuid(const char *id, const char *what, struct err *err) {
    if (uuid_is_valid(id))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "%s \"%.80s\" is not a UUID", what, id ? id : "");
}

static int check_texts(const struct cluster *c, struct err *err) {
    int rc = check_uuid(c->id, "id", err);
    if (!rc)
        rc = name_check(c->name, "name", err);
    if (!rc)
        rc = name_check_text(c->description, KAAS_DESCRIPTION_CHARS_MAX, "description", err);
    if (!rc)
        rc = name_check_text(c->state_reason, KAAS_DESCRIPTION_CHARS_MAX, "state_reason", err);
    if (!rc)
        rc = name_check_text(c->reported_reason, KAAS_DESCRIPTION_CHARS_MAX, "reason", err);
    if (!rc)
        rc = name_check_kubernetes_version(c->kubernetes_version, err);
    if (!rc && c->api_endpoint)
        rc = name_check_https_url(c->api_endpoint, "api_endpoint", err);
    if (!rc && c->dashboard_url)
        rc = name_check_https_url(c->dashboard_url, "dashboard_url", err);
    return rc;
}

static int check_words(const struct cluster *c, struct err *err) {
    if ((unsigned)c->state >= CLUSTER_STATE_COUNT || (unsigned)c->reported_state >= CLUSTER_STATE_COUNT)
        return err_set(err, ERR_UNPROCESSABLE, "state is none of the known states");
    if (!str_eq(c->state_source, "declared") && !str_eq(c->state_source, "reported") && !str_eq(c->state_source, "observed"))
        return err_set(err, ERR_UNPROCESSABLE, "state_source is none of declared, reported, observed");
    if (!str_eq(c->placement_source, "declared") && !str_eq(c->placement_source, "observed"))
        return err_set(err, ERR_UNPROCESSABLE, "placement source is none of declared, observed");
    return 0;
}

static int check_count(int count, const char *what, struct err *err) {
    if (count >= -1 && count <= KAAS_REPLICAS_COUNT_MAX)
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "%s is %d; it must lie between 0 and %d", what, count, KAAS_REPLICAS_COUNT_MAX);
}

static int check_counts(const struct cluster *c, struct err *err) {
    int rc = check_count(c->control_plane_ready, "control_plane.ready", err);
    if (!rc)
        rc = check_count(c->control_plane_desired, "control_plane.desired", err);
    if (!rc)
        rc = check_count(c->workers_ready, "workers.ready", err);
    return rc ? rc : check_count(c->workers_desired, "workers.desired", err);
}

static int check_placement(const struct cluster *c, struct err *err) {
    int rc = 0;
    if (c->placement.count > KAAS_PLACEMENTS_PER_CLUSTER_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "vsphere_clusters has %zu items; up to %d are allowed", c->placement.count,
                       KAAS_PLACEMENTS_PER_CLUSTER_MAX);
    for (size_t i = 0; i < c->placement.count && !rc; i++) {
        rc = check_uuid(c->placement.items[i].vcenter_id, "vcenter_id", err);
        if (!rc)
            rc = name_check_moref(c->placement.items[i].moref, "moref", err);
    }
    return rc;
}

/* As in docs/openapi.yaml: letters and digits at both ends, between them also "._/-". */
static bool is_label_key(const char *key) {
    size_t len = key ? strlen(key) : 0;
    return len >= 1 && len <= KAAS_LABEL_KEY_BYTES_MAX && strspn(key, ALNUM "._/-") == len && strspn(key, ALNUM) &&
           key[len - 1] && strchr(ALNUM, key[len - 1]);
}

static int check_label(const struct label *label, struct err *err) {
    char what[KAAS_LABEL_KEY_BYTES_MAX + 16];
    if (!is_label_key(label->key)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "label \"%.80s\" is not a valid key", label->key ? label->key : "");
        (void)err_remedy(err, "use 1 to %d letters and digits, and '.', '_', '/', '-' between them", KAAS_LABEL_KEY_BYTES_MAX);
        return ERR_UNPROCESSABLE;
    }
    if (!label->value)
        return err_set(err, ERR_UNPROCESSABLE, "label \"%s\" has no value", label->key);
    (void)snprintf(what, sizeof(what), "label \"%s\"", label->key);
    return name_check_text(label->value, KAAS_LABEL_VALUE_CHARS_MAX, what, err);
}

static int check_labels(const struct cluster *c, struct err *err) {
    int rc = 0;
    if (c->labels_count > KAAS_LABELS_COUNT_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "labels has %zu members; up to %d are allowed", c->labels_count,
                       KAAS_LABELS_COUNT_MAX);
    for (size_t i = 0; i < c->labels_count && !rc; i++) {
        rc = check_label(&c->labels[i], err);
        if (rc || !i)
            continue;
        assert(strcmp(c->labels[i - 1].key, c->labels[i].key) <= 0); /* cluster_sort was called */
        if (str_eq(c->labels[i - 1].key, c->labels[i].key))
            rc = err_set(err, ERR_UNPROCESSABLE, "label \"%s\" is given twice", c->labels[i].key);
    }
    return rc;
}

static int check_node(const struct node *n, struct err *err) {
    int rc = name_check_line(n->name, KAAS_NODE_NAME_CHARS_MAX, "nodes[].name", err);
    if (!rc)
        rc = check_uuid(n->id, "nodes[].id", err);
    if (!rc && n->vcenter_id)
        rc = check_uuid(n->vcenter_id, "nodes[].vcenter_id", err);
    if (!rc && n->vm_instance_uuid)
        rc = check_uuid(n->vm_instance_uuid, "nodes[].vm_instance_uuid", err);
    if (!rc && n->vm_bios_uuid)
        rc = check_uuid(n->vm_bios_uuid, "nodes[].vm_bios_uuid", err);
    if (!rc && n->vm_name)
        rc = name_check_line(n->vm_name, KAAS_VM_NAME_CHARS_MAX, "nodes[].vm_name", err);
    if (!rc && n->kubernetes_version)
        rc = name_check_kubernetes_version(n->kubernetes_version, err);
    if (!rc && n->address)
        rc = name_check_ip_address(n->address, "nodes[].address", err);
    return rc;
}

static int check_nodes(const struct cluster *c, struct err *err) {
    int rc = 0;
    if (c->nodes_count > KAAS_NODES_PER_CLUSTER_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "nodes has %zu items; up to %d are allowed", c->nodes_count,
                       KAAS_NODES_PER_CLUSTER_MAX);
    for (size_t i = 0; i < c->nodes_count && !rc; i++) {
        rc = check_node(&c->nodes[i], err);
        if (rc || !i)
            continue;
        assert(strcmp(c->nodes[i - 1].name, c->nodes[i].name) <= 0); /* cluster_sort was called */
        if (str_eq(c->nodes[i - 1].name, c->nodes[i].name))
            rc = err_set(err, ERR_UNPROCESSABLE, "node \"%s\" is given twice", c->nodes[i].name);
    }
    return rc;
}

int cluster_check(const struct cluster *c, struct err *err) {
    static int (*const checks[])(const struct cluster *c, struct err *err) = {
        check_texts, check_words, check_counts, check_placement, check_labels, check_nodes,
    };
    int rc = 0;
    for (size_t i = 0; i < ARRAY_COUNT(checks) && !rc; i++)
        rc = checks[i](c, err);
    return rc;
}
