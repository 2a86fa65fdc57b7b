/* The objects of a bundle, by server-side apply. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bundles.h"
#include "clock.h"
#include "kubernetes_private.h"
#include "str.h"

#define OBJECT_BYTES_MAX (1280U * 1024U) /* in JSON; etcd takes 1.5 MiB */
#define REPLY_BYTES_MAX (4U * 1024U * 1024U)
#define KIND_MS 60000
#define KIND_LOOK_MS 200
#define QUERY "?fieldManager=" BUNDLE_MANAGER "&fieldValidation=Strict"
/* Whose fields are whose is as long as the object; nobody reads the answer. */
#define ACCEPT "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"

struct bundle_applier {
    struct k8s_client *client;
    const struct bundle *bundle;
    json_t *kinds;        /* of the API server: an APIResourceList by apiVersion */
    int64_t kinds_end_ms; /* monotonic clock: until then a kind that is not known is waited for */
    kube_bundle_say_fn say;
    void *arg;
};

/* -- what it is ---------------------------------------------------------------------------------------------------- */

static bool is_a(const json_t *object, const char *group, const char *kind) {
    const char *api = json_get_string(object, "apiVersion");
    return str_eq(json_get_string(object, "kind"), kind) && (*group ? str_starts(api, group) : str_eq(api, "v1"));
}

/* In which turn it is applied. */
static unsigned turn_of(const json_t *object) {
    return is_a(object, "", "Namespace") ? 0 : is_a(object, "apiextensions.k8s.io/", "CustomResourceDefinition") ? 1 : 2;
}

/* "DaemonSet kube-system/kube-router", malloc'ed. */
static char *bundle_describe(const json_t *object) {
    const json_t *metadata = json_object_get(object, "metadata");
    const char *namespace = json_get_string(metadata, "namespace");
    return str_format("%s %s%s%s", json_get_string(object, "kind"), namespace ? namespace : "", namespace ? "/" : "",
                      json_get_string(metadata, "name"));
}

/* -- where it is --------------------------------------------------------------------------------------------------- */

/* The APIResource of its kind, borrowed, in *out; NULL: the API server does not know it. */
static int kind_find(struct bundle_applier *a, const json_t *object, const json_t **out, struct err *err) {
    const char *api = json_get_string(object, "apiVersion"), *kind = json_get_string(object, "kind");
    json_t *list = json_object_get(a->kinds, api), *item;
    size_t i;
    *out = NULL;
    if (!list) {
        _cleanup_free_ char *path = str_format("%s/%s", strchr(api, '/') ? "/apis" : "/api", api);
        struct err why = {0};
        int rc = path ? kube_ask(a->client, &(struct kube_question){.method = "GET", .path = path}, &list, &why)
                      : err_set(&why, ERR_NOMEM, "out of memory");
        if (rc)
            return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
        if (json_object_set_new(a->kinds, api, list))
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    json_array_foreach (json_object_get(list, "resources"), i, item) {
        const char *name = json_get_string(item, "name");
        if (str_eq(json_get_string(item, "kind"), kind) && name && !strchr(name, '/')) /* those with one are parts of an object */
            *out = item;
    }
    return 0;
}

/* As kind_find, and waits for a kind that a definition of this bundle may have brought just now. */
static int kind_await(struct bundle_applier *a, const json_t *object, const json_t **out, struct err *err) {
    const struct timespec pause = {.tv_nsec = KIND_LOOK_MS * 1000000L};
    const char *api = json_get_string(object, "apiVersion"), *kind = json_get_string(object, "kind");
    int rc = kind_find(a, object, out, err);
    while (!rc && !*out && clock_mono_ms() < a->kinds_end_ms) {
        (void)nanosleep(&pause, NULL);
        (void)json_object_del(a->kinds, api);
        rc = kind_find(a, object, out, err);
    }
    if (rc || *out)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "this Kubernetes knows no kind %s of %s", kind, api);
    return err_remedy(err, "take a bundle for its version, or put the definition of the kind into it");
}

/* Its path with the query, malloc'ed, in *out. */
static int bundle_path_of(struct bundle_applier *a, const json_t *object, char **out, struct err *err) {
    const json_t *kind = NULL, *metadata = json_object_get(object, "metadata");
    const char *api = json_get_string(object, "apiVersion"), *namespace = json_get_string(metadata, "namespace");
    int rc = kind_await(a, object, &kind, err);
    if (rc)
        return rc;
    const bool is_namespaced = json_get_bool(kind, "namespaced", false);
    if (is_namespaced && !namespace) {
        (void)err_set(err, ERR_UNPROCESSABLE, "it has no metadata.namespace");
        return err_remedy(err, "write the namespace that it is to be in");
    }
    *out = str_format("%s/%s/%s%s%s%s/%s" QUERY, strchr(api, '/') ? "/apis" : "/api", api, is_namespaced ? "namespaces/" : "",
                      is_namespaced ? namespace : "", is_namespaced ? "/" : "", json_get_string(kind, "name"),
                      json_get_string(metadata, "name"));
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- applying it --------------------------------------------------------------------------------------------------- */

/* What the server has refused is a mistake in the manifest, or somebody else's field. A field that no version has is answered 500 by the server-side apply of Kubernetes 1.36. */
static int bundle_judge(long status, int rc, struct err *why) {
    const bool is_mistake = status == 400 || status == 422 || strstr(why->text, "failed to create typed patch object");
    const bool is_others = status == 409 && strstr(why->text, "Apply failed");
    if (!is_mistake && !is_others)
        return rc;
    rc = why->code = is_mistake ? ERR_UNPROCESSABLE : ERR_CONFLICT;
    why->remedy[0] = 0;
    (void)err_remedy(why, "%s",
                     is_mistake ? "correct the manifest, and write its digest into SHA256SUMS anew"
                                : "take these fields out of the manifest, or remove them from the object, whoever has set them");
    return rc;
}

static int object_send(struct bundle_applier *a, const json_t *object, bool *is_created, struct err *err) {
    _cleanup_free_ char *path = NULL;
    _cleanup_strbuf_ struct strbuf body, reply;
    long status = 0;
    strbuf_init(&body, OBJECT_BYTES_MAX);
    strbuf_init(&reply, REPLY_BYTES_MAX);
    int rc = bundle_path_of(a, object, &path, err);
    rc = rc ? rc : json_write(object, &body, err);
    if (rc)
        return rc;
    const struct k8s_call call = {.method = "PATCH",
                                  .path = path,
                                  .accept = ACCEPT,
                                  .body_type = "application/apply-patch+yaml", /* JSON is YAML */
                                  .body = &body,
                                  .reply_bytes_max = REPLY_BYTES_MAX};
    rc = k8s_call(a->client, &call, &reply, &status, err);
    *is_created = status == 201;
    return rc ? bundle_judge(status, rc, err) : 0;
}

/* An API server may say for a moment that there is nothing at a path whose kind it has just told. */
static int object_apply(struct bundle_applier *a, const struct bundle_object *object, struct err *err) {
    _cleanup_free_ char *what = bundle_describe(object->json);
    const struct timespec pause = {.tv_nsec = KIND_LOOK_MS * 1000000L};
    struct err why = {0};
    bool is_created = false;
    int rc = what ? object_send(a, object->json, &is_created, &why) : err_set(&why, ERR_NOMEM, "out of memory");
    while (rc == ERR_NOT_FOUND && clock_mono_ms() < a->kinds_end_ms) {
        (void)nanosleep(&pause, NULL);
        err_clear(&why);
        rc = object_send(a, object->json, &is_created, &why);
    }
    if (!rc) {
        _cleanup_free_ char *told = str_format("%s %s", is_created ? "created" : "applied", what);
        if (a->say && told)
            a->say(a->arg, told);
        return 0;
    }
    (void)err_set(err, rc, "bundle %s: %s: %s: %s", a->bundle->name, object->place, what ? what : "", why.text);
    return err_remedy(err, "%s", why.remedy);
}

int kube_bundle_apply(struct k8s_client *client, const struct bundle *bundle, kube_bundle_say_fn say, void *arg,
                      struct err *err) {
    _cleanup_json_ json_t *kinds = json_object();
    struct bundle_applier a = {.client = client, .bundle = bundle, .kinds = kinds, .say = say, .arg = arg};
    int rc = kinds ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    for (unsigned turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < bundle->count && !rc; i++) {
            if (turn_of(bundle->objects[i].json) != turn)
                continue;
            rc = object_apply(&a, &bundle->objects[i], err);
            if (turn == 1)
                a.kinds_end_ms = clock_mono_ms() + KIND_MS;
        }
    return rc;
}
