"""Looks for secrets where they must not be: memory of a process, its arguments and environment, all rows and files of a database."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import psutil

from .mariadb import Mariadb

CHUNK_BYTES = 16 << 20
AROUND_BYTES = 60
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
HELD = 1 << 63 | 1 << 62  # in memory, or swapped out (https://docs.kernel.org/admin-guide/mm/pagemap.html)
NOT_READABLE = ("[vvar]", "[vsyscall]", "[vvar_vclock]")


def _base64_forms(secret: bytes) -> set[bytes]:
    """What base64 makes of the secret inside a longer text, at each of the three alignments; without the characters that depend on
    the neighbours."""
    forms = set()
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + secret).rstrip(b"=")
        forms.add(text[-(-shift * 8 // 6) : len(text) - 1])
    return forms


def forms_of(secret: str) -> set[bytes]:
    """The secret as it is and as XML, JSON, hexadecimal, base64, wide characters."""
    raw = secret.encode()
    quotes = {'"': "&quot;", "'": "&apos;"}
    texts = {secret, escape(secret), escape(secret, quotes), escape(secret, {'"': "&#34;", "'": "&#39;"}), escape(secret, {'"': "&quot;"}),
             json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {text.encode() for text in texts} | _base64_forms(raw) | {raw.hex().encode(), secret.encode("utf-16-le")}


def find(data: bytes, needles: set[bytes], where: str) -> list[str]:
    """One text for each place where a needle is, with its surroundings."""
    found = []
    for needle in needles:  # one at a time: bytes.find is many times as fast as a pattern with alternatives
        at = data.find(needle)
        while at >= 0:
            found.append(f"{where} +{at:#x}: {data[max(0, at - AROUND_BYTES):at + len(needle) + AROUND_BYTES]!r}")
            at = data.find(needle, at + 1)
    return found


def _regions(pid: int) -> Iterator[tuple[int, int, str]]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split(maxsplit=5)
        name = words[5] if len(words) > 5 else "anonymous"
        if "r" in words[1] and name not in NOT_READABLE:
            low, high = (int(end, 16) for end in words[0].split("-"))
            yield low, high, name


def _held(pages: int, low: int, high: int) -> Iterator[tuple[int, int]]:
    """The parts that have been touched: the rest, most of it, has no memory behind it, or is of a file as it lies on the disk."""
    entries = array("Q", os.pread(pages, (high - low) // PAGE_BYTES * 8, low // PAGE_BYTES * 8))
    begin = None
    for number, entry in enumerate([*entries, 0]):
        at = low + number * PAGE_BYTES
        if entry & HELD and begin is None:
            begin = at
        elif not entry & HELD and begin is not None:
            yield begin, at
            begin = None


def _read(memory: int, low: int, high: int) -> Iterator[bytes]:
    for start in range(low, high, CHUNK_BYTES):
        try:  # chunks overlap, so that nothing hides on a border
            yield os.pread(memory, min(CHUNK_BYTES + PAGE_BYTES, high - start), start)
        except OSError:
            return


def memory(pid: int, needles: set[bytes]) -> list[str]:
    """Searches everything the process can read."""
    found = []
    image, pages = (os.open(f"/proc/{pid}/{name}", os.O_RDONLY) for name in ("mem", "pagemap"))
    try:
        for low, high, name in _regions(pid):
            for begin, end in _held(pages, low, high):
                for data in _read(image, begin, end):
                    found += find(data, needles, f"{name} {begin:#x}")
    finally:
        os.close(image)
        os.close(pages)
    return found


def _of_the_world(path: Path) -> set[int]:
    """Processes that this one has started, and those that do not stay below it but name the world's folder: the database server."""
    pids = {child.pid for child in psutil.Process().children(recursive=True)}
    for process in psutil.process_iter(["cmdline"]):
        if any(str(path) in word for word in process.info["cmdline"] or ()):
            pids.add(process.pid)
    return pids - {os.getpid()}


def processes(path: Path, needles: set[bytes]) -> list[str]:
    """Searches arguments and environment of every process of the world in that folder; other worlds may be about the same secrets."""
    found = []
    for pid in _of_the_world(path):
        for name in ("cmdline", "environ"):
            try:
                found += find(Path(f"/proc/{pid}/{name}").read_bytes(), needles, f"/proc/{pid}/{name}")
            except OSError:
                continue  # it has ended
    return found


def rows(db: Mariadb, needles: set[bytes]) -> list[str]:
    """Searches all columns of all tables, as the server hands them out."""
    found = []
    tables = db.query("SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' "
                      "AND table_schema NOT IN ('performance_schema')")
    for schema, table in tables:
        held = db.query(f"SELECT * FROM `{schema}`.`{table}`")  # names come from the server itself
        values = (value if isinstance(value, bytes) else str(value).encode() for row in held for value in row)
        found += find(b"\n".join(values), needles, f"{schema}.{table}")
    return found


def database(db: Mariadb, needles: set[bytes]) -> list[str]:
    """Rows and files."""
    return rows(db, needles) + find(db.dump(), needles, "database files")


def folder(path: Path, needles: set[bytes]) -> list[str]:
    """All files below a folder."""
    return [hit for file in sorted(path.rglob("*")) if file.is_file() and not file.is_socket()
            for hit in find(file.read_bytes(), needles, str(file))]
