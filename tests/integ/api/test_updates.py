"""A newer version is told of when its signed release file says so; one that is forged, old or endless is a line of health, nothing else."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from env.clock import Clock
from env.installed import adopt, installed_database
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import TOP, Scratch, free_port
from env.process import run
from env.publisher import DAY, NEWER, NOTES, PATH, STEPS, Publisher, release, when
from env.wait import until


@dataclass
class Site:
    kaasd: Kaasd
    publisher: Publisher
    db: Mariadb
    clock: Clock

    def options(self, **more: Any) -> dict[str, Any]:
        updates = {"url": self.publisher.url, "key_file": str(self.publisher.key_file), "ca_file": str(self.publisher.cert.ca_file),
                   "call_timeout": "2s", **more}
        return {"updates": {name: value for name, value in updates.items() if value is not None}}

    def reload(self, outcome: str = "reloaded") -> None:
        process = self.kaasd.process
        assert process
        before = process.log.count(f"event={outcome}")
        process.signal(signal.SIGHUP)
        process.wait_until(lambda: process.log.count(f"event={outcome}") > before, outcome)

    def forget(self) -> None:
        """As if no release file had been accepted. The row stays, and with it when the next look is due."""
        self.db.query("UPDATE release_file SET content = NULL, signature = NULL", database="kaas")

    def checks(self, name: str = "updates") -> list[dict[str, Any]]:
        """Those lines of health; by the admin socket, since tokens end when the clock is put forward."""
        return [check for check in self.kaasd.ctl.json("health")["checks"] if check["name"] == name]

    def told(self) -> dict[str, Any]:
        """To administrators, by the admin socket."""
        told: dict[str, Any] = self.kaasd.ctl.json("version")
        return told

    def look(self) -> dict[str, Any]:
        """Has it look now, and hands over the one line of health."""
        self.publisher.asked.clear()
        self.reload()
        until(lambda: self.publisher.asked, "a look")
        (line,) = until(self.checks, "the line of health")
        return line


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with ExitStack() as stack:
        scratch = Scratch("u")
        stack.callback(scratch.remove)
        db = installed_database(scratch)
        stack.callback(db.close)
        publisher = stack.enter_context(Publisher(scratch.path / "publisher"))
        clock = Clock(scratch.path / "clock")
        made = Site(Kaasd(scratch, db.socket, env=clock.env), publisher, db, clock)
        adopt(made.kaasd)
        made.kaasd.write_config(made.options())
        stack.callback(made.kaasd.stop)
        publisher.serve(release())
        made.kaasd.start()
        until(made.checks, "the look at the start: from now on it is due on a reload only")
        yield made


def forged(publisher: Publisher) -> None:
    publisher.serve(release())
    publisher.content = publisher.content.replace(NEWER.encode(), b"99.2.0")


def cut_signature(publisher: Publisher) -> None:
    publisher.serve(release())
    publisher.signature = publisher.signature[:63]


def long_signature(publisher: Publisher) -> None:
    publisher.serve(release())
    publisher.signature += b"\n"


def signed_by_another(publisher: Publisher) -> None:
    publisher.serve(release(), Ed25519PrivateKey.generate())


def endless(publisher: Publisher) -> None:
    publisher.misbehave(lambda request: publisher.stream(request, b'{"product": ' * 1000, 0))


def slow(publisher: Publisher) -> None:
    publisher.misbehave(lambda request: publisher.stream(request, b" ", 0.2))


def redirected(publisher: Publisher) -> None:
    publisher.misbehave(lambda request: publisher.send_status(request, 302, Location=PATH + ".sig"))


def missing(publisher: Publisher) -> None:
    publisher.misbehave(lambda request: publisher.send_status(request, 404))


BAD: dict[str, tuple[Callable[[Publisher], None], str]] = {
    "forged": (forged, "not signed by a key of updates.key_file"),
    "cut signature": (cut_signature, "not signed by a key of updates.key_file"),
    "long signature": (long_signature, "the signature is larger than 64 bytes"),
    "wrong key": (signed_by_another, "not signed by a key of updates.key_file"),
    "old": (lambda p: p.serve(release(released_at=when(-9 * DAY), valid_until=when(-DAY))), "the release file is old: it was valid until"),
    "of the future": (lambda p: p.serve(release(released_at=when(2 * DAY))), "which is to come"),
    "endless": (endless, "the release file is larger than 65536 bytes"),
    "huge": (lambda p: p.serve(json.dumps(release()).encode() + b" " * 65536), "the release file is larger than 65536 bytes"),
    "slow": (slow, "did not answer in time"),
    "redirect": (redirected, "a redirect (302), which is not followed"),
    "missing": (missing, "answers for the release file with HTTP status 404"),
    "no JSON": (lambda p: p.serve(b"<html>sign in to the network</html>"), "line 1"),
    "deep": (lambda p: p.serve(b"[" * 5000 + b"]" * 5000), "nest"),
    "unknown member": (lambda p: p.serve(release(signature="none")), "signature"),
    "another product": (lambda p: p.serve(release(product="something-else")), "product is not harmony-kaas"),
    "many notes": (lambda p: p.serve(release(notes=["x"] * 21)), "notes has more than 20 lines"),
    "control character": (lambda p: p.serve(release(steps=["rm \x1b[2K"])), "steps"),
    "script": (lambda p: p.serve(release(notes_url="javascript:alert(1)")), "notes_url"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_not_right_is_one_line_of_health_and_no_notice(site: Site, case: str) -> None:
    misbehave, text = BAD[case]
    site.forget()
    misbehave(site.publisher)
    line = site.look()
    assert (line["status"], text in line["detail"]) == ("warning", True), line
    assert site.told()["available"] is None


def test_a_newer_version_is_told(site: Site) -> None:
    site.forget()
    site.publisher.serve(release())
    line = site.look()
    assert (line["status"], line["detail"]) == ("ok", f"version {NEWER} is available")
    available = site.told()["available"]
    assert (available["version"], available["notes"], available["steps"]) == (NEWER, NOTES, STEPS)
    assert "\nkaas_update_available 1\n" in site.kaasd.admin().call("GET", "/metrics").text
    said = site.kaasd.ctl.ok("version")
    assert f"\n{NEWER} is available, released 20" in said
    assert all(f"\n  {text}\n" in said for text in (*NOTES, *STEPS, "https://kaas.example.com/releases"))


def test_only_administrators_are_told(site: Site) -> None:
    site.forget()
    site.publisher.serve(release())
    site.look()
    admin, password = site.kaasd.admin(), "a long enough password"
    admin.expect(201, "POST", "/v2/users", json={"name": "anna", "role": "user", "password": password, "must_change_password": False},
                 headers={"X-KaaS": "1"})
    user = site.kaasd.api().login_password("anna", password)
    assert admin.get("/v2/updates")["available"]["version"] == NEWER
    user.refused(403, "forbidden", "GET", "/v2/updates")
    site.kaasd.api().refused(401, "unauthenticated", "GET", "/v2/updates")
    assert set(site.kaasd.api().get("/v2/version")) == {"name", "version", "api"}


def test_a_version_too_far_away_is_upgraded_to_by_steps(site: Site) -> None:
    site.forget()
    site.publisher.serve(release(upgrade_from="98.0"))
    site.look()
    first, *rest = site.told()["available"]["steps"]
    assert "cannot be upgraded to it in one step: upgrade to 98.0 first" in first
    assert rest == STEPS


@pytest.mark.parametrize("version", ["0.0.1", "0.4.0-rc.1", "0.4"])
def test_what_is_not_newer_is_nothing_to_tell(site: Site, version: str) -> None:
    site.forget()
    site.publisher.serve(release(version))
    line = site.look()
    assert line["status"] == "ok"
    assert line["detail"].startswith("there is no newer version than ")


def test_an_older_file_does_not_take_the_place_of_what_was_accepted(site: Site) -> None:
    site.forget()
    site.publisher.serve(release())
    assert site.look()["status"] == "ok"
    site.publisher.serve(release("99.0.0", released_at=when(-2 * DAY)))
    line = site.look()
    assert line["status"] == "warning"
    assert "older than that of" in line["detail"]
    site.publisher.serve(release())
    assert site.look()["detail"] == f"version {NEWER} is available"


def test_a_key_is_replaced_by_another_one(site: Site) -> None:
    new = Ed25519PrivateKey.generate()
    site.forget()
    try:
        site.publisher.trust(new, site.publisher.key)
        for key in (site.publisher.key, new):
            site.publisher.serve(release(), key)
            assert site.look()["status"] == "ok"
        site.publisher.trust(site.publisher.key)  # what the other one has signed counts for nothing any more, not even as newer
        site.publisher.serve(release("99.0.0", released_at=when(-2 * DAY)))
        assert site.look()["detail"] == "version 99.0.0 is available"
    finally:
        site.publisher.trust(site.publisher.key)


def test_a_server_that_is_not_trusted_is_not_asked(site: Site) -> None:
    site.forget()
    site.publisher.asked.clear()
    site.kaasd.write_config(site.options(ca_file=str(site.kaasd.tls.ca_file)))
    try:
        site.reload()
        until(lambda: any("is not trusted" in check["detail"] for check in site.checks()), "the line of health")
    finally:
        site.kaasd.write_config(site.options())
    assert site.publisher.asked == []


def test_a_folder_takes_the_place_of_the_server(site: Site, tmp_path: Path) -> None:
    site.forget()
    site.kaasd.write_config(site.options(url=None, folder=str(tmp_path)))
    try:
        site.reload()
        until(lambda: any("there is no file" in check["detail"] for check in site.checks()), "the line of health")
        site.publisher.serve(release())
        site.publisher.put(tmp_path)
        site.reload()
        until(lambda: any(check["detail"] == f"version {NEWER} is available" for check in site.checks()), "the notice")
    finally:
        site.kaasd.write_config(site.options())
        site.reload()


def test_the_file_that_is_made_with_a_release_is_taken(site: Site, tmp_path: Path) -> None:
    """Signed by the command of docs/CONTRIBUTING.md."""
    version = site.told()["kaasd"]
    private, file = tmp_path / "key.pem", tmp_path / "release.json"
    private.write_bytes(site.publisher.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                                         serialization.NoEncryption()))
    made = run([sys.executable, TOP / "scripts/lib/release_file.py", TOP / "CHANGELOG.md", version, str(int(time.time()) - 60)])
    file.write_text(made.stdout)
    signed = run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", private, "-in", file, "-out", f"{file}.sig"])
    assert (made.returncode, signed.returncode) == (0, 0), made.stderr + signed.stderr
    site.forget()
    site.publisher.content, site.publisher.signature = file.read_bytes(), Path(f"{file}.sig").read_bytes()
    site.publisher.answer = None
    assert site.look()["detail"] == f"there is no newer version than {version}"


def test_all_replicas_tell_what_one_has_read_if_the_publisher_signed_it(site: Site) -> None:
    """The other one cannot reach the server."""
    site.forget()
    site.publisher.serve(release())
    site.look()
    closed = site.options(url=f"https://127.0.0.1:{free_port()}{PATH}")["updates"]
    other = site.kaasd.beside("other", options={"updates": closed})
    try:
        other.start()
        until(lambda: other.ctl.json("version")["available"], "the version that the other replica has read")
        health = {check["name"]: check for check in other.ctl.json("health")["checks"]}
        assert "does not accept connections" in health["updates"]["detail"]
        site.db.query("UPDATE release_file SET content = REPLACE(content, '99.1.0', '99.2.0'), problem = ''", database="kaas")
        site.clock.hasten(lambda: other.ctl.json("version")["available"] is None, "another look at the database")
        (line,) = [check for check in other.ctl.json("health")["checks"] if check["name"] == "updates"]
        assert (line["status"], "not signed by a key" in line["detail"]) == ("warning", True)
    finally:
        other.stop()


def test_replicas_of_different_versions_are_named_and_a_warning_after_an_hour(site: Site) -> None:
    site.db.query("INSERT INTO replicas (id, name, heartbeat_at_ms, version, version_at_ms)"
                  " VALUES (77, 'left-behind', 1, '0.3.9', 1), (78, 'stopped', 0, '0.3.8', 0)", database="kaas")
    try:
        beat(site, "version_at_ms")
        site.reload()
        (line,) = until(lambda: site.checks("replica_versions"), "the line of health")
        assert line["status"] == "ok"
        assert "left-behind 0.3.9" in line["detail"]
        assert "stopped" not in line["detail"]
        assert {"name": "left-behind", "version": "0.3.9"} in site.told()["replicas"]
        assert "\n  left-behind 0.3.9\n" in site.kaasd.ctl.ok("version")
        site.clock.advance(3600, step_s=600)
        beat(site, "heartbeat_at_ms")  # of a program that does not tell its version, as after going back
        site.reload()
        (line,) = until(lambda: [check for check in site.checks("replica_versions") if "left-behind older" in check["detail"]],
                        "another version")
        assert line["status"] == "warning"
    finally:
        site.db.query("DELETE FROM replicas WHERE id IN (77, 78)", database="kaas")
    site.reload()
    until(lambda: not site.checks("replica_versions"), "the end of it")


def beat(site: Site, *more: str) -> None:
    """Lets that replica live, and sets these columns to the same time."""
    also = "".join(f", {column} = heartbeat_at_ms" for column in more)
    site.db.query(f"UPDATE replicas SET heartbeat_at_ms = FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000){also} WHERE id = 77", database="kaas")


def test_without_a_key_nothing_is_believed(site: Site) -> None:
    site.kaasd.write_config(site.options(key_file=None))
    result = site.kaasd.check_config()
    site.kaasd.write_config(site.options(key_file=str(site.publisher.cert.cert_file)))
    wrong = site.kaasd.check_config()
    site.kaasd.write_config(site.options())
    assert result.returncode
    assert "updates.url and updates.folder need updates.key_file: name a PEM file with the publisher's public key" in result.stderr
    assert wrong.returncode
    assert "updates.key_file: there is no public key in PEM" in wrong.stderr
