"""The release file, by which installations learn of a newer version (docs/admin/upgrade.md).

python release_file.py CHANGELOG VERSION SECONDS [NOTES_URL] prints it; SECONDS is the time of the release since 1970."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

LINES_MAX, CHARS_MAX = 20, 300  # src/updates/release_file.h
VALID = timedelta(days=180)
STEPS = [
    "Read CHANGELOG.md between your version and this one, and docs/admin/upgrade.md.",
    "Make a backup: sudo kaasctl backup /var/backups/kaas/",
    "Check what you have fetched by SHA256SUMS and its signature (docs/admin/install.md).",
    "On one host after the other: sudo apt-get install ./kaas-server_*.deb ./kaas-cli_*.deb ./kaas-ui_*.deb; on Kubernetes: helm upgrade.",
    "Then: sudo kaasctl health, and sudo kaasctl audit verify",
]


def notes(changelog: str, version: str) -> list[str]:
    """The first sentence of each item of its section, as many as there is room for."""
    section = re.search(rf"^## {re.escape(version)} \([^)]*\)\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if not section:
        raise SystemExit(f"CHANGELOG has no section of {version}")
    items = [" ".join(item.split()) for item in re.findall(r"^\* (.*?)(?=^\* |^#|\Z)", section[1], re.M | re.S)]
    if not items:
        raise SystemExit(f"the section of {version} in CHANGELOG has no item")
    lines = [re.split(r"(?<=\.)\s(?=[A-Z])", item.replace("`", ""), maxsplit=1)[0] for item in items]
    lines = [line if len(line) <= CHARS_MAX else line[: CHARS_MAX - 1] + "…" for line in lines]
    more = len(lines) - LINES_MAX + 1
    return lines if more <= 1 else [*lines[: LINES_MAX - 1], f"And {more} more: CHANGELOG.md"]


def main(changelog: str, version: str, seconds: str, *notes_url: str) -> None:
    released = datetime.fromtimestamp(int(seconds), UTC)
    made = {"product": "harmony-kaas", "version": version, "released_at": released.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "valid_until": (released + VALID).strftime("%Y-%m-%dT%H:%M:%SZ"), "notes": notes(Path(changelog).read_text(), version)}
    for url in notes_url:
        made["notes_url"] = url
    print(json.dumps({**made, "steps": STEPS}, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
