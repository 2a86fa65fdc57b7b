"""Our reader of PACs beside Samba's own code: what Samba packs, ours reads as Samba unpacks it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from env.ad.domain import HERE, SYSTEM_PYTHON
from env.ad.lines import Lines
from env.places import WorldError, program

pytestmark = pytest.mark.slow
ENABLED, DENY_ONLY, EXTRA_SIDS, RESOURCE_GROUPS = 4, 0x10, 0x20, 0x200
ROUNDS = 300
ALPHABET = "abcXYZ .-_äöüßéčλжש中文\U0001f600\U00010348"


class Probe:
    """tests/integ/auth/pac_probe: logon information in, people out."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen([program("tests/integ/auth/pac_probe")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, packed: str) -> dict[str, Any]:
        assert self._popen.stdin and self._popen.stdout
        self._popen.stdin.write(packed + "\n")
        self._popen.stdin.flush()
        told: dict[str, Any] = json.loads(self._popen.stdout.readline())
        return told

    def close(self) -> None:
        self._popen.communicate()
        assert self._popen.returncode == 0


@pytest.fixture(scope="module")
def samba(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lines]:
    lines = Lines("Samba's packer", [SYSTEM_PYTHON, HERE / "oracle.py"], tmp_path_factory.mktemp("pac") / "oracle.log")
    yield lines
    lines.close()


@pytest.fixture(scope="module")
def probe() -> Iterator[Probe]:
    made = Probe()
    yield made
    made.close()


def is_of_domain(sid: str) -> bool:
    words = sid.split("-")
    return words[:4] == ["S", "1", "5", "21"] and len(words) == 8 and words[4:7] != ["0", "0", "0"]


def expected(told: dict[str, Any]) -> tuple[str, list[str]]:
    """Who it is and which groups count, from what Samba says is in it."""
    domain, flags, sids = told["domain_sid"], told["flags"], told["sids"]

    def counts(attributes: int) -> bool:
        return bool(attributes & ENABLED) and not attributes & DENY_ONLY

    groups = {f"{domain}-{rid}" for rid, attributes in told["groups"] if counts(attributes)}
    off = {rid for rid, attributes in told["groups"] if not counts(attributes)}
    if told["primary"] and told["primary"] not in off:
        groups.add(f"{domain}-{told['primary']}")
    user = f"{domain}-{told['rid']}" if told["rid"] else sids[0][0]
    if flags & EXTRA_SIDS:
        groups |= {sid for sid, attributes in (sids if told["rid"] else sids[1:]) if counts(attributes)}
    if flags & RESOURCE_GROUPS and told["resource_domain"]:
        groups |= {f"{told['resource_domain']}-{rid}" for rid, attributes in told["resource"] if counts(attributes)}
    return user, sorted(f"sid:{sid}" for sid in groups if is_of_domain(sid))


def any_sid(chance: random.Random) -> str:
    domain = "-".join(str(chance.randrange(1, 2**32)) for _ in range(3))
    return chance.choice([f"S-1-5-21-{domain}-{chance.randrange(500, 9999)}", "S-1-18-1", "S-1-5-32-544", "S-1-5-15", "S-1-5-21-0-0-0-497",
                          f"S-1-5-21-{domain}", "S-1-5-21-9-9-9-1201"])


def any_attributes(chance: random.Random) -> int:
    return chance.choice([7, 7, 7, 7, 4, 3, 0, 0x10, 0x17, 0x20000007])


def any_name(chance: random.Random) -> str:
    return "".join(chance.choice(ALPHABET) for _ in range(chance.randrange(0, 12)))


def any_pac(chance: random.Random) -> dict[str, Any]:
    def rids(most: int) -> list[list[int]]:
        return [[chance.randrange(500, 2000), any_attributes(chance)] for _ in range(chance.randrange(0, most))]

    foreign = chance.random() < 0.1
    made: dict[str, Any] = {
        "user": any_name(chance), "full_name": any_name(chance), "domain": any_name(chance),
        "domain_sid": f"S-1-5-21-{chance.randrange(1, 2**32)}-2-{chance.randrange(2**32)}",
        "rid": 0 if foreign else chance.randrange(500, 2**31),
        "primary": chance.choice([513, 0, chance.randrange(500, 2000)]), "groups": rids(chance.choice([3, 10, 60])),
        "sids": [[any_sid(chance), any_attributes(chance)] for _ in range(chance.randrange(0, 6))],
        "flags": chance.choice([0, EXTRA_SIDS, RESOURCE_GROUPS, EXTRA_SIDS | RESOURCE_GROUPS, 0xFFFFFFFF]),
    }
    if foreign:
        made["sids"].insert(0, ["S-1-5-21-7-8-9-1105", 7])
    if chance.random() < 0.5:
        made |= {"resource_domain": "S-1-5-21-4-5-6", "resource": rids(8)}
    return made


def test_what_samba_packs_is_read_as_samba_reads_it(samba: Lines, probe: Probe) -> None:
    chance = random.Random(20261120)
    for _ in range(ROUNDS):
        wanted = any_pac(chance)
        packed = samba.ask("pack", **wanted)
        told = samba.ask("unpack", data=packed)
        user, groups = expected(told)
        seen = probe.read(packed)
        assert seen.get("sid") == f"sid:{user}", (wanted, seen)
        assert seen["groups"] == groups, wanted
        assert seen.get("account", "") == told["user"], wanted
        assert seen.get("full_name", "") == told["full_name"], wanted


def test_seeds_of_the_fuzz_target_are_good(samba: Lines, probe: Probe) -> None:
    for path in sorted((Path(__file__).parents[2] / "fuzz/corpus/pac").iterdir()):
        data = path.read_bytes().hex()
        if path.name.startswith("surrogate_"):  # half a character: no name for Samba, nor for us
            with pytest.raises(WorldError, match="Character Conversion"):
                samba.ask("unpack", data=data)
            assert "error" in probe.read(data), path
            continue
        user, groups = expected(samba.ask("unpack", data=data))
        assert probe.read(data)["groups"] == groups, path
        assert probe.read(data)["sid"] == f"sid:{user}", path


def test_damaged_ones_are_refused_or_read(samba: Lines, probe: Probe) -> None:
    """Whatever Samba's code thinks of them: ours says something sensible."""
    chance = random.Random(7)
    packed = bytes.fromhex(samba.ask("pack", **any_pac(chance)))
    for _ in range(500):
        damaged = bytearray(packed)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        told = probe.read(bytes(damaged[: chance.choice([len(damaged), chance.randrange(len(damaged))])]).hex())
        assert "error" in told or told["sid"].startswith("sid:S-1-5-21-"), told
