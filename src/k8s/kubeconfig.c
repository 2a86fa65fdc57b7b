/* A kubeconfig: nodes of YAML to the texts of one context. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Secrets stay in the nodes, which are wiped (yaml_done), until they are copied out: no JSON form of the document is made. */
#include "kubeconfig.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "k8s.h"
#include "names.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "x509.h"
#include "yaml.h"

#define SHOWN_BYTES 64        /* of a name, in messages */
#define SHOWN_NAMES_BYTES 260 /* of the names of all contexts */

static const struct yaml_limits kubeconfig_limits = {.bytes = KUBECONFIG_BYTES_MAX, .depth = 16, .nodes = 20000};

/* -- messages ------------------------------------------------------------------------------------------------------ */

/* A name of the file as a message may show it. */
static const char *kubeconfig_shown(const char *name, char out[SHOWN_BYTES + 4]) {
    if (str_has_control(name))
        return "?";
    (void)snprintf(out, SHOWN_BYTES, "%s", name);
    str_trim_utf8(out);
    if (out[0] && strlen(out) < strlen(name))
        memcpy(out + strlen(out), "...", sizeof("..."));
    return out;
}

/* ERR_UNPROCESSABLE at the place of a node; NULL: the file as a whole. */
__attribute__((format(printf, 4, 5))) static int kubeconfig_refuse(const struct yaml_node *at, const char *remedy,
                                                                   struct err *err, const char *format, ...) {
    char text[ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    str_trim_utf8(text);
    if (at)
        (void)err_set(err, ERR_UNPROCESSABLE, "kubeconfig:%u:%u: %s", at->place.line, at->place.column, text);
    else
        (void)err_set(err, ERR_UNPROCESSABLE, "kubeconfig: %s", text);
    return err_remedy(err, "%s", remedy);
}

/* Hands on what somebody else found at a node, as ERR_UNPROCESSABLE; `remedy` stands in for one that is missing. */
static int kubeconfig_blame(const struct yaml_node *at, const char *what, const struct err *why, const char *remedy,
                            struct err *err) {
    if (why->code == ERR_NOMEM)
        return err_move(err, ERR_NOMEM, why);
    return kubeconfig_refuse(at, why->remedy[0] ? why->remedy : remedy, err, "%s: %s", what, why->text);
}

static int kubeconfig_copy(const char *text, char **out, struct err *err) {
    *out = str_dup(text);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- walking ------------------------------------------------------------------------------------------------------- */

/* Go reads what is null as if it were not there, and the same goes for empty texts, lists and maps, and for false. */
static bool is_given(const struct yaml_node *value) {
    static const char *const nothing[] = {"null", "Null", "NULL", "~", "false", "False", "FALSE"};
    if (value->kind != YAML_SCALAR)
        return value->span > 1;
    for (size_t i = 0; value->is_plain && i < ARRAY_COUNT(nothing); i++)
        if (str_eq(value->text, nothing[i]))
            return false;
    return value->text[0] != '\0';
}

/* The value of a key in *out, NULL if none is given. `kind` is what it must be. */
static int member(const struct yaml_node *map, const char *key, enum yaml_kind kind, const struct yaml_node **out,
                  struct err *err) {
    static const char *const kinds[] = {[YAML_SCALAR] = "a text", [YAML_LIST] = "a list", [YAML_MAP] = "a map"};
    const struct yaml_node *found = NULL;
    for (const struct yaml_node *in = map + 1; in < yaml_next(map); in = yaml_next(yaml_next(in))) {
        if (!str_eq(in->text, key))
            continue;
        if (found)
            return kubeconfig_refuse(in, "remove one of them", err, "key \"%s\" is given twice", key);
        found = yaml_next(in);
    }
    if (found && found->has_tag)
        return kubeconfig_refuse(found, "write the value without it", err, "\"%s\" has a tag (!)", key);
    *out = found && is_given(found) ? found : NULL;
    if (!*out || found->kind == kind)
        return 0;
    return kubeconfig_refuse(found, "see how \"kubectl config view\" prints it", err, "\"%s\" must be %s", key, kinds[kind]);
}

/* As member, for the name of a context, cluster or user. */
static int member_name(const struct yaml_node *map, const char *key, const struct yaml_node **out, struct err *err) {
    const struct yaml_node *name = NULL;
    int rc = member(map, key, YAML_SCALAR, &name, err);
    if (!rc && name && (strlen(name->text) > KUBECONFIG_NAME_BYTES_MAX || str_has_control(name->text)))
        return kubeconfig_refuse(name, "rename it: kubectl config rename-context, or by hand", err,
                                 "\"%s\" is longer than %u bytes or holds a control character", key, KUBECONFIG_NAME_BYTES_MAX);
    if (!rc)
        *out = name;
    return rc;
}

/* The items of a list of named things, and what each holds beside its name. */
struct kubeconfig_part {
    const char *list, *item;
};
static const struct kubeconfig_part kubeconfig_contexts_part = {"contexts", "context"},
                                    kubeconfig_clusters = {"clusters", "cluster"}, kubeconfig_users = {"users", "user"};

/* *name of one item, and *inside it; NULL where it has none. */
static int read_named(const struct yaml_node *item, const struct kubeconfig_part *part, const struct yaml_node **name,
                      const struct yaml_node **inside, struct err *err) {
    if (item->kind != YAML_MAP)
        return kubeconfig_refuse(item, "see how \"kubectl config view\" prints it", err,
                                 "an item of \"%s\" must be a map with \"name\" and \"%s\"", part->list, part->item);
    int rc = member_name(item, "name", name, err);
    return rc ? rc : member(item, part->item, YAML_MAP, inside, err);
}

/* What the item of that name holds, in *out; NULL: there is no such item, or nothing in it. */
static int find_inside(const struct yaml_node *root, const struct kubeconfig_part *part, const char *wanted,
                       const struct yaml_node **out, struct err *err) {
    const struct yaml_node *list = NULL, *name = NULL, *inside = NULL, *found = NULL;
    char shown[SHOWN_BYTES + 4];
    int rc = member(root, part->list, YAML_LIST, &list, err);
    for (const struct yaml_node *item = list ? list + 1 : NULL; !rc && list && item < yaml_next(list); item = yaml_next(item)) {
        if ((rc = read_named(item, part, &name, &inside, err)) || !name || !str_eq(name->text, wanted))
            continue;
        if (found)
            return kubeconfig_refuse(name, "remove one of them", err, "%s \"%s\" is there twice", part->item,
                                     kubeconfig_shown(wanted, shown));
        found = name;
        *out = inside;
    }
    return rc;
}

/* -- contexts ------------------------------------------------------------------------------------------------------ */

static int check_head(const struct yaml_node *root, struct err *err) {
    const struct yaml_node *version = NULL, *kind = NULL;
    static const char remedy[] = "give the file that kubectl uses, as \"kubectl config view --raw --flatten --minify\" prints it";
    if (root->kind != YAML_MAP)
        return kubeconfig_refuse(root, remedy, err, "this is no kubeconfig");
    int rc = member(root, "kind", YAML_SCALAR, &kind, err);
    rc = rc ? rc : member(root, "apiVersion", YAML_SCALAR, &version, err);
    if (!rc && kind && !str_eq(kind->text, "Config"))
        return kubeconfig_refuse(kind, remedy, err, "this is no kubeconfig: its kind is not Config");
    if (!rc && version && !str_eq(version->text, "v1"))
        return kubeconfig_refuse(version, remedy, err, "this kubeconfig is of another version than v1");
    return rc;
}

static int kubeconfig_read(const char *text, size_t n, struct yaml_doc *doc, struct err *err) {
    struct yaml_place where;
    struct err why = {0};
    int rc = yaml_parse(text, n, &kubeconfig_limits, doc, &where, &why);
    if (rc == ERR_NOMEM)
        return err_move(err, rc, &why);
    if (rc) {
        if (where.line)
            (void)err_set(err, rc, "kubeconfig:%u:%u: %s", where.line, where.column, why.text);
        else
            (void)err_set(err, rc, "kubeconfig: %s", why.text);
        return err_remedy(err, "%s",
                          why.remedy[0] ? why.remedy : "give what \"kubectl config view --raw --flatten --minify\" prints");
    }
    if (!doc->count)
        return kubeconfig_refuse(NULL, "give the file that kubectl uses", err, "there is nothing in it");
    return check_head(doc->nodes, err);
}

void kubeconfig_contexts_done(struct kubeconfig_contexts *contexts) {
    for (size_t i = 0; i < contexts->count; i++) {
        free(contexts->items[i].name);
        free(contexts->items[i].cluster);
        free(contexts->items[i].user);
    }
    free(contexts->items);
    *contexts = (struct kubeconfig_contexts){0};
}

static int add_context(const struct yaml_node *name, const struct yaml_node *inside, const char *current,
                       struct kubeconfig_contexts *out, struct err *err) {
    const struct yaml_node *cluster = NULL, *user = NULL;
    char shown[SHOWN_BYTES + 4];
    for (size_t i = 0; i < out->count; i++)
        if (str_eq(out->items[i].name, name->text))
            return kubeconfig_refuse(name, "remove one of them", err, "context \"%s\" is there twice",
                                     kubeconfig_shown(name->text, shown));
    if (out->count == KUBECONFIG_CONTEXTS_MAX)
        return kubeconfig_refuse(name, "give what \"kubectl config view --raw --flatten --minify\" prints", err,
                                 "there are more than %u contexts", KUBECONFIG_CONTEXTS_MAX);
    int rc = inside ? member_name(inside, "cluster", &cluster, err) : 0;
    rc = rc || !inside ? rc : member_name(inside, "user", &user, err);
    if (rc)
        return rc;
    struct kubeconfig_context *one = &out->items[out->count++];
    *one = (struct kubeconfig_context){.is_current = str_eq(name->text, current)};
    rc = kubeconfig_copy(name->text, &one->name, err);
    rc = rc ? rc : kubeconfig_copy(cluster ? cluster->text : "", &one->cluster, err);
    return rc ? rc : kubeconfig_copy(user ? user->text : "", &one->user, err);
}

static int list_contexts(const struct yaml_node *root, struct kubeconfig_contexts *out, struct err *err) {
    const struct yaml_node *list = NULL, *current = NULL, *name = NULL, *inside = NULL;
    int rc = member(root, "contexts", YAML_LIST, &list, err);
    rc = rc ? rc : member_name(root, "current-context", &current, err);
    if (rc || !list)
        return rc;
    out->items = calloc(KUBECONFIG_CONTEXTS_MAX, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (const struct yaml_node *item = list + 1; !rc && item < yaml_next(list); item = yaml_next(item)) {
        rc = read_named(item, &kubeconfig_contexts_part, &name, &inside, err);
        if (!rc && name)
            rc = add_context(name, inside, current ? current->text : NULL, out, err);
    }
    return rc;
}

int kubeconfig_list(const char *text, size_t n, struct kubeconfig_contexts *out, struct err *err) {
    _cleanup_done_(kubeconfig_contexts_done) struct kubeconfig_contexts contexts = {0};
    _cleanup_yaml_ struct yaml_doc doc = {0};
    int rc = kubeconfig_read(text, n, &doc, err);
    rc = rc ? rc : list_contexts(doc.nodes, &contexts, err);
    if (rc)
        return rc;
    *out = contexts;
    contexts = (struct kubeconfig_contexts){0};
    return 0;
}

/* The names there are, for a message. */
static void show_names(const struct kubeconfig_contexts *contexts, struct strbuf *out) {
    char shown[SHOWN_BYTES + 4];
    for (size_t i = 0; i < contexts->count; i++) {
        const char *name = kubeconfig_shown(contexts->items[i].name, shown);
        if (out->len + strlen(name) + 2 * sizeof("and 1000 more, ") > SHOWN_NAMES_BYTES) {
            strbuf_addf(out, " and %zu more", contexts->count - i);
            return;
        }
        strbuf_addf(out, "%s\"%s\"", i ? ", " : "", name);
    }
}

/* Finds out which context is meant; *name is malloc'ed. */
static int choose_context(const struct yaml_node *root, const char *asked, char **name, struct err *err) {
    _cleanup_done_(kubeconfig_contexts_done) struct kubeconfig_contexts contexts = {0};
    _cleanup_strbuf_ struct strbuf names;
    const struct yaml_node *current = NULL;
    char shown[SHOWN_BYTES + 4];
    strbuf_init(&names, SHOWN_NAMES_BYTES);
    int rc = list_contexts(root, &contexts, err);
    rc = rc ? rc : member_name(root, "current-context", &current, err);
    if (rc)
        return rc;
    if (!contexts.count)
        return kubeconfig_refuse(root, "give what \"kubectl config view --raw --flatten --minify\" prints", err,
                                 "there is no context in it");
    const char *wanted = asked ? asked : current ? current->text : contexts.count == 1 ? contexts.items[0].name : NULL;
    for (size_t i = 0; wanted && i < contexts.count; i++)
        if (str_eq(contexts.items[i].name, wanted))
            return kubeconfig_copy(wanted, name, err);
    show_names(&contexts, &names);
    if (wanted)
        (void)kubeconfig_refuse(asked ? NULL : current, "choose one of them", err, "there is no context \"%s\"; there is %s",
                                kubeconfig_shown(wanted, shown), names.data);
    else
        (void)kubeconfig_refuse(NULL, "choose one of them", err, "there are several contexts and none is the current one: %s",
                                names.data);
    (void)err_because(err, ERR_CAUSE_CHOICE);
    return ERR_UNPROCESSABLE;
}

/* -- cluster and user ---------------------------------------------------------------------------------------------- */

#define CURE_TOKEN                                                                                                             \
    "write \"token: TOKEN\" in its place, with what \"kubectl -n NAMESPACE create token ACCOUNT --duration 1h\" prints for a " \
    "service account that is bound to cluster-admin; it is used once"
#define CURE_FILE \
    "give what \"kubectl config view --raw --flatten --minify\" prints: it has the file's content in place of its name"
#define CURE_ACTING "remove it, and give the credential of that account itself"

/* A key by which a kubeconfig means something that is not in it, or not safe. */
struct refused_key {
    const char *key, *why, *remedy;
};

static const struct refused_key refused_of_cluster[] = {
    {"insecure-skip-tls-verify", "would trust any server",
     "remove it and give certificate-authority-data; without, the server's certificate is shown, to be confirmed"},
    {"certificate-authority", "names a file, and not on this machine", CURE_FILE},
    {"proxy-url", "names a proxy, and clusters are connected to without one",
     "remove it, and let kaasd reach the API server itself"},
};

static const struct refused_key refused_of_user[] = {
    {"exec", "runs a program of the machine that kubectl is on", CURE_TOKEN},
    {"auth-provider", "needs a plug-in of kubectl", CURE_TOKEN},
    {"username", "is of a sign-in by password, which Kubernetes no longer has", CURE_TOKEN},
    {"password", "is of a sign-in by password, which Kubernetes no longer has", CURE_TOKEN},
    {"tokenFile", "names a file, and not on this machine", "write \"token: TOKEN\" in its place, with what is in the file"},
    {"client-certificate", "names a file, and not on this machine", CURE_FILE},
    {"client-key", "names a file, and not on this machine", CURE_FILE},
    {"as", "signs in as somebody else", CURE_ACTING},
    {"as-uid", "signs in as somebody else", CURE_ACTING},
    {"as-groups", "signs in as somebody else", CURE_ACTING},
    {"as-user-extra", "signs in as somebody else", CURE_ACTING},
};

static int refuse_key(const struct yaml_node *key, const struct refused_key *rows, size_t count, struct err *err) {
    for (size_t i = 0; i < count; i++)
        if (str_eq(key->text, rows[i].key) && is_given(yaml_next(key)))
            return kubeconfig_refuse(key, rows[i].remedy, err, "\"%s\" %s", rows[i].key, rows[i].why);
    return 0;
}

static int check_cluster_keys(const struct yaml_node *cluster, struct err *err) {
    int rc = 0;
    for (const struct yaml_node *key = cluster + 1; !rc && key < yaml_next(cluster); key = yaml_next(yaml_next(key)))
        rc = refuse_key(key, refused_of_cluster, ARRAY_COUNT(refused_of_cluster), err);
    return rc;
}

static int check_user_keys(const struct yaml_node *user, struct err *err) {
    static const char *const taken[] = {"token", "client-certificate-data", "client-key-data", "extensions"};
    char shown[SHOWN_BYTES + 4];
    for (const struct yaml_node *key = user + 1; key < yaml_next(user); key = yaml_next(yaml_next(key))) {
        size_t i = 0;
        int rc = refuse_key(key, refused_of_user, ARRAY_COUNT(refused_of_user), err);
        if (rc)
            return rc;
        while (i < ARRAY_COUNT(taken) && !str_eq(key->text, taken[i]))
            i++;
        if (i == ARRAY_COUNT(taken) && is_given(yaml_next(key)))
            return kubeconfig_refuse(key, "remove it, or give a token", err,
                                     "\"%s\" is no key of a user that is known here, and may change who signs in",
                                     kubeconfig_shown(key->text ? key->text : "?", shown));
    }
    return 0;
}

/* The text in base64 (RFC 4648 section 4, padded) of a key that names PEM; NULL in *out: none is given. Line ends are passed over, as Go does. In place, so that
 * there is no second copy to be wiped. */
static int read_data(const struct yaml_node *map, const char *key, char **out, struct err *err) {
    const struct yaml_node *data = NULL;
    int rc = member(map, key, YAML_SCALAR, &data, err);
    if (rc || !data)
        return rc;
    const size_t size = strlen(data->text) + 1;
    size_t n = 0, padding = 0;
    char *bytes = malloc(size);
    if (!bytes)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (const char *c = data->text; *c; c++)
        if (*c != '\n' && *c != '\r')
            bytes[n++] = *c;
    for (; padding < 2 && n && bytes[n - 1] == '='; padding++)
        n--;
    const long count = (n + padding) % 4 ? -1 : str_unbase64(bytes, n, (uint8_t *)bytes, size);
    const size_t used = count > 0 ? (size_t)count : 0;
    secret_wipe(bytes + used, size - used);
    if (used && strlen(bytes) == used) {
        *out = bytes;
        return 0;
    }
    secret_wipe(bytes, used);
    free(bytes);
    return kubeconfig_refuse(data, "give the PEM file as \"base64 -w0 FILE\" prints it", err, "\"%s\" is no PEM text in base64",
                             key);
}

static int read_ca(const struct yaml_node *cluster, char **out, struct err *err) {
    static const char key[] = "certificate-authority-data";
    const struct yaml_node *data = NULL;
    _cleanup_secret_ char *text = NULL; /* people put keys into such files */
    struct err why = {0};
    int rc = member(cluster, key, YAML_SCALAR, &data, err);
    rc = rc ? rc : read_data(cluster, key, &text, err);
    if (rc || !text)
        return rc;
    return x509_bundle(text, out, &why)
               ? kubeconfig_blame(data, key, &why, "give the cluster's CA, as \"base64 -w0 FILE\" prints it", err)
               : 0;
}

static int read_server(const struct yaml_node *cluster, char **out, struct err *err) {
    const struct yaml_node *server = NULL;
    struct err why = {0};
    int rc = member(cluster, "server", YAML_SCALAR, &server, err);
    if (!rc && !server)
        return kubeconfig_refuse(cluster, "write \"server: https://HOST:6443\" with the address of its API server", err,
                                 "the cluster has no \"server\"");
    if (rc)
        return rc;
    return k8s_url_check(server->text, out, &why) ? kubeconfig_blame(server, "server", &why, "", err) : 0;
}

static int read_cluster(const struct yaml_node *cluster, struct kubeconfig *out, struct err *err) {
    const struct yaml_node *name = NULL;
    int rc = check_cluster_keys(cluster, err);
    rc = rc ? rc : read_server(cluster, &out->url, err);
    rc = rc ? rc : member(cluster, "tls-server-name", YAML_SCALAR, &name, err);
    if (!rc && name && name_check_host(name->text, "it", NULL))
        return kubeconfig_refuse(name, "write a name that stands in the certificate of its API server", err,
                                 "\"tls-server-name\" is neither the name of a host nor an address");
    if (!rc && name)
        rc = kubeconfig_copy(name->text, &out->tls_server_name, err);
    return rc ? rc : read_ca(cluster, &out->ca_pem, err);
}

static int check_client_dates(const struct yaml_node *data, int64_t now_ms, struct kubeconfig *out, struct err *err) {
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    static const char remedy[] = "give a fresh kubeconfig; kubeadm makes one by: kubeadm certs renew admin.conf";
    char date[CLOCK_RFC3339_BYTES];
    struct err why = {0};
    if (x509_parse_pem(out->client_cert_pem, &info, &why))
        return kubeconfig_blame(data, "client-certificate-data", &why, remedy, err);
    if (info.not_after_ms <= now_ms) {
        clock_format(info.not_after_ms, date);
        return kubeconfig_refuse(data, remedy, err, "the client certificate has ended at %s", date);
    }
    if (info.not_before_ms > now_ms) {
        clock_format(info.not_before_ms, date);
        return kubeconfig_refuse(data, "see that the clocks of both machines are right", err,
                                 "the client certificate is not valid before %s", date);
    }
    out->client_not_after_ms = info.not_after_ms;
    return 0;
}

static int read_certificate(const struct yaml_node *user, int64_t now_ms, struct kubeconfig *out, struct err *err) {
    static const char cert_key[] = "client-certificate-data", key_key[] = "client-key-data";
    const struct yaml_node *cert = NULL, *key = NULL;
    _cleanup_secret_ char *text = NULL; /* may hold the key, too */
    struct err why = {0};
    int rc = member(user, cert_key, YAML_SCALAR, &cert, err);
    rc = rc ? rc : member(user, key_key, YAML_SCALAR, &key, err);
    if (rc || (!cert && !key))
        return rc;
    if (!cert || !key)
        return kubeconfig_refuse(cert ? cert : key, "give both, or a token", err, "\"%s\" is there without \"%s\"",
                                 cert ? cert_key : key_key, cert ? key_key : cert_key);
    rc = read_data(user, cert_key, &text, err);
    rc = rc ? rc : read_data(user, key_key, &out->client_key_pem, err);
    if (rc)
        return rc;
    if (x509_bundle(text, &out->client_cert_pem, &why))
        return kubeconfig_blame(cert, cert_key, &why, "give it as PEM, as \"base64 -w0 FILE\" prints it", err);
    if (x509_check_key(out->client_cert_pem, out->client_key_pem, &why))
        return kubeconfig_blame(key, key_key, &why, "", err);
    return check_client_dates(cert, now_ms, out, err);
}

static int read_user(const struct yaml_node *user, int64_t now_ms, struct kubeconfig *out, struct err *err) {
    const struct yaml_node *token = NULL;
    struct err why = {0};
    int rc = check_user_keys(user, err);
    rc = rc ? rc : member(user, "token", YAML_SCALAR, &token, err);
    if (!rc && token && k8s_token_check(token->text, &why))
        return kubeconfig_blame(token, "token", &why, "", err);
    if (!rc && token)
        rc = kubeconfig_copy(token->text, &out->token, err);
    rc = rc ? rc : read_certificate(user, now_ms, out, err);
    if (!rc && !out->token && !out->client_cert_pem)
        return kubeconfig_refuse(user, CURE_TOKEN, err, "the user has no credential");
    return rc;
}

/* -- all of it ----------------------------------------------------------------------------------------------------- */

void kubeconfig_done(struct kubeconfig *config) {
    if (!config)
        return;
    free(config->context);
    free(config->cluster_name);
    free(config->user_name);
    free(config->url);
    free(config->tls_server_name);
    free(config->ca_pem);
    secret_free(config->token);
    free(config->client_cert_pem);
    secret_free(config->client_key_pem);
    *config = (struct kubeconfig){0};
}

/* Follows the name that a context has for its cluster or user to what stands there; *name is malloc'ed. */
static int follow_name(const struct yaml_node *root, const struct yaml_node *context, const struct kubeconfig_part *part,
                       const struct yaml_node **out, char **name, struct err *err) {
    const struct yaml_node *wanted = NULL;
    char shown[SHOWN_BYTES + 4];
    int rc = member_name(context, part->item, &wanted, err);
    if (!rc && !wanted)
        return kubeconfig_refuse(context, "choose another context, or complete this one: kubectl config set-context", err,
                                 "the context has no %s", part->item);
    rc = rc ? rc : find_inside(root, part, wanted->text, out, err);
    if (!rc && !*out)
        return kubeconfig_refuse(wanted, "choose another context, or give a file that has all of it", err,
                                 "there is no %s \"%s\", or nothing in it", part->item, kubeconfig_shown(wanted->text, shown));
    return rc ? rc : kubeconfig_copy(wanted->text, name, err);
}

static int read_context(const struct yaml_node *root, int64_t now_ms, struct kubeconfig *out, struct err *err) {
    const struct yaml_node *context = NULL, *cluster = NULL, *user = NULL;
    char shown[SHOWN_BYTES + 4];
    int rc = find_inside(root, &kubeconfig_contexts_part, out->context, &context, err);
    if (!rc && !context)
        return kubeconfig_refuse(root, "choose another context", err, "there is nothing in context \"%s\"",
                                 kubeconfig_shown(out->context, shown));
    rc = rc ? rc : follow_name(root, context, &kubeconfig_clusters, &cluster, &out->cluster_name, err);
    rc = rc ? rc : follow_name(root, context, &kubeconfig_users, &user, &out->user_name, err);
    rc = rc ? rc : read_cluster(cluster, out, err);
    return rc ? rc : read_user(user, now_ms, out, err);
}

int kubeconfig_parse(const char *text, size_t n, const char *context, int64_t now_ms, struct kubeconfig *out, struct err *err) {
    _cleanup_kubeconfig_ struct kubeconfig config = {0};
    _cleanup_yaml_ struct yaml_doc doc = {0};
    int rc = kubeconfig_read(text, n, &doc, err);
    rc = rc ? rc : choose_context(doc.nodes, context, &config.context, err);
    rc = rc ? rc : read_context(doc.nodes, now_ms, &config, err);
    if (rc)
        return rc;
    *out = config;
    config = (struct kubeconfig){0};
    return 0;
}
