"""The test domain itself: its people get the tickets and groups that they should, it changes and breaks as told, nothing of it stays."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.ad import AdWorld, LdapWorld, MitWorld, keeper, openldap, people
from env.places import TOP, WorldError
from env.process import run
from env.wait import until

pytestmark = pytest.mark.slow
DEEP = {"grp-leaf", "grp-mid", "grp-uni", "grp-deep"}
GROUPS = {
    "alice": DEEP, "bob": {"kaas-viewers"}, "ada": {"kaas-viewers", "kaas-admins"}, "carol": {"grp-cycle-a", "grp-cycle-b"},
    "mallory": set(), "many": set(people.MANY),
    "zoë": {"kaas-viewers", "ops süd (ä)"}, "o'hara (ops)": {"kaas-viewers"}, "olga": {"kaas-viewers"},
    "none": set(), "svc-hx-east": {"kaas-services"},
}


@pytest.fixture(scope="module")
def ad() -> Iterator[AdWorld]:
    with AdWorld() as domain:
        yield domain


@pytest.fixture(scope="module")
def mit(ad: AdWorld) -> Iterator[MitWorld]:
    with MitWorld(ad) as realm:
        yield realm


def own(sids: set[str]) -> set[str]:
    """Without what the directory adds by itself: well-known and built-in groups."""
    return {sid for sid in sids if sid.startswith("S-1-5-21-")}


def pac_of(ad: AdWorld, cache: Path, spn: str = "HTTP@localhost") -> tuple[set[str], set[str]]:
    """Which PAC attributes MIT's acceptor hands out, and the SIDs of the groups in it."""
    attributes = ad.kerberos.accepted(ad.keytab("service"), ad.kerberos.token(cache, spn))["attributes"]
    if "urn:mspac:logon-info" not in attributes:
        return set(attributes), set()
    told = ad.oracle.ask("unpack", data=base64.b64decode(attributes["urn:mspac:logon-info"]).hex())
    return set(attributes), own({f"{told['domain_sid']}-{rid}" for rid, _ in told["groups"]} | {sid for sid, _ in told["sids"]})


def search(ad: AdWorld, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return run(["ldapsearch", "-LLL", "-N", *words, "-b", ad.base_dn, "(sAMAccountName=alice)", "dn"],
               env={**ad.env, "LDAPTLS_CACERT": str(ad.ca_file), **(env or {})})


def ask_root(ad: AdWorld, limit_s: float = 0.3) -> bytes:
    """The first bytes of an answer to an anonymous bind (RFC 4511 section 4.2), without a library."""
    with socket.create_connection(("127.0.0.1", ad.ports["ldap"]), timeout=limit_s) as line:
        line.sendall(bytes.fromhex("300c020101600702010304008000"))
        return line.recv(100)


@pytest.mark.parametrize("name", sorted(GROUPS))
def test_a_ticket_and_the_directory_tell_the_same_groups(ad: AdWorld, name: str) -> None:
    expected = {ad.sid(group) for group in GROUPS[name]} | {f"{ad.domain_sid}-513"}
    assert own(set(ad.token_groups(name))) == expected
    assert pac_of(ad, ad.kinit(name))[1] == expected


@pytest.mark.parametrize("name", ["dora", "eve", "newbie"])
def test_who_may_not_sign_in_gets_no_ticket(ad: AdWorld, name: str) -> None:
    with pytest.raises(WorldError, match=r"revoked|password"):
        ad.kinit(name)


def test_keytabs_hold_the_keys_they_are_for(ad: AdWorld) -> None:
    def kinds(name: str) -> set[str]:
        return {line.split("(")[1].rstrip(") ") for line in run(["klist", "-kte", ad.keytab(name)]).stdout.splitlines() if "(" in line}

    assert kinds("service") == {"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96"}
    assert kinds("rc4") == {"DEPRECATED:arcfour-hmac"}
    assert ad.kerberos.accepted(ad.keytab("rc4"), ad.token("bob", "HTTP@rc4.ad.test"))["name"] == "bob@AD.TEST"
    assert ad.kerberos.accepted(ad.keytab("nopac"), ad.token("bob", "HTTP@nopac.ad.test"))["attributes"] == {}
    assert ad.kinit("svc-hx-east", keytab=ad.keytab("hx-east")).exists()


def test_ldap_asks_for_encryption(ad: AdWorld, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(ad.passwords["svc-reader"])
    secret.chmod(0o600)
    simple = ("-x", "-D", ad.user("svc-reader").principal, "-y", str(secret))
    assert "dn: " in search(ad, "-H", ad.ldaps_url, *simple).stdout
    assert "dn: " in search(ad, "-ZZ", "-H", ad.second_ldap_url, *simple).stdout
    assert search(ad, "-H", ad.ldap_url, *simple).returncode == 8  # strongerAuthRequired
    cache = ad.kinit("svc-kaas", keytab=ad.keytab("client"))
    assert "dn: " in search(ad, "-H", ad.ldap_url, "-Q", "-Y", "GSSAPI", env={"KRB5CCNAME": f"FILE:{cache}"}).stdout


def test_changes_count_at_once(ad: AdWorld) -> None:
    ad.create("temp", "First-Passw0rd-1", ("kaas-viewers",))
    assert ad.sid("kaas-viewers") in ad.token_groups("temp")
    ad.remove_member("kaas-viewers", "temp")
    assert ad.sid("kaas-viewers") not in ad.token_groups("temp")
    ad.set_password("temp", "Second-Passw0rd-2")
    with pytest.raises(WorldError):
        ad.kinit("temp", "First-Passw0rd-1")
    before = ad.show("temp")
    assert "OU=Branch" in ad.move("temp", "OU=Branch")
    ad.rename("temp", "temp2")
    ad.kinit("temp2")
    assert ad.show("temp2")["sid"] == before["sid"]
    ad.disable("temp2")
    with pytest.raises(WorldError, match="revoked"):
        ad.kinit("temp2")
    ad.enable("temp2")
    ad.kinit("temp2")
    ad.delete("temp2")
    with pytest.raises(WorldError):
        ad.kinit("temp2")


def test_a_new_key_of_the_service(ad: AdWorld, tmp_path: Path) -> None:
    token, version = ad.token("bob", "HTTP@peer.ad.test"), ad.show("svc-peer")["kvno"]
    ad.set_password("svc-peer", "Another-Passw0rd-1")
    assert ad.show("svc-peer")["kvno"] == version + 1
    with pytest.raises(WorldError, match="not found in keytab"):
        ad.kerberos.accepted(ad.keytab("peer"), ad.token("bob", "HTTP@peer.ad.test"))
    ad.export(ad.keytab("peer"), "HTTP/peer.ad.test")
    assert ad.kerberos.accepted(ad.keytab("peer"), token)["name"] == "bob@AD.TEST"
    assert ad.kerberos.accepted(ad.keytab("peer"), ad.token("bob", "HTTP@peer.ad.test"))["name"] == "bob@AD.TEST"
    only_new = ad.export(tmp_path / "new.keytab", "HTTP/peer.ad.test")
    with pytest.raises(WorldError):
        ad.kerberos.accepted(only_new, token)


def test_forged_tickets(ad: AdWorld) -> None:
    """MIT's acceptor believes the ticket in each case; of the PAC only what bears a good signature."""
    cache = ad.kinit("bob")
    admins = f"{ad.domain_sid}-512"
    whole = {"urn:mspac:logon-info", "urn:mspac:client-info", "urn:mspac:"}
    assert pac_of(ad, ad.forge(cache)) == (whole, {f"{ad.domain_sid}-513", ad.sid("kaas-viewers")})
    assert pac_of(ad, ad.forge(cache, rid=[513, 512])) == (set(), set())
    assert admins in pac_of(ad, ad.forge(cache, rid=[513, 512], sign=True))[1]
    assert pac_of(ad, ad.forge(cache, no_pac=True)) == (set(), set())
    assert pac_of(ad, ad.forge(cache, drop=[1], sign=True)) == (whole - {"urn:mspac:logon-info"}, set())
    other = ad.oracle.ask("pack", user="bob", domain_sid="S-1-5-21-9-9-9", groups=[7], sids=["S-1-5-21-8-8-8-1"])
    assert pac_of(ad, ad.forge(cache, logon=other, sign=True))[1] == {"S-1-5-21-9-9-9-7", "S-1-5-21-8-8-8-1"}
    with pytest.raises(WorldError, match="expired"):
        pac_of(ad, ad.forge(cache, starttime="20260101000000Z", endtime="20260101000000Z"))


def test_a_clock_that_is_wrong(ad: AdWorld) -> None:
    for skew_s in (600, -600):
        with pytest.raises(WorldError, match="skew"):
            ad.kerberos.accepted(ad.keytab("service"), ad.kerberos.token(ad.kinit("bob"), skew_s=skew_s))


def test_channel_bindings_and_bare_tokens(ad: AdWorld) -> None:
    cache = ad.kinit("bob")
    for more in ({"bindings": b"tls-server-end-point:x"}, {"mech": "krb5"}, {"mutual": False}):
        assert ad.kerberos.accepted(ad.keytab("service"), ad.kerberos.token(cache, **more))["name"] == "bob@AD.TEST"
    told = ad.kerberos.accepted(ad.keytab("service"), ad.kerberos.token(cache, keep="k"))
    assert ad.kerberos.answer("k", base64.b64decode(told["token"])) == (b"", True)


def test_synthetic_pacs(ad: AdWorld) -> None:
    made = {"user": "x", "full_name": "Zoë 𝒵", "domain": "D", "domain_sid": "S-1-5-21-1-2-3", "rid": 0, "primary": 515,
            "groups": [[513, 7], [1200, 0x10]], "sids": [["S-1-5-21-7-7-7-1104", 7], ["S-1-18-1", 7]],
            "resource_domain": "S-1-5-21-4-5-6", "resource": [[1300, 0x20000007]]}
    assert ad.oracle.ask("unpack", data=ad.oracle.ask("pack", **made)) == {**made, "flags": 0x220}


def test_outages(ad: AdWorld) -> None:
    ad.kill()
    with pytest.raises(WorldError, match="KDC"):
        ad.kinit("bob")
    ad.start()
    ad.kinit("bob")
    with ad.closed("kdc"), pytest.raises(WorldError, match="KDC"):
        ad.kinit("bob")
    before = ad.taken()["ldap"]
    with ad.closed("ldap"), pytest.raises(ConnectionRefusedError):
        ask_root(ad)
    with ad.closed("ldap", state="silent"), pytest.raises(TimeoutError):
        ask_root(ad)
    until(lambda: ad.taken()["ldap"] == before + 1, "the one connection that the silent door took")  # the refusing one takes none
    ad.freeze()
    with pytest.raises(TimeoutError):
        ask_root(ad)
    ad.thaw()
    assert ask_root(ad, 60)


def test_a_realm_without_groups_and_three_alices(ad: AdWorld, mit: MitWorld) -> None:
    mit.export(ad.keytab("service"), "HTTP/localhost")
    told = {mit.kerberos.accepted(ad.keytab("service"), mit.token(name))["name"]: name for name in ("alice", "ALICE")}
    assert set(told) == {"alice@MIT.TEST", "ALICE@MIT.TEST"}
    attributes = mit.kerberos.accepted(ad.keytab("service"), mit.token("alice"))["attributes"]
    assert set(attributes) == {"urn:mspac:client-info", "urn:mspac:"}
    assert ad.kerberos.accepted(ad.keytab("service"), ad.token("alice"))["name"] == "alice@AD.TEST"


def test_plain_ldap() -> None:
    with LdapWorld() as ldap:
        assert ldap.member_of("alice") == [openldap.group_dn("grp-leaf")]  # direct ones only
        assert len(ldap.member_of("many")) == 300
        ldap.add_member("kaas-admins", "bob")
        assert openldap.group_dn("kaas-admins") in ldap.member_of("bob")
        ldap.remove_member("kaas-admins", "bob")
        bob, uuid = openldap.person_dn("bob"), ldap.uuid(openldap.person_dn("bob"))
        ldap.rename(bob, "cn=Bobby")
        assert ldap.uuid(f"cn=Bobby,{openldap.PEOPLE_DN}") == uuid
        clear = run(["ldapwhoami", "-x", "-H", ldap.ldap_url, "-D", openldap.person_dn("alice"), "-w", "anything"])
        assert clear.returncode == 13  # confidentialityRequired
        ldap.server.kill()
        ldap.start()


def test_it_ends_with_who_started_it(tmp_path: Path) -> None:
    """Killed in a way that it cannot notice."""
    script = ("import sys; from env.ad import AdWorld\n"
              "with AdWorld() as ad: print(ad.pid, ad._keeper.pid, ad.scratch.path, flush=True); sys.stdin.read()")
    starter = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(TOP / "tests"), "TMPDIR": str(tmp_path)})
    assert starter.stdout
    *pids, folder = starter.stdout.readline().split()
    starter.send_signal(signal.SIGKILL)
    starter.communicate()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the end of the domain controller")
    shutil.rmtree(folder)


def test_two_at_once_each_in_its_way(ad: AdWorld) -> None:
    """Root needs no namespace: then a second domain goes without."""
    with AdWorld("any" if os.geteuid() else "loopback") as other:
        assert other.domain_sid == ad.domain_sid  # copies of one
        other.disable("bob")
        ad.kinit("bob")
        with pytest.raises(WorldError, match="revoked"):
            other.kinit("bob")


def test_it_says_when_neither_way_works(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> str:
        raise PermissionError("no")

    monkeypatch.setattr(keeper, "unshare", refused)
    monkeypatch.setattr(keeper, "low_port_address", refused)
    with pytest.raises(SystemExit, match="user namespaces .* or root"):
        keeper.own_network("any")
