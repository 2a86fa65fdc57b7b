"""The linters of others: shellcheck for shell, ruff for Python, clang-format for C."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import csource
from csource import TOP


def complaints(*command: str | Path) -> str:
    result = subprocess.run([str(word) for word in command], cwd=TOP, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else (result.stdout + result.stderr)[-4000:] or f"exit status {result.returncode}"


def shell_scripts() -> list[Path]:
    folders = ("scripts", "tests", "examples", ".ci", "autogen.sh", "sql", "extension", "bench", "etc", "src", "wsdl")
    found = [path for path in csource.tracked(*folders)
             if path.suffix in ("", ".sh") and path.read_bytes()[:40].startswith((b"#!/bin/sh", b"#!/usr/bin/env bash", b"#!/bin/bash",
                                                                                     b"# shellcheck shell="))]
    assert found
    return found


def test_shellcheck() -> None:
    said = complaints("shellcheck", "-x", "-P", "SCRIPTDIR", "-P", TOP, *shell_scripts())
    assert not said, said


def test_ruff() -> None:
    said = complaints(sys.executable, "-m", "ruff", "check", "--no-cache", "-q", "scripts", "tests", "bench", "examples")
    assert not said, said


def test_clang_format() -> None:
    said = complaints("scripts/format", "--check")
    assert not said, "run scripts/format:\n" + said
