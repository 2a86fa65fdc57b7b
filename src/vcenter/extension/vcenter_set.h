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
/* What is to become different. Of the wish count name and address (NULL: they stay), the ports (VCENTER_PORT_SAME: likewise), and the trust
 * (neither has_pin nor ca_pem: likewise). */
struct vcenter_change {
    struct actor actor;
    const struct vcenter *wish;
    int64_t version_no; /* row version it was decided on; 0: whatever it is */
};

/* Changes the vCenter `id`. A new address, port or trust is tried first: the vCenter there must be trusted and have the same instance UUID, or
 * nothing is stored. The link is replaced at once where that is needed. *seen describes the certificate that was met where trust is
 * what failed (ERR_TLS); zeroed or filled, x509_info_done in any case. ERR_NOT_FOUND, ERR_PRECONDITION, ERR_EXISTS (name or
 * address of another one), ERR_CONFLICT (another vCenter answers there: both UUIDs named), ERR_UNPROCESSABLE, errors of vim.h and store.h. */
int vcenter_change(struct platform *platform, const char *id, const struct vcenter_change *change, struct x509_info *seen,
                   struct err *err);

/* Asks the vCenter at this address with this trust who it is; no login. *about as vim_connect gives it; *seen as above. ERR_BUSY while this very
 * address is being asked already. */
int vcenter_ask(struct platform *platform, const struct vcenter *where, struct vim_about *about, struct x509_info *seen,
                struct err *err);
