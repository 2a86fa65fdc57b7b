/* A vCenter whose certificate is not the trusted one: saying exactly what is wrong. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nothing is sent to such a vCenter. Trusting the new one is vcenter_set.h. */
#pragma once

#include "err.h"
#include "link.h"

/* After ERR_TLS: looks at the certificate that is shown now (a handshake, nothing else) and rewrites *err so that it names both, with validity,
 * names and what to do. Leaves *err alone if the server cannot be asked. Blocks. */
void trust_explain(struct link *link, struct err *err);
