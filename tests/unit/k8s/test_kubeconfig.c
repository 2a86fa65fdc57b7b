/* Unit tests of src/k8s/kubeconfig: what tools write is read, what cannot be used is refused by name, secrets are wiped, and memory may run out.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files are written here as the tools write them, with words like $CA in place of texts in base64. The linker sends what the code under test takes and gives
 * back of memory through the functions below (--wrap). */
#include "unit.h"

#include <openssl/pem.h>

#include "cleanup.h"
#include "kubeconfig.h"
#include "str.h"
#include "strbuf.h"
#include "tls_server.h"
#include "x509.h"

#define TOKEN "tokenthatisasecret1234567890"
#define HEAD "apiVersion: v1\nkind: Config\n"
#define SERVER "server: https://api.example.com:6443"

/* -- memory -------------------------------------------------------------------------------------------------------- */

static long allocations_left = -1; /* negative: no limit */
static char *secrets[5];           /* parts that nothing else has, ended by NULL */

static bool may_allocate(void) {
    if (allocations_left < 0)
        return true;
    return allocations_left-- > 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);

/* realloc() is the program's own (secret.c): what it does inside is not what the code under test asks for. */
static bool is_inside;

void *__wrap_malloc(size_t size) {
    return is_inside || may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size) {
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *p, size_t size) {
    if (!may_allocate())
        return NULL;
    is_inside = true;
    void *moved = __real_realloc(p, size);
    is_inside = false;
    return moved;
}

char *__wrap_strdup(const char *s) {
    return may_allocate() ? __real_strdup(s) : NULL;
}

/* -- files --------------------------------------------------------------------------------------------------------- */

static struct {
    const char *word;
    char *text;
} words[40];
static size_t words_count;
static struct test_cert ca, client, other;
static int64_t now_ms;

static void add_word(const char *word, const char *text) {
    assert_true(words_count < UNIT_COUNT(words));
    words[words_count].word = word;
    words[words_count++].text = str_dup(text);
}

/* In base64 with padding. */
static void add_bytes(const char *word, const char *bytes, size_t n) {
    struct strbuf b;
    strbuf_init(&b, 1000000);
    str_base64(&b, (const uint8_t *)bytes, n);
    while (b.len % 4)
        strbuf_addc(&b, '=');
    add_word(word, b.data);
    strbuf_done(&b);
}

static void add_data(const char *word, const char *text) {
    add_bytes(word, text, strlen(text));
}

static const char *word_text(const char *word) {
    size_t i = 0;
    while (i < words_count && !str_eq(words[i].word, word))
        i++;
    assert_true(i < words_count);
    return words[i].text;
}

/* The file with the texts in place of the words, which are capitals behind a dollar. Caller frees. */
static char *filled(const char *form) {
    struct strbuf out;
    strbuf_init(&out, 4000000);
    while (*form) {
        char word[40];
        const size_t n = *form == '$' ? strspn(form + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_128") : 0;
        if (!n) {
            strbuf_addc(&out, *form++);
            continue;
        }
        (void)snprintf(word, sizeof(word), "%.*s", (int)n, form + 1);
        strbuf_adds(&out, word_text(word));
        form += 1 + n;
    }
    return strbuf_steal(&out);
}

static int parse(const char *form, const char *context, struct kubeconfig *out, struct err *err) {
    char *text = filled(form);
    int rc = kubeconfig_parse(text, strlen(text), context, now_ms, out, err);
    free(text);
    return rc;
}

/* -- what tools write ---------------------------------------------------------------------------------------------- */

static const char kubeadm[] = HEAD "clusters:\n"
                                   "- cluster:\n"
                                   "    certificate-authority-data: $CA\n"
                                   "    server: https://192.0.2.10:6443\n"
                                   "  name: kubernetes\n"
                                   "contexts:\n"
                                   "- context:\n"
                                   "    cluster: kubernetes\n"
                                   "    user: kubernetes-admin\n"
                                   "  name: kubernetes-admin@kubernetes\n"
                                   "current-context: kubernetes-admin@kubernetes\n"
                                   "preferences: {}\n"
                                   "users:\n"
                                   "- name: kubernetes-admin\n"
                                   "  user:\n"
                                   "    client-certificate-data: $CERT_RSA\n"
                                   "    client-key-data: $KEY_RSA\n";

static const char k3s[] =
    HEAD "clusters:\n- cluster:\n    certificate-authority-data: $CA\n    server: https://127.0.0.1:6443\n"
         "  name: default\ncontexts:\n- context:\n    cluster: default\n    user: default\n  name: default\n"
         "current-context: default\npreferences: {}\nusers:\n- name: default\n  user:\n"
         "    client-certificate-data: $CHAIN\n    client-key-data: $KEY_SEC1\n";

static const char eks[] = HEAD
    "clusters:\n- cluster:\n    certificate-authority-data: $CA\n    server: https://A1B2.gr7.eu-west-1.eks.amazonaws.com\n"
    "  name: arn:aws:eks:eu-west-1:111122223333:cluster/prod\ncontexts:\n- context:\n"
    "    cluster: arn:aws:eks:eu-west-1:111122223333:cluster/prod\n    user: arn:aws:eks:eu-west-1:111122223333:cluster/prod\n"
    "  name: arn:aws:eks:eu-west-1:111122223333:cluster/prod\n"
    "current-context: arn:aws:eks:eu-west-1:111122223333:cluster/prod\npreferences: {}\nusers:\n"
    "- name: arn:aws:eks:eu-west-1:111122223333:cluster/prod\n  user:\n    exec:\n"
    "      apiVersion: client.authentication.k8s.io/v1beta1\n      args:\n      - eks\n      - get-token\n      command: aws\n";

static const char gke[] = HEAD
    "clusters:\n- cluster:\n    certificate-authority-data: $CA\n    server: https://203.0.113.7\n  name: gke_p_europe-west1_prod\n"
    "contexts:\n- context:\n    cluster: gke_p_europe-west1_prod\n    user: gke_p_europe-west1_prod\n  name: gke_p_europe-west1_prod\n"
    "current-context: gke_p_europe-west1_prod\nusers:\n- name: gke_p_europe-west1_prod\n  user:\n    auth-provider:\n"
    "      config:\n        access-token: " TOKEN "\n        cmd-path: /usr/lib/google-cloud-sdk/bin/gcloud\n      name: gcp\n";

static const char aks[] = HEAD
    "clusters:\n- cluster:\n    certificate-authority-data: $CA\n    server: https://prod-dns-1a2b.hcp.westeurope.azmk8s.io:443\n"
    "  name: prod\ncontexts:\n- context:\n    cluster: prod\n    user: clusterAdmin_group_prod\n  name: prod-admin\n"
    "current-context: prod-admin\npreferences: {}\nusers:\n- name: clusterAdmin_group_prod\n  user:\n"
    "    client-certificate-data: $CERT_RSA\n    client-key-data: $KEY_RSA\n    token: " TOKEN "\n";

static const char rancher[] = HEAD
    "clusters:\n- name: \"prod\"\n  cluster:\n    server: \"https://rancher.example.com/k8s/clusters/c-m-1a2b3c4d\"\n"
    "    certificate-authority-data: \"$CA_FOLDED\"\n\nusers:\n- name: \"prod\"\n  user:\n    token: \"kubeconfig-user-x:" TOKEN
    "\"\n\n\n"
    "contexts:\n- name: \"prod\"\n  context:\n    user: \"prod\"\n    cluster: \"prod\"\n\ncurrent-context: \"prod\"\n";

static const char kind[] = HEAD
    "clusters:\n- cluster:\n    certificate-authority-data: $CA\n    server: https://127.0.0.1:41213\n  name: kind-kind\ncontexts:\n"
    "- context:\n    cluster: kind-kind\n    user: kind-kind\n  name: kind-kind\ncurrent-context: kind-kind\npreferences: {}\nusers:\n"
    "- name: kind-kind\n  user:\n    client-certificate-data: $CERT_RSA\n    client-key-data: $KEY_RSA1\n";

static const char minikube[] = HEAD
    "clusters:\n- cluster:\n    certificate-authority: /home/anna/.minikube/ca.crt\n    extensions:\n    - extension:\n"
    "        last-update: Mon, 02 Nov 2026 10:00:00 CET\n        provider: minikube.sigs.k8s.io\n        version: v1.37.0\n"
    "      name: cluster_info\n    server: https://192.168.49.2:8443\n  name: minikube\ncontexts:\n- context:\n    cluster: minikube\n"
    "    namespace: default\n    user: minikube\n  name: minikube\ncurrent-context: minikube\nusers:\n- name: minikube\n  user:\n"
    "    client-certificate: /home/anna/.minikube/profiles/minikube/client.crt\n"
    "    client-key: /home/anna/.minikube/profiles/minikube/client.key\n";

static const char openshift[] = HEAD
    "clusters:\n- cluster:\n    server: https://api.ocp.example.com:6443\n  name: api-ocp-example-com:6443\ncontexts:\n- context:\n"
    "    cluster: api-ocp-example-com:6443\n    namespace: default\n    user: kube:admin/api-ocp-example-com:6443\n"
    "  name: default/api-ocp-example-com:6443/kube:admin\ncurrent-context: default/api-ocp-example-com:6443/kube:admin\n"
    "preferences: {}\nusers:\n- name: kube:admin/api-ocp-example-com:6443\n  user:\n    token: sha256~" TOKEN "\n";

static const char json[] =
    "{\"kind\":\"Config\",\"apiVersion\":\"v1\",\"preferences\":{},\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"https://c.example.com\","
    "\"certificate-authority-data\":\"$CA\",\"tls-server-name\":\"kubernetes.default\"}}],\"users\":[{\"name\":\"u\",\"user\":{\"token\":"
    "\"" TOKEN "\"}}],\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}],\"current-context\":\"\"}";

static void test_what_tools_write(void **state) {
    (void)state;
    static const struct {
        const char *name, *form;
        const char *url, *token; /* url NULL: refused */
        bool has_ca, has_cert;
        const char *text, *remedy; /* of the refusal */
    } rows[] = {
        {"kubeadm", kubeadm, "https://192.0.2.10:6443", NULL, true, true, NULL, NULL},
        {"k3s", k3s, "https://127.0.0.1:6443", NULL, true, true, NULL, NULL},
        {"eks", eks, NULL, NULL, false, false, "kubeconfig:18:5: \"exec\"", "create token ACCOUNT"},
        {"gke", gke, NULL, NULL, false, false, "kubeconfig:17:5: \"auth-provider\"", "create token ACCOUNT"},
        {"aks", aks, "https://prod-dns-1a2b.hcp.westeurope.azmk8s.io:443", TOKEN, true, true, NULL, NULL},
        {"rancher", rancher, "https://rancher.example.com/k8s/clusters/c-m-1a2b3c4d", "kubeconfig-user-x:" TOKEN, true, false,
         NULL, NULL},
        {"kind", kind, "https://127.0.0.1:41213", NULL, true, true, NULL, NULL},
        {"minikube", minikube, NULL, NULL, false, false, "kubeconfig:5:5: \"certificate-authority\"", "--flatten"},
        {"openshift", openshift, "https://api.ocp.example.com:6443", "sha256~" TOKEN, false, false, NULL, NULL},
        {"json", json, "https://c.example.com", TOKEN, true, false, NULL, NULL},
    };
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        _cleanup_kubeconfig_ struct kubeconfig config = {0};
        struct err err = {0};
        int rc = parse(rows[i].form, NULL, &config, &err);
        if (rc != (rows[i].url ? 0 : ERR_UNPROCESSABLE))
            fail_msg("%s: %s", rows[i].name, err.text);
        if (rc) {
            if (!strstr(err.text, rows[i].text) || !strstr(err.remedy, rows[i].remedy))
                fail_msg("%s: %s (%s)", rows[i].name, err.text, err.remedy);
            continue;
        }
        assert_string_equal(config.url, rows[i].url);
        assert_true(str_eq(config.token, rows[i].token));
        assert_true(str_eq(config.ca_pem, rows[i].has_ca ? ca.cert_pem : NULL));
        assert_int_equal(config.client_cert_pem != NULL, rows[i].has_cert);
        assert_int_equal(config.client_key_pem != NULL, rows[i].has_cert);
        assert_int_equal(config.client_not_after_ms != 0, rows[i].has_cert);
        assert_true(str_eq(config.tls_server_name, str_eq(rows[i].name, "json") ? "kubernetes.default" : NULL));
    }
}

static void test_names_and_a_chain(void **state) {
    (void)state;
    _cleanup_kubeconfig_ struct kubeconfig config = {0}, admin = {0};
    assert_int_equal(parse(k3s, "default", &config, NULL), 0);
    assert_true(str_starts(config.client_cert_pem, client.cert_pem));
    assert_string_equal(config.client_cert_pem + strlen(client.cert_pem), ca.cert_pem);
    assert_int_equal(parse(kubeadm, NULL, &admin, NULL), 0);
    assert_string_equal(admin.context, "kubernetes-admin@kubernetes");
    assert_string_equal(admin.cluster_name, "kubernetes");
    assert_string_equal(admin.user_name, "kubernetes-admin");
}

/* Whatever somebody is called. */
static void test_what_is_written_is_read(void **state) {
    static const char *const users[] = {"kubernetes-admin", "VSPHERE.LOCAL\\ada \"x\": #1", "- é", "true"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(users); i++) {
        _cleanup_kubeconfig_ struct kubeconfig read = {0};
        const struct kubeconfig_new written = {.context = "u@prod",
                                               .cluster_name = "prod",
                                               .user_name = users[i],
                                               .url = "https://10.9.0.10:6443",
                                               .ca_pem = ca.cert_pem,
                                               .client_cert_pem = client.cert_pem,
                                               .client_key_pem = client.key_pem};
        struct strbuf out;
        strbuf_init_secret(&out, KUBECONFIG_BYTES_MAX);
        assert_int_equal(kubeconfig_write(&written, &out, NULL), 0);
        assert_int_equal(kubeconfig_parse(out.data, out.len, NULL, now_ms, &read, NULL), 0);
        assert_string_equal(read.context, "u@prod");
        assert_string_equal(read.cluster_name, "prod");
        assert_string_equal(read.user_name, users[i]);
        assert_string_equal(read.url, written.url);
        assert_string_equal(read.ca_pem, ca.cert_pem);
        assert_string_equal(read.client_cert_pem, client.cert_pem);
        assert_string_equal(read.client_key_pem, client.key_pem);
        strbuf_done(&out);
        strbuf_init_secret(&out, 100);
        assert_int_equal(kubeconfig_write(&written, &out, NULL), ERR_TOO_LARGE);
        strbuf_done(&out);
    }
}

/* -- what is refused ----------------------------------------------------------------------------------------------- */

#define CONTEXT "contexts:\n- name: prod\n  context: {cluster: c, user: u}\n"
/* with the inside of the cluster and of the user */
#define FILE_OF(cluster, user) \
    HEAD CONTEXT "clusters:\n- name: c\n  cluster:\n    " cluster "\nusers:\n- name: u\n  user:\n    " user "\n"
#define OF_CLUSTER(more) FILE_OF(SERVER "\n    " more, "token: " TOKEN)
#define OF_USER(user) FILE_OF(SERVER, user)
#define CLUSTER_LINE "10:5: " /* where `more` stands */
#define USER_LINE "14:5: "

static const struct {
    const char *form, *text, *remedy;
} refused[] = {
    /* the user */
    {OF_USER("exec: {command: aws}"), "kubeconfig:13:5: \"exec\" runs a program", "create token ACCOUNT --duration 1h"},
    {OF_USER("token: " TOKEN "\n    exec: {command: aws}"), USER_LINE "\"exec\"", "create token"},
    {OF_USER("auth-provider: {name: oidc}"), "\"auth-provider\" needs a plug-in", "create token"},
    {OF_USER("username: admin\n    password: " TOKEN), "\"username\" is of a sign-in by password", "create token"},
    {OF_USER("password: " TOKEN), "\"password\" is of a sign-in by password", "create token"},
    {OF_USER("tokenFile: /var/run/token"), "\"tokenFile\" names a file", "what is in the file"},
    {OF_USER("token: " TOKEN "\n    tokenFile: /var/run/token"), USER_LINE "\"tokenFile\"", "what is in the file"},
    {OF_USER("client-certificate: a.crt"), "\"client-certificate\" names a file", "--flatten"},
    {OF_USER("client-certificate-data: $CERT\n    client-key: a.key"), USER_LINE "\"client-key\" names a file", "--flatten"},
    {OF_USER("token: " TOKEN "\n    as: admin"), "\"as\" signs in as somebody else", "remove it"},
    {OF_USER("token: " TOKEN "\n    as-uid: \"1\""), "\"as-uid\" signs in as somebody else", "remove it"},
    {OF_USER("token: " TOKEN "\n    as-groups: [system:masters]"), "\"as-groups\" signs in as somebody else", "remove it"},
    {OF_USER("token: " TOKEN "\n    as-user-extra: {a: [b]}"), "\"as-user-extra\" signs in as somebody else", "remove it"},
    {OF_USER("token: " TOKEN "\n    new-sign-in: {a: b}"), USER_LINE "\"new-sign-in\" is no key of a user", "remove it"},
    {OF_USER("token: " TOKEN "\n    \"\\u0007\": b"), "\"?\" is no key of a user", "remove it"},
    {OF_USER("token: " TOKEN "\n    [a]: b"), "\"?\" is no key of a user", "remove it"},
    {OF_USER("token: " TOKEN "\n    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: b"),
     "aaa...\" is no key", "remove it"},
    {OF_USER("token: " TOKEN "\n    token: " TOKEN), USER_LINE "key \"token\" is given twice", "remove one"},
    {OF_USER("token: !!str " TOKEN), "\"token\" has a tag", "without it"},
    {OF_USER("token: [" TOKEN "]"), "\"token\" must be a text", "kubectl config view"},
    {OF_USER("token: \"" TOKEN " x\""), "kubeconfig:13:12: token: ", "one line"},
    {OF_USER("token: |\n      " TOKEN), "token: ", "one line"},
    {OF_USER("{}"), "there is no user \"u\", or nothing in it", "another context"},
    {OF_USER("token: \"\""), "the user has no credential", "create token"},
    {OF_USER("token:"), "the user has no credential", "create token"},
    {OF_USER("extensions: [{name: a}]"), "the user has no credential", "create token"},
    {OF_USER("client-certificate-data: $CERT"), "\"client-certificate-data\" is there without \"client-key-data\"", "give both"},
    {OF_USER("client-key-data: $KEY"), "\"client-key-data\" is there without \"client-certificate-data\"", "give both"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: $KEY_OTHER"),
     "kubeconfig:14:22: client-key-data: the private key does not belong", "made together"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: $KEY_ENCRYPTED"), "the private key has a passphrase",
     "openssl pkey"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: $KEY_ENCRYPTED1"), "the private key has a passphrase",
     "openssl pkey"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: $CERT"), "there is no PEM private key", "as PEM"},
    {OF_USER("client-certificate-data: $KEY\n    client-key-data: $KEY"), "there is no PEM certificate", "base64 -w0"},
    {OF_USER("client-certificate-data: $ENDED\n    client-key-data: $KEY_ENDED"),
     "kubeconfig:13:30: the client certificate has ended at 20", "kubeadm certs renew"},
    {OF_USER("client-certificate-data: $EARLY\n    client-key-data: $KEY_EARLY"), "the client certificate is not valid before 20",
     "clocks"},
    {OF_USER("client-certificate-data: $CERT_CUT\n    client-key-data: $KEY"), "certificate 1 cannot be read", "base64 -w0"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: $KEY\n    client-key-data: $KEY"), "is given twice",
     "remove one"},
    {OF_USER("client-certificate-data: [a]\n    client-key-data: $KEY"), "must be a text", "kubectl"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: {a: b}"), "must be a text", "kubectl"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: \"*\""), "\"client-key-data\" is no PEM text in base64",
     "base64 -w0"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: $KEY_NUL"), "\"client-key-data\" is no PEM text in base64",
     "base64 -w0"},
    {OF_USER("client-certificate-data: $CERT\n    client-key-data: $KEY="), "\"client-key-data\" is no PEM text in base64",
     "base64 -w0"},
    /* the cluster */
    {OF_CLUSTER("insecure-skip-tls-verify: true"),
     "kubeconfig:" CLUSTER_LINE "\"insecure-skip-tls-verify\" would trust any server", "certificate-authority-data"},
    {OF_CLUSTER("insecure-skip-tls-verify: \"true\""), "\"insecure-skip-tls-verify\"", "certificate-authority-data"},
    {OF_CLUSTER("insecure-skip-tls-verify: yes"), "\"insecure-skip-tls-verify\"", "certificate-authority-data"},
    {OF_CLUSTER("certificate-authority: ca.crt"), "\"certificate-authority\" names a file", "--flatten"},
    {OF_CLUSTER("proxy-url: http://proxy.example.com:3128"), "\"proxy-url\" names a proxy", "remove it"},
    {OF_CLUSTER("tls-server-name: \"not a name\""), "\"tls-server-name\" is neither", "certificate"},
    {OF_CLUSTER("tls-server-name: https://a.example.com"), "\"tls-server-name\" is neither", "certificate"},
    {OF_CLUSTER("certificate-authority-data: $KEY"), "certificate-authority-data: there is no PEM certificate", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: $MANY"), "more than 64 certificates", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: $CA_AND_CUT"), "certificate 2 cannot be read", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: [a]"), "must be a text", "kubectl"},
    /* base64 */
    {OF_CLUSTER("certificate-authority-data: \"QQ\""), "no PEM text in base64", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: \"QQ=\""), "no PEM text in base64", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: \"QQ===\""), "no PEM text in base64", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: \"QR==\""), "no PEM text in base64", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: \"QQ==QQ==\""), "no PEM text in base64", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: \"====\""), "no PEM text in base64", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: \"QUE QUE=\""), "no PEM text in base64", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: \"_-__\""), "no PEM text in base64", "base64 -w0"},
    {OF_CLUSTER("certificate-authority-data: \"QQBB\""), "no PEM text in base64", "base64 -w0"}, /* a NUL */
    /* its address; more in test_k8s_client */
    {FILE_OF("server: http://api.example.com:6443", "token: " TOKEN),
     "kubeconfig:9:13: server: the address of the API server does not begin with https://", "https://HOST:6443"},
    {FILE_OF("server: https://2130706433", "token: " TOKEN), "the address of the API server has no valid host",
     "https://HOST:6443"},
    {FILE_OF("server: https://u:" TOKEN "@api.example.com", "token: " TOKEN), "has a user name in it", "https://HOST:6443"},
    {FILE_OF("server: \"\"", "token: " TOKEN), "the cluster has no \"server\"", "https://HOST:6443"},
    {FILE_OF("{server: [a]}", "token: " TOKEN), "\"server\" must be a text", "kubectl"},
    /* names */
    {HEAD CONTEXT "users: [{name: u, user: {token: " TOKEN "}}]\n", "kubeconfig:5:22: there is no cluster \"c\"",
     "another context"},
    {HEAD CONTEXT "clusters: [{name: c}]\n", "there is no cluster \"c\", or nothing in it", "another context"},
    {HEAD CONTEXT "clusters: [{name: c, cluster: {" SERVER "}}]\n", "kubeconfig:5:31: there is no user \"u\"", "another context"},
    {HEAD CONTEXT "clusters: [{name: c, cluster: {" SERVER "}}, {name: c, cluster: {" SERVER "}}]\n",
     "cluster \"c\" is there twice", "remove one"},
    {HEAD CONTEXT "clusters: [{name: c, cluster: [a]}]\n", "\"cluster\" must be a map", "kubectl"},
    {HEAD CONTEXT "clusters: [c]\n", "an item of \"clusters\" must be a map", "kubectl"},
    {HEAD CONTEXT "clusters: {c: d}\n", "\"clusters\" must be a list", "kubectl"},
    {HEAD CONTEXT "clusters: [{name: \"\\u0007\"}]\n", "holds a control character", "rename"},
    {HEAD "contexts: [{name: a, context: {user: u}}]\n", "the context has no cluster", "another context"},
    {HEAD "contexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, cluster: {" SERVER "}}]\n",
     "the context has no user", "another context"},
    {HEAD "contexts: [{name: a}]\n", "there is nothing in context \"a\"", "another context"},
    {HEAD "contexts: [{name: a}, {name: a}]\n", "kubeconfig:3:30: context \"a\" is there twice", "remove one"},
    {HEAD "contexts: [{name: a, context: {cluster: c, cluster: d}}]\n", "\"cluster\" is given twice", "remove one"},
    {HEAD "contexts: [{name: a, context: {user: [c]}}]\n", "\"user\" must be a text", "kubectl"},
    {HEAD "contexts: [a]\n", "an item of \"contexts\" must be a map", "kubectl"},
    {HEAD "contexts: a\n", "\"contexts\" must be a list", "kubectl"},
    {HEAD "contexts: [{context: {user: u}}]\n", "there is no context in it", "kubectl config view"},
    {HEAD "contexts: null\n", "there is no context in it", "kubectl config view"},
    {HEAD "contexts: [{name: a}, {name: b}]\n", "none is the current one: \"a\", \"b\"", "choose one"},
    {HEAD "contexts: [{name: a}, {name: b}]\ncurrent-context: c\n",
     "kubeconfig:4:18: there is no context \"c\"; there is \"a\", \"b\"", "choose one"},
    {HEAD "contexts: [{name: a}]\ncurrent-context: [c]\n", "\"current-context\" must be a text", "kubectl"},
    /* the whole */
    {"", "kubeconfig: there is nothing in it", "kubectl"},
    {"# nothing\n", "there is nothing in it", "kubectl"},
    {"a text", "kubeconfig:1:1: this is no kubeconfig", "kubectl"},
    {"[a]", "this is no kubeconfig", "kubectl"},
    {"apiVersion: v1\nkind: Secret\n", "kubeconfig:2:7: this is no kubeconfig: its kind", "kubectl"},
    {"apiVersion: v2\nkind: Config\n", "kubeconfig:1:13: this kubeconfig is of another version", "kubectl"},
    {"kind: [Config]\n", "\"kind\" must be a text", "kubectl"},
    {"kind: Config\nkind: Config\n", "\"kind\" is given twice", "remove one"},
    {HEAD "---\n" HEAD, "second document", "---"},
    {"a: &a [x]\nb: *a\n", "anchors and aliases", "value itself"},
    {"a: [", "not valid YAML", "kubectl config view"},
};

static void check_silence(const struct err *err) {
    for (size_t i = 0; secrets[i]; i++) {
        assert_null(strstr(err->text, secrets[i]));
        assert_null(strstr(err->remedy, secrets[i]));
        assert_null(strstr(err->detail, secrets[i]));
    }
}

static void test_what_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(refused); i++) {
        struct kubeconfig config = {0}, untouched = {0};
        struct err err = {0};
        int rc = parse(refused[i].form, NULL, &config, &err);
        if (rc != ERR_UNPROCESSABLE || !strstr(err.text, refused[i].text) || !strstr(err.remedy, refused[i].remedy))
            fail_msg("row %zu, %s wanted: %s: %s (%s)", i, refused[i].text, err_slug(rc), err.text, err.remedy);
        assert_memory_equal(&config, &untouched, sizeof(config));
        check_silence(&err);
    }
}

static void test_too_large(void **state) {
    (void)state;
    struct kubeconfig config = {0};
    struct err err = {0};
    struct strbuf b;
    strbuf_init(&b, 2 * KUBECONFIG_BYTES_MAX);
    strbuf_adds(&b, OF_USER("token: " TOKEN) "#");
    while (b.len < KUBECONFIG_BYTES_MAX)
        strbuf_addc(&b, 'x');
    assert_int_equal(kubeconfig_parse(b.data, b.len, NULL, now_ms, &config, NULL), 0);
    kubeconfig_done(&config);
    strbuf_addc(&b, 'x');
    assert_int_equal(kubeconfig_parse(b.data, b.len, NULL, now_ms, &config, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "larger than 262144 bytes"));
    strbuf_reset(&b);
    err_clear(&err);
    for (int i = 0; i < 40; i++)
        strbuf_adds(&b, "{a: ");
    assert_int_equal(kubeconfig_parse(b.data, b.len, NULL, now_ms, &config, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "kubeconfig:1:65: nested too deeply"));
    strbuf_reset(&b);
    for (int i = 0; i < 30000; i++)
        strbuf_adds(&b, "- a\n");
    assert_int_equal(kubeconfig_parse(b.data, b.len, NULL, now_ms, &config, NULL), ERR_TOO_LARGE);
    strbuf_reset(&b);
    err_clear(&err);
    strbuf_adds(&b, "contexts:\n");
    for (int i = 0; i < 1001; i++)
        strbuf_addf(&b, "- name: context-%d\n", i);
    assert_int_equal(kubeconfig_parse(b.data, b.len, NULL, now_ms, &config, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "more than 1000 contexts"));
    strbuf_done(&b);
}

/* -- the choice ---------------------------------------------------------------------------------------------------- */

static const char several[] = HEAD
    "current-context: broken\ncontexts:\n- {name: good, context: {cluster: c, user: u, namespace: n}}\n- {name: broken, context: {cluster: gone, user: e}}\n"
    "- {name: exec, context: {cluster: c, user: e}}\n- {name: empty}\n"
    "clusters:\n- {name: c, cluster: {" SERVER
    ", insecure-skip-tls-verify: false, disable-compression: true, later: x, proxy-url: \"\"}}\n"
    "- {name: unused, cluster: {server: http://x, certificate-authority: y}}\n"
    "users:\n- {name: e, user: {exec: {command: x}}}\n- {name: u, user: {token: " TOKEN
    ", exec: null, as: \"\", as-groups: [], extensions: []}}\n"
    "preferences: {colors: true}\nextensions: []\nlater: x\n";

static void test_only_the_chosen_context_is_judged(void **state) {
    (void)state;
    static const struct {
        const char *context, *text; /* text NULL: taken */
    } rows[] = {
        {"good", NULL},
        {NULL, "there is no cluster \"gone\""},
        {"exec", "\"exec\" runs"},
        {"empty", "there is nothing in context \"empty\""},
        {"other", "kubeconfig: there is no context \"other\"; there is \"good\", \"broken\", \"exec\", \"empty\""},
    };
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        _cleanup_kubeconfig_ struct kubeconfig config = {0};
        struct err err = {0};
        int rc = parse(several, rows[i].context, &config, &err);
        if (rc ? !rows[i].text || !strstr(err.text, rows[i].text) : rows[i].text != NULL)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(err.cause, rc && strstr(err.text, "no context") ? ERR_CAUSE_CHOICE : ERR_CAUSE_NONE);
    }
}

static void test_many_names(void **state) {
    (void)state;
    struct kubeconfig config = {0};
    struct err err = {0};
    struct strbuf b;
    strbuf_init(&b, KUBECONFIG_BYTES_MAX);
    strbuf_adds(&b, "contexts:\n");
    for (int i = 0; i < 1000; i++)
        strbuf_addf(
            &b,
            "- name: \"%d-\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\"\n",
            i);
    assert_int_equal(kubeconfig_parse(b.data, b.len, NULL, now_ms, &config, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "\"0-\xc3\xa4"));
    assert_non_null(strstr(err.text, "\xc3\xa4...\", \"1-"));
    assert_true(str_ends(err.text, "\" and 997 more"));
    assert_true(str_utf8_chars(err.text, strlen(err.text)) > 0);
    strbuf_done(&b);
}

static void test_list(void **state) {
    (void)state;
    struct kubeconfig_contexts contexts = {0};
    assert_int_equal(kubeconfig_list(several, strlen(several), &contexts, NULL), 0);
    assert_int_equal(contexts.count, 4);
    assert_string_equal(contexts.items[1].name, "broken");
    assert_string_equal(contexts.items[1].cluster, "gone");
    assert_string_equal(contexts.items[1].user, "e");
    assert_true(contexts.items[1].is_current && !contexts.items[0].is_current);
    assert_string_equal(contexts.items[3].name, "empty");
    assert_string_equal(contexts.items[3].cluster, "");
    assert_string_equal(contexts.items[3].user, "");
    kubeconfig_contexts_done(&contexts);
    assert_int_equal(kubeconfig_list(HEAD, strlen(HEAD), &contexts, NULL), 0);
    assert_int_equal(contexts.count, 0);
    assert_int_equal(kubeconfig_list("[", 1, &contexts, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(contexts.count, 0);
}

/* -- memory that runs out ------------------------------------------------------------------------------------------ */

static void test_memory_runs_out(void **state) {
    (void)state;
    static const char *const forms[] = {kubeadm, aks, json};
    for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
        char *text = filled(forms[i]);
        struct kubeconfig config = {0}, untouched = {0};
        struct kubeconfig_contexts contexts = {0};
        long failures = 0, list_failures = 0;
        for (int rc = ERR_NOMEM; rc; failures += rc != 0) {
            struct err err = {0};
            allocations_left = failures;
            rc = kubeconfig_parse(text, strlen(text), NULL, now_ms, &config, &err);
            allocations_left = -1;
            assert_int_equal(rc, err.code);
            if (rc)
                assert_memory_equal(&config, &untouched, sizeof(config));
        }
        for (int rc = ERR_NOMEM; rc; list_failures += rc != 0) {
            allocations_left = list_failures;
            rc = kubeconfig_list(text, strlen(text), &contexts, NULL);
            allocations_left = -1;
            assert_true(!rc || (rc == ERR_NOMEM && !contexts.count));
        }
        assert_true(failures > 10 && list_failures > 3);
        kubeconfig_done(&config);
        kubeconfig_contexts_done(&contexts);
        free(text);
    }
}

/* -- keys ---------------------------------------------------------------------------------------------------------- */

static void add_key(const char *word, EVP_PKEY *key, bool is_traditional, bool is_encrypted) {
    char pass[] = "passphrase", *data = NULL;
    const EVP_CIPHER *cipher = is_encrypted ? EVP_aes_128_cbc() : NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    if (is_traditional)
        assert_int_equal(
            PEM_write_bio_PrivateKey_traditional(bio, key, cipher, (unsigned char *)pass, is_encrypted ? 10 : 0, NULL, NULL), 1);
    else
        assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key, cipher, pass, is_encrypted ? 10 : 0, NULL, NULL), 1);
    BIO_write(bio, "", 1);
    BIO_get_mem_data(bio, &data);
    add_data(word, data);
    BIO_free(bio);
}

/* "CERT_RSA" and its key in two forms; the key becomes the one of the forms of kubeadm. */
static void make_rsa(void) {
    char *cert_pem = NULL, *key_pem = NULL;
    const struct x509_request request = {
        .common_name = "kubernetes-admin", .organization = "system:masters", .valid_days = 365, .key_bits = X509_PROBE_KEY_BITS};
    assert_int_equal(x509_make_self_signed(&request, &cert_pem, &key_pem, NULL), 0);
    BIO *bio = BIO_new_mem_buf(key_pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    add_data("CERT_RSA", cert_pem);
    add_data("KEY_RSA", key_pem);
    add_key("KEY_RSA1", key, true, false);
    EVP_PKEY_free(key);
    BIO_free(bio);
    free(cert_pem);
    free(key_pem);
}

static void make_dated(const char *word, const char *key_word, long not_before_s, long not_after_s) {
    struct test_cert cert;
    test_cert_make(
        &(struct test_cert_request){
            .common_name = "admin", .issuer = &ca, .not_before_s = not_before_s, .not_after_s = not_after_s},
        &cert);
    add_data(word, cert.cert_pem);
    add_data(key_word, cert.key_pem);
    test_cert_done(&cert);
}

/* A part of a secret becomes one that is looked for. */
static void add_fragment(const char *secret, size_t at) {
    size_t i = 0;
    while (secrets[i])
        i++;
    assert_true(strlen(secret) > at + 24 && i + 1 < UNIT_COUNT(secrets));
    secrets[i] = strndup(secret + at, 24);
}

static int setup(void **state) {
    (void)state;
    struct strbuf b;
    size_t n = 0;
    now_ms = (int64_t)time(NULL) * 1000;
    strbuf_init(&b, 1000000);
    test_cert_make(&(struct test_cert_request){.common_name = "kubernetes", .is_ca = true}, &ca);
    test_cert_make(&(struct test_cert_request){.common_name = "kubernetes-admin", .issuer = &ca, .usage = "clientAuth"}, &client);
    test_cert_make(&(struct test_cert_request){.common_name = "other", .issuer = &ca}, &other);
    make_rsa();
    make_dated("ENDED", "KEY_ENDED", -7200, -3600);
    make_dated("EARLY", "KEY_EARLY", 3600, 7200);
    add_data("CA", ca.cert_pem);
    add_data("CERT", client.cert_pem);
    add_data("KEY", client.key_pem);
    add_bytes("KEY_NUL", client.key_pem, strlen(client.key_pem) + 1);
    add_key("KEY_SEC1", client.key, true, false);
    add_key("KEY_ENCRYPTED", client.key, false, true);
    add_key("KEY_ENCRYPTED1", client.key, true, true);
    add_data("KEY_OTHER", other.key_pem);
    strbuf_addf(&b, "%s%s", client.cert_pem, ca.cert_pem);
    add_data("CHAIN", b.data);
    strbuf_reset(&b);
    strbuf_addf(&b, "%.100s", client.cert_pem);
    add_data("CERT_CUT", b.data);
    strbuf_reset(&b);
    strbuf_addf(&b, "%s%.100s", ca.cert_pem, client.cert_pem);
    add_data("CA_AND_CUT", b.data);
    strbuf_reset(&b);
    for (int i = 0; i < 65; i++)
        strbuf_adds(&b, ca.cert_pem);
    add_data("MANY", b.data);
    strbuf_reset(&b);
    for (const char *c = word_text("CA"); *c; c++) /* in lines, as Rancher writes it */
        strbuf_addf(&b, "%c%s", *c, ++n % 60 ? "" : "\\n\\\n      ");
    add_word("CA_FOLDED", b.data);
    add_fragment(TOKEN, 0);
    add_fragment(word_text("KEY"), 140);
    add_fragment(client.key_pem, 95); /* in the second line */
    add_fragment(word_text("KEY_RSA"), 140);
    strbuf_done(&b);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (size_t i = 0; i < words_count; i++)
        free(words[i].text);
    for (size_t i = 0; secrets[i]; i++)
        free(secrets[i]);
    test_cert_done(&ca);
    test_cert_done(&client);
    test_cert_done(&other);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_tools_write),
        cmocka_unit_test(test_names_and_a_chain),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_only_the_chosen_context_is_judged),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
