"""Service accounts by Kerberos: a program's ticket of Active Directory, for itself and for users of a vCenter."""

# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from env.ad import AdWorld
from env.ad.joined import add_directory
from env.full import World
from env.hx_controller import HxController, claims_of
from env.samples import visible_to
from env.wait import until

pytestmark = pytest.mark.slow
PRINCIPAL = "svc-hx-east@AD.TEST"
VIEWER = "VSPHERE.LOCAL\\viewer-east"


@dataclass
class Place:
    ad: AdWorld
    world: World
    account: dict[str, Any]
    cache: Path
    hx_east: str

    def token(self, cache: Path | None = None) -> str:
        return base64.b64encode(self.ad.kerberos.token(cache or self.cache, "HTTP@localhost")).decode()

    def sign_in(self, body: dict[str, Any], **headers: str) -> requests.Response:
        controller = HxController(self.world.kaasd.url, self.world.kaasd.tls.ca_file, None, self.hx_east, self.account["id"])
        return controller.ask("/v2/login/service", body, **headers)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("krb")
    with AdWorld() as ad:
        keytab = folder / "service.keytab"
        keytab.write_bytes(Path(ad.keytab("service")).read_bytes())
        keytab.chmod(0o600)
        options = {"auth": {"kerberos": {"keytab": str(keytab), "replay_cache": str(folder / "rcache")}}, "hx": {"read_interval": "0s"}}
        with World("k", options=options, env=ad.env) as world:
            world.join()
            admin = world.kaasd.admin()
            hx = next(item["id"] for item in admin.items("/v2/hx-clusters") if item["vsphere_cluster"]["moref"] == "domain-c7")
            account = admin.expect(201, "POST", "/v2/services",
                                   json={"name": "hx-east", "kerberos": PRINCIPAL, "hx_clusters": [hx], "may_delegate": True})
            yield Place(ad, world, account, ad.kinit("svc-hx-east", keytab=ad.keytab("hx-east")), hx)


def test_a_ticket_signs_the_program_in_by_header_and_by_body(place: Place) -> None:
    for answer in (place.sign_in({}, Authorization=f"Negotiate {place.token()}"), place.sign_in({"token": place.token()})):
        assert answer.status_code == 200, answer.text
        assert answer.headers["WWW-Authenticate"].startswith("Negotiate ")  # the mutual reply
        token = answer.json()["access_token"]
        assert (claims_of(token)["sub"], claims_of(token)["role"]) == (place.account["principal_id"], "service")
        assert place.world.kaasd.api(token).names() == visible_to("viewer-east")


def test_it_acts_for_a_user_by_a_ticket(place: Place) -> None:
    person = {"on_behalf_of": {"vcenter": place.world.vcenter.instance_uuid, "user_name": VIEWER}}
    for answer in (place.sign_in(person, Authorization=f"Negotiate {place.token()}"), place.sign_in({**person, "token": place.token()})):
        assert answer.status_code == 200, answer.text
        token = answer.json()["access_token"]
        assert claims_of(token)["act"] == {"sub": place.account["principal_id"]}
        assert place.world.kaasd.api(token).names() == visible_to("viewer-east")


def test_it_hands_a_user_over_by_a_code(place: Place) -> None:
    address = {"address": "127.0.0.1", "port": 9, "user_name": "admin", "password": "S3cret of HX", "thumbprint_sha256": "00" * 32}
    place.world.admin.expect(201, "PUT", f"/v2/hx-clusters/{place.hx_east}/connection", json=address)
    body = {"on_behalf_of": {"vcenter": place.world.vcenter.instance_uuid, "user_name": VIEWER}, "hand_over": "code",
            "hx_cluster": place.hx_east}
    for answer in (place.sign_in(body, Authorization=f"Negotiate {place.token()}"), place.sign_in({**body, "token": place.token()})):
        assert answer.status_code == 200, answer.text
        handed = answer.json()
        assert (handed.keys(), handed["origin"]) == ({"code", "expires_in", "origin"}, "https://127.0.0.1:9")
        assert answer.headers["WWW-Authenticate"].startswith("Negotiate ")
        token = place.world.kaasd.api().post_login("code", {"code": handed["code"], "origin": handed["origin"]}).json()["access_token"]
        assert claims_of(token)["act"] == {"sub": place.account["principal_id"]}
        assert place.world.kaasd.api(token).get("/v2/whoami")["name"] == VIEWER
        assert place.world.kaasd.api(token).names() == visible_to("viewer-east")


def test_a_token_works_once_and_people_are_no_programs(place: Place) -> None:
    token = place.token()
    assert place.sign_in({"token": token}).status_code == 200
    again = place.sign_in({"token": token})
    assert (again.status_code, again.json()["code"]) == (401, "invalid_credentials")
    assert place.sign_in({"token": place.token(place.ad.kinit("alice"))}).status_code == 401
    assert place.sign_in({"token": place.token(place.ad.kinit("svc-hx-west", keytab=place.ad.keytab("hx-west")))}).status_code == 401
    bare = place.sign_in({})
    assert (bare.status_code, bare.headers["WWW-Authenticate"]) == (401, "Negotiate")


def test_an_account_found_under_another_name_is_not_the_program(place: Place) -> None:
    """Without an account "gone" the KDC gives tickets of that name to "gone$", and to whoever has it as UPN."""
    admin = place.world.kaasd.admin()
    for name, attribute, value in (("gone-1", "sAMAccountName", "gone-1$"), ("gone-2", "userPrincipalName", "gone-2@AD.TEST")):
        admin.expect(201, "POST", "/v2/services", json={"name": name, "kerberos": f"{name}@AD.TEST", "hx_clusters": [place.hx_east]})
        place.ad.create(f"taker-of-{name}", "Taken-1234-over")
        place.ad.set(f"taker-of-{name}", attribute, value)
        cache = place.ad.kerberos.kinit(f"{name}@AD.TEST", "Taken-1234-over")
        answer = place.sign_in({"token": place.token(cache)})
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_credentials"), answer.text
        line = admin.get("/v2/audit")["items"][0]
        assert (line["principal_name"], line["reason"]) == (f"{name}@AD.TEST", "account_name")


def test_an_account_found_in_other_case_is_the_program(place: Place) -> None:
    """The KDC puts the name into the ticket as it was asked for, and as the account has it into the statement."""
    place.ad.create("prüfer", "Taken-1234-over")
    body = {"name": "checker", "kerberos": "PRÜFER@AD.TEST", "hx_clusters": [place.hx_east]}
    made = place.world.kaasd.admin().expect(201, "POST", "/v2/services", json=body)
    cache = place.ad.kerberos.kinit("PRÜFER@AD.TEST", "Taken-1234-over")
    answer = place.sign_in({"token": place.token(cache)})
    assert answer.status_code == 200, answer.text
    assert claims_of(answer.json()["access_token"])["sub"] == made["principal_id"]


def test_without_the_statement_of_the_domain_a_name_is_not_the_program(place: Place) -> None:
    """Which account the KDC found for a name stands in the statement only."""
    admin = place.world.kaasd.admin()
    admin.expect(201, "POST", "/v2/services", json={"name": "gone-3", "kerberos": "gone-3@AD.TEST", "hx_clusters": [place.hx_east]})
    place.ad.create("taker-of-gone-3", "Taken-1234-over")
    place.ad.set("taker-of-gone-3", "userPrincipalName", "gone-3@AD.TEST")
    cache = place.ad.forge(place.ad.kerberos.kinit("gone-3@AD.TEST", "Taken-1234-over"), no_pac=True)
    assert place.sign_in({"token": place.token(cache)}).status_code == 200, "without a directory of the realm the name has to do"
    add_directory(admin, place.ad)
    until(lambda: place.sign_in({"token": place.token(cache)}).status_code == 403, "the directory of the realm")
    line = admin.get("/v2/audit")["items"][0]
    assert (line["principal_name"], line["reason"]) == ("gone-3@AD.TEST", "no_pac")
    assert place.sign_in({"token": place.token()}).status_code == 200
