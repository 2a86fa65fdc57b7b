/* What is in a keytab. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSS_KEYS_MAX 4096U

/* A key, without the key. */
struct gss_key {
    char *principal; /* "HTTP/api.ad.test@AD.TEST" */
    unsigned kvno;
    int enctype;
    char enctype_name[40];
    int64_t made_at_ms; /* wall clock; 0: not told */
    bool is_used;       /* its encryption type is taken */
};

struct gss_keys {
    struct gss_key *items;
    size_t count;
};
void gss_keys_done(struct gss_keys *keys); /* NULL is allowed; zeroes the struct */
