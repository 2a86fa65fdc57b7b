"""The programs we are compared with, each started with a folder of its own and stopped by its process id."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import getpass
import sqlite3
import subprocess
from collections.abc import Mapping
from pathlib import Path

import requests
from env.certs import ServerCert
from env.places import Scratch, WorldError, build, free_port
from env.process import Process

from .load import Target

LIST = "/v2/clusters"
OWN_HEADERS = ("Date", "Connection", "Content-Length", "Content-Type")  # what every server writes by itself


class Bare:
    """list_server: libmicrohttpd with the product's settings and one response object for all."""

    def __init__(self, mode: str, body: Path, headers: Path, *, cert: ServerCert | None = None, unix: Path | None = None) -> None:
        program = build() / "bench/list_server"
        if not program.is_file():
            raise WorldError(f"{program} is not built: run scripts/bench, or make bench-programs")
        words = [program, "-m", mode, "-f", body, "-H", headers]
        words += ["-t", "-c", cert.cert_file, "-k", cert.key_file] if cert else []
        words += ["-u", unix] if unix else []
        self._server = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout
        self._port = int(self._server.stdout.readline())
        self._cert, self._unix = cert, unix

    def target(self, path: str, headers: Mapping[str, str]) -> Target:
        base = f"https://127.0.0.1:{self._port}" if self._cert else "http://localhost" if self._unix else f"http://127.0.0.1:{self._port}"
        return Target(base + path, lambda: [self._server.pid], headers, self._unix)

    def stop(self) -> None:
        self._server.communicate("")


NGINX = """
daemon off; user {user}; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 2; worker_rlimit_nofile 4096;
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; etag off; if_modified_since off; server_tokens off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    open_file_cache max=16; default_type application/json;
    upstream kaasd {{ server unix:{socket}; keepalive 128; keepalive_requests 1000000000; }}
    server {{
        listen 127.0.0.1:{port} ssl; root {folder}/www;
        ssl_certificate {cert}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;
{headers}
        location /v2/ {{ }}
        location /checked/ {{ alias {folder}/www/v2/; auth_request /check; }}
        location = /check {{
            internal; proxy_pass http://kaasd/v2/whoami; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_method HEAD; proxy_pass_request_body off; proxy_set_header Content-Length "";
        }}
    }}
}}
"""


class Nginx:
    """The same bytes as a static file over TLS, as they are and behind auth_request to kaasd's unix socket."""

    def __init__(self, scratch: Scratch, body: bytes, headers: Mapping[str, str], cert: ServerCert, kaasd_socket: Path) -> None:
        folder = scratch.path / "nginx"
        (folder / "www/v2").mkdir(parents=True)
        (folder / "www/v2/clusters").write_bytes(body)
        port = free_port()
        lines = "".join(f"        add_header {name} '{value}' always;\n" for name, value in headers.items() if name not in OWN_HEADERS)
        text = NGINX.format(user=getpass.getuser(), folder=folder, socket=kaasd_socket, port=port, cert=cert.cert_file, key=cert.key_file,
                            headers=lines)
        (folder / "nginx.conf").write_text(text)
        self._url = f"https://127.0.0.1:{port}"
        self._ca = str(cert.ca_file)
        self._process = Process("nginx", ["nginx", "-c", folder / "nginx.conf", "-p", folder], scratch.log)
        self._process.wait_until(self._answers, "an answer")

    def _answers(self) -> bool:
        try:
            return requests.get(self._url + LIST, verify=self._ca, timeout=5).status_code == 200
        except requests.RequestException:
            return False

    def _pids(self) -> list[int]:
        return [self._process.pid]

    def static(self, query: str, headers: Mapping[str, str]) -> Target:
        return Target(self._url + LIST + query, self._pids, headers)

    def checked(self, query: str, headers: Mapping[str, str], kaasd_pid: int) -> Target:
        return Target(f"{self._url}/checked/clusters{query}", lambda: [*self._pids(), kaasd_pid], headers)

    def stop(self) -> None:
        self._process.stop()


GLEWLWYD = """
port = {port}
bind_address = "127.0.0.1"
external_url = "http://127.0.0.1:{port}/"
api_prefix = "api"
cookie_secure = 0
log_mode = "file"
log_level = "ERROR"
log_file = "{folder}/glewlwyd.log"
database = {{ type = "sqlite3" path = "{folder}/glewlwyd.db" }}
user_module_path = "/usr/lib/glewlwyd/user"
user_middleware_module_path = "/usr/lib/glewlwyd/user_middleware"
client_module_path = "/usr/lib/glewlwyd/client"
user_auth_scheme_module_path = "/usr/lib/glewlwyd/scheme"
plugin_module_path = "/usr/lib/glewlwyd/plugin"
session_key = "GLEWLWYD2_SESSION_ID"
"""
GLEWLWYD_TABLES = Path("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3")


class Glewlwyd:
    """A sign-on server in C on the same HTTP library: its list of sessions, for one who is signed in."""

    def __init__(self, scratch: Scratch) -> None:
        folder = scratch.path / "glewlwyd"
        folder.mkdir()
        (folder / "user_middleware").mkdir()
        port = free_port()
        text = GLEWLWYD.format(port=port, folder=folder).replace("/usr/lib/glewlwyd/user_middleware", str(folder / "user_middleware"))
        (folder / "glewlwyd.conf").write_text(text)
        with sqlite3.connect(folder / "glewlwyd.db") as database:
            database.executescript(GLEWLWYD_TABLES.read_text())
        self._url = f"http://127.0.0.1:{port}/api"
        self._process = Process("glewlwyd", ["glewlwyd", "--config-file", folder / "glewlwyd.conf"], scratch.log)
        self._cookie = ""
        self._process.wait_until(self._sign_in, "the sign-on")

    def _sign_in(self) -> bool:
        try:
            answer = requests.post(self._url + "/auth/", json={"username": "admin", "password": "password"}, timeout=5)
        except requests.RequestException:
            return False
        self._cookie = "; ".join(f"{name}={value}" for name, value in answer.cookies.items())
        return bool(self._cookie) and answer.status_code == 200

    def target(self) -> Target:
        return Target(self._url + "/profile_list", lambda: [self._process.pid], {"Cookie": self._cookie})

    def stop(self) -> None:
        self._process.stop()
