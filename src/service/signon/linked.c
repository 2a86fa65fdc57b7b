/* One person over several vCenters: each knows the person by a proof of its own. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "rights_board.h"
#include "session_store.h"
#include "signon_private.h"
#include "str.h"

bool signon_is_first_vcenter(struct live_session *live, const char *vcenter_id) {
    const struct principal *who = live_session_who(live);
    return source_is_vcenter(who->source) && str_eq_nocase(who->vcenter_id, vcenter_id);
}

static int refuse_first(struct live_session *live, const char *vcenter_id, struct err *err) {
    if (!signon_is_first_vcenter(live, vcenter_id))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "this is the vCenter by which you signed in");
    return err_remedy(err, "to leave it, or to come by another proof, sign out and sign in again");
}

static int write_vcenter(struct signon *s, const char *sid, const struct signon_proof *proof, const struct outcome *o,
                         struct err *err) {
    struct session_vcenter v = {.source = signon_source_of(proof->kind),
                                .user_name = o->identity.user_name,
                                .session_key = (char *)(uintptr_t)signon_key_of(proof, &o->identity),
                                .added_at_ms = clock_wall_ms()};
    const struct session_addition addition = {
        .sid = sid, .vcenter = &v, .ends_at_ms = v.added_at_ms + signon_lifetime_of(s, proof->kind)};
    (void)snprintf(v.vcenter_id, sizeof(v.vcenter_id), "%s", proof->vcenter_id);
    return session_store_add_vcenter(s->options.store, &addition, err);
}

/* What was asked along with the proof need not be asked again. */
static void bring_rights(struct signon *s, const struct signon_proof *proof, const struct outcome *o) {
    const struct rights_person person = {proof->vcenter_id, o->identity.user_name, signon_key_of(proof, &o->identity)};
    _cleanup_(rights_subject_unref) struct rights_subject *subject = rights_subject_get(s->board, &person);
    if (subject)
        rights_subject_offer(subject, shared_objects_ref(o->rights));
}

static int enter(struct signon *s, const char *sid, const struct signon_proof *proof, const struct outcome *o, struct err *err) {
    int rc = write_vcenter(s, sid, proof, o, err);
    if (!rc)
        rc = signon_apply_session_change(s, sid, err);
    if (!rc)
        bring_rights(s, proof, o);
    return rc;
}

int signon_add_vcenter(struct signon *s, const struct actor *actor, struct live_session *live, struct signon_check *check,
                       struct err *err) {
    const struct signon_proof *proof = signon_check_proof(check);
    struct audit_record line = signon_make_line(actor, live_session_who(live),
                                                &(struct audit_event){.action = "session.vcenter.add",
                                                                      .source = source_name(signon_source_of(proof->kind)),
                                                                      .object_kind = "vcenter",
                                                                      .object_id = proof->vcenter_id});
    struct outcome *outcome = NULL;
    int rc = refuse_first(live, proof->vcenter_id, err);
    if (!rc)
        rc = signon_check_take(check, &outcome, err);
    if (!rc && outcome)
        rc = signon_check_pace(s, live_session_who(live), &line, err);
    if (!rc && outcome)
        rc = enter(s, live_session_sid(live), proof, outcome, err);
    signon_audit(s, &line, rc);
    outcome_unref(outcome);
    return rc;
}

int signon_remove_vcenter(struct signon *s, const struct actor *actor, struct live_session *live, const char *vcenter_id,
                          struct err *err) {
    const struct audit_record line = signon_make_line(
        actor, live_session_who(live),
        &(struct audit_event){.action = "session.vcenter.remove", .object_kind = "vcenter", .object_id = vcenter_id});
    int rc = refuse_first(live, vcenter_id, err);
    if (!rc)
        rc = session_store_remove_vcenter(s->options.store, live_session_sid(live), vcenter_id, err);
    if (!rc)
        rc = signon_apply_session_change(s, live_session_sid(live), err);
    signon_audit(s, &line, rc);
    return rc;
}
