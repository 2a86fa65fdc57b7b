"""A bare Debian with systemd as init, and what its administrator does there by the commands of README.md."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from env.kaasd import ONE_TIME_PASSWORD
from env.machine import Machine
from env.places import BIN, TOP, Scratch
from env.process import run
from env.vcenter import DEFAULT_WORLD, users_of
from readme import commands, section

VCENTER_ADDRESS = "192.0.2.10"  # one that kaasd connects to unless told otherwise
HOSTS = {"kaas.example.com kaas": "127.0.1.1", "vc.example.com": VCENTER_ADDRESS}  # the name of the host itself as Debian writes it
ALSO = ("sudo", "curl", "iproute2")  # what the commands are run with
PASSWORD = "a password of the administrator"
CA, URL = "/var/lib/kaas/server.crt", "https://kaas.example.com:8443"
CURL = f"curl --silent --fail --cacert {CA} {URL}"
README = (TOP / "README.md").read_text()
# From the packages, or from what was built, to a service that people use. The first brings what Debian has.
STEPS = [*commands(section(README, "Install")), *commands(section(README, "Set up").split("\nKubernetes clusters that kaasd asks")[0])]


def named(command: str) -> list[str]:
    """The packages of a command of README.md that Debian has."""
    words = run(["bash", "-c", f"cd {TOP} && echo {command.partition('apt-get install ')[2]}"]).stdout.split()
    return [word for word in words if not word.startswith(("--", "./"))]


class Place:
    """The machine, and what its administrator does there."""

    def __init__(self, scratch: Scratch, packages: Sequence[str], *, binds: Sequence[str] = ()) -> None:
        """It has these packages, those of the commands that README.md installs and sets up with, and what the commands are run with."""
        self.machine = Machine(scratch, [*packages, *named(STEPS[0]), *ALSO], hosts=HOSTS, binds=(
            f"--bind-ro={BIN}", f"--bind-ro={DEFAULT_WORLD.parent}", *binds))
        self.guide = (TOP / "docs/admin/install.md").read_text()
        self.administrator = users_of(DEFAULT_WORLD)["Administrator"]
        self.one_time_password = ""

    def start_vcenter(self) -> None:
        self.machine.ok(f"ip addr add {VCENTER_ADDRESS}/32 dev lo")
        self.machine.ok(f"systemd-run --unit=vcenter {BIN}/strictvc -listen {VCENTER_ADDRESS}:443 -tunnel-listen {VCENTER_ADDRESS}:80 "
                        f"-names vc.example.com -ready-file /run/vcenter.json -world {DEFAULT_WORLD}")
        self.machine.until("test -s /run/vcenter.json", "a vCenter")

    def rejoin(self) -> None:
        """A vCenter of the same identity, but of another certificate and without our record: what ran as one is gone with a reboot."""
        self.start_vcenter()
        self.machine.ok("kaasctl vcenter trust vc.example.com --yes")
        self.answer("kaasctl vcenter register vc.example.com --user administrator@vsphere.local", ("assword", self.administrator.password))

    def remove_all(self, replaced: Mapping[str, str]) -> None:
        """The commands of the guide; where one has a word of `replaced`, that stands for the whole of it."""
        first, *others = commands(section(self.guide, "Removing all of it"))
        self.answer(first, ("assword", self.administrator.password), ("yes", "yes"))
        for command in others:
            told = self.machine.ok(next((new for word, new in replaced.items() if word in command), command) + " 2>&1")
            assert "WARNING" not in told, told

    def answer(self, command: str, *dialog: tuple[str, str]) -> None:
        """A command that asks. Without sudo, which puts a terminal of its own between, where one does not see whether there is an echo."""
        with self.machine.terminal(command.removeprefix("sudo ")) as person:
            for question, answer in dialog:
                person.wait_for(question)
                if "assword" in question:
                    person.wait_for_silence()  # what is typed before the echo is off would be lost
                person.type(f"{answer}\n")
            assert person.end() == 0, f"{command}:\n{person.screen}"

    def step(self, command: str) -> None:
        """One command of README.md."""
        if "apt-get install" in command:
            self.machine.ok(f"dpkg-query --status {' '.join(named(command))}")
        elif "kaasctl init" in command:
            said = self.machine.ok(command)
            found = ONE_TIME_PASSWORD.search(said)
            assert found, said
            self.one_time_password = found.group(1)
        elif "user password" in command:
            self.answer(command, ("Password of admin", self.one_time_password), ("New password: ", PASSWORD),
                        ("New password again: ", PASSWORD))
        elif "vcenter add" in command:
            self.answer(command, ("yes", "yes"))
        elif "vcenter register" in command:
            self.answer(command, ("assword", self.administrator.password))
        else:
            self.machine.ok(command)

    def health(self) -> str:
        """As asked from elsewhere, which needs no valid configuration here."""
        asking = f"kaasctl --server {URL} --ca-file {CA} --user admin --password-file - health"
        return self.machine.run(asking, stdin=f"{PASSWORD}\n").stdout

    def state(self, name: str) -> str:
        return self.machine.ok(f"systemctl show --property {name} --value kaasd").strip()

    def wait_ready(self) -> None:
        self.machine.until(f"{CURL}/readyz", "readiness")

    @contextmanager
    def changed(self, path: str, new: bytes) -> Iterator[None]:
        """Another content of a file, owner and mode as before."""
        file = self.machine.root / path.lstrip("/")
        old = file.read_bytes()
        file.write_bytes(new)
        try:
            yield
        finally:
            file.write_bytes(old)
