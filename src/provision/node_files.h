/* Files that machines are given as they are, made into texts by embed.sh. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

extern const char node_file_start[];     /* node_start.sh */
extern const char node_file_arp_probe[]; /* arp_probe.py */
