"""examples/three-replicas: each file by the program that reads it; three replicas behind its haproxy; its rule at a vCenter."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import yaml
from env.certs import make_server_cert
from env.galera import SIZES, template
from env.haproxy import Haproxy
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.netns import Network
from env.places import BIN, TOP, Scratch, program
from env.process import Process, run
from env.replicas import Replicas
from env.vcenter import StrictVcenter, start_strict
from env.vimclient import read_all, session
from env.wait import until
from pyVmomi import vim

pytestmark = [pytest.mark.slow]
EXAMPLE = TOP / "examples/three-replicas"
HOSTS = ("kaas-1", "kaas-2", "kaas-3")
NOBODY = 65534
RULE = (EXAMPLE / "anti-affinity.sh", "HX-East", "kaas")


def test_kaasd_takes_its_file() -> None:
    """Nothing but the files that it names is missing here."""
    told = run([program("kaasd"), "--config", EXAMPLE / "kaasd.yaml", "--check-config"]).stderr
    assert [line for line in told.splitlines() if "/etc/kaas/" not in line and "/run/mysqld/" not in line] == []
    assert "server.tls_key: there is no file /etc/kaas/server.key" in told


def test_haproxy_takes_its_file(scratch: Scratch) -> None:
    file = scratch.path / "haproxy.cfg"
    pem = scratch.path / "server.pem"
    daemon = Kaasd(scratch, scratch.path / "none")
    pem.write_bytes(daemon.tls.cert_file.read_bytes() + daemon.tls.key_file.read_bytes())
    file.write_text((EXAMPLE / "haproxy.cfg").read_text().replace("/etc/haproxy/kaas.pem", str(pem))
                    .replace("/etc/haproxy/kaas-ca.pem", str(daemon.tls.ca_file)))
    told = run(["/usr/sbin/haproxy", "-c", "-f", file])
    assert told.returncode == 0, told.stderr
    assert "WARNING" not in told.stderr


@pytest.mark.parametrize("host", HOSTS)
def test_keepalived_takes_its_file_on_each_machine(host: str) -> None:
    """Not as root, as whom it looks at more of this machine, so from its standard input. All that it misses is the interface."""
    own_user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups") if os.geteuid() == 0 else ()
    with tempfile.TemporaryFile() as file:
        file.write((EXAMPLE / "keepalived.conf").read_bytes())
        file.seek(0)
        os.fchmod(file.fileno(), 0o644)
        told = subprocess.run([*own_user, "/usr/sbin/keepalived", "--config-test", "--log-console", "--use-file=/dev/stdin",
                               f"--config-id={host}"], stdin=file, capture_output=True, text=True, check=False)
    lines = (told.stdout + told.stderr).splitlines()
    assert len(lines) == 2, lines
    assert lines[0].endswith("interface ens192 for vrrp_instance kaas doesn't exist")
    assert lines[1] == "Non-existent interface specified in configuration"


def test_mariadb_takes_its_file() -> None:
    told = run(["/usr/sbin/mariadbd", f"--defaults-file={EXAMPLE / 'galera.cnf'}", "--help", "--verbose"])
    assert told.returncode == 0, told.stderr
    options = dict(re.findall(r"^([a-z-]+) +(\S+)$", told.stdout.split("\nVariables (--variable-name=value)")[1], re.M))
    assert (options["binlog-format"], options["innodb-autoinc-lock-mode"], options["wsrep-cluster-name"]) == ("ROW", "2", "kaas")


def test_a_database_node_tells_the_others_an_address_of_the_network(scratch: Scratch) -> None:
    """Beside Debian's own file, which binds the server to 127.0.0.1; and nobody can connect to it by the network."""
    tls = make_server_cert(scratch.path / "tls")
    text = (EXAMPLE / "galera.cnf").read_text()
    for name, file in (("galera.key", tls.key_file), ("galera.pem", tls.cert_file), ("galera-ca.pem", tls.ca_file)):
        text = text.replace(f"/etc/mysql/{name}", str(file))
    config = scratch.path / "my.cnf"
    config.write_text(f"[mysqld]\nbind-address = 127.0.0.1\n{text}")
    data = shutil.copytree(template(), scratch.path / "data")
    with Network(scratch) as network:
        for words in ("link add eth0 type veth peer name eth1", "addr add 192.0.2.11/24 dev eth0", "link set eth0 up"):
            assert run([*network.inside, "ip", *words.split()]).returncode == 0
        root = ("--user=root",) if os.geteuid() == 0 else ()
        node = Process("node", [*network.inside, "/usr/sbin/mariadbd", f"--defaults-file={config}", *root, *SIZES, f"--datadir={data}",
                                f"--socket={scratch.path}/db.sock", f"--tmpdir={scratch.path}", "--wsrep-new-cluster"], scratch.log)
        node.wait_until(lambda: "mariadbd: ready for connections" in node.log, "a cluster of one")
        assert re.findall(r"base_host = ([\d.]+)", node.log) == ["192.0.2.11"]
        listening = run([*network.inside, "ss", "--listening", "--tcp", "--numeric"]).stdout
        assert re.findall(r":(\d+) ", listening) == ["4567"]
        node.kill()


# -- three of them behind haproxy --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def three() -> Iterator[tuple[Replicas, Haproxy]]:
    scratch = Scratch("three")
    db = Mariadb(scratch)
    server = yaml.safe_load((EXAMPLE / "kaasd.yaml").read_text())["server"]
    made = Replicas(scratch, [db.socket] * len(HOSTS), {"server": {"drain": server["drain"], "trusted_proxies": ["127.0.0.1"]}})
    made.start()
    # the part for programs is as the page's for TLS that is passed through, which test_replicas.py runs
    config, _, _programs = (EXAMPLE / "haproxy.cfg").read_text().partition("frontend programs")
    balancer = Haproxy(scratch, "ending TLS", made.all, text=re.sub(r"^ +(user|group|log) .*\n", "", config, flags=re.M))
    yield made, balancer
    balancer.stop()
    for daemon in made.all:
        daemon.kill()
    db.close()
    scratch.remove()


def test_the_others_go_on_when_one_dies_and_when_one_stops(three: tuple[Replicas, Haproxy]) -> None:
    replicas, balancer = three
    assert balancer.states() == dict.fromkeys(HOSTS, True)
    ask = requests.Session()
    ask.trust_env = False
    ask.verify = str(replicas.all[0].tls.ca_file)
    ask.headers["Authorization"] = f"Bearer {replicas.token()}"

    def reads(times: int = 20) -> set[int]:
        return {ask.get(f"{balancer.url}/v2/clusters").status_code for _ in range(times)}

    assert reads() == {200}
    replicas.all[1].kill()
    assert reads() == {200}
    until(lambda: balancer.states()["kaas-2"] is False, "the end of the dead one")
    assert replicas.all[0].process
    replicas.all[0].stop()  # with the drain of kaasd.yaml
    assert reads() == {200}
    until(lambda: balancer.states() == {"kaas-1": False, "kaas-2": False, "kaas-3": True}, "the last one alone")


def test_it_is_as_the_page_says(three: tuple[Replicas, Haproxy]) -> None:
    """Client addresses come through, which is what TLS is ended for."""
    page = (TOP / "docs/admin/replicas.md").read_text().split("# haproxy ending TLS\n")[1].split("```")[0]
    lines = {line.strip() for line in (EXAMPLE / "haproxy.cfg").read_text().splitlines()}
    assert {line.strip() for line in page.splitlines() if " server " not in line} - {""} <= lines


# -- on different hosts ------------------------------------------------------------------------------------------------------


@pytest.fixture
def vcenter(scratch: Scratch) -> Iterator[StrictVcenter]:
    made = start_strict(scratch)
    yield made
    made.stop()


def rule(vcenter: StrictVcenter, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command with the real govc on its path."""
    return run(["env", *words], env={"GOVC_URL": vcenter.url, "GOVC_USERNAME": vcenter.admin.login, "GOVC_PASSWORD": vcenter.admin.password,
                           "GOVC_TLS_CA_CERTS": str(vcenter.ca_file), "GOVC_PERSIST_SESSION": "false", "GOVC_DATACENTER": "DC0",
                           "GOVC_VIM_VERSION": vcenter.api_version, "PATH": f"{BIN}:{os.environ['PATH']}"})


def rules(vcenter: StrictVcenter) -> list[vim.cluster.RuleInfo]:
    with session(vcenter, vcenter.admin) as instance:
        rows = read_all(instance, vim.ClusterComputeResource, "name", "configurationEx")
        return [rule for row in rows.values() for rule in row["configurationEx"].rule]


def test_the_rule_is_made_once_and_brought_up_to_date(vcenter: StrictVcenter) -> None:
    for machines in (("k8s-prod-cp-0", "k8s-prod-w-0", "k8s-prod-w-1"), ("k8s-prod-cp-0", "k8s-prod-w-0", "k8s-prod-w-1"),
                     ("k8s-prod-w-0", "k8s-prod-w-1")):
        told = rule(vcenter, *RULE, *machines)
        assert told.returncode == 0, told.stderr
        (found,) = rules(vcenter)
        assert isinstance(found, vim.cluster.AntiAffinityRuleSpec)
        assert (found.name, found.enabled, len(found.vm)) == ("kaas", True, len(machines))


def test_another_rule_of_that_name_is_left_alone(vcenter: StrictVcenter) -> None:
    made = rule(vcenter, "govc", "cluster.rule.create", "-cluster=HX-East", "-name=kaas", "-affinity", "k8s-prod-cp-0", "k8s-prod-w-0")
    assert made.returncode == 0, made.stderr
    told = rule(vcenter, *RULE, "k8s-prod-cp-0", "k8s-prod-w-0")
    assert told.returncode == 1
    assert "of another kind (ClusterAffinityRuleSpec)" in told.stderr


def test_a_machine_that_is_not_there_is_named(vcenter: StrictVcenter) -> None:
    told = rule(vcenter, *RULE, "k8s-prod-cp-0", "nobody")
    assert told.returncode != 0
    assert '"nobody" not found' in told.stderr
    assert rules(vcenter) == []
