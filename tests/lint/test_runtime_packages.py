"""The Debian packages that README.md names for running the programs are those they are linked against: none is missing, none is idle."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
from pathlib import Path

from csource import TOP
from env.places import program

# by libsasl2, when a directory is bound to by keytab; run by kaasctl backup and restore
LOADED = {"libsasl2-modules-gssapi-mit", "mariadb-client"}


def output(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def listed() -> set[str]:
    text = (TOP / "README.md").read_text().split("The programs need:")[1].replace("\\\n", " ")
    found = re.search(r"apt-get install (.+)", text)
    assert found
    return set(found.group(1).split())


def linked() -> set[str]:
    """Packages of the libraries that the programs name themselves."""
    needed = {name for one in ("kaasd", "kaasctl") for name in re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "-d", program(one)))}
    paths = {name: path for name, path in re.findall(r"^\s+(\S+) \(libc6,x86-64.*=> (\S+)$", output("/sbin/ldconfig", "-p"), re.M)}
    return {owner(Path(paths[name]).resolve()) for name in needed}


def owner(file: Path) -> str:
    """dpkg knows some files by the name they had before /lib became a link to /usr/lib."""
    names = [str(file), str(file).removeprefix("/usr"), f"/usr{file}"]
    known = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, check=False).stdout
    assert known, f"{file} is of no package"
    return re.split(r"[:,\s]", known)[0]


def is_installed(package: str) -> bool:
    return subprocess.run(["dpkg-query", "-W", package], capture_output=True, check=False).returncode == 0


def brought(packages: set[str]) -> set[str]:
    """The packages and all they depend on."""
    fresh, done = set(packages), set[str]()
    while fresh:
        done |= fresh
        text = output("dpkg-query", "-W", "-f", "${Depends}, ${Pre-Depends}\n", *fresh)
        names = {re.split(r"[ (:]", part.strip())[0] for part in re.split(r"[,|\n]", text)} - {""}
        fresh = {name for name in names - done if is_installed(name)}
    return done


def everywhere() -> set[str]:
    """What no Debian is without."""
    rows = output("dpkg-query", "-W", "-f", "${Package} ${Essential} ${Protected}\n").splitlines()
    return {row.split()[0] for row in rows if "yes" in row.split()[1:]}


def test_no_package_is_missing() -> None:
    assert not linked() - brought(listed() | everywhere())


def test_no_package_is_idle() -> None:
    assert listed() <= linked() | LOADED


def first_part() -> set[str]:
    """The build, of scripts/packages.txt."""
    part = (TOP / "scripts/packages.txt").read_text().split("# build\n")[1].split("\n\n")[0]
    return {line.split()[0] for line in part.splitlines()}


def test_the_debian_packages_are_built_with_what_the_others_are() -> None:
    fields = (TOP / "debian/control").read_text().split("Build-Depends:\n")[1].split("Standards-Version")[0]
    named = {re.split(r"[ ,(]", line.strip())[0] for line in fields.splitlines()} - {"debhelper-compat", "dh-sequence-installsysusers"}
    brought_by_debhelper = {"autoconf", "automake", "make", "gcc", "libc6-dev"}  # build-essential and dh-autoreconf
    assert first_part() - brought_by_debhelper - {"ca-certificates", *LOADED} == named
