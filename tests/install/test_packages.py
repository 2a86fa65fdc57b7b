"""The packages: what they hold, that anybody makes the same ones, and the commands of README.md on a bare Debian with systemd as init.

The tests on the machine go on where the one before has left it: they run in order."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from env import hx_client
from env.certs import make_issued_cert
from env.machine import require
from env.places import CACHE, TOP, Scratch
from env.process import run
from env.schema import LAST, undo_of
from packaged import LIMIT_S, make
from place import CURL, PASSWORD, STEPS, URL, Place, named
from readme import commands, section

PACKAGES = ("kaas-server", "kaas-cli", "kaas-ui")


def sums(folder: Path) -> dict[str, str]:
    return {f"{file.relative_to(folder)}": hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.rglob("*") if file.is_file()}


def deb(folder: Path, package: str) -> Path:
    (found,) = folder.glob(f"{package}_*.deb")
    return found


def depends(packages: Path) -> list[str]:
    """The packages of Debian that ours need."""
    told = "".join(run(["dpkg-deb", "--field", deb(packages, name), "Depends"]).stdout.replace("\n", ", ") for name in PACKAGES)
    return sorted({re.split(r"[ (|]", part.strip())[0] for part in told.split(",")} - {"", *PACKAGES})


@pytest.fixture(scope="module")
def elsewhere(packages: Path, scratch: Scratch) -> Path:
    """Another clone of the commit."""
    folder = scratch.path / "elsewhere-with-a-longer-name"
    assert run(["git", "clone", "--quiet", TOP, folder]).returncode == 0
    return folder


def test_another_place_time_zone_and_user_make_the_same_bytes(packages: Path, elsewhere: Path) -> None:
    """The compiler works anew: what is kept of it would be the same by itself."""
    os.umask(0o077)
    try:
        other = make(elsewhere, TZ="Asia/Tokyo", LC_ALL="C", HOME=f"{elsewhere.parent}", CCACHE_DISABLE="1", KAAS_CACHE=f"{CACHE}")
    finally:
        os.umask(0o022)
    assert sums(other) == sums(packages)


def key(folder: Path, algorithm: str) -> Path:
    file = folder / f"{algorithm}.pem"
    assert run(["openssl", "genpkey", "-algorithm", algorithm, "-out", file]).returncode == 0
    return file


def test_a_release_is_dated_and_signed(packages: Path, elsewhere: Path, scratch: Scratch) -> None:
    program, good = elsewhere / "scripts/package", key(scratch.path, "ed25519")
    for arguments, remedy in ((["--release"], "name the private key"),
                              (["--release", "--key", key(scratch.path, "rsa")], "no private Ed25519 key"),
                              (["--release", "--key", good], "its section of CHANGELOG.md has no date")):
        refused = run([program, *arguments])
        assert refused.returncode == 1
        assert remedy in refused.stderr
    changes = elsewhere / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("(unreleased)", "(2030-01-01)"))
    assert "changes that are not committed" in run([program, "--release", "--key", good]).stderr
    git = ["git", "-C", elsewhere, "-c", "user.name=r", "-c", "user.email=r@localhost"]
    assert run([*git, "commit", "--quiet", "--all", "--message", "release"]).returncode == 0
    made = run([program, "--release", "--key", good, "deb"], limit_s=LIMIT_S, env={"KAAS_CACHE": f"{CACHE}"})
    assert made.returncode == 0, made.stdout + made.stderr
    check_release(elsewhere / "build/packages", scratch.path, good)
    older, newer = (run(["dpkg-deb", "--field", deb(folder, "kaas-server"), "Version"]).stdout.strip()
                    for folder in (packages, elsewhere / "build/packages"))
    assert run(["dpkg", "--compare-versions", older, "lt", newer]).returncode == 0
    assert "~" not in newer


def check_release(folder: Path, scratch: Path, private: Path) -> None:
    """By the commands of the guide."""
    assert run(["openssl", "pkey", "-in", private, "-pubout", "-out", scratch / "harmony-kaas.pub"]).returncode == 0
    checks = commands(section((TOP / "docs/admin/install.md").read_text(), "The packages"))
    assert len(checks) == 2
    for command in checks:
        told = run(["bash", "-c", f"cd {folder} && {command.replace('harmony-kaas.pub', f'{scratch}/harmony-kaas.pub')}"])
        assert told.returncode == 0, told.stdout + told.stderr
    checked = run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", scratch / "harmony-kaas.pub", "-rawin",
                   "-in", folder / "release.json", "-sigfile", folder / "release.json.sig"])
    assert checked.returncode == 0, checked.stderr
    assert json.loads((folder / "release.json").read_text())["released_at"] < "2100"
    (bill,) = folder.glob("*-sbom.json")
    assert f"{bill.name}: OK" in told.stdout
    parts = {part["name"]: part for part in json.loads(bill.read_text())["components"]}
    assert {*PACKAGES, *depends(folder), "lit"} <= set(parts)
    files = sums(folder)
    for name in PACKAGES:
        assert parts[name]["hashes"][0]["content"] == files[deb(folder, name).name]


def test_no_script_does_anything_by_name_in_a_folder_of_the_service(packages: Path, scratch: Scratch) -> None:
    """But for rm -r, which follows no link: whatever root makes there, the user of the service can put a link in its place."""
    for name in PACKAGES:
        assert run(["dpkg-deb", "--control", deb(packages, name), scratch.path / f"control-{name}"]).returncode == 0
        for script in (scratch.path / f"control-{name}").glob("p*"):
            lines = [line.strip() for line in script.read_text().splitlines() if re.search(r"/(var/lib|run)/kaas(?![\w-])", line)]
            assert set(lines) <= {"rm -rf /var/lib/kaas/* /var/lib/kaas"}, script.name


def test_each_file_is_in_one_package_and_belongs_to_root(packages: Path) -> None:
    seen: dict[str, str] = {}
    for name in PACKAGES:
        for line in run(["dpkg-deb", "--contents", deb(packages, name)]).stdout.splitlines():
            mode, owner, _size, _day, _time, path = line.split(maxsplit=5)
            assert owner == "root/root", line
            assert mode in ("drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"), line
            assert mode.startswith("d") or path not in seen, f"{path} is in {name} and {seen[path]}"
            seen[path] = name
    unit = "lib/systemd/system/kaasd.service"
    assert {seen[f"./{path}"] for path in ("usr/sbin/kaasd", unit, "usr/share/man/man8/kaasd.8.gz")} == {"kaas-server"}
    assert {seen[f"./{path}"] for path in ("usr/bin/kaasctl", "usr/share/man/man1/kaasctl.1.gz")} == {"kaas-cli"}
    assert seen["./usr/share/kaas/ui/index.html"] == "kaas-ui"


class Packaged(Place):
    """With what the packages depend on, as there is no network in it; ours are in /packages."""

    def __init__(self, scratch: Scratch, packages: Path) -> None:
        super().__init__(scratch, depends(packages), binds=(f"--bind-ro={packages}:/packages",))

    def step(self, command: str) -> None:
        if "./kaas-" in command:
            self.machine.ok(f"cd /packages && {command.replace('apt-get install', 'apt-get install --yes --no-install-recommends')}")
        else:
            super().step(command)


@pytest.fixture(scope="module")
def place(packages: Path, scratch: Scratch) -> Iterator[Packaged]:
    """Everything that README.md says is done."""
    require()
    place = Packaged(scratch, packages)
    place.start_vcenter()
    for command in STEPS:
        place.step(command)
    yield place
    place.machine.stop()


def test_three_commands_lead_to_a_running_service() -> None:
    assert [named(command) for command in STEPS[:1]] == [["mariadb-server"]]
    assert STEPS[1].startswith("sudo kaasctl init")
    assert STEPS[2] == "sudo systemctl enable --now kaasd"


def test_a_certificate_of_the_company(place: Packaged, scratch: Scratch) -> None:
    """Root, issuing CA and leaf, put in place by the guide: trusted by the root alone, and a program of HX finds and trusts the service."""
    cert, issuer = make_issued_cert(scratch.path / "company", host="kaas.example.com")
    config = place.machine.ok("cat /etc/kaas/kaasd.yaml")
    for name, text in (("server.pem", cert.cert_file.read_text() + issuer), ("server.key", cert.key_file.read_text()),
                       ("root.pem", cert.ca_file.read_text())):
        (place.machine.root / "media" / name).write_text(text)
    mine = r"\n".join(("  tls_certificate: /etc/kaas/server.pem", "  tls_key: /etc/kaas/server.key"))
    place.machine.ok(rf"sed -i '/^server:/a\{mine}' /etc/kaas/kaasd.yaml")
    for command in commands(section(place.guide, "The server certificate")):
        place.machine.ok(f"cd /media && {command}")
    as_named = "kaasctl doctor --vcenter vc.example.com | grep 'shows the certificate that the record at the vCenter names'"
    place.machine.until(f"kaasctl health && {as_named}", "the record of the new certificate")
    place.machine.ok(f"curl --silent --fail --cacert /media/root.pem {URL}/readyz")
    vcenter = json.loads(place.machine.ok("cat /run/vcenter.json"))
    asked = place.machine.run_beside(
        "unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', place.machine.root / "etc/hosts", sys.executable,
        hx_client.PROGRAM, "--vcenter", "vc.example.com", "--sha256", vcenter["thumbprint_sha256"], "--user", place.administrator.login,
        "DC0/HX-East", stdin=f"{place.administrator.password}\n")
    assert hx_client.names(asked.stdout) == ["prod-1"], asked.stderr
    (place.machine.root / "etc/kaas/kaasd.yaml").write_text(config)
    place.machine.ok("systemctl restart kaasd && rm /etc/kaas/server.pem /etc/kaas/server.key")
    place.machine.until(as_named, "the record of the certificate of before")


def test_all_is_well_as_soon_as_it_is_started(place: Packaged) -> None:
    place.machine.ok("systemctl disable --now kaasd")
    for _ in range(3):
        place.machine.ok("systemctl enable --now kaasd && kaasctl health && systemctl stop kaasd")
    place.machine.ok("systemctl start kaasd && kaasctl health")


def test_the_service_runs_shows_the_cluster_and_starts_at_boot(place: Packaged) -> None:
    assert place.machine.ok("systemctl is-active kaasd; systemctl is-enabled kaasd").split() == ["active", "enabled"]
    assert "connected" in place.machine.ok("kaasctl vcenter list")
    assert "script" in place.machine.ok(f"{CURL}/ui/")
    place.machine.reboot()
    place.machine.until("systemctl is-active --quiet kaasd", "the service after a reboot")
    place.wait_ready()
    assert place.machine.ok("kaasctl cluster list").count("prod-1") == 1


def visit(place: Packaged, scratch: Scratch, name: str) -> None:
    """The administrator signs in by a browser and sees the cluster."""
    seen = place.machine.run_beside(sys.executable, TOP / "tests/install/visit.py", scratch.path / name, "https://127.0.0.1:8443",
                                    "admin", "prod-1", stdin=f"{PASSWORD}\n", env={"PYTHONPATH": f"{TOP / 'tests'}"})
    assert seen.returncode == 0, seen.stderr[-3000:]


def test_the_first_administrator_sees_the_cluster_in_a_browser(place: Packaged, scratch: Scratch) -> None:
    visit(place, scratch, "first")


def test_a_backup_by_the_timer(place: Packaged) -> None:
    """The unit has all rights that it needs, and no more are asked for; README.md has made a backup before."""
    assert place.machine.ok("systemctl is-enabled kaas-backup.timer || true").strip() == "disabled"
    place.machine.ok("systemctl enable --now kaas-backup.timer")
    assert "kaas-backup.service" in place.machine.ok("systemctl list-timers --all kaas-backup.timer")
    before = set(place.machine.ok("ls /var/backups/kaas").split())
    place.machine.ok("systemctl start kaas-backup.service")
    (new,) = set(place.machine.ok("ls /var/backups/kaas").split()) - before
    assert "audit log      unbroken" in place.machine.ok(f"kaasctl backup --verify /var/backups/kaas/{new}")


def test_the_host_is_lost_and_comes_back(place: Packaged, scratch: Scratch) -> None:
    """By the guide: from a backup and the master key, with the owners and modes of before."""
    owners = "stat -c '%n %U:%G %a' /etc/kaas /etc/kaas/* /var/lib/kaas /var/lib/kaas/server.*"
    before, clusters = place.machine.ok(owners), place.machine.ok("kaasctl cluster list")
    place.machine.ok("install -D -m 0600 /etc/kaas/master.key /media/safe/kaas-master.key && systemctl stop kaasd")
    place.machine.ok('mariadb -e "DROP DATABASE kaas; DROP USER kaas@localhost, kaas_owner@localhost" && rm -r /etc/kaas /var/lib/kaas')
    guide = (TOP / "docs/admin/backup.md").read_text()
    (newest,) = place.machine.ok("ls -t /var/backups/kaas/* | head -1").split()
    for command in commands(section(guide, "Putting one back")):
        told = place.machine.run(command.replace(" FILE ", f" {newest} "))
        assert told.returncode == 0 or "health" in command, told.stderr  # which has a word about the vCenter, gone with the reboot above
        if "enable" in command:
            place.wait_ready()
    assert place.machine.ok(owners) == before
    assert place.machine.ok("kaasctl cluster list") == clusters
    place.machine.ok("rm -r /media/safe")
    visit(place, scratch, "again")


def test_the_same_packages_again_start_it_anew_and_keep_everything(place: Packaged) -> None:
    before = place.state("MainPID")
    place.machine.ok("cd /packages && apt-get install --yes --reinstall --no-install-recommends ./kaas-*.deb")
    place.wait_ready()
    assert place.state("MainPID") != before
    assert place.machine.ok("kaasctl cluster list").count("prod-1") == 1


INSTALL = "cd /packages && apt-get install --yes --reinstall --no-install-recommends ./kaas-*.deb 2>&1"


def test_an_upgrade_brings_the_schema_up_to_date(place: Packaged) -> None:
    """From one that lacks the last file, as if the release before were installed."""
    place.machine.ok("mariadb kaas", stdin=f"DELETE FROM schema_migrations WHERE file = '{LAST}'; {undo_of(LAST)};")
    said = place.machine.ok(INSTALL)
    assert f"kaas-server: applying {LAST}" in said
    place.wait_ready()


def test_without_the_database_the_packages_are_installed_and_say_what_to_run(place: Packaged) -> None:
    place.machine.ok("systemctl mask --runtime --now mariadb")  # kaasd wants it, which would start it again
    said = place.machine.ok(INSTALL)
    assert "could not be brought up to this version" in said
    assert "kaasctl db migrate" in said
    place.machine.ok("systemctl unmask --runtime mariadb && systemctl start mariadb")
    place.wait_ready()


def test_a_host_without_the_owners_password_can_be_the_second(place: Packaged) -> None:
    """The schema was brought up to date by another one: there is nothing to say."""
    place.machine.ok("mv /etc/kaas/database-owner.password /etc/kaas/kept")
    assert "could not be brought up" not in place.machine.ok(INSTALL)
    place.machine.ok("mv /etc/kaas/kept /etc/kaas/database-owner.password")
    place.wait_ready()


def newer(packages: Path, folder: Path) -> Path:
    """Packages of a version to come, whose schema is two releases ahead; the programs are the same."""
    folder.mkdir()
    for name in ("kaas-server", "kaas-cli"):
        tree = folder / name
        assert run(["dpkg-deb", "--raw-extract", deb(packages, name), tree]).returncode == 0
        control = tree / "DEBIAN/control"
        here = re.findall(r"^Version: (.*)$", control.read_text(), re.M)[0]
        control.write_text(control.read_text().replace(here, "99.0"))
        mark = tree / "usr/share/kaas/schema-release"
        if mark.exists():
            mark.write_text(f"{int(mark.read_text()) + 2}\n")
        assert run(["dpkg-deb", "--root-owner-group", "--build", tree, folder / f"{name}_99.0.deb"]).returncode == 0
    return folder


def test_an_older_version_is_refused_before_it_breaks_what_runs(place: Packaged, packages: Path) -> None:
    place.rejoin()
    newer(packages, place.machine.root / "newer")
    place.machine.ok("apt-get install --yes --no-install-recommends /newer/kaas-*.deb")
    place.wait_ready()
    refused = place.machine.run(f"{INSTALL} --allow-downgrades")
    assert refused.returncode != 0
    assert "Nothing was changed. The way back is a backup of the database" in " ".join(refused.stdout.split())
    assert place.machine.ok("dpkg-query --show --showformat='${Version} ${db:Status-Status}' kaas-server") == "99.0 installed"
    place.wait_ready()
    assert place.machine.ok("kaasctl cluster list").count("prod-1") == 1


def test_purging_warns_of_records_that_stand_and_keeps_what_backups_need(place: Packaged) -> None:
    """While kaasd does not run. What is kept is enough to go on with another version."""
    place.machine.ok("systemctl disable --now kaasd")
    said = place.machine.ok("apt-get purge --yes kaas-server kaas-cli 2>&1")
    assert said.count("WARNING: records of this installation stand elsewhere:\nvCenter vc.example.com, extension com.cisco.kaas\n") == 2
    assert "kept, since backups of the database cannot be read without the master key in it: /etc/kaas" in said
    place.machine.ok("test -s /etc/kaas/master.key && test ! -e /var/lib/kaas")
    place.machine.ok(INSTALL)
    place.machine.ok("systemctl enable --now kaasd")
    place.wait_ready()
    assert place.machine.ok("kaasctl cluster list").count("prod-1") == 1


def test_removing_all_of_it_leaves_nothing(place: Packaged) -> None:
    place.remove_all({"apt-get purge": "apt-get purge --yes kaas-server kaas-cli kaas-ui"})
    shutil.rmtree(place.machine.root / "newer")
    left = place.machine.ok("find / -xdev -iname '*kaas*'").split()
    assert [path for path in left if path != str(TOP) and not path.startswith(("/run/systemd/", f"{TOP}/"))] == []
    sql = "SELECT User FROM mysql.user WHERE User LIKE 'kaas%'; SHOW DATABASES LIKE 'kaas'"
    assert place.machine.ok("mariadb --batch --skip-column-names", stdin=sql) == ""
