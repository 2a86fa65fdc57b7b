"""An API server with its etcd, and on request a controller manager: paused, killed, restarted, moved, shared at will."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import requests
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from ..api import client
from ..client_certs import ClientCa, ClientCert
from ..places import TOP, Scratch, WorldError, free_port
from ..process import Process, run
from .client import KubeClient
from .etcd import Etcd
from .programs import kube_program, pinned, tested_module

ADMIN = "admin"
ADMINS = "system:masters"  # may do everything, whatever roles there are
CONTROLLERS = "system:kube-controller-manager"
# Those of forty whose work shows where nothing runs. They are at work half a second after their start; all forty take five.
NODE_LIFECYCLE = "node-lifecycle-controller"
CONTROLLERS_OF_USE = ("clusterrole-aggregation-controller", "garbage-collector-controller", "namespace-controller", NODE_LIFECYCLE,
                      "root-ca-certificate-publisher-controller", "serviceaccount-controller")
# All of 127.0.0.0/8 is this machine; the certificate is for the first of them, so that a server can move.
ADDRESSES = tuple(f"127.0.0.{last}" for last in range(1, 10))
SERVICES = "10.96.0.0/16"
ANSWER_LIMIT_S = 30  # readyz without quorum takes 4 s


def _text(path: Path) -> str:
    """A file as a kubeconfig holds it."""
    return base64.b64encode(path.read_bytes()).decode()


def kubeconfig_of(name: str, url: str, ca_file: Path, who: str, user: dict[str, Any]) -> str:
    """One context, everything inside."""
    return yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": url, "certificate-authority-data": _text(ca_file)}}],
        "users": [{"name": who, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": who}}]}, sort_keys=False)


class Kube:
    """A cluster without machines, running when made; a context manager. `people` are names and groups of further people; each, and the
    admin, has a token and a certificate. With `etcd` it is a further cluster in somebody else's etcd, and wants a prefix of its own.
    `twin`: another cluster whose CA, keys and tokens it has as well, as one that was made anew from the same files."""

    def __init__(self, scratch: Scratch, name: str = "kube", *, module: str = "", etcd: Etcd | None = None,
                 prefix: str = "/registry", members: int = 1, has_controllers: bool = False,
                 people: Mapping[str, Sequence[str]] | None = None, options: Sequence[str] = (),
                 controllers: Sequence[str] = CONTROLLERS_OF_USE, controller_options: Sequence[str] = (),
                 twin: Kube | None = None) -> None:
        self.name = name
        self.module = module or tested_module()
        self.folder = scratch.path / name
        self.host, self.port = ADDRESSES[0], free_port()
        self.options, self.controller_options = options, [f"--controllers={','.join(controllers)}", *controller_options]
        self.prefix = prefix
        self.people = twin.people if twin else {ADMIN: (ADMINS,), **(people or {})}
        self.tokens = twin.tokens if twin else {who: f"{who}-{secrets.token_hex(16)}" for who in self.people}
        self._log = scratch.log
        self._process: Process | None = None
        self._controllers: Process | None = None
        self._owns_etcd = etcd is None
        self.etcd = etcd or Etcd(scratch, f"{name}-etcd", members=members)
        try:
            self._make_files(twin)
            self._anybody = client(self.ca_file)
            self.api = self.as_token(self.tokens[ADMIN])
            self.start()
            if has_controllers:
                self.start_controllers()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Kube:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # what it is made of

    def _make_files(self, twin: Kube | None) -> None:
        self.ca = twin.ca if twin else ClientCa(self.folder / "tls", f"World Kubernetes CA {self.name}")
        self.ca_file = self.ca.ca_file
        front_ca = ClientCa(self.folder / "front", "World front proxy CA")
        self._server_cert = self.ca.issue("kube-apiserver", hosts=(*ADDRESSES, "localhost", "kubernetes.default.svc", "10.96.0.1"))
        self._front_cert, self._front_ca_file = front_ca.issue("front-proxy-client"), front_ca.ca_file
        self._etcd_cert = self.etcd.ca.issue(f"{self.name}-apiserver")
        keys = twin.folder if twin else self.folder
        self.account_key, self._accounts_public = keys / "accounts.key", keys / "accounts.pub"
        if not twin:
            self._make_account_key()
        self._token_file = self.folder / "tokens.csv"
        self._token_file.touch(mode=0o600)
        rows = [f'{token},{who},uid-{who},"{",".join(self.people[who])}"\n' for who, token in self.tokens.items()]
        self._token_file.write_text("".join(rows))

    def _make_account_key(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.account_key.touch(mode=0o600)
        self.account_key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
                                                       serialization.NoEncryption()))
        self._accounts_public.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM,
                                                                        serialization.PublicFormat.SubjectPublicKeyInfo))

    def _command(self) -> list[str]:
        return [str(kube_program("kube-apiserver", self.module)),
                f"--bind-address={self.host}", f"--secure-port={self.port}",
                "--advertise-address=192.0.2.1",  # a loopback one is refused, and nobody looks for it there (RFC 5737)
                f"--etcd-servers={self.etcd.urls}", f"--etcd-prefix={self.prefix}", f"--etcd-cafile={self.etcd.ca.ca_file}",
                f"--etcd-certfile={self._etcd_cert.cert_file}", f"--etcd-keyfile={self._etcd_cert.key_file}",
                f"--tls-cert-file={self._server_cert.cert_file}", f"--tls-private-key-file={self._server_cert.key_file}",
                f"--client-ca-file={self.ca_file}", f"--token-auth-file={self._token_file}", "--authorization-mode=Node,RBAC",
                f"--requestheader-client-ca-file={self._front_ca_file}", "--requestheader-allowed-names=front-proxy-client",
                "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                f"--proxy-client-cert-file={self._front_cert.cert_file}", f"--proxy-client-key-file={self._front_cert.key_file}",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--service-account-key-file={self._accounts_public}", f"--service-account-signing-key-file={self.account_key}",
                f"--service-cluster-ip-range={SERVICES}",
                "--disable-admission-plugins=TaintNodesByCondition",  # nodes have the taints that the test gives them
                *self.options]

    # running and not running

    @property
    def process(self) -> Process:
        if not self._process:
            raise WorldError(f"{self.name}: the API server does not run")
        return self._process

    def spawn(self) -> None:
        """Begins to run at its address; `wait_ready` waits."""
        self._process = Process(f"{self.name}-apiserver", self._command(), self._log)

    def start(self) -> None:
        """Runs, again after `kill` with the same data; returns when it is ready."""
        self.spawn()
        self.wait_ready()

    def wait_ready(self) -> None:
        self.process.wait_until(lambda: self.readyz()[0] == 200, "readiness", why_not=lambda: str(self.readyz()))

    def readyz(self) -> tuple[int, str]:
        """Status and text of /readyz?verbose, as anybody may ask; 0 where nobody answers."""
        try:
            answer = self._anybody.get(f"{self.url}/readyz?verbose", timeout=ANSWER_LIMIT_S)
        except requests.RequestException as error:
            return 0, str(error)
        return answer.status_code, answer.text

    def kill(self) -> None:
        """As power loss would. There is no milder way: without etcd an API server does not end at TERM."""
        self.process.kill()
        self._process = None

    def move(self, host: str | None = None, port: int | None = None) -> None:
        """Kills it and starts it at another address (of ADDRESSES) or, without any, at another port."""
        self.kill()
        self.host = host or self.host
        self.port = port or free_port()
        self.start()

    def freeze(self) -> None:
        """It takes connections and never answers."""
        self.process.freeze()

    def thaw(self) -> None:
        self.process.thaw()

    def start_controllers(self) -> None:
        """The controller manager: fills the roles view, edit and admin, makes default service accounts, calls silent nodes unknown."""
        config = self.folder / "controllers.yaml"
        config.write_text(self.kubeconfig(CONTROLLERS, kind="certificate"))
        self._controllers = Process(f"{self.name}-controllers", [
            kube_program("kube-controller-manager", "current"), f"--kubeconfig={config}", f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}", "--bind-address=127.0.0.1", f"--secure-port={free_port()}",
            f"--service-account-private-key-file={self.account_key}", f"--root-ca-file={self.ca_file}",
            "--use-service-account-credentials", "--leader-elect=false", *self.controller_options], self._log)
        self._controllers.wait_until(self._roles_are_filled, "the rules of the role view")

    def _roles_are_filled(self) -> bool:
        return bool(self.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/view").get("rules"))

    def kill_controllers(self) -> None:
        if self._controllers:
            self._controllers.kill()
            self._controllers = None

    def close(self) -> None:
        """Ends it, and etcd if it is its own."""
        self.kill_controllers()
        if self._process:
            self.kill()
        if self._owns_etcd:
            self.etcd.close()

    # speaking with it

    @property
    def version(self) -> str:
        """1.36.3"""
        return pinned(self.module).removeprefix("v")

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    def as_token(self, token: str | None) -> KubeClient:
        """With somebody's token, or as nobody."""
        return KubeClient(lambda: self.url, self.ca_file, token)

    def as_person(self, who: str) -> KubeClient:
        return self.as_token(self.tokens[who])

    def as_cert(self, cert: ClientCert) -> KubeClient:
        return KubeClient(lambda: self.url, self.ca_file, cert=cert.pair)

    def certificate(self, who: str = ADMIN, *, days: tuple[float, float] = (-1, 90)) -> ClientCert:
        """A new one for somebody, with the groups that are known of the person."""
        return self.ca.issue(who, groups=self.people.get(who, ()), days=days)

    def kubeconfig(self, who: str = ADMIN, *, kind: str = "token", cert: ClientCert | None = None) -> str:
        """As people get one, everything inside; `kind` is token or certificate."""
        user: dict[str, Any] = {"token": self.tokens[who]} if kind == "token" else {}
        if kind == "certificate":
            cert = cert or self.certificate(who)
            user = {"client-certificate-data": _text(cert.cert_file), "client-key-data": _text(cert.key_file)}
        return kubeconfig_of(self.name, self.url, self.ca_file, who, user)

    def kubectl(self, *arguments: str, who: str = ADMIN, kind: str = "token", stdin: str = "") -> str:
        """The real one, which must succeed; for reading with eyes that are not ours."""
        config = self.folder / f"kubectl-{who}.yaml"
        config.touch(mode=0o600)
        config.write_text(self.kubeconfig(who, kind=kind))
        told = run([TOP / "scripts/kube", "kubectl", f"--kubeconfig={config}", f"--cache-dir={self.folder / 'kubectl'}", *arguments],
                   stdin=stdin)
        if told.returncode:
            raise WorldError(f"kubectl {' '.join(arguments)}: {told.stderr.strip()}")
        return told.stdout
