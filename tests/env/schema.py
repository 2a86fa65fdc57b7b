"""The files of sql/ that change the schema."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

from .places import TOP, WorldError

SQL = TOP / "sql"
LAST = max(path.name for path in SQL.glob("*.sql"))


def undo_of(file: str) -> str:
    """What takes back a migration that adds one table or one column; one that makes a key anew may be run again as it is."""
    text = (SQL / file).read_text()
    if re.search(r"DROP KEY (\w+),\s+ADD KEY \1 ", text):
        return "DO 0"
    table = re.search(r"^CREATE TABLE (\w+)", text, re.MULTILINE)
    column = re.search(r"^ALTER TABLE (\w+) ADD COLUMN (\w+)", text, re.MULTILINE)
    if table:
        return f"DROP TABLE {table[1]}"
    if column:
        return f"ALTER TABLE {column[1]} DROP COLUMN {column[2]}"
    raise WorldError(f"{file} adds neither a table nor a column: the tests want one that can be undone")
