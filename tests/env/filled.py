"""A daemon over a filled database, without a vCenter to talk to."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .kaasd import Kaasd
from .mariadb import Mariadb
from .places import Scratch


@contextmanager
def filled(name: str, fill: Callable[[Mariadb], None], options: dict[str, Any] | None = None) -> Iterator[tuple[Mariadb, Kaasd]]:
    """`fill` writes into the database once its tables are there, before the daemon starts. `name` is of a few letters."""
    with ExitStack() as stack:
        scratch = Scratch(name)
        stack.callback(scratch.remove)
        db = Mariadb(scratch)
        stack.callback(db.close)
        kaasd = Kaasd(scratch, db.socket, options=options)
        kaasd.init()
        fill(db)
        stack.callback(kaasd.stop)
        kaasd.start()
        yield db, kaasd
