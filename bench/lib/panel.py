"""The panel in the frame of HX Connect's page, where an administrator of KaaS is handed over."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import secrets
import time

from env.hx_controller import claims_of
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from hx import HostPage, HxConnect
from playwright.sync_api import Frame, Page

PASSWORD = "S3cret of HX"


def connect(kaasd: Kaasd, hx: HxConnect, sha256: str, moref: str | None = None) -> None:
    """As the HX cluster at this vSphere cluster, else the one with the name HX-East."""
    hx.accounts["admin"] = PASSWORD
    rows = kaasd.kept_admin().items("/v2/hx-clusters", **({} if moref else {"name": "HX-East"}))
    east = next(row["id"] for row in rows if moref in (None, row["vsphere_cluster"]["moref"]))
    kaasd.kept_admin().expect(201, "PUT", f"/v2/hx-clusters/{east}/connection", json={
        "address": "127.0.0.1", "port": hx.port, "user_name": "admin", "password": PASSWORD, "thumbprint_sha256": sha256})


def _give_code(db: Mariadb, kaasd: Kaasd, origin: str) -> dict[str, str]:
    """As a service account would have asked for it; here there is no vCenter whose people it could speak for."""
    code = secrets.token_hex(16)
    sid = claims_of(str(kaasd.admin().token))["sid"]
    db.query("INSERT INTO login_codes (digest, sid, origin, ends_at_ms) VALUES (%s, %s, %s, %s)",
             hashlib.sha256(code.encode()).digest(), sid, origin, int(time.time() * 1000) + 60_000, database="kaas")
    return {"code": code}


def open_panel(page: Page, db: Mariadb, kaasd: Kaasd, hx: HxConnect, query: str = "") -> Frame:
    hx.page = HostPage(f"{kaasd.url}/ui/panel{query}", lambda: _give_code(db, kaasd, hx.url))
    page.goto(f"{hx.url}/#/kubernetes")
    page.frame_locator("iframe").locator("kaas-app").wait_for()
    return page.frames[1]
