"""The source files that one request goes through, by the counters of a coverage build: the daemon keeps them in a mapped file, which is
copied before and after a run of equal requests. A line that ran at least once for each of them belongs to the request; what the daemon does
by itself meanwhile ran less often."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import requests
from env.api import Api
from env.full import World
from env.places import build, program

TOP = Path(__file__).resolve().parent.parent.parent
NOT_COUNTED = ("src/base/", "src/port/")
VIEWER = "viewer-east"
REQUESTS = 400
Lines = dict[str, dict[int, int]]  # file, line: how often


def lines_of(counters: Path) -> Lines:
    data = counters.with_suffix(".profdata")
    subprocess.run(["llvm-profdata-14", "merge", "-sparse", counters, "-o", data], check=True)
    command = ["llvm-cov-14", "export", "-format=lcov", program("kaasd"), f"-instr-profile={data}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: Lines = {}
    lines: dict[int, int] = {}
    for row in text.splitlines():
        kind, _, rest = row.partition(":")
        if kind == "SF":
            lines = found.setdefault(os.path.relpath(build() / rest, TOP), {})
        elif kind == "DA":
            number, count = map(int, rest.split(",")[:2])
            lines[number] = count
    return found


def bearer(api: Api) -> dict[str, str]:
    return {"Authorization": f"Bearer {api.token}"}


def check(answer: requests.Response, status: int) -> None:
    if answer.status_code != status:
        sys.exit(f"{answer.request.method} {answer.request.url} is answered by {answer.status_code}, not {status}")


def lister(world: World, path: str) -> Callable[[int], None]:
    """Each time another page size: an answer that was given before takes a shorter way."""
    api = world.by_ticket(VIEWER)
    return lambda number: check(api.ask("GET", path, params={"limit": number % 500 + 1}, headers=bearer(api)), 200)


def getter(world: World, path: str) -> Callable[[int], None]:
    api = world.kaasd.admin()
    return lambda _: check(api.ask("GET", path, headers=bearer(api)), 200)


def signer(world: World) -> Callable[[int], None]:
    """By the cookie of a session of its own each time: one cookie would be looked up once."""
    api = world.kaasd.api()
    cookies = [world.vcenter.control.login(world.vcenter.users[VIEWER].login)["cookie"] for _ in range(REQUESTS + 1)]
    bodies = [{"vcenter": world.vcenter.instance_uuid, "session_id": cookie} for cookie in cookies]
    return lambda number: check(api.ask("POST", "/v2/login/vcenter", json=bodies[number], headers={"X-KaaS": "1"}), 200)


def request_path(method: str, path: str) -> dict[str, int]:
    """Files in their order, with the number of lines that one request runs."""
    with World("path", options={"auth": {"sessions_per_principal": 0, "signon_rate": 0}},
               env={"LLVM_PROFILE_FILE": f"{build()}/counters-%p%c.profraw"}) as world:
        world.join()
        if method == "POST" and path != "/v2/login/vcenter":
            sys.exit("only POST /v2/login/vcenter is known here")
        ask = signer(world) if method == "POST" else lister(world, path) if path == "/v2/clusters" else getter(world, path)
        assert world.kaasd.process
        counters = build() / f"counters-{world.kaasd.process.pid}.profraw"
        ask(0)
        shutil.copy(counters, build() / "before.profraw")
        for number in range(REQUESTS):
            ask(number + 1)
        shutil.copy(counters, build() / "after.profraw")
    before, after = lines_of(build() / "before.profraw"), lines_of(build() / "after.profraw")
    ran = {name: sum(count - before[name].get(line, 0) >= REQUESTS for line, count in lines.items()) for name, lines in after.items()}
    return {name: count for name, count in sorted(ran.items())
            if count and name.endswith(".c") and name.startswith("src/") and not name.startswith(NOT_COUNTED)}


def main() -> None:
    method, path, *most = sys.argv[1:]
    files = request_path(method, path)
    for name, count in files.items():
        print(f"{count:6} {name}")
    print(f"{len(files)} files, {sum(files.values())} lines")
    if most and len(files) > int(most[0]):
        sys.exit(f"{method} {path} goes through more than {most[0]} files")


if __name__ == "__main__":
    main()
