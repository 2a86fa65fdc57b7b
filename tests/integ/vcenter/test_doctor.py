"""kaasctl doctor in broken worlds: the whole output is compared with a file that reads as an administrator would read it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from env import vimclient
from env.certs import make_server_cert
from env.contract import schema_errors
from env.doctor import hold_against_fixture, normalised
from env.full import EXTENSION_KEY, add_vcenter, register
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch, free_port
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict

pytestmark = [pytest.mark.slow, pytest.mark.long(69)]
IMPATIENT = {"vcenter": {"call_timeout": "2s", "connect_timeout": "2s"}}
DAYS = 400  # so that no certificate is about to expire
MINUTES_AGO = 10


class Ward:
    """One daemon, and a new vCenter for each test, called "east"."""

    def __init__(self, scratch: Scratch, db: Mariadb) -> None:
        self.scratch = scratch
        self.db = db
        self.count = 0
        self.more_ports: dict[int, int] = {}
        self.kaasd = Kaasd(scratch, db.socket, tls=make_server_cert(scratch.path / "tls", days=DAYS))
        self.kaasd.init()
        self.kaasd.start()
        self.vcenter: StrictVcenter

    def new_vcenter(self, *flags: str, own_ca: bool = False) -> StrictVcenter:
        """Starts one with an identity of its own; with `own_ca` its certificates are short-lived and of a CA that makes further ones."""
        self.count += 1
        folder = self.scratch.path / f"vc{self.count}"
        folder.mkdir()
        world = json.loads(DEFAULT_WORLD.read_text())
        world["instance_uuid"] = f"{self.count:08x}{world['instance_uuid'][8:]}"
        (folder / "world.json").write_text(json.dumps(world))
        cert = make_server_cert(folder, days=DAYS)
        files = () if own_ca else ("--cert", str(cert.cert_file), "--key", str(cert.key_file))
        self.vcenter = start_strict(self.scratch, f"vc{self.count}", world=folder / "world.json", flags=(*files, *flags))
        self.vcenter.ca_file = self.vcenter.ca_file or cert.ca_file
        return self.vcenter

    def add(self, *more: str) -> None:
        add_vcenter(self.kaasd, self.vcenter, "--name", "east", *more)

    def join(self, *flags: str) -> StrictVcenter:
        """A vCenter as it should be."""
        self.new_vcenter(*flags)
        self.add()
        self.register()
        return self.vcenter

    def register(self) -> None:
        register(self.kaasd, self.vcenter)
        self.wait_until_settled()

    def wait_until_settled(self) -> None:
        """All that follows from a registration has happened: the vCenter has fetched the manifest, and is watched."""
        process = self.kaasd.process
        assert process
        assert self.vcenter.control.await_plugin(EXTENSION_KEY)["state"] == "deployed"
        process.wait_until(lambda: finding(self.report(), "watch")["status"] == "ok", "a watched vCenter")

    def restart(self, options: dict[str, Any]) -> None:
        """With settings for this one vCenter: forget() takes them back."""
        self.kaasd.stop()
        self.kaasd.write_config(options)
        self.kaasd.start()

    def change_rows(self, *statements: str) -> None:
        """What could only be waited for, or only be made by others, written into the database."""
        self.kaasd.stop()
        for statement in statements:
            self.db.query(statement, database="kaas")
        self.kaasd.start()

    def examine(self, *more: str) -> tuple[int, str]:
        result = self.kaasd.ctl.run("doctor", "--vcenter", "east", *more)
        ports = {self.vcenter.port: 40443, self.kaasd.port: 48443, **self.more_ports}
        if self.vcenter.tunnel_port:
            ports[self.vcenter.tunnel_port] = 40080
        return result.returncode, normalised(result.stdout + result.stderr, ports)

    def report(self) -> dict[str, Any]:
        answer = self.kaasd.kept_admin().expect(200, "POST", f"/v2/vcenters/{self.vcenter.instance_uuid}/doctor")
        assert schema_errors("DoctorReport", answer) == []
        return answer

    def forget(self) -> None:
        """Out of the database, so that the next one may have its name."""
        self.vcenter.stop()
        self.kaasd.stop()
        self.db.query("DELETE FROM vcenters", database="kaas")
        self.kaasd.write_config({})
        self.kaasd.start()


@pytest.fixture(scope="module")
def whole_ward() -> Iterator[Ward]:
    scratch = Scratch("o")
    db = Mariadb(scratch)
    ward = Ward(scratch, db)
    yield ward
    ward.kaasd.stop()
    db.close()
    scratch.remove()


@pytest.fixture
def ward(whole_ward: Ward) -> Iterator[Ward]:
    yield whole_ward
    whole_ward.forget()


def wait_for(ward: Ward, path: str, what: str, condition: Callable[[dict[str, Any]], bool]) -> None:
    """Waits until the daemon itself has noticed, so that it always says the same."""
    process = ward.kaasd.process
    assert process
    process.wait_until(lambda: condition(ward.kaasd.kept_admin().get(path)), what)


def wait_until_unreachable(ward: Ward) -> None:
    path = f"/v2/vcenters/{ward.vcenter.instance_uuid}"
    wait_for(ward, path, "an unreachable vCenter", lambda vcenter: vcenter["state"] == "unreachable")


def finding(report: dict[str, Any], step: str) -> dict[str, Any]:
    return next(found for found in report["findings"] if found["step"] == step)


# -- worlds -----------------------------------------------------------------------------------------------------------------


def healthy(ward: Ward) -> None:
    ward.join()


def only_added(ward: Ward) -> None:
    ward.new_vcenter()
    ward.add()


def name_does_not_resolve(ward: Ward) -> None:
    ward.join()
    ward.change_rows("UPDATE vcenters SET address = 'vcenter.invalid'")
    wait_until_unreachable(ward)


def port_closed(ward: Ward) -> None:
    ward.join().stop()
    wait_until_unreachable(ward)


def certificate_replaced(ward: Ward) -> None:
    ward.new_vcenter(own_ca=True)
    ward.add()
    ward.register()
    ward.vcenter.control.change_certificate("new")


def join_by_ca(ward: Ward) -> None:
    vcenter = ward.new_vcenter(own_ca=True)
    ward.kaasd.ctl.ok("vcenter", "add", vcenter.address, "--ca-file", str(vcenter.ca_file), "--yes", "--name", "east",
                      "--tunnel-port", str(vcenter.tunnel_port))
    ward.register()


def certificate_expired(ward: Ward) -> None:
    join_by_ca(ward)
    ward.vcenter.control.change_certificate("expired")


def certificate_of_another_name(ward: Ward) -> None:
    join_by_ca(ward)
    ward.vcenter.control.change_certificate("wrong-name")


def clock_off(ward: Ward) -> None:
    ward.join().control.advance_clock(600)


def no_way_in(ward: Ward) -> None:
    vcenter = ward.new_vcenter()
    vcenter.tunnel_port, direct = free_port(), free_port()
    ward.more_ports[direct] = 48089
    ward.add("--direct-port", str(direct))


def account_instead_of_certificate(ward: Ward) -> None:
    """No way for certificates; an account without the right to keep our record current."""
    vcenter = ward.new_vcenter()
    vcenter.control.call("POST", "/roles", {"name": "Reader", "privileges": ["Sessions.TerminateSession"]})
    vcenter.control.call("POST", "/users", {"name": "reader", "password": "reader-Pass1"})
    vcenter.control.call("POST", "/permissions", {"entity": "group-d1", "principal": "VSPHERE.LOCAL\\reader", "role": "Reader",
                                                  "propagate": True})
    vcenter.tunnel_port = None
    ward.add("--tunnel-port", "0")
    secret = ward.scratch.path / "reader.password"
    secret.write_text("reader-Pass1\n")
    secret.chmod(0o600)
    ward.kaasd.ctl.ok("vcenter", "register", "east", "--user", vcenter.admin.login, "--password-file", "-", "--login-account",
                      "reader@vsphere.local", "--login-password-file", str(secret), "--yes", stdin=vcenter.admin.password + "\n")
    ward.wait_until_settled()


def password_not_accepted(ward: Ward) -> None:
    """Somebody changed the password of the account at the vCenter."""
    account_instead_of_certificate(ward)
    control = ward.vcenter.control
    control.call("POST", "/users", {"name": "reader", "password": "another-Pass1"})
    control.expire(user="VSPHERE.LOCAL\\reader")
    wait_for(ward, f"/v2/vcenters/{ward.vcenter.instance_uuid}", "a refusal", lambda vcenter: vcenter["state"] == "refused")


def tunnel_refused(ward: Ward) -> None:
    ward.join().control.fault("CONNECT", "status", status=403)


def wait_told(ward: Ward, record: str) -> None:
    """The daemon has compared the record, tried what it may, and says what is wrong."""
    wait_for(ward, f"/v2/vcenters/{ward.vcenter.instance_uuid}/status", f"a record that is {record}",
             lambda status: status["extension"]["record"] == record and status["extension"]["problem"])


def record_removed(ward: Ward) -> None:
    ward.join().control.drop_extension(EXTENSION_KEY)
    wait_told(ward, "missing")


def edit_record(ward: Ward, record_is: str, change: Callable[[Any], None]) -> None:
    """By an administrator, with a client of their own; kaasd may not repair it."""
    ward.vcenter.control.fault("UpdateExtension", "fault", fault="NoPermission", text="no", user=EXTENSION_KEY)
    with vimclient.session(ward.vcenter, ward.vcenter.admin) as instance:
        manager = instance.RetrieveContent().extensionManager
        record = manager.FindExtension(EXTENSION_KEY)
        change(record)
        manager.UpdateExtension(record)
    wait_told(ward, record_is)


def record_outdated(ward: Ward) -> None:
    ward.join()

    def change(record: Any) -> None:
        record.company = "Somebody"
        record.server[1].url = "https://old.example.test/v2/"

    edit_record(ward, "outdated", change)


def foreign_owner(ward: Ward) -> None:
    ward.join()

    def change(record: Any) -> None:
        for resource in record.resourceList:
            for item in resource.data:
                if resource.module == "kaas":
                    item.value = "99999999-0000-4000-8000-999999999999"

    edit_record(ward, "foreign", change)


def certificate_not_accepted(ward: Ward) -> None:
    ward.join()
    with vimclient.session(ward.vcenter, ward.vcenter.admin) as instance:
        instance.RetrieveContent().extensionManager.SetExtensionCertificate(
            EXTENSION_KEY, make_server_cert(ward.scratch.path / f"other{ward.count}").cert_file.read_text())


def privilege_missing(ward: Ward) -> None:
    ward.join().control.call("POST", "/settings", {"extension_privileges": ["Sessions.ValidateSession"]})


def manifest_never_fetched(ward: Ward) -> None:
    ward.join()
    ward.change_rows("DELETE FROM manifest_fetches",
                     f"UPDATE vcenters SET registered_at_ms = registered_at_ms - {MINUTES_AGO * 60_000}")
    ward.wait_until_settled()


def vcenter_hangs(ward: Ward) -> None:
    ward.join().control.fault("*", "hang")
    ward.restart(IMPATIENT)  # also because the daemon would notice only when the pending call of its watch ends
    wait_until_unreachable(ward)


def orphan_sessions(ward: Ward) -> None:
    """As a replica leaves them that was ended by force and never came back."""
    vcenter = ward.join()
    ((installation,),) = ward.db.query("SELECT uuid FROM installation", database="kaas")
    for number in (7, 8):
        login = requests.post(f"https://{vcenter.address}/sdk", verify=str(vcenter.ca_file), timeout=30, data=LOGIN.encode(), headers={
            "User-Agent": f"Harmony-KaaS/0.0.9 ({installation}; replica-{number})", "SOAPAction": "urn:vim25/8.0.3.0",
            "Content-Type": "text/xml; charset=utf-8"})
        assert login.status_code == 200, login.text


LOGIN = """<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><Login xmlns="urn:vim25"><_this type="SessionManager">\
SessionManager</_this><userName>operator@vsphere.local</userName><password>oper-Pass1</password></Login></Body></Envelope>"""

# name of the file, how the world gets like that, exit status, the step that tells it
WORLDS: list[tuple[Callable[[Ward], None], int, str]] = [
    (healthy, 0, "manifest"),
    (only_added, 0, "login"),
    (name_does_not_resolve, 1, "name"),
    (port_closed, 1, "port"),
    (certificate_replaced, 1, "tls"),
    (certificate_expired, 1, "tls"),
    (certificate_of_another_name, 1, "tls"),
    (clock_off, 1, "clock"),
    (no_way_in, 1, "tunnel"),
    (account_instead_of_certificate, 0, "privileges"),
    (password_not_accepted, 1, "login"),
    (tunnel_refused, 1, "tunnel"),
    (record_removed, 1, "login"),
    (record_outdated, 0, "record"),
    (foreign_owner, 1, "record"),
    (certificate_not_accepted, 1, "login"),
    (privilege_missing, 0, "privileges"),
    (manifest_never_fetched, 0, "manifest"),
    (vcenter_hangs, 1, "api"),
    (orphan_sessions, 0, "sessions"),
]


@pytest.mark.parametrize(("make", "status", "step"), WORLDS, ids=[make.__name__ for make, _, _ in WORLDS])
def test_the_doctor_names_what_is_wrong_and_what_to_do(ward: Ward, make: Callable[[Ward], None], status: int, step: str) -> None:
    make(ward)
    returned, said = ward.examine()
    hold_against_fixture(make.__name__, said)
    assert returned == status
    told = [line for line in said.splitlines() if line.startswith(("FAILED", "WARNING"))]
    assert bool(told) == (make not in (healthy, only_added))


def test_the_steps_and_words_are_for_programs_too(ward: Ward) -> None:
    ward.join()
    report = ward.report()
    assert (report["name"], report["registered"]) == ("east", True)
    assert [found["step"] for found in report["findings"]] == ["name", "port", "tls", "api", "tunnel", "direct", "way", "login", "clock",
                                                               "privileges", "record", "address", "manifest", "sessions", "watch",
                                                               "replicas"]
    assert finding(report, "direct")["status"] == "skipped"
    assert finding(report, "direct")["remedy"] is None
    assert ward.kaasd.ctl.json("doctor", "--vcenter", "east")["findings"][0]["step"] == "name"


def test_the_doctor_leaves_no_session_and_changes_nothing(ward: Ward) -> None:
    vcenter = ward.join()
    before = {row["key"] for row in vcenter.control.sessions()}
    last = vcenter.control.calls()[-1]["seq"]
    record = vcenter.control.extensions()[EXTENSION_KEY]
    ward.report()
    assert {row["key"] for row in vcenter.control.sessions()} == before
    assert vcenter.control.extensions()[EXTENSION_KEY] == record
    ours = [call["op"] for call in vcenter.control.calls() if call["seq"] > last and "doctor" in call.get("user_agent", "")]
    assert "LoginExtensionByCertificate" in ours
    assert not [op for op in ours if op.startswith(("Register", "Update", "Unregister", "Set", "Create", "Terminate", "Add"))]


def test_one_examination_of_a_vcenter_at_a_time_and_the_service_goes_on(ward: Ward) -> None:
    vcenter = ward.join()
    rule = vcenter.control.hold("RetrieveServiceContent", executed=False)
    path = f"/v2/vcenters/{vcenter.instance_uuid}/doctor"
    admin = ward.kaasd.admin()
    with ThreadPoolExecutor(1) as other:
        try:
            first = other.submit(admin.expect, 200, "POST", path)
            vcenter.control.await_held(rule)
            assert admin.refused(503, "busy", "POST", path)["remedy"]
            assert admin.get("/v2/health")["checks"]
        finally:
            vcenter.control.clear_faults()
        assert finding(first.result(), "port")["status"] == "ok"
    assert finding(ward.report(), "api")["status"] == "ok"


def test_a_refused_password_is_not_sent_again(ward: Ward) -> None:
    """Or a careful administrator would lock the account by looking."""
    password_not_accepted(ward)
    before = len(ward.vcenter.control.calls(op="Login"))
    assert finding(ward.report(), "login")["status"] == "failed"
    assert len(ward.vcenter.control.calls(op="Login")) == before


def test_only_administrators_may_ask(ward: Ward) -> None:
    vcenter = ward.join()
    path = f"/v2/vcenters/{vcenter.instance_uuid}/doctor"
    ward.kaasd.api().refused(401, "unauthenticated", "POST", path)
    with vimclient.session(vcenter, vcenter.users["viewer-east"]) as instance:
        viewer = ward.kaasd.api().login_session(vcenter.instance_uuid, vimclient.cookie_of(instance))
    viewer.refused(403, "forbidden", "POST", path)
    ward.kaasd.admin().refused(404, "not_found", "POST", "/v2/vcenters/00000000-0000-4000-8000-000000000000/doctor")


def test_this_host_is_examined_without_a_vcenter(ward: Ward) -> None:
    ward.join()
    report = ward.kaasd.ctl.json("doctor")
    told = {found["step"]: found for found in report["findings"]}
    assert {"configuration", "database", "address", "clock", "kaasd", "health", "vcenter"} <= told.keys()
    assert {told[step]["status"] for step in ("configuration", "database", "address", "kaasd", "vcenter")} == {"ok"}


def test_a_daemon_that_is_down_is_told_and_the_rest_goes_on(ward: Ward) -> None:
    ward.join()
    ward.kaasd.stop()
    result = ward.kaasd.ctl.run("doctor")
    ward.kaasd.start()
    assert result.returncode == 1
    assert "ok       Database" in result.stdout
    assert "FAILED   kaasd" in result.stdout


def test_an_address_is_looked_at_without_being_added(ward: Ward) -> None:
    vcenter = ward.new_vcenter()
    said = ward.kaasd.ctl.ok("doctor", "--address", vcenter.address)
    assert vcenter.sha256 in said
    assert vcenter.control.calls() == []
    closed = ward.kaasd.ctl.run("doctor", "--address", f"127.0.0.1:{free_port()}")
    assert (closed.returncode, "FAILED   Port" in closed.stdout) == (1, True)
    assert ward.kaasd.ctl.run("doctor", "--address", "127.0.0.1:0").returncode == 2


def test_every_fixture_has_its_world() -> None:
    folder = Path(__file__).resolve().parents[2] / "fixtures/doctor"
    assert sorted(path.stem for path in folder.glob("*.txt")) == sorted(make.__name__ for make, _, _ in WORLDS)
