"""One page with all pictures that the tests have taken: what a person looks at to see whether the pages are as they should be."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import html
from itertools import groupby
from pathlib import Path

STYLE = """body { font: 14px sans-serif; margin: 16px; background: #8a8f94; }
h2 { margin: 16px 0 4px; } .row { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start; }
figure { margin: 0; width: 340px; } img { width: 100%; display: block; } figcaption { overflow-wrap: anywhere; }"""


def parts(picture: Path) -> list[str]:
    """PAGE.STATE.HOST.THEME.png, or whatever somebody called it behind PAGE."""
    return picture.stem.split(".")


def figure(picture: Path) -> str:
    name = html.escape(picture.name)
    image = f'<a href="{name}"><img src="{name}" alt="" loading="lazy"></a>'
    return f"<figure>{image}<figcaption>{html.escape(' · '.join(parts(picture)[1:]))}</figcaption></figure>"


def of(folder: Path) -> str:
    pictures = sorted(folder.glob("*.png"), key=parts)
    groups = groupby(pictures, lambda picture: parts(picture)[0])
    rows = (f"<h2>{html.escape(name)}</h2><div class=row>{''.join(map(figure, group))}</div>" for name, group in groups)
    return f"<!doctype html><meta charset=utf-8><title>{len(pictures)} pictures</title><style>{STYLE}</style>{''.join(rows)}"
