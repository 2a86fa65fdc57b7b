/* The room itself. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "identity.h"

#include <stdlib.h>

#include "gss_ticket.h"
#include "identity_private.h"

int identity_new(const struct identity_options *options, struct identity **out, struct err *err) {
    struct identity *identity = calloc(1, sizeof(*identity));
    int rc;
    if (!identity)
        return err_set(err, ERR_NOMEM, "out of memory");
    identity->options = *options;
    ldap_conn_prepare();
    (void)pthread_mutex_init(&identity->lock, NULL);
    (void)pthread_mutex_init(&identity->sync_lock, NULL);
    rc = names_new(&identity->names, err);
    if (rc)
        identity_free(identity);
    else
        *out = identity;
    return rc;
}

void identity_stop(struct identity *identity) {
    if (!identity)
        return;
    (void)pthread_mutex_lock(&identity->lock);
    identity->is_stopped = true; /* no further lanes from here on */
    (void)pthread_mutex_unlock(&identity->lock);
    gss_ticket_stop();
    for (size_t i = 0; i < identity->lanes_count; i++)
        lane_stop(identity->lanes[i].lane);
}

bool identity_has_left_waiting(void) {
    return gss_ticket_is_waiting();
}

void identity_free(struct identity *identity) {
    if (!identity)
        return;
    identity_stop(identity);
    for (size_t i = 0; i < identity->lanes_count; i++)
        lane_free(identity->lanes[i].lane);
    for (size_t i = 0; i < SOURCE_LANES_MAX; i++)
        lane_free(identity->ended[i]);
    for (size_t i = 0; i < identity->count; i++)
        source_unref(identity->sources[i]);
    free(identity->sources);
    names_free(identity->names);
    (void)pthread_mutex_destroy(&identity->lock);
    (void)pthread_mutex_destroy(&identity->sync_lock);
    free(identity);
}

void identity_person_done(struct identity_person *person) {
    if (!person)
        return;
    free(person->principal_id);
    free(person->name);
    free(person->full_name);
    free(person->directory);
    free(person->mark);
    group_set_done(&person->groups);
    *person = (struct identity_person){0};
}
