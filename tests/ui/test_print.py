"""On paper: what is shown, without what can only be pressed."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import MakePage
from mock_kaasd import MockKaasd
from playwright.sync_api import Page, expect
from sample import EAST, cluster, ident

Shots = Callable[[Page, str], None]
PRESSED = "kaas-header, kaas-pager, kaas-toolbar, kaas-state-filter, .back, nav, main > .head button, kaas-copy"
PAGES = {"list": ("", "kaas-cluster-table tbody tr"), "details": (f"#/clusters/{ident('cluster prod-2')}", "kaas-cluster-detail section"),
         "overview": ("#/overview", "kaas-overview .figure")}


@pytest.mark.parametrize("name", PAGES)
def test_paper_has_nothing_to_press(mock: MockKaasd, make_page: MakePage, shots: Shots, name: str) -> None:
    mock.world.clusters += [cluster(f"c-{n}", "ready", [EAST]) for n in range(60)]
    address, shown = PAGES[name]
    watched = make_page()
    page = watched.page
    page.goto(f"{mock.url}/ui/{address}")
    watched.fill_and_submit("admin", "secret")
    page.locator(shown).first.wait_for()
    seen = page.locator(PRESSED).locator("visible=true")
    assert seen.count() > 0
    page.emulate_media(media="print")
    expect(seen).to_have_count(0)
    expect(page.locator(shown).first).to_be_visible()
    shots(page, f"print.{name}.tab")
