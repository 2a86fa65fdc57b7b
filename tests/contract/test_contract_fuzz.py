"""Every operation of docs/openapi.yaml with hundreds of made-up requests, right and wrong ones, by three people: nobody, a viewer and
the administrator. Whatever comes, the answer is one that the contract allows for that request and for that person.

KAAS_FUZZ_CASES sets the number of requests for each operation and person, KAAS_FUZZ_SEED makes others of them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from env import fuzz_cases
from env.fuzz_cases import Fuzzed
from env.fuzz_fill import PEOPLE, Filler, Place
from env.fuzz_proofs import WAYS
from env.fuzz_wire import Unsendable, Wire, prepare
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.transport import Response
from schemathesis.schemas import APIOperation

CASES = int(os.environ.get("KAAS_FUZZ_CASES", "300"))
SEED = int(os.environ.get("KAAS_FUZZ_SEED", "1"))
SCHEMA = fuzz_cases.load()
OPERATIONS = fuzz_cases.operations(SCHEMA)
load_all_checks()
SHAPE = [CHECKS.get_one(name) for name in (
    "content_type_conformance", "response_headers_conformance", "unsupported_method")]
SCHEMA_OF_BODY = CHECKS.get_one("response_schema_conformance")
STATUS = CHECKS.get_one("status_code_conformance")
WRONG = [CHECKS.get_one(name) for name in ("negative_data_rejection", "missing_required_header")]
# Told once for all operations, in the introduction of the document and not at each of them.
ANYWHERE = {405, 413, 414, 429, 431}
# What may come of a request that the contract allows: it is done, or it meets the state of things, or a rule that no schema can tell.
FITTING = {200, 201, 202, 204, 302, 304, 308, 401, 403, 404, 409, 412, 422, 429, 502}
FOUND_MAX = 5
# One request of thirty at least must come to its end; fewer where that takes long or where the state of things forbids it: a job that is
# under way keeps out the next one, and no API server of Kubernetes is here that could be connected to.
LEAST_DONE = {"setVcenterPassword": 0, "rotateMasterKey": 0, "acceptRestore": 0, "examineVcenter": 3, "rotateVcenterCertificate": 3,
              "rotateAllVcenterCertificates": 3, "installSolution": 3, "registerVcenter": 1, "logout": 3, "setVcenterLoginAccount": 1,
              "removeVcenterLoginAccount": 3, "testVcenterLoginAccount": 3, "connectCluster": 0, "setClusterConnection": 0}
TEXT_BODIES = {"importClusters"}  # what is sent is a text, whatever was made up
# They ask, exchange a token for the next one, or give who has one a cookie of the same session.
CHANGES_NOTHING = {"refreshToken", "makeSessionCookie", "testDirectory", "testHxConnection", "testHxPeer", "examineVcenter",
                   "rescanVcenter", "showPluginItems", "testVcenterLoginAccount", "checkProvider", "testClusterConnection"}
# Dry runs, imports of nothing but mistakes, and what is so already: no line, nothing was changed.
MAY_CHANGE_NOTHING = {"importClusters", "updateService", "updateUser", "reportClusterStatus", "trustVcenter", "unregisterVcenter",
                      "registerVcenter", "rotateVcenterCertificate", "applyProvider", "removeClusterConnection"}
NEGOTIATED = {"loginKerberos", "loginService"}
# After these people must sign in again: somebody ended their session, or their key is gone.
ENDS_SESSIONS = {"rotateSigningKey", "endSession"}
NO_TOKEN = {"refreshToken": 204, "logout": 204}  # the answer to somebody who is nobody and asks in vain


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    with Place() as whole:
        yield whole


@pytest.fixture(scope="session")
def wires(place: Place) -> Iterator[dict[str, Wire]]:
    kaasd = place.world.kaasd
    opened = {who: Wire(kaasd.port, kaasd.tls.ca_file) for who in PEOPLE}
    yield opened
    for wire in opened.values():
        wire.close()


class Run:
    """One operation: sends, judges, counts, and gathers what is wrong."""

    def __init__(self, place: Place, wires: dict[str, Wire], operation: APIOperation) -> None:
        self.place = place
        self.wires = wires
        self.operation = operation
        self.name: str = operation.definition.raw["operationId"]
        self.public = operation.definition.raw.get("security", SCHEMA.raw_schema["security"]) == []
        self.changes = operation.method.upper() not in ("GET", "HEAD", "OPTIONS") and self.name not in CHANGES_NOTHING
        self.filler = Filler(place, self.name, operation.path, SEED)
        self.sent: Counter[str] = Counter()
        self.answers: Counter[tuple[str, int]] = Counter()
        self.found: dict[str, str] = {}
        self.seen: set[tuple[int, bytes]] = set()
        self.done = 0
        self.ways: Counter[str] = Counter()  # by which somebody came in
        self.changed: set[str] = set()  # ids of requests that changed something

    def all(self) -> None:
        self.place.renew(self.name)
        for fuzzed in fuzz_cases.cases(self.operation, CASES, SEED):
            self.filler.fill(fuzzed)
            try:
                prepared = prepare(fuzzed.case, self.place.world.kaasd.url, fuzzed.noise)
                for who in PEOPLE:
                    self.one(fuzzed, prepared, who)
            except Unsendable:
                continue
            if len(self.found) >= FOUND_MAX:
                return

    def one(self, fuzzed: Fuzzed, prepared: Any, who: str) -> None:
        response = self.wires[who].send(prepared, self.authorization(fuzzed, who))
        self.sent[who] += 1
        self.answers[who, response.status_code] += 1
        own = response.request.method == self.operation.method.upper()
        self.done += own and (who == "admin" or self.public) and response.status_code < 400
        self.ways[fuzzed.way] += response.status_code < 300
        self.note(response, who)
        for complaint in self.complaints(fuzzed, response, who):
            self.found.setdefault(complaint.split("\n")[0] + f" [{response.status_code}]", self.told(complaint, response, who))
        self.follow(response, who)

    def authorization(self, fuzzed: Fuzzed, who: str) -> str:
        """A proof in the header takes the place of none."""
        token = self.place.token(who)
        return f"Bearer {token}" if token else fuzzed.proof

    def note(self, response: Response, who: str) -> None:
        """What the audit log must tell of."""
        if who == "nobody" and response.status_code == NO_TOKEN.get(self.name):
            return
        request_id = response.headers["kaas-request-id"][0]
        if response.status_code < 300 and response.request.method == self.operation.method.upper() and self.changes:
            self.changed.add(request_id)

    def unwritten(self) -> set[str]:
        """Requests that changed something and have no line."""
        rows = self.place.world.db.query("SELECT DISTINCT request_id FROM audit", database="kaas")
        missing = self.changed - {row[0] for row in rows}
        return missing if self.name not in MAY_CHANGE_NOTHING or missing == self.changed else set()

    def told(self, complaint: str, response: Response, who: str) -> str:
        request = response.request
        fields = {name: value[:60] for name, value in request.headers.items()}
        return (f"{who}: {request.method} {request.path_url[:300]}\n  {fields}\n  body {request.body!r:.800}\n"
                f"  -> {response.status_code} {response.headers} {response.content[:600]!r}\n  {complaint[:1000]}")

    def follow(self, response: Response, who: str) -> None:
        """What the answer changes for the requests after it."""
        if self.name == "refreshToken" and response.status_code == 200:
            self.place.tokens[who] = response.json()["access_token"]
        elif self.name == "changeOwnPassword" and response.status_code == 204 and who == "admin":
            self.place.password = json.loads(response.request.body or b"{}")["new_password"]
        elif self.name == "logout" and response.status_code == 204 or self.name in ENDS_SESSIONS and response.status_code == 401:
            self.place.forget(who)

    def complaints(self, fuzzed: Fuzzed, response: Response, who: str) -> Iterator[str]:
        status = response.status_code
        yield from self.by_schemathesis(fuzzed, response, who)
        if status >= 500 and status not in (502, 504):
            yield f"a fault of the service: {status}"
        if status in (503, 429) and "retry-after" not in response.headers:
            yield f"{status} without Retry-After"
        own = response.request.method == self.operation.method.upper()
        if who == "nobody" and own and not self.public and status not in (400, 401, 404, 405, 413, 414, 431, NO_TOKEN.get(self.name)):
            yield f"{status} for nobody"
        if who == "admin" and fuzzed.positive and status not in FITTING and not self.excused(fuzzed, response):
            yield f"a request that the contract allows is refused: {status}"
        if who == "viewer" and status < 400:
            yield from (f"the viewer is told of {one}" for one in self.place.secrets_from_viewer()
                        if one.encode() in response.content and one not in (response.request.url or ""))

    def by_schemathesis(self, fuzzed: Fuzzed, response: Response, who: str) -> Iterator[str]:
        checks = list(SHAPE)
        if response.status_code not in ANYWHERE:
            checks.append(STATUS)
        body = (response.status_code, response.content)
        if body not in self.seen:  # the document itself is large, and the same each time
            self.seen.add(body)
            checks.append(SCHEMA_OF_BODY)
        if (who == "admin" or self.public) and self.name not in TEXT_BODIES:
            checks += WRONG
        try:
            fuzzed.case.validate_response(response, checks=checks)
        except FailureGroup as group:
            yield from (f"{one.title}: {one.message}" for one in group.exceptions if isinstance(one, Failure))
        except Failure as one:
            yield f"{one.title}: {one.message}"

    def excused(self, fuzzed: Fuzzed, response: Response) -> bool:
        """Rules that stand in the descriptions: a cursor belongs to the query it came from, a datacenter to a vCenter and to no cluster
        beside it, `show`, `forget` and `when_back` exclude each other, not every base64 is a Kerberos token, and there are numbers that are
        too large."""
        query = fuzzed.case.query or {}
        detail = response.json()["detail"] if response.status_code == 400 else ""
        return ("cursor" in query and '"cursor"' in detail or "datacenter" in query and '"datacenter"' in detail
                or "forget" in query and '"forget"' in detail or "when_back" in query and '"when_back"' in detail
                or self.name in NEGOTIATED and detail == "this is no token of Negotiate" or "a number is too large" in detail)


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_is_asked_the_answer_is_in_the_contract(place: Place, wires: dict[str, Wire], name: str) -> None:
    run = Run(place, wires, OPERATIONS[name])
    run.all()
    if name == "rotateSigningKey":
        place.settle_keys()
    counts = {who: {status: n for (w, status), n in sorted(run.answers.items()) if w == who} for who in PEOPLE}
    assert not run.found, f"{counts}\n" + "\n\n".join(run.found.values())
    assert all(run.sent[who] >= CASES for who in PEOPLE), run.sent
    assert run.done >= min(CASES // 30, LEAST_DONE.get(name, CASES)), f"hardly any request was done, so little was tried: {counts}"
    shut = [way for way in WAYS.get(name, ()) if not run.ways[way]]
    assert not shut, f"nobody came in by {', '.join(shut)}: {counts}"
    assert not run.unwritten(), "the audit log does not tell of these requests"


def test_every_operation_that_gives_a_token_has_its_ways_in() -> None:
    token = {"$ref": "#/components/responses/Token"}
    giving = {name for name, operation in OPERATIONS.items() if operation.definition.raw["responses"].get("200") == token}
    assert giving and not giving - set(WAYS), "say in env/fuzz_proofs.py how one comes in by these"
