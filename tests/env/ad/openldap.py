"""A plain LDAP server: OpenLDAP with memberOf and groupOfNames, StartTLS and LDAPS; no Active Directory in it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import secrets
import subprocess
from contextlib import ExitStack
from types import TracebackType

from ..certs import make_server_cert
from ..places import Scratch, WorldError, free_port
from ..process import Process, run

BASE_DN = "dc=ldap,dc=test"
PEOPLE_DN = f"ou=people,{BASE_DN}"
GROUPS_DN = f"ou=groups,{BASE_DN}"
READER_DN = f"cn=reader,{BASE_DN}"
ROOT_DN = f"cn=root,{BASE_DN}"
CONF = """include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
moduleload refint
pidfile {folder}/slapd.pid
TLSCACertificateFile {tls.ca_file}
TLSCertificateFile {tls.cert_file}
TLSCertificateKeyFile {tls.key_file}
# no password in the clear
security simple_bind=128
sizelimit 500
database mdb
suffix "{base}"
rootdn "{root}"
rootpw {root_password}
directory {folder}/data
maxsize 67108864
dbnosync
index objectClass,uid,cn,member,memberOf,entryUUID eq
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by * none
overlay memberof
memberof-group-oc groupOfNames
memberof-member-ad member
overlay refint
refint_attributes member memberOf
"""
# name: uid, full name, surname; the entry is named by cn where the uid would say too little about escaping
PEOPLE = {
    "alice": ("Alice Nested", "Nested"),
    "bob": ("Bob Viewer", "Viewer"),
    "ada": ("Ada Admin", "Admin"),
    "carol": ("Carol Cycle", "Cycle"),
    "many": ("Many Groups", "Groups"),
    "none": ("No Groups", "Groups"),
    "zoë": ("Zoë Łukasiewicz 𝒵", "Łukasiewicz"),
    "o'hara (ops)": ("Pat, Jr. O'Hara* (ops) \\ #1", "O'Hara"),
}
MANY = tuple(f"many-{i:03d}" for i in range(300))
# group: members; "@name" is a group
GROUPS = {
    "grp-leaf": ("alice",),
    "grp-mid": ("@grp-leaf",),
    "grp-deep": ("@grp-mid",),
    "grp-cycle-a": ("carol", "@grp-cycle-b"),
    "grp-cycle-b": ("@grp-cycle-a",),
    "kaas-admins": ("ada",),
    "kaas-viewers": ("bob", "ada", "zoë", "o'hara (ops)"),
    'Ops Süd, "Ä" (a*b) \\ #1': ("zoë",),
    **{name: ("many",) for name in MANY},
}


def escaped(value: str) -> str:
    """A value within a DN (RFC 4514 section 2.4)."""
    text = "".join("\\" + c if c in ',+"\\<>;=' else c for c in value)
    return "\\" + text if text[:1] in ("#", " ") else text


def person_dn(name: str) -> str:
    return f"cn={escaped(PEOPLE[name][0])},{PEOPLE_DN}"


def group_dn(name: str) -> str:
    return f"cn={escaped(name)},{GROUPS_DN}"


def _line(key: str, value: str) -> str:
    return f"{key}:: {base64.b64encode(value.encode()).decode()}"


def _entry(dn: str, *pairs: tuple[str, str]) -> str:
    return "\n".join([_line("dn", dn), *(_line(key, value) for key, value in pairs)]) + "\n"


class LdapWorld:
    """Context manager: a server with people in it, on ports of 127.0.0.1."""

    base_dn, people_dn, groups_dn, reader_dn = BASE_DN, PEOPLE_DN, GROUPS_DN, READER_DN

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> LdapWorld:
        with ExitStack() as stack:
            self.scratch = Scratch("ldap")
            stack.callback(self.scratch.remove)
            self.tls = make_server_cert(self.scratch.path / "tls")
            self.ca_file = self.tls.ca_file
            self.port, self.tls_port = free_port(), free_port()
            self.ldap_url, self.ldaps_url = f"ldap://127.0.0.1:{self.port}", f"ldaps://127.0.0.1:{self.tls_port}"
            self.passwords = {name: secrets.token_urlsafe(12) for name in PEOPLE}
            self.reader_password, self._root_password = secrets.token_urlsafe(12), secrets.token_urlsafe(12)
            self._configure()
            self.start()
            stack.callback(lambda: self.server.kill())
            self._fill()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _configure(self) -> None:
        folder = self.scratch.path
        (folder / "data").mkdir()
        secret = folder / "root.password"
        secret.touch(mode=0o600)
        secret.write_text(self._root_password)
        (folder / "slapd.conf").write_text(CONF.format(folder=folder, tls=self.tls, base=BASE_DN, root=ROOT_DN, reader=READER_DN,
                                                       root_password=self._root_password))
        (folder / "slapd.conf").chmod(0o600)

    def start(self) -> None:
        """Also again, after server.kill()."""
        self.server = Process("slapd", ["/usr/sbin/slapd", "-d", "none", "-f", self.scratch.path / "slapd.conf", "-h",
                                        f"{self.ldap_url} {self.ldaps_url}"], self.scratch.log)
        self.server.wait_until(self._answers, "an answer")

    def _answers(self) -> bool:
        return self._client("ldapwhoami").returncode == 0

    def _client(self, program: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return run([program, "-x", "-H", self.ldaps_url, "-D", ROOT_DN, "-y", self.scratch.path / "root.password", *words], stdin=stdin,
                   env={"LDAPTLS_CACERT": str(self.ca_file)})

    def _must(self, program: str, *words: str, stdin: str = "") -> str:
        done = self._client(program, *words, stdin=stdin)
        if done.returncode:
            raise WorldError(f"{program}: {done.stderr.strip()}")
        return done.stdout

    def _fill(self) -> None:
        entries = [_entry(BASE_DN, ("objectClass", "dcObject"), ("objectClass", "organization"), ("dc", "ldap"), ("o", "Test")),
                   _entry(READER_DN, ("objectClass", "organizationalRole"), ("objectClass", "simpleSecurityObject"), ("cn", "reader"),
                          ("userPassword", self.reader_password))]
        entries += [_entry(dn, ("objectClass", "organizationalUnit"), ("ou", dn.split(",")[0][3:])) for dn in (PEOPLE_DN, GROUPS_DN)]
        for name, (full, surname) in PEOPLE.items():
            mail = full.split()[0].encode("ascii", "ignore").decode() + "@ldap.test"
            entries.append(_entry(person_dn(name), ("objectClass", "inetOrgPerson"), ("cn", full), ("sn", surname), ("uid", name),
                                  ("displayName", full), ("mail", mail), ("userPassword", self.passwords[name])))
        for name in GROUPS:
            entries.append(_entry(group_dn(name), ("objectClass", "groupOfNames"), ("cn", name), *(
                ("member", group_dn(member[1:]) if member[0] == "@" else person_dn(member)) for member in GROUPS[name])))
        self._must("ldapadd", stdin="\n".join(entries))

    def uuid(self, dn: str) -> str:
        """entryUUID."""
        told = self._must("ldapsearch", "-LLL", "-o", "ldif-wrap=no", "-s", "base", "-b", dn, "entryUUID")
        return next(line.split(": ", 1)[1] for line in told.splitlines() if line.startswith("entryUUID: "))

    def member_of(self, name: str) -> list[str]:
        """DNs of the groups that name the person directly, as the server writes them; not for names beyond ASCII."""
        told = self._must("ldapsearch", "-LLL", "-o", "ldif-wrap=no", "-s", "base", "-b", person_dn(name), "memberOf")
        return sorted(line.split(": ", 1)[1] for line in told.splitlines() if line.startswith("memberOf: "))

    # changes while it runs

    def modify(self, dn: str, change: str, attribute: str, *values: str) -> None:
        """`change`: add, delete or replace."""
        lines = [_line("dn", dn), "changetype: modify", f"{change}: {attribute}", *(_line(attribute, value) for value in values), "-"]
        self._must("ldapmodify", stdin="\n".join(lines) + "\n")

    def set_password(self, name: str, password: str) -> None:
        self.modify(person_dn(name), "replace", "userPassword", password)
        self.passwords[name] = password

    def add_member(self, group: str, name: str) -> None:
        self.modify(group_dn(group), "add", "member", person_dn(name))

    def remove_member(self, group: str, name: str) -> None:
        """Not the last one: groupOfNames holds at least one."""
        self.modify(group_dn(group), "delete", "member", person_dn(name))

    def rename(self, dn: str, rdn: str) -> None:
        """The entry keeps its entryUUID."""
        self._must("ldapmodrdn", "-r", dn, rdn)

    def delete(self, dn: str) -> None:
        self._must("ldapdelete", dn)
