/* Registering with the one-time token of a solution install: no administrator's password. Layer 4 (vcenter). Blocks.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "registration.h"

struct ovf_install_request {
    struct actor actor;
    const char *environment; /* the XML text; the caller wipes it */
    size_t environment_bytes;
    unsigned tunnel_port; /* for a vCenter that is added; else not used */
};

struct ovf_install_result {
    char vcenter_id[37];
    bool was_added; /* the vCenter was not known before */
};

/* Reads the environment, finds the vCenter (by instance UUID, else by name) or adds it with the thumbprint given there, and posts our record with the token.
 * The login certificate cannot be stored this way: that takes one `register` with an account. ERR_UNPROCESSABLE (environment), ERR_CREDENTIALS (the vCenter
 * does not accept the token, which can be used once), ERR_CONFLICT (registered already; another certificate is trusted for this vCenter; another vCenter
 * answers), ERR_UPSTREAM with the reason given, errors of registration_add and http_client.h. */
int ovf_install(struct platform *platform, const struct ovf_install_request *request, struct ovf_install_result *out,
                struct err *err);
