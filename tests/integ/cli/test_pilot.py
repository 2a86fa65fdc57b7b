"""kaasctl pilot: the whole table at a vCenter and an HX Connect that are as assumed, what it says of others, and that nothing was sent but
what reads. No kaasd runs here."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.certs import ServerCert, make_server_cert
from env.places import Scratch, free_port, program
from env.terminal import Terminal
from env.vcenter import Control, StrictVcenter, User, Vcenter, start_strict, start_vcsim
from env.wait import until
from hx import HxConnect

pytestmark = pytest.mark.slow
FAILED, USAGE, UNCONFIRMED = 1, 2, 6
UUID = "9004183636114227531:5445300663653806560"
HX_PASSWORD = "hx-Pass1"
READERS = {  # all that may ever be in a vCenter's log of calls
    "AcquireCloneTicket", "CONNECT", "CancelRetrievePropertiesEx", "CloneSession", "ContinueRetrievePropertiesEx",
    "CreateCollectorForEvents", "CreateContainerView", "CreateFilter", "CreatePropertyCollector", "CurrentTime", "DestroyCollector",
    "DestroyPropertyCollector", "DestroyPropertyFilter", "DestroyView", "FindExtension", "HasPrivilegeOnEntities",
    "HasUserPrivilegeOnEntities", "Login", "LoginExtensionByCertificate", "Logout", "RetrievePropertiesEx", "RetrieveServiceContent",
    "WaitForUpdatesEx", "rest.login", "rest.logout", "versions"}
GONE = "not_asked"
SMALL = {"direct": GONE, "pages": GONE, "events": GONE, "hx_sessions": GONE}  # of the default world
NO_HX_THERE = {"hx_keys": GONE, "hx_morefs": GONE, "hx_addresses": GONE, "hx_controllers": GONE, "hx_sessions": GONE}


class Site:
    """A vCenter, an HX Connect and the files with their passwords."""

    def __init__(self, scratch: Scratch, vcenter: StrictVcenter, hx: HxConnect, cert: ServerCert) -> None:
        self.scratch = scratch
        self.vcenter = vcenter
        self.hx = hx
        self.cert = cert

    def secret(self, name: str, text: str) -> Path:
        return secret(self.scratch, name, text)

    def run(self, *more: str | Path, user: User | None = None) -> subprocess.CompletedProcess[str]:
        return pilot(self.scratch, self.vcenter, *more, user=user)

    def hx_options(self) -> tuple[str | Path, ...]:
        file = self.secret("hx", HX_PASSWORD)
        return ("--hx", f"127.0.0.1:{self.hx.port}", "--hx-ca-file", self.cert.ca_file, "--hx-password-file", file)


def secret(scratch: Scratch, name: str, text: str) -> Path:
    path = scratch.path / f"{name}.secret"
    path.write_text(text)
    path.chmod(0o600)
    return path


def command(scratch: Scratch, vcenter: Vcenter, user: User | None = None) -> list[object]:
    who = user or vcenter.admin
    return [program("kaasctl"), "pilot", "--read-only", "--vcenter", vcenter.address, "--user", who.login, "--password-file",
            secret(scratch, who.name, who.password), "--wait", "1", "--direct-port", "0", "--tunnel-port", vcenter.tunnel_port or 0]


def pilot(scratch: Scratch, vcenter: Vcenter, *more: str | Path, user: User | None = None) -> subprocess.CompletedProcess[str]:
    argv = [*command(scratch, vcenter, user), *more]
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=120, check=False)


def odd(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The probes that do not hold."""
    return {probe["probe"]: probe["result"] for probe in probes(result) if probe["result"] != "holds"}


def probes(result: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert result.returncode in (0, FAILED), result.stderr
    report = json.loads(result.stdout)
    failed = [probe for probe in report["probes"] if probe["result"] == "does_not_hold"]
    assert (result.returncode, report["status"]) == ((FAILED, "failed") if failed else (0, "ok"))
    return report["probes"]


def seen(result: subprocess.CompletedProcess[str], probe: str) -> str:
    return next(row["seen"] for row in probes(result) if row["probe"] == probe)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    scratch = Scratch("pi")
    vcenter = start_strict(scratch)
    (scratch.path / "hx").mkdir()
    cert = make_server_cert(scratch.path / "hx")
    try:
        with HxConnect(cert.cert_file, cert.key_file, "HX-East", UUID, "DC0", "HX-East") as hx:
            hx.accounts["admin"] = HX_PASSWORD
            yield Site(scratch, vcenter, hx, cert)
    finally:
        vcenter.stop()
        scratch.remove()


@pytest.fixture
def fresh(site: Site) -> Iterator[Site]:
    """After each test all is as it was; before it HX has forgotten the logins of others."""
    site.hx.advance(15 * 60)
    site.vcenter.control.forget_calls()
    yield site
    site.vcenter.control.clear_faults()
    site.vcenter.control.skew_clock(0)


def state_of(control: Control) -> tuple[list[str], dict[str, Any]]:
    return sorted(json.dumps(row, sort_keys=True) for row in control.objects()), control.extensions()


def test_where_all_is_as_assumed_all_holds_and_nothing_is_changed(fresh: Site) -> None:
    control = fresh.vcenter.control
    before, logins, calls = state_of(control), fresh.hx.logins, len(fresh.hx.calls)
    result = fresh.run("--thumbprint", fresh.vcenter.sha256, *fresh.hx_options(), "-o", "json")
    assert odd(result) == SMALL | {"hx_registration": GONE}  # what PUT does nobody knows who does not send one
    assert {row["op"] for row in control.calls()} <= READERS
    assert control.sessions() == []
    assert (state_of(control), fresh.hx.logins) == (before, logins + 1)
    assert {(call.method, call.path) for call in fresh.hx.calls[calls:] if call.method != "GET"} == {
        ("POST", "/aaa/v1/auth?grant_type=password"), ("POST", "/aaa/v1/revoke")}
    assert fresh.hx.tokens_held("admin") == 0
    assert fresh.hx.violations == ["GET /coreapi/v1/kaas-pilot: there is no such path"]  # which is what it asks


def test_the_table_names_rows_and_ends_with_a_sum(fresh: Site) -> None:
    result = fresh.run("--ca-file", str(fresh.vcenter.ca_file))
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["PROBE", "RESULT", "SEEN", "ROW"]
    tunnel = next(line for line in lines if line.startswith("tunnel "))
    assert "holds" in tunnel and tunnel.endswith("`CONNECT sdkTunnel:8089`")
    assert any(line.startswith("24 hold, 0 do not hold, 4 could not be asked.") for line in lines)
    assert fresh.vcenter.admin.password not in result.stdout + result.stderr


def test_what_does_not_hold_is_told_with_what_was_seen(fresh: Site) -> None:
    fresh.vcenter.control.fault("CloneSession", "fault", fault="InvalidLogin", text="no")
    fresh.vcenter.control.fault("CONNECT", "status", status=403)
    fresh.hx.set(state="SLEEPING")
    try:
        result = fresh.run("--thumbprint", fresh.vcenter.sha256, *fresh.hx_options(), "-o", "json")
    finally:
        fresh.hx.set(state="ONLINE")
    broken = {"tunnel": "does_not_hold", "way": GONE, "ticket": "does_not_hold", "hx_words": "does_not_hold", "hx_registration": GONE}
    assert odd(result) == SMALL | broken
    assert "403" in seen(result, "tunnel") and "SLEEPING" in seen(result, "hx_words")


def test_a_clock_that_is_wrong_and_events_that_are_there(fresh: Site) -> None:
    control = fresh.vcenter.control
    control.skew_clock(700)
    control.permit("domain-c40", "VSPHERE.LOCAL\\viewer-dc")
    control.forbid("domain-c40", "VSPHERE.LOCAL\\viewer-dc")
    result = fresh.run("--thumbprint", fresh.vcenter.sha256, "-o", "json")
    assert odd(result) == {key: value for key, value in SMALL.items() if key != "events"}
    assert "ahead of ours" in seen(result, "clock")


def test_an_account_that_may_read_only_a_part(fresh: Site) -> None:
    result = fresh.run("--thumbprint", fresh.vcenter.sha256, "-o", "json", user=fresh.vcenter.users["viewer-east"])
    assert probes(result)[11]["probe"] == "privileges" and probes(result)[11]["result"] == "does_not_hold"
    assert "System.Read" in seen(result, "privileges")
    assert fresh.vcenter.control.sessions() == []


def test_a_wrong_password_is_tried_once(fresh: Site) -> None:
    result = fresh.run("--thumbprint", fresh.vcenter.sha256, "-o", "json", user=User("Administrator", "not it"))
    found = odd(result)
    assert found["login"] == "does_not_hold" and {found[name] for name in ("cookie", "ticket", "watch", "hx_keys")} == {GONE}
    assert [row["op"] for row in fresh.vcenter.control.calls()].count("Login") == 1


def test_who_gives_up_leaves_no_session(fresh: Site) -> None:
    """The call that is out ends first; then the sessions are ended, and HX is not asked at all."""
    held = fresh.vcenter.control.hold("WaitForUpdatesEx", executed=True, count=1)
    argv = [*command(fresh.scratch, fresh.vcenter), "--thumbprint", fresh.vcenter.sha256, *fresh.hx_options(), "-o", "json"]
    with subprocess.Popen([str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        fresh.vcenter.control.await_held(held)
        process.send_signal(signal.SIGINT)
        fresh.vcenter.control.release(held)
        out, _ = process.communicate(timeout=120)
    told = {row["probe"]: row for row in json.loads(out)["probes"]}
    assert process.returncode == FAILED
    assert told["login"]["result"] == "holds" and told["extension_list"]["seen"] == "given up"
    assert told["hx_login"]["result"] == GONE
    assert fresh.vcenter.control.sessions() == [] and fresh.hx.tokens_held("admin") == 0


# -- trust ------------------------------------------------------------------------------------------------------------------


def test_without_a_word_on_trust_nothing_is_sent(fresh: Site) -> None:
    result = fresh.run()
    assert result.returncode == UNCONFIRMED and fresh.vcenter.sha256 in result.stderr and "--sha256" in result.stderr
    assert fresh.vcenter.control.calls() == []


def test_another_certificate_than_the_confirmed_one_gets_no_password(fresh: Site) -> None:
    result = fresh.run("--thumbprint", ":".join(["AB"] * 32), "-o", "json")
    assert odd(result)["tls"] == "does_not_hold" and odd(result)["login"] == GONE
    assert {row["op"] for row in fresh.vcenter.control.calls()} <= {"CONNECT"}


def test_a_person_confirms_the_certificate_and_types_the_password(fresh: Site) -> None:
    argv = [program("kaasctl"), "pilot", "--read-only", "--vcenter", fresh.vcenter.address, "--user", fresh.vcenter.admin.login,
            "--wait", "1", "--direct-port", "0", "--tunnel-port", str(fresh.vcenter.tunnel_port)]
    with Terminal(argv) as terminal:
        terminal.wait_for("Type yes to trust this certificate")
        assert fresh.vcenter.sha256 in terminal.screen
        terminal.type("yes\n")
        terminal.wait_for("Password of")
        until(lambda: not terminal.echoes, "a terminal without echo")
        terminal.type(fresh.vcenter.admin.password + "\n")
        terminal.wait_for("all sessions that were made have ended")
        assert terminal.end() == 0


def test_it_says_so_that_it_only_reads() -> None:
    argv = [program("kaasctl"), "pilot", "--vcenter", "127.0.0.1", "--user", "a"]
    result = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == USAGE and "--read-only" in result.stderr


def test_where_nothing_listens_the_rest_is_not_asked(fresh: Site) -> None:
    argv = [program("kaasctl"), "pilot", "--read-only", "--vcenter", f"127.0.0.1:{free_port()}", "--user", "a", "-o", "json"]
    result = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=60, check=False)
    assert {row["result"] for row in probes(result)[2:]} == {GONE}
    assert [row["result"] for row in probes(result)[:2]] == ["holds", "does_not_hold"]


# -- the unmodified simulator -----------------------------------------------------------------------------------------------


def test_what_does_not_hold_at_the_unmodified_simulator() -> None:
    """docs/admin/compatibility.md says it of the cookie; the others are what a simulator leaves out: rights, pages of the client, an API
    of today."""
    scratch = Scratch("pv")
    vcsim = start_vcsim(scratch)
    try:
        result = pilot(scratch, vcsim, "--thumbprint", vcsim.sha256, "-o", "json")
    finally:
        vcsim.stop()
        scratch.remove()
    assert odd(result) == NO_HX_THERE | {
        "api": "does_not_hold", "tunnel": GONE, "direct": GONE, "way": GONE, "cookie": "does_not_hold", "rest_session": GONE,
        "user_rights": "does_not_hold", "unknown_user": "does_not_hold", "unknown_key": "does_not_hold", "pages": GONE,
        "client_page": "does_not_hold", "events": GONE}
