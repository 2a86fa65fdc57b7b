/* RSA keys made before: a library laid under the daemon by LD_PRELOAD (tests/env/ready_keys.py). The daemon itself has no hook for it.
 *
 * OpenSSL takes a quarter of a second of computing for a key, which is most of what a registration costs. The n-th key that the programs of
 * a world ask for is the n-th of the folder KAAS_TEST_KEYS; one that is not there yet is made by OpenSSL, and kept there. So those of a world
 * differ from each other. The file KAAS_TEST_KEYS_TAKEN counts: it holds a byte for each.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

typedef EVP_PKEY *make_fn(OSSL_LIB_CTX *, const char *, const char *, ...);

static make_fn *make;
static const char *folder, *taken;

__attribute__((constructor)) static void lay_under(void) {
    folder = getenv("KAAS_TEST_KEYS");
    taken = getenv("KAAS_TEST_KEYS_TAKEN");
    make = (make_fn *)dlsym(RTLD_NEXT, "EVP_PKEY_Q_keygen");
    if (!folder || !taken || !make)
        abort(); /* rather than a world that is not what the test believes */
}

/* The number of the next key, from 1 on: others of this world take one at the same time. */
static long next_number(void) {
    int fd = open(taken, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    long number = fd >= 0 && write(fd, ".", 1) == 1 ? (long)lseek(fd, 0, SEEK_CUR) : 0;
    if (number < 1)
        abort();
    (void)close(fd);
    return number;
}

static EVP_PKEY *read_key(const char *path) {
    FILE *file = fopen(path, "re");
    EVP_PKEY *key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
    if (file)
        (void)fclose(file);
    return key;
}

/* Whole, or not at all: another world may keep the same number now, and then either is as good. */
static void keep_key(const char *path, EVP_PKEY *key) {
    char new_path[PATH_BYTES + 32];
    (void)snprintf(new_path, sizeof(new_path), "%s.%ld", path, (long)getpid());
    FILE *file = fopen(new_path, "wxe");
    if (!file || PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) != 1 || fclose(file) || rename(new_path, path))
        abort();
}

/* EVP_RSA_gen and EVP_EC_gen of OpenSSL are this one. */
EVP_PKEY *EVP_PKEY_Q_keygen(OSSL_LIB_CTX *context, const char *properties, const char *kind, ...) {
    char path[PATH_BYTES];
    size_t bits;
    va_list more;
    va_start(more, kind);
    if (strcmp(kind, "RSA")) {
        EVP_PKEY *other = make(context, properties, kind, va_arg(more, const char *));
        va_end(more);
        return other;
    }
    bits = va_arg(more, size_t);
    va_end(more);
    (void)snprintf(path, sizeof(path), "%s/rsa-%zu-%ld.pem", folder, bits, next_number());
    EVP_PKEY *key = read_key(path);
    if (!key && (key = make(context, properties, kind, bits)))
        keep_key(path, key);
    return key;
}
