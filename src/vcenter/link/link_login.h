/* How a link logs in: credentials and the ways to use them. Layer 4 (vcenter); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "err.h"
#include "seal.h"
#include "store.h"
#include "vcenter.h"
#include "vim.h"

/* What we log in with, in memory. Texts malloc'ed; key and password are wiped on release. */
struct login_credential {
    unsigned generation; /* 0: none */
    enum credential_kind kind;
    char *cert_pem, *key_pem; /* CREDENTIAL_CERTIFICATE; generation 0: a certificate that is not stored, for probes */
    char *user, *password;    /* the other kinds */
    int64_t created_at_ms;    /* wall clock */
};
void login_credential_done(struct login_credential *c); /* NULL is allowed */

/* Generations of accounts whose password was refused, the last two, newest first. Such a password is never sent again, since vCenter locks accounts after a
 * few failures. */
struct login_refusals {
    atomic_ullong items[2]; /* generation and, in the last 8 bits, enum err_cause */
};
bool login_is_refused(const struct login_refusals *refusals, unsigned generation);
/* Why the password of this generation was refused; ERR_CAUSE_NONE if it was not. */
enum err_cause login_refusal_cause(const struct login_refusals *refusals, unsigned generation);
void login_note_refused(struct login_refusals *refusals, unsigned generation, enum err_cause cause);

/* What a link can log in with. Guarded by the link. */
struct login_material {
    struct login_credential active, pending;
    struct login_refusals *refusals; /* of the link; NULL: no refusal is looked up or noted */
};
void login_material_done(struct login_material *m);

/* Reads active and pending credential of a vCenter. Both may be absent. Errors of store and seal. */
int login_material_load(struct store *store, struct seal *seal, const char *vcenter_id, struct login_material *out,
                        struct err *err);

/* Retires the credential in this state, if there is one. Errors of store.h. */
int login_credential_retire(struct store *store, const char *vcenter_id, enum credential_state state, struct err *err);

/* Stores a new pending credential with its sealed secret and sets its generation. An earlier pending one is retired first. Errors of store.h and seal.h. */
int login_credential_save_pending(struct store *store, struct seal *seal, const char *vcenter_id, struct login_credential *c,
                                  struct err *err);

#define LOGIN_CERTIFICATE_DAYS 730

/* Makes a new login certificate for a vCenter: self-signed, named after its extension key, valid for `valid_days` (0: LOGIN_CERTIFICATE_DAYS), with a key of
 * `key_bits` (0: X509_KEY_BITS). ERR_NOMEM, ERR_INTERNAL. */
int login_credential_make(const struct vcenter *vc, int valid_days, int key_bits, struct login_credential *out, struct err *err);

/* Copies an account (never CREDENTIAL_CERTIFICATE). ERR_NOMEM. */
int login_credential_take_account(enum credential_kind kind, const char *user, const char *password, struct login_credential *out,
                                  struct err *err);

/* Tells vCenter about a credential: stores the certificate there, or ties the service account to our record; does nothing for other accounts. Our record must
 * be there; `client` needs Extension.Update. Call it last: writing the record may clear the certificate. Errors of vim.h. */
int login_credential_tell(struct vim_client *client, const struct vcenter *vc, const struct login_credential *c, struct err *err);

/* The outcome of one login way. */
struct login_attempt {
    enum vim_strategy strategy;
    bool works;
    struct err err; /* why not */
};
#define LOGIN_STRATEGIES_MAX VIM_STRATEGY_COUNT

/* Connects and logs the client in by an account, which is sent once. ERR_CREDENTIALS; ERR_FORBIDDEN: the password is right, but the account has no
 * permission at all there; ERR_UPSTREAM: that vCenter has no service accounts; errors of vim.h. */
int login_by_account(struct vim_client *client, const struct login_credential *c, struct err *err);

/* The action of the audit log under which a credential of this kind becomes active; static. */
const char *login_change_action(enum credential_kind kind);

/* The login way of an account of this kind. */
enum vim_strategy login_way_of_account(enum credential_kind kind);

/* Probes each login way in order of preference without changing anything at the vCenter: by certificate (any certificate with its key will do), then by
 * `account` (NULL: not), whose password is sent once. Returns the number of attempts filled in. */
size_t login_probe(struct vim_client *client, const struct vcenter *vc, const struct login_credential *certificate,
                   const struct login_credential *account, struct login_attempt out[LOGIN_STRATEGIES_MAX]);

/* Logs the client in by one way. Errors of vim_login_extension and vim_login_password. */
int login_by(struct vim_client *client, const struct vcenter *vc, const struct login_credential *c, enum vim_strategy strategy,
             struct err *err);

/* Logs the client in with the first combination of credential and way that works; `first` (or NULL) is the way to begin with. *used
 * tells which generation and way it was. ERR_CREDENTIALS, ERR_NOT_REGISTERED (there is none), and the errors of vim.h. */
struct login_used {
    enum vim_strategy strategy;
    unsigned generation;
};
int login_with_material(struct vim_client *client, const struct vcenter *vc, struct login_material *material,
                        const enum vim_strategy *first, struct login_used *used, struct err *err);
