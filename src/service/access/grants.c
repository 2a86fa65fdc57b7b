/* Grants: giving and taking away. Layer 4 (service/access).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "access.h"
#include "access_private.h"
#include "clock.h"
#include "grant_store.h"
#include "str.h"
#include "uuid.h"

#define LOCAL "local:"

/* The line names what the grant is on, since that is what people look for; whom it is for stands in the reason. */
static struct audit_record make_line(const struct actor *actor, const char *action, const struct grant *g, const char *reason) {
    return audit_record_make(
        actor, &(struct audit_event){
                   .action = action, .object_kind = grant_object_name(g->object), .object_id = g->object_id, .reason = reason});
}

static char *reason_of(const struct grant *g) {
    return str_format("%s for %s", g->role ? g->role : GRANT_ROLE_VIEWER, g->principal_id);
}

/* Ids of local users are never used again, so a grant to nobody would stay one for ever. */
static int check_principal(struct access *access, const struct grant *g, struct err *err) {
    struct err missing = {0};
    struct user *user = NULL;
    int rc;
    if (!str_starts(g->principal_id, LOCAL))
        return 0;
    rc = user_store_load(access->options.store, g->principal_id + sizeof(LOCAL) - 1, &user, &missing);
    user_free(user);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_UNPROCESSABLE, "there is no local user %s", g->principal_id);
        return err_remedy(err, "compare with GET /v2/users");
    }
    return err_move(err, rc, &missing);
}

static int set_identity(struct grant *g, struct err *err) {
    char id[UUID_TEXT_BYTES];
    uuid_new(id);
    free(g->id);
    g->id = str_dup(id);
    g->created_at_ms = clock_wall_ms();
    return g->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int insert(struct access *access, const struct actor *actor, const struct grant *g, struct err *err) {
    _cleanup_free_ char *reason = reason_of(g);
    const struct audit_record line = make_line(actor, "grant.create", g, reason);
    struct err why = {0};
    int rc = grant_store_insert(access->options.store, g, g->created_at_ms, &line, &why);
    if (rc == ERR_EXISTS)
        (void)err_remedy(&why, "it need not be given again; see: kaasctl grant list, or GET /v2/grants?object_id=...");
    if (rc == ERR_CONFLICT)
        rc = why.code = ERR_NOT_FOUND; /* what one may not see and what is not there are the same */
    return access_finish(access, &line, err_move(err, rc, &why));
}

int access_add_grant(struct access *access, const struct actor *actor, struct grant *g, struct err *err) {
    int rc = grant_normalize(g, err);
    if (!rc)
        rc = check_principal(access, g, err);
    if (!rc)
        rc = set_identity(g, err);
    return rc ? rc : insert(access, actor, g, err);
}

int access_remove_grant(struct access *access, const struct actor *actor, const char *id, struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct grant g = {0};
    struct audit_record line;
    int rc = grant_store_load(access->options.store, id, &g, err);
    if (rc)
        return rc;
    reason = reason_of(&g);
    line = make_line(actor, "grant.remove", &g, reason);
    rc = access_finish(access, &line, grant_store_delete(access->options.store, id, &line, err));
    grant_done(&g);
    return rc;
}
