"""PACs by Samba's own code ([MS-PAC]): from JSON and to JSON. For Debian's Python."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from samba.dcerpc import krb5pac, netlogon, samr, security
from samba.ndr import ndr_pack, ndr_unpack

EXTRA_SIDS, RESOURCE_GROUPS = 0x20, 0x200  # UserFlags
ENABLED = 7  # mandatory, by default, enabled


def with_attributes(rids: list[Any]) -> samr.RidWithAttributeArray:
    """From RIDs or pairs (RID, attributes)."""
    made = samr.RidWithAttributeArray()
    rows = []
    for rid in rids:
        row = samr.RidWithAttribute()
        row.rid, row.attributes = rid if isinstance(rid, list) else (rid, ENABLED)
        rows.append(row)
    made.count, made.rids = len(rows), rows
    return made


def extra(sids: list[Any]) -> list[Any]:
    rows = []
    for sid in sids:
        row = netlogon.netr_SidAttr()
        name, row.attributes = sid if isinstance(sid, list) else (sid, ENABLED)
        row.sid = security.dom_sid(name)
        rows.append(row)
    return rows


def pack(user: str = "alice", full_name: str = "", domain: str = "ADTEST", domain_sid: str = "S-1-5-21-1-2-3", rid: int = 1104,
         primary: int = 513, groups: list[Any] = (), sids: list[Any] = (), resource_domain: str = "", resource: list[Any] = (),
         flags: int | None = None) -> str:
    """KERB_VALIDATION_INFO in hexadecimal, as gss_get_name_attribute(urn:mspac:logon-info) gives it. Groups are RIDs or [RID, attributes];
    `sids` are SIDs or [SID, attributes]; `flags` replaces UserFlags."""
    info = krb5pac.PAC_LOGON_INFO()
    base = info.info3.base
    base.account_name.string, base.full_name.string, base.logon_domain.string = user, full_name, domain
    for name in ("logon_script", "profile_path", "home_directory", "home_drive", "logon_server"):
        getattr(base, name).string = ""
    base.rid, base.primary_gid = rid, primary
    base.groups = with_attributes(list(groups))
    base.domain_sid = security.dom_sid(domain_sid)
    base.user_flags = (EXTRA_SIDS if sids else 0) | (RESOURCE_GROUPS if resource else 0) if flags is None else flags
    info.info3.sidcount = len(sids)
    if sids:
        info.info3.sids = extra(list(sids))
    if resource_domain:
        info.resource_groups.domain_sid = security.dom_sid(resource_domain)
    if resource:
        info.resource_groups.groups = with_attributes(list(resource))
    ctr = krb5pac.PAC_LOGON_INFO_CTR()
    ctr.info = info
    return serialized(ndr_pack(ctr)).hex()


def serialized(body: bytes) -> bytes:
    """With the header of type serialization version 1 ([MS-RPCE] 2.2.6) that a PAC has before the structure."""
    body += bytes(-len(body) % 8)
    return b"\x01\x10\x08\x00\xcc\xcc\xcc\xcc" + len(body).to_bytes(4, "little") + bytes(4) + body


def told(info: Any) -> dict[str, Any]:
    base = info.info3.base
    resource = info.resource_groups
    return {
        "user": base.account_name.string, "full_name": base.full_name.string, "domain": base.logon_domain.string,
        "domain_sid": str(base.domain_sid), "rid": base.rid, "primary": base.primary_gid, "flags": base.user_flags,
        "groups": [[row.rid, row.attributes] for row in base.groups.rids or []],
        "sids": [[str(row.sid), row.attributes] for row in (info.info3.sids or [])],
        "resource_domain": str(resource.domain_sid) if resource.domain_sid else "",
        "resource": [[row.rid, row.attributes] for row in resource.groups.rids or []],
    }


def unpack(data: str) -> dict[str, Any]:
    """The same from KERB_VALIDATION_INFO, or from a whole PAC (version 0: starts with the number of its buffers)."""
    raw = bytes.fromhex(data)
    if raw[:1] == b"\x01" and raw[1:2] == b"\x10":
        return told(ndr_unpack(krb5pac.PAC_LOGON_INFO_CTR, raw[16:], allow_remaining=True).info)
    for buffer in ndr_unpack(krb5pac.PAC_DATA, raw).buffers:
        if buffer.type == krb5pac.PAC_TYPE_LOGON_INFO:
            return told(buffer.info.info)
    raise ValueError("a PAC without logon information")


def buffers(data: str) -> list[int]:
    """Types of the buffers of a whole PAC."""
    return [buffer.type for buffer in ndr_unpack(krb5pac.PAC_DATA, bytes.fromhex(data)).buffers]
