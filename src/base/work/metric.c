/* What /metrics tells, in the text format of Prometheus. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "metric.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "limits.h"
#include "str.h"

/* Of all histograms: from an answer out of memory to a request at its deadline. */
static const int64_t bounds_ms[] = {1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000};
#define BOUNDS_COUNT ARRAY_COUNT(bounds_ms)

enum metric_kind { COUNTER, GAUGE, HISTOGRAM, READ_COUNTER, READ_GAUGE };

struct family {
    enum metric_kind kind;
    const char *name, *labels, *help;
};

static const struct family families[METRICS_COUNT] = {
#define METRIC(id, kind, name, labels, help) [METRIC_##id] = {kind, name, labels, help},
#include "metrics.def"
#undef METRIC
};

struct metric {
    _Atomic int64_t value;                      /* of a histogram the sum of what was observed, in ms */
    _Atomic int64_t observed[BOUNDS_COUNT + 1]; /* histograms: how often in this bucket alone; the last one has no bound */
    char *labels[METRIC_LABELS_MAX];
};

/* Those without labels are there from the start, so that a counter is seen to rise from 0. */
static struct metric plain[METRICS_COUNT];

/* Those with labels, of each family by the values of the labels. */
struct family_members {
    struct metric **items;
    size_t count, alloc;
};
static struct {
    pthread_mutex_t lock; /* guards the lists, not what is counted */
    struct family_members members[METRICS_COUNT];
    size_t count; /* in all of them */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes the counts that find no room; never printed. */
static struct metric spare;

/* -- counting -------------------------------------------------------------------------------------------------------------------- */

static int metric_compare_labels(const char *const a[METRIC_LABELS_MAX], const char *const b[METRIC_LABELS_MAX]) {
    int order = 0;
    for (size_t i = 0; i < METRIC_LABELS_MAX && !order; i++)
        order = strcmp(a[i] ? a[i] : "", b[i] ? b[i] : "");
    return order;
}

static const char *const *labels_of(const struct metric *m) {
    return (const char *const *)m->labels;
}

static struct metric *metric_new(const char *const labels[METRIC_LABELS_MAX]) {
    struct metric *m = calloc(1, sizeof(*m));
    bool is_whole = m != NULL;
    for (size_t i = 0; m && i < METRIC_LABELS_MAX; i++) {
        m->labels[i] = str_dup(labels[i]);
        is_whole = is_whole && !m->labels[i] == !labels[i];
    }
    if (is_whole)
        return m;
    for (size_t i = 0; m && i < METRIC_LABELS_MAX; i++)
        free(m->labels[i]);
    free(m);
    return NULL;
}

/* Needs the lock. */
static bool metric_make_room(struct family_members *members) {
    const size_t alloc = members->alloc ? members->alloc * 2 : 8;
    struct metric **items;
    if (registry.count >= KAAS_METRICS_COUNT_MAX)
        return false;
    if (members->count < members->alloc)
        return true;
    items = reallocarray(members->items, alloc, sizeof(struct metric *));
    if (!items)
        return false;
    members->items = items;
    members->alloc = alloc;
    return true;
}

struct metric *metric_find(enum metric_id id, const char *const labels[METRIC_LABELS_MAX]) {
    struct family_members *members = &registry.members[id];
    struct metric *m = NULL;
    size_t place;
    assert(families[id].kind < READ_COUNTER);
    if (!families[id].labels[0])
        return &plain[id];
    (void)pthread_mutex_lock(&registry.lock);
    place = LOWER_BOUND(members->count, at, metric_compare_labels(labels_of(members->items[at]), labels) < 0);
    if (place < members->count && !metric_compare_labels(labels_of(members->items[place]), labels)) {
        m = members->items[place];
    } else if (metric_make_room(members) && (m = metric_new(labels))) {
        memmove(members->items + place + 1, members->items + place, (members->count - place) * sizeof(struct metric *));
        members->items[place] = m;
        members->count++;
        registry.count++;
    }
    (void)pthread_mutex_unlock(&registry.lock);
    if (m)
        return m;
    metric_add(&plain[METRIC_METRICS_DROPPED], 1);
    return &spare;
}

void metric_add(struct metric *m, int64_t n) {
    atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

void metric_set(struct metric *m, int64_t n) {
    atomic_store_explicit(&m->value, n, memory_order_relaxed);
}

void metric_observe(struct metric *m, int64_t ms) {
    size_t i = 0;
    while (i < BOUNDS_COUNT && ms > bounds_ms[i])
        i++;
    atomic_fetch_add_explicit(&m->observed[i], 1, memory_order_relaxed);
    if (ms) /* most requests take less than one: one atomic add for them */
        metric_add(m, ms);
}

int64_t metric_value(const struct metric *m) {
    return atomic_load_explicit(&m->value, memory_order_relaxed);
}

/* -- the page -------------------------------------------------------------------------------------------------------------------- */

/* Help texts escape backslash and line feed, values of labels the double quote too. */
static void metric_escape(struct strbuf *out, const char *text, bool is_label) {
    const char *from = text;
    for (; *text; text++) {
        if (*text != '\n' && *text != '\\' && (*text != '"' || !is_label))
            continue;
        strbuf_add(out, from, (size_t)(text - from));
        strbuf_addc(out, '\\');
        strbuf_addc(out, *text == '\n' ? 'n' : *text);
        from = text + 1;
    }
    strbuf_adds(out, from);
}

/* The name, with `suffix`, and the labels, the last of which is `le`, if that is not NULL. */
static void write_series(struct strbuf *out, const struct family *family, const char *suffix, const char *const labels[],
                         const char *le) {
    const char *name = family->labels, *before = "{";
    strbuf_adds(out, family->name);
    strbuf_adds(out, suffix);
    for (size_t i = 0; *name; i++) {
        const size_t n = (size_t)(strchrnul(name, ',') - name);
        if (labels[i]) {
            strbuf_adds(out, before);
            strbuf_add(out, name, n);
            strbuf_adds(out, "=\"");
            metric_escape(out, labels[i], true);
            strbuf_addc(out, '"');
            before = ",";
        }
        name += n + (name[n] == ',');
    }
    if (le)
        strbuf_addf(out, "%sle=\"%s\"", before, le);
    if (le || *before == ',')
        strbuf_addc(out, '}');
}

/* The count is the sum of the buckets, so that both agree whoever observes meanwhile. */
static void write_histogram(struct strbuf *out, const struct family *family, const struct metric *m) {
    int64_t count = 0;
    for (size_t i = 0; i <= BOUNDS_COUNT; i++) {
        char le[16] = "+Inf";
        if (i < BOUNDS_COUNT)
            (void)snprintf(le, sizeof(le), "%g", (double)bounds_ms[i] / 1000);
        count += atomic_load_explicit(&m->observed[i], memory_order_relaxed);
        write_series(out, family, "_bucket", labels_of(m), le);
        strbuf_addf(out, " %" PRId64 "\n", count);
    }
    write_series(out, family, "_sum", labels_of(m), NULL);
    strbuf_addf(out, " %.15g\n", (double)metric_value(m) / 1000);
    write_series(out, family, "_count", labels_of(m), NULL);
    strbuf_addf(out, " %" PRId64 "\n", count);
}

static void write_metric(struct strbuf *out, const struct family *family, const struct metric *m) {
    if (family->kind == HISTOGRAM) {
        write_histogram(out, family, m);
        return;
    }
    write_series(out, family, "", labels_of(m), NULL);
    strbuf_addf(out, " %" PRId64 "\n", metric_value(m));
}

static void write_head(struct strbuf *out, const struct family *family) {
    static const char *const words[] = {
        [COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram", [READ_COUNTER] = "counter", [READ_GAUGE] = "gauge"};
    strbuf_addf(out, "# HELP %s ", family->name);
    metric_escape(out, family->help, false);
    strbuf_addf(out, "\n# TYPE %s %s\n", family->name, words[family->kind]);
}

void metric_page_init(struct metric_page *page, size_t metric_bytes_max) {
    for (size_t i = 0; i < METRICS_COUNT; i++)
        strbuf_init(&page->samples[i], metric_bytes_max);
}

void metric_page_done(struct metric_page *page) {
    for (size_t i = 0; page && i < METRICS_COUNT; i++)
        strbuf_done(&page->samples[i]);
}

void metric_put(struct metric_page *page, enum metric_id id, double value, const char *const labels[METRIC_LABELS_MAX]) {
    struct strbuf *out = &page->samples[id];
    assert(families[id].kind >= READ_COUNTER);
    write_series(out, &families[id], "", labels, NULL);
    if (value == 1) /* of each cluster there is one */
        strbuf_adds(out, " 1\n");
    else
        strbuf_addf(out, " %.15g\n", value); /* whole numbers stay whole, and times keep their milliseconds */
}

void metric_write(const struct metric_page *page, struct strbuf *out) {
    (void)pthread_mutex_lock(&registry.lock);
    for (size_t id = 0; id < METRICS_COUNT; id++) {
        const struct family *family = &families[id];
        const struct family_members *members = &registry.members[id];
        const struct strbuf *samples = &page->samples[id];
        const bool is_plain = family->kind < READ_COUNTER && !family->labels[0];
        if (samples->failed)
            out->failed = samples->failed;
        if (!is_plain && !members->count && !samples->len)
            continue;
        write_head(out, family);
        if (is_plain)
            write_metric(out, family, &plain[id]);
        for (size_t i = 0; i < members->count; i++)
            write_metric(out, family, members->items[i]);
        strbuf_add(out, samples->data, samples->len);
    }
    (void)pthread_mutex_unlock(&registry.lock);
}
