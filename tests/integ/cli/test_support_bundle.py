"""kaasctl support-bundle: what is in it, and that no secret is, wherever one was; also without kaasd and its database."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import re
import secrets
import stat
import struct
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from env import search, vimclient
from env.full import World, add_samples, add_vcenter
from env.kaasd import ONE_TIME_PASSWORD
from env.sealing import login_certificate

pytestmark = pytest.mark.slow
FILES = ["MANIFEST", "clusters.txt", "config.txt", "doctor.txt", "files.txt", "health.txt", "hx.txt", "log.txt", "metrics.txt",
         "packages.txt", "replicas.txt", "schema.txt", "unit.txt", "vcenters.txt", "versions.txt"]
ODD = "\"'\\<&>%+/ \u00fc"  # what each notation escapes
NAME = "East password=Zebu-in-a-name"
SEALED = ("LDAP bind password", "HX password", "vCenter login account", "signing key")
NO_DATABASE = "what is sealed in the database is not known"


def odd_password() -> str:
    return f"{secrets.token_urlsafe(6)}{ODD}{secrets.token_urlsafe(6)}"


def keytab(key: bytes) -> bytes:
    """One entry of the MIT format, version 2: HTTP/kaas@EXAMPLE.COM, AES-256."""
    def counted(text: bytes) -> bytes:
        return struct.pack(">H", len(text)) + text

    names = b"".join(counted(name) for name in (b"EXAMPLE.COM", b"HTTP", b"kaas"))
    entry = struct.pack(">H", 2) + names + struct.pack(">IIBH", 1, 1, 1, 18) + counted(key)
    return b"\x05\x02" + struct.pack(">i", len(entry)) + entry


def is_text(secret: bytes) -> bool:
    text = secret.decode(errors="replace")
    return "\ufffd" not in text and text.isprintable()


def plain_forms(secret: bytes) -> set[bytes]:
    if not is_text(secret):
        return {secret.hex().encode(), secret.hex().upper().encode(), secret.hex(":").encode()}
    text = secret.decode()
    found = search.forms_of(text) - search._base64_forms(secret) - {text.encode("utf-16-le")}
    encoded = quote(text, safe="")
    return found | {encoded.encode(), re.sub("%..", lambda one: one[0].lower(), encoded).encode(), quote_plus(text).encode(),
                    json.dumps(json.dumps(text))[3:-3].encode(), secret.hex(":").encode()}


def forms(secret: bytes) -> set[bytes]:
    """What is searched for."""
    return plain_forms(secret) | search._base64_forms(secret)


def written(secret: bytes) -> list[bytes]:
    """What is planted: base64 is that of the secret alone, and of longer texts around it."""
    encoded = {encode(before + secret + behind) for before in (b"", b":", b"u:") for behind in (b"", b"\n", b";x")
               for encode in (base64.b64encode, base64.urlsafe_b64encode)}
    return sorted(plain_forms(secret) | encoded)


class Place:
    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.log = folder / "kaasd.log"
        self.by_value: dict[str, bytes] = {}  # kaasctl can read these
        self.by_look: dict[str, str] = {}
        self.elsewhere: dict[str, str] = {}  # in places that are not collected

    def bundle(self, name: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        """Unpacked by tar itself, and by file."""
        path = self.folder / f"{name}.tar.gz"
        result = self.world.kaasd.ctl.run("support-bundle", "--log", str(self.log), str(path))
        assert result.returncode == 0, result.stderr
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        subprocess.run(["tar", "-xzf", path, "-C", self.folder, f"--one-top-level={name}"], check=True, timeout=60)
        with tarfile.open(path) as tar:
            assert {member.mode for member in tar} == {0o600}
        return result, {file.name: file.read_text() for file in (self.folder / name).rglob("*") if file.is_file()}

    def everything(self) -> dict[str, bytes]:
        return self.by_value | {name: text.encode() for name, text in (self.by_look | self.elsewhere).items()}

    def found(self, name: str) -> list[str]:
        return [f"{what} in {hit}" for what, secret in self.everything().items()
                for hit in search.folder(self.folder / name, forms(secret))]


def plant_known(place: Place) -> None:
    """What the files of the host and the database hold."""
    world, ctl, folder = place.world, place.world.kaasd.ctl, place.world.kaasd.folder
    ldap, hx = odd_password(), odd_password()
    ctl.ok("ldap", "set", "corp", "--kind", "openldap", "--url", "ldaps://127.0.0.1:1", "--search-base", "dc=example,dc=com",
           "--bind-dn", "cn=reader,dc=example,dc=com", "--bind-password-file", "-", "--ca", str(world.kaasd.tls.ca_file), stdin=f"{ldap}\n")
    ctl.ok("vcenter", "set-hx-credential", world.vcenter.instance_uuid, "--user", "local/admin", "--password-file", "-", stdin=f"{hx}\n")
    master = (folder / "master.key").read_bytes()
    ((kid, sealed),) = world.db.query("SELECT kid, sealed FROM signing_keys LIMIT 1", database="kaas")
    signing = AESGCM(master).decrypt(sealed[5:17], sealed[17:], sealed[:5] + f"signing-key:{kid}".encode())
    place.by_value |= {"database password": (folder / "database.password").read_bytes().strip(),
                       "owner's password": (folder / "database-owner.password").read_bytes().strip(),
                       "master key": master,
                       "TLS key": world.kaasd.tls.key_file.read_bytes().splitlines()[2],
                       "signing key": json.loads(signing)["d"].encode(),
                       "LDAP bind password": ldap.encode(), "HX password": hx.encode(),
                       "vCenter login account": world.vcenter.users["operator"].password.encode()}


def plant_unknown(place: Place) -> list[str]:
    """What only looks like secrets, as it would stand in a log; and what stands where nobody looks."""
    world, ctl, look = place.world, place.world.kaasd.ctl, place.by_look
    one_time = ONE_TIME_PASSWORD.search(ctl.ok("user", "add", "anna"))
    assert one_time
    with vimclient.session(world.vcenter, world.vcenter.admin) as instance:
        look["clone ticket"] = vimclient.clone_ticket(instance)
    token = world.kaasd.admin().token
    assert token
    cookie = world.vcenter.control.login(world.vcenter.admin.login)["cookie"]
    look |= {"one-time password": one_time.group(1), "session token": token, "vCenter session": cookie,
             "refresh cookie": secrets.token_hex(16), "key of somebody": login_certificate(1, 1)[1].decode().splitlines()[1],
             "URL": "Gnu-in-a-url", "Basic": "R251OkdudQ1",
             "Negotiate": "YII" + secrets.token_urlsafe(600), "another password": "Okapi 17", "name of a vCenter": "Zebu-in-a-name"}
    place.elsewhere |= {"comment": "Yak-in-a-comment", "environment": "Yak-in-the-environment", "description": "Yak-in-a-description",
                        "label": "Yak-in-a-label"}
    world.kaasd.config.write_text(world.kaasd.config.read_text() + f"# the old password was {place.elsewhere['comment']}\n")
    cluster = ctl.json("cluster", "list")[0]["id"]
    ctl.ok("cluster", "set", cluster, "--description", place.elsewhere["description"], "--label", f"a={place.elsewhere['label']}")
    return [f"the password is: {look['one-time password']}", f"ticket {look['clone ticket']} refused",
            f"Authorization: Bearer {token}", f'{{"cookie":"{token}"}} {token}', f"kaas_refresh={look['refresh cookie']}; Path=/",
            f'vmware_soap_session="{cookie}"', f"session {cookie} ended", f"https://anna:{look['URL']}@proxy.example.com/",
            f"-----BEGIN PRIVATE KEY-----\\n{look['key of somebody']}\\n-----END PRIVATE KEY-----", f"proxy said: Basic {look['Basic']}",
            f"Negotiate {look['Negotiate']}", f'{{"bindPassword": "{look["another password"]}"}}', f"|/usr/lib/core --token={look['URL']}"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("bundle")
    key, token = secrets.token_bytes(32), ".".join(secrets.token_urlsafe(6) for _ in range(5)).encode()
    options = {"metrics": {"token_file": str(folder / "token")}, "auth": {"kerberos": {"keytab": str(folder / "keytab")}},
               "audit": {"log": True}}
    private(folder / "token", b"\xef\xbb\xbf" + token + b"\r\n")  # as editors of Windows write it
    private(folder / "keytab", keytab(key))
    with World("sb", options=options, env={"KAAS_PLANTED": "Yak-in-the-environment"}) as world:
        made = Place(world, folder)
        made.by_value |= {"metrics token": token, "key in a keytab": key}
        add_vcenter(world.kaasd, world.vcenter, "--name", NAME)
        world.kaasd.ctl.ok("vcenter", "set", world.vcenter.instance_uuid, "--tunnel-port", "0")  # no login by certificate
        admin, operator = world.vcenter.admin, world.vcenter.users["operator"]
        private(folder / "login", operator.password.encode())
        world.kaasd.ctl.ok("vcenter", "register", world.vcenter.instance_uuid, "--user", admin.login, "--password-file", "-",
                           "--login-account", operator.login, "--login-password-file", str(folder / "login"), stdin=f"{admin.password}\n")
        add_samples(world.kaasd)
        plant_known(made)
        lines = [f'time=1 event=planted msg="x{form.decode()}y"' for secret in made.by_value.values() for form in written(secret)]
        lines += plant_unknown(made)
        made.log.write_text("\n".join([*lines, (world.scratch.log / "kaasd.log").read_text()]))
        yield made


def private(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)


def test_no_secret_is_in_it(place: Place) -> None:
    assert len(place.everything()) >= 20
    for secret in place.by_value.values():
        assert search.find(place.log.read_bytes(), forms(secret), "log")  # the search finds what is there
    result, files = place.bundle("whole")
    assert sorted(files) == FILES
    assert place.found("whole") == []
    assert "and 5 of the database" in result.stdout and "sent     nothing" in result.stdout
    assert result.stderr == ""


def test_what_is_in_it(place: Place) -> None:
    files = place.bundle("content")[1]
    for name, texts in {
            "config.txt": [f'server.public_url = "{place.world.kaasd.url}"', f'metrics.token_file = "{place.folder}/token"', "is valid"],
            "doctor.txt": ["Configuration", "Public address"], "health.txt": ["database"], "hx.txt": ["HX-East"],
            "log.txt": ["event=request"],
            "metrics.txt": ["kaas_build_info", "# TYPE"], "schema.txt": ["up to date"], "versions.txt": ["MariaDB", "Linux", "kaasd"],
            "vcenters.txt": ["East password=<masked>"], "files.txt": ["-rw------- ", "master.key"], "replicas.txt": ["RUNNING"],
            "packages.txt": ["libc6"], "MANIFEST": [*FILES[1:], "Not in it"]}.items():
        assert [text for text in texts if text not in files[name]] == [], name
    told = place.world.kaasd.ctl.json("support-bundle", "--log", str(place.log), str(place.folder / "json.tar.gz"))
    assert told["all_secrets_known"] and told["files"][0]["name"] == "MANIFEST" and told["masked"] > 100


def test_a_file_that_is_there_is_kept(place: Place) -> None:
    there = place.folder / "there"
    there.write_text("mine")
    result = place.world.kaasd.ctl.run("support-bundle", str(there))
    assert result.returncode == 1 and "is there already" in result.stderr
    assert there.read_text() == "mine"


def test_while_nothing_runs(place: Place) -> None:
    """The last one: it stops kaasd and its database, and spoils the configuration. What is sealed is not known by its value then."""
    world = place.world
    world.kaasd.stop()
    files = place.bundle("stopped")[1]
    assert place.found("stopped") == []
    assert "kaasd is not running" in files["health.txt"] and "[exit status 3]" in files["health.txt"]
    assert "up to date" in files["schema.txt"]
    world.db.stop()
    result, files = place.bundle("nothing")
    assert NO_DATABASE in result.stderr and NO_DATABASE in files["MANIFEST"] and "[exit status" in files["schema.txt"]
    assert [hit for hit in place.found("nothing") if not hit.startswith(SEALED)] == []
    world.kaasd.config.write_text("server:\n  liste: x\n")
    result, files = place.bundle("broken")
    assert "is not valid" in result.stderr and "did you mean" in files["config.txt"]
    assert [hit for hit in place.found("broken") if hit.startswith(("database password", "owner's password"))] == []
