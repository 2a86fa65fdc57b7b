"""kaasd in the test domain: its settings, and people of the domain signing in by clients that share no code with it."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

from ..api import Api, Unexpected
from ..process import run
from .domain import AdWorld
from .openldap import LdapWorld

LOGIN = "/v2/login/kerberos"


def kerberos_options(ad: AdWorld, **more: Any) -> dict[str, Any]:
    """Settings with which people of the domain sign in by Kerberos; `more` are further members of auth.kerberos."""
    return {"auth": {"kerberos": {"keytab": str(ad.keytab("service")), "replay_cache": str(ad.scratch.path / "rcache"), **more}}}


def add_directory(admin: Api, ad: AdWorld, name: str = "ad", **more: Any) -> None:
    """The domain as a directory of kaasd: asked by both addresses with the account svc-reader; `more` are other members of the body."""
    body = {"name": name, "kind": "ad", "urls": [ad.ldaps_url, ad.second_ldap_url], "ca_file": str(ad.ca_file), "search_base": ad.base_dn,
            "bind": "password", "bind_dn": ad.user("svc-reader").principal, "bind_password": ad.passwords["svc-reader"],
            "realms": [ad.realm], **more}
    admin.expect(201, "POST", "/v2/ldap", headers={"X-KaaS": "1"}, json={key: value for key, value in body.items() if value is not None})


def by_keytab(ad: AdWorld) -> dict[str, Any]:
    """For add_directory: the service's own key in place of a password. Kerberos seals the connection or TLS does, Samba does not take both
    at once on the port of LDAPS."""
    return {"urls": [ad.ldap_url, ad.second_ldap_url], "bind": "keytab", "keytab": str(ad.keytab("client")),
            "principal": ad.user("svc-kaas").principal, "bind_dn": None, "bind_password": None}


def add_openldap(admin: Api, ldap: LdapWorld, name: str = "lab") -> None:
    body = {"name": name, "kind": "openldap", "urls": [ldap.ldap_url, ldap.ldaps_url], "ca_file": str(ldap.ca_file),
            "search_base": ldap.people_dn, "group_base": ldap.groups_dn, "bind": "password", "bind_dn": ldap.reader_dn,
            "bind_password": ldap.reader_password}
    admin.expect(201, "POST", "/v2/ldap", headers={"X-KaaS": "1"}, json=body)


def post_token(api: Api, token: bytes, *, in_body: bool = False) -> requests.Response:
    text = base64.b64encode(token).decode()
    if in_body:
        return api.post_login("kerberos", {"token": text})
    return api.as_token(None).call("POST", LOGIN, headers={"X-KaaS": "1", "Authorization": f"Negotiate {text}"})


def signed_in(api: Api, answer: requests.Response) -> Api:
    if answer.status_code != 200:
        raise Unexpected(f"sign-on: {answer.status_code} {answer.text[:1000]}")
    return api.as_token(answer.json()["access_token"])


def map_role(admin: Api, ad: AdWorld, name: str, role: str) -> str:
    """Gives a group or a person of the domain a role; hands back the mapping's id."""
    made = admin.expect(201, "POST", "/v2/role-mappings", json={"subject_id": f"sid:{ad.sid(name)}", "role": role})
    return str(made["id"])


def curl_negotiate(url: str, ca_file: Path, env: Mapping[str, str], *words: str) -> tuple[int, dict[str, Any], str]:
    """curl --negotiate as a person would type it: status, JSON, and the WWW-Authenticate of the last answer. An HTTP status alone is no
    error."""
    done = run(["curl", "--silent", "--show-error", "--negotiate", "--user", ":", "--cacert", ca_file, "-H", "X-KaaS: 1", "-X", "POST",
                "--write-out", "\n%{http_code} %header{www-authenticate}", *words, url], env=env)
    if done.returncode:
        raise Unexpected(f"curl --negotiate: {done.stderr.strip()}")
    body, _, tail = done.stdout.rpartition("\n")
    status, _, offered = tail.partition(" ")
    return int(status), json.loads(body) if body.strip().startswith("{") else {}, offered
