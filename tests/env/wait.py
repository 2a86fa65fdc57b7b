"""Waiting for what must happen sooner or later: generous limits, since only the order of things is asserted, not their speed."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from .process import READY_LIMIT_S, pause

T = TypeVar("T")


def until(happened: Callable[[], T | None], what: object, limit_s: float = READY_LIMIT_S) -> T:
    """Waits for something truthy and hands it back."""
    begin = time.monotonic()
    while True:
        found = happened()
        if found:
            return found
        assert time.monotonic() < begin + limit_s, f"no sign of {what} in {limit_s:.0f} s"
        pause(begin)
