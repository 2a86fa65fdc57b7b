"""The packages over an installation from source of the release before, which had no packages, and the way back, by the commands of the
guide; what such an installation leaves in the way; and that removing the packages gives the user of the service nothing.

On a bare Debian with systemd as init. The tests go on where the one before has left the machine: they run in order."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.machine import require
from env.places import TOP, Scratch
from env.process import run
from env.releases import LAST, commits, installed
from place import CURL, Place
from readme import commands, section
from test_packages import INSTALL, depends

README_THEN = run(["git", "-C", TOP, "show", f"{commits()[LAST]}:README.md"]).stdout
SET_UP_THEN = commands(section(README_THEN, "Set up").split("\nPeople of Active Directory")[0])
GUIDE = section((TOP / "docs/admin/upgrade.md").read_text(), "From source to packages, and back")
ROUNDS = 12


class Source(Place):
    """The release before, built from its commit, and set up by its own README.md; our packages are in /packages."""

    def __init__(self, scratch: Scratch, packages: Path) -> None:
        super().__init__(scratch, depends(packages), binds=(f"--bind-ro={packages}:/packages",))

    def make_install(self, prefix: str = "/usr") -> None:
        """Of the release before, as its README.md says for another machine."""
        tree, to = installed(LAST, "/usr") / "usr", self.machine.root / prefix.lstrip("/")
        copied = run(["cp", "-a", f"{tree}/.", to])
        assert copied.returncode == 0, copied.stderr
        if prefix != "/usr":
            unit = to / "lib/systemd/system/kaasd.service"
            unit.write_text(unit.read_text().replace("=/usr/", f"={prefix}/"))
        self.machine.ok("systemd-sysusers && systemctl daemon-reload")

    def step(self, command: str) -> None:
        super().step(command)
        if "enable --now kaasd" in command:
            self.wait_ready()

    def version(self) -> str:
        """Of the kaasd that runs."""
        return re.search(r"^kaasd +(\S+)", self.machine.ok("kaasctl version"), re.M)[1]  # type: ignore[index]

    def check(self) -> None:
        """What people had is there."""
        self.machine.until("kaasctl vcenter list | grep -q connected", "the vCenter, by the certificate of before")
        assert "prod-1" in self.machine.ok("kaasctl cluster list")
        assert "anna" in self.machine.ok("kaasctl grant list --cluster prod-1")
        self.machine.ok("kaasctl audit verify")


@pytest.fixture(scope="module")
def place(packages: Path, scratch: Scratch) -> Iterator[Source]:
    require()
    place = Source(scratch, packages)
    place.make_install()
    place.start_vcenter()
    for command in SET_UP_THEN:
        place.step(command)
    yield place
    place.machine.stop()


@pytest.fixture(scope="module")
def here(packages: Path) -> str:
    (deb,) = packages.glob("kaas-cli_*.deb")
    return run(["dpkg-deb", "--field", deb, "Version"]).stdout.partition("~")[0].strip()


def test_the_packages_take_over(place: Source, here: str) -> None:
    assert place.version() == LAST
    said = place.machine.ok(INSTALL)
    place.wait_ready()
    assert place.version() == here
    assert "kaas-server: an installation from source was here (make install); removed of it:\n" in said
    assert "kaas-server: applying " in said
    assert "kaas-server: kaasd of the installation from source was ended, and that of this version started" in said
    place.check()


def test_nothing_of_the_installation_from_source_is_left(place: Source) -> None:
    files = place.machine.ok("find /usr /lib/systemd -xdev '(' -path '*kaas*' -o -name 'index-*' ')' ! -type d").split()
    ours = set(place.machine.ok("dpkg-query --listfiles kaas-server kaas-cli kaas-ui").split())
    assert [name for name in files if not {name, name.removeprefix("/usr")} & ours and not name.startswith(str(TOP))] == []
    page = place.machine.ok(f"{CURL}/ui/")
    assert all(f"/usr/share/kaas/ui/{name}" in ours for name in re.findall(r'src="\./([a-z]+-[\w-]+\.js)"', page))


def test_every_page_that_the_packages_name_is_there(place: Source) -> None:
    """In messages, configuration, alerts, and in the pages themselves."""
    where = "/usr/share/doc/kaas /usr/sbin/kaasd /usr/bin/kaasctl /etc/kaas/kaasd.yaml /lib/systemd/system/kaas*"
    named = place.machine.ok(rf"grep -aohE '/usr/share/doc/kaas/[A-Za-z][A-Za-z./_-]*[a-z]' -r {where} | sort -u").split()
    assert len(named) > 20
    assert place.machine.run(f"ls -d {' '.join(named)}").stderr == ""


def test_back_to_source_and_to_packages_again(place: Source, here: str) -> None:
    """The release before goes on with the schema of this one."""
    there, back = GUIDE.split("\n**Back.**")
    for command in commands(back):
        if "make install" in command:
            place.make_install()
        elif "db migrate" not in command:  # which an older one has no need of
            place.machine.ok(command.replace("apt-get ", "apt-get --yes "))
    place.wait_ready()
    assert place.version() == LAST
    place.check()
    (command,) = (command for command in commands(there) if "apt-get install" in command)
    place.machine.ok(f"cd /packages && {command.replace('apt-get ', 'apt-get --yes --no-install-recommends ')}")
    place.wait_ready()
    assert place.version() == here
    place.check()


def test_one_in_usr_local_is_named_and_goes_on(place: Source, here: str) -> None:
    place.machine.ok("apt-get remove --yes kaas-server kaas-cli kaas-ui")
    place.make_install("/usr/local")
    place.machine.ok("systemctl start kaasd")
    place.wait_ready()
    said = place.machine.ok(INSTALL)
    assert "an installation from source (make install) in /usr/local hides these packages" in said
    place.wait_ready()
    assert place.version() == LAST
    advice = re.findall(r"^  (\S.*)$", said.split("The packages take over with:\n")[1].split("\nProcessing")[0], re.M)[:4]
    assert [line.split()[0] for line in advice] == ["rm", "systemctl", "/usr/bin/kaasctl", "systemctl"]
    for command in advice:
        place.machine.ok(command)
    place.wait_ready()
    assert place.version() == here
    assert place.machine.ok("find /usr/local -name '*kaas*'") == ""
    place.check()


def test_a_newer_one_from_source_is_not_broken(place: Source) -> None:
    place.machine.ok("apt-get remove --yes kaas-server kaas-cli kaas-ui")
    place.machine.ok("mkdir -p /usr/share/kaas && echo 99 >/usr/share/kaas/schema-release")
    refused = place.machine.run(INSTALL)
    assert refused.returncode != 0
    assert "Nothing was changed" in refused.stdout
    place.machine.ok("rm -r /usr/share/kaas")
    place.machine.ok(f"{INSTALL.replace(' --reinstall', '')} && systemctl start kaasd")
    place.check()


RACER = """
chdir "/var/lib/kaas" or die;
while (1) {
    opendir my $folder, ".";
    for my $name (grep { /^records-left/ && !-l } readdir $folder) { unlink $name; symlink "/srv/secret", $name }
}
"""


def test_the_user_of_the_service_gains_nothing_from_a_removal(place: Source) -> None:
    """A kaasd that was taken over puts links in the place of what root makes in its folder."""
    place.machine.ok("umask 077 && echo of root >/srv/secret")
    (place.machine.root / "racer.pl").write_text(RACER)
    place.machine.ok("systemd-run --unit=racer --uid=kaas perl /racer.pl")
    for _ in range(ROUNDS):
        place.machine.ok("DPKG_MAINTSCRIPT_PACKAGE=kaas-server /var/lib/dpkg/info/kaas-server.prerm remove")
        assert place.machine.ok("stat -c '%a %U' /srv/secret; cat /srv/secret") == "600 root\nof root\n"
    assert "vCenter vc.example.com" in place.machine.ok("cat /etc/kaas/records-left")
    place.machine.ok("systemctl stop racer; rm -f /racer.pl /srv/secret /var/lib/kaas/records-left*; systemctl start kaasd")


def test_a_removal_leaves_no_failed_unit(place: Source) -> None:
    place.machine.ok("systemctl enable --now kaas-backup.timer")
    place.machine.ok("apt-get remove --yes kaas-server")
    assert place.machine.ok("systemctl list-units --failed --plain --no-legend 'kaas*'") == ""
    place.machine.ok(INSTALL)
    assert place.machine.ok("systemctl is-enabled kaas-backup.timer kaasd").split() == ["enabled", "enabled"]
    place.machine.ok("systemctl start kaas-backup.timer")
    place.machine.ok("apt-get purge --yes kaas-server")
    assert place.machine.ok("systemctl list-units --failed --plain --no-legend 'kaas*'; find /etc/systemd -name '*kaas*'") == ""
