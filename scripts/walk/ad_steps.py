"""The steps of the walk that need the test domain: people of Active Directory sign in by password and by Kerberos, and see what their
groups were granted."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from urllib.parse import quote

from env.ad import AdWorld
from env.ad.joined import curl_negotiate
from env.samples import EAST, visible_to
from env.wait import until

from .curl import Answer
from .steps import HX_EAST, Steps, Walk, must, with_more

DIRECTORY = "ad"
ROLES = (("kaas-admins", "admin"), ("grp-deep", "user"))  # ada is in the one, alice in the other by way of three more


def domain(walk: Walk) -> AdWorld:
    if walk.ad is None:
        raise AssertionError("the walk has no domain")
    return walk.ad


def start_domain(walk: Walk) -> None:
    walk.ad = walk.stack.enter_context(AdWorld())


def domain_answers(walk: Walk) -> None:
    """The domain controller gives somebody a ticket."""
    must(domain(walk).kinit("ada").is_file(), "no ticket cache")


def ldap_set(walk: Walk) -> None:
    """kaasctl ldap set: both addresses, by the service's own key in place of a password."""
    ad = domain(walk)
    walk.kaasd.ctl.ok("ldap", "set", DIRECTORY, "--kind", "ad", "--url", ad.ldap_url, "--url", ad.second_ldap_url, "--ca", str(ad.ca_file),
                      "--search-base", ad.base_dn, "--bind", "keytab", "--keytab", str(ad.keytab("client")),
                      "--principal", ad.user("svc-kaas").principal, "--realm", ad.realm)
    listed = walk.curl.ok(200, "GET", "/v2/ldap", token=walk.admin_token)
    must(listed.jq("[.items[].name]") == [DIRECTORY], f"the list of directories: {listed.body[:300]}")


def ldap_test(walk: Walk) -> None:
    told = walk.kaasd.ctl.run("--output", "json", "ldap", "test", DIRECTORY, "alice")
    bad = [row for row in json.loads(told.stdout or "{}").get("findings", []) if row["status"] != "ok"]
    must(told.returncode == 0 and not bad, f"kaasctl ldap test: {told.stderr} {bad}")


def role_mapping(walk: Walk) -> None:
    """kaasctl role-mapping add for two groups, and a grant on an HX cluster for one of them."""
    ad = domain(walk)
    for group, role in ROLES:
        walk.kaasd.ctl.ok("role-mapping", "add", f"sid:{ad.sid(group)}", "--role", role)
    listed = walk.curl.ok(200, "GET", "/v2/hx-clusters", token=walk.admin_token)
    hx = listed.jq('[.items[] | select(.vsphere_cluster.moref == "domain-c7").id][0]')
    body = {"principal_id": f"sid:{ad.sid('grp-deep')}", "object_kind": "hx_cluster", "object_id": hx}
    walk.curl.ok(201, "POST", "/v2/grants", token=walk.admin_token, body=body)
    walk.granted_hx = hx


def login_ad_password(walk: Walk) -> None:
    """ada signs in with the password of the domain and is an administrator, as her group says."""
    ad = domain(walk)
    body = {"username": "ada", "password": ad.passwords["ada"], "source": DIRECTORY}

    def answer_with_role() -> Answer | None:
        answer = walk.curl.call("POST", "/v2/login/password", body=body)
        return None if answer.status == 403 else answer  # the mapping counts within a second

    answer = until(answer_with_role, "the role of ada's group")
    must(answer.status == 200, f"ada is refused: {answer.status} {answer.body[:300]}")
    token = answer.jq(".access_token")
    who = walk.curl.ok(200, "GET", "/v2/whoami", token=token)
    must(who.jq("[.id, .role]") == [ad.user("ada").id, "admin"], f"signed in as {who.body[:300]}")
    names = walk.curl.ok(200, "GET", "/v2/clusters", token=token).jq("[.items[].name]")
    must(names == visible_to("admin"), f"ada sees {names}")


def login_kerberos(walk: Walk) -> None:
    """alice has a ticket; curl --negotiate signs in with it, and kaasd proves itself to curl."""
    ad = domain(walk)
    env = {**ad.env, "KRB5CCNAME": f"FILE:{ad.kinit('alice')}"}
    status, told, offered = curl_negotiate(f"{walk.kaasd.url}/v2/login/kerberos", walk.kaasd.tls.ca_file, env)
    must(status == 200, f"curl --negotiate: {status} {told}")
    must(offered.startswith("Negotiate "), f"no answer to alice's ticket: {offered}")
    walk.ad_token = told["access_token"]
    who = walk.curl.ok(200, "GET", "/v2/whoami", token=walk.ad_token)
    must(who.jq("[.id, .role]") == [ad.user("alice").id, "user"], f"signed in as {who.body[:300]}")


def list_ad(walk: Walk) -> None:
    """alice sees what runs on the HX cluster that her group was granted, and nothing else."""
    here = f"/v2/clusters?hx_cluster_id={quote(walk.granted_hx)}"
    names = walk.curl.ok(200, "GET", here, token=walk.ad_token).jq("[.items[].name]")
    must(names == visible_to("admin", EAST), f"alice sees {names} on {HX_EAST}")
    everywhere = walk.curl.ok(200, "GET", "/v2/clusters", token=walk.ad_token).jq("[.items[].name]")
    must(everywhere == names, f"alice sees {everywhere}")


def who_can_come(walk: Walk) -> str:
    """What somebody at a shell or a browser of this machine needs."""
    ad = domain(walk)
    people = "\n".join(f"  {name:8} {ad.passwords[name]}   {what}" for name, what in (
        ("alice", "in grp-leaf, by it in grp-deep: role user, sees HX-East"), ("ada", "in kaas-admins: role admin"),
        ("bob", "in kaas-viewers, which has no role yet: kaasctl role-mapping add")))
    settings = "\n".join("  " + line for line in ad.krb5_conf.read_text().splitlines())
    return f"""Active Directory {ad.realm}   LDAP {ad.ldaps_url}   CA {ad.ca_file}   directory "{DIRECTORY}" of kaasd
{people}
  group SIDs: {", ".join(f"{group} {ad.sid(group)}" for group in ("kaas-viewers", "kaas-admins", "grp-deep"))}

Kerberos, from a shell of this machine:
  export KRB5_CONFIG={ad.krb5_conf} KRB5CCNAME=FILE:{ad.scratch.path}/you
  kinit alice
  curl --negotiate -u : --cacert {walk.kaasd.tls.ca_file} -H 'X-KaaS: 1' -X POST {walk.kaasd.url}/v2/login/kerberos
  chromium --auth-server-allowlist=127.0.0.1 {walk.kaasd.url}/ui/     (Firefox: network.negotiate-auth.trusted-uris)
or, in place of KRB5_CONFIG, in your own /etc/krb5.conf:
{settings}"""


# after the step of this name
AFTER: dict[str, Steps] = {"world": (("ad-domain", start_domain, domain_answers),),
         "cluster-add": (("ldap-set", None, ldap_set), ("ldap-test", None, ldap_test), ("role-mapping", None, role_mapping),
                         ("login-ad-password", None, login_ad_password), ("login-kerberos", None, login_kerberos),
                         ("list-ad", None, list_ad))}


def with_ad(steps: Steps) -> Steps:
    """The steps with those of the domain at their places."""
    return with_more(steps, AFTER)
