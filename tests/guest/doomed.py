"""A site with one machine, for test_end.py, which kills it: prints a line once the machine runs, and waits. python3 -m guest.doomed"""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import signal

from env.guest.site import site_of
from env.guest.small import small_image
from env.places import Scratch


def main() -> None:
    scratch = Scratch("doomed")
    with site_of(scratch, small_image(scratch)) as site:
        site.clone("doomed")
        site.power("doomed", "on")
        site.guests.until_on("doomed")
        disk = site.guests.machines()["doomed"]["disk"]
        print(json.dumps({"scratch": str(scratch.path), "keeper": site.guests.keeper_pid, "init": site.guests.leader("doomed"),
                          "disk": disk}), flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
