/* Publishing when somebody asks for it, and the proof that HX asks for. Layer 5 (hyperflex). SPDX-License-Identifier: GPL-3.0-or-later */
#include "publish.h"

#include <string.h>

#include "clock.h"
#include "hx_publication_store.h"
#include "hyperflex_private.h"
#include "platform_store.h"
#include "str.h"

#define TRIES_MAX 5 /* of a wish that others write beside */

static int publish_check_wish(struct publication *p, const char *hx_id, struct err *err) {
    _cleanup_(hx_connection_free) struct hx_connection *connection = NULL;
    struct err why = {0};
    int rc = hyperflex_load(p->h, hx_id, &connection, &why);
    if (rc == ERR_NOT_FOUND && !peers_check(p->h, hx_id, NULL))
        rc = 0;
    if (rc || p->registration)
        return err_move(err, rc, &why);
    (void)err_set(err, ERR_CONFLICT, "there is nothing to publish: %s",
                  str_starts(p->h->options.runtime->public_url, "https://")
                      ? "kaasd is not registered with the vCenter of this HX cluster"
                      : "server.public_url is not set");
    return err_remedy(err, "see: kaasctl vcenter status");
}

/* Stores it. What HX does not hold is withdrawn by that. */
static int publish_wish(struct publication *p, const char *hx_id, bool is_wanted, struct err *err) {
    int rc = publish_begin(p, hx_id, err);
    if (!rc && is_wanted)
        rc = publish_check_wish(p, hx_id, err);
    if (rc)
        return rc;
    struct hx_publication *row = p->row;
    const struct audit_record line =
        publish_line(p, is_wanted, &(struct audit_event){.result = err_slug(0), .reason = "asked for"});
    row->is_wanted = is_wanted;
    row->next_at_ms = 0;
    row->failures = 0;
    if (!row->version_no)
        row->since_ms = clock_wall_ms();
    if (!is_wanted && !row->expires_at_ms && row->state != HX_PUBLICATION_WITHDRAWN) {
        row->state = HX_PUBLICATION_WITHDRAWN;
        row->since_ms = clock_wall_ms();
        row->reason[0] = row->detail[0] = row->remedy[0] = '\0';
    }
    return hx_publication_store_save(p->h->options.runtime->store, row, &line, NULL, err);
}

int hyperflex_publish(struct hyperflex *h, const struct actor *actor, const char *hx_id, bool is_wanted,
                      struct hx_publication **out, struct err *err) {
    char older_id[UUID_TEXT_BYTES] = "";
    bool is_told = false;
    struct err why = {0};
    int rc = ERR_PRECONDITION;
    for (int i = 0; i < TRIES_MAX && (rc == ERR_PRECONDITION || rc == ERR_EXISTS); i++) {
        struct publication p = {.h = h, .actor = actor};
        err_clear(&why);
        rc = publish_wish(&p, hx_id, is_wanted, &why);
        is_told = p.row && (is_wanted || p.row->expires_at_ms);
        publish_end(&p);
    }
    if (rc)
        return err_move(err, rc, &why);
    if (is_told)
        rc = hyperflex_visit(h, actor, hx_id, older_id, &why);
    if (rc && (is_wanted || rc != ERR_NOT_FOUND)) /* to withdraw, there need be no connection: HX forgets it by itself */
        return err_move(err, rc, &why);
    return hyperflex_load_publication(h, older_id[0] ? older_id : hx_id, out, err);
}

int hyperflex_prove(struct hyperflex *h, const char *nonce, struct hyperflex_proof *out, struct err *err) {
    uint8_t sha256[DIGEST_SHA256_BYTES];
    char digest[HX_DIGEST_BYTES];
    if (strlen(nonce) != PUBLISH_NONCE_CHARS || strspn(nonce, "0123456789abcdef") != PUBLISH_NONCE_CHARS)
        return err_set(err, ERR_NOT_FOUND, "there is no such publication under way");
    digest_sha256(nonce, PUBLISH_NONCE_CHARS, sha256);
    str_hex(sha256, sizeof(sha256), digest);
    int rc = publish_get_installation(h, out->instance_id, err);
    return rc ? rc : hx_publication_store_find_nonce(h->options.runtime->store, digest, clock_wall_ms(), out->sha256, err);
}
