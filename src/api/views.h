/* Model to JSON, one function per type of docs/openapi.yaml. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each gives a new reference; a lack of memory shows when the JSON is written. */
#pragma once

#include "cluster.h"
#include "discovery.h"
#include "finding.h"
#include "json.h"
#include "link.h"
#include "snapshot.h"
#include "vc_status.h"

/* A member that is null when there is no text or time. */
void view_put_text(json_t *object, const char *name, const char *value);
void view_put_time(json_t *object, const char *name, int64_t wall_ms);

/* Objects as docs/openapi.yaml shows them. Each is a new reference for the caller, or NULL without memory. */
json_t *view_hx_cluster(const struct dir_platform *platform, const struct hx_cluster *hx);
json_t *view_hx_candidate(const struct dir_platform *platform, const struct hx_cluster *hx);
json_t *view_vsphere_cluster(const struct dir_platform *platform, const struct vsphere_cluster *cluster);
json_t *view_trust(const struct vcenter *vc);
json_t *view_rotation(const char *vcenter_id, const struct link_certificates *certificates);
json_t *view_vcenter(const struct vcenter *vc, const struct link_report *report);
json_t *view_status(const struct vc_status *status, const struct dir_platform *platform);
json_t *view_rescan(const struct discovery_result *result);
json_t *view_findings(const struct findings *findings);
