/* The health of a cluster as Kubernetes itself shows it: facts in, verdict out. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verdict is one of three sources of a cluster's state (rollup.h). The worst of its reasons is its state:
 *   - `unreachable`: another cluster answers; no answer for KUBE_PATIENCE_MS and KUBE_PATIENCE_TRIES tries; a readiness check of etcd fails, because an API server
 *     without quorum can neither read nor write; or, where no check of etcd is told, no majority of the control plane is Ready.
 *   - `degraded`: another readiness check fails, a node of those wanted is not Ready, a node is under pressure, a pod of the control plane is not ready, kubelets
 *     do not fit the API server, its certificate ends soon, clocks differ.
 *   - `unknown`: never asked, refused for as long as above, or readiness or nodes not told yet.
 *   - `ready` else. What is told without making it worse: cordoned nodes, a token that ends, missing rights, support and upgrades.
 * Before patience ends a cluster is judged by the facts that were there last. Behind it, and without quorum, nodes are not looked at: without quorum each stays
 * Ready for ever. A condition whose heartbeat is older than KUBE_HEARTBEAT_S, by the server's clock, is unknown: kubelets write an unchanged one every
 * 5 minutes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube_connection.h"
#include "kube_node.h"
#include "kube_readyz.h"

#define KUBE_PATIENCE_MS 12000 /* from the first try that fails: with it and its time-out within 20 s of the last answer */
#define KUBE_PATIENCE_TRIES 3
#define KUBE_HEARTBEAT_S 360
#define KUBE_CLOCK_SKEW_S_MAX 60

/* How the API server took the last tries. */
enum kube_contact {
    KUBE_CONTACT_NEVER,   /* not tried yet */
    KUBE_CONTACT_ANSWERS, /* readiness is told, and our credential is taken */
    KUBE_CONTACT_SILENT,  /* no connection, or no answer in time */
    KUBE_CONTACT_REFUSED, /* it answers, but not to our credential (401, 403) */
    KUBE_CONTACT_OTHER,   /* the uid of kube-system is another one */
};

/* A pod of the control plane: in kube-system, labelled tier=control-plane; kubeadm's static pods are. */
struct kube_pod {
    char *name, *component; /* "kube-scheduler-cp-0", "kube-scheduler" */
    char *node;             /* NULL: none yet */
    bool is_ready;
};

/* From when until when something is good; wall clock of whoever made it, seconds since 1970, 0: not known. */
struct kube_term {
    int64_t start_s, end_s;
};

/* What is known of a cluster now. All of it is the caller's. */
struct kube_facts {
    int64_t now_ms; /* wall clock */
    enum kube_contact contact;
    int64_t contact_since_ms; /* the first of the tries in a row that ended so; wall clock */
    unsigned contact_tries;   /* how many these are */
    const char *contact_text; /* what the last one ended with, for people; NULL: nothing to say */
    struct kube_readyz readyz;
    const char *version; /* gitVersion of the API server; NULL: not known */
    bool has_nodes;      /* they were listed */
    const struct kube_node *nodes;
    size_t nodes_count;
    int control_plane_desired, workers_desired; /* as declared; -1: not */
    const struct kube_pod *pods;
    size_t pods_count;
    struct kube_term certificate; /* of the API server */
    struct kube_term token;       /* ours */
    bool has_clock;
    int64_t clock_skew_s;       /* the server's clock (field Date) less ours */
    const char *const *missing; /* rules of our ClusterRole that the server does not grant: "list pods" */
    size_t missing_count;
};

enum kube_severity { KUBE_SEVERITY_INFO, KUBE_SEVERITY_UNKNOWN, KUBE_SEVERITY_WARNING, KUBE_SEVERITY_ERROR };
const char *kube_severity_name(enum kube_severity severity); /* "info", "unknown", "warning", "error"; static */

enum kube_reason_kind {
#define KUBE_REASON(symbol, word, severity, remedy) KUBE_REASON_##symbol,
#include "kube_reasons.def"
#undef KUBE_REASON
    KUBE_REASONS
};

#define KUBE_REASON_TEXT_BYTES 384

struct kube_reason {
    enum kube_reason_kind kind;
    enum kube_severity severity;
    const char *word, *remedy; /* static */
    int64_t since_ms;          /* wall clock */
    char
        text[KUBE_REASON_TEXT_BYTES]; /* for people; changes with what it tells of, not with time alone; cut between characters */
};

/* A plain value of 10 KB, nothing to free. All zero: none. */
struct kube_verdict {
    enum cluster_state state;
    int64_t since_ms;                         /* wall clock: since when it is in this state */
    struct kube_reason reasons[KUBE_REASONS]; /* at most one of each kind, the gravest first */
    size_t reasons_count;
    int control_plane_ready,
        workers_ready; /* -1: not known; no nodes of the control plane are shown where somebody else runs it */
    int control_plane_desired, workers_desired; /* as declared, or as many as there are, whichever is more; -1: not known */
};

/* Judges. `before` is the verdict before, whose reasons and state keep their since while they last; NULL: there is none. `out` may not be `before`. */
void kube_health_judge(const struct kube_facts *facts, const struct kube_verdict *before, struct kube_verdict *out);

/* Makes conditions of a node whose heartbeat is older than KUBE_HEARTBEAT_S unknown, as the verdict takes them, since they are so, with the reason that Kubernetes' node
 * controller gives (k8s.io/kubernetes pkg/controller/nodelifecycle). `now_s`: the server's clock. ERR_NOMEM. */
int kube_health_age_node(struct kube_node *node, int64_t now_s, struct err *err);

/* What of a verdict is kept and rolled up: the reasons that make its state, joined. *out (uninitialised) is given back by kube_summary_done, and written on success
 * only. ERR_NOMEM. */
int kube_health_sum_up(const struct kube_verdict *verdict, struct kube_summary *out, struct err *err);
