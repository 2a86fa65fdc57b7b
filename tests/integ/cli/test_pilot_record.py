"""kaasctl pilot --record: nothing in the folder tells whose site it was, and the recording plays as that site did. The recordings of
tests/replay are played, too."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import stat
import subprocess
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from env.certs import ServerCert, make_server_cert
from env.places import TOP, Scratch, program
from env.vcenter import DEFAULT_WORLD, StrictVcenter, start_strict
from hx import HxConnect
from replay import Replay

pytestmark = pytest.mark.slow
RECORDINGS = sorted((TOP / "tests/replay/recordings").iterdir())
RESULTS = {"holds": "ok", "does_not_hold": "failed", "not_asked": "skipped"}
HX_UUID = "9004183636114227531:5445300663653806560"
HX_PASSWORD = "Hx-Marmoset&Pass"
TELLING = ("name", "annotation", "full_name", "password", "uuid", "instance_uuid", "url", "label", "company", "summary", "domain")


def planted_world(folder: Path) -> tuple[Path, set[str]]:
    """The default world with names that stand nowhere else; and all that tells whose it is."""
    text = DEFAULT_WORLD.read_text()
    for old, new in (("HX-East", "Zanzibar-East"), ("HX-West", "Quokka West"), ("C-Plain", "Plainwombat"),
                     ("example.test", "narwhal.example"), ("k8s-", "tapir-"), ("DC0", "Lisboa-DC"), ("DC1", "Porto-DC"),
                     ("127.0.0.1\"", "10.77.12.34\""), ("https://hx-west.narwhal.example", "https://10.77.12.35:8443"),
                     ("Cisco HyperFlex", "Gnu Storage"), ("Cisco Systems, Inc.", "Ocelot & Sons <Ltd>")):
        text = text.replace(old, new)
    world = json.loads(text)
    for datacenter in world["datacenters"]:
        for cluster in datacenter["clusters"]:
            for machine in cluster["vms"]:
                machine["annotation"] = "Ask Hubertus Axolotl, room 4711, about this one"
    path = folder / "world.json"
    path.write_text(json.dumps(world))
    told = set(strings({key: world[key] for key in ("datacenters", "extensions", "users", "folders", "instance_uuid")}))
    return path, told | {"Hubertus", "Axolotl", "narwhal", "Zanzibar", "Quokka", "tapir-", "Ocelot", "10.77.12", world["instance_uuid"]}


def strings(node: Any, name: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from strings(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value, name)
    elif isinstance(node, str) and name in TELLING and len(node) > 3:
        yield node


def forms(text: str) -> set[bytes]:
    """How a text may stand in a file: as it is, in small letters, escaped for XML, JSON, URLs, and in base64 at any place."""
    raw = text.encode()
    ways = {text, text.lower(), text.upper(), escape(text), escape(text, {'"': "&quot;"}), json.dumps(text)[1:-1],
            json.dumps(escape(text))[1:-1], urllib.parse.quote(text), urllib.parse.quote_plus(text), raw.hex()}
    # without the ends, which depend on what stands beside it
    shifted = {base64.b64encode(b"\0" * shift + raw).decode()[4:-4] for shift in range(3)}
    return {way.encode() for way in ways} | {way.encode() for way in shifted if len(way) > 5}


class Site:
    def __init__(self) -> None:
        self.scratch = Scratch("pr")
        world, self.planted = planted_world(self.scratch.path)
        (self.scratch.path / "tls").mkdir()
        self.cert: ServerCert = make_server_cert(self.scratch.path / "tls")
        self.vcenter: StrictVcenter = start_strict(self.scratch, world=world)
        self.hx = HxConnect(self.cert.cert_file, self.cert.key_file, "Zanzibar-East", HX_UUID, "Lisboa-DC", "Zanzibar-East")
        self.hx.accounts["admin"] = HX_PASSWORD
        self.folder = self.scratch.path / "recording"

    def secret(self, name: str, text: str) -> Path:
        path = self.scratch.path / f"{name}.secret"
        path.write_text(text)
        path.chmod(0o600)
        return path

    def record(self, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
        password = self.secret("pw", self.vcenter.admin.password)
        return run("--vcenter", self.vcenter.address, "--user", self.vcenter.admin.login, "--password-file", password, "--thumbprint",
                   self.vcenter.sha256, "--direct-port", "0", "--tunnel-port", self.vcenter.tunnel_port or 0, "--hx",
                   f"127.0.0.1:{self.hx.port}", "--hx-ca-file", self.cert.ca_file, "--hx-password-file", self.secret("hx", HX_PASSWORD),
                   "--record", folder, *more)

    def play(self, folder: Path) -> tuple[list[dict[str, str]], Replay]:
        """The table that a recording gives."""
        any_password = self.secret("any", "any")
        with Replay(folder, self.cert.cert_file, self.cert.key_file) as replay:
            hx = ("--hx-ca-file", self.cert.ca_file, "--hx-password-file", any_password) if replay.hx else ()
            result = run(*replay.options(), "--user", "any@any", "--password-file", any_password, "--ca-file", self.cert.ca_file, *hx)
            return table(result), replay


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    argv = [program("kaasctl"), "pilot", "--read-only", "--wait", "1", "-o", "json", *arguments]
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=120, check=False)


def table(result: subprocess.CompletedProcess[str]) -> list[dict[str, str]]:
    assert result.returncode in (0, 1), result.stderr
    return [{"probe": row["probe"], "result": RESULTS[row["result"]]} for row in json.loads(result.stdout)["probes"]
            if row["probe"] != "recording"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    try:
        with made.hx:
            yield made
    finally:
        made.vcenter.stop()
        made.scratch.remove()


@pytest.fixture(scope="module")
def recorded(site: Site) -> list[dict[str, str]]:
    """The table of a run that left a recording in site.folder."""
    return table(site.record(site.folder))


def test_nothing_tells_whose_site_it_was(site: Site, recorded: list[dict[str, str]]) -> None:
    assert recorded
    calls = site.vcenter.control.calls()
    keys = {call["session_key"] for call in calls if call.get("session_key")}
    users = {call["user"] for call in calls if call.get("user")}
    certificate = site.vcenter.sha256
    secrets = {site.vcenter.admin.password, HX_PASSWORD, "Pass1", "wörd", HX_UUID, HX_UUID.split(":")[0], site.vcenter.admin.login,
               certificate, certificate.replace(":", ""), "VSPHERE.LOCAL", "vsphere.local", "Administrator"}
    assert len(site.planted) > 60 and keys and users
    text = b"\n".join(path.read_bytes() for path in site.folder.iterdir())
    left = [form for planted in site.planted | keys | users | secrets for form in forms(planted) if form in text]
    assert left == []


def test_the_files_are_for_their_owner_alone(site: Site, recorded: list[dict[str, str]]) -> None:
    assert recorded and {path.name for path in site.folder.iterdir()} == {"exchanges.json", "table.json"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in site.folder.iterdir()} == {0o600}
    assert stat.S_IMODE(site.folder.stat().st_mode) == 0o700


def test_what_belongs_together_still_does(site: Site, recorded: list[dict[str, str]]) -> None:
    """One name has one pseudonym everywhere: at vCenter and at HX."""
    assert {"probe": "hx_place", "result": "ok"} in recorded
    exchanges = json.loads((site.folder / "exchanges.json").read_text())["exchanges"]
    place = next(json.loads(x["answer"]) for x in exchanges if x["path"].endswith("/hypervisor/vcenter"))
    assert any(f">{place['vCenterClusterName']}<" in x["answer"] for x in exchanges if x["service"] == "vcenter" and x["answer"])
    assert {x["name"] for x in exchanges if x["way"] == "tunnel"} == {"LoginExtensionByCertificate"}


def test_two_recordings_have_no_pseudonym_in_common(site: Site, recorded: list[dict[str, str]]) -> None:
    assert recorded
    site.hx.advance(15 * 60)
    second = site.scratch.path / "second"
    assert table(site.record(second)) == recorded
    names = [json.loads(next(x["answer"] for x in json.loads((folder / "exchanges.json").read_text())["exchanges"]
                             if x["path"] == "/coreapi/v1/clusters"))[0]["name"] for folder in (site.folder, second)]
    assert len(set(names)) == 2


def test_it_plays_as_the_site_did(site: Site, recorded: list[dict[str, str]]) -> None:
    played, replay = site.play(site.folder)
    assert (played, replay.refused) == (recorded, [])


def test_what_was_not_recorded_is_refused_and_named(site: Site, recorded: list[dict[str, str]]) -> None:
    assert recorded
    cut = site.scratch.path / "cut"
    cut.mkdir()
    whole = json.loads((site.folder / "exchanges.json").read_text())
    whole["exchanges"] = [x for x in whole["exchanges"] if x["name"] != "AcquireCloneTicket"]
    (cut / "exchanges.json").write_text(json.dumps(whole))
    (cut / "table.json").write_text((site.folder / "table.json").read_text())
    played, replay = site.play(cut)
    assert replay.refused == ["vcenter AcquireCloneTicket"]
    assert {"probe": "ticket", "result": "failed"} in played


def test_a_folder_with_something_in_it_is_left_alone(site: Site, recorded: list[dict[str, str]]) -> None:
    assert recorded
    before = {path: path.read_bytes() for path in site.folder.iterdir()}
    site.vcenter.control.forget_calls()
    result = site.record(site.folder)
    assert result.returncode == 1 and "not empty" in result.stderr
    assert before == {path: path.read_bytes() for path in site.folder.iterdir()}
    assert site.vcenter.control.calls() == []


@pytest.mark.parametrize("folder", RECORDINGS, ids=[folder.name for folder in RECORDINGS])
def test_a_kept_recording_plays_with_the_table_it_was_made_with(site: Site, folder: Path) -> None:
    played, replay = site.play(folder)
    assert (played, replay.refused) == (replay.recording.table, [])
