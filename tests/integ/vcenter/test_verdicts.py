"""Verdicts on a vCenter and on what kaasd uses there: each fault is told by its word, and by it alone; times stay while things stay."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from env import vimclient
from env.certs import make_server_cert
from env.clock import clocked_world
from env.contract import schema_errors
from env.full import EXTENSION_KEY, World, register
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from env.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.long(40)]
IMPATIENT = {"vcenter": {"call_timeout": "1s", "connect_timeout": "1s"}}
KINDS = ("reachable", "valid", "authorised")
READER = "VSPHERE.LOCAL\\reader"
ALL = ("Sessions.TerminateSession", "Global.LogEvent", "Extension.Update")
EAST, PLAIN = "domain-c7", "domain-c40"


@dataclass
class Place:
    """One daemon with two vCenters: kaasd logs in at `west` by certificate and at `east` by an account."""

    world: World
    west: StrictVcenter
    east: StrictVcenter

    def verdicts(self, vcenter: StrictVcenter) -> dict[str, Any]:
        status = self.world.admin.get(f"/v2/vcenters/{vcenter.instance_uuid}/status")
        assert schema_errors("VcenterStatus", status) == []
        return status["verdicts"]

    def until_fault(self, vcenter: StrictVcenter, fault: str | None) -> dict[str, Any]:
        """The verdicts, once the first that is bad is so by this fault; none: once all are good."""

        def reached() -> dict[str, Any] | None:
            now = self.verdicts(vcenter)
            bad = [now[kind]["fault"] for kind in KINDS if now[kind]["verdict"] == "no"]
            is_good = fault is None and all(now[kind]["verdict"] == "yes" for kind in KINDS)
            return now if is_good or (fault and bad[:1] == [fault]) else None

        return until(reached, f"the fault {fault} in {self.verdicts(vcenter)}")

    def authorised(self, vcenter: StrictVcenter) -> dict[str, Any]:
        """By path of the object."""
        return {row["path"]: row for row in self.verdicts(vcenter)["objects"]}

    def checks(self) -> list[dict[str, Any]]:
        """Of health: the lines of vCenters that are not well."""
        checks = self.world.kaasd.ctl.json("health")["checks"]
        return [check for check in checks if check["name"].startswith("vcenter:") and check["status"] != "ok"]

    def metric(self, vcenter: str, verdict: str) -> int | None:
        """None: there is no sample."""
        page = self.world.admin.call("GET", "/metrics").text
        told = re.search(rf'^kaas_vcenter_verdict{{vcenter="{vcenter}",verdict="{verdict}"}} (\d)$', page, re.M)
        return int(told[1]) if told else None

    def set_password(self, password: str) -> None:
        self.world.kaasd.ctl.ok("vcenter", "set-password", "east", "--password-file", "-", stdin=password + "\n")


def add_by_ca(world: World, vcenter: StrictVcenter, name: str, *more: str) -> None:
    world.kaasd.ctl.ok("vcenter", "add", vcenter.address, "--ca-file", str(vcenter.ca_file), "--yes", "--name", name, *more)


def second_vcenter(world: World) -> StrictVcenter:
    text = DEFAULT_WORLD.read_text()
    uuid = world.vcenter.instance_uuid
    path = world.scratch.path / "east-world.json"
    path.write_text(text.replace(uuid, f"{'e' * 8}{uuid[8:]}"))
    return start_strict(world.scratch, "east", world=path)


def register_by_account(world: World, vcenter: StrictVcenter) -> None:
    vcenter.control.role("Reader", *ALL)
    vcenter.control.put_user("reader", "reader-Pass1")
    vcenter.control.permit("group-d1", READER, "Reader", propagate=True)
    secret = world.scratch.path / "reader.password"
    secret.write_text("reader-Pass1\n")
    secret.chmod(0o600)
    world.kaasd.ctl.ok("vcenter", "register", "east", "--user", vcenter.admin.login, "--password-file", "-", "--login-account",
                       "reader@vsphere.local", "--login-password-file", str(secret), "--yes", stdin=vcenter.admin.password + "\n")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with World("v", options=IMPATIENT) as world:
        add_by_ca(world, world.vcenter, "west", "--tunnel-port", str(world.vcenter.tunnel_port))
        register(world.kaasd, world.vcenter)
        east = second_vcenter(world)
        try:
            add_by_ca(world, east, "east", "--tunnel-port", "0")
            register_by_account(world, east)
            for name, where in (("plain", "DC0/C-Plain"), ("prod", "DC0/HX-East")):
                for vcenter in ("west", "east"):
                    world.kaasd.ctl.ok("cluster", "add", "--name", f"{name}-{vcenter}", "--kubernetes-version", "1.31.2",
                                       "--vsphere-cluster", f"{vcenter}:{where}")
            yield Place(world, world.vcenter, east)
        finally:
            east.stop()


# -- faults of the way and of the certificate login: made at `west`, and mended --------------------------------------------------


def answer_of_another(vcenter: StrictVcenter) -> str:
    """What RetrieveServiceContent of a vCenter with another identity says."""
    body = ('<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><RetrieveServiceContent xmlns="urn:vim25">'
            '<_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent></Body></Envelope>')
    answer = requests.post(vcenter.url, data=body, verify=str(vcenter.ca_file), timeout=60, headers={
        "SOAPAction": '"urn:vim25/8.0.3.0"', "Content-Type": "text/xml; charset=utf-8"})
    assert vcenter.instance_uuid in answer.text
    return answer.text.replace(vcenter.instance_uuid, "00000000-1111-4222-8333-444444444444")


def order(op: str, kind: str, **more: Any) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        place.west.control.fault(op, kind, **more)
        place.west.control.disconnect()
    return make


def certificate(mode: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        place.west.control.change_certificate(mode)
        place.west.control.disconnect()
    return make


def close_port(place: Place) -> None:
    place.west.control.close_port()


def answer_as_another(place: Place) -> None:
    order("RetrieveServiceContent", "body", status=200, content_type="text/xml", body=answer_of_another(place.west))(place)


def skew_clock(place: Place) -> None:
    place.west.control.skew_clock(7200)


def change_certificate_of_record(place: Place) -> None:
    other = make_server_cert(place.world.scratch.path / "other").cert_file.read_text()
    with vimclient.session(place.west, place.west.admin) as instance:
        instance.RetrieveContent().extensionManager.SetExtensionCertificate(EXTENSION_KEY, other)
    place.west.control.expire(user=EXTENSION_KEY)


def remove_record(place: Place) -> None:
    place.west.control.drop_extension(EXTENSION_KEY)
    path = f"/v2/vcenters/{place.west.instance_uuid}/status"
    until(lambda: place.world.admin.get(path)["extension"]["problem"], "that kaasd knows it")
    place.west.control.expire(user=EXTENSION_KEY)


def lose_certificate_on_the_way(place: Place) -> None:
    place.west.control.fault("LoginExtensionByCertificate", "fault", fault="NoClientCertificate")
    place.west.control.expire(user=EXTENSION_KEY)


def mend(place: Place) -> None:
    control = place.west.control
    control.clear_faults()
    control.open_port()
    control.skew_clock(0)


def mend_certificate(place: Place) -> None:
    certificate("new")(place)


def register_again(place: Place) -> None:
    mend(place)
    register(place.world.kaasd, place.west)


WEST = {
    "port_closed": (close_port, mend),
    "no_answer": (order("*", "hang"), mend),
    "connection_broken": (order("*", "close"), mend),
    "service_down": (order("*", "status", status=503), mend),
    "no_vcenter": (order("*", "html"), mend),
    "other_vcenter": (answer_as_another, mend),
    "ca_unknown": (certificate("other-ca"), mend_certificate),
    "certificate_expired": (certificate("expired"), mend_certificate),
    "certificate_not_yet_valid": (certificate("not-yet"), mend_certificate),
    "certificate_name": (certificate("wrong-name"), mend_certificate),
    "clock_skew": (skew_clock, mend),
    "login_refused": (change_certificate_of_record, register_again),
    "no_login_way": (lose_certificate_on_the_way, register_again),
    "not_registered": (remove_record, register_again),
}


@pytest.mark.parametrize("fault", WEST)
def test_a_fault_of_the_way_or_the_login_is_told_by_its_word(place: Place, fault: str) -> None:
    make, undo = WEST[fault]
    place.until_fault(place.west, None)
    make(place)
    told = place.until_fault(place.west, fault)
    bad = next(kind for kind in KINDS if told[kind]["verdict"] == "no")
    assert told[bad]["reason"]
    assert told[bad]["remedy"]
    before, behind = KINDS[:KINDS.index(bad)], KINDS[KINDS.index(bad) + 1:]
    assert {told[kind]["verdict"] for kind in before} <= {"yes"}
    if fault != "clock_skew":  # the session lives
        assert {told[kind]["verdict"] for kind in behind} <= {"unknown"}
        assert [place.metric("west", kind) for kind in (bad, *behind)] == [0, *(None for _ in behind)]
    undo(place)
    place.until_fault(place.west, None)


def test_a_name_that_does_not_resolve_and_a_network_that_is_not_allowed(place: Place) -> None:
    kaasd, db, uuid = place.world.kaasd, place.world.db, place.west.instance_uuid
    kaasd.stop()
    db.query(f"UPDATE vcenters SET address = 'vcenter.invalid' WHERE id = '{uuid}'", database="kaas")
    kaasd.start()
    assert "vcenter.invalid" in place.until_fault(place.west, "name_unresolved")["reachable"]["reason"]
    kaasd.stop()
    db.query(f"UPDATE vcenters SET address = '{place.west.host}' WHERE id = '{uuid}'", database="kaas")
    kaasd.write_config({"vcenter": {**IMPATIENT["vcenter"], "allowed_networks": ["192.0.2.0/24"]}})
    kaasd.start()
    assert "vcenter.allowed_networks" in place.until_fault(place.west, "network_forbidden")["reachable"]["remedy"]
    kaasd.stop()
    kaasd.write_config(IMPATIENT)
    kaasd.start()
    place.until_fault(place.west, None)


# -- faults of an account: made at `east` ------------------------------------------------------------------------------------------


def change_user(place: Place, **user: Any) -> None:
    place.east.control.put_user("reader", **{"password": "reader-Pass1", **user})
    place.east.control.expire(user=READER)


@pytest.mark.parametrize(("fault", "user"), [("login_refused", {"password": "another-Pass1"}), ("account_locked", {"locked": True}),
                                             ("password_expired", {"password_expired": True})])
def test_what_is_wrong_with_an_account_is_told_by_its_word(place: Place, fault: str, user: dict[str, Any]) -> None:
    place.until_fault(place.east, None)
    place.east.control.forget_calls()
    change_user(place, **user)
    told = place.until_fault(place.east, fault)
    assert "set-password east" in told["valid"]["remedy"]
    assert (told["reachable"]["verdict"], told["authorised"]["verdict"]) == ("yes", "unknown")
    assert place.until_fault(place.east, fault)["valid"]["since"] == told["valid"]["since"]
    refused = [call for call in place.east.control.calls(op="Login") if call["outcome"] != "ok"]
    assert len(refused) == 1  # not sent again: accounts get locked by that
    change_user(place)
    place.set_password("reader-Pass1")
    place.until_fault(place.east, None)


# -- privileges -----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def permissions(place: Place) -> Iterator[Place]:
    place.until_fault(place.east, None)
    yield place
    place.east.control.role("Reader", *ALL)
    place.until_fault(place.east, None)


def test_a_privilege_that_is_missing_on_the_root_folder_is_named(permissions: Place) -> None:
    permissions.east.control.role("Reader", "Global.LogEvent", "Extension.Update")
    told = permissions.until_fault(permissions.east, "privilege_missing")
    assert told["authorised"]["reason"] == "Sessions.TerminateSession missing on the root folder"
    objects = permissions.authorised(permissions.east)
    assert objects["/"]["missing_privileges"] == ["Sessions.TerminateSession"]
    assert objects["/DC0/host/C-Plain"]["authorised"]["verdict"] == "yes"
    assert permissions.verdicts(permissions.west)["authorised"]["verdict"] == "yes"


@pytest.mark.parametrize(("role", "missing"), [("ReadOnly", ["Global.LogEvent"]), ("NoAccess", ["System.Read"])])
def test_a_right_that_is_missing_on_one_vsphere_cluster_is_told_with_its_path(permissions: Place, role: str, missing: list[str]) -> None:
    place, path = permissions, "/DC0/host/HX-East"
    place.east.control.permit(EAST, READER, role)
    told = place.until_fault(place.east, "object_privilege_missing")
    assert told["authorised"]["reason"] == f"{missing[0]} missing on {path}"
    bad = {row["path"]: row["missing_privileges"] for row in told["objects"] if row["authorised"]["verdict"] != "yes"}
    assert bad == {path: missing}
    time.sleep(1.1)  # times are told in seconds
    again = place.until_fault(place.east, "object_privilege_missing")
    assert again["authorised"] == told["authorised"]
    assert [row["authorised"] for row in again["objects"]] == [row["authorised"] for row in told["objects"]]
    [check] = place.checks()
    assert (check["name"], check["status"]) == ("vcenter:east", "warning")
    assert check["detail"] == f"not authorised (object_privilege_missing): {missing[0]} missing on {path}"
    assert place.metric("east", "authorised") == 0
    assert place.metric("west", "authorised") == 1
    said = place.world.kaasd.ctl.run("vcenter", "status", "east")
    assert said.returncode == 1
    assert f"{missing[0]} missing on {path}" in said.stdout
    place.east.control.forbid(EAST, READER)
    mended = place.until_fault(place.east, None)
    assert mended["authorised"]["since"] > told["authorised"]["since"]
    assert mended["valid"] == told["valid"]
    assert place.checks() == []


def test_what_is_kept_from_us_is_told_though_it_shows_no_more_until_the_registration_changes(permissions: Place) -> None:
    """No Kubernetes cluster is on HX-West: without rights there it is not among the vSphere clusters any more."""
    place, clusters = permissions, f"/v2/vcenters/{permissions.east.instance_uuid}/vsphere-clusters"
    place.east.control.permit("domain-c70", READER, "NoAccess")
    until(lambda: "domain-c70" not in {row["moref"] for row in place.world.admin.items(clusters)}, "that it shows no more")
    told = place.until_fault(place.east, "object_privilege_missing")
    assert told["authorised"]["reason"] == "System.Read missing on /DC0/host/HX-West"
    place.set_password("reader-Pass1")  # as when an account is registered that shall see less
    place.until_fault(place.east, None)
    place.east.control.forbid("domain-c70", READER)
    until(lambda: "/DC0/host/HX-West" in place.authorised(place.east), "that it is used again")


def test_a_vsphere_cluster_that_is_gone_is_told_with_its_path(place: Place) -> None:
    place.until_fault(place.east, None)
    place.east.control.remove(PLAIN)
    told = place.until_fault(place.east, "object_gone")
    assert told["authorised"]["reason"] == "/DC0/host/C-Plain is gone"
    place.world.kaasd.ctl.ok("cluster", "rm", "plain-east", "--yes")
    place.until_fault(place.east, None)


# -- trust by SHA-256, and what a new link takes over ------------------------------------------------------------------------------


def test_a_certificate_that_has_changed_is_told_until_it_is_trusted(place: Place) -> None:
    control, ctl = place.west.control, place.world.kaasd.ctl
    ctl.ok("vcenter", "trust", "west", "--sha256", control.state()["thumbprint_sha256"])
    place.until_fault(place.west, None)
    certificate("new")(place)
    told = place.until_fault(place.west, "certificate_changed")["reachable"]
    assert control.state()["thumbprint_sha256"].lower()[:23] in told["reason"].lower()
    ctl.ok("vcenter", "trust", "west", "--sha256", control.state()["thumbprint_sha256"])
    before = place.until_fault(place.west, None)
    ctl.ok("vcenter", "set", "west", "--tunnel-port", str(place.west.tunnel_port), "--direct-port", "8089")
    after = place.until_fault(place.west, None)
    assert [after[kind]["since"] for kind in KINDS] == [before[kind]["since"] for kind in KINDS]


# -- again and again, by the session that there is -----------------------------------------------------------------------------------


def test_privileges_are_asked_about_every_ten_minutes_without_a_login() -> None:
    with clocked_world("vt") as (world, clock):
        world.join()
        control = world.vcenter.control
        question = "HasPrivilegeOnEntities"
        until(lambda: control.calls(op=question, user=EXTENSION_KEY), "the first question")
        before = control.state()["counters"]
        for _ in range(3):
            control.forget_calls()
            clock.advance(620, step_s=40)
            until(lambda: control.calls(op=question, user=EXTENSION_KEY), "another question")
            assert len(control.calls(op=question, user=EXTENSION_KEY)) == 1
        after = control.state()["counters"]
        assert (after["logins"], after["logouts"]) == (before["logins"], before["logouts"])


