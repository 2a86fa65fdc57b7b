"""A test domain: Active Directory by Samba, an MIT KDC, an OpenLDAP server, and clients of them. README.md tells how to use it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from .domain import AdUser, AdWorld, Kerberos
from .mit import MitWorld
from .openldap import LdapWorld

__all__ = ["AdUser", "AdWorld", "Kerberos", "LdapWorld", "MitWorld"]
