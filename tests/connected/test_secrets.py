"""What was given to connect, and what we hold ourselves, is nowhere where it could be read."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from env import search
from env.clock import Clock, clocked_world
from env.connected import OPTIONS, Connected
from env.full import World
from env.kube import Kube
from env.wait import until

pytestmark = pytest.mark.users_build("memory images: a sanitizer keeps what was freed, and its shadow is terabytes")

HOUR_S = 3600
LINGER_S = 60.0  # until threads have let go of what they work with; each look takes seconds on a busy machine


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World("s", options=OPTIONS) as started:
        yield started


@pytest.fixture(scope="module")
def clocked() -> Iterator[tuple[World, Clock]]:
    """Another installation, whose clock goes ahead."""
    with clocked_world("sc", options=OPTIONS) as both:
        yield both


def stored_token(connected: Connected, cluster_id: str) -> str:
    """Our account's, unsealed with the master key by other code than the daemon's (the format is in src/port/seal.h)."""
    ((purpose, sealed),) = connected.world.db.query("SELECT purpose, sealed FROM secrets WHERE owner_id = %s", cluster_id, database="kaas")
    master = (connected.world.kaasd.folder / "master.key").read_bytes()
    return AESGCM(master).decrypt(sealed[5:17], sealed[17:], sealed[:5] + f"{purpose}:{cluster_id}".encode()).decode()


def forms_of_key(data: str) -> set[bytes]:
    """The secret number of a key of an elliptic curve: as it is, in PEM, and in a kubeconfig's base64 of that."""
    pem = base64.b64decode(data)
    key = serialization.load_pem_private_key(pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    number = key.private_numbers().private_value.to_bytes(32, "big")
    second = pem.splitlines()[2]
    assert base64.b64decode(pem.splitlines()[1] + second).find(number) > 0
    return {number, number[::-1], second[:26], data[104:156].encode()}


def given_away(connected: Connected, needles: set[bytes], *, in_memory: bool) -> list[str]:
    """Everywhere but in the files of the API server itself."""
    world = connected.world
    assert world.kaasd.process
    found = search.database(world.db, needles) + search.folder(world.kaasd.folder, needles)
    for log in sorted(Path(world.scratch.log).glob("kaasd*")):
        found += search.find(log.read_bytes(), needles, str(log))
    for name in ("cmdline", "environ"):
        found += search.find(Path(f"/proc/{world.kaasd.process.pid}/{name}").read_bytes(), needles, name)
    return found + (search.memory(world.kaasd.process.pid, needles) if in_memory else [])


def test_the_given_token_is_nowhere(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    connected.wait_state(cluster_id, "ready")
    assert given_away(connected, search.forms_of(connected.kube.tokens["admin"]), in_memory=True) == []


def test_the_given_key_is_nowhere(connected: Connected) -> None:
    text = connected.kube.kubeconfig(kind="certificate")
    user = yaml.safe_load(text)["users"][0]["user"]
    cluster_id = connected.connect("prod", kubeconfig=text)["cluster_id"]
    connected.wait_state(cluster_id, "ready")
    assert given_away(connected, forms_of_key(user["client-key-data"]), in_memory=True) == []


def test_a_refused_credential_is_nowhere(connected: Connected) -> None:
    config = yaml.safe_load(connected.kube.kubeconfig())
    config["users"][0]["user"]["token"] = "nobody-knows-Quagga-7f3e-Marmoset"
    assert connected.ask({"name": "bad", "kubeconfig": yaml.safe_dump(config)}).status_code >= 400
    config["users"][0]["user"] = {"password": "Quagga-7f3e-Numbat", "username": "x"}
    assert connected.ask({"name": "bad", "kubeconfig": yaml.safe_dump(config)}).status_code >= 400
    needles = search.forms_of("Quagga-7f3e-Marmoset") | search.forms_of("Quagga-7f3e-Numbat")
    assert given_away(connected, needles, in_memory=True) == []


def test_our_own_token_is_sealed_wherever_it_lies(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    connected.wait_state(cluster_id, "ready")
    token = stored_token(connected, cluster_id)
    assert token.startswith("eyJ")
    assert given_away(connected, search.forms_of(token[-60:]), in_memory=False) == []


def wait_until_gone(world: World, token: str) -> None:
    """By its end: what stands before it in the same block may be gone already."""
    assert world.kaasd.process
    pid, needles = world.kaasd.process.pid, search.forms_of(token[-60:])
    seen: list[str] = []

    def look() -> bool:
        seen[:] = search.memory(pid, needles)
        return not seen

    try:
        until(look, "memory without the token", LINGER_S)
    except AssertionError as error:
        raise AssertionError(f"{error}: {seen}") from None


def test_our_own_token_goes_with_the_connection(connected: Connected) -> None:
    cluster_id = connected.connect()["cluster_id"]
    connected.wait_state(cluster_id, "ready")
    token = stored_token(connected, cluster_id)
    connected.admin.expect(200, "DELETE", f"/v2/clusters/{cluster_id}/connection")
    wait_until_gone(connected.world, token)


def test_our_old_token_goes_when_it_is_renewed(clocked: tuple[World, Clock], kube: Kube) -> None:
    world, clock = clocked
    with Connected(world, kube, clock) as connected:
        cluster_id = connected.connect()["cluster_id"]
        connected.wait_state(cluster_id, "ready")
        token = stored_token(connected, cluster_id)
        clock.advance(13 * HOUR_S, HOUR_S)
        until(lambda: stored_token(connected, cluster_id) != token, "another token")
        wait_until_gone(world, token)


def test_an_image_of_the_memory_has_nothing_that_was_given(connected: Connected) -> None:
    """As whoever may trace all processes takes one (gcore). What we hold ourselves is in it, as docs/design/kubernetes.md says."""
    config = yaml.safe_load(connected.kube.kubeconfig())
    config["users"][0]["user"]["token"] = "nobody-knows-Quagga-7f3e-Wombat"
    assert connected.ask({"name": "bad", "kubeconfig": yaml.safe_dump(config)}).status_code >= 400
    by_key = connected.kube.kubeconfig(kind="certificate")
    cluster_id = connected.connect(kubeconfig=by_key)["cluster_id"]
    answer = connected.ask({"kubeconfig": connected.kube.kubeconfig()}, f"/v2/clusters/{cluster_id}/connection", "PUT")
    assert answer.status_code == 200, answer.text
    connected.wait_state(cluster_id, "ready")
    token = stored_token(connected, cluster_id)
    process = connected.world.kaasd.process
    assert process
    process.freeze()
    given = (search.forms_of("Quagga-7f3e-Wombat") | search.forms_of(connected.kube.tokens["admin"])
             | forms_of_key(yaml.safe_load(by_key)["users"][0]["user"]["client-key-data"]))
    found, own = search.memory(process.pid, given), search.memory(process.pid, search.forms_of(token[-60:]))
    process.thaw()
    assert found == []
    assert own, "the search finds what is there"


def test_there_is_no_core_of_it_whatever_is_allowed(connected: Connected) -> None:
    """The kernel makes none of a process that is not dumpable (core(5)); the limit alone could be raised from outside."""
    cluster_id = connected.connect()["cluster_id"]
    connected.wait_state(cluster_id, "ready")
    kaasd = connected.world.kaasd
    assert kaasd.process
    with suppress(PermissionError):  # it takes CAP_SYS_RESOURCE, which not every root has
        resource.prlimit(kaasd.process.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    kaasd.process.signal(signal.SIGABRT)
    ended = os.waitid(os.P_PID, kaasd.process.pid, os.WEXITED | os.WNOWAIT)
    kaasd.kill()
    kaasd.start()
    assert ended
    assert (ended.si_status, ended.si_code) == (signal.SIGABRT, os.CLD_KILLED)
