"""Joining a vCenter: what is written there, read back by clients that are not ours, what happens when it cannot be done,
and leaving again."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from env import vimclient
from env.api import Api
from env.full import EXTENSION_KEY, World, add_vcenter
from env.kaasd import Kaasd
from env.vcenter import DEFAULT_WORLD, Control, StrictVcenter, User
from env.wait import until

pytestmark = pytest.mark.slow
PASSWORD_OPTIONS = ("--password-file", "-")
STATUS_NOT_REGISTERED = "not_registered"


def register_body(user: User, **more: Any) -> dict[str, Any]:
    return {"json": {"username": user.login, "password": user.password, **more}, "headers": {"X-KaaS": "1"}}


def path_of(vcenter: StrictVcenter, verb: str) -> str:
    return f"/v2/vcenters/{vcenter.instance_uuid}/{verb}"


def register(api: Api, vcenter: StrictVcenter, user: User | None = None, **more: Any) -> dict[str, Any]:
    return api.expect(200, "POST", path_of(vcenter, "register"), **register_body(user or vcenter.admin, **more))


def refused(api: Api, vcenter: StrictVcenter, status: int, code: str, user: User | None = None, **more: Any) -> dict[str, Any]:
    return api.refused(status, code, "POST", path_of(vcenter, "register"), **register_body(user or vcenter.admin, **more))


def unregister(api: Api, vcenter: StrictVcenter) -> dict[str, Any]:
    return api.expect(200, "POST", path_of(vcenter, "unregister"), **register_body(vcenter.admin))


def status_of(api: Api, vcenter: StrictVcenter) -> dict[str, Any]:
    return api.get(path_of(vcenter, "status"))


CHANGING = ("RegisterExtension", "UpdateExtension", "UnregisterExtension", "SetExtensionCertificate", "SetPublicKey")


def writes(control: Control) -> list[str]:
    """Operations that change something at the vCenter, in order."""
    return [call["op"] for call in control.calls() if call["op"] in CHANGING]


def writes_for(world: World, verb: str) -> list[str]:
    """Those that are made for one request: the record is looked after in the background as well."""
    answer = world.admin.call("POST", path_of(world.vcenter, verb), **register_body(world.vcenter.admin))
    assert answer.status_code == 200, answer.text
    request = answer.headers["KaaS-Request-Id"]
    return [call["op"] for call in world.vcenter.control.calls() if call.get("operation_id") == request and call["op"] in CHANGING]


def others(control: Control) -> dict[str, Any]:
    return {key: record for key, record in control.extensions().items() if key != EXTENSION_KEY}


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    """A world whose vCenter is added; each test registers as it needs."""
    with World("r", vcenter_flags=("--direct-listen", "127.0.0.1:0")) as whole:
        add_vcenter(whole.kaasd, whole.vcenter)
        yield whole


def may_leave(world: World) -> bool:
    """Unregisters, unless the record that was taken away is being put back at this moment."""
    answer = world.admin.call("POST", path_of(world.vcenter, "unregister"), **register_body(world.vcenter.admin))
    return answer.status_code == requests.codes.ok or answer.json()["code"] != "conflict"


@pytest.fixture
def new(place: World) -> World:
    """Added, not registered, with an empty call log."""
    if EXTENSION_KEY in place.vcenter.control.extensions():
        place.vcenter.control.drop_extension(EXTENSION_KEY)
    if place.admin.get(f"/v2/vcenters/{place.vcenter.instance_uuid}")["registered"]:
        until(lambda: may_leave(place), "the end of a repair under way")
    place.vcenter.control.forget_calls()
    return place


@pytest.fixture
def joined(place: World) -> World:
    """Registered as it should be, with an empty call log."""
    register(place.admin, place.vcenter, take_over=True)
    place.vcenter.control.forget_calls()
    return place


@pytest.fixture
def apart(place: World, make_vcenter: Callable[..., StrictVcenter], tmp_path: Path) -> Iterator[Callable[..., StrictVcenter]]:
    """Starts a further vCenter with an instance UUID of its own, which is forgotten at the end."""
    made: list[StrictVcenter] = []

    def start(uuid: str, *flags: str) -> StrictVcenter:
        layout = {**json.loads(DEFAULT_WORLD.read_text()), "instance_uuid": uuid}
        (tmp_path / "world.json").write_text(json.dumps(layout))
        made.append(make_vcenter(f"apart{len(made)}", world=tmp_path / "world.json", flags=flags))
        return made[-1]

    yield start
    for vcenter in made:
        known = {item["id"]: item for item in place.admin.items("/v2/vcenters")}
        if vcenter.instance_uuid in known:
            if known[vcenter.instance_uuid]["registered"]:
                vcenter.control.clear_faults()
                unregister(place.admin, vcenter)
            place.admin.expect(204, "DELETE", f"/v2/vcenters/{vcenter.instance_uuid}")


def add(world: World, vcenter: StrictVcenter, name: str, **ports: int) -> None:
    body = {"address": vcenter.host, "port": vcenter.port, "name": name, "thumbprint_sha256": vcenter.sha256, **ports}
    world.admin.expect(201, "POST", "/v2/vcenters", json=body)


# -- refused ------------------------------------------------------------------------------------------------------------------


def test_a_wrong_password_is_told_and_nothing_is_changed(new: World) -> None:
    before = new.vcenter.control.extensions()
    problem = refused(new.admin, new.vcenter, 401, "invalid_credentials", User("Administrator", "not it"))
    assert "password" in problem["remedy"]
    assert new.vcenter.control.extensions() == before
    assert status_of(new.admin, new.vcenter)["state"] == STATUS_NOT_REGISTERED


def test_kaasctl_tells_a_wrong_password_in_one_line_with_a_remedy(new: World) -> None:
    result = new.kaasd.ctl.run("vcenter", "register", new.vcenter.host, "--user", new.vcenter.admin.login,
                               *PASSWORD_OPTIONS, stdin="wrong\n")
    assert result.returncode != 0
    assert "invalid_credentials" in result.stderr or "password" in result.stderr
    assert "wrong\n" not in result.stdout


def test_a_wrong_password_is_tried_once_only(new: World) -> None:
    refused(new.admin, new.vcenter, 401, "invalid_credentials", User("Administrator", "not it"))
    assert [call["op"] for call in new.vcenter.control.calls()].count("Login") == 1


def test_a_missing_privilege_is_named(new: World) -> None:
    problem = refused(new.admin, new.vcenter, 403, "forbidden", new.vcenter.users["viewer-dc"])
    assert "Extension.Register, Extension.Update" in problem["detail"]
    assert writes(new.vcenter.control) == []


def test_only_the_privilege_that_is_missing_is_named(new: World) -> None:
    control = new.vcenter.control
    control.call("POST", "/roles", {"name": "Half", "privileges": ["Extension.Register"]})
    control.call("POST", "/users", {"name": "half", "password": "half-Pass1"})
    control.permit("group-d1", "VSPHERE.LOCAL\\half", "Half")
    problem = refused(new.admin, new.vcenter, 403, "forbidden", User("half", "half-Pass1"))
    assert "Extension.Update" in problem["detail"]
    assert "Extension.Register" not in problem["detail"]


def test_an_account_with_just_the_extension_privileges_is_enough(new: World) -> None:
    assert register(new.admin, new.vcenter, new.vcenter.users["operator"])["extension"]["record"] == "ours"


def test_a_vcenter_that_is_not_known_is_not_found(new: World) -> None:
    new.admin.refused(404, "not_found", "POST", "/v2/vcenters/00000000-0000-4000-8000-000000000000/register",
                      **register_body(new.vcenter.admin))


def test_with_the_tunnel_closed_nothing_is_changed_and_the_way_is_named(place: World, apart: Callable[..., StrictVcenter]) -> None:
    vcenter = apart("10000000-0000-4000-8000-000000000001", "--tunnel-listen", "")
    add(place, vcenter, "closed", tunnel_port=1)
    before = vcenter.control.extensions()
    problem = refused(place.admin, vcenter, 502, "upstream_error")
    assert "certificate_tunnel" in problem["detail"]
    assert "--tunnel-port" in problem["remedy"]
    assert vcenter.control.extensions() == before
    assert writes(vcenter.control) == []


def test_without_any_login_way_nothing_is_changed(place: World, apart: Callable[..., StrictVcenter]) -> None:
    vcenter = apart("10000000-0000-4000-8000-000000000002")
    add(place, vcenter, "no way", tunnel_port=0)
    problem = refused(place.admin, vcenter, 502, "upstream_error")
    assert "none is switched on" in problem["detail"]
    assert writes(vcenter.control) == []


def test_a_port_that_asks_for_no_client_certificate_is_no_direct_way(place: World, apart: Callable[..., StrictVcenter]) -> None:
    vcenter = apart("10000000-0000-4000-8000-000000000003")
    add(place, vcenter, "front", tunnel_port=0, direct_port=vcenter.port)
    problem = refused(place.admin, vcenter, 502, "upstream_error")
    assert "certificate_direct" in problem["detail"]
    assert writes(vcenter.control) == []


# -- what is written ----------------------------------------------------------------------------------------------------------


def test_the_direct_port_is_a_way_of_its_own(place: World, apart: Callable[..., StrictVcenter]) -> None:
    vcenter = apart("10000000-0000-4000-8000-000000000004", "--tunnel-listen", "", "--direct-listen", "127.0.0.1:0")
    ready = json.loads((vcenter.process.log_path.parent.parent / f"{vcenter.process.name}.json").read_text())
    kaasctl = place.kaasd.ctl
    kaasctl.ok("vcenter", "add", vcenter.address, "--thumbprint", vcenter.sha256, "--name", "direct", "--tunnel-port", "0",
               "--direct-port", ready["direct"].rsplit(":", 1)[1])
    status = register(place.admin, vcenter)
    assert status["login"]["strategy"] == "certificate_direct"
    assert status["state"] == "connected"
    assert {call["port"] for call in vcenter.control.calls(op="LoginExtensionByCertificate")} == {"direct"}


def test_the_record_read_by_pyvmomi_is_what_we_say_we_registered(joined: World) -> None:
    record = vimclient.read_extension(joined.vcenter, EXTENSION_KEY)
    assert record is not None
    version = joined.admin.get("/v2/version")["version"]
    program, _, registration_no = record.version.rpartition(".")
    assert (record.key, program, record.company) == (EXTENSION_KEY, version, "Cisco Systems, Inc.")
    assert registration_no.isdigit()
    (client,) = record.client
    assert (client.type, client.version, client.url) == ("vsphere-client-remote", record.version, f"{joined.kaasd.url}/plugin/plugin.json")
    assert record.description.label == "Harmony KaaS"
    assert record.subjectName is None
    assert record.healthInfo.url == f"{joined.kaasd.url}/healthz"
    assert record.extendedProductInfo.productUrl == f"{joined.kaasd.url}/ui/"
    assert [(p.privID, p.privGroupName) for p in record.privilegeList] == [("KaaS.View", "KaaS")]
    assert [event.eventID.removeprefix("com.cisco.kaas.") for event in record.eventList] == [
        "cluster.added", "cluster.removed", "cluster.ready", "cluster.degraded", "cluster.failed", "access.granted", "access.removed",
        "host.maintenance", "job.begun", "job.done", "job.failed", "job.canceled", "summary"]


def test_the_server_in_the_record_is_this_daemon_with_its_certificate(joined: World) -> None:
    record = vimclient.read_extension(joined.vcenter, EXTENSION_KEY)
    assert record is not None
    assert [(server.type, server.url) for server in record.server] == [
        ("MANIFEST_SERVER", f"{joined.kaasd.url}/plugin/plugin.json"), ("KAAS_API", f"{joined.kaasd.url}/v2/")]
    for server in record.server:
        assert server.company == "Cisco Systems, Inc."
        assert server.serverThumbprint == joined.kaasd.tls.sha256
        assert server.serverCertificate.strip() == joined.kaasd.tls.cert_file.read_text().strip()


def test_the_record_carries_texts_and_the_mark_of_its_owner(joined: World) -> None:
    record = vimclient.read_extension(joined.vcenter, EXTENSION_KEY)
    assert record is not None
    texts = {(resource.module, resource.locale): {item.key: item.value for item in resource.data} for resource in record.resourceList}
    ((installation,),) = joined.db.query("SELECT uuid FROM installation", database="kaas")
    assert texts["kaas", "en"] == {"owner.installation": installation}
    assert texts["auth", "en"]["privilege.KaaS.View.label"] == "View Kubernetes clusters"
    assert texts["event", "en"]["com.cisco.kaas.cluster.added.category"] == "info"
    assert texts["event", "de"]["com.cisco.kaas.cluster.ready.fullFormat"] == "Der Kubernetes-Cluster {cluster} ist bereit"
    assert texts["event", "de"].keys() == texts["event", "en"].keys()


def test_govc_reads_the_same_record_as_pyvmomi(joined: World) -> None:
    one, other = vimclient.read_extension(joined.vcenter, EXTENSION_KEY), vimclient.govc_extension(joined.vcenter, EXTENSION_KEY)
    assert one is not None
    assert other is not None
    assert (other["version"], other["company"]) == (one.version, one.company)
    assert other["server"][0]["url"] == one.server[0].url
    assert other["server"][0]["serverThumbprint"] == one.server[0].serverThumbprint
    assert other["server"][0]["serverCertificate"] == one.server[0].serverCertificate
    assert [p["privID"] for p in other["privilegeList"]] == [p.privID for p in one.privilegeList]
    assert other["healthInfo"]["url"] == one.healthInfo.url
    assert {r["module"]: len(r["data"]) for r in other["resourceList"]} == {r.module: len(r.data) for r in one.resourceList}


def test_the_vcenter_holds_the_certificate_that_the_status_shows(joined: World) -> None:
    stored = joined.vcenter.control.extensions()[EXTENSION_KEY]
    assert stored["thumbprint_sha256"] == status_of(joined.admin, joined.vcenter)["login"]["certificate"]["sha256"]
    assert stored["certificate_pem"].count("BEGIN CERTIFICATE") == 1


def test_the_certificate_is_set_last(new: World) -> None:
    assert writes_for(new, "register") == ["RegisterExtension", "SetExtensionCertificate"]


def test_the_login_way_is_tried_before_anything_is_written(new: World) -> None:
    register(new.admin, new.vcenter)
    order = [call["op"] for call in new.vcenter.control.calls()]
    assert order.index("LoginExtensionByCertificate") < order.index("RegisterExtension")


def test_registering_again_updates_and_keeps_the_same_record(joined: World) -> None:
    before = vimclient.govc_extension(joined.vcenter, EXTENSION_KEY)
    writes = writes_for(joined, "register")
    after = vimclient.govc_extension(joined.vcenter, EXTENSION_KEY)
    assert before is not None
    assert after is not None
    numbers = [int(record["version"].rpartition(".")[2]) // 100000 for record in (before, after)]
    assert numbers[1] == numbers[0] + 1  # the vSphere Client notices nothing else
    for record in (before, after):
        record["lastHeartbeatTime"] = record["version"] = ""
        for client in record["client"]:
            client["version"] = ""
    assert before == after
    assert writes == ["UpdateExtension", "SetExtensionCertificate"]
    status = status_of(joined.admin, joined.vcenter)
    assert (status["state"], status["extension"]["record"]) == ("connected", "ours")


def logins_of_the_link(control: Control) -> list[str]:
    return [call["outcome"] for call in control.calls(op="LoginExtensionByCertificate") if call["user_agent"].endswith("; replica-1)")]


def test_the_link_gets_its_new_session_by_one_login_when_registering_again(joined: World) -> None:
    """The old session's end wakes the watch: it takes the new session and makes none of its own."""
    control = joined.vcenter.control
    until(lambda: [call for call in control.pending() if call["op"] == "WaitForUpdatesEx"], "the watch")
    control.forget_calls()
    status_of(joined.admin, joined.vcenter)
    probes = logins_of_the_link(control)  # the answer to a registration shows the status, too
    control.forget_calls()
    register(joined.admin, joined.vcenter)
    until(lambda: [call for call in control.calls(op="CreateFilter") if call.get("user") == EXTENSION_KEY], "the watch in the new session")
    until(lambda: [call for call in control.pending() if call["op"] == "WaitForUpdatesEx"], "the watch")
    assert logins_of_the_link(control) == [*probes, "ok"]


def test_the_accounts_own_session_ends_with_the_registration(joined: World) -> None:
    before = {row["key"] for row in joined.vcenter.control.sessions() if "ministrator" in row["user_name"]}
    register(joined.admin, joined.vcenter)
    after = {row["key"] for row in joined.vcenter.control.sessions() if "ministrator" in row["user_name"]}
    assert after <= before


def test_one_session_of_ours_is_left_and_names_version_and_installation(joined: World) -> None:
    register(joined.admin, joined.vcenter)
    (ours,) = [row for row in joined.vcenter.control.sessions() if row["extension_session"]]
    ((installation,),) = joined.db.query("SELECT uuid FROM installation", database="kaas")
    assert ours["user_name"] == EXTENSION_KEY
    assert ours["user_agent"] == f"Harmony-KaaS/{joined.admin.get('/v2/version')['version']} ({installation}; replica-1)"


def test_the_admin_sees_our_session_with_pyvmomi_too(joined: World) -> None:
    with vimclient.session(joined.vcenter, joined.vcenter.admin) as instance:
        listed = vimclient.read_property(instance, instance.RetrieveContent().sessionManager, "sessionList")
    assert [entry.userAgent.startswith("Harmony-KaaS/") for entry in listed if entry.extensionSession] == [True]


def test_two_registrations_at_a_time_do_not_mix(joined: World) -> None:
    control, api = joined.vcenter.control, joined.admin
    held = control.hold("Login", executed=False)
    first: list[Any] = []
    path, body = path_of(joined.vcenter, "register"), register_body(joined.vcenter.admin)
    thread = threading.Thread(target=lambda: first.append(api.call("POST", path, **body)))
    thread.start()
    control.await_held(held)
    problem = refused(api, joined.vcenter, 409, "conflict")
    control.release(held)
    thread.join()
    assert "right now" in problem["detail"]
    assert first[0].status_code == 200


# -- other installations ------------------------------------------------------------------------------------------------------


@pytest.fixture
def strange(new: World) -> World:
    """Another program's record under our key."""
    new.vcenter.control.put_extension(key=EXTENSION_KEY, version="1.0", company="Somebody", label="Other", summary="Other")
    return new


def test_the_record_of_somebody_else_is_left_alone(strange: World) -> None:
    problem = refused(strange.admin, strange.vcenter, 409, "conflict")
    assert EXTENSION_KEY in problem["detail"]
    assert "--take-over" in problem["remedy"]
    assert writes(strange.vcenter.control) == []
    assert strange.vcenter.control.extensions()[EXTENSION_KEY]["key"] == EXTENSION_KEY


def test_the_record_of_somebody_else_is_overwritten_on_demand(strange: World) -> None:
    assert register(strange.admin, strange.vcenter, take_over=True)["extension"]["record"] == "ours"
    record = vimclient.read_extension(strange.vcenter, EXTENSION_KEY)
    assert record is not None
    assert record.company == "Cisco Systems, Inc."


def test_another_installation_is_named_by_its_mark(place: World, joined: World, make_kaasd: Callable[..., Kaasd]) -> None:
    second = make_kaasd("other")
    second.init()
    second.start()
    add_vcenter(second, joined.vcenter)
    ((owner,),) = place.db.query("SELECT uuid FROM installation", database="kaas")
    problem = refused(second.admin(), joined.vcenter, 409, "conflict")
    assert owner in problem["detail"]
    result = second.ctl.run("vcenter", "register", joined.vcenter.host, "--user", joined.vcenter.admin.login, "--take-over", "--yes",
                            *PASSWORD_OPTIONS,
                            stdin=joined.vcenter.admin.password + "\n")
    assert result.returncode == 0, result.stderr
    assert status_of(place.admin, joined.vcenter)["extension"]["record"] == "foreign"  # the session we have goes on
    joined.vcenter.control.expire(user=EXTENSION_KEY)
    until(lambda: status_of(place.admin, joined.vcenter)["state"] == "refused", "the refusal")
    second.admin().expect(200, "POST", path_of(joined.vcenter, "unregister"), **register_body(joined.vcenter.admin))


# -- leaving ------------------------------------------------------------------------------------------------------------------


def test_leaving_removes_exactly_our_record(joined: World) -> None:
    before = others(joined.vcenter.control)
    assert writes_for(joined, "unregister") == ["UnregisterExtension"]
    assert joined.vcenter.control.extensions() == before


def test_after_leaving_no_session_of_ours_is_left(joined: World) -> None:
    unregister(joined.admin, joined.vcenter)
    status = status_of(joined.admin, joined.vcenter)
    assert status["state"] == STATUS_NOT_REGISTERED
    assert status["login"]["strategy"] is None
    assert [row for row in joined.vcenter.control.sessions() if row["extension_session"]] == []
    states = joined.db.query("SELECT DISTINCT state FROM vcenter_credentials WHERE vcenter_id = %s",
                             joined.vcenter.instance_uuid, database="kaas")
    assert states == [("retired",)]


def test_leaving_twice_tells_that_there_is_nothing_to_remove(joined: World) -> None:
    unregister(joined.admin, joined.vcenter)
    joined.admin.refused(409, "not_registered", "POST", path_of(joined.vcenter, "unregister"), **register_body(joined.vcenter.admin))


def test_leaving_does_not_touch_the_record_of_somebody_else(strange: World) -> None:
    strange.admin.refused(409, "conflict", "POST", path_of(strange.vcenter, "unregister"), **register_body(strange.vcenter.admin))
    assert EXTENSION_KEY in strange.vcenter.control.extensions()


def test_a_registered_vcenter_is_not_forgotten(joined: World) -> None:
    problem = joined.admin.refused(409, "conflict", "DELETE", f"/v2/vcenters/{joined.vcenter.instance_uuid}")
    assert "unregister" in problem["remedy"]


def test_what_is_under_way_while_leaving_says_nothing_of_the_vcenter(joined: World) -> None:
    """The record is gone, its key not yet: a scan that loses its session tries to log in by it, and is refused."""
    control, path = joined.vcenter.control, f"/v2/vcenters/{joined.vcenter.instance_uuid}"
    ours = next(row["key"] for row in control.sessions() if row["extension_session"])
    scanning = control.hold("CreateContainerView", executed=False, session_key=ours)
    scan = threading.Thread(target=joined.admin.call, args=("POST", f"{path}/rescan"), kwargs={"headers": {"X-KaaS": "1"}})
    scan.start()
    control.await_held(scanning)
    leaving = control.hold("UnregisterExtension", executed=True)
    leave = threading.Thread(target=unregister, args=(joined.admin, joined.vcenter))
    leave.start()
    control.await_held(leaving)
    until(lambda: joined.admin.get(path)["state"] == STATUS_NOT_REGISTERED, "what is written down before the record goes")
    control.expire(key=ours)
    control.release(scanning)
    scan.join()
    assert joined.admin.get(path)["state"] == STATUS_NOT_REGISTERED
    control.release(leaving)
    leave.join()
    assert joined.admin.get(path)["state"] == STATUS_NOT_REGISTERED


def test_joining_after_leaving_works(joined: World) -> None:
    unregister(joined.admin, joined.vcenter)
    assert register(joined.admin, joined.vcenter)["state"] == "connected"


# -- repair -------------------------------------------------------------------------------------------------------------------


def test_a_certificate_changed_behind_our_back_is_refused_and_repaired_by_registering(joined: World) -> None:
    control = joined.vcenter.control
    stored = control.extensions()[EXTENSION_KEY]
    with vimclient.session(joined.vcenter, joined.vcenter.admin) as instance:
        instance.RetrieveContent().extensionManager.SetExtensionCertificate(EXTENSION_KEY, joined.kaasd.tls.cert_file.read_text())
    assert control.extensions()[EXTENSION_KEY]["thumbprint_sha256"] != stored["thumbprint_sha256"]
    control.expire(user=EXTENSION_KEY)
    until(lambda: status_of(joined.admin, joined.vcenter)["state"] == "refused", "the refusal")
    assert "register" in json.dumps(status_of(joined.admin, joined.vcenter))
    assert register(joined.admin, joined.vcenter)["state"] == "connected"


def test_a_kill_between_record_and_certificate_is_repaired_by_registering(fresh_world: World) -> None:
    world, control = fresh_world, fresh_world.vcenter.control
    add_vcenter(world.kaasd, world.vcenter)
    control.fault("SetExtensionCertificate", "hang", count=1)
    api = world.admin
    thread = threading.Thread(target=lambda: pytest.raises(requests.RequestException, register, api, world.vcenter))
    thread.start()
    until(lambda: EXTENSION_KEY in control.extensions(), "the record")
    world.kaasd.kill()
    thread.join()
    control.clear_faults()
    world.kaasd.start()
    assert status_of(world.admin, world.vcenter)["state"] == STATUS_NOT_REGISTERED
    status = register(world.admin, world.vcenter)
    assert (status["state"], status["extension"]["record"]) == ("connected", "ours")
    states = [state for (state,) in world.db.query("SELECT state FROM vcenter_credentials ORDER BY generation", database="kaas")]
    assert states == ["active"]  # the certificate of the first try was used again
    assert control.extensions()[EXTENSION_KEY]["thumbprint_sha256"] == status["login"]["certificate"]["sha256"]


def test_a_kill_after_the_certificate_is_repaired_at_the_next_start(fresh_world: World) -> None:
    """vCenter knows the new certificate, the database has it as pending only: both are tried."""
    world, control = fresh_world, fresh_world.vcenter.control
    add_vcenter(world.kaasd, world.vcenter)
    register(world.admin, world.vcenter)
    before = control.extensions()[EXTENSION_KEY]["thumbprint_sha256"]
    control.hold("SetExtensionCertificate", executed=True)
    api = world.admin
    thread = threading.Thread(target=lambda: pytest.raises(requests.RequestException, register, api, world.vcenter))
    thread.start()
    until(lambda: control.extensions()[EXTENSION_KEY]["thumbprint_sha256"] != before, "the new certificate")
    world.kaasd.kill()
    thread.join()
    control.clear_faults()
    control.expire(all=True)
    world.kaasd.start()
    until(lambda: status_of(world.admin, world.vcenter)["state"] == "connected", "the login with the pending certificate")
    assert ("active", 2) in world.db.query("SELECT state, generation FROM vcenter_credentials", database="kaas")


# -- versions -----------------------------------------------------------------------------------------------------------------


def test_an_older_vcenter_gets_no_member_it_does_not_know(place: World, apart: Callable[..., StrictVcenter]) -> None:
    vcenter = apart("10000000-0000-4000-8000-000000000005", "--api-version", "8.0.1.0")
    add(place, vcenter, "older", tunnel_port=vcenter.tunnel_port or 0)
    status = register(place.admin, vcenter)
    assert (status["state"], status["extension"]["record"]) == ("connected", "ours")
    record = vimclient.read_extension(vcenter, EXTENSION_KEY)
    assert record is not None
    assert record.server[0].serverCertificate is None
    assert record.server[0].serverThumbprint == place.kaasd.tls.sha256
    assert {call["version"] for call in vcenter.control.calls(op="RegisterExtension")} == {"8.0.1.0"}


def test_a_vcenter_whose_newest_version_is_opaque_is_spoken_to_in_a_known_one(place: World, apart: Callable[..., StrictVcenter]) -> None:
    vcenter = apart("10000000-0000-4000-8000-000000000006", "--dev-version", "uhyrtf87")
    add(place, vcenter, "opaque", tunnel_port=vcenter.tunnel_port or 0)
    assert register(place.admin, vcenter)["state"] == "connected"
    assert {call["version"] for call in vcenter.control.calls(op="RegisterExtension")} == {vcenter.api_version}
