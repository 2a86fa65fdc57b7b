"""What does an HX cluster get to hear while nobody does anything, counted by the HX cluster? The clocks of both are put forward.
Options: --hours 13 --replicas 1. Writes bench/out/hx_idle.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import Counter
from pathlib import Path

from env.certs import make_server_cert
from env.clock import clocked_world
from env.replicas import second_of
from env.wait import until
from hx import HxConnect
from lib import panel

OUT = Path(__file__).resolve().parent / "out/hx_idle.json"
STEP_S = 10.0  # so that no call that is under way seems to take longer than kaasd waits


def kind_of(method: str, path: str) -> str:
    return f"{method} {re.sub(r'[0-9]+(:|%3A)[0-9]+', 'UUID', path)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench hx_idle")
    parser.add_argument("--hours", type=int, default=13)
    parser.add_argument("--replicas", type=int, default=1, choices=[1, 2])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, clocked_world("hi") as (world, clock):
        cert = make_server_cert(Path(folder))
        with HxConnect(cert.cert_file, cert.key_file, now=lambda: time.monotonic() + clock.ahead_s) as hx:
            world.join()
            other = second_of(world.kaasd, world.scratch, world.db.socket, {}) if options.replicas == 2 else None
            if other:
                other.env = clock.env
                other.start()
            panel.connect(world.kaasd, hx, cert.sha256, "domain-c7")
            until(lambda: hx.logins == 1, "the login")
            hours, before = [], 0
            for _ in range(options.hours):
                clock.advance(3600, STEP_S)
                calls = hx.calls
                hours.append(len(calls) - before)
                before = len(calls)
            logins, odd = hx.logins, hx.violations
            if other:
                other.stop()
    counts = Counter((kind_of(call.method, call.path), call.status) for call in calls)
    print(f"in {options.hours} h: {logins} login(s), {len(calls)} calls, {min(hours)} to {max(hours)} an hour; not documented: {odd}")
    for (kind, status), count in counts.most_common():
        print(f"{count:5}  {kind} ({status})")
    told = {f"{kind} {status}": count for (kind, status), count in counts.items()}
    OUT.write_text(json.dumps({"rounds": [{"logins": logins, "calls_an_hour": hours, "calls": told}]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
