"""Backups of kaasd, read and made by a second implementation of the format (src/port/sealed_file.h, src/setup/backup/backup_file.h)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import struct
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MAGIC = b"KAASBAK1"
CHUNK = 1 << 20
LAST = 1 << 31


def _aes(key: bytes, salt: bytes, head: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), 32, salt, MAGIC + hashlib.sha256(head).digest()).derive(key))


def _nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


def head_of(backup: bytes) -> dict[str, Any]:
    (length,) = struct.unpack(">I", backup[8:12])
    head: dict[str, Any] = json.loads(backup[12:12 + length])
    return head


def ends_of(backup: bytes) -> list[int]:
    """Where the head with its salt ends, and each chunk."""
    ends = [12 + struct.unpack(">I", backup[8:12])[0] + 32]
    while ends[-1] < len(backup):
        (word,) = struct.unpack(">I", backup[ends[-1]:ends[-1] + 4])
        ends.append(ends[-1] + 4 + (word & ~LAST) + 16)
    return ends


def open_backup(backup: bytes, key: bytes) -> bytes:
    """All that is sealed in it."""
    ends = ends_of(backup)
    head, salt = backup[12:ends[0] - 32], backup[ends[0] - 32:ends[0]]
    aes = _aes(key, salt, head)
    plain = []
    for number, (begin, end) in enumerate(zip(ends, ends[1:], strict=False)):
        word = backup[begin:begin + 4]
        packed = aes.decrypt(_nonce(number, bool(struct.unpack(">I", word)[0] & LAST)), backup[begin + 4:end], word)
        plain.append(gzip.decompress(packed))
    return b"".join(plain)


def contents(backup: bytes, key: bytes) -> tuple[dict[str, bytes], bytes]:
    """The files of the host, and the SQL of the database."""
    plain = open_backup(backup, key)
    (length,) = struct.unpack(">I", plain[:4])
    files = json.loads(plain[4:4 + length])["files"]
    return {file["path"]: base64.b64decode(file["content"] + "==") for file in files}, plain[4 + length:]


def with_config(plain: bytes, old: str, new: str) -> bytes:
    """What is sealed, another text in the configuration."""
    (length,) = struct.unpack(">I", plain[:4])
    held = json.loads(plain[4:4 + length])
    text = base64.b64decode(held["files"][0]["content"] + "==").decode()
    assert old in text
    held["files"][0]["content"] = base64.b64encode(text.replace(old, new).encode()).decode().rstrip("=")
    head = json.dumps(held).encode()
    return struct.pack(">I", len(head)) + head + plain[4 + length:]


def with_file(plain: bytes, path: str, content: bytes, mode: int = 0o644, owner: str = "root") -> bytes:
    """What is sealed, and one more file of the host."""
    (length,) = struct.unpack(">I", plain[:4])
    held = json.loads(plain[4:4 + length])
    text = base64.b64encode(content).decode().rstrip("=")
    held["files"].append({"path": path, "owner": owner, "group": "root", "mode": mode, "content": text})
    head = json.dumps(held).encode()
    return struct.pack(">I", len(head)) + head + plain[4 + length:]


def seal_backup(head: dict[str, Any], plain: bytes, key: bytes) -> bytes:
    text, salt = json.dumps(head).encode(), os.urandom(32)
    aes = _aes(key, salt, text)
    out = [MAGIC, struct.pack(">I", len(text)), text, salt]
    chunks = [plain[at:at + CHUNK] for at in range(0, len(plain), CHUNK)] or [b""]
    for number, chunk in enumerate(chunks):
        is_last = number == len(chunks) - 1
        packed = gzip.compress(chunk, mtime=0)
        word = struct.pack(">I", len(packed) | (LAST if is_last else 0))
        out += [word, aes.encrypt(_nonce(number, is_last), packed, word)]
    return b"".join(out)
