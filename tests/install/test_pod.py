"""What the chart makes of the image: the Job and a replica of the rendered manifests, run by a real container runtime beside a MariaDB by
TLS, with Secrets, accounts and values as chart/README.md makes them.

The tests go on where the one before has left the pod: they run in order."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from env.certs import make_server_cert
from env.image import Image
from env.kaasd import ONE_TIME_PASSWORD
from env.mariadb import Mariadb
from env.netns import Network
from env.places import TOP, Scratch, WorldError
from env.pod import Pod
from env.process import run
from readme import commands, section

README = (TOP / "chart/README.md").read_text()
PORT = 3306  # of a network of its own
USER = 10001


class DatabaseInside(Mariadb):
    """A server in a network of its own, by TLS on its usual port."""

    def __init__(self, scratch: Scratch, network: Network) -> None:
        self.network = network
        self.tls = make_server_cert(scratch.path / "db-tls")
        super().__init__(scratch, options=("--skip-networking=OFF", "--bind-address=127.0.0.1", f"--port={PORT}",
                                           f"--ssl-cert={self.tls.cert_file}", f"--ssl-key={self.tls.key_file}"))

    def _script(self, command: str, *more: str) -> str:
        result = run([*self.network.inside, TOP / "scripts/mariadb-private", command, self.folder, *more])
        if result.returncode:
            raise WorldError(f"mariadb-private {command}: {result.stderr.strip()}")
        return result.stdout.strip()


class Site:
    """What is there before `helm install`: by the commands, the SQL and the values of chart/README.md."""

    def __init__(self, scratch: Scratch, database: DatabaseInside) -> None:
        self.folder = scratch.path / "site"
        self.folder.mkdir()
        self.tls = make_server_cert(scratch.path / "tls")
        for name, file in (("server.pem", self.tls.cert_file), ("server.key", self.tls.key_file), ("db-ca.pem", database.tls.ca_file)):
            (self.folder / name).write_bytes(file.read_bytes())
        self.objects = [made for command in commands(section(README, "Secrets and certificates")) if (made := self._do(command))]
        found = re.search(r"```sql\n(.*?)```", section(README, "The database"), re.S)
        assert found
        passwords = {"PASSWORD-OF-THE-OWNER": "database-owner.password", "PASSWORD-OF-KAASD": "database.password"}
        sql = re.sub("|".join(passwords), lambda name: (self.folder / passwords[name.group()]).read_text(), found.group(1))
        for statement in sql.split(";")[:-1]:
            database.query(statement)
        values = re.search(r"```yaml\n(.*?)```", section(README, "Installing"), re.S)
        assert values
        self.values: dict[str, Any] = yaml.safe_load(values.group(1))
        self.values["config"]["database"]["host"] = "127.0.0.1"
        self.values["config"]["server"] |= {"public_url": "https://localhost:8443", "drain": "2s"}

    def _do(self, command: str) -> dict[str, Any] | None:
        """A line of shell; kubectl is the real one, and says what it would send to a cluster."""
        kubectl = command.startswith("kubectl")
        line = f"{TOP}/scripts/kube {command} --dry-run=client --output json" if kubectl else command
        done = run(["bash", "-ec", f"cd {self.folder} && umask 077 && {line}"])
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return json.loads(done.stdout) if kubectl else None


@pytest.fixture(scope="module")
def network(scratch: Scratch) -> Iterator[Network]:
    with Network(scratch) as made:
        yield made


@pytest.fixture(scope="module")
def database(scratch: Scratch, network: Network) -> Iterator[DatabaseInside]:
    made = DatabaseInside(scratch, network)
    yield made
    made.close()


@pytest.fixture(scope="module")
def site(scratch: Scratch, database: DatabaseInside) -> Site:
    return Site(scratch, database)


class Namespace:
    """What kubelet would find there after `helm install`, of the chart as it was packed."""

    def __init__(self, scratch: Scratch, image: Image, chart: Path, site: Site, network: Network) -> None:
        told = run([TOP / "scripts/kube", "helm", "template", "kaas", chart, "--values", "-"], stdin=yaml.safe_dump(site.values))
        assert told.returncode == 0, told.stderr
        self.images = set(re.findall(r"^ +image: (.*)$", told.stdout, re.M))
        self._manifests = [one for one in yaml.safe_load_all(told.stdout) if one]
        self._scratch, self._image, self._site, self._network = scratch, image, site, network

    def pod(self, kind: str, name: str) -> Pod:
        """The first one of the StatefulSet or Job."""
        (found,) = (one for one in self._manifests if one["kind"] == kind)
        claims = [claim["metadata"]["name"] for claim in found["spec"].get("volumeClaimTemplates", [])]
        objects = [*self._site.objects, *self._manifests]
        return Pod(self._scratch, self._image, name, found["spec"]["template"]["spec"], objects, self._network, claims)


@pytest.fixture(scope="module")
def namespace(scratch: Scratch, image: Image, packages: Path, site: Site, network: Network) -> Namespace:
    (chart,) = packages.glob("*.tgz")
    return Namespace(scratch, image, chart, site, network)


@pytest.fixture(scope="module")
def replica(namespace: Namespace) -> Iterator[Pod]:
    made = namespace.pod("StatefulSet", "kaas-0")
    yield made
    made.stop()


def test_the_chart_runs_the_image_of_its_own_version(namespace: Namespace, image: Image) -> None:
    assert namespace.images == {f"registry.example.com/harmony-kaas:{image.version}"}


def test_kaasd_waits_for_the_schema_and_the_job_makes_it(replica: Pod, namespace: Namespace) -> None:
    """What would be if the Job did not come first: alive, so that it is not restarted, and not ready."""
    process = replica.start()
    process.wait_until(lambda: replica.probe("livenessProbe") == "200", "life")
    assert replica.probe("readinessProbe") == "503"
    job = namespace.pod("Job", "kaas-migration").run_to_end()
    assert job.returncode == 0, job.stdout + job.stderr
    assert "is up to date now" in job.stdout
    process.wait_until(lambda: replica.probe("readinessProbe") == "200", "readiness")
    assert replica.probe("startupProbe") == "200"


def test_the_job_changes_nothing_twice(namespace: Namespace) -> None:
    again = namespace.pod("Job", "kaas-migration-again").run_to_end()
    assert (again.returncode, "up to date already" in again.stdout) == (0, True), again.stdout + again.stderr


def test_secrets_are_its_own_and_it_can_write_nowhere_else(replica: Pod) -> None:
    for file in (replica.folder / "secrets").iterdir():
        told = file.stat()
        assert (stat.S_IMODE(told.st_mode), told.st_uid) == (0o400, USER), file
    for path in ("/etc/passwd", "/etc/kaas/new", "/run/kaas-secrets/new", "/usr/new", "/tmp/new"):
        assert "Read-only file system" in replica.exec("/usr/bin/install", "/etc/os-release", path).stderr, path
    status = Path(f"/proc/{replica.main_pid}/status").read_text()
    assert re.search(rf"^Uid:\s+{USER}\s+{USER}\s", status, re.M)
    assert re.findall(r"^Cap(?:Inh|Prm|Eff|Bnd|Amb):\s+(\w+)$", status, re.M) == ["0" * 16] * 5
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.M)


def test_the_first_administrator_is_made_by_exec(replica: Pod, site: Site, network: Network) -> None:
    """As NOTES.txt and README.md say; the password is on the terminal of who asked, and in no log."""
    (command,) = set(re.findall(r"kubectl exec kaas-0 -- (kaasctl user add [^`]*)`", README))
    made = replica.exec(*command.split())
    assert made.returncode == 0, made.stderr
    password = ONE_TIME_PASSWORD.search(made.stdout)
    assert password
    body = json.dumps({"username": "admin", "password": password.group(1)})
    signed_in = run([*network.inside, "curl", "--silent", "--show-error", "--cacert", site.tls.ca_file, "--header", "X-KaaS: 1",
                     "--json", "@-", "https://localhost:8443/v2/login/password"], stdin=body)
    assert "access_token" in json.loads(signed_in.stdout), signed_in.stdout + signed_in.stderr
    assert replica.process
    assert password.group(1) not in replica.process.log


def test_the_page_is_served(site: Site, network: Network) -> None:
    page = run([*network.inside, "curl", "--silent", "--fail", "--cacert", site.tls.ca_file, "https://localhost:8443/ui/"])
    assert "<script" in page.stdout


def test_it_stops_in_order_within_the_time_of_grace_and_starts_again_with_its_state(replica: Pod) -> None:
    """The drain is waited for: a balancer that asks meanwhile is told to go elsewhere."""
    process = replica.process
    assert process
    kept = {path.name for path in (replica.folder / "state").iterdir()}
    replica.terminate()
    process.wait_until(lambda: replica.probe("readinessProbe") == "503", "word for the balancer")
    assert replica.wait_end() == 0, process.tail()
    process = replica.start()
    process.wait_until(lambda: replica.probe("readinessProbe") == "200", "readiness")
    assert kept == {path.name for path in (replica.folder / "state").iterdir()} != set()
    told = replica.exec("kaasctl", "health").stdout
    assert not re.findall(r"^\S+ +failed .*", told, re.M), told
