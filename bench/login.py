#!/usr/bin/env python3
"""Whole sign-ons by Kerberos (PAC, role, session and its line in the audit trail) beside Apache with mod_auth_gssapi, which hands out a
file; in turns.

Both get the same tokens of a Samba domain, made ahead, over TLS with the same certificate, on 4 kept connections, with a replay cache of
the same kind. mariadbd's CPU is shown apart: Apache keeps nothing. The raw rounds go to bench/out/login.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
from contextlib import ExitStack
from pathlib import Path

import requests
from lib.cpu import cpu_ns, process_ns
from lib.figures import Report, ratio
from lib.listworld import ANY_NUMBER
from world.ad import AdWorld
from world.kaasd import Kaasd
from world.mariadb import Mariadb
from world.places import Scratch, free_port, program
from world.process import Process

MODULES = Path("/usr/lib/apache2/modules")
APACHE = Path("/usr/sbin/apache2")
APACHE_CONF = """ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
Mutex file:{folder}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule authz_user_module {modules}/mod_authz_user.so
LoadModule socache_shmcb_module {modules}/mod_socache_shmcb.so
LoadModule ssl_module {modules}/mod_ssl.so
LoadModule auth_gssapi_module {modules}/mod_auth_gssapi.so
{user}Listen 127.0.0.1:{port}
StartServers 2
MinSpareThreads 4
MaxSpareThreads 150
KeepAlive On
MaxKeepAliveRequests 0
LogLevel error
ErrorLog {folder}/error.log
SSLEngine on
SSLCertificateFile {cert}
SSLCertificateKeyFile {key}
DocumentRoot {folder}/www
<Location />
  AuthType GSSAPI
  AuthName kaas
  GssapiAllowedMech krb5
  GssapiSSLonly On
  GssapiCredStore keytab:{keytab}
  Require valid-user
</Location>
"""
# Tokens from one ticket, each another one: SPNEGO with mutual proof, as browsers and curl send.
MAKE_TOKENS = """
import base64, sys, gssapi
name = gssapi.Name("HTTP@localhost", gssapi.NameType.hostbased_service)
creds = gssapi.Credentials(usage="initiate", store={b"ccache": sys.argv[1].encode()})
flags = [gssapi.RequirementFlag.mutual_authentication]
for _ in range(int(sys.argv[2])):
    context = gssapi.SecurityContext(name=name, creds=creds, mech=gssapi.OID.from_int_seq("1.3.6.1.5.5.2"), usage="initiate", flags=flags)
    print(base64.b64encode(context.step()).decode())
"""
BODY = b'{"signed_in": true, "padding": "' + b"x" * 560 + b'"}\n'  # as long as our answer


class Apache:
    """mod_auth_gssapi before a file."""

    def __init__(self, scratch: Scratch, ad: AdWorld, kaasd: Kaasd) -> None:
        folder = scratch.path / "apache"
        (folder / "www").mkdir(parents=True)
        (folder / "www/login").write_bytes(BODY)
        scratch.path.chmod(0o755)
        folder.chmod(0o777)
        keytab = folder / "apache.keytab"
        keytab.write_bytes(ad.keytab("service").read_bytes())
        keytab.chmod(0o644)
        self.port = free_port()
        user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
        if user:
            user = "LoadModule unixd_module " + str(MODULES / "mod_unixd.so") + "\n" + user if (MODULES / "mod_unixd.so").exists() else user
        conf = folder / "apache.conf"
        conf.write_text(APACHE_CONF.format(folder=folder, modules=MODULES, port=self.port, user=user, cert=kaasd.tls.cert_file,
                                           key=kaasd.tls.key_file, keytab=keytab))
        krb5 = folder / "krb5.conf"
        krb5.write_text(ad.krb5_conf.read_text())
        krb5.chmod(0o644)
        env = {"KRB5_CONFIG": str(krb5), "KRB5RCACHENAME": f"file2:{folder}/rcache"}
        self.process = Process("apache", [APACHE, "-f", conf, "-DFOREGROUND"], scratch.log, env)
        self.process.wait_until(self._answers, "its answer")

    def _answers(self) -> bool:
        try:
            return requests.get(f"https://127.0.0.1:{self.port}/login", verify=False, timeout=5).status_code == 401
        except requests.RequestException:
            return False

    def pids(self) -> list[int]:
        return [self.process.pid]


class Floor:
    """The libraries that we stand on, alone (bench/login_floor.c): what nobody who uses them can go below."""

    def __init__(self, scratch: Scratch, bench: Bench, name: str, database: Path | None = None, *, is_shared: bool = False) -> None:
        tls, cache = bench.kaasd.tls, f"file2:{scratch.path}/{name}.rcache"
        words = [program("bench/login_floor"), tls.cert_file, tls.key_file, bench.ad.keytab("service"), cache, database or "",
                 "shared" if is_shared else ""]
        self.name, self.bench, self.uses_database = name, bench, database is not None
        self.process = subprocess.Popen([str(word) for word in words if word], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, **bench.ad.env})
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def stop(self) -> None:
        self.process.communicate()

    def round(self, count: int) -> dict[str, float]:
        database = [self.bench.database] if self.uses_database else []
        tokens, pid = make_tokens(self.bench.ad, self.bench.cache, count), self.process.pid
        began, began_db = process_ns(pid), cpu_ns(database)
        seconds = load(self.port, "GET", "/login", self.bench.connections, tokens)
        return {"per_s": count / seconds, "cpu_us": (process_ns(pid) - began) / 1000 / count,
                "mariadbd_cpu_us": (cpu_ns(database) - began_db) / 1000 / count}


def make_tokens(ad: AdWorld, cache: Path, count: int) -> str:
    return subprocess.run(["/usr/bin/python3", "-c", MAKE_TOKENS, f"FILE:{cache}", str(count)], check=True, stdout=subprocess.PIPE,
                          text=True, env={**os.environ, **ad.env}).stdout


def load(port: int, method: str, path: str, connections: int, tokens: str) -> float:
    """Seconds for all of them."""
    said = subprocess.run([program("bench/login_load"), "127.0.0.1", str(port), method, path, str(connections)], check=True, input=tokens,
                          stdout=subprocess.PIPE, text=True).stdout
    seconds, good, bad = said.split()
    if int(bad) or int(good) != tokens.count("\n"):
        raise SystemExit(f"port {port}: {good} good answers, {bad} bad ones")
    return float(seconds)


def database_pid(db: Mariadb) -> int:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"mariadbd" in words[0] and any(str(db.folder).encode() in word for word in words):
            return int(path.parent.name)
    raise SystemExit("the database's process is not found")


class Bench:
    def __init__(self, stack: ExitStack, connections: int) -> None:
        self.connections = connections
        self.ad = stack.enter_context(AdWorld())
        scratch = Scratch("login")
        stack.callback(scratch.remove)
        self.db = Mariadb(scratch)
        stack.callback(self.db.close)
        kerberos = {"keytab": str(self.ad.keytab("service")), "replay_cache": str(scratch.path / "rcache")}
        options = {"log": {"level": "notice"}, "server": {"requests_per_address": 0}, "auth": {**ANY_NUMBER["auth"], "kerberos": kerberos}}
        self.kaasd = Kaasd(scratch, self.db.socket, options=options, env=self.ad.env)
        self.kaasd.init()
        self.kaasd.start()
        stack.callback(self.kaasd.stop)
        self.kaasd.admin().expect(201, "POST", "/v2/role-mappings",
                                  json={"subject_id": f"sid:{self.ad.sid('grp-deep')}", "role": "user"})
        self.apache = Apache(scratch, self.ad, self.kaasd)
        stack.callback(self.apache.process.stop)
        self.cache = self.ad.kinit("alice")
        self.database = database_pid(self.db)
        self.stack, self.scratch = stack, scratch

    def floors(self) -> list[Floor]:
        made = [Floor(self.scratch, self, "libraries"), Floor(self.scratch, self, "one row", self.db.socket),
                Floor(self.scratch, self, "shared rows", self.db.socket, is_shared=True)]
        for floor in made:
            self.stack.callback(floor.stop)
        return made

    def kaasd_round(self, count: int) -> dict[str, float]:
        assert self.kaasd.process
        tokens, pid = make_tokens(self.ad, self.cache, count), self.kaasd.process.pid
        began, began_db = cpu_ns([pid]), cpu_ns([self.database])
        seconds = load(self.kaasd.port, "POST", "/v2/login/kerberos", self.connections, tokens)
        return {"per_s": count / seconds, "cpu_us": (cpu_ns([pid]) - began) / 1000 / count,
                "mariadbd_cpu_us": (cpu_ns([self.database]) - began_db) / 1000 / count}

    def apache_round(self, count: int) -> dict[str, float]:
        tokens, pids = make_tokens(self.ad, self.cache, count), self.apache.pids()
        began = cpu_ns(pids)
        seconds = load(self.apache.port, "GET", "/login", self.connections, tokens)
        return {"per_s": count / seconds, "cpu_us": (cpu_ns(pids) - began) / 1000 / count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--count", type=int, default=2000, help="sign-ons in each half of a round")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--floor", action="store_true", help="also the libraries alone, without the database, with a row each, and sharing")
    args = parser.parse_args()
    report = Report("login")
    if not APACHE.exists() or not (MODULES / "mod_auth_gssapi.so").exists():
        parser.error("Apache with mod_auth_gssapi is missing: apt-get install apache2-bin libapache2-mod-auth-gssapi")
    with ExitStack() as stack:
        bench = Bench(stack, args.connections)
        halves = {"kaasd": bench.kaasd_round, "apache": bench.apache_round}
        halves |= {floor.name: floor.round for floor in (bench.floors() if args.floor else [])}
        raw: dict[str, list[dict[str, float]]] = {name: [] for name in halves}
        for half in halves.values():
            half(200)
        for number in range(args.rounds):
            for name in sorted(halves, reverse=bool(number % 2)):
                raw[name].append(halves[name](args.count))
    for name, rows in raw.items():
        for key in rows[0]:
            print(f"{name:11} {key:16} {statistics.median(row[key] for row in rows):10.1f}")
    for name in sorted(set(raw) - {"kaasd", "apache"}):
        print(f"{name:11} of Apache's sign-ons a second: {ratio(raw[name], raw['apache'], 'per_s')}")
    report.goal("throughput_ratio", "sign-ons a second, of Apache's with mod_auth_gssapi", ratio(raw["kaasd"], raw["apache"], "per_s"), 1.5)
    report.goal("cpu_ratio", "CPU per sign-on, of Apache's", ratio(raw["kaasd"], raw["apache"], "cpu_us"), 0.7, at_most=True)
    report.values["mariadbd_cpu_us"] = statistics.median(row["mariadbd_cpu_us"] for row in raw["kaasd"])
    report.print()
    report.write(raw)


if __name__ == "__main__":
    main()
