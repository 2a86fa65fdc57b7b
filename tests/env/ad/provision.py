"""Makes the test domain in a folder: /usr/bin/python3 provision.py FOLDER. The server must not run.

samba-tool in this process, minus the ACLs of sysvol (which need several uids, and nobody here uses files), then people and keytabs
straight into the database. Passwords are made up each time and left in FOLDER/world.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Any

import ldb
import samba.provision
from people import BASE_DN, DC_NAME, GROUPS, KEYTABS, NETBIOS, PEOPLE, REALM, SERVICES, Group, Person, Service
from samba import dsdb
from samba.auth import system_session
from samba.credentials import Credentials
from samba.dcerpc import security
from samba.ndr import ndr_unpack
from samba.net import Net
from samba.netcmd.main import cmd_sambatool
from samba.param import LoadParm
from samba.samdb import SamDB

KINDS = {
    "global": dsdb.GTYPE_SECURITY_GLOBAL_GROUP,
    "universal": dsdb.GTYPE_SECURITY_UNIVERSAL_GROUP,
    "local": dsdb.GTYPE_SECURITY_DOMAIN_LOCAL_GROUP,
    "mail": dsdb.GTYPE_DISTRIBUTION_GLOBAL_GROUP,
}
NORMAL = dsdb.UF_NORMAL_ACCOUNT | dsdb.UF_DONT_EXPIRE_PASSWD
LONG_AGO = 125911584000000000  # 2000-01-01 as FILETIME


def ldb_signed(number: int) -> int:
    """As the directory writes 32-bit flags."""
    return number - (1 << 32) if number >= 1 << 31 else number


def password() -> str:
    return "Aa1-" + secrets.token_urlsafe(15)


def samba_tool(*words: str) -> None:
    status = cmd_sambatool()._run("samba-tool", *words)
    if status:
        sys.exit(f"samba-tool {words[0]} {words[1]} failed with {status}")


def provision(folder: Path, admin_password: str) -> None:
    samba.provision.setsysvolacl = lambda *words, **named: None
    for name in ("private", "state", "cache", "lock", "run", "ncalrpc", "log", "keytabs"):
        (folder / name).mkdir()
    samba_tool("domain", "provision", f"--configfile={folder}/smb.conf", f"--realm={REALM}", f"--domain={NETBIOS}", "--server-role=dc",
               "--dns-backend=NONE", "--host-name=dc1", "--host-ip=127.0.0.1", f"--adminpass={admin_password}", "--use-rfc2307")


class Maker:
    """The domain's database, opened while no server runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lp = LoadParm()
        self.lp.load(str(folder / "smb.conf"))
        self.sam = SamDB(url=str(folder / "private/sam.ldb"), session_info=system_session(), lp=self.lp)
        self.passwords: dict[str, str] = {}
        self.members: dict[str, list[str]] = {}

    def replace(self, name: str, **values: Any) -> None:
        found = self.sam.search(BASE_DN, scope=ldb.SCOPE_SUBTREE, expression=f"(sAMAccountName={ldb.binary_encode(name)})", attrs=[])
        message = ldb.Message(found[0].dn)
        for key, value in values.items():
            attribute = key.replace("_", "-")
            message[attribute] = ldb.MessageElement(value, ldb.FLAG_MOD_REPLACE, attribute)
        self.sam.modify(message)

    def dn(self, title: str, folder: str) -> ldb.Dn:
        """Name of an entry, escaped: SamDB's own functions put texts together."""
        made = ldb.Dn(self.sam, f"CN=x,{folder or 'CN=Users'},{BASE_DN}")
        made.set_component(0, "CN", title)
        return made

    def group(self, group: Group) -> None:
        self.sam.add({"dn": self.dn(group.title or group.name, ""), "objectClass": "group", "sAMAccountName": group.name,
                      "groupType": str(ldb_signed(KINDS[group.kind]))})
        for outer in group.in_groups:
            self.members.setdefault(outer, []).append(group.name)

    def person(self, person: Person) -> None:
        self.passwords[person.name] = password()
        mail = "".join(c for c in person.name if c.isascii() and c.isalnum()) + "@ad.test"
        full = f"{person.given} {person.surname}"
        self.sam.add({"dn": self.dn(full, person.folder), "objectClass": "user", "sAMAccountName": person.name, "displayName": full,
                      "givenName": person.given, "sn": person.surname, "mail": mail, "userPrincipalName": f"{person.name}@ad.test"})
        self.sam.setpassword(f"(sAMAccountName={ldb.binary_encode(person.name)})", self.passwords[person.name],
                             force_change_at_next_login=person.must_change)
        control = NORMAL if not person.must_change else dsdb.UF_NORMAL_ACCOUNT
        self.replace(person.name, userAccountControl=str(control | person.flags),
                     **({"accountExpires": str(LONG_AGO)} if person.expired else {}))
        for name in person.groups:
            self.members.setdefault(name, []).append(person.name)

    def service(self, service: Service) -> None:
        self.passwords[service.name] = password()
        self.sam.newuser(service.name, self.passwords[service.name])
        values: dict[str, Any] = {"userAccountControl": str(NORMAL | service.flags), "msDS_SupportedEncryptionTypes": str(service.enctypes)}
        if service.spns:
            values["servicePrincipalName"] = list(service.spns)
        self.replace(service.name, **values)
        # keys are made when the password is set: only now are they of the right encryption types
        self.sam.setpassword(f"(sAMAccountName={service.name})", self.passwords[service.name])
        for name in service.groups:
            self.members.setdefault(name, []).append(service.name)

    def populate(self) -> None:
        self.sam.transaction_start()
        for folder in sorted({person.folder for person in PEOPLE if person.folder}):
            self.sam.create_ou(f"{folder},{BASE_DN}")
        for group in GROUPS:
            self.group(group)
        for person in PEOPLE:
            self.person(person)
        for service in SERVICES:
            self.service(service)
        for outer, names in self.members.items():
            self.sam.add_remove_group_members(outer, names, add_members_operation=True)
        # normally the work of a script that is switched off; without it nobody can sign in to LDAP by Kerberos
        found = self.sam.search(BASE_DN, scope=ldb.SCOPE_SUBTREE, expression="(sAMAccountName=DC1$)", attrs=["servicePrincipalName"])
        have = {str(value) for value in found[0].get("servicePrincipalName", [])}
        self.replace("DC1$", servicePrincipalName=sorted(have | {f"ldap/{DC_NAME}", "ldap/localhost", "ldap/127.0.0.1"}))
        # a cached domain would stop working after 42 days
        message = ldb.Message(ldb.Dn(self.sam, BASE_DN))
        message["maxPwdAge"] = ldb.MessageElement(str(-0x8000000000000000), ldb.FLAG_MOD_REPLACE, "maxPwdAge")
        self.sam.modify(message)
        self.sam.transaction_commit()

    def export(self) -> None:
        machine = Credentials()
        machine.set_kerberos_state(0)
        net = Net(machine, self.lp, server=None)
        for name, principals in KEYTABS.items():
            for principal in principals:
                net.export_keytab(keytab=str(self.folder / "keytabs" / name), principal=principal)

    def sids(self) -> dict[str, str]:
        found = self.sam.search(BASE_DN, scope=ldb.SCOPE_SUBTREE, expression="(objectSid=*)", attrs=["sAMAccountName", "objectSid"])
        return {str(row["sAMAccountName"][0]): str(ndr_unpack(security.dom_sid, row["objectSid"][0])) for row in found
                if "sAMAccountName" in row}


def main() -> None:
    folder = Path(sys.argv[1])
    admin_password = password()
    provision(folder, admin_password)
    maker = Maker(folder)
    maker.populate()
    maker.export()
    maker.passwords["Administrator"] = admin_password
    told = {"passwords": maker.passwords, "sids": maker.sids(), "domain_sid": maker.sam.get_domain_sid()}
    (folder / "world.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
