"""Who lives in the test domain: users, groups, service accounts. Plain data, read by the maker of the domain (Debian's Python) and by the
tests (the project's)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import dataclass, field

REALM = "AD.TEST"
NETBIOS = "ADTEST"
BASE_DN = "DC=ad,DC=test"
DC_NAME = "dc1.ad.test"

AES_ONLY = 24  # msDS-SupportedEncryptionTypes: AES128 and AES256 ([MS-KILE] 2.2.7)
RC4_ONLY = 4
DISABLED = 0x2  # userAccountControl ([MS-ADTS] 2.2.16)
NO_AUTH_DATA = 0x2000000  # tickets for this service carry no PAC


@dataclass(frozen=True)
class Person:
    name: str  # sAMAccountName
    given: str
    surname: str
    groups: tuple[str, ...] = ()
    flags: int = 0
    expired: bool = False  # the account's end lies in the past
    must_change: bool = False  # password must be changed at the next logon
    folder: str = ""  # an OU below the base; "": CN=Users


@dataclass(frozen=True)
class Group:
    name: str
    kind: str  # global, universal, local (domain-local), mail (a distribution group)
    in_groups: tuple[str, ...] = ()
    title: str = ""  # name of the entry where it is another one


@dataclass(frozen=True)
class Service:
    name: str
    spns: tuple[str, ...] = ()
    enctypes: int = AES_ONLY
    flags: int = 0
    groups: tuple[str, ...] = field(default=())


MANY = tuple(f"many-{i:03d}" for i in range(300))
# Each right of a nested group must arrive through the whole chain; "grp-deep" holds nobody directly.
GROUPS = (
    Group("grp-deep", "local"),
    Group("grp-uni", "universal", ("grp-deep",)),
    Group("grp-mid", "global", ("grp-uni",)),
    Group("grp-leaf", "global", ("grp-mid",)),
    Group("grp-cycle-a", "global", ("grp-cycle-b",)),
    Group("grp-cycle-b", "global", ("grp-cycle-a",)),
    Group("mail-all", "mail"),
    Group("kaas-admins", "global"),
    Group("kaas-viewers", "global"),
    Group("kaas-services", "global"),
    Group("ops süd (ä)", "global", title="Ops Süd, \"Ä\" (a*b) \\ #1"),
    *(Group(name, "global") for name in MANY),
)
PEOPLE = (
    Person("alice", "Alice", "Nested", ("grp-leaf", "mail-all")),
    Person("bob", "Bob", "Viewer", ("kaas-viewers",)),
    Person("ada", "Ada", "Admin", ("kaas-admins", "kaas-viewers")),
    Person("carol", "Carol", "Cycle", ("grp-cycle-a",)),
    Person("mallory", "Mallory", "Mail", ("mail-all",)),
    Person("many", "Many", "Groups", MANY),
    Person("dora", "Dora", "Disabled", ("kaas-viewers",), flags=DISABLED),
    Person("eve", "Eve", "Expired", ("kaas-viewers",), expired=True),
    Person("newbie", "New", "Comer", ("kaas-viewers",), must_change=True),
    Person("zoë", "Zoë", "Łukasiewicz 𝒵", ("kaas-viewers", "ops süd (ä)")),
    Person("none", "No", "Groups"),
    Person("o'hara (ops)", "Pat, Jr.", "O'Hara* (ops) \\ #1", ("kaas-viewers",)),
    Person("olga", "Olga", "Ou", ("kaas-viewers",), folder="OU=Branch"),
)
SERVICES = (
    # kaasd itself: what clients ask tickets for, and what it binds to LDAP as
    Service("svc-kaas", ("HTTP/localhost", "HTTP/127.0.0.1", "HTTP/kaas.ad.test", "HTTP/kaas")),
    Service("svc-other", ("HTTP/other.ad.test",)),  # "a token for another host"
    Service("svc-rc4", ("HTTP/rc4.ad.test",), enctypes=RC4_ONLY),
    Service("svc-nopac", ("HTTP/nopac.ad.test",), flags=NO_AUTH_DATA),
    Service("svc-peer", ("HTTP/peer.ad.test",)),  # a server that kaasd signs in to
    # controllers of HX clusters: clients of kaasd
    Service("svc-hx-east", ("hx/hx-east-ctl1.ad.test",), groups=("kaas-services",)),
    Service("svc-hx-west", ("hx/hx-west-ctl1.ad.test",)),
    # binds to LDAP by password
    Service("svc-reader"),
)
# Keytabs that are made with the domain: file name, principals. "own" means the account's name itself, which may get a TGT.
KEYTABS = {
    "service.keytab": ("HTTP/localhost", "HTTP/127.0.0.1", "HTTP/kaas.ad.test", "HTTP/kaas"),
    "client.keytab": ("svc-kaas",),
    "other.keytab": ("HTTP/other.ad.test",),
    "rc4.keytab": ("HTTP/rc4.ad.test",),
    "nopac.keytab": ("HTTP/nopac.ad.test",),
    "peer.keytab": ("HTTP/peer.ad.test",),
    "hx-east.keytab": ("svc-hx-east",),
    "hx-west.keytab": ("svc-hx-west",),
    "krbtgt.keytab": ("krbtgt/AD.TEST",),
}
