/* Directories as administrators see them: what is configured, how it is. Layer 5 (auth). Asking them about people is ldapdir.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "ldapdir.h"
#include "ldap_source.h"
#include "principal.h"

struct kerberos_status;

/* How a source is, on this replica. */
struct ldapdir_report {
    struct ldap_source source;
    enum ldapdir_state state;
    int64_t since_ms;           /* wall clock */
    struct err why;             /* failing */
    char server[280];           /* that answered last, "" if none did */
    int64_t certificate_end_ms; /* of the server's certificates, the earliest; 0: not known */
};
struct ldapdir_report_list {
    struct ldapdir_report *items; /* by name */
    size_t count;
};
void ldapdir_report_list_done(struct ldapdir_report_list *list); /* NULL is allowed */
/* From memory. *out (uninitialised) is given back by ldapdir_report_list_done. ERR_NOMEM. */
int ldapdir_list(struct ldapdirs *ldapdirs, struct ldapdir_report_list *out, struct err *err);

#define LDAPDIR_MAX 32
/* The names of those that are not disabled, sorted. At most `n` of them; says how many. Does not block. */
size_t ldapdir_get_names(struct ldapdirs *ldapdirs, char (*out)[LDAP_SOURCE_NAME_CHARS_MAX + 1], size_t n);

/* What somebody wants a source to be. */
struct ldapdir_wish {
    struct ldap_source
        source;           /* borrowed texts; has_password and times are not looked at; version_no is that of what is changed */
    const char *password; /* of bind_dn; NULL: as it is */
};
/* Stores a new source. Blocks. ERR_UNPROCESSABLE, ERR_EXISTS; ERR_CONFLICT beyond LDAPDIR_MAX. */
int ldapdir_add(struct ldapdirs *ldapdirs, const struct actor *actor, const struct ldapdir_wish *wish, struct err *err);
/* Replaces what is stored under wish->source.name. Other servers than before get no password that was given for the old ones: it must be given anew. Blocks.
 * ERR_NOT_FOUND, ERR_PRECONDITION, ERR_UNPROCESSABLE. */
int ldapdir_change(struct ldapdirs *ldapdirs, const struct actor *actor, const struct ldapdir_wish *wish, struct err *err);
/* People who signed in by it end with their next refresh. Blocks. ERR_NOT_FOUND, ERR_PRECONDITION. */
int ldapdir_remove(struct ldapdirs *ldapdirs, const struct actor *actor, const char *name, int64_t version_no, struct err *err);

/* -- looking for what is wrong ---------------------------------------------------------------------------------------------- */

struct ldapdir_test {
    char name[LDAP_SOURCE_NAME_CHARS_MAX + 1];
    enum finding_status worst; /* skipped ones do not count */
    int64_t checked_at_ms;     /* wall clock */
    int64_t duration_ms;
    struct findings findings; /* the subject is the server */
};
void ldapdir_test_done(struct ldapdir_test *test); /* NULL is allowed */
/* What to look at. Borrowed. */
struct ldapdir_test_wish {
    const char *name;                     /* of the source */
    const char *user;                     /* who is looked for; NULL: nobody */
    const struct kerberos_status *tokens; /* whose accounts are looked at, if they are of its realms; NULL: none */
};
/* Walks to each server of a stored source; connections are its own. Blocks: in the worker `outside`. ERR_NOT_FOUND, ERR_NOMEM; what is wrong is an answer, not an error. */
int ldapdir_test(struct ldapdirs *ldapdirs, const struct ldapdir_test_wish *wish, struct ldapdir_test *out, struct err *err);

/* Adds how each LDAP directory that is not disabled stands. Does not block. */
void ldapdir_check_health(struct ldapdirs *ldapdirs, struct findings *out);

struct metric_page;
/* Puts the worker pool of each directory on the page. Does not block. */
void ldapdir_write_metrics(struct ldapdirs *ldapdirs, struct metric_page *page);
