/* Reads all virtual machines of a vCenter with five properties by the product's vim client, for comparing CPU time. Not part of the product.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   inventory_read HOST PORT SHA256 USER TIMES      (the password is the line on stdin)
 *
 * Prints how many machines were read in all, and the microseconds of this process's CPU time that it took; connecting is left out. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench_util.h"
#include "http_client.h"
#include "str.h"
#include "vim.h"
#include "vim_client.h"
#include "vim_property.h"

#define PASSWORD_BYTES 256

static const char *const paths[] = {"name", "config.uuid", "config.instanceUuid", "runtime.host", "runtime.powerState", NULL};

struct count {
    unsigned long machines, values;
};

static int count_machine(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct count *count = arg;
    (void)ctx, (void)err;
    count->machines++;
    count->values += (unsigned long)object->__sizepropSet;
    return 0;
}

static int read_machines(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const types[] = {"VirtualMachine", NULL};
    struct vim25__PropertyFilterSpec *spec;
    char view[VIM_VIEW_BYTES];
    int rc = vim_create_view(ctx, types, view, err);
    if (rc)
        return rc;
    spec = vim_in_filter(ctx, "ContainerView", view, 1);
    if (spec) {
        vim_in_paths(ctx, &spec->propSet[0], types[0], paths);
        vim_in_view(ctx, &spec->objectSet[0], NULL);
    }
    rc = vim_retrieve(ctx, spec, count_machine, arg, err);
    vim_destroy_view(ctx, view);
    return rc;
}

static long cpu_us(void) {
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return 1000000L * (u.ru_utime.tv_sec + u.ru_stime.tv_sec) + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static void fail(const struct err *err) {
    (void)fprintf(stderr, "inventory_read: %s\n", err->text);
    exit(1);
}

static void measure(struct vim_client *client, int times) {
    struct count count = {0};
    struct err err = {0};
    long began_us = cpu_us();
    for (int i = 0; i < times; i++)
        if (vim_client_run_as_us(client, read_machines, &count, &err))
            fail(&err);
    if (count.values < 4 * count.machines) /* a machine may be without a host */
        bench_die("properties are missing");
    (void)printf("%lu %ld\n", count.machines, cpu_us() - began_us);
}

static void read_all(const struct vim_options *options, const char *user, const char *password, int times) {
    struct vim_client *client = NULL;
    struct err err = {0};
    if (http_client_global_init(&err) || vim_client_new(options, &client, &err) || vim_connect(client, NULL, &err) ||
        vim_login_password(client, user, password, &err))
        fail(&err);
    measure(client, times);
    (void)vim_logout(client, NULL);
    vim_client_free(client);
    http_client_global_done();
}

int main(int argc, char **argv) {
    char password[PASSWORD_BYTES];
    uint8_t pin[32];
    int64_t port = 0, times = 0;
    struct vim_options options = {.pin_sha256 = pin, .user_agent = "inventory_read"};
    if (argc != 6 || !str_to_i64(argv[2], 1, 65535, &port) || !str_unhex(argv[3], pin, sizeof(pin)) ||
        !str_to_i64(argv[5], 1, 1000, &times) || !fgets(password, sizeof(password), stdin)) {
        (void)fprintf(stderr, "usage: inventory_read HOST PORT SHA256 USER TIMES < PASSWORD\n");
        return 2;
    }
    password[strcspn(password, "\n")] = '\0';
    options.host = argv[1];
    options.port = (unsigned)port;
    read_all(&options, argv[4], password, (int)times);
    return 0;
}
