"""Writers and readers that remember what they were told, so that afterwards the database and every replica can be held against it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.client
import json
import select
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from .kaasd import Kaasd

LIMIT_S = 60
VCENTER = "f1110000-0000-4000-8000-0000000000aa"  # never asked: port 1 of this machine refuses
GROUND = (f"INSERT INTO vcenters (id, address, port, name, pin_sha256, created_at_ms, version_no)"
          f" VALUES ('{VCENTER}', '127.0.0.1', 1, 'nobody', REPEAT('x', 32), 1, 1)",
          f"INSERT INTO vsphere_clusters (vcenter_id, moref, datacenter, name, seen_at_ms)"
          f" VALUES ('{VCENTER}', 'domain-c1', 'DC0', 'HX-East', 1)")
BODY = {"kubernetes_version": "1.31.2", "control_plane": {"desired": 3}, "workers": {"desired": 2},
        "vsphere_clusters": [{"vcenter_id": VCENTER, "moref": "domain-c1"}]}


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


@dataclass
class Told:
    """What the writers were told. An answer that leaves the outcome open (503, or none at all) counts as unknown."""

    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:8])  # in the names of all clusters made
    lock: threading.Lock = field(default_factory=threading.Lock)
    alive: dict[str, str] = field(default_factory=dict)  # id -> name: made, and not removed
    gone: set[str] = field(default_factory=set)          # removed
    leaving: set[str] = field(default_factory=set)       # removal begun, outcome perhaps unknown
    unknown_names: set[str] = field(default_factory=set)  # perhaps made
    changes: dict[str, int] = field(default_factory=dict)  # id of a hot cluster -> changes that were made
    counted: dict[str, int] = field(default_factory=dict)  # id of a hot cluster -> those of them that raised its counter
    open_changes: dict[str, int] = field(default_factory=dict)
    made: int = 0     # acknowledged writes
    refused: int = 0  # 409, 412
    unknown: int = 0
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        with self.lock:
            self.faults.append(text)


@dataclass
class Answer:
    status_code: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One kept connection to one address, signed in. By the standard library alone: a comfortable one would need more of the processor
    than three database nodes."""

    def __init__(self, url: str, ca_file: str, token: str) -> None:
        at = urlsplit(url)
        context = ssl.create_default_context(cafile=ca_file)
        self._connection = http.client.HTTPSConnection(at.hostname or "", at.port, timeout=LIMIT_S, context=context)
        self._headers = {"Authorization": f"Bearer {token}"}

    def close(self) -> None:
        self._connection.close()

    def call(self, method: str, path: str, **more: Any) -> Answer | None:
        """None: the connection broke, or there was none. With `params`, `json` and `headers`."""
        try:
            return self._call(method, path, **more)
        except (OSError, http.client.HTTPException):
            self.close()
            return None

    def _call(self, method: str, path: str, *, params: dict[str, str] | None = None, json: Any = None,
              headers: dict[str, str] | None = None) -> Answer:
        waiting = self._connection.sock
        if waiting and select.select([waiting], [], [], 0)[0]:  # ended by the other side meanwhile
            self.close()
        body = None if json is None else encode(json)
        kind = {} if body is None else {"Content-Type": "application/json"}
        target = path + (f"?{urlencode(params)}" if params else "")
        self._connection.request(method, target, body, {**self._headers, **kind, **(headers or {})})
        answer = self._connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())


class Client(Wire):
    """One who reads lists, and remembers them."""

    def __init__(self, daemon: Kaasd, token: str, base: str | None = None) -> None:
        self.base = base or daemon.url
        super().__init__(self.base, str(daemon.tls.ca_file), token)
        self.seen: dict[str, Any] = {}  # the list as it was last
        self.missed: set[str] = set()   # what has gone from it

    def read_all(self) -> dict[str, dict[str, Any]] | str:
        """The list by id; or what went wrong."""
        items: dict[str, dict[str, Any]] = {}
        params = {"limit": "500"}
        while True:
            answer = self.call("GET", "/v2/clusters", params=params)
            if answer is None or answer.status_code != 200:
                return "no connection" if answer is None else answer.text[:300]
            page = answer.json()
            items.update({item["id"]: item for item in page["items"]})
            if not page["next_cursor"]:
                return items
            params["cursor"] = page["next_cursor"]


class Load:
    """Threads at several replicas; `stop` ends them and hands back what they were told."""

    def __init__(self, clients: Sequence[Callable[[], Client]], hot: Sequence[str], pause_s: float = 0.02,
                 read_pause_s: float = 0.05) -> None:
        self.told = Told()
        self.hot = list(hot)
        self.pause_s = pause_s
        self.read_pause_s = read_pause_s  # reading and comparing whole lists is what costs these clients most
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        for number, make in enumerate(clients):
            for work in (self._come_and_go, self._raise_counters, self._set_labels, self._read):
                self._threads.append(threading.Thread(target=self._guarded, args=(work, make, number), daemon=True))

    def start(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> Told:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self.told

    def _guarded(self, work: Callable[[Client, int, int], None], make: Callable[[], Client], number: int) -> None:
        client = make()
        turn = 0
        try:
            while not self._stop.wait(self.read_pause_s if work == self._read else self.pause_s):
                work(client, number, turn)
                turn += 1
        except Exception as error:  # noqa: BLE001 - whatever it was, the test must see it
            self.told.fault(f"{work.__name__} at {client.base}: {error!r}")

    def _count(self, answer: Answer | None, what: str) -> bool | None:
        """True: made. False: refused. None: unknown."""
        with self.told.lock:
            if answer is None or answer.status_code == 503:
                self.told.unknown += 1
                return None
            if answer.status_code in (409, 412):
                self.told.refused += 1
                return False
            if answer.status_code >= 300:
                self.told.faults.append(f"{what}: {answer.status_code} {answer.text[:300]}")
                return False
            self.told.made += 1
            return True

    def _come_and_go(self, client: Client, number: int, turn: int) -> None:
        """Makes clusters and removes every second one."""
        name = f"c-{self.told.tag}-{number}-{turn}"
        answer = client.call("POST", "/v2/clusters", json={"name": name, **BODY})
        if not self._count(answer, f"create {name}") or answer is None:
            with self.told.lock:
                self.told.unknown_names.add(name)
            return
        key = answer.json()["id"]
        with self.told.lock:
            self.told.alive[key] = name
        if turn % 2:
            return
        with self.told.lock:
            self.told.leaving.add(key)
        if self._count(client.call("DELETE", f"/v2/clusters/{key}"), f"delete {name}"):
            with self.told.lock:
                self.told.alive.pop(key)
                self.told.gone.add(key)

    def _change(self, client: Client, key: str, body: dict[str, Any], headers: dict[str, str], is_counted: bool) -> bool | None:
        answer = client.call("PATCH", f"/v2/clusters/{key}", json=body, headers={"Content-Type": "application/merge-patch+json", **headers})
        made = self._count(answer, f"change {key}")
        with self.told.lock:
            if made:
                self.told.changes[key] = self.told.changes.get(key, 0) + 1
                self.told.counted[key] = self.told.counted.get(key, 0) + is_counted
            elif made is None:
                self.told.open_changes[key] = self.told.open_changes.get(key, 0) + 1
        return made

    def _raise_counters(self, client: Client, number: int, turn: int) -> None:
        """Reads, adds one, writes if nobody else has written since: no addition may be lost."""
        key = self.hot[turn % len(self.hot)]
        answer = client.call("GET", f"/v2/clusters/{key}")
        if answer is None or answer.status_code != 200:
            self.told.fault(f"reading {key} at {client.base}: {answer if answer is None else answer.text[:300]}")
            return
        count = int(answer.json()["description"]) + 1
        self._change(client, key, {"description": str(count)}, {"If-Match": answer.headers["ETag"]}, True)

    def _set_labels(self, client: Client, number: int, turn: int) -> None:
        """Writes a label of its own, whatever others do to the same cluster."""
        key = self.hot[turn % len(self.hot)]
        if self._change(client, key, {"labels": {f"writer-{number}": str(turn)}}, {}, False) is False:
            self.told.fault(f"a change of {key} without a condition was refused at {client.base}")

    def _read(self, client: Client, number: int, turn: int) -> None:
        """Never an error, never a state older than the one before."""
        before = client.seen
        with self.told.lock:
            leaving = set(self.told.leaving)
        items = client.read_all()
        if isinstance(items, str):
            self.told.fault(f"the list at {client.base}: {items}")
            return
        with self.told.lock:
            leaving |= self.told.leaving
        lost = [key for key in before if key not in items and key not in leaving]
        older = [key for key in self.hot if key in before and int(items[key]["description"]) < int(before[key]["description"])]
        back = [key for key in items if key in client.missed]
        client.missed |= {key for key in before if key not in items}
        client.seen = items
        if lost or older or back:
            self.told.fault(f"the list at {client.base} went back: lost {lost}, older {older}, back again {back}")


def wait_made(load: Load, more: int, limit_s: float = 120) -> None:
    """Until so many more writes were acknowledged."""
    with load.told.lock:
        wanted = load.told.made + more
    end = time.monotonic() + limit_s
    while load.told.made < wanted:
        if load.told.faults or time.monotonic() > end:
            raise AssertionError(f"{load.told.made} of {wanted} writes were made; {load.told.faults[:5]}")
        time.sleep(0.05)
