/* How a link makes its own session again: what it logs in with, and the checks before. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "link_session.h"

#include <string.h>

#include "vcenter_store.h"
#include "platform_audit.h"
#include "platform_links.h"
#include "vim.h"

void link_session_done(struct link_session *s) {
    login_material_done(&s->material);
}

void link_session_forget(struct link_session *s) {
    atomic_store(&s->is_loaded, false);
}

/* Loads credentials once; kept in memory so that a lost session can be renewed while the database is away. */
static int load(struct link_session *s, struct err *err) {
    const struct platform_options *options = platform_options_of(link_platform(s->link));
    struct login_material fresh = {0};
    int rc;
    atomic_store(&s->is_loaded, true); /* first: a change that comes while we read makes it false again */
    rc = login_material_load(options->store, options->seal, link_id(s->link), &fresh, err);
    if (rc) {
        atomic_store(&s->is_loaded, false);
        return rc;
    }
    memcpy(fresh.refused, s->material.refused, sizeof(fresh.refused));
    login_material_done(&s->material);
    s->material = fresh;
    return 0;
}

/* What is in memory will do while the database is away. */
static int need_material(struct link_session *s, struct err *err) {
    struct err why = {0};
    int rc;
    if (atomic_load(&s->is_loaded))
        return 0;
    rc = load(s, &why);
    if (!rc || s->material.active.generation || s->material.pending.generation)
        return 0;
    return err_move(err, rc, &why);
}

/* Before any secret is sent: the address may have been given to another vCenter since the last login. */
static int check_identity(struct link_session *s, struct vim_client *client, struct err *err) {
    struct vim_about about = {0};
    int rc;
    if (atomic_exchange(&s->is_identity_fresh, false))
        return 0;
    rc = vim_connect(client, &about, err);
    if (!rc)
        rc = link_check_identity(s->link, &about, err);
    vim_about_done(&about);
    return rc;
}

static int try_material(struct link_session *s, struct vim_client *client, struct login_used *used, struct err *err) {
    struct vcenter info = {0};
    struct link_report report;
    int rc = need_material(s, err);
    if (!rc)
        rc = link_get_info(s->link, &info, err);
    if (rc)
        return rc;
    link_get_report(s->link, &report);
    rc = login_with_material(client, &info, &s->material, report.has_strategy ? &report.strategy : NULL, used, err);
    vcenter_done(&info);
    return rc;
}

static unsigned newest_generation(const struct login_material *m) {
    return m->pending.generation > m->active.generation ? m->pending.generation : m->active.generation;
}

/* What is refused may have been replaced by another replica: it is read again, and tried if it is another one. */
static int try_newer(struct link_session *s, struct vim_client *client, struct login_used *used, int rc, struct err *err) {
    unsigned tried = newest_generation(&s->material);
    if (load(s, NULL) || newest_generation(&s->material) == tried)
        return rc;
    err_clear(err);
    return try_material(s, client, used, err);
}

/* A pending credential that vCenter accepted is the one it knows now. If that cannot be written, the next login settles it. The login
 * before this one may have left a session behind. */
static void settle(struct link_session *s, const struct login_used *used) {
    struct platform *platform = link_platform(s->link);
    struct store *store = platform_options_of(platform)->store;
    struct audit_record line;
    link_note_strategy(s->link, used->strategy);
    if (used->generation == s->material.pending.generation &&
        !credential_store_promote(store, link_id(s->link), used->generation, NULL, NULL)) {
        link_session_forget(s);
        line =
            platform_audit_make(platform, NULL, &(struct audit_event){.action = ROTATION_ACTION, .object_id = link_id(s->link)});
        platform_audit_finish(platform, &line);
    }
    link_request(s->link, LINK_WORK_SWEEP);
}

int link_session_log_in(struct vim_client *client, void *session, struct err *err) {
    struct link_session *s = session;
    struct login_used used = {0};
    int rc;
    if (link_is_retired(s->link)) /* its successor has a session of its own */
        return err_set(err, ERR_CANCELED, "the connection to this vCenter is being replaced");
    rc = check_identity(s, client, err);
    if (rc)
        return rc;
    rc = try_material(s, client, &used, err);
    if (rc == ERR_CREDENTIALS || rc == ERR_NOT_REGISTERED)
        rc = try_newer(s, client, &used, rc, err);
    if (!rc)
        settle(s, &used);
    return rc;
}
