"""A browser, the stand-in for the service, and pages that remember everything that went wrong in them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sheet
from mock_kaasd import DIST, MockKaasd
from playwright.sync_api import Browser, Page, expect, sync_playwright
from watched import WatchedPage

MakePage = Callable[..., WatchedPage]
LIMIT_MS = 60_000
# Without these Chromium looks for the outside world at every start.
FLAGS = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
expect.set_options(timeout=LIMIT_MS)


def pytest_configure() -> None:
    if not (DIST / "index.html").is_file():
        raise pytest.UsageError("the page is not built: run npm ci and npm run build in ui-plugin, or scripts/setup")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes pictures can be asked for by this: pytest -m pictured."""
    for item in items:
        if isinstance(item, pytest.Function) and "shots" in item.fixturenames:
            item.add_marker("pictured")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """All pictures on one page, when the last worker is done."""
    folder = Path(os.environ.get("KAAS_SHOTS", ""))
    if os.environ.get("KAAS_SHOTS") and folder.is_dir() and not hasattr(session.config, "workerinput"):
        (folder / "index.html").write_text(sheet.of(folder))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = os.environ.get("KAAS_CHROMIUM") or shutil.which("chromium-headless-shell")
    if program is None:
        raise pytest.UsageError("there is no chromium-headless-shell: install that package of Debian, or set KAAS_CHROMIUM")
    arguments = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def mock() -> Iterator[MockKaasd]:
    """The stand-in; fails the test if either side broke the contract."""
    with MockKaasd() as server:
        yield server
        assert server.world.violations == []


@pytest.fixture
def make_page(browser: Browser) -> Iterator[MakePage]:
    """Makes pages; after the test none of them may have seen a script error or a CSP violation."""
    made: list[WatchedPage] = []
    contexts = []

    def make(**options: object) -> WatchedPage:
        settings = {"viewport": {"width": 1280, "height": 800}, "ignore_https_errors": True, "reduced_motion": "reduce", **options}
        context = browser.new_context(**settings)
        contexts.append(context)
        page: Page = context.new_page()
        page.set_default_timeout(LIMIT_MS)
        made.append(WatchedPage(page))
        return made[-1]

    yield make
    for watched in made:
        watched.assert_sound()
    for context in contexts:
        context.close()


@pytest.fixture
def shots() -> Callable[[Page, str], None]:
    """Takes screenshots into KAAS_SHOTS, if that is set."""
    folder = os.environ.get("KAAS_SHOTS")

    def shot(page: Page, name: str) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    return shot
