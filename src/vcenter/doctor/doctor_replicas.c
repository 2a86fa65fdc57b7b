/* The doctor's look at where in a vCenter the replicas run: what they share, they lose together. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "doctor_private.h"
#include "replica_store.h"
#include "str.h"
#include "vim_location.h"

#define REPLICA_ALIVE_MS 60000
#define REPLICAS_MAX 8 /* the others are not looked for: each costs some calls */

/* A replica, and where its machine is. */
struct doctor_replica {
    const char *name;
    struct vim_location at;
};

struct doctor_replicas {
    struct doctor_replica items[REPLICAS_MAX];
    size_t count;
};

static void doctor_replicas_compare(const struct doctor_replica *a, const struct doctor_replica *b, struct strbuf *shared) {
    if (*a->at.host && str_eq(a->at.host, b->at.host))
        strbuf_addf(shared, "%sreplicas %s and %s run on the same host %s", shared->len ? "; " : "", a->name, b->name,
                    a->at.host_name);
    for (size_t i = 0; i < a->at.datastore_count; i++)
        for (size_t k = 0; k < b->at.datastore_count; k++)
            if (str_eq(a->at.datastores[i].url, b->at.datastores[k].url))
                strbuf_addf(shared, "%sreplicas %s and %s are on the same datastore %s", shared->len ? "; " : "", a->name,
                            b->name, a->at.datastores[i].name);
}

static void doctor_replicas_judge(const struct doctor_replicas *found, const struct strbuf *unknown, struct finding *f) {
    _cleanup_strbuf_ struct strbuf shared;
    strbuf_init(&shared, sizeof(f->text));
    for (size_t i = 0; i < found->count; i++)
        for (size_t k = i + 1; k < found->count; k++)
            doctor_replicas_compare(&found->items[i], &found->items[k], &shared);
    if (shared.len) {
        finding_say(f, FINDING_WARNING, "%s", shared.data);
        finding_advise(
            f,
            "keep their machines apart: a DRS rule that separates them for hosts (examples/three-replicas), another datastore, or a "
            "Storage DRS rule, for datastores");
    } else if (found->count < 2) {
        finding_say(f, FINDING_SKIPPED, "not known: %s", unknown->data);
    } else {
        finding_say(f, FINDING_OK, "%zu replicas run on different hosts and datastores%s%s", found->count,
                    unknown->len ? "; not known: " : "", unknown->len ? unknown->data : "");
    }
}

bool doctor_is_alive(const struct replica *replica) {
    return replica->id && replica->heartbeat_age_ms >= 0 && replica->heartbeat_age_ms < REPLICA_ALIVE_MS;
}

/* False: the look ends here. */
static bool doctor_replicas_locate(struct doctor_visit *v, const struct replica *replica, struct doctor_replicas *found,
                                   struct strbuf *unknown, struct finding *f) {
    struct doctor_replica *to = &found->items[found->count];
    struct err err = {0};
    int rc = replica->machine_uuid ? vim_lookup_location(v->client, replica->machine_uuid, &to->at, &err) : ERR_NOT_FOUND;
    if (!rc) {
        to->name = replica->name;
        found->count++;
        return true;
    }
    if (rc != ERR_NOT_FOUND) {
        finding_say_error(f, FINDING_WARNING, &err);
        return false;
    }
    strbuf_addf(unknown, "%s%s %s", unknown->len ? "; " : "", replica->name,
                replica->machine_uuid ? "is not on this vCenter" : "does not know the UUID of its machine");
    return true;
}

void doctor_look_replicas(struct doctor_visit *v, struct finding *f) {
    _cleanup_done_(replica_list_done) struct replica_list list = {0};
    _cleanup_strbuf_ struct strbuf unknown;
    struct doctor_replicas found = {.count = 0};
    struct err err = {0};
    size_t alive = 0;
    strbuf_init(&unknown, sizeof(f->text));
    if (replica_store_list(v->env->options.runtime->store, &list, &err)) {
        finding_say_error(f, FINDING_WARNING, &err);
        return;
    }
    for (size_t i = 0; i < list.count; i++)
        alive += doctor_is_alive(&list.items[i]);
    if (alive < 2) {
        finding_say(f, FINDING_SKIPPED, "only one replica runs");
        return;
    }
    for (size_t i = 0; i < list.count && found.count < REPLICAS_MAX; i++)
        if (doctor_is_alive(&list.items[i]) && !doctor_replicas_locate(v, &list.items[i], &found, &unknown, f))
            return;
    doctor_replicas_judge(&found, &unknown, f);
}
