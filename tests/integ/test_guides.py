"""The guides, and the page on operations, run as they stand one after the other in one installation."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.certs import make_server_cert
from env.full import World
from env.kaasd import ONE_TIME_PASSWORD
from env.places import TOP, program
from env.transcript import Shell, Step, fits, play, steps_of
from env.wait import until
from hx import HxConnect

pytestmark = pytest.mark.slow

PAGES = ["docs/guides/kaas-admin.md", "docs/guides/kaas-user.md", "docs/guides/hx-admin.md", "docs/operations.md"]  # in this order
HX_UUID = "9004183636114227531:5445300663653806560"
HX_PASSWORD = "S3cret of HX"
ANNAS_OWN = "Anna's 0wn long passphrase"
KAASCTL = """case " $* $(ls "$HOME/.config/kaas" 2>&1)" in
*" --server "* | *" login "* | *logins.json*) exec {kaasctl} "$@" ;;
*) exec {kaasctl} --config {config} "$@" ;;
esac"""


class Site:
    """A fresh installation with a vCenter and an HX cluster beside it, and what the guides call them."""

    def __init__(self, world: World, hx: HxConnect, hx_sha256: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.world = world
        vcenter, url = world.vcenter, world.kaasd.url
        shutil.copy(world.kaasd.tls.ca_file, folder / "server.crt")
        (folder / "login.json").write_text(json.dumps({"username": "anna", "password": ANNAS_OWN}))
        self.answers = {"Type yes to trust this certificate: ": "yes",
                        "Password of administrator@vsphere.local at vCenter vc.example.com: ": vcenter.admin.password,
                        "Password of admin at 127.0.0.1: ": HX_PASSWORD}
        names = {"vcenter add vc.example.com": f"vcenter add {vcenter.address} --tunnel-port {vcenter.tunnel_port} --name vc.example.com",
                 "--address hx-west.example.com": f"--address 127.0.0.1 --port {hx.port}", "AB:CD:EF": hx_sha256,
                 "https://kaas.example.com:8443": url}
        programs = {"sudo": 'exec "$@"', "kaasctl": KAASCTL.format(kaasctl=program("kaasctl"), config=world.kaasd.config)}
        patch.setenv("HOME", str(folder))
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        self.shell = Shell(folder, names, self.answers, programs)

    def follow(self, step: Step, printed: str) -> None:
        """What a person takes from one command to the next, and waits for."""
        if "vcenter register" in step.command:
            until(lambda: "watching" not in self.world.kaasd.ctl.run("doctor").stdout, "the watch")
        if "user add anna" in step.command and (made := ONE_TIME_PASSWORD.search(printed)):
            self.answers[f"Password of anna at {self.world.kaasd.url}: "] = made[1]
            self.answers["New password: "] = self.answers["New password again: "] = ANNAS_OWN
        if "user password" in step.command:
            self.answers[f"Password of anna at {self.world.kaasd.url}: "] = ANNAS_OWN


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("guides")
    cert = make_server_cert(folder / "hx")
    with World("g", options={"hx": {"read_interval": "0s"}}) as world, \
            HxConnect(cert.cert_file, cert.key_file, "HX-West", HX_UUID, "DC0", "HX-West") as hx, pytest.MonkeyPatch.context() as patch:
        hx.accounts["admin"] = HX_PASSWORD
        hx.registrations.demand(None)  # as those that there are
        yield Site(world, hx, cert.sha256, folder, patch)
        assert hx.violations == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_true(site: Site, name: str) -> None:
    assert play(TOP / name, site.shell, site.follow) >= 5


def test_every_guide_is_run() -> None:
    assert {f"docs/guides/{page.name}" for page in (TOP / "docs/guides").iterdir()} < set(PAGES)


def test_what_a_page_says_is_compared(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n    $ echo one; \\\n        echo two\n    one\n    ...\n\n    three\n\nMore\n\n    not printed\n")
    [step] = steps_of(page)
    assert (step.command, step.expected) == ("echo one; \\\necho two", ["one", "...", "three"])
    assert fits(["one", "t...o"], "one\r\nt w o\r\n") and fits(["...", "b"], "b\n") and fits([], "")
    assert not any((fits(["one"], "one\ntwo\n"), fits(["...", "b"], "a\n"), fits(["a...b"], "a\nb\n"), fits([], "more\n")))
    shell = Shell(tmp_path, {"there": "here"}, {}, {"greet": "echo hello $1"})
    assert shell.run("greet there") == (0, "hello there\r\n")
    page.write_text("    $ greet there\n    hello here\n")
    with pytest.raises(AssertionError, match=re.escape("page.md:1: $ greet there")):
        play(page, shell)
    page.write_text("    $ false\n")
    with pytest.raises(AssertionError, match="ends with 1"):
        play(page, shell)
