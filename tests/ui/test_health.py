"""What is not well with a cluster, and what Kubernetes says of its nodes, in the details in every home."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import MakePage
from env.certs import ServerCert, make_server_cert
from homes import NAMES, home
from mock_kaasd import MockKaasd
from playwright.sync_api import Frame, Page, expect
from sample import CONNECTED_NODES, DEGRADED, NO_HEALTH, REFUSED, SILENT, VCENTER, health, ident
from watched import WatchedPage

Shots = Callable[[Page, str], None]
PROD = f"#/clusters/{ident('cluster prod-2')}"
OWN_WORDS = ("the API server says: Unauthorized", "kaasctl cluster reconnect prod-2 --kubeconfig FILE")


@pytest.fixture(scope="session")
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hosts"))


def opened(mock: MockKaasd, make_page: MakePage, said: dict[str, Any], role: str = "admin", **options: object) -> WatchedPage:
    mock.world.health = said
    watched = make_page(**options)
    code = mock.world.give_code(mock.world.session_of("anna@vsphere.local", role), None)
    watched.page.goto(f"{mock.url}/ui/{PROD}?code={code}")
    watched.page.locator("kaas-cluster-detail section").first.wait_for()
    return watched


def lines(frame: Page | Frame) -> list[str]:
    return [" | ".join(line.inner_text().split("\n")) for line in frame.locator("kaas-cluster-health li").all()]


@pytest.mark.parametrize("name", NAMES)
def test_reasons_and_nodes_in_every_home(mock: MockKaasd, make_page: MakePage, cert: ServerCert, shots: Shots, name: str) -> None:
    mock.world.health, mock.world.nodes = DEGRADED, CONNECTED_NODES
    mock.world.clusters = [c | {"state_source": "asked"} for c in mock.world.clusters]
    watched = make_page()
    with home(name, mock, cert) as open_:
        frame = open_(watched, PROD, mock.world.session_of("anna@vsphere.local", "user"))
        expect(frame.locator("kaas-cluster-health li")).to_have_count(6)
        told = lines(frame)
        for line, texts in zip(told, (
                ("Degraded", "2 of 3 control planes are ready; not ready: prod-2-cp-1 (its kubelet is silent).",
                 "Since ", " minutes ago)",
                 "More is told by kubectl describe node NAME, and by the log of its kubelet."),
                ("Degraded", "Short of memory: prod-2-w-0."), ("Not known", "Its nodes have not been listed."),
                ("Worth knowing", "Cordoned: prod-2-w-0."),
                ("Several control planes on host esx-1.example.com: prod-2-cp-0 and prod-2-cp-1.", "DRS rule"),
                ("Worth knowing", "Something new.", "Do this about it.")), strict=True):
            for text in texts:
                assert text in line
        icons = frame.locator("kaas-cluster-health li svg")
        assert [icon.get_attribute("class").split("-")[-1] for icon in icons.all()] == ["warning", "warning", "neutral", *["info"] * 3]
        expect(frame.locator("kaas-cluster-detail dt", has_text="Known from").first.locator("xpath=following-sibling::dd[1]")).to_have_text(
            "Kubernetes")
        assert WatchedPage.axe_in(frame) == []
        shots(watched.page, f"details.health.{name}")
        frame.get_by_role("link", name="Nodes", exact=True).click()
        expect_nodes(frame)
        assert WatchedPage.axe_in(frame) == []
        shots(watched.page, f"details.nodes-connected.{name}")


def expect_nodes(frame: Frame) -> None:
    for name, texts in {
            "prod-2-cp-0": ("Ready", "Kubernetes: ready", "Changed 3 days ago", "v1.36.3", "esx-1.example.com"),
            "prod-2-w-0": ("Cordoned: takes nothing new", "Short of memory", "Short of disk space", "DC0 / HX-West"),
            "prod-2-w-1": ("Not ready", "Kubernetes: not ready (KubeletNotReady)", "Changed ", "Powered off"),
            "prod-2-w-2": ("Unknown", "Kubernetes: silent", "Changed ", "v1.35.4", "Does not respond"),
            "prod-2-w-3": ("1.31.2", "Kubernetes does not have it")}.items():
        row = frame.get_by_role("row").filter(has=frame.get_by_role("rowheader", name=name))
        for text in texts:
            expect(row).to_contain_text(text)
        expect(row).not_to_contain_text("Running")  # its machine does, but Kubernetes does not know the node
    link = frame.get_by_role("link", name="vm-prod-2-cp-0 opens in the vSphere Client, in a new tab")
    expect(link).to_have_attribute("href", f"https://vc.example.com/ui/app/vm;nav=v/urn:vmomi:VirtualMachine:vm-7:{VCENTER}/summary")
    # Kubernetes has told which nodes there are: nobody has to look for more
    expect(frame.get_by_text("nodes found")).to_have_count(0)


@pytest.mark.parametrize("said", [NO_HEALTH, health()], ids=["not-connected", "all-well"])
def test_where_there_is_nothing_to_say_nothing_is_shown(mock: MockKaasd, make_page: MakePage, said: dict[str, Any]) -> None:
    page = opened(mock, make_page, said).page
    expect(page.locator("kaas-cluster-health")).to_have_count(1)
    assert (lines(page), page.locator("kaas-cluster-health").bounding_box()["height"]) == ([], 0)
    expect(page.get_by_role("heading", name="Health")).to_have_count(0)


@pytest.mark.parametrize("role", ["admin", "user"])
def test_a_connection_that_fails_says_why_and_to_administrators_in_the_words_of_the_service(
        mock: MockKaasd, make_page: MakePage, role: str) -> None:
    watched = opened(mock, make_page, REFUSED, role)
    connection, reason = lines(watched.page)
    assert "Connection: Refuses this service" in connection and "Its API server does not take the token of this service." in connection
    assert [text in connection for text in OWN_WORDS] == [role == "admin"] * 2
    assert "Its API server refuses kaasd: Unauthorized." in reason and "Connect the cluster again with a kubeconfig" in reason
    assert watched.axe() == []


def test_is_live(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page, SILENT).page
    expect(page.locator("kaas-cluster-health li").last).to_contain_text("Unreachable")
    mock.world.health = health()
    mock.world.clusters = [c | {"state": "ready"} if c["name"] == "prod-2" else c for c in mock.world.clusters]
    expect(page.locator("kaas-cluster-health li")).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (900, "dark")])
def test_in_german_and_narrow(mock: MockKaasd, make_page: MakePage, shots: Shots, width: int, scheme: str) -> None:
    mock.world.nodes = CONNECTED_NODES
    watched = opened(mock, make_page, SILENT, viewport={"width": width, "height": 800}, color_scheme=scheme, locale="de-DE")
    page = watched.page
    connection, reason = lines(page)
    assert "Verbindung: Nicht zu erreichen" in connection and "Sein API-Server antwortet nicht rechtzeitig." in connection
    assert "Nicht erreichbar" in reason and "Die ausgefallenen Control Planes zurückbringen" in reason
    assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
    shots(page, f"details.health-{width}.tab.{scheme}")
    page.get_by_role("link", name="Knoten", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="prod-2-w-1")).to_contain_text("Kubernetes: nicht bereit (KubeletNotReady)")
    assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
    shots(page, f"details.nodes-connected-{width}.tab.{scheme}")
