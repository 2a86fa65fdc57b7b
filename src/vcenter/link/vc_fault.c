/* What is wrong between us and a vCenter, in stable words. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later */
#include "vc_fault.h"

#include <stdio.h>

#include "strbuf.h"

static const struct {
    const char *word, *text, *remedy;
    enum verdict_kind verdict;
} faults[VC_FAULT_COUNT] = {
#define VC_FAULT(symbol, word, verdict, text, remedy) [VC_FAULT_##symbol] = {word, text, remedy, VERDICT_##verdict},
#include "vc_faults.def"
#undef VC_FAULT
};

const char *verdict_kind_name(enum verdict_kind kind) {
    static const char *const names[VERDICT_KINDS] = {
        [VERDICT_REACHABLE] = "reachable", [VERDICT_VALID] = "valid", [VERDICT_AUTHORISED] = "authorised"};
    return names[kind];
}

const char *vc_fault_name(enum vc_fault fault) {
    return faults[fault].word;
}

const char *vc_fault_text(enum vc_fault fault) {
    return faults[fault].text;
}

enum verdict_kind vc_fault_verdict(enum vc_fault fault) {
    return faults[fault].verdict;
}

void vc_fault_remedy(enum vc_fault fault, const char *name, char out[VC_REMEDY_BYTES]) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, VC_REMEDY_BYTES - 1);
    for (const char *at = faults[fault].remedy; at && *at; at++) {
        if (at[0] == '%' && at[1] == 's') {
            strbuf_adds(&text, name);
            at++;
        } else {
            strbuf_addc(&text, *at);
        }
    }
    (void)snprintf(out, VC_REMEDY_BYTES, "%s", text.len ? text.data : "");
}

/* By the cause, where the error names one. */
static enum vc_fault vc_fault_by_cause(enum err_cause cause) {
    static const enum vc_fault by_cause[] = {
        [ERR_CAUSE_NAME] = VC_FAULT_NAME_UNRESOLVED,
        [ERR_CAUSE_NETWORK] = VC_FAULT_NETWORK_FORBIDDEN,
        [ERR_CAUSE_PORT] = VC_FAULT_PORT_CLOSED,
        [ERR_CAUSE_NO_ANSWER] = VC_FAULT_NO_ANSWER,
        [ERR_CAUSE_STARTING] = VC_FAULT_SERVICE_DOWN,
        [ERR_CAUSE_PIN] = VC_FAULT_CERTIFICATE_CHANGED,
        [ERR_CAUSE_CA] = VC_FAULT_CA_UNKNOWN,
        [ERR_CAUSE_CERTIFICATE_ENDED] = VC_FAULT_CERTIFICATE_EXPIRED,
        [ERR_CAUSE_CERTIFICATE_EARLY] = VC_FAULT_CERTIFICATE_EARLY,
        [ERR_CAUSE_CERTIFICATE_NAME] = VC_FAULT_CERTIFICATE_NAME,
        [ERR_CAUSE_OTHER_PEER] = VC_FAULT_OTHER_VCENTER,
        [ERR_CAUSE_LOGIN] = VC_FAULT_LOGIN_REFUSED,
        [ERR_CAUSE_PASSWORD_ENDED] = VC_FAULT_PASSWORD_EXPIRED,
        [ERR_CAUSE_LOCKED] = VC_FAULT_ACCOUNT_LOCKED,
        [ERR_CAUSE_CLIENT_CERTIFICATE] = VC_FAULT_NO_LOGIN_WAY,
        [ERR_CAUSE_PRIVILEGE] = VC_FAULT_PRIVILEGE_MISSING,
    };
    return by_cause[cause];
}

static enum vc_fault vc_fault_by_code(int code) {
    switch (code) {
    case ERR_TIMEOUT: return VC_FAULT_NO_ANSWER;
    case ERR_UNREACHABLE: return VC_FAULT_CONNECTION_BROKEN;
    case ERR_PROTOCOL: return VC_FAULT_NO_VCENTER;
    case ERR_TLS: return VC_FAULT_CA_UNKNOWN;
    case ERR_CONFLICT: return VC_FAULT_OTHER_VCENTER;
    case ERR_CONFIG: return VC_FAULT_NO_LOGIN_WAY;
    case ERR_NOT_REGISTERED: return VC_FAULT_NOT_REGISTERED;
    case ERR_CREDENTIALS: return VC_FAULT_LOGIN_REFUSED;
    case ERR_UPSTREAM_DENIED: return VC_FAULT_PRIVILEGE_MISSING;
    default: return VC_FAULT_NONE;
    }
}

enum vc_fault vc_fault_of(const struct err *err, enum record_state record) {
    enum vc_fault fault = err->cause ? vc_fault_by_cause(err->cause) : vc_fault_by_code(err->code);
    return fault == VC_FAULT_LOGIN_REFUSED && record == RECORD_MISSING ? VC_FAULT_NOT_REGISTERED : fault;
}
