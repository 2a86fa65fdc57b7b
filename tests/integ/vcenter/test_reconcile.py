"""Our extension record stays as it should be by itself: what is repaired, what is only told, and that nothing is written without need."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from env import vimclient
from env.api import Api
from env.certs import make_server_cert
from env.full import EXTENSION_KEY, World, add_vcenter
from env.full import register as join
from env.kaasd import Kaasd
from env.vcenter import Control, StrictVcenter
from env.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.long(40)]
OFTEN = {"vcenter": {"reconcile_interval": "1s"}}
EXTENSION_RIGHTS = ["Extension.Register", "Extension.Update", "Extension.Unregister"]
SESSION_RIGHTS = ["Sessions.ValidateSession", "Sessions.TerminateSession", "Sessions.ImpersonateUser"]


def writes(control: Control) -> list[str]:
    changing = ("RegisterExtension", "UpdateExtension", "UnregisterExtension", "SetExtensionCertificate", "SetPublicKey")
    return [call["op"] for call in control.calls() if call["op"] in changing]


def record_of(api: Api, vcenter: StrictVcenter) -> dict[str, Any]:
    return api.get(f"/v2/vcenters/{vcenter.instance_uuid}/status")["extension"]


def comparisons(control: Control) -> int:
    """A call whose session had just been exchanged for another names nobody; it is made again."""
    return len([call for call in control.calls(op="FindExtension") if call.get("user") == EXTENSION_KEY])


def edit(vcenter: StrictVcenter, change: Callable[[Any], None]) -> None:
    """A person changes our record: reads it, changes it, writes it."""
    with vimclient.session(vcenter, vcenter.admin) as instance:
        manager = instance.RetrieveContent().extensionManager
        record = manager.FindExtension(EXTENSION_KEY)
        change(record)
        manager.UpdateExtension(record)


def found(vcenter: StrictVcenter) -> Any:
    return vimclient.read_extension(vcenter, EXTENSION_KEY)


def registration_no(vcenter: StrictVcenter) -> int:
    """Out of the last part of the version, which ends with five digits that tell the plug-in's content."""
    return int(found(vcenter).version.rpartition(".")[2]) // 100000


def allow(control: Control, *more: str) -> None:
    control.call("POST", "/settings", {"extension_privileges": [*SESSION_RIGHTS, *more]})


@pytest.fixture(scope="module")
def place() -> Iterator[World]:
    with World("c", options=OFTEN) as whole:
        add_vcenter(whole.kaasd, whole.vcenter)
        yield whole


@pytest.fixture
def joined(place: World) -> World:
    """Registered as it should be, the usual rights, an empty call log."""
    control = place.vcenter.control
    control.clear_faults()
    allow(control)
    if EXTENSION_KEY not in control.extensions() or record_of(place.admin, place.vcenter)["record"] != "ours":
        place.kaasd.ctl.ok("vcenter", "register", place.vcenter.host, "--user", place.vcenter.admin.login, "--password-file", "-",
                           "--take-over", "--yes", stdin=place.vcenter.admin.password + "\n")
    until(lambda: (r := record_of(place.admin, place.vcenter))["record"] == "ours" and r["problem"] is None, "our record, without trouble")
    compared = record_of(place.admin, place.vcenter)["reconciled_at"]
    until(lambda: record_of(place.admin, place.vcenter)["reconciled_at"] != compared, "the end of a comparison that was under way")
    control.forget_calls()
    return place


def test_nothing_is_written_while_nothing_differs(joined: World) -> None:
    control = joined.vcenter.control
    until(lambda: comparisons(control) >= 4, "four comparisons")
    assert writes(control) == []
    assert record_of(joined.admin, joined.vcenter)["reconciled_at"]


def test_a_member_that_a_person_changed_is_put_right(joined: World) -> None:
    def change(record: Any) -> None:
        record.company = "Somebody"

    edit(joined.vcenter, change)
    until(lambda: found(joined.vcenter).company == "Cisco Systems, Inc.", "the repair")
    record = until(lambda: (r := record_of(joined.admin, joined.vcenter))["repaired"] and r, "the note")
    assert (record["record"], record["repaired"], record["problem"]) == ("ours", "company", None)
    rows = joined.db.query("SELECT result, reason FROM audit WHERE action = 'vcenter.repair'", database="kaas")
    assert ("ok", "company") in rows
    until(lambda: "vcenter_record_repaired" in joined.kaasd.process.log, "the line in the log")  # type: ignore[union-attr]


def test_a_privilege_of_an_earlier_version_leaves_the_record(joined: World) -> None:
    def change(record: Any) -> None:
        record.privilegeList.append(type(record.privilegeList[0])(privID="KaaS.Manage", privGroupName="KaaS"))

    edit(joined.vcenter, change)
    until(lambda: [privilege.privID for privilege in found(joined.vcenter).privilegeList] == ["KaaS.View"], "the repair")


def test_members_of_others_survive_the_repair(joined: World) -> None:
    def change(record: Any) -> None:
        record.company = "Somebody"
        record.shownInSolutionManager = True
        record.extendedProductInfo.managementUrl = "https://others.test/"

    edit(joined.vcenter, change)
    until(lambda: found(joined.vcenter).company == "Cisco Systems, Inc.", "the repair")
    record = found(joined.vcenter)
    assert record.shownInSolutionManager is True
    assert record.extendedProductInfo.managementUrl == "https://others.test/"


def test_a_certificate_lost_by_a_persons_change_is_set_again_and_proved(joined: World) -> None:
    def change(record: Any) -> None:
        record.subjectName = "CN=somebody"  # vCenter forgets the certificate by that

    control = joined.vcenter.control
    before = control.extensions()[EXTENSION_KEY]["thumbprint_sha256"]
    edit(joined.vcenter, change)
    until(lambda: found(joined.vcenter).subjectName is None, "the repair")
    until(lambda: control.extensions().get(EXTENSION_KEY, {}).get("thumbprint_sha256") == before, "the certificate")
    until(lambda: record_of(joined.admin, joined.vcenter)["record"] == "ours", "our record")
    ours = [op for op in writes(control) if op != "UnregisterExtension"]
    assert ours[-2:] == ["UpdateExtension", "SetExtensionCertificate"]
    logins = [call for call in control.calls(op="LoginExtensionByCertificate") if call["outcome"] == "ok"]
    assert logins


def test_without_the_right_a_removed_record_is_told_with_a_remedy(joined: World) -> None:
    control = joined.vcenter.control
    control.drop_extension(EXTENSION_KEY)
    record = until(lambda: (r := record_of(joined.admin, joined.vcenter))["problem"] and r, "the trouble")
    assert record["record"] == "missing"
    assert "Extension.Register is missing on the root folder" in record["problem"]
    assert "kaasctl vcenter register" in record["problem"]
    assert writes(control) == []
    checks = {check["name"]: check for check in joined.admin.get("/v2/health")["checks"]}
    check = checks[f"vcenter_record:{joined.vcenter.host}"]
    assert (check["status"], "register" in check["remedy"]) == ("warning", True)
    status = joined.kaasd.ctl.run("vcenter", "status", joined.vcenter.host)
    assert status.returncode == 1 and "Extension.Register" in status.stdout


def test_with_the_right_a_removed_record_comes_back(joined: World) -> None:
    control = joined.vcenter.control
    before = control.extensions()[EXTENSION_KEY]["thumbprint_sha256"]
    number = registration_no(joined.vcenter)
    allow(control, *EXTENSION_RIGHTS)
    control.drop_extension(EXTENSION_KEY)
    until(lambda: EXTENSION_KEY in control.extensions(), "the record")
    until(lambda: control.extensions().get(EXTENSION_KEY, {}).get("thumbprint_sha256") == before, "the certificate")
    until(lambda: (r := record_of(joined.admin, joined.vcenter))["record"] == "ours" and r["repaired"] == "the whole record", "our record")
    assert writes(control) == ["RegisterExtension", "SetExtensionCertificate"]
    assert registration_no(joined.vcenter) == number + 1  # or vSphere Clients would not show it again


def test_a_record_of_others_is_not_touched(joined: World) -> None:
    control = joined.vcenter.control
    control.put_extension(key=EXTENSION_KEY, version="1.0", company="Somebody", label="Other", summary="Other")
    record = until(lambda: (r := record_of(joined.admin, joined.vcenter))["problem"] and r, "the trouble")
    assert record["record"] == "foreign"
    assert "--take-over" in record["problem"]
    seen = comparisons(control)
    until(lambda: comparisons(control) > seen + 1, "further comparisons")
    assert writes(control) == []
    assert found(joined.vcenter).company == "Somebody"


def test_a_denied_update_stops_nothing_else(joined: World) -> None:
    control = joined.vcenter.control

    def change(record: Any) -> None:
        record.company = "Somebody"
        record.server[-1].url = "https://elsewhere.example.test/v2/"

    number = registration_no(joined.vcenter)
    control.fault("UpdateExtension", "fault", fault="NoPermission", user=EXTENSION_KEY)  # a person's passes
    edit(joined.vcenter, change)
    problem = until(lambda: record_of(joined.admin, joined.vcenter)["problem"], "the trouble")
    assert "Extension.Update is missing on the root folder" in problem
    assert "company" in problem
    tried = len(control.calls(op="UpdateExtension"))
    until(lambda: len(control.calls(op="UpdateExtension")) > tried + 1, "further tries")
    assert joined.admin.get(f"/v2/vcenters/{joined.vcenter.instance_uuid}")["state"] == "connected"
    assert joined.admin.expect(200, "POST", f"/v2/vcenters/{joined.vcenter.instance_uuid}/rescan")["vsphere_clusters"] > 0
    control.clear_faults()
    until(lambda: found(joined.vcenter).company == "Cisco Systems, Inc.", "the repair")
    until(lambda: record_of(joined.admin, joined.vcenter)["problem"] is None, "an end of the trouble")
    assert registration_no(joined.vcenter) == number + 1  # counted once, however often it was tried


@pytest.mark.parametrize(("op", "kind"), [("UpdateExtension", "close"), ("UpdateExtension", "html"), ("UpdateExtension", "status")])
def test_a_repair_that_fails_half_way_is_finished_later(joined: World, op: str, kind: str) -> None:
    control = joined.vcenter.control

    def change(record: Any) -> None:
        record.company = "Somebody"

    edit(joined.vcenter, change)
    control.fault(op, kind, count=2, **({"status": 503} if kind == "status" else {}))
    until(lambda: found(joined.vcenter).company == "Cisco Systems, Inc.", "the repair")
    until(lambda: record_of(joined.admin, joined.vcenter)["record"] == "ours", "our record")


@pytest.mark.parametrize("op", ["RegisterExtension", "SetExtensionCertificate", "LoginExtensionByCertificate"])
def test_a_registration_made_again_half_way_is_finished_later(joined: World, op: str) -> None:
    control = joined.vcenter.control
    before = control.extensions()[EXTENSION_KEY]["thumbprint_sha256"]
    allow(control, *EXTENSION_RIGHTS)
    control.fault(op, "close", count=1)
    control.drop_extension(EXTENSION_KEY)
    until(lambda: EXTENSION_KEY in control.extensions(), "the record")
    try:
        until(lambda: control.extensions().get(EXTENSION_KEY, {}).get("thumbprint_sha256") == before, "the certificate")
    finally:
        control.clear_faults()
    until(lambda: record_of(joined.admin, joined.vcenter)["record"] == "ours", "our record")


def test_a_new_server_certificate_is_carried_into_the_record(place: World, joined: World) -> None:
    number = registration_no(joined.vcenter)
    fresh = make_server_cert(place.scratch.path / "fresh-tls")
    place.kaasd.tls.cert_file.write_bytes(fresh.cert_file.read_bytes())
    place.kaasd.tls.key_file.write_bytes(fresh.key_file.read_bytes())
    old, place.kaasd.tls = place.kaasd.tls, fresh
    assert place.kaasd.process
    place.kaasd.process.signal(signal.SIGHUP)
    until(lambda: {server.serverThumbprint for server in found(joined.vcenter).server} == {fresh.sha256}, "the new thumbprint")
    assert old.sha256 != fresh.sha256
    assert registration_no(joined.vcenter) == number + 1


def test_of_two_replicas_one_repairs(make_kaasd: Callable[..., Kaasd], make_vcenter: Callable[..., StrictVcenter]) -> None:
    vcenter = make_vcenter("shared")
    address = {"server": {"public_url": "https://kaas.example.test"}}
    one = make_kaasd("one", options={**OFTEN, **address, "replica": {"name": "one"}})
    one.init()
    one.start()
    two = one.beside("two", options={**OFTEN, **address})
    two.start()
    try:
        repair_by_one_of(one, vcenter)
    finally:
        two.stop()


def repair_by_one_of(one: Kaasd, vcenter: StrictVcenter) -> None:
    add_vcenter(one, vcenter)
    join(one, vcenter)
    control = vcenter.control
    until(lambda: len(ours(control)) == 2, "both replicas at the vCenter")
    control.forget_calls()
    for company in ("A", "B", "C"):
        def change(record: Any, company: str = company) -> None:
            record.company = company

        edit(vcenter, change)
        until(lambda: found(vcenter).company == "Cisco Systems, Inc.", "the repair")
    keys = {row["key"] for row in ours(control)}
    repairs = [call for call in control.calls(op="UpdateExtension") if call["session_key"] in keys]
    assert len(repairs) == 3, "each change is repaired once"


def ours(control: Control) -> list[dict[str, Any]]:
    return [row for row in control.sessions() if row["extension_session"]]
