/* Shared by the measuring programs: certificates, a server in a child process, statistics, a JSON file. Not part of the product.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Ends the program with a message. */
void bench_die(const char *what) __attribute__((noreturn));

/* A self-signed EC P-256 certificate for "localhost" as PEM. Caller frees both. */
void bench_make_cert(char **cert_pem, char **key_pem);

/* Runs serve(arg, report_fd) in a child: it writes its port (unsigned) to report_fd, serves until stop_fd is readable, returns. */
struct bench_child {
    pid_t pid;
    int stop_fd; /* closed to stop */
    unsigned port;
};
typedef void bench_serve_fn(void *arg, int report_fd, int stop_fd);
void bench_child_start(struct bench_child *child, bench_serve_fn *serve, void *arg);
/* Stops the child and returns its CPU time in seconds; ends the program if it crashed. */
double bench_child_stop(struct bench_child *child);
/* In the child: reports the port and blocks until the parent wants the end. */
void bench_child_wait(unsigned port, int report_fd, int stop_fd);

double bench_now_s(void); /* CLOCK_MONOTONIC */

/* Sorts and returns the value below which the given share (0 to 1) lies. */
float bench_percentile(float *values, size_t n, double share);

/* Opens bench/out/NAME.json below the current folder (made if missing). */
FILE *bench_json_open(const char *name);
