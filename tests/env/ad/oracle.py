"""Changes the domain while its server runs, and packs and unpacks PACs by Samba's own code: /usr/bin/python3 oracle.py [FOLDER].

JSON lines on standard input, each answered by a line. Without a folder there is no domain, only PACs."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forge
import ldb
import pac
from people import BASE_DN
from samba import (
    dckeytab,  # noqa: F401 - gives Net its export_keytab
    dsdb,
)
from samba.auth import system_session
from samba.credentials import Credentials
from samba.dcerpc import misc, security
from samba.ndr import ndr_unpack
from samba.net import Net
from samba.param import LoadParm
from samba.samdb import SamDB


class Domain:
    def __init__(self, folder: Path) -> None:
        self.lp = LoadParm()
        self.lp.load(str(folder / "smb.conf"))
        self.sam = SamDB(url=str(folder / "private/sam.ldb"), session_info=system_session(), lp=self.lp)

    def find(self, name: str, *attributes: str) -> ldb.Message:
        found = self.sam.search(BASE_DN, scope=ldb.SCOPE_SUBTREE, expression=f"(sAMAccountName={ldb.binary_encode(name)})",
                                attrs=list(attributes))
        if len(found) != 1:
            raise KeyError(f"{len(found)} accounts named {name}")
        return found[0]

    def modify(self, dn: ldb.Dn, flag: int, attribute: str, values: Any) -> None:
        message = ldb.Message(dn)
        message[attribute] = ldb.MessageElement(values, flag, attribute)
        self.sam.modify(message)

    def control(self, name: str, *, add: int = 0, drop: int = 0) -> None:
        row = self.find(name, "userAccountControl")
        self.modify(row.dn, ldb.FLAG_MOD_REPLACE, "userAccountControl", str((int(row["userAccountControl"][0]) | add) & ~drop))

    def disable(self, name: str) -> None:
        self.control(name, add=dsdb.UF_ACCOUNTDISABLE)

    def enable(self, name: str) -> None:
        self.control(name, drop=dsdb.UF_ACCOUNTDISABLE)

    def set_password(self, name: str, password: str) -> None:
        self.sam.setpassword(f"(sAMAccountName={ldb.binary_encode(name)})", password)

    def members(self, group: str, names: list[str], add: bool) -> None:
        dns = [str(self.find(name).dn) for name in names]
        self.modify(self.find(group).dn, ldb.FLAG_MOD_ADD if add else ldb.FLAG_MOD_DELETE, "member", dns)

    def move(self, name: str, folder: str) -> str:
        dn = self.find(name).dn
        new = ldb.Dn(self.sam, f"CN=x,{folder},{BASE_DN}")
        new.set_component(0, "CN", dn.get_rdn_value())
        self.sam.rename(dn, new)
        return str(new)

    def rename(self, name: str, new: str) -> None:
        dn = self.find(name).dn
        self.modify(dn, ldb.FLAG_MOD_REPLACE, "sAMAccountName", new)
        self.modify(dn, ldb.FLAG_MOD_REPLACE, "userPrincipalName", f"{new}@ad.test")

    def create(self, name: str, password: str, groups: list[str]) -> str:
        self.sam.newuser(name, password)
        self.modify(self.find(name).dn, ldb.FLAG_MOD_REPLACE, "userPrincipalName", f"{name}@ad.test")
        for group in groups:
            self.members(group, [name], True)
        return self.show(name)["sid"]

    def delete(self, name: str) -> None:
        self.sam.delete(self.find(name).dn)

    def set(self, name: str, attribute: str, values: list[str]) -> None:
        self.modify(self.find(name).dn, ldb.FLAG_MOD_REPLACE, attribute, values)

    def show(self, name: str) -> dict[str, Any]:
        row = self.find(name, "objectSid", "objectGUID", "userAccountControl", "pwdLastSet", "msDS-KeyVersionNumber", "userPrincipalName")
        return {"dn": str(row.dn), "sid": str(ndr_unpack(security.dom_sid, row["objectSid"][0])),
                "guid": str(ndr_unpack(misc.GUID, row["objectGUID"][0])),
                "control": int(row.get("userAccountControl", ["0"])[0]), "password_set": int(row.get("pwdLastSet", ["0"])[0]),
                "kvno": int(row.get("msDS-KeyVersionNumber", ["0"])[0]), "upn": str(row.get("userPrincipalName", [""])[0])}

    def token_groups(self, name: str) -> list[str]:
        found = self.sam.search(str(self.find(name).dn), scope=ldb.SCOPE_BASE, attrs=["tokenGroups"])
        return sorted(str(ndr_unpack(security.dom_sid, value)) for value in found[0].get("tokenGroups", []))

    def export(self, keytab: str, principals: list[str]) -> None:
        """Adds the keys of now to a keytab: keys of before stay in it."""
        machine = Credentials()
        machine.set_kerberos_state(0)
        net = Net(machine, self.lp, server=None)
        for principal in principals:
            net.export_keytab(keytab=keytab, principal=principal)


def serve(questions: dict[str, Callable[..., Any]]) -> None:
    out = sys.stdout
    sys.stdout = sys.stderr  # Samba's functions tell things
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"done": questions[asked.pop("do")](**asked)}
        except Exception as error:  # told to who asked
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)


def main() -> None:
    questions: dict[str, Callable[..., Any]] = {"pack": pac.pack, "unpack": pac.unpack, "buffers": pac.buffers, "forge": forge.forge}
    if len(sys.argv) > 1:
        domain = Domain(Path(sys.argv[1]))
        for name in ("disable", "enable", "set_password", "members", "move", "rename", "create", "delete", "set", "show", "token_groups",
                     "export"):
            questions[name] = getattr(domain, name)
    serve(questions)


if __name__ == "__main__":
    main()
