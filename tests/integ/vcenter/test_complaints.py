"""What users of other vCenter plug-ins complain about, most often first seen in their issue trackers: one test for each, named after it,
that proves it impossible here."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml
from cryptography.x509 import load_pem_x509_certificate
from env import vimclient
from env.api import Api
from env.certs import make_server_cert, thumbprint
from env.full import EXTENSION_KEY, World, add_samples, add_vcenter, register
from env.kaasd import Kaasd
from env.logins import ours, rescan, until, vcenter_json, wait_connected
from env.many import Many
from env.process import run
from env.vcenter import StrictVcenter

pytestmark = [pytest.mark.slow, pytest.mark.long(45)]
WRITING = ("RegisterExtension", "UpdateExtension", "UnregisterExtension", "SetExtensionCertificate")


@pytest.fixture
def joined() -> Iterator[World]:
    with World("y") as world:
        add_vcenter(world.kaasd, world.vcenter, "--name", "east")
        register(world.kaasd, world.vcenter)
        wait_connected(world)
        yield world


def record_of(vcenter: StrictVcenter) -> Any:
    return vimclient.read_extension(vcenter, EXTENSION_KEY)


def writes(world: World) -> list[str]:
    return [call["op"] for call in world.vcenter.control.calls() if call["op"] in WRITING]


def path_of(world: World, verb: str = "") -> str:
    return f"/v2/vcenters/{world.vcenter.instance_uuid}{verb}"


def register_body(world: World, user: str = "Administrator", **more: Any) -> dict[str, Any]:
    who = world.vcenter.users[user]
    return {"json": {"username": who.login, "password": who.password, **more}, "headers": {"X-KaaS": "1"}}


def findings(world: World) -> dict[str, dict[str, Any]]:
    report = world.admin.expect(200, "POST", path_of(world, "/doctor"))
    return {found["step"]: found for found in report["findings"]}


def other_daemon(world: World) -> Kaasd:
    """Another installation: a database server and a key of its own are what makes it one; here a database with its accounts is enough."""
    kaasd = Kaasd(world.scratch, world.db.socket, "other", options={"database": {
        "socket": str(world.db.socket), "name": "other", "user": "other", "owner_user": "other_owner"}})
    kaasd.init()
    kaasd.start()
    return kaasd


# 1. vCenter's certificate cannot be replaced while an extension is registered that it does not know
def test_replacing_the_certificate_of_vcenter_needs_no_unregistering(joined: World) -> None:
    for server in record_of(joined.vcenter).server:  # extensions without trust data are what such replacements stumble over
        assert thumbprint(load_pem_x509_certificate(server.serverCertificate.encode())) == server.serverThumbprint
    joined.vcenter.control.forget_calls()
    joined.vcenter.control.change_certificate("new")
    joined.vcenter.control.call("POST", "/disconnect")
    seen = joined.vcenter.control.state()["thumbprint_sha256"]
    joined.kaasd.ctl.ok("vcenter", "trust", "east", "--sha256", seen)
    wait_connected(joined)
    assert rescan(joined) == 0
    assert writes(joined) == []


# 2. the page is empty after a certificate change, and nobody says which certificate does not fit
def test_a_certificate_that_does_not_fit_is_named_beside_the_trusted_one(joined: World) -> None:
    trusted = vcenter_json(joined)["trust"]["thumbprint_sha256"]
    joined.vcenter.control.change_certificate("other-ca")
    joined.vcenter.control.call("POST", "/disconnect")
    seen = joined.vcenter.control.state()["thumbprint_sha256"]
    until(lambda: rescan(joined) != 0 and seen in (vcenter_json(joined)["state_reason"] or ""), "the certificate that is seen")
    assert trusted in vcenter_json(joined)["state_reason"]
    tls = findings(joined)["tls"]
    assert tls["status"] == "failed"
    assert seen in tls["finding"]
    assert trusted in tls["finding"]
    assert "kaasctl vcenter trust" in tls["remedy"]


# 3. the plug-in never appears, since the stored thumbprint is not that of the real certificate
def test_a_new_server_certificate_goes_into_the_record_by_itself(joined: World) -> None:
    fresh = make_server_cert(joined.scratch.path / "fresh")
    assert record_of(joined.vcenter).server[0].serverThumbprint == joined.kaasd.tls.sha256
    for old, new in ((joined.kaasd.tls.cert_file, fresh.cert_file), (joined.kaasd.tls.key_file, fresh.key_file)):
        old.write_bytes(new.read_bytes())
    assert joined.kaasd.process
    os.kill(joined.kaasd.process.pid, signal.SIGHUP)
    until(lambda: {server.serverThumbprint for server in record_of(joined.vcenter).server} == {fresh.sha256}, "the new thumbprint")


# 4. the appliance got another name, the record still leads to the old one
def test_a_new_address_of_ours_goes_into_the_record_by_itself(joined: World) -> None:
    joined.kaasd.stop()
    settings = yaml.safe_load(joined.kaasd.config.read_text())
    settings["server"]["public_url"] = f"https://localhost:{joined.kaasd.port}"
    joined.kaasd.config.write_text(yaml.safe_dump(settings))
    joined.kaasd.start()
    until(lambda: all("//localhost:" in server.url for server in record_of(joined.vcenter).server), "the new address")
    assert "//localhost:" in record_of(joined.vcenter).client[0].url


# 5. an upgrade or restore of vCenter loses the registration, and the plug-in's data with it
def test_a_lost_registration_is_made_again_and_nothing_else_is_lost(joined: World) -> None:
    add_samples(joined.kaasd)
    before = joined.admin.names()
    joined.vcenter.control.drop_extension(EXTENSION_KEY)
    joined.vcenter.control.restart()
    until(lambda: vcenter_json(joined)["state"] != "connected", "the loss")
    register(joined.kaasd, joined.vcenter)
    wait_connected(joined)
    assert joined.admin.names() == before
    assert findings(joined)["record"]["status"] == "ok"


# 6. registered again after unregistering, it does not show until caches are cleared
def test_every_registration_has_another_version(joined: World) -> None:
    versions = [record_of(joined.vcenter).version]
    for _ in range(2):
        joined.admin.expect(200, "POST", path_of(joined, "/unregister"), **register_body(joined))
        register(joined.kaasd, joined.vcenter)
        versions.append(record_of(joined.vcenter).version)
        assert record_of(joined.vcenter).client[0].version == versions[-1]
    numbers = [[int(part) for part in version.split(".")] for version in versions]
    assert numbers == sorted(numbers)
    assert len(set(versions)) == 3


# 7. "already registered", and changed settings are not applied
def test_registering_again_applies_what_differs(joined: World) -> None:
    (session,) = ours(joined)
    joined.vcenter.control.fault("UpdateExtension", "fault", fault="NoPermission", text="not by itself", session_key=session["key"])
    with vimclient.session(joined.vcenter, joined.vcenter.admin) as instance:
        manager = instance.RetrieveContent().extensionManager
        record = manager.FindExtension(EXTENSION_KEY)
        record.server[1].url = "https://old.example.test/v2/"
        manager.UpdateExtension(record)
    assert "server" in findings(joined)["record"]["finding"]
    joined.vcenter.control.clear_faults()
    register(joined.kaasd, joined.vcenter)
    register(joined.kaasd, joined.vcenter)
    assert record_of(joined.vcenter).server[1].url == f"{joined.kaasd.url}/v2/"


# 8. the installation stops half-way: it can neither be repeated nor undone
@pytest.mark.parametrize("step", ["RegisterExtension", "SetExtensionCertificate", "LoginExtensionByCertificate"])
def test_a_registration_that_stopped_anywhere_can_be_repeated_and_undone(fresh_world: World, step: str) -> None:
    add_vcenter(fresh_world.kaasd, fresh_world.vcenter)
    control = fresh_world.vcenter.control
    written = control.hold("SetExtensionCertificate", executed=True) if step.startswith("Login") else 0  # logins before it are probes
    if not written:
        control.fault(step, "close", bytes=0)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(fresh_world.admin.call, "POST", path_of(fresh_world, "/register"), **register_body(fresh_world))
        if written:
            control.await_held(written)
            control.fault(step, "close", bytes=0)
            control.release(written)
        answer = asked.result()
    assert answer.status_code >= 500, answer.text
    fresh_world.vcenter.control.clear_faults()
    register(fresh_world.kaasd, fresh_world.vcenter)
    wait_connected(fresh_world)
    fresh_world.admin.expect(200, "POST", path_of(fresh_world, "/unregister"), **register_body(fresh_world))
    assert EXTENSION_KEY not in fresh_world.vcenter.control.extensions()


# 9. what is left after an uninstallation disturbs others on the same vCenter
def test_unregistering_removes_exactly_our_record(joined: World) -> None:
    for key in (f"{EXTENSION_KEY}.other", "com.cisco.kaa", "com.cisco"):
        joined.vcenter.control.put_extension(key=key, version="1.0", company="Other", label="Other", summary="Other")
    before = joined.vcenter.control.extensions()
    joined.admin.expect(200, "POST", path_of(joined, "/unregister"), **register_body(joined))
    after = joined.vcenter.control.extensions()
    assert set(before) - set(after) == {EXTENSION_KEY}
    assert all(after[key] == before[key] for key in after)
    assert ours(joined) == []


# 10. sessions pile up: one for each hit, until vCenter refuses logins
def test_sessions_do_not_pile_up(joined: World) -> None:
    control = joined.vcenter.control
    people = len(control.sessions()) - len(ours(joined))
    for number in range(10):
        cookie = control.login("viewer-east@vsphere.local")
        joined.kaasd.api().login_session(joined.vcenter.instance_uuid, cookie["cookie"]).names()
        joined.kaasd.api().login_password(joined.vcenter.users["viewer-dc"].login, joined.vcenter.users["viewer-dc"].password,
                                          source=f"vcenter:{joined.vcenter.instance_uuid}")
        joined.admin.get(path_of(joined, "/status"))
        assert rescan(joined) == 0
        assert len(control.sessions()) == people + len(ours(joined)) + number + 1  # theirs are theirs
    findings(joined)
    until(lambda: len(ours(joined)) == 1, "one session of ours")
    joined.kaasd.stop()
    assert ours(joined) == []


# 11. linked mode: objects are mixed up or shown twice, since names and ids repeat
def test_equal_names_and_ids_of_several_vcenters_are_kept_apart() -> None:
    with Many(2) as many:
        places = {name: place for item in many.admin.items("/v2/clusters") for name, place in [(item["name"], item["placement"])]}
        for number, vcenter in enumerate(many.vcenters):
            (where,) = places[f"vc{number}-east"]["vsphere_clusters"]
            assert (where["vcenter_id"], where["moref"], where["name"]) == (vcenter.instance_uuid, "domain-c7", "HX-East")
            assert many.sign_in(vcenter).names() == [f"vc{number}-east"]
        assert sorted(places) == ["vc0-east", "vc1-east"]


# 12. two appliances at one vCenter: the one registered last silently wins
def test_a_second_installation_does_not_win_silently(joined: World) -> None:
    second = other_daemon(joined)
    try:
        joined.vcenter.control.await_plugin(EXTENSION_KEY)  # the record tells how far it is
        before = joined.vcenter.control.extensions()[EXTENSION_KEY]
        add_vcenter(second, joined.vcenter)
        problem = second.admin().refused(409, "conflict", "POST", path_of(joined, "/register"), **register_body(joined))
        ((owner,),) = joined.db.query("SELECT uuid FROM installation", database="kaas")
        assert owner in problem["detail"]
        assert "--take-over" in problem["remedy"]
        assert joined.vcenter.control.extensions()[EXTENSION_KEY] == before
    finally:
        second.stop()


# 13. a right is missing, everything fails, and nobody says which one
def test_a_missing_right_is_named_and_the_rest_goes_on(fresh_world: World) -> None:
    add_vcenter(fresh_world.kaasd, fresh_world.vcenter)
    problem = fresh_world.admin.refused(403, "forbidden", "POST", path_of(fresh_world, "/register"),
                                        **register_body(fresh_world, "viewer-dc"))
    assert "Extension.Register" in problem["detail"]
    assert "root folder" in problem["detail"]
    assert EXTENSION_KEY not in fresh_world.vcenter.control.extensions()
    assert fresh_world.admin.names() == []
    register(fresh_world.kaasd, fresh_world.vcenter)
    wait_connected(fresh_world)
    fresh_world.vcenter.control.call("POST", "/settings", {"extension_privileges": []})
    privileges = findings(fresh_world)["privileges"]
    assert fresh_world.sign_in("viewer-dc").names() == []
    assert privileges["status"] == "warning"
    assert "Sessions.TerminateSession" in privileges["finding"]
    assert rescan(fresh_world) == 0


# 14. the plug-in acts with the rights of whoever registered it, not with those of who asks
def test_nobody_borrows_the_rights_of_our_own_session(joined: World) -> None:
    add_samples(joined.kaasd)
    viewer: Api = joined.by_ticket("viewer-east")
    seen = viewer.names()
    assert seen
    assert set(seen) < set(joined.admin.names())
    for item in viewer.items("/v2/clusters"):
        assert {place["moref"] for place in item["placement"]["vsphere_clusters"]} == {"domain-c7"}
    for verb in ("/rescan", "/doctor", "/rotate-certificate"):
        viewer.refused(403, "forbidden", "POST", path_of(joined, verb))
    viewer.refused(403, "forbidden", "GET", path_of(joined, "/status"))


# 15. the plug-in does not fit the version of vCenter
@pytest.mark.parametrize("version", ["7.0.0.0", "7.0.3.0", "8.0.1.0", "8.0.2.0", "8.0.3.0"])
def test_older_and_newer_vcenters_get_what_they_understand(version: str) -> None:
    with World("v", vcenter_flags=("--api-version", version)) as world:
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        wait_connected(world)
        record = record_of(world.vcenter)
        assert [bool(server.serverThumbprint) for server in record.server] == [True, True]
        assert [bool(server.serverCertificate) for server in record.server] == [version >= "8.0.2.0"] * 2
        told = findings(world)
        assert (told["api"]["status"], told["record"]["status"]) == ("ok", "ok")
        manifest = run(["curl", "-sk", f"{world.kaasd.url}/plugin/plugin.json"]).stdout
        assert '"vcenter.server":{"version":"[7.0,)"' in manifest
