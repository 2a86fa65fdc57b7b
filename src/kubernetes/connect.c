/* Connecting a Kubernetes cluster, step by step; looking at a connection by the same steps; disconnecting. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "http_client.h"
#include "kube_admin.h"
#include "kubeconfig.h"
#include "net_addr.h"
#include "net_policy.h"
#include "str.h"
#include "uuid.h"
#include "x509.h"

#define CONNECT_NAME_MS 5000L
#define CONNECT_LIST_MS 20000
#define CONNECT_TOKEN_MS 5000 /* until a new account's token is taken: bindings reach all API servers within that */
#define CONNECT_PAUSE_MS 100
#define CONNECT_UNDO_MS 3000 /* of each call that takes back what was made: the server may be silent by now */
#define CONNECT_LOOK_MS 500  /* between two looks whether kaasd stops */
#define CONNECT_NEAR_DAYS_MS (30 * CLOCK_DAY_MS)

/* kubeadm's binding, made again. */
#define KUBE_ADMINS_REMEDY                                                                                                     \
    "on its first control plane: kubectl --kubeconfig /etc/kubernetes/super-admin.conf create clusterrolebinding " KUBE_ADMINS \
    " --clusterrole cluster-admin --group " KUBE_ADMINS

/* One try to connect, or one look at a connection (`wish` NULL). */
struct connecting {
    struct kubernetes *k;
    struct connecting *next; /* of those under way; guarded by k->lock */
    const struct kube_wish *wish;
    struct kube_connected *out;    /* with `wish` */
    struct kubeconfig given;       /* what signs in, and where */
    struct kube_connection *known; /* of the record that is connected; NULL: it has none */
    struct kube_connection connection;
    uint8_t pin[32];
    char *host;
    unsigned port;
    struct net_addresses addresses;
    struct x509_info certificate;
    struct k8s_client *client; /* by what was given */
    struct k8s_client *own;    /* by the token of our account; both are set under k->lock */
    char account[KUBE_ACCOUNT_BYTES];
    struct kube_made made;
    char *version, *token; /* `token`: of our account; wiped */
    int64_t token_until_ms;
    struct kube_node *nodes;
    size_t nodes_count;
};

/* -- a stop meanwhile -------------------------------------------------------------------------------------------------------- */

static void connecting_begin(struct connecting *c) {
    LOCKED(&c->k->lock);
    c->next = c->k->connecting;
    c->k->connecting = c;
}

static void connecting_leave(struct connecting *c) {
    LOCKED(&c->k->lock);
    struct connecting **at = &c->k->connecting;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

static int connecting_check_stop(const struct connecting *c, struct err *err) {
    LOCKED(&c->k->lock);
    return c->k->is_stopping ? err_set(err, ERR_CANCELED, "kaasd stops; try again when it runs") : 0;
}

void kube_connect_stop(struct kubernetes *k) {
    LOCKED(&k->lock);
    k->is_stopping = true;
    for (struct connecting *c = k->connecting; c; c = c->next) {
        if (c->client)
            k8s_client_cancel(c->client);
        if (c->own)
            k8s_client_cancel(c->own);
    }
}

/* A client whose calls a stop ends. */
static int connecting_client(struct connecting *c, const struct k8s_endpoint *endpoint, const char *token,
                             struct k8s_client **out, struct err *err) {
    struct k8s_client *made = NULL;
    int rc = k8s_client_new(endpoint, token, &made, err);
    if (rc)
        return rc;
    LOCKED(&c->k->lock);
    if (c->k->is_stopping)
        k8s_client_cancel(made);
    *out = made;
    return 0;
}

static void connecting_done(struct connecting *c) {
    connecting_leave(c);
    kubeconfig_done(&c->given);
    kube_connection_free(c->known);
    kube_connection_done(&c->connection);
    x509_info_done(&c->certificate);
    k8s_client_free(c->client);
    k8s_client_free(c->own);
    kube_nodes_free(c->nodes, c->nodes_count);
    secret_free(c->token);
    free(c->version);
    free(c->host);
}

/* -- text, address, name ----------------------------------------------------------------------------------------------------- */

/* An address with CA and token is a kubeconfig that somebody has taken apart. */
static int connect_take_parts(struct connecting *c, struct err *err) {
    const struct kube_wish *w = c->wish;
    struct err why = {0};
    c->given = (struct kubeconfig){.url = str_dup(w->address), .token = str_dup(w->token)};
    if (!w->address || !w->token) {
        (void)err_set(err, ERR_UNPROCESSABLE, "neither a kubeconfig nor an address with a token is given");
        return err_remedy(err, "give the kubeconfig of an administrator of the cluster");
    }
    if (!c->given.url || !c->given.token)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = w->ca_pem ? x509_bundle(w->ca_pem, &c->given.ca_pem, &why) : 0; /* people put keys into such files */
    if (rc != ERR_UNPROCESSABLE)
        return err_move(err, rc, &why);
    (void)err_set(err, rc, "ca_pem: %s", why.text);
    return err_remedy(err, "give the cluster's CA as PEM: /etc/kubernetes/pki/ca.crt on a control plane of kubeadm");
}

/* So is a certificate of the cluster's own CA. */
static int connect_take_admin(struct connecting *c, struct err *err) {
    const struct kube_admin *admin = c->wish->admin;
    c->given = (struct kubeconfig){.url = str_dup(c->wish->address),
                                   .ca_pem = str_dup(admin->ca_pem),
                                   .client_cert_pem = str_dup(admin->cert_pem),
                                   .client_key_pem = str_dup(admin->key_pem)};
    const bool has_all = c->given.url && c->given.ca_pem && c->given.client_cert_pem && c->given.client_key_pem;
    return has_all ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int connect_load_known(struct connecting *c, struct err *err) {
    struct err why = {0};
    if (!c->wish || !c->wish->cluster_id)
        return 0;
    _cleanup_(cluster_free) struct cluster *record = NULL;
    int rc = cluster_store_load(c->k->options.runtime->store, c->wish->cluster_id, &record, err);
    if (rc)
        return rc;
    rc = kube_store_load(c->k->options.runtime->store, c->wish->cluster_id, &c->known, &why);
    if (rc)
        return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
    if (!c->wish->version_no || c->wish->version_no == c->known->version_no)
        return 0;
    (void)err_set(err, ERR_PRECONDITION, "the connection has been changed since it was read; nothing was done");
    return err_remedy(err, "read it again and repeat the change");
}

/* A program that connects lets a person choose by these, rather than by the words of an error. */
static void connect_list_contexts(struct connecting *c) {
    _cleanup_done_(kubeconfig_contexts_done) struct kubeconfig_contexts contexts = {0};
    struct kube_connected *out = c->out;
    if (kubeconfig_list(c->wish->kubeconfig, strlen(c->wish->kubeconfig), &contexts, NULL))
        return;
    for (size_t i = 0; i < contexts.count && i < KUBE_CONTEXTS_MAX; i++)
        if ((out->contexts[out->contexts_count] = STEAL(contexts.items[i].name)))
            out->contexts_count++;
}

static int connect_read_kubeconfig(struct connecting *c, struct err *err) {
    const struct kube_wish *w = c->wish;
    struct err why = {0};
    int rc = kubeconfig_parse(w->kubeconfig, strlen(w->kubeconfig), w->context, clock_wall_ms(), &c->given, &why);
    if (why.cause == ERR_CAUSE_CHOICE)
        connect_list_contexts(c);
    return err_move(err, rc, &why);
}

static int connect_text(struct connecting *c, struct finding *f, struct err *err) {
    const struct kube_wish *w = c->wish;
    int rc = connect_load_known(c, err);
    if (!rc)
        rc = w->admin ? connect_take_admin(c, err) : w->kubeconfig ? connect_read_kubeconfig(c, err) : connect_take_parts(c, err);
    if (!rc && w->admin)
        finding_say(f, FINDING_OK, "a certificate of the cluster's own CA");
    else if (!rc && c->given.context)
        finding_say(f, FINDING_OK, "context \"%s\": cluster \"%s\", user \"%s\"", c->given.context, c->given.cluster_name,
                    c->given.user_name);
    else if (!rc)
        finding_say(f, FINDING_OK, "address and token");
    return rc;
}

static int connect_address(struct connecting *c, struct finding *f, struct err *err) {
    struct err why = {0};
    free(STEAL(c->connection.address));
    int rc = k8s_url_check(c->given.url, &c->connection.address, &why);
    if (rc) /* ERR_CONFIG: of what was given, and no fault of kaasd's configuration */
        return err_move(err, rc == ERR_CONFIG ? ERR_UNPROCESSABLE : rc, &why);
    c->host = http_url_host(c->connection.address, &c->port);
    if (!c->host)
        return err_set(err, ERR_NOMEM, "out of memory");
    finding_say(f, FINDING_OK, "%s", c->connection.address);
    return net_policy_check(c->k->options.networks, c->host, c->host, err);
}

/* Each address is judged again when it is connected to: a name may change its mind. */
static int connect_name(struct connecting *c, struct finding *f, struct err *err) {
    _cleanup_strbuf_ struct strbuf list;
    strbuf_init(&list, sizeof(f->text));
    int rc = net_lookup_name(c->host, CONNECT_NAME_MS, &c->addresses, err);
    if (rc)
        return err_remedy(err, "on the host of kaasd try: getent hosts %s; see /etc/resolv.conf", c->host);
    for (size_t i = 0; i < c->addresses.count && !rc; i++) {
        strbuf_addf(&list, "%s%s", i ? ", " : "", c->addresses.items[i]);
        rc = net_policy_check(c->k->options.networks, c->host, c->addresses.items[i], err);
    }
    if (!rc)
        finding_say(f, FINDING_OK, "%s is %s", c->host, list.data);
    return rc;
}

/* -- TLS --------------------------------------------------------------------------------------------------------------------- */

static long connect_call_ms(const struct connecting *c) {
    return c->k->options.call_timeout_ms;
}

/* Without a CA whoever connects has to confirm the certificate, as for a vCenter. */
static int connect_refuse_unknown(struct connecting *c, struct err *err) {
    char seen[X509_THUMBPRINT_TEXT_BYTES];
    x509_thumbprint_text(c->certificate.sha256, seen);
    (void)err_set(err, ERR_TLS, "no CA is given; the server's certificate has the SHA-256 %s: %s, issued by %s", seen,
                  c->certificate.subject, c->certificate.issuer);
    c->out->certificate = c->certificate;
    c->certificate = (struct x509_info){.subject = NULL};
    return err_remedy(err, "give the cluster's CA, or compare the SHA-256 at the cluster and confirm it: --sha256 %s", seen);
}

static int connect_take_trust(struct connecting *c, struct err *err) {
    const char *confirmed = c->wish ? c->wish->thumbprint_sha256 : NULL;
    char hex[KUBE_SHA256_BYTES] = "";
    if (!c->wish)
        return 0;
    if (!c->given.ca_pem && !confirmed)
        return connect_refuse_unknown(c, err);
    if (c->given.ca_pem && confirmed)
        return err_set(err, ERR_UNPROCESSABLE, "both a CA and the SHA-256 of a certificate are given: give one of them");
    if (confirmed && !str_to_sha256(confirmed, c->pin))
        return err_set(err, ERR_UNPROCESSABLE, "thumbprint_sha256 is not a SHA-256: 64 hexadecimal digits");
    for (size_t i = 0; confirmed && i < sizeof(c->pin); i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", c->pin[i]);
    c->connection.ca_pem = str_dup(c->given.ca_pem);
    c->connection.tls_server_name = str_dup(c->given.tls_server_name);
    c->connection.sha256 = confirmed ? str_dup(hex) : NULL;
    return c->connection.ca_pem || c->connection.sha256 ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static struct k8s_endpoint connect_endpoint(struct connecting *c) {
    struct k8s_endpoint endpoint = kube_endpoint(c->k, &c->connection, c->pin);
    endpoint.client_cert_pem = c->given.client_cert_pem;
    endpoint.client_key_pem = c->given.client_key_pem;
    return endpoint;
}

static int connect_handshake(struct connecting *c, struct err *err) {
    const struct k8s_endpoint endpoint = connect_endpoint(c);
    const struct http_client_options options = {
        .networks = endpoint.networks, .trust = endpoint.trust, .connect_timeout_ms = endpoint.connect_timeout_ms};
    const struct http_exchange handshake = {
        .method = "GET", .url = c->connection.address, .timeout_ms = connect_call_ms(c), .is_handshake = true};
    _cleanup_strbuf_ struct strbuf nothing;
    struct http_client *client = NULL;
    struct err why = {0};
    long status;
    strbuf_init(&nothing, 1);
    int rc = http_client_new(&options, &client, &why);
    if (rc == ERR_CONFIG)
        return err_set(err, ERR_UNPROCESSABLE, "ca_pem: %s", why.text);
    rc = rc ? rc : http_client_run(client, &handshake, &nothing, &status, &why);
    http_client_free(client);
    if (rc)
        (void)err_remedy(&why, "%s", k8s_transport_remedy(rc));
    return err_move(err, rc, &why);
}

static int connect_tls(struct connecting *c, struct finding *f, struct err *err) {
    char seen[X509_THUMBPRINT_TEXT_BYTES], until[CLOCK_RFC3339_BYTES];
    struct err why = {0};
    int rc = x509_lookup_server(c->host, c->port, c->k->options.networks, connect_call_ms(c), &c->certificate, &why);
    if (rc) {
        (void)err_remedy(&why, "%s", k8s_transport_remedy(rc));
        return err_move(err, rc, &why);
    }
    rc = connect_take_trust(c, err);
    rc = rc ? rc : connect_handshake(c, err);
    if (rc)
        return rc;
    x509_thumbprint_text(c->certificate.sha256, seen);
    clock_format(c->certificate.not_after_ms, until);
    const bool is_near = c->certificate.not_after_ms - clock_wall_ms() < CONNECT_NEAR_DAYS_MS;
    finding_say(f, is_near ? FINDING_WARNING : FINDING_OK, "%s, until %.10s, SHA-256 %s", c->certificate.subject, until, seen);
    if (is_near)
        finding_advise(f, "have the cluster renew its certificates: kubeadm certs renew all");
    return 0;
}

/* Who may not even look at a namespace is no administrator. A certificate of the cluster's own CA is refused only where somebody has changed the cluster. */
static int connect_advise(const struct connecting *c, int rc, struct err *why) {
    const bool is_made = c->wish && c->wish->admin;
    if (rc == ERR_UPSTREAM_DENIED && c->wish)
        (void)snprintf(why->remedy, sizeof(why->remedy), "%s", is_made ? KUBE_ADMINS_REMEDY : KUBE_ADMIN_REMEDY);
    else if (rc == ERR_UNAUTHENTICATED && is_made)
        (void)snprintf(
            why->remedy, sizeof(why->remedy),
            "its API servers no longer take the CA that it was made with: kaasctl cluster reconnect %s --kubeconfig FILE",
            c->wish->cluster_id);
    return rc;
}

/* -- signing in and looking ----------------------------------------------------------------------------------------------------- */

/* Anonymous requests are let in to much: the question who we are is not. */
static int connect_sign_in(struct connecting *c, struct finding *f, struct err *err) {
    const struct k8s_endpoint endpoint = connect_endpoint(c);
    struct err why = {0};
    int rc = connecting_client(c, &endpoint, c->given.token, &c->client, &why);
    if (rc) /* ERR_CONFIG: of what was given, and no fault of kaasd's configuration */
        return err_move(err, rc == ERR_CONFIG ? ERR_UNPROCESSABLE : rc, &why);
    rc = connect_advise(c, kube_account_check_sign_in(c->client, &why), &why);
    if (rc)
        return err_move(err, rc, &why);
    finding_say(f, FINDING_OK, "%s", !c->wish ? "by our own account" : c->given.token ? "by token" : "by client certificate");
    return 0;
}

static int connect_version(struct connecting *c, struct finding *f, struct err *err) {
    int rc = kube_ask_version(c->client, &c->version, err);
    if (!rc)
        finding_say(f, FINDING_OK, "Kubernetes %s", c->version);
    return rc;
}

static int connect_refuse_other(const struct connecting *c, struct err *err) {
    (void)err_set(err, ERR_CONFLICT,
                  "the record %s is connected to another cluster: that one's kube-system has the uid %s, this one's %s",
                  c->known->cluster_id, c->known->cluster_uid, c->connection.cluster_uid);
    return err_remedy(err, "give the kubeconfig of that cluster; if it was built anew: kaasctl cluster disconnect %s --forget",
                      c->known->cluster_id);
}

static int connect_identity(struct connecting *c, struct finding *f, struct err *err) {
    _cleanup_(kube_connection_free) struct kube_connection *other = NULL;
    struct err why = {0};
    int rc = connect_advise(c, kube_ask_identity(c->client, &c->connection.cluster_uid, &why), &why);
    if (rc)
        return err_move(err, rc, &why);
    finding_say(f, FINDING_OK, "uid of kube-system: %s", c->connection.cluster_uid);
    if (c->known && !str_eq(c->known->cluster_uid, c->connection.cluster_uid))
        return connect_refuse_other(c, err);
    rc = kube_store_load_by_uid(c->k->options.runtime->store, c->connection.cluster_uid, &other, &why);
    if (rc)
        return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
    if (c->known && str_eq(other->cluster_id, c->known->cluster_id))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "this cluster is connected already: it is the record %s, at %s", other->cluster_id,
                  other->address);
    return err_remedy(err, "to replace its credential: kaasctl cluster reconnect %s --kubeconfig FILE", other->cluster_id);
}

static int connect_rights(struct connecting *c, struct finding *f, struct err *err) {
    struct err why = {0};
    int rc = connect_advise(c, kube_account_check_maker(c->client, &why), &why);
    if (rc)
        return err_move(err, rc, &why);
    finding_say(f, FINDING_OK, "it may make the account of KaaS");
    return 0;
}

/* -- our own account --------------------------------------------------------------------------------------------------------- */

static void connect_pause(void) {
    const struct timespec pause = {.tv_nsec = CONNECT_PAUSE_MS * 1000000L};
    (void)nanosleep(&pause, NULL);
}

/* The rights of a binding reach an API server some milliseconds after it was made, and others behind the same address later. */
static int connect_wait_for_rights(const struct connecting *c, struct err *err) {
    const int64_t until_ms = clock_mono_ms() + CONNECT_TOKEN_MS;
    _cleanup_free_ char *missing = NULL;
    for (;;) {
        struct err why = {0};
        free(missing);
        missing = NULL;
        int rc = kube_account_list_missing(c->own, c->account, &missing, &why);
        if ((!rc && !missing) || rc == ERR_CANCELED)
            return err_move(err, rc, &why);
        if (clock_mono_ms() >= until_ms)
            return rc ? err_move(err, rc, &why)
                      : err_set(err, ERR_UPSTREAM_DENIED, "the new account %s does not get its rights: %s", c->account, missing);
        connect_pause();
    }
}

static int connect_account(struct connecting *c, struct finding *f, struct err *err) {
    const struct k8s_endpoint endpoint = kube_endpoint(c->k, &c->connection, c->pin);
    int rc = kube_account_name(c->k, c->account, err);
    rc = rc ? rc : kube_account_make(c->client, c->account, &c->made, err);
    rc = rc ? rc : kube_account_get_token(c->client, c->account, &c->token, &c->token_until_ms, err);
    rc = rc ? rc : connecting_client(c, &endpoint, c->token, &c->own, err);
    rc = rc ? rc : connect_wait_for_rights(c, err);
    if (!rc)
        finding_say(f, FINDING_OK, "service account %s in kaas-system; what was given is forgotten", c->account);
    return rc;
}

/* -- the first list -------------------------------------------------------------------------------------------------------------- */

/* Waits for a first watch of all nodes, as the connection will have one. */
struct first_list {
    struct kube_mirror mirror;
    pthread_cond_t told;
    bool is_told;
};

static void first_list_changed(void *arg) {
    struct first_list *list = arg;
    LOCKED(&list->mirror.lock);
    list->is_told = true;
    (void)pthread_cond_broadcast(&list->told);
}

/* Until it is told, or for a while. True: told. */
static bool first_list_look(struct first_list *list, int64_t limit_ms) {
    const struct timespec until = clock_deadline(limit_ms);
    LOCKED(&list->mirror.lock);
    while (!list->is_told)
        if (pthread_cond_timedwait(&list->told, &list->mirror.lock, &until))
            return false;
    return true;
}

static int first_list_wait(const struct connecting *c, struct first_list *list, struct err *err) {
    const int64_t until_ms = clock_mono_ms() + CONNECT_LIST_MS;
    struct err why = {0};
    while (!first_list_look(list, CONNECT_LOOK_MS)) {
        int rc = connecting_check_stop(c, err);
        if (!rc && clock_mono_ms() >= until_ms)
            rc = err_set(err, ERR_TIMEOUT, "the nodes were not told within %d s", CONNECT_LIST_MS / 1000);
        if (rc)
            return rc;
    }
    return kube_mirror_has_ended(&list->mirror, &why) ? err_move(err, why.code, &why) : 0;
}

static int connect_list(struct connecting *c, struct finding *f, struct err *err) {
    const struct k8s_endpoint endpoint = c->token ? kube_endpoint(c->k, &c->connection, c->pin) : connect_endpoint(c);
    struct k8s_watch *watch = NULL;
    struct first_list list = {.is_told = false};
    uint64_t version = 0;
    kube_mirror_init(&list.mirror, first_list_changed, &list);
    clock_init_cond(&list.told);
    const struct k8s_watch_user user = kube_mirror_user(&list.mirror);
    int rc = k8s_watch_new(c->k->streams, &endpoint, &user, &watch, err);
    kube_mirror_begin(&list.mirror);
    rc = rc ? rc : k8s_watch_start(watch, c->token ? c->token : c->given.token, err);
    rc = rc ? rc : first_list_wait(c, &list, err);
    k8s_watch_free(watch);
    rc = rc ? rc : kube_mirror_copy(&list.mirror, &c->nodes, &c->nodes_count, &version, err);
    (void)pthread_cond_destroy(&list.told);
    kube_mirror_done(&list.mirror);
    if (!rc)
        finding_say(f, FINDING_OK, "%zu node%s", c->nodes_count, c->nodes_count == 1 ? "" : "s");
    return rc;
}

static int connect_machines(struct connecting *c, struct finding *f, struct err *err) {
    size_t count = 0;
    (void)err;
    for (size_t i = 0; i < c->nodes_count; i++)
        count += str_starts(c->nodes[i].provider_id, "vsphere://") || c->nodes[i].system_uuid;
    const bool has_none = c->nodes_count && !count;
    finding_say(f, has_none ? FINDING_WARNING : FINDING_OK, "%zu of %zu nodes tell the UUID of their machine", count,
                c->nodes_count);
    if (has_none)
        finding_advise(f, "without it machines are found by the names of the nodes only");
    return 0;
}

/* -- the steps ------------------------------------------------------------------------------------------------------------------ */

static const struct connect_step {
    const char *step, *title;
    int (*run)(struct connecting *c, struct finding *f, struct err *err);
    bool makes;      /* left out in a dry run, and when a connection is looked at */
    bool is_of_wish; /* left out when a connection is looked at */
} connect_steps[] = {
    {"text", "What was given", connect_text, false, true},       {"address", "Address", connect_address, false, false},
    {"name", "Name resolution", connect_name, false, false},     {"tls", "TLS", connect_tls, false, false},
    {"signed_in", "Signed in", connect_sign_in, false, false},   {"version", "Version", connect_version, false, false},
    {"identity", "Identity", connect_identity, false, false},    {"rights", "Rights", connect_rights, false, true},
    {"account", "Account of KaaS", connect_account, true, true}, {"list", "First list", connect_list, false, false},
    {"machines", "Machines", connect_machines, false, false},
};

static bool connect_is_left_out(const struct connecting *c, const struct connect_step *step) {
    return c->wish ? step->makes && c->wish->is_dry_run : step->is_of_wish;
}

static int connect_run_steps(struct connecting *c, struct findings *steps, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < ARRAY_COUNT(connect_steps); i++) {
        const struct connect_step *step = &connect_steps[i];
        const int64_t begin_ms = clock_mono_ms();
        struct finding f = {.status = FINDING_SKIPPED};
        struct err why = {0};
        if (!c->wish && step->is_of_wish)
            continue;
        (void)snprintf(f.step, sizeof(f.step), "%s", step->step);
        (void)snprintf(f.title, sizeof(f.title), "%s", step->title);
        if (rc)
            finding_say(&f, FINDING_SKIPPED, "not tried: an earlier step failed");
        else if (connect_is_left_out(c, step))
            finding_say(&f, FINDING_SKIPPED, "a dry run makes nothing");
        else if ((rc = connecting_check_stop(c, &why)) || (rc = step->run(c, &f, &why)))
            finding_say_error(&f, FINDING_FAILED, &why);
        f.duration_ms = clock_mono_ms() - begin_ms;
        findings_add(steps, &f);
        if (why.code)
            (void)err_move(err, rc, &why);
    }
    return rc ? rc : findings_check(steps, err);
}

/* -- writing it down -------------------------------------------------------------------------------------------------------------- */

/* A record of which only Kubernetes will tell more. */
static int connect_make_record(const struct connecting *c, struct cluster *out, struct err *err) {
    const char *name = c->wish->name ? c->wish->name : c->given.cluster_name;
    *out = (struct cluster){.id = str_dup(c->connection.cluster_id),
                            .name = str_dup(name),
                            .state_source = str_dup("declared"),
                            .placement_source = str_dup("declared"),
                            .kubernetes_version = str_dup(c->version),
                            .api_endpoint = str_dup(c->connection.address),
                            .control_plane_ready = -1,
                            .control_plane_desired = -1,
                            .workers_ready = -1,
                            .workers_desired = -1,
                            .created_at_ms = c->connection.updated_at_ms,
                            .updated_at_ms = c->connection.updated_at_ms};
    if (!name)
        return err_set(err, ERR_UNPROCESSABLE, "name is missing: what the Kubernetes cluster is to be called");
    if (!out->id || !out->name || !out->state_source || !out->placement_source || !out->kubernetes_version || !out->api_endpoint)
        return err_set(err, ERR_NOMEM, "out of memory");
    return cluster_check(out, err);
}

static int connect_write(struct connecting *c, const struct cluster *record, const struct audit_record *line, struct err *err) {
    static const struct cluster_room room = {.clusters_max = KAAS_CLUSTERS_COUNT_MAX, .nodes_max = KAAS_NODES_COUNT_MAX};
    struct secret_value sealed = {0};
    int rc = kube_seal_token(c->k, c->connection.cluster_id, c->token, &sealed, err);
    const struct kube_write write = {.connection = &c->connection,
                                     .cluster = record,
                                     .room = &room,
                                     .token = &sealed,
                                     .token_until_ms = c->token_until_ms,
                                     .token_renew_at_ms = kube_renew_at_ms(clock_wall_ms(), c->token_until_ms),
                                     .audit = line};
    rc = rc ? rc : kube_store_put(c->k->options.runtime->store, &write, err);
    free(sealed.bytes);
    return rc;
}

static int connect_store(struct connecting *c, const struct actor *actor, char cluster_id[37], struct err *err) {
    struct cluster record = {0};
    const bool is_new = !c->wish->cluster_id;
    if (is_new)
        uuid_new(cluster_id);
    else
        (void)snprintf(cluster_id, KAAS_UUID_BYTES, "%s", c->wish->cluster_id);
    c->connection.cluster_id = str_dup(cluster_id);
    c->connection.version_no = c->known ? c->known->version_no : 0;
    c->connection.updated_at_ms = clock_wall_ms();
    int rc = c->connection.cluster_id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    rc = rc || !is_new ? rc : connect_make_record(c, &record, err);
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "kube_connection.set",
                                                                                    .object_kind = "cluster",
                                                                                    .object_id = cluster_id,
                                                                                    .object_name = record.name,
                                                                                    .reason = c->connection.address});
    rc = rc ? rc : connect_write(c, is_new ? &record : NULL, &line, err);
    if (rc)
        audit_store_append_outcome(c->k->options.runtime->store, &line, rc, err);
    cluster_done(&record);
    if (!rc)
        kubernetes_wake(c->k);
    return rc;
}

/* A connection that exists needs what was there before. Else all objects of our name are what we have made, now or when something like this went wrong before, unless
 * somebody else has connected this cluster in the same moment. */
static unsigned connect_undo_objects(const struct connecting *c) {
    _cleanup_(kube_connection_free) struct kube_connection *other = NULL;
    if (c->known)
        return c->made.bits;
    const bool has_rival = !kube_store_load_by_uid(c->k->options.runtime->store, c->connection.cluster_uid, &other, NULL);
    return has_rival ? 0 : c->made.bits | c->made.touched;
}

/* By a client of its own: a stop has ended the calls of the other. */
static void connect_undo(struct connecting *c, struct findings *steps) {
    _cleanup_(k8s_client_free) struct k8s_client *client = NULL;
    struct k8s_endpoint endpoint = connect_endpoint(c);
    endpoint.connect_timeout_ms = endpoint.call_timeout_ms = CONNECT_UNDO_MS;
    const unsigned objects = connect_undo_objects(c);
    int rc = objects ? k8s_client_new(&endpoint, c->given.token, &client, NULL) : ERR_NOT_FOUND;
    if (!rc)
        kube_account_undo(client, c->account, objects, steps);
}

void kube_connected_done(struct kube_connected *connected) {
    findings_done(&connected->steps);
    x509_info_done(&connected->certificate);
    for (size_t i = 0; i < connected->contexts_count; i++)
        free(connected->contexts[i]);
}

int kubernetes_connect(struct kubernetes *k, const struct actor *actor, const struct kube_wish *wish, struct kube_connected *out,
                       struct err *err) {
    struct connecting c = {.k = k, .wish = wish, .out = out};
    connecting_begin(&c);
    int rc = connect_run_steps(&c, &out->steps, err);
    if (!rc && !wish->is_dry_run)
        rc = connect_store(&c, actor, out->cluster_id, err);
    if (rc && c.made.touched)
        connect_undo(&c, &out->steps);
    connecting_done(&c);
    return rc;
}

/* -- looking at a connection, and leaving ---------------------------------------------------------------------------------------- */

/* Fills in what a connection says, in the place of what would be given. */
static int connecting_load(struct connecting *c, const char *cluster_id, struct err *err) {
    int rc = kube_store_load(c->k->options.runtime->store, cluster_id, &c->known, err);
    rc = rc ? rc : members_copy(kube_connection_members, c->known, &c->connection, sizeof(c->connection), "a connection", err);
    if (rc)
        return rc;
    free(STEAL(c->connection.cluster_uid));
    c->given.url = str_dup(c->connection.address);
    return c->given.url ? kube_account_name(c->k, c->account, err) : err_set(err, ERR_NOMEM, "out of memory");
}

int kubernetes_test(struct kubernetes *k, const char *cluster_id, struct findings *steps, struct err *err) {
    struct connecting c = {.k = k};
    struct err why = {0};
    connecting_begin(&c);
    int rc = connecting_load(&c, cluster_id, err);
    rc = rc ? rc : kube_load_token(k, cluster_id, &c.given.token, err);
    if (!rc)
        (void)connect_run_steps(&c, steps, &why);
    connecting_done(&c);
    return rc ? rc : findings_check(steps, err);
}

/* Nobody is asked for what is only shown. What stays, as where the token cannot be opened any more, is told in any case. */
static int leave_cluster(struct connecting *c, enum kube_leave how, struct findings *steps, struct err *err) {
    const struct k8s_endpoint endpoint = kube_endpoint(c->k, &c->connection, c->pin);
    struct err why = {0};
    if (how != KUBE_LEAVE_SHOW) {
        int rc = kube_load_token(c->k, c->connection.cluster_id, &c->given.token, &why);
        rc = rc ? rc : connecting_client(c, &endpoint, c->given.token, &c->client, &why);
        (void)(rc ? rc : kube_account_remove(c->client, c->account, &why));
    }
    kube_account_tell_removal(c->account, how, &why, steps);
    return err_move(err, why.code, &why);
}

static int leave_forget(struct connecting *c, const struct actor *actor, struct findings *steps, struct err *err) {
    struct finding f = {.step = "connection", .title = "Connection"};
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "kube_connection.remove",
                                                                                    .object_kind = "cluster",
                                                                                    .object_id = c->known->cluster_id,
                                                                                    .reason = c->known->address});
    int rc = kube_store_delete(c->k->options.runtime->store, c->known->cluster_id, c->known->version_no, &line, err);
    if (rc) {
        audit_store_append_outcome(c->k->options.runtime->store, &line, rc, err);
        return rc;
    }
    kubernetes_wake(c->k);
    finding_say(&f, FINDING_OK, "removed, with its token and the nodes that nobody declared");
    findings_add(steps, &f);
    return 0;
}

/* In place of what a call advises: that the cluster may be gone. */
static void leave_advise(const char *cluster_id, struct err *why) {
    const bool is_account = why->code == ERR_UNAUTHENTICATED || why->code == ERR_UPSTREAM_DENIED || why->code == ERR_CONFIG;
    (void)snprintf(
        why->remedy, sizeof(why->remedy),
        is_account ? "connect it again first: kaasctl cluster reconnect %s --kubeconfig FILE; if the cluster is gone for good: "
                     "kaasctl cluster disconnect %s --forget"
                   : "as soon as it answers: kaasctl cluster disconnect %s --when-back; if the cluster is gone for good: kaasctl "
                     "cluster disconnect %s --forget",
        cluster_id, cluster_id);
}

int kubernetes_disconnect(struct kubernetes *k, const struct actor *actor, const char *cluster_id, int64_t version_no,
                          enum kube_leave how, struct findings *steps, struct err *err) {
    struct connecting c = {.k = k};
    struct err why = {0};
    connecting_begin(&c);
    int rc = connecting_load(&c, cluster_id, err);
    if (!rc && version_no && version_no != c.known->version_no)
        rc = err_set(err, ERR_PRECONDITION, "the connection has been changed since it was read; nothing was done");
    int left = rc ? rc : leave_cluster(&c, how, steps, &why);
    if (!rc && left && how == KUBE_LEAVE_REMOVE) {
        leave_advise(cluster_id, &why);
        rc = err_move(err, left, &why);
    }
    if (!rc && how != KUBE_LEAVE_SHOW)
        rc = leave_forget(&c, actor, steps, err);
    connecting_done(&c);
    return rc ? rc : findings_check(steps, err);
}
