"""Plays a recording of `kaasctl pilot --record` as the servers it was made of: a vCenter with its tunnel, and an HX Connect if one was
asked. Answers come in the order in which they were recorded, for each operation; what was not recorded is refused and noted in
`refused`. README.md tells more."""
# SPDX-License-Identifier: GPL-3.0-or-later
from .server import Replay

__all__ = ["Replay"]
