/* The state of a vCenter, asked now. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "extension_record.h"
#include "link.h"
#include "link_login.h"
#include "vim.h"
#include "watch_run.h"
#include "x509.h"

#define VC_PRIVILEGES_MAX 8

struct vc_status {
    struct vcenter vc;
    struct link_report report; /* report.record: what the last comparison found and did */
    struct vim_about about;    /* texts NULL if the vCenter could not be asked */
    enum record_state record;
    char *record_version;                               /* NULL without record */
    const char *differences[EXTENSION_DIFFERENCES_MAX]; /* static texts */
    size_t differences_count;
    struct login_attempt attempts[LOGIN_STRATEGIES_MAX];
    size_t attempts_count;
    bool has_certificate;
    struct x509_info certificate;           /* the active login certificate */
    enum credential_kind login_kind;        /* of the active login credential */
    char *login_account;                    /* user of that credential if it is an account; else NULL */
    struct x509_info seen;                  /* the certificate vCenter shows now; `pem` NULL: it could not be asked */
    bool is_trusted;                        /* `seen` is the certificate that we trust */
    const char *missing[VC_PRIVILEGES_MAX]; /* static texts: privileges our own session lacks on the root folder */
    size_t missing_count;
    const char
        *limits[VC_PRIVILEGES_MAX]; /* static texts: what kaasd cannot do by itself, and which privilege it lacks for that */
    size_t limits_count;
    struct verdicts verdicts;  /* privileges are asked now */
    struct watch_report watch; /* this replica's watch of the vCenter */
    int64_t checked_at_ms;
};

/* Asks the vCenter and fills *out; vc_status_done frees it. Returns 0 also if the vCenter cannot be reached: report.status.state says so. Blocks: in the link's
 * worker pool. ERR_NOMEM, errors of store.h. */
int vc_status_lookup(struct link *link, struct vc_status *out, struct err *err);
void vc_status_done(struct vc_status *status); /* NULL is allowed */
