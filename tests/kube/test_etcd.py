"""The daemon's client of etcd, at real members: who is there, who votes, taking out and giving a vote."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from env.kube.etcd import Etcd, Member
from env.places import Scratch, WorldError, program
from env.process import run
from env.wait import until

NOBODY = 12345


class Refusal(Exception):
    def __init__(self, told: dict[str, str]) -> None:
        super().__init__(told["text"])
        self.code = told["error"]


@pytest.fixture(scope="module")
def etcd(scratch: Scratch) -> Iterator[Etcd]:
    made = Etcd(scratch, members=3)
    yield made
    made.close()


def ask(member: Member, *what: str | int) -> Any:
    etcd = member.etcd
    asked = run([program("tests/integ/etcd_probe"), member.url, etcd.ca.ca_file, etcd.cert.cert_file, etcd.cert.key_file, *map(str, what)])
    assert asked.returncode in (0, 1), asked.stderr
    told = json.loads(asked.stdout or "null")
    if asked.returncode:
        raise Refusal(told)
    return told


def refused(member: Member, *what: str | int) -> Refusal:
    with pytest.raises(Refusal) as raised:
        ask(member, *what)
    return raised.value


def ids(etcd: Etcd) -> dict[str, str]:
    """As etcd's gateway tells them to others."""
    return {one.get("name", ""): one["ID"] for one in etcd.call("cluster/member/list")["members"]}


def learner(etcd: Etcd, name: str) -> Member:
    """A further one, known to the others, not started. A cluster takes one once all have been connected for some seconds."""
    member = Member(etcd, name)

    def is_added() -> bool:
        try:
            return bool(etcd.call("cluster/member/add", {"peerURLs": [member.peer_url], "isLearner": True}))
        except WorldError as error:
            if "unhealthy cluster" not in str(error):
                raise
            return False

    until(is_added, "members that are connected")
    return member


def test_all_members_are_listed_by_each(etcd: Etcd) -> None:
    for member in etcd.members:
        listed = ask(member, "list")
        assert {one["name"]: one["id"] for one in listed} == ids(etcd)
        assert {one["peer"] for one in listed} == {one.peer_url for one in etcd.members}
        assert [one["name"] for one in listed if one["is_asked"]] == [member.name]
        assert not any(one["is_learner"] for one in listed)


def test_a_member_tells_how_it_is(etcd: Etcd) -> None:
    told = [ask(member, "status") for member in etcd.members]
    assert [one["id"] for one in told] == [ids(etcd)[member.name] for member in etcd.members]
    assert len({one["leader"] for one in told}) == 1 and told[0]["leader"] in ids(etcd).values()
    assert told[0]["version"].startswith("3.6.") and told[0]["db_bytes"] > 0 and told[0]["index"] > 0


def test_a_learner_is_one_until_it_is_promoted(etcd: Etcd) -> None:
    member = learner(etcd, "further")
    (row,) = [one for one in ask(etcd.members[0], "list") if one["is_learner"]]
    assert row["name"] == "" and row["peer"] == member.peer_url
    failure = refused(etcd.members[0], "promote", row["id"])
    assert failure.code == "unavailable" and "in sync with leader" in str(failure)
    assert refused(etcd.members[0], "promote", ids(etcd)[etcd.members[0].name]).code == "conflict", "it votes already"
    etcd.members.append(member)
    member.spawn(is_further=True)
    try:
        until(lambda: member.is_healthy() or ask(etcd.members[0], "list")[-1]["name"], "its start")
        until(lambda: promoted(etcd.members[0], row["id"]), "its vote")
        assert not any(one["is_learner"] for one in ask(etcd.members[0], "list"))
    finally:
        ask(etcd.members[0], "remove", row["id"])
        etcd.members.remove(member)
        member.kill()
    assert len(ask(etcd.members[0], "list")) == 3
    assert refused(etcd.members[0], "remove", row["id"]).code == "not_found"


def promoted(member: Member, member_id: str) -> bool:
    try:
        ask(member, "promote", member_id)
    except Refusal as failure:
        assert failure.code == "unavailable", failure
        return False
    return True


def test_nobody_is_not_found(etcd: Etcd) -> None:
    assert refused(etcd.members[0], "remove", NOBODY).code == "not_found"
    assert refused(etcd.members[0], "promote", NOBODY).code == "not_found"


def test_without_quorum_members_are_listed_and_not_changed(etcd: Etcd) -> None:
    first, *others = etcd.members
    known = ids(etcd)
    for member in others:
        member.kill()
    try:
        until(lambda: ask(first, "status")["leader"] == "0", "no leader")
        assert len(ask(first, "list")) == 3
        assert refused(first, "remove", known[others[0].name]).code == "upstream_timeout"
        assert refused(others[0], "list").code == "upstream_unreachable"
    finally:
        for member in others:
            member.spawn()
        for member in etcd.members:
            member.wait_healthy()


def test_a_certificate_of_another_ca_is_refused(etcd: Etcd, scratch: Scratch) -> None:
    other = Etcd(scratch, "other-etcd")
    try:
        pair, member = other.cert, etcd.members[0]
        asked = run([program("tests/integ/etcd_probe"), member.url, etcd.ca.ca_file, pair.cert_file, pair.key_file, "list"])
        assert asked.returncode == 1 and json.loads(asked.stdout)["error"] in ("upstream_unreachable", "upstream_protocol", "tls_untrusted")
        asked = run([program("tests/integ/etcd_probe"), member.url, other.ca.ca_file, pair.cert_file, pair.key_file, "list"])
        assert asked.returncode == 1 and json.loads(asked.stdout)["error"] == "tls_untrusted"
    finally:
        other.close()
