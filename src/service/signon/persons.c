/* People and programs whose proof was checked elsewhere become sessions. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "role_rules.h"
#include "session_store.h"
#include "signon_private.h"
#include "str.h"
#include "strbuf.h"

#define REASON_BYTES_MAX 1000U
#define WAY_BYTES 32U

/* -- refusals, passwords ---------------------------------------------------------------------------------------------------------- */

/* "ldap:corp" is the way "ldap". */
static const char *way_of(const char *where, char buffer[WAY_BYTES]) {
    size_t n = strcspn(where, ":");
    if (n >= WAY_BYTES)
        n = WAY_BYTES - 1;
    memcpy(buffer, where, n);
    buffer[n] = '\0';
    return buffer;
}

void signon_note_refusal(struct signon *s, const struct actor *actor, const struct signon_refusal *what) {
    char way[WAY_BYTES];
    const struct audit_event event = {.action = "login",
                                      .principal_name = what->user,
                                      .acting_id = what->acting_id,
                                      .source = way_of(what->where, way),
                                      .reason = what->reason};
    const struct audit_record line = signon_make_line(actor, NULL, &event);
    signon_audit(s, &line, what->rc);
}

int signon_admit_password(struct signon *s, const struct actor *actor, const struct signon_password *given, struct err *err) {
    struct gate gate = {0};
    int rc = gate_open(&gate, s, actor, given->where, given->account, err);
    gate_done(&gate);
    if (rc)
        signon_note_refusal(s, actor, &(struct signon_refusal){.where = given->where, .user = given->user, .rc = rc});
    return rc;
}

void signon_note_password(struct signon *s, const struct actor *actor, const struct signon_password *given, int rc,
                          const char *reason) {
    struct gate gate = {0};
    (void)gate_open(&gate, s, actor, given->where, given->account, NULL); /* whether it is open was asked before */
    gate_note(&gate, rc);
    gate_done(&gate);
    if (rc)
        signon_note_refusal(s, actor,
                            &(struct signon_refusal){.where = given->where, .user = given->user, .reason = reason, .rc = rc});
}

/* -- signing in ---------------------------------------------------------------------------------------------------------- */

/* The principal borrows everything; its interface has no const, since others own theirs. */
static char *lend(const char *text) {
    return (char *)(uintptr_t)text;
}

static struct principal principal_of(const struct signon_person *p) {
    return (struct principal){.id = lend(p->principal_id),
                              .name = lend(p->name),
                              .full_name = lend(p->full_name),
                              .role = p->role_at_least,
                              .source = p->source,
                              .directory = lend(p->directory),
                              .acting_id = lend(p->acting_id),
                              .service_id = lend(p->service_id)};
}

/* Which groups would have to be mapped is for the administrator, who reads the audit trail. */
static char *describe_groups(const struct group_set *groups) {
    struct strbuf text;
    strbuf_init(&text, REASON_BYTES_MAX);
    strbuf_addf(&text, "no role is mapped; member of %zu groups", groups->count);
    for (size_t i = 0; i < groups->count && text.len + strlen(groups->ids[i]) + 8 < REASON_BYTES_MAX; i++)
        strbuf_addf(&text, "%s %s", i ? "," : ":", groups->ids[i]);
    return strbuf_steal(&text);
}

static int check_role(struct signon *s, const struct signon_person *p, const struct group_set *groups, struct err *err) {
    if (p->role_at_least != ROLE_NONE || role_rules_find(s->roles, p->principal_id, groups) != ROLE_NONE)
        return 0;
    if (groups->count == 1)
        (void)err_set(err, ERR_FORBIDDEN, "you are known, but no role is mapped to you or to your group");
    else
        (void)err_set(err, ERR_FORBIDDEN, "you are known, but no role is mapped to you or to one of your %zu groups",
                      groups->count);
    return err_remedy(err, "ask an administrator of this service for a role; the audit trail shows which groups were seen");
}

static int64_t lifetime_of(const struct signon *s, const struct signon_person *p) {
    int64_t usual_ms = s->options.session_lifetime_ms;
    int64_t left_ms = p->ends_at_ms ? p->ends_at_ms - clock_wall_ms() : usual_ms;
    return left_ms < usual_ms ? left_ms : usual_ms;
}

static int open_person(struct signon *s, const struct signon_new_session *wanted, struct signon_grant *out, struct err *err) {
    if (wanted->lifetime_ms < 1000)
        return err_set(err, ERR_CREDENTIALS, "what proves who you are ends now");
    return signon_open_session(s, wanted, out, err);
}

int signon_login_person(struct signon *s, const struct actor *actor, const struct signon_person *person, struct signon_grant *out,
                        struct err *err) {
    static const struct group_set nothing;
    const struct group_set *groups = person->groups ? person->groups : &nothing;
    const struct principal who = principal_of(person);
    _cleanup_free_ char *reason = NULL;
    const struct session_once once = {.digest = person->proof_digest, .until_ms = person->proof_until_ms};
    struct audit_record line = signon_make_line(actor, &who, &(struct audit_event){.action = "login"});
    int rc = check_role(s, person, groups, err);
    if (rc)
        line.event.reason = reason = describe_groups(groups);
    if (!rc)
        rc = open_person(s,
                         &(struct signon_new_session){.who = &who,
                                                      .lifetime_ms = lifetime_of(s, person),
                                                      .line = &line,
                                                      .groups = groups,
                                                      .directory_mark = person->directory_mark,
                                                      .once = once.digest ? &once : NULL},
                         out, err);
    if (rc == ERR_CREDENTIALS && once.digest)
        line.event.reason = "replay";
    if (rc)
        signon_audit(s, &line, rc);
    return rc;
}

/* -- role mappings --------------------------------------------------------------------------------------------------------- */

char **signon_mapped_privileges(struct signon *s, const char *vcenter_id, size_t *count) {
    *count = 0;
    return s->options.maps_privileges ? role_rules_privileges(s->roles, vcenter_id, count) : NULL;
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
            rights_board_drop(s->board, from->items[i].subject_id, NULL);
}

/* What a vCenter said about its people was an answer to another question. Without memory the usual age of rights ends it. */
static void drop_changed(struct signon *s, const struct role_mapping_list *old) {
    struct role_mapping_list fresh = {0};
    if (!s->options.maps_privileges || role_rules_list(s->roles, &fresh, NULL))
        return;
    drop_missing(s, old, &fresh);
    drop_missing(s, &fresh, old);
    role_mapping_list_done(&fresh);
}

/* First the rules, then the sessions: one that is made meanwhile looks at the rules after it is in the table. */
int signon_apply_role_mappings(struct signon *s, struct err *err) {
    struct role_mapping_list list = {0}, old = {0};
    size_t count = 0;
    struct live_session **known;
    int rc = role_mapping_store_list(s->options.store, &list, err);
    if (rc)
        return rc;
    (void)role_rules_list(s->roles, &old, NULL);
    role_rules_set(s->roles, &list);
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

/* Roles are mapped to people who come by themselves. A program has its own role, whoever else may have it acts for them as a user, and so does
 * somebody who is only said to have a session. */
static bool is_mapped(const struct principal *who) {
    return !who->service_id && !who->acting_id && who->source != SOURCE_VC_KEY;
}

enum role signon_map_role_of(struct signon *s, const struct principal *who, const struct group_set *groups) {
    return is_mapped(who) ? role_rules_find(s->roles, who->id, groups) : ROLE_NONE;
}

void signon_map_role(struct signon *s, struct live_session *live) {
    struct live_groups *groups = live_session_groups(live);
    live_session_set_mapped(live, signon_map_role_of(s, live_session_who(live), live_groups_get(groups)));
    live_groups_unref(groups);
}
