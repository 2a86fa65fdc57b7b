"""The examples of monitoring and logging: where Debian has the programs that they are for, these take them, and lines go through."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from env.places import TOP, free_port
from env.wait import until

MONITORING, LOGGING = TOP / "examples/monitoring", TOP / "examples/logging"
KV = 'level=warning event=request method=GET path="/v2/\\"x\\"" status=500'
JSON = '{"level":"warning","event":"request","method":"GET","path":"/v2/\\"x\\" \\u001b","status":"500"}'
# of Fluent Bit's plugins, as far as the example uses them: https://docs.fluentbit.io/manual
FLUENT_KEYS = {
    "service": {"flush", "log_level", "parsers_file"},
    "input systemd": {"name", "tag", "systemd_filter", "read_from_tail", "db"},
    "filter parser": {"name", "match", "key_name", "parser", "reserve_data"},
    "filter record_modifier": {"name", "match", "remove_key"},
    "output forward": {"name", "match", "host", "port", "retry_limit", "tls", "tls.verify", "tls.ca_file"},
    "parser": {"name", "format", "logfmt_no_bare_keys"},
}


def passes(*command: str | Path) -> str:
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout + said.stderr


# -- monitoring --------------------------------------------------------------------------------------------------------------------


def test_prometheus_takes_the_configuration_with_all_its_files(tmp_path: Path) -> None:
    """The files that it names are put where the copy looks for them."""
    text = (MONITORING / "prometheus.yml").read_text().replace("/etc/prometheus", str(tmp_path))
    for name in re.findall(rf"{re.escape(str(tmp_path))}/[\w./-]+", text):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('[{"targets": ["10.0.0.1:9100"]}]' if path.suffix == ".json" else "x")
    shutil.copy(TOP / "etc/prometheus/kaas-alerts.yaml", tmp_path)
    shutil.copy(MONITORING / "tenant-alerts.yaml", tmp_path)
    (tmp_path / "prometheus.yml").write_text(text)
    said = passes("promtool", "check", "config", tmp_path / "prometheus.yml")
    assert said.count("rules found") == 2
    assert "kaas" in [job["job_name"] for job in yaml.safe_load(text)["scrape_configs"]]


def test_the_rules_for_tenants_fire_as_they_should() -> None:
    passes("promtool", "test", "rules", MONITORING / "tenant-alerts-test.yaml")
    for group in yaml.safe_load((MONITORING / "tenant-alerts.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            assert "record" in rule or set(rule["annotations"]) == {"summary", "description", "remedy"}


def test_alertmanager_takes_its_configuration() -> None:
    passes("amtool", "check-config", MONITORING / "alertmanager.yml")
    alerts = (TOP / "etc/prometheus/kaas-alerts.yaml").read_text()
    for name in re.findall(r"\bKaas[A-Z]\w+", (MONITORING / "alertmanager.yml").read_text()):
        assert f"alert: {name}" in alerts


def test_nodes_become_targets() -> None:
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "n1"},
                 {"type": "InternalIP", "address": "fd00::1"}]
    nodes = {"items": [{"metadata": {"name": "n1"}, "status": {"addresses": addresses}}]}
    said = subprocess.run(["jq", "-f", MONITORING / "nodes.jq"], input=json.dumps(nodes), capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == [{"targets": ["10.0.0.1:9100", "[fd00::1]:9100"], "labels": {"node": "n1"}}]


def test_the_account_in_a_cluster_may_read_no_more_than_it_needs() -> None:
    objects = list(yaml.safe_load_all((MONITORING / "tenant-cluster.yaml").read_text()))
    rules = [rule for one in objects for rule in one.get("rules", [])]
    rights = {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}
    assert rights == {("services/proxy", "get"), ("nodes", "list")}
    names = {(one["kind"], one["metadata"]["name"]) for one in objects}
    for one in objects:
        if "roleRef" in one:
            assert (one["roleRef"]["kind"], one["roleRef"]["name"]) in names
            assert {(who["kind"], who["name"]) for who in one["subjects"]} <= names


# -- logging -----------------------------------------------------------------------------------------------------------------------


def test_journald_knows_what_is_set() -> None:
    known = set(re.findall(r"^#(\w+)=", Path("/etc/systemd/journald.conf").read_text(), re.M))
    lines = [line for line in (LOGGING / "journald-kaas.conf").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "[Journal]" and len(known) > 20
    assert {line.split("=")[0] for line in lines[1:]} <= known


def test_rsyslog_takes_its_configuration() -> None:
    said = passes("/usr/sbin/rsyslogd", "-N1", "-f", LOGGING / "rsyslog-kaas.conf")
    assert "error" not in said, said


class Receiver:
    """What rsyslog forwards, line by line."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.2)
        self.port = self.listener.getsockname()[1]
        self.peers: list[socket.socket] = []
        self.text = ""

    def read(self) -> str:
        try:
            peer, _ = self.listener.accept()
            peer.settimeout(0.2)
            self.peers.append(peer)
        except TimeoutError:
            pass
        for peer in self.peers:
            try:
                self.text += peer.recv(65536).decode()
            except TimeoutError:
                continue
        return self.text

    def close(self) -> None:
        for one in (*self.peers, self.listener):
            one.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def test_lines_of_both_forms_go_through_rsyslog(tmp_path: Path, receiver: Receiver) -> None:
    """The example as it is, but for the two ends: a socket in the place of the journal, no TLS to the receiver."""
    port = free_port()
    text = (LOGGING / "rsyslog-kaas.conf").read_text()
    text = re.sub(r'global\([^)]*\)', f'global(workDirectory="{tmp_path}")', text)
    socket_input = f'module(load="imptcp")\ninput(type="imptcp" address="127.0.0.1" port="{port}")'
    text = re.sub(r'module\(load="imjournal"[^)]*\)', socket_input, text)
    text = re.sub(r' *StreamDriver="gtls".*\n', "", text).replace('$!_SYSTEMD_UNIT == "kaasd.service"', '$programname == "kaasd"')
    text = text.replace("logs.example.com", "127.0.0.1").replace('port="6514"', f'port="{receiver.port}"')
    (tmp_path / "rsyslog.conf").write_text(text)
    process = subprocess.Popen(["/usr/sbin/rsyslogd", "-n", "-i", tmp_path / "pid", "-f", tmp_path / "rsyslog.conf"])
    try:
        with until(lambda: reached(port), "rsyslogd") as sender:
            for line in (KV, JSON):
                sender.sendall(f"<28>1 2026-01-01T00:00:00Z host kaasd 7 - - {line}\n".encode())
            sender.sendall(b"<28>1 2026-01-01T00:00:00Z host other 7 - - not ours\n")
            got = until(lambda: (text := receiver.read()).count("\n") >= 2 and text, "both lines")
    finally:
        process.terminate()
        process.wait()
    lines = got.splitlines()
    kv, as_json = (next(line for line in lines if word in line) for word in (KV, "@cee:"))
    assert "not ours" not in got and kv.startswith("<28>1 ")
    head, keys = as_json.split("@cee: ")
    assert json.loads(keys) == json.loads(JSON) and re.fullmatch(r"<28>1 \S+ host kaasd 7 - - ", head), as_json


def reached(port: int) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", port))
    except ConnectionRefusedError:
        return None


def sections(path: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """Those of a file of Fluent Bit in its classic form: a name in brackets, below it keys and values, all at one depth."""
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if m := re.fullmatch(r"\[([A-Z]+)\]", line):
            found.append((m[1].lower(), []))
            continue
        m = re.fullmatch(r" {4}([\w.]+) +(\S.*)", line)
        assert m and found, f"{path.name}: {line}"
        found[-1][1].append((m[1].lower(), m[2]))
    return found


def test_the_files_of_fluent_bit_are_of_its_form() -> None:
    parsers = {dict(keys)["name"]: dict(keys)["format"] for kind, keys in sections(LOGGING / "kaas-parsers.conf") if kind == "parser"}
    assert parsers == {"kaas_json": "json", "kaas_kv": "logfmt"}
    tags = set()
    for kind, pairs in sections(LOGGING / "fluent-bit.conf") + sections(LOGGING / "kaas-parsers.conf"):
        keys = dict(pairs)
        what = kind if kind in ("service", "parser") else f"{kind} {keys['name']}"
        assert {key for key, _ in pairs} <= FLUENT_KEYS[what], what
        assert {value for key, value in pairs if key == "parser"} <= set(parsers)
        tags |= {keys["tag"]} if "tag" in keys else set()
        assert "match" not in keys or keys["match"] in tags
