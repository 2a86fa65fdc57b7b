/* What a provider's document names, found at its vCenter. Layer 5 (provision). SPDX-License-Identifier: GPL-3.0-or-later */
#include "providers_private.h"

#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "platform.h"
#include "str.h"
#include "strbuf.h"
#include "vim_object.h"

#define NAMED_BYTES 300 /* of those that a message names */
#define FITTING_MAX 100

/* What a place may be. */
static const struct place_rule {
    const char *noun;
    const char *types[2];
} place_rules[PROVIDER_PLACES_COUNT] = {
    [PROVIDER_VSPHERE_CLUSTER] = {"vSphere cluster", {"ClusterComputeResource"}},
    [PROVIDER_RESOURCE_POOL] = {"resource pool", {"ResourcePool"}},
    [PROVIDER_FOLDER] = {"folder of virtual machines", {"Folder"}},
    [PROVIDER_DATASTORE] = {"datastore", {"Datastore"}},
    [PROVIDER_NETWORK] = {"network", {"Network", "DistributedVirtualPortgroup"}},
    [PROVIDER_TEMPLATE] = {"template", {"VirtualMachine"}},
};

const char *provider_place_noun(enum provider_place_kind kind) {
    return place_rules[kind].noun;
}

/* All objects of the vCenter that a place can be, or can lie in. */
static const char *const read_types[] = {"Folder",    "Datacenter", "ComputeResource", "ResourcePool",
                                         "Datastore", "Network",    "VirtualMachine",  NULL};

struct resolving {
    struct link *link;
    char vcenter[LINK_NAME_BYTES];
    struct provider *provider;
    struct vim_object_list objects;
    const struct vim_object *datacenter; /* of the vSphere cluster */
};

/* -- which objects fit ------------------------------------------------------------------------------------------------------- */

/* Folders hold one kind of things each, as the one that the datacenter has for them. */
static bool is_for_machines(const struct resolving *r, const struct vim_object *folder) {
    for (const struct vim_object *above; folder; folder = above) {
        above = vim_object_find(&r->objects, folder->parent);
        if (above && str_eq(above->type, "Datacenter"))
            return str_eq(folder->name, "vm");
    }
    return false;
}

static bool is_of_kind(const struct resolving *r, enum provider_place_kind kind, const struct vim_object *object) {
    const struct place_rule *rule = &place_rules[kind];
    if (!str_eq(object->type, rule->types[0]) && !(rule->types[1] && str_eq(object->type, rule->types[1])))
        return false;
    return kind != PROVIDER_FOLDER || is_for_machines(r, object);
}

/* As a managed object id, as a path with or without the slash before it, or as a name. */
static bool is_given_as(const struct resolving *r, const struct vim_object *object, const char *given, bool *is_name) {
    *is_name = false;
    if (str_eq(object->moref, given))
        return true;
    if (vsphere_name_is(object->name, given)) {
        *is_name = true;
        return true;
    }
    if (!strchr(given, '/'))
        return false;
    _cleanup_free_ char *path = vim_object_path(&r->objects, object);
    return path && vsphere_name_is(path + (*given != '/'), given);
}

/* Those that fit, at most FITTING_MAX. */
struct fitting {
    const struct vim_object *items[FITTING_MAX];
    size_t count;
};

static bool provider_is_in_datacenter(const struct resolving *r, const struct vim_object *object) {
    return !r->datacenter || vim_object_around(&r->objects, object, "Datacenter") == r->datacenter;
}

/* A name may be given in several datacenters: that of the vSphere cluster is meant, if there is one in it. */
static void find_fitting(const struct resolving *r, enum provider_place_kind kind, struct fitting *out) {
    const char *given = r->provider->places[kind].given;
    struct fitting elsewhere = {.count = 0};
    bool is_name;
    out->count = 0;
    for (size_t i = 0; i < r->objects.count; i++) {
        const struct vim_object *object = &r->objects.items[i];
        if (!is_of_kind(r, kind, object) || !is_given_as(r, object, given, &is_name))
            continue;
        struct fitting *to = is_name && !provider_is_in_datacenter(r, object) ? &elsewhere : out;
        if (to->count < FITTING_MAX)
            to->items[to->count++] = object;
    }
    if (!out->count)
        *out = elsewhere;
}

/* -- messages ---------------------------------------------------------------------------------------------------------------- */

/* Appends "/DC0/vm/kaas (group-v3)" for each until there are enough. */
static void name_objects(const struct resolving *r, const struct fitting *fitting, struct strbuf *out) {
    for (size_t i = 0; i < fitting->count; i++) {
        _cleanup_free_ char *path = vim_object_path(&r->objects, fitting->items[i]);
        if (out->len + strlen(path ? path : "") + 64 > NAMED_BYTES) {
            strbuf_addf(out, " and %zu more", fitting->count - i);
            return;
        }
        strbuf_addf(out, "%s%s (%s)", i ? ", " : "", path ? path : fitting->items[i]->name, fitting->items[i]->moref);
    }
}

static int refuse_ambiguous(const struct resolving *r, enum provider_place_kind kind, const struct fitting *fitting,
                            struct err *err) {
    _cleanup_strbuf_ struct strbuf names;
    strbuf_init(&names, 2 * NAMED_BYTES);
    name_objects(r, fitting, &names);
    (void)err_set(err, ERR_AMBIGUOUS, "%s: vCenter %s has %zu of the name \"%.60s\": %s", provider_place_words[kind], r->vcenter,
                  fitting->count, r->provider->places[kind].given, names.data);
    return err_remedy(err, "give the path of one of them, or the id behind it");
}

static bool is_nearly(const struct vim_object *object, const char *given) {
    const char *slash = strrchr(given, '/'), *last = slash && slash[1] ? slash + 1 : given;
    return name_same(object->name, last);
}

static int provider_refuse_missing(const struct resolving *r, enum provider_place_kind kind, struct err *err) {
    const char *given = r->provider->places[kind].given;
    struct fitting near = {.count = 0}, all = {.count = 0};
    _cleanup_strbuf_ struct strbuf names;
    strbuf_init(&names, 2 * NAMED_BYTES);
    for (size_t i = 0; i < r->objects.count && all.count < FITTING_MAX; i++) {
        const struct vim_object *object = &r->objects.items[i];
        if (!is_of_kind(r, kind, object))
            continue;
        if (is_nearly(object, given) && near.count < FITTING_MAX)
            near.items[near.count++] = object;
        if (provider_is_in_datacenter(r, object) && kind != PROVIDER_TEMPLATE)
            all.items[all.count++] = object;
    }
    name_objects(r, near.count ? &near : &all, &names);
    (void)err_set(err, ERR_UNPROCESSABLE, "%s: vCenter %s has no %s \"%.100s\" that kaasd may see", provider_place_words[kind],
                  r->vcenter, place_rules[kind].noun, given);
    if (near.count)
        return err_remedy(err, "did you mean %s?", names.data);
    if (all.count)
        return err_remedy(err, "there is %s", names.data);
    return err_remedy(err, "give its name, path or managed object id at this very vCenter, as govc find prints them");
}

/* -- one place --------------------------------------------------------------------------------------------------------------- */

static int set_place(const struct resolving *r, const struct vim_object *object, struct provider_place *place, struct err *err) {
    _cleanup_free_ char *path = vim_object_path(&r->objects, object);
    if (!path)
        return err_set(err, ERR_PROTOCOL, "vCenter %s does not tell where %.80s lies", r->vcenter, object->moref);
    int rc = str_replace(&place->type, object->type, err);
    rc = rc ? rc : str_replace(&place->name, object->name, err);
    rc = rc ? rc : str_replace(&place->path, path, err);
    return rc ? rc : str_replace(&place->moref, object->moref, err);
}

static int check_datacenter(const struct resolving *r, enum provider_place_kind kind, const struct vim_object *object,
                            struct err *err) {
    const struct vim_object *other = vim_object_around(&r->objects, object, "Datacenter");
    if (kind == PROVIDER_TEMPLATE || provider_is_in_datacenter(r, object)) /* a template may be cloned from elsewhere */
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "%s: %.100s (%s) is in datacenter %.60s, the vSphere cluster in %.60s",
                  provider_place_words[kind], object->name, object->moref, other ? other->name : "?", r->datacenter->name);
    return err_remedy(err, "name one of datacenter %.100s", r->datacenter->name);
}

static int resolve_place(const struct resolving *r, enum provider_place_kind kind, const struct vim_object **out,
                         struct err *err) {
    struct fitting fitting;
    find_fitting(r, kind, &fitting);
    if (!fitting.count)
        return provider_refuse_missing(r, kind, err);
    if (fitting.count > 1)
        return refuse_ambiguous(r, kind, &fitting, err);
    *out = fitting.items[0];
    int rc = check_datacenter(r, kind, *out, err);
    return rc ? rc : set_place(r, *out, &r->provider->places[kind], err);
}

/* -- cluster and pool, of which one is given --------------------------------------------------------------------------------- */

static const struct vim_object *find_root_pool(const struct resolving *r, const struct vim_object *cluster) {
    for (size_t i = 0; i < r->objects.count; i++)
        if (str_eq(r->objects.items[i].type, "ResourcePool") && str_eq(r->objects.items[i].parent, cluster->moref))
            return &r->objects.items[i];
    return NULL;
}

static int resolve_pool(struct resolving *r, struct err *err) {
    struct provider_place *places = r->provider->places;
    const struct vim_object *cluster = NULL, *pool = NULL;
    int rc;
    if (places[PROVIDER_VSPHERE_CLUSTER].given) {
        rc = resolve_place(r, PROVIDER_VSPHERE_CLUSTER, &cluster, err);
        pool = rc ? NULL : find_root_pool(r, cluster);
        if (!rc && !pool)
            rc = err_set(err, ERR_UNPROCESSABLE, "vsphere_cluster: kaasd may not see the resource pool of %.100s", cluster->name);
        rc = rc ? rc : set_place(r, pool, &places[PROVIDER_RESOURCE_POOL], err);
    } else {
        rc = resolve_place(r, PROVIDER_RESOURCE_POOL, &pool, err);
        cluster = rc ? NULL : vim_object_around(&r->objects, pool, "ClusterComputeResource");
        if (!rc && !cluster) {
            (void)err_set(err, ERR_UNPROCESSABLE, "resource_pool: %.100s is in no vSphere cluster", pool->name);
            rc = err_remedy(err, "name a pool of a vSphere cluster: machines of a single host are lost with it");
        }
        rc = rc ? rc : set_place(r, cluster, &places[PROVIDER_VSPHERE_CLUSTER], err);
    }
    if (!rc)
        r->datacenter = vim_object_around(&r->objects, cluster, "Datacenter");
    return rc;
}

/* Only what was given counts. */
static void forget_places(struct provider *provider) {
    for (size_t i = 0; i < PROVIDER_PLACES_COUNT; i++) {
        char *given = STEAL(provider->places[i].given);
        provider_place_done(&provider->places[i]);
        provider->places[i].given = given;
    }
}

int provider_resolve(struct link *link, struct provider *provider, struct err *err) {
    struct resolving r = {.link = link, .provider = provider};
    const struct vim_object *found = NULL;
    link_get_name(link, r.vcenter);
    forget_places(provider);
    int rc = vim_list_objects(link_client(link), read_types, &r.objects, err);
    rc = rc ? rc : resolve_pool(&r, err);
    for (size_t kind = PROVIDER_FOLDER; !rc && kind < PROVIDER_PLACES_COUNT; kind++)
        rc = resolve_place(&r, (enum provider_place_kind)kind, &found, err);
    vim_object_list_done(&r.objects);
    return rc;
}
