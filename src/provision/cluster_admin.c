/* Administrators of clusters that kaasd has made. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_admin.h"

#include <stdio.h>

#include "audit_store.h"
#include "cleanup.h"
#include "clock.h"
#include "cluster.h"
#include "cluster_pki.h"
#include "kubeconfig.h"
#include "kubernetes.h"
#include "principal.h"
#include "str.h"

/* -- certificates ------------------------------------------------------------------------------------------------------------ */

static int admin_issue_to(const struct runtime *runtime, const char *cluster_id, const char *name, int64_t life_s,
                          struct kube_admin *out, int64_t *until_ms, struct err *err) {
    _cleanup_(cluster_pki_free) struct cluster_pki *pki = NULL;
    _cleanup_done_(pki_pair_done) struct pki_pair pair = {.cert_pem = NULL};
    int rc = cluster_pki_load(runtime->store, runtime->seal, cluster_id, &pki, err);
    rc = rc ? rc : cluster_pki_issue_client(pki, name, KUBE_ADMINS, life_s, &pair, until_ms, err);
    if (rc)
        return rc;
    out->ca_pem = STEAL(pki->ca.cert_pem);
    out->cert_pem = STEAL(pair.cert_pem);
    out->key_pem = STEAL(pair.key_pem);
    return 0;
}

int cluster_admin_issue(const struct runtime *runtime, const char *cluster_id, struct kube_admin *out, struct err *err) {
    return admin_issue_to(runtime, cluster_id, "kaas", CLUSTER_ADMIN_OWN_S, out, NULL, err);
}

/* -- kubeconfigs for people --------------------------------------------------------------------------------------------------- */

/* Names that Kubernetes keeps for itself have rights of their own, which would outlast those of the group. */
static int admin_check_name(const char *name, struct err *err) {
    if (!str_starts(name, "system:"))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "\"%s\" is a name of Kubernetes itself, and so of no person", name);
    return err_remedy(err, "sign in as somebody whose name does not begin with system:");
}

static int admin_refuse_connected(const struct cluster *cluster, struct err *err) {
    (void)err_set(err, ERR_CONFLICT, "%s was not made by KaaS, which keeps no credential that could be handed on", cluster->name);
    return err_remedy(err, "use a kubeconfig of whoever runs it; on a control plane of kubeadm it is /etc/kubernetes/admin.conf");
}

static int admin_load_address(struct kubernetes *k, const struct cluster *cluster, struct kube_connection **out,
                              struct err *err) {
    struct err why = {0};
    int rc = kubernetes_load(k, cluster->id, out, &why);
    if (rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    (void)err_set(err, ERR_CONFLICT, "the API of %s is not there yet", cluster->name);
    return err_remedy(err, "see how far it is: kaasctl job list");
}

/* A connection that trusts one certificate has no CA; whoever gets the kubeconfig trusts the cluster's own then. */
static int admin_write(const struct kube_admin *admin, const struct kube_connection *connection, const char *cluster,
                       const char *user, struct strbuf *text, struct err *err) {
    _cleanup_free_ char *context = str_format("%s@%s", user, cluster);
    const struct kubeconfig_new config = {.context = context,
                                          .cluster_name = cluster,
                                          .user_name = user,
                                          .url = connection->address,
                                          .ca_pem = connection->ca_pem ? connection->ca_pem : admin->ca_pem,
                                          .client_cert_pem = admin->cert_pem,
                                          .client_key_pem = admin->key_pem};
    return context ? kubeconfig_write(&config, text, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* Nothing is handed out of which the audit log does not know. */
static int admin_note(const struct runtime *runtime, const struct actor *actor, const struct cluster *cluster, int64_t until_ms,
                      int rc, struct err *err) {
    char until[CLOCK_RFC3339_BYTES], reason[CLOCK_RFC3339_BYTES + sizeof("until ")] = "";
    clock_format(until_ms, until);
    if (!rc)
        (void)snprintf(reason, sizeof(reason), "until %s", until);
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "kubeconfig.issue",
                                                                                    .object_kind = "cluster",
                                                                                    .object_id = cluster->id,
                                                                                    .object_name = cluster->name,
                                                                                    .reason = reason});
    if (!rc)
        return audit_store_append(runtime->store, &line, err);
    audit_store_append_outcome(runtime->store, &line, rc, err);
    return rc;
}

int cluster_admin_make_kubeconfig(const struct runtime *runtime, struct kubernetes *k, const struct actor *actor,
                                  const struct cluster *cluster, struct strbuf *text, int64_t *until_ms, struct err *err) {
    _cleanup_(kube_connection_free) struct kube_connection *connection = NULL;
    _cleanup_done_(kube_admin_done) struct kube_admin admin = {.ca_pem = NULL};
    const char *user = actor->principal->name;
    struct err why = {0};
    *until_ms = 0;
    int rc = admin_check_name(user, &why);
    rc = rc ? rc : admin_issue_to(runtime, cluster->id, user, CLUSTER_ADMIN_PERSON_S, &admin, until_ms, &why);
    if (rc == ERR_NOT_FOUND) {
        err_clear(&why);
        rc = admin_refuse_connected(cluster, &why);
    } else if (rc == ERR_CONFIG) /* of this cluster alone, and no fault of kaasd's configuration */
        rc = ERR_CONFLICT;
    rc = rc ? rc : admin_load_address(k, cluster, &connection, &why);
    rc = admin_note(runtime, actor, cluster, *until_ms, rc, &why);
    rc = rc ? rc : admin_write(&admin, connection, cluster->name, user, text, &why);
    return err_move(err, rc, &why);
}
