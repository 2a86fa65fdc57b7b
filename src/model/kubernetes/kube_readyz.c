/* Reads /readyz?verbose. Layer 1 (model); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_readyz.h"

#include <string.h>

#include "str.h"

#define MARK_BYTES 3 /* "[+]" */

/* etcd of single resources (--etcd-servers-overrides, as a rule that of events) has checks of other names, and is not what quorum is about
 * (k8s.io/apiserver pkg/server/options/etcd.go). */
static bool is_etcd(struct str_span name) {
    return str_span_eq(name, "etcd") || str_span_eq(name, "etcd-readiness");
}

static void keep_failed(struct kube_readyz *out, struct str_span name) {
    if (out->failed_count < KUBE_READYZ_NAMED_MAX) {
        char *to = out->failed[out->failed_count];
        const size_t n = name.n < KUBE_READYZ_NAME_BYTES ? name.n : KUBE_READYZ_NAME_BYTES - 1;
        for (size_t i = 0; i < n; i++)
            to[i] = name.at[i] > ' ' && name.at[i] <= '~' ? name.at[i] : '?';
    }
    out->failed_count++;
}

/* True if the line is one of a check. */
static bool readyz_read_line(const char *line, size_t n, struct kube_readyz *out) {
    if (n <= MARK_BYTES || line[0] != '[' || (line[1] != '+' && line[1] != '-') || line[2] != ']')
        return false;
    const bool is_passed = line[1] == '+';
    const char *blank = memchr(line, ' ', n);
    const struct str_span name = {line + MARK_BYTES, (size_t)((blank ? blank : line + n) - line) - MARK_BYTES};
    if (!is_passed)
        keep_failed(out, name);
    if (is_etcd(name) && out->etcd != KUBE_FALSE)
        out->etcd = is_passed ? KUBE_TRUE : KUBE_FALSE;
    return true;
}

int kube_readyz_parse(const char *body, size_t n, struct kube_readyz *out, struct err *err) {
    struct kube_readyz made = {0};
    if (n > KUBE_READYZ_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the answer of /readyz is larger than %u bytes", KUBE_READYZ_BYTES_MAX);
    made.is_there = n >= 2 && !memcmp(body, "ok", 2) && (n == 2 || body[2] == '\n');
    for (const char *line = body, *end = body + n; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        made.is_there |= readyz_read_line(line, (size_t)(stop - line), &made);
        line = stop < end ? stop + 1 : end;
    }
    if (!made.is_there) {
        (void)err_set(err, ERR_PROTOCOL, "the answer of /readyz is not that of an API server");
        return err_remedy(err, "see what answers at the address: a load balancer, or a proxy?");
    }
    *out = made;
    return 0;
}
