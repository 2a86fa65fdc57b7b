/* What an API server is asked from time to time, beside its nodes. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "str.h"
#include "x509.h"

/* Without quorum the checks take 2 to 4.3 s (measured, Kubernetes 1.36); three tries, the second and third shorter, end within 20 s. Silence that was told is no hurry. */
#define READY_FIRST_MS 5000
#define READY_NEXT_MS 3000
#define IDENTITY_EVERY_MS 300000 /* and before each list */
#define RIGHTS_EVERY_MS 300000   /* not every right is used every day: the one to disconnect is lost in silence */
#define RIGHTS_SOON_MS 60000     /* while some are missing */
#define CERTIFICATE_EVERY_MS (3600 * INT64_C(1000))
#define PODS_EVERY_MS 60000
#define PODS_SOON_MS 5000 /* while some are not ready, for a minute: most are just starting */
#define PODS_SOON_COUNT 12U
#define PODS_COUNT_MAX 100U /* of a control plane: 4 on each of its nodes */

static void kube_pod_done(struct kube_pod *pod) {
    free(pod->name);
    free(pod->component);
    free(pod->node);
}

static void answers_drop_pods(struct kube_answers *a) {
    for (size_t i = 0; i < a->pods_count; i++)
        kube_pod_done(&a->pods[i]);
    free(STEAL(a->pods));
    a->pods_count = 0;
}

void kube_answers_done(struct kube_answers *a) {
    answers_drop_pods(a);
    free(a->version);
    free(a->missing);
    *a = (struct kube_answers){0};
}

/* -- readiness ---------------------------------------------------------------------------------------------------------------- */

/* A failed check is an answer: 500 with a line for each check. */
static int probe_ready(struct kube_remote *at, struct err *err) {
    _cleanup_strbuf_ struct strbuf reply;
    struct err why = {0};
    int64_t date_ms = 0;
    long status = 0;
    const bool is_hurried = at->silent_since_ms && at->bad_tries < KUBE_PATIENCE_TRIES;
    at->answers.is_readiness_told = false;
    strbuf_init(&reply, K8S_REPLY_BYTES_MAX);
    const struct k8s_call call = {.method = "GET",
                                  .path = "/readyz?verbose",
                                  .accept = "*/*",
                                  .timeout_ms = is_hurried ? READY_NEXT_MS : READY_FIRST_MS,
                                  .date_ms = &date_ms};
    int rc = k8s_call(at->client, &call, &reply, &status, &why);
    if (rc && status != 500)
        return err_move(err, rc, &why);
    at->answers.has_clock = date_ms != 0;
    at->answers.skew_ms = date_ms - clock_wall_ms();
    rc = kube_readyz_parse(reply.data, reply.len, &at->answers.readyz, err);
    at->answers.is_readiness_told = !rc;
    return rc;
}

/* -- the rest, more rarely ------------------------------------------------------------------------------------------------------- */

static bool probe_is_due(int64_t *next_ms, int64_t every_ms) {
    const int64_t now_ms = clock_mono_ms();
    if (now_ms < *next_ms)
        return false;
    *next_ms = now_ms + every_ms;
    return true;
}

/* Before a list is believed, or the changes since one, and again from time to time: another cluster may be behind the same address. By a new connection, since one that is
 * kept may lead to where the address was before. */
static int probe_identity(struct kube_remote *at, struct err *err) {
    _cleanup_free_ char *uid = NULL;
    if (!at->is_watching || kube_mirror_has_ended(&at->mirror, NULL) || kube_mirror_is_doubtful(&at->mirror))
        at->answers.identity_ms = 0;
    if (!probe_is_due(&at->answers.identity_ms, IDENTITY_EVERY_MS))
        return 0;
    kube_mirror_set_doubtful(&at->mirror, false);
    int rc = kube_use_new_client(at, at->token, err);
    rc = rc ? rc : kube_ask_identity(at->client, &uid, err);
    if (!rc && str_eq(uid, at->connection.cluster_uid))
        return 0;
    at->answers.identity_ms = 0;
    if (rc != ERR_UPSTREAM_DENIED)
        kube_mirror_set_doubtful(&at->mirror, true);
    if (rc)
        return rc;
    (void)err_set(err, ERR_CONFLICT, "another cluster answers at %s: the uid of kube-system is %s, not %s",
                  at->connection.address, uid, at->connection.cluster_uid);
    return err_remedy(err, "if the cluster was built anew, connect it as a new one: kaasctl cluster disconnect %s --forget",
                      at->remote.id);
}

/* One that we may not ask is not known any more, and keeps nobody from asking which right that is. */
static int probe_version(struct kube_remote *at, struct err *err) {
    char *version = NULL;
    struct err why = {0};
    int rc = kube_ask_version(at->client, &version, &why);
    if (rc && rc != ERR_UPSTREAM_DENIED)
        return err_move(err, rc, &why);
    free(at->answers.version);
    at->answers.version = version;
    return 0;
}

static int probe_rights(struct kube_remote *at, struct err *err) {
    char account[KUBE_ACCOUNT_BYTES], *missing = NULL;
    if (!probe_is_due(&at->answers.rights_ms, RIGHTS_EVERY_MS))
        return 0;
    int rc = kube_account_name(at->k, account, err);
    rc = rc ? rc : probe_version(at, err); /* changes as seldom */
    rc = rc ? rc : kube_account_list_missing(at->client, account, &missing, err);
    if (rc) {
        at->answers.rights_ms = 0;
        return rc;
    }
    free(at->answers.missing);
    at->answers.missing = missing;
    if (missing)
        at->answers.rights_ms = clock_mono_ms() + RIGHTS_SOON_MS;
    return 0;
}

static void probe_certificate(struct kube_remote *at) {
    struct x509_info seen = {0};
    unsigned port = 0;
    if (!probe_is_due(&at->answers.certificate_ms, CERTIFICATE_EVERY_MS))
        return;
    _cleanup_free_ char *host = http_url_host(at->connection.address, &port);
    if (host && !x509_lookup_server(host, port, at->k->options.networks, at->k->options.call_timeout_ms, &seen, NULL))
        at->answers.certificate = (struct kube_term){seen.not_before_ms / 1000, seen.not_after_ms / 1000};
    x509_info_done(&seen);
}

/* -- pods of the control plane ------------------------------------------------------------------------------------------------------ */

static bool pod_is_ready(const json_t *pod) {
    const json_t *condition;
    size_t i;
    json_array_foreach (json_object_get(json_object_get(pod, "status"), "conditions"), i, condition) {
        if (str_eq(json_get_string(condition, "type"), "Ready"))
            return str_eq(json_get_string(condition, "status"), "True");
    }
    return false;
}

static int take_pod(const json_t *pod, struct kube_pod *out, struct err *err) {
    const json_t *metadata = json_object_get(pod, "metadata");
    const char *component = json_get_string(json_object_get(metadata, "labels"), "component");
    const char *node = json_get_string(json_object_get(pod, "spec"), "nodeName");
    const char *name = json_get_string(metadata, "name");
    *out = (struct kube_pod){.name = str_format("%.253s", name ? name : ""),
                             .component = str_format("%.63s", component ? component : ""),
                             .node = node ? str_format("%.253s", node) : NULL,
                             .is_ready = pod_is_ready(pod)};
    return out->name && out->component && (out->node || !node) ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int take_pods(const json_t *list, struct kube_answers *answers, struct err *err) {
    const json_t *items = json_object_get(list, "items");
    const size_t count = json_array_size(items) < PODS_COUNT_MAX ? json_array_size(items) : PODS_COUNT_MAX;
    int rc = 0;
    answers_drop_pods(answers);
    answers->pods = calloc(count + 1, sizeof(*answers->pods));
    if (!answers->pods)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count && !rc; i++)
        rc = take_pod(json_array_get(items, i), &answers->pods[answers->pods_count++], err);
    return rc;
}

static void plan_pods(struct kube_answers *a) {
    bool is_well = true;
    for (size_t i = 0; i < a->pods_count; i++)
        is_well = is_well && a->pods[i].is_ready;
    a->pods_ill = is_well ? 0 : a->pods_ill + 1;
    if (a->pods_ill && a->pods_ill <= PODS_SOON_COUNT)
        a->pods_ms = clock_mono_ms() + PODS_SOON_MS;
}

/* Static pods as kubeadm makes them bear this label; managed clusters show none. */
static int probe_pods(struct kube_remote *at, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    if (!probe_is_due(&at->answers.pods_ms, PODS_EVERY_MS))
        return 0;
    const struct kube_question question = {
        .method = "GET", .path = "/api/v1/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane&limit=100"};
    int rc = kube_ask(at->client, &question, &answer, err);
    rc = rc ? rc : take_pods(answer, &at->answers, err);
    if (!rc)
        plan_pods(&at->answers);
    return rc;
}

/* -- one right less ----------------------------------------------------------------------------------------------------------------- */

void kube_probe_note_denied(struct kube_remote *at) {
    if (!at->answers.missing)
        at->answers.rights_ms = 0;
}

static void forget_readiness(struct kube_answers *a) {
    a->readyz = (struct kube_readyz){0};
}

int kube_probe(struct kube_remote *at, struct err *err) {
    /* What one right less takes away is told with that right, and takes nothing else away; what was known by it is not known any more. */
    static const struct {
        int (*ask)(struct kube_remote *at, struct err *err);
        void (*forget)(struct kube_answers *answers);
    } questions[] = {
        {probe_ready, forget_readiness}, {probe_identity, NULL}, {probe_rights, NULL}, {probe_pods, answers_drop_pods}};
    for (size_t i = 0; i < ARRAY_COUNT(questions); i++) {
        struct err why = {0};
        int rc = questions[i].ask(at, &why);
        if (rc && rc != ERR_UPSTREAM_DENIED)
            return err_move(err, rc, &why);
        if (rc)
            kube_probe_note_denied(at);
        if (rc && questions[i].forget)
            questions[i].forget(&at->answers);
        if (at->answers.readyz.etcd == KUBE_FALSE) /* nothing else works without etcd */
            return 0;
    }
    probe_certificate(at);
    return 0;
}
