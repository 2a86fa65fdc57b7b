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
#include "uuid.h"

/* -- trees of objects, whose first member is their moref ----------------------------------------------------------------------- */

static int watch_mirror_by_moref(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* The object with this moref (NULL is allowed), or NULL. */
static struct watch_object *find_object(const struct watch_mirror *m, enum vim_object_kind kind, const char *moref) {
    void *const *node = moref ? tfind(&moref, &m->trees[kind], watch_mirror_by_moref) : NULL;
    return node ? *node : NULL;
}

/* Texts, as they are told and as they are kept. */
static const struct {
    size_t told, kept;
    unsigned bit;
} texts[] = {
#define TEXT(member, bit) \
    { offsetof(struct vim_watch_object, member), offsetof(struct watch_object, member), bit }
    TEXT(name, VIM_WATCH_NAME),           TEXT(parent_moref, VIM_WATCH_PARENT),
    TEXT(host_moref, VIM_WATCH_HOST),     TEXT(instance_uuid, VIM_WATCH_INSTANCE_UUID),
    TEXT(bios_uuid, VIM_WATCH_BIOS_UUID),
#undef TEXT
};

static char **watch_mirror_text_at(struct watch_object *object, size_t i) {
    return (char **)(void *)((char *)object + texts[i].kept);
}

static void free_object(void *object) {
    struct watch_object *o = object;
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        free(*watch_mirror_text_at(o, i));
    free(o->moref);
    free(o);
}

static int add_object(struct watch_mirror *m, const struct vim_watch_object *told, struct watch_object **out, struct err *err) {
    struct watch_object *o;
    if (m->count >= KAAS_VIM_OBJECTS_COUNT_MAX)
        return err_set(err, ERR_TOO_LARGE, "the vCenter has more than %d objects to watch", KAAS_VIM_OBJECTS_COUNT_MAX);
    o = calloc(1, sizeof(*o));
    if (o)
        o->moref = str_dup(told->moref);
    if (!o || !o->moref || !tsearch(o, &m->trees[told->kind], watch_mirror_by_moref)) {
        if (o)
            free_object(o);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    m->count++;
    *out = o;
    return 0;
}

void watch_mirror_clear(struct watch_mirror *m) {
    for (int kind = 0; kind < VIM_OBJECT_KINDS; kind++)
        tdestroy(m->trees[kind], free_object);
    memset(m->trees, 0, sizeof(m->trees));
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

/* -- what is told -------------------------------------------------------------------------------------------------------------- */

/* vCenter's words are an open list: those we do not know are 0, "unknown". */
struct word {
    const char *text;
    int value;
};

/* HostSystemConnectionState, VirtualMachinePowerState, VirtualMachineConnectionState */
static const struct word host_words[] = {{"connected", HOST_CONNECTION_CONNECTED},
                                         {"notResponding", HOST_CONNECTION_NOT_RESPONDING},
                                         {"disconnected", HOST_CONNECTION_DISCONNECTED},
                                         {NULL, 0}};
static const struct word power_words[] = {
    {"poweredOn", VM_POWER_ON}, {"poweredOff", VM_POWER_OFF}, {"suspended", VM_POWER_SUSPENDED}, {NULL, 0}};
static const struct word vm_words[] = {{"connected", VM_CONNECTION_CONNECTED}, {"disconnected", VM_CONNECTION_DISCONNECTED},
                                       {"orphaned", VM_CONNECTION_ORPHANED},   {"inaccessible", VM_CONNECTION_INACCESSIBLE},
                                       {"invalid", VM_CONNECTION_INVALID},     {NULL, 0}};

/* The value of what was told; `now` if nothing was. */
static int watch_mirror_new_value(int now, const struct word *words, const char *told, bool is_unset) {
    if (!told)
        return is_unset ? 0 : now;
    while (words->text && !str_eq(words->text, told))
        words++;
    return words->value;
}

static int put_texts(struct watch_object *o, const struct vim_watch_object *told, bool *has_changed, struct err *err) {
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        const char *text = *(const char *const *)(const void *)((const char *)told + texts[i].told);
        char **kept = watch_mirror_text_at(o, i);
        if ((!text && !(told->unset & texts[i].bit)) || str_eq(*kept, text))
            continue;
        if (str_replace(kept, text, err))
            return ERR_NOMEM;
        *has_changed = true;
    }
    return 0;
}

static bool put_values(struct watch_object *o, const struct vim_watch_object *told) {
    const struct watch_object before = *o;
    const bool is_unset = told->unset & VIM_WATCH_CONNECTION;
    o->is_plain = told->is_plain;
    if (told->kind == VIM_OBJECT_HOST)
        o->host_connection =
            (enum host_connection)watch_mirror_new_value((int)before.host_connection, host_words, told->connection, is_unset);
    if (told->kind != VIM_OBJECT_VM)
        return o->host_connection != before.host_connection;
    o->connection = (enum vm_connection)watch_mirror_new_value((int)before.connection, vm_words, told->connection, is_unset);
    o->power = (enum vm_power)watch_mirror_new_value((int)before.power, power_words, told->power, told->unset & VIM_WATCH_POWER);
    o->is_template = told->has_is_template ? told->is_template : before.is_template && !(told->unset & VIM_WATCH_TEMPLATE);
    return o->connection != before.connection || o->power != before.power || o->is_template != before.is_template;
}

static const unsigned bits_of[VIM_OBJECT_KINDS] = {
    [VIM_OBJECT_CLUSTER] = WATCH_CLUSTERS | WATCH_NODES,
    [VIM_OBJECT_DATACENTER] = WATCH_CLUSTERS,
    [VIM_OBJECT_FOLDER] = WATCH_CLUSTERS,
    [VIM_OBJECT_HOST] = WATCH_NODES,
    [VIM_OBJECT_VM] = WATCH_NODES,
};

int watch_mirror_put(struct watch_mirror *m, const struct vim_watch_object *told, struct err *err) {
    struct watch_object *o = find_object(m, told->kind, told->moref);
    bool has_changed = false;
    int rc = 0;
    if (told->op == VIM_WATCH_LEAVE) {
        if (!o)
            return 0;
        (void)tdelete(&told->moref, &m->trees[told->kind], watch_mirror_by_moref);
        free_object(o);
        m->count--;
        m->changed |= bits_of[told->kind];
        return 0;
    }
    if (!o) {
        rc = add_object(m, told, &o, err);
        if (rc)
            return rc;
        has_changed = true;
    }
    rc = put_texts(o, told, &has_changed, err);
    if (put_values(o, told) || has_changed)
        m->changed |= bits_of[told->kind];
    return rc;
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
    if (copy.count)
        qsort(copy.items, copy.count, sizeof(char *), watch_mirror_by_moref);
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
    struct watch_inventory found;
    size_t alloc;
    bool has_failed;
};

void watch_inventory_done(struct watch_inventory *inventory) {
    if (!inventory)
        return;
    for (size_t i = 0; i < inventory->count; i++) {
        free(inventory->clusters[i].moref);
        free(inventory->clusters[i].name);
        free(inventory->clusters[i].datacenter);
        free(inventory->clusters[i].datacenter_moref);
    }
    free(inventory->clusters);
    vim_key_list_done(&inventory->keys);
    memset(inventory, 0, sizeof(*inventory));
}

bool watch_inventory_same(const struct watch_inventory *a, const struct watch_inventory *b) {
    if (a->count != b->count || !same_keys(&a->keys, &b->keys))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct watch_cluster *x = &a->clusters[i], *y = &b->clusters[i];
        if (!str_eq(x->moref, y->moref) || !str_eq(x->name, y->name) || !str_eq(x->datacenter, y->datacenter) ||
            !str_eq(x->datacenter_moref, y->datacenter_moref))
            return false;
    }
    return true;
}

/* Up through the folders; NULL if the way is not visible to us. */
static const struct watch_object *watch_mirror_datacenter_of(const struct watch_mirror *m, const struct watch_object *c) {
    const char *at = c->parent_moref;
    for (int depth = 0; at && depth < FOLDERS_DEPTH_MAX; depth++) {
        const struct watch_object *d = find_object(m, VIM_OBJECT_DATACENTER, at);
        const struct watch_object *f;
        if (d)
            return d;
        f = find_object(m, VIM_OBJECT_FOLDER, at);
        at = f ? f->parent_moref : NULL;
    }
    return NULL;
}

static const struct watch_object *watch_mirror_container(const struct watch_mirror *m, const char *moref) {
    const struct watch_object *o = find_object(m, VIM_OBJECT_FOLDER, moref);
    return o ? o : find_object(m, VIM_OBJECT_DATACENTER, moref);
}

static void add_step(struct strbuf *out, const char *name) {
    strbuf_addc(out, '/');
    for (; *name; name++)
        if (*name == '/')
            strbuf_adds(out, "%2f");
        else
            strbuf_addc(out, *name);
}

/* The root folder is above the path: what has no parent is not named. */
bool watch_mirror_get_path(const struct watch_mirror *m, const char *moref, struct strbuf *out) {
    const struct watch_object *way[FOLDERS_DEPTH_MAX];
    const struct watch_object *at = find_object(m, VIM_OBJECT_CLUSTER, moref);
    size_t n = 0;
    while (at && at->name && at->parent_moref && n < FOLDERS_DEPTH_MAX) {
        way[n++] = at;
        at = watch_mirror_container(m, at->parent_moref);
    }
    if (!at || !n || at->parent_moref)
        return false;
    while (n--)
        add_step(out, way[n]->name);
    return true;
}

static bool watch_mirror_grow(struct cluster_walk *w) {
    size_t alloc = w->alloc ? w->alloc * 2 : 32;
    struct watch_cluster *clusters;
    if (w->found.count < w->alloc)
        return true;
    clusters = reallocarray(w->found.clusters, alloc, sizeof(*clusters));
    if (!clusters)
        return false;
    w->found.clusters = clusters;
    w->alloc = alloc;
    return true;
}

static bool add_cluster(struct cluster_walk *w, const struct watch_object *c) {
    const struct watch_object *datacenter = watch_mirror_datacenter_of(w->m, c);
    struct watch_cluster *to;
    if (!watch_mirror_grow(w))
        return false;
    to = &w->found.clusters[w->found.count++];
    to->moref = str_dup(c->moref);
    to->name = str_dup(c->name);
    to->datacenter = str_dup(datacenter ? datacenter->name : NULL);
    to->datacenter_moref = str_dup(datacenter ? datacenter->moref : NULL);
    return to->moref && to->name && (!datacenter || (to->datacenter_moref && (to->datacenter || !datacenter->name)));
}

static void visit_cluster(const void *node, VISIT which, void *arg) {
    const struct watch_object *const *c = node;
    struct cluster_walk *w = arg;
    if (!is_its_turn(which) || w->has_failed || (*c)->is_plain || !(*c)->name)
        return;
    w->has_failed = !add_cluster(w, *c);
}

int watch_mirror_get_inventory(const struct watch_mirror *m, struct watch_inventory *out, struct err *err) {
    struct cluster_walk w = {.m = m};
    int rc = watch_keys_copy(&m->keys, &w.found.keys, err);
    if (rc)
        return rc;
    twalk_r(m->trees[VIM_OBJECT_CLUSTER], visit_cluster, &w);
    if (w.has_failed) {
        watch_inventory_done(&w.found);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = w.found;
    return 0;
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
    const struct watch_object *const *vm = node;
    if (is_its_turn(which))
        node_matcher_look(arg, *vm);
}

/* Without configuration its files cannot be read, whatever the connection was before: vCenter calls that inaccessible. Where not even the connection may be read,
 * that is unknown. */
static enum vm_connection connection_of(const struct watch_object *vm, bool has_lost_config) {
    return has_lost_config && vm->connection == VM_CONNECTION_CONNECTED ? VM_CONNECTION_INACCESSIBLE : vm->connection;
}

/* A copy in which the texts are borrowed. What is unset for now is as it was; the name of a machine without configuration is the path of its file. */
static struct node_observation watch_mirror_describe(const struct watch_mirror *m, const struct node_target *target,
                                                     const struct node_found *found) {
    const struct watch_object *vm = found->vm;
    const struct watch_object *host = find_object(m, VIM_OBJECT_HOST, vm->host_moref);
    const struct watch_object *cluster = host ? find_object(m, VIM_OBJECT_CLUSTER, host->parent_moref) : NULL;
    return (struct node_observation){
        .node_id = target->node_id,
        .match = found->match,
        .vm_moref = vm->moref,
        .vm_name = found->is_by_moref || !vm->name ? target->seen_name : vm->name,
        .power = vm->power,
        .connection = connection_of(vm, found->is_by_moref),
        .host_moref = vm->host_moref,
        .host_name = host ? host->name : NULL,
        .host_connection = host ? host->host_connection : HOST_CONNECTION_UNKNOWN,
        .cluster_moref = cluster && !cluster->is_plain ? cluster->moref : NULL,
        .instance_uuid = found->is_by_moref ? target->vm_instance_uuid : vm->instance_uuid,
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
        twalk_r(m->trees[VIM_OBJECT_VM], visit_vm, matcher);
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
    return !m->trees[VIM_OBJECT_VM];
}

/* -- which virtual machine is which node: pure --------------------------------------------------------------------- */

/* The targets are few and seldom change, the machines are many: so the targets are sorted, by each of the properties, and each machine is
 * looked up among them. */

enum { BY_INSTANCE, BY_MOREF, BY_PROVIDER, BY_SYSTEM, BY_BIOS, BY_NAME, PROPERTIES };

/* A value that some target has. */
struct key {
    const char *text;
    size_t target;
};

/* The machines that have what a target has. */
struct hits {
    const struct watch_object *first;
    unsigned count;
};

struct node_matcher {
    size_t count;
    struct key *keys[PROPERTIES];
    size_t key_count[PROPERTIES];
    struct hits (*hits)[PROPERTIES];
};

/* Those that a machine's BIOS UUID fits, in one byte order or the other. */
static bool is_bios(int property) {
    return property == BY_PROVIDER || property == BY_SYSTEM || property == BY_BIOS;
}

static bool is_uuid(int property) {
    return property == BY_INSTANCE || is_bios(property);
}

/* UUIDs are compared without case, names with it. */
static int watch_mirror_compare_texts(int property, const char *a, const char *b) {
    return is_uuid(property) ? strcasecmp(a, b) : strcmp(a, b);
}

static int by_uuid(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    return strcasecmp(x->text, y->text);
}

static int watch_mirror_by_text(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static const char *wanted_of(const struct node_target *t, int property) {
    const char *values[PROPERTIES] = {t->vm_instance_uuid, t->seen_moref,   t->provider_uuid,
                                      t->system_uuid,      t->vm_bios_uuid, t->vm_name};
    return values[property];
}

/* The configuration "is not guaranteed to be available": it is unset while vCenter cannot read the machine's files (vSphere API reference, VirtualMachine.config). */
static bool has_no_config(const struct watch_object *vm) {
    return str_empty(vm->instance_uuid);
}

static const char *watch_mirror_text_of(const struct watch_object *vm, int property) {
    const char *values[PROPERTIES] = {
        vm->instance_uuid, has_no_config(vm) ? vm->moref : NULL, vm->bios_uuid, vm->bios_uuid, vm->bios_uuid, vm->name};
    return values[property];
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
    qsort(keys, n, sizeof(*keys), is_uuid(property) ? by_uuid : watch_mirror_by_text);
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

static void watch_mirror_look_by(struct node_matcher *m, int property, const char *text, const struct watch_object *vm) {
    const struct key *keys = m->keys[property];
    const size_t count = str_empty(text) ? 0 : m->key_count[property];
    for (size_t i = LOWER_BOUND(count, at, watch_mirror_compare_texts(property, keys[at].text, text) < 0); i < count; i++) {
        const struct key *key = &keys[i];
        struct hits *hits = &m->hits[key->target][property];
        if (watch_mirror_compare_texts(property, key->text, text))
            return;
        if (!hits->count++)
            hits->first = vm;
    }
}

void node_matcher_look(struct node_matcher *m, const struct watch_object *vm) {
    char turned[UUID_TEXT_BYTES];
    if (vm->is_template)
        return;
    for (int p = 0; p < PROPERTIES; p++)
        watch_mirror_look_by(m, p, watch_mirror_text_of(vm, p), vm);
    if (!uuid_is_valid(vm->bios_uuid))
        return;
    uuid_turn(vm->bios_uuid, turned);
    for (int p = 0; p < PROPERTIES && !str_eq_nocase(turned, vm->bios_uuid); p++)
        if (is_bios(p))
            watch_mirror_look_by(m, p, turned, vm);
}

struct node_found node_matcher_get(const struct node_matcher *m, size_t i) {
    static const enum vm_match names[PROPERTIES] = {VM_MATCH_INSTANCE_UUID, VM_MATCH_INSTANCE_UUID, VM_MATCH_BIOS_UUID,
                                                    VM_MATCH_BIOS_UUID,     VM_MATCH_BIOS_UUID,     VM_MATCH_NAME};
    struct node_found found = {.match = VM_MATCH_NONE};
    for (int p = 0; p < PROPERTIES; p++) {
        const struct hits *hits = &m->hits[i][p];
        if (!hits->count)
            continue;
        found.is_ambiguous = hits->count > 1;
        found.vm = found.is_ambiguous ? NULL : hits->first;
        found.match = found.is_ambiguous ? VM_MATCH_NONE : names[p];
        found.is_by_moref = p == BY_MOREF;
        break;
    }
    return found;
}
