"""Texts of others that would like to be more than texts, as every name that the page shows: nothing runs, nothing becomes markup."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import mock_kaasd
import pytest
from conftest import MakePage
from mock_kaasd import MockKaasd
from playwright.sync_api import expect
from sample import CLUSTERS, EVENTS, GRANTS, HX_CLUSTERS, HX_CONNECTIONS, NODES, RULES, USAGE, VCENTER, ident

DETAIL = f"#/clusters/{ident('cluster prod-2')}"
HOSTILE = {
    "an image": "<img src=x onerror=alert(1) data-evil>",
    "a script": '"><script data-evil>alert(1)</script>',
    "an address": "javascript:alert(1)",
    "from right to left": "\u202egnidaelsim",
    "255 characters": "x" * 255,
    "a formula": "=HYPERLINK(A1)",
}
USUAL = {"an image", "255 characters"}  # the others are in `scripts/check --full`
# Of each part: what shows it, and a text of the sample that becomes the hostile one.
PARTS = {"": "kaas-cluster-table tbody th a", "#/overview": ".cards .messages", DETAIL: "h1",
         f"{DETAIL}/nodes": "kaas-node-table .machine bdi", f"{DETAIL}/access": "kaas-cluster-access td bdi",
         f"{DETAIL}/events": "kaas-cluster-events td bdi"}
NAMES = {"name", "description", "state_reason", "reason", "datacenter", "object_name", "principal_name", "messages", "version", "address",
         "kubernetes_version", "api_endpoint", "dashboard_url", "detail", "remedy", "user_name"}
CLIENT = """window.htmlClientSdk = {{ initialize: (then) => then(), event: {{}}, app: {{ getContextObjects: () => [{{ id: '{}' }}],
    getSessionInfo: (then) => then({{ sessionToken: 'session-1' }}) }} }};"""
# Elements that a text has become, also in shadow trees; and texts that turn what stands beside them.
MARKUP = """() => {
  const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  const isEvil = (e) => e.matches('[data-evil], [onerror], script:not([src]), [href^="javascript:" i]');
  const isOpen = (e) => getComputedStyle(e).display === 'inline' && getComputedStyle(e).unicodeBidi === 'normal';
  const turns = (e) => isOpen(e) && [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.includes('\\u202e'));
  return all(document).filter((e) => isEvil(e) || turns(e)).map((e) => e.outerHTML);
}"""


def named(value: Any, text: str) -> Any:
    """The sample with every name in it called so."""
    if isinstance(value, list):
        return [named(each, text) for each in value]
    if not isinstance(value, dict):
        return value
    more = {"labels": {text: text}, "datastores": [text]}
    more |= {key: text for key in NAMES if value.get(key) is not None}
    return {key: more[key] if key in more else named(each, text) for key, each in value.items()}


CASES = [pytest.param(text, id=name, marks=[] if name in USUAL else [pytest.mark.rare]) for name, text in HOSTILE.items()]


@pytest.mark.parametrize("text", CASES)
def test_hostile_texts_stay_texts(mock: MockKaasd, make_page: MakePage, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    samples = {"USAGE": USAGE, "RULES": RULES, "GRANTS": GRANTS, "EVENTS": EVENTS}
    for name, value in samples.items():
        monkeypatch.setattr(mock_kaasd, name, named(value, text))
    world = mock.world
    world.clusters, world.hx_clusters, world.hx_connections = named(CLUSTERS, text), named(HX_CLUSTERS, text), named(HX_CONNECTIONS, text)
    world.nodes = named(NODES, text)
    cluster = {key: world.clusters[0][key] for key in ("id", "name")}
    world.nodes_on = {place: [{"cluster": cluster, **node} for node in world.nodes] for place in ("vm-7", "host-9")}
    watched, client = make_page(), make_page()
    page, dialogs = watched.page, []
    for opened in (page, client.page):
        opened.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    watched.sign_in(mock.url, "admin", "secret")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export CSV").click()
    with Path(saved.value.path()).open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert any(text in cell for cell in cells) and not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    for address, place in PARTS.items():
        page.evaluate("(hash) => { location.hash = hash; }", address or "#/clusters")
        expect(page.locator(place).filter(has_text=text).first).to_be_visible()
        assert (page.evaluate(MARKUP), watched.overflow()) == ([], 0), address
    page = client.page
    page.route("**/htmlClientSdk.js", lambda route: route.fulfill(content_type="text/javascript", body=CLIENT.format(urn)))
    for urn in (f"urn:vmomi:VirtualMachine:vm-7:{VCENTER}", f"urn:vmomi:HostSystem:host-9:{VCENTER}"):
        world.tickets["session-1"] = world.session_of(text)
        page.goto(f"{mock.url}/ui/vsphere.html")
        expect(page.locator("kaas-card li bdi").filter(has_text=text).first).to_be_visible()
        assert (page.evaluate(MARKUP), client.overflow()) == ([], 0), urn
    assert dialogs == []
    world.violations.clear()  # most of that the contract forbids the service to say; the page must not depend on it
