"""The vCenter client of kaasd by itself, driven line by line through vim_probe: against the strict vCenter and the plain simulator."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from env import vimclient
from env.certs import make_server_cert
from env.places import Scratch, WorldError, program
from env.vcenter import StrictVcenter, Vcenter, start_vcsim

pytestmark = pytest.mark.slow
KEY = "com.example.kaas"
UNKNOWN_COOKIE = "0" * 40


class ProbeError(Exception):
    """The probe's answer "error": slug, text, remedy."""

    def __init__(self, slug: str, text: str, remedy: str) -> None:
        super().__init__(f"{slug}: {text} ({remedy})")
        self.slug, self.text, self.remedy = slug, text, remedy


class Probe:
    """One vCenter client in a process of its own."""

    def __init__(self, vcenter: Vcenter, *, trust: str | Path | None = None, direct_port: int = 0, timeout_ms: int = 0) -> None:
        words = [vcenter.host, vcenter.port, trust or vcenter.sha256, vcenter.tunnel_port or 0, direct_port, timeout_ms]
        self._popen = subprocess.Popen([program("tests/integ/vcenter/vim_probe"), *map(str, words)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def ask(self, *words: str) -> list[list[str]]:
        """The items that the command answers, each as its fields."""
        assert self._popen.stdin and self._popen.stdout
        self._popen.stdin.write("\t".join(words).encode() + b"\n")
        items: list[list[str]] = []
        for line in self._popen.stdout:
            kind, *fields = line.decode().rstrip("\n").split("\t")
            if kind == "ok":
                return items
            if kind == "error":
                raise ProbeError(*fields)
            items.append(fields)
        raise WorldError(f"the probe is gone: {self._popen.stderr.read().decode() if self._popen.stderr else ''}")

    def fails(self, *words: str) -> ProbeError:
        with pytest.raises(ProbeError) as caught:
            self.ask(*words)
        return caught.value

    def close(self) -> None:
        _, told = self._popen.communicate(timeout=120)
        assert self._popen.returncode == 0, told.decode()
        assert not told, told.decode()


Start = Callable[..., Probe]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts probes; each must end well, also under a sanitizer."""
    started: list[Probe] = []

    def begin(vcenter: Vcenter, **more: Any) -> Probe:
        started.append(Probe(vcenter, **more))
        return started[-1]

    yield begin
    for probe in started:
        probe.close()


def clusters(probe: Probe) -> dict[str, list[str]]:
    """Name and datacenter of each cluster, by id."""
    told = {row[0]: row[1:] for row in probe.ask("clusters")}

    def datacenter(of: str) -> str:
        parent = told[of][1]
        return "-" if parent not in told else told[parent][0] if parent.startswith("datacenter-") else datacenter(parent)

    return {moref: [row[0], datacenter(moref)] for moref, row in told.items() if moref.startswith("domain-c")}


def log_in(probe: Probe, vcenter: Vcenter, name: str = "Administrator") -> None:
    user = vcenter.users[name]
    probe.ask("login", user.login, user.password)


@pytest.fixture
def admin(fresh_vcenter: StrictVcenter, start: Start) -> Probe:
    probe = start(fresh_vcenter)
    log_in(probe, fresh_vcenter)
    return probe


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    made = make_server_cert(tmp_path / "login")
    return str(made.cert_file), str(made.key_file)


def operations(vcenter: StrictVcenter) -> list[str]:
    return [call["op"] for call in vcenter.control.calls()]


# ---- what it reads ----


def test_about_needs_no_login(vcenter: StrictVcenter, start: Start) -> None:
    [[uuid, version, _, api, _]] = start(vcenter).ask("connect")
    assert (uuid, version, api) == (vcenter.instance_uuid, "8.0.3", "8.0.3.0")


@pytest.mark.parametrize(("user", "seen"), [
    ("Administrator", {"domain-c7", "domain-c70", "domain-c40", "domain-c26"}),
    ("viewer-east", {"domain-c7"}),
    ("viewer-dc", {"domain-c7", "domain-c70", "domain-c40"}),
    ("no-rights", set()),
])
def test_clusters_are_those_the_account_may_see(vcenter: StrictVcenter, start: Start, user: str, seen: set[str]) -> None:
    probe = start(vcenter)
    log_in(probe, vcenter, user)
    assert set(clusters(probe)) == seen
    probe.ask("logout")


def test_clusters_carry_name_and_datacenter(admin: Probe) -> None:
    rows = clusters(admin)
    assert rows["domain-c7"] == ["HX-East", "DC0"]
    assert rows["domain-c26"] == ["HX-East", "DC1"]


def test_names_with_escapes(admin: Probe, fresh_vcenter: StrictVcenter) -> None:
    fresh_vcenter.control.object("rename", id="domain-c7", name="A/B%C\\D <&> é")
    assert clusters(admin)["domain-c7"] == ["A/B%C\\D <&> é", "DC0"]


def test_pages_and_views_are_given_back(make_vcenter: Callable[..., StrictVcenter], start: Start) -> None:
    vcenter = make_vcenter("paged", flags=("--page-size", "2"))
    probe = start(vcenter)
    log_in(probe, vcenter)
    assert len(clusters(probe)) == 4
    assert "ContinueRetrievePropertiesEx" in operations(vcenter)
    state = vcenter.control.state()
    assert (state["open_pages"], state["abandoned_pages"], state["views"]) == (0, 0, 0)
    vcenter.control.fault("ContinueRetrievePropertiesEx", "fault", fault="SystemError", count=1)
    assert "SystemError" in probe.fails("clusters").text
    assert "CancelRetrievePropertiesEx" in operations(vcenter)
    state = vcenter.control.state()
    assert (state["open_pages"], state["abandoned_pages"], state["views"]) == (0, 0, 0)


def test_extension_keys(admin: Probe) -> None:
    keys = {row[0] for row in admin.ask("keys")}
    assert {"com.springpath.sysmgmt", "com.springpath.sysmgmt.domain-c7", "com.springpath.sysmgmt.uuid.domain-c7"} <= keys


# ---- our record and certificate ----


def register(probe: Probe, certificate: tuple[str, str]) -> None:
    digest = subprocess.run(["openssl", "x509", "-in", certificate[0], "-noout", "-fingerprint", "-sha256"], check=True,
                            capture_output=True, text=True).stdout.split("=")[1].strip()
    probe.ask("register", KEY, "1.0.0.0", digest, certificate[0])


def test_registration_and_certificate_login(make_vcenter: Callable[..., StrictVcenter], start: Start, certificate: tuple[str, str]) -> None:
    vcenter = make_vcenter("direct", flags=("--direct-listen", "127.0.0.1:0"))
    direct = int(re.search(r'"direct":"127.0.0.1:(\d+)"', vcenter.process.log).group(1))  # type: ignore[union-attr]
    probe = start(vcenter, direct_port=direct)
    log_in(probe, vcenter)
    probe.ask("extprobe", "tunnel", KEY, *certificate)  # before anything is registered
    register(probe, certificate)
    assert probe.fails("register", KEY, "1.0.0.0", "AB").slug == "exists"
    assert probe.fails("extlogin", "tunnel", KEY, *certificate).slug == "invalid_credentials"
    probe.ask("setcert", KEY, certificate[0])
    for way in ("tunnel", "direct"):
        probe.ask("extlogin", way, KEY, *certificate)
        assert probe.ask("own")[0][3] == "extension"
        assert len(clusters(probe)) == 4  # with the cookie, on the normal port
    assert {call["port"] for call in vcenter.control.calls(op="LoginExtensionByCertificate")} == {"tunnel", "direct"}
    assert {call["port"] for call in vcenter.control.calls(op="CreateContainerView")} == {"front"}
    probe.ask("logout")
    assert vcenter.control.state()["sessions"] == 0


def test_a_changed_record_keeps_all_other_members(admin: Probe, fresh_vcenter: StrictVcenter, certificate: tuple[str, str]) -> None:
    register(admin, certificate)
    before = vimclient.read_extension(fresh_vcenter, KEY)
    admin.ask("touch", KEY, "1.0.0.1")
    after = vimclient.read_extension(fresh_vcenter, KEY)
    assert before and after
    assert (before.version, after.version) == ("1.0.0.0", "1.0.0.1")
    after.version, after.lastHeartbeatTime = before.version, before.lastHeartbeatTime
    assert repr(after) == repr(before)
    assert after.solutionManagerInfo.tab[0].label == "tab"
    assert after.description.label == "KaaS <&> €"


def test_older_api_gets_no_newer_members(make_vcenter: Callable[..., StrictVcenter], start: Start, certificate: tuple[str, str]) -> None:
    vcenter = make_vcenter("older", flags=("--api-version", "7.0.3.0", "--dev-version", "uA046D008"))
    probe = start(vcenter)
    assert probe.ask("connect")[0][3] == "7.0.3.0"
    log_in(probe, vcenter)
    register(probe, certificate)
    assert probe.ask("find", KEY)[1][4] == "-"


def test_unregister_takes_exactly_our_key(admin: Probe, certificate: tuple[str, str]) -> None:
    before = admin.ask("keys")
    register(admin, certificate)
    admin.ask("unregister", KEY)
    assert admin.ask("keys") == before
    assert admin.fails("unregister", KEY).slug == "not_found"


# ---- other people's sessions ----


def test_peek_reads_once_and_leaves_the_session_alone(fresh_vcenter: StrictVcenter, start: Start) -> None:
    probe = start(fresh_vcenter)
    probe.ask("connect")
    person = fresh_vcenter.control.login("viewer-east")
    for form in (person["cookie"], f'"{person["cookie"]}"'):
        fresh_vcenter.control.forget_calls()
        [[key, user, *_]] = probe.ask("peek", form)
        assert (key, user) == (person["key"], "VSPHERE.LOCAL\\viewer-east")
        assert operations(fresh_vcenter) == ["RetrievePropertiesEx"]
    assert [row["key"] for row in fresh_vcenter.control.sessions()] == [person["key"]]


def test_peek_refusals(fresh_vcenter: StrictVcenter, start: Start) -> None:
    probe = start(fresh_vcenter)
    probe.ask("connect")
    person = fresh_vcenter.control.login("viewer-east")
    fresh_vcenter.control.forget_calls()
    told = probe.fails("peek", person["key"])
    assert told.slug == "unprocessable"
    assert "key" in told.text
    assert operations(fresh_vcenter) == []  # nothing was sent
    assert probe.fails("peek", UNKNOWN_COOKIE).slug == "invalid_credentials"
    fresh_vcenter.control.expire(key=person["key"])
    assert probe.fails("peek", person["cookie"]).slug == "invalid_credentials"


def test_extension_sessions_are_told_apart(fresh_vcenter: StrictVcenter, start: Start) -> None:
    program_session = fresh_vcenter.control.login_extension("com.springpath.sysmgmt")
    assert start(fresh_vcenter).ask("peek", program_session["cookie"])[0][3] == "extension"


def test_a_clone_ticket_works_once_and_leaves_no_session(fresh_vcenter: StrictVcenter, start: Start) -> None:
    probe = start(fresh_vcenter)
    with vimclient.session(fresh_vcenter, fresh_vcenter.users["viewer-dc"]) as instance:
        ticket = vimclient.clone_ticket(instance)
        assert probe.ask("clone", ticket)[0][1] == "VSPHERE.LOCAL\\viewer-dc"
        assert len(fresh_vcenter.control.sessions()) == 1
        assert probe.fails("clone", ticket).slug == "invalid_credentials"


def test_password_check_leaves_no_session(fresh_vcenter: StrictVcenter, start: Start) -> None:
    probe = start(fresh_vcenter)
    ada = fresh_vcenter.admin
    assert probe.ask("check", ada.login, ada.password)[0][1] == "VSPHERE.LOCAL\\Administrator"
    assert probe.fails("check", ada.login, "wrong").slug == "invalid_credentials"
    outsider = fresh_vcenter.users["noaccess"]
    assert probe.fails("check", outsider.login, outsider.password).slug == "forbidden"
    assert fresh_vcenter.control.state()["sessions"] == 0


@pytest.mark.users_build("a memory image: a sanitizer keeps what was freed")
def test_no_password_stays_in_memory(fresh_vcenter: StrictVcenter, start: Start) -> None:
    probe = start(fresh_vcenter)
    probe.ask("check", fresh_vcenter.admin.login, fresh_vcenter.admin.password)
    wanted = [fresh_vcenter.admin.password.encode(), b"Admin!23 &lt;"]  # as typed, and as XML
    looked_at = 0
    with Path(f"/proc/{probe.pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{probe.pid}/maps").read_text().splitlines():
            where, mode, *rest = line.split()
            if not mode.startswith("rw") or rest[-1].startswith("[v"):
                continue
            begin, end = (int(x, 16) for x in where.split("-"))
            memory.seek(begin)
            try:
                content = memory.read(end - begin)
            except OSError:
                continue
            looked_at += len(content)
            for text in wanted:
                assert text not in content, f"the password is in {line}"
    assert looked_at > 100000


# ---- rights ----


def granted(rows: list[list[str]]) -> dict[str, bool]:
    return {row[0]: row[1] == "yes" for row in rows}


def test_rights_by_session_and_by_user(admin: Probe, fresh_vcenter: StrictVcenter) -> None:
    person = fresh_vcenter.control.login("viewer-dc")
    morefs = ("domain-c26", "domain-c7", "domain-c404", "domain-c70", "vm-1")
    expected = {"domain-c26": False, "domain-c7": True, "domain-c404": False, "domain-c70": True, "vm-1": False}
    assert granted(admin.ask("privileges", "session", person["key"], "System.Read", *morefs)) == expected
    assert granted(admin.ask("privileges", "user", person["user_name"], "System.Read", *morefs)) == expected
    fresh_vcenter.control.object("remove", id="domain-c70")
    fresh_vcenter.control.forbid("datacenter-2", "VSPHERE.LOCAL\\viewer-dc")
    assert not any(granted(admin.ask("privileges", "session", person["key"], "System.Read", *morefs)).values())
    assert admin.fails("privileges", "user", "VSPHERE.LOCAL\\nobody", "System.Read", "domain-c7").slug == "not_found"


def test_many_vanished_objects_fail_nobody(admin: Probe) -> None:
    morefs = [f"domain-c{n}" for n in range(80000, 80120)]
    morefs[60] = "domain-c7"
    answer = granted(admin.ask("privileges", "user", "VSPHERE.LOCAL\\Administrator", "System.Read", *morefs))
    assert [name for name, yes in answer.items() if yes] == ["domain-c7"]


def test_rights_on_the_root_folder(admin: Probe) -> None:
    answer = granted(admin.ask("rootprivileges", "user", "VSPHERE.LOCAL\\operator", "Sessions.ValidateSession", "Global.LogEvent"))
    assert answer == {"Sessions.ValidateSession": True, "Global.LogEvent": False}


def test_a_missing_privilege_is_named(vcenter: StrictVcenter, start: Start) -> None:
    probe = start(vcenter)
    log_in(probe, vcenter, "viewer-east")
    told = probe.fails("sessions")
    assert told.slug == "upstream_denied"
    assert "Sessions.TerminateSession" in told.text
    assert told.remedy
    probe.ask("logout")


def test_sessions(admin: Probe, fresh_vcenter: StrictVcenter) -> None:
    person = fresh_vcenter.control.login("viewer-dc")
    assert person["key"] in {row[0] for row in admin.ask("sessions")}
    assert admin.ask("active", person["key"], person["user_name"]) == [["active"]]
    assert admin.ask("active", person["key"], "VSPHERE.LOCAL\\other") == [["inactive"]]
    admin.ask("terminate", person["key"])
    assert admin.ask("active", person["key"], person["user_name"]) == [["inactive"]]
    assert admin.fails("terminate", person["key"]).slug == "not_found"


def test_least_privilege_role(admin: Probe, fresh_vcenter: StrictVcenter, start: Start) -> None:
    admin.ask("role", "KaaS", "VSPHERE.LOCAL\\no-rights", "Sessions.ValidateSession")
    assert admin.fails("role", "KaaS", "VSPHERE.LOCAL\\no-rights", "Sessions.ValidateSession").slug == "exists"
    probe = start(fresh_vcenter)
    log_in(probe, fresh_vcenter, "no-rights")
    assert len(clusters(probe)) == 4


# ---- what goes wrong ----


def test_a_lost_session_is_renewed(admin: Probe, fresh_vcenter: StrictVcenter) -> None:
    fresh_vcenter.control.forget_calls()
    control = fresh_vcenter.control
    for act in (lambda: control.expire(all=True), control.restart, lambda: control.advance_clock(3600)):
        act()
        assert len(admin.ask("keys")) > 5
    assert operations(fresh_vcenter).count("Login") == 3
    fresh_vcenter.control.call("POST", "/disconnect")
    admin.ask("keepalive")
    assert operations(fresh_vcenter).count("Login") == 3


@pytest.mark.parametrize(("kind", "more", "slug", "text"), [
    ("hang", {}, "upstream_timeout", ""),
    ("drip", {"interval_ms": 200}, "upstream_timeout", ""),
    ("flood", {}, "upstream_protocol", "is larger than"),
    ("html", {}, "upstream_protocol", "web page"),
    ("status", {"status": 503}, "upstream_unreachable", "503"),
    ("status", {"status": 404}, "upstream_protocol", "404"),
    ("empty", {}, "upstream_protocol", "instead of SOAP"),
    ("deep", {}, "upstream_protocol", ""),
    ("truncated", {"bytes": 300}, "upstream_protocol", ""),
    ("close", {"bytes": 200}, "upstream_", ""),
    ("close", {"bytes": 0}, "upstream_", ""),
    ("fault", {"fault": "LicenseRestricted", "text": "no contact"}, "upstream_error", "LicenseRestricted: no contact"),
    ("fault", {"fault": "InvalidRequest", "text": "unexpected element"}, "upstream_error", "InvalidRequest: unexpected element"),
])
def test_bad_answers_are_told_exactly(fresh_vcenter: StrictVcenter, start: Start, kind: str, more: dict[str, Any], slug: str,
                                      text: str) -> None:
    probe = start(fresh_vcenter, timeout_ms=10000 if kind == "flood" else 3000)
    log_in(probe, fresh_vcenter)
    fresh_vcenter.control.fault("CurrentTime", kind, **more)
    told = probe.fails("keepalive")
    assert told.slug.startswith(slug), told
    assert text in told.text
    fresh_vcenter.control.clear_faults()
    probe.ask("keepalive")  # and it recovers


def test_a_wrong_pin_is_refused_before_anything_is_sent(fresh_vcenter: StrictVcenter, start: Start) -> None:
    fresh_vcenter.control.forget_calls()
    told = start(fresh_vcenter, trust="AA:" * 31 + "AA").fails("connect")
    assert told.slug == "tls_untrusted"
    assert fresh_vcenter.sha256 in told.text
    assert operations(fresh_vcenter) == []


@pytest.mark.parametrize("mode", ["expired", "wrong-name", "self-signed", "other-ca"])
def test_a_certificate_that_the_ca_does_not_vouch_for(fresh_vcenter: StrictVcenter, start: Start, mode: str) -> None:
    assert fresh_vcenter.ca_file
    start(fresh_vcenter, trust=fresh_vcenter.ca_file).ask("connect")
    fresh_vcenter.control.change_certificate(mode)
    assert start(fresh_vcenter, trust=fresh_vcenter.ca_file).fails("connect").slug == "tls_untrusted"


def test_three_timeouts_stop_the_asking(fresh_vcenter: StrictVcenter, start: Start) -> None:
    probe = start(fresh_vcenter, timeout_ms=3000)
    log_in(probe, fresh_vcenter)
    fresh_vcenter.control.fault("CurrentTime", "hang")
    assert [probe.fails("keepalive").slug for _ in range(4)] == ["upstream_timeout"] * 3 + ["upstream_unreachable"]
    assert len(fresh_vcenter.control.calls(op="CurrentTime")) == 3


# ---- the simulator as it is ----


def test_plain_simulator(scratch: Scratch, start: Start, certificate: tuple[str, str]) -> None:
    simulator = start_vcsim(scratch, flags=("-dc", "2", "-cluster", "60", "-host", "1", "-vm", "0"))
    try:
        probe = start(simulator)
        probe.ask("login", "administrator@vsphere.local", simulator.admin.password)
        assert len(clusters(probe)) == 120  # in two pages
        register(probe, certificate)
        probe.ask("touch", KEY, "1.0.0.1")
        assert probe.ask("find", KEY)[0][1] == "1.0.0.1"
        probe.ask("setcert", KEY, certificate[0])
        assert [KEY] in probe.ask("keys")
        probe.ask("unregister", KEY)
        other = start(simulator)
        with vimclient.session(simulator, simulator.admin) as instance:
            ticket = vimclient.clone_ticket(instance)
            other.ask("clone", ticket)
        assert other.fails("clone", ticket).slug == "invalid_credentials"
        assert other.fails("peek", UNKNOWN_COOKIE).slug == "invalid_credentials"
        probe.ask("logout")
    finally:
        simulator.stop()
