/* How kaasd reaches the API server of a Kubernetes cluster, and what it finds there. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "cluster_state.h"
#include "err.h"
#include "member.h"
#include "remote_status.h"

#define KUBE_CA_BYTES_MAX (64U * 1024U)
#define KUBE_SHA256_BYTES 65 /* lower-case hex, and NUL */

/* Texts malloc'ed; NULL where there is none. */
struct kube_connection {
    char *cluster_id;      /* of the Kubernetes cluster: its identity */
    char *address;         /* https URL of the API server */
    char *tls_server_name; /* name that its certificate carries instead of the URL's host */
    char *ca_pem;          /* trust by this CA, */
    char *sha256;          /* or in the certificate with this SHA-256, lower-case hex: exactly one of the two */
    char *cluster_uid; /* uid of the namespace kube-system, by which a cluster is known again; no two connections have the same */
    int64_t created_at_ms, updated_at_ms;
    int64_t version_no;
};
static const struct member kube_connection_members[] = {
    MEMBER_AS(kube_connection, cluster_id, "cluster_id", NULL, .flags = MEMBER_KEY),
    MEMBER(kube_connection, address),
    MEMBER(kube_connection, tls_server_name, .flags = MEMBER_OPTIONAL),
    MEMBER(kube_connection, ca_pem, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(kube_connection, sha256, "sha256", "thumbprint_sha256", .flags = MEMBER_OPTIONAL),
    MEMBER(kube_connection, cluster_uid),
    MEMBER_AS(kube_connection, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(kube_connection, updated_at_ms, "updated_at_ms", "updated_at"),
    MEMBER_AS(kube_connection, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void kube_connection_done(struct kube_connection *connection); /* NULL is allowed */
void kube_connection_free(struct kube_connection *connection); /* NULL is allowed */
CLEANUP_DEFINE(struct kube_connection, kube_connection_free);
struct kube_connection_list {
    struct kube_connection *items; /* by id of the cluster */
    size_t count;
};
void kube_connection_list_done(struct kube_connection_list *list); /* NULL is allowed */

/* "unknown", "ok", "failing", "refused": the token is refused, and only connecting again helps. */
extern const char *const kube_connection_state_words[];
const char *kube_connection_state_name(enum remote_state state); /* static, never NULL */

/* What Kubernetes itself shows of a cluster that is connected (kube_health.h), as it is kept. */
struct kube_summary {
    enum cluster_state state; /* ready, degraded, unreachable or unknown */
    char *reason;             /* malloc'ed, at most KUBE_SUMMARY_CHARS_MAX characters; NULL: none */
    int64_t since_ms;         /* wall clock */
    int control_plane_ready, workers_ready, control_plane_desired, workers_desired; /* -1: not known */
};
#define KUBE_SUMMARY_CHARS_MAX 600
void kube_summary_done(struct kube_summary *s); /* NULL is allowed */

/* How the connection stands, and what Kubernetes says of itself: one row that the holder of the lease writes and every replica reads. Texts malloc'ed. */
struct kube_status {
    char *cluster_id;
    struct remote_status remote;
    int64_t token_until_ms;    /* wall clock: end of the stored token, as the API server told it */
    int64_t token_renew_at_ms; /* wall clock: when it is renewed */
    char *version;             /* of the API server, "1.36.3"; NULL: not asked yet */
    /* The verdict on its health, as lists show it. */
    struct kube_summary health;
    char *health_json;    /* array of all reasons, as GET .../health shows them; NULL: none */
    char *missing_rights; /* rules that our role lacks there, one a line; NULL: none */
    int64_t version_no;
};
static const struct member kube_status_members[] = {
    MEMBER_AS(kube_status, cluster_id, "cluster_id", NULL, .flags = MEMBER_KEY),
    MEMBER_AS(kube_status, remote.state, "state", "state", .words = kube_connection_state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(kube_status, remote.since_ms, "since_ms", "since"),
    MEMBER_AS(kube_status, remote.checked_at_ms, "checked_at_ms", "checked_at", .flags = MEMBER_ASIDE),
    MEMBER_AS(kube_status, remote.reason, "reason", "reason"),
    MEMBER_AS(kube_status, remote.detail, "detail", "detail"),
    MEMBER_AS(kube_status, remote.remedy, "remedy", "remedy"),
    MEMBER_AS(kube_status, token_until_ms, "token_until_ms", "token_until"),
    MEMBER_AS(kube_status, token_renew_at_ms, "token_renew_at_ms", NULL),
    MEMBER(kube_status, version),
    MEMBER_AS(kube_status, health.state, "health", NULL, .words = cluster_state_words, .unknown = CLUSTER_UNKNOWN),
    MEMBER_AS(kube_status, health.reason, "health_reason", NULL),
    MEMBER_AS(kube_status, health.since_ms, "health_since_ms", NULL),
    MEMBER_AS(kube_status, health.control_plane_ready, "control_plane_ready", NULL),
    MEMBER_AS(kube_status, health.control_plane_desired, "control_plane_desired", NULL),
    MEMBER_AS(kube_status, health.workers_ready, "workers_ready", NULL),
    MEMBER_AS(kube_status, health.workers_desired, "workers_desired", NULL),
    MEMBER_AS(kube_status, health_json, "health_json", NULL),
    MEMBER(kube_status, missing_rights),
    MEMBER_AS(kube_status, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void kube_status_done(struct kube_status *status); /* NULL is allowed */
void kube_status_free(struct kube_status *status); /* NULL is allowed */
CLEANUP_DEFINE(struct kube_status, kube_status_free);
struct kube_status_list {
    struct kube_status *items; /* by id of the cluster */
    size_t count;
};
void kube_status_list_done(struct kube_status_list *list); /* NULL is allowed */
