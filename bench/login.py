#!/usr/bin/env python3
"""Whole sign-ons by Kerberos (PAC, role, session and its line in the audit log) beside Apache with mod_auth_gssapi, which hands out a
file: alone, and with mod_session_dbd, which keeps a session for each in the same database; in turns.

All get the same tokens of a Samba domain, made ahead, over TLS with the same certificate and cipher, on 4 kept connections, with a replay
cache of the same kind. mariadbd's CPU is shown apart. After each half the rows are counted: one for each sign-on in each table that is
named for it. The raw rounds go to bench/out/login.json."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import requests
from env.ad import AdWorld
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch, free_port, program
from env.process import Process
from lib.cpu import cpu_ns
from lib.figures import Report, ratio
from lib.listworld import ANY_NUMBER

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
{user}{database}Listen 127.0.0.1:{port}
StartServers 2
MinSpareThreads 4
MaxSpareThreads 150
KeepAlive On
MaxKeepAliveRequests 0
LogLevel error
ErrorLog /dev/stderr
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
{sessions}</Location>
"""
# Statements as in the manual of mod_session_dbd, and so many connections to the database that none is opened while it is measured.
APACHE_DATABASE = """LoadModule dbd_module {modules}/mod_dbd.so
LoadModule session_module {modules}/mod_session.so
LoadModule session_dbd_module {modules}/mod_session_dbd.so
DBDriver mysql
DBDParams "sock={socket},user=root,dbname=apache"
DBDMin {pool}
DBDKeep {pool}
DBDMax {pool}
DBDPrepareSQL "DELETE FROM session WHERE sid = %s" deletesession
DBDPrepareSQL "UPDATE session SET value = %s, expiry = %lld, sid = %s WHERE sid = %s" updatesession
DBDPrepareSQL "INSERT INTO session (value, expiry, sid) VALUES (%s, %lld, %s)" insertsession
DBDPrepareSQL "SELECT value FROM session WHERE sid = %s AND (expiry = 0 OR expiry > %lld)" selectsession
"""
APACHE_SESSIONS = """  GssapiUseSessions On
  Session On
  SessionMaxAge 28800
  SessionDBDCookieName session path=/;HttpOnly;Secure
"""
APACHE_TABLE = "CREATE TABLE apache.session (sid CHAR(36) PRIMARY KEY, value TEXT NOT NULL, expiry BIGINT NOT NULL) ENGINE = InnoDB"
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
# As the server has by itself: with the small log of the tests, whoever writes more would wait for pages to be written.
DATABASE_SIZES = ("--innodb-log-file-size=96M", "--innodb-buffer-pool-size=128M")
KAASD_TABLES = ("kaas.sessions", "kaas.audit WHERE action = 'login'")
BODY = b'{"signed_in": true, "padding": "' + b"x" * 560 + b'"}\n'  # as long as our answer


@dataclass
class Server:
    """One that is measured, and what holds a row more after each sign-on."""

    port: int
    pid: int
    method: str = "GET"
    path: str = "/login"
    tables: tuple[str, ...] = ()


class Apache:
    """mod_auth_gssapi before a file; with `tables`, it keeps sessions there."""

    def __init__(self, bench: Bench, name: str, *tables: str) -> None:
        self.port, self._ca = free_port(), str(bench.kaasd.tls.ca_file)
        folder = bench.scratch.path / name
        (folder / "www").mkdir(parents=True)
        (folder / "www/login").write_bytes(BODY)
        bench.scratch.path.chmod(0o755)
        folder.chmod(0o777)
        keytab, krb5, conf = folder / "apache.keytab", folder / "krb5.conf", folder / "apache.conf"
        keytab.write_bytes(bench.ad.keytab("service").read_bytes())
        keytab.chmod(0o644)
        krb5.write_text(bench.ad.krb5_conf.read_text())
        krb5.chmod(0o644)
        database = APACHE_DATABASE.format(modules=MODULES, socket=bench.db.socket, pool=2 * bench.connections) if tables else ""
        conf.write_text(APACHE_CONF.format(folder=folder, modules=MODULES, port=self.port, cert=bench.kaasd.tls.cert_file,
                                           key=bench.kaasd.tls.key_file, keytab=keytab, database=database,
                                           user="User www-data\nGroup www-data\n" if os.geteuid() == 0 else "",
                                           sessions=APACHE_SESSIONS if tables else ""))
        env = {"KRB5_CONFIG": str(krb5), "KRB5RCACHENAME": f"file2:{folder}/rcache"}
        process = Process(name, [APACHE, "-f", conf, "-DFOREGROUND"], bench.scratch.log, env)
        bench.stack.callback(process.stop)
        process.wait_until(self._answers, "its answer")
        self.server = Server(self.port, process.pid, tables=tables)

    def _answers(self) -> bool:
        try:
            return requests.get(f"https://127.0.0.1:{self.port}/login", verify=self._ca, timeout=5).status_code == 401
        except requests.RequestException:
            return False


def start_floor(bench: Bench, name: str, *words: str | Path) -> Server:
    """The libraries that we stand on, alone (bench/login_floor.c): what nobody who uses them can go below."""
    tls, cache = bench.kaasd.tls, f"file2:{bench.scratch.path}/{name}.rcache"
    command = [program("bench/login_floor"), tls.cert_file, tls.key_file, bench.ad.keytab("service"), cache, *words]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **bench.ad.env})
    bench.stack.callback(process.communicate)
    assert process.stdout
    return Server(int(process.stdout.readline()), process.pid, tables=("floor.sign_on",) if words else ())


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


class Bench:
    def __init__(self, stack: ExitStack, connections: int) -> None:
        self.connections, self.stack = connections, stack
        self.ad = stack.enter_context(AdWorld())
        self.scratch = scratch = Scratch("login")
        stack.callback(scratch.remove)
        self.db = Mariadb(scratch, options=DATABASE_SIZES)
        stack.callback(self.db.close)
        if self.db.query("SELECT @@innodb_flush_log_at_trx_commit, @@autocommit") != [(1, 1)]:
            raise SystemExit("a COMMIT of this database does not wait for the disk")
        self.db.query("CREATE DATABASE apache")
        self.db.query(APACHE_TABLE)
        kerberos = {"keytab": str(self.ad.keytab("service")), "replay_cache": str(scratch.path / "rcache")}
        options = {"log": {"level": "notice"}, "server": {"requests_per_address": 0}, "auth": {**ANY_NUMBER["auth"], "kerberos": kerberos}}
        self.kaasd = Kaasd(scratch, self.db.socket, options=options, env=self.ad.env)
        self.kaasd.init()
        self.kaasd.start()
        stack.callback(self.kaasd.stop)
        self.kaasd.admin().expect(201, "POST", "/v2/role-mappings",
                                  json={"subject_id": f"sid:{self.ad.sid('grp-deep')}", "role": "user"})
        self.cache = self.ad.kinit("alice")

    def servers(self, *, with_floor: bool) -> dict[str, Server]:
        assert self.kaasd.process
        made = {"kaasd": Server(self.kaasd.port, self.kaasd.process.pid, "POST", "/v2/login/kerberos", KAASD_TABLES),
                "apache": Apache(self, "apache").server, "session_dbd": Apache(self, "session_dbd", "apache.session").server}
        if with_floor:
            made |= {"libraries": start_floor(self, "libraries"), "one row": start_floor(self, "one row", self.db.socket),
                     "shared rows": start_floor(self, "shared rows", self.db.socket, "shared")}
        return made

    def rows(self, server: Server) -> list[int]:
        return [self.db.query(f"SELECT COUNT(*) FROM {table}")[0][0] for table in server.tables]

    def round(self, server: Server, count: int) -> dict[str, float]:
        tokens, database = make_tokens(self.ad, self.cache, count), [self.db.pid] if server.tables else []
        rows, began, began_db = self.rows(server), cpu_ns([server.pid]), cpu_ns(database)
        seconds = load(server.port, server.method, server.path, self.connections, tokens)
        cpu_us, database_us = (cpu_ns([server.pid]) - began) / 1000 / count, (cpu_ns(database) - began_db) / 1000 / count
        for table, before, now in zip(server.tables, rows, self.rows(server), strict=True):
            if now - before != count:
                raise SystemExit(f"{now - before} rows more in {table} after {count} sign-ons")
        return {"per_s": count / seconds, "cpu_us": cpu_us, "mariadbd_cpu_us": database_us, "all_cpu_us": cpu_us + database_us}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--count", type=int, default=2000, help="sign-ons in each half of a round")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--floor", action="store_true", help="also the libraries alone, without the database, with a row each, and sharing")
    args = parser.parse_args()
    report = Report("login")
    if not APACHE.exists() or not all((MODULES / name).exists() for name in ("mod_auth_gssapi.so", "mod_session_dbd.so")):
        parser.error("Apache or mod_auth_gssapi is missing: apt-get install apache2-bin libapache2-mod-auth-gssapi libaprutil1-dbd-mysql")
    with ExitStack() as stack:
        bench = Bench(stack, args.connections)
        servers = bench.servers(with_floor=args.floor)
        raw: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
        for server in servers.values():
            bench.round(server, 200)
        for number in range(args.rounds):
            for name in sorted(servers, reverse=bool(number % 2)):
                raw[name].append(bench.round(servers[name], args.count))
    for name, rows in raw.items():
        for key in rows[0]:
            print(f"{name:11} {key:16} {statistics.median(row[key] for row in rows):10.1f}")
    for name in sorted(set(raw) - {"kaasd", "apache"}):
        print(f"{name:11} of Apache's sign-ons a second: {ratio(raw[name], raw['apache'], 'per_s')}")
    ours, alone, stored = raw["kaasd"], raw["apache"], raw["session_dbd"]
    report.goal("throughput_ratio", "sign-ons a second, of Apache's with mod_auth_gssapi", ratio(ours, alone, "per_s"), 1.5)
    report.goal("cpu_ratio", "CPU per sign-on, of Apache's", ratio(ours, alone, "cpu_us"), 0.7, at_most=True)
    report.figure("stored_throughput_ratio", "sign-ons a second, of Apache's that stores a session", ratio(ours, stored, "per_s"))
    report.figure("stored_cpu_ratio", "CPU per sign-on, of the same", ratio(ours, stored, "cpu_us"))
    report.figure("stored_mariadbd_cpu_ratio", "mariadbd's CPU per sign-on, of the same", ratio(ours, stored, "mariadbd_cpu_us"))
    report.figure("stored_all_cpu_ratio", "both together, of the same", ratio(ours, stored, "all_cpu_us"))
    report.values["mariadbd_cpu_us"] = statistics.median(row["mariadbd_cpu_us"] for row in ours)
    report.print()
    report.write(raw)


if __name__ == "__main__":
    main()
