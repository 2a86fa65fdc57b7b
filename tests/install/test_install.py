"""From the source package to a service that starts at boot, by the commands of README.md, on a bare Debian with systemd as init.

It has the packages that README.md names and no others. `make check` is left out, which is the suite distcheck. The tests go on where
the one before has left the machine: they run in order."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.certs import make_server_cert
from env.machine import bare_root, require
from env.places import CACHE, TOP, USERS_BUILD, Scratch, WorldError
from env.process import run
from env.wait import until
from place import CURL, README, STEPS, Place, named
from readme import commands, section

TREE = "/usr/src/harmony-kaas"
CONFIG = "/etc/kaas/kaasd.yaml"
BUILD_LIMIT_S = 1800.0
USAGE, BAD_CONFIG = 2, 78


class Built(Place):
    """The source package, unpacked and built."""

    def __init__(self, scratch: Scratch) -> None:
        self.build = commands(section(README, "Build and install from source"))
        super().__init__(scratch, [*named(self.build[0]), "ccache"], binds=(f"--bind={CACHE}/ccache:/ccache",))

    def make(self) -> None:
        made = run(["make", "-C", USERS_BUILD, "distdir", f"distdir={self.machine.root}{TREE}"], limit_s=BUILD_LIMIT_S)
        if made.returncode:
            raise WorldError(f"make distdir failed:\n{made.stdout[-2000:]}{made.stderr[-2000:]}")
        _packages, _page, configure, build = self.build[:4]  # the package carries the page built
        make, check, install = build.split(" && ")
        assert (make, check, install) == ("make", "make check", "sudo make install")
        quick = f"export CC='ccache gcc' CCACHE_DIR=/ccache CCACHE_BASEDIR={TREE} CCACHE_NOHASHDIR=yes MAKEFLAGS=-j{os.cpu_count()}"
        self.machine.ok(f"{quick}; cd {TREE} && {configure} && {make}", limit_s=BUILD_LIMIT_S)


@pytest.fixture(scope="module")
def built(scratch: Scratch) -> Iterator[Built]:
    """Nothing is installed yet."""
    require()
    place = Built(scratch)
    place.make()
    yield place
    place.machine.stop()


@pytest.fixture(scope="module")
def place(built: Built) -> Built:
    """Everything that README.md says is done."""
    built.machine.ok(f"cd {TREE}/build && sudo make install")
    built.start_vcenter()
    for command in STEPS:
        built.step(command)
    return built


def test_without_the_user_of_the_service_nothing_is_made(built: Built) -> None:
    result = built.machine.run(f"{TREE}/build/src/cli/kaasctl init --public-url https://kaas.example.com:8443")
    assert result.returncode == USAGE, result.stdout + result.stderr
    assert "there is no user kaas" in result.stderr
    assert "systemd-sysusers" in result.stderr
    assert built.machine.run("test -e /etc/kaas").returncode != 0


def test_the_service_runs_and_starts_at_boot(place: Built) -> None:
    assert place.machine.ok("systemctl is-active kaasd; systemctl is-enabled kaasd").split() == ["active", "enabled"]
    assert "connected" in place.machine.ok("kaasctl vcenter list")
    place.machine.reboot()
    place.machine.until("systemctl is-active --quiet kaasd", "the service after a reboot")
    place.wait_ready()
    assert place.machine.ok("kaasctl cluster list").count("prod-1") == 1


def test_anybody_on_the_host_can_check_the_certificate_and_sees_the_page(place: Built) -> None:
    page = place.machine.ok(f"runuser -u nobody -- {CURL}/ui/")
    script = re.search(r'src="\./([a-z]+-[\w-]+\.js)"', page)
    assert script, page
    assert place.machine.ok(f"{CURL}/ui/{script.group(1)}")


def test_owners_and_modes_are_those_of_the_guide(place: Built) -> None:
    rows = re.findall(r"^\| `(/\S+)` \| (\w+:\w+) (\d+) \|", section(place.guide, "What is where, and whose"), re.M)
    assert len(rows) >= 6
    found = place.machine.ok(f"stat --format '%n %U:%G %04a' {' '.join(path for path, _, _ in rows)}").splitlines()
    assert found == [f"{path} {owner} {mode}" for path, owner, mode in rows]


def test_the_service_cannot_change_its_configuration(place: Built) -> None:
    for path in (CONFIG, "/etc/kaas/new"):
        assert place.machine.run(f"runuser -u kaas -- sh -c 'echo >>{path}'").returncode != 0


def test_init_again_mends_owners_and_modes(place: Built) -> None:
    place.machine.ok("chown root:root /etc/kaas/master.key")
    refused = place.machine.run("kaasd --check-config")
    assert refused.returncode == BAD_CONFIG
    assert "/etc/kaas/master.key: Permission denied; the user kaas must be able to read it" in refused.stderr
    place.machine.ok("chown -R root:root /etc/kaas && chmod 0755 /etc/kaas")
    refused = place.machine.run("kaasd --check-config")
    assert refused.returncode == BAD_CONFIG
    assert f"cannot open {CONFIG}: Permission denied; the user kaas must be able to read it" in refused.stderr
    said = place.machine.ok("kaasctl init")
    assert said.count("owner and mode mended") == 2
    test_owners_and_modes_are_those_of_the_guide(place)
    assert "checked as user kaas" in place.machine.ok("kaasd --check-config")
    assert "mended" not in place.machine.ok("kaasctl init")


def test_a_reload_that_fails_is_seen(place: Built) -> None:
    serving = place.state("MainPID")
    good = (place.machine.root / "etc/kaas/kaasd.yaml").read_bytes()
    other = make_server_cert(Path(place.machine.root, "usr/src/other")).key_file.read_bytes()
    for path, new, why in ((CONFIG, good + b"log: {level: loud}\n", "log.level"),
                           ("/var/lib/kaas/server.key", other, "private key does not belong to its certificate")):
        with place.changed(path, new):
            assert place.machine.run("systemctl reload kaasd").returncode != 0
            assert why in place.machine.journal()
            assert "status=78" in place.machine.run("systemctl status --no-pager kaasd").stdout
            until(lambda why=why: re.search(f"^reload +warning .*{why}", place.health(), re.M), f"{why} in health")
        place.machine.ok("systemctl reload kaasd")
        until(lambda: re.search("^start +ok ", told := place.health(), re.M) and "reload" not in told, "a good reload in health")
    assert (place.state("MainPID"), place.state("ActiveState")) == (serving, "active")


def test_a_configuration_that_is_not_valid_ends_the_service_for_good(place: Built) -> None:
    good = (place.machine.root / "etc/kaas/kaasd.yaml").read_bytes()
    with place.changed(CONFIG, good + b"nonsense: true\nmore: nonsense\n"):
        assert place.machine.run("systemctl restart kaasd").returncode != 0
        assert [place.state(name) for name in ("ActiveState", "SubState", "ExecMainStatus", "NRestarts")] == ["failed", "failed", "78", "0"]
        told = place.machine.journal()
        assert 'unknown key "nonsense"' in told
        assert 'unknown key "more"' in told
    place.machine.ok("systemctl start kaasd")
    place.wait_ready()


def test_a_service_that_ends_again_and_again_is_given_up(place: Built) -> None:
    place.machine.until('systemctl kill --signal=KILL kaasd; test "$(systemctl show --property ActiveState --value kaasd)" = failed',
                        "the end of restarts")
    assert place.state("Result") in ("start-limit-hit", "signal")
    place.machine.ok("systemctl reset-failed kaasd && systemctl start kaasd")
    place.wait_ready()


def test_no_new_master_key_is_made_in_the_place_of_a_lost_one(place: Built) -> None:
    held = place.machine.ok("kaasctl key master")
    place.machine.ok("systemctl stop kaasd && mv /etc/kaas/master.key /usr/src/copy")
    result = place.machine.run("kaasctl init")
    assert result.returncode == 1
    missing = re.search(r"sealed by master key (\w+)", result.stderr)
    assert missing, result.stderr
    assert missing.group(1) in held
    assert place.machine.run("test -e /etc/kaas/master.key").returncode != 0
    for command in commands(section(place.guide, "If the master key is lost")):
        place.machine.ok(command.replace(" COPY ", " /usr/src/copy "))
    place.wait_ready()


def test_the_programs_need_no_other_packages_than_those_named(place: Built, scratch: Scratch) -> None:
    """On a machine that only runs them."""
    root = scratch.path / "runtime"
    copied = run(["cp", "-a", bare_root(named(place.build[4])), root])
    assert copied.returncode == 0, copied.stderr
    for program in ("usr/sbin/kaasd", "usr/bin/kaasctl"):
        (root / program).write_bytes((place.machine.root / program).read_bytes())
        (root / program).chmod(0o755)
        result = run(["chroot", root, f"/{program}", "--version"])
        assert result.returncode == 0, result.stderr


def test_removing_all_of_it_leaves_nothing(place: Built) -> None:
    place.rejoin()
    place.remove_all({"apt-get purge": f"cd {TREE}/build && sudo make uninstall && sudo systemctl daemon-reload"})  # as it says below them
    left = place.machine.ok("find / -xdev -iname '*kaas*'").split()
    assert [path for path in left if path != str(TOP) and not path.startswith(("/usr/src/", "/run/systemd/", f"{TOP}/"))] == []
    sql = "SELECT User FROM mysql.user WHERE User LIKE 'kaas%'; SHOW DATABASES LIKE 'kaas'"
    assert place.machine.ok("mariadb --batch --skip-column-names", stdin=sql) == ""
