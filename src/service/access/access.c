/* The room itself, and what ends every write. Layer 4 (service/access).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "access.h"

#include <stdlib.h>

#include "access_private.h"

int access_new(const struct access_options *options, struct access **out, struct err *err) {
    struct access *access = calloc(1, sizeof(*access));
    if (!access)
        return err_set(err, ERR_NOMEM, "out of memory");
    access->options = *options;
    (void)pthread_rwlock_init(&access->names_lock, NULL);
    *out = access;
    return 0;
}

void access_free(struct access *access) {
    if (!access)
        return;
    user_names_done(&access->names);
    (void)pthread_rwlock_destroy(&access->names_lock);
    free(access);
}

int access_finish(struct access *access, const struct audit_record *line, int rc) {
    if (rc)
        audit_store_append_outcome(access->options.store, line, rc);
    else if (access->options.on_written)
        access->options.on_written(access->options.on_written_arg);
    return rc;
}
