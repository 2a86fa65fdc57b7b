"""Three replicas of the last release behind haproxy are replaced by the present version one after the other, while people come in, 50 a
second, and lists are read by those who came before. Nobody notices, and nobody has to sign in again."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import queue
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from env.haproxy import Haproxy, example
from env.kaasd import Kaasctl, Kaasd
from env.places import Scratch
from env.releases import LAST, OLDER, Installation, release, replace
from env.wait import until
from env.writing import Answer, Wire

OPTIONS: dict[str, Any] = {"server": {"trusted_proxies": ["127.0.0.1"], "drain": "3s"}}
SIGN_ONS_PER_S = 50
PEOPLE = 200  # so that nobody meets auth.signon_rate, nor has more sessions than auth.sessions_per_principal
REPEAT_AFTER_S = 1.0  # as docs/admin/replicas.md asks of clients
SIGNERS, READERS, FIRST = 6, 2, 20


@dataclass
class Place:
    at: Installation
    all: list[Kaasd]
    balancer: Haproxy


@pytest.fixture(params=("ending TLS", "passing TLS through"))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    scratch = Scratch("r")
    at = Installation(scratch, LAST, OPTIONS)
    others = [at.kaasd.beside(name, options={**OLDER, **OPTIONS, "server": {"public_url": at.kaasd.url, **OPTIONS["server"]}},
                              programs=release(LAST)) for name in ("two", "three")]
    for other in others:
        other.start()
    made = Place(at, [at.kaasd, *others], Haproxy(scratch, request.param, [at.kaasd, *others], text=three_of_the_page(request.param)))
    yield made
    made.balancer.stop()
    for daemon in made.all:
        if daemon.process:
            daemon.process.signal(signal.SIGTERM)  # with a second one, below, none waits for its drain
    for other in others:
        other.stop()
    at.stop()
    scratch.remove()


def three_of_the_page(kind: str) -> str:
    """The page shows two servers."""
    text = example(kind)
    return text + text.splitlines()[-1].replace("two", "three") + "\n"


@dataclass
class Load:
    """Threads with one kept connection each. What one asks is repeated once, a second later, when its connection fails."""

    place: Place
    cookies: list[str]
    tokens: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    repeated: int = 0
    lists: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)
    due: queue.Queue[int] = field(default_factory=queue.Queue)
    threads: list[threading.Thread] = field(default_factory=list)
    began: float = 0.0

    def start(self) -> Load:
        self.began = time.monotonic()
        works = [self.pace, *[self.sign_on] * SIGNERS, *[self.read] * READERS]
        self.threads = [threading.Thread(target=self.guarded, args=(work,), daemon=True) for work in works]
        for thread in self.threads:
            thread.start()
        return self

    def guarded(self, work: Callable[[Wire], None]) -> None:
        try:
            work(Wire(self.place.balancer.url, str(self.place.at.kaasd.tls.ca_file), ""))
        except Exception as error:  # noqa: BLE001 - the test must see it
            self.failures.append(repr(error))

    def pace(self, _wire: Wire) -> None:
        """Sign-ons become due whether or not those before have been answered."""
        number = 0
        while not self.stopping.wait(0.02):
            while number < (time.monotonic() - self.began) * SIGN_ONS_PER_S:
                self.due.put(number)
                number += 1
        for _ in range(SIGNERS):
            self.due.put(-1)

    def ask(self, wire: Wire, method: str, path: str, **more: Any) -> Answer | None:
        answer = wire.call(method, path, **more)
        if answer is None:
            self.repeated += 1
            time.sleep(REPEAT_AFTER_S)
            answer = wire.call(method, path, **more)
        if answer is None or answer.status_code != 200:
            self.failures.append(f"{method} {path}: {f'{answer.status_code} {answer.text[:300]}' if answer else 'no connection'}")
            return None
        return answer

    def sign_on(self, wire: Wire) -> None:
        while (number := self.due.get()) >= 0:
            body = {"vcenter": self.place.at.vcenter.instance_uuid, "session_id": self.cookies[number % len(self.cookies)]}
            answer = self.ask(wire, "POST", "/v2/login/vcenter", json=body, headers={"X-KaaS": "1"})
            if answer:
                self.tokens.append(answer.json()["access_token"])

    def read(self, wire: Wire) -> None:
        """As one of the first who came: what each may see is asked of the vCenter, at each replica, with measure."""
        while not self.stopping.wait(0.02):
            if self.tokens:
                token = random.choice(self.tokens[:FIRST])
                answer = self.ask(wire, "GET", "/v2/clusters", headers={"Authorization": f"Bearer {token}"})
                self.lists += answer is not None

    def go_on(self, sign_ons: int) -> None:
        """Until so many more people have come in."""
        wanted = len(self.tokens) + sign_ons
        until(lambda: self.failures or len(self.tokens) >= wanted, "further sign-ons")

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def cookies(place: Place) -> list[str]:
    """Of people who are signed in to the vCenter."""
    control = place.at.vcenter.control
    return [control.login(control.put_user(f"person-{number}", "p-Pass1"))["cookie"] for number in range(PEOPLE)]


def test_nobody_notices_and_nobody_signs_in_again(place: Place, cookies: list[str]) -> None:
    load = Load(place, cookies).start()
    try:
        load.go_on(2 * SIGN_ONS_PER_S)
        Kaasctl(place.at.kaasd.config).ok("db", "migrate")
        for daemon, server in zip(place.all, ("one", "two", "three"), strict=True):
            replace(daemon, None)
            daemon.start()
            until(lambda server=server: place.balancer.states().get(server), "the balancer's trust in it")  # type: ignore[misc]
            load.go_on(SIGN_ONS_PER_S)
    finally:
        load.stop()
    seconds = time.monotonic() - load.began
    print(f"{len(load.tokens)} sign-ons and {load.lists} lists in {seconds:.0f} s, {load.repeated} repeated")
    assert load.failures == []
    assert load.lists > SIGN_ONS_PER_S
    wires = [place.at.wire(kaasd=daemon) for daemon in place.all]
    lost = [number for number, token in enumerate(load.tokens)
            if (answer := wires[number % 3].call("POST", "/v2/token/refresh", headers={"Authorization": f"Bearer {token}", "X-KaaS": "1"}))
            is None or answer.status_code != 200]
    assert lost == [], f"{len(lost)} of {len(load.tokens)} sessions"
    verified = place.at.kaasd.ctl.run("audit", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
