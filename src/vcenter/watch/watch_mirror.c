/* What a watch knows of one vCenter: taking over what is told, and telling what the database wants to know. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "watch_mirror.h"

#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "extension_record.h"
#include "limits.h"
#include "str.h"

/* A cluster, datacenter, folder or host. Virtual machines are struct node_vm. Both begin with their moref, by which the trees are sorted. */
struct watch_object {
    char *moref, *name, *parent;
    bool is_plain;                   /* a cluster above a host outside of any cluster */
    enum host_connection connection; /* of a host */
};

/* -- trees of objects whose first member is their moref ------------------------------------------------------------------------ */

static int watch_mirror_by_moref(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* The object with this moref (NULL is allowed), or NULL. */
static void *watch_objects_find(void *const *tree, const char *moref) {
    void *const *node = moref ? tfind(&moref, tree, watch_mirror_by_moref) : NULL;
    return node ? *node : NULL;
}

/* Zeroed but for its moref. */
static int add_object(struct watch_mirror *m, void **tree, const char *moref, size_t bytes, void **out, struct err *err) {
    char **object;
    if (m->count >= KAAS_VIM_OBJECTS_COUNT_MAX)
        return err_set(err, ERR_TOO_LARGE, "the vCenter has more than %d objects to watch", KAAS_VIM_OBJECTS_COUNT_MAX);
    object = calloc(1, bytes);
    if (object)
        *object = str_dup(moref);
    if (!object || !*object || !tsearch(object, tree, watch_mirror_by_moref)) {
        if (object)
            free(*object);
        free(object);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    m->count++;
    *out = object;
    return 0;
}

static void free_object(void *object) {
    struct watch_object *o = object;
    free(o->moref);
    free(o->name);
    free(o->parent);
    free(o);
}

static void free_vm(void *object) {
    struct node_vm *vm = object;
    free(vm->moref);
    free(vm->name);
    free(vm->instance_uuid);
    free(vm->bios_uuid);
    free(vm->host_moref);
    free(vm);
}

void watch_mirror_clear(struct watch_mirror *m) {
    tdestroy(m->clusters, free_object);
    tdestroy(m->datacenters, free_object);
    tdestroy(m->folders, free_object);
    tdestroy(m->hosts, free_object);
    tdestroy(m->vms, free_vm);
    m->clusters = m->datacenters = m->folders = m->hosts = m->vms = NULL;
    m->count = 0;
    vim_key_list_done(&m->keys);
    m->has_keys = false;
    m->changed |= WATCH_CLUSTERS | WATCH_NODES;
}

void watch_mirror_done(struct watch_mirror *m) {
    if (!m)
        return;
    watch_mirror_clear(m);
    memset(m, 0, sizeof(*m));
}

/* -- members ------------------------------------------------------------------------------------------------------------------- */

/* One update of one object: whether anything became different, or memory was missing. */
struct update {
    struct watch_mirror *m;
    unsigned bits;  /* of enum watch_change, if it does */
    unsigned unset; /* as told */
    bool has_changed, has_failed;
};

/* Looks up what is told of, or makes it. *out is NULL when it leaves. */
static int watch_mirror_begin_update(struct update *u, void **tree, enum vim_watch_op op, const char *moref, size_t bytes,
                                     void **out, struct err *err) {
    void *object = watch_objects_find(tree, moref);
    *out = object;
    if (op == VIM_WATCH_LEAVE) {
        *out = NULL;
        if (!object)
            return 0;
        (void)tdelete(&moref, tree, watch_mirror_by_moref);
        (tree == &u->m->vms ? free_vm : free_object)(object);
        u->m->count--;
    } else if (!object) {
        int rc = add_object(u->m, tree, moref, bytes, out, err);
        if (rc)
            return rc;
    } else {
        return 0;
    }
    u->has_changed = true;
    return 0;
}

static void watch_mirror_put_text(struct update *u, char **member, const char *told, unsigned bit) {
    char *copy;
    if (!told && !(u->unset & bit))
        return;
    if (told ? str_eq(*member, told) : !*member)
        return;
    copy = str_dup(told);
    if (told && !copy) {
        u->has_failed = true;
        return;
    }
    free(*member);
    *member = copy;
    u->has_changed = true;
}

struct word {
    const char *text;
    int value;
};

/* vCenter's words are an open list: those we do not know are 0, "unknown". */
static int watch_mirror_value_of(const struct word *words, const char *text) {
    for (; words->text; words++)
        if (str_eq(words->text, text))
            return words->value;
    return 0;
}

static int watch_mirror_new_value(const struct update *u, int now, const struct word *words, const char *told, unsigned bit) {
    if (told)
        return watch_mirror_value_of(words, told);
    return u->unset & bit ? 0 : now;
}

static int watch_mirror_end_update(const struct update *u, struct err *err) {
    if (u->has_changed)
        u->m->changed |= u->bits;
    return u->has_failed ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* -- what is told -------------------------------------------------------------------------------------------------------------- */

int watch_mirror_put_cluster(struct watch_mirror *m, const struct vim_watch_cluster *told, struct err *err) {
    struct update u = {.m = m, .bits = WATCH_CLUSTERS | WATCH_NODES, .unset = told->unset};
    struct watch_object *c = NULL;
    int rc = watch_mirror_begin_update(&u, &m->clusters, told->op, told->moref, sizeof(*c), (void **)&c, err);
    if (rc)
        return rc;
    if (c) {
        c->is_plain = told->is_plain;
        watch_mirror_put_text(&u, &c->name, told->name, VIM_WATCH_NAME);
        watch_mirror_put_text(&u, &c->parent, told->parent_moref, VIM_WATCH_PARENT);
    }
    return watch_mirror_end_update(&u, err);
}

int watch_mirror_put_datacenter(struct watch_mirror *m, const struct vim_watch_datacenter *told, struct err *err) {
    struct update u = {.m = m, .bits = WATCH_CLUSTERS, .unset = told->unset};
    struct watch_object *d = NULL;
    int rc = watch_mirror_begin_update(&u, &m->datacenters, told->op, told->moref, sizeof(*d), (void **)&d, err);
    if (rc)
        return rc;
    if (d)
        watch_mirror_put_text(&u, &d->name, told->name, VIM_WATCH_NAME);
    return watch_mirror_end_update(&u, err);
}

int watch_mirror_put_folder(struct watch_mirror *m, const struct vim_watch_folder *told, struct err *err) {
    struct update u = {.m = m, .bits = WATCH_CLUSTERS, .unset = told->unset};
    struct watch_object *f = NULL;
    int rc = watch_mirror_begin_update(&u, &m->folders, told->op, told->moref, sizeof(*f), (void **)&f, err);
    if (rc)
        return rc;
    if (f)
        watch_mirror_put_text(&u, &f->parent, told->parent_moref, VIM_WATCH_PARENT);
    return watch_mirror_end_update(&u, err);
}

/* HostSystemConnectionState */
static const struct word host_words[] = {{"connected", HOST_CONNECTION_CONNECTED},
                                         {"notResponding", HOST_CONNECTION_NOT_RESPONDING},
                                         {"disconnected", HOST_CONNECTION_DISCONNECTED},
                                         {NULL, 0}};

int watch_mirror_put_host(struct watch_mirror *m, const struct vim_watch_host *told, struct err *err) {
    struct update u = {.m = m, .bits = WATCH_NODES, .unset = told->unset};
    struct watch_object *h = NULL;
    int connection, rc = watch_mirror_begin_update(&u, &m->hosts, told->op, told->moref, sizeof(*h), (void **)&h, err);
    if (rc)
        return rc;
    if (h) {
        watch_mirror_put_text(&u, &h->name, told->name, VIM_WATCH_NAME);
        watch_mirror_put_text(&u, &h->parent, told->parent_moref, VIM_WATCH_PARENT);
        connection = watch_mirror_new_value(&u, (int)h->connection, host_words, told->connection, VIM_WATCH_CONNECTION);
        u.has_changed = u.has_changed || connection != (int)h->connection;
        h->connection = (enum host_connection)connection;
    }
    return watch_mirror_end_update(&u, err);
}

/* VirtualMachinePowerState, VirtualMachineConnectionState */
static const struct word power_words[] = {
    {"poweredOn", VM_POWER_ON}, {"poweredOff", VM_POWER_OFF}, {"suspended", VM_POWER_SUSPENDED}, {NULL, 0}};
static const struct word vm_words[] = {{"connected", VM_CONNECTION_CONNECTED}, {"disconnected", VM_CONNECTION_DISCONNECTED},
                                       {"orphaned", VM_CONNECTION_ORPHANED},   {"inaccessible", VM_CONNECTION_INACCESSIBLE},
                                       {"invalid", VM_CONNECTION_INVALID},     {NULL, 0}};

int watch_mirror_put_vm(struct watch_mirror *m, const struct vim_watch_vm *told, struct err *err) {
    struct update u = {.m = m, .bits = WATCH_NODES, .unset = told->unset};
    struct node_vm *vm = NULL;
    int power, connection, rc = watch_mirror_begin_update(&u, &m->vms, told->op, told->moref, sizeof(*vm), (void **)&vm, err);
    bool is_template;
    if (rc)
        return rc;
    if (!vm)
        return watch_mirror_end_update(&u, err);
    watch_mirror_put_text(&u, &vm->name, told->name, VIM_WATCH_NAME);
    watch_mirror_put_text(&u, &vm->instance_uuid, told->instance_uuid, VIM_WATCH_INSTANCE_UUID);
    watch_mirror_put_text(&u, &vm->bios_uuid, told->bios_uuid, VIM_WATCH_BIOS_UUID);
    watch_mirror_put_text(&u, &vm->host_moref, told->host_moref, VIM_WATCH_HOST);
    power = watch_mirror_new_value(&u, (int)vm->power, power_words, told->power, VIM_WATCH_POWER);
    connection = watch_mirror_new_value(&u, (int)vm->connection, vm_words, told->connection, VIM_WATCH_CONNECTION);
    is_template = told->has_is_template ? told->is_template : vm->is_template && !(u.unset & VIM_WATCH_TEMPLATE);
    if (power != (int)vm->power || connection != (int)vm->connection || is_template != vm->is_template)
        u.has_changed = true;
    vm->power = (enum vm_power)power;
    vm->connection = (enum vm_connection)connection;
    vm->is_template = is_template;
    return watch_mirror_end_update(&u, err);
}

/* -- extensions ---------------------------------------------------------------------------------------------------------------- */

static bool same_keys(const struct vim_key_list *a, const struct vim_key_list *b) {
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!str_eq(a->items[i], b->items[i]))
            return false;
    return true;
}

/* A deep copy in the same order. */
static int watch_keys_copy(const struct vim_key_list *from, struct vim_key_list *out, struct err *err) {
    struct vim_key_list copy = {.items = calloc(from->count + 1, sizeof(char *))};
    bool is_whole = copy.items;
    while (is_whole && copy.count < from->count) {
        copy.items[copy.count] = str_dup(from->items[copy.count]);
        is_whole = copy.items[copy.count];
        copy.count += is_whole;
    }
    if (!is_whole) {
        vim_key_list_done(&copy);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = copy;
    return 0;
}

void watch_sort_keys(struct vim_key_list *keys) {
    if (keys->count)
        qsort(keys->items, keys->count, sizeof(char *), watch_mirror_by_moref);
}

/* The first record that is told counts as a change, too: somebody may have changed it between the look at connect and the watch. */
static void note_record(struct watch_mirror *m, const struct vim_extension *own) {
    uint64_t digest = own ? extension_record_digest(own) : 0;
    if (!own || !m->has_record || digest != m->record_digest)
        m->changed |= WATCH_RECORD;
    m->has_record = own;
    m->record_digest = digest;
}

int watch_mirror_put_extensions(struct watch_mirror *m, const struct vim_key_list *keys, const struct vim_extension *own,
                                struct err *err) {
    struct vim_key_list copy = {0};
    int rc;
    note_record(m, own);
    rc = watch_keys_copy(keys, &copy, err);
    if (rc)
        return rc;
    watch_sort_keys(&copy);
    if (m->has_keys && same_keys(&m->keys, &copy)) {
        vim_key_list_done(&copy);
        return 0;
    }
    vim_key_list_done(&m->keys);
    m->keys = copy;
    m->has_keys = true;
    m->changed |= WATCH_CLUSTERS;
    return 0;
}

/* -- what the database wants to know ------------------------------------------------------------------------------- */

#define FOLDERS_DEPTH_MAX 64

/* twalk_r(3): inner nodes come three times, leaves once; in order of keys these are the ones. */
static bool is_its_turn(VISIT which) {
    return which == postorder || which == leaf;
}

/* -- clusters ------------------------------------------------------------------------------------------------------------------ */

struct cluster_walk {
    const struct watch_mirror *m;
    struct vim_cluster_list list;
    size_t alloc;
    bool has_failed;
};

/* Up through the folders; NULL if the way is not visible to us. */
static const char *watch_mirror_datacenter_of(const struct watch_mirror *m, const struct watch_object *c) {
    const char *at = c->parent;
    for (int depth = 0; at && depth < FOLDERS_DEPTH_MAX; depth++) {
        const struct watch_object *d = watch_objects_find(&m->datacenters, at);
        const struct watch_object *f;
        if (d)
            return d->name;
        f = watch_objects_find(&m->folders, at);
        at = f ? f->parent : NULL;
    }
    return NULL;
}

static bool watch_mirror_grow(struct cluster_walk *w) {
    size_t alloc = w->alloc ? w->alloc * 2 : 32;
    struct vim_cluster *items;
    if (w->list.count < w->alloc)
        return true;
    items = reallocarray(w->list.items, alloc, sizeof(*items));
    if (!items)
        return false;
    w->list.items = items;
    w->alloc = alloc;
    return true;
}

static bool add_cluster(struct cluster_walk *w, const struct watch_object *c) {
    const char *datacenter = watch_mirror_datacenter_of(w->m, c);
    struct vim_cluster *to;
    if (!watch_mirror_grow(w))
        return false;
    to = &w->list.items[w->list.count++];
    to->moref = str_dup(c->moref);
    to->name = str_dup(c->name);
    to->datacenter = str_dup(datacenter);
    return to->moref && to->name && (to->datacenter || !datacenter);
}

static void visit_cluster(const void *node, VISIT which, void *arg) {
    const struct watch_object *const *c = node;
    struct cluster_walk *w = arg;
    if (!is_its_turn(which) || w->has_failed || (*c)->is_plain || !(*c)->name)
        return;
    w->has_failed = !add_cluster(w, *c);
}

int watch_mirror_get_clusters(const struct watch_mirror *m, struct vim_cluster_list *out, struct err *err) {
    struct cluster_walk w = {.m = m};
    twalk_r(m->clusters, visit_cluster, &w);
    if (w.has_failed) {
        vim_cluster_list_done(&w.list);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = w.list;
    return 0;
}

int watch_mirror_get_keys(const struct watch_mirror *m, struct vim_key_list *out, struct err *err) {
    return watch_keys_copy(&m->keys, out, err);
}

/* -- nodes --------------------------------------------------------------------------------------------------------------------- */

void watch_nodes_done(struct watch_nodes *nodes) {
    if (!nodes)
        return;
    for (size_t i = 0; i < nodes->count; i++)
        node_observation_done(&nodes->items[i]);
    free(nodes->items);
    memset(nodes, 0, sizeof(*nodes));
}

static void visit_vm(const void *node, VISIT which, void *arg) {
    const struct node_vm *const *vm = node;
    if (is_its_turn(which))
        node_matcher_look(arg, *vm);
}

/* A copy in which the texts are borrowed. */
static struct node_observation watch_mirror_describe(const struct watch_mirror *m, const struct node_target *target,
                                                     const struct node_found *found) {
    const struct node_vm *vm = found->vm;
    const struct watch_object *host = watch_objects_find(&m->hosts, vm->host_moref);
    const struct watch_object *cluster = host ? watch_objects_find(&m->clusters, host->parent) : NULL;
    return (struct node_observation){
        .node_id = target->node_id,
        .match = found->match,
        .vm_moref = vm->moref,
        .vm_name = vm->name,
        .power = vm->power,
        .connection = vm->connection,
        .host_moref = vm->host_moref,
        .host_name = host ? host->name : NULL,
        .host_connection = host ? host->connection : HOST_CONNECTION_UNKNOWN,
        .cluster_moref = cluster && !cluster->is_plain ? cluster->moref : NULL,
        .instance_uuid = vm->instance_uuid,
        .bios_uuid = vm->bios_uuid,
    };
}

static int add_node(struct watch_nodes *nodes, const struct node_observation *seen, struct err *err) {
    int rc = node_observation_copy(seen, &nodes->items[nodes->count], err);
    nodes->count += !rc;
    return rc;
}

int watch_mirror_get_nodes(const struct watch_mirror *m, struct node_matcher *matcher, const struct node_target *targets,
                           size_t count, struct watch_nodes *out, struct err *err) {
    struct watch_nodes nodes = {.items = calloc(count + 1, sizeof(struct node_observation))};
    int rc = nodes.items ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    node_matcher_reset(matcher);
    if (count)
        twalk_r(m->vms, visit_vm, matcher);
    for (size_t i = 0; !rc && i < count; i++) {
        struct node_found found = node_matcher_get(matcher, i);
        struct node_observation seen;
        nodes.ambiguous += found.is_ambiguous;
        if (!found.vm)
            continue;
        seen = watch_mirror_describe(m, &targets[i], &found);
        rc = add_node(&nodes, &seen, err);
    }
    if (rc) {
        watch_nodes_done(&nodes);
        return rc;
    }
    *out = nodes;
    return 0;
}

bool watch_mirror_has_no_vm(const struct watch_mirror *m) {
    return !m->vms;
}

/* -- which virtual machine is which node: pure --------------------------------------------------------------------- */

/* The targets are few and seldom change, the machines are many: so the targets are sorted, by each of the three properties, and each machine is
 * looked up among them. */

enum { BY_INSTANCE, BY_BIOS, BY_NAME, PROPERTIES };

/* A value that some target has. */
struct key {
    const char *text;
    size_t target;
};

/* The machines that have what a target has. */
struct hits {
    const struct node_vm *first;
    unsigned count;
};

struct node_matcher {
    size_t count;
    struct key *keys[PROPERTIES];
    size_t key_count[PROPERTIES];
    struct hits (*hits)[PROPERTIES];
};

/* UUIDs are compared without case, names with it. */
static int watch_mirror_compare_texts(int property, const char *a, const char *b) {
    return property == BY_NAME ? strcmp(a, b) : strcasecmp(a, b);
}

static int by_uuid(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    return strcasecmp(x->text, y->text);
}

static int watch_mirror_by_name(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static const char *wanted_of(const struct node_target *t, int property) {
    const char *texts[PROPERTIES] = {t->vm_instance_uuid, t->vm_bios_uuid, t->vm_name};
    return texts[property];
}

static const char *watch_mirror_text_of(const struct node_vm *vm, int property) {
    const char *texts[PROPERTIES] = {vm->instance_uuid, vm->bios_uuid, vm->name};
    return texts[property];
}

static void watch_mirror_fill(struct node_matcher *m, const struct node_target *targets, int property) {
    struct key *keys = m->keys[property];
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++) {
        const char *text = wanted_of(&targets[i], property);
        if (!str_empty(text))
            keys[n++] = (struct key){text, i};
    }
    m->key_count[property] = n;
    qsort(keys, n, sizeof(*keys), property == BY_NAME ? watch_mirror_by_name : by_uuid);
}

void node_matcher_free(struct node_matcher *m) {
    if (!m)
        return;
    for (int p = 0; p < PROPERTIES; p++)
        free(m->keys[p]);
    free(m->hits);
    free(m);
}

int node_matcher_new(const struct node_target *targets, size_t count, struct node_matcher **out, struct err *err) {
    struct node_matcher *m = calloc(1, sizeof(*m));
    bool is_whole = m;
    if (m) {
        m->count = count;
        m->hits = calloc(count + 1, sizeof(*m->hits));
        is_whole = m->hits;
    }
    for (int p = 0; is_whole && p < PROPERTIES; p++) {
        m->keys[p] = calloc(count + 1, sizeof(struct key));
        is_whole = m->keys[p];
        if (is_whole)
            watch_mirror_fill(m, targets, p);
    }
    if (!is_whole) {
        node_matcher_free(m);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = m;
    return 0;
}

void node_matcher_reset(struct node_matcher *m) {
    memset(m->hits, 0, (m->count + 1) * sizeof(*m->hits));
}

/* The first key that is not before `text`. */
static size_t watch_mirror_find_first(const struct node_matcher *m, int property, const char *text) {
    size_t low = 0, high = m->key_count[property];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (watch_mirror_compare_texts(property, m->keys[property][middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void watch_mirror_look_by(struct node_matcher *m, int property, const struct node_vm *vm) {
    const char *text = watch_mirror_text_of(vm, property);
    if (str_empty(text))
        return;
    for (size_t i = watch_mirror_find_first(m, property, text); i < m->key_count[property]; i++) {
        const struct key *key = &m->keys[property][i];
        struct hits *hits = &m->hits[key->target][property];
        if (watch_mirror_compare_texts(property, key->text, text))
            return;
        if (!hits->count++)
            hits->first = vm;
    }
}

void node_matcher_look(struct node_matcher *m, const struct node_vm *vm) {
    if (vm->is_template)
        return;
    for (int p = 0; p < PROPERTIES; p++)
        watch_mirror_look_by(m, p, vm);
}

struct node_found node_matcher_get(const struct node_matcher *m, size_t i) {
    static const enum vm_match names[PROPERTIES] = {VM_MATCH_INSTANCE_UUID, VM_MATCH_BIOS_UUID, VM_MATCH_NAME};
    struct node_found found = {.match = VM_MATCH_NONE};
    for (int p = 0; p < PROPERTIES; p++) {
        const struct hits *hits = &m->hits[i][p];
        if (!hits->count)
            continue;
        found.is_ambiguous = hits->count > 1;
        found.vm = found.is_ambiguous ? NULL : hits->first;
        found.match = found.is_ambiguous ? VM_MATCH_NONE : names[p];
        break;
    }
    return found;
}
