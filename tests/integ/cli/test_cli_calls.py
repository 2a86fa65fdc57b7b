"""What each command of kaasctl asks of kaasd and makes of the answers, held against tests/fixtures/cli/calls.txt, which people can read.

A stand-in answers at the admin socket. KAAS_WRITE_FIXTURES=1 writes what is said now behind each `$` of that file, for reading before it
is committed."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.server
import json
import os
import re
import shlex
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.contract import contract
from env.places import TOP, Scratch, program

pytestmark = pytest.mark.slow
FIXTURE = TOP / "tests/fixtures/cli/calls.txt"
ANSWERS: dict[str, Any] = json.loads((TOP / "tests/fixtures/cli/answers.json").read_text())
FILES = {"pw": "geheim\n", "old": "alt\n", "ca.pem": "CA\n", "key.pem": "-----BEGIN PRIVATE KEY-----\n", "ovf.xml": "<Environment/>\n",
         "cert.pem": "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n",
         "kc": "apiVersion: v1\nclusters: [{cluster: {certificate-authority-data: QQ==}}]\n", "bare": "apiVersion: v1\n", "empty": "",
         "open": "apiVersion: v1\n", "token": "t0ken\n", "records": '{"name":"a"}\n{"name":"b"}\n',
         "provider.yaml": "kind: Provider\nname: east\nvcenter: east\nvsphere_cluster: East\nfolder: kaas\ndatastore: ssd\n"
                          "network: VM Network\ntemplate: node\napi_addresses: [10.9.0.10]\n"
                          "nodes: {addresses: [10.9.0.20-10.9.0.99], prefix: 24, gateway: 10.9.0.1, dns: [10.9.0.2]}\n",
         "cluster.yaml": "kind: Cluster\nprovider: east\nworkers: {count: 3, cpus: 4}\n",
         "wrong.yaml": "kind: Provider\nname: east\nnodes:\n  gatway: 10.9.0.1\n",
         "config": "server:\n  admin_socket: {folder}/s\nsecrets:\n  master_key_file: {folder}/k\n"}


class StandIn(http.server.BaseHTTPRequestHandler):
    """Answers are those of answers.json, by method and path, with the query or without it."""

    protocol_version = "HTTP/1.1"
    asked: list[str] = []

    def address_string(self) -> str:
        return "kaasctl"

    def log_message(self, *_: object) -> None:
        pass

    def answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        kind = self.headers.get("Content-Type", "").removeprefix("application/")
        body = json.dumps(json.loads(raw), sort_keys=True) if kind in ("json", "merge-patch+json") else raw.replace("\n", "|")
        self.asked.append(" ".join(filter(None, [">", self.command, self.path, kind, body])))
        path, _, query = self.path.partition("?")
        problem = {"type": "about:blank", "title": "Not Found", "status": 404, "code": "not_found", "detail": f"there is nothing at {path}",
                   "request_id": "12345678-1", "remedy": "see GET /v2/clusters"}
        status, said = ANSWERS.get(f"{self.command} {path}?{query}", ANSWERS.get(f"{self.command} {path}", [404, problem]))
        reply = b"" if said is None else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status < 300 else "application/problem+json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        if reply:
            self.wfile.write(reply)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    scratch = Scratch("a")
    for name, text in FILES.items():
        (scratch.path / name).write_text(text.replace("{folder}", str(scratch.path)))
        (scratch.path / name).chmod(0o644 if name == "open" else 0o600)
    server = Server(str(scratch.path / "s"), StandIn)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    if os.environ.get("KAAS_WRITE_FIXTURES"):
        FIXTURE.write_text("\n\n".join(f"$ {command}\n{told(scratch.path, command)}" for command in blocks()) + "\n")
    yield scratch.path
    server.shutdown()
    thread.join()
    server.server_close()
    scratch.remove()


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    StandIn.asked.clear()
    argv = [str(program("kaasctl")), "--config", "config", *words]
    return subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)


def as_json(text: str) -> str:
    """In short where it is what kaasd said, or the list in that."""
    if not text:
        return "nothing"
    value = json.loads(text)
    for said in (answer for _, answer in ANSWERS.values() if answer is not None):
        if value == said:
            return "the answer"
        if isinstance(said, dict) and value == said.get("items", said):
            return "the items"
    return json.dumps(value)


def told(folder: Path, command: str) -> str:
    """Calls, output, errors, status; then what --output json does otherwise."""
    words = shlex.split(command)
    plain, asked = run(folder, *words), "\n".join(StandIn.asked)
    parts = [asked, plain.stdout.rstrip("\n"), *(f"! {line}" for line in plain.stderr.splitlines()), f"= {plain.returncode}"]
    for_programs = run(folder, *words, "--output", "json")
    if "json" not in words and plain.returncode != 2:
        assert for_programs.returncode == plain.returncode
        parts.append(f"json: {as_json(for_programs.stdout)}")
        if for_programs.stderr != plain.stderr:
            parts += [f"json! {line}" for line in for_programs.stderr.splitlines()]
    text = "\n".join(part for part in parts if part)
    text = re.sub(r'(One-time password of \S+: |"one_time_password": "|"password": ")(?!geheim)[^"\n]+', r"\1...", text)
    text = re.sub(r'(kaasctl(?: |": "))\d+\.\d+\.\d+', r"\1VERSION", text)
    return text.replace(str(folder), "/folder")


@pytest.mark.parametrize("call", ANSWERS)
def test_kaasd_may_answer_so(call: str) -> None:
    """The stand-in says nothing that docs/openapi.yaml does not allow."""
    status, said = ANSWERS[call]
    method, path = call.partition("?")[0].split(" ")
    media = {"Content-Type": "application/json" if status < 300 else "application/problem+json"}
    assert contract().check_answer(method, path, status, media, b"" if said is None else json.dumps(said).encode()) == []


def blocks() -> dict[str, str]:
    """What stands behind each command of the file."""
    whole = (block.partition("\n") for block in re.split(r"^\$ ", FIXTURE.read_text(), flags=re.M)[1:])
    return {command: said.strip("\n") for command, _, said in whole}


@pytest.mark.parametrize("command", blocks())
def test_a_command(folder: Path, command: str) -> None:
    assert told(folder, command) == blocks()[command]
