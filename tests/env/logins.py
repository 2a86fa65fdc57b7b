"""How kaasd logs in to a vCenter, seen from outside: its sessions there, its credentials in the database, waiting for a state."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from .certs import thumbprint
from .full import EXTENSION_KEY, World
from .vcenter import StrictVcenter
from .wait import until


def installation_of(world: World) -> str:
    return world.db.query("SELECT uuid FROM installation", database="kaas")[0][0]


def ours(world: World, vcenter: StrictVcenter | None = None) -> list[dict[str, Any]]:
    """Sessions of this installation at the vCenter, of whatever replica and task."""
    mark = f"({installation_of(world)};"
    return [row for row in (vcenter or world.vcenter).control.sessions() if mark in row["user_agent"]]


def vcenter_json(world: World, vcenter: StrictVcenter | None = None) -> dict[str, Any]:
    return world.kaasd.ctl.json("vcenter", "show", (vcenter or world.vcenter).instance_uuid)


def state_is(world: World, state: str) -> Callable[[], bool]:
    return lambda: vcenter_json(world)["state"] == state


def wait_connected(world: World) -> None:
    until(state_is(world, "connected"), "the connection to the vCenter")


def lose_session(world: World) -> None:
    """The vCenter ends kaasd's session, as a restart of vpxd would."""
    for row in ours(world):
        world.vcenter.control.expire(key=row["key"])


def rescan(world: World) -> int:
    """A call with kaasd's own session; gives kaasctl's status."""
    return world.kaasd.ctl.run("vcenter", "rescan", world.vcenter.instance_uuid).returncode


def credentials(world: World) -> list[tuple[str, str, str]]:
    """Generation, kind and state of each, the newest last."""
    return [(row[0], row[1], row[2]) for row in world.db.query(
        "SELECT generation, kind, state FROM vcenter_credentials ORDER BY generation", database="kaas")]


def states(world: World) -> list[str]:
    return [state for _, _, state in credentials(world)]


def active_certificate(world: World) -> str:
    """SHA-256 of the certificate that kaasd holds for the one in force."""
    rows = world.db.query("SELECT cert_pem FROM vcenter_credentials WHERE state = 'active'", database="kaas")
    return thumbprint(x509.load_pem_x509_certificate(rows[0][0].replace("\\n", "\n").encode())) if rows else ""


def stored_key(world: World) -> rsa.RSAPublicNumbers:
    """The public key of the certificate that the vCenter stored with our record."""
    pem = world.vcenter.control.extensions()[EXTENSION_KEY]["certificate_pem"]
    key = x509.load_pem_x509_certificate(pem.encode()).public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    return key.public_numbers()


def stored_certificate(world: World) -> str:
    """SHA-256 of the certificate that the vCenter stored with our record."""
    pem = world.vcenter.control.extensions()[EXTENSION_KEY].get("certificate_pem") or ""
    return thumbprint(x509.load_pem_x509_certificate(pem.encode())) if pem else ""
