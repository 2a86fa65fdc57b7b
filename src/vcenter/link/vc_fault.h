/* What is wrong between us and a vCenter, in stable words: the one place that decides it. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "extension_record.h"

/* What is judged of a vCenter, each by itself. */
enum verdict_kind {
    VERDICT_REACHABLE,  /* name, port, TLS, and that it is the one that we mean */
    VERDICT_VALID,      /* our certificate or account is accepted, the session lives, the clocks agree */
    VERDICT_AUTHORISED, /* our session has all privileges that it needs */
    VERDICT_KINDS
};
const char *verdict_kind_name(enum verdict_kind kind); /* "reachable", "valid", "authorised"; static */

enum vc_fault {
    VC_FAULT_NONE = 0,
#define VC_FAULT(symbol, word, verdict, text, remedy) VC_FAULT_##symbol,
#include "vc_faults.def"
#undef VC_FAULT
    VC_FAULT_COUNT
};
const char *vc_fault_name(enum vc_fault fault); /* "port_closed"; NULL for none; static */
/* The general sentence; NULL for none; static. */
const char *vc_fault_text(enum vc_fault fault);
/* Which verdict it spoils; not to be asked of none. */
enum verdict_kind vc_fault_verdict(enum vc_fault fault);
#define VC_REMEDY_BYTES ERR_REMEDY_BYTES
/* What to do, with the vCenter's name as people type it. */
void vc_fault_remedy(enum vc_fault fault, const char *name, char out[VC_REMEDY_BYTES]);

/* The fault that an error of a call to a vCenter tells of; none where it says nothing about the vCenter, as when there is no memory. `record`: how our
 * extension record stands as far as is known, by which a refused certificate is one whose record is gone. */
enum vc_fault vc_fault_of(const struct err *err, enum record_state record);
