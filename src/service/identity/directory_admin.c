/* Directories: adding, changing, removing. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "identity_private.h"
#include "limits.h"
#include "seal.h"
#include "str.h"

#define SEALED_BYTES_MAX 4096U

/* -- audit trail ----------------------------------------------------------------------------------------------------------- */

static struct audit_record make_line(const struct actor *actor, const char *action, const char *name, const char *reason) {
    return audit_record_make(
        actor, &(struct audit_event){
                   .action = action, .object_kind = "directory", .object_id = name, .object_name = name, .reason = reason});
}

/* Ends every write: after success others learn of it, a refusal is noted. */
static int finish(struct identity *identity, const struct audit_record *line, int rc) {
    if (rc) {
        audit_store_append_outcome(identity->options.store, line, rc);
        return rc;
    }
    (void)identity_sync(identity, NULL); /* else the change feed brings it */
    if (identity->options.on_written)
        identity->options.on_written(identity->options.on_written_arg);
    return 0;
}

/* -- what is stored -------------------------------------------------------------------------------------------------------- */

static int seal_password(struct identity *identity, const char *password, struct ldap_row *row, struct err *err) {
    _cleanup_free_ char *purpose = str_format("ldap-bind:%s", row->source.name);
    _cleanup_strbuf_ struct strbuf sealed;
    int rc;
    strbuf_init(&sealed, SEALED_BYTES_MAX);
    if (!purpose)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = seal_seal(identity->options.seal, purpose, password, strlen(password), &sealed, err);
    if (rc)
        return rc;
    free(row->sealed);
    row->sealed_bytes = sealed.len;
    row->sealed = (uint8_t *)strbuf_steal(&sealed);
    row->source.has_password = true;
    return 0;
}

static int check_password(const char *password, struct err *err) {
    size_t n = password ? strlen(password) : 0;
    if (!password || (n && n <= KAAS_PASSWORD_BYTES_MAX))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE,
                   "bind_password must have 1 to %d bytes: an empty one would be no proof (RFC 4513 5.1.2)",
                   KAAS_PASSWORD_BYTES_MAX);
}

/* What the wish makes of a row: its sealed password stays, unless there is a new one. */
static int apply(struct identity *identity, const struct directory_wish *wish, struct ldap_row *row, struct err *err) {
    struct ldap_source wanted;
    int rc = check_password(wish->password, err);
    if (!rc)
        rc = ldap_source_copy(&wish->source, &wanted, err);
    if (rc)
        return rc;
    wanted.created_at_ms = row->source.created_at_ms;
    wanted.version_no = row->source.version_no;
    wanted.updated_at_ms = clock_wall_ms();
    ldap_source_done(&row->source);
    row->source = wanted;
    if (wanted.bind != LDAP_BIND_PASSWORD) {
        free(STEAL(row->sealed));
        row->sealed_bytes = 0;
    }
    row->source.has_password = row->sealed != NULL || wish->password;
    rc = ldap_source_check(&row->source, err);
    if (!rc && wish->password && row->source.bind == LDAP_BIND_PASSWORD)
        rc = seal_password(identity, wish->password, row, err);
    return rc;
}

/* A password goes to whom it was given for: whoever may change addresses must not learn it by naming a server of their own. */
static int check_old_password(const struct ldap_row *row, const struct directory_wish *wish, struct err *err) {
    const struct ldap_source *was = &row->source, *wanted = &wish->source;
    if (!row->sealed || wish->password || wanted->bind != LDAP_BIND_PASSWORD)
        return 0;
    if (str_eq(was->urls, wanted->urls) && str_eq(was->ca_file, wanted->ca_file) && str_eq(was->ca_pem, wanted->ca_pem) &&
        str_eq(was->bind_dn, wanted->bind_dn))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "bind_password must be given again with other servers, another CA or another bind_dn");
    return err_remedy(err, "it is stored for what was there before, and is not sent anywhere else");
}

/* -- adding ---------------------------------------------------------------------------------------------------------------- */

static int check_room(struct identity *identity, struct err *err) {
    size_t count;
    (void)pthread_mutex_lock(&identity->lock);
    count = identity->count;
    (void)pthread_mutex_unlock(&identity->lock);
    return count < DIRECTORIES_MAX ? 0 : err_set(err, ERR_CONFLICT, "there are %d directories already", DIRECTORIES_MAX);
}

int directories_add(struct identity *identity, const struct actor *actor, const struct directory_wish *wish, struct err *err) {
    _cleanup_(ldap_row_free) struct ldap_row *row = calloc(1, sizeof(*row));
    const struct audit_record line = make_line(actor, "directory.create", wish->source.name, wish->source.urls);
    int rc = row ? check_room(identity, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = apply(identity, wish, row, err);
    if (rc)
        return rc;
    row->source.created_at_ms = row->source.updated_at_ms;
    return finish(identity, &line, ldap_store_insert(identity->options.store, row, &line, err));
}

/* -- changing -------------------------------------------------------------------------------------------------------------- */

static int precondition(struct err *err) {
    (void)err_set(err, ERR_PRECONDITION, "the directory has been changed since it was read; nothing was done");
    return err_remedy(err, "read it again and repeat the change");
}

int directories_change(struct identity *identity, const struct actor *actor, const struct directory_wish *wish, struct err *err) {
    _cleanup_(ldap_row_free) struct ldap_row *row = NULL;
    const struct audit_record line = make_line(actor, "directory.change", wish->source.name, wish->source.urls);
    int rc = ldap_store_load(identity->options.store, wish->source.name, &row, err);
    if (!rc && wish->source.version_no != row->source.version_no)
        rc = precondition(err);
    if (!rc)
        rc = check_old_password(row, wish, err);
    if (!rc)
        rc = apply(identity, wish, row, err);
    if (rc)
        return rc;
    return finish(identity, &line, ldap_store_update(identity->options.store, row, &line, err));
}

int directories_remove(struct identity *identity, const struct actor *actor, const char *name, int64_t version_no,
                       struct err *err) {
    const struct audit_record line = make_line(actor, "directory.remove", name, NULL);
    const struct ldap_removal removal = {.name = name, .version_no = version_no, .audit = &line};
    int rc = ldap_store_delete(identity->options.store, &removal, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    return finish(identity, &line, rc);
}
