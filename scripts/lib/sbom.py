"""What the packages are made of, as a CycloneDX 1.6 document: python sbom.py FOLDER VERSION prints it. FOLDER holds the Debian packages.

It lists our packages, the libraries of Debian that they need (in the version of this machine) and the npm packages in the built page."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

TOP = Path(__file__).resolve().parents[2]
PROJECT = "harmony-kaas"
LICENCE = "GPL-3.0-or-later"
IN_NO_PAGE = re.compile(r"^@types/|ssr-dom-shim$")  # types, and what only a server has


def component(url: PackageURL, *, of: ComponentType = ComponentType.LIBRARY, licence: str | None = None,
              sha: HashType | None = None) -> Component:
    name = f"{url.namespace}/{url.name}" if url.type == "npm" and url.namespace else url.name
    return Component(name=name, version=url.version, type=of, purl=url, bom_ref=str(url), hashes=[sha] if sha else [],
                     licenses=[LicenseFactory().make_from_string(licence)] if licence else [])


def output(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def deb(file: Path, version: str) -> Component:
    sha = HashType(alg=HashAlgorithm.SHA_256, content=output("sha256sum", file).split()[0])
    name = output("dpkg-deb", "--field", file, "Package").strip()
    return component(PackageURL("deb", PROJECT, name, version), of=ComponentType.APPLICATION, licence=LICENCE, sha=sha)


def needed(file: Path) -> list[Component]:
    """The packages of Debian that ours names."""
    fields = output("dpkg-deb", "--field", file, "Depends")
    names = {re.split(r"[ (|:]", part.strip())[0] for part in fields.split(",")}
    return [component(PackageURL("deb", "debian", name, output("dpkg-query", "--show", "--showformat", "${Version}", name),
                                 {"distro": "debian-12"})) for name in sorted(names) if name.strip() and not name.startswith("kaas-")]


def in_the_page() -> list[Component]:
    made = []
    for path, entry in json.loads((TOP / "ui-plugin/package-lock.json").read_text())["packages"].items():
        name = path.removeprefix("node_modules/")
        if not name or entry.get("dev") or IN_NO_PAGE.search(name):
            continue
        algorithm, _, digest = entry["integrity"].partition("-")
        assert algorithm == "sha512", entry
        namespace, _, short = name.rpartition("/")
        made.append(component(PackageURL("npm", namespace or None, short, entry["version"]), licence=entry["license"],
                              sha=HashType(alg=HashAlgorithm.SHA_512, content=base64.b64decode(digest).hex())))
    return made


def document(folder: Path, version: str) -> str:
    project = component(PackageURL("generic", None, PROJECT, version), of=ComponentType.APPLICATION, licence=LICENCE)
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{PROJECT}/{version}"))
    bom.metadata.timestamp = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    bom.metadata.component = project
    for file in sorted(folder.glob("*.deb")):
        package = deb(file, version)
        parts = in_the_page() if package.name == "kaas-ui" else needed(file)
        bom.components.update([package, *parts])
        bom.register_dependency(package, parts)
    bom.register_dependency(project, [one for one in bom.components if one.type == ComponentType.APPLICATION])
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    faults = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert not faults, faults
    return text


if __name__ == "__main__":
    print(document(Path(sys.argv[1]), sys.argv[2]))
