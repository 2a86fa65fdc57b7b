"""The notice in the bar that there is a newer version of the service: for administrators, in each home, until it is put away."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from conftest import MakePage
from env.certs import ServerCert, make_server_cert
from env.publisher import NEWER, NOTES, STEPS
from env.wait import until
from homes import NAMES, home
from mock_kaasd import MockKaasd
from playwright.sync_api import Frame, expect
from test_pictures import ROWS, Shots
from watched import WatchedPage

TEXT = f"Version {NEWER} is available"
URL = "https://kaas.example.com/releases/99.1"


def offer(mock: MockKaasd, version: str = NEWER, **more: Any) -> None:
    mock.world.updates["available"] = {"version": version, "released_at": "2026-03-02T10:30:00.000Z", "notes": NOTES, "notes_url": URL,
                                       "steps": STEPS, **more}


def asked(mock: MockKaasd) -> int:
    return sum(path == "/v2/updates" for _, path, _ in mock.world.requests)


@pytest.fixture(scope="module")
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hosts"))


def notice(frame: Frame, text: str = TEXT) -> Any:
    return frame.get_by_role("button", name=text, exact=True)


@pytest.mark.parametrize("name", NAMES)
def test_an_administrator_is_told_in_each_home(mock: MockKaasd, make_page: MakePage, shots: Shots, cert: ServerCert, name: str) -> None:
    offer(mock)
    watched = make_page()
    with home(name, mock, cert) as open_:
        frame = open_(watched, "#/clusters", mock.world.session_of("anna@vsphere.local", "admin"))
        frame.locator(ROWS).first.wait_for()
        shots(watched.page, f"new-version.closed.{name}")
        notice(frame).click()
        panel = frame.get_by_role("region", name=TEXT)
        expect(panel.get_by_role("listitem")).to_have_text([*NOTES, *STEPS])  # as text, whatever it looks like
        link = panel.get_by_role("link")
        assert (link.get_attribute("href"), link.get_attribute("rel")) == (URL, "noopener noreferrer")
        for theme in ("light", "dark"):
            frame.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
            shots(watched.page, f"new-version.open.{name}.{theme}")
            assert WatchedPage.axe_in(frame) == []
        watched.page.keyboard.press("Escape")
        expect(panel).to_be_hidden()
        expect(notice(frame)).to_be_focused()
        notice(frame).click()
        frame.get_by_role("button", name="Do not show this version again").click()
        expect(notice(frame)).to_have_count(0)
        assert frame.evaluate("document.activeElement.tagName") == "KAAS-APP"  # not lost to the body


def test_it_is_put_away_for_one_version_only(mock: MockKaasd, make_page: MakePage, cert: ServerCert) -> None:
    offer(mock)
    page = make_page().page
    with home("tab", mock, cert) as open_:
        def opened(version: str) -> Frame:
            offer(mock, version)
            page.goto("about:blank")
            frame = open_(WatchedPage(page), "#/clusters", mock.world.session_of("admin", "admin"))
            frame.locator(ROWS).first.wait_for()
            return frame

        frame = opened(NEWER)
        notice(frame).click()
        frame.get_by_role("button", name="Do not show this version again").click()
        before = asked(mock)
        frame = opened(NEWER)
        until(lambda: page.evaluate("document.querySelector('kaas-app').newVersion"), "the answer")  # the page's CSP forbids to wait in it
        assert (asked(mock), notice(frame).count()) == (before + 1, 0)
        expect(notice(opened("99.2.0"), "Version 99.2.0 is available")).to_be_visible()


def test_others_are_not_told_and_do_not_ask(mock: MockKaasd, make_page: MakePage, cert: ServerCert) -> None:
    offer(mock)
    with home("tab", mock, cert) as open_:
        frame = open_(make_page(), "#/clusters", mock.world.session_of("anna@vsphere.local", "user"))
        frame.locator(ROWS).first.wait_for()
        assert (asked(mock), notice(frame).count()) == (0, 0)


def test_in_german_and_in_a_narrow_window(mock: MockKaasd, make_page: MakePage, shots: Shots, cert: ServerCert) -> None:
    offer(mock, notes_url=None)
    watched = make_page(locale="de-DE", viewport={"width": 400, "height": 700})
    with home("tab", mock, cert) as open_:
        frame = open_(watched, "#/clusters", mock.world.session_of("admin", "admin"))
        notice(frame, f"Version {NEWER} ist verfügbar").click()
        panel = frame.get_by_role("region", name=f"Version {NEWER} ist verfügbar")
        for text in ("Veröffentlicht am 02.03.2026", "Was neu ist", "So wird aktualisiert", "Diese Version nicht mehr anzeigen"):
            expect(panel.get_by_text(text)).to_be_visible()
        assert panel.get_by_role("link").count() == 0
        shots(watched.page, "new-version.open.narrow.german")
        assert WatchedPage.axe_in(frame) == []
        assert frame.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
