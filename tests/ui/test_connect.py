"""The form that connects a cluster: for administrators, in a window of the page's own; what is given is used once and kept nowhere."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import MakePage
from env.certs import ServerCert, make_server_cert
from homes import home
from mock_kaasd import MockKaasd, Refusal
from playwright.sync_api import Locator, Page, expect
from sample import SHA256, STEPS
from watched import WatchedPage

Shots = Callable[[Page, str], None]
GIVEN = "apiVersion: v1\nkind: Config\nusers: [a-planted-secret]\n"
DROP = """(text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], 'admin.conf'));
  const area = document.querySelector('kaas-app').shadowRoot.querySelector('kaas-connect').shadowRoot.querySelector('#kubeconfig');
  const send = (type) => area.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  return ['dragover', 'drop'].map(send);
}"""


@pytest.fixture(scope="session")
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hosts"))


def opened(mock: MockKaasd, make_page: MakePage, **options: object) -> WatchedPage:
    watched = make_page(**options)
    watched.page.goto(f"{mock.url}/ui/#/connect?code={mock.world.give_code(mock.world.session_of('admin', 'admin'), None)}")
    watched.page.locator("kaas-connect form").wait_for()
    return watched


def field(page: Page) -> Locator:
    return page.get_by_label("Kubeconfig of an administrator of the cluster")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def steps(page: Page) -> list[str]:
    return [step.get_attribute("class") for step in page.locator("kaas-steps li").all()]


def test_from_the_list_by_a_check_to_the_new_cluster(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "admin", "secret")
    page = watched.page
    page.get_by_role("link", name="Connect a cluster").click()
    expect(page.get_by_role("heading", name="Connect a cluster")).to_be_focused()
    expect(page).to_have_title("Connect a cluster · Harmony KaaS")
    assert watched.axe() == []
    page.get_by_label("Name", exact=True).fill(" prod-9 ")
    field(page).fill(GIVEN)
    press(page, "Check")
    expect(page.get_by_role("status").filter(has_text="The check went well")).to_contain_text("Nothing was made yet.")
    assert steps(page) == ["skipped" if word == "account" else "ok" for word, _, _ in STEPS]
    expect(field(page)).to_have_value(GIVEN)
    assert watched.axe() == []
    shots(page, "connect.checked.tab")
    press(page, "Connect")
    expect(page.get_by_role("status").filter(has_text="The cluster is connected")).to_be_visible()
    assert steps(page) == ["ok"] * len(STEPS)
    for name in ("Kubeconfig of an administrator of the cluster", "Name", "Context"):
        expect(page.get_by_label(name, exact=True)).to_have_value("")
    asked = {"kubeconfig": GIVEN, "name": "prod-9"}
    assert mock.world.connected == [asked | {"dry_run": True}, asked | {"dry_run": False}]
    assert "a-planted-secret" not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, location.href, history.state])")
    shots(page, "connect.done.tab")
    page.get_by_role("link", name="Open the cluster").click()
    expect(page.get_by_role("heading", name="prod-9", exact=True)).to_be_visible()


def test_a_file_is_chosen_or_dropped(mock: MockKaasd, make_page: MakePage, tmp_path: Path) -> None:
    page = opened(mock, make_page).page
    file = tmp_path / "admin.conf"
    file.write_text(GIVEN)
    with page.expect_file_chooser() as chooser:
        press(page, "Choose a file")
    chooser.value.set_files(file)
    expect(field(page)).to_have_value(GIVEN)
    assert page.evaluate(DROP, "dropped: true\n") == [False, False]  # the browser does not open it in the place of the page
    expect(field(page)).to_have_value("dropped: true\n")
    assert mock.world.connected == []
    file.write_bytes(b"x" * (256 * 1024 + 1))
    with page.expect_file_chooser() as chooser:
        press(page, "Choose a file")
    chooser.value.set_files(file)
    expect(page.get_by_text("This is longer than 256 KiB")).to_be_visible()
    expect(field(page)).to_have_value("dropped: true\n")


def test_nothing_is_sent_that_is_empty(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page)
    press(watched.page, "Connect")
    expect(field(watched.page)).to_be_focused()
    expect(field(watched.page)).to_have_attribute("aria-invalid", "true")
    expect(watched.page.get_by_text("Paste the kubeconfig, or choose the file.")).to_be_visible()
    assert (watched.axe(), mock.world.connected) == ([], [])


def test_a_context_is_chosen_and_a_certificate_without_ca_confirmed(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(mock, make_page)
    page = watched.page
    field(page).fill("contexts: without-ca")
    press(page, "Connect")
    context = page.get_by_role("combobox", name="Context")
    expect(context).to_be_focused()
    expect(context.locator("option")).to_have_text(["Choose one", "a", "b, c"])
    expect(page.get_by_role("alert")).to_contain_text("The cluster was not connected")
    shots(page, "connect.contexts.tab")
    context.select_option("b, c")
    expect(context).to_have_attribute("aria-invalid", "false")
    press(page, "Connect")
    confirm = page.get_by_role("checkbox", name="I have compared the SHA-256: it is the same.")
    expect(confirm).to_be_focused()
    for text in (SHA256, "CN=kube-apiserver, issued by CN=kubernetes", "openssl x509"):
        expect(page.locator("kaas-notice.certificate")).to_contain_text(text)
    expect(page.locator("kaas-steps li.failed")).to_contain_text("confirm it in the form")
    expect(page.locator("kaas-steps")).not_to_contain_text("--sha256")
    assert watched.axe() == []
    shots(page, "connect.certificate.tab")
    press(page, "Connect")  # without a confirmation it is asked for again
    expect(page.locator("kaas-steps li.failed")).to_be_visible()
    confirm.check()
    press(page, "Connect")
    expect(page.get_by_text("The cluster is connected")).to_be_visible()
    assert [asked.get("thumbprint_sha256") for asked in mock.world.connected] == [None, None, None, SHA256]
    assert [asked.get("context") for asked in mock.world.connected] == [None, "b, c", "b, c", "b, c"]
    expect(confirm).to_have_count(0)


def test_what_was_confirmed_does_not_count_for_another_file(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page).page
    field(page).fill("without-ca")
    press(page, "Check")
    page.get_by_role("checkbox").check()
    field(page).fill("without-ca: of another")
    expect(page.get_by_role("checkbox")).to_have_count(0)
    press(page, "Check")
    expect(page.get_by_role("checkbox")).not_to_be_checked()
    assert "thumbprint_sha256" not in mock.world.connected[-1]


def test_a_step_that_fails_says_what_to_do(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(mock, make_page)
    page = watched.page
    field(page).fill("users: exec")
    press(page, "Check")
    failed = page.locator("kaas-steps li.failed")
    for text in ("What was given", "Failed", "it runs a program (exec)", "Give a token in its place."):
        expect(failed).to_contain_text(text)
    assert steps(page) == ["failed", *["skipped"] * (len(STEPS) - 1)]
    expect(page.get_by_role("alert")).to_contain_text("Nothing was made. The step that failed says what to do.")
    expect(field(page)).to_have_value("users: exec")
    assert watched.axe() == []
    shots(page, "connect.failed.tab")


@pytest.mark.parametrize(("why", "texts"), [
    (Refusal(429, "too_many_requests", "slow", headers={"Retry-After": "300"}), ("Too many attempts. Try again in 5 minutes.",)),
    (Refusal(409, "conflict", "the name is taken", "choose another"),
     ("The cluster was not connected", "The name is taken.", "Choose another.")),
    (Refusal(503, "database_unavailable", "no database"), ("The cluster was not connected", "No database."))])
def test_what_the_service_refuses_is_told(mock: MockKaasd, make_page: MakePage, why: Refusal, texts: tuple[str, ...]) -> None:
    page = opened(mock, make_page).page
    mock.world.refusals["/v2/clusters:connect"] = why
    field(page).fill(GIVEN)
    press(page, "Connect")
    for text in texts:
        expect(page.get_by_role("alert")).to_contain_text(text)
    expect(page.locator("kaas-steps")).to_have_count(0)
    mock.world.refusals.clear()
    press(page, "Connect")
    expect(page.get_by_text("The cluster is connected")).to_be_visible()


def test_without_an_answer_it_is_open_what_came_of_it(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page).page
    mock.world.garbage.add("/v2/clusters:connect")
    field(page).fill(GIVEN)
    press(page, "Connect")
    expect(page.get_by_role("alert")).to_contain_text("The cluster may or may not be connected")


def test_a_session_that_is_over_leads_to_the_sign_in(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page).page
    field(page).fill(GIVEN)
    mock.world.ended |= {session["id"] for session, _ in mock.world.sessions.values()}
    press(page, "Connect")
    page.locator("kaas-sign-in form").wait_for()
    assert "a-planted-secret" not in page.content()


def test_is_for_administrators(mock: MockKaasd, make_page: MakePage) -> None:
    watched = make_page()
    watched.sign_in(mock.url, "anna@vsphere.local", "secret", "vc.example.com")
    page = watched.page
    expect(page.get_by_role("link", name="Connect a cluster")).to_have_count(0)
    page.evaluate("location.hash = '#/connect'")
    expect(page.get_by_role("heading", name="There is no such page").first).to_be_visible()


@pytest.mark.parametrize(("name", "count"), [("hx", 1), ("vsphere", 0)])
def test_a_host_leads_to_the_own_window(mock: MockKaasd, make_page: MakePage, cert: ServerCert, name: str, count: int) -> None:
    """Where that is, the vSphere Client does not know: its pages come through vCenter's proxy."""
    watched = make_page()
    with home(name, mock, cert) as open_:
        frame = open_(watched, "", mock.world.session_of("anna@vsphere.local", "admin"))
        frame.locator("kaas-cluster-table tbody tr").first.wait_for()
        expect(frame.get_by_role("link", name="Connect a cluster")).to_have_count(0)
        button = frame.get_by_role("button", name="Connect a cluster")
        expect(button).to_have_count(count)
        if count:
            with watched.page.context.expect_page() as window:
                button.click()
            window.value.locator("kaas-connect form").wait_for()
            window.value.close()
        frame.evaluate("location.hash = '#/connect'")
        expect(frame.get_by_role("heading", name="There is no such page").first).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (768, "dark"), (1280, "dark")])
def test_every_width_and_theme(mock: MockKaasd, make_page: MakePage, shots: Shots, width: int, scheme: str) -> None:
    watched = opened(mock, make_page, viewport={"width": width, "height": 800}, color_scheme=scheme, locale="de-DE")
    page = watched.page
    for shown in ("form", "kaas-steps li", "kaas-notice.certificate"):
        page.locator(shown).first.wait_for()
        assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
        shots(page, f"connect.{re.sub('[^a-z]+', '-', shown)}-{width}.tab.{scheme}")
        page.locator("#kubeconfig").fill("exec" if shown == "form" else "without-ca")
        press(page, "Prüfen")
