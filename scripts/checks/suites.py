"""The suites, in the order in which they run; those behind the others come last here (lanes.py). Each returns a Count; a step that fails
without naming a test counts as one."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import counts
from .counts import Count
from .run import BUILD, JOBS, LOGS, TOP, Result, run

FUZZ_RUNS = 20000
BEHIND_LIMIT_S = 2400  # behind others a command may take long without being stuck
WITH_AD = ("--with-ad",)


@dataclass
class Suite:
    name: str
    about: str
    run: Callable[[], Count]
    quick: bool = False
    group: str = ""
    # Pure computing, without deadlines: done behind the suites that mostly wait, in the time these leave.
    behind: bool = False
    build: Callable[[], tuple[Path, Result]] | None = None  # likewise, before the suite itself


def judged(count: Count, *results: Result) -> Count:
    """A command that failed although no test did (it did not build, it hung) is a failure of its own."""
    for result in results:
        if not result.ok and not count.failed:
            count.failed.append(f"{result.log.name}:\n{result.tail()}")
    if not count.passed and not count.failed:
        count.failed.append("no tests were found")
    return count


def fresh(report: Path) -> Path:
    report.unlink(missing_ok=True)
    return report


def pytest(name: str, folder: str, *arguments: str, env: dict[str, str] | None = None, limit_s: int = 1200) -> Count:
    report = fresh(LOGS / f"check-{name}.xml")
    result = run(name, sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}",
                 f"tests/{folder}", *arguments, env=env, limit_s=limit_s)
    return judged(counts.of_junit(report) if report.exists() else Count(), result)


def make_check(name: str, build: Path, target: str, prefix: str, env: dict[str, str] | None = None) -> Count:
    """Automake's tests in a build folder (targets of tests/lint/local.mk); counts those below the prefix."""
    for old in (build / prefix).rglob("*.trs"):
        old.unlink()
    result = run(name, "make", "-C", str(build), f"-j{JOBS}", target, env=env)
    return judged(counts.of_automake(build, prefix), result)


def lint() -> Count:
    count = make_check("lint", BUILD, "check-lint", "tests/lint")
    count += pytest("lint-py", "lint", "-n", JOBS)
    return count


def unit() -> Count:
    return make_check("unit", BUILD, "check-units", "tests")


def go() -> Count:
    folder = TOP / "tests/vcenter"
    vet = run("go-vet", "go", "vet", "./...", cwd=folder)
    test = run("go", "go", "test", "-count=1", "-json", "./...", cwd=folder)
    count = judged(counts.of_go(test.output), test)
    count.add(f"go vet:\n{vet.tail()}", vet.ok)
    return count


def page() -> Count:
    folder = TOP / "ui-plugin"
    types = run("page-types", "npm", "run", "lint", cwd=folder)
    report = fresh(LOGS / "check-page.json")
    test = run("page", "npm", "test", "--", "--reporter=default", "--reporter=json", f"--outputFile.json={report}", cwd=folder)
    count = judged(counts.of_vitest(report) if report.exists() else Count(), test)
    count.add(f"types of the page:\n{types.tail()}", types.ok)
    return count


def browser() -> Count:
    """The page in Chromium against a stand-in that is held to the contract; the contract itself."""
    return pytest("browser", "ui")


TEST_PROGRAMS = ("check", "TESTS=")  # with no test to run, `check` builds what tests need and ends

# The tests mostly wait for events, so four at a time keep two cores busy; each worker has a world of its own. The order of files
# is that of tests/integ/conftest.py, the long ones first.
SIDE_BY_SIDE = ("-n", "4", "--dist", "loadfile", "--no-loadscope-reorder")


def in_world(*arguments: str, limit_s: int) -> Count:
    """The test programs first: alone, this suite meets a build that has none yet."""
    built = run("integration-make", "make", "-C", str(BUILD), f"-j{JOBS}", *TEST_PROGRAMS)
    return pytest("integration", "integ", *SIDE_BY_SIDE, *arguments, limit_s=limit_s) if built.ok else judged(Count(), built)


def integration() -> Count:
    return in_world(limit_s=1800)


def integration_quick() -> Count:
    return in_world("-m", "not slow", limit_s=600)


def contract() -> Count:
    """300 made-up requests for each operation and person; scripts/contract-fuzz makes more."""
    return pytest("contract", "contract", "-n", "2", "--dist", "worksteal", limit_s=1200)


def demo() -> Count:
    """The walk itself, without and with a domain, and that each sabotage is noticed: FAILED for the step it breaks, and exit status 1."""
    walk = run("demo", "scripts/demo", "--once")
    count = judged(counts.of_steps(walk.output), walk)
    walk = run("demo-with-ad", "scripts/demo", "--once", *WITH_AD)
    count += judged(counts.of_steps(walk.output), walk)
    ways = [(name, ()) for name in sabotages()] + [(name, WITH_AD) for name in sabotages(*WITH_AD)]
    with ThreadPoolExecutor(int(JOBS)) as pool:  # each walks in a world of its own, and mostly waits
        walks = pool.map(lambda way: run(f"demo-{way[0]}", "scripts/demo", "--once", *way[1], "--sabotage", way[0]), ways)
    for (name, _), broken in zip(ways, walks, strict=True):
        count.add(f"the sabotage of {name} went unnoticed:\n{broken.tail()}", not broken.ok and f"FAILED {name}" in broken.output)
    count.add(f"only {len(ways)} sabotages are known", len(ways) >= 8)
    return count


def sabotages(*more: str) -> list[str]:
    listed = run("demo-sabotages", "scripts/demo", "--list-sabotage", *more)
    return listed.output.split() if listed.ok else []


def distcheck() -> Count:
    result = run("distcheck", "make", "-C", str(BUILD), f"-j{JOBS}", "distcheck",
                 "DISTCHECK_CONFIGURE_FLAGS=--enable-werror CFLAGS=-O2",  # nobody debugs it
                 limit_s=BEHIND_LIMIT_S)
    unpacked = next(BUILD.glob("harmony-kaas-*/_build/sub"), None)  # left behind by a failure only
    inner = counts.of_automake(unpacked, "tests") if unpacked and not result.ok else Count()
    count = Count(said=inner.said)
    count.add("\n".join([f"distcheck:\n{result.tail()}", *inner.failed]), result.ok)
    return count


TARGETS = {"asan": TEST_PROGRAMS, "tsan": TEST_PROGRAMS, "fuzz": ("fuzz-programs",)}


def configured(name: str, *arguments: str) -> tuple[Path, Result]:
    """A build of its own below build/, made by clang with other flags."""
    folder = BUILD / name
    folder.mkdir(exist_ok=True)
    command = f'"{TOP}/configure" -q CC=clang-14 CFLAGS="-O1 -gline-tables-only" --enable-werror ' + " ".join(arguments)
    done_with = folder / "configured-with"
    if not (folder / "Makefile").exists() or not done_with.exists() or done_with.read_text() != command:
        configure = run(f"{name}-configure", "bash", "-ec", command, cwd=folder, limit_s=BEHIND_LIMIT_S)
        if not configure.ok:
            return folder, configure
        done_with.write_text(command)
    result = run(f"{name}-make", "make", f"-j{JOBS}", *TARGETS[name], cwd=folder, limit_s=BEHIND_LIMIT_S)
    return folder, result


def sanitizer_env() -> dict[str, str]:
    supp = TOP / "tests/sanitize"
    symbolizer = "/usr/bin/llvm-symbolizer-14"
    return {
        "ASAN_OPTIONS": f"detect_leaks=1:detect_stack_use_after_return=1:external_symbolizer_path={symbolizer}",
        "LSAN_OPTIONS": f"suppressions={supp}/lsan.supp:print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": f"suppressions={supp}/tsan.supp:second_deadlock_stack=1:external_symbolizer_path={symbolizer}",
    }


@cache
def built_with(name: str, sanitizers: str) -> tuple[Path, Result]:
    return configured(name, f"--enable-sanitizers={sanitizers}")


def asan_build() -> tuple[Path, Result]:
    return built_with("asan", "address,undefined")


def tsan_build() -> tuple[Path, Result]:
    return built_with("tsan", "thread")


def sanitized(name: str, build: tuple[Path, Result], tests: str) -> Count:
    folder, built = build
    if not built.ok:
        return judged(Count(), built)
    count = make_check(f"{name}-unit", folder, "check-units", "tests", env=sanitizer_env())
    count += pytest(f"{name}-integration", "integ", *SIDE_BY_SIDE, "-m", tests,
                    env={**sanitizer_env(), "KAAS_BUILD": str(folder)}, limit_s=2400)
    return count


def asan() -> Count:
    return sanitized("asan", asan_build(), "not unsanitized and not meeting")


def tsan() -> Count:
    return sanitized("tsan", tsan_build(), "threads and not unsanitized")


def fuzz() -> Count:
    """Each target runs a fixed number of inputs from a fixed seed, beginning with its corpus."""
    folder, built = configured("fuzz", "--enable-fuzzing")
    if not built.ok:
        return judged(Count(), built)
    count = Count()
    targets = sorted(p for p in (folder / "tests/fuzz").glob("fuzz_*") if p.is_file() and os.access(p, os.X_OK))
    with ThreadPoolExecutor(int(JOBS)) as pool:
        for target, result in zip(targets, pool.map(fuzz_one, targets), strict=True):
            count.add(f"{target.name}:\n{result.tail()}", result.ok)
    return judged(count)


def fuzz_one(target: Path) -> Result:
    corpus = TOP / "tests/fuzz/corpus" / target.name.removeprefix("fuzz_")
    seeds = [str(corpus)] if corpus.is_dir() else []
    fresh_dir = BUILD / "fuzz/found" / target.name
    fresh_dir.mkdir(parents=True, exist_ok=True)
    return run(target.name, str(target), "-seed=1", f"-runs={FUZZ_RUNS}", "-max_len=65536", "-rss_limit_mb=2048",
               "-timeout=60", f"-artifact_prefix={fresh_dir}/", str(fresh_dir), *seeds, env=sanitizer_env(), limit_s=BEHIND_LIMIT_S)


def tidy() -> Count:
    """clang-tidy, one file at a time, each with the include paths of its folder."""
    from . import tidy as tidy_module

    return tidy_module.run_all()


SUITES = [
    Suite("lint", "rules of the house: headers, includes, sizes, secrets, texts", lint, quick=True),
    Suite("unit", "C unit tests", unit, quick=True),
    Suite("page", "types and tests of the web page", page, quick=True),
    Suite("go", "the strict vCenter's own tests", go),
    Suite("browser", "the web page in Chromium, and the contract of the interface", browser),
    Suite("integration", "the daemon in a world of its own", integration),
    Suite("integration-quick", "the same without the slow ones", integration_quick, quick=True, group="quick"),
    Suite("demo", "the walk of scripts/demo, and its sabotages", demo),
    Suite("asan", "unit and integration tests with AddressSanitizer and UBSan", asan, build=asan_build),
    Suite("tsan", "unit tests, and the integration tests where threads meet, with ThreadSanitizer", tsan, build=tsan_build),
    Suite("contract", "made-up requests for every operation, by three people", contract),
    Suite("tidy", "clang-tidy", tidy, behind=True),
    Suite("distcheck", "source package builds, tests and installs", distcheck, behind=True),
    Suite("fuzz", "short runs of the fuzz targets", fuzz, behind=True),
]
