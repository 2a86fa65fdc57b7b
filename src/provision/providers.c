/* Providers: applying, reading, removing them. Layer 5 (provision). SPDX-License-Identifier: GPL-3.0-or-later */
#include "providers_private.h"

#include <stdlib.h>

#include "audit.h"
#include "clock.h"
#include "inventory.h"
#include "names.h"
#include "platform_links.h"
#include "query.h"
#include "snapshot.h"
#include "str.h"
#include "uuid.h"

int providers_new(const struct providers_options *options, struct providers **out, struct err *err) {
    struct providers *providers = calloc(1, sizeof(*providers));
    if (!providers)
        return err_set(err, ERR_NOMEM, "out of memory");
    providers->options = *options;
    *out = providers;
    return 0;
}

void providers_free(struct providers *providers) {
    free(providers);
}

int providers_list(struct providers *providers, struct provider_list *out, struct err *err) {
    return provider_store_list(providers->options.runtime->store, out, err);
}

int providers_load(struct providers *providers, const char *name, struct provider **out, struct err *err) {
    struct store *store = providers->options.runtime->store;
    struct err why = {0};
    int rc =
        uuid_is_valid(name) ? provider_store_load(store, name, out, &why) : provider_store_load_by_name(store, name, out, &why);
    if (rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    (void)err_set(err, ERR_NOT_FOUND, "there is no provider %.80s", name);
    return err_remedy(err, "see: kaasctl provider list, or GET /v2/providers");
}

/* -- applying ---------------------------------------------------------------------------------------------------------------- */

/* The link of the vCenter that the document means; sets vcenter_id. */
static int find_link(struct providers *providers, struct provider *provider, struct link **out, struct err *err) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(providers->options.inventory);
    const struct vcenter *vc = NULL;
    int rc = snapshot ? inventory_resolve_vcenter(snapshot->platform, provider->vcenter, &vc, err)
                      : err_set(err, ERR_UNAVAILABLE, "the inventory has not been read yet");
    if (rc)
        return rc;
    if (!vc->registered_at_ms) {
        (void)err_set(err, ERR_NOT_REGISTERED, "kaasd is not registered with vCenter %s", vc->name);
        return err_remedy(err, "register it: kaasctl vcenter register %s --user administrator@vsphere.local",
                          name_word(vc->name, vc->id));
    }
    rc = str_replace(&provider->vcenter_id, vc->id, err);
    return rc ? rc : platform_find(providers->options.platform, vc->id, out, err);
}

/* Machines are where they are: what was built stays at its vCenter, with addresses of its network. */
static bool is_moved(const struct provider *before, const struct provider *now) {
    const struct provider_place *was = &before->places[PROVIDER_NETWORK], *is = &now->places[PROVIDER_NETWORK];
    return !str_eq(before->vcenter_id, now->vcenter_id) || !str_eq(was->moref, is->moref);
}

static int check_change(struct providers *providers, const struct provider *before, const struct provider *now, struct err *err) {
    struct err why = {0};
    int rc = is_moved(before, now) ? provider_store_check_unused(providers->options.runtime->store, before, &why) : 0;
    if (rc != ERR_CONFLICT)
        return err_move(err, rc, &why);
    (void)err_set(err, ERR_CONFLICT, "vCenter and network of provider %s cannot change: %s", now->name, why.text);
    return err_remedy(err, "apply the document under another name, or: %s", why.remedy);
}

static bool is_same(const struct provider *a, const struct provider *b) {
    _cleanup_json_ json_t *one = provider_document(a), *other = provider_document(b), *here = provider_places(a),
                          *there = provider_places(b);
    return str_eq(a->vcenter_id, b->vcenter_id) && json_equal(one, other) && json_equal(here, there);
}

static int providers_note_outcome(struct providers *providers, const struct audit_record *line, int rc, const struct err *why) {
    if (rc)
        audit_store_append_outcome(providers->options.runtime->store, line, rc, why);
    return rc;
}

static int write_provider(struct providers *providers, const struct actor *actor, const struct provider *before,
                          const struct provider *provider, struct err *err) {
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "provider.apply",
                                                                                    .object_kind = "provider",
                                                                                    .object_id = provider->id,
                                                                                    .object_name = provider->name});
    int rc = provider_store_put(providers->options.runtime->store, provider, before && is_moved(before, provider), &line, err);
    return providers_note_outcome(providers, &line, rc, err);
}

/* Takes id, times and number of what was there, or makes them. */
static int continue_from(const struct provider *before, struct provider *now, struct err *err) {
    char id[UUID_TEXT_BYTES];
    if (!before)
        uuid_new(id);
    now->updated_at_ms = clock_wall_ms();
    now->created_at_ms = before ? before->created_at_ms : now->updated_at_ms;
    now->version_no = before ? before->version_no : 0;
    return str_replace(&now->id, before ? before->id : id, err);
}

int providers_apply(struct providers *providers, const struct actor *actor, const struct provider_wish *wish, struct err *err) {
    _cleanup_(provider_free) struct provider *before = NULL;
    _cleanup_(link_unref) struct link *link = NULL;
    struct provider *now = wish->document;
    int rc = wish->version_no ? providers_load(providers, now->name, &before, err) : 0;
    if (!rc && before && before->version_no != wish->version_no)
        rc = err_set(err, ERR_PRECONDITION, "the provider %s has changed since it was read", now->name);
    rc = rc ? rc : find_link(providers, now, &link, err);
    rc = rc ? rc : provider_resolve(link, now, err);
    rc = rc ? rc : continue_from(before, now, err);
    if (!rc && before && is_same(before, now)) {
        now->updated_at_ms = before->updated_at_ms;
        return 0;
    }
    if (!rc && before)
        rc = check_change(providers, before, now, err);
    rc = rc ? rc : write_provider(providers, actor, before, now, err);
    if (!rc)
        now->version_no++;
    return rc;
}

int providers_remove(struct providers *providers, const struct actor *actor, const char *name, int64_t version_no,
                     struct err *err) {
    _cleanup_(provider_free) struct provider *provider = NULL;
    int rc = providers_load(providers, name, &provider, err);
    if (rc)
        return rc;
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "provider.remove",
                                                                                    .object_kind = "provider",
                                                                                    .object_id = provider->id,
                                                                                    .object_name = provider->name});
    rc = provider_store_delete(providers->options.runtime->store, provider, version_no, &line, err);
    return providers_note_outcome(providers, &line, rc, err);
}
