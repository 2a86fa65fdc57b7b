"""What somebody has typed as ready is an outline, and never green, in every sum: overview, cards of HX clusters, states of the list, the
card in the vSphere Client."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import MakePage
from env.certs import ServerCert, make_server_cert
from homes import home
from mock_kaasd import MockKaasd
from playwright.sync_api import Frame, Locator, Page, Route, expect
from sample import EAST, cluster
from watched import WatchedPage

Shots = Callable[[Page, str], None]
DRAWN = "xpath=./*[name()='rect']"
GREEN = ".good, .icon-good, rect[fill='var(--fill-ready)']"
SUMS = ("kaas-overview .counts", "kaas-overview .on", "kaas-state-filter", "kaas-card")


@pytest.fixture
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hosts"))


def ready(mock: MockKaasd, typed: int, reported: int) -> None:
    """So many, all on HX-East."""
    mock.world.clusters = [cluster(f"c-{n}", "ready", [EAST], state_source="declared" if n < typed else "reported")
                           for n in range(typed + reported)]


def green(frame: Frame | Page) -> int:
    """How much of the sums is green."""
    return sum(frame.locator(place).locator(GREEN).count() for place in SUMS)


def overview(mock: MockKaasd, make_page: MakePage) -> WatchedPage:
    watched = make_page()
    watched.page.goto(f"{mock.url}/ui/#/overview")
    watched.fill_and_submit("admin", "secret")
    watched.page.locator("kaas-overview .cards li").first.wait_for()
    return watched


def east(page: Page) -> Locator:
    return page.locator("kaas-overview .cards li").filter(has_text="DC0 / HX-East")


def bar(page: Page, place: str) -> Locator:
    """Of all clusters, or of those on HX-East."""
    return (east(page) if place == ".on" else page.locator(f"kaas-overview {place}")).locator(".bar")


def to_list(page: Page) -> Locator:
    """The state `Ready` of the list."""
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Clusters").click()
    page.locator("kaas-cluster-table tbody tr").first.wait_for()
    return page.locator("kaas-state-filter").get_by_role("button", name="Ready")


@pytest.mark.parametrize("n", [3, 60], ids=["counted-by-the-page", "by-the-service"])
def test_all_that_is_typed_is_an_outline(mock: MockKaasd, make_page: MakePage, shots: Shots, n: int) -> None:
    ready(mock, n, 0)
    watched = overview(mock, make_page)
    page = watched.page
    for place in (".counts", ".on"):
        expect(bar(page, place).locator(DRAWN)).to_have_class(["declared"])
    expect(page.locator("kaas-overview .counts")).to_contain_text(f"({n} entered by hand)")
    expect(east(page)).to_contain_text(f"{n} Kubernetes clusters: {n} entered by hand")
    assert (green(page), watched.axe()) == (0, [])
    shots(page, f"overview.by-hand-{n}.tab")
    chip = to_list(page)
    expect(chip).to_contain_text(f"({n} entered by hand)")
    expect(chip.locator(".icon-hollow")).to_have_count(1)
    assert (green(page), watched.axe()) == (0, [])
    shots(page, f"list.by-hand-{n}.tab")


def test_what_is_seen_and_what_is_typed_stand_side_by_side(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    ready(mock, 2, 6)
    watched = overview(mock, make_page)
    page = watched.page
    for place in (".counts", ".on"):
        seen, typed = bar(page, place).locator(DRAWN).all()
        assert (seen.get_attribute("fill"), typed.get_attribute("fill"), typed.get_attribute("class")) == (
            "var(--fill-ready)", "none", "declared")
        assert 2 < seen.bounding_box()["width"] / typed.bounding_box()["width"] < 4
    expect(page.locator("kaas-overview .counts")).to_contain_text("(2 entered by hand)")
    shots(page, "overview.by-hand-some.tab")
    chip = to_list(page)
    expect(chip).to_contain_text("(2 entered by hand)")
    expect(chip.locator(".icon-good")).to_have_count(1)


def test_a_service_of_the_version_before_does_not_tell(mock: MockKaasd, make_page: MakePage) -> None:
    """As while replicas are upgraded one after the other."""
    ready(mock, 2, 6)

    def of_before(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        for counts in [body] if "states" in body else [hx["clusters"] for hx in body["items"] if "clusters" in hx]:
            del counts["ready_declared"]
        route.fulfill(response=answer, json=body)

    watched = make_page()
    for path in ("clusters/counts*", "hx-clusters?*"):
        watched.page.route(f"**/v2/{path}", of_before)
    watched.page.goto(f"{mock.url}/ui/#/overview")
    watched.fill_and_submit("admin", "secret")
    expect(watched.page.get_by_role("link", name="Ready 8")).to_be_visible()
    expect(east(watched.page)).to_contain_text("8 Kubernetes clusters")
    expect(watched.page.get_by_text("entered by hand")).to_have_count(0)
    watched.page.unroute_all(behavior="wait")  # an answer that is handed on while the page closes would fail the next test


@pytest.mark.parametrize(("reported", "lines"), [
    (0, ["2 Kubernetes clusters: Ready (entered by hand)"]),
    (3, ["3 Kubernetes clusters: Ready", "2 Kubernetes clusters: Ready (entered by hand)"])])
def test_the_card_of_a_datacenter(mock: MockKaasd, make_page: MakePage, shots: Shots, cert: ServerCert, reported: int,
                                  lines: list[str]) -> None:
    ready(mock, 2, reported)
    watched = make_page()
    with home("vsphere", mock, cert, "Datacenter:datacenter-2") as open_:
        frame = open_(watched, "", mock.world.session_of("anna@vsphere.local"))
        expect(frame.locator("kaas-card li bdi")).to_have_text(lines)
        assert green(frame) == (2 if reported else 0)  # one line: its colour and its icon
        expect(frame.locator("kaas-card .hollow .icon-hollow")).to_have_count(1)
        shots(watched.page, f"card.by-hand-{reported}.vsphere")
