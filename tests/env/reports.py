"""Reports of sanitizers, whichever program a test starts and whatever becomes of its output: each is told to write them into one folder."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from .places import WorldError

# A status that no program of ours ends with, so that a report is no failure that a test may expect.
EXIT_STATUS = 99
MARK = re.compile(r"(ERROR|WARNING): (Address|Leak|Thread)Sanitizer|: runtime error: ")
_folder: Path | None = None
OPTIONS = ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def told(folder: Path, env: dict[str, str]) -> dict[str, str]:
    """The sanitizers' options of `env`, with a place for reports and the status that goes with one. The later word for an option counts."""
    return {name: ":".join(filter(None, [env.get(name), f"exitcode={EXIT_STATUS}", f"log_path={folder}/report"])) for name in OPTIONS}


def found(folder: Path) -> list[str]:
    """What is wrong, a text for each program that reported; each is told once."""
    texts = []
    for path in sorted(folder.glob("report.*")):
        text = path.read_text(errors="replace")
        if MARK.search(text):
            path.rename(path.with_name(f"told-{path.name}"))
            texts.append(text)
    return texts


def watch() -> None:
    """What the programs report that this process and its children start from now on."""
    global _folder
    _folder = Path(tempfile.mkdtemp(prefix=f"kaas-r-{os.getpid()}-"))
    _folder.chmod(0o1777)  # programs of other users, too
    os.environ.update(told(_folder, dict(os.environ)))


def refuse() -> None:
    """Raises WorldError if something was reported since it was asked last."""
    texts = found(_folder) if _folder else []
    if texts:
        raise WorldError("\n".join(texts)[:8000])


def forget() -> None:
    if _folder:
        shutil.rmtree(_folder, ignore_errors=True)
