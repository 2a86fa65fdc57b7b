/* Counters and gauges for /metrics. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "metric.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "limits.h"
#include "str.h"

struct metric {
    _Atomic int64_t value;
    enum metric_kind kind;
    char *name, *help, *label, *label_value;
};

static struct {
    pthread_mutex_t lock;  /* guards the other members, not the values */
    struct metric **items; /* sorted by name, label, value */
    size_t count, alloc;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes the counts that find no memory; never printed. */
static struct metric spare;

static int metric_compare_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "");
}

static int metric_compare(const struct metric *m, const char *name, const char *label, const char *value) {
    int order = strcmp(m->name, name);
    if (!order)
        order = metric_compare_text(m->label, label);
    return order ? order : metric_compare_text(m->label_value, value);
}

static bool is_metric_name(const char *name) {
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:0123456789";
    return name[0] && strchr(first, name[0]) && name[strspn(name, rest)] == '\0';
}

static void metric_free(struct metric *m) {
    free(m->name);
    free(m->help);
    free(m->label);
    free(m->label_value);
    free(m);
}

static struct metric *metric_new(const char *name, const char *help, const char *label, const char *value) {
    struct metric *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    m->name = str_dup(name);
    m->help = str_dup(help);
    m->label = str_dup(label);
    m->label_value = str_dup(value);
    if (m->name && m->help && !m->label == !label && !m->label_value == !value)
        return m;
    metric_free(m);
    return NULL;
}

static bool metric_make_room(void) {
    size_t alloc = registry.alloc ? registry.alloc * 2 : 32;
    struct metric **items;
    if (registry.count < registry.alloc)
        return true;
    if (registry.count >= KAAS_METRICS_COUNT_MAX)
        return false;
    items = reallocarray(registry.items, alloc, sizeof(struct metric *));
    if (!items)
        return false;
    registry.items = items;
    registry.alloc = alloc;
    return true;
}

struct metric *metric_get(enum metric_kind kind, const char *name, const char *help, const char *label, const char *value) {
    struct metric *m = &spare, *made;
    size_t place;
    assert(is_metric_name(name) && (!label) == (!value));
    (void)pthread_mutex_lock(&registry.lock);
    place = LOWER_BOUND(registry.count, at, metric_compare(registry.items[at], name, label, value) < 0);
    if (place < registry.count && !metric_compare(registry.items[place], name, label, value)) {
        m = registry.items[place];
    } else if (metric_make_room() && (made = metric_new(name, help, label, value))) {
        made->kind = kind;
        memmove(registry.items + place + 1, registry.items + place, (registry.count - place) * sizeof(struct metric *));
        registry.items[place] = m = made;
        registry.count++;
    }
    (void)pthread_mutex_unlock(&registry.lock);
    return m;
}

void metric_add(struct metric *m, int64_t n) {
    atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

void metric_set(struct metric *m, int64_t n) {
    atomic_store_explicit(&m->value, n, memory_order_relaxed);
}

int64_t metric_value(const struct metric *m) {
    return atomic_load_explicit(&m->value, memory_order_relaxed);
}

/* Prometheus text format 0.0.4: help texts escape backslash and line feed, label values the double quote too. */
static void write_escaped(struct strbuf *out, const char *text, bool is_label) {
    for (; *text; text++) {
        if (*text == '\n')
            strbuf_adds(out, "\\n");
        else if (*text == '\\' || (*text == '"' && is_label))
            strbuf_addf(out, "\\%c", *text);
        else
            strbuf_addc(out, *text);
    }
}

void metric_write_label(struct strbuf *out, const char *name, const char *value) {
    strbuf_addf(out, "%s=\"", name);
    write_escaped(out, value, true);
    strbuf_addc(out, '"');
}

static void write_sample(struct strbuf *out, const struct metric *m) {
    strbuf_adds(out, m->name);
    if (m->label) {
        strbuf_addc(out, '{');
        metric_write_label(out, m->label, m->label_value);
        strbuf_addc(out, '}');
    }
    strbuf_addf(out, " %" PRId64 "\n", metric_value(m));
}

void metric_write(struct strbuf *out) {
    (void)pthread_mutex_lock(&registry.lock);
    for (size_t i = 0; i < registry.count; i++) {
        const struct metric *m = registry.items[i];
        if (!i || strcmp(registry.items[i - 1]->name, m->name) != 0) {
            strbuf_addf(out, "# HELP %s ", m->name);
            write_escaped(out, m->help, false);
            strbuf_addf(out, "\n# TYPE %s %s\n", m->name, m->kind == METRIC_COUNTER ? "counter" : "gauge");
        }
        write_sample(out, m);
    }
    (void)pthread_mutex_unlock(&registry.lock);
}
