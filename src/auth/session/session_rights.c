/* Rights of the person behind a session: the union of what each of its vCenters says, and how old that may be; and its role by the
 * role mappings. Layer 5 (auth).
 * What the vCenters said and asking them again: rights_cache.h. The mappings: role_mappings.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session_rights.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_store.h"
#include "clock.h"
#include "limits.h"
#include "metric.h"
#include "policy.h"
#include "role_mappings.h"
#include "signon_state.h"
#include "str.h"

/* A use of grace that is to be written into the audit log. */
#define SIGNON_NOTES_MAX 4096U
struct grace_note {
    struct grace_note *next;
    struct live_session *live; /* one reference */
    char vcenter_id[37];
    char address[64], request_id[64];
    int64_t at_ms;
};

const char *signon_part_state_name(enum signon_part_state state) {
    static const char *const names[] = {[SIGNON_PART_FRESH] = "fresh",
                                        [SIGNON_PART_AGING] = "aging",
                                        [SIGNON_PART_GRACE] = "grace",
                                        [SIGNON_PART_UNKNOWN] = "unknown",
                                        [SIGNON_PART_ENDED] = "ended"};
    return (size_t)state < ARRAY_COUNT(names) ? names[state] : "unknown";
}

void session_rights_done(struct session_rights *rights) {
    if (!rights)
        return;
    for (size_t i = 0; i < rights->count; i++) {
        shared_objects_unref(rights->parts[i].objects);
        rights_subject_unref(rights->parts[i].subject);
    }
    rights->count = 0;
}

const char *signon_part_user(const struct signon_part *part) {
    return rights_subject_user(part->subject);
}

enum signon_part_state signon_judge(const struct signon *s, const struct rights_known *known, bool is_read) {
    if (known->has_ended)
        return SIGNON_PART_ENDED;
    switch (policy_rights_age(known->age_ms, known->is_away, is_read)) {
    case POLICY_RIGHTS_FRESH: return known->age_ms <= s->options.rights_fresh_ms ? SIGNON_PART_FRESH : SIGNON_PART_AGING;
    case POLICY_RIGHTS_RECHECK: return SIGNON_PART_AGING;
    case POLICY_RIGHTS_GRACE: return SIGNON_PART_GRACE;
    case POLICY_RIGHTS_EXPIRED:
    default: return SIGNON_PART_UNKNOWN;
    }
}

/* -- grace is noted: once per session and outage ---------------------------------------------------------------------------- */

static void signon_rights_free_note(struct grace_note *note) {
    live_session_unref(note->live);
    free(note);
}

static void signon_rights_push_note(struct signon *s, struct grace_note *note) {
    bool has_room;
    (void)pthread_mutex_lock(&s->lock);
    has_room = s->notes_count < SIGNON_NOTES_MAX;
    if (has_room) {
        if (s->last_note)
            s->last_note->next = note;
        else
            s->notes = note;
        s->last_note = note;
        s->notes_count++;
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (has_room)
        return;
    metric_add(audit_store_lost(), 1);
    signon_rights_free_note(note);
}

static void note_grace(struct signon *s, struct live_session *live, const char *vcenter_id, const struct signon_use *use,
                       int64_t outage_ms) {
    struct grace_note *note;
    metric_add(metric_get(METRIC_RIGHTS_GRACE), 1);
    if (!live_session_note_grace(live, vcenter_id, outage_ms))
        return;
    note = calloc(1, sizeof(*note));
    if (!note)
        return;
    note->live = live_session_ref(live);
    note->at_ms = clock_wall_ms();
    (void)snprintf(note->vcenter_id, sizeof(note->vcenter_id), "%s", vcenter_id);
    (void)snprintf(note->address, sizeof(note->address), "%s", use->address ? use->address : "");
    (void)snprintf(note->request_id, sizeof(note->request_id), "%s", use->request_id ? use->request_id : "");
    signon_rights_push_note(s, note);
}

static struct grace_note *take_notes(struct signon *s) {
    struct grace_note *notes;
    LOCKED(&s->lock);
    notes = s->notes;
    s->notes = s->last_note = NULL;
    s->notes_count = 0;
    return notes;
}

void signon_write_notes(struct signon *s) {
    struct grace_note *note = take_notes(s);
    while (note) {
        struct grace_note *next = note->next;
        const struct actor actor = {
            .principal = live_session_who(note->live), .address = note->address, .request_id = note->request_id};
        struct audit_record line = audit_record_make(
            &actor, &(struct audit_event){.action = "rights.grace", .object_kind = "vcenter", .object_id = note->vcenter_id});
        line.at_ms = note->at_ms;
        if (audit_store_append(s->options.runtime->store, &line, NULL))
            metric_add(audit_store_lost(), 1);
        signon_rights_free_note(note);
        note = next;
    }
}

void signon_free_notes(struct signon *s) {
    struct grace_note *note = take_notes(s);
    while (note) {
        struct grace_note *next = note->next;
        signon_rights_free_note(note);
        note = next;
    }
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

/* Reads one part, which takes the reference to the subject over; true if it can be had by waiting. */
static bool signon_rights_read_part(struct signon *s, struct live_session *live, const struct live_part *from,
                                    const struct signon_use *use, struct signon_part *out) {
    struct rights_known known;
    rights_subject_read(from->subject, true, &known);
    *out = (struct signon_part){.is_first = from->is_first,
                                .source = from->source,
                                .added_at_ms = from->added_at_ms,
                                .subject = from->subject,
                                .state = signon_judge(s, &known, use->is_read)};
    (void)snprintf(out->vcenter_id, sizeof(out->vcenter_id), "%s", rights_subject_vcenter(from->subject));
    if (out->state == SIGNON_PART_UNKNOWN || out->state == SIGNON_PART_ENDED) {
        shared_objects_unref(known.objects);
        return out->state == SIGNON_PART_UNKNOWN && !known.is_away;
    }
    out->objects = known.objects;
    out->as_of_ms = known.as_of_ms;
    if (out->state == SIGNON_PART_GRACE)
        note_grace(s, live, out->vcenter_id, use, known.outage_ms);
    return false;
}

static void read_parts(struct signon *s, struct live_session *live, const struct signon_use *use, struct session_rights *out) {
    struct live_part parts[SESSION_VCENTERS_MAX];
    out->count = live_session_parts(live, parts);
    out->wait_for = -1;
    out->is_less_than_due = false;
    for (size_t i = 0; i < out->count; i++) {
        struct signon_part *part = &out->parts[i];
        if (signon_rights_read_part(s, live, &parts[i], use, part) && out->wait_for < 0 && !(use->is_given_up & (1U << i)))
            out->wait_for = (int)i;
        if (part->state != SIGNON_PART_FRESH && part->state != SIGNON_PART_AGING)
            out->is_less_than_due = true;
    }
}

/* One code for all that keeps us from knowing, with the reason in words: the caller can do nothing but come back. */
static int say_unknown(const struct err *why, struct err *err) {
    bool has_reason = why && why->code;
    if (has_reason && (why->code == ERR_CANCELED || why->code == ERR_SESSION_ENDED || why->code == ERR_RIGHTS_UNKNOWN))
        return err_move(err, why->code, why);
    (void)err_set(err, ERR_RIGHTS_UNKNOWN,
                  "what you may see is not known, because the vCenter that you came from cannot be asked%s%.300s",
                  has_reason ? ": " : " at the moment", has_reason ? why->text : "");
    if (has_reason && why->remedy[0])
        (void)err_remedy(err, "%s", why->remedy);
    if (err && !err->retry_after_s)
        err->retry_after_s = 5;
    return ERR_RIGHTS_UNKNOWN;
}

int signon_get_rights(struct signon *s, struct live_session *live, const struct signon_use *use, struct session_rights *out,
                      struct err *err) {
    size_t known = 0, ended = 0;
    int rc;
    read_parts(s, live, use, out);
    for (size_t i = 0; i < out->count; i++) {
        known += out->parts[i].objects != NULL;
        ended += out->parts[i].state == SIGNON_PART_ENDED;
    }
    if (known || out->wait_for >= 0 || !source_is_vcenter(live_session_who(live)->source))
        return 0;
    if (ended == out->count)
        rc = err_set(err, ERR_SESSION_ENDED, "the session at the vCenter by which you signed in has ended; sign in again");
    else
        rc = say_unknown(use->why, err);
    session_rights_done(out);
    return rc;
}

/* Grace and refresh do not go together: a token made now would outlive what is known of its bearer. Nothing is asked for it. */
int signon_check_refresh(struct signon *s, struct live_session *live, struct err *err) {
    struct live_part parts[SESSION_VCENTERS_MAX];
    size_t count = live_session_parts(live, parts), ended = 0, good = 0;
    for (size_t i = 0; i < count; i++) {
        struct rights_known known;
        enum signon_part_state state;
        rights_subject_read(parts[i].subject, false, &known);
        state = signon_judge(s, &known, false);
        ended += state == SIGNON_PART_ENDED;
        good += state != SIGNON_PART_ENDED && (state != SIGNON_PART_UNKNOWN || !known.is_away);
        shared_objects_unref(known.objects);
        live_part_done(&parts[i]);
    }
    if (good || !source_is_vcenter(live_session_who(live)->source))
        return 0;
    if (ended == count)
        return err_set(err, ERR_SESSION_ENDED, "the session at the vCenter by which you signed in has ended; sign in again");
    (void)err_set(err, ERR_RIGHTS_UNKNOWN, "the vCenter that you came from does not answer, so the session cannot be prolonged");
    if (err && !err->retry_after_s)
        err->retry_after_s = 5;
    return ERR_RIGHTS_UNKNOWN;
}

/* As with rights of a vCenter: what is known may be used for a while, but nothing new is made of it. */
int signon_check_person(struct signon *s, struct live_session *live, struct err *err) {
    int64_t bound_ms = s->options.directory_check_ms + KAAS_RIGHTS_GRACE_MS;
    if (live_session_role(live) == ROLE_NONE) {
        (void)err_set(err, ERR_FORBIDDEN, "no role is mapped to you or to one of your groups any more");
        return err_remedy(err, "ask an administrator of this service for a role");
    }
    if (!live_session_who(live)->directory || clock_mono_ms() - live_session_check(live).good_ms <= bound_ms)
        return 0;
    (void)err_set(err, ERR_RIGHTS_UNKNOWN, "the directory \"%s\" does not answer, so the session cannot be prolonged",
                  live_session_who(live)->directory);
    if (err && !err->retry_after_s)
        err->retry_after_s = 5;
    (void)err_remedy(err, "try again in a moment; an administrator runs: kaasctl ldap test %s",
                     live_session_who(live)->directory);
    return ERR_RIGHTS_UNKNOWN;
}

/* -- waiting, events, clockwork ---------------------------------------------------------------------------------------------- */

int signon_wait_rights(struct signon *s, struct live_session *live, const char *vcenter_id, struct signon_wait *wait,
                       struct err *err) {
    struct live_part parts[SESSION_VCENTERS_MAX];
    size_t count = live_session_parts(live, parts);
    int rc = ERR_NOT_FOUND;
    (void)s;
    for (size_t i = 0; i < count; i++) {
        if (rc == ERR_NOT_FOUND && str_eq_nocase(rights_subject_vcenter(parts[i].subject), vcenter_id))
            rc = rights_subject_wait(parts[i].subject, wait, err);
        live_part_done(&parts[i]);
    }
    return rc == ERR_NOT_FOUND ? err_set(err, rc, "the session does not speak for this vCenter any more") : rc;
}

void signon_drop_rights(struct signon *s, const char *vcenter_id, const char *user_name) {
    rights_cache_drop(s->cache, vcenter_id, user_name);
}

void signon_rights_tick(struct signon *s) {
    rights_cache_tick(s->cache);
}

/* -- what role mappings mean for sessions -------------------------------------------------------------------------------------- */

int signon_list_role_mappings(struct signon *s, struct role_mapping_list *out, struct err *err) {
    return role_mappings_list(s->mappings, out, err);
}

enum role signon_mapped_role(struct signon *s, const char *principal_id, const struct group_set *groups) {
    return role_mappings_best(s->mappings, principal_id, groups);
}

char **signon_mapped_privileges(struct signon *s, const char *vcenter_id, size_t *count) {
    return role_mappings_privileges(s->mappings, vcenter_id, count);
}

/* Roles are mapped to people who come by themselves. A program has its own role, whoever else may have it acts for them as a user, and so does
 * somebody who is only said to have a session. */
static bool is_mapped(const struct principal *who) {
    return !who->service_id && !who->acting_id && who->source != SOURCE_VC_KEY;
}

enum role signon_map_role_of(struct signon *s, const struct principal *who, const struct group_set *groups) {
    return is_mapped(who) ? signon_mapped_role(s, who->id, groups) : ROLE_NONE;
}

void signon_map_role(struct signon *s, struct live_session *live) {
    struct live_groups *groups = live_session_groups(live);
    live_session_set_mapped(live, signon_map_role_of(s, live_session_who(live), live_groups_get(groups)));
    live_groups_unref(groups);
}

static bool has_mapping(const struct role_mapping_list *list, const struct role_mapping *wanted) {
    for (size_t i = 0; i < list->count; i++)
        if (!role_mapping_compare(&list->items[i], wanted))
            return true;
    return false;
}

static void drop_missing(struct signon *s, const struct role_mapping_list *from, const struct role_mapping_list *in) {
    for (size_t i = 0; i < from->count; i++)
        if (from->items[i].kind == ROLE_MAPPING_PRIVILEGE && !has_mapping(in, &from->items[i]))
            rights_cache_drop(s->cache, from->items[i].subject_id, NULL);
}

/* What a vCenter said about its people was an answer to another question. Without memory the usual age of rights ends it. */
static void drop_changed(struct signon *s, const struct role_mapping_list *old) {
    struct role_mapping_list fresh = {0};
    if (!s->options.maps_privileges || signon_list_role_mappings(s, &fresh, NULL))
        return;
    drop_missing(s, old, &fresh);
    drop_missing(s, &fresh, old);
    role_mapping_list_done(&fresh);
}

/* First the rules, then the sessions: one that is made meanwhile looks at the rules after it is in the table. */
int signon_apply_role_mappings(struct signon *s, struct err *err) {
    struct role_mapping_list old = {0};
    size_t count = 0;
    struct live_session **known;
    int rc = role_mappings_load(s->mappings, s->options.runtime->store, &old, err);
    if (rc)
        return rc;
    drop_changed(s, &old);
    role_mapping_list_done(&old);
    known = session_table_list(s->table, NULL, &count);
    if (!known)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        signon_map_role(s, known[i]);
        live_session_unref(known[i]);
    }
    free(known);
    return 0;
}
