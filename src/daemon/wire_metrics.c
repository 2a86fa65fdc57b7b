/* Metrics that are looked at when somebody asks: of the process, and what each module tells of itself. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "metric.h"
#include "wire_private.h"

/* -- the process ------------------------------------------------------------------------------------------------------------------ */

/* Without the descriptor by which they are counted. */
static unsigned count_descriptors(void) {
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    if (!dir)
        return 0;
    for (const struct dirent *entry; (entry = readdir(dir));) /* NOLINT(concurrency-mt-unsafe): each has a stream of its own */
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count ? count - 1 : 0;
}

/* proc_pid_statm(5): sizes in pages. */
static void write_memory(struct metric_page *page) {
    unsigned long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return;
    if (fscanf(file, "%lu %lu", &all, &resident) == 2) {
        metric_sample(page, METRIC_PROCESS_MEMORY, (double)resident * (double)sysconf(_SC_PAGESIZE));
        metric_sample(page, METRIC_PROCESS_VIRTUAL_MEMORY, (double)all * (double)sysconf(_SC_PAGESIZE));
    }
    (void)fclose(file);
}

static double seconds_of(const struct timeval *time) {
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* Names and meanings are those of all Prometheus clients: https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics */
static void write_process(const struct wire *wire, struct metric_page *page) {
    struct rusage usage;
    struct rlimit limit;
    if (!getrusage(RUSAGE_SELF, &usage))
        metric_sample(page, METRIC_PROCESS_CPU, seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime));
    write_memory(page);
    metric_sample(page, METRIC_PROCESS_FDS, count_descriptors());
    if (!getrlimit(RLIMIT_NOFILE, &limit))
        metric_sample(page, METRIC_PROCESS_FDS_MAX, (double)limit.rlim_cur);
    metric_sample(page, METRIC_PROCESS_START, (double)wire->parts.started_at_ms / 1000);
    metric_sample(page, METRIC_BUILD_INFO, 1, PACKAGE_VERSION);
    metric_sample(page, METRIC_UPDATE_AVAILABLE, updates_has_news(wire->parts.updates));
    metric_sample(page, METRIC_READY, atomic_load(&wire->is_ready) && !atomic_load(&wire->is_leaving));
}

/* -- the servers ------------------------------------------------------------------------------------------------------------------ */

static void write_server(struct httpd *httpd, const char *name, struct metric_page *page) {
    struct httpd_stats stats;
    httpd_get_stats(httpd, &stats);
    metric_sample(page, METRIC_HTTP_CONNECTIONS, stats.connections, name);
    metric_sample(page, METRIC_HTTP_CONNECTIONS_MAX, stats.connections_max, name);
    metric_sample(page, METRIC_HTTP_SUSPENDED, stats.suspended, name);
    metric_sample(page, METRIC_HTTP_CUT, (double)stats.cut_header, name, "header");
    metric_sample(page, METRIC_HTTP_CUT, (double)stats.cut_body, name, "body");
    metric_sample(page, METRIC_HTTP_CUT, (double)stats.cut_send, name, "send");
    metric_sample(page, METRIC_HTTP_CUT, (double)stats.cut_address, name, "address");
    metric_sample(page, METRIC_HTTP_PACED, (double)stats.paced, name);
    metric_sample(page, METRIC_HTTP_ABANDONED, (double)stats.abandoned, name);
}

static void write_servers(const struct wire *wire, struct metric_page *page) {
    static const char *const names[WIRE_SERVERS] = {
        [WIRE_TLS] = "https", [WIRE_PROXY] = "proxy", [WIRE_SERVICE] = "service", [WIRE_ADMIN] = "admin"};
    for (size_t i = 0; i < WIRE_SERVERS; i++) {
        struct httpd *server = atomic_load(&wire->servers[i]);
        if (server)
            write_server(server, names[i], page);
    }
}

/* -- all of it --------------------------------------------------------------------------------------------------------------------- */

static void write_pools(const struct wire *wire, struct metric_page *page) {
    const struct {
        const char *name;
        struct worker_pool *workers;
    } pools[] = {{"database", wire->parts.database},
                 {"hashing", wire->parts.hashing},
                 {"signons", wire->parts.signons},
                 {"outside", wire->parts.outside},
                 {"kerberos", wire->parts.kerberos_pool}};
    for (size_t i = 0; i < ARRAY_COUNT(pools); i++)
        worker_pool_write_metrics(pools[i].workers, page, pools[i].name, NULL, NULL);
}

void wire_write_metrics(void *arg, struct metric_page *page) {
    struct wire *wire = arg;
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(wire->parts.inventory);
    write_process(wire, page);
    write_servers(wire, page);
    write_pools(wire, page);
    store_write_metrics(wire->runtime.store, page);
    for (size_t i = 0; i < WIRE_MODULES; i++)
        if (wire_modules[i]->write_metrics)
            wire_modules[i]->write_metrics(wire, snapshot ? snapshot->platform : NULL, page);
}
