"""systemd understands every line of our units."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import subprocess
from pathlib import Path

from csource import TOP


def test_units_are_understood(tmp_path: Path) -> None:
    """Programs stand where the units look for them: verify wants that, too."""
    units = []
    for source in sorted((TOP / "etc").glob("*.service.in")) + sorted((TOP / "etc").glob("*.timer")):
        unit = tmp_path / source.name.removesuffix(".in")
        unit.write_text(re.sub(r"@s?bindir@/\w+", "/bin/true", source.read_text()))
        units.append(unit)
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    assert len(units) == 3 and said.returncode == 0 and not said.stderr, said.stderr
