"""A person at the web page: Debian's Chromium without windows, driven by Playwright."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium-headless-shell"
LIMIT_MS = 60_000
# without these Chromium looks for the outside world at every start
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")


@contextmanager
def page(profile: Path, *, dark: bool = False, width: int = 1280, locale: str = "en-GB", negotiate_with: str = "",
         env: Mapping[str, str] | None = None) -> Iterator[Page]:
    """A page of a new browser with an empty profile. The certificate of the world is not in its store, so it is not checked here;
    curl and the API client do. `negotiate_with`: hosts that it signs in to by Kerberos, with the tickets of its environment `env`."""
    flags = [*FLAGS, *([f"--auth-server-allowlist={negotiate_with}"] if negotiate_with else [])]
    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(profile), executable_path=CHROMIUM, headless=True, args=flags, ignore_https_errors=True, env={**os.environ, **(env or {})},
            timeout=LIMIT_MS, color_scheme="dark" if dark else "light", viewport={"width": width, "height": 800}, locale=locale)
        try:
            opened = context.new_page()
            opened.set_default_timeout(LIMIT_MS)
            yield opened
        finally:
            context.close()


def sign_in(opened: Page, url: str, username: str, password: str, vcenter: str | None = None) -> None:
    """Fills the form; with a vCenter the account there is used, else a local one."""
    account = "vcenter" if vcenter else "local"
    opened.goto(f"{url}/ui/")
    opened.locator("input[name=username]").wait_for()
    if opened.locator("select[name=account]").count():
        opened.select_option("select[name=account]", account)
    elif opened.locator("input[name=account]").count():
        opened.check(f"input[name=account][value={account}]", force=True)
    if vcenter:
        opened.fill("input[name=vcenter]", vcenter)
    opened.fill("input[name=username]", username)
    opened.fill("input[name=password]", password)
    opened.click("button[type=submit]")


def shows(opened: Page, text: str) -> bool:
    """Is this text, as a whole, on the page now?"""
    return opened.get_by_text(text, exact=True).count() > 0


def wait_for_clusters(opened: Page, names: list[str]) -> None:
    """Waits until the list shows these clusters."""
    for name in names:
        opened.get_by_text(name, exact=True).first.wait_for()
