/* Joining and leaving a vCenter. Layer 4 (vcenter). All block.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "extension_record.h"
#include "link.h"
#include "link_login.h"
#include "principal.h"
#include "x509.h"

struct platform;

/* Adds a vCenter as `wish` says: address, ports, name (NULL: the address), trust (has_pin, ca_pem or neither). With trust the vCenter is asked for product,
 * version and instance UUID (no login) and stored; `id` gets the UUID (37 bytes). Without trust only a TLS handshake is made: ERR_CERT_UNCONFIRMED, and *seen
 * describes the certificate; with ERR_TLS too, where the server shows another certificate. *seen is zeroed or filled: call x509_info_done in any case.
 * ERR_EXISTS, errors of vim.h. */
int registration_add(struct platform *platform, const struct actor *actor, const struct vcenter *wish, char id[37],
                     struct x509_info *seen, struct err *err);

/* Removes a vCenter from the database. ERR_CONFLICT while it is registered, is being registered, or Kubernetes clusters are placed on it;
 * ERR_PRECONDITION. */
int registration_remove(struct platform *platform, const char *id, const struct actor *actor, struct err *err);

/* An account of the vCenter. The caller wipes the password. */
struct vcenter_account {
    const char *user, *password;
};

#define REGISTRATION_ROLE_ON_MAX 100 /* objects that a role is granted on */

struct register_request {
    struct actor actor;
    struct vcenter_account account; /* signs in once; not stored */
    bool take_over;                 /* overwrite the record of another installation */
    bool dry_run;                   /* only report what would be done; change nothing at the vCenter or in the database */
    const char *role_name;          /* make or update this role; NULL: no role */
    const char *role_on
        [REGISTRATION_ROLE_ON_MAX]; /* inventory paths: the privileges needed on objects are granted on these; needs role_name and login */
    size_t role_on_count;           /* 0: on the vSphere clusters with HX clusters or Kubernetes clusters */
    bool role_everywhere;           /* grant the whole role on the root folder, propagating; no role_on then */
    bool
        role_provisions; /* with what building clusters needs, too (provision_role.def); needs role_on or role_everywhere where there is a login */
    bool creates_alarms;          /* make the alarm of state_alarm.h, unless it is there */
    struct vcenter_account login; /* stored, to log in where certificates cannot; it gets the role. user NULL: none */
    enum credential_kind login_kind;
};

struct unregister_request {
    struct actor actor;
    struct vcenter_account account; /* user NULL: our own login, if it may */
    bool dry_run;
    bool leaves_providers; /* also while providers build there */
};

struct report_texts {
    char **items;
    size_t count;
};

/* What was found, and done or would be done. All zero before; registration_report_done gives it back, filled or not. */
struct registration_report {
    char *account;            /* who signed in at the vCenter, as vCenter stores the name */
    char *key;                /* of the extension */
    enum record_state record; /* as found before anything was done */
    char *owner;              /* the other installation that the record belonged to; NULL: no record, or ours */
    struct record_lines lines;
    struct login_attempt attempts[LOGIN_STRATEGIES_MAX];
    size_t attempts_count;
    struct report_texts steps; /* in order, as sentences without end */
    struct report_texts left;  /* unregister: what stays behind, or could not be looked at */
};
void registration_report_done(struct registration_report *report); /* NULL is allowed */

/* Registers us: signs in as the account, checks privileges and login ways, writes the record, stores the login certificate last, logs in with it, reads the
 * inventory. Safe to repeat: whatever step failed, a key that vCenter knows is in the database, and the next run goes on with it. The vCenter is changed only
 * once a way to log in works, except that a requested role is made before an account is tried. ERR_CREDENTIALS, ERR_UNPROCESSABLE (no such object, none in
 * use, or too many), ERR_UNAVAILABLE (the inventory has not been read yet), ERR_FORBIDDEN (privileges missing, named with their object), ERR_CONFLICT (record
 * of another installation without `take_over`; our role has another name; unfinished registrations left too many accounts or objects for the role; somebody
 * else is changing the registration), ERR_EXISTS (a role or an alarm of this name that is not ours), ERR_UPSTREAM (no login way works), errors of vim.h and
 * store.h. */
int registration_register(struct link *link, const struct register_request *request, struct registration_report *report,
                          struct err *err);

/* Removes our record, the role and the alarm we made, and the login certificate, nothing else. With our own login the alarm stays, and the report says so.
 * ERR_NOT_REGISTERED if there is no registration, ERR_FORBIDDEN if the account, or our own login, may not do it, ERR_CONFLICT if another installation wrote
 * the record, or a provider builds there; else as registration_register. */
int registration_unregister(struct link *link, const struct unregister_request *request, struct registration_report *report,
                            struct err *err);
