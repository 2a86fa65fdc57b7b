"""The web page at the daemon itself: what the list can be asked, the details of a cluster and the overview, as the service answers them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from env import browser
from env.full import World
from env.places import Scratch
from env.samples import SAMPLES
from playwright.sync_api import Locator, Page, Response, expect

pytestmark = pytest.mark.slow
PROD = next(sample for sample in SAMPLES if sample.name == "prod-1")
COLUMNS = ("State", "Version", "Control plane", "Workers", "HX cluster", "Age", "Name")


@pytest.fixture
def page(world: World, scratch: Scratch) -> Iterator[Page]:
    """Signed in as the administrator; nothing that the page asks for is refused."""
    refused: list[str] = []

    def note(answer: Response) -> None:
        if "/v2/" in answer.url and answer.status >= 400:
            refused.append(f"{answer.status} {answer.url}")

    with browser.page(scratch.path / "profile") as opened:
        opened.on("response", note)
        browser.sign_in(opened, world.kaasd.url, "admin", world.kaasd.admin_password)
        rows(opened).first.wait_for()
        yield opened
    assert refused == []


def rows(page: Page) -> Locator:
    return page.locator("kaas-cluster-table tbody tr")


def names(page: Page) -> list[str]:
    return page.locator("kaas-cluster-table tbody th a").all_text_contents()


def test_every_order_that_the_heads_offer(page: Page) -> None:
    shown = sorted(names(page))
    for column in COLUMNS:
        head = page.get_by_role("columnheader", name=column)
        for order in ("ascending", "descending"):
            head.get_by_role("button").click()
            expect(head).to_have_attribute("aria-sort", order)
            expect(page.locator("main")).to_have_attribute("aria-busy", "false")
            assert sorted(names(page)) == shown


def test_words_labels_states_and_the_file(page: Page) -> None:
    count = len(names(page))
    expect(page.get_by_role("group", name="States").get_by_role("button", name=re.compile(rf"^All\s*{count}$"))).to_be_visible()
    page.get_by_role("searchbox").fill(f"{PROD.name} {PROD.version}")
    expect(rows(page)).to_have_count(1)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export CSV").click()
    with Path(saved.value.path()).open(encoding="utf-8-sig", newline="") as file:
        assert [line["Name"] for line in csv.DictReader(file)] == [PROD.name]
    page.get_by_role("button", name="Clear filters").first.click()
    expect(rows(page)).to_have_count(count)
    labels = rows(page).locator("button.tag")
    text = labels.first.inner_text()
    labels.first.click()
    expect(page.get_by_role("button", name=f"Remove filter: Label {text}")).to_be_visible()
    expect(rows(page).filter(has_text=text).first).to_be_visible()


def test_details_and_overview(page: Page) -> None:
    page.get_by_role("link", name=PROD.name, exact=True).click()
    parts = {"Summary": "API endpoint", "Nodes": "nodes", "Who sees it": "Your role sees every cluster.", "Events": "Record made"}
    for part, content in parts.items():
        page.get_by_role("navigation", name="Details of the cluster").get_by_role("link", name=part).click()
        expect(page.get_by_role("main")).to_contain_text(content)
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="HX clusters")).to_be_visible()
    expect(page.locator("kaas-overview .cards li").first).to_contain_text("Kubernetes cluster")
    expect(page.get_by_role("alert")).not_to_contain_text("could not")
