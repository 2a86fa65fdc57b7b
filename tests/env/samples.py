"""The sample clusters: where they are, and who of the sample users may see them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import dataclass, field

EAST, WEST, PLAIN, FAR = "DC0/HX-East", "DC0/HX-West", "DC0/C-Plain", "DC1/HX-East"


@dataclass(frozen=True)
class Sample:
    name: str
    places: tuple[str, ...]
    state: str = "ready"
    version: str = "1.31.2"
    workers: tuple[int, int] = (3, 3)
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict, hash=False)


SAMPLES = (
    Sample("prod-1", (EAST,), description="Shop front", labels={"team": "shop"}),
    Sample("prod-2", (EAST,), state="degraded", workers=(4, 5), description="Payments"),
    Sample("west-1", (WEST,), version="1.30.6"),
    Sample("plain-1", (PLAIN,), description="Not on HyperFlex"),
    Sample("far-1", (FAR,), state="updating", version="1.32.0"),
    Sample("stretched", (EAST, WEST), description="On two vSphere clusters"),
)

# Permissions of tests/vcenter/worlds/default.json: viewer-east has HX-East of DC0, viewer-dc the whole of DC0, no-rights neither.
VISIBLE = {"viewer-east": {EAST}, "viewer-dc": {EAST, WEST, PLAIN}, "no-rights": set(), "admin": {EAST, WEST, PLAIN, FAR}}


def visible_to(user: str, place: str | None = None) -> list[str]:
    """Names, in the order of the list, of the samples that the user sees; with a place only those on it."""
    may = VISIBLE[user]
    return sorted(s.name for s in SAMPLES if may.intersection(s.places) and (place is None or place in s.places and place in may))


def hidden_from(user: str, name: str) -> int:
    """How many vSphere clusters of a sample the user may not see."""
    sample = next(s for s in SAMPLES if s.name == name)
    return len(set(sample.places) - VISIBLE[user])
