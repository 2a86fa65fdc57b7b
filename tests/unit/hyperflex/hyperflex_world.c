/* A database and an HX cluster in memory for tests of src/hyperflex. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "audit_store.h"
#include "clock.h"
#include "http_client.h"
#include "hx.h"
#include "hx_identity_store.h"
#include "hx_publication_store.h"
#include "hyperflex_world.h"
#include "hx_addresses.h"
#include "inventory.h"
#include "lease_store.h"
#include "peer_store.h"
#include "platform_links.h"
#include "platform_store.h"
#include "publish.h"
#include "replica_store.h"
#include "snapshot.h"
#include "str.h"
#include "x509.h"

struct hyperflex_world hw;
static char *certificate; /* made once: it takes a while */

static int nothing(struct err *err) {
    return err_set(err, ERR_NOT_FOUND, "there is none");
}

/* A copy of its own, whatever it is. */
static int copy(const struct member *members, const void *from, size_t bytes, void *out, struct err *err) {
    void *made = from ? calloc(1, bytes) : NULL;
    if (!from)
        return nothing(err);
    assert_non_null(made);
    assert_int_equal(members_copy(members, from, made, bytes, "a record", NULL), 0);
    memcpy(out, &made, sizeof(made));
    return 0;
}

#define COPY(kind, from, out, err) copy(kind##_members, from, sizeof(struct kind), out, err)

/* -- connections and statuses ------------------------------------------------------------------------------------------------------ */

int hx_store_load(struct store *store, const char *hx_id, struct hx_connection **out, struct err *err) {
    (void)store, (void)hx_id;
    return COPY(hx_connection, hw.connection, out, err);
}

int hx_store_load_status(struct store *store, const char *hx_id, struct hx_status **out, struct err *err) {
    (void)store, (void)hx_id;
    return COPY(hx_status, hw.status, out, err);
}

int hx_store_list(struct store *store, struct hx_connection_list *out, struct err *err) {
    (void)store, (void)err;
    *out = (struct hx_connection_list){0};
    return 0;
}

int hx_store_list_statuses(struct store *store, struct hx_status_list *out, struct err *err) {
    (void)store, (void)err;
    *out = (struct hx_status_list){0};
    return 0;
}

static void keep_secret(enum hx_secret_kind kind, const struct secret_value *sealed) {
    assert_true(sealed->count < sizeof(hw.secrets[kind]));
    memset(hw.secrets[kind], 0, sizeof(hw.secrets[kind]));
    if (sealed->bytes)
        memcpy(hw.secrets[kind], sealed->bytes, sealed->count);
}

static void take_secret(const char *text, struct secret_value *out) {
    *out = (struct secret_value){.bytes = *text ? (uint8_t *)str_dup(text) : NULL, .count = strlen(text)};
}

struct secret_place hx_store_place(const char *hx_id, enum hx_secret_kind kind) {
    return (struct secret_place){SECRET_OWNER_HX_CONNECTION, hx_id, kind == HX_SECRET_TOKEN ? "hx-token" : "hx-password"};
}

struct secret_place hx_store_credential_place(const char *vcenter_id) {
    return (struct secret_place){SECRET_OWNER_HX_CREDENTIAL, vcenter_id, "hx-credential"};
}

int secret_seal(struct seal *seal, const struct secret_place *place, const char *text, struct secret_value *out,
                struct err *err) {
    (void)seal, (void)place, (void)err;
    take_secret(text, out);
    return 0;
}

int secret_store_open(struct store *store, struct seal *seal, const struct secret_place *place, char **text, struct err *err) {
    const char *kept = str_eq(place->purpose, "hx-credential") ? "inherited"
                       : str_eq(place->purpose, "hx-token")    ? hw.secrets[HX_SECRET_TOKEN]
                                                               : hw.secrets[HX_SECRET_PASSWORD];
    (void)store, (void)seal, (void)err;
    *text = *kept ? str_dup(kept) : NULL;
    return 0;
}

int hx_store_put(struct store *store, const struct hx_connection *connection, const struct secret_value *password,
                 const struct audit_record *audit, const struct lease_fence *fence, struct err *err) {
    (void)fence;
    (void)store, (void)audit, (void)err;
    hx_connection_free(hw.connection);
    assert_int_equal(COPY(hx_connection, connection, &hw.connection, NULL), 0);
    keep_secret(HX_SECRET_PASSWORD, password);
    keep_secret(HX_SECRET_TOKEN, &(struct secret_value){0});
    hw.puts++;
    return 0;
}

int hx_store_save_status(struct store *store, struct hx_status *status, const struct secret_value *token,
                         const struct audit_record *audit, const struct lease_fence *fence, struct err *err) {
    (void)fence;
    (void)store, (void)audit;
    if (++hw.saves >= hw.saves_max)
        return err_set(err, ERR_DATABASE, "the database is away");
    status->version_no++;
    hx_status_free(hw.status);
    assert_int_equal(COPY(hx_status, status, &hw.status, NULL), 0);
    if (token)
        keep_secret(HX_SECRET_TOKEN, token);
    return 0;
}

int hx_store_delete(struct store *store, const struct hx_removal *removal, struct err *err) {
    (void)store, (void)removal;
    return nothing(err);
}

/* -- what is inherited ------------------------------------------------------------------------------------------------------------- */

int hx_store_load_credential(struct store *store, const char *vcenter_id, struct hx_credential **out, struct err *err) {
    (void)store, (void)vcenter_id;
    return COPY(hx_credential, hw.credential, out, err);
}

int hx_store_load_credential_of(struct store *store, const char *hx_id, struct hx_credential **out, struct err *err) {
    (void)store, (void)hx_id;
    return COPY(hx_credential, hw.credential, out, err);
}

int platform_store_load_hx(struct store *store, const char *id, struct hx_cluster **out, struct err *err) {
    struct hx_cluster *hx = calloc(1, sizeof(*hx));
    (void)store, (void)err;
    assert_non_null(hx);
    hx->id = str_dup(id);
    *out = hx;
    return 0;
}

int hx_store_put_credential(struct store *store, const struct hx_credential *credential, const struct secret_value *password,
                            const struct audit_record *audit, struct err *err) {
    (void)store, (void)credential, (void)password, (void)audit;
    return nothing(err);
}

int hx_store_delete_credential(struct store *store, const struct hx_removal *removal, struct err *err) {
    (void)store, (void)removal;
    return nothing(err);
}

int hx_store_refuse_credential(struct store *store, const struct hx_credential *credential, const struct lease_fence *fence,
                               int64_t now_ms, struct err *err) {
    (void)store, (void)credential, (void)fence, (void)err;
    hw.credential->refused_at_ms = now_ms;
    return 0;
}

int hx_store_list_heirs(struct store *store, char ***ids, size_t *count, struct err *err) {
    (void)store, (void)err;
    *ids = calloc(1, sizeof(**ids));
    assert_non_null(*ids);
    (*ids)[0] = str_dup(HX_ID);
    *count = 1;
    return 0;
}

/* -- publications ------------------------------------------------------------------------------------------------------------------ */

int hx_publication_store_load(struct store *store, const char *hx_id, struct hx_publication **out, struct err *err) {
    (void)store, (void)hx_id;
    return COPY(hx_publication, hw.publication, out, err);
}

int hx_publication_store_save(struct store *store, struct hx_publication *row, const struct audit_record *audit,
                              const struct lease_fence *fence, struct err *err) {
    (void)fence;
    (void)store, (void)audit, (void)err;
    row->version_no++;
    hx_publication_free(hw.publication);
    assert_int_equal(COPY(hx_publication, row, &hw.publication, NULL), 0);
    return 0;
}

int hx_publication_store_load_place(struct store *store, const char *hx_id, struct hx_place *out, struct err *err) {
    (void)store, (void)err;
    *out = (struct hx_place){str_dup(hx_id), str_dup(VCENTER_ID), str_dup("com.example.kaas")};
    return 0;
}

int hx_publication_store_list(struct store *store, struct hx_publication_list *out, struct err *err) {
    (void)store, (void)err;
    *out = (struct hx_publication_list){0};
    return 0;
}

int hx_publication_store_list_places(struct store *store, struct hx_place_list *out, struct err *err) {
    (void)store, (void)err;
    *out = (struct hx_place_list){0};
    return 0;
}

int hx_publication_store_find_nonce(struct store *store, const char *nonce_digest, int64_t now_ms,
                                    char body_sha256[HX_DIGEST_BYTES], struct err *err) {
    (void)store, (void)nonce_digest, (void)now_ms, (void)body_sha256;
    return nothing(err);
}

int peer_store_list(struct store *store, struct hx_peer_list *out, struct err *err) {
    (void)store, (void)err;
    *out = (struct hx_peer_list){0};
    return 0;
}

int peer_store_load(struct store *store, const char *hx_id, struct hx_peer **out, struct err *err) {
    (void)store, (void)hx_id, (void)out;
    return nothing(err);
}

int peer_store_put(struct store *store, const struct hx_peer *peer, const struct audit_record *audit, struct err *err) {
    (void)store, (void)peer, (void)audit;
    return err_set(err, ERR_INTERNAL, "nobody sets a peer here");
}

int peer_store_delete(struct store *store, const struct peer_removal *removal, struct err *err) {
    (void)store, (void)removal;
    return err_set(err, ERR_INTERNAL, "nobody removes a peer here");
}

int peer_store_save_result(struct store *store, const struct hx_peer *peer, const struct audit_record *audit,
                           const struct lease_fence *fence, bool *is_news, struct err *err) {
    (void)fence;
    (void)store, (void)peer, (void)audit, (void)is_news;
    return err_set(err, ERR_INTERNAL, "nobody signs in here");
}

void peer_sign_in(struct hx_remote *at, const struct hx_peer *peer, const struct peers_request *request,
                  struct hx_peer_result *out, long *status) {
    (void)at, (void)peer, (void)request, (void)out, (void)status;
    fail_msg("there is no peer");
}

/* -- the rest of the database -------------------------------------------------------------------------------------------------------- */

int hx_identity_store_save(struct store *store, const struct hx_identity *told, struct hx_identity_outcome *out,
                           struct err *err) {
    (void)store, (void)told, (void)out, (void)err;
    return 0;
}

int hx_identity_store_merge(struct store *store, const struct hx_identity *told, const char *older_id, struct err *err) {
    (void)store, (void)told, (void)older_id;
    return nothing(err);
}

int installation_store_load(struct store *store, char uuid[UUID_TEXT_BYTES], struct err *err) {
    (void)store, (void)err;
    (void)snprintf(uuid, UUID_TEXT_BYTES, "%s", VCENTER_ID);
    return 0;
}

int replica_store_list(struct store *store, struct replica_list *out, struct err *err) {
    (void)store, (void)err;
    *out = (struct replica_list){0};
    return 0;
}

void replica_list_done(struct replica_list *list) {
    (void)list;
}

void store_thread_begin(void) {}
void store_thread_end(void) {}

unsigned store_get_replica(const struct store *store) {
    (void)store;
    return 1;
}

const char *store_replica_name(const struct store *store) {
    (void)store;
    return "one";
}

int lease_store_take(struct store *store, const char *name, int64_t ttl_ms, struct lease_fence *out, struct err *err) {
    (void)store, (void)ttl_ms;
    out->number = 1;
    return hw.taken_lease && str_starts(name, hw.taken_lease) ? err_set(err, ERR_BUSY, "another replica is at it") : 0;
}

void lease_store_give_back(struct store *store, const struct lease_fence *fence) {
    (void)store, (void)fence;
}

int lease_store_acquire(struct store *store, const char *name, const char *holder, int64_t ttl_ms, bool *is_mine,
                        struct err *err) {
    (void)store, (void)holder, (void)ttl_ms, (void)err;
    *is_mine = !hw.taken_lease || !str_starts(name, hw.taken_lease);
    return 0;
}

int lease_store_release(struct store *store, const char *name, const char *holder, struct err *err) {
    (void)store, (void)name, (void)holder, (void)err;
    return 0;
}

const struct hx_cluster *inventory_find_hx(const struct inventory_platform *platform, const char *id) {
    static char name[] = "HX-East";
    static const struct hx_cluster hx = {.name = name};
    (void)platform;
    return str_eq(id, HX_ID) ? &hx : NULL;
}

void audit_store_append_outcome(struct store *store, const struct audit_record *record, int rc, const struct err *why) {
    (void)store, (void)record, (void)rc, (void)why;
}

/* -- the network ------------------------------------------------------------------------------------------------------------------- */

int x509_lookup_server(const char *host, unsigned port, const struct net_policy *networks, long timeout_ms, struct x509_info *out,
                       struct err *err) {
    (void)host, (void)port, (void)networks, (void)timeout_ms, (void)err;
    *out = (struct x509_info){0};
    return 0;
}

int http_client_new(const struct http_client_options *options, struct http_client **out, struct err *err) {
    (void)options, (void)err;
    *out = NULL;
    return 0;
}

void http_client_cancel(struct http_client *client) {
    (void)client;
}

void http_client_free(struct http_client *client) {
    (void)client;
}

int http_client_run(struct http_client *client, const struct http_exchange *exchange, struct strbuf *reply, long *status,
                    struct err *err) {
    (void)client, (void)reply, (void)status;
    assert_true(exchange->is_handshake);
    hw.handshakes++;
    return hw.is_chain_valid ? 0 : err_set(err, ERR_TLS, "its certificate is not of that CA");
}

/* -- HX ------------------------------------------------------------------------------------------------------------------------------ */

int hx_client_new(const struct hx_options *options, struct hx_client **out, struct err *err) {
    (void)options, (void)err;
    *out = calloc(1, 1);
    return *out ? 0 : ERR_NOMEM;
}

void hx_client_free(struct hx_client *client) {
    free(client);
}

void hx_client_cancel(struct hx_client *client) {
    (void)client;
}

static int say(int code, struct err *err) {
    return code ? err_set(err, code, "as the test wants it") : 0;
}

int hx_login(struct hx_client *client, const char *user, const char *password, struct hx_token *out, struct err *err) {
    (void)client, (void)user, (void)password;
    hw.logins++;
    hw.next_login_at_ms = hw.status->next_login_at_ms;
    if (hw.login_code)
        return say(hw.login_code, err);
    hw.tokens_held++;
    *out = (struct hx_token){.access = str_dup("a"), .refresh = str_dup("r"), .type = str_dup("Bearer")};
    return 0;
}

int hx_refresh(struct hx_client *client, const struct hx_token *token, struct hx_token *out, struct err *err) {
    (void)client, (void)token, (void)out;
    return say(ERR_UNAUTHENTICATED, err);
}

int hx_revoke(struct hx_client *client, const struct hx_token *token, struct err *err) {
    (void)client, (void)token, (void)err;
    assert_true(hw.tokens_held > 0);
    hw.tokens_held--;
    return 0;
}

int hx_read(struct hx_client *client, const struct hx_token *token, struct hx_facts *out, struct err *err) {
    (void)client, (void)token;
    hw.reads++;
    if (hw.read_code)
        return say(hw.read_code, err);
    *out = HX_FACTS_NONE;
    out->uuid = str_dup("1:2");
    out->name = str_dup("HX-East");
    return 0;
}

int hx_put_registration(struct hx_client *client, const struct hx_token *token, const struct strbuf *body, struct err *err) {
    (void)client, (void)token, (void)body;
    hw.publishes++;
    return say(hw.publish_code, err);
}

int hx_delete_registration(struct hx_client *client, const struct hx_token *token, const char *query, struct err *err) {
    (void)client, (void)token, (void)query;
    hw.withdrawals++;
    return say(hw.publish_code, err);
}

int hx_registration_judge(const char *peer, long status, unsigned retry_after_s, struct err *err) {
    (void)peer, (void)status, (void)retry_after_s;
    return nothing(err);
}

void hx_note_retry_after(void *arg, const char *line, size_t n) {
    (void)arg, (void)line, (void)n;
}

/* -- vCenter ------------------------------------------------------------------------------------------------------------------------------- */

struct inventory_snapshot *inventory_get(struct inventory *inventory) {
    static struct inventory_snapshot snapshot;
    (void)inventory;
    return &snapshot;
}

void inventory_snapshot_unref(struct inventory_snapshot *snapshot) {
    (void)snapshot;
}

int platform_find(struct platform *platform, const char *vcenter_id, struct link **out, struct err *err) {
    (void)platform, (void)vcenter_id, (void)err;
    *out = NULL;
    return 0;
}

void link_unref(struct link *link) {
    (void)link;
}

int hx_addresses_list(struct link *link, const struct hx_cluster *hx, struct hx_addresses *out, struct err *err) {
    (void)link, (void)hx;
    *out = (struct hx_addresses){.count = 0};
    for (size_t i = 0; i < hw.told.count; i++)
        assert_int_equal(hx_addresses_add(out, &hw.told.items[i], err), 0);
    return 0;
}

const struct link_env *platform_env(const struct platform *platform) {
    (void)platform;
    return NULL;
}

int link_env_get_server_cert(const struct link_env *env, char **out, struct err *err) {
    static const struct x509_request request = {.common_name = "kaas.example.com", .valid_days = 30, .key_bits = 2048};
    _cleanup_free_ char *key = NULL;
    (void)env;
    if (!certificate)
        assert_int_equal(x509_make_self_signed(&request, &certificate, &key, err), 0);
    *out = str_dup(certificate);
    return 0;
}

/* -- the world ----------------------------------------------------------------------------------------------------------------------- */

struct hyperflex *hyperflex_world_new(const char *const *names) {
    static const struct runtime runtime = {.version = "1.0", .public_url = "https://kaas.example.com"};
    const struct hyperflex_options options = {
        .names = names, .call_timeout_ms = 30000, .read_every_ms = READ_EVERY_MS, .runtime = &runtime};
    struct hyperflex *h = NULL;
    clock_fake(1000000, INT64_C(1800000000000));
    hw = (struct hyperflex_world){.saves_max = 1000};
    hw.connection = calloc(1, sizeof(*hw.connection));
    hw.status = calloc(1, sizeof(*hw.status));
    assert_true(hw.connection && hw.status);
    *hw.connection = (struct hx_connection){
        .hx_id = str_dup(HX_ID), .address = str_dup("192.0.2.7"), .port = 443, .user_name = str_dup("admin"), .version_no = 1};
    hw.status->hx_id = str_dup(HX_ID);
    hw.status->facts = HX_FACTS_NONE;
    (void)snprintf(hw.secrets[HX_SECRET_PASSWORD], sizeof(hw.secrets[0]), "secret");
    assert_int_equal(hyperflex_new(&options, &h, NULL), 0);
    assert_int_equal(hyperflex_set_ca(h, "a CA", NULL), 0);
    return h;
}

void hyperflex_world_free(struct hyperflex *h) {
    hyperflex_free(h);
    hx_connection_free(hw.connection);
    hx_status_free(hw.status);
    hx_credential_free(hw.credential);
    hx_publication_free(hw.publication);
    hx_addresses_done(&hw.told);
    free(certificate);
    certificate = NULL;
    clock_unfake();
}

int hyperflex_world_test(struct hyperflex *h) {
    static const struct actor somebody = {.address = "192.0.2.1"};
    _cleanup_(hx_status_free) struct hx_status *status = NULL;
    return hyperflex_test(h, &somebody, HX_ID, &status, NULL);
}
