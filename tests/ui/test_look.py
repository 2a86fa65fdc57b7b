"""How the page looks and in which language it speaks."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from conftest import MakePage
from mock_kaasd import MockKaasd
from playwright.sync_api import expect

GROUND = "getComputedStyle(document.documentElement).backgroundColor"


@pytest.mark.parametrize(
    ("locale", "lang", "title"), [("de-AT", "de-AT", "Anmelden"), ("en-GB", "en-GB", "Sign in"), ("fr-FR", "en", "Sign in")])
def test_speaks_the_language_of_the_browser(mock: MockKaasd, make_page: MakePage, locale: str, lang: str, title: str) -> None:
    page = make_page(locale=locale).page
    page.goto(f"{mock.url}/ui/")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", lang)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_theme_that_is_set_wins_over_the_browser(mock: MockKaasd, make_page: MakePage, scheme: str) -> None:
    page = make_page(color_scheme=scheme).page
    page.goto(f"{mock.url}/ui/")
    own = page.evaluate(GROUND)
    page.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
    assert page.evaluate(GROUND) == own
    page.evaluate(f"document.documentElement.dataset.theme = '{'dark' if scheme == 'light' else 'light'}'")
    assert page.evaluate(GROUND) != own
