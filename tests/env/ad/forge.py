"""Tickets as somebody with the service's key could make them: decrypted, altered, encrypted again. For Debian's Python.

Kerberos messages and cryptography are those of Samba's own tests (python3-samba); no library of the program under test has a part in
it. A ticket cache is the file of MIT's documentation ("Credential cache file format", version 4)."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyasn1.codec.der.decoder import decode
from pyasn1.codec.der.encoder import encode
from samba.tests.krb5 import kcrypto
from samba.tests.krb5 import rfc4120_pyasn1 as asn1

TICKET_USAGE = 2  # RFC 4120 section 7.5.1
PAC_USAGE = 17  # [MS-PAC] 2.8
AD_IF_RELEVANT, AD_WIN2K_PAC = 1, 128
CHECKSUM_OF = {17: 15, 18: 16, 23: -138}  # by encryption type of the key: hmac-sha1-96-aes128, -aes256, hmac-md5
LOGON_INFO, SERVER_CHECKSUM, KDC_CHECKSUM = 1, 6, 7


class Reader:
    """A cursor over big-endian data."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, kind: str) -> int:
        value: int = struct.unpack(">" + kind, self.take(struct.calcsize(">" + kind)))[0]
        return value

    def counted(self, kind: str = "I") -> bytes:
        return self.take(self.number(kind))

    @property
    def more(self) -> bool:
        return self.at < len(self.data)


def keys(keytab: Path) -> Iterator[tuple[str, int, kcrypto.Key]]:
    """Principal with realm, version, key: MIT's "Keytab file format", version 2."""
    reader = Reader(keytab.read_bytes())
    if reader.number("H") != 0x502:
        raise ValueError(f"{keytab}: no keytab of version 2")
    while reader.more:
        size = reader.number("i")
        entry = Reader(reader.take(abs(size)))
        if size < 0:
            continue
        count = entry.number("H")
        realm = entry.counted("H").decode()
        name = "/".join(entry.counted("H").decode() for _ in range(count))
        entry.take(8)
        version = entry.number("B")
        kind = entry.number("H")
        key = entry.counted("H")
        if len(entry.data) - entry.at >= 4:
            version = entry.number("I") or version
        if kind in CHECKSUM_OF:
            yield f"{name}@{realm}", version, kcrypto.Key(kind, key)


@dataclass
class Credential:
    """Of a ticket cache: where its ticket lies in the file."""

    server: str
    start: int
    ticket: bytes


def principal(reader: Reader) -> str:
    reader.number("I")
    count = reader.number("I")
    realm = reader.counted().decode()
    return "/".join(reader.counted().decode() for _ in range(count)) + "@" + realm


def credentials(data: bytes) -> Iterator[Credential]:
    reader = Reader(data)
    if reader.number("H") != 0x504:
        raise ValueError("no ticket cache of version 4")
    reader.counted("H")
    principal(reader)
    while reader.more:
        principal(reader)
        server = principal(reader)
        reader.number("H")
        reader.counted()  # key
        reader.take(4 * 4 + 1 + 4)  # times, is_skey, flags
        for _ in range(2):  # addresses, authorization data
            for _ in range(reader.number("I")):
                reader.number("H")
                reader.counted()
        start = reader.at
        ticket = reader.counted()
        reader.counted()
        yield Credential(server, start, ticket)


def find_key(keytab: Path, server: str, kind: int, version: int) -> kcrypto.Key:
    for name, have, key in keys(keytab):
        if name == server and key.enctype == kind and (not version or have == version):
            return key
    raise KeyError(f"no key of {server} of type {kind}, version {version} in {keytab}")


def split_pac(pac: bytes) -> list[tuple[int, bytes]]:
    """Types and contents of the buffers ([MS-PAC] 2.3)."""
    count, _ = struct.unpack_from("<II", pac)
    rows = [struct.unpack_from("<IIQ", pac, 8 + 16 * i) for i in range(count)]
    return [(kind, pac[start:start + size]) for kind, size, start in rows]


def join_pac(buffers: list[tuple[int, bytes]]) -> bytes:
    head, body = struct.pack("<II", len(buffers), 0), b""
    for kind, data in buffers:
        head += struct.pack("<IIQ", kind, len(data), 8 + 16 * len(buffers) + len(body))
        body += data + bytes(-len(data) % 8)
    return head + body


def sign(buffers: list[tuple[int, bytes]], key: kcrypto.Key) -> list[tuple[int, bytes]]:
    """With the service's signature made anew; the KDC's is that of another PAC then."""
    kind = CHECKSUM_OF[key.enctype]
    unsigned = [(of, data[:4] + bytes(len(data) - 4) if of in (SERVER_CHECKSUM, KDC_CHECKSUM) else data) for of, data in buffers]
    made = struct.pack("<i", kind) + kcrypto.make_checksum(kind, key, PAC_USAGE, join_pac(unsigned))
    return [(of, made if of == SERVER_CHECKSUM else data) for of, data in buffers]


def alter_pac(pac: bytes, key: kcrypto.Key, change: dict[str, Any]) -> bytes:
    if rids := change.get("rid"):
        old, new = (struct.pack("<II", rid, 7) for rid in rids)
        if old not in pac:
            raise ValueError(f"no group {rids[0]} in the PAC")
        pac = pac.replace(old, new, 1)
    if at := change.get("flip"):
        pac = pac[:at] + bytes([pac[at] ^ 1]) + pac[at + 1:]
    buffers = [row for row in split_pac(pac) if row[0] not in change.get("drop", ())]
    if logon := change.get("logon"):
        buffers = [(kind, bytes.fromhex(logon) if kind == LOGON_INFO else data) for kind, data in buffers]
    return join_pac(sign(buffers, key) if change.get("sign") else buffers)


def alter_authorization(part: Any, key: kcrypto.Key, change: dict[str, Any]) -> None:
    """The PAC lies in an AD-IF-RELEVANT (RFC 4120 section 5.2.6)."""
    for outer in part["authorization-data"]:
        if int(outer["ad-type"]) != AD_IF_RELEVANT:
            continue
        inner, _ = decode(bytes(outer["ad-data"]), asn1Spec=asn1.AD_IF_RELEVANT())
        for row in inner:
            if int(row["ad-type"]) == AD_WIN2K_PAC:
                row["ad-data"] = alter_pac(bytes(row["ad-data"]), key, change)
        outer["ad-data"] = encode(inner)


def without(part: Any, left_out: str) -> Any:
    made = asn1.EncTicketPart()
    for name in part:
        if name != left_out and part[name].isValue:
            made[name] = part[name]
    return made


def alter_ticket(data: bytes, keytab: Path, server: str, change: dict[str, Any]) -> bytes:
    ticket, _ = decode(data, asn1Spec=asn1.Ticket())
    kind, version = int(ticket["enc-part"]["etype"]), int(ticket["enc-part"]["kvno"])
    key = find_key(keytab, server, kind, version)
    part, _ = decode(kcrypto.decrypt(key, TICKET_USAGE, bytes(ticket["enc-part"]["cipher"])), asn1Spec=asn1.EncTicketPart())
    if change.get("no_pac"):
        part = without(part, "authorization-data")
    elif set(change) & {"rid", "flip", "logon", "drop", "sign"}:
        alter_authorization(part, key, change)
    for name in ("starttime", "endtime", "authtime"):
        if name in change:
            part[name] = change[name]
    ticket["enc-part"]["cipher"] = kcrypto.encrypt(key, TICKET_USAGE, encode(part))
    return encode(ticket)


def forge(ccache: str, out: str, keytab: str, server: str, change: dict[str, Any]) -> None:
    """Copies a ticket cache with the ticket for `server` ("HTTP/localhost@AD.TEST") altered. `change`, each optional: rid [old, new] puts a
    group in another's place; flip N one bit of byte N of the PAC; logon HEX other logon information; drop [types] leaves buffers out; sign
    true makes the service's signature anew; no_pac true; starttime, endtime, authtime "20260101000000Z"."""
    data = Path(ccache).read_bytes()
    # also under the name without a realm, by which a client asked that did not know it
    found = [one for one in credentials(data) if one.server in (server, server.split("@")[0] + "@")]
    if not found:
        raise KeyError(f"no ticket for {server} in {ccache}")
    for credential in reversed(found):
        made = alter_ticket(credential.ticket, Path(keytab), server, change)
        end = credential.start + 4 + len(credential.ticket)
        data = data[:credential.start] + struct.pack(">I", len(made)) + made + data[end:]
    Path(out).touch(mode=0o600)
    Path(out).write_bytes(data)
