/* What kaasd makes in a Kubernetes cluster: an account of its own with the least rights. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: Kubernetes, "Using RBAC Authorization", "Server-Side Apply", "Namespaces"; authentication.k8s.io/v1 TokenRequest, authorization.k8s.io/v1
 * SelfSubjectAccessReview. */
#include "kubernetes_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "json.h"
#include "replica_store.h"
#include "str.h"
#include "uuid.h"

#define NAMESPACE "kaas-system"
#define RBAC "rbac.authorization.k8s.io"
#define RBAC_PATH "/apis/" RBAC "/v1/"
#define TOKEN_LIFE_S 86400
#define NAMESPACE_GOES_MS 15000

static bool account_is_known(struct kubernetes *k, char out[KUBE_ACCOUNT_BYTES]) {
    LOCKED(&k->lock);
    memcpy(out, k->account, KUBE_ACCOUNT_BYTES);
    return out[0];
}

int kube_account_name(struct kubernetes *k, char out[KUBE_ACCOUNT_BYTES], struct err *err) {
    char installation[UUID_TEXT_BYTES] = "";
    if (account_is_known(k, out))
        return 0;
    int rc = installation_store_load(k->options.runtime->store, installation, err);
    if (rc)
        return rc;
    (void)snprintf(out, KUBE_ACCOUNT_BYTES, "kaas-%.8s", installation);
    LOCKED(&k->lock);
    memcpy(k->account, out, KUBE_ACCOUNT_BYTES);
    return 0;
}

/* -- what it may do ---------------------------------------------------------------------------------------------------------- */

/* The table of docs/admin/kubernetes.md: what each rule is for. OWN stands for the name of our account. */
#define OWN "%"
static const struct account_rule {
    const char *feature;
    const char *group, *resource, *verbs; /* verbs with blanks between */
    const char *name;                     /* of the one object; NULL: all */
    const char *paths;      /* with blanks between: of a rule that is about no resource; then group, resource and name are NULL */
    bool is_in_kube_system; /* only there; else everywhere */
} account_rules[] = {
    {.feature = "nodes", .group = "", .resource = "nodes", .verbs = "list watch"},
    {.feature = "control plane", .group = "", .resource = "pods", .verbs = "list", .is_in_kube_system = true},
    {.feature = "identity", .group = "", .resource = "namespaces", .verbs = "get", .name = "kube-system"},
    {.feature = "readiness", .paths = "/readyz /version", .verbs = "get"},
    {.feature = "token", .group = "", .resource = "serviceaccounts/token", .verbs = "create", .name = OWN},
    {.feature = "disconnect", .group = RBAC, .resource = "clusterrolebindings", .verbs = "delete", .name = OWN},
};

static json_t *account_words(const char *text) {
    json_t *list = json_array();
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        n = strcspn(text, " ");
        json_add(list, json_stringn(text, n));
    }
    return list;
}

static const char *account_object_name(const struct account_rule *rule, const char *account) {
    return rule->name && str_eq(rule->name, OWN) ? account : rule->name;
}

static json_t *account_rule_json(const struct account_rule *rule, const char *account) {
    json_t *object = json_object();
    json_put(object, "verbs", account_words(rule->verbs));
    if (rule->paths) {
        json_put(object, "nonResourceURLs", account_words(rule->paths));
        return object;
    }
    json_put(object, "apiGroups", json_pack("[s]", rule->group));
    json_put(object, "resources", json_pack("[s]", rule->resource));
    if (rule->name)
        json_put(object, "resourceNames", json_pack("[s]", account_object_name(rule, account)));
    return object;
}

/* -- the objects ------------------------------------------------------------------------------------------------------------- */

static json_t *account_object(const char *api, const char *kind, const char *name, const char *namespace) {
    json_t *object = json_pack("{s:s, s:s, s:{s:s, s:{s:s}}}", "apiVersion", api, "kind", kind, "metadata", "name", name,
                               "labels", "app.kubernetes.io/managed-by", "kaas");
    if (namespace)
        json_put_string(json_object_get(object, "metadata"), "namespace", namespace);
    return object;
}

static json_t *make_namespace(const char *account) {
    (void)account;
    return account_object("v1", "Namespace", NAMESPACE, NULL);
}

static json_t *make_service_account(const char *account) {
    return account_object("v1", "ServiceAccount", account, NAMESPACE);
}

static json_t *account_role(const char *account, const char *kind, const char *namespace, bool is_in_kube_system) {
    json_t *object = account_object(RBAC "/v1", kind, account, namespace), *list = json_array();
    for (size_t i = 0; i < ARRAY_COUNT(account_rules); i++)
        if (account_rules[i].is_in_kube_system == is_in_kube_system)
            json_add(list, account_rule_json(&account_rules[i], account));
    json_put(object, "rules", list);
    return object;
}

static json_t *account_binding(const char *account, const char *kind, const char *role_kind, const char *namespace) {
    json_t *object = account_object(RBAC "/v1", kind, account, namespace);
    json_put(object, "roleRef", json_pack("{s:s, s:s, s:s}", "apiGroup", RBAC, "kind", role_kind, "name", account));
    json_put(object, "subjects",
             json_pack("[{s:s, s:s, s:s}]", "kind", "ServiceAccount", "name", account, "namespace", NAMESPACE));
    return object;
}

static json_t *make_cluster_role(const char *account) {
    return account_role(account, "ClusterRole", NULL, false);
}

static json_t *make_cluster_role_binding(const char *account) {
    return account_binding(account, "ClusterRoleBinding", "ClusterRole", NULL);
}

static json_t *make_role(const char *account) {
    return account_role(account, "Role", "kube-system", true);
}

static json_t *make_role_binding(const char *account) {
    return account_binding(account, "RoleBinding", "Role", "kube-system");
}

/* In the order in which they are made. The binding owns all others, the role too, so that whoever deletes it ends our rights at once, and Kubernetes' garbage
 * collector removes the rest: our own account needs no more than the right to do that. */
enum { OBJECT_CLUSTER_ROLE, OBJECT_CLUSTER_BINDING, OBJECT_NAMESPACE, OBJECT_ACCOUNT, OBJECT_ROLE, OBJECT_ROLE_BINDING, OBJECTS };
static const struct {
    const char *noun, *path;
    bool has_fixed_name; /* its path is whole; else the name of the account is put behind it */
    const char *group, *resource, *namespace;
    json_t *(*make)(const char *account);
} account_objects[OBJECTS] = {
    [OBJECT_CLUSTER_ROLE] = {"cluster role", RBAC_PATH "clusterroles/", false, RBAC, "clusterroles", NULL, make_cluster_role},
    [OBJECT_CLUSTER_BINDING] = {"cluster role binding", RBAC_PATH "clusterrolebindings/", false, RBAC, "clusterrolebindings",
                                NULL, make_cluster_role_binding},
    [OBJECT_NAMESPACE] = {"namespace", "/api/v1/namespaces/" NAMESPACE, true, "", "namespaces", NULL, make_namespace},
    [OBJECT_ACCOUNT] = {"service account", "/api/v1/namespaces/" NAMESPACE "/serviceaccounts/", false, "", "serviceaccounts",
                        NAMESPACE, make_service_account},
    [OBJECT_ROLE] = {"role in kube-system", RBAC_PATH "namespaces/kube-system/roles/", false, RBAC, "roles", "kube-system",
                     make_role},
    [OBJECT_ROLE_BINDING] = {"role binding in kube-system", RBAC_PATH "namespaces/kube-system/rolebindings/", false, RBAC,
                             "rolebindings", "kube-system", make_role_binding},
};

static char *account_path(int object, const char *account, const char *query) {
    return str_format("%s%s%s", account_objects[object].path, account_objects[object].has_fixed_name ? "" : account, query);
}

/* -- making them ------------------------------------------------------------------------------------------------------------- */

/* `attributes` (taken over) of a SelfSubjectAccessReview. */
static int account_may(struct k8s_client *client, const char *kind, json_t *attributes, bool *may, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    json_t *body = json_pack("{s:s, s:s, s:{s:o}}", "apiVersion", "authorization.k8s.io/v1", "kind", "SelfSubjectAccessReview",
                             "spec", kind, attributes);
    const struct kube_question question = {.method = "POST",
                                           .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                           .type = "application/json",
                                           .body = body};
    int rc = body ? kube_ask(client, &question, &answer, err) : err_set(err, ERR_NOMEM, "out of memory");
    *may = !rc && json_get_bool(json_object_get(answer, "status"), "allowed", false);
    return rc;
}

/* Only who is signed in may ask what he may do (ClusterRole system:basic-user); the answer does not matter. */
int kube_account_check_sign_in(struct k8s_client *client, struct err *err) {
    bool may;
    return account_may(client, "resourceAttributes", json_pack("{s:s, s:s}", "verb", "list", "resource", "nodes"), &may, err);
}

int kube_account_check_maker(struct k8s_client *client, struct err *err) {
    static const char *const verbs[] = {"create", "patch", "delete"};
    for (int i = 0; i < OBJECTS; i++)
        for (size_t v = 0; v < ARRAY_COUNT(verbs); v++) {
            bool may = false;
            json_t *attributes = json_pack("{s:s, s:s, s:s}", "verb", verbs[v], "group", account_objects[i].group, "resource",
                                           account_objects[i].resource);
            json_put_string(attributes, "namespace", account_objects[i].namespace);
            int rc = account_may(client, "resourceAttributes", attributes, &may, err);
            if (rc)
                return rc;
            if (may)
                continue;
            (void)err_set(err, ERR_UPSTREAM_DENIED, "this credential may not %s %s%s%s", verbs[v], account_objects[i].resource,
                          account_objects[i].namespace ? " in " : "",
                          account_objects[i].namespace ? account_objects[i].namespace : "");
            return err_remedy(err, "%s", KUBE_ADMIN_REMEDY);
        }
    return 0;
}

/* What it owns is removed with it. `uid`: of our binding; "": it is not known yet. */
static void account_tie(json_t *object, const char *account, const char *uid) {
    if (uid[0])
        json_put(json_object_get(object, "metadata"), "ownerReferences",
                 json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", RBAC "/v1", "kind", "ClusterRoleBinding", "name", account,
                           "uid", uid));
}

/* The server has said that it did nothing. Any other failure leaves open whether it did. */
static bool account_is_refusal(int rc) {
    return rc == ERR_UNAUTHENTICATED || rc == ERR_UPSTREAM_DENIED || rc == ERR_NOT_FOUND || rc == ERR_CONFLICT ||
           rc == ERR_UNPROCESSABLE || rc == ERR_TOO_MANY;
}

/* Server-side apply: makes it, or brings it into this form. */
static int account_apply(struct k8s_client *client, const char *account, int object, const char *uid, struct kube_made *made,
                         char uid_of_it[UUID_TEXT_BYTES], struct err *err) {
    _cleanup_free_ char *query = str_format("?fieldManager=%s&force=true", account);
    _cleanup_free_ char *path = query ? account_path(object, account, query) : NULL;
    _cleanup_json_ json_t *answer = NULL;
    json_t *body = account_objects[object].make(account);
    bool is_created = false;
    account_tie(body, account, uid);
    const struct kube_question question = {.method = "PATCH",
                                           .path = path ? path : "",
                                           .type = "application/apply-patch+yaml", /* JSON is YAML */
                                           .body = body,
                                           .is_created = &is_created};
    struct err why = {0};
    int rc = kube_ask(client, &question, &answer, &why);
    const char *told = rc ? NULL : json_get_string(json_object_get(answer, "metadata"), "uid");
    made->bits |= is_created ? 1U << object : 0;
    if (!account_is_refusal(rc) && object != OBJECT_NAMESPACE)
        made->touched |= 1U << object;
    if (rc)
        return err_move(err, rc, &why);
    if (!uuid_is_valid(told))
        return err_set(err, ERR_PROTOCOL, "the %s that was just made has no uid", account_objects[object].noun);
    memcpy(uid_of_it, told, UUID_TEXT_BYTES);
    return 0;
}

static int account_look_at_namespace(struct k8s_client *client, bool *is_ours, bool *is_going, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    struct err why = {0};
    int rc =
        kube_ask(client, &(struct kube_question){.method = "GET", .path = account_objects[OBJECT_NAMESPACE].path}, &answer, &why);
    const json_t *metadata = json_object_get(answer, "metadata"), *labels = json_object_get(metadata, "labels");
    *is_ours = rc == ERR_NOT_FOUND || str_eq(json_get_string(labels, "app.kubernetes.io/managed-by"), "kaas");
    *is_going = !rc && json_object_get(metadata, "deletionTimestamp");
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

/* A namespace of this name that somebody else made, as to run KaaS itself in it, must not be removed with our account. One that was ours is waited for while Kubernetes
 * removes it: whoever has disconnected a cluster may connect it again at once. */
static int account_owns_namespace(struct k8s_client *client, bool *is_ours, struct err *err) {
    const int64_t until_ms = clock_mono_ms() + NAMESPACE_GOES_MS;
    const struct timespec pause = {.tv_nsec = 200 * 1000000L};
    bool is_going = true;
    int rc = account_look_at_namespace(client, is_ours, &is_going, err);
    while (!rc && is_going && clock_mono_ms() < until_ms) {
        (void)nanosleep(&pause, NULL);
        rc = account_look_at_namespace(client, is_ours, &is_going, err);
    }
    if (rc || !is_going)
        return rc;
    (void)err_set(err, ERR_CONFLICT, "the namespace " NAMESPACE " of an earlier connection is still being removed");
    return err_remedy(err, "try again in a minute; if it lasts: kubectl describe namespace " NAMESPACE);
}

int kube_account_make(struct k8s_client *client, const char *account, struct kube_made *made, struct err *err) {
    char binding[UUID_TEXT_BYTES] = "", uid[UUID_TEXT_BYTES];
    bool owns_namespace = false;
    int rc = account_owns_namespace(client, &owns_namespace, err);
    for (int i = 0; i < OBJECTS && !rc; i++) {
        if (i == OBJECT_NAMESPACE && !owns_namespace)
            continue;
        rc = account_apply(client, account, i, binding, made, uid, err);
        if (i == OBJECT_CLUSTER_BINDING)
            memcpy(binding, uid, sizeof(binding));
    }
    return rc ? rc : account_apply(client, account, OBJECT_CLUSTER_ROLE, binding, made, uid, err);
}

/* One that is gone already is removed. */
static int account_delete(struct k8s_client *client, const char *account, int object, struct err *err) {
    _cleanup_free_ char *path = account_path(object, account, "");
    _cleanup_json_ json_t *answer = NULL;
    struct err why = {0};
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = kube_ask(client, &(struct kube_question){.method = "DELETE", .path = path}, &answer, &why);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

static struct finding account_finding(int object, const char *account) {
    struct finding f = {.step = "object"};
    (void)snprintf(f.title, sizeof(f.title), "%s", account_objects[object].noun);
    (void)snprintf(f.subject, sizeof(f.subject), "%s", account_objects[object].has_fixed_name ? NAMESPACE : account);
    return f;
}

void kube_account_undo(struct k8s_client *client, const char *account, unsigned objects, struct findings *steps) {
    for (int i = OBJECTS; i-- > 0;) {
        struct finding f = account_finding(i, account);
        struct err why = {0};
        if (!(objects & 1U << i) || !account_delete(client, account, i, &why))
            continue;
        finding_say(&f, FINDING_FAILED, "was made and could not be taken back: %s", why.text);
        finding_advise(&f, "delete it in the cluster by hand");
        findings_add(steps, &f);
    }
}

/* -- token and rights -------------------------------------------------------------------------------------------------------- */

int kube_account_get_token(struct k8s_client *client, const char *account, char **token, int64_t *until_ms, struct err *err) {
    _cleanup_free_ char *path = account_path(OBJECT_ACCOUNT, account, "/token");
    _cleanup_json_ json_t *answer = NULL;
    json_t *body = json_pack("{s:s, s:s, s:{s:i}}", "apiVersion", "authentication.k8s.io/v1", "kind", "TokenRequest", "spec",
                             "expirationSeconds", TOKEN_LIFE_S);
    int64_t date_ms = 0;
    const struct kube_question question = {
        .method = "POST", .path = path, .type = "application/json", .body = body, .date_ms = &date_ms};
    int rc = path && body ? kube_ask(client, &question, &answer, err) : err_set(err, ERR_NOMEM, "out of memory");
    json_t *status = json_object_get(answer, "status"), *value = json_object_get(status, "token");
    if (rc)
        return rc;
    if (str_empty(json_string_value(value)) || !clock_parse(json_get_string(status, "expirationTimestamp"), until_ms))
        rc = err_set(err, ERR_PROTOCOL, "the answer to a request for a token has none, or no end of it");
    else if (date_ms)
        *until_ms += clock_wall_ms() - date_ms;
    *token = rc ? NULL : str_dup(json_string_value(value));
    json_wipe_string(value);
    return rc || *token ? rc : err_set(err, ERR_NOMEM, "out of memory");
}

/* Whether our account may do what one verb of a rule says, about one path or resource. */
static int account_may_still(struct k8s_client *client, const struct account_rule *rule, const char *verb, const char *path,
                             const char *account, bool *may, struct err *err) {
    json_t *about = json_pack("{s:s}", "verb", verb);
    if (path) {
        json_put_string(about, "path", path);
        return account_may(client, "nonResourceAttributes", about, may, err);
    }
    _cleanup_free_ char *resource = str_dup(rule->resource);
    char *sub = resource ? strchr(resource, '/') : NULL;
    if (sub)
        *sub++ = 0;
    json_put_string(about, "group", rule->group);
    json_put_string(about, "resource", resource);
    json_put_string(about, "subresource", sub);
    json_put_string(about, "name", account_object_name(rule, account));
    json_put_string(about, "namespace", rule->is_in_kube_system ? "kube-system" : sub ? NAMESPACE : NULL);
    return account_may(client, "resourceAttributes", about, may, err);
}

static int account_check_rule(struct k8s_client *client, const struct account_rule *rule, const char *account,
                              struct strbuf *missing, struct err *err) {
    const char *about = rule->paths ? rule->paths : rule->resource;
    bool has_all = true;
    int rc = 0;
    for (const char *at = about; *at && !rc; at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ')) {
        _cleanup_free_ char *one = str_format("%.*s", (int)strcspn(at, " "), at);
        for (const char *v = rule->verbs; *v && !rc; v += strcspn(v, " ") + (v[strcspn(v, " ")] == ' ')) {
            _cleanup_free_ char *verb = str_format("%.*s", (int)strcspn(v, " "), v);
            bool may = false;
            rc = one && verb ? account_may_still(client, rule, verb, rule->paths ? one : NULL, account, &may, err)
                             : err_set(err, ERR_NOMEM, "out of memory");
            has_all = has_all && may;
        }
    }
    if (!rc && !has_all)
        strbuf_addf(missing, "%s%s: %s %s", missing->len ? "\n" : "", rule->feature, rule->verbs, about);
    return rc;
}

int kube_account_list_missing(struct k8s_client *client, const char *account, char **missing, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    int rc = 0;
    strbuf_init(&text, 4096);
    for (size_t i = 0; i < ARRAY_COUNT(account_rules) && !rc; i++)
        rc = account_check_rule(client, &account_rules[i], account, &text, err);
    rc = rc ? rc : strbuf_check(&text, "missing rights", err);
    *missing = rc || !text.len ? NULL : strbuf_steal(&text);
    return rc;
}

/* -- removing them ----------------------------------------------------------------------------------------------------------- */

int kube_account_remove(struct k8s_client *client, const char *account, struct err *err) {
    return account_delete(client, account, OBJECT_CLUSTER_BINDING, err);
}

void kube_account_tell_removal(const char *account, enum kube_leave how, const struct err *why, struct findings *steps) {
    for (int i = 0; i < OBJECTS; i++) {
        struct finding f = account_finding(i, account);
        if (why->code && i == OBJECT_CLUSTER_BINDING)
            finding_say_error(&f, FINDING_FAILED, why);
        else if (why->code)
            finding_say(&f, FINDING_SKIPPED, "it goes with the cluster role binding, which is still there");
        else if (how == KUBE_LEAVE_SHOW)
            finding_say(&f, FINDING_OK, "will be removed");
        else if (i == OBJECT_CLUSTER_BINDING)
            finding_say(&f, FINDING_OK, "removed");
        else
            finding_say(&f, FINDING_OK, "Kubernetes removes it with the cluster role binding");
        findings_add(steps, &f);
    }
}
