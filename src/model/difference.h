/* In what do two records of one object differ? Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For checks of copies against what is stored: everything is compared that is stored, while cluster_same (cluster.h) asks whether somebody
 * has said something new. */
#pragma once

#include "cluster.h"
#include "grant.h"
#include "platform.h"
#include "vcenter.h"

/* The first member that differs, by the name it has in its struct ("name", "labels", "nodes"); static; NULL: none does. */
const char *cluster_difference(const struct cluster *a,
                               const struct cluster *b); /* without reported_at_ms, which runs ahead in memory */
const char *vcenter_difference(const struct vcenter *a, const struct vcenter *b);
const char *vsphere_cluster_difference(const struct vsphere_cluster *a, const struct vsphere_cluster *b);
const char *hx_cluster_difference(const struct hx_cluster *a,
                                  const struct hx_cluster *b); /* without seen_at_ms, which is no news */
const char *grant_difference(const struct grant *a, const struct grant *b);
