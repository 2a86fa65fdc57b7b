"""The plug-in for the vSphere Client: its manifest as vCenter checks it, and its page behind vCenter's proxy in a real browser."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
import requests
from env import browser, vimclient
from env.certs import make_server_cert
from env.full import EXTENSION_KEY, World, add_vcenter, register
from env.kaasd import Kaasd
from env.many import Many
from env.mariadb import Mariadb
from env.places import TOP, Scratch
from env.prefixproxy import PrefixProxy
from env.vcenter import StrictVcenter
from env.watching import add_cluster, metric, nodes, until, until_watching
from playwright.sync_api import Page
from pyVmomi import vim

pytestmark = pytest.mark.slow
PATH = "/plugin/plugin.json"
Json = dict[str, Any]


def fetch(kaasd: Kaasd, path: str = PATH, **more: Any) -> requests.Response:
    """As vCenter does: no session, no header of ours."""
    return requests.get(kaasd.url + path, verify=str(kaasd.tls.ca_file), timeout=30, **more)


@pytest.fixture(scope="module")
def manifest(world: World) -> Json:
    return fetch(world.kaasd).json()


def views(manifest: Json) -> list[Json]:
    return [manifest["global"]["view"], *manifest["objects"]["ClusterComputeResource"]["monitor"]["views"]]


# -- the manifest -----------------------------------------------------------------------------------------------------------


def test_everybody_may_read_it_and_it_keeps_the_contract(world: World, manifest: Json) -> None:
    answer = world.kaasd.api().call("GET", PATH)
    assert answer.json() == manifest
    assert answer.headers["Content-Type"] == "application/json"
    assert fetch(world.kaasd, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304


def test_only_members_of_the_published_schema_are_used(manifest: Json) -> None:
    assert set(manifest) == {"manifestVersion", "requirements", "configuration", "global", "objects", "definitions"}
    assert manifest["manifestVersion"] in ("1.0.0", "1.0.1", "1.1.0", "1.2.0")
    assert set(manifest["requirements"]) == {"plugin.api.version", "plugin.dynamic.extensions", "vcenter.server"}
    assert set(manifest["requirements"]["vcenter.server"]["environments"]) <= {"onprem", "cloud", "gateway"}
    for view in views(manifest):
        assert set(view) <= {"navigationId", "labelKey", "uri", "navigationVisible", "dynamic"}
    ids = [view["navigationId"] for view in views(manifest)]
    assert len(set(ids)) == len(ids)


def test_every_key_has_a_text_in_every_locale(manifest: Json) -> None:
    texts = manifest["definitions"]["i18n"]
    assert all(re.fullmatch("[a-z]{2}-[A-Z]{2}", locale) for locale in texts["locales"])
    used = {manifest["configuration"]["nameKey"], *(view["labelKey"] for view in views(manifest) if "labelKey" in view)}
    assert used == set(texts["definitions"])
    assert all(set(text) == set(texts["locales"]) and all(text.values()) for text in texts["definitions"].values())
    assert texts["definitions"]["view.clusters"] == {"en-US": "Kubernetes clusters", "de-DE": "Kubernetes-Cluster"}


def test_what_it_names_is_there_beside_it(world: World, manifest: Json) -> None:
    sheet = manifest["definitions"]["iconSpriteSheet"]
    assert manifest["configuration"]["icon"]["name"] in sheet["definitions"]
    for uri in {view["uri"] for view in views(manifest)} | {sheet["uri"]}:
        assert not uri.startswith(("/", "http"))
        assert fetch(world.kaasd, urljoin(PATH, uri)).status_code == 200
    icons = fetch(world.kaasd, urljoin(PATH, sheet["uri"]))
    assert icons.headers["Content-Type"] == "image/png"
    # kept for ever by browsers, so that another drawing needs another name
    assert re.fullmatch(r"plugin-icons-[\w-]{8}\.png", sheet["uri"])
    assert all("immutable" in fetch(world.kaasd, f"/{folder}/{sheet['uri']}").headers["Cache-Control"] for folder in ("ui", "plugin"))
    width, height = struct.unpack(">II", icons.content[16:24])
    assert all(at["x"] + 32 <= width and at["y"] + 32 <= height for at in sheet["definitions"].values())


def test_the_page_may_be_framed_by_its_own_origin_only(world: World) -> None:
    inside, outside = fetch(world.kaasd, "/plugin/vsphere.html"), fetch(world.kaasd, "/ui/vsphere.html")
    assert "frame-ancestors 'self'" in inside.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in outside.headers["Content-Security-Policy"]
    assert inside.content == outside.content
    assert "Strict-Transport-Security" not in inside.headers
    assert {page.headers["Cache-Control"] for page in (inside, outside)} == {"no-cache"}
    assert fetch(world.kaasd, "/plugin/none.js").status_code == 404


def test_the_bare_address_leads_to_the_page(world: World) -> None:
    answer = world.kaasd.api().call("GET", "/")
    assert (answer.status_code, answer.headers["Location"], answer.content) == (302, "/ui/", b"")
    assert fetch(world.kaasd, "/").content == fetch(world.kaasd, "/ui/").content


# -- record and version -----------------------------------------------------------------------------------------------------


def test_the_record_leads_to_the_manifest(world: World, manifest: Json) -> None:
    record = vimclient.read_extension(world.vcenter, EXTENSION_KEY)
    assert record is not None
    (client,) = record.client
    server = record.server[0]
    assert (client.type, server.type, client.url) == ("vsphere-client-remote", "MANIFEST_SERVER", server.url)
    assert client.version == record.version
    assert re.fullmatch(r"\d+(\.\d+){1,3}", record.version)
    assert server.serverThumbprint == world.kaasd.tls.sha256
    assert requests.get(client.url, verify=str(world.kaasd.tls.ca_file), timeout=30).json() == manifest


def test_the_vcenter_finds_nothing_wrong_with_it(world: World, manifest: Json) -> None:
    """It fetches by the trust of the record, checks the schema, and passes pages and calls on."""
    plugin = world.vcenter.control.await_plugin(EXTENSION_KEY)
    assert plugin["state"] == "deployed", plugin.get("reason")
    base = f"https://{world.vcenter.address}/plugins/{EXTENSION_KEY}~{plugin['version']}/"
    trust = str(world.vcenter.ca_file)
    for view in views(manifest):
        assert requests.get(base + view["uri"], verify=trust, timeout=30).content == fetch(world.kaasd, f"/ui/{view['uri']}").content


def with_page(scratch: Scratch, name: str, change: str = "") -> Path:
    folder = scratch.path / name
    shutil.copytree(TOP / "ui-plugin/dist", folder)
    if change:
        (folder / "index.html").write_text((folder / "index.html").read_text() + change)
    return folder


def version_at(vcenter: StrictVcenter) -> str:
    record = vimclient.read_extension(vcenter, EXTENSION_KEY)
    assert record is not None
    return record.version


def test_another_page_is_another_version(scratch: Scratch, fresh_db: Mariadb, fresh_vcenter: StrictVcenter) -> None:
    """vCenter keeps what it fetched until the version of the record changes."""
    kaasd = Kaasd(scratch, fresh_db.socket, options={"server": {"page_dir": str(with_page(scratch, "one"))}})
    kaasd.init()
    kaasd.start()
    try:
        add_vcenter(kaasd, fresh_vcenter)
        register(kaasd, fresh_vcenter)
        first = version_at(fresh_vcenter)
        kaasd.stop()
        kaasd.start()
        assert version_at(fresh_vcenter) == first
        kaasd.stop()
        kaasd.write_config({"server": {"page_dir": str(with_page(scratch, "two", "<!-- other -->"))}})
        kaasd.start()
        assert kaasd.process
        kaasd.process.wait_until(lambda: version_at(fresh_vcenter) != first, "another version in the record")
    finally:
        kaasd.stop()


def test_without_a_page_there_is_no_plugin(scratch: Scratch, fresh_db: Mariadb, fresh_vcenter: StrictVcenter) -> None:
    empty = scratch.path / "none"
    empty.mkdir()
    kaasd = Kaasd(scratch, fresh_db.socket, options={"server": {"page_dir": str(empty)}})
    kaasd.init()
    kaasd.start()
    try:
        assert fetch(kaasd).status_code == 404
        kaasd.api().refused(404, "not_found", "GET", "/")
        add_vcenter(kaasd, fresh_vcenter)
        register(kaasd, fresh_vcenter)
        record = vimclient.read_extension(fresh_vcenter, EXTENSION_KEY)
        assert record is not None
        assert ([server.type for server in record.server], list(record.client)) == (["KAAS_API"], [])
    finally:
        kaasd.stop()


# -- who fetched it -----------------------------------------------------------------------------------------------------------


def manifest_finding(world: World) -> Json:
    report = world.admin.expect(200, "POST", f"/v2/vcenters/{world.vcenter.instance_uuid}/doctor")
    return next(found for found in report["findings"] if found["step"] == "manifest")


def test_a_fetch_by_the_vcenter_is_remembered_over_a_restart(fresh_world: World) -> None:
    fresh_world.join()
    fresh_world.vcenter.control.await_plugin(EXTENSION_KEY)
    before = manifest_finding(fresh_world)
    assert (before["status"], before["finding"].split()[0]) == ("ok", "127.0.0.1")
    fresh_world.kaasd.stop()
    fresh_world.kaasd.start()
    assert manifest_finding(fresh_world)["finding"] == before["finding"]


# -- in the vSphere Client ------------------------------------------------------------------------------------------------------


MACHINES = {False: "50010000-0000-4000-8000-000000000101", True: "50010000-0000-4000-8000-000000000102"}
CLUSTER = "urn:vmomi:ClusterComputeResource:{}:{}"


@pytest.fixture
def client(world: World, scratch: Scratch, manifest: Json) -> Iterator[PrefixProxy]:
    """The vSphere Client of somebody who may view a datacenter, at the Monitor tab of HX-East."""
    version = version_at(world.vcenter)
    with PrefixProxy(world.kaasd.url, world.kaasd.tls.ca_file, make_server_cert(scratch.path / "front"), EXTENSION_KEY, version) as proxy:
        uri = manifest["objects"]["ClusterComputeResource"]["monitor"]["views"][0]["uri"]
        proxy.frame = urljoin(proxy.prefix + PATH, uri)
        proxy.session = lambda: world.vcenter.control.plugin_token("viewer-dc@vsphere.local")
        proxy.state["objects"] = [CLUSTER.format("domain-c7", world.vcenter.instance_uuid)]
        proxy.state["vcenters"] = [world.vcenter.instance_uuid]
        yield proxy


@contextmanager
def opened(client: PrefixProxy, scratch: Scratch, **more: Any) -> Iterator[Page]:
    """The view in the client's frame; in the end nothing was wrong in it."""
    errors: list[str] = []
    with browser.page(scratch.path / "profile", **more) as page:
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{client.url}/ui/")
        yield page
        calls = page.frames[1].evaluate("window.client.calls")
    assert [call for call in calls if call[0] == "violation"] == []
    assert [error for error in errors if "Failed to load resource" not in error] == []


def picture(page: Page, name: str) -> None:
    if "KAAS_SHOTS" in os.environ:
        page.screenshot(path=str(Path(os.environ["KAAS_SHOTS"]) / f"{name}.png"))


def rows(page: Page) -> list[str]:
    """The names in the list, once there are some."""
    page.frame_locator("iframe").locator("kaas-cluster-table tbody tr").first.wait_for()
    return page.frame_locator("iframe").locator("kaas-cluster-table tbody th a").all_text_contents()


def on_vsphere(world: World, moref: str) -> list[str]:
    return world.admin.names(vcenter=world.vcenter.instance_uuid, vsphere_cluster=moref, sort="-state")  # as the page asks first


def test_the_tab_of_a_vsphere_cluster_lists_that_one_without_a_form(world: World, client: PrefixProxy, scratch: Scratch) -> None:
    with opened(client, scratch) as page:
        frame = page.frame_locator("iframe")
        assert rows(page) == on_vsphere(world, "domain-c7") != world.admin.names()
        assert (frame.locator("kaas-header").count(), frame.locator("kaas-toolbar select").count()) == (0, 0)
        picture(page, "panel-vsphere")
    assert all(seen.split()[1].startswith((client.prefix + "/", "/ui/", "/favicon", "/api/ui/", "/stub/")) for seen in client.seen)
    assert not [seen for seen in client.seen if "/login/password" in seen]
    assert any(f"{client.prefix}/v2/login/vcenter" in seen for seen in client.seen)


def test_the_global_view_lists_all_with_its_views_and_no_person(world: World, client: PrefixProxy, scratch: Scratch) -> None:
    client.state["objects"] = []
    with opened(client, scratch) as page:
        assert set(rows(page)) == set(world.sign_in("viewer-dc").names())
        header = page.frame_locator("iframe").locator("kaas-header")
        assert (header.locator("nav a").count(), header.locator(".who, .brand, .window").count()) == (2, 0)


def test_a_session_that_ends_begins_anew_without_a_form(world: World, client: PrefixProxy, scratch: Scratch) -> None:
    with opened(client, scratch) as page:
        rows(page)
        page.frames[1].evaluate("() => { const real = Date.now; Date.now = () => real() + 60_000; }")  # not at once after the sign-on
        before = client.asked
        with page.expect_response(lambda answer: answer.url.endswith("/v2/login/vcenter") and answer.status == 200):
            for row in world.admin.items("/v2/sessions", principal="VSPHERE.LOCAL\\viewer-dc"):
                world.admin.expect(204, "DELETE", f"/v2/sessions/{row['id']}")
        assert rows(page) == on_vsphere(world, "domain-c7")
        assert client.asked > before


@pytest.mark.parametrize("is_back", [True, False])
def test_the_clients_own_session_may_end_at_the_vcenter(world: World, client: PrefixProxy, scratch: Scratch, is_back: bool) -> None:
    """Ours goes on without it. When that ends as well, a new one of the client is taken, or it is said that there is none."""
    control, user = world.vcenter.control, "viewer-dc@vsphere.local"
    tokens = [control.call("POST", "/plugin-token", {"user": user}) for _ in range(2)]
    client.session = lambda: tokens[0]["token"]
    until_watching(world)
    with opened(client, scratch) as page:
        rows(page)
        page.frames[1].evaluate("() => { const real = Date.now; Date.now = () => real() + 60_000; }")  # not at once after the sign-on
        before = metric(world.admin, "kaas_watch_permissions_total")
        with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
            instance.RetrieveContent().sessionManager.TerminateSession([tokens[0]["session_key"]])
        until(lambda: metric(world.admin, "kaas_watch_permissions_total") > before, "the event")
        with page.expect_response(lambda answer: "/v2/clusters?" in answer.url and "limit=50" in answer.url) as answer:
            page.frames[1].evaluate("window.client.fire('refresh')")
        assert answer.value.status in (200, 304) and client.asked == 1, answer.value.status
        if is_back:
            client.session = lambda: tokens[1]["token"]
        with page.expect_response(lambda answer: "/v2/login/vcenter" in answer.url and answer.status == (200 if is_back else 401)):
            for row in world.admin.items("/v2/sessions", principal="VSPHERE.LOCAL\\viewer-dc"):
                world.admin.expect(204, "DELETE", f"/v2/sessions/{row['id']}")
        frame = page.frame_locator("iframe")
        if not is_back:
            frame.get_by_text("Reload the vSphere Client and sign in there.").wait_for()
            assert frame.locator("input[name=password]").count() == 0
            client.session = lambda: tokens[1]["token"]
            page.reload()
        assert rows(page) == on_vsphere(world, "domain-c7")
        assert not [seen for seen in client.seen if "/login/password" in seen]


def test_theme_language_and_refresh_are_the_clients(world: World, client: PrefixProxy, scratch: Scratch) -> None:
    client.state |= {"theme": "dark", "locale": "de-DE"}
    with opened(client, scratch) as page:
        rows(page)
        inside = page.frames[1]
        look = "[document.documentElement.dataset.theme, document.documentElement.lang]"
        assert inside.evaluate(look) == ["dark", "de-DE"]
        inside.evaluate("window.client.fire('theme', {name: 'light'})")
        assert inside.evaluate(look) == ["light", "de-DE"]
        with page.expect_response(lambda answer: "/v2/clusters?" in answer.url and "limit=50" in answer.url):
            inside.evaluate("window.client.fire('refresh')")


def open_machine(page: Page, cluster: str) -> None:
    """Follows the link of the first node of a cluster in the list."""
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name=cluster, exact=True).click()
    frame.get_by_role("link", name="Nodes").click()
    frame.locator("kaas-node-table a.machine").first.click()


@pytest.mark.parametrize("is_old", [False, True])
def test_a_machine_is_shown_by_the_client_itself(world: World, client: PrefixProxy, scratch: Scratch, is_old: bool) -> None:
    client.state["without"] = ["app.navigateToClientView", "app.getTheme", "event.onThemeChanged"] if is_old else []
    uuid = world.vcenter.instance_uuid
    name = f"with-machine-{is_old}".lower()
    known = add_cluster(world, name, [{"name": "cp-0", "role": "control_plane", "vm_instance_uuid": MACHINES[is_old]}])
    until(lambda: all(node["vm"] for node in nodes(world, known).values()), "the machine of the node")
    moref = nodes(world, known)["cp-0"]["vm"]["moref"]
    with opened(client, scratch) as page:
        rows(page)
        open_machine(page, name)
        urn = f"urn:vmomi:VirtualMachine:{moref}:{uuid}"
        wanted = ["navigateTo", urn] if is_old else ["navigateToClientView", "vm.summary", urn]
        until(lambda: wanted in page.frames[1].evaluate("window.client.calls"), "the way to the machine")
        assert len(page.context.pages) == 2  # the empty first one and this; no further tab


# -- cards, and where there are none --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def machines(world: World) -> dict[str, Any]:
    """A cluster of three nodes that are virtual machines of the vCenter, by their names."""
    uuids = {name: f"50010000-0000-4000-8000-00000000{number}" for number, name in enumerate(("cp-0", "cp-1", "w-0"), 7101)}
    for name, uuid in uuids.items():
        world.vcenter.control.create_machines("domain-c7", f"card-{name}", instance_uuid=uuid)
    roles = {"cp": "control_plane", "w-": "worker"}
    known = add_cluster(world, "carded", [
        {"name": name, "role": roles[name[:2]], "vm_instance_uuid": uuid} for name, uuid in uuids.items()])
    until(lambda: all(node["vm"] for node in nodes(world, known).values()), "the machines of the nodes")
    return nodes(world, known)


def card(client: PrefixProxy, scratch: Scratch, world: World, kind: str, moref: str) -> list[str]:
    client.state["objects"] = [f"urn:vmomi:{kind}:{moref}:{world.vcenter.instance_uuid}"]
    with opened(client, scratch) as page:
        lines = page.frame_locator("iframe").locator("kaas-card li, kaas-card p")
        lines.first.wait_for()
        picture(page, f"card-{kind}-{moref}")
        return [line.strip() for line in lines.locator("bdi").all_inner_texts()] or lines.all_inner_texts()


def test_the_card_of_a_machine_says_which_node_it_is(world: World, client: PrefixProxy, scratch: Scratch, machines: Json) -> None:
    assert card(client, scratch, world, "VirtualMachine", machines["cp-1"]["vm"]["moref"]) == ["Control plane 2 of 2 of carded"]
    assert card(client, scratch, world, "VirtualMachine", "vm-999") == ["No node of a Kubernetes cluster that you may see."]


def test_the_card_of_a_host_says_what_runs_there(world: World, client: PrefixProxy, scratch: Scratch, machines: Json) -> None:
    host = machines["w-0"]["host"]["moref"]
    told = card(client, scratch, world, "HostSystem", host)
    assert any(line.startswith("carded: ") for line in told), told


@pytest.fixture(scope="module")
def datacenter(world: World) -> str:
    """Managed object id of the one that all of the world lies in, as vCenter has it."""
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        return next(moref for moref, row in vimclient.read_all(instance, vim.Datacenter, "name").items() if row["name"] == "DC0")


def test_the_card_of_a_datacenter_counts_what_runs_there(world: World, client: PrefixProxy, scratch: Scratch, datacenter: str) -> None:
    where = {"vcenter": world.vcenter.instance_uuid, "datacenter": datacenter}
    counts = world.sign_in("viewer-dc").expect(200, "GET", "/v2/clusters/counts", params=where)
    told = card(client, scratch, world, "Datacenter", datacenter)
    assert sum(int(line.split()[0]) for line in told) == counts["total"] > 0
    assert card(client, scratch, world, "Datacenter", "datacenter-999") == ["No Kubernetes cluster that you may see."]


def test_clusters_are_found_by_datacenter_as_far_as_one_may_see_them(world: World, datacenter: str) -> None:
    uuid = world.vcenter.instance_uuid
    lies_there = {item["moref"] for item in world.admin.items(f"/v2/vcenters/{uuid}/vsphere-clusters") if item["datacenter"] == "DC0"}
    wanted = {cluster["id"] for cluster in world.admin.items("/v2/clusters") for placed in cluster["placement"]["vsphere_clusters"]
              if placed["vcenter_id"] == uuid and placed["moref"] in lies_there}
    for reference in (datacenter, "DC0"):
        assert {cluster["id"] for cluster in world.admin.items("/v2/clusters", vcenter=uuid, datacenter=reference)} == wanted != set()
    for api in (world.admin, world.sign_in("no-rights")):
        api.refused(404, "not_found", "GET", "/v2/clusters", params={"vcenter": uuid, "datacenter": "DC-none"})
    world.sign_in("no-rights").refused(404, "not_found", "GET", "/v2/clusters", params={"vcenter": uuid, "datacenter": datacenter})
    for wrong in ({"datacenter": datacenter}, {"vcenter": uuid, "datacenter": ""},
                  {"vcenter": uuid, "datacenter": datacenter, "vsphere_cluster": "domain-c7"}):
        world.admin.refused(400, "invalid_request", "GET", "/v2/clusters", params=wrong)


def test_nodes_are_found_by_machine_and_host_as_far_as_one_may_see_them(world: World, machines: Json) -> None:
    where = {"vcenter": world.vcenter.instance_uuid}
    vm, host = machines["w-0"]["vm"]["moref"], machines["w-0"]["host"]["moref"]
    assert [node["name"] for node in world.admin.items("/v2/nodes", **where, vm=vm)] == ["w-0"]
    assert "w-0" in [node["name"] for node in world.admin.items("/v2/nodes", **where, host=host)]
    assert list(world.sign_in("no-rights").items("/v2/nodes", **where, vm=vm)) == []
    for wrong in ({}, {"vcenter": where["vcenter"]}, {**where, "vm": vm, "host": host}, {"vcenter": "x", "vm": vm},
                  {**where, "vm": ""}, {**where, "host": "host 1"}, {**where, "host": "h" * 81}):
        world.admin.refused(400, "invalid_request", "GET", "/v2/nodes", params=wrong)


STRANGER = "deadbeef-0000-4000-8000-000000000001"


@pytest.mark.parametrize("is_linked", [False, True])
def test_one_page_is_signed_in_to_the_vcenters_of_a_linked_group(scratch: Scratch, is_linked: bool) -> None:
    """In the global view, which waits for the first one only. One that does not take the session, or does not know KaaS, is named."""
    with Many(2) as many:
        first, second = many.vcenters
        node = {"name": "cp-0", "role": "control_plane", "vcenter_id": second.instance_uuid, "vm_instance_uuid": MACHINES[False]}
        known = f"/v2/clusters/{many.add_cluster(many.admin, 'vc1-machine', second, nodes=[node])}/nodes"
        moref = until(lambda: (next(many.admin.items(known))["vm"] or {}).get("moref"), "the machine of the node")
        host = make_server_cert(scratch.path / "front")
        with PrefixProxy(many.kaasd.url, many.kaasd.tls.ca_file, host, EXTENSION_KEY, version_at(first)) as client:
            client.frame = urljoin(client.prefix + PATH, "vsphere.html")
            client.state["vcenters"] = [first.instance_uuid, second.instance_uuid, STRANGER]

            def session() -> str:
                token = first.control.plugin_token("viewer-east@vsphere.local")
                return second.control.plugin_token("viewer-east@vsphere.local", token) if is_linked else token

            client.session = session
            held = second.control.hold("CloneSession", executed=False)
            with opened(client, scratch) as page:
                assert rows(page) == ["vc0-east"]
                second.control.release(held)
                wanted = ["vc0-east", "vc1-east", "vc1-machine"] if is_linked else ["vc0-east"]
                until(lambda: rows(page) == wanted, "what lies on the other one")
                told = page.frame_locator("iframe").locator(".closed kaas-notice")
                closed = [STRANGER] if is_linked else [second.instance_uuid, STRANGER]
                assert ", ".join(closed) in told.inner_text()
                picture(page, f"linked-{is_linked}")
                if is_linked:  # both vCenters have a machine with this id; the page was opened at the first
                    open_machine(page, "vc1-machine")
                    wanted = ["navigateToClientView", "vm.summary", f"urn:vmomi:VirtualMachine:{moref}:{second.instance_uuid}"]
                    until(lambda: wanted in page.frames[1].evaluate("window.client.calls"), "the way to the machine")


def test_who_is_not_signed_in_at_the_client_is_told_so(client: PrefixProxy, scratch: Scratch) -> None:
    client.session = lambda: None
    with opened(client, scratch) as page:
        frame = page.frame_locator("iframe")
        frame.get_by_text("Reload the vSphere Client and sign in there.").wait_for()
        picture(page, "client-over")
        assert frame.locator("input[name=password]").count() == 0
        frame.get_by_role("button", name="Sign in with a password").click()
        frame.locator("input[name=password]").wait_for()


@pytest.mark.parametrize(("locale", "text"), [
    ("en-GB", "This page is a part of the vSphere Client"), ("de-AT", "Diese Seite ist ein Teil des vSphere Client")])
def test_outside_the_client_the_page_says_where_it_belongs(world: World, scratch: Scratch, locale: str, text: str) -> None:
    with browser.page(scratch.path / "profile", locale=locale) as page:
        page.goto(f"{world.kaasd.url}/ui/vsphere.html")
        page.get_by_text(text).wait_for()
        assert page.evaluate("document.documentElement.lang") == locale


@pytest.mark.parametrize("page", ["", "panel", "vsphere.html"])
def test_without_scripts_it_says_so_in_both_languages(world: World, page: str) -> None:
    told = fetch(world.kaasd, f"/ui/{page}").text.split("<noscript>")[1]
    assert "needs JavaScript" in told and 'lang="de"' in told


def test_a_foreign_page_cannot_frame_it(world: World, scratch: Scratch) -> None:
    """Only by its own origin: a page elsewhere that frames our address directly shows nothing."""
    host = make_server_cert(scratch.path / "front")
    with PrefixProxy(world.kaasd.url, world.kaasd.tls.ca_file, host, EXTENSION_KEY, "1") as elsewhere:
        elsewhere.frame = f"{world.kaasd.url}/plugin/vsphere.html"
        with browser.page(scratch.path / "profile") as page, page.expect_console_message(lambda m: "frame-ancestors" in m.text):
            page.goto(f"{elsewhere.url}/ui/")
