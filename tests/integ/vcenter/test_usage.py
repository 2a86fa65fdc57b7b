"""What the virtual machines of nodes have and use now: asked of vCenter when somebody looks."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from env.api import Api
from env.clock import Clock, clocked_world
from env.full import World, add_vcenter, register
from env.many import Many
from env.watching import add_cluster, nodes, until, until_watching

CP, WORKER, WEST = (f"50010000-0000-4000-8000-000000000{number}" for number in (101, 102, 171))
GIB = 1 << 30


KEPT_S = 11


@pytest.fixture(scope="module")
def clocked() -> Iterator[tuple[World, Clock]]:
    with clocked_world("u") as (world, clock):
        add_vcenter(world.kaasd, world.vcenter)
        register(world.kaasd, world.vcenter)
        until_watching(world)
        yield world, clock


@pytest.fixture(scope="module")
def place(clocked: tuple[World, Clock]) -> World:
    return clocked[0]


@pytest.fixture(autouse=True)
def clock(clocked: tuple[World, Clock]) -> Clock:
    """What vCenter told the test before is not kept any more."""
    clocked[1].advance(KEPT_S)
    return clocked[1]


@pytest.fixture(scope="module")
def cluster(place: World) -> str:
    known = add_cluster(place, "measured", [
        {"name": "cp-0", "role": "control_plane", "vm_instance_uuid": CP}, {"name": "w-0", "role": "worker", "vm_instance_uuid": WORKER},
        {"name": "w-1", "role": "worker", "vm_instance_uuid": WEST}, {"name": "w-2", "role": "worker", "vm_name": "nowhere"}])
    until(lambda: sum(node["vm"] is not None for node in nodes(place, known).values()) >= 3, "the machines of the nodes")
    return known


def usage(place: World, cluster: str, user: str | None = None) -> dict[str, dict[str, Any]]:
    """name of the node -> what it uses; nobody may be silent."""
    api = place.sign_in(user) if user else place.admin
    answer = api.get(f"/v2/clusters/{cluster}/usage")
    assert answer["silent_vcenters"] == []
    names = {node["id"]: name for name, node in nodes(place, cluster).items()}
    return {names[item["node_id"]]: item for item in answer["items"]}


def test_what_vcenter_tells_is_shown(place: World, cluster: str) -> None:
    told = usage(place, cluster)
    assert sorted(told) == ["cp-0", "w-0", "w-1"]
    cp = told["cp-0"]
    assert (cp["cpu_count"], cp["cpu_mhz"], cp["cpu_used_mhz"]) == (2, 4800, 300)
    assert (cp["memory_bytes"], cp["memory_used_bytes"], cp["datastores"]) == (4 * GIB, GIB, ["DC0-DS"])
    assert (cp["disk_used_bytes"], cp["disk_bytes"]) == (14 * GIB, 40 * GIB)


def test_machines_on_vsphere_clusters_that_one_may_not_see_are_left_out(place: World, cluster: str) -> None:
    assert sorted(usage(place, cluster, "viewer-east")) == ["cp-0", "w-0"]
    assert place.sign_in("no-rights").call("GET", f"/v2/clusters/{cluster}/usage").status_code == 404


def test_what_is_hidden_comes_before_nothing_else(place: World) -> None:
    """Whichever of the nodes is the first one: those that may be seen are shown."""
    uuids = [f"50010000-0000-4000-8000-0000000009e{i}" for i in range(3)]
    for uuid, moref in zip(uuids, ("domain-c40", "domain-c7", "domain-c40"), strict=True):
        place.vcenter.control.create_machines(moref, f"between-{uuid[-1]}", instance_uuid=uuid)
    known = add_cluster(place, "between", [{"name": f"n-{i}", "role": "worker", "vm_instance_uuid": uuid} for i, uuid in enumerate(uuids)])
    until(lambda: all(node["vm"] for node in nodes(place, known).values()), "the machines of the nodes")
    assert sorted(usage(place, known)) == ["n-0", "n-1", "n-2"]
    api = place.sign_in("viewer-east")
    seen = {node["id"]: node["name"] for node in api.items(f"/v2/clusters/{known}/nodes")}
    assert [seen[item["node_id"]] for item in api.get(f"/v2/clusters/{known}/usage")["items"]] == ["n-1"]


def test_one_that_goes_while_it_is_asked_spoils_nothing(place: World, cluster: str) -> None:
    uuids = [f"50010000-0000-4000-8000-0000000009f{i}" for i in range(2)]
    made = [place.vcenter.control.create_machines("domain-c7", f"leaving-{i}", instance_uuid=uuid)[0] for i, uuid in enumerate(uuids)]
    known = add_cluster(place, "leaving", [{"name": f"n-{i}", "role": "worker", "vm_instance_uuid": uuid} for i, uuid in enumerate(uuids)])
    until(lambda: all(node["vm"] for node in nodes(place, known).values()), "the new machines")
    held = place.vcenter.control.hold("WaitForUpdatesEx", executed=False)
    place.vcenter.control.create_machines("domain-c7", "news")  # ends the call that waits; the next one is held
    place.vcenter.control.await_held(held)
    place.vcenter.control.remove(made[0])
    assert list(usage(place, known)) == ["n-1"]
    place.vcenter.control.release(held)
    place.vcenter.control.clear_faults()


def refuse(place: World, moref: str) -> None:
    """The next question is refused as a whole, for the sake of one object."""
    detail = ("<NoPermissionFault xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xmlns='urn:vim25' xsi:type='NoPermission'>"
              f"<object type='ManagedEntity'>{moref}</object><privilegeId>System.Read</privilegeId></NoPermissionFault>")
    body = ("<e:Envelope xmlns:e='http://schemas.xmlsoap.org/soap/envelope/'><e:Body><e:Fault><faultcode>ServerFaultCode</faultcode>"
            f"<faultstring>denied</faultstring><detail>{detail}</detail></e:Fault></e:Body></e:Envelope>")
    place.vcenter.control.fault("RetrievePropertiesEx", "body", count=1, status=500, content_type="text/xml", body=body)


def test_one_that_may_not_be_read_is_left_out(place: World, cluster: str, clock: Clock) -> None:
    refuse(place, nodes(place, cluster)["w-0"]["vm"]["moref"])
    assert sorted(usage(place, cluster)) == ["cp-0", "w-1"]
    clock.advance(KEPT_S)
    assert sorted(usage(place, cluster)) == ["cp-0", "w-0", "w-1"]


def links(place: World) -> list[dict[str, Any]]:
    """What health says of the links to vCenters, and since when."""
    return [check for check in place.admin.get("/v2/health")["checks"] if check["name"].startswith("vcenter:")]


def test_what_a_look_meets_says_nothing_of_the_vcenter(place: World, cluster: str) -> None:
    before = links(place)
    refuse(place, "group-d1")
    answer = place.admin.get(f"/v2/clusters/{cluster}/usage")
    assert answer == {"items": [], "silent_vcenters": [place.vcenter.instance_uuid]}
    assert [check["status"] for check in before] == ["ok"] and links(place) == before


def test_a_vcenter_that_does_not_answer_is_named(place: World, cluster: str) -> None:
    place.vcenter.control.fault("RetrievePropertiesEx", "fault", fault="RuntimeFault", count=1)
    answer = place.admin.get(f"/v2/clusters/{cluster}/usage")
    place.vcenter.control.clear_faults()
    assert answer == {"items": [], "silent_vcenters": [place.vcenter.instance_uuid]}


# -- many who look, and a vCenter that hangs ---------------------------------------------------------------------------------------------


def look(api: Api, cluster: str) -> requests.Response:
    return api.call("GET", f"/v2/clusters/{cluster}/usage")


def busy(api: Api, pool: str) -> int:
    """Threads of a pool that are at work."""
    lines = api.call("GET", "/metrics").text.splitlines()
    return sum(int(line.split()[-1]) for line in lines if line.startswith(f'kaas_worker_pool_busy_threads{{pool="{pool}"'))


def waiting(api: Api) -> int:
    lines = api.call("GET", "/metrics").text.splitlines()
    return sum(int(line.split()[-1]) for line in lines if line.startswith("kaas_http_suspended_requests"))


def test_of_all_who_look_at_a_time_one_asks(place: World, cluster: str, clock: Clock) -> None:
    """And who looks within the next seconds is told the same; each what they may see."""
    people = [place.admin, place.sign_in("viewer-east")]
    held = place.vcenter.control.hold("RetrievePropertiesEx", executed=False, count=1)
    with ThreadPoolExecutor(20) as crowd:
        answers = [crowd.submit(look, people[n % 2], cluster) for n in range(20)]
        place.vcenter.control.await_held(held)
        until(lambda: waiting(place.admin) >= 20, "all of them waiting")
        place.vcenter.control.release(held)
        given = [answer.result() for answer in answers]
    given += [look(people[n % 2], cluster) for n in range(20)]
    assert [answer.status_code for answer in given] == [200] * 40
    assert [len(answer.json()["items"]) for answer in given] == [3, 2] * 20
    ids = {answer.headers["KaaS-Request-Id"] for answer in given}
    asked = [call["op"] for call in place.vcenter.control.calls() if call.get("operation_id") in ids]
    assert asked == ["RetrievePropertiesEx"]
    clock.advance(KEPT_S)
    last = look(place.admin, cluster).headers["KaaS-Request-Id"]
    assert [call["op"] for call in place.vcenter.control.calls() if call.get("operation_id") == last] == ["RetrievePropertiesEx"]


def test_a_vcenter_that_hangs_takes_no_worker_from_others() -> None:
    """Whoever looks at clusters there waits in its own workers, and not for long: another vCenter is judged meanwhile."""
    with Many(2) as many:
        first, second = many.vcenters
        looked_at = []
        for number, uuid in enumerate((CP, WORKER)):
            node = {"name": "cp-0", "role": "control_plane", "vcenter_id": first.instance_uuid, "vm_instance_uuid": uuid}
            looked_at.append(many.add_cluster(many.admin, f"hangs-{number}", first, nodes=[node]))
        for known in looked_at:
            until(lambda known=known: next(many.admin.items(f"/v2/clusters/{known}/nodes"))["vm"], "the machine of the node")  # type: ignore[misc]
        like = {"name": "cp-0", "role": "control_plane", "vcenter_id": second.instance_uuid, "vm_instance_uuid": CP}
        answers_there = many.add_cluster(many.admin, "answers", second, nodes=[like])
        until(lambda: next(many.admin.items(f"/v2/clusters/{answers_there}/nodes"))["vm"], "the machine of the node")
        held = first.control.hold("RetrievePropertiesEx", executed=False)
        with ThreadPoolExecutor(12) as crowd:
            answers = [crowd.submit(look, many.admin, known) for known in looked_at * 6]
            first.control.await_held(held)
            assert busy(many.admin, "outside") == 0
            assert many.admin.expect(200, "POST", f"/v2/vcenters/{second.instance_uuid}/doctor")["findings"]
            told = [answer.result() for answer in answers]
        first.control.release(held)
        assert [answer.json() for answer in told] == [{"items": [], "silent_vcenters": [first.instance_uuid]}] * 12
        there = look(many.admin, answers_there).json()  # by the same ids, but of the other one
        assert len(there["items"]) == 1 and there["silent_vcenters"] == []
