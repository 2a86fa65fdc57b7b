"""The last release and the present version beside each other on one database: each writes what the other shows, each lets people in for
both; then the older one is put back. The tests go on where the one before has left it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from env.kaasd import Kaasctl, Kaasd
from env.places import Scratch
from env.releases import LAST, Installation
from env.sealing import put_secret
from env.wait import until
from env.writing import Answer

LATER_S = 240.0  # the check for values to seal anew runs every minute, at one replica at a time


@dataclass
class Both:
    at: Installation
    newer: Kaasd

    @property
    def pairs(self) -> tuple[tuple[Kaasd, Kaasd], ...]:
        return (self.at.kaasd, self.newer), (self.newer, self.at.kaasd)

    def ask(self, kaasd: Kaasd, token: str, method: str, path: str, **more: Any) -> Answer:
        answer = self.at.wire(token, kaasd).call(method, path, **more)
        assert answer, f"{kaasd.name} does not answer"
        return answer

    def descriptions(self, kaasd: Kaasd, token: str) -> dict[str, str]:
        answer = self.ask(kaasd, token, "GET", "/v2/clusters")
        assert answer.status_code == 200, answer.text
        return {item["name"]: item["description"] for item in answer.json()["items"]}

    def body(self, name: str) -> dict[str, Any]:
        return {"name": name, "description": "new", "kubernetes_version": "1.31.2",
                "control_plane": {"desired": 3}, "workers": {"desired": 2},
                "vsphere_clusters": [{"vcenter": self.at.vcenter.instance_uuid, "path": "DC0/HX-East"}]}

    def write_and_read(self, writer: Kaasd, reader: Kaasd) -> None:
        """A cluster comes, changes and goes at one; the other shows it."""
        token, name = self.at.admin(writer), f"by-{writer.name}"
        made = self.ask(writer, token, "POST", "/v2/clusters", json=self.body(name))
        assert made.status_code == 201, made.text
        until(lambda: self.descriptions(reader, token).get(name) == "new", "the new cluster at the other one")
        path = f"/v2/clusters/{made.json()['id']}"
        changed = self.ask(reader, token, "PATCH", path, json={"description": "changed"},
                           headers={"Content-Type": "application/merge-patch+json"})
        assert changed.status_code == 200, changed.text
        until(lambda: self.descriptions(writer, token).get(name) == "changed", "the change where it was made")
        assert self.ask(writer, token, "DELETE", path).status_code == 204
        until(lambda: name not in self.descriptions(reader, token), "the end of it")


@pytest.fixture(scope="module")
def both(scratch: Scratch) -> Iterator[Both]:
    at = Installation(scratch, LAST)
    newer = at.kaasd.beside("newer")
    Kaasctl(at.kaasd.config).ok("db", "migrate")  # while the older one runs
    newer.start()
    yield Both(at, newer)
    newer.stop()
    at.stop()


def test_what_one_writes_the_other_shows(both: Both) -> None:
    for writer, reader in both.pairs:
        both.write_and_read(writer, reader)


def test_each_lets_people_in_for_both_and_signs_them_out_of_both(both: Both) -> None:
    person = both.at.vcenter.users["viewer-east"].login
    for door, other in both.pairs:
        cookie = both.at.vcenter.control.login(person)["cookie"]
        body = {"vcenter": both.at.vcenter.instance_uuid, "session_id": cookie}
        let_in = both.ask(door, "", "POST", "/v2/login/vcenter", json=body, headers={"X-KaaS": "1"})
        assert let_in.status_code == 200, let_in.text
        token = let_in.json()["access_token"]
        assert both.descriptions(other, token) == both.descriptions(door, token) != {}
        renewed = both.ask(other, token, "POST", "/v2/token/refresh", headers={"X-KaaS": "1"})
        assert renewed.status_code == 200, renewed.text
        token = renewed.json()["access_token"]
        assert both.ask(door, token, "GET", "/v2/whoami").status_code == 200
        assert both.ask(door, token, "POST", "/v2/logout", headers={"X-KaaS": "1"}).status_code in (200, 204)
        until(lambda token=token, other=other: both.ask(other, token, "GET", "/v2/whoami").status_code == 401, "the end of the session")  # type: ignore[misc]


def test_names_in_other_case_are_one_to_the_newer_one_and_nobody_loses_by_it(both: Both) -> None:
    """Each works on the grants of the other; what the older one gives to two spellings stays two, and the newer one names it."""
    control, vcenter = both.at.vcenter.control, both.at.vcenter.instance_uuid
    token = both.at.admin()
    first, second = [item["id"] for item in both.ask(both.newer, token, "GET", "/v2/clusters").json()["items"]][:2]

    def give(kaasd: Kaasd, name: str, cluster: str) -> str:
        body = {"principal_id": f"vc:{vcenter}:VSPHERE.LOCAL\\{name}", "object_kind": "cluster", "object_id": cluster}
        made = both.ask(kaasd, token, "POST", "/v2/grants", json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def sees(kaasd: Kaasd, name: str) -> set[str]:
        control.put_user(name, "secret")
        session = {"vcenter": vcenter, "session_id": control.login(f"{name}@vsphere.local")["cookie"]}
        let_in = both.ask(kaasd, "", "POST", "/v2/login/vcenter", json=session, headers={"X-KaaS": "1"})
        assert let_in.status_code == 200, let_in.text
        shown = both.ask(kaasd, let_in.json()["access_token"], "GET", "/v2/clusters").json()["items"]
        return {item["id"] for item in shown}

    def doubles() -> list[str]:
        checks = both.ask(both.newer, token, "GET", "/v2/health").json()["checks"]
        return [check["detail"] for check in checks if check["name"] == "grants"]

    given = [give(both.at.kaasd, "MÜLLER", first)]
    until(lambda: sees(both.newer, "MÜLLER") == {first}, "the grant of the older one at the newer one")
    given.append(give(both.newer, "müller", second))
    until(lambda: sees(both.at.kaasd, "MÜLLER") == {first, second}, "the grant of the newer one at the older one, to its spelling")
    assert both.ask(both.at.kaasd, token, "DELETE", f"/v2/grants/{given.pop()}").status_code == 204
    given.append(give(both.at.kaasd, "müller", second))
    until(doubles, "two spellings are named")
    assert sees(both.newer, "MÜLLER") == sees(both.at.kaasd, "MÜLLER") == {first}
    assert both.ask(both.newer, token, "DELETE", f"/v2/grants/{given.pop(0)}").status_code == 204
    assert sees(both.newer, "MÜLLER") == {second}
    assert not doubles()
    until(lambda: sees(both.at.kaasd, "MÜLLER") == set(), "what the older one makes of it")
    assert both.ask(both.newer, token, "DELETE", f"/v2/grants/{given.pop()}").status_code == 204


def test_the_master_key_changes_under_both(both: Both) -> None:
    """Whichever seals anew: the columns, which both know, and the table of secrets, which the newer one alone knows. What the older one
    deletes takes no secrets with it: the newer one purges them."""
    db, file = both.at.db, both.at.kaasd.folder / "master.key"
    ((hx,),) = db.query("SELECT id FROM hx_clusters ORDER BY id LIMIT 1", database="kaas")
    db.query("INSERT INTO hx_connections (hx_cluster_id, address, port, user_name, created_at_ms, updated_at_ms, version_no)"
             " VALUES (%s, 'hx.test', 443, 'admin', 1, 1, 1)", hx, database="kaas")
    put_secret(db, file.read_bytes(), "hx_connection", str(hx), "hx-password", b"p")
    until(lambda: both.newer.ctl.run("--yes", "key", "rotate-master").returncode == 0, "another master key")
    new = hashlib.sha256(file.read_bytes()[-32:]).digest()[:4]
    tables = ("signing_keys", "vcenter_credentials", "audit_keys", "secrets")

    def left() -> list[Any]:
        old = "SELECT sealed FROM {} WHERE SUBSTRING(sealed, 2, 4) <> %s"
        return [row for table in tables for row in db.query(old.format(table), new, database="kaas")]

    until(lambda: not left(), "all values sealed anew", LATER_S)
    assert all(db.query(f"SELECT 1 FROM {table} WHERE sealed IS NOT NULL", database="kaas") for table in tables)
    db.query("DELETE FROM hx_connections", database="kaas")  # as by ON DELETE CASCADE, when the older one removes the HX cluster
    until(lambda: not db.query("SELECT 1 FROM secrets", database="kaas"), "the secret to go with its owner", LATER_S)


def test_the_audit_log_of_both_is_whole(both: Both) -> None:
    verified = both.newer.ctl.run("audit", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_the_older_one_is_put_back(both: Both) -> None:
    """It is started anew beside the schema of the newer one, which has ended, and knows what that wrote."""
    token = both.at.admin(both.newer)
    made = both.ask(both.newer, token, "POST", "/v2/clusters", json=both.body("kept"))
    assert made.status_code == 201, made.text
    both.newer.stop()
    both.at.kaasd.stop()
    both.at.kaasd.start()
    assert both.descriptions(both.at.kaasd, token)["kept"] == "new"
    token = both.at.admin()
    assert both.ask(both.at.kaasd, token, "DELETE", f"/v2/clusters/{made.json()['id']}").status_code == 204
    both.newer.start()
    until(lambda: "kept" not in both.descriptions(both.newer, token), "what was done meanwhile")
    verified = both.newer.ctl.run("audit", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
