"""kaasctl cluster health --watch, beside a stand-in that changes its mind."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.server
import json
import signal
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.places import Scratch, program

pytestmark = pytest.mark.slow
ID = "33333333-3333-4333-8333-333333333333"
AWAY = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "code": "unavailable", "detail": "kaasd starts",
        "request_id": "12345678-1"}


def health(state: str, checked: str) -> dict[str, Any]:
    connection = {"state": "ok", "since": None, "checked_at": checked, "reason": None, "detail": None, "remedy": None, "version": "v1.36.3"}
    return {"cluster": {"id": ID, "name": "k1"}, "state": state, "state_reason": None, "state_source": "observed", "state_since": None,
            "connection": connection, "reasons": []}


# what is answered in turn; the last one from then on
SAID = [(200, health("ready", "2026-01-31T12:00:00Z")), (200, health("ready", "2026-01-31T12:00:04Z")), (503, AWAY),
        (200, health("degraded", "2026-01-31T12:00:08Z")), (404, {**AWAY, "title": "Not Found", "status": 404, "code": "not_found"})]


class StandIn(http.server.BaseHTTPRequestHandler):
    """Knows one cluster, and says of its health what SAID has."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def address_string(self) -> str:
        return "kaasctl"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        status, said = 200, {"id": ID, "name": "k1"}
        if self.path.endswith("/health"):
            status, said = SAID[min(StandIn.asked, len(SAID) - 1)]
            StandIn.asked += 1
        reply = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status < 300 else "application/problem+json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture
def folder() -> Iterator[Path]:
    scratch = Scratch("h")
    (scratch.path / "config").write_text(f"server:\n  admin_socket: {scratch.path}/s\n")
    StandIn.asked = 0
    server = Server(str(scratch.path / "s"), StandIn)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield scratch.path
    server.shutdown()
    thread.join()
    server.server_close()
    scratch.remove()


def watch(folder: Path, *more: str) -> subprocess.Popen[str]:
    argv = [str(program("kaasctl")), "--config", "config", "cluster", "health", ID, "--watch", *more]
    return subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_only_what_is_new_is_shown_and_a_kaasd_that_is_away_is_waited_for(folder: Path) -> None:
    with watch(folder, "--output", "json") as told:
        out, errors = told.communicate(timeout=60)
    assert [json.loads(line)["state"] for line in out.splitlines()] == ["ready", "degraded"]
    assert "kaasd starts; trying again" in errors
    assert (told.returncode, StandIn.asked) == (4, len(SAID))  # a cluster that is gone ends it


def test_people_see_the_time_and_end_it(folder: Path) -> None:
    with watch(folder) as told:
        assert told.stdout
        lines = [told.stdout.readline() for _ in range(3)]
        told.send_signal(signal.SIGINT)
        told.wait(timeout=60)
    assert lines[0].startswith("20")
    assert lines[0].endswith("Z\n")
    assert [line.split() for line in lines[1:]] == [["Cluster", "k1"], ["State", "ready"]]
    assert told.returncode == -signal.SIGINT
