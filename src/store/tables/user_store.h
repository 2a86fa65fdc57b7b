/* Local users and service accounts. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "member.h"
#include "principal.h"
#include "service_account.h"
#include "store.h"

struct user {
    char *id;        /* our uuid; the principal is "local:<id>" */
    char *name;      /* unique without regard to the case of ASCII letters */
    char *full_name; /* may be NULL */
    enum role role;
    char *password_hash; /* yescrypt text; NULL: no password, cannot sign in */
    bool is_disabled;
    bool must_change_password;
    int64_t created_at_ms, updated_at_ms;
    int64_t version_no;
};
static const struct member user_members[] = {
    MEMBER(user, id, .flags = MEMBER_KEY),
    MEMBER_PART_OF("principal_id"),
    MEMBER(user, name, .writers = BY_ADMIN),
    MEMBER(user, full_name, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(user, role, .words = role_words, .first = ROLE_USER, .writers = BY_ADMIN, .flags = MEMBER_STRICT),
    MEMBER_AS(user, is_disabled, "is_disabled", "disabled", .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(user, must_change_password, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(user, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(user, updated_at_ms, "updated_at_ms", "updated_at"),
    MEMBER_AS(user, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void user_free(struct user *u); /* the hash is wiped; NULL is allowed */
CLEANUP_DEFINE(struct user, user_free);

struct user_list {
    struct user *items; /* by name; without password_hash */
    size_t count;
};
void user_list_done(struct user_list *list); /* NULL is allowed */

/* The user that a name means: the one with this name but for the case of ASCII letters, else the only one with it in any case (name_same). Borrowed; NULL:
 * none, or several. */
struct user *user_list_find(const struct user_list *users, const char *name);

/* Reads all, without hashes. *out (uninitialised) is given back by user_list_done. */
int user_store_list(struct store *store, struct user_list *out, struct err *err);

/* Reads one by id or by name (as user_list_find), with hash; freed by user_free. ERR_NOT_FOUND. */
int user_store_load(struct store *store, const char *id, struct user **out, struct err *err);
int user_store_load_by_name(struct store *store, const char *name, struct user **out, struct err *err);

/* Writes a new user, and its line in the audit log (may be NULL) with it; version_no starts at 1. ERR_EXISTS if the name is taken. Notes
 * CHANGE_USER. */
int user_store_insert(struct store *store, const struct user *u, const struct audit_record *audit, struct err *err);

/* What goes along with a change. */
struct user_change {
    const struct audit_record *audit; /* may be NULL */
    bool ends_sessions;               /* all live ones of the user, at u->updated_at_ms */
    const char *kept_sid;             /* but for this one; may be NULL */
};

/* Writes all but the creation time if the row still has u->version_no; *version_no is the new one. A NULL password_hash leaves the stored
 * one. ERR_PRECONDITION if it changed, ERR_NOT_FOUND, ERR_EXISTS; ERR_CONFLICT if no enabled administrator with a password would be left,
 * also when two such changes come at once. Notes CHANGE_USER, and CHANGE_SESSION for ended sessions. */
int user_store_update(struct store *store, const struct user *u, const struct user_change *change, int64_t *version_no,
                      struct err *err);

struct user_removal {
    const char *id;
    int64_t version_no; /* 0: whatever it is now */
    int64_t now_ms;
    const struct audit_record *audit; /* may be NULL */
};
/* Removes a user and the grants of "local:<id>", and revokes the user's sessions at now_ms. ERR_NOT_FOUND; ERR_PRECONDITION and ERR_CONFLICT as
 * above. Notes CHANGE_USER, CHANGE_GRANT and CHANGE_SESSION. */
int user_store_delete(struct store *store, const struct user_removal *removal, struct err *err);

/* -- service accounts ---------------------------------------------------------------------- */

struct service_list {
    struct service_account *items; /* by id */
    size_t count;
};
void service_list_done(struct service_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by service_list_done. */
int service_store_list(struct store *store, struct service_list *out, struct err *err);

/* Reads one; freed by service_account_free. ERR_NOT_FOUND. */
int service_store_load(struct store *store, const char *id, struct service_account **out, struct err *err);

/* Writes a new account, and its line in the audit log (may be NULL) with it; version_no starts at 1. ERR_EXISTS if name or credential belong to another
 * account; ERR_CONFLICT beyond SERVICE_ACCOUNTS_COUNT_MAX. Notes CHANGE_SERVICE_ACCOUNT. */
int service_store_insert(struct store *store, const struct service_account *a, const struct audit_record *audit, struct err *err);

/* What goes along with a change. */
struct service_change {
    const struct audit_record *audit; /* may be NULL */
    bool ends_own;                    /* sessions of the program for itself, at a->updated_at_ms */
    bool ends_delegated;              /* sessions in which it acts for somebody */
};
/* Writes all but the creation time if the row still has a->version_no; *version_no is the new one. ERR_PRECONDITION if it changed,
 * ERR_NOT_FOUND, ERR_EXISTS. Notes CHANGE_SERVICE_ACCOUNT, and CHANGE_SESSION for ended sessions. */
int service_store_update(struct store *store, const struct service_account *a, const struct service_change *change,
                         int64_t *version_no, struct err *err);

/* Notes when a pinned certificate ends, if that is not known yet; an unknown fingerprint is no error. */
int service_store_note_certificate(struct store *store, const char *id, const struct service_certificate *certificate,
                                   struct err *err);

struct service_removal {
    const char *id;
    int64_t version_no; /* 0: whatever it is now */
    int64_t now_ms;
    const struct audit_record *audit; /* may be NULL */
};
/* Removes an account and ends all its sessions. ERR_NOT_FOUND, ERR_PRECONDITION. Notes as above. */
int service_store_delete(struct store *store, const struct service_removal *removal, struct err *err);
