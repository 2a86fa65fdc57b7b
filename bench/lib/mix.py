"""Requests of every kind at once, for as long as it takes: what each of them leaves behind shows in the daemon's memory.

wrk asks over kept TLS connections for lists, unchanged lists, details, missing things, with bad tokens and without one; a thread beside it
signs people on by cookie, renews their tokens, changes clusters, waits for changes, and signs them off."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from env import fill
from env.api import Api
from env.full import World

from .listworld import VIEWER

LIST = "/v2/clusters?hx_cluster=HX-East"
CONNECTIONS = 64
CHUNK_S = 30
REFUSED = 0.04  # of a hundred requests: two for something missing, one with a bad token, one without any
PAUSE_S = 0.5  # between the rounds of the thread beside it
SCRIPT = """
local good = {{["Authorization"] = "Bearer {token}"}}
local known = {{["Authorization"] = "Bearer {token}", ["If-None-Match"] = '{etag}'}}
local alphabet, n = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 0
local function bad()
    local t = {{}}
    for i = 1, 40 do local k = math.random(#alphabet); t[i] = alphabet:sub(k, k) end
    return {{["Authorization"] = "Bearer {begin}" .. table.concat(t) .. "{rest}A"}}
end
function request()
    n = n + 1
    local kind = n % 100
    if kind < 40 then return wrk.format("GET", "{list}&limit=" .. (1 + n % 7), good) end
    if kind < 50 then return wrk.format("GET", "{list}", good) end
    if kind < 75 then return wrk.format("GET", "{list}", known) end
    if kind < 96 then return wrk.format("GET", "/v2/clusters/{cluster}", good) end
    if kind < 98 then return wrk.format("GET", "/v2/clusters/f3339999-0000-4000-8000-000000000001", good) end
    if kind == 98 then return wrk.format("GET", "{list}", bad()) end
    return wrk.format("GET", "{list}", {{}})
end
"""


class MixWorld(World):
    """A vCenter that people sign on by, 200 clusters, and a local user who sees those on HX-East."""

    def prepare(self) -> None:
        self.join()
        self.kaasd.stop()
        fill.fill(self.db, clusters=200, nodes_per_cluster=5)
        fill.add_users(self.db, 1, [1])
        self.kaasd.start()

    @property
    def pid(self) -> int:
        assert self.kaasd.process
        return self.kaasd.process.pid


class Beside:
    """The thread; each round is a whole life of a session, with a change in it."""

    def __init__(self, world: World) -> None:
        self._world, self._stop, self._failed = world, threading.Event(), ""
        self._admin = world.admin
        self._thread = threading.Thread(target=self._work)
        self.rounds = 0

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        if self._failed and not error:
            raise SystemExit(f"beside the load: {self._failed}")

    def renew(self) -> None:
        """Tokens live 15 minutes."""
        self._admin = self._world.admin

    def _work(self) -> None:
        try:
            while not self._stop.wait(PAUSE_S):
                self._round()
                self.rounds += 1
        except Exception as error:  # noqa: BLE001 - told at the end, in the thread that measures
            self._failed = str(error)

    def _round(self) -> None:
        world = self._world
        cookie = world.vcenter.control.login(f"{VIEWER}@vsphere.local")
        person = world.kaasd.api().login_session(world.vcenter.instance_uuid, cookie["cookie"])
        person = person.as_token(person.expect(200, "POST", "/v2/token/refresh", headers={"X-KaaS": "1"})["access_token"])
        cursor = self._admin.call("GET", "/v2/clusters?watch=&limit=1").headers["KaaS-Watch-Cursor"]
        self._change()
        self._admin.get("/v2/clusters", watch=cursor, wait=5, limit=1)
        person.get("/v2/clusters")
        person.expect(204, "POST", "/v2/logout", headers={"X-KaaS": "1"})
        world.vcenter.control.expire(key=cookie["key"])

    def _change(self) -> None:
        """A cluster that the viewer does not see, so that what was unchanged stays so."""
        self._admin.expect(200, "PATCH", f"/v2/clusters/{fill.cluster_id(100 + self.rounds % 50)}",
                           json={"description": f"round {self.rounds}"},
                           headers={"Content-Type": "application/merge-patch+json", "If-Match": "*"})


def _script(world: World, person: Api) -> str:
    token = person.token or ""
    etag = person.call("GET", LIST).headers["ETag"]
    return SCRIPT.format(token=token, etag=etag, list=LIST, cluster=fill.cluster_id(1), begin=token.split(".")[0] + ".",
                         rest=token[-260:-1])


def _chunk(world: World, seconds: int) -> int:
    person = world.kaasd.api().login_password("person-1", world.kaasd.admin_password)
    script = Path(world.scratch.path / "mix.lua")
    script.write_text(_script(world, person))
    said = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(script), world.kaasd.url], capture_output=True,
                          text=True, check=True).stdout
    person.expect(204, "POST", "/v2/logout", headers={"X-KaaS": "1"})
    done, refused = re.search(r"(\d+) requests in", said), re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    if not done or not refused or not int(done[1]) or abs(int(refused[1]) / int(done[1]) - REFUSED) > REFUSED / 2:
        raise SystemExit(f"not what was expected:\n{said}")
    return int(done[1])


def run(world: World, requests: int, note: Callable[[int], None]) -> int:
    """At least so many requests; `note` is called with their number after each half a minute. Hands back how many rounds of the thread
    beside there were."""
    done = 0
    with Beside(world) as beside:
        while done < requests:
            beside.renew()
            done += _chunk(world, CHUNK_S)
            note(done)
        return beside.rounds
