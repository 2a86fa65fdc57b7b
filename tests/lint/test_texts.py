"""What must not stand in any file: this machine's paths, the registries it is configured for, work left open, tests switched off."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import csource
import pytest
from csource import TOP

# written in parts, so that this file does not find itself
OPEN_ENDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|not imple" r"mented|unimple" r"mented)\b", re.I)
SWITCHED_OFF = re.compile(r"mark\.(sk" r"ip|xf" r"ail)|pytest\.(sk" r"ip|importorskip)\(|\b(test|it|describe)\.(sk" r"ip|only|to" r"do)\(|"
                          r"\bt\.Sk" r"ip(Now|f)?\(")


def output_of(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
    except FileNotFoundError:
        return ""


def registry_hosts() -> set[str]:
    sources = "\n".join(path.read_text() for pattern in ("sources.list", "sources.list.d/*") for path in Path("/etc/apt").glob(pattern)
                        if path.is_file())
    told = [sources, output_of("npm", "config", "get", "registry"), output_of("go", "env", "GOPROXY"), output_of("pip", "config", "list")]
    hosts = set(re.findall(r"https?://(?:[^/@\s]*@)?([^/:\s',|]+)", "\n".join(told)))
    return {host for host in hosts if host != "localhost" and not host.startswith("127.")}


def machine_paths() -> set[str]:
    places = {str(place) for place in (TOP, TOP.parent, Path.home())}
    return {f"{place}/" for place in places - {"/", "/tmp", "/var/tmp", "/home", "/usr", "/opt", "/srv"}}


def texts() -> list[tuple[str, str]]:
    found = []
    for path in csource.tracked():
        data = path.read_bytes()
        if b"\0" not in data[:8000]:
            found.append((str(path.relative_to(TOP)), data.decode(errors="replace")))
    return found


def lines_with(pattern: re.Pattern[str], only: tuple[str, ...] = ()) -> list[str]:
    return [f"{name}:{number}: {line.strip()[:120]}"
            for name, text in texts() if not only or name.startswith(only)
            for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]


def test_no_registry_address() -> None:
    hosts = registry_hosts()
    hits = lines_with(re.compile("|".join(re.escape(host) for host in hosts))) if hosts else []
    assert not hits, "\n".join(hits)


def test_no_path_of_this_machine() -> None:
    pattern = re.compile(r"(?<![\w.])(" + "|".join(re.escape(place) for place in machine_paths()) + ")")
    hits = lines_with(pattern)
    assert not hits, "\n".join(hits)


def test_nothing_is_left_open() -> None:
    hits = lines_with(OPEN_ENDS, ("src/", "tests/", "ui-plugin/src/", "ui-plugin/test/", "scripts/", "bench/", "sql/", "docs/"))
    assert not hits, "\n".join(hits)


def test_no_test_is_switched_off() -> None:
    hits = lines_with(SWITCHED_OFF, ("tests/", "ui-plugin/test/", "ui-plugin/src/"))
    assert not hits, "\n".join(hits)


def test_lock_files_name_no_download_address() -> None:
    for path in csource.tracked("**package-lock.json"):
        packages = json.loads(path.read_text())["packages"]
        resolved = [name for name, entry in packages.items() if "resolved" in entry]
        assert not resolved, f"{path}: {resolved[:3]}"


@pytest.mark.parametrize(("pattern", "line"), [(OPEN_ENDS, "/* TO" "DO: later */"), (SWITCHED_OFF, "@pytest.mark.sk" "ip")])
def test_the_patterns_find(pattern: re.Pattern[str], line: str) -> None:
    assert pattern.search(line)
