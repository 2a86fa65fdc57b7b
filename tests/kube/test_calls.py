"""The daemon's calls (src/k8s/k8s.h) at a real API server: what it answers, refuses, and says in its own words."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest
from env.kube import Kube, WatchProbe
from env.kube.client import MERGE

NAMESPACES = "/api/v1/namespaces"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture
def probe(kube: Kube) -> Iterator[WatchProbe]:
    with WatchProbe(kube) as made:
        yield made


def named(kind: str, name: str, **more: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **more}


def test_things_are_read_made_changed_and_removed(kube: Kube, probe: WatchProbe) -> None:
    assert probe.call("GET", f"{NAMESPACES}/kube-system")["reply"]["metadata"]["uid"] == kube.api.uid()
    maps = f"{NAMESPACES}/default/configmaps"
    made = probe.call("POST", maps, named("ConfigMap", "called", data={"a": "1"}))["reply"]
    assert kube.api.get(f"{maps}/called")["metadata"]["uid"] == made["metadata"]["uid"]
    probe.call("PATCH", f"{maps}/called", {"data": {"a": None, "b": "2"}}, MERGE)
    assert kube.api.get(f"{maps}/called")["data"] == {"b": "2"}
    assert probe.call("DELETE", f"{maps}/called")["reply"]["status"] == "Success"
    assert kube.api.ask("GET", f"{maps}/called").status_code == 404


def test_a_token_for_an_account_is_given_and_works(kube: Kube, probe: WatchProbe) -> None:
    probe.call("POST", f"{NAMESPACES}/default/serviceaccounts", named("ServiceAccount", "caller"))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token = probe.call("POST", f"{NAMESPACES}/default/serviceaccounts/caller/token", request)["reply"]["status"]["token"]
    probe.do(f"token {token}")
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
              "spec": {"resourceAttributes": {"verb": "list", "resource": "nodes"}}}
    assert probe.call("POST", REVIEWS, review)["reply"]["status"]["allowed"] is False


REFUSALS = {  # method, path, body; code of ours, and what the server says
    "nothing there": ("GET", f"{NAMESPACES}/none", None, "not_found", 'namespaces "none" not found'),
    "there already": ("POST", NAMESPACES, named("Namespace", "default"), "exists", 'namespaces "default" already exists'),
    "no such name": ("POST", NAMESPACES, named("Namespace", "Not a name"), "unprocessable", "Invalid value"),
    "not JSON of Kubernetes": ("POST", NAMESPACES, {"kind": "Other", "apiVersion": "v1"}, "upstream_protocol", "answers 400"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_has_the_words_of_the_server(probe: WatchProbe, what: str) -> None:
    method, path, body, code, text = REFUSALS[what]
    told = probe.call(method, path, body)
    assert told["code"] == code and text in told["text"] and told["remedy"]


def test_strangers_and_people_without_rights_are_told_apart(kube: Kube, probe: WatchProbe) -> None:
    probe.do("token wrong")
    told = probe.call("GET", f"{NAMESPACES}/default")
    assert told["code"] == "unauthenticated" and "401" in told["text"]
    probe.do(f"token {kube.tokens['ada']}")
    told = probe.call("GET", "/api/v1/nodes")
    assert told["code"] == "upstream_denied" and 'User "ada" cannot list resource "nodes"' in told["text"]


def test_a_kept_connection_that_a_restart_has_broken_is_made_anew(kube: Kube, probe: WatchProbe) -> None:
    uid = kube.api.uid()
    assert probe.call("GET", f"{NAMESPACES}/kube-system")["reply"]["metadata"]["uid"] == uid
    kube.kill()
    assert probe.call("GET", f"{NAMESPACES}/kube-system")["code"] == "upstream_unreachable"
    kube.start()
    assert probe.call("GET", f"{NAMESPACES}/kube-system")["reply"]["metadata"]["uid"] == uid
