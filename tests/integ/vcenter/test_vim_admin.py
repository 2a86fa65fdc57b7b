"""What the vCenter client does for administrators (roles, permissions, service accounts, clock), against the strict
vCenter; what it wrote is read back by its control port and by pyvmomi."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest
from env import vimclient
from env.places import WorldError, program
from env.vcenter import StrictVcenter

ACCOUNT = "VSPHERE.LOCAL\\kaas-svc-6f1c9a2e"
OWN = "com.springpath.sysmgmt"
Ask = Callable[..., list[list[str]]]


class ProbeError(Exception):
    def __init__(self, fields: list[str]) -> None:
        super().__init__(": ".join(fields))
        self.slug, self.text = fields[0], fields[1]


@pytest.fixture
def probe(fresh_vcenter: StrictVcenter) -> Iterator[Callable[..., Ask]]:
    """Makes clients: probe(user="Administrator"); they are asked command by command."""
    started: list[subprocess.Popen[str]] = []

    def begin(user: str = "Administrator") -> Ask:
        words = [fresh_vcenter.host, fresh_vcenter.port, fresh_vcenter.sha256]
        popen = subprocess.Popen([program("tests/integ/vcenter/vim_probe"), *map(str, words)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE,
                                 text=True)
        started.append(popen)

        def ask(*words: str) -> list[list[str]]:
            assert popen.stdin and popen.stdout
            popen.stdin.write("\t".join(words) + "\n")
            popen.stdin.flush()
            items: list[list[str]] = []
            for line in popen.stdout:
                kind, *fields = line.rstrip("\n").split("\t")
                if kind == "ok":
                    return items
                if kind == "error":
                    raise ProbeError(fields)
                items.append(fields)
            raise WorldError("the probe is gone")

        ask("login", fresh_vcenter.users[user].login, fresh_vcenter.users[user].password)
        return ask

    yield begin
    for popen in started:
        popen.communicate(timeout=120)
        assert popen.returncode == 0


def fails(ask: Ask, *words: str) -> ProbeError:
    with pytest.raises(ProbeError) as caught:
        ask(*words)
    return caught.value


def permissions_of(vcenter: StrictVcenter, moref: str) -> set[tuple[str, bool]]:
    """As pyvmomi reads them."""
    with vimclient.session(vcenter, vcenter.admin) as instance:
        cluster = vimclient.vim.ClusterComputeResource(moref, instance._stub)
        manager = instance.RetrieveContent().authorizationManager
        return {(row.principal, row.group) for row in manager.RetrieveEntityPermissions(cluster, False)}


def test_one_permission_is_removed(fresh_vcenter: StrictVcenter, probe: Callable[..., Ask]) -> None:
    ask = probe()
    before = permissions_of(fresh_vcenter, "domain-c7")
    cluster = ("ClusterComputeResource", "domain-c7")
    fresh_vcenter.control.permit("domain-c7", ACCOUNT)
    assert permissions_of(fresh_vcenter, "domain-c7") == before | {(ACCOUNT, False)}
    rows = [row for row in ask("permissions", *cluster) if row[0].lower() == ACCOUNT.lower()]
    assert [row[1:] for row in rows] == [["person", "-2", "down"]]
    ask("forbid", *cluster, ACCOUNT, "person")
    assert permissions_of(fresh_vcenter, "domain-c7") == before
    assert fails(ask, "forbid", *cluster, ACCOUNT, "person").slug == "not_found"
    assert fails(ask, "permissions", "ClusterComputeResource", "domain-c99999").slug == "not_found"


def test_inherited_permissions_are_not_listed(probe: Callable[..., Ask]) -> None:
    ask = probe()
    assert any(row[0].endswith("Administrators") for row in ask("permissions", "Folder", ""))
    assert not any(row[0].endswith("Administrators") for row in ask("permissions", "ClusterComputeResource", "domain-c7"))


def test_who_may_not_is_told_which_privilege(probe: Callable[..., Ask]) -> None:
    ask = probe(user="viewer-dc")
    denied = fails(ask, "forbid", "ClusterComputeResource", "domain-c7", ACCOUNT, "person")
    assert denied.slug == "upstream_denied" and "Authorization.ModifyPermissions" in denied.text


def test_a_role_goes_only_when_nobody_has_it(probe: Callable[..., Ask]) -> None:
    ask = probe()
    ask("role", "KaaS reader", ACCOUNT, "Folder.Create")
    assert fails(ask, "unrole", "KaaS reader").slug == "conflict"
    ask("forbid", "Folder", "", ACCOUNT, "person")
    ask("unrole", "KaaS reader")
    assert fails(ask, "unrole", "KaaS reader").slug == "not_found"
    ask("role", "KaaS reader", ACCOUNT, "Folder.Create")
    ask("unrole", "KaaS reader", "used")  # with whom it was given to
    assert not any(row[0].lower() == ACCOUNT.lower() for row in ask("permissions", "Folder", ""))


def test_service_account(fresh_vcenter: StrictVcenter, probe: Callable[..., Ask]) -> None:
    ask = probe()
    ask("account", OWN, "kaas-svc-6f1c9a2e@vsphere.local")
    assert fresh_vcenter.control.extensions()[OWN]["service_account"]
    assert fails(ask, "account", "com.example.nobody", "kaas-svc-6f1c9a2e@vsphere.local").slug == "not_found"
    assert fails(ask, "account", OWN, "viewer-dc@vsphere.local").slug == "upstream_error"


def test_clock_difference(fresh_vcenter: StrictVcenter, probe: Callable[..., Ask]) -> None:
    ask = probe()
    [[ahead]] = ask("time")
    assert abs(int(ahead)) < 60_000
    fresh_vcenter.control.advance_clock(600)
    [[ahead]] = ask("time")
    assert 540_000 < int(ahead) < 660_000
