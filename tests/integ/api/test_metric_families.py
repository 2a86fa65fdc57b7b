"""What the metrics tell: each family after what it is about was done, and that all of them are those of the table."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.api import Api
from env.certs import make_server_cert
from env.full import World
from env.places import TOP
from env.wait import until
from env.watching import add_cluster, samples, until_watching
from hx import HxConnect

NAMES = {name: kind for kind, name in re.findall(r'^METRIC\(\w+, (\w+), "(\w+)"', (TOP / "src/base/work/metrics.def").read_text(), re.M)}
# what nothing in this world does: no Kerberos, no directory, no session or right in need, no trouble, a backup in the last test only
UNSEEN = {"kaas_kerberos_tokens_total", "kaas_hx_call_failures_total", "kaas_vcenter_call_failures_total", "kaas_http_notices_total",
          "kaas_link_work_failures_total", "kaas_vcenter_events_dropped_total", "kaas_database_errors_total",
          "kaas_backup_last_timestamp_seconds", "kaas_http_bounded_total", "kaas_kubernetes_up",
          "kaas_jobs_ended_total"}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("m", options={"hx": {"read_interval": "0s"}}) as made:
        made.join()
        until_watching(made)
        yield made


@pytest.fixture(scope="module")
def hx(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Id of an HX cluster that is connected and was read."""
    cert = make_server_cert(tmp_path_factory.mktemp("hx"))
    east: str = next(one["id"] for one in world.admin.items("/v2/hx-clusters") if one["vsphere_cluster"]["moref"] == "domain-c7")
    with HxConnect(cert.cert_file, cert.key_file, "HX-East", "9004183636114227531:5445300663653806560", "DC0", "DC0_C0") as made:
        made.accounts["admin"] = "S3cret of HX"
        world.admin.expect(201, "PUT", f"/v2/hx-clusters/{east}/connection",
                           json={"address": "127.0.0.1", "port": made.port, "user_name": "admin", "password": "S3cret of HX",
                                 "thumbprint_sha256": cert.sha256})
        world.admin.expect(200, "POST", f"/v2/hx-clusters/{east}/connection/test")
        yield east


def value(api: Api, name: str, labels: str = "") -> int:
    return samples(api, name).get(labels, 0)


def page(api: Api) -> str:
    return api.call("GET", "/metrics").text


def test_all_families_are_those_of_the_table(world: World, hx: str) -> None:
    until(lambda: samples(world.admin, "kaas_hx_up"), "the connection as health has it")
    told = dict(re.findall(r"^# TYPE (\w+) (\w+)$", page(world.admin), re.M))
    kinds = {name: kind.removeprefix("READ_").lower() for name, kind in NAMES.items()}
    assert told == {name: kinds[name] for name in told}
    assert set(NAMES) - set(told) - UNSEEN == set()
    assert list(told) == [name for name in NAMES if name in told]  # in the order of the table


def test_requests_are_timed_by_route_method_and_class(world: World) -> None:
    series = 'route="/v2/clusters/{id}",method="GET",class="4xx"'
    before = value(world.admin, "kaas_http_request_duration_seconds_count", f"{{{series}}}")
    for name in ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"):
        world.admin.refused(404, "not_found", "GET", f"/v2/clusters/{name}")
    until(lambda: value(world.admin, "kaas_http_request_duration_seconds_count", f"{{{series}}}") == before + 2, "both of them")
    assert value(world.admin, "kaas_http_request_duration_seconds_bucket", f'{{{series},le="+Inf"}}') == before + 2
    assert "00000000-0000-4000" not in page(world.admin)


def test_requests_that_wait_for_a_change_are_not_timed(world: World) -> None:
    ok = '{route="/v2/clusters",method="GET",class="2xx"}'
    first = world.admin.call("GET", "/v2/clusters", params={"watch": ""})
    until(lambda: value(world.admin, "kaas_http_request_duration_seconds_count", ok), "the first list")
    before, answered = value(world.admin, "kaas_http_request_duration_seconds_count", ok), samples(world.admin, "kaas_http_requests_total")
    assert world.admin.call("GET", "/v2/clusters", params={"watch": first.headers["KaaS-Watch-Cursor"], "wait": 1}).status_code == 204
    until(lambda: samples(world.admin, "kaas_http_requests_total")['{class="2xx"}'] > answered['{class="2xx"}'] + 1, "its count")
    assert value(world.admin, "kaas_http_request_duration_seconds_count", ok) == before


def test_sign_ons_are_counted_by_way_and_result(world: World) -> None:
    before = samples(world.admin, "kaas_signons_total")
    world.kaasd.admin()
    world.kaasd.api().refused(401, "invalid_credentials", "POST", "/v2/login/password", headers={"X-KaaS": "1"},
                              json={"username": "nobody", "password": "of no use", "source": "local"})
    world.sign_in("viewer-east")
    after = samples(world.admin, "kaas_signons_total")
    assert {labels: count - before.get(labels, 0) for labels, count in after.items() if count != before.get(labels, 0)} == {
        '{way="local",result="ok"}': 1, '{way="local",result="invalid_credentials"}': 1, '{way="vcenter-session",result="ok"}': 1}
    assert value(world.admin, "kaas_sessions") >= 3


def test_clusters_tell_their_state_and_where_they_are(world: World) -> None:
    add_cluster(world, 'a "quoted"', [])
    state = next(one["state"] for one in world.admin.items("/v2/clusters") if one["name"] == 'a "quoted"')
    name = next(one["name"] for one in world.admin.items("/v2/hx-clusters") if one["vsphere_cluster"]["moref"] == "domain-c7")
    clusters = list(world.admin.items("/v2/clusters"))
    told = samples(world.admin, "kaas_cluster_state")
    assert told[f'{{cluster="a \\"quoted\\"",hx_cluster="{name}",state="{state}"}}'] == 1
    read = {(m[1], m[2]) for labels in told if (m := re.search(r'cluster="((?:[^"\\]|\\.)+)".*,state="(\w+)"', labels))}
    assert read == {(one["name"].replace('"', '\\"'), one["state"]) for one in clusters}
    for word in {one["state"] for one in clusters}:
        assert value(world.admin, "kaas_clusters", f'{{state="{word}"}}') == len([one for one in clusters if one["state"] == word])
    assert value(world.admin, "kaas_inventory_objects", '{kind="cluster"}') == len(clusters)
    assert value(world.admin, "kaas_inventory_objects", '{kind="vcenter"}') == 1
    assert abs(value(world.admin, "kaas_inventory_as_of_timestamp_seconds") - time.time()) < 60
    assert value(world.admin, "kaas_changes_read_total") > 0
    assert value(world.admin, "kaas_change_delay_seconds_count") == value(world.admin, "kaas_changes_read_total")


def test_calls_outside_are_timed(world: World, hx: str) -> None:
    name = world.admin.get(f"/v2/vcenters/{world.vcenter.instance_uuid}")["name"]
    assert value(world.admin, "kaas_vcenter_up", f'{{vcenter="{name}"}}') == 1
    assert value(world.admin, "kaas_vcenter_call_duration_seconds_count", '{operation="LoginExtensionByCertificate"}') >= 1
    assert value(world.admin, "kaas_hx_call_duration_seconds_count", '{operation="login"}') == 1
    assert value(world.admin, "kaas_hx_call_duration_seconds_count", '{operation="read"}') > 1
    until(lambda: list(samples(world.admin, "kaas_hx_up").values()) == [1], "the connection")
    assert f'id="{hx}"' in next(iter(samples(world.admin, "kaas_hx_up")))
    assert value(world.admin, "kaas_worker_pool_threads", f'{{pool="vcenter",vcenter="{name}"}}') == 4
    assert value(world.admin, "kaas_worker_pool_done_total", f'{{pool="vcenter",vcenter="{name}"}}') > 0
    assert value(world.admin, "kaas_worker_pool_threads", f'{{pool="machines",vcenter="{name}"}}') == 2


def test_the_database_and_periodic_work(world: World) -> None:
    assert value(world.admin, "kaas_database_up") == 1
    assert value(world.admin, "kaas_database_connections", '{state="idle"}') >= 1
    assert value(world.admin, "kaas_database_connections_max") >= 8
    assert value(world.admin, "kaas_database_statement_duration_seconds_count") > 100
    at = samples(world.admin, "kaas_periodic_last_success_timestamp_seconds")
    assert abs(at['{work="changes"}'] - time.time()) < 60 and '{work="heartbeat"}' in at
    errors = samples(world.admin, "kaas_database_errors_total")
    assert set(errors) <= {'{reason="conflict"}', '{reason="already_exists"}', '{reason="internal"}'}, errors


def test_health_is_told_as_health_tells_it(world: World) -> None:
    checks = {check["name"]: check["status"] for check in world.admin.get("/v2/health")["checks"]}
    told = samples(world.admin, "kaas_health")
    assert set(told.values()) == {1}
    read = {m["check"] + (f":{m['subject']}" if m["subject"] else ""): m["status"] for labels in told
            if (m := re.fullmatch(r'\{check="(?P<check>\w+)"(?:,subject="(?P<subject>[^"]*)")?,status="(?P<status>\w+)"\}', labels))}
    assert read == checks


def test_the_process_is_that_process(world: World) -> None:
    assert world.kaasd.process
    pid = world.kaasd.process.pid
    assert value(world.admin, "process_max_fds") >= 1024
    assert abs(value(world.admin, "process_open_fds") - len(list(Path(f"/proc/{pid}/fd").iterdir()))) <= 4
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    assert 0.8 < value(world.admin, "process_resident_memory_bytes") / resident < 1.25
    assert abs(value(world.admin, "process_start_time_seconds") - Path(f"/proc/{pid}").stat().st_ctime) < 10
    assert float(re.findall(r"^process_cpu_seconds_total (\S+)$", page(world.admin), re.M)[0]) > 0
    version = world.admin.get("/v2/version")["version"]
    assert samples(world.admin, "kaas_build_info") == {f'{{version="{version}"}}': 1}
    assert value(world.admin, "kaas_ready") == 1
    assert value(world.admin, "kaas_http_connections", '{server="https"}') >= 1


def test_the_newest_backup_is_told(world: World, tmp_path: Path) -> None:
    before = int(time.time())
    world.kaasd.ctl.ok("backup", f"{tmp_path}/")
    world.kaasd.stop()  # it looks once a minute, and when it starts
    world.kaasd.start()
    until(lambda: value(world.admin, "kaas_backup_last_timestamp_seconds") >= before, "the time of the backup")
