"""The files of sql/ that change the schema."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

from .places import TOP, WorldError

SQL = TOP / "sql"
LAST = max(path.name for path in SQL.glob("*.sql"))


def undo_of(file: str) -> str:
    """What takes back a migration that adds one table, or columns. One that makes a key anew, or drops what may be gone, may be run again
    as it is."""
    text = (SQL / file).read_text()
    if " IF EXISTS " in text or re.search(r"DROP KEY (\w+),\s+ADD KEY \1 ", text):
        return "DO 0"
    table = re.search(r"^CREATE TABLE (\w+)", text, re.MULTILINE)
    altered = re.search(r"^ALTER TABLE (\w+) ADD COLUMN ", text, re.MULTILINE)
    if table:
        return f"DROP TABLE {table[1]}"
    if altered:
        return f"ALTER TABLE {altered[1]} " + ", ".join(f"DROP COLUMN {name}" for name in re.findall(r"ADD COLUMN (\w+)", text))
    raise WorldError(f"{file} adds neither a table nor a column: the tests want one that can be undone")
