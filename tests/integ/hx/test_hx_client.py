"""examples/hx-client, run as a program: it finds kaasd by its vCenter, lists, follows, gets codes, and refuses."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import ssl
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from env import hx_client, vimclient
from env.certs import ServerCert, make_server_cert
from env.client_certs import ClientCa, ClientCert
from env.full import EXTENSION_KEY, World
from env.places import free_port
from env.samples import EAST, visible_to
from env.vcenter import DEFAULT_WORLD, StrictVcenter, User
from hx import HxConnect
from hx.wire import Answer, Server
from pyVmomi import vim

pytestmark = pytest.mark.slow
PASSWORD = "S3cret of HX"
VIEWER = "VSPHERE.LOCAL\\viewer-east"
HX = "HX-East"
HX_SESSION = "com.springpath.sysmgmt.domain-c7"
OTHER_UUID = "50000000-0000-4000-8000-000000000001"


@dataclass
class Place:
    world: World
    shown: ClientCert  # of the service account of HX
    service_port: int
    origin: str  # of the page of HX-East

    @property
    def vcenter(self) -> StrictVcenter:
        return self.world.vcenter

    @property
    def viewer(self) -> User:
        return self.vcenter.users["viewer-east"]

    def ask(self, *arguments: str, secret: str | None = None, at: StrictVcenter | None = None) -> subprocess.CompletedProcess[str]:
        """A run as viewer-east with the password, unless a secret is given. No run may show a secret, nor fail without words."""
        secrets = [secret or self.viewer.password]
        result = hx_client.ask(at or self.vcenter, secrets[0], *([] if secret else ["--user", self.viewer.login]), *arguments)
        assert not [text for text in (*secrets, "eyJ", "cst-VCT", "Traceback") if text in result.stdout + result.stderr], result.stderr
        return result

    def list(self, *arguments: str, **more: Any) -> list[str]:
        result = self.ask(*arguments, HX, **more)
        assert result.returncode == 0, result.stderr
        return hx_client.names(result.stdout)

    def code_for(self, person: str, port: int = 0) -> list[str]:
        return ["--code-for", person, self.origin, *self.shown.pair, "--service-port", str(port or self.service_port)]

    def code(self, person: str = VIEWER, hx: str = HX, *arguments: str) -> subprocess.CompletedProcess[str]:
        """As HX's service does it, whose session at the vCenter is that of HX's own extension."""
        return self.ask(*self.code_for(person), *arguments, hx, secret=self.vcenter.control.login_extension(HX_SESSION)["cookie"])

    def refused(self, *words: str, arguments: tuple[str, ...] = (HX,), **more: Any) -> None:
        """Exit status 1, what and remedy in words; nobody has been signed in."""
        before = self.vcenter.control.last_call()
        result = self.ask(*arguments, **more)
        assert (result.returncode, result.stdout) == (1, ""), result.stderr
        said = result.stderr.split("hx_client: ")[1]
        assert "\nremedy: " in said and not [word for word in words if word not in said], said
        assert not self.vcenter.control.calls(op="AcquireCloneTicket", after=str(before)), "a ticket was made for whoever it is"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    ca = ClientCa(tmp_path_factory.mktemp("client-ca"))
    cert = make_server_cert(tmp_path_factory.mktemp("hx"))
    shown, port = ca.issue("hx-east"), free_port()
    options = {"server": {"service_listen": f"127.0.0.1:{port}", "client_ca_file": str(ca.ca_file), "client_crl_file": str(ca.crl_file)},
               "hx": {"read_interval": "0s"}}
    with World("hc", options=options) as world, HxConnect(cert.cert_file, cert.key_file, HX, "1:2", "DC0", HX) as hx:
        world.join()
        hx.accounts["admin"] = PASSWORD
        ctl = world.kaasd.ctl
        ctl.ok("hx", "connect", EAST, "--address", "127.0.0.1", "--port", str(hx.port), "--sha256", cert.sha256, "--password-file", "-",
               stdin=PASSWORD + "\n")
        ctl.ok("service", "add", "hx-east", "--hx-cluster", EAST, "--may-delegate", "--certificate", str(shown.cert_file))
        yield Place(world, shown, port, hx.url)


@contextmanager
def edited(vcenter: StrictVcenter, change: Callable[[vim.Extension], None]) -> Iterator[None]:
    """Our record, changed by an administrator while kaasd is not let to repair it; afterwards it is as before."""
    vcenter.control.fault("UpdateExtension", "fault", fault="NoPermission", user=EXTENSION_KEY)
    with vimclient.session(vcenter, vcenter.admin) as instance:
        manager = instance.RetrieveContent().extensionManager
        before, record = manager.FindExtension(EXTENSION_KEY), manager.FindExtension(EXTENSION_KEY)
        change(record)
        manager.UpdateExtension(record)
        try:
            yield
        finally:
            manager.UpdateExtension(before)
            vcenter.control.clear_faults()


# -- a person ---------------------------------------------------------------------------------------------------------------------


def test_a_person_sees_what_the_vcenter_lets_that_person_see(place: Place) -> None:
    assert place.list() == visible_to("viewer-east", EAST)


def test_a_session_that_is_there_is_enough_and_goes_on(place: Place) -> None:
    session = place.vcenter.control.login(place.viewer.login)
    assert place.list("--sha256", place.vcenter.sha256, secret=session["cookie"]) == visible_to("viewer-east", EAST)
    alive = [one["key"] for one in place.vcenter.control.sessions()]
    assert session["key"] in alive
    assert len([one for one in place.vcenter.control.sessions() if one["user_name"] == VIEWER]) == 1


def test_a_change_is_told(place: Place) -> None:
    add = {"name": "new-1", "kubernetes_version": "1.31.2", "control_plane": {"desired": 1}, "workers": {"desired": 1},
           "vsphere_clusters": [{"vcenter_id": place.vcenter.instance_uuid, "moref": "domain-c7"}]}
    with hx_client.following(place.vcenter, place.viewer, "--follow", "2", HX) as lists:
        first = next(lists)
        made = place.world.admin.expect(201, "POST", "/v2/clusters", json=add)
        with_it = next(lists)
        place.world.admin.expect(204, "DELETE", f"/v2/clusters/{made['id']}")
        assert (first, with_it, next(lists)) == (visible_to("viewer-east", EAST), sorted([*first, "new-1"]), first)


def sessions_here(place: Place) -> set[str]:
    return {row["id"] for row in place.world.admin.items("/v2/sessions", principal=VIEWER)}


def test_it_signs_out(place: Place) -> None:
    before = sessions_here(place)
    place.list()
    assert sessions_here(place) <= before  # one of a client before may end meanwhile: its vCenter session is gone


def test_a_session_that_ends_meanwhile_is_told(place: Place) -> None:
    command = hx_client.command(place.vcenter, "--user", place.viewer.login, "--follow", "1", HX)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        process.stdin.write(place.viewer.password + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "3 clusters on HX-East\n"
        for sid in sessions_here(place):
            place.world.admin.expect(204, "DELETE", f"/v2/sessions/{sid}")
        said = process.communicate()[1]
    assert process.returncode == 1 and "KaaS refuses GET /clusters: 401" in said and "/logout" not in said, said


def test_a_record_without_the_certificate_itself_is_enough(place: Place) -> None:
    """As at a vCenter before API 8.0.2.0."""
    def change(record: vim.Extension) -> None:
        for server in record.server:
            server.serverCertificate = None

    with edited(place.vcenter, change):
        assert place.list() == visible_to("viewer-east", EAST)


# -- HX's service -----------------------------------------------------------------------------------------------------------------


def test_a_code_lets_the_person_in_once(place: Place) -> None:
    result = place.code()
    assert result.returncode == 0, result.stderr
    given = json.loads(result.stdout)
    assert (given.keys(), given["origin"]) == ({"code", "expires_in", "origin"}, place.origin)
    assert given["code"] not in result.stderr
    body = {"code": given["code"], "origin": given["origin"]}
    answers = [place.world.kaasd.api().post_login("code", body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 401]
    person = place.world.kaasd.api().as_token(answers[0].json()["access_token"])
    assert (person.get("/v2/whoami")["name"], person.names()) == (VIEWER, visible_to("viewer-east", EAST))


def test_what_kaasd_refuses_is_told_with_its_remedy(place: Place) -> None:
    for result, status in ((place.code("VSPHERE.LOCAL\\nobody"), 401), (place.code(hx="HX-West"), 404),
                           (place.ask(*place.code_for(VIEWER)[:-2], HX), 401)):  # the last one asks at the port for browsers
        assert result.returncode == 1 and f"KaaS refuses POST /login/service: {status}" in result.stderr, result.stderr
        assert "\nremedy: " in result.stderr and not result.stdout


# -- what is refused --------------------------------------------------------------------------------------------------------------


MODES = pytest.mark.parametrize("by_code", [False, True], ids=["list", "code"])


def mode(place: Place, by_code: bool, *more: str) -> tuple[str, ...]:
    return (*(place.code_for(VIEWER) if by_code else ()), *more, HX)


@MODES
def test_another_certificate_than_that_of_the_record(place: Place, tmp_path: Path, by_code: bool) -> None:
    other = make_server_cert(tmp_path)

    def change(record: vim.Extension) -> None:
        for server in record.server:
            server.serverThumbprint, server.serverCertificate = other.sha256, leaf_of(other)

    wanted = other.sha256.replace(":", "").lower()
    with edited(place.vcenter, change):
        place.refused("shows another certificate", wanted, f"the extension record {EXTENSION_KEY}", "kaasctl doctor",
                      arguments=mode(place, by_code))


def leaf_of(cert: ServerCert) -> str:
    """As vCenter takes it: the certificate alone."""
    return cert.cert_file.read_text().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n"


@MODES
def test_two_records(place: Place, by_code: bool) -> None:
    with vimclient.session(place.vcenter, place.vcenter.admin) as instance:
        manager = instance.RetrieveContent().extensionManager
        record = manager.FindExtension(EXTENSION_KEY)
        record.key = "com.example.kaas"
        record.server, record.client = record.server[-1:], []
        manager.RegisterExtension(record)
        try:
            place.refused("several extension records", EXTENSION_KEY, "com.example.kaas", "--key", arguments=mode(place, by_code))
            assert place.list("--key", EXTENSION_KEY) == visible_to("viewer-east", EAST)
        finally:
            manager.UnregisterExtension("com.example.kaas")


def owner_of(record: vim.Extension) -> Any:
    return next(pair for group in record.resourceList if group.module == "kaas" for pair in group.data)


def test_the_installation_can_be_expected(place: Place) -> None:
    owner = owner_of(vimclient.read_extension(place.vcenter, EXTENSION_KEY)).value
    assert place.list("--installation", owner) == visible_to("viewer-east", EAST)
    assert f"installation {owner}," in place.ask(HX).stderr


@MODES
def test_a_record_of_another_installation(place: Place, by_code: bool) -> None:
    ours, theirs = owner_of(vimclient.read_extension(place.vcenter, EXTENSION_KEY)).value, str(uuid.uuid4())
    with edited(place.vcenter, lambda record: setattr(owner_of(record), "value", theirs)):
        place.refused("another installation", theirs, ours, EXTENSION_KEY, arguments=mode(place, by_code, "--installation", ours))


def test_a_record_that_names_no_installation(place: Place) -> None:
    def change(record: vim.Extension) -> None:
        record.resourceList = [group for group in record.resourceList if group.module != "kaas"]

    with edited(place.vcenter, change):
        place.refused("not written by KaaS", EXTENSION_KEY, "--take-over")


def test_no_record(place: Place) -> None:
    place.refused("no extension record", "com.example.none", "kaasctl vcenter register", arguments=("--key", "com.example.none", HX))


ODD_RECORD = """<extension xmlns="urn:vim25"><description><label>x</label><summary>x</summary></description><key>com.example.odd</key>
<version>1.0</version><server><url>https://127.0.0.1/v2/</url><description><label>x</label><summary>x</summary></description>
<company>x</company><type>KAAS_API</type><adminEmail>a@example.test</adminEmail><serverThumbprint>{thumbprint}</serverThumbprint>
<serverCertificate>{certificate}</serverCertificate></server><resourceList><locale>en</locale><module>kaas</module><data>
<key>owner.installation</key><value>1</value></data></resourceList><lastHeartbeatTime>2026-11-20T00:00:00Z</lastHeartbeatTime></extension>"""


def test_a_record_that_contradicts_itself(place: Place, tmp_path: Path) -> None:
    """vCenter would not take it; a client does not rely on that."""
    other, ours = make_server_cert(tmp_path).sha256, leaf_of(place.world.kaasd.tls)
    for thumbprint, certificate in ((other, ours), (":".join(20 * ["AA"]), "")):  # the second one as of SHA-1
        record = ODD_RECORD.format(thumbprint=thumbprint, certificate=certificate)
        place.vcenter.control.put_extension(xml=record.replace("<serverCertificate></serverCertificate>", ""))
        try:
            place.refused("com.example.odd names no SHA-256, or not that of the certificate", arguments=("--key", "com.example.odd", HX))
        finally:
            place.vcenter.control.drop_extension("com.example.odd")


@MODES
def test_another_vcenter_than_the_one_that_is_meant(place: Place, by_code: bool) -> None:
    before = place.vcenter.control.last_call()
    place.refused(place.vcenter.instance_uuid, OTHER_UUID, "is another one", arguments=mode(place, by_code, "--vcenter-uuid", OTHER_UUID))
    assert not place.vcenter.control.calls(op="Login", user=VIEWER, after=str(before)), "the password was sent"
    assert place.list("--vcenter-uuid", place.vcenter.instance_uuid) == visible_to("viewer-east", EAST)


@pytest.fixture
def stranger(place: Place, tmp_path: Path, make_vcenter: Callable[..., StrictVcenter]) -> StrictVcenter:
    """A vCenter that kaasd does not know, with a copy of the record of the one that it knows."""
    world = tmp_path / "world.json"
    world.write_text(json.dumps({**json.loads(DEFAULT_WORLD.read_text()), "instance_uuid": OTHER_UUID}))
    other = make_vcenter("other", world=world)
    record = vimclient.read_extension(place.vcenter, EXTENSION_KEY)
    with vimclient.session(other, other.admin) as instance:
        instance.RetrieveContent().extensionManager.RegisterExtension(record)
    return other


def test_a_vcenter_that_kaasd_does_not_know(place: Place, stranger: StrictVcenter) -> None:
    """Persons are not told which vCenters there are; a service is."""
    for result, status in ((place.ask(HX, at=stranger), 401), (place.ask(*place.code_for(VIEWER), HX, at=stranger), 404)):
        assert result.returncode == 1 and f": {status} " in result.stderr and "\nremedy: " in result.stderr, result.stderr
        assert not result.stdout


@contextmanager
def impostor(place: Place, folder: Path, answers: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """What kaasd would not answer: here somebody else has the certificate of the record. Its port, and what it was asked."""
    cert = make_server_cert(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert.cert_file, cert.key_file)
    asked: list[str] = []

    def answered(request: Any) -> Answer:
        asked.append(request.path)
        return Answer(200, json.dumps(answers.get(request.path, {})).encode(), {"Content-Type": "application/json"})

    server = Server(0, lambda: context, answered, lambda *_: Answer(400, b"{}"), asked.append)
    port = server.server_address[1]

    def change(record: vim.Extension) -> None:
        record.server[-1].url = f"https://127.0.0.1:{port}/v2/"
        for each in record.server:
            each.serverThumbprint, each.serverCertificate = cert.sha256, leaf_of(cert)

    try:
        with edited(place.vcenter, change):
            yield port, asked
    finally:
        server.end()


def test_a_token_of_another_vcenter(place: Place, tmp_path: Path) -> None:
    answers = {"/v2/login/vcenter": {"access_token": "a.b.c", "expires_in": 900}, "/v2/whoami": {"vcenter_id": OTHER_UUID, "name": "anna"}}
    with impostor(place, tmp_path, answers) as (_, asked):
        result = place.ask(HX)
    assert (result.returncode, result.stdout) == (1, ""), result.stderr
    assert OTHER_UUID in result.stderr and place.vcenter.instance_uuid in result.stderr and "\nremedy: " in result.stderr
    assert "/v2/clusters" not in asked


CODE = "0123456789abcdef" * 2


@pytest.mark.parametrize(("change", "member"), [
    ({"code": None}, "code"), ({"code": CODE[1:]}, "code"), ({"code": CODE + "0"}, "code"), ({"code": CODE.upper()}, "code"),
    ({"code": CODE + "\n"}, "code"), ({"code": int("1" * 32)}, "code"),
    ({"expires_in": None}, "expires_in"), ({"expires_in": 0}, "expires_in"), ({"expires_in": 61}, "expires_in"),
    ({"expires_in": -1}, "expires_in"), ({"expires_in": True}, "expires_in"), ({"expires_in": "60"}, "expires_in"),
    ({"expires_in": 1.5}, "expires_in"),
    ({"origin": None}, "origin"), ({"origin": "https://elsewhere.test"}, "origin"), ({"origin": "https://127.0.0.1"}, "origin"),
    ({"origin": ["https://127.0.0.1"]}, "origin")])
def test_a_code_that_cannot_be_handed_over(place: Place, tmp_path: Path, change: dict[str, Any], member: str) -> None:
    """Each member, as no code of the contract has it."""
    given = {"code": CODE, "expires_in": 60, "origin": place.origin, **change}
    with impostor(place, tmp_path, {"/v2/login/service": given}) as (port, asked):
        place.refused(f"no code for this page: its {member} is not ", arguments=(*place.code_for(VIEWER, port), HX))
    assert asked == ["/v2/login/service"]


@pytest.mark.parametrize("given", [{"access_token": "the.persons.token", "token_type": "Bearer", "expires_in": 60}, [], None, "code"])
def test_an_answer_that_is_no_code_is_not_shown(place: Place, tmp_path: Path, given: Any) -> None:
    with impostor(place, tmp_path, {"/v2/login/service": given}) as (port, _):
        place.refused("no code for this page", arguments=(*place.code_for(VIEWER, port), HX))


def test_only_what_was_looked_at_is_shown(place: Place, tmp_path: Path) -> None:
    given = {"code": CODE, "expires_in": 1, "origin": place.origin}
    with impostor(place, tmp_path, {"/v2/login/service": {**given, "access_token": "the.persons.token"}}) as (port, _):
        result = place.ask(*place.code_for(VIEWER, port), HX)
    assert (result.returncode, json.loads(result.stdout)) == (0, given), result.stderr


def test_a_vcenter_with_another_certificate(place: Place, tmp_path: Path) -> None:
    other = make_server_cert(tmp_path)
    place.refused("shows another certificate", "--sha256", arguments=("--sha256", other.sha256, HX))
    place.refused("certificate verify failed", "CA or SHA-256", arguments=("--ca-file", str(other.ca_file), HX))


def test_a_session_that_has_ended(place: Place) -> None:
    session = place.vcenter.control.login(place.viewer.login)
    place.vcenter.control.expire(key=session["key"])
    place.refused("NotAuthenticated", "a session that is alive", secret=session["cookie"])
    place.refused("InvalidLogin", "another password", secret="not the password", arguments=("--user", place.viewer.login, HX))
