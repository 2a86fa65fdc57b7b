"""The daemon with 200 clusters, of which somebody of the vCenter sees the 20 on one HX cluster."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import requests
from env.fill import fill
from env.full import World, add_vcenter, register
from env.kaasd import laid_over

from .load import Target

QUERY = "?hx_cluster=HX-East"
PLACE = "DC0/HX-East"
VIEWER = "viewer-east"
SIGN_IN_AGAIN_S = 600  # tokens live 15 minutes
# Without the line per request that the level "info" writes: the peers write none either.
# One address asks as often as it can.
OPTIONS = {"log": {"level": "notice"}, "server": {"requests_per_address": 0}}
# One person signs on as often as many would.
ANY_NUMBER = {"auth": {"sessions_per_principal": 0, "signon_rate": 0}}


class ListWorld(World):
    """As World, with `others` clusters elsewhere and `shown` on HX-East."""

    def __init__(self, *, others: int = 180, shown: int = 20) -> None:
        super().__init__("list", options=OPTIONS)
        self._others, self._shown = others, shown
        self._token, self._signed_in_s = "", 0.0

    def prepare(self) -> None:
        add_vcenter(self.kaasd, self.vcenter)
        register(self.kaasd, self.vcenter)
        for n in range(self._shown):
            self.kaasd.ctl.ok("cluster", "add", "--name", f"shop-{n:02d}", "--kubernetes-version", "1.31.2", "--state", "ready",
                              "--control-plane", "3/3", "--workers", "4/4", "--vsphere-cluster", PLACE, "--label", "team=shop",
                              "--description", "Made for measuring")
        self.kaasd.stop()
        fill(self.db, clusters=self._others, nodes_per_cluster=5)
        self.kaasd.write_config(laid_over(OPTIONS, {"server": {"unix_socket": str(self.unix)}}))
        self.kaasd.start()
        self.kaasd.process.wait_until(lambda: bool(self.token()), "the vCenter's connection") if self.kaasd.process else None

    @property
    def unix(self) -> Path:
        return self.scratch.path / "k.sock"

    def token(self) -> str:
        if time.monotonic() - self._signed_in_s > SIGN_IN_AGAIN_S or not self._token:
            self._token = self.by_ticket(VIEWER).token or ""  # not bound to a session at the vCenter
            self._signed_in_s = time.monotonic()
        return self._token

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token()}"}

    def pids(self) -> list[int]:
        assert self.kaasd.process
        return [self.kaasd.process.pid]

    def answer(self) -> requests.Response:
        plain = {"Accept-Encoding": "identity"}  # as the load generators ask
        answer = requests.get(f"{self.kaasd.url}/v2/clusters{QUERY}", headers={**self.headers(), **plain},
                              verify=str(self.kaasd.tls.ca_file), timeout=30)
        if answer.status_code != 200 or len(answer.json()["items"]) != self._shown:
            raise SystemExit(f"not the list that is to be measured: {answer.status_code} {answer.text[:300]}")
        return answer

    def target(self, *, tls: bool, more: Mapping[str, str] | None = None, status: int = 200) -> Target:
        base = self.kaasd.url if tls else "http://localhost"
        return Target(f"{base}/v2/clusters{QUERY}", self.pids, {**self.headers(), **(more or {})}, None if tls else self.unix, status)
