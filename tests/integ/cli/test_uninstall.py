"""kaasctl uninstall: what it takes back at vCenters and HX clusters, what it leaves, and where it stops. The tests go on where the one
before has left the world."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from env import vimclient
from env.api import Api
from env.certs import make_server_cert
from env.full import EXTENSION_KEY, World, add_vcenter, register
from env.places import program
from env.process import run
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from hx import HxConnect

pytestmark = pytest.mark.slow

PASSWORD = "S3cret of HX"
HOST = "127.0.0.1"  # the name of the first vCenter


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("u", options={"hx": {"read_interval": "0s", "call_timeout": "5s"}}) as made:
        made.join()
        yield made


@pytest.fixture(scope="module")
def second(world: World) -> Iterator[StrictVcenter]:
    """Another vCenter that kaasd is registered with."""
    described = json.loads(DEFAULT_WORLD.read_text())
    described["instance_uuid"] = "a2220000-0000-4000-8000-00000000000b"
    file = world.scratch.path / "second-world.json"
    file.write_text(json.dumps(described))
    vcenter = start_strict(world.scratch, "second", world=file)
    add_vcenter(world.kaasd, vcenter, "--name", "second")
    register(world.kaasd, vcenter)
    yield vcenter
    vcenter.stop()


@pytest.fixture(scope="module")
def hx(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HxConnect]:
    """It was told where KaaS is."""
    cert = make_server_cert(tmp_path_factory.mktemp("hx"))
    with HxConnect(cert.cert_file, cert.key_file, "HX-East", "9004183636114227531:5445300663653806560", "DC0", "HX-East") as made:
        made.accounts["admin"] = PASSWORD
        made.registrations.demand("token")
        admin = world.admin
        east = next(one["id"] for one in admin.items("/v2/hx-clusters") if one["vsphere_cluster"]["moref"] == "domain-c7")
        body = {"address": "127.0.0.1", "port": made.port, "user_name": "admin", "password": PASSWORD, "thumbprint_sha256": cert.sha256}
        admin.expect(201, "PUT", f"/v2/hx-clusters/{east}/connection", json=body)
        admin.expect(200, "POST", f"/v2/hx-clusters/{east}/publication")
        yield made


def has_record(vcenter: StrictVcenter) -> bool:
    return vimclient.read_extension(vcenter, EXTENSION_KEY) is not None


def works(session: Api) -> bool:
    return session.call("GET", "/v2/whoami").status_code == 200


def uninstall(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    """With an account of the vCenters: that of the extension may not unregister there."""
    who = world.vcenter.admin
    return world.kaasd.ctl.run("uninstall", "--user", who.login, "--password-file", "-", *words, stdin=f"{who.password}\n")


def records(world: World) -> list[str]:
    return world.kaasd.ctl.ok("uninstall", "--records").splitlines()


def test_it_is_a_matter_of_this_host(world: World) -> None:
    refused = run([program("kaasctl"), "uninstall", "--server", world.kaasd.url])
    assert (refused.returncode, "without --server" in refused.stderr) == (2, True)


def test_what_stands_is_known_without_kaasd(world: World, second: StrictVcenter) -> None:
    assert records(world) == [f"vCenter {HOST}, extension {EXTENSION_KEY}",
                              f"vCenter second, extension {EXTENSION_KEY}"]
    world.kaasd.stop()
    try:
        assert len(records(world)) == 2
        refused = world.kaasd.ctl.run("uninstall", "--yes")
        assert (refused.returncode, "kaasd" in refused.stderr) == (3, True)
    finally:
        world.kaasd.start()


def test_a_dry_run_names_each_step_and_changes_nothing(world: World, second: StrictVcenter, hx: HxConnect) -> None:
    session = world.kaasd.admin()
    dry = uninstall(world, "--dry-run", "--yes", "--drop-database", "--database-admin", "root")
    assert dry.returncode == 0, dry.stderr
    said = dry.stdout
    assert said.startswith("Dry run: nothing is changed")
    for line in (f"vCenter {HOST}:\n  1. ", "vCenter second:\n  1. ", EXTENSION_KEY, "HX cluster HX-East: withdraw",
                 "sessions: end ", "database: drop kaas and the accounts kaas and kaas_owner"):
        assert line in said
    plan = json.loads(uninstall(world, "--dry-run", "--output", "json").stdout)
    assert (len(plan["vcenters"]), len(plan["hx_clusters"]), plan["drop_database"]) == (2, 1, False)
    assert plan["sessions"] >= 1
    assert all(EXTENSION_KEY in " ".join(vcenter["steps"]) for vcenter in plan["vcenters"])
    assert has_record(world.vcenter)
    assert has_record(second)
    assert hx.registrations.kept
    assert works(session)
    assert world.db.query("SHOW DATABASES LIKE 'kaas'")


def test_without_an_account_a_missing_privilege_is_named(world: World, second: StrictVcenter) -> None:
    refused = world.kaasd.ctl.run("uninstall", "--yes")
    assert refused.returncode == 1
    assert "lacks the privilege Extension.Unregister" in refused.stderr
    assert "--user" in refused.stderr
    assert has_record(world.vcenter)


def test_each_vcenter_may_have_an_account_of_its_own(world: World, second: StrictVcenter) -> None:
    who = world.vcenter.admin
    file = world.scratch.path / "second=password"
    file.write_text(who.password + "\n")
    file.chmod(0o600)
    of_second = ("uninstall", "--dry-run", "--user", f"second={who.login}", "--password-file", f"second={file}")
    refused = world.kaasd.ctl.run(*of_second)  # by our own login at the other
    assert f"at 1 of 2 vCenters it is not possible, nothing was changed: {HOST}: " in refused.stderr
    stdin = f"{who.password}\n"
    assert world.kaasd.ctl.run(*of_second, "--user", f"{HOST}={who.login}", "--password-file", f"{HOST}=-", stdin=stdin).returncode == 0
    assert world.kaasd.ctl.run(*of_second, "--user", who.login, "--password-file", "-", stdin=stdin).returncode == 0
    assert world.kaasd.ctl.run("uninstall", "--dry-run", "--user", who.login, "--password-file", str(file)).returncode == 0
    for words, said in {("--user", "secnd=x"): "there is no vCenter secnd", ("--user", "second=x"): "two accounts for second"}.items():
        wrong = world.kaasd.ctl.run(*of_second, *words, "--password-file", f"secnd={file}")
        assert (wrong.returncode, said in wrong.stderr) == (2, True), wrong.stderr


def test_it_asks(world: World) -> None:
    refused = uninstall(world)
    assert (refused.returncode, "--yes" in refused.stderr) == (6, True)
    assert has_record(world.vcenter)


def test_a_vcenter_that_cannot_be_asked_stops_it_before_anything_is_destroyed(world: World, second: StrictVcenter, hx: HxConnect) -> None:
    session = world.kaasd.admin()
    second.control.close_port()
    try:
        for way in ("--yes", "--dry-run"):
            refused = uninstall(world, way, "--drop-database", "--database-admin", "root")
            assert refused.returncode == 1
            assert "at 1 of 2 vCenters it is not possible, nothing was changed: second: " in refused.stderr
            assert "--force" in refused.stderr
            assert "vCenter second: NOT POSSIBLE" in refused.stdout
    finally:
        second.control.open_port()
    assert has_record(world.vcenter)
    assert hx.registrations.kept
    assert works(session)


def test_a_database_administrator_who_is_none_stops_it_as_well(world: World) -> None:
    refused = uninstall(world, "--yes", "--drop-database", "--database-admin", "nobody-there")
    assert (refused.returncode, "database administrator" in refused.stderr) == (3, True)
    assert has_record(world.vcenter)


def test_an_hx_cluster_that_is_not_told_is_named(world: World, second: StrictVcenter, hx: HxConnect) -> None:
    world.vcenter.control.fault("UnregisterExtension", "fault", fault="RuntimeFault")
    hx.fault("/", "status:500")
    try:
        stopped = uninstall(world, "--yes")
    finally:
        hx.clear_faults()
        world.vcenter.control.clear_faults()
    assert (stopped.returncode, has_record(world.vcenter)) == (1, True)
    assert "HX cluster HX-East could not be told" in stopped.stderr and "HX-East: withdrawn" not in stopped.stdout
    assert hx.registrations.kept
    assert [line for line in records(world) if line.startswith("HX cluster ")]


def test_it_goes_on_where_an_earlier_run_was_stopped(world: World, second: StrictVcenter, hx: HxConnect) -> None:
    """The first vCenter is done when the second begins to refuse."""
    session = world.kaasd.admin()
    second.control.fault("UnregisterExtension", "fault", fault="RuntimeFault")
    failed = uninstall(world, "--yes")
    assert failed.returncode == 1, failed.stderr
    assert f"vCenter {HOST}: extension {EXTENSION_KEY} removed" in failed.stdout
    assert not has_record(world.vcenter)
    assert has_record(second)
    assert hx.registrations.kept is None
    assert works(session)
    assert records(world) == [f"vCenter second, extension {EXTENSION_KEY}"]
    second.control.clear_faults()
    done = uninstall(world, "--yes")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    said = done.stdout
    assert f"vCenter {HOST}" not in said.split("Left on this host")[0]
    assert not has_record(second)
    assert session.call("GET", "/v2/whoami").status_code == 401
    for left in ("apt-get purge", str(world.kaasd.folder / "master.key"), "the database kaas with the accounts"):
        assert left in said
    assert records(world) == []
    assert not (world.kaasd.folder / "records-left").exists()
    told = {line["action"] for line in world.kaasd.admin().items("/v2/audit")}
    assert {"vcenter.unregister", "hx_cluster.unpublish", "session.end"} <= told
    assert "vCenters: registered at none" in world.kaasd.ctl.ok("uninstall", "--yes")


def test_by_force_a_record_stays_and_the_database_goes(world: World, second: StrictVcenter) -> None:
    register(world.kaasd, second)
    assert len(records(world)) == 1
    second.control.close_port()
    try:
        done = uninstall(world, "--yes", "--force", "--drop-database", "--database-admin", "root")
        assert done.returncode == 0, done.stderr
        assert f"the extension {EXTENSION_KEY} stays at vCenter second: remove it there" in done.stderr
    finally:
        second.control.open_port()
    assert has_record(second)
    assert (world.kaasd.folder / "records-left").read_text() == f"vCenter second, extension {EXTENSION_KEY}\n"
    assert not world.db.query("SHOW DATABASES LIKE 'kaas'")
    assert not world.db.query("SELECT User FROM mysql.user WHERE User LIKE 'kaas%%'")
    refused = world.kaasd.ctl.run("uninstall", "--records")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert Path(world.kaasd.folder / "master.key").exists()
    assert json.dumps(world.vcenter.control.extensions()).count(EXTENSION_KEY) == 0
