/* The logon information of a Kerberos ticket's PAC: who somebody is in Active Directory, and in which groups. Layer 2 (gss); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Only reads. libkrb5 has checked the signature of the PAC before. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "principal.h"

/* Texts malloc'ed. */
struct pac_person {
    char *sid;               /* "sid:S-1-5-21-..." */
    char *account;           /* sAMAccountName; NULL: not told */
    char *full_name;         /* NULL: not told, or unfit for showing */
    int64_t password_set_at; /* as Windows counts: units of 100 ns since 1601; 0: never */
    struct group_set groups; /* "sid:S-1-5-21-..." of those that count, sealed */
};

void pac_person_done(struct pac_person *person); /* NULL is allowed */
#define _cleanup_pac_ __attribute__((cleanup(pac_person_done)))

/* Reads KERB_VALIDATION_INFO as it stands in the PAC (MS-PAC section 2.5, packed by MS-RPCE section 2.2.6). Groups that are disabled or for denial
 * only do not count, nor do SIDs that belong to no domain (S-1-5-32-..., S-1-18-..., well-known ones). *out, which need not be initialised, is freed by
 * pac_person_done. ERR_UNPROCESSABLE when malformed, beyond KAAS_GROUPS_MAX, or without a SID of a domain for the person; ERR_NOMEM. */
int pac_read_logon(const uint8_t *bytes, size_t n, struct pac_person *out, struct err *err);
