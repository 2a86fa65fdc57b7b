/* The faults between us and a vCenter, as stable words: the one place that decides which fault it is. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "record_note.h"

/* The three things that are judged of a vCenter. */
enum verdict_kind {
    VERDICT_REACHABLE,  /* name, port, TLS, and the vCenter's identity */
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
/* The fault's general description; NULL for VC_FAULT_NONE; static. */
const char *vc_fault_text(enum vc_fault fault);
/* The verdict that this fault turns to "no". Not for VC_FAULT_NONE. */
enum verdict_kind vc_fault_verdict(enum vc_fault fault);
#define VC_REMEDY_BYTES ERR_REMEDY_BYTES
/* Writes to `out` what to do about the fault; `name` is the vCenter's name as people type it. */
void vc_fault_remedy(enum vc_fault fault, const char *name, char out[VC_REMEDY_BYTES]);

/* The fault behind an error of a call to a vCenter; VC_FAULT_NONE if the error says nothing about the vCenter (no memory). `record`: last known state of our
 * extension record: if it is missing, a refused login is VC_FAULT_NOT_REGISTERED. */
enum vc_fault vc_fault_of(const struct err *err, enum record_state record);
