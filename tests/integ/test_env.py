"""The parts of the world hold what the other tests lean on."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import importlib.util
import itertools
import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from env import reports, vimclient
from env.certs import make_server_cert
from env.mariadb import Mariadb
from env.places import SOCKET_PATH_MAX, TOP, Scratch, WorldError
from env.process import Process
from env.reports import EXIT_STATUS
from env.samples import EAST, hidden_from, visible_to
from env.vcenter import StrictVcenter, Vcenter
from pyVmomi import vim


def test_sockets_fit_into_the_scratch_folder(scratch: Scratch) -> None:
    assert len(str(scratch.path / "kaasd" / "admin.sock")) < SOCKET_PATH_MAX


def test_a_program_that_dies_is_told_with_its_log(scratch: Scratch) -> None:
    process = Process("dies", ["sh", "-c", "echo out of luck; exit 3"], scratch.log)
    with pytest.raises(WorldError, match=r"status 3 before readiness:\nout of luck"):
        process.wait_until(lambda: False, "readiness")


def test_a_program_that_ignores_term_is_killed_and_told(scratch: Scratch) -> None:
    process = Process("stubborn", ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"], scratch.log)
    process.wait_until(lambda: "up" in process.log, "its first word")
    with pytest.raises(WorldError, match="had to be killed"):
        process.stop(limit_s=0.5)
    assert not process.alive


PLANTED = r"""
#include <stdlib.h>
static char *volatile kept;
int main(int n, char **words) {
    if (words[1][0] != 'n')
        kept = malloc(4);
    if (words[1][0] == 'b')
        kept[n + 2] = 1;
    kept = NULL;
    return 1;
}
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that fails, and does it with a report if it is told to: b(eyond its memory), l(eak)."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "planted.c").write_text(PLANTED)
    subprocess.run(["clang-14", "-fsanitize=address", "-o", folder / "planted", folder / "planted.c"], check=True)
    return folder / "planted"


@pytest.mark.parametrize(("word", "status", "report"), [
    ("b", EXIT_STATUS, "heap-buffer-overflow"), ("l", EXIT_STATUS, "detected memory leaks"), ("n", 1, None)])
def test_a_report_is_seen_where_a_failure_is_expected(planted: Path, word: str, status: int, report: str | None) -> None:
    """Also of a program whose output goes nowhere."""
    done = subprocess.run([planted, word], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    assert done.returncode == status
    if report is None:
        reports.refuse()
        return
    with pytest.raises(WorldError, match=report):
        reports.refuse()
    reports.refuse()  # once


def test_a_test_during_which_a_report_came_is_red(planted: Path, tmp_path: Path) -> None:
    """By pytest itself: the test passes, and is red all the same."""
    (tmp_path / "conftest.py").write_text((TOP / "tests/conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(f"""
import subprocess
import pytest
@pytest.mark.parametrize("word", ["n", "b"])
def test_it(word):
    assert subprocess.run([{str(planted)!r}, word], capture_output=True).returncode != 0
""")
    pytest_alone = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", tmp_path, tmp_path]
    said = subprocess.run(pytest_alone, env={**os.environ, "PYTHONPATH": str(TOP / "tests")}, capture_output=True, text=True, check=False)
    assert said.returncode == 1, said.stdout + said.stderr
    assert "2 passed, 1 error" in said.stdout
    assert "heap-buffer-overflow" in said.stdout


def test_sanitizer_reports_are_seen(scratch: Scratch) -> None:
    process = Process("report", ["echo", "==1==ERROR: AddressSanitizer: heap-use-after-free"], scratch.log)
    process.wait_end()
    assert len(process.sanitizer_reports()) == 1


def test_the_database_survives_a_kill(fresh_db: Mariadb) -> None:
    fresh_db.query("CREATE DATABASE kept")
    fresh_db.kill()
    fresh_db.start()
    assert ("kept",) in fresh_db.query("SHOW DATABASES")


def test_the_server_certificate_is_that_of_the_ca(tmp_path: Path) -> None:
    made = make_server_cert(tmp_path / "tls")
    context = ssl.create_default_context(cafile=str(made.ca_file))
    assert context.get_ca_certs()[0]["subject"] == ((("commonName", "World CA"),),)
    assert (made.key_file.stat().st_mode & 0o777) == 0o600


def test_a_viewer_of_the_vcenter(vcenter: StrictVcenter) -> None:
    with vimclient.session(vcenter, vcenter.users["viewer-east"]) as instance:
        cookie, key = vimclient.cookie_of(instance), vimclient.key_of(instance)
        ticket = vimclient.clone_ticket(instance)
        assert len(cookie) == 40
        assert key.startswith("52")
        assert ticket.startswith("cst-")
        assert key in [row["key"] for row in vcenter.control.sessions()]
    assert key not in [row["key"] for row in vcenter.control.sessions()]


def test_a_clone_ticket_works_once(vcenter: StrictVcenter) -> None:
    with vimclient.session(vcenter, vcenter.users["viewer-dc"]) as instance:
        ticket = vimclient.clone_ticket(instance)
        assert vimclient.clone_session(vcenter, ticket) == "VSPHERE.LOCAL\\viewer-dc"
        with pytest.raises(vim.fault.InvalidLogin):
            vimclient.clone_session(vcenter, ticket)


def test_pyvmomi_and_govc_read_the_same_extension(vcenter: StrictVcenter) -> None:
    key = "com.springpath.sysmgmt.domain-c7"
    record, other = vimclient.read_extension(vcenter, key), vimclient.govc_extension(vcenter, key)
    assert record is not None
    assert other is not None
    assert (record.version, record.server[0].url) == (other["version"], other["server"][0]["url"])
    assert vimclient.read_extension(vcenter, "com.example.nothing") is None


def test_only_the_ca_of_the_vcenter_is_trusted(vcenter: StrictVcenter) -> None:
    assert requests.get(f"https://{vcenter.address}/sdk/vimServiceVersions.xml", verify=str(vcenter.ca_file), timeout=30).ok
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(f"https://{vcenter.address}/sdk/vimServiceVersions.xml", timeout=30)


def test_the_unmodified_simulator(vcsim: Vcenter) -> None:
    with vimclient.session(vcsim, vcsim.admin) as instance:
        assert instance.RetrieveContent().about.apiType == "VirtualCenter"


def test_who_sees_what_of_the_samples() -> None:
    assert visible_to("viewer-east") == ["prod-1", "prod-2", "stretched"]
    assert visible_to("viewer-dc", EAST) == ["prod-1", "prod-2", "stretched"]
    assert visible_to("no-rights") == []
    assert (hidden_from("viewer-east", "stretched"), hidden_from("viewer-dc", "stretched")) == (1, 0)


BURNER = """
import os, sys, threading
def burn():
    while sum(os.times()[:2]) < limit: pass
def child():
    if not os.fork():
        burn()
        os._exit(0)
    os.wait()
for line in sys.stdin:
    limit = (0 if line == "child\\n" else sum(os.times()[:2])) + 0.1
    thread = threading.Thread(target=child if line == "child\\n" else burn)
    thread.start()
    thread.join()
    print("done", flush=True)
"""


def test_what_threads_and_children_used_counts_when_they_have_ended() -> None:
    """What measurements of other programs rest on: a server may have a thread for each connection."""
    spec = importlib.util.spec_from_file_location("cpu", TOP / "bench/lib/cpu.py")
    assert spec and spec.loader
    cpu = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cpu)
    with subprocess.Popen([sys.executable, "-c", BURNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as burner:
        assert burner.stdin and burner.stdout
        used = [cpu.cpu_ns([burner.pid])]
        for line in ("thread\n", "thread\n", "child\n"):
            burner.stdin.write(line)
            burner.stdin.flush()
            assert burner.stdout.readline() == "done\n"
            used.append(cpu.cpu_ns([burner.pid]))
        burner.stdin.close()
    assert all(after - before >= 80_000_000 for before, after in itertools.pairwise(used)), used
