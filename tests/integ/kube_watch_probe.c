/* Watches the nodes of a Kubernetes cluster and keeps them, as their owner in the daemon would, so that tests can look at src/k8s/k8s_watch by itself. Not
 * installed.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   kube_watch_probe URL CA-FILE
 *
 * Reads the token as the first line of stdin ("": none), then commands, one a line:
 *   start          begins, or goes on where it ended
 *   token TOKEN    takes this one from the next start on
 *   stop           rests
 *   fresh          forgets all: the next start begins with a list
 *   nodes          prints all that is known
 *   call METHOD PATH [TYPE BODY]   by k8s_call, over a connection that is kept until another token is taken
 *   stand          the clock stands still from now on, until
 *   forward MS     moves it
 * Prints a line of JSON for each thing told: {"event": "begin"}, "changed" and "gone" (with name, and at_ns of CLOCK_MONOTONIC) for what comes behind a list,
 * "complete", "end" (with code, text, remedy, retry_after_s); and "done" for each command, with nodes for `nodes`, and
 * reply for `call`. Ends with stdin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "clock.h"
#include "err.h"
#include "hashmap.h"
#include "http_client.h"
#include "json.h"
#include "k8s_watch.h"
#include "secret.h"
#include "str.h"

#define CA_BYTES_MAX 65536U
#define LINE_BYTES_MAX (32U * 1024U * 1024U)

struct kept {
    struct hashmap_node by_name; /* first */
    struct kube_node node;
    unsigned list; /* in which it was told, or behind which */
};

static struct {
    struct http_streams *streams;
    struct k8s_watch *watch;
    struct k8s_client *client; /* NULL: no call with this token yet */
    char *token;
    pthread_mutex_t lock; /* guards all below, and stdout */
    struct hashmap nodes;
    unsigned list; /* lists begun */
    bool is_complete;
} probe = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- what is printed ----------------------------------------------------------------------------------------------- */

/* Takes `row` over. */
static void print_row(json_t *row) {
    struct strbuf text;
    strbuf_init(&text, LINE_BYTES_MAX);
    if (!json_write(row, &text, NULL))
        (void)puts(text.data);
    (void)fflush(stdout);
    strbuf_done(&text);
    json_decref(row);
}

static json_t *row_of(const char *event) {
    json_t *row = json_object();
    json_put_string(row, "event", event);
    return row;
}

/* By itself, since bench/kube.py measures what an event costs; the characters of a node's name are plain. */
static void print_change(const char *event, const char *name) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)printf("{\"event\":\"%s\",\"name\":\"%s\",\"at_ns\":%lld}\n", event, name,
                 (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    (void)fflush(stdout);
}

static void print_error(const char *event, const struct err *err) {
    json_t *row = row_of(event);
    json_put_string(row, "code", err_slug(err->code));
    json_put_string(row, "text", err->text);
    json_put_string(row, "remedy", err->remedy);
    json_put_int(row, "retry_after_s", err->retry_after_s);
    print_row(row);
}

static json_t *conditions_of(const struct kube_node *node) {
    static const char *const words[] = {[KUBE_UNKNOWN] = "Unknown", [KUBE_FALSE] = "False", [KUBE_TRUE] = "True"};
    json_t *all = json_object();
    for (int kind = 0; kind < KUBE_NODE_CONDITIONS; kind++) {
        const struct kube_condition *condition = &node->conditions[kind];
        json_t *row = json_object();
        if (!condition->is_there) {
            json_decref(row);
            continue;
        }
        json_put_string(row, "status", words[condition->truth]);
        json_put_int(row, "heartbeat_s", condition->heartbeat_s);
        json_put_int(row, "transition_s", condition->transition_s);
        json_put(all, kube_node_condition_words[kind], row);
    }
    return all;
}

static json_t *json_of(const struct kube_node *node) {
    json_t *row = json_object();
    json_put_string(row, "name", node->name);
    json_put_string(row, "uid", node->uid);
    json_put_string(row, "provider_id", node->provider_id);
    json_put_string(row, "system_uuid", node->system_uuid);
    json_put_string(row, "version", node->kubelet_version);
    json_put_string(row, "address", node->address);
    json_put_string(row, "reason", node->reason);
    json_put_int(row, "created_s", node->created_s);
    json_put_bool(row, "is_control_plane", node->is_control_plane);
    json_put_bool(row, "is_cordoned", node->is_cordoned);
    json_put(row, "conditions", conditions_of(node));
    return row;
}

static void print_nodes(void) {
    json_t *row = row_of("done"), *nodes = json_array();
    for (struct kept *kept = hashmap_first(&probe.nodes, 0); kept; kept = hashmap_next(&probe.nodes, &kept->by_name))
        json_add(nodes, json_of(&kept->node));
    json_put(row, "nodes", nodes);
    print_row(row);
}

/* -- what is told -------------------------------------------------------------------------------------------------- */

static bool kept_is(const void *item, const void *name) {
    return str_eq(((const struct kept *)item)->node.name, name);
}

static struct kept *find(const char *name, uint64_t *hash) {
    *hash = hash64_text(hash_seed(), name);
    return hashmap_find(&probe.nodes, *hash, kept_is, name);
}

static void drop(struct kept *kept) {
    hashmap_remove(&probe.nodes, &kept->by_name);
    kube_node_done(&kept->node);
    free(kept);
}

/* Those of lists before this one; 0: all. */
static void drop_before(unsigned list) {
    for (struct kept *kept = hashmap_first(&probe.nodes, 0), *next; kept; kept = next) {
        next = hashmap_next(&probe.nodes, &kept->by_name);
        if (!list || kept->list != list)
            drop(kept);
    }
}

static void on_begin(void *arg) {
    (void)arg;
    LOCKED(&probe.lock);
    probe.list++;
    probe.is_complete = false;
    print_row(row_of("begin"));
}

static int on_node(void *arg, struct kube_node *node, struct err *err) {
    uint64_t hash;
    (void)arg;
    LOCKED(&probe.lock);
    struct kept *kept = find(node->name, &hash);
    if (!kept) {
        kept = calloc(1, sizeof(*kept));
        if (!kept)
            return err_set(err, ERR_NOMEM, "out of memory");
        hashmap_insert(&probe.nodes, &kept->by_name, hash);
    }
    kube_node_done(&kept->node);
    kept->node = *node;
    memset(node, 0, sizeof(*node));
    kept->list = probe.list;
    if (probe.is_complete)
        print_change("changed", kept->node.name);
    return 0;
}

static void on_gone(void *arg, const struct kube_node *node) {
    uint64_t hash;
    (void)arg;
    LOCKED(&probe.lock);
    struct kept *kept = find(node->name, &hash);
    if (kept && str_eq(kept->node.uid, node->uid))
        drop(kept);
    print_change("gone", node->name);
}

static void on_complete(void *arg) {
    (void)arg;
    LOCKED(&probe.lock);
    drop_before(probe.list);
    probe.is_complete = true;
    print_row(row_of("complete"));
}

static void on_resume(void *arg) {
    (void)arg; /* its cluster is always the same */
}

static void on_end(void *arg, const struct err *err) {
    (void)arg;
    LOCKED(&probe.lock);
    print_error("end", err);
}

/* -- commands ------------------------------------------------------------------------------------------------------ */

static int make_watch(const struct k8s_endpoint *endpoint, struct err *err) {
    struct k8s_watch_user user = {NULL, on_begin, on_node, on_gone, on_complete, on_resume, on_end};
    k8s_watch_free(STEAL(probe.watch));
    LOCKED(&probe.lock);
    drop_before(0);
    probe.is_complete = false;
    return k8s_watch_new(probe.streams, endpoint, &user, &probe.watch, err);
}

static void set_token(const char *token) {
    k8s_client_free(STEAL(probe.client));
    secret_free(probe.token);
    probe.token = *token ? str_dup(token) : NULL;
}

static void forward(const char *by) {
    int64_t by_ms;
    if (str_to_i64(by, 0, 86400000, &by_ms))
        clock_advance_ms(by_ms);
}

/* `words` are those behind "call"; they are cut apart. */
static int call(const struct k8s_endpoint *endpoint, char *words, struct strbuf *reply, struct err *err) {
    struct strbuf body;
    const char *method = strsep(&words, " "), *path = strsep(&words, " "), *type = strsep(&words, " ");
    struct k8s_call what = {.method = method, .path = path, .body_type = type, .body = type ? &body : NULL, .timeout_ms = 60000};
    int rc = probe.client ? 0 : k8s_client_new(endpoint, probe.token, &probe.client, err);
    strbuf_init(&body, LINE_BYTES_MAX);
    if (words)
        strbuf_adds(&body, words);
    if (!rc)
        rc = k8s_call(probe.client, &what, reply, NULL, err);
    strbuf_done(&body);
    return rc;
}

/* `command` is one that was named in the head of this file. */
static int obey(const struct k8s_endpoint *endpoint, char *command, struct strbuf *reply, struct err *err) {
    if (str_starts(command, "call "))
        return call(endpoint, command + strlen("call "), reply, err);
    if (str_eq(command, "start"))
        return k8s_watch_start(probe.watch, probe.token, err);
    if (str_eq(command, "fresh"))
        return make_watch(endpoint, err);
    if (str_eq(command, "stop"))
        k8s_watch_stop(probe.watch);
    else if (str_eq(command, "stand"))
        clock_fake(clock_mono_ms(), clock_wall_ms());
    else if (str_starts(command, "forward "))
        forward(command + strlen("forward "));
    else if (str_starts(command, "token "))
        set_token(command + strlen("token "));
    else if (!str_eq(command, "nodes"))
        return err_set(err, ERR_INTERNAL, "there is no command %s", command);
    return 0;
}

static void print_done(const char *reply) {
    json_t *row = row_of("done");
    json_put_string(row, "reply", reply);
    print_row(row);
}

static void do_command(const struct k8s_endpoint *endpoint, char *command) {
    struct strbuf reply;
    struct err refused = {0};
    bool wants_nodes = str_eq(command, "nodes");
    strbuf_init(&reply, K8S_REPLY_BYTES_MAX);
    int rc = obey(endpoint, command, &reply, &refused);
    pthread_mutex_lock(&probe.lock);
    if (rc)
        print_error("done", &refused);
    else if (wants_nodes)
        print_nodes();
    else
        print_done(reply.data);
    pthread_mutex_unlock(&probe.lock);
    strbuf_done(&reply);
}

static bool read_line(char **line, size_t *room) {
    ssize_t n = getline(line, room, stdin);
    if (n < 0)
        return false;
    (*line)[strcspn(*line, "\n")] = '\0';
    return true;
}

static int run(const struct k8s_endpoint *endpoint, struct err *err) {
    char *line = NULL;
    size_t room = 0;
    int rc = read_line(&line, &room) ? make_watch(endpoint, err) : err_set(err, ERR_CONFIG, "no token");
    if (!rc)
        set_token(line);
    while (!rc && read_line(&line, &room))
        do_command(endpoint, line);
    if (line)
        secret_wipe(line, room);
    free(line);
    return rc;
}

static char *read_ca(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = calloc(1, CA_BYTES_MAX);
    if (file && text)
        text[fread(text, 1, CA_BYTES_MAX - 1, file)] = '\0';
    if (file)
        (void)fclose(file);
    return text;
}

int main(int argc, char **argv) {
    struct err err = {0};
    if (argc != 3) {
        (void)fprintf(stderr, "kube_watch_probe URL CA-FILE < TOKEN COMMAND...\n");
        return 2;
    }
    _cleanup_free_ char *ca = read_ca(argv[2]);
    struct k8s_endpoint endpoint = {.url = argv[1], .trust.ca_pem = ca, .connect_timeout_ms = 20000};
    if (http_client_global_init(&err) || http_streams_new(&probe.streams, &err) || run(&endpoint, &err))
        (void)fprintf(stderr, "%s\n", err.text);
    k8s_watch_free(probe.watch);
    http_streams_free(probe.streams);
    k8s_client_free(probe.client);
    secret_free(probe.token);
    drop_before(0);
    hashmap_done(&probe.nodes);
    http_client_global_done();
    return err.code ? 1 : 0;
}
