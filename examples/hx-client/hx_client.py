#!/usr/bin/env python3
"""How a program of HyperFlex finds Harmony KaaS by nothing but its vCenter: an example to read and to take from. README.md tells more.
The secret is one line on standard input: the password of --user, else the id of a vCenter session (the value of vmware_soap_session).
Exit status: 0; 1 when something is refused, with what and a remedy on standard error; 2 for wrong arguments."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import getpass
import hashlib
import http.client
import json
import re
import ssl
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn
from urllib.parse import urlencode, urlsplit

from pyVim.connect import SmartStubAdapter
from pyVmomi import vim, vmodl

LIMIT_S = 90  # of a call; longer than kaasd waits for a change (30)


def refuse(what: str, remedy: str) -> NoReturn:
    sys.exit(f"hx_client: {what}\nremedy: {remedy}")


def sha256_of(pem: str) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.strip())).hexdigest()


def trust_only(host: str, port: int, sha256: str, told_by: str, remedy: str) -> ssl.SSLContext:
    """TLS that believes one certificate, whoever issued it and whatever name it bears."""
    pem = ssl.get_server_certificate((host, port), timeout=LIMIT_S)
    if (shown := sha256_of(pem)) != sha256:
        refuse(f"{host}:{port} shows another certificate ({shown}) than {told_by} tells ({sha256})", remedy)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=pem)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # its issuer need not be known
    return context


def begin_session(options: argparse.Namespace) -> vim.ServiceInstanceContent:
    """No secret leaves before certificate and instance UUID were compared."""
    url = urlsplit(f"https://{options.vcenter}")
    host, port = url.hostname or "", url.port or 443
    tls = trust_only(host, port, options.sha256.replace(":", "").lower(), "--sha256", "compare it with what the vCenter's own console shows"
                     ) if options.sha256 else ssl.create_default_context(cafile=options.ca_file)
    stub = SmartStubAdapter(host=host, port=port, sslContext=tls)
    content = vim.ServiceInstance("ServiceInstance", stub).RetrieveContent()
    if options.vcenter_uuid not in (None, here := content.about.instanceUuid):
        refuse(f"the vCenter at {options.vcenter} is another one: its instance UUID is {here}, not {options.vcenter_uuid}",
               "give the address of the vCenter that is meant, or the instance UUID of this one")
    secret = (getpass.getpass("Secret: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if options.user:
        content.sessionManager.Login(options.user, secret)
    else:
        stub.cookie = f'vmware_soap_session="{secret}"; Path=/; HttpOnly; Secure'
    return content


def find_record(content: vim.ServiceInstanceContent, key: str | None) -> tuple[vim.Extension, vim.Extension.ServerInfo]:
    found = [(record, server) for record in content.extensionManager.extensionList for server in record.server
             if server.type == "KAAS_API" and key in (None, record.key)]
    if not found:
        refuse("no extension record at the vCenter has a server of type KAAS_API" + (f" and the key {key}" if key else ""),
               "have the administrator of KaaS register it there: kaasctl vcenter register")
    if len(found) > 1:
        refuse("several extension records at the vCenter have a server of type KAAS_API: " + ", ".join(one.key for one, _ in found),
               "say by --key which one is meant, or have the one that nobody knows unregistered")
    return found[0]


def check_record(record: vim.Extension, server: vim.Extension.ServerInfo, expected: str | None) -> tuple[str, str]:
    """Which installation wrote it (a mix-up shows; whoever may write records may write this, too), and SHA-256 of kaasd's certificate."""
    owner = next((pair.value for group in record.resourceList if group.module == "kaas" for pair in group.data
                  if pair.key == "owner.installation"), None)
    if not owner:
        refuse(f"the extension record {record.key} was not written by KaaS: it names no installation (owner.installation)",
               "find out who wrote it; the administrator of KaaS puts it right by kaasctl vcenter register --take-over")
    if expected not in (None, owner):
        refuse(f"the extension record {record.key} is that of another installation of KaaS: {owner}, not {expected}",
               "ask the administrator of KaaS; if it was replaced, expect the new one (--installation)")
    told = (server.serverThumbprint or "").replace(":", "").lower()
    sha256 = sha256_of(server.serverCertificate) if server.serverCertificate else told
    if len(sha256) != 64 or told not in ("", sha256):
        refuse(f"the extension record {record.key} names no SHA-256, or not that of the certificate that it holds",
               "have the administrator of KaaS look at it: kaasctl doctor --vcenter VCENTER")
    return owner, sha256


class Kaas:
    """kaasd where the record says it is. Every connection is held against the certificate of the record."""

    def __init__(self, content: vim.ServiceInstanceContent, options: argparse.Namespace) -> None:
        record, server = find_record(content, options.key)
        (owner, sha256), url = check_record(record, server, options.installation), urlsplit(server.url)
        self.host, self.port, self.path = url.hostname or "", int(options.service_port or url.port or 443), url.path.rstrip("/")
        self.tls = trust_only(self.host, self.port, sha256, f"the extension record {record.key}", "run kaasctl doctor --vcenter VCENTER")
        self.headers = {"X-KaaS": "1", "Connection": "close", "Content-Type": "application/json"}
        print(f"KaaS at {self.host}:{self.port}, installation {owner}, certificate {sha256}", file=sys.stderr)

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any, str]:
        """Status, body, and the cursor to watch with."""
        line = http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=LIMIT_S)
        line.request(method, f"{self.path}{path}?{urlencode(query)}", json.dumps(body) if body else None, self.headers)
        with line.getresponse() as answer:  # it closes the connection, too
            value = json.loads(answer.read() or "{}")
        if answer.status >= 300:
            which = ", ".join(one["path"] for one in value.get("candidates", []) if "path" in one)
            refuse(f"KaaS refuses {method} {path}: {answer.status} {value.get('detail') or value.get('title', '')}",
                   f"say which: {which}" if which else value.get("remedy") or f"its audit log has request {value.get('request_id')}")
        return answer.status, value, answer.headers.get("KaaS-Watch-Cursor", "")

    def take_token(self, path: str, body: Any = None) -> None:
        given = self.call("POST", path, body)[1]
        self.headers["Authorization"], self.renew_at = f"Bearer {given['access_token']}", time.monotonic() + given["expires_in"] / 2

    def sign_in(self, content: vim.ServiceInstanceContent) -> None:
        """With a clone ticket of the person's session, which is good once; the session itself goes to nobody."""
        here, ticket = content.about.instanceUuid, content.sessionManager.AcquireCloneTicket()
        self.take_token("/login/vcenter", {"vcenter": here, "clone_ticket": ticket})
        who = self.call("GET", "/whoami")[1]
        if who["vcenter_id"] != here:
            refuse(f"KaaS signed in somebody of another vCenter: {who['vcenter_id']}, not {here}", "ask the administrator of KaaS")
        print(f"signed in as {who['name']}", file=sys.stderr)

    def show(self, page: dict[str, Any], query: dict[str, Any]) -> None:
        for one in page["items"]:
            print(f"{one['name']}\t{one['state']}\t{one['kubernetes_version']}", flush=True)
        if page["next_cursor"]:
            self.show(self.call("GET", "/clusters", cursor=page["next_cursor"], **query)[1], query)


def list_clusters(content: vim.ServiceInstanceContent, options: argparse.Namespace) -> None:
    """The list, and again when it has changed: kaasd answers then, so nothing is polled."""
    kaas, query, cursor = Kaas(content, options), {"hx_cluster": options.hx_cluster, "limit": 500}, ""
    kaas.sign_in(content)
    try:
        while options.follow >= 0:
            if time.monotonic() > kaas.renew_at:
                kaas.take_token("/token/refresh")
            status, page, cursor = kaas.call("GET", "/clusters", watch=cursor, **query)
            if status == 200:  # 204: nothing has changed
                print(f"{page['total']} clusters on {options.hx_cluster}", flush=True)
                kaas.show(page, query)
                options.follow -= 1
    finally:
        with suppress(SystemExit):  # it may have ended, which was said then
            kaas.call("POST", "/logout")


def ask_code(content: vim.ServiceInstanceContent, options: argparse.Namespace) -> None:
    """As the service account of HX. The page hands the code to the panel within a minute; no token of the person is ever here."""
    kaas, (user, origin, *pair) = Kaas(content, options), options.code_for
    kaas.tls.load_cert_chain(*pair)
    given = kaas.call("POST", "/login/service", {"on_behalf_of": {"vcenter": content.about.instanceUuid, "user_name": user},
                                                 "hand_over": "code", "hx_cluster": options.hx_cluster, "origin": origin})[1]
    rules = {"code": ('"[0-9a-f]{32}"', "32 hexadecimal digits"), "expires_in": ("[1-9]|[1-5][0-9]|60", "1 to 60 seconds"),
             "origin": (re.escape(json.dumps(origin)), origin)}  # patterns of what JSON writes
    for member, (pattern, wanted) in rules.items():  # what is no code for this page goes nowhere: it may be a token
        if not isinstance(given, dict) or not re.fullmatch(pattern, json.dumps(given.get(member))):
            refuse(f"KaaS gave no code for this page: its {member} is not {wanted}", "ask the administrator of KaaS: kaasctl hx show HX")
    print(json.dumps({member: given[member] for member in rules}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hx_cluster", metavar="HX", help="name, HX uuid, management address or DATACENTER/CLUSTER of the HX cluster")
    for name, told in (("--vcenter", "HOST or HOST:PORT"), ("--vcenter-uuid", "the instance UUID that the vCenter has to have"),
                       ("--ca-file", "CA of the vCenter's certificate, where the system does not know it"),
                       ("--sha256", "or SHA-256 of the certificate itself"), ("--key", "of the record, where several are of KaaS"),
                       ("--user", "signs in by password; without it the session that is given is used"),
                       ("--installation", "the id of the installation of KaaS that the record has to be of"),
                       ("--service-port", "with --code-for: the port of server.service_listen, at the host of the record")):
        parser.add_argument(name, help=told, required=name == "--vcenter")
    parser.add_argument("--code-for", nargs=4, metavar=("USER", "ORIGIN", "CERTIFICATE", "KEY"), help=r"no list, but a one-time code for "
                        r"USER (VSPHERE.LOCAL\anna) at the page of ORIGIN (https://HOST[:PORT]), asked for with this client certificate")
    parser.add_argument("--follow", type=int, default=0, metavar="N", help="wait for so many changes of the list")
    options = parser.parse_args()
    try:
        content = begin_session(options)
        try:
            (ask_code if options.code_for else list_clusters)(content, options)
        finally:
            if options.user:
                content.sessionManager.Logout()
    except vmodl.MethodFault as no:  # InvalidLogin, NotAuthenticated, NoPermission
        refuse(f"the vCenter refuses: {type(no).__name__.split('.')[-1]} ({no.msg})", "another password, or a session that is alive")
    except (OSError, ValueError, http.client.HTTPException) as no:
        refuse(f"no connection that can be trusted: {no}", "look at addresses and ports, and at the CA or SHA-256 of the vCenter")


if __name__ == "__main__":
    main()
