/* kaasctl cluster list --watch: the list anew whenever it changes, until the program is ended. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * kaasd holds the request until there is something to tell; nothing is asked in between. */
#include <string.h>
#include <time.h>

#include "backoff.h"
#include "clock.h"
#include "cli_cluster_watch.h"
#include "strbuf.h"
#include "str.h"

#define PATH_BYTES_MAX 8192U
#define WAIT_S "50"
#define RENEW_MS (5LL * 60 * 1000) /* tokens live for a quarter of an hour */

static const struct backoff retry = {.first_ms = 1000, .max_ms = 30000, .jitter_percent = 25};

struct watch {
    struct cli *cli;
    const char *path; /* of the list, with its query */
    const struct cli_column *columns;
    char cursor[CLI_CURSOR_BYTES];
    int64_t renewed_ms; /* monotonic */
};

/* kaasd is away or has no place just now, and will be back. */
static bool is_passing(int code) {
    return code == ERR_UNAVAILABLE || code == ERR_BUSY || code == ERR_TOO_MANY || code == ERR_RIGHTS_UNKNOWN ||
           code == ERR_CANCELED;
}

/* One page of one item will do: the cursor speaks of the whole list. */
static int wait_for_change(struct watch *w, bool *is_changed, struct err *err) {
    _cleanup_strbuf_ struct strbuf path;
    _cleanup_json_ json_t *page = NULL;
    const struct cli_request request = {.method = "GET", .path = NULL, .watch_cursor = w->cursor};
    struct cli_request ask = request;
    int rc;
    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_adds(&path, w->path);
    cli_path_add_query(&path, "watch", w->cursor);
    cli_path_add_query(&path, "wait", WAIT_S);
    cli_path_add_query(&path, "limit", "1");
    ask.path = path.data;
    rc = strbuf_check(&path, "the address", err);
    if (!rc)
        rc = cli_client_call(w->cli->client, &ask, &page, err);
    *is_changed = page != NULL;
    return rc;
}

static int show_now(struct watch *w, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    char now[CLOCK_RFC3339_BYTES];
    int rc = cli_list(w->cli, w->path, CLI_LINES_MAX, &items, err);
    if (rc)
        return rc;
    clock_format(clock_wall_ms(), now);
    show_line(w->cli, "%.19sZ", now);
    rc = show_list(w->cli, items, w->columns, err);
    show_line(w->cli, "%s", "");
    if (!rc)
        rc = cli_flush(w->cli, err);
    if (!rc)
        cli_tell_stale(w->cli);
    return rc;
}

static int renew(struct watch *w, struct err *err) {
    const int64_t now_ms = clock_mono_ms();
    if (now_ms - w->renewed_ms < RENEW_MS)
        return 0;
    w->renewed_ms = now_ms;
    return cli_client_renew(w->cli->client, err);
}

static int look_once(struct watch *w, struct err *err) {
    bool is_changed = false;
    int rc = renew(w, err);
    if (!rc)
        rc = wait_for_change(w, &is_changed, err);
    return rc || !is_changed ? rc : show_now(w, err);
}

int cli_cluster_watch(struct cli *cli, const char *path, const struct cli_column *columns, struct err *err) {
    struct watch w = {.cli = cli, .path = path, .columns = columns, .renewed_ms = clock_mono_ms()};
    unsigned failures = 0;
    for (;;) {
        struct err why = {0};
        const int rc = look_once(&w, &why);
        if (!rc) {
            failures = 0;
            continue;
        }
        if (!is_passing(rc) || !w.cursor[0]) { /* the first answer must come: a slip in the options is none that passes */
            if (err)
                *err = why;
            return rc;
        }
        const int64_t ms = backoff_delay_ms(&retry, ++failures, 0);
        const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
        cli_note("kaasctl: %s; trying again in %lld s", why.text, (long long)(ms + 999) / 1000);
        (void)nanosleep(&pause, NULL);
    }
}
