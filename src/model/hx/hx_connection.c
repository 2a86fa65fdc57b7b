/* How kaasd reaches the management of an HX cluster. Layer 1 (model).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hx_connection.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "names.h"
#include "str.h"

#define HX_CONNECTION_PORT 443U

const char *const hx_connection_state_words[] = {
    [REMOTE_NEW] = "unknown", [REMOTE_OK] = "ok", [REMOTE_FAILING] = "failing", [REMOTE_REFUSED] = "refused", NULL};

const char *hx_connection_state_name(enum remote_state state) {
    return words_get(hx_connection_state_words, state, "unknown");
}

void hx_facts_done(struct hx_facts *facts) {
    if (!facts)
        return;
    char *const texts[] = {facts->uuid,  facts->name,     facts->version,    facts->state,          facts->resiliency,
                           facts->space, facts->messages, facts->datacenter, facts->vsphere_cluster};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    *facts = HX_FACTS_NONE;
}

void hx_status_done(struct hx_status *status) {
    members_done(hx_status_members, status, sizeof(*status));
}

void hx_status_free(struct hx_status *status) {
    hx_status_done(status);
    free(status);
}

void hx_status_list_done(struct hx_status_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        hx_status_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct hx_status_list){0};
}

void hx_connection_done(struct hx_connection *connection) {
    members_done(hx_connection_members, connection, sizeof(*connection));
}

void hx_connection_free(struct hx_connection *connection) {
    hx_connection_done(connection);
    free(connection);
}

void hx_connection_list_done(struct hx_connection_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        hx_connection_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct hx_connection_list){0};
}

void hx_credential_done(struct hx_credential *credential) {
    members_done(hx_credential_members, credential, sizeof(*credential));
}

void hx_credential_free(struct hx_credential *credential) {
    hx_credential_done(credential);
    free(credential);
}

void hx_credential_list_done(struct hx_credential_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        hx_credential_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct hx_credential_list){0};
}

/* -- what it was told of where KaaS is ------------------------------------------------------------------------------------------ */

const char *const hx_publication_state_words[] = {[HX_PUBLICATION_UNKNOWN] = "unknown",
                                                  [HX_PUBLICATION_PUBLISHED] = "published",
                                                  [HX_PUBLICATION_NOT_SUPPORTED] = "not_supported",
                                                  [HX_PUBLICATION_REFUSED] = "refused",
                                                  [HX_PUBLICATION_FAILING] = "failing",
                                                  [HX_PUBLICATION_WITHDRAWN] = "withdrawn",
                                                  NULL};

const char *hx_publication_state_name(enum hx_publication_state state) {
    return words_get(hx_publication_state_words, state, "unknown");
}

void hx_publication_done(struct hx_publication *publication) {
    members_done(hx_publication_members, publication, sizeof(*publication));
}

void hx_publication_free(struct hx_publication *publication) {
    hx_publication_done(publication);
    free(publication);
}

void hx_publication_list_done(struct hx_publication_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        hx_publication_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct hx_publication_list){0};
}

void hx_place_done(struct hx_place *place) {
    members_done(hx_place_members, place, sizeof(*place));
}

void hx_place_list_done(struct hx_place_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        hx_place_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct hx_place_list){0};
}

/* Replicas may differ for a while (an upgrade, a new certificate): each tells its news once, and what another one has told since stays. Where HX has said when, news wait, too. */
static bool publication_has_news(const struct hx_publication_case *c) {
    return !str_eq(c->row->digest, c->digest) && c->row->tried_at_ms < c->digest_since_ms &&
           !str_eq(c->row->reason, "rate_limited");
}

enum hx_publication_step hx_publication_next(const struct hx_publication_case *c) {
    const struct hx_publication *row = c->row;
    const bool is_wanted = c->digest && (row ? row->is_wanted : c->is_automatic);
    if (!row)
        return is_wanted ? HX_PUBLICATION_PUT : HX_PUBLICATION_REST;
    /* further away: a clock was put back */
    const bool is_time = c->now_ms >= row->next_at_ms || row->next_at_ms - c->now_ms > 2 * CLOCK_DAY_MS;
    if (is_wanted)
        return is_time || publication_has_news(c) ? HX_PUBLICATION_PUT : HX_PUBLICATION_REST;
    if (!row->expires_at_ms)
        return HX_PUBLICATION_REST;
    return is_time || row->state == HX_PUBLICATION_PUBLISHED ? HX_PUBLICATION_DELETE : HX_PUBLICATION_REST;
}

int hx_user_name_check(const char *user_name, struct err *err) {
    return name_check_line(user_name, HX_CONNECTION_USER_CHARS_MAX, "user_name", err);
}

static int hx_connection_check_trust(struct hx_connection *c, struct err *err) {
    uint8_t bytes[(HX_CONNECTION_SHA256_BYTES - 1) / 2];
    char hex[HX_CONNECTION_SHA256_BYTES];
    if (c->ca_pem && c->sha256) {
        (void)err_set(err, ERR_UNPROCESSABLE, "give either ca_pem or thumbprint_sha256");
        return err_remedy(err,
                          "the CA that signs HX's certificate, or the SHA-256 of the certificate as a browser shows it there");
    }
    if (c->ca_pem && strlen(c->ca_pem) > HX_CONNECTION_CA_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "ca_pem is longer than %u bytes", HX_CONNECTION_CA_BYTES_MAX);
    if (!c->sha256)
        return 0;
    if (!str_to_sha256(c->sha256, bytes))
        return err_set(err, ERR_UNPROCESSABLE, "thumbprint_sha256 is not a SHA-256 in hexadecimal digits");
    str_hex(bytes, sizeof(bytes), hex);
    return str_replace(&c->sha256, hex, err);
}

int hx_connection_check(struct hx_connection *c, struct err *err) {
    int rc = name_check_host(c->address, "address", err);
    if (!rc)
        rc = hx_user_name_check(c->user_name, err);
    if (!c->port)
        c->port = HX_CONNECTION_PORT;
    return rc ? rc : hx_connection_check_trust(c, err);
}

/* -- where it may be ---------------------------------------------------------------------------------------------------------- */

const char *hx_address_source_name(enum hx_address_source source) {
    return source == HX_ADDRESS_EXTENSION ? "extension_record" : "controller_vm";
}

void hx_addresses_done(struct hx_addresses *addresses) {
    for (size_t i = 0; addresses && i < addresses->count; i++)
        free(addresses->items[i].address);
    if (addresses)
        addresses->count = 0;
}

int hx_addresses_add(struct hx_addresses *addresses, const struct hx_address *one, struct err *err) {
    for (size_t i = 0; i < addresses->count; i++)
        if (str_eq_nocase(addresses->items[i].address, one->address) && addresses->items[i].port == one->port)
            return 0;
    if (addresses->count == HX_ADDRESSES_MAX || name_check_host(one->address, "address", NULL))
        return 0;
    struct hx_address *to = &addresses->items[addresses->count];
    *to = *one;
    to->address = str_dup(one->address);
    addresses->count += to->address != NULL;
    return to->address ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- two that tell one uuid ---------------------------------------------------------------------------------------------- */

/* Does the older one itself say that it is where the newer one is? */
static bool hx_claim_is_confirmed(const struct hx_claim *claim) {
    const struct hx_facts *says = &claim->older_status->facts;
    return claim->place && says->datacenter && says->vsphere_cluster && str_eq(says->datacenter, claim->place->datacenter) &&
           str_eq(says->vsphere_cluster, claim->place->name);
}

static void hx_claim_refuse(const struct hx_claim *claim, const char *why, struct err *err) {
    (void)err_set(err, ERR_CONFLICT, "it says that its uuid is %s, which is that of the HX cluster \"%s\" (%s): %s",
                  claim->older->hx_uuid, claim->older->name, claim->older->id, why);
}

int hx_claim_check(const struct hx_claim *claim, struct err *err) {
    const char *older = claim->older->id, *newer = claim->newer->id;
    if (claim->newer->hx_uuid) {
        hx_claim_refuse(claim, "it had another one before", err);
        return err_remedy(
            err, "see that the addresses of both are right (kaasctl hx connection %s): an HX cluster keeps its uuid", newer);
    }
    if (claim->newer->is_gone) {
        hx_claim_refuse(claim, "and no vCenter shows this one", err);
        return err_remedy(err,
                          "connect the one that its vCenter shows (kaasctl hx list), and disconnect this one: "
                          "kaasctl hx disconnect %s",
                          newer);
    }
    if (claim->is_older_in_vcenter) {
        hx_claim_refuse(claim, "which its vCenter still shows", err);
        return err_remedy(err,
                          "see that the addresses of both are right; if it has moved, delete its vSphere cluster or extension key"
                          " in the old vCenter, or unregister or remove that vCenter here");
    }
    if (claim->older_status && claim->older_status->remote.state == REMOTE_OK && !hx_claim_is_confirmed(claim)) {
        hx_claim_refuse(claim, "which answers, and does not say that it is here", err);
        return err_remedy(err,
                          "see that the addresses of both are right; if it has moved, disconnect the older one: "
                          "kaasctl hx disconnect %s",
                          older);
    }
    return 0;
}
