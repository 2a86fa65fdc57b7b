"""Service accounts: by client certificate, for themselves and for users of a vCenter, as an HX controller does."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shlex
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from env import vimclient
from env.api import Api, Unexpected
from env.client_certs import ClientCa, ClientCert
from env.full import World
from env.hx_controller import HxController
from env.kaasd import Kaasd
from env.places import free_port
from env.samples import visible_to
from env.wait import until

pytestmark = pytest.mark.slow
MERGE = {"Content-Type": "application/merge-patch+json"}
HEADER = {"X-KaaS": "1"}
VIEWER = "VSPHERE.LOCAL\\viewer-east"
EAST_NAMES = visible_to("viewer-east")


@dataclass
class Place:
    world: World
    ca: ClientCa
    port: int
    admin: Api
    hx: dict[str, str]  # ids of HX clusters by name of vSphere cluster's managed object

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def vcenter(self) -> str:
        return self.world.vcenter.instance_uuid

    def add(self, cert: ClientCert | None = None, **more: Any) -> dict[str, Any]:
        """A service account; without more: pinned, on HX-East of DC0, and may act for people."""
        body: dict[str, Any] = {"name": f"hx-{uuid.uuid4().hex[:8]}", "hx_clusters": [self.hx["domain-c7"]], "may_delegate": True, **more}
        if cert and "subject" not in body:
            body["certificates"] = [cert.pem]
        made: dict[str, Any] = self.admin.expect(201, "POST", "/v2/services", json=body)
        return made

    def change(self, account: dict[str, Any], **patch: Any) -> dict[str, Any]:
        changed: dict[str, Any] = self.admin.expect(200, "PATCH", f"/v2/services/{account['id']}", json=patch, headers=MERGE)
        return changed

    def controller(self, cert: ClientCert | None, account: dict[str, Any] | None = None) -> HxController:
        return HxController(self.url, self.world.kaasd.tls.ca_file, cert, self.hx["domain-c7"], account["id"] if account else None)

    def new(self, **more: Any) -> tuple[dict[str, Any], HxController]:
        cert = self.ca.issue("hx-east")
        account = self.add(cert, **more)
        return account, self.controller(cert, account)

    def reload(self) -> None:
        assert self.world.kaasd.process
        self.world.kaasd.process.signal(signal.SIGHUP)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    ca = ClientCa(tmp_path_factory.mktemp("client-ca"))
    port = free_port()
    service = {"service_listen": f"127.0.0.1:{port}", "client_ca_file": str(ca.ca_file), "client_crl_file": str(ca.crl_file)}
    with World("v", options={"server": service, "auth": {"rights_fresh": "1s"}}) as world:
        world.join()
        admin = world.kaasd.admin()
        hx = {item["vsphere_cluster"]["moref"]: item["id"] for item in admin.items("/v2/hx-clusters")}
        yield Place(world, ca, port, admin, hx)


def refused(answer: requests.Response, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    problem: dict[str, Any] = answer.json()
    return problem


# -- who it is ----------------------------------------------------------------------------------------------------------------


def test_a_program_sees_its_own_hx_cluster_and_nothing_else(place: Place) -> None:
    account, controller = place.new()
    itself = controller.sign_in()
    who = itself.get("/v2/whoami")
    assert (who["id"], who["role"], who["method"], who["source"]) == (account["principal_id"], "service", "service", "service")
    assert controller.page(itself) == EAST_NAMES
    assert [item["id"] for item in itself.items("/v2/hx-clusters")] == [place.hx["domain-c7"]]
    stretched = next(item for item in itself.items("/v2/clusters") if item["name"] == "stretched")
    assert stretched["placement"]["hidden"] == 1
    assert itself.get(f"/v2/clusters/{stretched['id']}")["placement"]["hidden"] == 1
    west = next(item for item in place.admin.items("/v2/clusters") if item["name"] == "west-1")
    itself.refused(404, "not_found", "GET", f"/v2/clusters/{west['id']}")
    itself.refused(403, "forbidden", "GET", "/v2/services")
    itself.refused(403, "forbidden", "POST", "/v2/clusters", json={})


def test_a_certificate_of_the_ca_signs_in_by_its_subject(place: Place) -> None:
    name = f"by-subject-{uuid.uuid4().hex[:8]}"
    account = place.add(subject=f"cn={name}, O = Example")
    assert account["subject"] == f"CN={name},O=Example"
    assert place.controller(place.ca.issue(name), account).sign_in().get("/v2/whoami")["id"] == account["principal_id"]
    refused(place.controller(place.ca.issue(name + "x")).try_sign_in(), 401, "invalid_credentials")
    refused(place.controller(place.ca.issue(name, days=(-9, -1))).try_sign_in(), 401, "invalid_credentials")
    refused(place.controller(place.ca.issue(name, days=(1, 9))).try_sign_in(), 401, "invalid_credentials")
    refused(place.controller(place.ca.issue(name, for_servers=True)).try_sign_in(), 401, "invalid_credentials")


def test_a_foreign_ca_vouches_for_nobody(place: Place, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = ClientCa(tmp_path_factory.mktemp("other-ca"))
    name = f"foreign-{uuid.uuid4().hex[:8]}"
    place.add(subject=f"CN={name},O=Example")
    refused(place.controller(other.issue(name)).try_sign_in(), 401, "invalid_credentials")
    pinned = other.issue(name)  # a pinned one needs no CA
    account = place.add(pinned)
    assert place.controller(pinned, account).page(place.controller(pinned, account).sign_in()) == EAST_NAMES


def test_a_pinned_certificate_that_has_ended_is_refused(place: Place) -> None:
    old = place.ca.issue("old", days=(-9, -1))
    account = place.add(old)
    assert account["certificates"] == [{"sha256": old.sha256, "not_after": account["certificates"][0]["not_after"]}]
    refused(place.controller(old).try_sign_in(), 401, "invalid_credentials")


def test_without_a_certificate_or_on_the_other_port_nobody_signs_in(place: Place) -> None:
    _, controller = place.new()
    refused(place.controller(None).try_sign_in(), 401, "unauthenticated")
    controller.url = place.world.kaasd.url  # clients are not asked for a certificate there
    refused(controller.try_sign_in(), 401, "unauthenticated")


def test_a_revoked_certificate_is_refused_and_an_old_list_keeps_everybody_out(place: Place) -> None:
    name = f"revoked-{uuid.uuid4().hex[:8]}"
    account = place.add(subject=f"CN={name},O=Example")
    first, second = place.ca.issue(name), place.ca.issue(name)
    try:
        place.controller(first, account).sign_in()
        place.ca.revoke(first)
        place.reload()
        until(lambda: place.controller(first).try_sign_in().status_code == 401, "the revocation list is read")
        place.controller(second, account).sign_in()
        place.ca.write_crl(days=(-9, -1))
        place.reload()
        until(lambda: place.controller(second).try_sign_in().status_code == 401, "the revocation list is read")
    finally:
        place.ca.write_crl()
        place.reload()
        until(lambda: place.controller(second).try_sign_in().status_code == 200, "the revocation list is read")


def test_a_pinned_certificate_that_is_revoked_is_refused(place: Place) -> None:
    """Whoever pins a certificate does so without its CA; what that takes back is taken back all the same."""
    pinned = place.ca.issue("pinned-and-revoked")
    account = place.add(pinned)
    place.controller(pinned, account).sign_in()
    place.ca.revoke(pinned)
    place.reload()
    until(lambda: place.controller(pinned).try_sign_in().status_code == 401, "the revocation list is read")
    refused(place.controller(pinned).try_sign_in(), 401, "invalid_credentials")


def test_an_end_that_was_not_known_is_noted_at_the_sign_on_and_health_warns(place: Place) -> None:
    cert = place.ca.issue("ends-soon", days=(-1, 5))
    account = place.add(certificates=[":".join(cert.sha256[i:i + 2].upper() for i in range(0, 64, 2))])
    assert account["certificates"] == [{"sha256": cert.sha256, "not_after": None}]
    place.controller(cert, account).sign_in()
    shown = until(lambda: place.admin.get(f"/v2/services/{account['id']}")["certificates"][0]["not_after"], "the end is noted")
    assert shown
    check = next(c for c in place.admin.get("/v2/health")["checks"] if c["name"] == "service_certificates")
    assert check["status"] == "warning"
    place.admin.expect(204, "DELETE", f"/v2/services/{account['id']}")


# -- for people ---------------------------------------------------------------------------------------------------------------


def test_the_controller_acts_for_a_user_who_sees_what_both_may_see(place: Place) -> None:
    account, controller = place.new()
    session = controller.sign_in_for(place.vcenter, VIEWER)
    assert controller.page(session) == EAST_NAMES
    who = session.get("/v2/whoami")
    assert (who["id"], who["method"], who["role"]) == (f"vc:{place.vcenter}:{VIEWER.lower()}", "vcenter_service", "user")
    assert who["acting_service"] == {"id": account["principal_id"], "name": account["name"]}
    assert controller.page(controller.sign_in_for(place.vcenter, "VSPHERE.LOCAL\\viewer-dc")) == EAST_NAMES  # though they may see more
    assert controller.page(controller.sign_in_for(place.vcenter, "VSPHERE.LOCAL\\no-rights")) == []
    place.change(account, hx_clusters=[place.hx["domain-c70"]])
    assert session.names() == []  # viewer-east may not see the other one
    line = next(place.admin.items("/v2/audit", action="login", principal_id=who["id"], acting_id=account["principal_id"]))
    assert (line["acting_id"], line["result"], line["source"]) == (account["principal_id"], "ok", "vcenter-service")


def test_the_same_list_is_not_shared_with_the_user_who_comes_by_themself(place: Place) -> None:
    """The same principal, rights and query, in turns: each gets their own."""
    account, controller = place.new(hx_clusters=[])
    through = controller.sign_in_for(place.vcenter, VIEWER)
    by_themself = place.world.by_ticket("viewer-east")
    for _ in range(3):
        assert through.names() == []
        assert by_themself.names() == EAST_NAMES
    place.change(account, hx_clusters=[place.hx["domain-c7"]])
    assert through.names() == by_themself.names() == EAST_NAMES


def test_an_administrator_of_the_vcenter_is_a_user_through_a_program(place: Place) -> None:
    _, controller = place.new()
    session = controller.sign_in_for(place.vcenter, "VSPHERE.LOCAL\\Administrator")
    assert controller.page(session) == EAST_NAMES
    session.refused(403, "forbidden", "GET", "/v2/users")


def test_without_the_permission_it_acts_for_nobody(place: Place) -> None:
    account, controller = place.new(may_delegate=False)
    refused(controller.try_sign_in(place.vcenter, VIEWER), 403, "forbidden")
    assert controller.page(controller.sign_in()) == EAST_NAMES
    line = next(place.admin.items("/v2/audit", action="login", acting_id=account["principal_id"]))
    assert (line["principal_name"], line["result"]) == (VIEWER, "forbidden")


def test_its_remedy_can_be_typed_whatever_it_is_called(place: Place) -> None:
    _, controller = place.new(may_delegate=False, name=f"it's $HOME {uuid.uuid4().hex[:8]}")
    problem = refused(controller.try_sign_in(place.vcenter, VIEWER), 403, "forbidden")
    kaasctl, *words = shlex.split(problem["remedy"].removeprefix("an administrator runs: "))
    assert kaasctl == "kaasctl"
    place.world.kaasd.ctl.ok(*words)
    assert controller.page(controller.sign_in_for(place.vcenter, VIEWER)) == EAST_NAMES


def test_unknown_users_and_programs_are_refused(place: Place) -> None:
    _, controller = place.new()
    refused(controller.try_sign_in(place.vcenter, "VSPHERE.LOCAL\\nobody-here"), 401, "invalid_credentials")
    refused(controller.try_sign_in(place.vcenter, "VSPHERE.LOCAL\\com.cisco.kaas"), 401, "invalid_credentials")
    refused(controller.try_sign_in(place.vcenter, "viewer-east@vsphere.local"), 422, "unprocessable")
    refused(controller.try_sign_in(place.vcenter, "viewer-east"), 422, "unprocessable")
    refused(controller.try_sign_in(str(uuid.uuid4()), VIEWER), 404, "not_found")


def test_solution_users_are_refused(place: Place) -> None:
    _, controller = place.new()
    name = f"vpxd-extension-{uuid.uuid4()}"
    place.world.vcenter.control.put_user(name, "Solution-Pass1")
    try:
        refused(controller.try_sign_in(place.vcenter, f"VSPHERE.LOCAL\\{name}"), 403, "forbidden")
    finally:
        place.world.vcenter.control.drop_user(name)


def test_rights_that_are_taken_away_at_the_vcenter_count_at_once(place: Place) -> None:
    _, controller = place.new()
    name = f"leaver-{uuid.uuid4().hex[:8]}"
    control = place.world.vcenter.control
    control.put_user(name, "Leaver-Pass1")
    control.permit("domain-c7", f"VSPHERE.LOCAL\\{name}")
    session = controller.sign_in_for(place.vcenter, f"VSPHERE.LOCAL\\{name}")
    assert controller.page(session) == EAST_NAMES
    control.forbid("domain-c7", f"VSPHERE.LOCAL\\{name}")
    until(lambda: session.names() == [], "the right is gone")
    control.drop_user(name)


# -- what an administrator changes counts in running sessions -----------------------------------------------------------------


def test_what_changes_counts_in_running_sessions(place: Place) -> None:
    account, controller = place.new()
    itself, acting = controller.sign_in(), controller.sign_in_for(place.vcenter, VIEWER)
    assert itself.names() == acting.names() == EAST_NAMES
    place.change(account, hx_clusters=[])
    assert itself.names() == acting.names() == []
    place.change(account, hx_clusters=[place.hx["domain-c7"]], may_delegate=False)
    assert itself.names() == EAST_NAMES
    acting.refused(401, "session_ended", "GET", "/v2/clusters")
    place.change(account, may_delegate=True)
    acting.refused(401, "session_ended", "GET", "/v2/clusters")  # it does not come back
    acting = controller.sign_in_for(place.vcenter, VIEWER)
    place.change(account, disabled=True)
    for session in (itself, acting):
        session.refused(401, "session_ended", "GET", "/v2/clusters")
        session.refused(401, "session_ended", "POST", "/v2/token/refresh")
    refused(controller.try_sign_in(), 401, "invalid_credentials")
    place.change(account, disabled=False)
    itself.refused(401, "session_ended", "GET", "/v2/clusters")
    assert controller.page(controller.sign_in()) == EAST_NAMES


def test_a_certificate_taken_away_ends_its_sessions(place: Place) -> None:
    account, controller = place.new()
    itself = controller.sign_in()
    fresh = place.ca.issue("fresh")
    place.change(account, certificates=[controller.cert.sha256 if controller.cert else "", fresh.pem])
    assert itself.names() == EAST_NAMES
    place.change(account, certificates=[fresh.sha256])
    itself.refused(401, "session_ended", "GET", "/v2/clusters")
    refused(controller.try_sign_in(), 401, "invalid_credentials")
    assert place.controller(fresh, account).sign_in().names() == EAST_NAMES
    place.admin.expect(204, "DELETE", f"/v2/services/{account['id']}")
    refused(place.controller(fresh).try_sign_in(), 401, "invalid_credentials")


def test_another_replica_follows(place: Place) -> None:
    account, controller = place.new()
    itself, acting = controller.sign_in(), controller.sign_in_for(place.vcenter, VIEWER)
    second: Kaasd = place.world.kaasd.beside("second")
    second.start()
    try:
        there = [second.api(itself.token), second.api(acting.token)]
        assert [api.names() for api in there] == [EAST_NAMES, EAST_NAMES]
        place.change(account, hx_clusters=[])
        until(lambda: [api.names() for api in there] == [[], []], "the other replica follows")
        place.change(account, disabled=True)
        until(lambda: all(api.call("GET", "/v2/clusters").status_code == 401 for api in there), "the other replica follows")
    finally:
        second.stop()


# -- the key of a session -----------------------------------------------------------------------------------------------------


def key_body(place: Place, key: str, user_name: str = VIEWER) -> dict[str, str]:
    return {"vcenter": place.vcenter, "session_id": key, "user_name": user_name}


def test_the_key_of_a_session_is_taken_from_programs_only(place: Place) -> None:
    _, controller = place.new()
    with vimclient.session(place.world.vcenter, place.world.vcenter.users["viewer-east"]) as instance:
        key = instance.content.sessionManager.currentSession.key
        acting = controller.sign_in_by_key(place.vcenter, key, VIEWER)
        assert controller.page(acting) == EAST_NAMES
        assert acting.get("/v2/whoami")["method"] == "vcenter_session_key"
        itself = controller.sign_in()
        bare = place.controller(None)
        bare.service_id = controller.service_id
        assert bare.sign_in_by_key(place.vcenter, key, VIEWER, Authorization=f"Bearer {itself.token}").names() == EAST_NAMES
        refused(bare.ask("/v2/login/vcenter", key_body(place, key)), 403, "forbidden")
        refused(bare.ask("/v2/login/vcenter", key_body(place, key), Authorization=f"Bearer {place.admin.token}"), 403, "forbidden")
        refused(controller.ask("/v2/login/vcenter", key_body(place, key, "VSPHERE.LOCAL\\viewer-dc")), 401, "invalid_credentials")
        refused(controller.ask("/v2/login/vcenter", key_body(place, str(uuid.uuid4()))), 401, "invalid_credentials")
        refused(controller.ask("/v2/login/vcenter", {"vcenter": place.vcenter, "session_id": key}), 422, "unprocessable")
    until(lambda: acting.call("GET", "/v2/clusters").status_code == 401, "the session at the vCenter has ended")


def test_the_session_of_an_extension_is_nobodys(place: Place) -> None:
    _, controller = place.new()
    ours = next(s for s in place.world.vcenter.control.sessions() if s["extension_session"])
    refused(controller.ask("/v2/login/vcenter", key_body(place, ours["key"], ours["user_name"])), 403, "forbidden")


# -- managing -----------------------------------------------------------------------------------------------------------------


def test_accounts_are_checked_and_each_proof_is_one_accounts(place: Place) -> None:
    account, controller = place.new()
    assert controller.cert
    refuse = place.admin.refused
    refuse(422, "unprocessable", "POST", "/v2/services", json={"name": "no-proof"})
    refuse(422, "unprocessable", "POST", "/v2/services", json={"name": "x", "certificates": ["12:34" * 20]})
    refuse(422, "unprocessable", "POST", "/v2/services", json={"name": "x", "subject": "hx-east.example.com"})
    refuse(422, "unprocessable", "POST", "/v2/services", json={"name": "x", "kerberos": "hx-east"})
    refuse(422, "unprocessable", "POST", "/v2/services",
           json={"name": "x", "kerberos": "hx@EXAMPLE.COM", "hx_clusters": [str(uuid.uuid4())]})
    refuse(409, "exists", "POST", "/v2/services", json={"name": "other", "certificates": [controller.cert.sha256]})
    refuse(409, "exists", "POST", "/v2/services", json={"name": account["name"], "kerberos": "hx@EXAMPLE.COM"})
    assert place.admin.get("/v2/services", name=account["name"])["items"] == [account]
    tag = place.admin.call("GET", f"/v2/services/{account['id']}").headers["ETag"]
    place.change(account, description="changed")
    refuse(412, "precondition_failed", "PATCH", f"/v2/services/{account['id']}", json={"disabled": True},
           headers={**MERGE, "If-Match": tag})
    refuse(422, "unprocessable", "PATCH", f"/v2/services/{account['id']}", json={"certificates": []}, headers=MERGE)
    actions = [line["action"] for line in place.admin.items("/v2/audit", object_id=account["id"])]
    assert actions.count("service_account.create") == 1 and actions.count("service_account.change") >= 1


def test_the_contract_of_the_controller_is_strict(place: Place) -> None:
    """The stand-in itself notices an account that shows it too much."""
    account, controller = place.new()
    session = controller.sign_in()
    place.change(account, hx_clusters=[place.hx["domain-c7"], place.hx["domain-c70"]])
    with pytest.raises(Unexpected, match="is shown on"):
        controller.page(session)


def test_kaasctl_manages_service_accounts(place: Place) -> None:
    ctl, cert, name = place.world.kaasd.ctl, place.ca.issue("cli"), f"cli-{uuid.uuid4().hex[:8]}"
    made = ctl.json("service", "add", name, "--certificate", str(cert.cert_file), "--hx-cluster", place.hx["domain-c7"], "--may-delegate")
    assert (made["certificates"][0]["sha256"], made["may_delegate"]) == (cert.sha256, True)
    assert place.controller(cert, made).page(place.controller(cert, made).sign_in()) == EAST_NAMES
    other = place.ca.issue("cli-2")
    changed = ctl.json("service", "set", name, "--add-certificate", f"sha256 Fingerprint={other.sha256}",
                       "--remove-certificate", f"SHA256:{cert.sha256}", "--no-delegate", "--description", "west",
                       "--add-hx-cluster", place.hx["domain-c70"], "--remove-hx-cluster", place.hx["domain-c7"])
    assert [c["sha256"] for c in changed["certificates"]] == [other.sha256]
    assert [hx["id"] for hx in changed["hx_clusters"]] == [place.hx["domain-c70"]]
    assert (changed["may_delegate"], changed["description"]) == (False, "west")
    assert name in ctl.ok("service", "list") and "West" in ctl.ok("service", "show", name)
    assert ctl.json("service", "set", name, "--disable")["disabled"] and not ctl.json("service", "set", name, "--enable")["disabled"]
    assert ctl.run("service", "set", name).returncode == 2
    assert ctl.run("service", "set", name, "--remove-certificate", other.sha256).returncode != 0  # nothing to sign in by would be left
    assert ctl.run("service", "show", "no-such-account").returncode == 4
    ctl.ok("service", "remove", name, "--yes")
    assert place.admin.get("/v2/services", name=name)["items"] == []


def test_an_account_that_went_away_a_moment_ago_is_not_found(place: Place) -> None:
    """Its row is gone, which the daemon has not heard of."""
    account = place.add(kerberos=f"HTTP/{uuid.uuid4().hex[:8]}@EXAMPLE.COM")
    place.world.db.query("DELETE FROM service_accounts WHERE id = %s", account["id"], database="kaas")
    place.admin.refused(404, "not_found", "PATCH", f"/v2/services/{account['id']}", json={"description": "too late"}, headers=MERGE)
    place.admin.expect(200, "GET", "/v2/services")
