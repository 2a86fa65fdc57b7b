"""More live sessions in the database than memory holds: replicas start, read what they need, and nobody escapes the end of a session."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from env import forge
from env.api import Api
from env.client_certs import ClientCa
from env.full import World
from env.hx_controller import HxController
from env.kaasd import Kaasd
from env.places import free_port
from env.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.long(60),
              pytest.mark.users_build("bounds of memory")]
MORE = 200_500  # than signon.c keeps in memory
NAME, PASSWORD = "forgotten", "a long enough password"
# People of whom nobody has heard, signed in a moment ago.
FILL = f"""
INSERT INTO sessions (sid, principal_id, principal_name, role, source, way, jti, created_at_ms, ends_at_ms)
SELECT CONCAT('ffffffff-0000-4000-8000-', LPAD(seq, 12, '0')), CONCAT('sid:S-1-5-21-1-2-3-', seq), CONCAT('u', seq), 'user', 'local',
 'ldap', CONCAT('eeeeeeee-0000-4000-8000-', LPAD(seq, 12, '0')), UNIX_TIMESTAMP(NOW(3)) * 1000, UNIX_TIMESTAMP(NOW(3)) * 1000 + 7200000
FROM seq_1_to_{MORE}"""


class Full:
    """Two replicas that were started with a full memory; sessions of before, that had no room in it."""

    def __init__(self, world: World, stack: ExitStack, ca: ClientCa, port: int) -> None:
        self.world = world
        world.join()
        self.both = (world.kaasd, world.kaasd.beside("second"))
        self.user = world.admin.expect(201, "POST", "/v2/users", json={"name": NAME, "role": "user", "password": PASSWORD,
                                                                       "must_change_password": False}, headers={"X-KaaS": "1"})
        self.admin = world.kaasd.admin()
        self.old = [world.kaasd.api().login_password(NAME, PASSWORD) for _ in range(4)]
        self.program = self.sign_in_program(ca, port)
        world.kaasd.stop()
        world.db.query(FILL, database="kaas")
        stack.callback(self.both[1].stop)
        for daemon in self.both:
            daemon.start()

    def sign_in_program(self, ca: ClientCa, port: int) -> Api:
        """A program that may act for people."""
        hx = next(item["id"] for item in self.world.admin.items("/v2/hx-clusters"))
        cert = ca.issue("hx")
        account = self.world.admin.expect(201, "POST", "/v2/services", json={"name": "hx", "hx_clusters": [hx], "may_delegate": True,
                                                                            "certificates": [cert.pem]})
        return HxController(f"https://127.0.0.1:{port}", self.world.kaasd.tls.ca_file, cert, hx, account["id"]).sign_in()

    def code(self, api: Api, daemon: Kaasd) -> str:
        return str(daemon.api(api.token).call("GET", "/v2/whoami").json().get("code", "good"))

    def ends(self, api: Api) -> None:
        for daemon in self.both:
            until(lambda daemon=daemon: self.code(api, daemon) == "session_ended", "the end of the session")  # type: ignore[misc]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Full]:
    ca, port = ClientCa(Path(tmp_path_factory.mktemp("ca"))), free_port()
    server = {"service_listen": f"127.0.0.1:{port}", "client_ca_file": str(ca.ca_file), "client_crl_file": str(ca.crl_file)}
    with World("mem", options={"server": server}) as world, ExitStack() as stack:
        yield Full(world, stack, ca, port)


def test_administrators_and_others_sign_on(full: Full) -> None:
    for daemon in full.both:
        assert full.code(full.admin, daemon) == "good"
        assert daemon.api().login_password("admin", full.world.kaasd.admin_password).get("/v2/vcenters")["items"]
        fresh = daemon.api().login_password(NAME, PASSWORD)
        for other in full.both:
            assert full.code(fresh, other) == "good"


def test_a_session_without_room_in_memory_is_as_good(full: Full) -> None:
    for daemon in full.both:
        assert full.code(full.old[0], daemon) == "good"
    renewed = full.old[0].as_token(full.both[1].api(full.old[0].token).expect(200, "POST", "/v2/token/refresh")["access_token"])
    for daemon in full.both:
        until(lambda daemon=daemon: full.code(renewed, daemon) == "good", "the new token")  # type: ignore[misc]


def test_a_program_acts_for_people_by_it(full: Full) -> None:
    for daemon in full.both:
        session = full.world.vcenter.control.login("viewer-east@vsphere.local")
        body = {"vcenter": full.world.vcenter.instance_uuid, "session_id": session["key"], "user_name": "VSPHERE.LOCAL\\viewer-east"}
        assert daemon.api(full.program.token).post_login("vcenter", body).status_code == 200


def test_administrators_see_and_end_it(full: Full) -> None:
    handle = hashlib.sha256(forge.claims_of(full.old[1].token or "")["sid"].encode()).hexdigest()[:16]
    assert handle in {row["id"] for row in full.both[1].ctl.json("session", "list", "--principal", NAME)}
    full.both[1].ctl.ok("session", "end", handle)
    full.ends(full.old[1])


def test_its_owner_signs_out(full: Full) -> None:
    full.both[1].api(full.old[2].token).expect(204, "POST", "/v2/logout")
    full.ends(full.old[2])


def test_a_disabled_user_is_out_and_the_feed_goes_on(full: Full) -> None:
    admin = full.both[0].api(full.admin.token)
    admin.expect(200, "PATCH", f"/v2/users/{full.user['id']}", json={"disabled": True},
                 headers={"Content-Type": "application/merge-patch+json"})
    for api in full.old:
        full.ends(api)
    for daemon in full.both:
        assert daemon.process and "change_not_applied" not in daemon.process.log
