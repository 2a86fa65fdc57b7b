/* Fuzz target: answers of etcd. The first byte chooses what was asked: m for the members, s for the status, else the HTTP status of an error (4: 404, 5: 503, other: 400).
 * What is taken keeps what the header promises.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "etcd_client.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool condition) {
    if (!condition)
        abort();
}

static void check_text(const char *text, size_t size) {
    const size_t n = strnlen(text, size);
    must(n < size && !str_has_control(text));
}

static void try_members(const char *text, size_t n) {
    struct etcd_members members = {.count = 0};
    struct err err = {0};
    const int rc = etcd_decode_members(text, n, &members, &err);
    must(rc ? rc == ERR_PROTOCOL && err.code == rc && !members.count : members.count > 0);
    must(members.count <= ETCD_MEMBERS_MAX);
    for (size_t i = 0; i < members.count; i++) {
        must(members.items[i].id != 0);
        check_text(members.items[i].name, sizeof(members.items[i].name));
        check_text(members.items[i].peer_url, sizeof(members.items[i].peer_url));
    }
}

static void try_status(const char *text, size_t n) {
    struct etcd_status status = {0};
    struct err err = {0};
    const int rc = etcd_decode_status(text, n, &status, &err);
    must(rc ? rc == ERR_PROTOCOL && err.code == rc && !status.member_id : status.member_id && status.db_bytes >= 0);
    check_text(status.version, sizeof(status.version));
}

static void try_error(char kind, const char *text, size_t n) {
    struct err err = {0};
    const long status = kind == '4' ? 404 : kind == '5' ? 503 : 400;
    const int rc = etcd_judge("etcd.test:2379", "/v3/cluster/member/remove", status, text, n, &err);
    must(rc == ERR_NOT_FOUND || rc == ERR_UNAVAILABLE || rc == ERR_CONFLICT || rc == ERR_UPSTREAM);
    must(err.code == rc && !str_has_control(err.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *text = (const char *)data;
    if (!n)
        return 0;
    if (*text == 'm')
        try_members(text + 1, n - 1);
    else if (*text == 's')
        try_status(text + 1, n - 1);
    else
        try_error(*text, text + 1, n - 1);
    return 0;
}
