/* HX clusters that appear: where they may be, whose certificate is good, and what they inherit from their vCenter. Layer 4 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex_private.h"

#include <ctype.h>
#include <stdlib.h>

#include "audit.h"
#include "clock.h"
#include "http_client.h"
#include "hx_store.h"
#include "net_addr.h"
#include "platform_store.h"
#include "replica_store.h"
#include "str.h"

/* -- looking for addresses --------------------------------------------------------------------------------------------------- */

#define LOOK_MS 3000L

/* A client is made of it for a try, so that a bad file is told when it is read. */
int hyperflex_set_ca(struct hyperflex *h, const char *ca_pem, struct err *err) {
    const struct http_client_options options = {.trust = {.ca_pem = ca_pem}};
    struct http_client *client = NULL;
    char *copy = str_dup(ca_pem), *old;
    int rc = ca_pem ? http_client_new(&options, &client, err) : 0;
    http_client_free(client);
    if (!rc && ca_pem && !copy)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (rc) {
        free(copy);
        return rc;
    }
    (void)pthread_mutex_lock(&h->lock);
    old = h->ca_pem;
    h->ca_pem = copy;
    (void)pthread_mutex_unlock(&h->lock);
    free(old);
    return 0;
}

int hyperflex_list_addresses(struct hyperflex *h, const char *hx_id, struct hx_addresses *out, struct err *err) {
    return h->options.list_addresses(h->options.arg, hx_id, out, err);
}

/* `*` stands for any characters of one label. */
static bool name_fits(const char *pattern, const char *name) {
    while (*pattern != '*')
        if (tolower((unsigned char)*pattern) != tolower((unsigned char)*name))
            return false;
        else if (!*name)
            return true;
        else
            pattern++, name++;
    for (; !name_fits(pattern + 1, name); name++)
        if (!*name || *name == '.')
            return false;
    return true;
}

/* Anybody may get a certificate of a CA that signs for others, too, and write his own address into a record of vCenter, or into the name of a virtual machine. */
static bool hyperflex_names(const struct hyperflex *h, const char *address) {
    uint8_t numeric[16];
    const bool is_numeric = net_addr_parse(address, numeric);
    struct net_block block;
    for (const char *const *item = h->options.names; item && *item; item++)
        if (is_numeric ? net_block_parse(*item, &block) && net_block_has(&block, 1, numeric) : name_fits(*item, address))
            return true;
    return false;
}

static long hyperflex_look_ms(const struct hyperflex *h) {
    return h->options.call_timeout_ms < LOOK_MS ? h->options.call_timeout_ms : LOOK_MS;
}

/* By what this connection trusts (NULL: there is none yet): its own CA or fingerprint, else the CA of hx.ca_file. */
static bool hyperflex_trusts(struct hyperflex *h, const struct hx_connection *as, const struct hx_address *where) {
    _cleanup_free_ char *shared = hyperflex_get_ca(h), *url = str_format("https://%s:%u/", where->address, where->port);
    uint8_t pin[32];
    const bool is_pinned = as && as->sha256 && str_unhex(as->sha256, pin, sizeof(pin));
    const char *ca = is_pinned ? NULL : as && as->ca_pem ? as->ca_pem : shared;
    const struct http_client_options options = {.networks = h->options.networks,
                                                .trust = {.ca_pem = ca, .pin_sha256 = is_pinned ? pin : NULL},
                                                .connect_timeout_ms = hyperflex_look_ms(h)};
    const struct http_exchange handshake = {
        .method = "GET", .url = url, .timeout_ms = hyperflex_look_ms(h), .is_handshake = true};
    _cleanup_strbuf_ struct strbuf nothing;
    struct http_client *client = NULL;
    long status;
    strbuf_init(&nothing, 1);
    int rc = (ca || is_pinned) && url ? http_client_new(&options, &client, NULL) : ERR_CONFIG;
    if (!rc)
        rc = http_client_run(client, &handshake, &nothing, &status, NULL);
    http_client_free(client);
    return !rc;
}

void hyperflex_look_at(struct hyperflex *h, const struct hx_address *where, struct hyperflex_look *out) {
    *out = (struct hyperflex_look){0};
    if (!x509_lookup_server(where->address, where->port, h->options.networks, hyperflex_look_ms(h), &out->certificate,
                            &out->problem))
        out->is_chain_valid = hyperflex_trusts(h, NULL, where);
    out->is_trusted = out->is_chain_valid && hyperflex_names(h, where->address);
}

/* -- what HX clusters of a vCenter inherit -------------------------------------------------------------------------------------- */

int hyperflex_load_credential(struct hyperflex *h, const char *vcenter_id, struct hx_credential **out, struct err *err) {
    return hx_store_load_credential(h->options.store, vcenter_id, out, err);
}

static int inherit_refuse(struct hyperflex *h, const char *hx_id, struct err *err) {
    _cleanup_(hx_cluster_free) struct hx_cluster *hx = NULL;
    int rc = platform_store_load_hx(h->options.store, hx_id, &hx, err);
    if (rc)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE,
                  "neither user_name nor password is given, and the HX cluster's vCenter has none to inherit");
    return err_remedy(err, "give both, or set them for the vCenter: kaasctl vcenter set-hx-credential %s",
                      hx->vsphere_cluster.vcenter_id);
}

/* User and password of the vCenter for a wish that names neither. */
int hyperflex_inherit(struct hyperflex *h, struct hx_connection *wish, char **password, struct err *err) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    struct hx_sealed sealed = {0};
    struct err why = {0};
    int rc = hx_store_load_credential_of(h->options.store, wish->hx_id, &credential, &why);
    if (rc == ERR_NOT_FOUND)
        return inherit_refuse(h, wish->hx_id, err);
    if (rc)
        return err_move(err, rc, &why);
    wish->is_inherited = true;
    rc = str_replace(&wish->user_name, credential->user_name, err);
    if (!rc)
        rc = hx_store_load_credential_secret(h->options.store, credential->vcenter_id, &sealed, err);
    return rc ? rc : hyperflex_unseal(h, str_format("hx-credential:%s", credential->vcenter_id), sealed, password, err);
}

/* Those that have it already are set anew with what it is now; one that cannot be stays as it is. */
static void hyperflex_pass_on(struct hyperflex *h, const struct actor *actor, const char *vcenter_id) {
    struct hx_connection_list list = {0};
    int rc = hx_store_list(h->options.store, &list, NULL);
    for (size_t i = 0; !rc && i < list.count; i++) {
        _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
        struct hx_connection *heir = &list.items[i];
        if (!heir->is_inherited || hx_store_load_credential_of(h->options.store, heir->hx_id, &credential, NULL) ||
            !str_eq(credential->vcenter_id, vcenter_id))
            continue;
        free(heir->user_name);
        heir->user_name = NULL;
        (void)hyperflex_put(h, actor, heir, NULL, NULL);
    }
    hx_connection_list_done(&list);
}

int hyperflex_put_credential(struct hyperflex *h, const struct actor *actor, struct hx_credential *wish, const char *password,
                             struct err *err) {
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "hx_credential.set",
                                                                                    .object_kind = "vcenter",
                                                                                    .object_id = wish->vcenter_id,
                                                                                    .reason = wish->user_name});
    struct hx_sealed sealed = {0};
    int rc = hx_user_name_check(wish->user_name, err);
    if (!rc)
        rc = hyperflex_check_password(password, err);
    if (!rc)
        rc = hyperflex_seal(h, str_format("hx-credential:%s", wish->vcenter_id), password, &sealed, err);
    if (rc)
        return rc;
    wish->updated_at_ms = clock_wall_ms();
    rc = hyperflex_finish(h, &line, hx_store_put_credential(h->options.store, wish, &sealed, &line, err), err);
    free(sealed.bytes);
    if (rc)
        return rc;
    hyperflex_pass_on(h, actor, wish->vcenter_id);
    (void)pthread_mutex_lock(&h->lock);
    h->next_search_ms = 0;
    (void)pthread_mutex_unlock(&h->lock);
    if (h->options.on_set)
        h->options.on_set(h->options.arg);
    return 0;
}

int hyperflex_remove_credential(struct hyperflex *h, const struct actor *actor, const char *vcenter_id, int64_t version_no,
                                struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "hx_credential.remove", .object_kind = "vcenter", .object_id = vcenter_id});
    const struct hx_removal removal = {.hx_id = vcenter_id, .version_no = version_no, .audit = &line};
    return hyperflex_finish(h, &line, hx_store_delete_credential(h->options.store, &removal, err), err);
}

static bool search_tells(const struct hx_addresses *found, const struct hx_connection *connection) {
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].port == connection->port && str_eq(found->items[i].address, connection->address))
            return true;
    return false;
}

/* Connects it at the first address that is its own for certain: named and with a good certificate, or with the certificate that somebody has confirmed. One that is
 * connected already is not reached there: it is followed once its vCenter tells that address no more. */
static void search_connect(struct hyperflex *h, const char *hx_id) {
    _cleanup_done_(hx_addresses_done) struct hx_addresses found = {.count = 0};
    _cleanup_(hx_connection_free) struct hx_connection *now = NULL;
    bool is_trusted = false;
    int rc = hx_store_load(h->options.store, hx_id, &now, NULL);
    if ((rc && rc != ERR_NOT_FOUND) || hyperflex_list_addresses(h, hx_id, &found, NULL) || (now && search_tells(&found, now)))
        return;
    for (size_t i = 0; !is_trusted && i < found.count; i++) {
        struct hx_connection wish = {.port = found.items[i].port, .version_no = now ? now->version_no : 0};
        is_trusted =
            ((now && now->sha256) || hyperflex_names(h, found.items[i].address)) && hyperflex_trusts(h, now, &found.items[i]);
        if (is_trusted && !str_replace(&wish.hx_id, hx_id, NULL) && !str_replace(&wish.address, found.items[i].address, NULL) &&
            !str_replace(&wish.ca_pem, now ? now->ca_pem : NULL, NULL) &&
            !str_replace(&wish.sha256, now ? now->sha256 : NULL, NULL))
            (void)hyperflex_put(h, NULL, &wish, NULL, NULL);
        hx_connection_done(&wish);
    }
}

/* HX clusters that have appeared or moved since. One replica does it; what fails is tried the next time. */
void hyperflex_search(void *arg, bool is_canceled) {
    static const char lease[] = "hx-search";
    struct hyperflex *h = arg;
    struct store *store = h->options.store;
    char **heirs = NULL;
    size_t count = 0;
    bool is_mine = false;
    if (is_canceled || lease_store_acquire(store, lease, store_replica_name(store), h->options.read_every_ms, &is_mine, NULL) ||
        !is_mine)
        return;
    (void)hx_store_list_heirs(store, &heirs, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        search_connect(h, heirs[i]);
        free(heirs[i]);
    }
    free(heirs);
}

bool hyperflex_search_is_due(struct hyperflex *h) {
    LOCKED(&h->lock);
    if (!h->options.read_every_ms || clock_mono_ms() < h->next_search_ms)
        return false;
    h->next_search_ms = clock_mono_ms() + h->options.read_every_ms;
    return true;
}
