"""What stands in for the API server of a cluster whose guests only report: it says what kaasd asks for while it makes a cluster.

Objects are kept as they are applied; whoever has a certificate of the cluster's CA, or a token that was given here, may do everything."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import ipaddress
import json
import socket
import ssl
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from env.kube.nodes import NodeShape, document

PORT = 6443
ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
NODES = "/api/v1/nodes"
DAY = datetime.timedelta(days=1)
BOOKMARK_S = 30
GROUPS = {"/api/v1": {"ConfigMap": "configmaps"}}
# What API servers say while etcd has no leader: rights that cannot be read are none (seen with 1.36.3); the others are assumed, by the
# texts of etcd and Kubernetes.
SAYS_LEADERLESS = ((500, "InternalError", "etcdserver: request timed out"), (503, "ServiceUnavailable", "etcdserver: no leader"),
         (403, "Forbidden", "clusterrolebinding.rbac.authorization.k8s.io not found"), (504, "Timeout", "request did not complete"))


def _certificate(folder: Path, ca_pem: str, ca_key_pem: str, address: str) -> Path:
    """Certificate and key of the server, in one file."""
    ca = x509.load_pem_x509_certificate(ca_pem.encode())
    ca_key = serialization.load_pem_private_key(ca_key_pem.encode(), None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    cert = (x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))
            .issuer_name(ca.subject).public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY).not_valid_after(now + 90 * DAY).add_extension(names, critical=False)
            .sign(ca_key, hashes.SHA256()))
    pair = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "apiserver.pem"
    file.touch(mode=0o600)
    file.write_bytes(cert.public_bytes(serialization.Encoding.PEM) + pair)
    return file


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, api: StandInApi, address: str, tls: ssl.SSLContext) -> None:
        self.api, self._tls = api, tls
        super().__init__((address, PORT), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        """The handshake is the business of the thread that serves."""
        connection, peer = super().get_request()
        return self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), peer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may go at any time."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def _serve(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        url = urlsplit(self.path)
        api, is_watch = self.server.api, "watch" in parse_qs(url.query)
        if not self._is_known(api) and url.path not in ("/readyz", "/version"):
            self._say(401, {"kind": "Status", "code": 401, "message": "Unauthorized"})
        elif is_watch and "protobuf" in self.headers.get("Accept", ""):
            self._say(406, {"kind": "Status", "code": 406, "message": "only JSON"})
        elif is_watch:
            self._watch(api)
        elif url.path == "/readyz":
            self._send(200, "text/plain", b"[+]ping ok\n[+]etcd ok\nreadyz check passed\n")
        else:
            self._say(*api.answer(self.command, url.path, body))

    do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815

    def _is_known(self, api: StandInApi) -> bool:
        connection = self.connection
        assert isinstance(connection, ssl.SSLSocket)
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return bool(connection.getpeercert()) or given in api.tokens

    def _say(self, status: int, answer: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(answer).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, api: StandInApi) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in api.events():
            line = json.dumps(event).encode() + b"\n"
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")


class StandInApi:
    """Listens when made, at the cluster's API address, which must be one of this host's."""

    def __init__(self, folder: Path, address: str, ca_pem: str, ca_key_pem: str, version: str) -> None:
        self.address, self.ca_pem = address, ca_pem
        self.uid = str(uuid.uuid4())
        self.tokens: set[str] = set()
        self.objects: dict[str, dict[str, Any]] = {"/api/v1/namespaces/kube-system": {"metadata": {"name": "kube-system", "uid": self.uid}}}
        self._version, self._seq = version, 1
        self._nodes: dict[str, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._is_over = False
        self.leaderless: dict[str, int] = {}  # part of a path: how many requests are answered so
        ca_file = folder / "ca.pem"
        ca_file.write_text(ca_pem)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(_certificate(folder, ca_pem, ca_key_pem, address))
        tls.load_verify_locations(ca_file)
        tls.verify_mode = ssl.CERT_OPTIONAL
        self._server = _Server(self, address, tls)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def close(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    # nodes

    def join(self, name: str, *, is_control_plane: bool, instance_uuid: str, address: str) -> None:
        """A node is Ready."""
        node = document(NodeShape(name, provider_id=f"vsphere://{instance_uuid}", system_uuid=instance_uuid, address=address, images=0,
                                  version=self._version, is_control_plane=is_control_plane))
        with self._changed:
            if name in self._nodes:
                return
            self._seq += 1
            node["metadata"].update({"uid": str(uuid.uuid4()), "resourceVersion": str(self._seq)})
            self._nodes[name] = node
            self._changed.notify_all()

    def node_names(self) -> list[str]:
        return sorted(self._nodes)

    def events(self) -> Iterator[dict[str, Any]]:
        """Of a watch, without end: what there is, that this was all, and what comes."""
        told, end = 0, {"k8s.io/initial-events-end": "true"}
        while not self._is_over:
            with self._changed:
                fresh, seq = list(self._nodes.values())[told:], self._seq
            told += len(fresh)
            yield from ({"type": "ADDED", "object": node} for node in fresh)
            yield {"type": "BOOKMARK", "object": {"kind": "Node", "apiVersion": "v1",
                                                  "metadata": {"resourceVersion": str(seq), "annotations": end}}}
            end = {}
            self._await_more(told)

    def _await_more(self, told: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or len(self._nodes) > told, BOOKMARK_S)

    # all else

    def answer(self, method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        if path == "/version":
            return 200, {"gitVersion": self._version}
        with self._changed:
            for part, count in self.leaderless.items():
                if count and part in path:
                    self.leaderless[part] = count - 1
                    code, reason, message = SAYS_LEADERLESS[count % len(SAYS_LEADERLESS)]
                    return code, {"kind": "Status", "code": code, "reason": reason, "message": message}
        if path == ACCESS:
            return 201, {"status": {"allowed": True}}
        if path.endswith("/token") and method == "POST":
            return self._token()
        if path in GROUPS:
            kinds = [{"name": name, "kind": kind, "namespaced": True} for kind, name in GROUPS[path].items()]
            return 200, {"kind": "APIResourceList", "resources": kinds}
        with self._changed:
            if method == "PATCH":
                return self._apply(path, body)
            if method == "DELETE" and path in self.objects:
                return 200, self.objects.pop(path)
            if method == "GET" and path in self.objects:
                return 200, self.objects[path]
        if method == "GET" and path.endswith(("/pods", "/persistentvolumes")):
            return 200, {"kind": "List", "items": []}
        return 404, {"kind": "Status", "code": 404, "message": f"{method} {path}: there is none"}

    def _token(self) -> tuple[int, dict[str, Any]]:
        token = uuid.uuid4().hex
        self.tokens.add(token)
        until = (datetime.datetime.now(datetime.UTC) + DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
        return 201, {"status": {"token": token, "expirationTimestamp": until}}

    def _apply(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        known = self.objects.get(path)
        body["metadata"]["uid"] = known["metadata"]["uid"] if known else str(uuid.uuid4())
        self.objects[path] = body
        return (200 if known else 201), body

    def names(self) -> list[str]:
        """Paths of all that was applied; the id of a bootstrap token is chance."""
        return sorted({path.partition("bootstrap-token-")[0] for path in self.objects})

