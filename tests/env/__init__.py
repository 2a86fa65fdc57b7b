"""The world that kaasd is tested and shown in: a private database, vCenters, the daemon, and clients that share no code with it.
Everything listens on loopback or in a folder of its own and is stopped by process id."""
# SPDX-License-Identifier: GPL-3.0-or-later
