"""A stand-in for kaasd while the page is worked on: holds every request and every answer of its own against the contract.

Development and tests of the page only; the service itself is tested without it.
`PYTHONPATH=tests python3 tests/ui/mock_kaasd.py --port 8480` serves it.
"""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import base64
import hashlib
import json
import secrets
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from http.cookies import Morsel, SimpleCookie
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid4, uuid5

from env.contract import contract
from env.prefixproxy import Server
from sample import (
    CLUSTERS,
    EVENTS,
    GRANTS,
    HX_CLUSTERS,
    HX_CONNECTIONS,
    HX_FACTS,
    NO_HEALTH,
    NODES,
    RULES,
    SHA256,
    USAGE,
    ago,
    cluster,
    connect_steps,
)

Reply = tuple[int, dict[str, str], bytes]
DIST = Path(__file__).resolve().parents[2] / "ui-plugin" / "dist"
STATES = ("ready", "updating", "creating", "deleting", "unknown", "degraded", "unreachable", "failed")  # in their order
CSP = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
MEDIA = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".png": "image/png"}
COOKIE = "__Host-kaas"
NO_COOKIE = f"{COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0"
REQUEST_ID = "8f14e45f-ceea-467f-a0e6-1f2b3c4d5e6f"
VCENTER = "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10"
PASSWORD_DUE = {"/v2/password", "/v2/whoami", "/v2/token/refresh", "/v2/logout"}  # open to who must change the password
TITLES = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict",
          422: "Unprocessable Content", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway",
          503: "Service Unavailable"}


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Refusal(Exception):
    """An answer that is a problem."""

    def __init__(self, status: int, code: str, detail: str, remedy: str | None = None, headers: dict[str, str] | None = None,
                 **more: Any) -> None:
        super().__init__(code)
        self.status, self.code, self.detail, self.remedy, self.headers, self.more = status, code, detail, remedy, headers or {}, more


class World:
    """What the service knows. Tests change it as they like."""

    def __init__(self) -> None:
        self.clusters = list(CLUSTERS)
        self.hx_clusters = list(HX_CLUSTERS)
        self.nodes = list(NODES)
        self.health: dict[str, Any] = NO_HEALTH  # of every cluster
        self.jobs: list[dict[str, Any]] = []  # the newest first
        self.job_lines: dict[str, list[dict[str, Any]]] = {}  # by id of the job
        self.connected: list[dict[str, Any]] = []  # what clusters were asked to be connected by
        self.hx_connections = list(HX_CONNECTIONS)
        self.must_change: set[str] = set()  # names of local users
        self.users = {("local", "admin"): ("secret", "admin"), ("vcenter:vc.example.com", "anna@vsphere.local"): ("secret", "user")}
        self.ways: dict[str, Any] = {"vcenter": True, "directories": [], "kerberos": "off"}
        self.ticket: str | None = None  # whose Kerberos ticket the browser has; the real thing is tested with a real domain
        self.groups: dict[str, list[str]] = {}  # by name of a user of a directory
        self.updates: dict[str, Any] = {"version": "0.4.0", "available": None, "replicas": None}
        self.stale: str | None = None
        self.stale_for = timedelta(minutes=4)
        self.vcenter_state = "connected"
        self.expires_in = 900
        self.session_s = 8 * 3600
        self.gate = threading.Event()  # no answer of the API passes while it is clear
        self.gate.set()
        self.held: set[str] = set()  # paths that are not answered before release()
        self.refusals: dict[str, Refusal] = {}
        self.garbage: set[str] = set()  # paths that answer a proxy's HTML
        self.origins: list[str] = []  # of the pages that may show the panel
        self.codes: dict[str, tuple[dict[str, Any], str | None]] = {}  # one-time codes: session, origin of the page that may hand it over
        self.cookies: dict[str, dict[str, Any]] = {}  # refresh cookies: their sessions
        self.tickets: dict[str, dict[str, Any]] = {}  # clone tickets and sessions of the vSphere Client: the sessions that they open here
        self.nodes_on: dict[str, list[dict[str, Any]]] = {}  # by id of a virtual machine or host
        self.sessions: dict[str, tuple[dict[str, Any], float]] = {}  # by token: session, end of the token
        self.ended: set[str] = set()
        self.requests: list[tuple[str, str, int]] = []  # method, path, status
        self.violations: list[str] = []  # what the contract does not allow

    def release(self) -> None:
        self.held.clear()
        self.gate.set()

    def session_of(self, name: str, role: str = "user") -> dict[str, Any]:
        """A session of somebody whom the vCenter knows, in which a program acts or a ticket spoke."""
        end = datetime.now(UTC) + timedelta(seconds=self.session_s)
        return {"id": str(uuid4()), "name": name, "source": "vcenter:vc.example.com", "role": role, "end": end}

    def give_code(self, session: dict[str, Any], origin: str | None) -> str:
        """As a program gets one for a page (`origin`), or a page for a window of its own."""
        code = secrets.token_hex(16)
        self.codes[code] = (session, origin)
        return code


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.route()

    do_POST = do_PATCH = do_DELETE = do_PUT = do_GET

    @property
    def world(self) -> World:
        return self.server.world

    def route(self) -> None:
        url = urlsplit(self.path)
        self.query = parse_qs(url.query, keep_blank_values=True)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.body = body
        if url.path.startswith("/v2/"):
            wrong = self.server.contract.check_request(self.command, url.path, self.query, self.headers, body)
            self.world.violations += wrong
            self.world.gate.wait()
            while url.path in self.world.held:
                time.sleep(0.05)
        try:
            status, headers, answer = self.answer(url.path)
        except Refusal as refusal:
            status, headers, answer = self.problem(refusal)
        self.reply(url.path, status, headers, answer)

    def reply(self, path: str, status: int, headers: dict[str, str], body: bytes) -> None:
        if path.startswith("/v2/") and path not in self.world.garbage:
            self.world.violations += self.server.contract.check_answer(self.command, path, status, headers, body)
        self.world.requests.append((self.command, path, status))
        self.send_response(status)
        self.send_header("KaaS-Request-Id", REQUEST_ID)
        for name, value in headers.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status not in (204, 304):
            self.wfile.write(body)

    def problem(self, refusal: Refusal) -> Reply:
        body = {"type": "about:blank", "title": TITLES[refusal.status], "status": refusal.status, "code": refusal.code,
                "detail": refusal.detail, "request_id": REQUEST_ID, **refusal.more}
        if refusal.remedy:
            body["remedy"] = refusal.remedy
        always = {"Content-Type": "application/problem+json", "X-Content-Type-Options": "nosniff"}
        return refusal.status, {**always, **refusal.headers}, json.dumps(body).encode()

    def answer(self, path: str) -> Reply:
        if path in self.world.garbage:
            return 502, {"Content-Type": "text/html"}, b"<html><body>502 Bad Gateway</body></html>"
        if path in self.world.refusals:
            raise self.world.refusals[path]
        calls = {("GET", "/v2/login"): self.login_ways, ("POST", "/v2/login/kerberos"): self.login_kerberos,
                 ("POST", "/v2/login/password"): self.login, ("POST", "/v2/token/refresh"): self.refresh,
                 ("POST", "/v2/login/code"): self.login_code, ("POST", "/v2/session/code"): self.session_code,
                 ("POST", "/v2/session/cookie"): self.session_cookie, ("GET", "/v2/nodes"): self.list_nodes_on,
                 ("GET", "/v2/impact/hosts"): self.show_impact,
                 ("POST", "/v2/login/vcenter"): self.login_ticket,
                 ("POST", "/v2/logout"): self.logout, ("GET", "/v2/whoami"): self.whoami, ("POST", "/v2/password"): self.change_password,
                 ("GET", "/v2/clusters"): self.list_clusters, ("GET", "/v2/clusters/counts"): self.count_clusters,
                 ("POST", "/v2/clusters:connect"): self.connect,
                 ("GET", "/v2/hx-clusters"): self.list_hx, ("GET", "/v2/updates"): self.show_updates,
                 ("GET", "/v2/vcenters"): self.list_vcenters, ("GET", "/v2/jobs"): self.list_jobs,
                 ("GET", "/v2/audit"): self.list_audit, ("GET", "/v2/hx-connections"): self.list_hx_connections}
        if (self.command, path) in calls:
            return calls[self.command, path]()
        if path.startswith("/v2/jobs/"):
            return self.of_job(*path.removeprefix("/v2/jobs/").split("/"))
        if self.command == "GET" and path.startswith("/v2/clusters/"):
            return self.show_cluster(*path.removeprefix("/v2/clusters/").split("/"))
        if self.command == "GET" and path.startswith("/v2/hx-clusters/"):
            return self.show_hx(path.removeprefix("/v2/hx-clusters/"))
        if self.command == "GET" and path == "/ui/panel":
            status, headers, body = self.file("panel.html")
            hosts = " ".join(self.world.origins) or "'none'"
            told = body.replace(b'name="kaas-hosts" content="', b'name="kaas-hosts" content="' + " ".join(self.world.origins).encode())
            headers = {name: value for name, value in headers.items() if name != "Cross-Origin-Opener-Policy"}
            return status, {**headers, "Content-Security-Policy": CSP.removesuffix("'none'") + hosts}, told
        if self.command == "GET" and path.startswith("/ui/"):
            return self.file(path[4:] or "index.html")
        if self.command == "GET" and path.startswith("/plugin/"):  # what is below /ui/, for a frame of the same origin
            status, headers, body = self.file(path.removeprefix("/plugin/"))
            return status, {**headers, "Content-Security-Policy": CSP.replace("ancestors 'none'", "ancestors 'self'")}, body
        raise Refusal(404, "not_found", f"There is nothing at {path}.")

    def file(self, name: str) -> Reply:
        file = DIST / name
        if "/" in name or not file.is_file():
            raise Refusal(404, "not_found", "There is no such file.")
        keep = "no-cache" if name.endswith(".html") else "public, max-age=31536000, immutable"
        headers = {"Content-Type": MEDIA[file.suffix], "Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff",
                   "Cross-Origin-Opener-Policy": "same-origin",
                   "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()"}
        return 200, {**headers, "Cache-Control": keep}, file.read_bytes()

    def json(self, value: Any, **headers: str) -> Reply:
        body = json.dumps(value, ensure_ascii=False).encode()
        always = {"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return 200, {**always, **headers}, body

    def issue(self, session: dict[str, Any]) -> Reply:
        claims = base64.urlsafe_b64encode(json.dumps({"sid": session["id"]}).encode()).decode().rstrip("=")
        token = f"{secrets.token_urlsafe(8)}.{claims}.{secrets.token_urlsafe(24)}"
        self.world.sessions[token] = (session, time.time() + self.world.expires_in)
        return self.json({"access_token": token, "token_type": "Bearer", "expires_in": self.world.expires_in,
                          "session_expires_at": iso(session["end"])})

    def login_ways(self) -> Reply:
        return self.json(self.world.ways)

    def session_code(self) -> Reply:
        twin = {**self.session(), "id": str(uuid4())}
        return self.json({"code": self.world.give_code(twin, None), "expires_in": 60, "origin": None})

    def login_code(self) -> Reply:
        asked = json.loads(self.body)
        session, origin = self.world.codes.pop(asked["code"], (None, None))
        if session is None or origin != asked.get("origin"):
            raise Refusal(401, "invalid_credentials", "the code is wrong, has been used, or is older than 60 s", "ask for a new code")
        return self.issue(session)

    def login_ticket(self) -> Reply:
        session = self.world.tickets.pop(json.loads(self.body).get("clone_ticket") or self.headers["vmware-api-session-id"], None)
        if session is None:
            raise Refusal(401, "invalid_credentials", "The vCenter refused the ticket.")
        return self.issue(session)

    def login_kerberos(self) -> Reply:
        if self.world.ticket is None:
            raise Refusal(401, "unauthenticated", "a Kerberos token is needed", headers={"WWW-Authenticate": "Negotiate"})
        role = self.world.users.get(("kerberos", self.world.ticket), (None, None))[1]
        if role is None:
            raise Refusal(403, "forbidden", "you are known, but no role is mapped to you or to one of your 9 groups",
                          "ask an administrator of this service for a role; the audit log shows which groups were seen")
        end = datetime.now(UTC) + timedelta(seconds=self.world.session_s)
        return self.issue({"id": str(uuid4()), "name": self.world.ticket, "source": "kerberos", "role": role, "end": end})

    def login(self) -> Reply:
        asked = json.loads(self.body)
        source = asked.get("source", "local")
        if source == "vcenter":  # the only one
            source = next(known for known, _ in self.world.users if known.startswith("vcenter:"))
        password, role = self.world.users.get((source, asked["username"]), (None, None))
        if password is None or password != asked["password"]:
            raise Refusal(401, "invalid_credentials", "The user name or the password was refused.",
                          "check vCenter, user name and password" if source.startswith("vcenter:") else None)
        end = datetime.now(UTC) + timedelta(seconds=self.world.session_s)
        return self.issue({"id": str(uuid4()), "name": asked["username"], "source": source, "role": role, "end": end})

    def session(self) -> dict[str, Any]:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        known = self.world.sessions.get(token)
        if known is None:
            raise Refusal(401, "unauthenticated", "The token does not verify.", "Sign in.")
        if known[0]["id"] in self.world.ended:
            raise Refusal(401, "session_ended", "The session has ended.", "Sign in again.")
        if known[1] < time.time():
            raise Refusal(401, "token_expired", "The token has expired.", "Sign in again.")
        if self.must_change(known[0]) and urlsplit(self.path).path not in PASSWORD_DUE:
            raise Refusal(403, "password_change_required", "your password was set by somebody else and must be changed first")
        return known[0]

    def must_change(self, session: dict[str, Any]) -> bool:
        return session["source"] == "local" and session["name"] in self.world.must_change

    def refresh(self) -> Reply:
        if "Authorization" in self.headers:
            return self.issue(self.session())
        session, replaced = self.world.cookies.get(self.cookie()), self.headers["KaaS-Replaces"]
        if session and any(before["name"] != session["name"] for before, _ in self.world.sessions.values() if before["id"] == replaced):
            return 204, {"X-Content-Type-Options": "nosniff"}, b""
        self.world.cookies.pop(self.cookie(), None)
        if session is None or session["id"] in self.world.ended:
            return 204, {"Set-Cookie": NO_COOKIE, "X-Content-Type-Options": "nosniff"}, b""
        self.world.ended |= {replaced} - {None}
        twin = {**session, "id": str(uuid4())}
        status, headers, body = self.issue(twin)
        return status, {**headers, "Set-Cookie": self.new_cookie(twin)}, body

    def cookie(self) -> str:
        return SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE, Morsel()).value or ""

    def new_cookie(self, session: dict[str, Any]) -> str:
        value = secrets.token_hex(16)
        self.world.cookies[value] = session
        return f"{COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Strict"

    def session_cookie(self) -> Reply:
        return 204, {"Set-Cookie": self.new_cookie(self.session())}, b""

    def logout(self) -> Reply:
        if "Authorization" not in self.headers:
            session = self.world.cookies.pop(self.cookie(), None)
            self.world.ended |= {session["id"]} if session else set()
            return 204, {"Set-Cookie": NO_COOKIE}, b""
        self.world.ended.add(self.session()["id"])
        known = self.world.cookies.pop(self.cookie(), None)
        return 204, {"Set-Cookie": NO_COOKIE} if known else {}, b""

    def change_password(self) -> Reply:
        session, asked = self.session(), json.loads(self.body)
        if session["source"] != "local":
            raise Refusal(409, "conflict", "you did not sign in with a password that is kept here")
        password, role = self.world.users["local", session["name"]]
        if asked["old_password"] != password:
            raise Refusal(401, "invalid_credentials", "The user name or the password was refused.")
        if len(set(asked["new_password"])) < 5:
            raise Refusal(422, "unprocessable", "the password repeats a few characters only")
        self.world.users["local", session["name"]] = (asked["new_password"], role)
        self.world.must_change.discard(session["name"])
        self.world.ended |= {other["id"] for other, _ in self.world.sessions.values() if other["name"] == session["name"]} - {session["id"]}
        return 204, {}, b""

    def whoami(self) -> Reply:
        session = self.session()
        now, source = datetime.now(UTC), session["source"]
        local, vcenter = source == "local", source.startswith("vcenter:")
        method = "password" if local else "vcenter_password" if vcenter else "kerberos" if source == "kerberos" else "directory_password"
        names = self.world.groups.get(session["name"], [])
        groups = [{"id": f"sid:S-1-5-21-1-2-3-{n}", "name": name} for n, name in enumerate(names, 1000)]
        home = {"id": VCENTER, "name": "East", "user_name": f"VSPHERE.LOCAL\\{session['name']}", "method": "vcenter_password",
                "is_first": True, "added_at": iso(now), "rights": "fresh", "rights_as_of": iso(now)}
        return self.json({"id": f"local:{uuid5(NAMESPACE_URL, source + session['name'])}", "name": session["name"],
                          "source": "local" if local else "vcenter" if vcenter else "directory", "vcenter_id": VCENTER if vcenter else None,
                          "directory": source if method == "directory_password" else None, "groups": groups,
                          "vcenters": [home] if vcenter else [], "role": session["role"], "method": method,
                          "must_change_password": self.must_change(session), "signed_in_at": iso(now), "token_expires_at": iso(now),
                          "session_expires_at": iso(session["end"]), "acting_service": None, "rules": [], "rules_omitted": 0,
                          "unmatched_rules": []})

    def list_clusters(self) -> Reply:
        session = self.session()
        asked = {name: values[0] for name, values in self.query.items()}
        rows = self.rows(asked)
        if "watch" not in asked:
            return self.page(rows, asked, total=len(rows))
        return self.watch(session, rows, asked)

    def count_clusters(self) -> Reply:
        self.session()
        asked = {name: values[0] for name, values in self.query.items()}
        return self.json(self.counts(asked), **self.freshness())

    def counts(self, asked: dict[str, str]) -> dict[str, Any]:
        asked = self.by_hx_id(asked)
        found = [c for c in self.world.clusters if matches(c, asked)]
        counted = Counter(c["state"] for c in found)
        declared = sum((c["state"], c["state_source"]) == ("ready", "declared") for c in found)
        return {"total": counted.total(), "states": {state: counted[state] for state in STATES}, "ready_declared": declared}

    def show_hx(self, ident: str) -> Reply:
        self.session()
        found = next((hx for hx in self.world.hx_clusters if hx["id"] == ident), None)
        if found is None:
            raise Refusal(404, "not_found", "there is no such HX cluster")
        return self.json(self.whole(found), ETag='"1"', **self.freshness())

    def whole(self, hx: dict[str, Any]) -> dict[str, Any]:
        return hx | {"panel_origins": [], "clusters": self.counts({"hx_cluster_id": hx["id"]}), "facts": HX_FACTS.get(hx["id"])}

    def watch(self, session: dict[str, Any], rows: list[dict[str, Any]], asked: dict[str, str]) -> Reply:
        """Waits for another list than the caller holds; looks now and then, as the tests change the world as they like."""
        end = time.monotonic() + int(asked.get("wait", 30))
        while True:
            begin = time.monotonic()
            anyhow = sorted(rows, key=lambda c: c["id"])
            cursor = hashlib.sha256(json.dumps([anyhow, self.world.stale]).encode()).hexdigest()[:16]
            if cursor != asked["watch"]:
                status, headers, body = self.page(rows, asked, total=len(rows))
                return status, {**headers, "KaaS-Watch-Cursor": cursor}, body
            if time.monotonic() >= end:
                return 204, {"KaaS-As-Of": iso(datetime.now(UTC)), "KaaS-Watch-Cursor": cursor}, b""
            if self.server.ended.wait(max(0.05, 5 * (time.monotonic() - begin))):  # however many clusters there are
                raise Refusal(503, "unavailable", "stopped")
            if session["id"] in self.world.ended:
                raise Refusal(401, "session_ended", "The session has ended.", "Sign in again.")
            rows = self.rows(asked)

    def rows(self, asked: dict[str, str]) -> list[dict[str, Any]]:
        """What fits, in order."""
        key = asked.get("sort", "name")
        asked = self.by_hx_id(asked)
        fitting = [c for c in self.world.clusters if matches(c, asked)]
        by_name = sorted(fitting, key=lambda c: c["name"])
        return sorted(by_name, key=lambda c: place_of(c, key.lstrip("-")), reverse=key.startswith("-"))

    def by_hx_id(self, asked: dict[str, str]) -> dict[str, str]:
        """The same question, where an HX cluster is named there; as the contract says in GET /v2/clusters."""
        name = asked.get("hx_cluster")
        if name is None:
            return asked
        known = self.world.hx_clusters
        found = [hx for hx in known if name in (hx["name"], hx["hx_uuid"], hx["management_address"])]
        if len(found) > 1:
            items = [{k: hx[k] for k in ("id", "name", "name_source", "hx_uuid", "vcenter_id")}
                     | {"path": "{datacenter}/{name}".format(**hx["vsphere_cluster"]), "moref": hx["vsphere_cluster"]["moref"]}
                     for hx in found]
            raise Refusal(409, "ambiguous", f'"{name}" fits {len(found)} HX clusters', "ask by hx_cluster_id", candidates=items)
        if not found:
            is_read = all(hx["name_source"] == "hx" for hx in known)
            raise Refusal(404, "not_found" if is_read else "hx_name_unknown", f'no HX cluster that you may see is known as "{name}"',
                          "connect kaasd to the HX cluster (kaasctl hx connect)")
        return asked | {"hx_cluster_id": found[0]["id"]}

    def show_cluster(self, ident: str, part: str = "") -> Reply:
        role = self.session()["role"]
        cluster = next((c for c in self.world.clusters if c["id"] == ident), None)
        if cluster is None:
            raise Refusal(404, "not_found", "there is no such cluster")
        if part == "nodes":
            return self.page(self.world.nodes, {}, hidden=1)
        if part == "health":
            said = {member: cluster[member] for member in ("state", "state_reason", "state_source", "state_since")}
            return self.json({"cluster": {"id": ident, "name": cluster["name"]}, **said, **self.world.health}, **self.freshness())
        if part == "usage":
            return self.json({"items": USAGE, "silent_vcenters": [VCENTER]})
        if part == "explain":
            return self.json({"cluster_id": ident, "cluster_name": cluster["name"], "principal_id": "local:1", "role": role,
                              "basis": "session", "note": None, "visible": True, "hidden": 0, "rules": RULES})
        if part == "grants":
            return self.page(GRANTS if role == "admin" else [], {})
        etag = '"' + hashlib.sha256(json.dumps(cluster).encode()).hexdigest()[:16] + '"'
        headers = {"ETag": etag, **self.freshness()}
        return (304, headers, b"") if self.headers.get("If-None-Match") == etag else self.json(cluster, **headers)

    def connect(self) -> Reply:
        """What is wrong with a kubeconfig is told by words in it."""
        if self.session()["role"] != "admin":
            raise Refusal(403, "forbidden", "this needs the role admin")
        asked = json.loads(self.body)
        self.world.connected.append(asked)
        given, name = asked["kubeconfig"], asked.get("name", "prod")
        if "exec" in given:
            self.refuse_step(422, "unprocessable", "text", "kubeconfig:9:5: it runs a program (exec)", "give a token in its place")
        if "contexts" in given and "context" not in asked:
            why = 'kubeconfig: there are several contexts and none is the current one: "a", "b, c"'
            self.refuse_step(422, "unprocessable", "text", why, "choose one of them", contexts=["a", "b, c"])
        if "without-ca" in given and asked.get("thumbprint_sha256") != SHA256:
            why = f"no CA is given; the server's certificate has the SHA-256 {SHA256}: CN=kube-apiserver, issued by CN=kubernetes"
            shown = {"subject": "CN=kube-apiserver", "issuer": "CN=kubernetes", "sha256": SHA256, "not_before": ago(days=1),
                     "not_after": ago(days=-364), "san": []}
            remedy = f"give the cluster's CA, or confirm it: --sha256 {SHA256}"
            self.refuse_step(502, "tls_untrusted", "tls", why, remedy, certificate=shown)
        if any(known["name"] == name for known in self.world.clusters):
            raise Refusal(409, "conflict", f'there is a cluster "{name}" already', "choose another name")
        if asked["dry_run"]:
            return self.json({"cluster_id": None, "connection": None, "steps": connect_steps(dry_run=True)})
        made = cluster(name, "ready", [], state_source="asked")
        self.world.clusters = [*self.world.clusters, made]
        return self.made(made)

    def refuse_step(self, status: int, code: str, step: str, why: str, remedy: str, **more: Any) -> None:
        raise Refusal(status, code, why, remedy, steps=connect_steps(step, why, remedy), **more)

    def made(self, cluster: dict[str, Any]) -> Reply:
        status = {"state": "unknown", "since": None, "checked_at": None, "reason": None, "detail": None, "remedy": None,
                  "token_until": None, "version": "v1.36.3", "missing_rights": None}
        connection = {"cluster": {"id": cluster["id"], "name": cluster["name"]}, "address": "https://prod.example.com:6443",
                      "tls_server_name": None, "ca_pem": "-----BEGIN CERTIFICATE-----", "thumbprint_sha256": None,
                      "cluster_uid": str(uuid4()), "created_at": ago(seconds=1), "updated_at": ago(seconds=1), "status": status}
        body = {"cluster_id": cluster["id"], "connection": connection, "steps": connect_steps()}
        return 201, *self.json(body, ETag='"1"', Location=f"/v2/clusters/{cluster['id']}")[1:]

    def list_nodes_on(self) -> Reply:
        self.session()
        return self.page(self.world.nodes_on.get(self.query.get("vm", self.query.get("host", [""]))[0], []), {}, hidden=0)

    def show_impact(self) -> Reply:
        """As if control planes were as large as what is on the host of them."""
        self.session()
        place = self.query["host"][0]
        on_host = self.world.nodes_on.get(place, [])
        if not on_host:
            raise Refusal(404, "not_found", f"no node of a Kubernetes cluster that you may see is on a host {place}")
        rows = []
        for known in {node["cluster"]["id"]: node["cluster"] for node in on_host}.values():
            nodes = [{k: v for k, v in node.items() if k != "cluster"} for node in on_host if node["cluster"] == known]
            size = sum(node["role"] == "control_plane" for node in nodes)
            rows.append({"cluster": known, "state": "ready", "verdict": "loses_quorum" if size else "workers_only",
                         "control_plane": {"size": size, "running": size, "left": 0, "on_host": size},
                         "workers_on_host": len(nodes) - size, "nodes": nodes})
        host = {"vcenter_id": self.query["vcenter"][0], "vcenter_name": None, "moref": place, "name": None, "connection": "connected",
                "vsphere_cluster": None}
        return self.json({"host": host, "clusters": rows, "hidden": 0})

    def list_jobs(self) -> Reply:
        self.session()
        asked = {name: values[0] for name, values in self.query.items()}
        found = [job for job in self.world.jobs if all(job[name] == asked.get(name, job[name]) for name in ("object_id", "kind", "state"))]
        return self.page([{name: value for name, value in job.items() if name != "steps"} for job in found], asked)

    def of_job(self, ident: str, part: str = "") -> Reply:
        session = self.session()
        job = next((job for job in self.world.jobs if job["id"] == ident), None)
        if job is None:
            raise Refusal(404, "not_found", "there is no such job")
        if part == "lines":
            return self.wait_for_lines(ident)
        if part in ("cancel", "retry"):
            if session["role"] != "admin":
                raise Refusal(403, "forbidden", "this needs the role admin")
            undone = job["state"] == "failed"
            changed = {"cancel_asked": True, "state": "undoing" if undone else job["state"]} if part == "cancel" else {"state": "running"}
            job |= changed | {"reason": None, "remedy": None, "ended_at": None}
        return self.json(job)

    def wait_for_lines(self, ident: str) -> Reply:
        """Waits for a line; looks now and then, as the tests change the world as they like."""
        after, end = int(self.query["after"][0]), time.monotonic() + int(self.query["wait"][0])
        while True:
            job = next(job for job in self.world.jobs if job["id"] == ident)
            lines = [line for line in self.world.job_lines.get(ident, []) if line["seq"] > after]
            if lines or job["ended_at"] or time.monotonic() >= end:
                return self.json({"state": job["state"], "items": lines})
            if self.server.ended.wait(0.05):
                raise Refusal(503, "unavailable", "stopped")

    def list_audit(self) -> Reply:
        if self.session()["role"] != "admin":
            raise Refusal(403, "forbidden", "this needs the role admin")
        return self.page([event for event in EVENTS if event["object_id"] == self.query["object_id"][0]], {})

    def list_hx_connections(self) -> Reply:
        if self.session()["role"] != "admin":
            raise Refusal(403, "forbidden", "this needs the role admin")
        return self.page(self.world.hx_connections, {})

    def list_hx(self) -> Reply:
        self.session()
        known = sorted(self.world.hx_clusters, key=lambda hx: (hx["name"], hx["id"]))
        is_whole = self.query.get("whole") == ["true"]
        return self.page([self.whole(hx) if is_whole else hx for hx in known], {n: v[0] for n, v in self.query.items()})

    def show_updates(self) -> Reply:
        if self.session()["role"] != "admin":
            raise Refusal(403, "forbidden", "this needs the role admin")
        return self.json(self.world.updates)

    def list_vcenters(self) -> Reply:
        if self.session()["role"] != "admin":
            raise Refusal(403, "forbidden", "this needs the role admin")
        trust = {"mode": "ca", "thumbprint_sha256": None, "ca_subjects": ["CN=CA"]}
        return self.page([{"id": VCENTER, "name": "East", "address": "vc.example.com", "port": 443, "tunnel_port": 80, "direct_port": 0,
                           "trust": trust, "state": self.world.vcenter_state, "state_reason": None, "version": None, "build": None,
                           "api_version": None, "registered": True, "login_strategy": None, "last_contact_at": None,
                           "created_at": iso(datetime.now(UTC))}], {})

    def freshness(self) -> dict[str, str]:
        as_of = datetime.now(UTC) - self.world.stale_for if self.world.stale else datetime.now(UTC)
        return {"KaaS-As-Of": iso(as_of), **({"KaaS-Stale": self.world.stale} if self.world.stale else {})}

    def page(self, rows: list[dict[str, Any]], asked: dict[str, str], **more: Any) -> Reply:
        limit = int(asked.get("limit", 100))
        if "cursor" in asked and not asked["cursor"].isdigit():
            raise Refusal(400, "invalid_request", "The cursor does not belong to this query.")
        start = int(asked.get("cursor", asked.get("offset", 0)))
        body = {"items": rows[start:start + limit], **more, "next_cursor": str(start + limit) if start + limit < len(rows) else None}
        etag = 'W/"' + hashlib.sha256(json.dumps(body).encode()).hexdigest()[:16] + '"'
        headers = {"ETag": etag, **self.freshness()}
        if self.headers.get("If-None-Match") == etag:
            return 304, headers, b""
        return self.json(body, **headers)


def place_of(cluster: dict[str, Any], key: str) -> Any:
    """What a cluster is ordered by."""
    if key == "state":
        return STATES.index(cluster["state"])
    if key in ("control_plane", "workers"):
        return cluster[key]["desired"], -1 if cluster[key]["ready"] is None else cluster[key]["ready"]
    return next((hx["name"] for hx in cluster["placement"]["hx_clusters"]), "") if key == "hx_cluster" else cluster[key]


def matches(cluster: dict[str, Any], asked: dict[str, str]) -> bool:
    if "on_hx" in asked and (asked["on_hx"] == "true") != bool(cluster["placement"]["hx_clusters"]):
        return False
    if "hx_cluster_id" in asked and asked["hx_cluster_id"] not in {hx["id"] for hx in cluster["placement"]["hx_clusters"]}:
        return False
    labels = [f"{key}={value}" for key, value in cluster["labels"].items()]
    text = "\n".join([cluster["name"], cluster["description"] or "", cluster["kubernetes_version"], cluster["state"], *labels]).lower()
    if not all(word in text for word in asked.get("q", "").lower().split()):
        return False
    if "label" in asked and not set(asked["label"].split(",")) <= {*labels, *cluster["labels"]}:
        return False
    if "state" in asked and cluster["state"] not in asked["state"].split(","):
        return False
    return "vsphere_cluster" not in asked or asked["vsphere_cluster"] in {p["moref"] for p in cluster["placement"]["vsphere_clusters"]}


class MockKaasd:
    """The server in a thread of its own, on a free port of the loopback."""

    def __init__(self, port: int = 0) -> None:
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.contract = contract()
        self.server.ended = threading.Event()
        self.server.world = self.world = World()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> MockKaasd:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.server.ended.set()
        self.server.shutdown()
        self.server.server_close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Stand-in for kaasd, for work on the page.")
    parser.add_argument("--port", type=int, default=8480)
    with MockKaasd(parser.parse_args().port) as mock:
        print(f"{mock.url}/ui/  (admin / secret)", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
