"""The demo: a world with sample clusters, and the walk through the main job by clients that share no code with kaasd."""
# SPDX-License-Identifier: GPL-3.0-or-later
