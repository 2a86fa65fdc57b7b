"""A strict stand-in for HX Connect, the management interface of one HyperFlex cluster: what is documented of its REST interface and of the
limits of its sign-on. README.md tells which behaviour has a source and which is assumed. Shares no code with kaasd or its clients."""
# SPDX-License-Identifier: GPL-3.0-or-later
from .connect import Call, HxConnect
from .host_page import HostPage

__all__ = ["Call", "HostPage", "HxConnect"]
