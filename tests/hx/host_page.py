"""The page of HX Connect around the panel of KaaS: looks and behaves as far as documents tell (docs/panel.md has the list), and hands over
who is signed in, as docs/panel.md asks a host to. What of the panel breaks the contract it notes in `violations`, and does not answer.

A person is signed in at HX Connect already: that is what `hand_over` stands for, the part of HX that signs in at KaaS for whoever is
there."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from .forms import Request
from .wire import Answer

PAGES = Path(__file__).parent / "pages"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


class HostPage:
    """`panel`: address of the panel, with its parameters. `hand_over`: gives {"code": ...}, or {"vcenter": ..., "clone_ticket": ...}; it is
    called anew each time the panel asks."""

    def __init__(self, panel: str, hand_over: Callable[[], dict[str, str]], person: str = "VSPHERE.LOCAL\\viewer-east") -> None:
        self.panel, self.hand_over, self.person = panel, hand_over, person
        self.name = "HX-East"
        self.asked = 0  # how often somebody was to be handed over
        self.violations: list[str] = []

    @property
    def panel_origin(self) -> str:
        parts = urlsplit(self.panel)
        return f"{parts.scheme}://{parts.netloc}"

    def answer(self, request: Request) -> Answer | None:
        """None: that is no address of the page."""
        if request.path == "/kaas/host.json" and request.method == "GET":
            about = {"panel": self.panel, "origin": self.panel_origin, "name": self.name, "person": self.person}
            return self._json(about)
        if request.path == "/kaas/hand-over" and request.method == "POST":
            self.asked += 1
            return self._json(self.hand_over())
        if request.path == "/kaas/violation" and request.method == "POST":
            self.violations.append(request.body.decode(errors="replace"))
            return Answer(204, b"")
        name = "index.html" if request.path == "/" else request.path.removeprefix("/connect/")
        file = PAGES / name
        if request.method != "GET" or "/" in name or not file.is_file():
            return None
        rules = f"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src {self.panel_origin}"
        headers = {"Content-Type": TYPES[file.suffix], "Content-Security-Policy": rules, "Cache-Control": "no-store"}
        return Answer(200, file.read_bytes(), headers)

    @staticmethod
    def _json(value: object) -> Answer:
        return Answer(200, json.dumps(value).encode(), {"Content-Type": "application/json", "Cache-Control": "no-store"})
