"""Another password of a local account: where somebody else set it, and by one's own wish."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import MakePage
from mock_kaasd import MockKaasd, Refusal
from playwright.sync_api import Page, expect
from watched import WatchedPage

Shots = Callable[[Page, str], None]
FRESH = "seven swans in a paper boat"
CURRENT, NEW, AGAIN = "Current password", "New password", "New password again"


def field(page: Page, label: str) -> object:
    return page.get_by_label(label, exact=True)


def due(mock: MockKaasd, make_page: MakePage, **options: object) -> WatchedPage:
    """Signed in with a password that somebody else has set."""
    mock.world.must_change.add("admin")
    watched = make_page(**options)
    watched.page.goto(f"{mock.url}/ui/")
    watched.fill_and_submit("admin", "secret")
    expect(watched.page.get_by_role("heading", name="Change password")).to_be_visible()
    return watched


def submit(page: Page) -> None:
    page.get_by_role("main").get_by_role("button", name="Change password").click()


def list_shown(page: Page) -> None:
    expect(page.locator("kaas-cluster-table tbody tr")).to_have_count(10)


def test_a_password_that_somebody_else_set_is_replaced_by_keyboard(mock: MockKaasd, make_page: MakePage) -> None:
    page = due(mock, make_page).page
    expect(page.get_by_text("set by somebody else")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    assert [page.get_by_label(label, exact=True).get_attribute("autocomplete") for label in (CURRENT, NEW, AGAIN)] == [
        "current-password", "new-password", "new-password"]
    assert "/v2/clusters" not in {path for _, path, _ in mock.world.requests}  # it is known before the list is asked for
    expect(field(page, CURRENT)).to_be_focused()
    for text, key in (("secret", "Tab"), (FRESH, "Tab"), (FRESH, "Enter")):
        page.keyboard.type(text)
        page.keyboard.press(key)
    list_shown(page)
    expect(page.get_by_role("status").filter(has_text="Your password is changed.")).to_be_visible()
    expect(page.get_by_role("heading", name="Kubernetes clusters")).to_be_focused()
    assert mock.world.users["local", "admin"][0] == FRESH
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text("Your password is changed.")).to_have_count(0)


def test_what_is_wrong_is_told_at_its_field(mock: MockKaasd, make_page: MakePage) -> None:
    watched = due(mock, make_page)
    page = watched.page
    submit(page)
    expect(field(page, CURRENT)).to_be_focused()
    expect(page.get_by_text("Enter the password that you signed in with.")).to_be_visible()
    watched.fill_password_change("secret", "too short", "something else")
    submit(page)
    expect(field(page, NEW)).to_be_focused()
    expect(field(page, NEW)).to_have_accessible_description("Too short: take at least 12 characters, for example several words.")
    expect(field(page, AGAIN)).to_have_accessible_description("This is not the same as the new password: enter it once more.")
    expect(field(page, AGAIN)).to_have_attribute("aria-invalid", "true")
    assert watched.axe() == []
    field(page, NEW).press("a")  # what was wrong with it is no longer said
    expect(field(page, NEW)).to_have_attribute("aria-invalid", "false")
    assert ("POST", "/v2/password") not in {(method, path) for method, path, _ in mock.world.requests}


def test_a_wrong_current_password(mock: MockKaasd, make_page: MakePage) -> None:
    watched = due(mock, make_page)
    page = watched.page
    watched.fill_password_change("not it", FRESH)
    submit(page)
    expect(page.get_by_text("This is not your current password: enter it once more.")).to_be_visible()
    expect(field(page, CURRENT)).to_be_focused()
    expect(field(page, CURRENT)).to_have_value("")
    expect(field(page, AGAIN)).to_have_value(FRESH)
    page.keyboard.type("secret")
    page.keyboard.press("Enter")
    list_shown(page)


def test_a_password_that_is_not_good_enough(mock: MockKaasd, make_page: MakePage) -> None:
    watched = due(mock, make_page)
    watched.fill_password_change("secret", "121212121212")
    submit(watched.page)
    expect(watched.page.get_by_text("The password repeats a few characters only.")).to_be_visible()
    expect(field(watched.page, NEW)).to_be_focused()
    expect(field(watched.page, AGAIN)).to_have_value("")


def test_too_many_attempts(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    mock.world.refusals["/v2/password"] = Refusal(429, "too_many_requests", "Slow down.", headers={"Retry-After": "9"})
    watched = due(mock, make_page)
    page = watched.page
    watched.fill_password_change("secret", FRESH)
    submit(page)
    expect(page.get_by_role("alert")).to_contain_text("The password was not changed")
    expect(page.get_by_role("alert")).to_contain_text("Too many attempts. Try again in 9 seconds.")
    shots(page, "password.throttled.tab")
    assert watched.axe() == []
    mock.world.refusals.clear()
    submit(page)
    list_shown(page)


def test_no_answer_leaves_open_what_happened(mock: MockKaasd, make_page: MakePage) -> None:
    watched = due(mock, make_page)
    watched.fill_password_change("secret", FRESH)
    mock.world.garbage.add("/v2/password")
    submit(watched.page)
    expect(watched.page.get_by_role("alert")).to_contain_text("may or may not have been changed")


def test_by_ones_own_wish(mock: MockKaasd, make_page: MakePage) -> None:
    watched, other = make_page(), make_page()
    for one in (watched, other):
        one.sign_in(mock.url, "admin", "secret")
    page = watched.page
    watched.wish_change_password()
    expect(field(page, CURRENT)).to_be_focused()
    expect(page.get_by_text("set by somebody else")).to_have_count(0)
    page.get_by_role("button", name="Cancel").click()
    list_shown(page)
    watched.wish_change_password()
    watched.fill_password_change("secret", FRESH)
    submit(page)
    list_shown(page)
    expect(page.get_by_text("Your other sessions have ended.")).to_be_visible()
    expect(other.page.get_by_text("Your session has ended. Sign in again.")).to_be_visible()


def test_asked_for_in_the_middle_of_a_session(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "admin", "secret")
    mock.world.must_change.add("admin")
    mock.world.stale = "vcenter"  # the page that follows the list asks for it again, and is told
    watched.fill_password_change("secret", FRESH)
    submit(watched.page)
    list_shown(watched.page)


def test_only_for_who_has_a_password_here(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "anna@vsphere.local", "secret", "vc.example.com")
    expect(watched.page.get_by_text("anna@vsphere.local")).to_be_visible()
    watched.open_account()
    expect(watched.page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(watched.page.get_by_role("button", name="Change password")).to_have_count(0)


def test_sign_out_instead(mock: MockKaasd, make_page: MakePage) -> None:
    watched = due(mock, make_page)
    page = watched.page
    watched.sign_out()
    expect(page.get_by_text("You are signed out.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_width_and_theme(mock: MockKaasd, make_page: MakePage, shots: Shots, width: int, scheme: str) -> None:
    watched = due(mock, make_page, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert (watched.axe(), watched.overflow()) == ([], 0)
    shots(watched.page, f"password.due-{width}.tab.{scheme}")
    watched.fill_password_change("secret", FRESH)
    submit(watched.page)
    list_shown(watched.page)
    assert (watched.axe(), watched.overflow()) == ([], 0)
    shots(watched.page, f"password.changed-{width}.tab.{scheme}")
    watched.wish_change_password()
    expect(field(watched.page, CURRENT)).to_be_focused()
    assert (watched.axe(), watched.overflow()) == ([], 0)
    shots(watched.page, f"password.wish-{width}.tab.{scheme}")
