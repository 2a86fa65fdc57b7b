"""Who reads the metrics: administrators, and a monitoring system by the token of a file, which is good for nothing else."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import secrets
import signal
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from env import forge
from env.api import Api
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch
from env.process import run
from env.wait import until

BAD_TOKENS = 60  # more than are looked at closely in one go


def put(path: Path, text: str, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return text


class Place:
    def __init__(self, scratch: Scratch, db: Mariadb) -> None:
        self.file = scratch.path / "metrics.token"
        self.token = put(self.file, secrets.token_hex(32))
        self.kaasd = Kaasd(scratch, db.socket, "metrics", options={"metrics": {"token_file": str(self.file)}})
        self.kaasd.init()
        self.kaasd.start()
        self.admin = self.kaasd.admin()

    def status(self, token: str | None, path: str = "/metrics") -> int:
        answer = self.kaasd.api(token).call("GET", path)
        assert answer.status_code != 200 or "# TYPE kaas_http_requests_total counter" in answer.text
        return answer.status_code

    def reload(self) -> str:
        """What the log says of it."""
        assert self.kaasd.process
        process, before = self.kaasd.process, len(self.kaasd.process.log)
        process.signal(signal.SIGHUP)
        process.wait_until(lambda: "event=reload" in process.log[before:], "the end of the reload")
        return process.log[before:]


@pytest.fixture(scope="module")
def place(run_scratch: Scratch) -> Iterator[Place]:
    db = Mariadb(run_scratch, "metrics-db")
    made = Place(run_scratch, db)
    yield made
    made.kaasd.stop()
    db.close()


def test_strangers_read_nothing(place: Place) -> None:
    answer = place.kaasd.api().call("GET", "/metrics")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert "kaas_http" not in answer.text


def test_administrators_read_them_and_others_do_not(place: Place) -> None:
    assert place.status(place.admin.token) == 200
    for role in ("user", "provisioner"):
        person = {"name": f"a-{role}", "role": role, "password": "seven swans in a paper boat", "must_change_password": False}
        place.admin.expect(201, "POST", "/v2/users", json=person, headers={"X-KaaS": "1"})
        them = place.kaasd.api().login_password(person["name"], person["password"])
        problem = them.refused(403, "forbidden", "GET", "/metrics")
        assert "role admin" in problem["detail"]


def test_each_metric_is_explained_in_a_sentence(place: Place) -> None:
    text = place.kaasd.api(place.token).call("GET", "/metrics").text
    said = [line.split(maxsplit=3)[2:] for line in text.splitlines() if line.startswith("# HELP ")]
    assert len(said) >= 10
    assert not [(name, help_text) for name, help_text in said if not re.fullmatch(r"[A-Z1][\w ,.;:'()/-]*", help_text)]


def test_the_admin_socket_reads_them(place: Place) -> None:
    said = run(["curl", "--silent", "--show-error", "--unix-socket", place.kaasd.folder / "admin.sock", "http://localhost/metrics"])
    assert "kaas_http_requests_total" in said.stdout


def test_the_token_of_the_file_reads_them_and_nothing_else(place: Place) -> None:
    assert place.status(place.token) == 200
    assert place.kaasd.api(place.token).call("HEAD", "/metrics").status_code == 200
    for path in ("/v2/health", "/v2/clusters", "/v2/whoami", "/v2/vcenters"):
        assert place.status(place.token, path) == 401


@pytest.mark.parametrize("change", ["longer", "shorter", "other", "none"])
def test_another_token_does_not(place: Place, change: str) -> None:
    wrong = {"longer": place.token + "0", "shorter": place.token[:-1], "other": "f" * 64, "none": ""}[change]
    assert place.status(wrong) == 401


def bad(admin: Api, count: int) -> list[str]:
    """Tokens that want to be looked at closely, of a key that is not ours."""
    forger = forge.Forger(admin.token or "", ec.generate_private_key(ec.SECP256R1()))
    return [forger.token(jti=str(uuid.uuid4())) for _ in range(count)]


def test_bad_tokens_count_and_the_token_of_the_file_goes_on(place: Place) -> None:
    with ThreadPoolExecutor(8) as pool:  # faster than the ten a second that are forgiven, also where each takes a while
        statuses = list(pool.map(place.status, bad(place.admin, BAD_TOKENS)))
    assert set(statuses) == {401, 429}
    assert place.status(place.token) == 200
    until(lambda: place.status(bad(place.admin, 1)[0]) == 401, "the end of the wait")


def test_a_reload_reads_the_file_again(place: Place) -> None:
    old, place.token = place.token, put(place.file, secrets.token_hex(16))
    assert place.status(place.token) == 401
    assert "event=reloaded" in place.reload()
    assert (place.status(place.token), place.status(old)) == (200, 401)
    put(place.file, place.token + "\n")
    assert "event=reloaded" in place.reload()
    assert place.status(place.token) == 200


@pytest.mark.parametrize(("text", "mode", "said"), [
    ("x" * 31, 0o600, "does not hold a token of one line"),
    ("x" * 513, 0o600, "does not hold a token of one line"),
    ("two words, of which the second one is long enough", 0o600, "does not hold a token of one line"),
    ("x" * 40 + "\n" + "y" * 40, 0o600, "does not hold a token of one line"),
    ("", 0o600, "is empty"),
    ("x" * 40, 0o644, "chmod 0600"),
    (None, 0, "metrics.token"),
])
def test_a_file_that_is_no_good_is_refused_and_the_old_token_stays(place: Place, text: str | None, mode: int, said: str) -> None:
    if text is None:
        place.file.unlink()
    else:
        put(place.file, text, mode)
    try:
        log = place.reload()
        assert "event=reload_failed" in log and place.status(place.token) == 200
        checked = place.kaasd.check_config()
        assert checked.returncode == 78 and said in checked.stderr, checked.stderr
        assert not text or text not in log + checked.stderr + checked.stdout
    finally:
        put(place.file, place.token)
    assert place.kaasd.check_config().returncode == 0


def test_monitoring_goes_on_before_there_is_a_database(scratch: Scratch, fresh_db: Mariadb) -> None:
    token = put(scratch.path / "metrics.token", secrets.token_hex(32))
    daemon = Kaasd(scratch, fresh_db.socket, "waiting", options={"metrics": {"token_file": str(scratch.path / "metrics.token")}})
    daemon.init()
    fresh_db.stop()
    process = daemon.spawn()
    try:
        process.wait_until(lambda: "event=waiting" in process.log, "what it waits for in the log")
        assert "kaas_audit_lost_total" in daemon.api(token).call("GET", "/metrics").text
        assert token not in process.log
    finally:
        daemon.stop()


def test_without_a_file_no_token_reads_them(world_without_token: Kaasd) -> None:
    for token in ("", "x" * 64):
        world_without_token.api(token).refused(401, "unauthenticated", "GET", "/metrics")


@pytest.fixture
def world_without_token(place: Place) -> Iterator[Kaasd]:
    other = place.kaasd.beside("without")
    other.start()
    yield other
    other.stop()
