"""What can be done with the list: pages, states, labels, columns, the file, rows that stay, addresses that keep all that."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import csv
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from conftest import MakePage
from env.wait import until
from mock_kaasd import MockKaasd, Refusal
from playwright.sync_api import Locator, Page, expect
from sample import EAST, HX_LAB, HX_WEST, LAB, NOW, WEST, ago, cluster
from watched import WatchedPage

Shots = Callable[[Page, str], None]
TITLE = "Kubernetes clusters"


def opened(mock: MockKaasd, make_page: MakePage, address: str = "", **options: object) -> WatchedPage:
    """Signed in at an address that somebody was given."""
    watched = make_page(**options)
    watched.page.goto(f"{mock.url}/ui/{address}")
    watched.fill_and_submit("admin", "secret")
    watched.page.wait_for_selector("main[aria-busy=false] h1")
    return watched


def rows(page: Page) -> Locator:
    return page.locator("kaas-cluster-table tbody tr")


def chip(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name="States").get_by_role("button", name=re.compile(f"^{name}"))


def hash_of(page: Page) -> str:
    return page.evaluate("location.hash")


def calls(page: Page) -> list[str]:
    """Addresses below /v2/ that the page asks from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.split("/v2/")[1]) if "/v2/" in request.url else None)
    return asked


@pytest.fixture
def many(mock: MockKaasd) -> MockKaasd:
    states = ["ready", "ready", "ready", "degraded", "failed"]
    mock.world.clusters = [cluster(f"c-{n:03}", states[n % 5], [EAST], created_at=ago(days=n + 1)) for n in range(120)]
    return mock


def test_pages(many: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(many, make_page)
    page, pages = watched.page, watched.page.get_by_role("navigation", name="Pages")
    seen = watched.names()
    expect(page.get_by_text("1 – 50 of 120")).to_be_visible()
    expect(pages.get_by_role("button", name="Previous page")).to_be_disabled()
    for number, text in ((2, "51 – 100 of 120"), (3, "101 – 120 of 120")):
        pages.get_by_role("button", name="Next page").click()
        expect(page.get_by_text(text)).to_be_visible()
        expect(pages.get_by_role("button", name=f"Page {number}", exact=True)).to_have_attribute("aria-current", "page")
        seen += watched.names()
    # the worst first, and in one state by name
    assert seen == [f"c-{n:03}" for fifth in ([4], [3], [0, 1, 2]) for n in range(120) if n % 5 in fifth]
    expect(pages.get_by_role("button", name="Last page")).to_be_disabled()
    expect(page.get_by_role("heading", name=TITLE)).to_be_focused()
    assert watched.axe() == []
    page.get_by_label("Rows per page").select_option("100")
    expect(page.get_by_text("1 – 100 of 120")).to_be_visible()
    page.evaluate("scrollTo(0, 1500)")
    head = page.locator("kaas-cluster-table thead th").first.bounding_box()
    assert head and head["y"] == 0  # the head stays
    shots(page, "list.pages.tab")


def test_a_start_reads_each_thing_once(many: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    page = watched.page
    page.goto(f"{many.url}/ui/")
    page.wait_for_selector("form")
    asked = calls(page)
    with page.expect_response(lambda answer: "wait=" in answer.url and answer.status == 204):  # nothing has changed since the rows
        watched.fill_and_submit("admin", "secret")
    expect(rows(page)).to_have_count(50)
    of_the_list = [call for call in asked if "clusters" in call and "wait=" not in call]
    assert of_the_list[0] == "clusters?sort=-state&limit=50&watch="
    assert sorted(of_the_list[1:]) == ["clusters/counts", "hx-clusters?limit=500"]
    assert all("watch=&" not in call for call in asked)  # followed from the cursor of the rows


def test_of_twenty_thousand_a_page_is_read(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.clusters = [cluster(f"c-{n:05}", "ready", [EAST]) for n in range(20_000)]
    watched = make_page()
    page = watched.page
    page.route("**/v2/clusters?*wait=*", lambda route: None)  # the stand-in would look through all of them again and again
    page.goto(f"{mock.url}/ui/")
    asked = calls(page)
    watched.fill_and_submit("admin", "secret")
    expect(page.get_by_text("1 – 50 of 20,000")).to_be_visible()
    page.get_by_role("button", name="Page 400", exact=True).click()
    expect(page.get_by_text("19,951 – 20,000 of 20,000")).to_be_visible()
    expect(page.get_by_role("button", name="Last page")).to_be_disabled()
    watched.expect_names([f"c-{n:05}" for n in range(19_950, 20_000)])
    page.get_by_role("searchbox").fill("c-12345")
    expect(rows(page)).to_have_count(1)
    read = [parse_qs(urlsplit(call).query) for call in asked if call.startswith("clusters?")]
    assert max(int(query["limit"][0]) for query in read) == 50
    assert [(query.get("offset"), query.get("q")) for query in read if "wait" not in query] == [
        (None, None), (["19950"], None), (None, ["c-12345"])]


def test_states_with_counts(many: MockKaasd, make_page: MakePage) -> None:
    watched = opened(many, make_page)
    page = watched.page
    for name, count in (("All", 120), ("Ready", 72), ("Degraded", 24), ("Failed", 24)):
        expect(chip(page, name)).to_have_text(re.compile(rf"{name}\s*{count}\s*$"))
    expect(chip(page, "Creating")).to_have_count(0)
    chip(page, "Degraded").click()
    chip(page, "Failed").click()
    expect(page.get_by_text("48 clusters")).to_be_visible()
    expect(chip(page, "Failed")).to_have_attribute("aria-pressed", "true")
    expect(chip(page, "Ready")).to_have_text(re.compile("72"))  # still there to be chosen
    assert watched.axe() == []
    chip(page, "All").click()
    expect(page.get_by_text("120 clusters")).to_be_visible()


def test_list_without_counts(many: MockKaasd, make_page: MakePage) -> None:
    many.world.refusals["/v2/clusters/counts"] = Refusal(503, "unavailable", "not now")
    page = opened(many, make_page).page
    expect(rows(page)).to_have_count(50)
    expect(chip(page, "All")).to_have_text("All")


def test_words_and_labels(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page)
    page = watched.page
    page.get_by_role("searchbox").fill("1.31 tier=back")
    expect(rows(page)).to_have_count(1)
    page.get_by_role("searchbox").fill("")
    expect(rows(page)).to_have_count(10)
    shop = rows(page).filter(has_text="prod-2").get_by_role("button", name="team=shop")
    shop.click()
    expect(rows(page)).to_have_count(2)
    expect(shop).to_be_focused()  # the focus goes with its row
    page.get_by_role("button", name="Remove filter: Label team=shop").click()
    expect(rows(page)).to_have_count(10)


def test_hx_clusters_of_one_name_are_told_apart(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    """In the rows, also where only one of the two is on the page; in the details of a cluster that is on both; in the file."""
    mock.world.clusters = [cluster("both", "ready", [EAST, LAB]), cluster("east", "ready", [EAST]), cluster("west", "ready", [WEST])]
    watched = opened(mock, make_page)
    page = watched.page
    east, far = "HX-East (DC0/HX-East)", "HX-East (DC1/HX-East)"
    for name, places in (("both", [east, far]), ("east", [east]), ("west", ["HX-West"])):
        expect(rows(page).filter(has=page.get_by_role("link", name=name)).locator("td.placement .place")).to_have_text(places)
    shots(page, "list.one-name.tab")
    assert (watched.axe(), watched.overflow()) == ([], 0)
    page.get_by_role("searchbox").fill("east")
    expect(rows(page)).to_have_count(1)
    expect(rows(page).locator("td.placement .place")).to_have_text([east])
    page.get_by_role("searchbox").fill("")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export CSV").click()
    assert f"{east}; {far}" in Path(saved.value.path()).read_text()
    page.get_by_role("link", name="both").click()
    places = page.locator("kaas-cluster-detail section").filter(has=page.get_by_role("heading", name="Place")).locator("dd").first
    expect(places.locator("p")).to_have_text([east, far])


def test_all_labels_can_be_seen(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    """By keyboard, and they are said to a screen reader."""
    watched = opened(mock, make_page)
    page = watched.page
    row = rows(page).filter(has_text="prod-2")
    tags = row.locator("td.labels .tag bdi")
    expect(tags).to_have_text(["team=shop", "tier=back"])
    row.get_by_role("button", name="tier=back").focus()
    page.keyboard.press("Tab")
    more = row.get_by_role("button", name="1 more label of prod-2")
    expect(more).to_be_focused()
    expect(more).to_have_attribute("aria-expanded", "false")
    assert (watched.axe(), watched.small_targets()) == ([], [])
    page.keyboard.press("Enter")
    expect(tags).to_have_text(["team=shop", "tier=back", "owner=anna"])
    fewer = row.get_by_role("button", name="Fewer")
    expect(fewer).to_be_focused()
    expect(fewer).to_have_attribute("aria-expanded", "true")
    shots(page, "list.all-labels.tab")
    row.get_by_role("button", name="owner=anna").click()
    expect(rows(page)).to_have_count(1)
    expect(tags).to_have_text(["team=shop", "tier=back", "owner=anna"])
    fewer.click()
    expect(tags).to_have_text(["team=shop", "tier=back"])


@pytest.mark.parametrize("page_asked", ["99999", "1e99", "7"])
def test_a_page_behind_the_last_is_the_last(many: MockKaasd, make_page: MakePage, page_asked: str) -> None:
    watched = make_page()
    page = watched.page
    page.goto(f"{many.url}/ui/#/clusters?page={page_asked}")
    watched.fill_and_submit("admin", "secret")
    expect(page.get_by_text("101 – 120 of 120")).to_be_visible()
    expect(page.locator("kaas-notice")).to_have_count(0)
    assert page.evaluate("location.hash") == "#/clusters?page=3"


def test_sort_by_every_head(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page).page
    for name in ("State", "Version", "Control plane", "Workers", "HX cluster", "Age", "Name"):
        head = page.get_by_role("columnheader", name=name)
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "ascending")  # of the state: by then the worst came first, as the list begins
        expect(page.locator("kaas-cluster-table th[aria-sort=ascending], th[aria-sort=descending]")).to_have_count(1)
    page.get_by_role("columnheader", name="Age").get_by_role("button").click()
    expect(rows(page).first).to_contain_text("somewhere")  # the youngest


def test_columns_are_chosen_and_kept_in_the_tab(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page)
    page = watched.page
    heads = page.get_by_role("columnheader")
    usual = ["State", "Name", "Version", "Control plane", "Workers", "HX cluster", "API endpoint", "Labels", "Age"]
    expect(heads).to_have_text(usual)
    opener = page.get_by_role("button", name="Columns", exact=True)
    opener.focus()
    page.keyboard.press("Enter")
    page.get_by_role("checkbox", name="Labels").uncheck()
    page.get_by_role("checkbox", name="Changed").check()
    assert (watched.axe(), watched.small_targets()) == ([], [])
    page.keyboard.press("Escape")
    expect(page.get_by_role("checkbox", name="Labels")).to_have_count(0)
    expect(opener).to_be_focused()
    expect(heads).to_have_text([*usual[:7], "Age", "Changed"])
    page.reload()
    expect(heads).to_have_text([*usual[:7], "Age", "Changed"])
    opener.click()
    page.get_by_role("button", name="Usual columns").click()
    expect(heads).to_have_text(usual)


def test_a_narrow_frame_has_a_table(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, viewport={"width": 900, "height": 700})
    tops = {row.bounding_box()["y"] for row in rows(watched.page).first.locator("th, td").all()}
    assert (len(tops), watched.overflow()) == (1, 0)  # the cells of a row stand side by side


def test_the_file_has_all_rows_that_fit(many: MockKaasd, make_page: MakePage) -> None:
    many.world.clusters.append(cluster("=SUM(A1)", "failed", [EAST], description="+1"))
    page = opened(many, make_page).page
    chip(page, "Failed").click()
    expect(page.get_by_text("25 clusters")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export CSV").click()
    expect(page.get_by_role("status").filter(has_text="25 rows exported.")).to_be_visible()
    assert re.fullmatch(r"kubernetes-clusters-\d{4}-\d\d-\d\d\.csv", saved.value.suggested_filename)
    with Path(saved.value.path()).open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 25
    assert {line["State"] for line in lines} == {"Failed"}
    assert [(line["Name"], line["Description"]) for line in lines if "SUM" in line["Name"]] == [("'=SUM(A1)", "'+1")]


def test_the_file_that_cannot_be_had(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    page = watched.page
    page.route("**/v2/clusters?*limit=500*", lambda route: route.abort())
    watched.sign_in(mock.url, "admin", "secret")
    page.get_by_role("button", name="Export CSV").click()
    expect(page.get_by_role("alert")).to_contain_text("The export did not work")
    expect(rows(page)).to_have_count(10)


def test_rows_stay_under_the_pointer(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, "#/clusters?sort=name")
    page = watched.page
    before = watched.names()
    rows(page).nth(4).hover()
    place = rows(page).nth(4).bounding_box()
    bad = {"state": "degraded", "state_reason": "4 of 5 workers are ready"}
    left = [c | bad if c["name"] == before[0] else c for c in mock.world.clusters if c["name"] != before[2]]
    mock.world.clusters = [cluster("0-first", "ready", [WEST]), *left]
    show = page.get_by_role("button", name="2 changes, show")
    expect(show).to_be_visible()
    expect(rows(page).first).to_contain_text("Degraded")  # what is new of a row is shown
    assert (watched.names(), rows(page).nth(4).bounding_box()) == (before, place)
    assert watched.axe() == []
    show.dispatch_event("click")  # while the pointer is still there: who takes it away sees the changes within seconds anyway
    expect(rows(page).first).to_contain_text("0-first")
    expect(show).to_have_count(0)


def test_rows_stay_around_the_focus(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, "#/clusters?sort=name")
    page = watched.page
    before = watched.names()
    page.mouse.move(0, 0)
    rows(page).nth(3).get_by_role("link").first.focus()
    mock.world.clusters = [*mock.world.clusters, cluster("0-first", "ready", [WEST])]
    expect(page.get_by_role("button", name="1 change, show")).to_be_visible()
    watched.expect_names(before)
    page.get_by_role("searchbox").focus()
    expect(rows(page).first).to_contain_text("0-first")


def test_the_address_keeps_what_is_asked(many: MockKaasd, make_page: MakePage) -> None:
    watched = opened(many, make_page)
    page = watched.page
    assert hash_of(page) == ""
    page.get_by_role("searchbox").fill("c-")
    chip(page, "Ready").click()
    page.get_by_role("columnheader", name="Name").get_by_role("button").click()
    page.get_by_label("Rows per page").select_option("25")
    page.get_by_role("button", name="Page 3", exact=True).click()
    expect(page.get_by_text("51 – 72 of 72")).to_be_visible()
    asked, names = hash_of(page), watched.names()
    assert set(asked.removeprefix("#/clusters?").split("&")) == {"q=c-", "state=ready", "sort=name", "size=25", "page=3"}
    page.reload()
    expect(page.get_by_text("51 – 72 of 72")).to_be_visible()
    watched.expect_names(names)
    expect(page.get_by_role("searchbox")).to_have_value("c-")
    elsewhere = opened(many, make_page, asked)
    elsewhere.expect_names(names)
    elsewhere.page.evaluate("location.hash = '#/clusters?state=failed'")
    expect(elsewhere.page.get_by_text("24 clusters")).to_be_visible()
    elsewhere.sign_out()
    expect(elsewhere.page.get_by_label("User name")).to_be_visible()
    assert hash_of(elsewhere.page) == ""  # what one person asked is not for the next


def test_an_hx_cluster_by_its_name(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page, "?hx_cluster=HX-West").page
    expect(page.get_by_label("HX cluster")).to_have_value(HX_WEST["id"])
    expect(rows(page)).to_have_count(3)
    assert page.evaluate("location.search + location.hash") == f"#/clusters?hx={HX_WEST['id']}"
    page.get_by_label("HX cluster").select_option(HX_LAB["id"])
    expect(rows(page)).to_have_count(2)


def test_an_hx_cluster_is_asked_for_by_name_in_one_call(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    asked: list[str] = []
    watched.page.on("request", lambda request: asked.append(request.url.partition("/v2/")[2]))  # noqa: PLW0108 - a builtin cannot be marked
    watched.page.goto(f"{mock.url}/ui/?hx_cluster=HX-West")
    watched.fill_and_submit("admin", "secret")
    expect(watched.page.get_by_label("HX cluster")).to_have_value(HX_WEST["id"])
    lists = [call for call in asked if call.startswith("clusters?") and "limit=" in call and "wait=" not in call]
    assert [("hx_cluster=HX-West" in call, "hx_cluster_id" in call) for call in lists] == [(True, False)]


@pytest.mark.parametrize("home", ["", "#/clusters"])
def test_several_hx_clusters_of_one_name(mock: MockKaasd, make_page: MakePage, home: str) -> None:
    watched = opened(mock, make_page, f"?hx_cluster=HX-East{home}")
    told = watched.page.get_by_role("alert").filter(has_text="Several HX clusters are called “HX-East”: choose one of them.")
    expect(told.get_by_role("button")).to_have_text(["HX-East (DC0/HX-East)", "HX-East (DC1/HX-East)", "Show all clusters"])
    expect(rows(watched.page)).to_have_count(0)  # those of others would be taken for the answer
    assert watched.axe() == []
    told.get_by_role("button", name="HX-East (DC1").click()
    expect(rows(watched.page)).to_have_count(2)
    expect(watched.page.get_by_label("HX cluster")).to_have_value(HX_LAB["id"])
    assert hash_of(watched.page) == f"#/clusters?hx={HX_LAB['id']}"


def test_an_hx_cluster_that_is_none(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, "?hx_cluster=nowhere")
    told = watched.page.get_by_role("alert").filter(has_text="There is no HX cluster “nowhere” that you may see.")
    expect(told).to_contain_text("kaasctl hx connect")  # an administrator's remedy
    expect(rows(watched.page)).to_have_count(0)
    assert watched.axe() == []
    watched.page.get_by_role("searchbox").fill("prod")
    watched.page.reload()
    expect(told).to_be_visible()  # the name has not been lost on the way
    told.get_by_role("button", name="Show all clusters").click()
    expect(rows(watched.page)).not_to_have_count(0)
    expect(told).to_be_hidden()


def test_the_time_of_the_data_goes_on(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    page = watched.page
    page.clock.install()
    watched.sign_in(mock.url, "admin", "secret")
    expect(page.get_by_text(re.compile(r"^As of .*, now$"))).to_be_visible()
    mock.world.gate.clear()
    try:
        page.clock.run_for(7_000)
        expect(page.get_by_text(re.compile(r"^As of .*, \d+ seconds ago$"))).to_be_visible()  # five, and what the machine took
        page.clock.run_for(120_000)
        expect(page.get_by_text(re.compile(r"^As of .*, 2 minutes ago$"))).to_be_visible()
    finally:
        mock.world.gate.set()
    expect(page.get_by_text(re.compile(r"^As of .*, now$"))).to_be_visible()


def test_ages_go_on(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.clusters = [cluster("young", "ready", [EAST], created_at=ago(seconds=75))]
    watched = make_page()
    page = watched.page
    page.clock.install(time=NOW - timedelta(hours=1))
    page.clock.pause_at(NOW)
    watched.sign_in(mock.url, "admin", "secret")
    expect(rows(page)).to_contain_text("1 minute")

    def later() -> bool:
        page.clock.run_for(30_000)
        return re.search(r"\b([3-9]|\d\d) minutes", rows(page).inner_text()) is not None

    until(later, "a row that says how old it has become")  # rows are drawn again with each answer of the watch


def test_the_endpoint_is_copied(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page, permissions=["clipboard-read", "clipboard-write"]).page
    page.get_by_role("button", name="Copy the API endpoint of prod-1").click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_attached()
    assert page.evaluate("navigator.clipboard.readText()") == "https://10.20.0.10:6443/"


def test_first_rows_are_waited_for_without_saying_that_there_are_none(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    page = watched.page
    held = []
    page.route("**/v2/clusters?*limit=50*", lambda route: held.append(route), times=1)  # noqa: PLW0108 - a builtin cannot be marked
    page.goto(f"{mock.url}/ui/")
    with page.expect_request("**/v2/clusters?*limit=50*"):
        watched.fill_and_submit("admin", "secret")
    expect(page.get_by_role("status").filter(has_text="Loading clusters")).to_be_visible()
    expect(page.locator(".skeleton")).to_be_visible()
    expect(page.locator("kaas-empty")).to_have_count(0)
    assert watched.axe() == []
    held[0].continue_()
    expect(rows(page)).to_have_count(10)


def test_no_permission(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.refusals["/v2/clusters"] = Refusal(403, "forbidden", "this needs a role", headers={"Retry-After": "600"})
    watched = make_page()
    watched.page.goto(f"{mock.url}/ui/")
    watched.fill_and_submit("anna@vsphere.local", "secret", "vc.example.com")
    expect(watched.page.get_by_role("alert")).to_contain_text("You do not have the right to do this.")
    expect(watched.page.locator("kaas-empty")).to_have_count(0)
    assert watched.axe() == []
