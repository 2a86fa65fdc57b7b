"""RSA keys that are made once a machine and used again, since making one is most of what a registration costs.

Only for builds under test: in the one that users get each key is made when it is asked for, and nothing is laid under the daemon."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from .places import CACHE, USERS_BUILD, Scratch, build, program

FOLDER = CACHE / "ready-keys"


def under_daemon(scratch: Scratch, preloaded: str = "") -> dict[str, str]:
    """Environment of a daemon of the world in this folder, whose keys differ from each other; `preloaded`: what else lies under it."""
    if build() == USERS_BUILD:
        return {}
    FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    library = str(program("tests/integ/ready_keys.so"))
    return {"LD_PRELOAD": f"{preloaded}:{library}".lstrip(":"), "KAAS_TEST_KEYS": str(FOLDER),
            "KAAS_TEST_KEYS_TAKEN": str(scratch.path / "keys.taken")}
