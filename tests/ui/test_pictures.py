"""Every page in every state, in each of its homes and both themes: a picture, accessible, no wider than its frame. And what a frame
may ask of a page: zoom, colours and movement as the reader has them, a keyboard alone."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
from conftest import MakePage
from env.certs import ServerCert, make_server_cert
from homes import NAMES, Session, home
from mock_kaasd import MockKaasd, Refusal, World
from playwright.sync_api import Frame, Page
from sample import CONNECTED_NODES, DEGRADED, EAST, HX_LAB, NODES, REFUSED, ago, cluster, hx, ident, place
from watched import WatchedPage

Shots = Callable[[Page, str], None]
DOWN = Refusal(503, "database_unavailable", "The database does not answer.", "Look at the health page.", {"Retry-After": "600"})
NO = Refusal(403, "forbidden", "this needs a role", headers={"Retry-After": "600"})
PROD = f"#/clusters/{ident('cluster prod-2')}"
BARE = f"#/clusters/{ident('cluster somewhere')}"
LONG = "team-a-cluster-that-a-script-gave-its-longest-name"
LONG_ID = f"#/clusters/{ident(f'cluster {LONG}')}"


@dataclass(frozen=True)
class Scene:
    """`shown`: what is there when it is to be seen. `spoil`: what the world is like before. `act`: what is done there, then `shown`.
    `without`: rules of axe-core that do not fit it."""

    page: str
    state: str
    shown: str
    address: str = ""
    who: str | None = "admin"
    spoil: Callable[[World], object] = lambda world: None
    act: Callable[[Frame, World], object] | None = None
    homes: tuple[str, ...] = NAMES
    at: str | None = None
    without: tuple[str, ...] = ()


def refuse(*paths: str, why: Refusal = DOWN) -> Callable[[World], object]:
    return lambda world: world.refusals.update(dict.fromkeys(paths, why))


def change(**members: object) -> Callable[[World], object]:
    return lambda world: world.__dict__.update(members)


def hold(world: World) -> None:
    world.gate.clear()


def click(name: str, role: str = "button") -> Callable[[Frame, World], object]:
    return lambda frame, world: frame.get_by_role(role, name=re.compile(name)).first.click()


def submit(name: str, password: str) -> Callable[[Frame, World], object]:
    def act(frame: Frame, world: World) -> None:
        frame.locator("[name=username]").fill(name)
        frame.locator("[name=password]").fill(password)
        frame.locator("[type=submit]").click()
    return act


def check(kubeconfig: str) -> Callable[[Frame, World], object]:
    def act(frame: Frame, world: World) -> None:
        frame.locator("#kubeconfig").fill(kubeconfig)
        frame.get_by_role("button", name="Check", exact=True).click()
    return act


def set_password(*words: str) -> Callable[[Frame, World], object]:
    def act(frame: Frame, world: World) -> None:
        for field, word in zip(frame.locator("kaas-change-password input[type=password]").all(), words, strict=True):
            field.fill(word)
        frame.locator("kaas-change-password [type=submit]").click()
    return act


def fail_now(*paths: str, why: Refusal = DOWN) -> Callable[[Frame, World], object]:
    """What was there is there, and then something fails."""
    def act(frame: Frame, world: World) -> None:
        refuse(*paths, why=why)(world)
        frame.get_by_role("button", name="Refresh").click()
    return act


def end_sessions(frame: Frame, world: World) -> None:
    world.ended |= {session["id"] for session, _ in world.sessions.values()}


def hold_rows(frame: Frame, world: World) -> None:
    frame.locator("tbody tr").nth(4).hover()
    world.clusters = [cluster("0-first", "ready", [EAST]), *world.clusters]


def many(world: World) -> None:
    world.clusters = [cluster(f"c-{n:05}", ("ready", "ready", "degraded", "failed")[n % 4], [EAST]) for n in range(20_000)]
    world.hx_clusters = [hx(f"HX-{n:02}", place("DC0", f"domain-c{n}", f"HX-{n:02}")) for n in range(30)]


def hard(world: World) -> None:
    """Names that are long, that run the other way, that look like a script; numbers and times without measure."""
    tags = {f"example.com/a-key-that-is-long-{n}": "a-value-that-is-as-long-as-values-may-be-and-goes-on-to-here-63" for n in range(4)}
    far = place("A datacenter with a long name", "domain-c98", "HX-cluster-with-a-name-that-is-as-long-as-vcenter-allows-80-characters")
    world.clusters = [
        cluster(LONG, "degraded", [far], workers=(1, 12345), labels=tags, description="long " * 60, created_at=ago(days=4000),
                updated_at=ago(days=3000), observed_at=ago(days=800),
                state_reason=f"VM {LONG}-control-plane-0 is powered off; VM {LONG}-1 is gone; and 12 more",
                api_endpoint=f"https://{LONG}.{LONG}.example.com:6443", dashboard_url=f"https://{LONG}.example.com/"),
        cluster("<script>alert(1)</script>", "ready", [EAST], description="\"><img src=x onerror=alert(1)>"),
        cluster("עברית-אשכול", "failed", [EAST], description="תיאור קצר", state_reason="אין כתובת פנויה"),
        cluster("مجموعة", "ready", [EAST], labels={"team": "متجر"}), cluster("日本語クラスタ", "updating", [EAST]),  # noqa: RUF001
        cluster("x", "ready", [], source="declared"),
    ]


ROWS, EMPTY, ALERT = "kaas-cluster-table tbody tr", "kaas-empty", "[role=alert] kaas-notice"
FORM, TOLD, NEW = "kaas-sign-in form", "kaas-sign-in kaas-notice", "kaas-change-password form"
STATUS = "[role=status] kaas-notice"
FILLED = "kaas-cluster-detail section, kaas-cluster-detail table"
COUNTS = "kaas-overview .figure"
STALE = change(stale="database, rights, vcenter", stale_for=timedelta(days=3), vcenter_state="unreachable")
TOO_OFTEN = Refusal(429, "too_many_requests", "x", headers={"Retry-After": "90"})
FRESH = "seven swans in a boat"
THIS = f"/v2/clusters/{ident('cluster prod-2')}"
WAYS = change(ways={"vcenter": True, "directories": ["corp", "lab"], "kerberos": "button"})
MINE = change(must_change={"admin"})
OUTSIDE = ("tab", "hx")  # in the vSphere Client nobody has an account of his own
CLIENT = ("vsphere",)
PLACED = {key: {"cluster": {"id": ident("cluster prod-2"), "name": "prod-2"}} | node for key, node in enumerate(NODES)}
# By how many pixels the page is wider than its frame, or a table than its card with 8 pixels of air at its right.
OVERFLOW = """() => {
  const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  const right = (e) => e.getBoundingClientRect().right;
  const box = (node) => { const range = document.createRange(); range.selectNode(node); return node instanceof Element ? node : range; };
  const text = (cell) => {  // but for what only readers hear
    const seen = (node) => (node.classList?.contains('sr-only') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, seen);
    let most = 0;
    while (walk.nextNode()) most = Math.max(most, right(box(walk.currentNode)));
    return most;
  };
  const cells = all(document).filter((e) => e.matches('th:last-child, td:last-child') && getComputedStyle(e).display === 'table-cell');
  const over = cells.map((e) => text(e) + 8 - right(e.closest('table').parentNode.host ?? e.closest('table').parentNode));
  const { scrollWidth, clientWidth } = document.documentElement;
  return Math.max(0, scrollWidth - clientWidth, ...over);
}"""
BARE_PAGE = ("page-has-heading-one",)  # a card in a page of the client; a word while one waits
NODES_ON = change(nodes_on={"vm-7": [PLACED[1]], "host-9": list(PLACED.values())})

SCENES = [
    Scene("sign-in", "form", FORM, who=None, homes=OUTSIDE),
    Scene("sign-in", "form-in-client", FORM, who=None, homes=CLIENT, act=click("Sign in with a password")),
    Scene("sign-in", "client-over", ".client", who=None, homes=CLIENT),
    Scene("sign-in", "every-way", FORM, who=None, spoil=WAYS, homes=OUTSIDE),
    Scene("sign-in", "missing", "[aria-invalid=true]", who=None, act=submit("", ""), homes=OUTSIDE),
    Scene("sign-in", "refused", TOLD, who=None, act=submit("admin", "wrong"), homes=OUTSIDE),
    Scene("sign-in", "too-often", TOLD, who=None, homes=OUTSIDE, spoil=refuse("/v2/login/password", why=TOO_OFTEN),
          act=submit("admin", "secret")),
    Scene("sign-in", "away", TOLD, who=None, spoil=refuse("/v2/login", "/v2/login/password"), act=submit("admin", "secret"), homes=OUTSIDE),
    Scene("sign-in", "trying", ".trying", spoil=hold, without=BARE_PAGE),
    Scene("sign-in", "no-ticket", TOLD, who=None, spoil=WAYS, act=click("Kerberos"), homes=OUTSIDE),
    Scene("sign-in", "session-over", TOLD, act=end_sessions, homes=OUTSIDE),
    Scene("sign-in", "session-over-in-client", ".client", act=end_sessions, homes=CLIENT),
    Scene("sign-in", "signed-out", TOLD, homes=OUTSIDE,
          act=lambda frame, world: (frame.locator(".me").click(), click("Sign out")(frame, world))),
    Scene("password", "due", NEW, who="local", spoil=MINE, homes=OUTSIDE),
    Scene("password", "wish", NEW, who="local", homes=OUTSIDE,
          act=lambda frame, world: (frame.locator(".me").click(), click("Change password")(frame, world))),
    Scene("password", "faults", "[aria-invalid=true]", who="local", spoil=MINE, homes=OUTSIDE,
          act=set_password("secret", "short", "other")),
    Scene("password", "failed", "kaas-change-password kaas-notice", who="local", homes=OUTSIDE,
          spoil=lambda world: (MINE(world), refuse("/v2/password")(world)), act=set_password("secret", FRESH, FRESH)),
    Scene("list", "rows", ROWS),
    Scene("list", "rows-user", ROWS, who="user"),
    Scene("list", "rows-scoped", ROWS, homes=CLIENT, at="ClusterComputeResource:domain-c7"),
    Scene("list", "loading", ".skeleton", spoil=lambda world: world.held.add("/v2/clusters")),
    Scene("list", "empty-admin", EMPTY, spoil=change(clusters=[])),
    Scene("list", "empty-user", EMPTY, who="user", spoil=change(clusters=[])),
    Scene("list", "empty-scoped", EMPTY, homes=CLIENT, at="ClusterComputeResource:domain-c55", who="user"),
    Scene("list", "filtered-to-nothing", EMPTY, "#/clusters?q=nothing&state=failed&label=team%3Dshop"),
    Scene("list", "nothing-on-hx", EMPTY, f"#/clusters?hx={HX_LAB['id']}", spoil=change(clusters=[cluster("a", "ready", [EAST])])),
    Scene("list", "filtered", ROWS, "#/clusters?state=degraded,unreachable,updating&sort=-state"),
    Scene("list", "error-at-first", ALERT, spoil=refuse("/v2/clusters")),
    Scene("list", "error-later", ALERT, act=fail_now("/v2/clusters")),
    Scene("list", "error-later-user", ALERT, who="user", act=fail_now("/v2/clusters")),
    Scene("list", "no-rights", ALERT, who="user", spoil=refuse("/v2/clusters", why=NO)),
    Scene("list", "stale", STATUS, spoil=STALE),
    Scene("list", "stale-user", STATUS, who="user", spoil=STALE),
    Scene("list", "partly-failed", "select:disabled", spoil=refuse("/v2/hx-clusters", "/v2/clusters/counts")),
    Scene("list", "held", ".held", act=hold_rows),
    Scene("list", "columns", "kaas-column-menu [type=checkbox]", act=click("Columns")),
    Scene("list", "account", "#account", homes=OUTSIDE, act=lambda frame, world: frame.locator(".me").click()),
    Scene("list", "unknown-hx", ALERT, "?hx_cluster=nowhere", homes=("hx",)),
    Scene("list", "several-hx", ALERT, "?hx_cluster=HX-East", who="user", homes=("hx",)),
    Scene("list", "20000", "kaas-pager nav", "#/clusters?page=800&size=25", spoil=many),
    Scene("list", "hard-names", ROWS, spoil=hard),
    Scene("details", "summary", FILLED, PROD),
    Scene("details", "summary-user", FILLED, PROD, who="user"),
    Scene("details", "summary-bare", FILLED, BARE),
    Scene("details", "summary-hard", FILLED, LONG_ID, spoil=hard),
    Scene("details", "nodes", "kaas-node-table .share", f"{PROD}/nodes"),
    Scene("details", "nodes-partly-failed", "kaas-node-table .more", f"{PROD}/nodes", spoil=refuse(f"{THIS}/usage")),
    Scene("details", "nodes-none", "kaas-node-table", f"{PROD}/nodes", spoil=change(nodes=[])),
    Scene("details", "health", "kaas-cluster-health li", PROD, spoil=change(health=DEGRADED)),
    Scene("details", "health-refused", "kaas-cluster-health li", PROD, spoil=change(health=REFUSED)),
    Scene("details", "nodes-connected", "kaas-node-table .mark", f"{PROD}/nodes", spoil=change(nodes=CONNECTED_NODES)),
    Scene("details", "access", FILLED, f"{PROD}/access"),
    Scene("details", "access-user", FILLED, f"{PROD}/access", who="user"),
    Scene("details", "events", FILLED, f"{PROD}/events"),
    Scene("details", "loading", ".wait", PROD, spoil=lambda world: world.held.add(THIS)),
    Scene("details", "gone", EMPTY, f"#/clusters/{ident('nothing')}"),
    Scene("details", "error-at-first", ALERT, PROD, spoil=refuse(THIS)),
    Scene("details", "error-later", ALERT, PROD, act=fail_now(THIS)),
    Scene("details", "stale", STATUS, PROD, spoil=STALE),
    Scene("connect", "form", "kaas-connect form", "#/connect", homes=("tab",)),
    Scene("connect", "checked", "kaas-steps li", "#/connect", homes=("tab",), act=check("a kubeconfig")),
    Scene("connect", "exec", "kaas-steps li.failed", "#/connect", homes=("tab",), act=check("exec")),
    Scene("connect", "without-ca", ".certificate", "#/connect", homes=("tab",), act=check("without-ca")),
    Scene("connect", "contexts", "select#context", "#/connect", homes=("tab",), act=check("contexts")),
    Scene("overview", "full", COUNTS, "#/overview"),
    Scene("overview", "user", COUNTS, "#/overview", who="user"),
    Scene("overview", "loading", ".wait", "#/overview", spoil=lambda world: world.held.add("/v2/clusters/counts")),
    Scene("overview", "empty", EMPTY, "#/overview", spoil=change(clusters=[], hx_clusters=[])),
    Scene("overview", "empty-user", EMPTY, "#/overview", who="user", spoil=change(clusters=[], hx_clusters=[])),
    Scene("overview", "unconnected", COUNTS, "#/overview", spoil=change(hx_connections=[])),
    Scene("overview", "20000", COUNTS, "#/overview", spoil=many),
    Scene("overview", "error-at-first", ALERT, "#/overview", spoil=refuse("/v2/clusters/counts")),
    Scene("overview", "error-later", ALERT, "#/overview", act=fail_now("/v2/clusters/counts")),
    Scene("overview", "no-rights", ALERT, "#/overview", who="user", spoil=refuse("/v2/clusters/counts", why=NO)),
    Scene("overview", "partly-failed", COUNTS, "#/overview", spoil=refuse("/v2/hx-connections")),
    Scene("overview", "stale", COUNTS, "#/overview", spoil=STALE),
    Scene("card", "machine", "kaas-card li", homes=CLIENT, without=BARE_PAGE, spoil=NODES_ON, at="VirtualMachine:vm-7"),
    Scene("card", "host", "kaas-card li", homes=CLIENT, without=BARE_PAGE, spoil=NODES_ON, at="HostSystem:host-9"),
    Scene("card", "nothing", "kaas-card p", homes=CLIENT, without=BARE_PAGE, at="HostSystem:host-1"),
    Scene("card", "loading", "kaas-card [aria-busy=true]", homes=CLIENT, without=BARE_PAGE, at="HostSystem:host-1",
          spoil=lambda world: world.held.add("/v2/nodes")),
    Scene("card", "error", "kaas-card kaas-notice", homes=CLIENT, without=BARE_PAGE, at="HostSystem:host-1", spoil=refuse("/v2/nodes")),
    Scene("card", "signed-out", ".trying", homes=CLIENT, without=BARE_PAGE, at="HostSystem:host-1", who=None),
]
# What a page has most of; the others are in `scripts/check --full`.
USUAL = {("list", "rows"), ("details", "nodes"), ("sign-in", "client-over"), ("card", "machine")}
CASES = [pytest.param(scene, name, id=f"{scene.page}.{scene.state}.{name}",
                      marks=[] if (scene.page, scene.state) in USUAL else [pytest.mark.rare])
         for scene in SCENES for name in scene.homes]


@pytest.fixture(scope="session")
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hosts"))


def person(world: World, who: str | None) -> Session | None:
    if who is None:
        return None
    return {**world.session_of("admin", "admin"), "source": "local"} if who == "local" else world.session_of("anna@vsphere.local", who)


@pytest.mark.parametrize(("scene", "name"), CASES)
def test_every_state_in_every_home(mock: MockKaasd, make_page: MakePage, shots: Shots, cert: ServerCert, scene: Scene, name: str) -> None:
    watched = make_page()
    scene.spoil(mock.world)
    try:
        with home(name, mock, cert, scene.at) as open_:
            frame = open_(watched, scene.address, person(mock.world, scene.who))
            if scene.act:
                frame.locator(f"{FORM}, kaas-change-password form, main[aria-busy=false], .client").first.wait_for()
                scene.act(frame, mock.world)
            frame.locator(scene.shown).first.wait_for(state="attached")
            for theme in ("light", "dark"):
                frame.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
                shots(watched.page, f"{scene.page}.{scene.state}.{name}.{theme}")
                assert WatchedPage.axe_in(frame, *scene.without, only=("color-contrast",) if theme == "dark" else ()) == []
            assert frame.evaluate(OVERFLOW) == 0
    finally:
        mock.world.release()


# -- as the reader has it ---------------------------------------------------------------------------------------------------------------

BESIDE = {"tab": 0, "hx": 200, "vsphere": 0}  # pixels that the host takes in width
DEEP = """const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  const active = () => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; };
  const wanted = () => all(document).filter((e) => e.matches('a[href], button:enabled, input:enabled, select:enabled, [tabindex="0"]')
    && e.getClientRects().length > 0);"""
FIRST = f"() => {{ {DEEP} window.reached = new Set(); window.bare = []; wanted()[0].focus(); return wanted().length; }}"
HERE = f"""() => {{ {DEEP} const e = active(); window.reached.add(e);
  if (e !== document.body && getComputedStyle(e).outlineStyle === 'none') window.bare.push(e.outerHTML); }}"""
MISSED = f"() => {{ {DEEP} return [wanted().filter((e) => !window.reached.has(e)).map((e) => e.outerHTML), window.bare]; }}"
ENDLESS = f"""() => {{ {DEEP} return all(document).flatMap((e) => e.getAnimations())
  .filter((a) => a.effect.getTiming().iterations === Infinity).length; }}"""


@pytest.mark.rare
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("address", ["#/clusters", f"{PROD}/nodes", "#/overview"], ids=["list", "nodes", "overview"])
def test_every_home_by_keyboard_alone(mock: MockKaasd, make_page: MakePage, cert: ServerCert, name: str, address: str) -> None:
    watched = make_page()
    with home(name, mock, cert) as open_:
        frame = open_(watched, address, person(mock.world, "admin"))
        frame.locator(f"{ROWS}, kaas-node-table .share, {COUNTS}").first.wait_for()
        watched.page.keyboard.press("Tab")  # from now on the focus is shown
        for _ in range(2 * frame.evaluate(FIRST)):  # twice: some of it comes after the rows
            frame.evaluate(HERE)
            watched.page.keyboard.press("Tab")
        assert frame.evaluate(MISSED) == [[], []]


@pytest.mark.rare
@pytest.mark.parametrize("name", NAMES)
def test_every_home_as_the_reader_has_it(mock: MockKaasd, make_page: MakePage, shots: Shots, cert: ServerCert, name: str) -> None:
    """A frame of 900 pixels; twice as large in a window of 1280 by 800, the same as 640 by 400, in colours of one's own; movement."""
    with home(name, mock, cert) as open_:
        narrow = make_page(viewport={"width": 900 + BESIDE[name], "height": 700})
        frame = open_(narrow, "", person(mock.world, "admin"))
        frame.locator(ROWS).first.wait_for()
        assert (frame.evaluate("innerWidth"), frame.evaluate(OVERFLOW)) == (900, 0)
        assert len({cell.bounding_box()["y"] for cell in frame.locator(ROWS).first.locator("th, td").all()}) == 1  # side by side
        shots(narrow.page, f"list.900-wide.{name}")
        large = make_page(viewport={"width": 640, "height": 400}, device_scale_factor=2, forced_colors="active")
        for address, shown in (("", ROWS), (f"{PROD}/nodes", "kaas-node-table .share"), ("#/overview", COUNTS)):
            frame = open_(large, address, person(mock.world, "admin"))
            frame.locator(shown).first.wait_for()
            assert WatchedPage.axe_in(frame, "color-contrast") == []  # it reads the colours that are not used now
            assert frame.evaluate(OVERFLOW) == 0
            shots(large.page, f"forced-colours.twice-as-large-{shown.split('-')[1].split()[0]}.{name}")
            large.page.goto("about:blank")
        mock.world.held.add("/v2/clusters")
        for wish, moving in (("reduce", False), ("no-preference", True)):
            watched = make_page(reduced_motion=wish)
            frame = open_(watched, "", person(mock.world, "admin"))
            frame.locator(".skeleton").wait_for()
            assert (frame.evaluate(ENDLESS) > 0) is moving
        mock.world.release()
