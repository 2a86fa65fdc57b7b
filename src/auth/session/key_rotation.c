/* Signing keys over time: rotated by age or on request, published before they sign, deleted after their last token. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "key_store.h"
#include "lease_store.h"
#include "sessions.h"
#include "signing_keys.h"
#include "signon_state.h"
#include "store.h"
#include "str.h"

#define LEASE "signing-keys"
#define LEASE_MS 30000
/* Every replica learns of the new key, and of its turn to sign, within a second; clocks may differ. */
#define IMMEDIATE_MS 2000
#define OVERLAP_MORE_MS (5LL * 60 * 1000)
#define MAX_AGE_S 300

int64_t signon_jwks_max_age_s(const struct signon *s) {
    int64_t half_s = s->options.signing_key_publish_ms / 2000;
    return half_s < MAX_AGE_S ? half_s : MAX_AGE_S;
}

/* Until when a token may live that the key signs at the last moment before another takes its turn. */
static int64_t old_until_ms(const struct signon *s, int64_t now_ms) {
    return now_ms + s->options.token_lifetime_ms + OVERLAP_MORE_MS;
}

static void rotation_describe(const struct signing_key *k, struct signon_key *out) {
    bool has_end = k->state == SIGNING_KEY_RETIRED;
    memset(out, 0, sizeof(*out));
    (void)snprintf(out->kid, sizeof(out->kid), "%s", k->kid);
    out->state = signing_key_state_name(k->state);
    out->created_at_ms = k->created_at_ms;
    out->signs_from_ms = k->signs_from_ms;
    out->verifies_until_ms = has_end ? k->not_after_ms : 0;
}

int signon_list_keys(struct signon *s, struct signon_key_list *out, struct err *err) {
    struct signing_key_list list = {0};
    int rc = key_store_list(s->options.runtime->store, &list, err);
    if (rc)
        return rc;
    out->count = list.count < SIGNON_KEYS_MAX ? list.count : SIGNON_KEYS_MAX;
    for (size_t i = 0; i < out->count; i++)
        rotation_describe(&list.items[i], &out->items[i]);
    signing_key_list_done(&list);
    return 0;
}

static int rotation_begin(struct signon *s, const struct signon_key_rotation *wanted, struct signing_key_begun *out,
                          struct err *err) {
    bool is_immediate = wanted->is_immediate || wanted->drops_old;
    int64_t publish_ms = s->options.signing_key_publish_ms, from_ms = clock_wall_ms();
    struct signing_key next = {0};
    struct signing_key_rotation rotation = {.next = &next};
    int rc;
    from_ms += is_immediate && publish_ms > IMMEDIATE_MS ? IMMEDIATE_MS : publish_ms;
    rc = signing_keys_make(s, from_ms, &next, err);
    rotation.active_until_ms = wanted->drops_old ? from_ms : 0;
    if (!rc)
        rc = key_store_begin_rotation(s->options.runtime->store, &rotation, out, err);
    signing_key_done(&next);
    return rc ? rc : signon_apply_key_change(s, err);
}

/* In whatever state: on a slow machine it may have taken its turn already. */
static int rotation_find_key(struct signon *s, const char *kid, struct signon_key *out, struct err *err) {
    struct signon_key_list list = {0};
    int rc = signon_list_keys(s, &list, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < list.count; i++) {
        if (!str_eq(list.items[i].kid, kid))
            continue;
        *out = list.items[i];
        return 0;
    }
    return err_set(err, ERR_CONFLICT, "the new signing key was deleted meanwhile");
}

int signon_rotate_keys(struct signon *s, const struct actor *actor, const struct signon_key_rotation *rotation,
                       struct signon_key *out, struct err *err) {
    struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "signing_key.rotate"});
    struct signing_key_begun begun = {0};
    int rc = rotation_begin(s, rotation, &begun, err);
    if (!rc)
        rc = rotation_find_key(s, begun.kid, out, err);
    line.event.source = NULL; /* this action has never told it */
    signon_audit(s, &line, rc);
    return rc;
}

/* -- what falls due by itself ---------------------------------------------------------------------------------------------- */

static bool is_over_age(const struct signon *s, const struct signing_key_list *list, int64_t now_ms) {
    bool is_old = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct signing_key *k = &list->items[i];
        if (k->state == SIGNING_KEY_NEXT)
            return false;
        if (k->state == SIGNING_KEY_ACTIVE && s->options.signing_key_lifetime_ms)
            is_old = now_ms - k->signs_from_ms >= s->options.signing_key_lifetime_ms;
    }
    return is_old;
}

static int activate_due(struct signon *s, const struct signing_key_list *list, int64_t now_ms, struct err *err) {
    struct signing_key_activation activation = {.now_ms = now_ms, .old_until_ms = old_until_ms(s, now_ms)};
    int rc = 0;
    for (size_t i = 0; !rc && i < list->count; i++) {
        if (list->items[i].state != SIGNING_KEY_NEXT || list->items[i].signs_from_ms > now_ms)
            continue;
        activation.kid = list->items[i].kid;
        rc = key_store_activate(s->options.runtime->store, &activation, err);
    }
    return rc;
}

static int do_due(struct signon *s, struct err *err) {
    const struct signon_key_rotation by_age = {0};
    int64_t now_ms = clock_wall_ms();
    struct signing_key_list list = {0};
    struct signing_key_begun begun = {0};
    unsigned deleted = 0;
    int rc = key_store_list(s->options.runtime->store, &list, err);
    if (!rc)
        rc = activate_due(s, &list, now_ms, err);
    if (!rc)
        rc = key_store_purge(s->options.runtime->store, now_ms, &deleted, err);
    if (!rc && is_over_age(s, &list, now_ms))
        rc = rotation_begin(s, &by_age, &begun, err);
    signing_key_list_done(&list);
    return rc ? rc : signon_apply_key_change(s, err);
}

int signon_keys_tick(struct signon *s, struct err *err) {
    const char *holder = store_replica_name(s->options.runtime->store);
    bool is_mine = false;
    int rc;
    if (clock_wall_ms() < atomic_load(&s->keys_due_ms))
        return 0;
    rc = lease_store_acquire(s->options.runtime->store, LEASE, holder, LEASE_MS, &is_mine, err);
    if (rc || !is_mine)
        return rc;
    rc = do_due(s, err);
    (void)lease_store_release(s->options.runtime->store, LEASE, holder, NULL);
    return rc;
}
