"""fs.inotify.max_user_instances, of which all machines of this host share one pool: raised while a world needs it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
ENOUGH = 1024  # five machines take about a hundred


@contextmanager
def _noted(cache: Path) -> Iterator[dict[str, Any]]:
    """Who holds it up, by process id, and what it was before the first of them; one process at a time."""
    with (cache / "inotify.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        noted = json.loads(file.read() or "{}") or {"holders": []}
        noted["holders"] = [pid for pid in noted["holders"] if Path(f"/proc/{pid}").exists()]
        yield noted
        file.truncate(0)
        file.write(json.dumps(noted))


def raise_limit(cache: Path) -> None:
    with _noted(cache) as noted:
        noted.setdefault("before", int(LIMIT.read_text()))
        noted["holders"].append(os.getpid())
        LIMIT.write_text(str(max(ENOUGH, noted["before"])))


def put_back(cache: Path) -> None:
    """As it was, when nobody else who lives needs it."""
    with _noted(cache) as noted:
        noted["holders"] = [pid for pid in noted["holders"] if pid != os.getpid()]
        if not noted["holders"] and "before" in noted:
            LIMIT.write_text(str(noted.pop("before")))
