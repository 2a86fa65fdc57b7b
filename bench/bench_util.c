/* Shared by the measuring programs. Not part of the product.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_util.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CERT_DAY_S 86400L

void bench_die(const char *what) {
    perror(what);
    exit(1);
}

static char *take_pem(BIO *bio) {
    char *data, *copy;
    long n = BIO_get_mem_data(bio, &data);
    copy = calloc(1, (size_t)n + 1);
    if (!copy)
        bench_die("calloc");
    memcpy(copy, data, (size_t)n);
    BIO_free(bio);
    return copy;
}

static X509 *make_x509(EVP_PKEY *key) {
    X509 *x = X509_new();
    X509_NAME *name = X509_get_subject_name(x);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_set_version(x, 2);
    X509_gmtime_adj(X509_getm_notBefore(x), -CERT_DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(x), CERT_DAY_S);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_set_pubkey(x, key);
    if (!X509_sign(x, key, EVP_sha256()))
        bench_die("X509_sign");
    return x;
}

void bench_make_cert(char **cert_pem, char **key_pem) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = make_x509(key);
    BIO *cert_bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_mem());
    if (!PEM_write_bio_X509(cert_bio, x) || !PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL))
        bench_die("PEM");
    *cert_pem = take_pem(cert_bio);
    *key_pem = take_pem(key_bio);
    X509_free(x);
    EVP_PKEY_free(key);
}

void bench_child_start(struct bench_child *child, bench_serve_fn *serve, void *arg) {
    int report[2], stop[2];
    if (pipe(report) != 0 || pipe(stop) != 0)
        bench_die("pipe");
    child->pid = fork();
    if (child->pid < 0)
        bench_die("fork");
    if (child->pid == 0) {
        (void)close(report[0]);
        (void)close(stop[1]);
        serve(arg, report[1], stop[0]);
        _exit(0);
    }
    (void)close(report[1]);
    (void)close(stop[0]);
    if (read(report[0], &child->port, sizeof(child->port)) != (ssize_t)sizeof(child->port))
        bench_die("the server did not start");
    (void)close(report[0]);
    child->stop_fd = stop[1];
}

double bench_child_stop(struct bench_child *child) {
    struct rusage usage;
    int status;
    (void)close(child->stop_fd);
    if (wait4(child->pid, &status, 0, &usage) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_die("the server crashed");
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void bench_child_wait(unsigned port, int report_fd, int stop_fd) {
    char c;
    if (write(report_fd, &port, sizeof(port)) != (ssize_t)sizeof(port))
        bench_die("write");
    while (read(stop_fd, &c, 1) > 0) {}
}

double bench_now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

float bench_percentile(float *values, size_t n, double share) {
    size_t i = (size_t)(share * (double)n);
    if (!n)
        return 0;
    qsort(values, n, sizeof(*values), compare);
    return values[i < n ? i : n - 1];
}

FILE *bench_json_open(const char *name) {
    char path[128];
    (void)mkdir("bench", 0755);
    (void)mkdir("bench/out", 0755);
    (void)snprintf(path, sizeof(path), "bench/out/%s.json", name);
    FILE *f = fopen(path, "w");
    if (!f)
        bench_die(path);
    return f;
}
