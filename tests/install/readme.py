"""The commands of a page of the documentation, as somebody would type them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re


def section(page: str, title: str) -> str:
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(text: str) -> list[str]:
    """Indented lines without their comments; those that go on behind a backslash are one."""
    lines = re.sub(r"\\\n +", "", "\n".join(line for line in text.splitlines() if line.startswith("    "))).splitlines()
    return [command for line in lines if (command := re.sub(r"(^|\s{2,})#.*", "", line.strip()))]
