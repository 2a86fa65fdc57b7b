"""Somebody with the whole database, but neither the master key nor a replica's host, strips, empties, restarts or sets back the chains of
the audit log: each is found, and the replica named."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from env.installed import adopt, installed_database
from env.kaasd import Kaasd
from env.places import Scratch, program
from env.process import run
from env.wait import until

pytestmark = pytest.mark.slow
LINES = 4


class Pair:
    """Two replicas on one database. The second has stopped, the first runs and has noted how far the second had come."""

    def __init__(self, scratch: Scratch) -> None:
        self.db = installed_database(scratch)
        self.first = Kaasd(scratch, self.db.socket, "first")
        adopt(self.first)
        self.second = self.first.beside("second")

    def begin(self) -> None:
        self.first.start()
        self.second.start()
        self.write(self.second)
        self.second.stop()
        restart(self.first)
        self.write(self.first)

    def write(self, daemon: Kaasd) -> None:
        """Some lines, by sign-ons."""
        for _ in range(LINES):
            daemon.api().login_password("admin", self.first.admin_password)

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self.db.query(statement, database="kaas")

    def value(self, sql: str) -> Any:
        ((value,),) = self.db.query(sql, database="kaas")
        return value

    def close(self) -> None:
        with ExitStack() as stack:
            for stop in (self.db.close, self.first.stop, self.second.stop):  # from the last to the first, whatever one of them complains of
                stack.callback(stop)


def restart(daemon: Kaasd) -> None:
    daemon.stop()
    daemon.start()


def start_refused(daemon: Kaasd) -> str:
    """Why it does not start."""
    daemon.spawn().wait_until(lambda: "audit_behind" in daemon.why_not_ready(), "a refusal", why_not=daemon.why_not_ready)
    return daemon.why_not_ready()


def state_file(daemon: Kaasd) -> Path:
    """For a moment the one that takes its place lies beside it, under a longer name."""
    return min((daemon.folder / "state").glob("audit-head-*"), key=lambda file: len(file.name))


@pytest.fixture
def pair(scratch: Scratch) -> Iterator[Pair]:
    made = Pair(scratch)
    try:
        made.begin()
        yield made
    finally:
        made.close()


def verify(daemon: Kaasd) -> subprocess.CompletedProcess[str]:
    return daemon.ctl.run("audit", "verify")


def check_found(pair: Pair, *words: str) -> None:
    said = verify(pair.first)
    assert said.returncode == 1, said.stdout + said.stderr
    for word in ("replica 2: ", "remedy: ", *words):
        assert word in said.stdout


EMPTIED = ("DELETE FROM audit WHERE replica_id = 2",
           "UPDATE replicas SET audit_head = NULL, audit_anchor = NULL, audit_seq = 0 WHERE id = 2")


def test_nothing_is_wrong(pair: Pair) -> None:
    said = verify(pair.first)
    assert said.returncode == 0, said.stdout + said.stderr
    pair.second.start()
    assert verify(pair.second).returncode == 0


@pytest.mark.parametrize("tampering", [
    ("UPDATE audit SET hash = NULL, principal_name = 'forged' WHERE replica_id = 2", "UPDATE replicas SET audit_head = NULL WHERE id = 2"),
    EMPTIED,
    ("DELETE FROM audit WHERE replica_id = 2", "DELETE FROM replicas WHERE id = 2"),
], ids=["stripped", "emptied", "removed"])
def test_a_chain_that_was_taken_away_is_missed(pair: Pair, tampering: tuple[str, ...]) -> None:
    pair.sql(*tampering)
    check_found(pair)
    restart(pair.first)
    check_found(pair)


def test_a_line_put_in_for_who_writes_none_is_found(pair: Pair) -> None:
    pair.sql("INSERT INTO audit (replica_id, seq, at_ms, action) VALUES (0, 1, 1, 'forged')")
    said = verify(pair.first)
    assert said.returncode == 1, said.stdout
    assert "replica 0: line 1 " in said.stdout


def test_a_chain_is_not_begun_anew(pair: Pair) -> None:
    pair.sql(*EMPTIED)
    assert "line 0 as the last one of replica 2 (second), but this replica had written line " in start_refused(pair.second)
    said = verify(pair.second)
    assert said.returncode == 1, said.stderr
    assert "replica 2 (second)" in said.stderr and "kaasctl audit accept-restore" in said.stderr
    check_found(pair)


@pytest.mark.parametrize("has_state_folder", [True, False], ids=["its-folder", "new-folder"])
def test_a_chain_that_nobody_noted_stays_missed_when_its_replica_comes(pair: Pair, has_state_folder: bool) -> None:
    pair.first.stop()
    third = pair.first.beside("third")
    third.start()
    pair.write(third)
    third.kill()
    pair.sql(*(text.replace("replica_id = 2", "replica_id = 3").replace("id = 2", "id = 3") for text in EMPTIED))
    if has_state_folder:
        assert "line 0 as the last one of replica 3 (third)" in start_refused(third)
    else:
        shutil.rmtree(third.folder / "state")
        third.start()
    third.stop()
    pair.first.start()
    said = verify(pair.first)
    assert said.returncode == 1, said.stdout
    assert "replica 3: " in said.stdout


def test_a_chain_that_was_set_back_to_its_first_head_is_found(pair: Pair) -> None:
    """That one is signed, too."""
    third = pair.first.beside("third")
    third.start()
    pair.sql("CREATE TABLE kept AS SELECT audit_head FROM replicas WHERE name = 'third'")
    pair.write(third)
    third.stop()
    restart(pair.first)
    pair.sql("DELETE FROM audit WHERE replica_id = 3",
             "UPDATE replicas SET audit_head = (SELECT audit_head FROM kept), audit_seq = 0 WHERE id = 3")
    said = verify(pair.first)
    assert said.returncode == 1, said.stdout
    assert "replica 3: " in said.stdout


def test_a_replica_that_comes_is_noted_while_the_others_run(pair: Pair) -> None:
    third = pair.first.beside("third")
    third.start()
    third.stop()
    noted = "SELECT COUNT(*) FROM audit WHERE action = 'audit.heads' AND replica_id = 1 AND reason REGEXP '(^| )3:'"
    until(lambda: pair.value(noted), "a note")
    pair.sql("DELETE FROM audit WHERE replica_id = 3", "DELETE FROM replicas WHERE id = 3")
    said = verify(pair.first)
    assert said.returncode == 1 and "replica 3: " in said.stdout, said.stdout


# -- an older copy of the whole database ------------------------------------------------------------------------------------------


def set_back(pair: Pair) -> None:
    """Both replicas have stopped, and wrote lines that are not in the copy."""
    data, copy = pair.db.folder / "data", pair.db.folder / "copy"
    pair.first.stop()
    pair.db.stop()
    shutil.copytree(data, copy)
    pair.db.start()
    for daemon in (pair.first, pair.second):
        daemon.start()
        pair.write(daemon)
    for daemon in (pair.second, pair.first):
        daemon.stop()
    pair.db.stop()
    shutil.rmtree(data)
    copy.rename(data)
    pair.db.start()


def test_an_older_copy_of_the_database_is_refused_until_it_is_accepted(pair: Pair) -> None:
    set_back(pair)
    for number, daemon in ((1, pair.first), (2, pair.second)):
        last = pair.value(f"SELECT audit_seq FROM replicas WHERE id = {number}")
        found = re.search(rf"line {last} as the last one of replica {number} \(\S+\), but this replica had written line (\d+) by ",
                          start_refused(daemon))
        assert found and int(found[1]) > last + LINES
        said = verify(daemon)
        assert said.returncode == 1 and found[0] in said.stderr, said.stderr
        refused = daemon.ctl.run("audit", "accept-restore")
        assert refused.returncode == 6, "it asks first"
        daemon.ctl.ok("--yes", "audit", "accept-restore")
        assert daemon.process
        daemon.process.wait_until(daemon.ready, "readiness", why_not=daemon.why_not_ready)
        (line,) = [line for line in daemon.ctl.json("audit", "list", "--action", "audit.accept", "--source", "socket")
                   if line["id"].startswith(f"{number}-")]
        assert found[0] in line["reason"] and line["principal_name"].endswith("root (uid 0)")
        assert line["id"] == f"{number}-{int(found[1]) + 1}", "numbers of lost lines are not given again"
        again = daemon.ctl.run("--yes", "audit", "accept-restore")
        assert again.returncode == 1 and "nothing to accept" in again.stderr
    for daemon in (pair.first, pair.second):
        assert verify(daemon).returncode == 0
        restart(daemon)
        assert verify(daemon).returncode == 0


def test_nobody_accepts_it_from_elsewhere(pair: Pair) -> None:
    admin = pair.first.admin()
    problem = admin.refused(403, "forbidden", "POST", "/v2/audit/accept-restore")
    assert "admin socket" in problem["detail"]
    said = run([program("kaasctl"), "--server", pair.first.url, "--user", "admin", "audit", "accept-restore"])
    assert said.returncode == 2 and "on the host" in said.stderr


def test_what_was_written_before_a_kill_is_known(pair: Pair) -> None:
    """The file is written while it runs, too."""
    pair.write(pair.first)
    head = "SELECT LOWER(HEX(audit_head)) FROM replicas WHERE id = 1"
    until(lambda: pair.value(head) in state_file(pair.first).read_text(), "the head in the file")
    pair.first.kill()
    pair.sql("UPDATE replicas SET audit_head = NULL, audit_seq = 0 WHERE id = 1", "DELETE FROM audit WHERE replica_id = 1")
    assert "line 0 as the last one of replica 1 (" in start_refused(pair.first)


def test_a_new_state_folder_is_told(pair: Pair) -> None:
    pair.first.stop()
    shutil.rmtree(pair.first.folder / "state")
    pair.first.start()
    assert "state folder" in pair.value("SELECT reason FROM audit WHERE action = 'audit.accept' AND replica_id = 1")
    assert verify(pair.first).returncode == 0
    restart(pair.first)
    assert pair.value("SELECT COUNT(*) FROM audit WHERE action = 'audit.accept'") == 1


@pytest.mark.parametrize("text", ["", "# no more\n", "1 zz 2026-01-01T00:00:00Z\n", f"1 {'00' * 72} 2026-01-01T00:00:00Z\n", "1" * 2000],
                         ids=["empty", "comment", "no-hex", "not-signed", "long"])
def test_a_state_that_is_not_ours_is_refused(pair: Pair, text: str) -> None:
    pair.first.stop()
    state_file(pair.first).write_text(text)
    assert str(state_file(pair.first)) in start_refused(pair.first)


def test_the_state_of_another_replica_is_refused(pair: Pair) -> None:
    pair.first.stop()
    shutil.copy(state_file(pair.second), state_file(pair.first))
    assert "is of replica 2" in start_refused(pair.first)


def test_another_audit_key_is_refused(pair: Pair) -> None:
    """Who takes the key away has kaasd make another one, with which nothing could be proved any more."""
    pair.first.stop()
    pair.sql("DELETE FROM audit_keys")
    assert "was not signed with the audit key of this database" in start_refused(pair.first)


def test_a_folder_that_cannot_be_written_is_told(pair: Pair) -> None:
    """That of /proc takes no files, from root neither."""
    settings = yaml.safe_load(pair.second.config.read_text())
    pair.second.config.write_text(yaml.safe_dump(settings | {"state_dir": "/proc"}))
    pair.second.spawn().wait_until(lambda: "cannot make a file next to /proc/audit-head-second" in pair.second.why_not_ready(),
                                   "the reason", why_not=pair.second.why_not_ready)
    assert pair.value("SELECT COUNT(*) FROM audit WHERE action = 'audit.accept'") == 0


def test_a_folder_that_is_gone_keeps_no_line_from_being_written(pair: Pair) -> None:
    folder = pair.first.folder / "state"
    folder.rename(folder.with_name("away"))
    folder.write_text("")
    pair.write(pair.first)
    process = pair.first.process
    assert process
    process.wait_until(lambda: "cannot make a file next to" in process.log, "a warning")
    pair.first.admin().refused(403, "forbidden", "POST", "/v2/audit/accept-restore")
    until(lambda: pair.value("SELECT COUNT(*) FROM audit WHERE action = 'request.deny'"), "the refusal")
    folder.unlink()
    folder.with_name("away").rename(folder)
    restart(pair.first)
    assert verify(pair.first).returncode == 0


def test_a_new_installation_in_place_of_a_lost_one_is_accepted(pair: Pair) -> None:
    """As docs/admin/install.md has it for a master key that is lost."""
    pair.first.stop()
    pair.sql("DROP DATABASE kaas")
    (pair.first.folder / "master.key").unlink()
    pair.first.init()
    assert "another key was put into it" in start_refused(pair.first)
    pair.first.ctl.ok("--yes", "audit", "accept-restore")
    assert pair.first.process
    pair.first.process.wait_until(pair.first.ready, "readiness", why_not=pair.first.why_not_ready)
    assert verify(pair.first).returncode == 0
