/* What modules are handed of the daemon; changes that the feed tells; what people and things are called; lines for the log. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "audit_store.h"
#include "clock.h"
#include "fsutil.h"
#include "log.h"
#include "str.h"
#include "wire_private.h"

#define CA_PEM_BYTES_MAX (4U * 1024U * 1024U) /* revocation lists of large CAs */

/* -- making modules --------------------------------------------------------------------------------------------------------- */

int wire_make_pool(const struct worker_pool_options *wanted, struct worker_pool **out, struct err *err) {
    struct worker_pool_options options = *wanted;
    options.thread_begin = wanted->thread_begin ? wanted->thread_begin : store_thread_begin;
    options.thread_end = store_thread_end;
    return worker_pool_new(&options, out, err);
}

int wire_make_folder_of(const char *path, struct err *err) {
    _cleanup_free_ char *folder = str_dup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash || slash == folder)
        return 0;
    *slash = 0;
    return access(folder, F_OK) ? fs_make_dirs(folder, 0755, err) : 0;
}

int wire_read_file(const char *path, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text = {0};
    int rc;
    if (!*path)
        return 0;
    strbuf_init(&text, CA_PEM_BYTES_MAX);
    rc = fs_read_text(path, &text, err);
    if (rc)
        return rc;
    *out = strbuf_steal(&text);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- what people and things are called, and what they may ------------------------------------------------------------------ */

bool wire_get_name(void *arg, const char *id, char *out) {
    struct wire *w = arg;
    _Static_assert(API_NAME_BYTES == LDAPDIR_NAME_BYTES, "names of directories fit");
    return str_starts(id, "local:") ? access_get_name(w->parts.access, id, out, API_NAME_BYTES)
                                    : ldapdir_get_name(w->parts.ldapdirs, id, out);
}

/* -- changes -------------------------------------------------------------------------------------------------------------- */

void wire_on_written(void *arg) {
    struct wire *wire = arg;
    struct err err = {0};
    if (inventory_poll(wire->parts.inventory, &err))
        log_error(LOG_LEVEL_DEBUG, "poll_after_write_failed", &err, NULL);
}

/* What failed for want of the database is told again; anything else would fail again. */
static int wire_glue_tell_again(int rc, const struct err *err, const char *kind) {
    if (rc)
        log_error(LOG_LEVEL_WARNING, "change_not_applied", err, "kind", kind, NULL);
    return rc == ERR_DATABASE || rc == ERR_BUSY || rc == ERR_NOMEM ? rc : 0;
}

/* Sessions are many, and read together. Who waits for a list looks again afterwards. */
static int apply_sessions(struct wire *wire, const struct change_list *changes) {
    _cleanup_free_ const char **sids = calloc(changes->count, sizeof(*sids));
    struct err err = {0};
    size_t count = 0;
    int rc;
    for (size_t i = 0; sids && i < changes->count; i++)
        if (changes->items[i].kind == CHANGE_SESSION)
            sids[count++] = changes->items[i].object_id;
    rc = sids ? signon_apply_session_changes(wire->parts.signon, sids, count, &err) : err_set(&err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        api_note_session_change(wire->api, sids[i]);
    return wire_glue_tell_again(rc, &err, change_kind_name(CHANGE_SESSION));
}

static int wire_glue_apply_change(struct wire *wire, const struct change *change) {
    int first = 0;
    for (size_t i = 0; i < WIRE_MODULES; i++) {
        struct err err = {0};
        const struct wire_module *module = wire_modules[i];
        int rc = module->on_change ? module->on_change(wire, change, &err) : 0;
        rc = wire_glue_tell_again(rc, &err, change_kind_name(change->kind));
        first = first ? first : rc;
    }
    return first;
}

/* All are applied, whatever becomes of one of them; the first failure counts. */
int wire_on_changes(void *arg, const struct change_list *changes) {
    int first = apply_sessions(arg, changes);
    for (size_t i = 0; i < changes->count; i++) {
        int rc = wire_glue_apply_change(arg, &changes->items[i]);
        first = first ? first : rc;
    }
    return first;
}

int wire_load(struct wire *wire, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < WIRE_MODULES && !rc; i++)
        rc = wire_modules[i]->load ? wire_modules[i]->load(wire, err) : 0;
    return rc;
}

int wire_on_gap(void *arg) {
    struct wire *wire = arg;
    struct err err = {0};
    int rc = sealing_follow(wire->parts.sealing, &err);
    rc = rc ? rc : wire_load(wire, &err);
    return wire_glue_tell_again(rc, &err, "gap");
}

/* -- the log ---------------------------------------------------------------------------------------------------------------- */

/* A line of the audit log. */
void wire_log_audit(void *arg, const struct audit_record *record) {
    const struct audit_event *e = &record->event;
    char at[CLOCK_RFC3339_BYTES];
    (void)arg;
    clock_format(record->at_ms, at);
    log_event(LOG_LEVEL_NOTICE, "audit", "at", at, "action", e->action, "result", e->result, "reason", e->reason, "principal",
              e->principal_id, "name", e->principal_name, "acting", e->acting_id, "source", e->source, "kind", e->object_kind,
              "object", e->object_id, "object_name", e->object_name, "client", e->address, "of_request", e->request_id, NULL);
}

/* Nobody has done anything wrong then, and what was asked is mostly done by another attempt: but somebody has waited long, and it is a defect. */
void wire_log_lock(void *arg, const char *problem, const char *sql) {
    (void)arg;
    log_event(LOG_LEVEL_ERROR, "database_lock", "problem", problem, "hint",
              "who waited has lost seconds; tell the developers, with the lines around it", "statement", sql, NULL);
}
