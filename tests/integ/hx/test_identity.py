"""Which HX cluster is which: the names it has, what stays when it is renamed, gets another address or moves, and how it is found."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from env.api import Api
from env.certs import ServerCert, make_server_cert
from env.full import World, add_vcenter, register
from env.kaasd import Kaasd
from env.replicas import second_of
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from env.wait import until
from hx import HxConnect

pytestmark = pytest.mark.long(30)

PASSWORD = "S3cret of HX"
UUID = "9004183636114227531:5445300663653806560"
OTHER_UUID = "11:22"
EAST, WEST, FAR = "domain-c7", "domain-c70", "domain-c26"
OPTIONS: dict[str, Any] = {"hx": {"read_interval": "0s", "call_timeout": "5s"}}


class Site:
    """HX clusters as kaasd has them, with stand-ins for some."""

    def __init__(self, world: World, other: Kaasd, cert: ServerCert, stack: ExitStack) -> None:
        self.world, self.other, self.cert, self.stack = world, other, cert, stack
        self.admin = world.admin
        self.there = other.api().as_token(self.admin.token)  # the same administrator at the other replica
        self.started: list[HxConnect] = []
        self.elsewhere: StrictVcenter | None = None

    def start(self, name: str, uuid: str = UUID, place: str = "DC0/HX-East") -> HxConnect:
        datacenter, cluster = place.split("/")
        hx = HxConnect(self.cert.cert_file, self.cert.key_file, name, uuid, datacenter, cluster)
        self.stack.enter_context(hx)
        self.started.append(hx)
        hx.accounts["admin"] = PASSWORD
        return hx

    def row(self, moref: str, vcenter: str | None = None, api: Api | None = None) -> dict[str, Any]:
        """The HX cluster on a vSphere cluster, as the list has it."""
        wanted = {"vcenter_id": vcenter or self.world.vcenter.instance_uuid, "moref": moref}
        [row] = [row for row in (api or self.admin).items("/v2/hx-clusters") if row["vsphere_cluster"].items() >= wanted.items()]
        return row

    def id(self, moref: str) -> str:
        return str(self.row(moref)["id"])

    def show(self, hx_id: str, api: Api | None = None) -> dict[str, Any]:
        return (api or self.admin).get(f"/v2/hx-clusters/{hx_id}")  # type: ignore[no-any-return]

    def connect(self, hx_id: str, hx: HxConnect, address: str = "127.0.0.1") -> dict[str, Any]:
        """Sets the connection and reads it; hands back how it stands."""
        answer = self.admin.call("PUT", f"/v2/hx-clusters/{hx_id}/connection", json={
            "address": address, "port": hx.port, "user_name": "admin", "password": PASSWORD, "thumbprint_sha256": self.cert.sha256})
        assert answer.status_code in (200, 201), answer.text
        return self.read(hx_id)

    def read(self, hx_id: str) -> dict[str, Any]:
        return self.admin.expect(200, "POST", f"/v2/hx-clusters/{hx_id}/connection/test")["status"]  # type: ignore[no-any-return]

    def names(self, query: str, api: Api | None = None) -> list[str]:
        """Names of the Kubernetes clusters that a query finds."""
        return [item["name"] for item in (api or self.admin).items(f"/v2/clusters?{query}")]

    def placed(self, cluster: str, api: Api | None = None) -> list[dict[str, Any]]:
        """The HX clusters that a Kubernetes cluster is on."""
        [item] = [item for item in (api or self.admin).items("/v2/clusters") if item["name"] == cluster]
        return item["placement"]["hx_clusters"]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """It reads no HX cluster by itself."""
    with World("xi", options=OPTIONS) as made:
        made.join()
        yield made


@pytest.fixture(scope="module")
def other(world: World) -> Iterator[Kaasd]:
    """Another replica."""
    made = second_of(world.kaasd, world.scratch, world.db.socket, OPTIONS)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def site(world: World, other: Kaasd, tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as stack:
        made = Site(world, other, make_server_cert(tmp_path / "hx"), stack)
        yield made
        for row in list(made.admin.items("/v2/hx-clusters")):
            made.admin.call("DELETE", f"/v2/hx-clusters/{row['id']}/connection")
            made.admin.expect(200, "PATCH", f"/v2/hx-clusters/{row['id']}", headers={"Content-Type": "application/merge-patch+json"},
                              data='{"name":null,"management_address":null}')
        world.db.query("UPDATE hx_clusters SET hx_uuid = NULL", database="kaas")
        assert [hx.violations for hx in made.started if hx.violations] == []


def patch(site: Site, hx_id: str, status: int, body: str) -> dict[str, Any]:
    headers = {"Content-Type": "application/merge-patch+json"}
    return site.admin.expect(status, "PATCH", f"/v2/hx-clusters/{hx_id}", headers=headers, data=body)  # type: ignore[no-any-return]


# -- names -----------------------------------------------------------------------------------------------------------------------


def test_without_a_connection_it_has_what_vcenter_tells(site: Site) -> None:
    row = site.row(EAST)
    assert (row["name"], row["name_source"], row["hx_uuid"], row["management_address"]) == ("HX-East", "vcenter", None, None)
    assert site.show(row["id"])["facts"] is None
    assert {place["name_source"] for place in site.placed("stretched")} == {"vcenter"}


def test_name_and_uuid_are_those_that_hx_tells_on_every_replica(site: Site) -> None:
    east = site.id(EAST)
    hx = site.start("Production \u00e4/1 ")
    hx.set(version="5.5.2a-39363", resiliency="WARNING", alarms=[{"name": "a"}], messages=["node 10.1.1.1 is away"])
    assert site.connect(east, hx)["state"] == "ok"
    row = site.show(east)
    assert (row["name"], row["name_source"], row["hx_uuid"]) == ("Production \u00e4/1 ", "hx", UUID)
    assert (row["management_address"], row["address_source"]) == ("127.0.0.1", "connection")
    assert row["vsphere_cluster"]["name"] == "HX-East"
    facts = until(lambda: site.show(east)["facts"], "what HX says")
    assert (facts["version"], facts["resiliency"], facts["alarms"]) == ("5.5.2a-39363", "WARNING", 1)
    assert "10.1.1.1" not in str(facts)
    assert {"id": east, "name": row["name"], "name_source": "hx", "hx_uuid": UUID, "path": "DC0/HX-East"} in site.placed("prod-1")
    until(lambda: site.show(east, site.there)["hx_uuid"], "the uuid on the other replica")
    assert site.placed("prod-1", site.there)[0]["name_source"] == "hx"
    assert UUID in site.world.kaasd.ctl.ok("hx", "list")
    shown = site.world.kaasd.ctl.ok("hx", "show", UUID)
    assert "hx" in shown and "5.5.2a-39363" in shown
    assert site.world.kaasd.ctl.json("hx", "show", "DC0/HX-East")["id"] == east


def test_a_new_name_at_hx_is_followed(site: Site) -> None:
    east = site.id(EAST)
    hx = site.start("East")
    site.connect(east, hx)
    grant = site.admin.expect(201, "POST", "/v2/grants", json={
        "principal_id": "vc:" + site.world.vcenter.instance_uuid + ":vsphere.local\\anna", "object_kind": "hx_cluster", "object_id": east})
    hx.rename("Ost")
    site.read(east)
    row = site.row(EAST)
    assert (row["id"], row["name"], row["name_source"], row["hx_uuid"]) == (east, "Ost", "hx", UUID)
    assert site.admin.get(f"/v2/grants/{grant['id']}")["object_name"] == "Ost"
    site.read(east)
    lines = list(site.admin.items("/v2/audit", action="hx_cluster.change", object_id=east))
    assert [line["reason"] for line in lines].count("Ost") == 1
    site.admin.expect(204, "DELETE", f"/v2/grants/{grant['id']}")


def test_another_address_is_followed(site: Site) -> None:
    east = site.id(EAST)
    first = site.start("East")
    site.connect(east, first)
    first.stop()
    assert site.read(east)["reason"] == "unreachable"
    assert site.row(EAST)["name"] == "East"
    second = site.start("East")
    assert site.connect(east, second, "localhost")["state"] == "ok"
    row = site.row(EAST)
    assert (row["id"], row["name_source"], row["hx_uuid"], row["management_address"]) == (east, "hx", UUID, "localhost")


def test_a_typed_name_gives_way_to_the_one_of_hx(site: Site) -> None:
    west = site.id(WEST)
    typed = patch(site, west, 200, '{"name":"Typed","management_address":"10.0.0.9"}')
    assert (typed["name"], typed["name_source"], typed["management_address"], typed["address_source"]) == (
        "Typed", "typed", "10.0.0.9", "admin")
    site.connect(west, site.start("West", place="DC0/HX-West"))
    assert (site.row(WEST)["name"], site.row(WEST)["name_source"]) == ("West", "hx")
    assert f"kaasctl hx disconnect {west}" in patch(site, west, 422, '{"name":"Mine"}')["remedy"]
    assert patch(site, west, 200, '{"name":null}')["name"] == "West"


def test_without_the_connection_it_has_its_name_of_vcenter_again(site: Site) -> None:
    east = site.id(EAST)
    site.connect(east, site.start("East"))
    site.admin.expect(204, "DELETE", f"/v2/hx-clusters/{east}/connection")
    row = site.row(EAST)
    assert (row["id"], row["name"], row["name_source"], row["hx_uuid"]) == (east, "HX-East", "vcenter", UUID)


def test_vcenters_name_is_no_news_for_one_that_is_read(site: Site) -> None:
    east = site.id(EAST)
    site.connect(east, site.start("East"))
    site.world.vcenter.control.rename(EAST, "HX-Elsewhere")
    try:
        until(lambda: site.row(EAST)["vsphere_cluster"]["name"] == "HX-Elsewhere", "the new name in vCenter")
        assert site.row(EAST)["name"] == "East"
    finally:
        site.world.vcenter.control.rename(EAST, "HX-East")
        until(lambda: site.row(EAST)["vsphere_cluster"]["name"] == "HX-East", "the old name in vCenter")


# -- finding one -----------------------------------------------------------------------------------------------------------------

ON_EAST = ["prod-1", "prod-2", "stretched"]


@pytest.mark.parametrize("reference", ["Production", UUID, "localhost", "LOCALHOST", "DC0/HX-East"])
def test_it_is_found_by_each_of_its_names(site: Site, reference: str) -> None:
    site.connect(site.id(EAST), site.start("Production"), "localhost")
    found = [item["name"] for item in site.admin.items("/v2/clusters", hx_cluster=reference)]
    assert found == ON_EAST
    viewer = site.world.sign_in("viewer-east")
    assert [item["name"] for item in viewer.items("/v2/clusters", hx_cluster=reference)] == ON_EAST
    assert site.world.kaasd.ctl.json("cluster", "list", "--hx-cluster", reference)[0]["name"] == ON_EAST[0]
    nobody = site.world.sign_in("no-rights")
    nobody.refused(404, "not_found", "GET", "/v2/clusters", params={"hx_cluster": reference})


def test_what_fits_two_is_ambiguous(site: Site) -> None:
    west = site.id(WEST)
    site.connect(site.id(EAST), site.start("Twin"))
    site.connect(west, site.start("Twin", OTHER_UUID, "DC0/HX-West"), "localhost")
    problem = site.admin.refused(409, "ambiguous", "GET", "/v2/clusters", params={"hx_cluster": "Twin"})
    told = {one["path"]: (one["name"], one["name_source"], one["hx_uuid"]) for one in problem["candidates"]}
    assert told == {"DC0/HX-East": ("Twin", "hx", UUID), "DC0/HX-West": ("Twin", "hx", OTHER_UUID)}
    patch(site, site.id(FAR), 200, '{"management_address":"localhost"}')
    problem = site.admin.refused(409, "ambiguous", "GET", "/v2/clusters", params={"hx_cluster": "localhost"})
    assert {one["path"] for one in problem["candidates"]} == {"DC0/HX-West", "DC1/HX-East"}


def test_vcenters_name_alone_is_none_of_one_that_was_read(site: Site) -> None:
    west = site.id(WEST)
    assert site.names("hx_cluster=HX-West") == ["stretched", "west-1"]
    site.connect(west, site.start("West", place="DC0/HX-West"))
    site.admin.refused(404, "hx_name_unknown", "GET", "/v2/clusters?hx_cluster=HX-West")


def test_a_name_that_no_hx_has_told(site: Site) -> None:
    """For viewer-east, who sees one HX cluster, what others are called makes no difference."""
    viewer = site.world.sign_in("viewer-east")
    problem = viewer.refused(404, "hx_name_unknown", "GET", "/v2/clusters?hx_cluster=Production")
    assert "kaasctl hx connect" in problem["remedy"]
    site.connect(site.id(EAST), site.start("East"))
    viewer.refused(404, "not_found", "GET", "/v2/clusters?hx_cluster=Production")
    viewer.refused(404, "not_found", "GET", "/v2/clusters?hx_cluster=HX-West")
    site.admin.refused(404, "hx_name_unknown", "GET", "/v2/clusters?hx_cluster=Production")


# -- moves, and uuids of others ----------------------------------------------------------------------------------------------------

ELSEWHERE = "50000000-0000-4000-8000-000000000002"
MOVED = "domain-c3000"  # in the other vCenter: DC0/HX-Moved
ANNA, BOB = "svc:anna", "svc:bob"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Site]:
    """A world of its own, with a second vCenter where an HX cluster has just appeared."""
    with ExitStack() as stack:
        world = stack.enter_context(World("xm", options=OPTIONS))
        world.join()
        file = world.scratch.path / "elsewhere-world.json"
        file.write_text(json.dumps({**json.loads(DEFAULT_WORLD.read_text()), "instance_uuid": ELSEWHERE}))
        there = start_strict(world.scratch, "elsewhere", world=file)
        stack.callback(there.stop)
        there.control.object("create", datacenter="DC0", cluster={"name": "HX-Moved", "moref": MOVED})
        put_key(there, MOVED)
        add_vcenter(world.kaasd, there, "--name", "elsewhere")
        register(world.kaasd, there)
        other = second_of(world.kaasd, world.scratch, world.db.socket, OPTIONS)
        stack.callback(other.stop)
        other.start()
        site = Site(world, other, make_server_cert(tmp_path / "hx"), stack)
        site.elsewhere = there
        site.admin.expect(201, "POST", "/v2/clusters", json={
            "name": "moved-1", "kubernetes_version": "1.31.2", "control_plane": {"desired": 1}, "workers": {"desired": 1},
            "vsphere_clusters": [{"vcenter_id": ELSEWHERE, "moref": MOVED}]})
        yield site
        assert [hx.violations for hx in site.started if hx.violations] == []


def put_key(vcenter: StrictVcenter, moref: str) -> None:
    vcenter.control.put_extension(key=f"com.springpath.sysmgmt.{moref}", version="5.0.1", company="Cisco", label="HX", summary="HX")


def lose(site: Site, moref: str) -> None:
    """Its vCenter does not know it any more."""
    for key in site.world.vcenter.control.extensions():
        if key.startswith("com.springpath.") and key.endswith(f".{moref}"):
            site.world.vcenter.control.drop_extension(key)
    until(lambda: not site.row(moref)["present"], f"{moref} to be gone")


def grant(site: Site, who: str, hx_id: str, role: str) -> None:
    site.admin.expect(201, "POST", "/v2/grants", json={"principal_id": who, "object_kind": "hx_cluster", "object_id": hx_id, "role": role})


def granted(site: Site) -> set[tuple[str, str, str]]:
    return {(g["principal_id"], g["object_id"], g["role"]) for g in site.admin.items("/v2/grants", object_kind="hx_cluster")}


def all_ids(site: Site) -> set[str]:
    return {str(row["id"]) for row in site.admin.items("/v2/hx-clusters")}


def test_a_move_to_another_vcenter_keeps_id_and_grants(own: Site) -> None:
    west, new = own.id(WEST), str(own.row(MOVED, ELSEWHERE)["id"])
    hx = own.start("West", place="DC0/HX-West")
    own.connect(west, hx)
    grant(own, ANNA, west, "viewer")
    grant(own, BOB, west, "viewer")
    grant(own, BOB, new, "admin")
    grant(own, "svc:carol", new, "viewer")
    service = own.admin.expect(201, "POST", "/v2/services", json={"name": "hx", "certificates": ["ab" * 32], "hx_clusters": [new]})["id"]
    own.admin.expect(201, "PUT", f"/v2/hx-clusters/{new}/peer", json={"url": "https://127.0.0.1:9/", "thumbprint_sha256": "ab" * 32})
    before = all_ids(own)
    lose(own, WEST)
    hx.move("DC0", "HX-Moved")
    own.read(west)
    assert own.row(MOVED, ELSEWHERE)["id"] == new  # that one says nothing yet
    assert own.connect(new, hx)["state"] == "ok"

    assert all_ids(own) == before - {new}
    row = own.show(west)
    assert (row["name"], row["name_source"], row["hx_uuid"], row["present"]) == ("West", "hx", UUID, True)
    assert (row["vcenter_id"], row["vsphere_cluster"]["moref"], row["clusters"]["total"]) == (ELSEWHERE, MOVED, 1)
    for hx_id in (west, new):
        assert own.show(hx_id)["id"] == west
        assert own.names(f"hx_cluster_id={hx_id}") == ["moved-1"]
        assert own.admin.get(f"/v2/hx-clusters/{hx_id}/connection")["hx_cluster"]["id"] == west
        assert own.admin.get(f"/v2/hx-clusters/{hx_id}/peer")["hx_cluster"]["id"] == west
        assert own.admin.expect(200, "POST", f"/v2/hx-clusters/{hx_id}/connection/test")["status"]["state"] == "ok"
    assert granted(own) == {(ANNA, west, "viewer"), (BOB, west, "admin"), ("svc:carol", west, "viewer")}
    grant(own, "svc:dave", new, "viewer")
    assert ("svc:dave", west, "viewer") in granted(own)
    assert own.admin.get(f"/v2/services/{service}")["hx_clusters"] == [{"id": west, "name": "West", "path": "DC0/HX-Moved"}]
    assert own.placed("moved-1") == [{"id": west, "name": "West", "name_source": "hx", "hx_uuid": UUID, "path": "DC0/HX-Moved"}]
    until(lambda: own.show(new, own.there)["id"] == west, "the other replica")
    assert own.names(f"hx_cluster_id={new}", own.there) == ["moved-1"]
    [line] = own.admin.items("/v2/audit", action="hx_cluster.merge")
    assert (hx.tokens_held("admin"), line["object_id"], line["reason"]) == (1, new, west)


def test_a_move_with_another_address_takes_the_connection_along(own: Site) -> None:
    west, new = own.id(WEST), str(own.row(MOVED, ELSEWHERE)["id"])
    first = own.start("West", place="DC0/HX-West")
    own.connect(west, first)
    first.stop()
    own.read(west)
    lose(own, WEST)
    second = own.start("West", place="DC0/HX-Moved")
    assert own.connect(new, second, "localhost")["state"] == "ok"
    row = own.show(new)
    assert (row["id"], row["management_address"], row["vcenter_id"]) == (west, "localhost", ELSEWHERE)
    assert (own.read(west)["state"], second.tokens_held("admin")) == ("ok", 1)


def test_it_outlives_its_vcenter_while_it_is_connected(own: Site) -> None:
    west, east, far, new = own.id(WEST), own.id(EAST), own.id(FAR), str(own.row(MOVED, ELSEWHERE)["id"])
    hx = own.start("West", place="DC0/HX-West")
    own.connect(west, hx)
    hx.move("DC0", "HX-Moved")
    own.read(west)
    own.connect(far, own.start("Far", OTHER_UUID, "DC1/HX-East"))
    grant(own, ANNA, west, "viewer")
    for item in list(own.admin.items("/v2/clusters")):
        if item["name"] != "moved-1":
            own.admin.expect(204, "DELETE", f"/v2/clusters/{item['id']}")
    vcenter = own.world.vcenter
    own.admin.expect(200, "POST", f"/v2/vcenters/{vcenter.instance_uuid}/unregister", headers={"X-KaaS": "1"},
                     json={"username": vcenter.admin.login, "password": vcenter.admin.password})
    own.admin.expect(204, "DELETE", f"/v2/vcenters/{vcenter.instance_uuid}")
    until(lambda: east not in all_ids(own), "the HX cluster that says nothing to go")
    assert (own.show(west)["present"], own.show(west)["name"], granted(own)) == (False, "West", {(ANNA, west, "viewer")})
    assert own.connect(new, hx)["state"] == "ok"
    assert (own.show(west)["present"], own.show(new)["id"], granted(own)) == (True, west, {(ANNA, west, "viewer")})
    own.admin.expect(204, "DELETE", f"/v2/hx-clusters/{far}/connection")
    until(lambda: far not in all_ids(own), "the one that is nowhere any more to go")


def refused(site: Site, hx_id: str, reason: str = "uuid_taken") -> dict[str, Any]:
    status = site.read(hx_id)
    assert (status["state"], status["reason"]) == ("failing", reason), status
    row = site.show(hx_id)
    assert (row["id"], row["name_source"]) == (hx_id, "vcenter")
    return status


def test_a_uuid_of_another_that_is_there_is_refused(own: Site) -> None:
    east, west = own.id(EAST), own.id(WEST)
    honest = own.start("East")
    own.connect(east, honest)
    own.connect(west, own.start("West", place="DC0/HX-West"))
    status = refused(own, west)
    assert east in status["detail"] and "East" in status["detail"] and "address" in status["remedy"]
    assert (own.show(east)["hx_uuid"], own.show(west)["hx_uuid"]) == (UUID, None)

    def finding() -> dict[str, Any] | None:
        checks = own.admin.get("/v2/health")["checks"]
        return next((check for check in checks if west in str(check) and "uuid" in str(check)), None)

    assert until(finding, "a finding")["remedy"]
    honest.stop()  # that it does not answer is no reason to believe another
    own.read(east)
    refused(own, west)


def test_one_at_the_address_of_another_is_not_taken_for_it(own: Site) -> None:
    """By where it says that it is: the uuid of the other one is not known yet."""
    east, west = own.id(EAST), own.id(WEST)
    hx = own.start("West", place="DC0/HX-West")
    own.connect(east, hx)
    status = refused(own, east, "another_hx")
    assert west in status["detail"] and "address" in status["remedy"]
    assert own.show(east)["hx_uuid"] is None
    hx.move("DC0", "HX-of-old-times")  # it may have had that name when it was registered
    assert own.read(east)["state"] == "ok"
    hx.move("DC0", "HX-West")  # what is known by its uuid is not asked again
    assert own.read(east)["state"] == "ok"


def test_who_had_another_uuid_takes_none_over(own: Site) -> None:
    east, new = own.id(EAST), str(own.row(MOVED, ELSEWHERE)["id"])
    moved = own.start("East")
    own.connect(east, moved)
    moved.move("DC0", "HX-Moved")
    own.read(east)
    hx = own.start("Moved", OTHER_UUID, "DC0/HX-Moved")
    own.connect(new, hx)
    lose(own, EAST)
    own.connect(new, own.start("Moved", UUID, "DC0/HX-Moved"))
    status = own.read(new)
    assert (status["reason"], own.show(new)["hx_uuid"], own.show(east)["hx_uuid"]) == ("uuid_taken", OTHER_UUID, UUID)


def test_the_older_one_must_agree_if_it_answers(own: Site) -> None:
    east, new = own.id(EAST), str(own.row(MOVED, ELSEWHERE)["id"])
    own.connect(east, own.start("East", place="DC0/HX-East"))
    lose(own, EAST)
    own.connect(new, own.start("East", place="DC0/HX-Moved"))
    assert f"hx disconnect {east}" in refused(own, new)["remedy"]
    own.admin.expect(204, "DELETE", f"/v2/hx-clusters/{east}/connection")
    assert own.read(new)["state"] == "ok"
    assert own.show(new)["id"] == east


# -- what is on it ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "moref"), [("admin", EAST), ("viewer-east", EAST), ("viewer-dc", EAST), ("viewer-dc", WEST)])
def test_its_clusters_are_counted_by_state(site: Site, who: str, moref: str) -> None:
    api = site.admin if who == "admin" else site.world.sign_in(who)
    on_it = list(api.items("/v2/clusters", hx_cluster_id=site.id(moref)))
    told = site.show(site.id(moref), api)["clusters"]
    assert told["total"] == len(on_it) > 0
    assert {state: n for state, n in told["states"].items() if n} == Counter(item["state"] for item in on_it)


def test_one_that_may_not_be_seen_has_neither_counts_nor_nodes(site: Site) -> None:
    viewer = site.world.sign_in("viewer-east")
    for more in ("", "/nodes"):
        viewer.refused(404, "not_found", "GET", f"/v2/hx-clusters/{site.id(WEST)}{more}")


def test_the_nodes_of_its_clusters(site: Site) -> None:
    """Those whose place is not known are for those who see the whole cluster."""
    ids = {item["name"]: item["id"] for item in site.admin.items("/v2/clusters")}
    control = site.world.vcenter.control
    control.create_machines(EAST, "stretched-cp")
    control.create_machines(WEST, "stretched-w")
    nodes = {"prod-1": [{"name": "a", "role": "control_plane", "vm_name": "k8s-prod-cp-0"}, {"name": "b", "role": "worker"}],
             "stretched": [{"name": "c", "role": "control_plane", "vm_name": "stretched-cp"},
                           {"name": "a", "role": "worker", "vm_name": "stretched-w"}]}
    for name, told in nodes.items():
        site.admin.expect(200, "PUT", f"/v2/clusters/{ids[name]}/status", json={"state": "ready", "nodes": told})
    path = f"/v2/hx-clusters/{site.id(EAST)}/nodes"
    until(lambda: len([node for node in site.admin.items(path) if node["vm"]]) == 3, "three machines")
    seen = {(node["cluster"]["name"], node["name"]): node for node in site.admin.items(path, limit=1)}
    assert list(seen) == [("prod-1", "a"), ("prod-1", "b"), ("stretched", "c"), ("stretched", "a")]
    assert {node["cluster"]["id"] for node in seen.values()} == {ids["prod-1"], ids["stretched"]}
    assert (seen["prod-1", "a"]["vm"]["name"], seen["prod-1", "a"]["vsphere_cluster"]["moref"]) == ("k8s-prod-cp-0", EAST)
    assert seen["stretched", "a"]["vsphere_cluster"]["moref"] == WEST
    assert f":{seen['prod-1', 'a']['vm']['moref']}:" in seen["prod-1", "a"]["vm"]["client_url"]
    page = site.world.sign_in("viewer-east").get(path)
    assert ([(node["cluster"]["name"], node["name"]) for node in page["items"]], page["hidden"]) == (
        [("prod-1", "a"), ("prod-1", "b"), ("stretched", "c")], 1)
    assert "k8s-prod-cp-0" in site.world.kaasd.ctl.ok("hx", "nodes", "DC0/HX-East")
