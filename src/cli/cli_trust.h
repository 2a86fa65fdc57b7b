/* Trusting a vCenter's certificate: options, showing it, asking. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "err.h"
#include "json.h"

/* Puts the SHA-256 of option `option` ("thumbprint"), or the file of --ca-file, into the body; neither is no error. ERR_INVALID (usage),
 * ERR_IO. */
int cli_trust_put(struct cli *cli, const char *option, json_t *body, struct err *err);

/* Puts a port into the body if the option is given. ERR_INVALID (usage). */
int cli_trust_put_port(struct cli *cli, const char *option, const char *member, json_t *body, struct err *err);

/* Shows a certificate as the server describes it; on standard error, since standard output is for the result. */
void cli_trust_note(const json_t *certificate, const char *title);

/* The person compares the certificate and says yes, or has said so beforehand by --yes. ERR_CERT_UNCONFIRMED. `option` is named as the
 * way to confirm without a terminal. */
int cli_trust_confirm(struct cli *cli, const char *option, const char *sha256, struct err *err);

/* Sends a request that needs trust: where the answer is "unconfirmed" the certificate is shown under `title`, the person is asked, and it is sent
 * again with its SHA-256. *out is the answer, freed by json_decref. */
struct cli_trust_call {
    struct cli_request request; /* with a body, which gets the SHA-256 */
    const char *option;         /* as above */
    const char *title;
    bool asks_on_mismatch; /* also when the certificate is not the one trusted so far (tls_untrusted) */
};
int cli_trust_call(struct cli *cli, const struct cli_trust_call *call, json_t **out, struct err *err);
