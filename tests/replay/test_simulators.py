"""The pilot against simulators of two versions, neither of them changed: govmomi 0.56.0, which scripts/setup builds, and 0.24.2, which is
built here once a machine. What does not hold at them is what simulators leave out. The tables are those of the recordings: so what is kept
there is still what the simulators say."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.certs import thumbprint
from env.places import TOP, Scratch, free_port, program
from env.process import Process
from env.vcenter import start_vcsim

HERE = TOP / "tests/replay"
USER = "administrator@vsphere.local"
PASSWORD = "sim-Pass1"
RESULTS = {"holds": "ok", "does_not_hold": "failed", "not_asked": "skipped"}
AT_BOTH = {"api", "cookie", "user_rights", "unknown_user", "unknown_key", "client_page"}


def old_simulator() -> Path:
    """Built once for each content of tests/replay/vcsim."""
    content = b"".join((HERE / "vcsim" / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))
    cache = Path(os.environ.get("KAAS_CACHE") or Path.home() / ".cache/kaas")
    made = cache / f"vcsim-old-{hashlib.sha256(content).hexdigest()[:16]}"
    if not made.exists():
        fresh = made.with_suffix(f".{os.getpid()}")
        subprocess.run(["go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", str(fresh), "."],
                       cwd=HERE / "vcsim", check=True, timeout=1200)
        fresh.rename(made)
    return made


@pytest.fixture
def scratch() -> Iterator[Scratch]:
    made = Scratch("rs")
    yield made
    made.remove()


def table(scratch: Scratch, port: int, sha256: str) -> list[dict[str, str]]:
    password = scratch.path / "password"
    password.write_text(PASSWORD)
    password.chmod(0o600)
    argv = [program("kaasctl"), "pilot", "--read-only", "--vcenter", f"127.0.0.1:{port}", "--user", USER, "--password-file", password,
            "--thumbprint", sha256, "--wait", "1", "--tunnel-port", "0", "--direct-port", "0", "-o", "json"]
    result = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1, result.stderr
    return [{"probe": row["probe"], "result": RESULTS[row["result"]]} for row in json.loads(result.stdout)["probes"]]


def recorded(name: str) -> list[dict[str, str]]:
    return json.loads((HERE / "recordings" / name / "table.json").read_text())


def failed(rows: list[dict[str, str]]) -> set[str]:
    return {row["probe"] for row in rows if row["result"] == "failed"}


def test_version_0_56(scratch: Scratch) -> None:
    vcsim = start_vcsim(scratch)
    try:
        told = table(scratch, vcsim.port, vcsim.sha256)
    finally:
        vcsim.stop()
    assert told == recorded("vcsim-0.56.0")
    assert failed(told) == AT_BOTH


def test_version_0_24_has_no_extensions(scratch: Scratch) -> None:
    import ssl

    from cryptography import x509

    port = free_port()
    process = Process("vcsim-old", [old_simulator(), "-l", f"127.0.0.1:{port}", "-username", USER, "-password", PASSWORD], scratch.log,
                      env={"TMPDIR": str(scratch.path)})

    def pem() -> str:
        try:
            return ssl.get_server_certificate(("127.0.0.1", port), timeout=5)
        except OSError:
            return ""

    try:
        process.wait_until(lambda: bool(pem()), "an answer on its port")
        told = table(scratch, port, thumbprint(x509.load_pem_x509_certificate(pem().encode())))
    finally:
        process.stop()
    assert told == recorded("vcsim-0.24.2")
    assert failed(told) == AT_BOTH | {"extension_list"}
