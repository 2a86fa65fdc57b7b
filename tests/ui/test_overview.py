"""The overview: states and HX clusters in numbers and drawings, each a way into the list."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from conftest import MakePage
from mock_kaasd import MockKaasd, Refusal
from playwright.sync_api import Locator, Page, expect
from sample import HX_WEST, VCENTER, hx, ident, place
from watched import WatchedPage

Shots = Callable[[Page, str], None]
PROD = f"#/clusters/{ident('cluster prod-2')}"


def opened(mock: MockKaasd, make_page: MakePage, who: tuple[str, ...] = ("admin", "secret")) -> WatchedPage:
    watched = make_page()
    watched.page.goto(f"{mock.url}/ui/#/overview")
    watched.fill_and_submit(*who)
    watched.page.wait_for_selector("main[aria-busy=false] h1")
    return watched


def hx_card(page: Page, where: str) -> Locator:
    return page.locator("kaas-overview .cards li").filter(has_text=where)


def test_states_lead_into_the_list(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page)
    page = watched.page
    expect(page.get_by_role("heading", name="Overview")).to_be_focused()
    expect(page).to_have_title("Overview · Harmony KaaS")
    expect(page.get_by_role("link", name="10 clusters")).to_be_visible()
    expect(page.get_by_role("link", name="Ready 3")).to_be_visible()
    assert watched.axe() == []
    page.get_by_role("link", name="Degraded 1").click()
    expect(page.locator("kaas-cluster-table tbody tr")).to_have_count(1)
    views = page.get_by_role("navigation", name="Views")
    expect(views.get_by_role("link", name="Clusters")).to_have_attribute("aria-current", "page")
    views.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_hx_clusters_as_an_administrator_sees_them(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page).page
    for where, texts in (("DC0 / HX-East", ("Online, healthy", "35%", "14 TiB of 40 TiB used", "4 of 4 online", "5.5.2a-39363")),
                         ("DC0 / HX-West", ("Online, not healthy", "Storage node hx-3 is not reachable", "90%", "3 of 4 online",
                                            "3 Kubernetes clusters: 1 unreachable, 1 degraded, 1 updating")),
                         ("DC1 / HX-East", ("Cannot be read", "hx-lab.example.com:443 does not answer.",
                                            "Check its address and the firewall.", "2 Kubernetes clusters"))):
        for text in texts:
            expect(hx_card(page, where)).to_contain_text(text)
    hx_card(page, "DC0 / HX-West").get_by_role("link", name="HX-West").click()
    expect(page.get_by_label("HX cluster")).to_have_value(HX_WEST["id"])
    expect(page.locator("kaas-cluster-table tbody tr")).to_have_count(3)


def number(text: str) -> int:
    """The one in the text of a link."""
    return int(re.search(r"[\d,]+", text)[0].replace(",", ""))


def many_hx(mock: MockKaasd) -> None:
    mock.world.hx_clusters += [hx(f"HX-{n:02}", place("DC0", f"domain-d{n}", f"HX-{n:02}")) for n in range(30)]


@pytest.mark.parametrize("many", [False, True], ids=["cards", "table"])
def test_every_number_is_that_of_the_list_behind_it(mock: MockKaasd, make_page: MakePage, many: bool) -> None:
    if many:
        many_hx(mock)
    page = opened(mock, make_page).page
    links = page.locator("kaas-overview").locator(".counts a, .on a").filter(has_not_text=re.compile("^0 "))
    texts = links.all_inner_texts()
    assert len(texts) > 15
    for n, text in enumerate(texts):
        links.nth(n).click()
        expect(page.get_by_role("status").filter(has_text=re.compile(rf"^{number(text)} clusters?$"))).to_be_visible()
        page.go_back()
        expect(links).to_have_count(len(texts))


def test_the_numbers_of_the_parts_are_the_whole(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page).page
    everything = number(page.get_by_role("link", name=re.compile(r"\d+ clusters")).inner_text())
    parts = page.locator("kaas-overview .parts a").all_inner_texts()
    assert [re.sub(r"\s*\d+", "", part) for part in parts] == ["On any HX cluster", "On no HX cluster"]
    assert sum(map(number, parts)) == everything == len(mock.world.clusters)
    cards = [number(link) for link in page.locator("kaas-overview .on p > a:first-child").all_inner_texts()]
    expect(page.get_by_text("The numbers of the HX clusters add up to 1 more than there are")).to_be_visible()  # prod-2 is on two
    assert sum(cards) == everything + 1
    states = [number(link) for link in page.locator("kaas-overview .counts ul:not(.parts) a").all_inner_texts()]
    assert sum(states) == everything


IN_COLOUR = """(element, token) => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(${token})`;
  const wanted = getComputedStyle(probe).color;
  probe.remove();
  return getComputedStyle(element).color === wanted;
}"""


@pytest.mark.parametrize("many", [False, True], ids=["cards", "table"])
def test_an_old_reading_is_pale(mock: MockKaasd, make_page: MakePage, shots: Shots, many: bool) -> None:
    """For an administrator, who is told that it cannot be read now, and for others, to whom only its time tells."""
    if many:
        many_hx(mock)
    for who, name in ((("admin", "secret"), "admin"), (("anna@vsphere.local", "secret", "vc.example.com"), "user")):
        watched = opened(mock, make_page, who)
        rows = watched.page.locator("kaas-overview tbody tr" if many else "kaas-overview .cards li")
        for where, drawn in (("DC0 / HX-East", "--busy"), ("DC1 / HX-East", "--fill-unknown")):
            one = rows.filter(has_text=where)
            expect(one).to_contain_text("35%")
            assert one.locator(".ring, .share").first.evaluate(IN_COLOUR, drawn), (who, where)
        expect(rows.filter(has_text="DC1 / HX-East").locator(".good")).to_have_count(0)
        assert watched.axe() == []
        shots(watched.page, f"overview.old-reading-{name}-{'table' if many else 'cards'}.tab")


def test_many_hx_clusters_are_rows_and_the_worst_comes_first(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    many_hx(mock)
    watched = opened(mock, make_page)
    page = watched.page
    rows = page.locator("kaas-overview tbody tr")
    expect(rows).to_have_count(34)  # three and thirty, and what runs on none
    expect(rows.nth(0)).to_contain_text("Cannot be read")
    expect(rows.nth(1)).to_contain_text("Online, not healthy")
    expect(rows.nth(1)).to_contain_text("90%")
    expect(rows.nth(33)).to_contain_text("On no HX cluster")
    assert not [path for _, path, _ in mock.world.requests if path.startswith("/v2/hx-clusters/")]
    for width in (1280, 700, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert (watched.overflow(), watched.small_targets()) == (0, [])
        shots(page, f"overview.many-{width}.tab")


def test_others_see_what_runs_where(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, ("anna@vsphere.local", "secret", "vc.example.com"))
    expect(hx_card(watched.page, "DC0 / HX-West")).to_contain_text("3 Kubernetes clusters")
    for text in ("Online, not healthy", "90%", "3 of 4 online", re.compile(r"Read\s*\d+ minutes? ago")):
        expect(hx_card(watched.page, "DC0 / HX-West")).to_contain_text(text)
    expect(hx_card(watched.page, "DC1 / HX-East")).to_contain_text("5 hours ago")
    for told in ("hx-3", "Cannot be read", "not connected"):  # to administrators only
        expect(watched.page.get_by_text(told)).to_have_count(0)
    assert "/v2/hx-connections" not in {path for _, path, _ in mock.world.requests}
    assert VCENTER not in watched.page.content()
    assert watched.axe() == []


def test_is_live_and_tells_what_fails(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page)
    page = watched.page
    mock.world.clusters = [c | {"state": "failed"} if c["name"] == "prod-1" else c for c in mock.world.clusters]
    expect(page.get_by_role("link", name="Failed 2")).to_be_visible()
    mock.world.refusals["/v2/clusters/counts"] = Refusal(503, "busy", "much", headers={"Retry-After": "600"})
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("alert")).to_contain_text("The overview could not be refreshed")
    expect(page.get_by_role("link", name="Failed 2")).to_be_visible()
    assert watched.axe() == []
    mock.world.refusals.clear()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).not_to_contain_text("could not")


@pytest.mark.parametrize("address", ["#/overview", PROD])
def test_old_data_is_told_with_its_time(mock: MockKaasd, make_page: MakePage, address: str) -> None:
    mock.world.stale, mock.world.stale_for = "database", timedelta(days=3)
    watched = make_page()
    watched.page.goto(f"{mock.url}/ui/{address}")
    watched.fill_and_submit("admin", "secret")
    banner = watched.page.get_by_role("status").filter(has_text="This may be out of date.")
    expect(banner).to_contain_text(re.compile("Changes cannot be read from the database right now. It is as of .*20"))
    expect(watched.page.get_by_text(re.compile("As of .*, 3 days ago"))).to_be_visible()


def test_nothing_there(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.clusters, mock.world.hx_clusters = [], []
    watched = opened(mock, make_page)
    for text in ("No clusters yet", "kaasctl cluster add", "There is no HX cluster that you may see."):
        expect(watched.page.get_by_text(text)).to_be_visible()
    assert watched.axe() == []


@pytest.mark.parametrize(
    ("width", "scheme", "locale"), [(320, "dark", "de-DE"), (640, "light", "en-GB"), (900, "light", "de-DE"), (1600, "dark", "en-GB")])
def test_every_width_and_theme(mock: MockKaasd, make_page: MakePage, shots: Shots, width: int, scheme: str, locale: str) -> None:
    watched = make_page(viewport={"width": width, "height": 800}, color_scheme=scheme, locale=locale)
    page = watched.page
    page.goto(f"{mock.url}/ui/#/overview")
    watched.enter()
    page.locator("kaas-overview .cards li").first.wait_for()
    assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
    shots(page, f"overview.{width}.tab.{scheme}")


@pytest.mark.parametrize("address", ["", "#/overview", PROD, f"{PROD}/nodes"])
def test_forced_colours_and_zoom(mock: MockKaasd, make_page: MakePage, shots: Shots, address: str) -> None:
    """Twice as large on a window of 1280 by 800 is the same as 640 by 400."""
    watched = make_page(viewport={"width": 640, "height": 400}, device_scale_factor=2, forced_colors="active")
    watched.page.goto(f"{mock.url}/ui/{address}")
    watched.fill_and_submit("admin", "secret")
    watched.page.wait_for_selector("main[aria-busy=false] h1")
    assert (watched.axe("color-contrast"), watched.overflow()) == ([], 0)  # it reads the colours that are not used now
    shots(watched.page, f"forced-colours.{len(address)}.tab")
