"""The suites behind scripts/check: how each is run and how its tests are counted."""
# SPDX-License-Identifier: GPL-3.0-or-later
