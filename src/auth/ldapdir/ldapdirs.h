/* Directories as administrators see them: their configuration and state. Layer 5 (auth). Asking them about people is ldapdir.h.
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

/* How a source is, on this replica. */
struct ldapdir_report {
    struct ldap_source source;
    enum ldapdir_state state;
    int64_t since_ms;           /* wall clock */
    struct err why;             /* failing */
    char server[280];           /* the server that answered last; "": none did */
    int64_t certificate_end_ms; /* of the server's certificates, the earliest; 0: not known */
};
struct ldapdir_report_list {
    struct ldapdir_report *items; /* by name */
    size_t count;
};
void ldapdir_report_list_done(struct ldapdir_report_list *list); /* NULL is allowed */
/* Copies the state of all sources, from memory. *out (uninitialised) is given back by ldapdir_report_list_done. ERR_NOMEM. */
int ldapdir_list(struct ldapdirs *ldapdirs, struct ldapdir_report_list *out, struct err *err);

#define LDAPDIR_MAX 32
/* Copies the sorted names of at most `n` sources that are not disabled; returns how many. Does not block. */
size_t ldapdir_get_names(struct ldapdirs *ldapdirs, char (*out)[LDAP_SOURCE_NAME_CHARS_MAX + 1], size_t n);

/* A source as somebody wants to configure it. */
struct ldapdir_wish {
    struct ldap_source
        source;           /* borrowed texts; has_password and times are not looked at; version_no is that of what is changed */
    const char *password; /* of bind_dn; NULL: unchanged */
};
/* Stores a new source. Blocks. ERR_UNPROCESSABLE, ERR_EXISTS; ERR_CONFLICT beyond LDAPDIR_MAX. */
int ldapdir_add(struct ldapdirs *ldapdirs, const struct actor *actor, const struct ldapdir_wish *wish, struct err *err);
/* Replaces the source wish->source.name. A stored password is not sent to other servers than those it was given for: if the servers change, it must be given
 * again. Blocks. ERR_NOT_FOUND, ERR_PRECONDITION, ERR_UNPROCESSABLE. */
int ldapdir_change(struct ldapdirs *ldapdirs, const struct actor *actor, const struct ldapdir_wish *wish, struct err *err);
/* Removes a source. Sessions of people who signed in by it end with their next refresh. Blocks. ERR_NOT_FOUND, ERR_PRECONDITION. */
int ldapdir_remove(struct ldapdirs *ldapdirs, const struct actor *actor, const char *name, int64_t version_no, struct err *err);

/* -- testing a directory ---------------------------------------------------------------------------------------------------- */

struct ldapdir_test {
    char name[LDAP_SOURCE_NAME_CHARS_MAX + 1];
    enum finding_status worst; /* skipped ones do not count */
    int64_t checked_at_ms;     /* wall clock */
    int64_t duration_ms;
    struct findings findings; /* `subject` of each is the server */
};
void ldapdir_test_done(struct ldapdir_test *test); /* NULL is allowed */
/* What to test. Borrowed. */
struct ldapdir_test_wish {
    const char *name; /* of the source */
    const char *user; /* who is looked for; NULL: nobody */
    /* Of the keys of our keytab, one for each key: their accounts are looked up, if they are of the source's realms. */
    const char *const *principals;
    size_t principals_count;
    bool requires_pac; /* tickets without a PAC are refused */
};
/* Tests each server of a stored source with connections of its own. Blocks: in the worker pool `outside`. A fault of the directory is a finding, not an
 * error. ERR_NOT_FOUND, ERR_NOMEM. */
int ldapdir_test(struct ldapdirs *ldapdirs, const struct ldapdir_test_wish *wish, struct ldapdir_test *out, struct err *err);

/* Adds a finding on each LDAP directory that is not disabled. Does not block. */
void ldapdir_check_health(struct ldapdirs *ldapdirs, struct findings *out);

struct metric_page;
/* Puts the worker pool of each directory on the page. Does not block. */
void ldapdir_write_metrics(struct ldapdirs *ldapdirs, struct metric_page *page);
