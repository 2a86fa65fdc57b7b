/* The OVF environment that a vCenter gives to an appliance it deploys, ours among them. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define OVF_ENV_BYTES_MAX 262144U

/* What a solution install left in it. Texts malloc'ed; the token is a secret and wiped on release. */
struct ovf_env {
    char *token;            /* good once */
    char *endpoint;         /* https address to post the extension to */
    char *host;             /* of the endpoint */
    unsigned port;          /* of the endpoint */
    uint8_t thumbprint[32]; /* SHA-256 of the endpoint's certificate */
    char *guid;             /* instance UUID of the first vCenter; NULL before 8.0 Update 2 */
    char *hostname;         /* its name; NULL likewise */
};
void ovf_env_done(struct ovf_env *env); /* NULL is allowed */

/* Reads the document (DMTF DSP0243, section 9.1: Environment) of at most OVF_ENV_BYTES_MAX bytes. Members that are missing or malformed are named:
 * ERR_UNPROCESSABLE; ERR_TOO_LARGE, ERR_NOMEM. No value is part of a message. */
int ovf_env_parse(const char *text, size_t n, struct ovf_env *out, struct err *err);

/* What was typed where our appliance was deployed (the properties of its OVF descriptor). Texts malloc'ed; the password is a secret and wiped on
 * release. The values themselves are not checked here. */
struct ovf_appliance {
    char *public_url;
    char *admin_password; /* of the first administrator; NULL: none was typed */
};
void ovf_appliance_done(struct ovf_appliance *appliance); /* NULL is allowed */

/* As ovf_env_parse. */
int ovf_appliance_parse(const char *text, size_t n, struct ovf_appliance *out, struct err *err);
