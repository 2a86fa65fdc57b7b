"""The page in every state that the service can bring it into: paging, filters, empty, stale, failing, session over, hostile texts."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable
from threading import Event

import pytest
from conftest import MakePage
from env.wait import until
from mock_kaasd import REQUEST_ID, MockKaasd, Refusal
from playwright.sync_api import Page, Response, expect
from sample import EAST, HX_LAB, VCENTER, cluster
from watched import WatchedPage

Shots = Callable[[Page, str], None]
# For longer than any test: the page tries nothing again by itself.
DOWN = Refusal(503, "database_unavailable", "The database does not answer.", "Look at the health page.", {"Retry-After": "600"})


def signed_in(mock: MockKaasd, make_page: MakePage, **options: object) -> WatchedPage:
    watched = make_page(**options)
    watched.sign_in(mock.url, "admin", "secret")
    return watched


def refresh(page: Page) -> None:
    page.get_by_role("button", name="Refresh").click()


def rows(page: Page) -> object:
    return page.locator("kaas-cluster-table tbody tr")


def row(page: Page, name: str) -> object:
    return rows(page).filter(has=page.get_by_role("rowheader", name=name))


def test_row_says_it_all(mock: MockKaasd, make_page: MakePage) -> None:
    page = signed_in(mock, make_page).page
    degraded = row(page, "prod-2")
    for text in ("Degraded", "4 of 5 workers are ready", "1.31.2", "3 of 3 ready", "4 of 5 ready", "HX-East (DC0/HX-East), HX-West",
                 "10.20.0.10:6443", "team=shop", "1 more", "3 months"):
        expect(degraded).to_contain_text(text)
    expect(row(page, "analytics")).to_contain_text("1 more, hidden from you")
    expect(row(page, "somewhere")).to_contain_text("2 vSphere clusters, hidden from you")
    expect(row(page, "somewhere")).to_contain_text(re.compile(r"No report since Mar \d, 2026, .*, when it was: Ready\."))
    expect(page.get_by_role("status").filter(has_text="10 clusters")).to_be_visible()
    # Neither the words nor the times of programs.
    for text in ("declared", "observed", "Never", "T20:32:35Z"):
        expect(page.locator("kaas-cluster-table")).not_to_contain_text(text)


def test_links_are_https_only(mock: MockKaasd, make_page: MakePage) -> None:
    good = cluster("good", "ready", [EAST], dashboard_url="https://d.example.com/", api_endpoint="https://a.example.com:6443")
    mock.world.clusters = [good]
    page = signed_in(mock, make_page).page
    dashboard, copy = row(page, "good").get_by_role("link", name="Dashboard"), row(page, "good").get_by_role("button", name="Copy the API")
    expect(copy).to_be_visible()
    assert dashboard.get_attribute("rel") == "noopener noreferrer"
    assert dashboard.get_attribute("href") == "https://d.example.com/"
    # The contract forbids these answers; a page must not depend on that.
    mock.world.clusters = [good | {"dashboard_url": "javascript:alert(1)", "api_endpoint": "http://a.example.com"}]
    refresh(page)
    expect(dashboard).to_have_count(0)
    expect(copy).to_have_count(0)
    assert len(set(mock.world.violations)) == 2
    # Another one than the first, or the waiting page would not be told of it. Nothing bad is on its way any more when it is shown.
    mock.world.clusters = [good | {"description": "good again"}]
    expect(dashboard).to_be_visible()
    mock.world.violations.clear()


def test_filter_and_clear(mock: MockKaasd, make_page: MakePage) -> None:
    watched = signed_in(mock, make_page)
    page = watched.page
    page.get_by_role("searchbox").fill("SHOP")
    watched.expect_names(["prod-2", "prod-1"])  # the worse one first
    page.get_by_role("searchbox").fill("no such thing")
    expect(page.get_by_role("heading", name="No cluster matches")).to_be_visible()
    page.get_by_role("button", name="Clear filters").first.click()
    expect(rows(page)).to_have_count(10)
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_filter_with_signs_of_every_kind(mock: MockKaasd, make_page: MakePage) -> None:
    watched = signed_in(mock, make_page)
    watched.page.get_by_role("searchbox").fill("100% / \"quoted\" 'name' \\ 🐳")
    expect(rows(watched.page)).to_have_count(1)


def test_hx_cluster_selector(mock: MockKaasd, make_page: MakePage) -> None:
    watched = signed_in(mock, make_page)
    page = watched.page
    labels = ["All places", "On any HX cluster", "On no HX cluster", "HX-East (DC0 / HX-East)", "HX-East (DC1 / HX-East)", "HX-West"]
    expect(page.get_by_label("HX cluster").locator("option")).to_have_text(labels)
    page.get_by_label("HX cluster").select_option(HX_LAB["id"])
    watched.expect_names(["lab-old", "lab-new"])  # by state
    page.get_by_label("HX cluster").select_option("On no HX cluster")
    watched.expect_names(["somewhere", "100% / \"quoted\" 'name' \\ 🐳"])
    page.get_by_label("HX cluster").select_option("All places")
    expect(rows(page)).to_have_count(10)


def test_sort_by_keyboard(mock: MockKaasd, make_page: MakePage) -> None:
    watched = signed_in(mock, make_page)
    page = watched.page
    head = page.get_by_role("columnheader", name="Name")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(rows(page).first).to_contain_text(min(cluster["name"] for cluster in mock.world.clusters))
    before = watched.names()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(rows(page).first).to_contain_text(before[-1])
    watched.expect_names(before[::-1])


def test_nothing_there(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.clusters = []
    admin = signed_in(mock, make_page)
    expect(admin.page.get_by_role("heading", name="No clusters yet")).to_be_visible()
    expect(admin.page.get_by_text("kaasctl cluster add")).to_be_visible()
    assert admin.axe() == []
    user = make_page()
    user.sign_in(mock.url, "anna@vsphere.local", "secret", "vc.example.com")
    expect(user.page.get_by_role("heading", name="No clusters for you yet")).to_be_visible()
    mock.world.users["local", "rollout"] = ("secret", "provisioner")
    provisioner = make_page()
    provisioner.sign_in(mock.url, "rollout", "secret")
    expect(provisioner.page.get_by_text("kaasctl cluster add")).to_be_visible()


def test_stale(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.stale = "database, rights"
    watched = signed_in(mock, make_page)
    banner = watched.page.get_by_role("status").filter(has_text="may be out of date")
    expect(banner).to_contain_text("Changes cannot be read from the database")
    expect(banner).to_contain_text("Your rights cannot be confirmed")
    expect(banner).to_contain_text(re.compile(r"as of \w+ \d+, 20\d\d, \d+:\d\d:\d\d"))
    assert watched.axe() == []
    mock.world.stale = None
    refresh(watched.page)
    expect(banner).to_have_count(0)


def test_failure_keeps_rows(mock: MockKaasd, make_page: MakePage) -> None:
    watched = signed_in(mock, make_page)
    page = watched.page
    mock.world.refusals["/v2/clusters"] = DOWN
    refresh(page)
    alert = page.get_by_role("alert")
    for text in ("could not be refreshed", "The database does not answer.", "Look at the health page.", REQUEST_ID,
                 "from the last refresh"):
        expect(alert).to_contain_text(text)
    expect(rows(page)).to_have_count(10)
    assert watched.axe() == []
    # The button's call, and, once what was followed before has been answered, the quiet one and the next to follow: then nothing is under
    # way any more that would find out by itself that the service is back.
    until(lambda: mock.world.requests.count(("GET", "/v2/clusters", 503)) >= 3, "the page that follows nothing any more")
    mock.world.refusals.clear()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("could not be refreshed")).to_have_count(0)


def test_words_of_the_service_are_for_administrators(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "anna@vsphere.local", "secret", "vc.example.com")
    mock.world.refusals["/v2/clusters"] = Refusal(
        503, "database_unavailable", "no connection to 10.0.0.7", "run: kaasctl health", {"Retry-After": "600"})
    refresh(watched.page)
    alert = watched.page.get_by_role("alert")
    expect(alert).to_contain_text("The service cannot reach its database.")
    expect(alert).to_contain_text(REQUEST_ID)
    for text in ("kaasctl", "10.0.0.7"):
        expect(watched.page.get_by_text(text)).to_have_count(0)
    assert watched.axe() == []


def test_vcenter_away_is_named_to_administrators(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.stale, mock.world.vcenter_state = "vcenter", "unreachable"
    admin, user = signed_in(mock, make_page), make_page()
    user.sign_in(mock.url, "anna@vsphere.local", "secret", "vc.example.com")
    for watched, text in ((admin, "A vCenter is away: East."), (user, "A vCenter that clusters run on is away")):
        banner = watched.page.get_by_role("status").filter(has_text="may be out of date")
        expect(banner).to_contain_text(text)
        assert watched.axe() == []
    expect(user.page.get_by_text("kaasctl")).to_have_count(0)


def test_failure_that_is_over_goes_away_by_itself(mock: MockKaasd, make_page: MakePage) -> None:
    """Calls are lost for a while; the page that follows the list finds that the service is fine."""
    watched, is_lost = make_page(), Event()
    page = watched.page
    page.route("**/v2/clusters?*limit=50*", lambda route: route.abort() if is_lost.is_set() else route.continue_())
    watched.sign_in(mock.url, "admin", "secret")
    is_lost.set()
    refresh(page)
    failure = page.get_by_text("The list could not be refreshed")
    expect(failure).to_be_visible()
    page.unroute("**/v2/clusters?*limit=50*")
    expect(failure).to_have_count(0)
    expect(rows(page)).to_have_count(10)


def test_failure_at_first_goes_away_by_itself(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.refusals["/v2/clusters"] = Refusal(503, "unavailable", "starting", headers={"Retry-After": "1"})
    page = signed_in(mock, make_page).page
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
    mock.world.refusals.clear()
    expect(rows(page)).to_have_count(10)


def test_service_that_hangs_is_told(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    """To who just looks within ten seconds, and to who waits for an answer."""
    watched = make_page()
    page = watched.page
    page.clock.install()
    watched.sign_in(mock.url, "admin", "secret")
    expect(page.get_by_text(re.compile("As of"))).to_be_visible()
    mock.world.gate.clear()
    try:
        page.clock.run_for(9_500)
        expect(page.get_by_role("alert")).to_contain_text("The service did not answer in time.")
        expect(rows(page)).to_have_count(10)
        shots(page, "list.hangs-looking.tab")
        assert watched.axe() == []
        refresh(page)
        page.clock.run_for(5_500)
        expect(page.get_by_text("Still waiting")).to_be_visible()
        shots(page, "list.hangs-waiting.tab")
    finally:
        mock.world.gate.set()
    expect(page.get_by_text("Still waiting")).to_have_count(0)
    expect(page.get_by_role("alert")).not_to_contain_text("did not answer")


def test_failure_at_first(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.refusals["/v2/clusters"] = DOWN
    watched = signed_in(mock, make_page)
    expect(watched.page.get_by_role("alert")).to_contain_text("could not be loaded")
    expect(rows(watched.page)).to_have_count(0)


def test_answer_of_a_proxy(mock: MockKaasd, make_page: MakePage) -> None:
    watched = signed_in(mock, make_page)
    mock.world.garbage.add("/v2/clusters")
    refresh(watched.page)
    expect(watched.page.get_by_role("alert")).to_contain_text("The answer did not come from the service (HTTP 502).")


def test_service_gone(make_page: MakePage) -> None:
    with MockKaasd() as mock:
        watched = signed_in(mock, make_page)
        watched.page.context.set_offline(True)
        refresh(watched.page)
        expect(watched.page.get_by_role("alert")).to_contain_text("The service does not answer.")
        watched.page.context.set_offline(False)


def test_selector_without_hx_clusters(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.refusals["/v2/hx-clusters"] = DOWN
    watched = signed_in(mock, make_page)
    expect(watched.page.get_by_label("HX cluster")).to_be_disabled()
    expect(rows(watched.page)).to_have_count(10)


def test_session_ended_elsewhere(mock: MockKaasd, make_page: MakePage) -> None:
    page = signed_in(mock, make_page).page
    mock.world.ended |= {session["id"] for session, _ in mock.world.sessions.values()}
    # Nobody presses anything: the page that follows the list hears of it.
    expect(page.get_by_role("alert")).to_contain_text("Your session has ended. Sign in again.")
    expect(page.get_by_label("User name")).to_have_value("admin")
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    expect(rows(page)).to_have_count(0)


def is_list(response: Response) -> bool:
    return "/v2/clusters?" in response.url and "watch=" not in response.url and response.status in (200, 304)


def test_token_is_exchanged_in_time(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    page = watched.page
    page.clock.install()
    watched.sign_in(mock.url, "admin", "secret")
    for _ in range(3):
        old = set(mock.world.sessions)
        with page.expect_response("**/v2/token/refresh"):
            page.clock.fast_forward(700_000)
        for token in old:
            mock.world.sessions.pop(token)
        with page.expect_response(is_list):
            refresh(page)
        expect(rows(page)).to_have_count(10)


def test_longest_time_of_a_session(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.session_s = mock.world.expires_in
    watched = make_page()
    watched.page.clock.install()
    watched.sign_in(mock.url, "admin", "secret")
    watched.page.clock.fast_forward(800_000)
    expect(rows(watched.page)).to_have_count(10)
    watched.page.clock.fast_forward(110_000)
    expect(watched.page.get_by_role("alert")).to_contain_text("Your session has reached its longest time.")
    assert ("POST", "/v2/token/refresh", 200) not in mock.world.requests


def test_token_is_nowhere_but_in_memory(mock: MockKaasd, make_page: MakePage) -> None:
    page = signed_in(mock, make_page).page
    mock.world.cookies.clear()
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("(async () => (await indexedDB.databases()).length)()") == 0


def test_vcenter_account(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "anna@vsphere.local", "secret", "vc.example.com")
    expect(watched.page.get_by_text("anna@vsphere.local")).to_be_visible()
    assert all("secret" not in path for _, path, _ in mock.world.requests)


def test_too_many_attempts(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.refusals["/v2/login/password"] = Refusal(429, "too_many_requests", "Slow down.", headers={"Retry-After": "9"})
    watched = make_page()
    watched.page.goto(f"{mock.url}/ui/")
    watched.fill_and_submit("admin", "secret")
    expect(watched.page.get_by_role("alert")).to_contain_text("Too many attempts. Try again in 9 seconds.")


def test_by_keyboard_alone(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    page = watched.page
    page.goto(f"{mock.url}/ui/")
    expect(page.get_by_label("User name")).to_be_focused()
    page.keyboard.type("anna@vsphere.local")
    page.keyboard.press("Tab")
    page.keyboard.type("secret")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Kubernetes clusters")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("prod")
    expect(rows(page)).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 640, 900, 1280])
def test_every_width_and_theme(mock: MockKaasd, make_page: MakePage, shots: Shots, width: int, scheme: str) -> None:
    watched = make_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    watched.page.goto(f"{mock.url}/ui/")
    watched.page.wait_for_selector("form")
    assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
    shots(watched.page, f"sign-in.{width}.tab.{scheme}")
    watched.sign_in(mock.url, "admin", "secret")
    assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
    shots(watched.page, f"list.{width}.tab.{scheme}")


@pytest.mark.parametrize("width", [1280, 1600, 2560])
def test_header_and_list_are_in_line(mock: MockKaasd, make_page: MakePage, shots: Shots, width: int) -> None:
    page = signed_in(mock, make_page, viewport={"width": width, "height": 800}).page
    head, list_ = page.locator("kaas-header header"), page.locator("kaas-cluster-list .card").first
    brand, out = head.locator(".brand").bounding_box(), head.locator(".me").bounding_box()
    card = list_.bounding_box()
    assert brand and out and card
    assert (brand["x"], out["x"] + out["width"]) == (card["x"], card["x"] + card["width"])
    shots(page, f"list.in-line-{width}.tab")


def test_slow_service_shows_that_it_loads(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.page.goto(f"{mock.url}/ui/")
    watched.fill_and_submit("admin", "secret")
    expect(watched.page.get_by_role("heading", name="Kubernetes clusters")).to_be_visible()
    mock.world.gate.clear()
    try:
        refresh(watched.page)
        expect(watched.page.locator("main")).to_have_attribute("aria-busy", "true")
    finally:
        mock.world.gate.set()
    expect(watched.page.locator("main")).to_have_attribute("aria-busy", "false")
    assert VCENTER not in watched.page.content()
