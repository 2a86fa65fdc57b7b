/* Who is asking, and of which groups somebody is a member. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"
#include "err.h"

/* In rising order of what they may do. */
enum role { ROLE_NONE = 0, ROLE_USER, ROLE_SERVICE, ROLE_PROVISIONER, ROLE_ADMIN };

extern const char *const role_words[];
/* "none", "user", "service", "provisioner", "admin"; static, never NULL. */
const char *role_name(enum role role);
/* False if the word is unknown. */
bool role_parse(const char *word, enum role *out);

/* How the person or program proved who it is. */
enum source {
    SOURCE_NONE = 0,
    SOURCE_LOCAL,       /* local user with password */
    SOURCE_SOCKET,      /* the operating system's word on the admin socket */
    SOURCE_VC_SESSION,  /* vCenter session id, cookie form */
    SOURCE_VC_TICKET,   /* clone ticket */
    SOURCE_VC_PASSWORD, /* name and password checked by vCenter */
    SOURCE_KERBEROS,    /* Kerberos ticket */
    SOURCE_LDAP,        /* name and password checked by a directory */
    SOURCE_SERVICE,     /* a program: service account */
    SOURCE_VC_KEY,      /* vCenter session, named by its key: no proof of possession, so never more than role user */
    SOURCE_VC_SERVICE,  /* user of a vCenter, for whom a service account acts */
};
/* "local", "socket", "vcenter-session", "vcenter-ticket", "vcenter-password", "kerberos", "ldap", "service", "vcenter-key", "vcenter-service"; static, never NULL. */
const char *source_name(enum source source);
bool source_parse(const char *word, enum source *out);
/* True for those that come from a vCenter. */
bool source_is_vcenter(enum source source);

/* One identity. `id` is stable (docs/ARCHITECTURE.md, "Identity of things"): "local:<uuid>", "vc:<instance uuid>:<user name
 * case-folded>", "sid:S-1-5-...", "ldap:<source>:<uuid>", "svc:<id>". Names are attributes. All texts malloc'ed. */
struct principal {
    char *id;
    char *name;      /* as shown: "VSPHERE.LOCAL\\viewer-east" */
    char *full_name; /* may be NULL */
    enum role role;
    enum source source;
    char *vcenter_id;     /* instance UUID for vCenter sources, else NULL */
    char *vc_user;        /* user name in vCenter's stored form, else NULL */
    char *vc_session_key; /* UserSession.key for re-checks by session, else NULL; an identifier, not a secret */
    char *directory;      /* name of the LDAP source that can be asked again about the person; NULL: none */
    char *acting_id;      /* "svc:<id>" of the program that acts for this person; NULL: nobody does */
    char *service_id;     /* id of the service account whose limits apply; NULL: none */
};

/* Frees the texts and zeroes the struct. NULL is allowed. */
void principal_done(struct principal *p);
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int principal_copy(const struct principal *from, struct principal *out, struct err *err);

/* A key by which sessions, sign-ons and places are counted. One person has separate counts for coming in person, for each program that acts for the
 * person, and for SOURCE_VC_KEY, which proves nothing: none can use up the limit of another. Caller frees; NULL without memory. */
char *principal_account(const struct principal *who);

/* "vc:<instance uuid>:<user name>" with ASCII letters in lower case and all others as they are: accounts that a vCenter tells apart by the case of other
 * letters keep two ids. principal_same says whether a rule for one applies to the other. Caller frees; NULL without memory. */
char *principal_vc_id(const char *instance_uuid, const char *user_name);

/* Brings the id of a principal, as somebody wrote it, into the one spelling that is stored: "local:<uuid>", "vc:<instance uuid>:<user name>",
 * "sid:S-1-...", "ldap:<source>:<uuid>", "svc:<name>"; ASCII letters are folded where case does not count. The principal need not exist.
 * *out is freed by the caller. ERR_UNPROCESSABLE, ERR_NOMEM. */
int principal_id_read(const char *text, char **out, struct err *err);

/* Writes "vc:<instance uuid>:", with which the ids of all people of that vCenter begin. Only for an id whose name can have several spellings: false if it is
 * not of a person of a vCenter, or its name is all ASCII. */
#define PRINCIPAL_VC_PREFIX_BYTES 41
bool principal_vc_prefix(const char *id, char out[PRINCIPAL_VC_PREFIX_BYTES]);

/* Order of ids in lists of grants: people of a vCenter by their names without case (name_compare), so that the spellings of one name stand side by side.
 * <0, 0, >0. */
int principal_compare(const char *a, const char *b);
/* True if both ids mean one principal: people of a vCenter are compared by their names without case, all others byte by byte. */
bool principal_same(const char *a, const char *b);

/* Who does something, and by which request: for the audit log and for throttling. All borrowed. */
struct actor {
    const struct principal *principal; /* NULL: nobody is signed in */
    const char *address;               /* of the client */
    const char *request_id;
    const char *sid; /* of the session; NULL: none */
};

#define _cleanup_principal_ __attribute__((cleanup(principal_done)))

/* -- sets of groups that a person is a member of, by their ids ----------------------------------------------------- */

/* Ids such as "sid:S-1-5-21-..." and "ldap:<source>:<uuid>". Sealed: in the order of strcmp, each once. All-zero is the empty set. */
struct group_set {
    char **ids; /* malloc'ed, each one too */
    size_t count;
};
void group_set_done(struct group_set *set); /* NULL is allowed; zeroes the struct */

/* Appends a copy of the id; the set is not sealed until group_set_seal. ERR_TOO_LARGE beyond KAAS_GROUPS_MAX, ERR_NOMEM. */
int group_set_add(struct group_set *set, const char *id, struct err *err);
/* Sorts and removes what is there twice. */
void group_set_seal(struct group_set *set);

/* The set must be sealed. */
bool group_set_has(const struct group_set *set, const char *id);
bool group_set_eq(const struct group_set *a, const struct group_set *b);
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int group_set_copy(const struct group_set *from, struct group_set *out, struct err *err);

/* One text for a sealed set, for the database: a line for each id, "<bytes shared with the id before> <rest>"; the ids of one domain begin
 * alike. NULL for the empty set. Caller frees. ERR_NOMEM. */
int group_set_pack(const struct group_set *set, char **out, struct err *err);
/* The set again, sealed, into an uninitialised struct; NULL is the empty set. ERR_UNPROCESSABLE if the text is not of that form, ERR_NOMEM. */
int group_set_unpack(const char *text, struct group_set *out, struct err *err);
