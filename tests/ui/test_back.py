"""The browser's Back undoes what somebody chose in the list, step by step; words in the making are no steps, and a frame leaves the steps
to its host."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from conftest import MakePage
from env.certs import ServerCert, make_server_cert
from homes import home
from mock_kaasd import MockKaasd
from playwright.sync_api import Frame, Locator, Page, expect
from sample import EAST, HX_EAST, HX_WEST, SHOP, WEST, cluster

Shots = Callable[[Page, str], None]


@pytest.fixture
def many(mock: MockKaasd) -> Iterator[MockKaasd]:
    states = ("ready", "degraded", "failed")
    mock.world.clusters = [cluster(f"c-{n:03}", states[n % 3], [(EAST, WEST)[n % 2]], labels=SHOP if n < 9 else {}) for n in range(180)]
    yield mock


def rows(page: Page | Frame) -> Locator:
    return page.locator("kaas-cluster-table tbody tr")


def chip(page: Page | Frame, name: str) -> Locator:
    return page.get_by_role("group", name="States").get_by_role("button", name=re.compile(f"^{name}"))


def steps(page: Page) -> int:
    return page.evaluate("history.length")


def opened(mock: MockKaasd, make_page: MakePage, address: str = "") -> Page:
    watched = make_page()
    watched.page.goto(f"{mock.url}/ui/{address}")
    watched.fill_and_submit("admin", "secret")
    rows(watched.page).first.wait_for()
    return watched.page


CHOICES: list[tuple[Callable[[Page], object], str]] = [
    (lambda page: chip(page, "Failed").click(), "60 clusters"),
    (lambda page: page.get_by_role("button", name="Page 2", exact=True).click(), "51 – 60 of 60"),
    (lambda page: page.get_by_label("HX cluster").select_option(HX_WEST["id"]), "30 clusters"),
    (lambda page: page.get_by_label("HX cluster").select_option(HX_EAST["id"]), "1 – 30 of 30"),
    (lambda page: page.get_by_role("columnheader", name="Name").get_by_role("button").click(), "1 – 30 of 30"),
    (lambda page: page.get_by_role("button", name="team=shop").first.click(), "2 clusters"),
    (lambda page: page.get_by_role("button", name="Clear filters").click(), "180 clusters"),
]


def test_each_choice_is_undone_and_done_again(many: MockKaasd, make_page: MakePage) -> None:
    page = opened(many, make_page)
    first, seen = steps(page), [(page.evaluate("location.hash"), "180 clusters")]
    for choose, told in CHOICES:
        choose(page)
        expect(page.get_by_text(told)).to_be_visible()
        seen.append((page.evaluate("location.hash"), told))
    assert steps(page) == first + len(CHOICES)
    assert len({address for address, _ in seen}) == len(seen)
    for go, places in ((page.go_back, seen[-2::-1]), (page.go_forward, seen[1:])):
        for address, told in places:
            go()
            expect(page.get_by_text(told)).to_be_visible()
            assert page.evaluate("location.hash") == address
    for _ in CHOICES:
        page.go_back()
    expect(chip(page, "All")).to_have_attribute("aria-pressed", "true")
    chip(page, "Ready").click()
    expect(page.get_by_text("60 clusters")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("180 clusters")).to_be_visible()


def test_words_take_the_place_of_the_ones_before(many: MockKaasd, make_page: MakePage) -> None:
    page = opened(many, make_page)
    chip(page, "Failed").click()
    expect(page.get_by_text("60 clusters")).to_be_visible()
    before = steps(page)
    page.get_by_role("searchbox").press_sequentially("c-00")
    expect(page.get_by_text("3 clusters")).to_be_visible()
    assert (steps(page), page.evaluate("location.hash")) == (before, "#/clusters?q=c-00&state=failed")
    chip(page, "All").click()
    expect(page.get_by_text("10 clusters")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("3 clusters")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_have_value("c-00")
    page.go_back()
    expect(page.get_by_text("180 clusters")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_what_an_answer_sets_right_is_no_step(many: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    page = watched.page
    page.goto(f"{many.url}/ui/?hx_cluster=HX-West#/clusters?page=99")
    before = steps(page)
    watched.fill_and_submit("admin", "secret")
    expect(page.get_by_text("51 – 90 of 90")).to_be_visible()
    expect(page.get_by_label("HX cluster")).to_have_value(HX_WEST["id"])
    assert page.evaluate("location.hash") == f"#/clusters?hx={HX_WEST['id']}&page=2"
    assert steps(page) == before
    page.get_by_label("HX cluster").select_option("All places")
    expect(page.get_by_text("180 clusters")).to_be_visible()
    assert steps(page) == before + 1
    page.go_back()
    expect(page.get_by_text("51 – 90 of 90")).to_be_visible()


@pytest.mark.parametrize("front", ["", "#/clusters"])
def test_the_hx_cluster_of_the_first_address_is_come_back_to(many: MockKaasd, make_page: MakePage, front: str) -> None:
    """Several are called so, and none is taken in its place."""
    watched = make_page()
    page = watched.page
    page.goto(f"{many.url}/ui/?hx_cluster=HX-East{front}")
    watched.fill_and_submit("admin", "secret")
    told = page.get_by_role("alert").filter(has_text="Several HX clusters are called “HX-East”")
    told.get_by_role("button", name="Show all clusters").click()
    expect(page.get_by_text("180 clusters")).to_be_visible()
    page.go_back()
    expect(told).to_be_visible()


def test_details_are_between_two_steps(many: MockKaasd, make_page: MakePage) -> None:
    page = opened(many, make_page)
    chip(page, "Failed").click()
    expect(page.get_by_text("60 clusters")).to_be_visible()
    rows(page).nth(2).get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="c-008")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("60 clusters")).to_be_visible()
    expect(rows(page).nth(2).get_by_role("link").first).to_be_focused()
    page.go_back()
    expect(page.get_by_text("180 clusters")).to_be_visible()


@pytest.fixture(scope="session")
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hosts"))


@pytest.mark.parametrize("name", ["hx", "vsphere"])
def test_a_frame_adds_no_steps_to_its_host_but_what_is_opened(many: MockKaasd, make_page: MakePage, cert: ServerCert, name: str) -> None:
    watched = make_page()
    page = watched.page
    with home(name, many, cert) as open_:
        frame = open_(watched, "", many.world.session_of("anna@vsphere.local", "admin"))
        rows(frame).first.wait_for()
        before = steps(page)
        chip(frame, "Failed").click()
        frame.get_by_role("button", name="Page 2", exact=True).click()
        expect(frame.get_by_text("51 – 60 of 60")).to_be_visible()
        assert steps(page) == before
        assert "state=failed&page=2" in frame.evaluate("location.hash")  # and it is there when the frame is loaded again
        rows(frame).first.get_by_role("link").first.click()
        expect(frame.locator("kaas-cluster-detail h1")).to_be_visible()
        assert steps(page) == before + 1
        page.evaluate("history.back()")
        expect(frame.get_by_text("51 – 60 of 60")).to_be_visible()


@pytest.mark.parametrize("address", ["#/nonsense", "#nonsense", "#/clusters/not-an-id"])
def test_an_address_that_there_is_not_says_so(mock: MockKaasd, make_page: MakePage, shots: Shots, address: str) -> None:
    """And leads to the list."""
    watched = make_page()
    page = watched.page
    page.goto(f"{mock.url}/ui/{address}")
    watched.fill_and_submit("admin", "secret")
    expect(page.get_by_role("heading", name="There is no such page", level=1)).to_be_focused()
    expect(page).to_have_title("No such page · Harmony KaaS")
    expect(page.get_by_role("navigation", name="Views").locator("[aria-current]")).to_have_count(0)
    assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
    shots(page, "nowhere.tab")
    page.get_by_role("link", name="To the list of clusters").click()
    expect(page.locator("kaas-cluster-table tbody tr")).to_have_count(10)
    page.go_back()
    expect(page.get_by_role("heading", name="There is no such page", level=1)).to_be_visible()
