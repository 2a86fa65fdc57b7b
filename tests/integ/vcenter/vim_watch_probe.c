/* Watches a vCenter and prints what it is told, so that tests can look at src/vim/inventory/vim_watch by itself. Not installed.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   vim_watch_probe HOST PORT SHA256 [MAX-WAIT-S]
 *
 * Reads one line from stdin: USER, PASSWORD and the own extension key, separated by tabs. Then prints a line for each thing told,
 * "settled ANSWERS BYTES MOST-BYTES MILLISECONDS RSS-KB" instead of "settled" (since the last time), and "error SLUG TEXT" for each
 * failure, after which it goes on. Cancels the watch and ends when stdin is closed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "err.h"
#include "http_client.h"
#include "secret.h"
#include "str.h"
#include "vim.h"
#include "vim_told.h"

#define PAUSE_MS 50

/* ---- HTTPS, counted ---- */

static struct {
    unsigned long answers, bytes, most_bytes;
    int64_t since_ms;
} counts;

static int open_counted(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    (void)arg;
    return http_transport_https()->open(http_transport_https()->arg, options, conn, err);
}

static int run_counted(void *conn, const struct http_exchange *x, struct strbuf *reply, long *status, struct err *err) {
    int ret = http_transport_https()->run(conn, x, reply, status, err);
    counts.answers++;
    counts.bytes += reply->len;
    if (reply->len > counts.most_bytes)
        counts.most_bytes = reply->len;
    return ret;
}

static void cancel_counted(void *conn) {
    http_transport_https()->cancel(conn);
}

static void close_counted(void *conn) {
    http_transport_https()->close(conn);
}

static const struct http_transport counted = {NULL, open_counted, run_counted, cancel_counted, close_counted};

/* ---- what is told ---- */

/* Of this program alone: ru_maxrss would begin with what our parent had (proc(5), VmHWM). */
static unsigned long peak_memory_kb(void) {
    FILE *file = fopen("/proc/self/status", "re");
    char row[256];
    unsigned long kb = 0;
    while (file && fgets(row, sizeof(row), file))
        if (!strncmp(row, "VmHWM:", 6))
            kb = strtoul(row + 6, NULL, 10);
    if (file)
        (void)fclose(file);
    return kb;
}

static int print_settled(void *arg, struct err *err) {
    struct told *told = arg;
    (void)err;
    strbuf_addf(&told->text, "settled %lu %lu %lu %lld %lu\n", counts.answers, counts.bytes, counts.most_bytes,
                (long long)(clock_mono_ms() - counts.since_ms), peak_memory_kb());
    memset(&counts, 0, sizeof(counts));
    counts.since_ms = clock_mono_ms();
    return 0;
}

static void print(struct told *told) {
    if (told->text.len)
        (void)fputs(told->text.data, stdout);
    (void)fflush(stdout);
    strbuf_reset(&told->text);
}

static void watch(struct vim_watch *watch) {
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    struct told told;
    struct err err = {0};
    told_init(&told);
    told.events.settled = print_settled;
    counts.since_ms = clock_mono_ms();
    while (err.code != ERR_CANCELED) {
        err_clear(&err);
        if (vim_watch_next(watch, &told.events, &err) && err.code != ERR_CANCELED) {
            strbuf_addf(&told.text, "error %s %s\n", err_slug(err.code), err.text);
            (void)nanosleep(&pause, NULL);
        }
        print(&told);
    }
    told_done(&told);
}

/* ---- the program ---- */

static char line[1024];
static char *rest, *user, *password, *key;

static int log_in(struct vim_client *client, void *arg, struct err *err) {
    (void)arg;
    return vim_login_password(client, user, password, err);
}

static void *cancel_at_end(void *arg) {
    while (fgetc(stdin) != EOF)
        continue;
    vim_watch_cancel(arg);
    return NULL;
}

static int run(const struct vim_options *options, unsigned max_wait_s, struct err *err) {
    struct vim_watch_options watch_options = {.extension_key = key, .max_wait_s = max_wait_s};
    struct vim_client *client = NULL;
    struct vim_watch *w = NULL;
    pthread_t thread;
    int ret = vim_client_new(options, &client, err);
    if (ret)
        return ret;
    vim_set_login(client, log_in, NULL);
    ret = vim_watch_new(client, &watch_options, &w, err);
    if (!ret && pthread_create(&thread, NULL, cancel_at_end, w))
        ret = err_set(err, ERR_INTERNAL, "no thread");
    if (!ret) {
        watch(w);
        (void)pthread_join(thread, NULL);
        vim_watch_free(w);
        ret = vim_logout(client, err);
    }
    vim_client_free(client);
    return ret;
}

int main(int argc, char **argv) {
    struct err err = {0};
    int64_t port = 0, max_wait_s = 0;
    uint8_t pin[32];
    struct vim_options options = {.pin_sha256 = pin, .user_agent = "vim_watch_probe", .transport = &counted};
    if (argc < 4 || !str_to_i64(argv[2], 1, 65535, &port) || !str_unhex(argv[3], pin, sizeof(pin)) ||
        (argc > 4 && !str_to_i64(argv[4], 0, 300, &max_wait_s)) || !fgets(line, sizeof(line), stdin)) {
        fprintf(stderr, "vim_watch_probe HOST PORT SHA256 [MAX-WAIT-S] < USER PASSWORD KEY\n");
        return 2;
    }
    line[strcspn(line, "\n")] = '\0';
    rest = line;
    user = strsep(&rest, "\t");
    password = strsep(&rest, "\t");
    key = strsep(&rest, "\t");
    options.host = argv[1];
    options.port = (unsigned)port;
    if (!password || http_client_global_init(&err) || run(&options, (unsigned)max_wait_s, &err))
        fprintf(stderr, "%s\n", password ? err.text : "no password");
    secret_wipe(line, sizeof(line));
    http_client_global_done();
    return err.code ? 1 : 0;
}
