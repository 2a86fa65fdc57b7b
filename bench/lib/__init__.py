"""What the measurements share: figures, CPU time, load, the peers we are compared with."""
# SPDX-License-Identifier: GPL-3.0-or-later
