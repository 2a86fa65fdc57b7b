"""The Active Directory domain of the tests: a real Samba domain controller, people in it, and ways to change and to break it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ..certs import make_server_cert
from ..places import CACHE, Scratch, WorldError
from ..process import run
from . import people
from .lines import Lines

HERE = Path(__file__).parent
SYSTEM_PYTHON = "/usr/bin/python3"  # the one that Debian's packages of Samba and GSSAPI are for
MAKERS = ("people.py", "provision.py", "smb.conf.template")
KRB5_CONF = """[libdefaults]
  default_realm = {realm}
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
{realms}[domain_realm]
  .ad.test = AD.TEST
  ad.test = AD.TEST
"""


def samba_version() -> str:
    try:
        asked = run(["dpkg-query", "-W", "-f", "${Version}", "samba-ad-dc", "samba", "python3-samba"])
    except FileNotFoundError:
        asked = run(["/usr/sbin/samba", "--version"])
    if asked.returncode:
        raise WorldError("the test domain needs Samba: run scripts/setup, or install what scripts/packages.txt lists")
    return asked.stdout


def copy_domain(target: Path) -> None:
    """A copy of the domain that was made once for these scripts and this Samba."""
    digest = hashlib.sha256(samba_version().encode())
    for name in MAKERS:
        digest.update((HERE / name).read_bytes())
    folder = CACHE / f"ad-{digest.hexdigest()[:20]}"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "ad.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if not folder.is_dir():
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                make_template(folder)
        done = run(["cp", "-a", folder, target])
    if done.returncode:
        raise WorldError(f"the domain cannot be copied: {done.stderr}")


def write_smb_conf(folder: Path, target: Path, address: str = "127.0.0.1", tls: str = "tls enabled = no") -> None:
    text = (HERE / "smb.conf.template").read_text()
    target.write_text(text.replace("@D@", str(folder)).replace("@ADDRESS@", address).replace("@TLS@", tls))


def make_template(folder: Path) -> None:
    for old in folder.parent.glob("ad-*"):
        shutil.rmtree(old, ignore_errors=True)
    new = Path(tempfile.mkdtemp(prefix="ad-new.", dir=folder.parent))
    write_smb_conf(new, new / "smb.conf")
    become_root = ["unshare", "--user", "--map-root-user"] if os.geteuid() else []
    made = run([*become_root, SYSTEM_PYTHON, HERE / "provision.py", new], limit_s=600)
    if made.returncode:
        shutil.rmtree(new, ignore_errors=True)
        raise WorldError(f"the domain cannot be made: {(made.stdout + made.stderr)[-3000:]}")
    new.rename(folder)


@dataclass(frozen=True)
class AdUser:
    """One person or service account as the directory knows it."""

    name: str
    password: str
    sid: str

    @property
    def principal(self) -> str:
        return f"{self.name}@{people.REALM}"

    @property
    def id(self) -> str:
        """As kaasd names the person."""
        return f"sid:{self.sid}"


class Kerberos:
    """A client's side of some realms: tickets and tokens. `krb5_conf` names the realms."""

    def __init__(self, folder: Path, krb5_conf: Path) -> None:
        self.folder = folder
        self.krb5_conf = krb5_conf
        self._stack = ExitStack()
        self._speakers: dict[int, Lines] = {}
        self._count = 0

    @property
    def env(self) -> dict[str, str]:
        """What a program needs in its environment to reach the realm."""
        return {"KRB5_CONFIG": str(self.krb5_conf)}

    def close(self) -> None:
        self._stack.close()

    def new_ccache(self) -> Path:
        self._count += 1
        return self.folder / f"cc{self._count}"

    def kinit(self, principal: str, password: str = "", *, keytab: Path | None = None, skew_s: int = 0) -> Path:
        """A private ticket cache of somebody, by password or keytab."""
        ccache = self.new_ccache()
        words: list[str | Path] = [*_faked(skew_s), "kinit", "-c", f"FILE:{ccache}"]
        words += ["-k", "-t", keytab, principal] if keytab else [principal]
        done = run(words, stdin=password + "\n", env=self.env)
        if done.returncode:
            raise WorldError(f"kinit {principal}: {done.stderr.strip() or done.stdout.strip()}")
        return ccache

    def ticket(self, ccache: Path, *spns: str) -> None:
        """Fetches tickets for services ("HTTP/localhost") into a cache."""
        done = run(["kvno", "-c", f"FILE:{ccache}", *spns], env=self.env)
        if done.returncode:
            raise WorldError(f"kvno {spns}: {done.stderr.strip()}")

    def speaker(self, skew_s: int = 0) -> Lines:
        """The process that makes tokens; one for each error of the clock."""
        if skew_s not in self._speakers:
            env = {**os.environ, **self.env}
            made = Lines("gss.py", [*_faked(skew_s), SYSTEM_PYTHON, HERE / "gss.py"], self.folder / "gss.log", env)
            self._stack.callback(made.close)
            self._speakers[skew_s] = made
        return self._speakers[skew_s]

    def token(self, ccache: Path, spn: str = "HTTP@localhost", *, mech: str = "spnego", mutual: bool = True, bindings: bytes = b"",
              delegate: bool = False, keep: str = "", skew_s: int = 0) -> bytes:
        """A fresh token for a service. `bindings`: the application data of channel bindings; `mech`: spnego, or krb5 for a bare one;
        `keep`: a name for answer()."""
        given = base64.b64encode(bindings).decode() if bindings else None
        return base64.b64decode(self.speaker(skew_s).ask("initiate", ccache=f"FILE:{ccache}", spn=spn, mech=mech, mutual=mutual,
                                                         bindings=given, delegate=delegate, keep=keep))

    def answer(self, keep: str, token: bytes, skew_s: int = 0) -> tuple[bytes, bool]:
        """Gives the server's token to the context kept by token(): what the client says next, and whether it believes the server."""
        told = self.speaker(skew_s).ask("step", keep=keep, token=base64.b64encode(token).decode())
        return base64.b64decode(told["token"]), told["complete"]

    def accepted(self, keytab: Path, token: bytes, bindings: bytes = b"") -> dict[str, Any]:
        """MIT's own acceptor on a token: name, PAC attributes (base64), its answer, whether the client is bound to our channel; raises
        WorldError when it refuses."""
        answer: dict[str, Any] = self.speaker().ask("accept", keytab=f"FILE:{keytab}", token=base64.b64encode(token).decode(),
                                                    bindings=base64.b64encode(bindings).decode())
        return answer


def _faked(skew_s: int) -> list[str | Path]:
    return ["faketime", "-f", f"{skew_s:+d}s"] if skew_s else []


class AdWorld:
    """Context manager: a domain controller of its own, with everything that clients need to find it.

    Addresses are ports of 127.0.0.1 ("localhost" in the certificate and in the service names); each leads to the one controller and can
    be closed by door()."""

    realm = people.REALM
    netbios = people.NETBIOS
    base_dn = people.BASE_DN

    def __init__(self, way: str = "any") -> None:
        self._wanted = way
        self._stack = ExitStack()

    def __enter__(self) -> AdWorld:
        with ExitStack() as stack:
            self.scratch = Scratch("ad")
            stack.callback(self.scratch.remove)
            self.folder = self.scratch.path / "dc"
            self._unpack()
            self._keeper = Lines("the domain controller", [sys.executable, "-I", "-S", HERE / "keeper.py", self.folder, self._wanted],
                                 self.scratch.log / "keeper.log")
            stack.callback(self._keeper.close)
            self._settle(self._keeper.read())
            self.kerberos = Kerberos(self.scratch.path, self.krb5_conf)
            stack.callback(self.kerberos.close)
            self.__oracle: Lines | None = None
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.__oracle:
            self.__oracle.close()
        self._stack.close()

    def _unpack(self) -> None:
        copy_domain(self.folder)
        tls = make_server_cert(self.scratch.path / "tls", days=90)
        self.ca_file = tls.ca_file
        lines = f"tls enabled = yes\n  tls certfile = {tls.cert_file}\n  tls keyfile = {tls.key_file}\n  tls cafile = {tls.ca_file}"
        write_smb_conf(self.folder, self.folder / "smb.conf.template", "@ADDRESS@", lines)
        told = json.loads((self.folder / "world.json").read_text())
        self.passwords: dict[str, str] = told["passwords"]
        self.sids: dict[str, str] = told["sids"]
        self.domain_sid: str = told["domain_sid"]

    def _settle(self, told: dict[str, Any]) -> None:
        self.way: str = told["way"]
        self.pid: int = told["pid"]
        self.ports: dict[str, int] = told["ports"]
        self.ldap_url = f"ldap://127.0.0.1:{self.ports['ldap']}"
        self.ldaps_url = f"ldaps://127.0.0.1:{self.ports['ldaps']}"
        self.second_ldap_url = f"ldap://127.0.0.1:{self.ports['ldap2']}"
        self.second_ldaps_url = f"ldaps://127.0.0.1:{self.ports['ldaps2']}"
        self.krb5_conf = self.scratch.path / "krb5.conf"
        self.krb5_conf.write_text(KRB5_CONF.format(realm=self.realm, realms=self.realm_entry))
        self.env = {"KRB5_CONFIG": str(self.krb5_conf)}

    @property
    def realm_entry(self) -> str:
        """For the section [realms] of a krb5.conf."""
        return (f"  {self.realm} = {{\n    kdc = 127.0.0.1:{self.ports['kdc']}\n    kpasswd_server = 127.0.0.1:{self.ports['kpasswd']}\n"
                "  }\n")

    # people

    def user(self, name: str) -> AdUser:
        return AdUser(name, self.passwords.get(name, ""), self.sids[name])

    def sid(self, name: str) -> str:
        """Of a person or a group."""
        return self.sids[name]

    def keytab(self, name: str) -> Path:
        """By name, see people.KEYTABS: "service" holds kaasd's names, "client" svc-kaas itself, which may get a TGT."""
        return self.folder / "keytabs" / f"{name}.keytab"

    # Kerberos

    def kinit(self, name: str, password: str | None = None, *, keytab: Path | None = None, skew_s: int = 0) -> Path:
        """A private ticket cache of a person, by the password that the domain was made with unless another is given."""
        return self.kerberos.kinit(f"{name}@{self.realm}", self.passwords.get(name, "") if password is None else password, keytab=keytab,
                                   skew_s=skew_s)

    def token(self, name: str, spn: str = "HTTP@localhost", **more: Any) -> bytes:
        """A fresh token of a person for a service, all in one; see Kerberos.token."""
        return self.kerberos.token(self.kinit(name, skew_s=more.get("skew_s", 0)), spn, **more)

    def forge(self, ccache: Path, spn: str = "HTTP/localhost", keytab: str = "service", **change: Any) -> Path:
        """A copy of a cache, the ticket for `spn` altered and encrypted again with the service's key. What can be altered: forge.forge."""
        self.kerberos.ticket(ccache, spn)
        out = self.kerberos.new_ccache()
        self.oracle.ask("forge", ccache=str(ccache), out=str(out), keytab=str(self.keytab(keytab)), server=f"{spn}@{self.realm}",
                        change=change)
        return out

    # changes while it runs

    @property
    def oracle(self) -> Lines:
        """Samba's own code on the running domain's database."""
        if not self.__oracle:
            self.__oracle = Lines("the directory's tool", [SYSTEM_PYTHON, HERE / "oracle.py", self.folder], self.scratch.log / "oracle.log")
        return self.__oracle

    def disable(self, name: str) -> None:
        self.oracle.ask("disable", name=name)

    def enable(self, name: str) -> None:
        self.oracle.ask("enable", name=name)

    def set_password(self, name: str, password: str) -> None:
        """Also a service's: its keys get the next version number; the old ones stay in keytabs that were made before."""
        self.oracle.ask("set_password", name=name, password=password)
        self.passwords[name] = password

    def add_member(self, group: str, *names: str) -> None:
        self.oracle.ask("members", group=group, names=list(names), add=True)

    def remove_member(self, group: str, *names: str) -> None:
        self.oracle.ask("members", group=group, names=list(names), add=False)

    def move(self, name: str, folder: str) -> str:
        """Into another folder below the base ("OU=Branch"); hands back the new DN."""
        moved: str = self.oracle.ask("move", name=name, folder=folder)
        return moved

    def rename(self, name: str, new: str) -> None:
        """Another account name and UPN; the SID stays."""
        self.oracle.ask("rename", name=name, new=new)
        self.passwords[new], self.sids[new] = self.passwords.pop(name), self.sids.pop(name)

    def create(self, name: str, password: str, groups: tuple[str, ...] = ()) -> AdUser:
        self.sids[name] = self.oracle.ask("create", name=name, password=password, groups=list(groups))
        self.passwords[name] = password
        return self.user(name)

    def delete(self, name: str) -> None:
        self.oracle.ask("delete", name=name)

    def set(self, name: str, attribute: str, *values: str) -> None:
        self.oracle.ask("set", name=name, attribute=attribute, values=list(values))

    def show(self, name: str) -> dict[str, Any]:
        """dn, sid, guid, control, password_set, kvno, upn as they are now."""
        told: dict[str, Any] = self.oracle.ask("show", name=name)
        return told

    def token_groups(self, name: str) -> list[str]:
        """SIDs of all security groups, as the directory itself reckons them."""
        told: list[str] = self.oracle.ask("token_groups", name=name)
        return told

    def export(self, keytab: Path, *principals: str) -> Path:
        """Adds the keys of now to a keytab, made if it is not there."""
        self.oracle.ask("export", keytab=str(keytab), principals=list(principals))
        return keytab

    # the controller

    def kill(self) -> None:
        """As a power cut."""
        self._keeper.ask("kill")

    def start(self) -> None:
        """Again after kill(), ready when back."""
        self._keeper.ask("start")

    def freeze(self) -> None:
        """Takes connections, answers nothing."""
        self._keeper.ask("freeze")

    def thaw(self) -> None:
        self._keeper.ask("thaw")

    def door(self, name: str, state: str) -> None:
        """"kdc", "ldap", "ldaps" and the second address "ldap2", "ldaps2": "open", "refused" or "silent". Cuts what goes through."""
        self._keeper.ask("door", name=name, state=state)

    @contextmanager
    def closed(self, *names: str, state: str = "refused") -> Iterator[None]:
        """Doors closed for a while."""
        for name in names:
            self.door(name, state)
        try:
            yield
        finally:
            for name in names:
                self.door(name, "open")

    def taken(self) -> dict[str, int]:
        """Connections so far by door."""
        told: dict[str, int] = self._keeper.ask("taken")
        return told
