"""The three homes of the page: a browser tab, the frame of HX Connect, the vSphere Client. Each opens it at a place, with somebody signed
in there or nobody, and gives the frame that it is in."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from env.certs import ServerCert
from env.prefixproxy import PrefixProxy
from hx import HostPage, HxConnect
from mock_kaasd import VCENTER, MockKaasd
from playwright.sync_api import Frame
from watched import WatchedPage

Session = dict[str, Any]
Open = Callable[[WatchedPage, str, Session | None], Frame]
NAMES = ("tab", "hx", "vsphere")


@contextmanager
def home(name: str, mock: MockKaasd, cert: ServerCert, at: str | None = None) -> Iterator[Open]:
    """`at`: what the vSphere Client looks at, as "ClusterComputeResource:domain-c7"; None: everything."""
    if name == "tab":
        yield lambda watched, place, session: _open_tab(mock, watched, place, session)
    elif name == "hx":
        with HxConnect(cert.cert_file, cert.key_file) as hx:
            hx.page = HostPage("", dict, "anna@vsphere.local")
            mock.world.origins = [hx.url]
            yield lambda watched, place, session: _open_hx(mock, hx, watched, place, session)
            assert (hx.page.violations, hx.violations) == ([], [])
    else:
        with PrefixProxy(mock.url, cert.ca_file, cert, "com.example.kaas", "1.0") as client:
            client.state |= {"vcenters": [VCENTER], "objects": [f"urn:vmomi:{at}:{VCENTER}"] if at else []}
            yield lambda watched, place, session: _open_vsphere(mock, client, watched, place, session)


def _open_tab(mock: MockKaasd, watched: WatchedPage, place: str, session: Session | None) -> Frame:
    place = place or "#/clusters"
    code = f"{'&' if '?' in place else '?'}code={mock.world.give_code(session, None)}" if session else ""
    watched.page.goto(f"{mock.url}/ui/{place}{code}")
    return watched.page.main_frame


def _open_hx(mock: MockKaasd, hx: HxConnect, watched: WatchedPage, place: str, session: Session | None) -> Frame:
    hx.page.panel = f"{mock.url}/ui/panel{place}"
    hx.page.hand_over = lambda: {"code": mock.world.give_code(session, hx.url) if session else "0" * 32}
    watched.page.goto(f"{hx.url}/#/kubernetes")
    return _inner(watched)


def _open_vsphere(mock: MockKaasd, client: PrefixProxy, watched: WatchedPage, place: str, session: Session | None) -> Frame:
    client.frame = f"{client.prefix}/plugin/vsphere.html{place}"
    client.session = lambda: _give_ticket(mock, session)
    watched.page.goto(f"{client.url}/ui/")
    return _inner(watched)


def _give_ticket(mock: MockKaasd, session: Session | None) -> str | None:
    if session is None:
        return None
    ticket = secrets.token_hex(16)
    mock.world.tickets[ticket] = session
    return ticket


def _inner(watched: WatchedPage) -> Frame:
    return watched.page.wait_for_selector("iframe", state="attached").content_frame()
