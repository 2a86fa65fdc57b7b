/* The account by which kaasd logs in to a vCenter where it cannot log in by certificate: sets, tests and removes it without interrupting other work. Layer 4
 * (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Order: one login with the new account, which shows what it may -> stored as pending -> tied to our record, if it is a service account -> active, the old
 * credential retired -> the link's own session is exchanged. A kill in between leaves pending beside active (rotation.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "link.h"
#include "principal.h"
#include "vcenter.h"

/* The stored account, without its password. */
struct login_account {
    char *user;
    enum credential_kind kind; /* never CREDENTIAL_CERTIFICATE */
    int64_t set_at_ms;         /* wall clock */
};
void login_account_done(struct login_account *account); /* frees the texts; NULL is allowed */

/* Reads the account in force. login_account_done frees *out. ERR_NOT_FOUND: kaasd logs in by certificate, or not at all. Errors of store.h and seal.h. */
int login_account_load(struct link *link, struct login_account *out, struct err *err);

/* A privilege that an account lacks. */
struct login_account_lack {
    const char *privilege;  /* static */
    char *object_id, *name; /* of the object: "group-d1", "Datacenters"; "domain-c7", "DC0/HX-East" */
    bool is_needed;         /* kaasd cannot use the account without it; else a part of the work is lost */
};

/* The result of a login with an account. Zero it before; login_account_verdict_done frees it, filled or not. */
struct login_account_verdict {
    char *user;
    enum credential_kind kind;
    bool works;     /* it logs in and may do what is needed */
    struct err err; /* why not */
    struct login_account_lack *lacks;
    size_t lacks_count;
};
void login_account_verdict_done(struct login_account_verdict *verdict); /* NULL is allowed */

struct login_account_request {
    struct actor actor;
    enum credential_kind kind; /* never CREDENTIAL_CERTIFICATE */
    const char *user;          /* NULL in a test: the stored account */
    const char *password;      /* the caller wipes it */
};

/* Logs in once with the stored or the given account and looks which privileges it has; stores nothing. A stored password that was refused before is not sent
 * again. Returns 0 with any verdict. ERR_NOT_FOUND: no account is stored; ERR_NOT_REGISTERED; errors of store.h and seal.h. */
int login_account_test(struct link *link, const struct login_account_request *request, struct login_account_verdict *out,
                       struct err *err);

/* Makes kaasd log in by this account from now on, instead of by certificate or another account. The link keeps its session until the new one is made. *out
 * lists what the account lacks, as far as that was looked at. ERR_CREDENTIALS (refused), ERR_FORBIDDEN (a needed privilege is missing, named with its
 * object): nothing was changed; ERR_NOT_REGISTERED, ERR_CONFLICT (somebody else is changing the registration), ERR_UNAVAILABLE (the inventory has not been
 * read yet), errors of vim.h and store.h. */
int login_account_set(struct link *link, const struct login_account_request *request, struct login_account_verdict *out,
                      struct err *err);

/* Forgets the account and makes kaasd log in by a new certificate. *left (freed by the caller) names what stays behind at the vCenter; NULL: no memory for
 * it. ERR_NOT_FOUND: there is no account; ERR_CONFLICT: no certificate can log in there, nothing was changed; else as login_account_set. */
int login_account_remove(struct link *link, const struct actor *actor, char **left, struct err *err);
