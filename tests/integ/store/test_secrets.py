"""Secrets do not stay anywhere: passwords, session cookies, clone tickets and keys are searched for in the database, in logs
at debug level, in arguments and environments, and in a memory image of the daemon, each after it was used."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from env import search, vimclient
from env.full import EXTENSION_KEY, add_vcenter
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import Scratch, program
from env.process import Process
from env.vcenter import DEFAULT_WORLD, StrictVcenter, User, start_strict

pytestmark = [pytest.mark.slow, pytest.mark.long(75),
              pytest.mark.users_build("memory images: a sanitizer keeps what was freed, and its shadow is terabytes")]
CORE = "Quagga-7f3e-Marmoset"  # survives every escaping as it is
PASSWORD = f"<&>\"'\\{CORE}'\"\\]]>ü€"
LOCAL_PASSWORD_LIMIT_BYTES = 12
NEEDLES = search.forms_of(CORE)
CARELESS = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]  # root that the kernel treats as anybody


class Place:
    """A daemon and a vCenter whose administrator has the password that is searched for."""

    def __init__(self, stack: ExitStack) -> None:
        self.scratch = Scratch("x")
        stack.callback(self.scratch.remove)
        layout = json.loads(DEFAULT_WORLD.read_text())
        next(user for user in layout["users"] if user["name"] == "Administrator")["password"] = PASSWORD
        folder = Scratch("xw")  # a folder of its own: the vCenter's files hold the password, ours must not
        stack.callback(folder.remove)
        (folder.path / "world.json").write_text(json.dumps(layout))
        self.db = Mariadb(self.scratch)
        stack.callback(self.db.stop)
        self.vcenter: StrictVcenter = start_strict(folder, world=folder.path / "world.json")
        stack.callback(self.vcenter.stop)
        self.kaasd = Kaasd(self.scratch, self.db.socket)
        self.kaasd.init()
        stack.callback(self.kaasd.stop)
        self.kaasd.start()
        add_vcenter(self.kaasd, self.vcenter)

    @property
    def pid(self) -> int:
        assert self.kaasd.process
        return self.kaasd.process.pid

    def register(self, password: str = PASSWORD) -> subprocess.CompletedProcess[str]:
        return self.kaasd.ctl.run("vcenter", "register", self.vcenter.host, "--user", self.vcenter.admin.login,
                                   "--password-file", "-",
                                  stdin=password + "\n")

    def everywhere(self, needles: set[bytes]) -> list[str]:
        """Wherever a secret could have been left."""
        return (search.database(self.db, needles) + search.folder(self.scratch.log, needles) + search.folder(self.kaasd.folder, needles) +
                search.processes(self.scratch.path, needles) + search.memory(self.pid, needles))


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with ExitStack() as stack:
        made = Place(stack)
        result = made.register()
        assert result.returncode == 0, result.stderr
        yield made


@pytest.fixture(scope="module")
def login_key(place: Place) -> bytes:
    """The key of the login certificate, unsealed with the master key by other code than the daemon's (the format is in src/port/seal.h)."""
    ((sealed,),) = place.db.query("SELECT sealed FROM vcenter_credentials WHERE state = 'active'", database="kaas")
    head, nonce, rest = sealed[:5], sealed[5:17], sealed[17:]
    master = (place.kaasd.folder / "master.key").read_bytes()
    return AESGCM(master).decrypt(nonce, rest, head + f"login-certificate:{place.vcenter.instance_uuid}".encode())


def test_the_search_finds_what_is_there(place: Place) -> None:
    marker = {EXTENSION_KEY.encode()}
    assert search.memory(place.pid, marker)
    assert search.rows(place.db, marker)
    assert search.find(place.db.dump(), marker, "files")
    assert search.processes(place.scratch.path, {str(place.kaasd.config).encode()})


def test_the_search_knows_a_secret_in_every_clothing() -> None:
    """The core of the password survives escaping; forms that change every character are listed."""
    for dressed in (PASSWORD.encode(), json.dumps(PASSWORD).encode(), b"&lt;&amp;&gt;&quot;&apos;\\" + CORE.encode(),
                    CORE.encode().hex().encode()):
        assert search.find(b"before" + dressed + b"after", NEEDLES, "x")


def test_the_password_of_a_registration_by_the_admin_socket_is_nowhere(place: Place) -> None:
    assert place.everywhere(NEEDLES) == []


def test_the_password_of_a_registration_over_tls_is_nowhere(place: Place) -> None:
    api = place.kaasd.admin()
    api.expect(200, "POST", f"/v2/vcenters/{place.vcenter.instance_uuid}/register", headers={"X-KaaS": "1"},
               json={"username": place.vcenter.admin.login, "password": PASSWORD})
    assert place.everywhere(NEEDLES) == []


def test_the_password_of_a_refused_registration_is_nowhere(place: Place) -> None:
    wrong = f"{CORE}-but-wrong"
    result = place.register(wrong)
    assert result.returncode != 0
    assert CORE not in result.stdout + result.stderr
    assert place.everywhere(NEEDLES) == []


def test_the_password_of_a_registration_that_broke_off_is_nowhere(place: Place) -> None:
    place.vcenter.control.fault("Login", "truncated", bytes=300, count=1)
    result = place.register()
    place.vcenter.control.clear_faults()
    assert result.returncode != 0
    assert CORE not in result.stdout + result.stderr
    assert place.everywhere(NEEDLES) == []


def test_a_body_with_a_password_that_is_refused_as_malformed_leaves_nothing(place: Place) -> None:
    api = place.kaasd.admin()
    for body in (f'{{"username": "a", "password": "{CORE}", }}', f'{{"username": "a", "password": "{CORE}", "extra": 1}}',
                 f'{{"username": 1, "password": "{CORE}"}}', f'{{"username": "a", "password": ["{CORE}"]}}'):
        answer = api.call("POST", f"/v2/vcenters/{place.vcenter.instance_uuid}/register", data=body.encode(),
                          headers={"X-KaaS": "1", "Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert CORE not in answer.text
    assert place.everywhere(NEEDLES) == []


def test_while_kaasctl_registers_no_process_shows_the_password(place: Place) -> None:
    place.vcenter.control.fault("Login", "delay", delay_ms=1500, count=1)
    command = [str(program("kaasctl")), "--config", str(place.kaasd.config), "vcenter", "register", place.vcenter.host, "--user",
               place.vcenter.admin.login, "--password-file", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        assert running.stdin
        assert running.stdout
        running.stdin.write(PASSWORD.encode() + b"\n")
        running.stdin.close()
        found = []
        while running.poll() is None:
            found += search.processes(place.scratch.path, NEEDLES)
        said = running.stdout.read()
    assert running.returncode == 0, said
    assert found == []
    assert search.find(said, NEEDLES, "output") == []


def test_the_cookie_of_a_person_who_signed_in_is_nowhere(place: Place) -> None:
    cookie = place.vcenter.control.login("viewer-east@vsphere.local")["cookie"]
    place.kaasd.api().login_session(place.vcenter.instance_uuid, cookie)
    assert place.everywhere(search.forms_of(cookie)) == []


def test_a_clone_ticket_that_was_used_is_nowhere(place: Place) -> None:
    with vimclient.session(place.vcenter, place.vcenter.users["viewer-east"]) as instance:
        ticket = vimclient.clone_ticket(instance)
        place.kaasd.api().login_ticket(place.vcenter.instance_uuid, ticket)
    assert place.everywhere(search.forms_of(ticket)) == []


def test_a_vcenter_password_of_a_sign_on_is_nowhere(place: Place) -> None:
    user: User = place.vcenter.admin
    place.kaasd.api().login_password(user.login, user.password, f"vcenter:{place.vcenter.instance_uuid}")
    assert place.everywhere(NEEDLES) == []


def test_the_password_of_a_local_administrator_is_nowhere(place: Place) -> None:
    place.kaasd.admin()
    assert len(place.kaasd.admin_password) >= LOCAL_PASSWORD_LIMIT_BYTES
    assert place.everywhere(search.forms_of(place.kaasd.admin_password)) == []


def test_a_wrong_password_of_a_local_administrator_is_nowhere(place: Place) -> None:
    wrong = f"wrong-{secrets.token_hex(12)}"
    answer = place.kaasd.api().post_login("password", {"username": "admin", "password": wrong})
    assert answer.status_code == requests.codes.unauthorized
    assert place.everywhere(search.forms_of(wrong)) == []


def test_tokens_are_not_stored_and_not_logged(place: Place) -> None:
    token = place.kaasd.admin().token
    assert token
    needles = {token.encode(), token.rsplit(".", 1)[1].encode()}
    assert search.database(place.db, needles) + search.folder(place.scratch.log, needles) == []


def test_the_key_of_the_login_certificate_is_in_the_database_only_sealed(place: Place, login_key: bytes) -> None:
    key = serialization.load_pem_private_key(login_key, None)
    der = key.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    lines = [line for line in login_key.splitlines() if not line.startswith(b"-----")]
    needles = {*lines, der[40:72], b"PRIVATE KEY"}
    assert search.database(place.db, needles) == []
    assert search.folder(place.scratch.log, needles) == []


def test_the_master_key_is_in_its_file_only(place: Place) -> None:
    master = (place.kaasd.folder / "master.key").read_bytes()
    needles = {master, master.hex().encode()}
    assert search.database(place.db, needles) + search.folder(place.scratch.log, needles) == []


def test_our_own_session_at_the_vcenter_is_not_in_the_log(place: Place) -> None:
    keys = [row["key"] for row in place.vcenter.control.sessions() if row["extension_session"]]
    assert keys
    assert place.kaasd.process
    assert "vmware_soap_session" not in place.kaasd.process.log


def test_there_are_no_core_dumps(place: Place) -> None:
    limits = Path(f"/proc/{place.pid}/limits").read_text()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    assert line.split()[4:6] == ["0", "0"]


def test_the_memory_of_the_daemon_is_closed_to_others_of_its_account(scratch: Scratch, place: Place) -> None:
    """With ptrace off (prctl PR_SET_DUMPABLE) the kernel asks for CAP_SYS_PTRACE even of the same account (ptrace(2))."""
    def can_look(pid: int) -> bool:
        return subprocess.run([*CARELESS, "cat", f"/proc/{pid}/environ"], capture_output=True, check=False).returncode == 0

    def listens(port: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    open_one = Process("open", [*CARELESS, "sleep", "1000"], scratch.log)
    second = Kaasd(scratch, place.db.socket, "second", options={"replica": {"name": "second"}})
    (second.folder / "master.key").write_bytes((place.kaasd.folder / "master.key").read_bytes())
    (second.folder / "master.key").chmod(0o600)
    closed_one = Process("closed", [*CARELESS, program("kaasd"), "--config", second.config], scratch.log)
    try:
        open_one.wait_until(lambda: can_look(open_one.pid), "its environment")
        closed_one.wait_until(lambda: listens(second.port), "its port")
        assert not can_look(closed_one.pid)
    finally:
        open_one.kill()
        closed_one.stop()
