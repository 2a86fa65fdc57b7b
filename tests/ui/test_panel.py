"""The panel in the frame of HX Connect: signed in without a form, with hostile hosts, outside every host, in a window of its own."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from conftest import MakePage
from env.certs import make_server_cert
from env.wait import until
from hx import HostPage, HxConnect
from mock_kaasd import MockKaasd, Refusal
from playwright.sync_api import FrameLocator, Page, expect
from sample import EAST, HX_EAST, cluster
from watched import WatchedPage

Shots = Callable[[Page, str], None]


@dataclass
class Site:
    """HX Connect and kaasd. The person is signed in at HX Connect."""

    mock: MockKaasd
    hx: HxConnect
    host: HostPage
    make_page: MakePage

    @property
    def origin(self) -> str:
        return self.hx.url

    def give(self) -> dict[str, str]:
        """As HX gets a code for who is at its page."""
        return {"code": self.mock.world.give_code(self.mock.world.session_of("anna"), self.origin)}

    def open(self, query: str = "", before: str = "", instead: str = "", **options: object) -> WatchedPage:
        """Opens HX Connect at its page for Kubernetes. `before`: what spoils the host before the panel is there; `instead`: script of a
        page that stands in for the panel."""
        self.host.panel = f"{self.mock.url}/ui/panel{query}"
        watched = self.make_page(**options)
        if instead:
            watched.page.route("**/ui/panel", lambda route: route.fulfill(content_type="text/html", body=f"<script>{instead}</script>"))
        if before:
            watched.page.add_init_script(f"addEventListener('message', () => {{ if (window.kaas) {{ {before} }} }}, {{capture: true}});")
        watched.page.goto(f"{self.hx.url}/#/kubernetes")
        return watched


@pytest.fixture
def site(mock: MockKaasd, make_page: MakePage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    cert = make_server_cert(tmp_path_factory.mktemp("hx"))
    with HxConnect(cert.cert_file, cert.key_file) as hx:
        made = Site(mock, hx, HostPage("", dict, "anna@vsphere.local"), make_page)
        hx.page, made.host.hand_over = made.host, made.give
        mock.world.origins = [hx.url]
        yield made
        assert (made.host.violations, hx.violations) == ([], [])


def panel(page: Page) -> FrameLocator:
    return page.frame_locator("iframe[title=Kubernetes]")


def expect_rows(page: Page) -> None:
    expect(panel(page).locator("kaas-cluster-table tbody tr").first).to_be_visible()


def expect_form(page: Page) -> None:
    expect(panel(page).get_by_label("Password")).to_be_visible()


# -- the hand-over ----------------------------------------------------------------------------------------------------------------


def test_who_is_at_the_page_is_signed_in(site: Site) -> None:
    page = site.open().page
    expect_rows(page)
    expect(panel(page).locator("kaas-header .name")).to_have_text("anna")
    expect(page.locator("#state")).to_have_text("Kubernetes: connected")
    assert page.evaluate("kaas.states") == ["signed-in"]
    assert not [path for _, path, _ in site.mock.world.requests if path in ("/v2/login/password", "/v2/session/cookie")]
    assert page.context.cookies() == []


def test_who_leaves_the_page_and_comes_back_is_signed_in_each_time(site: Site) -> None:
    """A page that is one program, as HX Connect is, makes the frame anew when somebody comes back to it; so does the browser's way back.
    The session of a frame that is left ends: each visit would be one more, and in the end that of a page that is open would have to go."""
    page = site.open().page
    expect_rows(page)
    for visits, leave in enumerate(("click", "click", "back"), 2):
        page.get_by_role("link", name="Alarms").click()
        expect(page.locator("iframe")).to_have_count(0)
        if leave == "back":
            page.go_back()
        else:
            page.get_by_role("link", name="Kubernetes").click()
        expect_rows(page)
        assert site.host.asked == visits
        until(lambda left=visits - 1: len(site.mock.world.ended) == left, "the end of what was left")  # type: ignore[misc]
    page.reload()
    expect_rows(page)
    assert (site.host.asked, set(page.evaluate("kaas.states"))) == (5, {"signed-in"})


def test_a_clone_ticket_does_as_well(site: Site) -> None:
    def give() -> dict[str, str]:
        site.mock.world.tickets["cst-VCT-1--tp-AA"] = site.mock.world.session_of("anna")
        return {"vcenter": "vc.example.com", "clone_ticket": "cst-VCT-1--tp-AA"}

    site.host.hand_over = give
    expect_rows(site.open().page)


def end_session(site: Site, page: Page) -> None:
    page.frames[1].evaluate("() => { const real = Date.now; Date.now = () => real() + 60_000; }")  # not at once after the sign-on
    site.mock.world.ended |= {session["id"] for session, _ in site.mock.world.sessions.values()}


def test_a_session_that_ends_begins_anew_without_a_form(site: Site) -> None:
    page = site.open().page
    expect_rows(page)
    page.frames[1].evaluate("""() => { window.forms = 0; const { shadowRoot } = document.querySelector('kaas-app');
        new MutationObserver(() => { window.forms += shadowRoot.querySelectorAll('kaas-sign-in').length; })
            .observe(shadowRoot, {childList: true, subtree: true}); }""")
    end_session(site, page)
    expect(page.locator("#state")).to_have_text("Kubernetes: connected")
    until(lambda: page.evaluate("kaas.states.length === 3"), "the next sign-on")
    expect_rows(page)
    assert page.evaluate("kaas.states") == ["signed-in", "signed-out", "signed-in"]
    assert (site.host.asked, page.frames[1].evaluate("forms")) == (2, 0)


def test_who_signs_out_is_asked_for_nothing(site: Site) -> None:
    page = site.open().page
    expect_rows(page)
    panel(page).locator("kaas-header .me").click()
    panel(page).get_by_role("button", name="Sign out").click()
    expect_form(page)
    expect(page.locator("#state")).to_have_text("Kubernetes: not signed in")
    assert site.host.asked == 1


HOSTILE = {
    "another nonce": "kaas.change = (m) => ({...m, nonce: '0'.repeat(32)})",
    "no nonce": "kaas.change = (m) => ({...m, nonce: undefined})",
    "a token": "kaas.change = ({type, nonce}) => ({type, nonce, access_token: 'x'})",
    "another type": "kaas.change = (m) => ({...m, type: 'hand-over'})",
    "nothing": "kaas.change = () => null",
    "a text": "kaas.change = () => 'kaas:hand-over'",
    "a code that is none": "kaas.change = (m) => ({...m, code: '0'.repeat(32)})",
}


@pytest.mark.parametrize("spoiled", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_hand_over_leads_to_the_form(site: Site, spoiled: str) -> None:
    page = site.open(before=spoiled).page
    expect_form(page)
    assert page.evaluate("kaas.states") == []


def test_the_nonce_of_an_earlier_question_is_none(site: Site) -> None:
    page = site.open(before="kaas.change = (m) => { window.first ??= m.nonce; return {...m, nonce: window.first}; }").page
    expect_rows(page)
    end_session(site, page)
    expect_form(page)
    assert (site.host.asked, page.evaluate("kaas.states")) == (2, ["signed-in", "signed-out"])


def test_without_a_hand_over_kerberos_answers_and_nobody_types(site: Site) -> None:
    world = site.mock.world
    world.ways["kerberos"], world.ticket = "auto", "alice@AD.TEST"
    world.users["kerberos", world.ticket] = ("", "user")
    page = site.open(before="kaas.change = () => null").page
    expect_rows(page)
    expect(panel(page).locator("kaas-header .name")).to_have_text("alice@AD.TEST")
    assert [(path, status) for _, path, status in world.requests if "/v2/login/" in path] == [("/v2/login/kerberos", 200)]
    assert (site.host.asked, page.evaluate("kaas.states")) == (1, ["signed-in"])


def test_a_second_message_is_not_heard(site: Site) -> None:
    site.mock.world.tickets["cst-other--tp"] = site.mock.world.session_of("mallory")
    more = "kaas.more = ({type, nonce}) => [{type, nonce, vcenter: 'vc.example.com', clone_ticket: 'cst-other--tp'}]"
    page = site.open(before=more).page
    expect_rows(page)
    expect(panel(page).locator("kaas-header .name")).to_have_text("anna")
    assert "cst-other--tp" in site.mock.world.tickets


def test_a_window_that_is_not_the_host_is_not_heard(site: Site) -> None:
    """A frame beside the panel, of the right origin."""
    site.host.hand_over = dict
    page = site.open(before="kaas.change = (m) => { window.nonce = m.nonce; return null; }").page
    until(lambda: page.evaluate("window.nonce"), "the question of the panel")
    code = site.give()["code"]
    page.evaluate("() => document.body.append(document.createElement('iframe'))")
    until(lambda: len(page.frames) == 3, "the other frame")
    page.frames[2].evaluate("([nonce, code]) => top.frames[0].postMessage({type: 'kaas:hand-over', nonce, code}, '*')",
                            [page.evaluate("window.nonce"), code])
    expect_form(page)
    assert code in site.mock.world.codes


GOOD = "{type: 'kaas:ready', nonce: '1'.repeat(32)}"
BROKEN = {
    "no nonce": ("{type: 'kaas:ready'}", GOOD),
    "a short nonce": ("{type: 'kaas:ready', nonce: '0'.repeat(31)}", GOOD),
    "another version": ("{type: 'kaas:ready', nonce: '0'.repeat(32), version: 2}", GOOD),
    "another type": ("{type: 'kaas:hello', nonce: '0'.repeat(32)}", GOOD),
    "a text": ("'kaas:ready'", GOOD),
    "nothing": ("null", GOOD),
    "another state": ("{type: 'kaas:state', state: 'anna'}", GOOD),
    "an unknown member": ("{type: 'kaas:state', state: 'signed-in', name: 'anna'}", GOOD),
    "a token": ("{type: 'kaas:state', state: 'signed-in', access_token: 'eyJhbGciOiJFUzI1NiJ9'}", GOOD),
    "a second question": (GOOD, "{type: 'kaas:ready', nonce: '2'.repeat(32)}"),
    "each of two hosts as *": (GOOD, GOOD),
    "a nonce of before": (GOOD, "{type: 'kaas:state', state: 'signed-out'}", GOOD),
}


@pytest.mark.parametrize("said", BROKEN.values(), ids=BROKEN)
def test_what_is_no_message_of_a_panel_is_noted_and_not_answered(site: Site, said: tuple[str, ...]) -> None:
    page = site.open(instead=f"""window.heard = []; addEventListener('message', ({{data}}) => window.heard.push(data));
        for (const each of [{", ".join(said)}]) parent.postMessage(each, '*');""").page
    until(lambda: page.evaluate("window.kaas?.messages.length") == len(said), "all that was said")
    until(lambda: page.frames[1].evaluate("heard.length") and site.host.violations, "the answer to the good one, and the complaint")
    heard = page.frames[1].evaluate("heard.map(({nonce, code}) => [nonce, code])")
    assert (heard, site.host.asked, len(site.host.violations)) == ([["1" * 32, *site.mock.world.codes]], 1, 1)
    assert "signed-in" not in page.evaluate("kaas.states")
    site.host.violations.clear()


def test_each_host_is_spoken_to_by_its_own_name(site: Site) -> None:
    """To `*`, what is for the other host would be heard here as well."""
    site.mock.world.origins.append("https://elsewhere.test")
    watched = site.open()
    expect_rows(watched.page)
    assert watched.page.evaluate("kaas.messages.map(({type}) => type)") == ["kaas:ready", "kaas:state"]
    assert all("target origin provided ('https://elsewhere.test')" in error for error in watched.errors)
    watched.errors.clear()


def test_a_page_that_may_not_show_the_panel_shows_nothing(site: Site) -> None:
    site.mock.world.origins = ["https://elsewhere.test"]
    watched = site.open()
    with watched.page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        watched.page.reload()
    expect(panel(watched.page).locator("kaas-app")).to_have_count(0)
    assert site.host.asked == 0
    assert any("frame-ancestors" in error for error in watched.errors)
    watched.errors.clear()


def test_outside_every_host_there_is_the_form_at_once(site: Site) -> None:
    watched = site.make_page()
    watched.page.goto(f"{site.mock.url}/ui/panel?hx_cluster=HX-West")
    expect(watched.page.get_by_text("made for the frame of another page")).to_be_visible()
    own = watched.page.get_by_role("link", name="Open the page in its own tab")
    expect(own).to_have_attribute("href", f"{site.mock.url}/ui/?hx_cluster=HX-West")
    assert watched.axe() == []
    watched.fill_and_submit("admin", "secret")
    expect(watched.page.locator("kaas-cluster-table tbody tr").first).to_be_visible()
    expect(own).to_have_count(0)


def test_a_code_that_the_service_does_not_take_now_leaves_the_form(site: Site) -> None:
    site.mock.world.refusals["/v2/login/code"] = Refusal(503, "database_unavailable", "The database does not answer.")
    expect_form(site.open().page)


# -- what the host says ----------------------------------------------------------------------------------------------------------------


def test_the_list_is_of_the_hx_cluster_that_the_host_names(site: Site) -> None:
    mine, other = cluster("mine", "ready", [EAST]), cluster("other", "ready", [])
    site.mock.world.clusters = [mine, other]
    page = site.open(f"?hx_cluster={HX_EAST['hx_uuid']}").page
    expect_rows(page)
    assert panel(page).locator("kaas-cluster-table tbody th a").all_text_contents() == ["mine"]


def test_the_details_of_a_cluster_can_be_asked_for(site: Site) -> None:
    page = site.open(f"?cluster={site.mock.world.clusters[0]['id']}").page
    expect(panel(page).locator("kaas-cluster-detail h1")).to_contain_text(site.mock.world.clusters[0]["name"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_theme_and_language_are_the_hosts(site: Site, shots: Shots, theme: str) -> None:
    other = "dark" if theme == "light" else "light"
    page = site.open(f"?theme={theme}&locale=de-DE", color_scheme=other, viewport={"width": 1100, "height": 800}).page
    expect(panel(page).get_by_role("heading", name="Cluster")).to_be_visible()
    expect_rows(page)
    assert page.frames[1].evaluate("[document.documentElement.dataset.theme, document.documentElement.lang]") == [theme, "de-DE"]
    assert page.frames[1].evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    shots(page, f"list.german.hx.{theme}")


@pytest.mark.parametrize("query", ["?theme=%22%3E%3Cscript%3E", "?locale=../../x", "?cluster=../x", "?hx_cluster=%00"])
def test_parameters_that_are_none_are_as_if_they_were_not_there(site: Site, query: str) -> None:
    site.mock.world.violations.clear()
    page = site.open(query).page
    expect_rows(page)


def test_a_name_that_is_a_script_is_a_name(site: Site) -> None:
    watched = site.open("?hx_cluster=<script>alert(1)</script>")
    told = watched.page.frame_locator("iframe").get_by_role("alert")
    expect(told).to_contain_text("There is no HX cluster “<script>alert(1)</script>” that you may see.")
    assert WatchedPage.axe_in(watched.page.frames[1]) == []


def test_accessible_in_the_frame(site: Site) -> None:
    for theme in ("light", "dark"):
        watched = site.open(f"?theme={theme}")
        expect_rows(watched.page)
        assert WatchedPage.axe_in(watched.page.frames[1]) == []


# -- in a window of its own --------------------------------------------------------------------------------------------------------------


def open_window(page: Page) -> Page:
    with page.context.expect_page() as opened:
        panel(page).get_by_role("button", name="Open in own window").click()
    return opened.value


def test_what_is_copied_in_the_frame_can_be_pasted_outside(site: Site) -> None:
    """Without the permission, by a selection."""
    watched = site.open(permissions=["clipboard-read"])
    page = watched.page
    expect_rows(page)
    panel(page).get_by_role("button", name="Copy the API endpoint of prod-1").click()
    expect(panel(page).get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    page.locator("#state").click()  # who reads has to have the focus
    assert page.evaluate("navigator.clipboard.readText()") == "https://10.20.0.10:6443/"
    watched.errors = [error for error in watched.errors if "Clipboard API has been blocked" not in error]  # the browser's own note


def test_a_window_of_its_own_is_signed_in_at_the_same_place(site: Site, shots: Shots) -> None:
    page = site.open().page
    expect_rows(page)
    panel(page).get_by_role("searchbox").fill("prod")
    expect(panel(page).locator("kaas-cluster-table tbody tr")).to_have_count(2)
    own = open_window(page)
    expect(own.locator("kaas-cluster-table tbody tr")).to_have_count(2)
    assert own.url == f"{site.mock.url}/ui/#/clusters?q=prod"
    assert own.evaluate("[window.opener, history.length, document.referrer]") == [None, 1, ""]
    assert site.mock.world.codes == {}
    shots(own, "list.own-window.tab")


def test_a_used_code_leads_to_the_form_and_keeps_the_filter(site: Site) -> None:
    watched = site.make_page()
    watched.page.goto(f"{site.mock.url}/ui/#/clusters?q=prod&code={'0' * 32}")
    watched.fill_and_submit("admin", "secret")
    expect(watched.page.locator("kaas-cluster-table tbody tr")).to_have_count(2)
    assert watched.page.url == f"{site.mock.url}/ui/#/clusters?q=prod"


def test_without_a_code_the_window_has_the_form(site: Site) -> None:
    page = site.open().page
    expect_rows(page)
    site.mock.world.refusals["/v2/session/code"] = Refusal(503, "database_unavailable", "The database does not answer.")
    expect(open_window(page).get_by_label("Password")).to_be_visible()
