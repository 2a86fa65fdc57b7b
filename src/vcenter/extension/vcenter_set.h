/* Changing what is known of a vCenter: name, address, ports, trust. Layer 4 (vcenter). Blocks.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "principal.h"
#include "x509.h"

struct platform;
struct vcenter;
struct vim_about;

#define VCENTER_PORT_SAME 65536U
/* A change of a vCenter. Only these members of `wish` are read: name and address (NULL: unchanged), the ports (VCENTER_PORT_SAME: unchanged), and the trust
 * (neither has_pin nor ca_pem: unchanged). */
struct vcenter_change {
    struct actor actor;
    const struct vcenter *wish;
    int64_t version_no; /* row version that the change is based on; 0: any */
};

/* Changes the vCenter `id`. A new address, port or trust is tried first: the vCenter there must be trusted and have the same instance UUID, or nothing is
 * stored. The link is replaced at once where that is needed. With ERR_TLS *seen describes the certificate that the server showed; zeroed or filled,
 * x509_info_done in any case. ERR_NOT_FOUND, ERR_PRECONDITION, ERR_EXISTS (name or address of another one), ERR_CONFLICT (another vCenter answers there: both
 * UUIDs named), ERR_UNPROCESSABLE, errors of vim.h and store.h. */
int vcenter_change(struct platform *platform, const char *id, const struct vcenter_change *change, struct x509_info *seen,
                   struct err *err);

/* Asks the vCenter at this address with this trust who it is; no login. *about as vim_connect gives it; *seen as for vcenter_change. ERR_BUSY while this very
 * address is being asked already. */
int vcenter_ask(struct platform *platform, const struct vcenter *where, struct vim_about *about, struct x509_info *seen,
                struct err *err);
