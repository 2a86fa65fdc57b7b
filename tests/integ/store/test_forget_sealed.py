"""A master key that is gone everywhere: kaasctl key forget-sealed gives up what it sealed, says what to do anew, and leaves all else."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from env.full import World, register
from env.kaasd import Kaasd
from env.sealing import put_secret, seal
from env.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.final]
FAILED, UNCONFIRMED = 1, 6


class Place:
    """A registered vCenter, clusters, a user, an LDAP directory and an HX cluster with passwords."""

    def __init__(self, world: World) -> None:
        self.world, self.kaasd = world, world.kaasd
        self.key = world.kaasd.folder / "master.key"
        world.join()
        self.kaasd.ctl.ok("user", "add", "anna")
        key = self.key.read_bytes()
        self.sql("INSERT INTO ldap_sources (name, kind, urls, search_base, bind_kind, bind_dn, is_disabled, sealed, created_at_ms,"
                 " updated_at_ms, version_no)"
                 " VALUES ('corp', 'openldap', 'ldaps://127.0.0.1:1', 'DC=x', 'password', 'cn=kaas', 1, %s, 1, 1, 1)",
                 seal(key, "ldap-bind:corp", b"bind password"))
        hx = next(iter(world.admin.items("/v2/hx-clusters")))["id"]
        self.sql("INSERT INTO hx_connections (hx_cluster_id, address, port, user_name, created_at_ms, updated_at_ms, version_no)"
                 " VALUES (%s, 'hx.test', 443, 'hxadmin', 1, 1, 1)", hx)
        self.sql("INSERT INTO hx_credentials (vcenter_id, user_name, refused_at_ms, created_at_ms, updated_at_ms, version_no)"
                 " VALUES (%s, 'inherited', 0, 1, 1, 1)", world.vcenter.instance_uuid)
        put_secret(world.db, key, "hx_connection", hx, "hx-password", b"p")
        kube = "33333333-3333-4333-8333-333333333333"
        self.sql("INSERT INTO clusters (id, name, state, kubernetes_version, created_at_ms, updated_at_ms, version_no)"
                 " VALUES (%s, 'connected', 'ready', '1.36.3', 1, 1, 1)", kube)
        self.sql("INSERT INTO kube_connections (cluster_id, address, cluster_uid, created_at_ms, updated_at_ms, version_no)"
                 " VALUES (%s, 'https://k.test', 'u', 1, 1, 1)", kube)
        put_secret(world.db, key, "kube_connection", kube, "kube-token", b"kube token")
        self.sql("INSERT INTO cluster_pki (cluster_id, ca_pem, etcd_ca_pem, front_proxy_ca_pem, accounts_public_pem, not_after_ms,"
                 " created_at_ms, version_no) VALUES (%s, 'c', 'e', 'f', 'a', 1, 1, 1)", kube)
        put_secret(world.db, key, "cluster_pki", kube, "ca-key", b"key of the CA")
        put_secret(world.db, key, "hx_credential", world.vcenter.instance_uuid, "hx-credential", b"hx credential")

    def sql(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.world.db.query(text, *values, database="kaas")

    def lists(self) -> list[tuple[str, str]]:
        return sorted((cluster["id"], cluster["name"]) for cluster in self.kaasd.ctl.json("cluster", "list"))

    def audit(self) -> list[tuple[Any, ...]]:
        return self.sql("SELECT replica_id, seq, at_ms, action, principal_id, result, IF(action = 'audit.heads', '', reason) FROM audit"
                        " ORDER BY replica_id, seq")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with World("forget") as world:
        yield Place(world)


def forget(kaasd: Kaasd, *more: str) -> Any:
    return kaasd.ctl.run(*more, "key", "forget-sealed")


def test_nothing_is_lost(place: Place) -> None:
    place.kaasd.stop()
    said = forget(place.kaasd, "--yes")
    assert said.returncode == FAILED and "nothing is lost" in said.stderr
    place.kaasd.start()


def test_kaasd_that_works_holds_the_key(place: Place) -> None:
    kept = place.key.rename(place.key.with_suffix(".kept"))
    try:
        said = forget(place.kaasd, "--yes")
    finally:
        kept.rename(place.key)
    assert said.returncode == FAILED and "it holds its master keys in memory" in said.stderr and not list(place.key.parent.glob("*.kept"))


def test_another_replica_holds_the_key(place: Place) -> None:
    elsewhere = place.world.scratch.path / "elsewhere.key"
    shutil.copy2(place.key, elsewhere)
    second = place.kaasd.beside("second", options={"secrets": {"master_key_file": str(elsewhere)}})
    second.start()
    place.kaasd.stop()
    kept = place.key.rename(place.key.with_suffix(".kept"))
    try:
        said = forget(place.kaasd, "--yes")
    finally:
        kept.rename(place.key)
        second.stop()
    assert said.returncode == FAILED and "the replica second runs" in said.stderr and "copy its master key file" in said.stderr
    place.kaasd.start()


def test_all_else_stays(place: Place) -> None:
    world, kaasd = place.world, place.kaasd
    before, users, session = place.lists(), kaasd.ctl.json("user", "list"), kaasd.admin()
    kaasd.stop()
    lines = place.audit()
    place.key.unlink()
    asked = forget(kaasd)
    assert asked.returncode == UNCONFIRMED and not place.key.exists() and place.audit() == lines
    assert "vCenter" in asked.stderr and "directory corp" in asked.stderr

    said = forget(kaasd, "--yes")
    assert said.returncode == 0, said.stderr
    for words in ("kaasctl vcenter register 127.0.0.1", "kaasctl ldap set corp --bind-password-file -",
                  "--user hxadmin", "kaasctl vcenter set-hx-credential",
                  "kaasctl cluster reconnect connected --kubeconfig FILE",
                  "keys of the Kubernetes cluster connected: its nodes go on", "Users, grants, clusters and vCenters are as they were"):
        assert words in said.stdout, said.stdout
    assert place.key.stat().st_mode & 0o777 == 0o600 and len(place.key.read_bytes()) == 32
    kaasd.start()

    assert place.lists() == before and kaasd.ctl.json("user", "list") == users
    assert session.call("GET", "/v2/whoami").status_code == 401  # its token was signed by a key that is gone
    after = place.audit()
    assert after[:len(lines)] == lines or [line for line in after if line in lines] == lines  # as they stood
    assert kaasd.ctl.run("audit", "verify").returncode == 0
    (line,) = kaasd.ctl.json("audit", "list", "--action", "master_key.forget")
    assert "hashed anew" in line["reason"] and "uid" in line["principal_name"]
    (row,) = kaasd.ctl.json("vcenter", "list")
    assert not row["registered"]
    register(kaasd, world.vcenter)  # the record there is ours still
    admin, status = kaasd.admin(), f"/v2/vcenters/{world.vcenter.instance_uuid}/status"
    until(lambda: admin.get(status)["state"] == "connected", "the login at the vCenter")
    assert admin.get("/v2/ldap/corp")["has_bind_password"] is False
    again = forget(kaasd, "--yes")
    assert again.returncode == FAILED
    kaasd.stop()
    assert "nothing is lost" in forget(kaasd, "--yes").stderr
    kaasd.start()


def test_changes_from_then_on_are_found(place: Place) -> None:
    place.sql("UPDATE audit SET reason = 'nothing happened' WHERE action = 'vcenter.register' ORDER BY seq LIMIT 1")
    assert place.kaasd.ctl.run("audit", "verify").returncode == FAILED


def test_a_wrong_key_file_stays(place: Place) -> None:
    """It is no reason to make another one: its newest key seals. kaasd, which waits for the right one meanwhile, goes on by itself."""
    place.kaasd.stop()
    other = os.urandom(32)
    place.key.write_bytes(other)
    place.kaasd.spawn()
    until(lambda: "does not hold key" in place.kaasd.why_not_ready(), "kaasd to miss its key")
    assert forget(place.kaasd, "--yes").returncode == 0
    assert place.key.read_bytes() == other
    until(place.kaasd.ready, "readiness")
