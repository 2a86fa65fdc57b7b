"""A browser page that is watched: script errors, CSP violations, accessibility, what it keeps in storage."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Frame, Locator, Page, expect

AXE = Path(__file__).resolve().parents[2] / "ui-plugin/node_modules/axe-core/axe.min.js"
# Reported by the browser itself for each answer with an error status; the tests ask for such answers on purpose.
EXPECTED = "Failed to load resource"
WATCH_CSP = """
window.cspViolations = [];
document.addEventListener('securitypolicyviolation', (e) => window.cspViolations.push(`${e.violatedDirective} ${e.blockedURI}`));
"""


SMALL_TARGETS = """() => {
  const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  const small = (e) => { const { width, height } = e.getBoundingClientRect(); return width > 0 && Math.min(width, height) < 23.9; };
  const own = (e) => (e.type === 'checkbox' || e.type === 'radio' ? e.closest('label') : e);
  return all(document).filter((e) => e.matches('a, button, select, input:not([hidden])')).map(own).filter(small).map((e) => e.outerHTML);
}"""


class WatchedPage:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.add_init_script(WATCH_CSP)
        self._refuse_late_routes()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(f"exception: {error}"))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and EXPECTED not in message.text:
            self.errors.append(f"{message.type}: {message.text}")

    def _refuse_late_routes(self) -> None:
        """Chromium answers that it takes requests before the page's own process knows of it. What an open page sends until then passes by:
        it is neither taken nor told of as a request. A page that is opened later begins with it."""
        page, route = self.page, self.page.route

        @wraps(route)
        def before_the_page_is_opened(*arguments: Any, **options: Any) -> None:
            assert page.url == "about:blank", f"{page.url} is open: call page.route before goto, or requests pass by (watched.py)"
            route(*arguments, **options)

        page.route = before_the_page_is_opened

    def sign_in(self, url: str, user: str, password: str, vcenter: str | None = None) -> None:
        """Opens the page and signs in; returns when the list has its first answer."""
        self.page.goto(f"{url}/ui/")
        self.fill_and_submit(user, password, vcenter)
        self.page.wait_for_selector("main[aria-busy=false] h1:text-is('Kubernetes clusters')")

    def fill_and_submit(self, user: str, password: str, vcenter: str | None = None, account: str | None = None) -> None:
        """With an account at a vCenter, else a local one, unless another is named."""
        if vcenter is not None:
            self.choose("vCenter account")
            self.page.get_by_label("vCenter", exact=True).and_(self.page.get_by_role("textbox")).fill(vcenter)
        else:
            self.choose(account or "Local account")
        self.page.get_by_label("User name").fill(user)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in", exact=True).click()

    def enter(self) -> None:
        """As the administrator, whatever the language."""
        self.page.locator("[name=account][value=local]").check(force=True)
        self.page.locator("[name=username]").fill("admin")
        self.page.locator("[name=password]").fill("secret")
        self.page.keyboard.press("Enter")

    def choose(self, account: str) -> None:
        """Whose account: one of two side by side, or of a list; the only one there is needs no choice."""
        self.page.get_by_label("User name").wait_for()
        if self.page.get_by_role("combobox", name="Account").count():
            self.page.get_by_role("combobox", name="Account").select_option(label=account)
        elif self.page.get_by_role("radio").count():
            self.page.get_by_role("radio", name=account).check()

    def fill_password_change(self, old: str, fresh: str, again: str | None = None) -> None:
        """Fills the form for another password; it is not sent."""
        for label, text in (("Current password", old), ("New password", fresh), ("New password again", fresh if again is None else again)):
            self.page.get_by_label(label, exact=True).fill(text)

    def open_account(self) -> None:
        """Opens who one is, the way to another password and the way out."""
        self.page.locator("kaas-header .me").click()

    def sign_out(self) -> None:
        self.open_account()
        self.page.get_by_role("button", name="Sign out").click()

    def wish_change_password(self) -> None:
        self.open_account()
        self.page.locator("kaas-header").get_by_role("button", name="Change password").click()

    def names(self) -> list[str]:
        """Names of the clusters that the table shows now, in their order."""
        return self._names().all_text_contents()

    def expect_names(self, names: list[str]) -> None:
        """Waits until the table shows these clusters in this order."""
        expect(self._names()).to_have_text(names)

    def _names(self) -> Locator:
        return self.page.locator("kaas-cluster-table tbody th a")

    def axe(self, *without: str) -> list[str]:
        """What axe-core finds wrong, by the rules of WCAG 2.2 A and AA and its best practices, but for the rules that are left out."""
        return self.axe_in(self.page.main_frame, *without)

    @staticmethod
    def axe_in(frame: Frame, *without: str, only: tuple[str, ...] = ()) -> list[str]:
        """The same of one frame, without those in it; of some rules only."""
        # As an expression through the debugger: a script element would be stopped by the page's CSP.
        if not frame.evaluate("'axe' in window"):
            frame.evaluate(AXE.read_text(encoding="utf-8"))
        asked = {"resultTypes": ["violations"], "iframes": False, **({"runOnly": list(only)} if only else {})}
        found: dict[str, Any] = frame.evaluate("(asked) => axe.run(asked)", asked)
        return [f"{v['id']}: {v['help']} {[n['target'] for n in v['nodes']]}" for v in found["violations"] if v["id"] not in without]

    def small_targets(self) -> list[str]:
        """What can be pressed but is less than 24 pixels high or wide; links within a line of text are not meant."""
        return self.page.evaluate(SMALL_TARGETS)

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def assert_sound(self) -> None:
        """No script error, no CSP violation, nothing kept in the browser but choices: until the tab is closed, or for good."""
        assert self.errors == []
        if self.page.url == "about:blank":
            return
        assert self.page.evaluate("window.cspViolations") == []
        kept = self.page.evaluate("[Object.keys(localStorage), Object.keys(sessionStorage), document.cookie]")
        assert set(kept[0]) <= {"kaas.put-away-version", "kaas.account"}
        assert (set(kept[1]) - {"kaas.signed-out", "kaas.columns"}, kept[2]) == (set(), "")
