"""The details of one cluster: reached by its name, kept by their address, live, and no more than the viewer may know."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from conftest import MakePage
from mock_kaasd import MockKaasd, Refusal
from playwright.sync_api import Locator, Page, expect
from sample import VCENTER, ident
from watched import WatchedPage

Shots = Callable[[Page, str], None]
PROD = f"#/clusters/{ident('cluster prod-2')}"
LIST = "Kubernetes clusters"


def opened(mock: MockKaasd, make_page: MakePage, address: str = PROD, who: tuple[str, ...] = ("admin", "secret")) -> WatchedPage:
    watched = make_page()
    watched.page.goto(f"{mock.url}/ui/{address}")
    watched.fill_and_submit(*who)
    watched.page.wait_for_selector("main[aria-busy=false] h1")
    return watched


def part(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Details of the cluster").get_by_role("link", name=name)


def test_from_the_list_and_back(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, "#/clusters?q=prod&sort=-name")
    page = watched.page
    link = page.get_by_role("rowheader", name="prod-2").get_by_role("link")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="prod-2", exact=True)).to_be_focused()
    expect(page).to_have_title("prod-2 · Harmony KaaS")
    assert page.evaluate("location.hash") == f"{PROD}?q=prod&sort=-name"
    page.get_by_role("link", name="Back to the list").click()
    expect(link).to_be_focused()
    watched.expect_names(["prod-2", "prod-1"])
    expect(page).to_have_title("Kubernetes clusters · Harmony KaaS")
    page.go_back()
    expect(page.get_by_role("heading", name="prod-2", exact=True)).to_be_visible()


def test_summary(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page)
    main = watched.page.get_by_role("main")
    for text in ("Degraded", "4 of 5 workers are ready.", "3 of 3 ready", "1.31.2", "https://10.20.0.10:6443/", "prod-2.example.com",
                 "DC0 / HX-East", "DC0 / HX-West", "team=shop", "owner=anna", "Shop back end", "A report of", "3 months ago"):
        expect(main).to_contain_text(text)
    for text in ("declared", "reported", "observed"):
        expect(main).not_to_contain_text(text)
    assert watched.axe() == []
    main.get_by_role("link", name="team=shop").click()
    expect(watched.page.locator("kaas-cluster-table tbody tr")).to_have_count(2)


def test_the_vcenter_that_is_away_is_named_to_administrators(mock: MockKaasd, make_page: MakePage) -> None:
    """As in the list, and in the overview."""
    mock.world.stale, mock.world.vcenter_state = "vcenter", "unreachable"
    for who, text in ((("admin", "secret"), "A vCenter is away: East."),
                      (("anna@vsphere.local", "secret", "vc.example.com"), "A vCenter that clusters run on is away")):
        page = opened(mock, make_page, who=who).page
        banner = page.get_by_role("status").filter(has_text="This may be out of date.")
        expect(banner).to_contain_text(text)
        page.get_by_role("link", name="Overview").click()
        page.locator("kaas-overview .figure").wait_for()
        expect(banner).to_contain_text(text)


def test_what_is_not_there_is_said_in_words(mock: MockKaasd, make_page: MakePage) -> None:
    """A dash is for the eye only: in details, list, nodes and overview."""
    watched = opened(mock, make_page, f"#/clusters/{ident('cluster somewhere')}")
    page = watched.page
    for term, word in (("API endpoint", "None"), ("Dashboard", "None"), ("Since", "Not known")):
        value = page.locator("kaas-cluster-detail dt").filter(has_text=re.compile(f"^{term}$")).locator("xpath=following-sibling::dd[1]")
        expect(value.locator("[aria-hidden=true]")).to_have_text("–")
        expect(value.locator(".sr-only")).to_have_text(word)
    assert watched.axe() == []
    for address, place in (("#/clusters", "kaas-cluster-table tr:has-text('somewhere') td.labels"),
                           (f"{PROD}/nodes", "kaas-node-table tbody tr:has-text('prod-2-w-3') td:nth-child(6)")):
        page.goto(f"{mock.url}/ui/{address}")
        expect(page.locator(place).locator(".sr-only")).to_have_text(re.compile("None|Not known"))
        assert page.locator("xpath=//*[text()='–'][not(@aria-hidden)]").count() == 0


def test_only_hidden_places(mock: MockKaasd, make_page: MakePage) -> None:
    main = opened(mock, make_page, f"#/clusters/{ident('cluster somewhere')}").page.get_by_role("main")
    expect(main).to_contain_text("2 vSphere clusters, hidden from you")
    expect(main).not_to_contain_text("2 more")


def test_nodes(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page)
    part(watched.page, "Nodes").click()
    table = watched.page.get_by_role("table", name="Nodes of prod-2")
    for name, texts in (("prod-2-cp-0", ("Control plane", "Ready", "vm-prod-2-cp-0", "Powered on", "esx-1.example.com", "DC0 / HX-East",
                                         "320 MHz of 9.6 GHz", "4 CPUs", "3 GiB of 8 GiB", "37 GiB of 100 GiB", "HX-East-DS1")),
                        ("prod-2-w-0", ("8.1 GHz of 9.6 GHz",)),
                        ("prod-2-w-1", ("Worker", "Not ready", "Powered off", "4 CPUs")), ("prod-2-w-2", ("Does not respond",)),
                        ("prod-2-w-3", ("Unknown", "Another virtual machine is in its place"))):
        for text in texts:
            expect(table.get_by_role("row").filter(has=watched.page.get_by_role("rowheader", name=name))).to_contain_text(text)
    expect(watched.page.get_by_text("1 node on vSphere clusters that you may not see.")).to_be_visible()
    expect(watched.page.get_by_text("What some nodes use now is not known: vCenter does not tell it.")).to_be_visible()
    assert watched.axe() == []
    watched.page.reload()
    expect(table).to_be_visible()


def test_a_machine_leads_into_the_vsphere_client(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page, f"{PROD}/nodes").page
    link = page.get_by_role("link", name="vm-prod-2-cp-0 opens in the vSphere Client, in a new tab")
    expect(link).to_have_attribute("href", f"https://vc.example.com/ui/app/vm;nav=v/urn:vmomi:VirtualMachine:vm-7:{VCENTER}/summary")
    expect(link).to_have_attribute("target", "_blank")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    for name in ("vm-prod-2-w-2", "vm-prod-2-w-3"):  # nobody tells where; no address of the web
        expect(page.get_by_text(name)).to_be_visible()
        expect(page.get_by_role("link", name=name)).to_have_count(0)


def test_who_sees_it(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, f"{PROD}/access")
    main = watched.page.get_by_role("main")
    for text in ("There is a grant on this cluster for shop-people.", "You may view the vSphere cluster DC0/HX-East in vCenter.",
                 "Not known at the moment: You may view the vSphere cluster DC0/HX-West in vCenter.", "Sees it and may grant it"):
        expect(main).to_contain_text(text)
    for text in ("Your role sees every cluster", "in the words of programs"):
        expect(main).not_to_contain_text(text)
    assert watched.axe() == []


def test_events(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, f"{PROD}/events")
    main = watched.page.get_by_role("main")
    for text in ("Record changed", "Labels.", "Refused (forbidden)", "State reported", "Record made", "admin", "audit.heads"):
        expect(main).to_contain_text(text)
    assert watched.axe() == []


def test_what_others_may_not_know_is_not_asked_for(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page, f"{PROD}/events", ("anna@vsphere.local", "secret", "vc.example.com")).page
    expect(part(page, "Summary")).to_have_attribute("aria-current", "page")
    expect(part(page, "Events")).to_have_count(0)
    part(page, "Who sees it").click()
    expect(page.get_by_role("heading", name="Why you see this cluster")).to_be_visible()
    expect(page.get_by_role("heading", name="Grants")).to_have_count(0)
    assert "/v2/audit" not in {path for _, path, _ in mock.world.requests}


def test_is_live(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page).page
    mock.world.clusters = [c | {"state": "failed"} if c["name"] == "prod-2" else c for c in mock.world.clusters]
    expect(page.locator("kaas-state-badge").first).to_contain_text("Failed")
    mock.world.clusters = [c for c in mock.world.clusters if c["name"] != "prod-2"]
    expect(page.get_by_role("heading", name="This cluster is not there").last).to_be_visible()


def test_not_there(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, f"#/clusters/{ident('nothing')}")
    expect(watched.page.get_by_text("It has been removed, or you may no longer see it.")).to_be_visible()
    assert watched.axe() == []
    watched.page.get_by_role("link", name="Back to the list").click()
    expect(watched.page.get_by_role("heading", name=LIST)).to_be_visible()


def test_failure_keeps_what_is_shown(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page)
    mock.world.refusals[f"/v2/clusters/{ident('cluster prod-2')}/nodes"] = Refusal(503, "busy", "much", headers={"Retry-After": "600"})
    part(watched.page, "Nodes").click()
    for text in ("The cluster could not be refreshed", "What is shown is from the last refresh that worked."):
        expect(watched.page.get_by_role("alert")).to_contain_text(text)
    expect(watched.page.get_by_role("heading", name="prod-2", exact=True)).to_be_visible()
    assert watched.axe() == []
    mock.world.refusals.clear()
    watched.page.get_by_role("button", name="Try again").click()
    expect(watched.page.get_by_role("table")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme", "locale"), [(320, "light", "de-DE"), (640, "dark", "en-GB"), (900, "dark", "de-DE")])
def test_every_width_and_theme(mock: MockKaasd, make_page: MakePage, shots: Shots, width: int, scheme: str, locale: str) -> None:
    watched = make_page(viewport={"width": width, "height": 800}, color_scheme=scheme, locale=locale)
    page = watched.page
    page.goto(f"{mock.url}/ui/{PROD}")
    watched.enter()
    links = page.locator("kaas-cluster-detail nav a")
    for number, content in enumerate(("section", "kaas-node-table", "kaas-cluster-access", "kaas-cluster-events")):
        links.nth(number).click()
        page.locator(f"kaas-cluster-detail {content}").first.wait_for()
        assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
        shots(page, f"details.{content}-{width}.tab.{scheme}")
