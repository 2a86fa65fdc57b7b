/* Asks a member of etcd by src/k8s/etcd_client, for tests. Not installed.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   etcd_probe URL CA-FILE CERT-FILE KEY-FILE list|status|remove ID|promote ID
 *
 * Prints a line of JSON: what was asked for, or {"error", "text"} with status 1. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "etcd_client.h"
#include "fsutil.h"
#include "json.h"
#include "str.h"

#define FILE_BYTES_MAX 65536U
#define LIMIT_MS 10000

static struct err err;

static void check(int rc) {
    if (!rc)
        return;
    json_t *told = json_pack("{s:s, s:s}", "error", err_slug(rc), "text", err.text);
    (void)json_dumpf(told, stdout, JSON_COMPACT);
    json_decref(told); /* exit unwinds nothing */
    exit(1);
}

static char *read_file(const char *path) {
    struct strbuf text;
    strbuf_init_secret(&text, FILE_BYTES_MAX);
    check(fs_read(path, &text, &err));
    return strbuf_steal(&text);
}

/* Of 64 bits: a text in JSON. */
static json_t *id_json(uint64_t id) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRIu64, id);
    return json_string(text);
}

static json_t *list(struct etcd_client *client) {
    struct etcd_members members;
    json_t *told = json_array();
    check(etcd_list_members(client, &members, &err));
    for (size_t i = 0; i < members.count; i++) {
        const struct etcd_member *m = &members.items[i];
        json_add(told, json_pack("{s:o, s:s, s:s, s:b, s:b}", "id", id_json(m->id), "name", m->name, "peer", m->peer_url,
                                 "is_learner", (int)m->is_learner, "is_asked", (int)(m->id == members.asked_id)));
    }
    return told;
}

static json_t *status(struct etcd_client *client) {
    struct etcd_status s;
    check(etcd_get_status(client, &s, &err));
    return json_pack("{s:o, s:o, s:s, s:b, s:I, s:I}", "id", id_json(s.member_id), "leader", id_json(s.leader_id), "version",
                     s.version, "is_learner", (int)s.is_learner, "db_bytes", (json_int_t)s.db_bytes, "index",
                     (json_int_t)s.applied_index);
}

int main(int argc, char **argv) {
    struct etcd_client *client = NULL;
    if (argc < 6)
        return 2;
    _cleanup_free_ char *ca = read_file(argv[2]), *cert = read_file(argv[3]), *key = read_file(argv[4]);
    const struct k8s_endpoint endpoint = {.url = argv[1],
                                          .trust.ca_pem = ca,
                                          .client_cert_pem = cert,
                                          .client_key_pem = key,
                                          .connect_timeout_ms = LIMIT_MS,
                                          .call_timeout_ms = LIMIT_MS};
    check(http_client_global_init(&err));
    check(etcd_client_new(&endpoint, &client, &err));
    _cleanup_json_ json_t *told = NULL;
    const uint64_t id = argc > 6 ? strtoull(argv[6], NULL, 10) : 0;
    if (str_eq(argv[5], "list"))
        told = list(client);
    else if (str_eq(argv[5], "status"))
        told = status(client);
    else
        check(str_eq(argv[5], "remove") ? etcd_remove_member(client, id, &err) : etcd_promote_member(client, id, &err));
    if (told)
        (void)json_dumpf(told, stdout, JSON_COMPACT);
    etcd_client_free(client);
    http_client_global_done();
    return 0;
}
