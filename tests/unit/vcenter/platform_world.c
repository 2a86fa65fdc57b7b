/* Database and vCenter in memory for tests of src/vcenter. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>

#include "audit_store.h"
#include "clock.h"
#include "vcenter_store.h"
#include "platform_world.h"
#include "platform_world_reg.h"
#include "seal.h"
#include "str.h"
#include "vim_watch.h"
#include "vim_session.h"
#include "vim_authorization.h"
#include "watch_run.h"

struct platform_world pw;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct seal *seal;
static struct platform *world;

struct vim_client {
    vim_login_fn *login;
    void *login_arg;
    char expected[37]; /* instance UUID; "": whichever */
    bool has_session, is_admin;
};

void platform_world_lock(void) {
    (void)pthread_mutex_lock(&lock);
}

void platform_world_unlock(void) {
    (void)pthread_mutex_unlock(&lock);
}

size_t platform_world_vsphere_count(void) {
    size_t count;
    platform_world_lock();
    count = pw.vsphere_count;
    platform_world_unlock();
    return count;
}

/* Notes the call; fails if the test wants this one to. Takes the lock if it works. */
static int begin(const char *call, bool is_noted, struct err *err) {
    (void)pthread_mutex_lock(&lock);
    if (is_noted)
        (void)snprintf(pw.log + strlen(pw.log), sizeof(pw.log) - strlen(pw.log), "%s ", call);
    if (!str_eq(pw.failing, call))
        return 0;
    if (pw.fails_once)
        pw.failing = NULL;
    (void)pthread_mutex_unlock(&lock);
    return err_set(err, pw.fail_code, "%s fails, as the test wants it", call);
}

static int vim_begin(const char *call, bool is_noted, struct err *err) {
    int rc = begin(call, is_noted, err);
    if (rc || !pw.unreachable)
        return rc;
    (void)pthread_mutex_unlock(&lock);
    return err_set(err, pw.unreachable, "the vCenter cannot be reached");
}

static int end(int rc) {
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

int platform_world_begin(const char *call, bool is_noted, struct err *err) {
    return vim_begin(call, is_noted, err);
}

int platform_world_end(int rc) {
    return end(rc);
}

bool platform_world_has_session(const struct vim_client *client) {
    return client->has_session;
}

struct platform *platform_world_platform(void) {
    return world;
}

/* -- database ---------------------------------------------------------------------------------------------------------- */

void store_thread_begin(void) {}
void store_thread_end(void) {}

static struct vcenter *row_of(const char *id) {
    for (size_t i = 0; i < pw.vcenters_count; i++)
        if (str_eq(pw.vcenters[i].id, id))
            return &pw.vcenters[i];
    return NULL;
}

static struct vcenter *must_row(const char *id) {
    struct vcenter *row = row_of(id);
    if (!row)
        abort();
    return row;
}

int vcenter_store_list(struct store *store, struct vcenter_list *out, struct err *err) {
    int rc = begin("list", false, err);
    (void)store;
    if (rc)
        return rc;
    out->items = calloc(pw.vcenters_count + 1, sizeof(*out->items));
    for (out->count = 0; out->count < pw.vcenters_count; out->count++)
        assert_int_equal(vcenter_copy(&pw.vcenters[out->count], &out->items[out->count], NULL), 0);
    return end(0);
}

void vcenter_list_done(struct vcenter_list *list) {
    for (size_t i = 0; i < list->count; i++)
        vcenter_done(&list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

int vcenter_store_load(struct store *store, const char *id, struct vcenter **out, struct err *err) {
    int rc = begin("load", false, err);
    (void)store;
    if (rc)
        return rc;
    if (!row_of(id))
        return end(err_set(err, ERR_NOT_FOUND, "there is no vCenter %s", id));
    *out = calloc(1, sizeof(**out));
    assert_non_null(*out);
    return end(vcenter_copy(row_of(id), *out, err));
}

static void take_line(struct store *store, const struct audit_record *audit) {
    if (audit)
        assert_int_equal(audit_store_append(store, audit, NULL), 0);
}

int vcenter_store_insert(struct store *store, const struct vcenter *vc, const struct audit_record *audit, struct err *err) {
    int rc = begin("insert", true, err);
    if (rc)
        return rc;
    if (row_of(vc->id))
        return end(err_set(err, ERR_EXISTS, "known already"));
    take_line(store, audit);
    return end(vcenter_copy(vc, &pw.vcenters[pw.vcenters_count++], err));
}

int vcenter_store_update(struct store *store, const struct vcenter *vc, const struct audit_record *audit, int64_t *version_no,
                         struct err *err) {
    struct vcenter copy, *row = must_row(vc->id);
    int rc = begin("update_row", true, err);
    if (rc)
        return rc;
    take_line(store, audit);
    assert_int_equal(vcenter_copy(vc, &copy, NULL), 0);
    vcenter_done(row);
    memcpy(row, &copy, sizeof(copy));
    *version_no = 2;
    return end(0);
}

/* No provider builds anywhere in these tests. */
int vcenter_store_check_unprovided(struct store *store, const char *id, struct err *err) {
    (void)store;
    (void)id;
    (void)err;
    return 0;
}

int vcenter_store_delete(struct store *store, const char *id, int64_t now_ms, const struct audit_record *audit, struct err *err) {
    int rc = begin("delete", true, err);
    struct vcenter *row;
    (void)now_ms;
    if (rc)
        return rc;
    take_line(store, audit);
    row = must_row(id);
    vcenter_done(row);
    *row = pw.vcenters[--pw.vcenters_count];
    memset(&pw.vcenters[pw.vcenters_count], 0, sizeof(pw.vcenters[0]));
    return end(0);
}

static struct credential_row *must_credential(unsigned generation) {
    for (size_t i = 0; i < pw.credentials_count; i++)
        if (pw.credentials[i].generation == generation)
            return &pw.credentials[i];
    abort();
}

static struct credential_row *credential_in(char state) {
    for (size_t i = 0; i < pw.credentials_count; i++)
        if (pw.credentials[i].state == state)
            return &pw.credentials[i];
    return NULL;
}

int credential_store_add_pending(struct store *store, const struct vcenter_credential *c, unsigned *generation, struct err *err) {
    int rc = begin("add_pending", true, err);
    struct credential_row *row;
    (void)store;
    if (rc)
        return rc;
    if (credential_in('p'))
        return end(err_set(err, ERR_CONFLICT, "there is a pending one already"));
    assert_true(pw.credentials_count < FEW && c->sealed_bytes <= sizeof(row->sealed));
    row = &pw.credentials[pw.credentials_count++];
    row->generation = (unsigned)pw.credentials_count;
    row->state = 'p';
    row->kind = c->kind;
    (void)snprintf(row->user_name, sizeof(row->user_name), "%s", c->user_name ? c->user_name : "");
    row->sealed_bytes = c->sealed_bytes;
    memcpy(row->sealed, c->sealed, c->sealed_bytes);
    (void)snprintf(row->cert_pem, sizeof(row->cert_pem), "%s", c->cert_pem ? c->cert_pem : "");
    *generation = row->generation;
    return end(0);
}

int credential_store_load(struct store *store, const char *vcenter_id, enum credential_state state,
                          struct vcenter_credential **out, struct err *err) {
    int rc = begin("load_credential", false, err);
    const struct credential_row *row;
    struct vcenter_credential *c;
    (void)store;
    if (rc)
        return rc;
    row = credential_in(state == CREDENTIAL_ACTIVE ? 'a' : 'p');
    if (!row)
        return end(0);
    c = calloc(1, sizeof(*c));
    assert_non_null(c);
    c->vcenter_id = str_dup(vcenter_id);
    c->generation = row->generation;
    c->kind = row->kind;
    c->cert_pem = row->cert_pem[0] ? str_dup(row->cert_pem) : NULL;
    c->user_name = row->user_name[0] ? str_dup(row->user_name) : NULL;
    c->sealed = malloc(row->sealed_bytes);
    assert_non_null(c->sealed);
    memcpy(c->sealed, row->sealed, row->sealed_bytes);
    c->sealed_bytes = row->sealed_bytes;
    *out = c;
    return end(0);
}

void vcenter_credential_free(struct vcenter_credential *c) {
    if (!c)
        return;
    free(c->vcenter_id);
    free(c->cert_pem);
    free(c->user_name);
    free(c->sealed);
    free(c);
}

int credential_store_promote(struct store *store, const char *vcenter_id, unsigned generation, const struct operation_end *done,
                             struct err *err) {
    int rc = begin("promote", true, err);
    struct credential_row *active;
    (void)store;
    (void)vcenter_id;
    if (rc)
        return rc;
    active = credential_in('a');
    if (active)
        active->state = 'r';
    must_credential(generation)->state = 'a';
    take_line(store, done ? done->record : NULL);
    return end(0);
}

int credential_store_retire(struct store *store, const char *vcenter_id, unsigned generation, struct err *err) {
    int rc = begin("retire", true, err);
    (void)store;
    (void)vcenter_id;
    if (rc)
        return rc;
    must_credential(generation)->state = 'r';
    return end(0);
}

static void copy_hx(const struct hx_cluster *from, struct hx_cluster *out) {
    *out = *from;
    out->id = str_dup(from->id);
    out->name = str_dup(from->name);
    out->hx_uuid = str_dup(from->hx_uuid);
    out->address = str_dup(from->address);
    out->extension_key = str_dup(from->extension_key);
}

int platform_store_list_hx(struct store *store, const char *vcenter_id, struct hx_cluster_list *out, struct err *err) {
    int rc = begin("list_hx", false, err);
    (void)store;
    (void)vcenter_id;
    if (rc)
        return rc;
    out->items = calloc(pw.hx_count + 1, sizeof(*out->items));
    for (out->count = 0; out->count < pw.hx_count; out->count++)
        copy_hx(&pw.hx[out->count], &out->items[out->count]);
    return end(0);
}

void hx_cluster_list_done(struct hx_cluster_list *list) {
    for (size_t i = 0; i < list->count; i++)
        hx_cluster_done(&list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

static void copy_vsphere(const struct vsphere_cluster *from, struct vsphere_cluster *out) {
    *out = *from;
    out->datacenter = str_dup(from->datacenter);
    out->datacenter_moref = str_dup(from->datacenter_moref);
    out->name = str_dup(from->name);
}

int platform_store_list_vsphere(struct store *store, const char *vcenter_id, struct vsphere_cluster_list *out, struct err *err) {
    int rc = begin("list_vsphere", false, err);
    (void)store;
    (void)vcenter_id;
    if (rc)
        return rc;
    out->items = calloc(pw.vsphere_count + 1, sizeof(*out->items));
    for (out->count = 0; out->count < pw.vsphere_count; out->count++)
        copy_vsphere(&pw.vsphere[out->count], &out->items[out->count]);
    return end(0);
}

void vsphere_cluster_list_done(struct vsphere_cluster_list *list) {
    for (size_t i = 0; i < list->count; i++)
        vsphere_cluster_done(&list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

int platform_store_save_vsphere(struct store *store, const struct platform_seen *seen, const struct vsphere_cluster *items,
                                size_t count, unsigned *changed, struct err *err) {
    int rc = begin("save_vsphere", false, err);
    (void)store;
    if (rc)
        return rc;
    assert_true(seen->is_complete && count <= FEW);
    *changed = pw.vsphere_count != count;
    while (pw.vsphere_count)
        vsphere_cluster_done(&pw.vsphere[--pw.vsphere_count]);
    for (; pw.vsphere_count < count; pw.vsphere_count++)
        copy_vsphere(&items[pw.vsphere_count], &pw.vsphere[pw.vsphere_count]);
    return end(0);
}

static struct hx_cluster *hx_on(const struct object_ref *ref) {
    for (size_t i = 0; i < pw.hx_count; i++)
        if (object_ref_eq(&pw.hx[i].vsphere_cluster, ref))
            return &pw.hx[i];
    return NULL;
}

int platform_store_save_hx(struct store *store, const struct platform_seen *seen, const struct hx_cluster *items, size_t count,
                           unsigned *changed, struct err *err) {
    int rc = begin("save_hx", false, err);
    (void)store;
    (void)seen;
    if (rc)
        return rc;
    for (size_t i = 0; i < pw.hx_count; i++)
        pw.hx[i].is_gone = true;
    for (size_t i = 0; i < count; i++) {
        struct hx_cluster *known = hx_on(&items[i].vsphere_cluster);
        if (known)
            known->is_gone = false;
        else
            copy_hx(&items[i], &pw.hx[pw.hx_count++]);
    }
    *changed = 1;
    return end(0);
}

/* -- vCenter: sessions -------------------------------------------------------------------------------------------------- */

int vim_client_new(const struct vim_options *options, struct vim_client **out, struct err *err) {
    int rc = begin("client_new", false, err);
    assert_non_null(options->host);
    if (rc)
        return rc;
    *out = calloc(1, sizeof(**out));
    assert_non_null(*out);
    (void)snprintf((*out)->expected, sizeof((*out)->expected), "%s", options->instance_uuid ? options->instance_uuid : "");
    return end(0);
}

void vim_client_free(struct vim_client *client) {
    free(client);
}

void vim_client_cancel(struct vim_client *client) {
    (void)client;
}

void vim_set_login(struct vim_client *client, vim_login_fn *fn, void *arg) {
    client->login = fn;
    client->login_arg = arg;
}

int vim_connect(struct vim_client *client, struct vim_about *out, struct err *err) {
    int rc = vim_begin("connect", false, err);
    (void)atomic_fetch_add(&pw.connects, 1);
    if (rc)
        return rc;
    if (client->expected[0] && !str_eq(client->expected, pw.instance_uuid)) {
        (void)err_set(err, ERR_CONFLICT, "another vCenter (%s) answers", pw.instance_uuid);
        return end(err_remedy(err, "remove it and add it again"));
    }
    if (!out)
        return end(0);
    out->instance_uuid = str_dup(pw.instance_uuid);
    out->full_name = str_dup("VMware vCenter Server 8.0.3 build-24022515");
    out->version = str_dup("8.0.3");
    out->build = str_dup("24022515");
    out->api_version = str_dup("8.0.3.0");
    return end(0);
}

void vim_about_done(struct vim_about *about) {
    free(about->instance_uuid);
    free(about->full_name);
    free(about->version);
    free(about->build);
    free(about->api_version);
    memset(about, 0, sizeof(*about));
}

int vim_login_password(struct vim_client *client, const char *user, const char *password, struct err *err) {
    int rc = vim_begin("login_password", true, err);
    (void)user;
    if (rc)
        return rc;
    client->is_admin = client->has_session = str_eq(password, ADMIN_PASSWORD);
    return end(client->is_admin ? 0 : err_set(err, ERR_CREDENTIALS, "wrong name or password"));
}

int vim_get_own_session(struct vim_client *client, struct vim_user_session *out, struct err *err) {
    int rc = vim_begin("own_session", false, err);
    if (rc)
        return rc;
    if (!client->has_session)
        return end(err_set(err, ERR_NOT_FOUND, "there is no session"));
    memset(out, 0, sizeof(*out));
    out->key = str_dup("52admin-key");
    out->user_name = str_dup("VSPHERE.LOCAL\\Administrator");
    return end(0);
}

void vim_user_session_done(struct vim_user_session *s) {
    free(s->key);
    free(s->user_name);
    free(s->full_name);
    memset(s, 0, sizeof(*s));
}

static bool works(enum vim_strategy strategy) {
    return pw.strategies & 1U << strategy;
}

int vim_login_extension(struct vim_client *client, const struct vim_extension_login *login, struct err *err) {
    int rc = vim_begin("login_extension", true, err);
    if (rc)
        return rc;
    assert_non_null(strstr(login->key_pem, "PRIVATE KEY"));
    if (!works(login->strategy))
        return end(err_set(err, ERR_UNREACHABLE, "closed"));
    if (!pw.has_record || !str_eq(pw.cert_pem, login->cert_pem))
        return end(err_set(err, ERR_CREDENTIALS, "not the stored certificate"));
    client->has_session = true;
    return end(0);
}

int vim_probe_extension_login(struct vim_client *client, const struct vim_extension_login *login, struct err *err) {
    int rc = vim_begin("probe", true, err);
    (void)client;
    if (rc)
        return rc;
    return end(works(login->strategy) ? 0 : err_set(err, ERR_UNREACHABLE, "closed"));
}

const char *vim_strategy_name(enum vim_strategy strategy) {
    static const char *const names[] = {"certificate_tunnel", "certificate_direct", "service_account", "account"};
    return names[strategy];
}

int vim_ensure_session(struct vim_client *client, struct err *err) {
    int rc = vim_begin("ensure", false, err);
    if (rc)
        return rc;
    (void)end(0);
    if (client->has_session)
        return 0;
    rc = client->login ? client->login(client, client->login_arg, err) : err_set(err, ERR_NOT_REGISTERED, "no way to log in");
    return rc == ERR_CREDENTIALS ? ERR_UPSTREAM_DENIED : rc;
}

int vim_keepalive(struct vim_client *client, struct err *err) {
    int rc = vim_begin("keepalive", true, err);
    (void)client;
    return rc ? rc : end(0);
}

int vim_logout(struct vim_client *client, struct err *err) {
    (void)err;
    client->has_session = false;
    return 0;
}

int vim_set_service_account(struct vim_client *client, const char *key, const char *account, struct err *err) {
    int rc = vim_begin("set_service_account", true, err);
    (void)client;
    (void)key;
    (void)account;
    return rc ? rc : end(0);
}

int vim_plugin_ticket(struct vim_client *client, const char *session_id, const char *vc_guid, char **out, struct err *err) {
    int rc = vim_begin("plugin_ticket", true, err);
    (void)client;
    (void)session_id;
    (void)vc_guid;
    if (rc)
        return rc;
    *out = str_dup("ticket");
    return end(*out ? 0 : ERR_NOMEM);
}

bool vim_take_orphan_hint(struct vim_client *client) {
    (void)client;
    return false;
}

int vim_list_sessions(struct vim_client *client, struct vim_session_list *out, struct err *err) {
    int rc = vim_begin("list_sessions", false, err);
    (void)client;
    if (rc)
        return rc;
    *out = (struct vim_session_list){0};
    if (pw.listed_agent && (out->items = calloc(1, sizeof(*out->items)))) {
        out->items[0].key = str_dup("listed");
        out->items[0].user_agent = str_dup(pw.listed_agent);
        out->count = 1;
    }
    (void)end(0);
    if (pw.on_list)
        pw.on_list();
    return 0;
}

void vim_session_list_done(struct vim_session_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].key);
        free(list->items[i].user_agent);
    }
    free(list->items);
    *list = (struct vim_session_list){0};
}

int vim_terminate_session(struct vim_client *client, const char *key, struct err *err) {
    int rc = vim_begin("terminate_session", true, err);
    (void)client;
    (void)key;
    return rc ? rc : end(0);
}

int vim_peek_session(struct vim_client *client, const char *cookie, struct vim_user_session *out, struct err *err) {
    int rc = vim_begin("peek", true, err);
    (void)client;
    if (rc)
        return rc;
    if (!str_eq(cookie, "good"))
        return end(err_set(err, ERR_CREDENTIALS, "no such session"));
    memset(out, 0, sizeof(*out));
    out->key = str_dup("52key");
    out->user_name = str_dup("VSPHERE.LOCAL\\viewer");
    return end(0);
}

int vim_clone_session(struct vim_client *client, const char *ticket, struct vim_user_session *out, struct err *err) {
    return vim_peek_session(client, ticket, out, err);
}

int vim_check_password(struct vim_client *client, const char *user, const char *password, struct vim_user_session *out,
                       struct err *err) {
    (void)user;
    return vim_peek_session(client, password, out, err);
}

int vim_check_privileges(struct vim_client *client, const struct vim_privilege_query *query, bool *granted, struct err *err) {
    int rc = vim_begin("check_privileges", true, err);
    (void)client;
    if (rc)
        return rc;
    assert_string_equal(query->privilege, "System.Read");
    for (size_t i = 0; i < query->count; i++)
        granted[i] = str_eq(query->clusters[i], "domain-c7");
    return end(0);
}

int vim_check_root_privileges(struct vim_client *client, const struct vim_root_query *query, bool *granted, struct err *err) {
    int rc = vim_begin("check_root", true, err);
    (void)client;
    if (rc)
        return rc;
    assert_string_equal(query->subject.session_key, "52admin-key");
    for (size_t i = 0; i < query->count; i++)
        granted[i] = !str_eq(query->privileges[i], pw.lacking);
    return end(0);
}

/* -- vCenter: records and inventory ---------------------------------------------------------------------------------------- */

/* A datacenter's name is its id, too. */
int vim_read_clusters(struct vim_client *client, const struct vim_watch_events *events, struct err *err) {
    int rc = vim_begin("read_clusters", false, err);
    (void)client;
    if (rc)
        return rc;
    assert_int_equal(events->restarted(events->arg, NULL), 0);
    for (size_t i = 0; i < FEW && pw.clusters[i][0]; i++) {
        const char *dc = pw.clusters[i][2];
        const struct vim_watch_object cluster = {
            .kind = VIM_OBJECT_CLUSTER, .moref = pw.clusters[i][0], .name = pw.clusters[i][1], .parent_moref = dc};
        const struct vim_watch_object datacenter = {.kind = VIM_OBJECT_DATACENTER, .moref = dc, .name = dc};
        assert_int_equal(events->object(events->arg, &cluster, NULL), 0);
        assert_int_equal(dc ? events->object(events->arg, &datacenter, NULL) : 0, 0);
    }
    return end(0);
}

int vim_list_extension_keys(struct vim_client *client, struct vim_key_list *out, struct err *err) {
    int rc = vim_begin("list_keys", false, err);
    (void)client;
    if (rc)
        return rc;
    out->items = calloc(FEW, sizeof(char *));
    for (out->count = 0; out->count < FEW && pw.keys[out->count]; out->count++)
        out->items[out->count] = str_dup(pw.keys[out->count]);
    return end(0);
}

void vim_key_list_done(struct vim_key_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

/* -- life -------------------------------------------------------------------------------------------------------------------- */

void platform_world_add(const char *id, const char *address, bool is_registered) {
    struct vcenter *vc = &pw.vcenters[pw.vcenters_count++];
    vc->id = str_dup(id);
    vc->address = str_dup(address);
    vc->name = str_dup(address);
    vc->port = 443;
    vc->has_pin = true;
    vc->tunnel_port = 80;
    vc->direct_port = 8089;
    vc->registered_at_ms = is_registered ? 1 : 0;
}

void platform_world_forget_log(void) {
    pw.log[0] = 0;
}

static void on_written(void *arg) {
    (void)arg;
    pw.written++;
}

static struct runtime runtime;

struct platform *platform_world_new(void) {
    static const uint8_t key[SEAL_KEY_BYTES] = {7};
    struct platform *platform = NULL;
    assert_int_equal(seal_open_key(key, &seal, NULL), 0);
    runtime = (struct runtime){.seal = seal, .version = "1.2.3", .public_url = "https://kaas.test", .on_written = on_written};
    const struct platform_options options = {
        .runtime = &runtime,
        .extension_key = "com.cisco.kaas",
        .admin_email = "admin@kaas.test",
        .view_privilege = "System.Read",
        .watch = &watch_link_ops,
        .connect_timeout_ms = 1000,
        .call_timeout_ms = 1000,
        .keepalive_ms = 600000,
        .key_bits = 2048,
    };
    pw.strategies = 3;
    pw.instance_uuid = VC_A;
    platform_world_add(VC_A, "vc-a.test", false);
    clock_fake(1000000, 1700000000000);
    assert_int_equal(platform_new(&options, &platform, NULL), 0);
    platform_set_installation(platform, OURS);
    world = platform;
    assert_int_equal(platform_sync(platform, NULL), 0);
    return platform;
}

void platform_world_free(struct platform *platform) {
    platform_free(platform);
    for (size_t i = 0; i < pw.vcenters_count; i++)
        vcenter_done(&pw.vcenters[i]);
    for (size_t i = 0; i < pw.vsphere_count; i++)
        vsphere_cluster_done(&pw.vsphere[i]);
    for (size_t i = 0; i < pw.hx_count; i++)
        hx_cluster_done(&pw.hx[i]);
    free((void *)(uintptr_t)pw.cert_pem);
    platform_world_reg_reset();
    seal_free(seal);
    memset(&pw, 0, sizeof(pw));
    clock_unfake();
}
