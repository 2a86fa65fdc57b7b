/* The account of the vCenter that kaasd logs in by where certificates cannot: set, tested, removed while everything goes on. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Order: one login with the new account, which shows what it may -> stored as pending -> tied to our record, if it is a service account -> active, the
 * old credential retired -> the link's own session is exchanged. A kill in between leaves pending beside active (rotation.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "link.h"
#include "principal.h"
#include "vcenter.h"

/* What is stored. */
struct login_account {
    char *user;
    enum credential_kind kind; /* never CREDENTIAL_CERTIFICATE */
    int64_t set_at_ms;         /* wall clock */
};
void login_account_done(struct login_account *account); /* frees the texts; NULL is allowed */

/* Reads the one in force; no password. ERR_NOT_FOUND: kaasd logs in by certificate, or not at all. Errors of store.h and seal.h. */
int login_account_load(struct link *link, struct login_account *out, struct err *err);

/* A privilege that an account lacks. */
struct login_account_lack {
    const char *privilege;  /* static */
    char *object_id, *name; /* of the object: "group-d1", "Datacenters"; "domain-c7", "DC0/HX-East" */
    bool is_needed;         /* without it the account is of no use to us; else a part of the work is lost */
};

/* What a login with an account came to. Zeroed before; login_account_verdict_done gives it back, filled or not. */
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
    const char *user;          /* for a test: NULL, the stored one */
    const char *password;      /* the caller wipes it */
};

/* Logs in once with what is stored or given and looks what it may; stores nothing. What is stored and was refused before is not sent again. 0 with a
 * verdict, whatever it is. ERR_NOT_FOUND: none is stored; ERR_NOT_REGISTERED; errors of store.h and seal.h. */
int login_account_test(struct link *link, const struct login_account_request *request, struct login_account_verdict *out,
                       struct err *err);

/* Logs in by this account from now on, instead of by certificate or another account. The link's own session goes on until the new one stands. *out tells
 * what it lacks, as far as it came to that. ERR_CREDENTIALS (refused), ERR_FORBIDDEN (a needed privilege is missing, named with its object): nothing was
 * changed; ERR_NOT_REGISTERED, ERR_CONFLICT (somebody else is at it), ERR_UNAVAILABLE (the inventory has not been read yet), errors of vim.h and store.h. */
int login_account_set(struct link *link, const struct login_account_request *request, struct login_account_verdict *out,
                      struct err *err);

/* Forgets the account and logs in by a new certificate from now on. *left (freed by the caller, NULL: nothing) tells what stays behind at the vCenter.
 * ERR_NOT_FOUND: there is none; ERR_CONFLICT: no certificate can log in there, nothing was changed; else as above. */
int login_account_remove(struct link *link, const struct actor *actor, char **left, struct err *err);
