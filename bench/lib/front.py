"""Sign-ons by what a person has from the vCenter, at kaasd."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import requests
from env.full import World

VIEWER = "viewer-east@vsphere.local"
HEADERS = {"X-KaaS": "1", "Content-Type": "application/json"}


class Front:
    """A client of kaasd that keeps its connection, so that no handshake is counted."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._session = requests.Session()
        self._session.trust_env = False  # a bundle named there would go first
        self._session.verify = str(world.kaasd.tls.ca_file)

    def sign_on(self, member: str, credential: str) -> None:
        answer = self._session.post(self._world.kaasd.url + "/v2/login/vcenter", headers=HEADERS, timeout=60,
                                    json={"vcenter": self._world.vcenter.instance_uuid, member: credential})
        if answer.status_code != 200:
            raise SystemExit(f"a sign-on is answered by {answer.status_code}: {answer.text[:300]}")
