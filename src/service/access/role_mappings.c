/* Role mappings: giving, changing and taking away. Layer 4 (service/access).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "access_private.h"
#include "clock.h"
#include "ldap_store.h"
#include "grant_store.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"
#include "vcenter_store.h"

#define LDAP "ldap:"
#define NAMES_BYTES_MAX 160U /* that fit into a remedy */

/* The line names the mapping, and tells in the reason who gets which role: that is what people look for. */
static struct audit_record make_line(const struct actor *actor, const char *action, const struct role_mapping *m,
                                     const char *reason) {
    return audit_record_make(
        actor, &(struct audit_event){.action = action, .object_kind = "role_mapping", .object_id = m->id, .reason = reason});
}

static char *reason_of(const struct role_mapping *m) {
    return m->privilege ? str_format("%s for %s on vCenter %s", role_name(m->role), m->privilege, m->subject_id)
                        : str_format("%s for %s", role_name(m->role), m->subject_id);
}

static int check_kind(const struct access *access, const struct role_mapping *m, struct err *err) {
    if (m->kind != ROLE_MAPPING_PRIVILEGE || access->options.maps_privileges)
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "roles by privileges of a vCenter are switched off");
    return err_remedy(err, "set auth.vcenter.privilege_roles: true, if whoever gives privileges there may give this role, too");
}

/* The source of "ldap:<source>:<uuid>": a mapping for one that is not there would count for whatever gets its name one day. */
static int check_directory(struct access *access, const struct role_mapping *m, struct err *err) {
    const char *name = m->subject_id + sizeof(LDAP) - 1;
    const size_t n = strcspn(name, ":");
    struct ldap_row_list all = {0};
    _cleanup_strbuf_ struct strbuf known;
    bool is_known = false;
    int rc = ldap_store_list(access->options.store, &all, err);
    strbuf_init(&known, NAMES_BYTES_MAX);
    for (size_t i = 0; !rc && i < all.count; i++) {
        const char *other = all.items[i].source.name;
        is_known |= strlen(other) == n && !strncmp(other, name, n);
        strbuf_addf(&known, "%s%s", i ? ", " : "", other);
    }
    ldap_row_list_done(&all);
    if (rc || is_known)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "there is no directory \"%.*s\"", (int)n, name);
    if (!known.len)
        return err_remedy(err, "there is none at all; add it first: kaasctl ldap set NAME");
    return err_remedy(err, "there are: %s%s; see: kaasctl ldap list", known.data, known.failed ? ", ..." : "");
}

static int check_vcenter(struct access *access, const struct role_mapping *m, struct err *err) {
    _cleanup_(vcenter_free) struct vcenter *vcenter = NULL;
    struct err why = {0};
    int rc = vcenter_store_load(access->options.store, m->subject_id, &vcenter, &why);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_UNPROCESSABLE, "there is no vCenter %s", m->subject_id);
        return err_remedy(err, "take the id of one of: kaasctl vcenter list");
    }
    return err_move(err, rc, &why);
}

/* Is there who could tell of such a subject? */
static int check_source(struct access *access, const struct role_mapping *m, struct err *err) {
    if (m->kind == ROLE_MAPPING_PRIVILEGE)
        return check_vcenter(access, m, err);
    return str_starts(m->subject_id, LDAP) ? check_directory(access, m, err) : 0;
}

static int set_identity(struct role_mapping *m, struct err *err) {
    char id[UUID_TEXT_BYTES];
    uuid_new(id);
    free(m->id);
    m->id = str_dup(id);
    m->created_at_ms = m->updated_at_ms = clock_wall_ms();
    m->version_no = 1;
    return m->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int access_add_role_mapping(struct access *access, const struct actor *actor, struct role_mapping *m, struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct audit_record line;
    int rc = role_mapping_normalize(m, err);
    if (!rc)
        rc = check_kind(access, m, err);
    if (!rc)
        rc = check_source(access, m, err);
    if (!rc)
        rc = set_identity(m, err);
    if (rc)
        return rc;
    reason = reason_of(m);
    line = make_line(actor, "role_mapping.create", m, reason);
    rc = role_mapping_store_insert(access->options.store, m, &line, err);
    if (rc == ERR_EXISTS)
        (void)err_remedy(err, "remove that one first, or change its role: kaasctl role-mapping list, or GET /v2/role-mappings");
    return access_finish(access, &line, rc);
}

int access_change_role_mapping(struct access *access, const struct actor *actor, struct role_mapping *m, struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct audit_record line;
    int rc = role_mapping_normalize(m, err);
    if (rc)
        return rc;
    reason = reason_of(m);
    line = make_line(actor, "role_mapping.change", m, reason);
    m->updated_at_ms = line.at_ms;
    rc = role_mapping_store_update(access->options.store, m, &line, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the change");
    return access_finish(access, &line, rc);
}

int access_remove_role_mapping(struct access *access, const struct actor *actor, const char *id, int64_t version_no,
                               struct err *err) {
    _cleanup_free_ char *reason = NULL;
    struct role_mapping m = {0};
    struct audit_record line;
    struct role_mapping_removal removal = {.id = id, .version_no = version_no, .audit = &line};
    int rc = role_mapping_store_load(access->options.store, id, &m, err);
    if (rc)
        return rc;
    reason = reason_of(&m);
    line = make_line(actor, "role_mapping.remove", &m, reason);
    rc = role_mapping_store_delete(access->options.store, &removal, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    rc = access_finish(access, &line, rc);
    role_mapping_done(&m);
    return rc;
}

int access_list_role_mappings(struct access *access, struct role_mapping_list *out, struct err *err) {
    return role_mapping_store_list(access->options.store, out, err);
}

int access_get_role_mapping(struct access *access, const char *id, struct role_mapping *out, struct err *err) {
    return role_mapping_store_load(access->options.store, id, out, err);
}
