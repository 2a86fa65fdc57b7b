"""The bundles of etc/bundles: their digests are true, and scripts/package node-image sees the images that they name."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from csource import TOP

BUNDLES = sorted((TOP / "etc/bundles").iterdir())


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_digests_are_true(bundle: Path) -> None:
    files = ["bundle.yaml", *sorted(str(path.relative_to(bundle)) for path in bundle.glob("manifests/*"))]
    sums = [f"{hashlib.sha256((bundle / name).read_bytes()).hexdigest()}  {name}" for name in files]
    assert (bundle / "SHA256SUMS").read_text().splitlines() == sums, \
        f"write it anew: cd {bundle.relative_to(TOP)} && sha256sum bundle.yaml manifests/*.yaml >SHA256SUMS"


def images_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("image"), str):
            yield value["image"]
        value = list(value.values())
    for one in value if isinstance(value, list) else []:
        yield from images_in(one)


def test_images_are_found_by_the_line_they_stand_in() -> None:
    texts = [path.read_text() for bundle in BUNDLES for path in bundle.glob("manifests/*.yaml")]
    by_line = {found for text in texts for found in re.findall(r"^ *image: *(.*)$", text, re.M)}
    assert by_line == {image for text in texts for document in yaml.safe_load_all(text) for image in images_in(document)} != set()
