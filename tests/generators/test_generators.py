"""docs/openapi.yaml in the hands of others: linters find nothing, generators leave nothing out and make what compiles, and two of the
clients they make do the daily work against a real kaasd. scripts/generators brings the programs."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from env.contract import METHODS, contract
from env.full import World
from env.places import TOP, Scratch, use_memory
from env.process import run

HERE = TOP / "tests/generators"
OPENAPI = TOP / "docs/openapi.yaml"
DOCUMENTS = [OPENAPI, TOP / "docs/hx-publish.yaml"]
LIMIT_S = 900.0
# By openapi-generator's name of the target: what it is told beside. Values of two Go enums have one name unless the enum's is in front.
TARGETS = {"go": ["packageName=kaas", "enumClassPrefix=true", "withGoMod=false"], "java": ["library=native", "openApiNullable=false"],
           "typescript-fetch": [], "python": []}
# Warnings of openapi-generator 7.25.0 that say nothing about the document, and why they come.
KNOWN = {
    "OpenAPI 3.1 support is still in beta": "the version of the document",
    "Failed to get the schema name: null": "a member that may be an object or null",
    "File (reserved word) cannot be used as model name": "an answer of bytes (image/png)",
    "File (model name matches existing language type)": "the same",
    "Ignoring complex example on request body": "an example of several lines",
    "Codegen property is null (e.g. map/dict of undefined type)": "an open object",
    "Failed to lookup model in createImportMapOfSet": "a member of any type",
}
SETTING = {"NO_COLOR": "1", "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}


@pytest.fixture(scope="session")
def tools() -> Path:
    brought = run([TOP / "scripts/generators"], limit_s=LIMIT_S)
    assert brought.returncode == 0, brought.stderr
    return Path(brought.stdout.strip())


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    use_memory()
    scratch = Scratch("g")
    yield scratch.path
    scratch.remove()


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    with World() as started:
        started.join()
        yield started


def operation_ids() -> set[str]:
    return {item[method]["operationId"] for item in contract().document["paths"].values() for method in METHODS if method in item}


def told(*argv: str | Path, stdin: str = "", env: dict[str, str] | None = None) -> str:
    """What a program says that must end well."""
    result = run(argv, stdin=stdin, limit_s=LIMIT_S, env={**SETTING, **(env or {})})
    assert result.returncode == 0, f"{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result.stdout + result.stderr


def missing(generated: Path, kind: str) -> list[str]:
    """Operations that no file of a generated client names, in whatever spelling."""
    text = "".join(path.name + path.read_text() for path in generated.rglob(kind)).lower().replace("_", "")
    return sorted(name for name in operation_ids() if name.lower() not in text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_redocly(tools: Path, document: Path) -> None:
    found = json.loads(run([tools / "node_modules/.bin/redocly", "lint", "--config", HERE / "redocly.yaml", "--format", "json", document],
                           limit_s=LIMIT_S, env=SETTING).stdout)
    problems = {(one["ruleId"], one["location"][0].get("pointer", "")) for one in found["problems"] if not one.get("ignored")}
    assert problems - (IGNORED if document == OPENAPI else set()) == set()


# What redocly has against the document, and why it stays.
IGNORED = {
    ("no-path-trailing-slash", "#/paths/~1ui~1"),  # the page is a folder: its own addresses are relative to it
    ("operation-2xx-response", "#/paths/~1/get/responses"),  # redirects: they never answer anything else
    ("operation-2xx-response", "#/paths/~1ui/get/responses"),
    # `kind` may be left out of one, must be given in the other, whose value is another: no body fits both
    ("no-illogical-composition-keywords", "#/components/schemas/RoleMappingCreate/oneOf"),
}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_spectral(tools: Path, document: Path) -> None:
    told(tools / "node_modules/.bin/spectral", "lint", "--fail-severity", "hint", "--ruleset", HERE / "spectral.yaml", document)


class Clients(dict[str, Path]):
    """Those that openapi-generator makes, by target, each when it is asked for; and beside them what it said."""

    def __init__(self, tools: Path, folder: Path) -> None:
        super().__init__()
        self.tools, self.folder = tools, folder

    def __missing__(self, target: str) -> Path:
        made = self.folder / target
        more = ["--additional-properties", ",".join(["hideGenerationTimestamp=true", *TARGETS[target]])]
        said = told("java", "-jar", self.tools / "generator.jar", "generate", "-i", OPENAPI, "-g", target, "-o", made, *more)
        (made / "said").write_text(said)
        self[target] = made
        return made


@pytest.fixture(scope="session")
def of_generator(tools: Path, folder: Path) -> Clients:
    return Clients(tools, folder)


@pytest.mark.parametrize("target", TARGETS)
def test_openapi_generator_says_nothing_new(of_generator: Clients, target: str) -> None:
    said = (of_generator[target] / "said").read_text()
    lines = [line for line in said.splitlines() if re.search(r"\b(WARN|ERROR)\b|Exception\b(?!\.java)", line)]
    assert [line for line in lines if not any(known in line for known in KNOWN)] == []


@pytest.mark.parametrize(("target", "kind"), [("go", "api_*.go"), ("java", "*Api.java"), ("typescript-fetch", "*Api.ts"),
                                              ("python", "*_api.py")])
def test_openapi_generator_leaves_nothing_out(of_generator: Clients, target: str, kind: str) -> None:
    assert missing(of_generator[target], kind) == []


def test_typescript_fits_its_types(tools: Path, of_generator: Clients) -> None:
    told(tools / "node_modules/.bin/tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution",
         "bundler", "--lib", "es2022,dom", of_generator["typescript-fetch"] / "index.ts")


def test_java_compiles(tools: Path, folder: Path, of_generator: Clients) -> None:
    sources = folder / "sources"
    sources.write_text("\n".join(map(str, (of_generator["java"] / "src/main/java").rglob("*.java"))))
    # the generator brings Jackson, which the client uses as well
    told("javac", "-nowarn", "-proc:none", "-d", folder / "classes", "-cp", f"{tools}/generator.jar:{tools}/annotations.jar", f"@{sources}")


def test_python_of_openapi_generator_is_python(of_generator: Clients) -> None:
    for path in (of_generator["python"] / "openapi_client").rglob("*.py"):
        compile(path.read_text(), path, "exec")


@pytest.fixture(scope="session")
def of_python(tools: Path, folder: Path) -> Path:
    made = folder / "openapi-python-client"
    said = told(tools / "bin/openapi-python-client", "generate", "--path", OPENAPI, "--config", HERE / "openapi-python-client.yaml",
                "--output-path", made, env={"PATH": f"{tools}/bin:{os.environ['PATH']}"})
    assert not re.search("warning|error", said, re.I), said
    return made


def test_openapi_python_client_leaves_nothing_out(of_python: Path) -> None:
    assert missing(of_python / "kaas_client/api", "*.py") == []


def daily_work(world: World, *program: str | Path, env: dict[str, str] | None = None) -> list[str]:
    kaasd, vcenter = world.kaasd, world.vcenter
    said = told(*program, kaasd.url, kaasd.tls.ca_file, vcenter.host, "DC0/HX-East", stdin=kaasd.admin_password + "\n", env=env)
    return said.splitlines()


def expected(world: World, name: str) -> list[str]:
    before = sorted(item["name"] for item in world.admin.get("/v2/clusters")["items"])
    return [" ".join(["listed", *before]), f"created {name}", "read 1.31.2", " ".join(["listed", *sorted([*before, name])]), "deleted 204",
            " ".join(["listed", *before]), "left 204"]


def test_the_daily_work_in_python(world: World, tools: Path, of_python: Path) -> None:
    assert daily_work(world, tools / "bin/python", HERE / "walk.py", env={"PYTHONPATH": str(of_python)}) == expected(world, "of-python")


def test_the_daily_work_in_go(world: World, folder: Path, of_generator: Clients) -> None:
    module = folder / "walk"
    shutil.copytree(HERE / "go", module)
    (module / "kaas").mkdir()
    for path in of_generator["go"].glob("*.go"):
        shutil.copy(path, module / "kaas")
    told("go", "-C", module, "build", "-o", module / "kaas-walk", ".")
    assert daily_work(world, module / "kaas-walk") == expected(world, "of-go")
