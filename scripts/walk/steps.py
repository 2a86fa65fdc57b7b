"""The steps of the walk. Each does one thing and checks it itself; a step that does not raise is ok."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import shutil
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from env import browser, vimclient
from env.ad import AdWorld
from env.ad.joined import kerberos_options
from env.client_certs import ClientCert
from env.full import EXTENSION_KEY, sample_arguments
from env.kaasd import LOOPBACK, Kaasd
from env.kube import Kube, Nodes
from env.mariadb import Mariadb
from env.places import TOP, Scratch, free_port, program
from env.prefixproxy import PrefixProxy
from env.samples import EAST, SAMPLES, Sample, hidden_from, visible_to
from env.vcenter import StrictVcenter, User, start_strict
from env.wait import until
from hx import HostPage, HxConnect

from .curl import Answer, Curl, WalkError

if TYPE_CHECKING:
    from .create_steps import Creation

Step = Callable[["Walk"], None]
Steps = tuple[tuple[str, Step | None, Step], ...]
HX_EAST = EAST.split("/")[1]
VIEWER = "viewer-east"
WHOLE = "prod-1"  # the sample of which everything is there
# its virtual machines, and what they are in it
NODES = {f"k8s-prod-{kind}-{n}": role for kind, role in (("cp", "control_plane"), ("w", "worker")) for n in range(3)}
MACHINE = next(iter(NODES))  # the one that people go on to
BY_HAND = "plain-1"  # nobody reports on it


def must(condition: object, text: str) -> None:
    if not condition:
        raise WalkError(text)


@dataclass(frozen=True)
class Ports:
    """Where browsers go. 0 or None: any that is free."""

    kaasd: int | None = None
    hx: int = 0
    vcenter: int = 0
    client: int = 0

    @classmethod
    def beginning_at(cls, first: int | None) -> Ports:
        return cls(first, first + 1, first + 2, first + 3) if first else cls()


@contextmanager
def deaf_threads() -> Iterator[None]:
    """Threads that begin here never take the signal that ends us."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class Walk:
    """What the steps hand on to each other, and everything that must be stopped at the end."""

    def __init__(self, ports: Ports) -> None:
        self.stack = ExitStack()
        self.ports = ports
        self.db: Mariadb
        self.vcenter: StrictVcenter
        self.kaasd: Kaasd
        self.curl: Curl
        self.scratch: Scratch
        # what the walk types where it is asked; the sabotages change these
        self.thumbprint = ""
        self.register_password = ""
        self.unregister_password = ""
        self.session_id = ""
        self.ticket = ""
        self.token = ""  # of viewer-east, from the session id
        self.admin_token = ""
        self.backup: Path
        self.key: Path  # a copy of the master key
        # HX Connect, its page, and the client certificate of its service
        self.service_port = free_port()
        self.hx: HxConnect
        self.hx_of: dict[str, HxConnect] = {}  # by place
        self.host: HostPage
        self.hx_shown: ClientCert
        self.hx_sha256 = self.hx_password = ""
        # the vSphere Client
        self.client: PrefixProxy
        # with a domain only
        self.ad: AdWorld | None = None
        self.ad_token = ""  # of alice, by Kerberos
        self.granted_hx = ""
        # with a Kubernetes only
        self.kube: Kube | None = None
        self.kubelets: Nodes
        self.kubeconfig: Path  # what the cluster is connected with
        self.next_kubeconfig: Path  # and then again
        self.live_id = ""
        # with clusters that are made only
        self.creation: Creation | None = None

    def user(self, name: str) -> User:
        return self.vcenter.users[name]

    def close(self) -> None:
        self.stack.close()

    def vcenter_session(self, name: str) -> object:
        """A person's session at the vCenter that stays open until the end of the walk."""
        return self.stack.enter_context(vimclient.session(self.vcenter, self.user(name)))


def setup(walk: Walk) -> None:
    """The programs are there and know their version."""
    for name in ("kaasd", "kaasctl", "strictvc", "govc"):
        program(name)
    page = TOP / "ui-plugin/dist/index.html"
    must(page.is_file(), "the web page is not built")


def world(walk: Walk) -> None:
    """A private database and a vCenter run, and the vCenter lets its administrator in."""
    walk.scratch = Scratch("demo")
    walk.stack.callback(walk.scratch.remove)
    walk.db = Mariadb(walk.scratch)
    walk.stack.callback(walk.db.close)
    walk.vcenter = start_strict(walk.scratch, flags=("--listen", f"127.0.0.1:{walk.ports.vcenter}"))
    walk.stack.callback(walk.vcenter.process.kill)
    make_nodes(walk.vcenter)
    walk.thumbprint = walk.vcenter.sha256
    walk.register_password = walk.unregister_password = walk.vcenter.admin.password


def uuid_of(machine: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{machine}.example.test"))


def make_nodes(vcenter: StrictVcenter) -> None:
    """All of them, running; the world that tests share has some."""
    for machine in vcenter.control.objects("VirtualMachine"):
        if machine["name"] in NODES:
            vcenter.control.remove(machine["id"])
    for n, name in enumerate(NODES):
        vcenter.control.create_machines("domain-c7", name, host=f"hx-east-{n % 2 + 1}.example.test", instance_uuid=uuid_of(name))


def world_answers(walk: Walk) -> None:
    about = vimclient.govc(walk.vcenter, "about")["about"]
    must(about["instanceUuid"] == walk.vcenter.instance_uuid, f"govc about: another instance UUID: {about}")


def init(walk: Walk) -> None:
    """kaasctl init: schema, master key, first administrator."""
    ad = walk.ad
    options = {"certificates": None,  # keys as large as they are by default
               "clusters": {"report_stale_after": "0s"},  # who reports does so once
               "kubernetes": {"allowed_networks": [*LOOPBACK]},
               "server": {"service_listen": f"127.0.0.1:{walk.service_port}"}, **(kerberos_options(ad) if ad else {})}
    walk.kaasd = Kaasd(walk.scratch, walk.db.socket, options=options, env=ad.env if ad else None, port=walk.ports.kaasd)
    walk.kaasd.init()
    walk.curl = Curl(walk.kaasd.url, walk.kaasd.tls.ca_file)
    must(walk.kaasd.admin_password not in walk.kaasd.config.read_text(), "the one-time password is in the configuration file")


def check_config(walk: Walk) -> None:
    result = walk.kaasd.check_config()
    must(result.returncode == 0, f"kaasd --check-config: {result.stderr.strip()}")


def start(walk: Walk) -> None:
    walk.stack.callback(walk.kaasd.kill)
    walk.kaasd.start()
    walk.curl.ok(200, "GET", "/readyz")
    body = {"username": "admin", "password": walk.kaasd.admin_password}
    walk.admin_token = walk.curl.ok(200, "POST", "/v2/login/password", body=body).jq(".access_token")


def vcenter_add(walk: Walk) -> None:
    tunnel = str(walk.vcenter.tunnel_port)
    walk.kaasd.ctl.ok("vcenter", "add", walk.vcenter.address, "--thumbprint", walk.thumbprint, "--yes", "--tunnel-port", tunnel)
    listed = walk.curl.ok(200, "GET", "/v2/vcenters", token=walk.admin_token)
    must(listed.jq("[.items[].id]") == [walk.vcenter.instance_uuid], f"the list of vCenters: {listed.body[:300]}")


def vcenter_register(walk: Walk) -> None:
    walk.kaasd.ctl.ok("vcenter", "register", walk.vcenter.address, "--user", walk.vcenter.admin.login, "--password-file", "-",
                      stdin=walk.register_password + "\n")
    must(EXTENSION_KEY in walk.vcenter.control.extensions(), "the vCenter has no record of us")


def extension_readback(walk: Walk) -> None:
    """pyvmomi and govc read our record and agree with each other and with what we say we registered."""
    theirs = vimclient.read_extension(walk.vcenter, EXTENSION_KEY)
    other = vimclient.govc_extension(walk.vcenter, EXTENSION_KEY)
    must(theirs and other, "the record cannot be read")
    seen = (theirs.version, theirs.company, theirs.description.label, sorted((s.type, s.url) for s in theirs.server))
    told = (other["version"], other["company"], other["description"]["label"], sorted((s["type"], s["url"]) for s in other["server"]))
    must(seen == told, f"pyvmomi reads {seen}, govc reads {told}")
    must(("KAAS_API", f"{walk.kaasd.url}/v2/") in seen[3], f"the record does not name our API: {seen[3]}")
    status = walk.curl.ok(200, "GET", f"/v2/vcenters/{walk.vcenter.instance_uuid}/status", token=walk.admin_token)
    must(status.jq(".extension.record") == "ours", f"kaasd calls its record {status.jq('.extension')}")
    must(status.jq(".extension.version") == theirs.version, "kaasd tells another version of its record")
    stored = walk.vcenter.control.extensions()[EXTENSION_KEY]
    must(stored.get("thumbprint_sha256") == status.jq(".login.certificate.sha256"), "the vCenter stores another certificate than ours")


def vcenter_status(walk: Walk) -> None:
    status = walk.kaasd.ctl.json("vcenter", "status", walk.vcenter.instance_uuid)
    must(status["state"] == "connected", f"the vCenter is {status['state']}: {status['state_reason']}")
    must(status["login"]["strategy"] == "certificate_tunnel", f"login strategy {status['login']}")
    must(not status["missing_privileges"], f"missing privileges: {status['missing_privileges']}")
    found = sorted(hx["vsphere_cluster"]["moref"] for hx in status["hx_clusters"] if hx["present"])
    must(found == ["domain-c26", "domain-c7", "domain-c70"], f"HX clusters on {found}")


def cluster_add(walk: Walk) -> None:
    """Records by an administrator; then what a provisioner reports, but of one."""
    for sample in SAMPLES:
        address = f"https://{sample.name}.example.test"
        walk.kaasd.ctl.ok(*sample_arguments(sample), "--api-endpoint", f"{address}:6443", "--dashboard-url", f"{address}/dashboard")
    listed = walk.curl.ok(200, "GET", "/v2/clusters", token=walk.admin_token)
    ids: dict[str, str] = dict(listed.jq("[.items[] | [.name, .id]]"))
    must(list(ids) == visible_to("admin"), f"the administrator sees {list(ids)}")
    for sample in SAMPLES:
        if sample.name != BY_HAND:
            report(walk, sample, ids[sample.name])
    nodes, running = f"/v2/clusters/{ids[WHOLE]}/nodes", '[.items[] | select(.vm.power == "on")] | length'
    until(lambda: walk.curl.ok(200, "GET", nodes, token=walk.admin_token).jq(running) == len(NODES), f"the nodes of {WHOLE} at the vCenter")


def report(walk: Walk, sample: Sample, known: str) -> None:
    body: dict[str, Any] = {"state": sample.state}
    if sample.name == WHOLE:
        body["nodes"] = [{"name": name, "role": role, "vm_instance_uuid": uuid_of(name), "kubernetes_version": sample.version,
                          "address": f"10.20.0.{n}"} for n, (name, role) in enumerate(NODES.items(), 11)]
    walk.curl.ok(200, "PUT", f"/v2/clusters/{known}/status", body=body, token=walk.admin_token)


def begin_session_of(name: str) -> Step:
    """A person signs in at the vCenter; HX Connect holds the session id."""

    def begin(walk: Walk) -> None:
        walk.session_id = vimclient.cookie_of(walk.vcenter_session(name))

    return begin


def login_session_id(walk: Walk) -> None:
    walk.token = sign_in(walk)
    who = walk.curl.ok(200, "GET", "/v2/whoami", token=walk.token)
    must(who.jq(".name | ascii_downcase | contains(\"viewer-east\")"), f"signed in as {who.jq('.name')}")


def prepare_ticket(walk: Walk) -> None:
    walk.ticket = vimclient.clone_ticket(walk.vcenter_session("viewer-east"))


def login_clone_ticket(walk: Walk) -> None:
    body = {"vcenter": walk.vcenter.instance_uuid, "clone_ticket": walk.ticket}
    token = walk.curl.ok(200, "POST", "/v2/login/vcenter", body=body).jq(".access_token")
    who = walk.curl.ok(200, "GET", "/v2/whoami", token=token)
    must(who.jq(".method") == "vcenter_clone_ticket", f"whoami tells {who.body}")
    again = walk.curl.call("POST", "/v2/login/vcenter", body=body)
    must(again.status == 401, f"the ticket was taken twice ({again.status})")


def check_list(listed: Answer, user: str, place: str) -> None:
    names = listed.jq("[.items[].name]")
    must(names == visible_to(user, place), f"{user} sees {names}, not {visible_to(user, place)}")
    for name, hidden in listed.jq("[.items[] | [.name, .placement.hidden]]"):
        must(hidden == hidden_from(user, name), f"{user}: {hidden} parts of {name} are hidden, not {hidden_from(user, name)}")


def sign_in(walk: Walk) -> str:
    """Token of the person whose session at the vCenter was begun last."""
    body = {"vcenter": walk.vcenter.instance_uuid, "session_id": walk.session_id}
    return walk.curl.ok(200, "POST", "/v2/login/vcenter", body=body).jq(".access_token")


def list_viewer_east(walk: Walk) -> None:
    listed = walk.curl.ok(200, "GET", f"/v2/clusters?hx_cluster={quote(HX_EAST)}", token=walk.token)
    check_list(listed, "viewer-east", EAST)


def list_viewer_dc(walk: Walk) -> None:
    listed = walk.curl.ok(200, "GET", f"/v2/clusters?hx_cluster={quote(HX_EAST)}", token=sign_in(walk))
    check_list(listed, "viewer-dc", EAST)


def list_no_rights(walk: Walk) -> None:
    token = sign_in(walk)
    refused = walk.curl.ok(404, "GET", f"/v2/clusters?hx_cluster={quote(HX_EAST)}", token=token)
    unknown = walk.curl.ok(404, "GET", "/v2/clusters?hx_cluster=HX-Nowhere", token=token)
    must(refused.jq("[.code, .title]") == unknown.jq("[.code, .title]"), "an invisible HX cluster can be told from an unknown one")
    must(walk.curl.ok(200, "GET", "/v2/clusters", token=token).jq(".items") == [], "no-rights sees clusters")


def list_admin(walk: Walk) -> None:
    """Two HX clusters bear the name, and the administrator sees both: told as ambiguous, then asked by id."""
    ambiguous = walk.curl.ok(409, "GET", f"/v2/clusters?hx_cluster={quote(HX_EAST)}", token=walk.admin_token)
    ids = {candidate["path"]: candidate["id"] for candidate in ambiguous.jq(".candidates")}
    must(EAST in ids and len(ids) == 2, f"candidates {sorted(ids)}")
    check_list(walk.curl.ok(200, "GET", f"/v2/clusters?hx_cluster_id={ids[EAST]}", token=walk.admin_token), "admin", EAST)


def page(walk: Walk) -> None:
    """A person signs in at the page with the vCenter account and sees the same list."""
    viewer = walk.user("viewer-east")
    shot = Path(walk.scratch.path / "page.png")
    with browser.page(walk.scratch.path / "chromium") as opened:
        browser.sign_in(opened, walk.kaasd.url, viewer.login, viewer.password, walk.vcenter.address)
        try:
            browser.wait_for_clusters(opened, visible_to("viewer-east"))
        finally:
            opened.screenshot(path=str(shot))
        shown = [sample.name for sample in SAMPLES if browser.shows(opened, sample.name)]
    must(sorted(shown) == visible_to("viewer-east"), f"the page shows {shown} to viewer-east")
    must(shot.stat().st_size > 5000, "the screenshot is empty")


def logout(walk: Walk) -> None:
    walk.curl.ok(204, "POST", "/v2/logout", token=walk.token)
    ended = walk.curl.ok(401, "GET", "/v2/whoami", token=walk.token)
    must(ended.jq(".code") == "session_ended", f"after the logout: {ended.body[:200]}")


def prepare_backup(walk: Walk) -> None:
    """A backup, and the master key in another place; then the host is lost, and the database."""
    walk.key = walk.scratch.path / "master.key.copy"
    shutil.copy2(walk.kaasd.folder / "master.key", walk.key)
    walk.backup = Path(walk.kaasd.ctl.json("backup", f"{walk.scratch.path}/backups/")["path"])
    walk.kaasd.stop()
    walk.db.query("DROP DATABASE kaas")
    walk.db.query("DROP USER kaas@localhost, kaas_owner@localhost")
    walk.kaasd.lose_host()


def restore(walk: Walk) -> None:
    """From the file and the key alone: the same list, the login at the vCenter, an unbroken audit log."""
    walk.kaasd.ctl.ok("restore", str(walk.backup), "--master-key", str(walk.key), "--database-admin", "root",
                      "--also", str(walk.kaasd.tls.cert_file.parent))
    walk.kaasd.start()
    body = {"username": "admin", "password": walk.kaasd.admin_password}
    walk.admin_token = walk.curl.ok(200, "POST", "/v2/login/password", body=body).jq(".access_token")
    names = walk.curl.ok(200, "GET", "/v2/clusters", token=walk.admin_token).jq("[.items[].name]")
    must(names == visible_to("admin"), f"after the restore the administrator sees {names}")
    path = f"/v2/vcenters/{walk.vcenter.instance_uuid}/status"
    until(lambda: walk.curl.ok(200, "GET", path, token=walk.admin_token).jq(".state") == "connected", "the login at the vCenter")
    walk.kaasd.ctl.ok("audit", "verify")


EVENT_LIMIT_S = 15.0


def vcenter_event(walk: Walk) -> None:
    """A Kubernetes cluster that is degraded is told of in the event history of its vSphere cluster, as govc reads it, and in no other's."""
    listed = walk.curl.ok(200, "GET", "/v2/clusters", token=walk.admin_token)
    known = listed.jq('.items[] | select(.name == "prod-1").id')
    reason = "one worker is away"
    walk.curl.ok(200, "PUT", f"/v2/clusters/{known}/status", body={"state": "degraded", "reason": reason}, token=walk.admin_token)
    told = f"Kubernetes cluster prod-1 is degraded: {reason}"

    def history(of: str) -> str:
        return vimclient.run_govc(walk.vcenter, "events", "-n", "100", of)

    until(lambda: told in history("/DC0/host/HX-East"), "the event at HX-East", EVENT_LIMIT_S)
    must(told not in history("/DC0/host/HX-West"), "the event is at HX-West, too")


def unregister(walk: Walk) -> None:
    walk.kaasd.ctl.ok("vcenter", "unregister", walk.vcenter.address, "--user", walk.vcenter.admin.login, "--password-file", "-",
                      "--yes", stdin=walk.unregister_password + "\n")
    left = walk.vcenter.control.extensions()
    must(EXTENSION_KEY not in left, "our record is still there")
    must("com.springpath.sysmgmt.domain-c7" in left, "a record of HX is gone")


def stop(walk: Walk) -> None:
    """The daemon ends cleanly and has logged out of the vCenter."""
    walk.kaasd.stop()
    ours = [s["user_name"] for s in walk.vcenter.control.sessions() if EXTENSION_KEY in s["user_name"]]
    must(not ours, f"sessions left at the vCenter: {ours}")


# name, what happens before (the world's part, e.g. a person signs in at the vCenter), the step itself
STEPS: Steps = (
    ("setup", None, setup),
    ("world", world, world_answers),
    ("init", None, init),
    ("check-config", None, check_config),
    ("start", None, start),
    ("vcenter-add", None, vcenter_add),
    ("vcenter-register", None, vcenter_register),
    ("extension-readback", None, extension_readback),
    ("vcenter-status", None, vcenter_status),
    ("cluster-add", None, cluster_add),
    ("login-session-id", begin_session_of("viewer-east"), login_session_id),
    ("login-clone-ticket", prepare_ticket, login_clone_ticket),
    ("list-viewer-east", None, list_viewer_east),
    ("list-viewer-dc", begin_session_of("viewer-dc"), list_viewer_dc),
    ("list-no-rights", begin_session_of("no-rights"), list_no_rights),
    ("list-admin", None, list_admin),
    ("page", None, page),
    ("vcenter-event", None, vcenter_event),
    ("logout", None, logout),
    ("backup-restore", prepare_backup, restore),
    ("unregister", None, unregister),
    ("stop", None, stop),
)


def with_more(steps: Steps, after: Mapping[str, Steps]) -> Steps:
    """The steps, with further ones behind those of these names."""
    return tuple(step for one in steps for step in (one, *after.get(one[0], ())))
