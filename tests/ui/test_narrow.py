"""No page scrolls sideways, at any width; and a list that has no room for columns has two lines for each cluster."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from conftest import MakePage
from env.certs import ServerCert, make_server_cert
from homes import home
from mock_kaasd import MockKaasd, Refusal, World
from playwright.sync_api import Frame, Page, expect
from sample import CONNECTED_NODES, DEGRADED, EAST, ago, cluster, hx, ident, place
from watched import WatchedPage

Shots = Callable[[Page, str], None]
WIDTHS = (320, 375, 480, 600, 700, 768, 860, 900, 1024, 1280, 1920)
DOWN = Refusal(503, "database_unavailable", "The database does not answer.", "Look at the health page.", {"Retry-After": "600"})
LONG = "team-a-cluster-that-a-script-gave-its-longest-name"
LONG_ID = f"#/clusters/{ident(f'cluster {LONG}')}"
PROD = f"#/clusters/{ident('cluster prod-2')}"
# What is wider inside than it is: the document, and every element that holds others. Texts that are cut with an ellipsis are meant to be.
WIDER = """() => {
  const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  const boxes = 'html, body, main, header, nav, aside, form, fieldset, section, table, ul, dl, p, td, th, .card, .bar, .line, .head, .box,'
    + '.choice, .lines';
  const isCut = (e) => getComputedStyle(e).textOverflow === 'ellipsis' || getComputedStyle(e).clipPath !== 'none';
  return all(document).filter((e) => e.matches(boxes) && e.clientWidth > 0 && e.scrollWidth > e.clientWidth && !isCut(e))
    .map((e) => `${e.tagName} ${e.className} ${e.scrollWidth} > ${e.clientWidth}`);
}"""


def hard(world: World) -> None:
    """The longest of everything."""
    tags = {f"example.com/a-key-that-is-long-{n}": "a-value-that-is-as-long-as-values-may-be-and-goes-on-to-here-63" for n in range(4)}
    far = place("A datacenter with a long name", "domain-c98", "HX-cluster-with-a-name-that-is-as-long-as-vcenter-allows-80-characters")
    world.hx_clusters = [*world.hx_clusters, hx("An-HX-cluster-whose-name-has-as-many-signs-as-50-x", far)]
    world.clusters = [
        cluster(LONG, "degraded", [far], workers=(1, 12345), labels=tags, description="long " * 60, created_at=ago(days=4000),
                state_reason=f"VM {LONG}-control-plane-0 is powered off; VM {LONG}-1 is gone; and 12 more",
                kubernetes_version="1.31.2-rc.1+vendor.20260101",
                api_endpoint=f"https://{LONG}.{LONG}.example.com:6443", dashboard_url=f"https://{LONG}.example.com/"),
        *world.clusters,
    ]


def sweep(watched: WatchedPage, frame: Frame, beside: int = 0) -> dict[int, list[str]]:
    """What is too wide, by the width of the frame."""
    found = {}
    for width in WIDTHS:
        watched.page.set_viewport_size({"width": width + beside, "height": 700})
        frame.wait_for_function("(width) => innerWidth === width", arg=width)
        frame.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))")
        if wider := frame.evaluate(WIDER):
            found[width] = wider
    return found


def many_hx(world: World) -> None:
    world.hx_clusters = [*world.hx_clusters, *[hx(f"HX-{n:02}", place("DC0", f"domain-d{n}", f"HX-{n:02}")) for n in range(9)]]


PLACES: dict[str, tuple[str, str, Callable[[World], object]]] = {
    "list": ("#/clusters", "kaas-cluster-table tbody tr", lambda world: None),
    "list-filtered": ("#/clusters?q=prod&state=ready,degraded&label=team%3Dshop", "kaas-cluster-table tbody tr", lambda world: None),
    "list-empty": ("#/clusters?q=none", "kaas-empty", lambda world: None),
    "list-none": ("#/clusters", "kaas-empty", lambda world: setattr(world, "clusters", [])),
    "list-many": ("#/clusters?page=300&size=25", "kaas-pager nav", lambda world: setattr(
        world, "clusters", [cluster(f"c-{n:05}", ("ready", "failed")[n % 2], [EAST]) for n in range(12_000)])),
    "list-down": ("#/clusters", "[role=alert] kaas-notice", lambda world: world.refusals.update({"/v2/clusters": DOWN})),
    "list-stale": ("#/clusters", "[role=status] kaas-notice", lambda world: setattr(world, "stale", "database, rights, vcenter")),
    "details": (LONG_ID, "kaas-cluster-detail section", lambda world: None),
    "nodes": (f"{PROD}/nodes", "kaas-node-table .share", lambda world: None),
    "health": (PROD, "kaas-cluster-health li", lambda world: setattr(world, "health", DEGRADED)),
    "nodes-connected": (f"{PROD}/nodes", "kaas-node-table .mark", lambda world: setattr(world, "nodes", CONNECTED_NODES)),
    "connect": ("#/connect", "kaas-connect form", lambda world: None),
    "access": (f"{PROD}/access", "kaas-cluster-detail section", lambda world: None),
    "events": (f"{PROD}/events", "kaas-cluster-detail table", lambda world: None),
    "gone": (f"#/clusters/{ident('nothing')}", "kaas-empty", lambda world: None),
    "details-down": (PROD, "[role=alert] kaas-notice", lambda world: world.refusals.update({f"/v2{PROD[1:]}": DOWN})),
    "overview": ("#/overview", "kaas-overview .figure", lambda world: None),
    "overview-rows": ("#/overview", "kaas-overview tbody tr", many_hx),
    "overview-down": ("#/overview", "[role=alert] kaas-notice", lambda world: world.refusals.update({"/v2/clusters/counts": DOWN})),
}


@pytest.fixture(scope="session")
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hosts"))


@pytest.mark.parametrize("name", PLACES)
def test_no_width_makes_a_page_scroll_sideways(mock: MockKaasd, make_page: MakePage, shots: Shots, name: str) -> None:
    """In German, whose words are longer."""
    address, shown, spoil = PLACES[name]
    hard(mock.world)
    spoil(mock.world)
    watched = make_page(locale="de-DE")
    page = watched.page
    code = mock.world.give_code(mock.world.session_of("a.person-with-a-long-name@directory.example.com", "admin"), None)
    page.goto(f"{mock.url}/ui/{address}{'&' if '?' in address else '?'}code={code}")
    page.locator(shown).first.wait_for()
    assert sweep(watched, page.main_frame) == {}
    for width in (320, 768):
        page.set_viewport_size({"width": width, "height": 700})
        shots(page, f"narrow.{name}-{width}.tab")


@pytest.mark.parametrize("home_name", ["hx", "vsphere"])
@pytest.mark.parametrize("name", ["list", "nodes", "overview"])
def test_no_width_of_a_frame_makes_it_scroll_sideways(
        mock: MockKaasd, make_page: MakePage, cert: ServerCert, home_name: str, name: str) -> None:
    address, shown, _ = PLACES[name]
    hard(mock.world)
    watched = make_page(locale="de-DE")
    with home(home_name, mock, cert) as open_:
        frame = open_(watched, address, mock.world.session_of("a.person-with-a-long-name@directory.example.com", "admin"))
        frame.locator(shown).first.wait_for()
        assert sweep(watched, frame, 200 if home_name == "hx" else 0) == {}


def test_what_opens_fits(mock: MockKaasd, make_page: MakePage) -> None:
    """The account, the filters, a notice of a newer version, the form for another password."""
    hard(mock.world)
    notes = ["A note " * 30]
    mock.world.updates["available"] = {"version": "0.5.0", "released_at": ago(days=1), "notes": notes, "notes_url": None, "steps": []}
    watched = make_page(locale="de-DE")
    page = watched.page
    page.goto(f"{mock.url}/ui/#/clusters?state=ready,failed&q=a")
    watched.enter()
    page.locator("kaas-cluster-table tbody tr").first.wait_for()
    page.locator("kaas-header .me").click()
    assert sweep(watched, page.main_frame) == {}
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 320, "height": 700})
    page.get_by_role("button", name=re.compile("^Filter 2")).click()
    assert sweep(watched, page.main_frame) == {}
    page.locator("kaas-header .me").click()
    page.get_by_role("button", name="Passwort ändern").click()
    page.locator("kaas-change-password form").wait_for()
    assert sweep(watched, page.main_frame) == {}


@pytest.mark.parametrize("state", ["form", "refused", "away", "missing"])
def test_the_sign_in_fits(mock: MockKaasd, make_page: MakePage, shots: Shots, state: str) -> None:
    mock.world.ways = {"vcenter": True, "directories": ["a-directory-of-thirty-letters-"[:29]], "kerberos": "button"}
    if state == "away":
        mock.world.refusals["/v2/login/password"] = DOWN
    watched = make_page(locale="de-DE")
    page = watched.page
    page.goto(f"{mock.url}/ui/")
    page.locator("form").wait_for()
    if state != "form":
        page.locator("[name=username]").fill("" if state == "missing" else "a-user-name-that-is-long" * 4)
        page.locator("[name=password]").fill("wrong")
        page.keyboard.press("Enter")
        page.locator(".missing" if state == "missing" else "kaas-notice").first.wait_for()
    assert sweep(watched, page.main_frame) == {}
    for width in (320, 768):
        page.set_viewport_size({"width": width, "height": 700})
        shots(page, f"narrow.sign-in-{state}-{width}.tab")


@pytest.mark.parametrize("width", [320, 375, 480, 760])
def test_two_lines_for_each_cluster(mock: MockKaasd, make_page: MakePage, width: int) -> None:
    watched = make_page(viewport={"width": width, "height": 900})
    watched.sign_in(mock.url, "admin", "secret")
    page = watched.page
    row = page.get_by_role("row").filter(has_text="payments")
    for text in ("payments", "Unreachable", "VM payments-cp-0 is powered off", "1.30.6", "0 of 3 ready", "6 wanted, number ready unknown"):
        expect(row).to_contain_text(text)
    cells = {name: row.locator(f".{name}").bounding_box() for name in ("name", "state", "below", "facts")}
    assert abs(cells["name"]["y"] - cells["state"]["y"]) < 8 and abs(cells["below"]["y"] - cells["facts"]["y"]) < 8
    assert cells["below"]["y"] >= cells["name"]["y"] + cells["name"]["height"] - 1
    assert row.bounding_box()["height"] <= 60
    expect(page.get_by_role("row").filter(has_text="a-name-of-fifty")).to_contain_text("a-name-of-fifty-characters-without-any-break-12345")
    assert (watched.axe(), watched.small_targets()) == ([], [])


def test_order_and_filters_of_a_narrow_list(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page(viewport={"width": 375, "height": 800})
    watched.sign_in(mock.url, "admin", "secret")
    page = watched.page
    assert watched.names()[0] == "edge-berlin"
    order = page.get_by_role("combobox", name="Order")
    expect(order).to_have_value("-state")
    order.select_option("Name, ascending")
    expect(page.locator("tbody tr").first).to_contain_text(min(c["name"] for c in mock.world.clusters))
    assert page.evaluate("location.hash") == "#/clusters?sort=name"
    filters = page.get_by_role("button", name=re.compile("^Filters"))
    expect(filters).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("group", name="States")).to_be_hidden()
    filters.focus()
    page.keyboard.press("Enter")
    page.get_by_role("group", name="States").get_by_role("button", name=re.compile("^Failed")).click()
    page.get_by_role("combobox", name="HX cluster", exact=True).select_option("On any HX cluster")
    expect(page.get_by_text("1 cluster", exact=True)).to_be_visible()
    assert watched.axe() == []
    filters.click()
    expect(filters).to_have_text(re.compile(r"Filters\s*2"))
    expect(page.get_by_role("combobox", name="HX cluster", exact=True)).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 800})  # there is room: no button, and what was chosen stays
    expect(filters).to_have_count(0)
    expect(page.get_by_role("combobox", name="HX cluster", exact=True)).to_have_value("true")
    expect(page.get_by_role("columnheader", name="Name")).to_be_visible()
