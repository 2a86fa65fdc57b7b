"""Machines that boot, for the strict vCenter. README.md tells how to use them."""
# SPDX-License-Identifier: GPL-3.0-or-later
