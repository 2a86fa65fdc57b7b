/* What a job that builds a cluster asks of it as its administrator, so that tests can look at src/kubernetes/kube_admin, bootstrap_token and src/k8s/k8s_objects by
 * themselves. Secrets are kept in memory here. Not installed.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   kube_admin_probe URL CA-FILE CERTIFICATE-FILE KEY-FILE
 *
 * Reads commands, one a line, and prints a line of JSON for each: what it found, {} where that is nothing, or {"code": ..., "text": ...}:
 *   node NAME, delete NAME   a node
 *   volumes                  all volumes
 *   token, apply, remove     the bootstrap token: what it is; makes it good; ends it
 * Ends with stdin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap_token.h"
#include "k8s_objects.h"
#include "kube_admin.h"
#include "kubernetes_private.h"
#include "str.h"

#define FILE_BYTES_MAX 65536U
#define LINE_BYTES_MAX (4U * 1024U * 1024U)
#define CLUSTER "11111111-1111-4111-8111-111111111111"

/* -- secrets, in the place of those of the database ------------------------------------------------------------------------------ */

static char *kept;

int secret_seal(struct seal *seal, const struct secret_place *place, const char *text, struct secret_value *out,
                struct err *err) {
    (void)seal, (void)place;
    *out = (struct secret_value){.bytes = (uint8_t *)str_dup(text), .count = strlen(text)};
    return out->bytes ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int secret_store_open(struct store *store, struct seal *seal, const struct secret_place *place, char **text, struct err *err) {
    (void)store, (void)seal, (void)place, (void)err;
    *text = str_dup(kept);
    return 0;
}

int secret_store_add(struct store *store, const struct secret_place *place, const struct secret_value *value, struct err *err) {
    (void)store, (void)place, (void)err;
    if (!kept)
        kept = str_format("%.*s", (int)value->count, (const char *)value->bytes);
    return 0;
}

int secret_store_remove(struct store *store, const struct secret_place *place, struct err *err) {
    (void)store, (void)place, (void)err;
    secret_free(STEAL(kept));
    return 0;
}

/* -- commands ---------------------------------------------------------------------------------------------------------------------- */

static void print_row(json_t *row) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, LINE_BYTES_MAX);
    if (!json_write(row, &text, NULL))
        (void)puts(text.data);
    (void)fflush(stdout);
    json_decref(row);
}

static int get_node(struct k8s_client *client, const char *name, json_t *row, struct err *err) {
    static const char *const words[] = {[KUBE_UNKNOWN] = "Unknown", [KUBE_FALSE] = "False", [KUBE_TRUE] = "True"};
    struct kube_node node;
    int rc = k8s_get_node(client, name, &node, err);
    if (rc)
        return rc;
    json_put_string(row, "name", node.name);
    json_put_string(row, "version", node.kubelet_version);
    json_put_string(row, "ready", words[node.conditions[KUBE_NODE_READY].truth]);
    kube_node_done(&node);
    return 0;
}

static int list_volumes(struct k8s_client *client, json_t *row, struct err *err) {
    struct kube_volumes volumes;
    int rc = k8s_list_volumes(client, &volumes, err);
    json_t *list = json_array();
    for (size_t i = 0; !rc && i < volumes.count; i++) {
        json_t *one = json_object();
        json_put_string(one, "name", volumes.items[i].name);
        json_put_string(one, "claim", volumes.items[i].claim);
        json_put_string(one, "capacity", volumes.items[i].capacity);
        json_put_string(one, "handle", volumes.items[i].handle);
        json_add(list, one);
    }
    json_put(row, "volumes", list);
    if (rc)
        return rc;
    json_put_bool(row, "is_cut", volumes.is_cut);
    kube_volumes_done(&volumes);
    return 0;
}

static int get_token(struct kubernetes *k, json_t *row, struct err *err) {
    char token[BOOTSTRAP_TOKEN_BYTES] = "";
    int rc = bootstrap_token_get(k, CLUSTER, token, err);
    json_put_string(row, "token", token);
    return rc;
}

static int obey(struct kubernetes *k, struct k8s_client *client, const char *command, json_t *row, struct err *err) {
    if (str_starts(command, "node "))
        return get_node(client, command + strlen("node "), row, err);
    if (str_starts(command, "delete "))
        return k8s_delete_node(client, command + strlen("delete "), err);
    if (str_eq(command, "volumes"))
        return list_volumes(client, row, err);
    if (str_eq(command, "token"))
        return get_token(k, row, err);
    if (str_eq(command, "apply"))
        return bootstrap_token_apply(k, CLUSTER, client, err);
    if (str_eq(command, "remove"))
        return bootstrap_token_remove(k, CLUSTER, client, err);
    return err_set(err, ERR_INTERNAL, "there is no command %s", command);
}

static void do_command(struct kubernetes *k, struct k8s_client *client, const char *command) {
    json_t *row = json_object();
    struct err why = {0};
    if (obey(k, client, command, row, &why)) {
        json_put_string(row, "code", err_slug(why.code));
        json_put_string(row, "text", why.text);
    }
    print_row(row);
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = calloc(1, FILE_BYTES_MAX);
    if (file && text)
        text[fread(text, 1, FILE_BYTES_MAX - 1, file)] = '\0';
    if (file)
        (void)fclose(file);
    return text;
}

static int run(struct kubernetes *k, char **files, struct err *err) {
    _cleanup_done_(kube_admin_done) struct kube_admin admin = {
        .ca_pem = read_file(files[1]), .cert_pem = read_file(files[2]), .key_pem = read_file(files[3])};
    _cleanup_(k8s_client_free) struct k8s_client *client = NULL;
    _cleanup_free_ char *line = NULL;
    size_t room = 0;
    int rc = kube_admin_client(k, files[0], &admin, &client, err);
    while (!rc && getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        do_command(k, client, line);
    }
    return rc;
}

int main(int argc, char **argv) {
    const struct runtime runtime = {.store = NULL};
    struct kubernetes k = {.options = {.runtime = &runtime, .call_timeout_ms = 20000}};
    struct err err = {0};
    if (argc != 5) {
        (void)fprintf(stderr, "kube_admin_probe URL CA-FILE CERTIFICATE-FILE KEY-FILE < COMMAND...\n");
        return 2;
    }
    if (http_client_global_init(&err) || run(&k, argv + 1, &err))
        (void)fprintf(stderr, "%s\n", err.text);
    secret_free(kept);
    http_client_global_done();
    return err.code ? 1 : 0;
}
