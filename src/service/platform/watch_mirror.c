/* What a watch knows of one vCenter: taking over what is told. Layer 4 (service/platform). Answers are watch_answer.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "discovery.h"
#include "limits.h"
#include "str.h"
#include "watch_objects.h"
#include "watch_record.h"

/* -- trees of objects whose first member is their moref ------------------------------------------------------------------------ */

static int by_moref(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

void *watch_objects_find(void *const *tree, const char *moref) {
    void *const *node = moref ? tfind(&moref, tree, by_moref) : NULL;
    return node ? *node : NULL;
}

/* Zeroed but for its moref. */
static int add(struct watch_mirror *m, void **tree, const char *moref, size_t bytes, void **out, struct err *err) {
    char **object;
    if (m->count >= KAAS_VIM_OBJECTS_COUNT_MAX)
        return err_set(err, ERR_TOO_LARGE, "the vCenter has more than %d objects to watch", KAAS_VIM_OBJECTS_COUNT_MAX);
    object = calloc(1, bytes);
    if (object)
        *object = str_dup(moref);
    if (!object || !*object || !tsearch(object, tree, by_moref)) {
        if (object)
            free(*object);
        free(object);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    m->count++;
    *out = object;
    return 0;
}

/* True if it was there. */
static bool drop(struct watch_mirror *m, void **tree, const char *moref, void (*free_object)(void *)) {
    void *object = watch_objects_find(tree, moref);
    if (!object)
        return false;
    (void)tdelete(&moref, tree, by_moref);
    free_object(object);
    m->count--;
    return true;
}

static void free_cluster(void *object) {
    struct watch_cluster *c = object;
    free(c->moref);
    free(c->name);
    free(c->parent);
    free(c);
}

static void free_datacenter(void *object) {
    struct watch_datacenter *d = object;
    free(d->moref);
    free(d->name);
    free(d);
}

static void free_folder(void *object) {
    struct watch_folder *f = object;
    free(f->moref);
    free(f->parent);
    free(f);
}

static void free_host(void *object) {
    struct watch_host *h = object;
    free(h->moref);
    free(h->name);
    free(h->parent);
    free(h);
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
    tdestroy(m->clusters, free_cluster);
    tdestroy(m->datacenters, free_datacenter);
    tdestroy(m->folders, free_folder);
    tdestroy(m->hosts, free_host);
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
    unsigned unset; /* as told */
    bool has_changed, has_failed;
};

static void put_text(struct update *u, char **member, const char *told, unsigned bit) {
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
static int value_of(const struct word *words, const char *text) {
    for (; words->text; words++)
        if (str_eq(words->text, text))
            return words->value;
    return 0;
}

static int new_value(const struct update *u, int now, const struct word *words, const char *told, unsigned bit) {
    if (told)
        return value_of(words, told);
    return u->unset & bit ? 0 : now;
}

static int finish(struct watch_mirror *m, const struct update *u, unsigned bits, struct err *err) {
    if (u->has_changed)
        m->changed |= bits;
    return u->has_failed ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* -- what is told -------------------------------------------------------------------------------------------------------------- */

int watch_mirror_put_cluster(struct watch_mirror *m, const struct vim_watch_cluster *told, struct err *err) {
    struct update u = {.unset = told->unset};
    struct watch_cluster *c = watch_objects_find(&m->clusters, told->moref);
    int rc;
    if (told->op == VIM_WATCH_LEAVE) {
        u.has_changed = drop(m, &m->clusters, told->moref, free_cluster);
        return finish(m, &u, WATCH_CLUSTERS | WATCH_NODES, err);
    }
    if (!c) {
        rc = add(m, &m->clusters, told->moref, sizeof(*c), (void **)&c, err);
        if (rc)
            return rc;
        u.has_changed = true;
    }
    c->is_plain = told->is_plain;
    put_text(&u, &c->name, told->name, VIM_WATCH_NAME);
    put_text(&u, &c->parent, told->parent_moref, VIM_WATCH_PARENT);
    return finish(m, &u, WATCH_CLUSTERS | WATCH_NODES, err);
}

int watch_mirror_put_datacenter(struct watch_mirror *m, const struct vim_watch_datacenter *told, struct err *err) {
    struct update u = {.unset = told->unset};
    struct watch_datacenter *d = watch_objects_find(&m->datacenters, told->moref);
    int rc;
    if (told->op == VIM_WATCH_LEAVE) {
        u.has_changed = drop(m, &m->datacenters, told->moref, free_datacenter);
        return finish(m, &u, WATCH_CLUSTERS, err);
    }
    if (!d) {
        rc = add(m, &m->datacenters, told->moref, sizeof(*d), (void **)&d, err);
        if (rc)
            return rc;
        u.has_changed = true;
    }
    put_text(&u, &d->name, told->name, VIM_WATCH_NAME);
    return finish(m, &u, WATCH_CLUSTERS, err);
}

int watch_mirror_put_folder(struct watch_mirror *m, const struct vim_watch_folder *told, struct err *err) {
    struct update u = {.unset = told->unset};
    struct watch_folder *f = watch_objects_find(&m->folders, told->moref);
    int rc;
    if (told->op == VIM_WATCH_LEAVE) {
        u.has_changed = drop(m, &m->folders, told->moref, free_folder);
        return finish(m, &u, WATCH_CLUSTERS, err);
    }
    if (!f) {
        rc = add(m, &m->folders, told->moref, sizeof(*f), (void **)&f, err);
        if (rc)
            return rc;
        u.has_changed = true;
    }
    put_text(&u, &f->parent, told->parent_moref, VIM_WATCH_PARENT);
    return finish(m, &u, WATCH_CLUSTERS, err);
}

/* HostSystemConnectionState */
static const struct word host_words[] = {{"connected", HOST_CONNECTION_CONNECTED},
                                         {"notResponding", HOST_CONNECTION_NOT_RESPONDING},
                                         {"disconnected", HOST_CONNECTION_DISCONNECTED},
                                         {NULL, 0}};

int watch_mirror_put_host(struct watch_mirror *m, const struct vim_watch_host *told, struct err *err) {
    struct update u = {.unset = told->unset};
    struct watch_host *h = watch_objects_find(&m->hosts, told->moref);
    int connection, rc;
    if (told->op == VIM_WATCH_LEAVE) {
        u.has_changed = drop(m, &m->hosts, told->moref, free_host);
        return finish(m, &u, WATCH_NODES, err);
    }
    if (!h) {
        rc = add(m, &m->hosts, told->moref, sizeof(*h), (void **)&h, err);
        if (rc)
            return rc;
        u.has_changed = true;
    }
    put_text(&u, &h->name, told->name, VIM_WATCH_NAME);
    put_text(&u, &h->parent, told->parent_moref, VIM_WATCH_PARENT);
    connection = new_value(&u, (int)h->connection, host_words, told->connection, VIM_WATCH_CONNECTION);
    u.has_changed = u.has_changed || connection != (int)h->connection;
    h->connection = (enum host_connection)connection;
    return finish(m, &u, WATCH_NODES, err);
}

/* VirtualMachinePowerState, VirtualMachineConnectionState */
static const struct word power_words[] = {
    {"poweredOn", VM_POWER_ON}, {"poweredOff", VM_POWER_OFF}, {"suspended", VM_POWER_SUSPENDED}, {NULL, 0}};
static const struct word vm_words[] = {{"connected", VM_CONNECTION_CONNECTED}, {"disconnected", VM_CONNECTION_DISCONNECTED},
                                       {"orphaned", VM_CONNECTION_ORPHANED},   {"inaccessible", VM_CONNECTION_INACCESSIBLE},
                                       {"invalid", VM_CONNECTION_INVALID},     {NULL, 0}};

static void put_vm_texts(struct update *u, struct node_vm *vm, const struct vim_watch_vm *told) {
    put_text(u, &vm->name, told->name, VIM_WATCH_NAME);
    put_text(u, &vm->instance_uuid, told->instance_uuid, VIM_WATCH_INSTANCE_UUID);
    put_text(u, &vm->bios_uuid, told->bios_uuid, VIM_WATCH_BIOS_UUID);
    put_text(u, &vm->host_moref, told->host_moref, VIM_WATCH_HOST);
}

static void put_vm_states(struct update *u, struct node_vm *vm, const struct vim_watch_vm *told) {
    int power = new_value(u, (int)vm->power, power_words, told->power, VIM_WATCH_POWER);
    int connection = new_value(u, (int)vm->connection, vm_words, told->connection, VIM_WATCH_CONNECTION);
    bool is_template = told->has_is_template ? told->is_template : vm->is_template && !(u->unset & VIM_WATCH_TEMPLATE);
    if (power != (int)vm->power || connection != (int)vm->connection || is_template != vm->is_template)
        u->has_changed = true;
    vm->power = (enum vm_power)power;
    vm->connection = (enum vm_connection)connection;
    vm->is_template = is_template;
}

int watch_mirror_put_vm(struct watch_mirror *m, const struct vim_watch_vm *told, struct err *err) {
    struct update u = {.unset = told->unset};
    struct node_vm *vm = watch_objects_find(&m->vms, told->moref);
    int rc;
    if (told->op == VIM_WATCH_LEAVE) {
        u.has_changed = drop(m, &m->vms, told->moref, free_vm);
        return finish(m, &u, WATCH_NODES, err);
    }
    if (!vm) {
        rc = add(m, &m->vms, told->moref, sizeof(*vm), (void **)&vm, err);
        if (rc)
            return rc;
        u.has_changed = true;
    }
    put_vm_texts(&u, vm, told);
    put_vm_states(&u, vm, told);
    return finish(m, &u, WATCH_NODES, err);
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

int watch_keys_copy(const struct vim_key_list *from, struct vim_key_list *out, struct err *err) {
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
    uint64_t digest = own ? watch_record_digest(own) : 0;
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
    discovery_sort_keys(&copy);
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
