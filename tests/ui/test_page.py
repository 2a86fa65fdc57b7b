"""The main path in a browser: sign in, see exactly the expected clusters, sign out.

Runs against the service named by KAAS_URL (with KAAS_TEST_USER, KAAS_TEST_PASSWORD, KAAS_EXPECT_CLUSTERS: a JSON list of names, and for a
vCenter account KAAS_TEST_VCENTER: its address), or against the stand-in when KAAS_URL is not set.
"""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from conftest import MakePage
from mock_kaasd import MockKaasd
from playwright.sync_api import Page, Response, expect


@dataclass
class Target:
    url: str
    user: str
    password: str
    vcenter: str | None
    clusters: list[str]


@pytest.fixture
def target() -> Iterator[Target]:
    url = os.environ.get("KAAS_URL")
    if url is None:
        with MockKaasd() as mock:
            yield Target(mock.url, "admin", "secret", None, [c["name"] for c in mock.world.clusters])
            assert mock.world.violations == []
        return
    settings = os.environ
    yield Target(url.rstrip("/"), settings["KAAS_TEST_USER"], settings["KAAS_TEST_PASSWORD"], settings.get("KAAS_TEST_VCENTER"),
                 json.loads(settings["KAAS_EXPECT_CLUSTERS"]))


def test_sign_in_list_sign_out(target: Target, make_page: MakePage, shots: Callable[[Page, str], None]) -> None:
    watched = make_page()
    page = watched.page
    page.goto(f"{target.url}/ui/")
    assert watched.axe() == []
    watched.sign_in(target.url, target.user, target.password, target.vcenter)
    if target.clusters:
        expect(page.locator("kaas-cluster-table tbody tr")).to_have_count(len(target.clusters))
    assert sorted(watched.names()) == sorted(target.clusters)
    shots(page, "list.real" if os.environ.get("KAAS_URL") else "list.first.tab")
    assert watched.axe() == []
    watched.sign_out()
    expect(page.get_by_text("You are signed out.")).to_be_visible()


def test_wrong_password(target: Target, make_page: MakePage) -> None:
    watched = make_page()
    watched.page.goto(f"{target.url}/ui/")
    watched.fill_and_submit(target.user, "not " + target.password, target.vcenter)
    refused = "The vCenter, the user name or the password is not right." if target.vcenter else "The user name or password is not right."
    expect(watched.page.get_by_role("alert")).to_contain_text(refused)
    expect(watched.page.get_by_label("Password")).to_be_focused()
    expect(watched.page.get_by_label("Password")).to_have_value("")


def test_page_is_served_safely(target: Target, make_page: MakePage) -> None:
    page = make_page().page
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))
    page.goto(f"{target.url}/ui/")
    page.wait_for_selector("form")
    policy = answers[0].headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all(answer.url.startswith(f"{target.url}/") for answer in answers)
    assert all(answer.headers.get("x-content-type-options") == "nosniff" for answer in answers)
    hashed = [a for a in answers if a.url.endswith((".js", ".css"))]
    assert len(hashed) >= 2
    assert all("immutable" in a.headers.get("cache-control", "") for a in hashed)
