/* Which virtual machine is which node: pure. Layer 4 (service/platform). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The targets are few and seldom change, the machines are many: so the targets are sorted, by each of the three properties, and each machine is
 * looked up among them. */
#include "node_match.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "str.h"

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
static int compare_texts(int property, const char *a, const char *b) {
    return property == BY_NAME ? strcmp(a, b) : strcasecmp(a, b);
}

static int by_uuid(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    return strcasecmp(x->text, y->text);
}

static int by_name(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static const char *wanted_of(const struct node_target *t, int property) {
    const char *texts[PROPERTIES] = {t->vm_instance_uuid, t->vm_bios_uuid, t->vm_name};
    return texts[property];
}

static const char *text_of(const struct node_vm *vm, int property) {
    const char *texts[PROPERTIES] = {vm->instance_uuid, vm->bios_uuid, vm->name};
    return texts[property];
}

static void fill(struct node_matcher *m, const struct node_target *targets, int property) {
    struct key *keys = m->keys[property];
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++) {
        const char *text = wanted_of(&targets[i], property);
        if (!str_empty(text))
            keys[n++] = (struct key){text, i};
    }
    m->key_count[property] = n;
    qsort(keys, n, sizeof(*keys), property == BY_NAME ? by_name : by_uuid);
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
            fill(m, targets, p);
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
static size_t find_first(const struct node_matcher *m, int property, const char *text) {
    size_t low = 0, high = m->key_count[property];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_texts(property, m->keys[property][middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void look_by(struct node_matcher *m, int property, const struct node_vm *vm) {
    const char *text = text_of(vm, property);
    if (str_empty(text))
        return;
    for (size_t i = find_first(m, property, text); i < m->key_count[property]; i++) {
        const struct key *key = &m->keys[property][i];
        struct hits *hits = &m->hits[key->target][property];
        if (compare_texts(property, key->text, text))
            return;
        if (!hits->count++)
            hits->first = vm;
    }
}

void node_matcher_look(struct node_matcher *m, const struct node_vm *vm) {
    if (vm->is_template)
        return;
    for (int p = 0; p < PROPERTIES; p++)
        look_by(m, p, vm);
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
