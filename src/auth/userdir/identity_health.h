/* How those stand who know people, and what signs in by them: for health. Layer 5 (auth). Each adds findings and does not block.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "finding.h"
#include "snapshot.h"

struct identity;
struct kerberos;
struct peers;

/* Each LDAP directory that is not disabled. */
void directories_check_health(struct identity *identity, struct findings *out);

/* The keytab, by its path. Looks at files. `kerberos` NULL adds nothing. */
void kerberos_check_health(struct kerberos *kerberos, const char *keytab, struct findings *out);

/* Client certificates of service accounts that end soon. */
void services_check_health(const struct inventory_platform *platform, struct findings *out);

/* Each controller of an HX cluster that kaasd signs in to. */
void peers_check_health(struct peers *peers, const struct inventory_platform *platform, struct findings *out);
