"""The ways to sign in: what is offered, Kerberos by a button and by itself, directories, what a refusal says, who one is then."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from conftest import MakePage
from env.wait import until
from mock_kaasd import REQUEST_ID, MockKaasd, Refusal
from playwright.sync_api import Page, Route, expect
from sample import ident
from watched import WatchedPage

Shots = Callable[[Page, str], None]
ALICE = "alice@AD.TEST"
KERBEROS = "Sign in with Kerberos"
PROD = f"#/clusters/{ident('cluster prod-2')}"


@pytest.fixture
def many(mock: MockKaasd) -> MockKaasd:
    """Everything that a form can offer."""
    mock.world.ways = {"vcenter": True, "directories": ["corp", "lab"], "kerberos": "button"}
    mock.world.users["corp", "alice"] = ("secret", "user")
    mock.world.users["kerberos", ALICE] = ("", "admin")
    mock.world.groups[ALICE] = [f"group {n}" for n in range(53)]
    return mock


def opened(mock: MockKaasd, make_page: MakePage, **options: object) -> WatchedPage:
    watched = make_page(**options)
    watched.page.goto(f"{mock.url}/ui/")
    watched.page.wait_for_selector("form")
    return watched


def list_shown(page: Page) -> None:
    expect(page.locator("kaas-cluster-table tbody tr")).to_have_count(10)


def asked(mock: MockKaasd) -> list[tuple[str, int]]:
    """Sign-ons that came to the service."""
    return [(path.removeprefix("/v2/login/"), status) for _, path, status in mock.world.requests if "/v2/login/" in path]


def test_vcenter_account_that_is_refused_keeps_its_fields(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    """Which of the three is wrong is told to nobody; what was typed is mended."""
    watched = opened(mock, make_page)
    page, alert = watched.page, watched.page.get_by_role("alert")
    vcenter = page.get_by_role("textbox", name="vCenter", exact=True)
    name, password = page.get_by_label("User name"), page.get_by_label("Password")
    watched.fill_and_submit("anna@vsphere.local", "wrong", "127.0.0.1:44887")
    expect(alert).to_contain_text("The vCenter, the user name or the password is not right.")
    expect(vcenter).to_have_value("127.0.0.1:44887")
    expect(name).to_have_value("anna@vsphere.local")
    expect(password).to_have_value("")
    expect(password).to_be_focused()
    shots(page, "sign-in.vcenter-refused.tab")
    assert watched.axe() == []
    mock.world.refusals["/v2/login/password"] = Refusal(
        502, "upstream_unreachable", "vCenter did not answer 3 calls in a row; calls are held back for a while",
        "run: kaasctl vcenter status")
    watched.fill_and_submit("anna@vsphere.local", "secret", "vc")
    expect(alert).to_contain_text("The vCenter that checks your password cannot be reached right now.")
    expect(page.get_by_text("kaasctl")).to_have_count(0)
    shots(page, "sign-in.vcenter-away.tab")


def test_a_refusal_is_told_beside_the_password_and_all_else_stays(many: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(many, make_page)
    page = watched.page
    choice, name, password = page.get_by_role("combobox", name="Account"), page.get_by_label("User name"), page.get_by_label("Password")
    choice.select_option("directory:lab")
    name.fill("alice")
    for refusal, told in (
            (None, "The user name or password is not right."),
            (Refusal(503, "database_unavailable", "x", headers={"Retry-After": "3"}), "The service cannot reach its database."),
            (Refusal(503, "busy", "x", headers={"Retry-After": "3"}), "The service has too much to do."),
            (Refusal(429, "too_many_requests", "x", headers={"Retry-After": "9"}), "Too many attempts. Try again in 9 seconds."),
            (Refusal(502, "upstream_unreachable", "x"), "The directory lab, which checks your password, cannot be reached right now."),
            (Refusal(403, "forbidden", "x"), "you may not use it yet")):
        many.world.refusals = {"/v2/login/password": refusal} if refusal else {}
        password.fill("wrong")
        page.keyboard.press("Enter")
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text(told)
        expect(password).to_be_focused()
        expect(password).to_have_value("")
        expect(password).to_have_attribute("aria-invalid", "true" if refusal is None else "false")
        expect(password).to_have_attribute("aria-describedby", "password-hint failure")
        assert (choice.input_value(), name.input_value()) == ("directory:lab", "alice")
        submit = page.get_by_role("button", name="Sign in", exact=True).bounding_box()
        assert password.bounding_box()["y"] < alert.bounding_box()["y"] < submit["y"]
        assert watched.axe() == []
    shots(page, "sign-in.no-role-beside.tab")
    many.world.refusals = {}
    many.world.users["lab", "alice"] = ("secret", "user")
    password.fill("secret")
    page.keyboard.press("Enter")
    list_shown(page)


@pytest.mark.parametrize("how", ["away", "silent"])
def test_a_service_that_is_away_takes_nothing_but_the_password(many: MockKaasd, make_page: MakePage, how: str) -> None:
    watched = make_page()
    page = watched.page
    page.clock.install()
    page.route("**/v2/login/password", lambda route: route.abort() if how == "away" else None, times=1)
    page.goto(f"{many.url}/ui/")
    watched.choose("vCenter account")
    vcenter = page.get_by_role("textbox", name="vCenter", exact=True)
    name, password = page.get_by_label("User name"), page.get_by_label("Password")
    for field, text in ((vcenter, "vc.example.com"), (name, "anna@vsphere.local"), (password, "secret")):
        field.fill(text)
    with page.expect_request("**/v2/login/password"):
        page.keyboard.press("Enter")
    if how == "silent":
        page.clock.run_for(31_000)
    expect(page.get_by_role("alert")).to_contain_text("did not answer in time" if how == "silent" else "The service does not answer.")
    expect(password).to_be_focused()
    assert [field.input_value() for field in (vcenter, name, password)] == ["vc.example.com", "anna@vsphere.local", ""]
    watched.choose("Local account")  # and back: what was typed waits there
    expect(vcenter).to_be_hidden()
    watched.choose("vCenter account")
    assert [field.input_value() for field in (vcenter, name)] == ["vc.example.com", "anna@vsphere.local"]
    password.fill("secret")
    page.keyboard.press("Enter")
    list_shown(page)


@pytest.mark.parametrize("place", ["#/clusters?q=prod&state=ready,degraded&sort=name&size=25", f"{PROD}/nodes", "#/overview"])
def test_after_the_end_of_a_session_one_is_where_one_was(mock: MockKaasd, make_page: MakePage, place: str) -> None:
    watched = make_page()
    page = watched.page
    page.goto(f"{mock.url}/ui/{place}")
    watched.fill_and_submit("anna@vsphere.local", "secret", "vc.example.com")
    shown = page.locator("kaas-cluster-table tbody tr, kaas-node-table tbody tr, kaas-overview .figure")
    shown.first.wait_for()
    before = (page.evaluate("location.hash"), shown.count(), page.evaluate("history.length"))
    assert before[0] == place
    for _ in range(2):
        mock.world.ended |= {session["id"] for session, _ in mock.world.sessions.values()}
        expect(page.get_by_role("alert")).to_contain_text("Your session has ended. Sign in again.")
        expect(page.get_by_label("Password")).to_be_focused()
        expect(page.get_by_label("User name")).to_have_value("anna@vsphere.local")
        expect(page.get_by_role("textbox", name="vCenter", exact=True)).to_have_value("vc.example.com")
        for password in ("wrong", "secret"):
            page.get_by_label("Password").fill(password)
            page.keyboard.press("Enter")
            page.locator("kaas-sign-in #failure kaas-notice").or_(shown).first.wait_for()
        shown.first.wait_for()
        assert (page.evaluate("location.hash"), shown.count(), page.evaluate("history.length")) == before
    watched.sign_out()
    expect(page.get_by_label("User name")).to_be_focused()
    expect(page.get_by_label("User name")).to_have_value("")  # who comes next is somebody else


def test_only_local_accounts(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.ways = {"vcenter": False, "directories": [], "kerberos": "off"}
    page = opened(mock, make_page).page
    expect(page.get_by_label("User name")).to_be_focused()
    expect(page.get_by_role("radio")).to_have_count(0)
    expect(page.get_by_role("combobox")).to_have_count(0)
    expect(page.get_by_role("button")).to_have_text(["Show password", "Sign in"])


def test_directory_by_keyboard_and_the_next_time(many: MockKaasd, make_page: MakePage) -> None:
    watched = opened(many, make_page)
    page = watched.page
    choice = page.get_by_role("combobox", name="Account")
    expect(choice.locator("option")).to_have_text(["Directory corp", "Directory lab", "vCenter account", "Local account"])
    expect(page.get_by_label("User name")).to_be_focused()
    expect(page.get_by_label("User name")).to_have_accessible_description("As you log in to your computer")
    page.keyboard.press("Shift+Tab")
    expect(choice).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(choice).to_have_value("directory:lab")
    for text, key in (("alice", "Tab"), ("secret", "Enter")):
        page.keyboard.press("Tab") if key == "Tab" else None
        page.keyboard.type(text)
        page.keyboard.press(key)
    expect(page.get_by_role("alert")).to_contain_text("The user name or password is not right.")
    choice.select_option("directory:corp")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_label("Password").fill("secret")
    page.keyboard.press("Enter")
    list_shown(page)
    watched.sign_out()
    choice.select_option("local")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill("secret")
    page.keyboard.press("Enter")
    list_shown(page)
    watched.sign_out()
    page.reload()
    expect(choice).to_have_value("local")  # the one that signed in last at this browser, in whichever tab
    tab = page.context.new_page()
    tab.goto(f"{many.url}/ui/")
    expect(tab.get_by_role("combobox", name="Account")).to_have_value("local")
    many.world.ways["directories"] = []
    tab.reload()
    expect(tab.get_by_role("radio", name="Local account")).to_be_checked()
    expect(opened(many, make_page).page.get_by_role("radio", name="vCenter account")).to_be_checked()  # nobody has chosen there


def test_the_only_vcenter_needs_no_address(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(mock, make_page)
    page = watched.page
    name, password = page.get_by_label("User name"), page.get_by_label("Password")
    vcenter = page.get_by_role("textbox", name="vCenter", exact=True)
    expect(page.get_by_role("radio", name="vCenter account")).to_be_checked()
    expect(vcenter).to_have_accessible_description(re.compile("^May be left empty where there is only one"))
    shots(page, "sign-in.first.tab")
    assert (watched.axe(), watched.small_targets()) == ([], [])
    name.fill("anna@vsphere.local")
    for typed, text in (("wrong", "or this service has several vCenters."), ("", "Enter your password.")):
        password.fill(typed)
        page.keyboard.press("Enter")
        expect(page.locator("kaas-sign-in form")).to_contain_text(text)
        expect(password).to_be_focused()
    password.fill("secret")
    page.keyboard.press("Enter")
    list_shown(page)
    assert asked(mock) == [("password", 401), ("password", 200)]


def test_a_password_can_be_read_until_it_is_sent(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(mock, make_page)
    page = watched.page
    password = page.get_by_label("Password")
    page.get_by_label("User name").fill("anna@vsphere.local")
    password.fill("wrong")
    expect(password).to_have_attribute("type", "password")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Show password")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Hide password")).to_be_focused()
    expect(password).to_have_attribute("type", "text")
    expect(password).to_have_value("wrong")
    shots(page, "sign-in.password-shown.tab")
    assert (watched.axe(), watched.small_targets()) == ([], [])
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("not right")
    expect(password).to_have_attribute("type", "password")


def test_an_answer_after_signing_out_asks_for_nothing(mock: MockKaasd, make_page: MakePage) -> None:
    """The list has gone by then, and follows nothing in nobody's name: the stand-in counts a request without a token as a breach."""
    watched = make_page()
    page = watched.page
    held: list[Route] = []
    page.route("**/v2/hx-clusters?*", lambda route: held.append(route), times=1)  # noqa: PLW0108 - a builtin cannot be marked
    page.goto(f"{mock.url}/ui/")
    with page.expect_request("**/v2/hx-clusters?*"):
        watched.fill_and_submit("admin", "secret")
    list_shown(page)
    watched.sign_out()
    expect(page.get_by_label("User name")).to_be_visible()
    held[0].fulfill(json={"items": [], "next_cursor": None})
    watched.fill_and_submit("admin", "secret")
    list_shown(page)


def test_kerberos_and_who_one_is_then(many: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    many.world.ticket = ALICE
    watched = opened(many, make_page)
    page = watched.page
    page.get_by_role("button", name=KERBEROS).click()
    list_shown(page)
    me = page.get_by_role("button", name=f"{ALICE} Administrator")
    expect(me).to_have_attribute("aria-expanded", "false")
    me.focus()
    page.keyboard.press("Enter")
    account = page.get_by_role("region", name="Your account")
    for text in (ALICE, "with Kerberos", "Administrator", "local:", "53", "group 0", "group 49", "and 3 more"):
        expect(account).to_contain_text(text)
    shots(page, "list.account-groups.tab")
    assert watched.axe() == []
    page.keyboard.press("Escape")
    expect(account).to_have_count(0)
    expect(me).to_be_focused()
    me.click()
    expect(account).to_be_visible()
    page.get_by_role("heading", name="Kubernetes clusters").click()
    expect(account).to_have_count(0)
    assert asked(many) == [("kerberos", 200)]


def test_browser_without_a_ticket(many: MockKaasd, make_page: MakePage) -> None:
    watched = opened(many, make_page)
    page = watched.page
    page.get_by_role("button", name=KERBEROS).click()
    alert = page.get_by_role("alert")
    for text in ("Signing in did not work", "Your browser did not send a Kerberos ticket.", "sign in with a password", REQUEST_ID):
        expect(alert).to_contain_text(text)
    assert watched.axe() == []
    many.world.refusals["/v2/login/kerberos"] = Refusal(401, "invalid_credentials", "The token was refused.",
                                                         headers={"WWW-Authenticate": "Negotiate"})
    page.get_by_role("button", name=KERBEROS).click()
    expect(alert).to_contain_text("The Kerberos ticket of your browser was not accepted.")
    watched.fill_and_submit("alice", "secret", account="Directory corp")
    list_shown(page)
    assert asked(many) == [("kerberos", 401)] * 3 + [("password", 200)]


def test_without_a_role(many: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    many.world.ticket = "bob@AD.TEST"
    watched = opened(many, make_page)
    watched.page.get_by_role("button", name=KERBEROS).click()
    alert = watched.page.get_by_role("alert")
    for text in ("The service knows who you are, but you may not use it yet.", "Ask an administrator of this service for a role",
                 REQUEST_ID):
        expect(alert).to_contain_text(text)
    shots(watched.page, "sign-in.no-role.tab")
    assert watched.axe() == []


def test_kerberos_by_itself(many: MockKaasd, make_page: MakePage) -> None:
    many.world.ways["kerberos"] = "auto"
    many.world.ticket = ALICE
    watched = make_page()
    page = watched.page
    page.goto(f"{many.url}/ui/")
    list_shown(page)
    watched.sign_out()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("User name")).to_be_focused()  # who has signed out stays out, in this tab
    page.get_by_role("button", name=KERBEROS).click()
    list_shown(page)
    assert asked(many) == [("kerberos", 200)] * 2


def test_kerberos_by_itself_without_a_ticket(many: MockKaasd, make_page: MakePage) -> None:
    many.world.ways["kerberos"] = "auto"
    watched = make_page()
    page = watched.page
    page.goto(f"{many.url}/ui/")
    # The button is open again when the attempt is over; nobody had asked for it, so nothing is said.
    expect(page.get_by_role("button", name=KERBEROS)).to_be_enabled()
    expect(page.get_by_role("alert")).to_have_count(0)
    watched.fill_and_submit("alice", "secret", account="Directory corp")
    list_shown(page)


def test_password_overtakes_a_ticket_that_takes_long(many: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    page = watched.page
    many.world.ways["kerberos"] = "auto"
    held = []
    page.route("**/v2/login/kerberos", lambda route: held.append(route))  # no answer
    page.goto(f"{many.url}/ui/")
    expect(page.get_by_role("button", name="Signing in with Kerberos")).to_be_disabled()
    watched.fill_and_submit("alice", "secret", account="Directory corp")
    list_shown(page)
    assert len(held) == 1
    expect(page.get_by_text("alice", exact=True)).to_be_visible()


def test_service_that_does_not_tell(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.refusals["/v2/login"] = Refusal(503, "unavailable", "starting", headers={"Retry-After": "1"})
    page = opened(mock, make_page).page
    expect(page.get_by_role("radio")).to_have_count(2)
    expect(page.get_by_role("button", name=KERBEROS)).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_every_width_and_theme(many: MockKaasd, make_page: MakePage, shots: Shots, width: int, scheme: str) -> None:
    many.world.ticket = ALICE
    watched = opened(many, make_page, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert (watched.axe(), watched.overflow()) == ([], 0)
    shots(watched.page, f"sign-in.ways-{width}.tab.{scheme}")
    watched.page.get_by_role("button", name=KERBEROS).click()
    list_shown(watched.page)
    watched.page.get_by_role("button", name=ALICE).click()
    expect(watched.page.get_by_role("region", name="Your account")).to_be_visible()
    assert (watched.axe(), watched.overflow()) == ([], 0)
    shots(watched.page, f"list.account-{width}.tab.{scheme}")


def test_a_page_that_is_loaded_again_is_signed_in_where_it_was(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "admin", "secret")
    page = watched.page
    page.get_by_role("searchbox").fill("prod")
    expect(page.locator("kaas-cluster-table tbody tr")).to_have_count(2)
    [(name, value)] = [(cookie["name"], cookie["value"]) for cookie in page.context.cookies()]
    assert name == "__Host-kaas" and value in mock.world.cookies
    page.reload()
    expect(page.locator("kaas-cluster-table tbody tr")).to_have_count(2)
    assert page.evaluate("document.cookie") == "" and value not in mock.world.cookies
    assert [path for method, path, _ in mock.world.requests if method == "POST"].count("/v2/login/password") == 1
    other = page.context.new_page()  # another tab of the same browser
    other.goto(f"{mock.url}/ui/")
    expect(other.locator("kaas-cluster-table tbody tr").first).to_be_visible()
    other.close()


def test_a_tab_that_is_duplicated_does_not_end_the_first(mock: MockKaasd, make_page: MakePage) -> None:
    """The browser copies what it keeps for the tab."""
    watched = make_page()
    watched.sign_in(mock.url, "admin", "secret")
    page = watched.page
    with page.expect_popup() as opened_page:
        page.evaluate("() => { window.open(location.href); }")  # as a duplicate: with a copy of the storage of this tab
    expect(opened_page.value.locator("kaas-cluster-table tbody tr").first).to_be_visible()
    assert mock.world.ended == set()
    page.reload()
    list_shown(page)
    assert len(mock.world.ended) == 1  # its own, whose token went with the page
    opened_page.value.get_by_role("searchbox").fill("prod")
    expect(opened_page.value.locator("kaas-cluster-table tbody tr")).to_have_count(2)
    opened_page.value.close()


def test_two_people_in_one_browser_stay_two(mock: MockKaasd, make_page: MakePage) -> None:
    """There is one cookie, of who signed in last."""
    watched = make_page()
    watched.sign_in(mock.url, "anna@vsphere.local", "secret", "vc.example.com")
    page = watched.page
    other = WatchedPage(page.context.new_page())
    other.page.goto(f"{mock.url}/ui/")
    list_shown(other.page)
    other.sign_out()
    until(lambda: mock.world.cookies == {} and page.context.cookies() == [], "the end of the cookie")
    other.fill_and_submit("admin", "secret")
    list_shown(other.page)
    until(lambda: len(mock.world.cookies) == 1, "the administrator's cookie")
    for _ in range(2):
        page.reload()
        expect(page.get_by_label("Password")).to_be_visible()
    other.page.reload()
    expect(other.page.locator("kaas-header .name")).to_have_text("admin")
    other.page.close()


def own_session(mock: MockKaasd, name: str) -> dict[str, Any]:
    return {"id": str(uuid4()), "name": name, "source": "local", "role": "user", "end": datetime.now(UTC) + timedelta(hours=1)}


@pytest.mark.parametrize("answer", ["Stay admin", "Go on as mallory"])
def test_a_link_with_a_code_asks_before_it_takes_somebodys_place(mock: MockKaasd, make_page: MakePage, shots: Shots, answer: str) -> None:
    """Anybody signed in can make a code of their own and send it to somebody else."""
    watched = make_page()
    watched.sign_in(mock.url, "admin", "secret")
    page = watched.page
    link = mock.world.give_code(own_session(mock, "mallory"), None)
    other = WatchedPage(page.context.new_page())
    other.page.goto(f"{mock.url}/ui/#/clusters?code={link}")
    expect(other.page.get_by_role("heading", name="Go on as mallory?")).to_be_visible()
    assert (other.axe(), other.overflow()) == ([], 0)
    shots(other.page, "sign-in.who-goes-on.tab.light")
    assert len(mock.world.cookies) == 1 and [one["name"] for one in mock.world.cookies.values()] == ["admin"]
    other.page.get_by_role("button", name=answer).click()
    name = answer.split()[-1]
    expect(other.page.locator("kaas-header .name")).to_have_text(name)
    until(lambda: [one["name"] for one in mock.world.cookies.values()][-1:] == [name], "the cookie of who goes on")
    other.page.reload()
    expect(other.page.locator("kaas-header .name")).to_have_text(name)
    other.page.close()


def test_a_link_with_a_code_asks_nothing_of_who_is_the_same(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "admin", "secret")
    page = watched.page
    before = {session["id"] for session, _ in mock.world.sessions.values()}
    link = mock.world.give_code({**own_session(mock, "admin"), "role": "admin"}, None)
    other = WatchedPage(page.context.new_page())
    other.page.goto(f"{mock.url}/ui/#/clusters?code={link}")
    list_shown(other.page)
    until(lambda: len(mock.world.ended) == 1, "the end of the session that is not gone on with")
    assert not mock.world.ended & before
    other.page.close()


def test_a_link_with_an_old_code_changes_nothing(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "admin", "secret")
    other = WatchedPage(watched.page.context.new_page())
    other.page.goto(f"{mock.url}/ui/#/clusters?code={'0' * 32}")
    list_shown(other.page)
    expect(other.page.locator("kaas-header .name")).to_have_text("admin")
    other.page.close()


def test_who_has_signed_out_is_asked_for_a_password(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "admin", "secret")
    watched.sign_out()
    expect(watched.page.get_by_label("Password")).to_be_visible()
    until(lambda: mock.world.cookies == {} and watched.page.context.cookies() == [], "the end of the cookie")
    watched.page.reload()
    expect(watched.page.get_by_label("Password")).to_be_visible()
