"""An MIT KDC: a realm beside Active Directory. Its tickets bear a verified PAC without logon information (MIT 1.20)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import secrets
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from ..places import Scratch, WorldError, free_port
from ..process import Process, run
from .domain import KRB5_CONF, AdWorld, Kerberos

REALM = "MIT.TEST"
# alice and ALICE differ in case, alice@MIT.TEST and alice@AD.TEST in the realm: four spellings, three people
PEOPLE = ("alice", "ALICE", "bob", "svc-hx-east", "zoë", "ZOË")
SERVICES = ("HTTP/localhost", "HTTP/127.0.0.1", "HTTP/kaas.ad.test", "HTTP/peer.ad.test")
KDC_CONF = """[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
    max_life = 12h
    supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
  }}
[logging]
  kdc = FILE:{folder}/kdc.log
"""


class MitWorld:
    """Context manager. With an `ad` its clients know both realms, which do not trust each other."""

    realm = REALM

    def __init__(self, ad: AdWorld | None = None) -> None:
        self._ad = ad
        self._stack = ExitStack()

    def __enter__(self) -> MitWorld:
        with ExitStack() as stack:
            self.scratch = Scratch("mit")
            stack.callback(self.scratch.remove)
            self.port = free_port()
            self.krb5_conf = self.scratch.path / "krb5.conf"
            realms = self.realm_entry + (self._ad.realm_entry if self._ad else "")
            self.krb5_conf.write_text(KRB5_CONF.format(realm=self._ad.realm if self._ad else REALM, realms=realms))
            self.env = {"KRB5_CONFIG": str(self.krb5_conf)}
            self._make()
            self.kdc = self.start()
            stack.callback(lambda: self.kdc.kill())
            self.kerberos = Kerberos(self.scratch.path, self.krb5_conf)
            stack.callback(self.kerberos.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    @property
    def realm_entry(self) -> str:
        return f"  {REALM} = {{\n    kdc = 127.0.0.1:{self.port}\n  }}\n"

    @property
    def _tool_env(self) -> dict[str, str]:
        return {**self.env, "KRB5_KDC_PROFILE": str(self.scratch.path / "kdc.conf")}

    def _make(self) -> None:
        folder = self.scratch.path
        (folder / "kdc.conf").write_text(KDC_CONF.format(port=self.port, realm=REALM, folder=folder))
        (folder / "acl").touch()
        self._tool(["kdb5_util", "create", "-s", "-r", REALM, "-P", secrets.token_urlsafe(12)])
        self.passwords = {name: secrets.token_urlsafe(12) for name in PEOPLE}
        self.admin(*(f'addprinc -pw "{password}" "{name}"' for name, password in self.passwords.items()),
                   *(f"addprinc -randkey {name}" for name in SERVICES))
        self.export(self.keytab("service"), *SERVICES[:3])
        self.export(self.keytab("peer"), SERVICES[3])

    def _tool(self, words: list[str], stdin: str = "") -> None:
        done = run([f"/usr/sbin/{words[0]}", *words[1:]], stdin=stdin, env=self._tool_env)
        if done.returncode:
            raise WorldError(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")

    def admin(self, *commands: str) -> None:
        """Commands of kadmin.local."""
        self._tool(["kadmin.local", "-r", REALM], "\n".join(commands) + "\n")

    def start(self) -> Process:
        """Also again, after kdc.kill()."""
        self.kdc = Process("krb5kdc", ["/usr/sbin/krb5kdc", "-n", "-r", REALM], self.scratch.log, self._tool_env)
        self.kdc.wait_until(lambda: "commencing operation" in self._said(), "readiness")
        return self.kdc

    def _said(self) -> str:
        log = self.scratch.path / "kdc.log"
        return log.read_text() if log.exists() else ""

    def keytab(self, name: str) -> Path:
        """"service": kaasd's names in this realm; "peer"."""
        return self.scratch.path / f"{name}.keytab"

    def export(self, keytab: Path, *principals: str) -> Path:
        """Adds their keys to a keytab, which may hold those of another realm."""
        self.admin(*(f"ktadd -norandkey -k {keytab} {principal}" for principal in principals))
        return keytab

    def kinit(self, name: str, password: str | None = None, **more: Any) -> Path:
        return self.kerberos.kinit(f"{name}@{REALM}", self.passwords.get(name, "") if password is None else password, **more)

    def token(self, name: str, spn: str = "HTTP@localhost", **more: Any) -> bytes:
        return self.kerberos.token(self.kinit(name, skew_s=more.get("skew_s", 0)), spn, **more)
