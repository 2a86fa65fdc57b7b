/* HX clusters that appear or move: connects them by what they inherit from their vCenter. Layer 5 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex_private.h"

#include <stdlib.h>

#include "clock.h"
#include "hx_store.h"
#include "lease_store.h"
#include "str.h"

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
    int rc = hx_store_load(h->options.runtime->store, hx_id, &now, NULL);
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
    struct store *store = h->options.runtime->store;
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
