"""Different bad tokens at a given rate, each well-formed and with a key id that exists, so that only the curve can refuse them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from .load import Target

CONNECTIONS = 20
SCRIPT = """
local header, alphabet = "{header}", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local function text(n)
    local t = {{}}
    for i = 1, n do local k = math.random(#alphabet); t[i] = alphabet:sub(k, k) end
    return table.concat(t)
end
local rest = text(240)
function request()
    return wrk.format("GET", nil, {{["Authorization"] = "Bearer " .. header .. "." .. text(16) .. rest .. "." .. text(85) .. "A"}})
end
function delay() return {pause_ms} end
"""


class Flood:
    """Runs while the context is open."""

    def __init__(self, target: Target, per_s: int) -> None:
        token = target.headers["Authorization"].split()[1]
        self._script = SCRIPT.format(header=token.split(".")[0], pause_ms=max(1000 * CONNECTIONS // per_s, 1))
        self._url = target.url

    def __enter__(self) -> Flood:
        with tempfile.NamedTemporaryFile("w", suffix=".lua", delete=False) as file:
            file.write(self._script)
        self._path = Path(file.name)
        self._wrk = subprocess.Popen(["wrk", "-t1", f"-c{CONNECTIONS}", "-d1h", "-s", file.name, self._url], stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._wrk.terminate()
        self._wrk.wait()
        self._path.unlink()
