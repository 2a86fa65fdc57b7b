/* Drives src/vim by lines on stdin, so that tests can run it against a server. Not installed.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   vim_probe HOST PORT (SHA256 | CA-FILE) [TUNNEL-PORT [DIRECT-PORT [CALL-TIMEOUT-MS]]]
 *
 * Each line is a command and its words, separated by tabs (nothing secret in arguments). Each command prints "item" lines
 * (fields separated by tabs) and ends with "ok" or "error SLUG TEXT". */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "err.h"
#include "fsutil.h"
#include "http_client.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "vim.h"
#include "vim_extension.h"
#include "vim_authorization.h"
#include "vim_session.h"
#include "vim_watch.h"

#define WORDS_MAX 256
#define FILE_BYTES_MAX (256U * 1024U)

struct words {
    char *item[WORDS_MAX];
    size_t count;
};

static struct vim_client *client;
static char *again_user, *again_password;

static const char *word(const struct words *w, size_t i) {
    return i < w->count ? w->item[i] : "";
}

static const char *shown(const char *text) {
    return text ? text : "-";
}

static void print_session(const struct vim_user_session *s) {
    printf("item\t%s\t%s\t%s\t%s\t%s\t%s\n", s->key, s->user_name, shown(s->full_name), s->is_extension ? "extension" : "person",
           shown(s->user_agent), shown(s->login_time));
}

static int finish_session(int ret, struct vim_user_session *s) {
    if (!ret)
        print_session(s);
    vim_user_session_done(s);
    return ret;
}

static int do_connect(const struct words *w, struct err *err) {
    struct vim_about about = {0};
    int ret = vim_connect(client, &about, err);
    (void)w;
    if (!ret)
        printf("item\t%s\t%s\t%s\t%s\t%s\n", about.instance_uuid, about.version, about.build, about.api_version, about.full_name);
    vim_about_done(&about);
    return ret;
}

static int log_in_again(struct vim_client *c, void *arg, struct err *err) {
    (void)arg;
    return vim_login_password(c, again_user, again_password, err);
}

/* login USER PASSWORD; the same credentials serve to log in again */
static int do_login(const struct words *w, struct err *err) {
    secret_free(again_user);
    secret_free(again_password);
    again_user = str_dup(word(w, 1));
    again_password = str_dup(word(w, 2));
    vim_set_login(client, log_in_again, NULL);
    return vim_login_password(client, again_user, again_password, err);
}

static int read_file(const char *path, struct strbuf *out, struct err *err) {
    strbuf_init_secret(out, FILE_BYTES_MAX);
    return fs_read(path, out, err);
}

/* extlogin | extprobe  tunnel|direct KEY CERT-FILE KEY-FILE */
static int do_extension_login(const struct words *w, struct err *err) {
    _cleanup_strbuf_ struct strbuf cert = {0}, key = {0};
    struct vim_extension_login login = {.extension_key = word(w, 2)};
    int ret = read_file(word(w, 3), &cert, err);
    login.strategy = str_eq(word(w, 1), "direct") ? VIM_STRATEGY_DIRECT : VIM_STRATEGY_TUNNEL;
    if (!ret)
        ret = read_file(word(w, 4), &key, err);
    if (ret)
        return ret;
    login.cert_pem = cert.data;
    login.key_pem = key.data;
    return str_eq(word(w, 0), "extprobe") ? vim_probe_extension_login(client, &login, err)
                                          : vim_login_extension(client, &login, err);
}

static int do_logout(const struct words *w, struct err *err) {
    (void)w;
    return vim_logout(client, err);
}

static int do_keepalive(const struct words *w, struct err *err) {
    (void)w;
    return vim_keepalive(client, err);
}

static int do_own(const struct words *w, struct err *err) {
    struct vim_user_session s = {0};
    (void)w;
    return finish_session(vim_get_own_session(client, &s, err), &s);
}

static int on_restarted(void *arg, struct err *err) {
    (void)arg, (void)err;
    return 0;
}

static int on_object(void *arg, const struct vim_watch_object *told, struct err *err) {
    (void)arg, (void)err;
    printf("item\t%s\t%s\t%s\n", told->moref, shown(told->name), shown(told->parent_moref));
    return 0;
}

/* With the folders and datacenters above them. */
static int do_clusters(const struct words *w, struct err *err) {
    const struct vim_watch_events events = {.restarted = on_restarted, .object = on_object};
    (void)w;
    return vim_read_clusters(client, &events, err);
}

static int do_keys(const struct words *w, struct err *err) {
    struct vim_key_list list = {0};
    int ret = vim_list_extension_keys(client, &list, err);
    (void)w;
    for (size_t i = 0; i < list.count; i++)
        printf("item\t%s\n", list.items[i]);
    vim_key_list_done(&list);
    return ret;
}

static int do_find(const struct words *w, struct err *err) {
    _cleanup_(vim_extension_free) struct vim_extension *e = NULL;
    int ret = vim_find_extension(client, word(w, 1), &e, err);
    if (!ret && e) {
        printf("item\t%s\t%s\t%s\t%zu\t%zu\n", e->key, shown(e->version), shown(e->description.label), e->server_count,
               e->client_count);
        for (size_t i = 0; i < e->server_count; i++)
            printf("item\tserver\t%s\t%s\t%s\t%s\n", shown(e->servers[i].type), shown(e->servers[i].url),
                   shown(e->servers[i].thumbprint), e->servers[i].certificate ? "certificate" : "-");
    }
    return ret;
}

/* A record that uses every member. */
static int do_register(const struct words *w, struct err *err) {
    static const char *const emails[] = {"admin@example.test"}, *const ids[] = {"kaas.task"}, *const faults[] = {"kaas.fault"};
    static const struct vim_description text = {"KaaS <&> \xe2\x82\xac", "Kubernetes\nclusters"};
    static const struct vim_ext_client ends[] = {
        {"1.0.0.0", {"c", "c"}, "Example", "vsphere-client-remote", "https://kaas.example.test/p.json"}};
    static const struct vim_ext_event events[] = {{"kaas.event", "<EventType/>"}};
    static const struct vim_ext_privilege privileges[] = {{"Kaas.View", "Kaas"}};
    static const struct vim_key_value data[] = {{"kaas.task.label", "A task"}};
    static const struct vim_ext_resource resources[] = {{"en", "task", data, 1}};
    static const struct vim_ext_managed managed[] = {{"k8s-node", "https://x/s.png", "https://x/i.png", "a node"}};
    static const struct vim_ext_tab tabs[] = {{"tab", "https://x/tab"}};
    struct vim_ext_server servers[] = {
        {"https://kaas.example.test/p.json", {"s", "s"}, "Example", "MANIFEST_SERVER", {emails, 1}, word(w, 3), NULL}};
    struct vim_extension e = {.description = text,
                              .key = word(w, 1),
                              .company = "Example",
                              .type = "kaas",
                              .version = word(w, 2),
                              .servers = servers,
                              .server_count = 1,
                              .clients = ends,
                              .client_count = 1,
                              .tasks = {ids, 1},
                              .events = events,
                              .event_count = 1,
                              .faults = {faults, 1},
                              .privileges = privileges,
                              .privilege_count = 1,
                              .resources = resources,
                              .resource_count = 1,
                              .health_url = "https://x/health",
                              .has_ovf_consumer = true,
                              .ovf_callback_url = "https://x/ovf",
                              .ovf_section_types = {ids, 1},
                              .has_product = true,
                              .product_url = "https://x/",
                              .managed_entities = managed,
                              .managed_count = 1,
                              .has_shown_in_solution_manager = true,
                              .has_solution_manager = true,
                              .solution_tabs = tabs,
                              .solution_tab_count = 1};
    _cleanup_strbuf_ struct strbuf pem = {0};
    int ret = w->count > 4 ? read_file(word(w, 4), &pem, err) : 0;
    if (ret)
        return ret;
    servers[0].certificate = w->count > 4 ? pem.data : NULL;
    return str_eq(word(w, 0), "update") ? vim_update_extension(client, &e, err) : vim_register_extension(client, &e, err);
}

/* touch KEY VERSION: read, change one member, write back */
static int do_touch(const struct words *w, struct err *err) {
    _cleanup_(vim_extension_free) struct vim_extension *found = NULL;
    struct vim_extension next;
    int ret = vim_find_extension(client, word(w, 1), &found, err);
    if (ret || !found)
        return ret ? ret : err_set(err, ERR_NOT_FOUND, "no such extension");
    next = *found;
    next.version = word(w, 2);
    next.last_heartbeat_time = NULL;
    return vim_update_extension(client, &next, err);
}

static int do_unregister(const struct words *w, struct err *err) {
    return vim_unregister_extension(client, word(w, 1), err);
}

static int do_set_certificate(const struct words *w, struct err *err) {
    _cleanup_strbuf_ struct strbuf cert = {0};
    int ret = read_file(word(w, 2), &cert, err);
    return ret ? ret : vim_set_extension_certificate(client, word(w, 1), cert.data, err);
}

static int do_peek(const struct words *w, struct err *err) {
    struct vim_user_session s = {0};
    return finish_session(vim_peek_session(client, word(w, 1), &s, err), &s);
}

static int do_clone(const struct words *w, struct err *err) {
    struct vim_user_session s = {0};
    return finish_session(vim_clone_session(client, word(w, 1), &s, err), &s);
}

static int do_check(const struct words *w, struct err *err) {
    struct vim_user_session s = {0};
    return finish_session(vim_check_password(client, word(w, 1), word(w, 2), &s, err), &s);
}

static int do_sessions(const struct words *w, struct err *err) {
    struct vim_session_list list = {0};
    int ret = vim_list_sessions(client, &list, err);
    (void)w;
    for (size_t i = 0; i < list.count; i++)
        print_session(&list.items[i]);
    vim_session_list_done(&list);
    return ret;
}

static int do_active(const struct words *w, struct err *err) {
    bool is_active = false;
    int ret = vim_session_is_active(client, word(w, 1), word(w, 2), &is_active, err);
    if (!ret)
        printf("item\t%s\n", is_active ? "active" : "inactive");
    return ret;
}

static int do_terminate(const struct words *w, struct err *err) {
    return vim_terminate_session(client, word(w, 1), err);
}

static struct vim_subject subject_of(const struct words *w) {
    struct vim_subject s = {0};
    if (str_eq(word(w, 1), "session"))
        s.session_key = word(w, 2);
    else
        s.user_name = word(w, 2);
    return s;
}

/* privileges session|user WHO PRIVILEGE CLUSTER... */
static int do_privileges(const struct words *w, struct err *err) {
    const char *ids[WORDS_MAX] = {NULL};
    bool granted[WORDS_MAX] = {false};
    struct vim_privilege_query q = {.subject = subject_of(w), .privilege = word(w, 3), .clusters = ids};
    int ret;
    while (q.count + 4 < w->count) {
        ids[q.count] = w->item[q.count + 4];
        q.count++;
    }
    ret = vim_check_privileges(client, &q, granted, err);
    for (size_t i = 0; !ret && i < q.count; i++)
        printf("item\t%s\t%s\n", ids[i], granted[i] ? "yes" : "no");
    return ret;
}

/* rootprivileges session|user WHO PRIVILEGE... */
static int do_root_privileges(const struct words *w, struct err *err) {
    const char *ids[WORDS_MAX] = {NULL};
    bool granted[WORDS_MAX] = {false};
    struct vim_root_query q = {.subject = subject_of(w), .privileges = ids};
    int ret;
    while (q.count + 3 < w->count) {
        ids[q.count] = w->item[q.count + 3];
        q.count++;
    }
    ret = vim_check_root_privileges(client, &q, granted, err);
    for (size_t i = 0; !ret && i < q.count; i++)
        printf("item\t%s\t%s\n", ids[i], granted[i] ? "yes" : "no");
    return ret;
}

/* role NAME USER PRIVILEGE...: makes the role and gives it to the user on the root folder */
static int do_role(const struct words *w, struct err *err) {
    const char *ids[WORDS_MAX] = {NULL};
    size_t n = 0;
    int id = 0, ret;
    while (n + 3 < w->count) {
        ids[n] = w->item[n + 3];
        n++;
    }
    ret = vim_add_role(client, word(w, 1), ids, n, &id, err);
    if (!ret)
        ret = vim_grant_role(client, NULL, &(struct vim_grant){word(w, 2), id, true}, err);
    if (!ret)
        printf("item\t%d\n", id);
    return ret;
}

static int do_remove_role(const struct words *w, struct err *err) {
    int id = 0, ret = vim_lookup_role(client, word(w, 1), &id, err);
    return ret ? ret : vim_remove_role(client, id, str_eq(word(w, 2), "used"), err);
}

/* permissions | permit ... | forbid ...  TYPE MOREF; an empty MOREF is the root folder */
static const struct vim_entity *entity_of(const struct words *w, struct vim_entity *out) {
    out->type = word(w, 1);
    out->moref = word(w, 2);
    return out->moref[0] ? out : NULL;
}

static int do_permissions(const struct words *w, struct err *err) {
    struct vim_entity entity;
    struct vim_permission_list list = {0};
    int ret = vim_list_permissions(client, entity_of(w, &entity), &list, err);
    for (size_t i = 0; i < list.count; i++)
        printf("item\t%s\t%s\t%d\t%s\n", list.items[i].principal, list.items[i].is_group ? "group" : "person",
               list.items[i].role_id, list.items[i].does_propagate ? "down" : "here");
    vim_permission_list_done(&list);
    return ret;
}

/* forbid TYPE MOREF PRINCIPAL group|person */
static int do_forbid(const struct words *w, struct err *err) {
    struct vim_entity entity;
    return vim_remove_permission(client, entity_of(w, &entity), word(w, 3), str_eq(word(w, 4), "group"), err);
}

static int do_account(const struct words *w, struct err *err) {
    return vim_set_service_account(client, word(w, 1), word(w, 2), err);
}

/* time: by how many milliseconds the server is ahead of us */
static int do_time(const struct words *w, struct err *err) {
    int64_t server_ms = 0, before_ms = clock_wall_ms();
    int ret = vim_lookup_time(client, &server_ms, err);
    (void)w;
    if (!ret)
        printf("item\t%lld\n", (long long)(server_ms - (before_ms + clock_wall_ms()) / 2));
    return ret;
}

static const struct command {
    const char *name;
    int (*fn)(const struct words *w, struct err *err);
} commands[] = {
    {"connect", do_connect},
    {"login", do_login},
    {"extlogin", do_extension_login},
    {"extprobe", do_extension_login},
    {"logout", do_logout},
    {"keepalive", do_keepalive},
    {"own", do_own},
    {"clusters", do_clusters},
    {"keys", do_keys},
    {"find", do_find},
    {"register", do_register},
    {"update", do_register},
    {"touch", do_touch},
    {"unregister", do_unregister},
    {"setcert", do_set_certificate},
    {"peek", do_peek},
    {"clone", do_clone},
    {"check", do_check},
    {"sessions", do_sessions},
    {"active", do_active},
    {"terminate", do_terminate},
    {"privileges", do_privileges},
    {"rootprivileges", do_root_privileges},
    {"role", do_role},
    {"unrole", do_remove_role},
    {"permissions", do_permissions},
    {"forbid", do_forbid},
    {"account", do_account},
    {"time", do_time},
};

/* The line is wiped before the outcome is told: a test then looks for passwords in our memory. */
static void run_line(char *line, size_t size) {
    char *rest = line;
    struct words w = {.count = 0};
    struct err err = {0};
    int ret = ERR_INVALID;
    line[strcspn(line, "\n")] = '\0';
    while (rest && w.count < WORDS_MAX)
        w.item[w.count++] = strsep(&rest, "\t");
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
        if (str_eq(commands[i].name, word(&w, 0)))
            ret = commands[i].fn(&w, &err);
    secret_wipe(line, size);
    if (ret)
        printf("error\t%s\t%s\t%s\n", err_slug(ret), err.text, err.remedy);
    else
        printf("ok\n");
    (void)fflush(stdout);
}

static int make_client(int argc, char **argv, struct strbuf *ca, struct err *err) {
    static uint8_t pin[32];
    struct vim_options o = {.host = argv[1], .user_agent = "vim_probe"};
    int64_t numbers[4] = {0};
    for (int i = 0; i < 4; i++) {
        int at = i ? i + 3 : 2;
        if (at < argc && !str_to_i64(argv[at], 0, i < 3 ? 65535 : 3600000, &numbers[i]))
            return err_set(err, ERR_INVALID, "bad number %s", argv[at]);
    }
    o.port = (unsigned)numbers[0];
    o.tunnel_port = (unsigned)numbers[1];
    o.direct_port = (unsigned)numbers[2];
    o.call_timeout_ms = (long)numbers[3];
    if (str_unhex(argv[3], pin, sizeof(pin)))
        o.pin_sha256 = pin;
    else if (read_file(argv[3], ca, err))
        return err->code;
    o.ca_pem = o.pin_sha256 ? NULL : ca->data;
    return vim_client_new(&o, &client, err);
}

int main(int argc, char **argv) {
    _cleanup_strbuf_ struct strbuf ca = {0};
    _cleanup_free_ char *line = NULL;
    struct err err = {0};
    size_t size = 0;
    if (argc < 4 || http_client_global_init(&err) || make_client(argc, argv, &ca, &err)) {
        fprintf(stderr, "vim_probe HOST PORT SHA256|CA-FILE [TUNNEL-PORT [DIRECT-PORT [CALL-TIMEOUT-MS]]]: %s\n", err.text);
        return 2;
    }
    (void)setvbuf(stdin, NULL, _IONBF, 0); /* no copy of a password in a buffer */
    while (getline(&line, &size, stdin) > 0)
        run_line(line, size);
    vim_client_free(client);
    secret_free(again_user);
    secret_free(again_password);
    http_client_global_done();
    return 0;
}
