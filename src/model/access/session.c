/* A signed-in session. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include <stdlib.h>

#include "str.h"

void session_vcenter_done(struct session_vcenter *item) {
    if (!item)
        return;
    free(item->user_name);
    free(item->session_key);
    *item = (struct session_vcenter){0};
}

int session_vcenter_copy(const struct session_vcenter *from, struct session_vcenter *out, struct err *err) {
    struct session_vcenter copy = *from;
    copy.user_name = str_dup(from->user_name);
    copy.session_key = str_dup(from->session_key);
    if ((from->user_name && !copy.user_name) || (from->session_key && !copy.session_key)) {
        session_vcenter_done(&copy);
        return err_set(err, ERR_NOMEM, "no memory for a session");
    }
    *out = copy;
    return 0;
}

bool session_vcenter_eq(const struct session_vcenter *a, const struct session_vcenter *b) {
    return str_eq(a->vcenter_id, b->vcenter_id) && a->source == b->source && str_eq(a->user_name, b->user_name) &&
           str_eq(a->session_key, b->session_key) && a->added_at_ms == b->added_at_ms;
}

static int copy_vcenters(const struct session *from, struct session *to, struct err *err) {
    to->vcenters_count = 0;
    to->vcenters = from->vcenters_count ? calloc(from->vcenters_count, sizeof(*to->vcenters)) : NULL;
    if (from->vcenters_count && !to->vcenters)
        return err_set(err, ERR_NOMEM, "no memory for a session");
    while (to->vcenters_count < from->vcenters_count) {
        int rc = session_vcenter_copy(&from->vcenters[to->vcenters_count], &to->vcenters[to->vcenters_count], err);
        if (rc)
            return rc;
        to->vcenters_count++;
    }
    return 0;
}

void session_done(struct session *s) {
    if (!s)
        return;
    principal_done(&s->who);
    for (size_t i = 0; i < s->vcenters_count; i++)
        session_vcenter_done(&s->vcenters[i]);
    free(s->vcenters);
    group_set_done(&s->groups);
    free(s->directory_mark);
    *s = (struct session){0};
}

void session_free(struct session *s) {
    session_done(s);
    free(s);
}

int session_copy(const struct session *from, struct session *out, struct err *err) {
    struct session copy = *from;
    int rc = principal_copy(&from->who, &copy.who, err);
    if (rc)
        return rc;
    copy.groups = (struct group_set){0};
    copy.directory_mark = str_dup(from->directory_mark);
    rc = copy_vcenters(from, &copy, err);
    if (!rc && from->directory_mark && !copy.directory_mark)
        rc = err_set(err, ERR_NOMEM, "no memory for a session");
    if (!rc)
        rc = group_set_copy(&from->groups, &copy.groups, err);
    if (rc) {
        session_done(&copy);
        return rc;
    }
    *out = copy;
    return 0;
}

enum session_verdict session_judge(const struct session *s, const char *jti, int64_t now_ms) {
    if (s->revoked_at_ms || now_ms >= s->ends_at_ms)
        return SESSION_ENDED;
    if (str_empty(jti))
        return SESSION_REUSED;
    if (str_eq(s->jti, jti) || (str_eq(s->old_jti, jti) && now_ms - s->rotated_at_ms <= SESSION_OLD_JTI_GRACE_MS))
        return SESSION_OK;
    return SESSION_REUSED;
}
