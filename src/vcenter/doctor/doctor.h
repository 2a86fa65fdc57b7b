/* Looking for what is wrong between us and a vCenter, step by step. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Unlike vc_status.h, which asks through the link, the doctor goes the whole way anew with a client and a session of its own: it works
 * while the link's worker pool is full or the vCenter hangs, and goes on behind a step that failed wherever it can. It changes nothing at
 * the vCenter; its session is ended before it returns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "vcenter.h"

struct platform;

/* The steps, in the order in which the doctor runs and reports them. */
enum doctor_step {
    DOCTOR_NAME,       /* does the vCenter's name resolve */
    DOCTOR_PORT,       /* is the SDK port open */
    DOCTOR_TLS,        /* is the certificate the trusted one, valid, for this name */
    DOCTOR_API,        /* product, API version, and is it the vCenter that was added */
    DOCTOR_TUNNEL,     /* port 80, CONNECT, whose certificate is inside */
    DOCTOR_DIRECT,     /* the direct port */
    DOCTOR_WAY,        /* one finding for each login way */
    DOCTOR_LOGIN,      /* our own login */
    DOCTOR_CLOCK,      /* do our clocks agree */
    DOCTOR_PRIVILEGES, /* does our session have the privileges that it needs */
    DOCTOR_RECORD,     /* is the extension record ours and current */
    DOCTOR_ADDRESS,    /* does server.public_url show the certificate that our extension record names */
    DOCTOR_MANIFEST,   /* has the vCenter fetched our plug-in manifest */
    DOCTOR_SESSIONS,   /* how many sessions of ours there are */
    DOCTOR_WATCH,      /* is the vCenter watched */
    DOCTOR_REPLICAS,   /* do replicas share a host or a datastore there */
    DOCTOR_STEPS
};
struct doctor_report {
    struct vcenter vc;
    enum finding_status worst; /* of all findings; skipped ones do not count */
    int64_t checked_at_ms;     /* wall clock */
    int64_t duration_ms;
    struct findings findings; /* in the order of the steps */
};
void doctor_report_done(struct doctor_report *report); /* NULL is allowed */

#define DOCTOR_LIMIT_MS 40000

/* Examines one vCenter, registered or only added. Blocks, not much longer than DOCTOR_LIMIT_MS: call it in the worker pool `outside`, never in the vCenter's
 * own. A fault of the vCenter is a finding, not an error. *out is given back by doctor_report_done. ERR_NOT_FOUND, ERR_BUSY (this vCenter is being examined
 * already, or too many are), ERR_NOMEM, errors of store.h. */
int doctor_examine(struct platform *platform, const char *vcenter_id, struct doctor_report *out, struct err *err);
