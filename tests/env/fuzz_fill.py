"""A joined world for requests made up by machine: people who sign in again when their session is gone, things that are put back before
they are needed again, and their real ids and names, which take the place of made-up ones where the contract allows either."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any

from schemathesis.core import NOT_SET
from schemathesis.core.parameters import ParameterLocation

from .api import Api
from .full import EXTENSION_KEY, World, add_samples, add_vcenter, register
from .fuzz_cases import Fuzzed
from .fuzz_proofs import VIEWER, People, Prover
from .many import uuid_of
from .places import TOP
from .samples import EAST, FAR, PLAIN, WEST
from .sealing import put_secret
from .vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from .wait import until

PEOPLE = ("nobody", "viewer", "admin")
X_KAAS = {"X-KaaS": "1"}
NOWHERE = "ldaps://127.0.0.1:9"  # nobody listens there
NO_CLUSTERS = "127.77.0.0/24"  # nor there
PROVIDER, TEMPLATE = "fuzz", "fuzz-node"
PROD_VM = "50010000-0000-4000-8000-000000000101"  # of tests/vcenter/worlds/default.json
# Nothing there has a name or an id of the first vCenter.
BUILDING = {"folders": [], "extensions": [], "permissions": [{"entity": "group-d1", "principal": "VSPHERE.LOCAL\\Administrators",
                                                              "group": True, "role": "Admin"}],
            "datacenters": [{"name": "Yard", "moref": "datacenter-90", "clusters": [
                {"name": "Rack", "moref": "domain-c90", "hosts": [{"name": "rack-1.example.test", "moref": "host-91"}]}]}]}
REAL = 0.8  # how often a real value takes the place of a made-up one
# Work that asks a vCenter for long, or makes keys: real ones are rarer.
SLOW = {"examineVcenter": 0.1, "rotateVcenterCertificate": 0.1, "registerVcenter": 0.3, "unregisterVcenter": 0.3, "installSolution": 0.2,
        "addVcenter": 0.8, "loginPassword": 0.15, "rescanVcenter": 0.3, "resetPassword": 0.3,
        "changeOwnPassword": 0.5, "getVcenterStatus": 0.5, "removeVcenterLoginAccount": 0.1, "setVcenterLoginAccount": 0.3,
        "testVcenterLoginAccount": 0.3, "makeCluster": 0.2, "deleteMadeCluster": 0.2, "cancelJob": 0.2, "retryJob": 0.2,
        "checkProvider": 0.3}
# What may be taken away or changed for the worse is done to the second vCenter, so that the first one stays as it is.
SPARE_ONLY = {"registerVcenter", "unregisterVcenter", "deleteVcenter", "changeVcenter", "trustVcenter", "setVcenterPassword",
              "getVcenterLoginAccount", "setVcenterLoginAccount", "removeVcenterLoginAccount", "testVcenterLoginAccount"}


class Place:
    """Context manager: a world with a second vCenter and one for clusters that are made, and three people in it."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.people: People
        self.world: World
        self.spare: StrictVcenter
        self.building: StrictVcenter
        self.tokens: dict[str, str | None] = {}
        self.clusters: dict[str, str] = {}
        self.made: dict[str, str] = {}  # the names of clusters that kaasd has made, by id
        self.known: dict[str, list[Any]] = {}
        self.serial = 0
        self.password = ""  # of a second administrator, who changes it

    def __enter__(self) -> Place:
        with ExitStack() as stack:
            self.people = People()
            stack.callback(self.people.close)
            auth = {"token_lifetime": "1h", "kerberos": self.people.options, "sessions_per_principal": 0, "signon_rate": 0}
            options = {"server": {"trusted_proxies": ["127.0.0.1"], "requests_per_address": 0}, "auth": auth,
                       "kubernetes": {"allowed_networks": [NO_CLUSTERS], "bundles": str(TOP / "etc/bundles")}}
            self.world = stack.enter_context(World("z", options=options, env=self.people.mit.env))
            add_vcenter(self.world.kaasd, self.vcenter, "--name", "first")
            register(self.world.kaasd, self.vcenter)
            add_samples(self.world.kaasd)
            self.spare = stack.enter_context(self._another("spare", 7))
            self.building = stack.enter_context(self._another("building", 8, **BUILDING))
            self._allow_building()
            self._learn()
            self.people.join(self.world, self.known["hx_cluster_id"][0])
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    @contextmanager
    def _another(self, name: str, number: int, **world: Any) -> Iterator[StrictVcenter]:
        path = self.world.scratch.path / f"{name}-world.json"
        path.write_text(json.dumps({**json.loads(DEFAULT_WORLD.read_text()), "instance_uuid": uuid_of(number), **world}))
        vcenter = start_strict(self.world.scratch, name, world=path)
        try:
            yield vcenter
        finally:
            vcenter.stop()

    def _allow_building(self) -> None:
        """Clusters are made at a vCenter of their own, as far as that goes without machines: no clone ever comes to its end. So whatever is
        made fails behind its record, keys, folder and addresses, as often as it is tried, and may be canceled and deleted."""
        built, account = self.building, {"username": self.building.admin.login, "password": self.building.admin.password}
        built.control.create_template("domain-c90", TEMPLATE, extra_config={"guestinfo.kaas.node": '{"contract":1,"kubernetes":"v1.36.3"}'})
        built.control.plan_tasks("CloneVM_Task", fail_at=1, fault="FileFault", text="nothing is cloned here")
        add_vcenter(self.world.kaasd, built, "--name", "building")
        register(self.world.kaasd, built)
        self.api().expect(200, "PUT", f"/v2/vcenters/{built.instance_uuid}/login-account", json=account, headers=X_KAAS)
        self.api().expect(201, "PUT", f"/v2/providers/{PROVIDER}", json=self.provider_body(PROVIDER))

    @property
    def vcenter(self) -> StrictVcenter:
        return self.world.vcenter

    def api(self, who: str = "admin") -> Api:
        return self.world.kaasd.api(self.token(who))

    def sign_in(self, who: str) -> str | None:
        if who == "nobody":
            return None
        if who == "admin":
            return self.world.kaasd.admin().token  # of its own, since operations end sessions
        cookie = self.vcenter.control.login(VIEWER)["cookie"]
        return self.world.kaasd.api().login_session(self.vcenter.instance_uuid, cookie).token

    def token(self, who: str) -> str | None:
        if who not in self.tokens:
            self.tokens[who] = self.sign_in(who)
        return self.tokens[who]

    def forget(self, who: str) -> None:
        """The session has ended; the next request signs in again."""
        self.tokens.pop(who, None)

    def renew(self, operation: str) -> None:
        """Before an operation: everybody is signed in, and the second vCenter is as new."""
        for who in PEOPLE:
            if who in self.tokens and self.world.kaasd.api(self.tokens[who]).call("GET", "/v2/whoami").status_code == 401:
                self.forget(who)
        if operation == "changeOwnPassword":
            self.tokens["admin"] = self.second_admin()
        elif self.password:
            self.password = ""
            self.forget("admin")
        if operation in SPARE_ONLY or operation in ("addVcenter", "installSolution"):
            self.drop_spare()

    def settle_keys(self) -> None:
        """A key that is to come in two seconds may end the tokens of the one that signs: it comes, and everybody signs in again."""
        ctl = self.world.kaasd.ctl
        kid = ctl.json("--yes", "key", "rotate-signing", "--drop-old")["kid"]
        until(lambda: kid in [key["kid"] for key in ctl.json("key", "list") if key["state"] == "active"], "the new key, which signs")
        self.tokens.clear()

    def _learn(self) -> None:
        admin = self.api()
        self.clusters = {one["name"]: one["id"] for one in admin.items("/v2/clusters")}
        hx = list(admin.items("/v2/hx-clusters"))
        vsphere = list(admin.items(f"/v2/vcenters/{self.vcenter.instance_uuid}/vsphere-clusters"))
        creation = self.make_cluster()[1]
        self.known = {
            "cluster": list(self.clusters.values()),
            "hx_cluster": [one["name"] for one in hx],
            "hx_cluster_id": [one["id"] for one in hx],
            "vcenter": [self.vcenter.instance_uuid, "first"],
            "vcenter_id": [self.vcenter.instance_uuid],
            "moref": [one["moref"] for one in vsphere],
            "path": [EAST, WEST, PLAIN, FAR],
            "vsphere_cluster": [EAST, WEST, FAR, *(one["moref"] for one in vsphere)],
            "cookie": [self.vcenter.control.login(VIEWER)["cookie"] for _ in range(5)],
            "watch": [""],
            "job": [self._make_job(), creation],
            "creation": [creation],
            "made": [self.make_cluster()[0]],
            "provider": [PROVIDER],
            "host": self._hosts_with_nodes(),
            "principal": ["admin", "svc:nobody"],
            "q": ["prod", "east", "1", "Shop", "prod shop", "team=shop"],
            "label": ["team", "team=shop"],
        }

    def _hosts_with_nodes(self) -> list[str]:
        """Id and name of a host that a node of a Kubernetes cluster runs on."""
        at, node = f"/v2/clusters/{self.fresh_cluster()}", {"name": "cp-0", "role": "control_plane", "vm_instance_uuid": PROD_VM}
        self.api().expect(200, "PUT", f"{at}/status", json={"state": "ready", "nodes": [node]})
        host = until(lambda: next(self.api().items(f"{at}/nodes"))["host"], "the node's host")
        return [host["moref"], host["name"]]

    def _make_job(self) -> str:
        """One that has ended, about a cluster."""
        job = uuid_of(70)
        self.world.db.query("REPLACE INTO jobs (id, kind, title, object_kind, object_id, params, state, created_at_ms, started_at_ms,"
                            " ended_at_ms, is_cancel_asked, lease_until_ms, generation, lines_count)"
                            " VALUES (%s, 'fuzz', 'of the fuzz', 'cluster', %s, '{}', 'done', 1, 1, 1, 0, 0, 1, 0)",
                            job, next(iter(self.clusters.values())), database="kaas")
        return job

    def secrets_from_viewer(self) -> list[str]:
        """Ids of clusters that the viewer must never be told."""
        return [*(self.clusters[name] for name in ("west-1", "plain-1", "far-1")), *self.made]

    # -- things that must be there ------------------------------------------------------------------------------------------

    def fresh_cluster(self) -> str:
        self.serial += 1
        body = {"name": f"fuzz {self.serial}", "kubernetes_version": "1.31.2", "control_plane": {"desired": 3}, "workers": {"desired": 2},
                "vsphere_clusters": [{"vcenter": self.vcenter.instance_uuid, "path": EAST}]}
        return self.api().expect(201, "POST", "/v2/clusters", json=body)["id"]

    def provider_body(self, name: str, **more: Any) -> dict[str, Any]:
        nodes = {"addresses": ["10.9.1.0-10.9.199.255"], "prefix": 16, "gateway": "10.9.0.1", "dns": ["10.9.0.2"]}
        return {"kind": "Provider", "name": name, "vcenter": "building", "vsphere_cluster": "/Yard/host/Rack", "folder": "/Yard/vm",
                "datastore": "Yard-DS", "network": "VM Network", "template": TEMPLATE, "nodes": nodes,
                "api_addresses": ["10.9.200.0-10.9.250.255"], **more}

    def fresh_provider_name(self) -> str:
        self.serial += 1
        return f"fuzz-{self.serial}"

    def fresh_provider(self) -> str:
        name = self.fresh_provider_name()
        self.api().expect(201, "PUT", f"/v2/providers/{name}", json=self.provider_body(name))
        return name

    def cluster_body(self) -> dict[str, Any]:
        self.serial += 1
        return {"name": f"made-{self.serial}", "provider": PROVIDER}

    def make_cluster(self) -> tuple[str, str]:
        """The ids of a cluster that kaasd makes, and of the job, which has failed."""
        body = self.cluster_body()
        begun = self.api().expect(202, "POST", "/v2/clusters:create", json=body)
        self.made[begun["cluster_id"]] = body["name"]
        assert self.job_end(begun["job_id"]) == "failed"
        self.api().get(f"/v2/clusters/{begun['cluster_id']}")  # it got into the list
        return begun["cluster_id"], begun["job_id"]

    def job_end(self, job: str) -> str:
        """How a job ended, when it has."""
        def ended() -> str | None:
            state: str = self.api().get(f"/v2/jobs/{job}")["state"]
            return state if state in ("done", "failed", "canceled") else None

        return until(ended, f"the end of job {job}")

    def want_failed(self) -> str:
        """The id of a creation that has failed; after it was canceled it is tried again."""
        job: str = self.known["creation"][0]
        if self.job_end(job) == "canceled":
            self.api().expect(200, "POST", f"/v2/jobs/{job}/retry")
            assert self.job_end(job) == "failed"
        return job

    def want_kubernetes(self) -> str:
        """The id of a cluster that kaasd has made and is connected to, as if it had answered once; nobody listens there."""
        made: str = self.known["made"][0]
        if self.api().call("GET", f"/v2/clusters/{made}/connection").status_code == 404:
            query, key = self.world.db.query, (self.world.kaasd.folder / "master.key").read_bytes()
            query("INSERT INTO kube_connections (cluster_id, address, sha256, cluster_uid, created_at_ms, updated_at_ms, version_no)"
                  " VALUES (%s, 'https://127.77.0.1:6443', REPEAT('0', 64), 'fuzz', 1, 1, 1)", made, database="kaas")
            query("INSERT INTO kube_statuses (cluster_id, state, since_ms, checked_at_ms, token_until_ms, token_renew_at_ms, health,"
                  " health_since_ms, version_no) VALUES (%s, 'ok', 1, 1, 1, 1, 'ready', 1, 1)", made, database="kaas")
            put_secret(self.world.db, key, "kube_connection", made, "kube-token", b"fuzz")
        return made

    def fresh_user(self, **more: Any) -> dict[str, Any]:
        self.serial += 1
        return self.api().expect(201, "POST", "/v2/users", json={"name": f"fuzz{self.serial}", "role": "user", **more}, headers=X_KAAS)

    def second_admin(self) -> str | None:
        """Signed in; wrong passwords slow down nobody else then."""
        self.password = "correct horse battery 1"
        user = self.fresh_user(role="admin", password=self.password, must_change_password=False)
        return self.world.kaasd.api().login_password(user["name"], self.password).token

    def fresh_grant(self) -> str:
        self.serial += 1
        body = {"principal_id": f"svc:fuzz{self.serial}", "object_kind": "cluster", "object_id": self.clusters["prod-1"]}
        return self.api().expect(201, "POST", "/v2/grants", json=body)["id"]

    def fresh_group(self) -> str:
        self.serial += 1
        return f"sid:S-1-5-21-1-2-3-{self.serial}"

    def fresh_mapping(self) -> str:
        body = {"subject_id": self.fresh_group(), "role": "user"}
        return self.api().expect(201, "POST", "/v2/role-mappings", json=body)["id"]

    def directory_body(self, name: str) -> dict[str, Any]:
        return {"name": name, "kind": "ad", "urls": [NOWHERE], "search_base": "DC=fuzz", "bind_dn": "reader", "bind_password": "fuzz"}

    def want_directory(self, name: str) -> str:
        if self.api().call("GET", f"/v2/ldap/{name}").status_code == 404:
            self.api().expect(201, "POST", "/v2/ldap", json=self.directory_body(name), headers=X_KAAS)
        return name

    def new_directory_body(self) -> dict[str, Any]:
        """A directory that is not there; the name is always the same one."""
        self.api().call("DELETE", "/v2/ldap/fuzz-c")
        return self.directory_body("fuzz-c")

    def peer_body(self) -> dict[str, Any]:
        return {"url": "https://127.0.0.1:9/", "spn": "HTTP/fuzz.test", "thumbprint_sha256": "00" * 32}

    def want_peer(self) -> str:
        """The id of an HX cluster whose controller is signed in to."""
        hx: str = self.known["hx_cluster_id"][0]
        if self.api().call("GET", f"/v2/hx-clusters/{hx}/peer").status_code == 404:
            self.api().expect(201, "PUT", f"/v2/hx-clusters/{hx}/peer", json=self.peer_body())
        return hx

    def connection_body(self) -> dict[str, Any]:
        return {"address": "127.0.0.1", "port": 9, "user_name": "fuzz", "password": "fuzz", "thumbprint_sha256": "00" * 32}

    def want_connection(self) -> str:
        """The id of an HX cluster that kaasd is connected to; nobody answers there."""
        hx: str = self.known["hx_cluster_id"][0]
        if self.api().call("GET", f"/v2/hx-clusters/{hx}/connection").status_code == 404:
            self.api().expect(201, "PUT", f"/v2/hx-clusters/{hx}/connection", json=self.connection_body())
        return hx

    def want_nonce(self) -> str:
        """Of what an HX cluster has just been told, as it were."""
        nonce = "0123456789abcdef" * 2
        self.world.db.query("REPLACE INTO hx_publications (hx_cluster_id, is_wanted, state, since_ms, tried_at_ms, published_at_ms,"
                            " expires_at_ms, next_at_ms, failures, nonce_digest, nonce_until_ms, body_sha256, version_no)"
                            " VALUES (%s, 0, 'withdrawn', 1, 1, 1, 0, 0, 0, SHA2(%s, 256), %s, SHA2('', 256), 1)",
                            self.known["hx_cluster_id"][1], nonce, 1 << 50, database="kaas")
        return nonce

    def credential_body(self) -> dict[str, Any]:
        return {"user_name": "fuzz", "password": "fuzz"}

    def want_credential(self) -> str:
        """The id of a vCenter whose HX clusters inherit a user."""
        vcenter: str = self.known["vcenter_id"][0]
        self.api().call("PUT", f"/v2/vcenters/{vcenter}/hx-credential", json=self.credential_body())
        return vcenter

    def service_body(self) -> dict[str, Any]:
        self.serial += 1
        return {"name": f"fuzz{self.serial}", "certificates": [f"{self.serial:064x}"]}

    def fresh_service(self) -> str:
        return self.api().expect(201, "POST", "/v2/services", json=self.service_body())["id"]

    def spare_state(self) -> str:
        answer = self.api().call("GET", f"/v2/vcenters/{self.spare.instance_uuid}")
        if answer.status_code != 200:
            return "absent"
        return "registered" if answer.json()["registered"] else "not_registered"

    def _spare_account(self, **more: Any) -> dict[str, Any]:
        return {"username": self.spare.admin.login, "password": self.spare.admin.password, **more}

    def want_spare(self, registered: bool) -> str:
        """The second vCenter is configured, and registered or not."""
        at, state = f"/v2/vcenters/{self.spare.instance_uuid}", self.spare_state()
        if state == "absent":
            body = {"name": "spare", "address": self.spare.host, "port": self.spare.port, "tunnel_port": self.spare.tunnel_port,
                    "thumbprint_sha256": self.spare.sha256}
            self.api().expect(201, "POST", "/v2/vcenters", json=body)
            state = "not_registered"
        if registered and state == "not_registered":
            self.api().expect(200, "POST", f"{at}/register", json=self._spare_account(take_over=True), headers=X_KAAS)
        elif not registered and state == "registered":
            self.api().expect(200, "POST", f"{at}/unregister", json=self._spare_account(), headers=X_KAAS)
        return self.spare.instance_uuid

    def want_login_account(self) -> str:
        """The second vCenter is registered, and kaasd logs in there by an account."""
        at = f"/v2/vcenters/{self.want_spare(registered=True)}/login-account"
        if self.api().call("GET", at).status_code == 404:
            self.api().expect(200, "PUT", at, json=self._spare_account(), headers=X_KAAS)
        return self.spare.instance_uuid

    def drop_spare(self) -> None:
        if self.spare_state() != "absent":
            self.api().expect(204, "DELETE", f"/v2/vcenters/{self.want_spare(registered=False)}")

    def forget_record(self) -> None:
        """The second vCenter knows nothing of us."""
        if EXTENSION_KEY in self.spare.control.extensions():
            self.spare.control.drop_extension(EXTENSION_KEY)

    def fresh_session(self) -> str:
        """The id of a session that somebody begins now."""
        before = {one["id"] for one in self.api().items("/v2/sessions", limit=500)}
        self.sign_in("viewer")
        return next(one["id"] for one in self.api().items("/v2/sessions", limit=500) if one["id"] not in before)

    def add_to_session(self, who: str, vcenter: str) -> None:
        body = {"vcenter": vcenter, "session_id": self.vcenter.control.login(VIEWER)["cookie"]}
        self.api(who).call("POST", "/v2/session/vcenters", json=body, headers=X_KAAS)


class Filler:
    """Puts real values into one operation's requests, and sees to it that they are there."""

    def __init__(self, place: Place, operation: str, path: str, seed: int) -> None:
        self.place = place
        self.operation = operation
        self.path = path
        self.dice = random.Random(f"{seed} {operation} values")
        self.share = SLOW.get(operation, REAL)
        self.prover = Prover(place.people, operation, self.dice)

    def fill(self, fuzzed: Fuzzed) -> None:
        case = fuzzed.case
        case.freeze_metadata()
        if not fuzzed.free(ParameterLocation.PATH) and not fuzzed.positive and self.operation in SLOW:
            return
        if fuzzed.free(ParameterLocation.PATH) and case.path_parameters and self.dice.random() < self.share:
            case.path_parameters = {name: self.file() if name == "file" else self.path_id() for name in case.path_parameters}
        if fuzzed.free(ParameterLocation.HEADER) and "If-Match" in (case.headers or {}):
            self.precondition(case.headers)
        if fuzzed.free(ParameterLocation.QUERY) and case.query:
            case.query = self.query(dict(case.query))
        if fuzzed.free(ParameterLocation.BODY) and case.body is not NOT_SET:
            case.body = self.body(case.body)
        if self.operation in ("loginVcenter", "addSessionVcenter"):
            self.one_proof(fuzzed)
        if self.operation in ("applyProvider", "deleteMadeCluster"):
            self.one_name(fuzzed)
        self.prover.prove(fuzzed)

    def precondition(self, headers: Any) -> None:
        """A made-up entity tag fits nothing, so most requests would end there."""
        chance = self.dice.random()
        if chance < 0.6:
            headers.pop("If-Match")
        elif chance < 0.8:
            headers["If-Match"] = "*"

    def pick(self, name: str) -> Any:
        return self.dice.choice(self.place.known[name])

    def path_id(self) -> str:
        special: Callable[[], str] | None = getattr(self, f"id_{self.operation}", None)
        if special is not None:
            return special()
        if self.path.startswith("/v2/vcenters"):
            spare = self.operation in SPARE_ONLY
            return self.place.want_spare(registered=self.dice.random() < 0.5) if spare else self.place.vcenter.instance_uuid
        if self.path.startswith("/v2/hx-clusters"):
            return self.pick("hx_cluster_id")
        if self.path.startswith("/v2/clusters"):
            return self.pick("cluster")
        if self.path.startswith("/v2/jobs"):
            return self.pick("job")
        return self.place.vcenter.instance_uuid

    def id_deleteCluster(self) -> str:  # noqa: N802 - named like the operation
        return self.place.fresh_cluster()

    def id_updateCluster(self) -> str:  # noqa: N802
        self.place.known.setdefault("changed", [self.place.fresh_cluster() for _ in range(3)])
        return self.pick("changed")

    id_reportClusterStatus = id_updateCluster  # noqa: N815

    def id_deleteVcenter(self) -> str:  # noqa: N802
        return self.place.want_spare(registered=self.dice.random() < 0.1)

    def id_changeVcenter(self) -> str:  # noqa: N802 - with another port nobody could register it
        return self.place.want_spare(registered=False)

    id_trustVcenter = id_changeVcenter  # noqa: N815

    def id_getVcenterLoginAccount(self) -> str:  # noqa: N802
        return self.place.want_login_account()

    id_removeVcenterLoginAccount = id_testVcenterLoginAccount = id_getVcenterLoginAccount  # noqa: N815

    def id_setVcenterLoginAccount(self) -> str:  # noqa: N802
        return self.place.want_spare(registered=True)

    def id_updateUser(self) -> str:  # noqa: N802
        if "user" not in self.place.known:
            self.place.known["user"] = [self.place.fresh_user()["id"] for _ in range(3)]
        return self.pick("user")

    id_getUser = id_resetPassword = id_updateUser  # noqa: N815

    def id_deleteUser(self) -> str:  # noqa: N802
        return self.place.fresh_user()["id"]

    def id_endSession(self) -> str:  # noqa: N802
        return self.place.fresh_session()

    def id_getGrant(self) -> str:  # noqa: N802
        return self.place.fresh_grant()

    id_deleteGrant = id_getGrant  # noqa: N815

    def id_deleteRoleMapping(self) -> str:  # noqa: N802
        return self.place.fresh_mapping()

    id_getRoleMapping = id_updateRoleMapping = id_deleteRoleMapping  # noqa: N815

    def id_getDirectory(self) -> str:  # noqa: N802
        return self.place.want_directory("fuzz-a")

    id_updateDirectory = id_testDirectory = id_getDirectory  # noqa: N815

    def id_deleteDirectory(self) -> str:  # noqa: N802
        return self.place.want_directory("fuzz-b")

    def id_getHxPeer(self) -> str:  # noqa: N802
        return self.place.want_peer()

    id_setHxPeer = id_testHxPeer = id_removeHxPeer = id_getHxPeer  # noqa: N815

    def id_getHxConnection(self) -> str:  # noqa: N802
        return self.place.want_connection()

    id_setHxConnection = id_testHxConnection = id_removeHxConnection = id_getHxConnection  # noqa: N815
    id_getHxPublication = id_publishToHx = id_withdrawFromHx = id_getHxConnection  # noqa: N815

    def id_provePublication(self) -> str:  # noqa: N802
        return self.place.want_nonce()

    def id_getHxCredential(self) -> str:  # noqa: N802
        return self.place.want_credential()

    id_removeHxCredential = id_getHxCredential  # noqa: N815

    def id_updateService(self) -> str:  # noqa: N802
        if "service" not in self.place.known:
            self.place.known["service"] = [self.place.fresh_service() for _ in range(3)]
        return self.pick("service")

    id_getService = id_updateService  # noqa: N815

    def id_deleteService(self) -> str:  # noqa: N802
        return self.place.fresh_service()

    def id_getProvider(self) -> str:  # noqa: N802
        return self.pick("provider")

    id_applyProvider = id_checkProvider = id_getProvider  # noqa: N815

    def id_deleteProvider(self) -> str:  # noqa: N802
        return self.place.fresh_provider()

    def id_showClusterDeletion(self) -> str:  # noqa: N802
        return self.pick("made")

    id_deleteMadeCluster = id_showClusterDeletion  # noqa: N815

    def id_issueKubeconfig(self) -> str:  # noqa: N802
        return self.place.want_kubernetes()

    id_getClusterConnection = id_testClusterConnection = id_removeClusterConnection = id_issueKubeconfig  # noqa: N815

    def id_cancelJob(self) -> str:  # noqa: N802
        return self.place.want_failed()

    id_retryJob = id_cancelJob  # noqa: N815

    def id_removeSessionVcenter(self) -> str:  # noqa: N802
        self.place.add_to_session("admin", self.place.vcenter.instance_uuid)
        return self.place.vcenter.instance_uuid

    def file(self) -> str:
        if "file" not in self.place.known:
            page = self.place.api("nobody").call("GET", "/ui/").text
            self.place.known["file"] = [name.removeprefix("./") for name in re.findall(r'(?:src|href)="([^"]+)"', page)] or ["x"]
        return self.pick("file")

    def query(self, query: dict[str, Any]) -> dict[str, Any]:
        for name in list(query):
            if name in self.place.known and self.dice.random() < self.share:
                query[name] = self.pick(name)
        if "hx_cluster" in query and "hx_cluster_id" in query:
            query.pop(self.dice.choice(["hx_cluster", "hx_cluster_id"]))
        if "hx_cluster" in query or "hx_cluster_id" in query:
            query.pop("vsphere_cluster", None)
            query.pop("on_hx", None)
        if "vsphere_cluster" in query and "vcenter" not in query:
            query["vcenter"] = self.pick("vcenter")
        if self.operation == "listNodesOn":
            query.pop(self.dice.choice(["vm", "host"]), None)
            query.setdefault("vm" if "host" not in query else "host", "vm-1")
            if "vcenter" in query:
                query["vcenter"] = self.pick("vcenter_id")  # not by name
        if "wait" in query:
            query["wait"] = 1
            if self.operation == "listClusters":
                query.setdefault("watch", "")
        if "cursor" in query and self.dice.random() < 0.9:
            query.pop("cursor")
        if "cursor" in query:
            query.pop("offset", None)
        return query

    def fitting(self, body: dict[str, Any]) -> dict[str, Any]:
        """What names nothing that must be there, and no proof that is another's already."""
        kept = {name: body[name] for name in ("description", "may_delegate", "disabled") if name in body}
        if self.operation == "createService":
            return {**kept, **self.place.service_body()}
        return kept or {"disabled": False}

    def body(self, body: Any) -> Any:
        if self.operation in ("addVcenter", "changeVcenter"):
            return self.address(body)
        if self.operation in ("registerVcenter", "unregisterVcenter", "setVcenterPassword", "setVcenterLoginAccount",
                              "testVcenterLoginAccount") and isinstance(body, dict):
            return self.account(body)
        if self.operation == "importClusters":
            return self.lines(body)
        if self.operation == "showPluginItems" and isinstance(body, dict) and "objectIds" in body and self.dice.random() < self.share:
            return {**body, "objectIds": [f"urn:vmomi:ClusterComputeResource:{self.pick('moref')}:{self.place.vcenter.instance_uuid}"]}
        if self.operation == "makeCluster" and isinstance(body, dict) and self.dice.random() < self.share:
            return self.place.cluster_body()
        if self.operation == "issueKubeconfig" and isinstance(body, dict) and self.dice.random() < self.share:
            return {"admin": True}
        if self.operation == "createDirectory" and isinstance(body, dict) and self.dice.random() < 0.3:
            return self.place.new_directory_body()
        if self.operation == "setHxPeer" and isinstance(body, dict) and self.dice.random() < 0.5:
            return self.place.peer_body()
        if self.operation == "setHxConnection" and isinstance(body, dict) and self.dice.random() < 0.5:
            return self.place.connection_body()
        if self.operation == "setHxCredential" and isinstance(body, dict) and self.dice.random() < 0.5:
            return self.place.credential_body()
        if self.operation in ("createService", "updateService", "updateDirectory") and isinstance(body, dict) and self.dice.random() < 0.5:
            return self.fitting(body)
        if self.operation == "createUser" and isinstance(body, dict) and "name" in body and self.dice.random() < self.share:
            self.place.serial += 1
            return {**body, "name": f"fuzz{self.place.serial}"}
        if self.operation == "changeOwnPassword" and isinstance(body, dict) and self.dice.random() < self.share:
            self.place.serial += 1
            return {"old_password": self.place.password, "new_password": f"correct horse battery {self.place.serial}"}
        if self.operation == "createRoleMapping" and isinstance(body, dict) and "subject_id" in body and self.dice.random() < self.share:
            return {**body, "subject_id": self.place.fresh_group(), "role": self.dice.choice(["user", "provisioner", "admin"])}
        if self.operation == "createGrant" and isinstance(body, dict):
            return self.grant(body)
        if self.operation == "trustVcenter" and isinstance(body, dict) and "thumbprint_sha256" in body and self.dice.random() < self.share:
            return {"thumbprint_sha256": self.place.spare.sha256}
        if self.operation == "installSolution" and isinstance(body, dict) and self.dice.random() < self.share:
            self.place.want_spare(registered=False)
            if self.dice.random() < 0.3:
                self.place.drop_spare()
            self.place.forget_record()
            text = self.place.spare.control.solution_install(EXTENSION_KEY)["ovf_environment"]
            return {**body, "ovf_environment": text, "tunnel_port": self.place.spare.tunnel_port}
        if self.operation == "loginPassword" and isinstance(body, dict) and "username" in body:
            self.place.serial += 1
            return {**body, "username": f"user {self.place.serial}"}  # failures of one name are slowed down
        return self.members(body)

    def one_proof(self, fuzzed: Fuzzed) -> None:
        """Either the header or the body proves who one is; what is made up has both or neither more often than not."""
        case = fuzzed.case
        free = fuzzed.free(ParameterLocation.HEADER) and fuzzed.free(ParameterLocation.BODY)
        if not free or not isinstance(case.body, dict) or self.dice.random() > 0.9:
            return
        case.headers.pop("vmware-api-session-id", None)
        if "clone_ticket" not in case.body or self.dice.random() < 0.5:
            case.body = {"vcenter": self.pick("vcenter"), "session_id": self.pick("cookie")}

    def one_name(self, fuzzed: Fuzzed) -> None:
        """Path and body call the same thing by its name."""
        case = fuzzed.case
        free = fuzzed.free(ParameterLocation.PATH) and fuzzed.free(ParameterLocation.BODY)
        if not free or not isinstance(case.body, dict) or self.dice.random() >= self.share:
            return
        if self.operation == "deleteMadeCluster":
            cluster = self.place.make_cluster()[0]
            case.path_parameters, case.body = {"id": cluster}, {"name": self.place.made[cluster]}
        else:
            name = self.dice.choice([PROVIDER, self.place.fresh_provider_name()])
            more = {"ntp": [f"10.9.0.{self.dice.randrange(3, 9)}"]} if self.dice.random() < 0.5 else {}
            case.path_parameters, case.body = {"name": name}, self.place.provider_body(name, **more)

    def lines(self, body: Any) -> Any:
        """Some records, one of them with a fault now and then."""
        if not isinstance(body, str) or self.dice.random() >= self.share:
            return body
        made = []
        for _ in range(self.dice.randrange(1, 6)):
            self.place.serial += 1
            made.append(json.dumps({"name": f"line {self.place.serial}", "kubernetes_version": self.dice.choice(["1.31.2", "1.31.2", "v1"]),
                                    "control_plane": {"desired": 3}, "workers": {"desired": self.dice.randrange(9)},
                                    "vsphere_clusters": [{"vcenter": self.pick("vcenter"), "path": self.pick("path")}]}))
        return "\n".join(made)

    def address(self, body: Any) -> Any:
        """Nothing but this machine is ever asked: the second vCenter, a port where nobody listens, or our own."""
        if not isinstance(body, dict):
            return body
        spare = self.place.spare
        if self.operation == "addVcenter" and "address" in body:
            self.place.drop_spare()
        if isinstance(body.get("address"), str):
            body = {**body, "address": self.dice.choice([spare.host, spare.host, spare.host, "127.0.0.1", "localhost", "::1"])}
        if self.operation == "addVcenter" and "name" not in body and self.dice.random() < 0.9:
            body = {**body, "name": f"spare {self.dice.random()}"}
        if self.operation == "addVcenter" or "port" in body:
            body = {**body, "port": self.dice.choice([spare.port] * 6 + [1, self.place.world.kaasd.port])}
        if "thumbprint_sha256" in body and self.dice.random() < self.share:
            body = {**body, "thumbprint_sha256": spare.sha256}
        return body

    def account(self, body: dict[str, Any]) -> dict[str, Any]:
        admin = self.place.spare.admin
        if self.operation == "unregisterVcenter" and self.dice.random() < 0.7:
            body = {"username": admin.login, **body, "password": admin.password}
        if "password" in body and self.dice.random() < 0.7:
            body = {**body, "password": admin.password, **({"username": admin.login} if "username" in body else {})}
        return body

    def grant(self, body: dict[str, Any]) -> dict[str, Any]:
        objects = {"cluster": self.pick("cluster"), "hx_cluster": self.pick("hx_cluster_id"),
                   "vsphere_cluster": f"{self.place.vcenter.instance_uuid}/{self.pick('moref')}"}
        if body.get("object_kind") in objects and self.dice.random() < self.share:
            body = {**body, "object_id": objects[body["object_kind"]]}
        if str(body.get("principal_id", "")).startswith("local:") and self.dice.random() < self.share:
            self.place.serial += 1
            body = {**body, "principal_id": f"svc:fuzz{self.place.serial}"}
        return body

    def members(self, node: Any) -> Any:
        """The same value with real names and ids in all members that bear one."""
        if isinstance(node, list):
            return [self.members(item) for item in node]
        if not isinstance(node, dict):
            return node
        return {name: self.member(name, value) for name, value in node.items()}

    def member(self, name: str, value: Any) -> Any:
        if isinstance(value, (dict, list)):
            return self.members(value)
        if not isinstance(value, str) or self.dice.random() >= self.share:
            return value
        if name == "session_id":
            return self.pick("cookie")
        return self.pick(name) if name in self.place.known else value
