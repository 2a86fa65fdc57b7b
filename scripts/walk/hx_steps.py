"""The steps of the walk in other products' pages: HX Connect finds kaasd by the vCenter, and shows the panel without a password; so does
the vSphere Client."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

from env import browser, hx_client, vimclient
from env.certs import make_server_cert
from env.client_certs import ClientCa
from env.full import EXTENSION_KEY
from env.hx_controller import HxController
from env.prefixproxy import PrefixProxy
from env.samples import EAST, FAR, WEST, visible_to
from hx import HostPage, HxConnect
from hx.cluster import TIB
from hx.registration import Record
from playwright.sync_api import Page

from .steps import HX_EAST, MACHINE, VIEWER, WHOLE, Steps, Walk, deaf_threads, must, with_more

PERSON = f"VSPHERE.LOCAL\\{VIEWER}"  # who is signed in at HX Connect
HX_SESSION = "com.springpath.sysmgmt.domain-c7"  # of HX's own extension, which it has at the vCenter anyway
EAST_MOREF = "domain-c7"
PANEL_SHOT, TAB_SHOT = "panel.png", "tab.png"


def start_hx(walk: Walk) -> None:
    """HX Connect of each HX cluster, with a user for kaasd; that of HX-East with a page, and a client certificate for its service."""
    cert = make_server_cert(walk.scratch.path / "hx")
    walk.hx_password = "S3cret of HX"
    for n, place in enumerate((EAST, WEST, FAR)):
        datacenter, name = place.split("/")
        hx = HxConnect(cert.cert_file, cert.key_file, name, f"900418363611422753{n}:5445300663653806560", datacenter, name,
                       port=0 if n else walk.ports.hx)
        hx.accounts["admin"] = walk.hx_password
        walk.hx_of[place] = hx
    walk.hx_of[WEST].set(resiliency="WARNING", messages=["Storage node hx-west-3 is not reachable"], nodes_online=3, used=34 * TIB)
    walk.hx = walk.hx_of[EAST]
    walk.hx_sha256 = cert.sha256
    walk.hx_shown = ClientCa(walk.scratch.path / "hx-ca").issue("hx-east")
    walk.host = HostPage(f"{walk.kaasd.url}/ui/panel?hx_cluster={HX_EAST}", lambda: ask_code(walk), PERSON)
    walk.hx.page = walk.host
    walk.hx.registrations.find_record = lambda: record_of_us(walk)
    walk.hx.registrations.demand("callback")
    with deaf_threads():
        for hx in walk.hx_of.values():
            walk.stack.enter_context(hx)


def hx_connect(walk: Walk) -> None:
    """kaasctl hx connect, and service add: kaasd reads HX Connect, and its service may act for the people at its page."""
    ctl = walk.kaasd.ctl
    for place, hx in walk.hx_of.items():
        ctl.ok("hx", "connect", place, "--address", "127.0.0.1", "--port", str(hx.port), "--sha256", walk.hx_sha256, "--password-file", "-",
               stdin=walk.hx_password + "\n")
        told = ctl.json("hx", "test", place)["status"]
        name = told["facts"] and told["facts"]["name"]
        must((told["state"], name) == ("ok", hx.cluster.name), f"kaasd cannot read HX Connect of {place}: {told}")
    ctl.ok("service", "add", "hx-east", "--hx-cluster", EAST, "--may-delegate", "--certificate", str(walk.hx_shown.cert_file))


def record_of_us(walk: Walk) -> Record | None:
    """What the vCenter of HX says of KaaS now."""
    record = vimclient.read_extension(walk.vcenter, EXTENSION_KEY)
    entry = next((server for server in record.server if server.type == "KAAS_API"), None) if record else None
    return Record(walk.vcenter.instance_uuid, EXTENSION_KEY, entry.url, entry.serverThumbprint) if entry else None


def publish(walk: Walk) -> None:
    """kaasctl hx publish: HX asks back at the address and under the certificate of vCenter's record, and knows then where the panel is."""
    told = walk.kaasd.ctl.json("hx", "publish", EAST)
    must(told["state"] == "published", f"HX Connect was not told where KaaS is: {told['state']}: {told['detail']}")
    kept = walk.hx.registrations.kept or {}
    must(kept.get("nonce") in walk.hx.registrations.asked_back, "HX Connect did not ask back")
    walk.host.panel = f"{kept['panel_url']}?hx_cluster={HX_EAST}"


def hx_session(walk: Walk) -> str:
    return walk.vcenter.control.login_extension(HX_SESSION)["cookie"]


def hx_client_finds_us(walk: Walk) -> None:
    """examples/hx-client, which knows the vCenter only: the list as a person, and a code as the service of HX."""
    viewer = walk.user(VIEWER)
    listed = hx_client.ask(walk.vcenter, viewer.password, "--user", viewer.login, HX_EAST)
    must(listed.returncode == 0, listed.stderr)
    names = hx_client.names(listed.stdout)
    must(names == visible_to(VIEWER, EAST), f"{VIEWER} sees {names}")
    asked = hx_client.ask(walk.vcenter, hx_session(walk), "--code-for", PERSON, walk.hx.url, *walk.hx_shown.pair,
                          "--service-port", str(walk.service_port), HX_EAST)
    must(asked.returncode == 0, asked.stderr)
    given = json.loads(asked.stdout)
    token = walk.curl.ok(200, "POST", "/v2/login/code", body={"code": given["code"], "origin": walk.hx.url}).jq(".access_token")
    who = walk.curl.ok(200, "GET", "/v2/whoami", token=token)
    must(who.jq("[.name, .acting_service.name]") == [PERSON, "hx-east"], f"signed in as {who.body[:300]}")


def ask_code(walk: Walk) -> dict[str, str]:
    """What the server of HX's page does when the panel asks who is there. At once: the panel waits for two seconds."""
    controller = HxController(f"https://127.0.0.1:{walk.service_port}", walk.kaasd.tls.ca_file, walk.hx_shown)
    person = {"vcenter": walk.vcenter.instance_uuid, "user_name": PERSON}
    answer = controller.ask("/v2/login/service", {"on_behalf_of": person, "hand_over": "code", "hx_cluster": EAST})
    must(answer.status_code == 200, f"no code for the page of HX Connect: {answer.text[:300]}")
    return {"code": answer.json()["code"]}


def panel_hx(walk: Walk) -> None:
    """Somebody opens HX Connect, sees the Kubernetes clusters of this HX cluster without a password, and goes on to a virtual machine."""
    with browser.page(walk.scratch.path / "chromium-hx") as opened:
        opened.goto(f"{walk.hx.url}/#/kubernetes")
        try:
            look_at_panel(walk, opened)
        finally:
            opened.screenshot(path=str(walk.scratch.path / PANEL_SHOT))
    must(not walk.host.violations, f"the panel breaks its contract: {walk.host.violations}")


def look_at_panel(walk: Walk, opened: Page) -> None:
    """The panel, and once more after another page of HX Connect, which has made a new frame for it."""
    see_panel(walk, opened, visit=1)
    opened.get_by_role("link", name="Dashboard").click()
    opened.locator("iframe").wait_for(state="detached")
    opened.get_by_role("link", name="Kubernetes").click()
    see_panel(walk, opened, visit=2)
    go_to_machine(walk, opened)


def see_panel(walk: Walk, opened: Page, visit: int) -> None:
    panel = opened.frame_locator("iframe[title=Kubernetes]")
    rows, form = panel.locator("kaas-cluster-table tbody th a"), panel.get_by_label("Password")
    rows.or_(form).first.wait_for()
    must(not form.is_visible(), "the panel asks for a password")
    must(walk.host.asked == visit, f"HX Connect handed over {walk.host.asked} times in {visit} visits")
    names = rows.all_text_contents()
    must(sorted(names) == visible_to(VIEWER, EAST), f"the panel shows {names} to {VIEWER}")


def go_to_machine(walk: Walk, opened: Page) -> None:
    panel = opened.frame_locator("iframe[title=Kubernetes]")
    panel.locator("kaas-cluster-table tbody th a").get_by_text(WHOLE, exact=True).click()
    panel.get_by_role("navigation", name="Details of the cluster").get_by_role("link", name="Nodes").click()
    with opened.context.expect_page() as client:
        panel.get_by_role("link", name=f"{MACHINE} opens in the vSphere Client").click()
    client.value.wait_for_load_state()
    where = client.value.url
    must(client.value.get_by_role("heading", name=MACHINE, exact=True).is_visible() and where.startswith(f"https://{walk.vcenter.address}/ui/"),
         f"the virtual machine {MACHINE} is said to be at {where}")


def start_client(walk: Walk) -> None:
    """The vSphere Client of somebody who is signed in there, at the Monitor tab of HX-East."""
    plugin = walk.vcenter.control.await_plugin(EXTENSION_KEY)
    must(plugin["state"] == "deployed", f"vCenter does not take the plug-in: {plugin.get('reason')}")
    cert = make_server_cert(walk.scratch.path / "client")
    client = PrefixProxy(walk.kaasd.url, walk.kaasd.tls.ca_file, cert, EXTENSION_KEY, plugin["version"], walk.ports.client)
    client.frame = f"{client.prefix}/plugin/vsphere.html"
    client.state["objects"] = [f"urn:vmomi:ClusterComputeResource:{EAST_MOREF}:{walk.vcenter.instance_uuid}"]
    client.state["vcenters"] = [walk.vcenter.instance_uuid]
    client.session = lambda: walk.vcenter.control.plugin_token(walk.user(VIEWER).login)
    walk.client = client
    with deaf_threads():
        walk.stack.enter_context(client)


def panel_vsphere(walk: Walk) -> None:
    """Somebody opens the Monitor tab of a vSphere cluster, sees what runs on it without a password, and goes on to a virtual machine."""
    with browser.page(walk.scratch.path / "chromium-client") as opened:
        opened.goto(f"{walk.client.url}/ui/")
        try:
            look_at_tab(walk, opened)
        finally:
            opened.screenshot(path=str(walk.scratch.path / TAB_SHOT))


def look_at_tab(walk: Walk, opened: Page) -> None:
    tab = opened.frame_locator("iframe")
    rows, form = tab.locator("kaas-cluster-table tbody th a"), tab.get_by_label("Password")
    rows.or_(form).first.wait_for()
    must(not form.is_visible(), "the plug-in asks for a password")
    names = rows.all_text_contents()
    must(sorted(names) == visible_to(VIEWER, EAST), f"the tab shows {names} to {VIEWER}")
    rows.get_by_text(WHOLE, exact=True).click()
    tab.get_by_role("navigation", name="Details of the cluster").get_by_role("link", name="Nodes").click()
    tab.get_by_role("link", name=f"{MACHINE} opens in the vSphere Client").click()
    calls = opened.frames[1].evaluate("window.client.calls")
    must([call[:2] for call in calls][-1] == ["navigateToClientView", "vm.summary"], f"the client was asked for {calls}")


# after the step of this name
AFTER: dict[str, Steps] = {
    "page": (("hx-connect", start_hx, hx_connect), ("publish", None, publish), ("hx-client", None, hx_client_finds_us),
             ("panel-hx", None, panel_hx), ("panel-vsphere", start_client, panel_vsphere))}


def with_hx(steps: Steps) -> Steps:
    return with_more(steps, AFTER)
