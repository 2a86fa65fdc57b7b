"""A stand-in for the part of an HX controller that talks to KaaS: it signs in as a service for whoever looks at its page, and holds every
answer against what it knows: its own HX cluster, and whom it asked for."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import requests

from . import contract
from .api import LIMIT_S, Api, Unexpected
from .client_certs import ClientCert


def claims_of(token: str) -> dict[str, Any]:
    """What a token says, unverified: for looking only."""
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))  # type: ignore[no-any-return]


class HxController:
    """`url`: of the port for services; `hx_cluster_id`: of its own HX cluster at KaaS; `service_id`: its account, None while there is
    none."""

    def __init__(self, url: str, ca_file: Path, cert: ClientCert | None, hx_cluster_id: str = "", service_id: str | None = None) -> None:
        self.url = url
        self.ca_file = ca_file
        self.cert = cert
        self.hx_cluster_id = hx_cluster_id
        self.service_id = service_id

    def ask(self, path: str, body: dict[str, Any], **headers: str) -> requests.Response:
        """One call with the certificate, held against the contract."""
        answer = requests.post(self.url + path, json=body, headers={"X-KaaS": "1", **headers}, verify=str(self.ca_file),
                               cert=self.cert.pair if self.cert else None, timeout=LIMIT_S, allow_redirects=False)
        broken = contract.problems(answer)
        if broken:
            raise Unexpected(f"POST {path}: {answer.status_code} breaks the contract: {'; '.join(broken[:5])}")
        return answer

    def try_sign_in(self, vcenter: str | None = None, user_name: str | None = None) -> requests.Response:
        person = {"on_behalf_of": {"vcenter": vcenter, "user_name": user_name}} if user_name else {}
        return self.ask("/v2/login/service", person)

    def _session(self, answer: requests.Response, user_name: str | None) -> Api:
        if answer.status_code != 200:
            raise Unexpected(f"sign-on as a service: {answer.status_code} {answer.text[:500]}")
        token = answer.json()["access_token"]
        claims = claims_of(token)
        actor = {"sub": f"svc:{self.service_id}"}
        if user_name and (claims.get("act") != actor or not claims["sub"].endswith(":" + user_name.lower()) or claims["role"] != "user"):
            raise Unexpected(f"the token is not {user_name}'s by {actor}: {claims}")
        if not user_name and ("act" in claims or claims["sub"] != actor["sub"] or claims["role"] != "service"):
            raise Unexpected(f"the token is not the program's own: {claims}")
        return Api(self.url, self.ca_file, token)

    def sign_in(self) -> Api:
        """For itself."""
        return self._session(self.try_sign_in(), None)

    def sign_in_for(self, vcenter: str, user_name: str) -> Api:
        return self._session(self.try_sign_in(vcenter, user_name), user_name)

    def sign_in_by_key(self, vcenter: str, key: str, user_name: str, **headers: str) -> Api:
        body = {"vcenter": vcenter, "session_id": key, "user_name": user_name}
        return self._session(self.ask("/v2/login/vcenter", body, **headers), user_name)

    def page(self, session: Api) -> list[str]:
        """The names on its page; nothing may be there that is not on its own HX cluster."""
        clusters = list(session.items("/v2/clusters"))
        for cluster in clusters:
            places = cluster["placement"]["hx_clusters"]
            if [hx["id"] for hx in places] != [self.hx_cluster_id]:
                raise Unexpected(f"{cluster['name']} is shown on {places}")
        return [cluster["name"] for cluster in clusters]
