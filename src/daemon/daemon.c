/* kaasd: options, configuration check, signals. Layer 7 (daemon). What the daemon is made of is wire.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon_config.h"
#include "http_client.h"
#include "ldapdir.h"
#include "log.h"
#include "notify.h"
#include "secret.h"
#include "setup_check.h"
#include "store.h"
#include "wire.h"

#define STOP_LIMIT_S 9
#define START_LIMIT_S 30 /* below the 90 s that systemd waits */

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_CONFIG = 78 };

enum action { ACTION_RUN, ACTION_CHECK, ACTION_PRINT, ACTION_REFERENCE, ACTION_VERSION, ACTION_HELP, ACTION_USAGE };

struct options {
    enum action action;
    const char *config_path;
    const char *service_user; /* NULL: not given */
};

static const char help_text[] =
    "Usage: kaasd [--config FILE] [--check-config [--service-user NAME] | --print-config]\n"
    "\n"
    "The Harmony KaaS daemon. Runs in the foreground; logs to standard error.\n"
    "\n"
    "  -c, --config FILE       configuration (default " CONFIG_DEFAULT_PATH ")\n"
    "      --check-config      check the configuration and its files, then exit; root checks as the user " SETUP_USER ",\n"
    "                          if there is one\n"
    "      --service-user NAME with --check-config: as this user\n"
    "      --print-config      print the settings in effect, then exit\n"
    "      --print-reference   print the reference of all options as Markdown, then exit\n"
    "      --version           print the version, then exit\n"
    "  -h, --help              print this, then exit\n"
    "\n"
    "Signals: TERM and INT end it cleanly; HUP reads level and form of the log, certificate and metrics token.\n"
    "Exit status: 0 ended cleanly, 1 failed, 2 wrong usage, 78 the configuration is not valid.\n";

static struct options read_options(int argc, char **argv) {
    static const struct option known[] = {
        {"config", required_argument, NULL, 'c'},
        {"check-config", no_argument, NULL, 'k'},
        {"service-user", required_argument, NULL, 'u'},
        {"print-config", no_argument, NULL, 'p'},
        {"print-reference", no_argument, NULL, 'r'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.action = ACTION_RUN, .config_path = CONFIG_DEFAULT_PATH};
    int c;
    while ((c = getopt_long(argc, argv, "c:h", known, NULL)) != -1) {
        if (c == 'c')
            options.config_path = optarg;
        else if (c == 'u')
            options.service_user = optarg;
        else if (c == 'k')
            options.action = ACTION_CHECK;
        else if (c == 'p')
            options.action = ACTION_PRINT;
        else if (c == 'r')
            options.action = ACTION_REFERENCE;
        else if (c == 'v')
            options.action = ACTION_VERSION;
        else
            options.action = c == 'h' ? ACTION_HELP : ACTION_USAGE;
    }
    if (optind < argc) {
        (void)fprintf(stderr, "kaasd: unexpected argument \"%s\"; see kaasd --help\n", argv[optind]);
        options.action = ACTION_USAGE;
    }
    if (options.service_user && options.action != ACTION_CHECK && options.action != ACTION_USAGE) {
        (void)fputs("kaasd: --service-user goes with --check-config; kaasd runs as whoever starts it\n", stderr);
        options.action = ACTION_USAGE;
    }
    return options;
}

static void print_error(const struct err *err) {
    (void)fprintf(stderr, "kaasd: %s%s%s\n", err->text, err->remedy[0] ? "; " : "", err->remedy);
}

/* Loads the configuration; prints every fault found. */
static int load_config(const char *path, struct config *config, struct err *err) {
    _cleanup_config_report_ struct config_report report;
    int rc;
    config_report_init(&report);
    rc = config_load(path, config, &report, err);
    if (rc && report.error_count)
        (void)fputs(report.text.data, stderr);
    else if (rc)
        print_error(err);
    return rc;
}

static int check_config(const struct options *options) {
    _cleanup_strbuf_ struct strbuf told = {0};
    struct setup_user user;
    struct err err = {0};
    int rc = setup_find_user(options->service_user, &user, &err);
    if (rc) {
        print_error(&err);
        return rc == ERR_NOT_FOUND || rc == ERR_FORBIDDEN ? STATUS_USAGE : STATUS_FAILED;
    }
    strbuf_init(&told, CONFIG_REPORT_BYTES_MAX);
    rc = setup_check_as(&user, options->config_path, &told, &err);
    if (told.len)
        (void)fputs(told.data, stderr);
    else if (rc)
        print_error(&err);
    if (rc)
        return STATUS_CONFIG;
    (void)printf("%s: the configuration is valid (checked as user %s)\n", options->config_path, user.name);
    return STATUS_OK;
}

/* What is wrong with the configuration is told all at once; what is not well is told as well, and does not hold the start up. */
static int daemon_check_start(const struct config *config, const char *path) {
    _cleanup_config_report_ struct config_report report;
    config_report_init(&report);
    int rc = setup_check(config, path, SETUP_CHECK_START, &report, NULL);
    (void)fwrite(report.text.data, 1, report.text.len, stderr);
    (void)fwrite(report.warnings.data, 1, report.warnings.len, stderr);
    return rc;
}

/* The settings in effect; NULL: the reference of all options. */
static int daemon_print_text(const struct config *config) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, 1U << 20);
    if (config)
        config_print(config, &text);
    else
        config_write_reference(&text);
    (void)fputs(text.data, stdout);
    return STATUS_OK;
}

static void block_signals(sigset_t *set) {
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* kaasd is started, for the service manager, once it is ready or knows what it waits for (wire_periodic.c). Where even that takes long, as with a
 * database that takes connections and says nothing, whoever started it is let go on: health tells what is the matter. */
static void serve_signals(struct wire *wire, const sigset_t *set) {
    const struct timespec limit = {.tv_sec = START_LIMIT_S};
    bool is_told = false;
    for (;;) {
        struct err err = {0};
        const int number = is_told ? sigwaitinfo(set, NULL) : sigtimedwait(set, NULL, &limit);
        if (number < 0) {
            if (errno == EAGAIN) {
                notify("READY=1");
                is_told = true;
            }
            continue;
        }
        if (number != SIGHUP) {
            log_event(LOG_LEVEL_NOTICE, "stopping", "signal", strsignal(number), NULL);
            return;
        }
        if (wire_reload(wire, &err))
            log_error(LOG_LEVEL_ERROR, "reload_failed", &err, NULL);
        else
            log_event(LOG_LEVEL_NOTICE, "reloaded", NULL);
    }
}

/* Goes on serving while balancers and clients turn away; any further signal ends the wait. */
static void daemon_drain(struct wire *wire, const sigset_t *set) {
    const int64_t ms = wire_drain(wire);
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    if (ms)
        (void)sigtimedwait(set, NULL, &limit);
}

#define MAPPED_BYTES (256 * 1024)    /* a block from this size on is a mapping of its own, given back with free() */
#define KEPT_BYTES (2 * 1024 * 1024) /* of free memory at the end of a heap */

/* By itself glibc raises the first of these to the largest block that was freed so far (mallopt(3), M_MMAP_THRESHOLD). Then answers of some
 * hundred kilobytes come from the heaps of whichever threads made them, and what one small block above them pins there stays: after a few
 * crowds that ask for large lists the process held twice what it needed. */
static void give_back_large_blocks(void) {
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

/* The end, should anything hang: log-outs and leases come first in wire_down, and the service manager would wait longer and say less. */
static void *daemon_give_up(void *arg) {
    const struct timespec limit = {.tv_sec = STOP_LIMIT_S};
    (void)arg;
    (void)nanosleep(&limit, NULL);
    log_event(LOG_LEVEL_ERROR, "stop_overdue", "hint", "something did not end when it was told to; it was left as it was", NULL);
    _exit(STATUS_FAILED);
}

static int daemon_run(struct config *config, const char *path) {
    struct wire *wire = NULL;
    struct err err = {0};
    pthread_t overdue;
    sigset_t set;
    int rc;
    secret_protect_process();
    give_back_large_blocks();
    log_set_level((enum log_level)(LOG_LEVEL_ERROR + config->log_level));
    log_set_format((enum log_format)config->log_format);
    block_signals(&set);
    rc = http_client_global_init(&err);
    if (!rc)
        rc = wire_up(config, path, &wire, &err);
    if (rc) {
        log_error(LOG_LEVEL_ERROR, "start_failed", &err, "remedy", err.remedy[0] ? err.remedy : NULL, NULL);
        return rc == ERR_CONFIG || rc == ERR_NOT_FOUND ? STATUS_CONFIG : STATUS_FAILED;
    }
    serve_signals(wire, &set);
    daemon_drain(wire, &set);
    if (!pthread_create(&overdue, NULL, daemon_give_up, NULL))
        (void)pthread_detach(overdue);
    wire_down(wire);
    store_global_done();
    http_client_global_done();
    log_event(LOG_LEVEL_NOTICE, "stopped", NULL);
    if (ldapdir_has_left_waiting())
        _exit(STATUS_OK);
    return STATUS_OK;
}

int main(int argc, char **argv) {
    struct options options = read_options(argc, argv);
    _cleanup_config_ struct config config = {0};
    struct err err = {0};

    if (options.action == ACTION_HELP || options.action == ACTION_USAGE)
        return fputs(options.action == ACTION_HELP ? help_text : "", stdout) < 0 || options.action == ACTION_USAGE ? STATUS_USAGE
                                                                                                                   : STATUS_OK;
    if (options.action == ACTION_VERSION)
        return printf("kaasd %s\n", PACKAGE_VERSION) < 0;
    if (options.action == ACTION_REFERENCE)
        return daemon_print_text(NULL);
    if (options.action == ACTION_CHECK)
        return check_config(&options);
    if (load_config(options.config_path, &config, &err))
        return STATUS_CONFIG;
    if (options.action == ACTION_PRINT)
        return daemon_print_text(&config);
    return daemon_check_start(&config, options.config_path) ? STATUS_CONFIG : daemon_run(&config, options.config_path);
}
