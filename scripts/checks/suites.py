"""The suites. Each returns a Count; a step that fails without naming a test counts as one.

Landing: what must be green to land, each test once, in a build with AddressSanitizer and UBSan; what a sanitizer makes meaningless (marker
users_build) in the build that users get. Full: the same tests in the other builds, what takes long, and what is marked `full`."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from env import reports

from . import again, counts, tidy
from .counts import Count
from .run import BUILD, JOBS, LOGS, TOP, Result, run

FUZZ_RUNS = 20000
PICTURES = BUILD / "pictures"
KUBE = TOP / "tests/kube"
SUITE_LIMIT_S = 45 * 60
BEHIND_LIMIT_S = 2400  # behind others a command may take long without being stuck
KUBE_LIMIT_S = 3600  # the longest of them, and the last
WITH_AD = ("--with-ad",)
WITH_KUBE = ("--kubernetes",)
CREATE = ("--create",)
TESTS_FAILED = 1  # pytest's exit status: some failed and nothing else went wrong


@dataclass
class Suite:
    name: str
    about: str
    run: Callable[[], Count]
    tier: str  # quick (and landing), landing, full; "quick only": a part of a suite of the landing
    # Pure computing, without deadlines: done behind the suites that mostly wait, in the time these leave.
    behind: bool = False
    build: Callable[[], tuple[Path, Result]] | None = None  # likewise, before the suite itself
    beside: bool = False  # waits nearly all of its time: beside the others, from as early on as can be
    parts: tuple[str, ...] = ()  # a landing runs it only if something below one of these differs from main


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


def pytest_once(name: str, *arguments: str, env: dict[str, str] | None = None, limit_s: int = 1200) -> tuple[Path, Result]:
    report = fresh(LOGS / f"check-{name}.xml")
    return report, run(name, sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *arguments, env=env, limit_s=limit_s)


def pytest(name: str, folder: str, *arguments: str, choice: tuple[str, ...] = (), env: dict[str, str] | None = None,
           limit_s: int = 1200) -> Count:
    """Tests below tests/FOLDER; `choice` says which of them, `arguments` how they are run. Red files are run again as again.py says."""
    report, result = pytest_once(name, f"tests/{folder}", *choice, *arguments, env=env, limit_s=limit_s)
    if not report.exists():
        return judged(Count(), result)
    count = counts.of_junit(report)
    red = again.reds(report) if count.failed else []
    for file in again.worth_it(red):
        of_file = [one for one in red if one.file == file]
        second, outcome = pytest_once(f"{name}-again-{Path(file).stem}", file, *choice, env=env, limit_s=limit_s)
        if outcome.ok and second.exists() and counts.of_junit(second).passed >= len(of_file):
            count.failed = [one for one in count.failed if one not in {red.name for red in of_file}]
            count.passed += len(of_file)
            count.flaky += [again.entry_for(one) for one in of_file]
    if count.flaky and result.status == TESTS_FAILED:
        return count  # the tests told what was wrong, and were run again
    return judged(count, result)


def make_check(name: str, build: Path, target: str, prefix: str, env: dict[str, str] | None = None) -> Count:
    """Automake's tests in a build folder (targets of tests/lint/local.mk); counts those below the prefix."""
    for old in (build / prefix).rglob("*.trs"):
        old.unlink()
    reported = LOGS / f"reports-{name}"
    shutil.rmtree(reported, ignore_errors=True)
    reported.mkdir()
    result = run(name, "make", "-C", str(build), f"-j{JOBS}", target, env={**(env or {}), **reports.told(reported, env or {})})
    count = counts.of_automake(build, prefix)
    # also of a program that another one starts and expects to fail
    count.failed += [f"a report of a sanitizer, in {reported}:\n{counts.last_lines(text)}" for text in reports.found(reported)]
    return judged(count, result)


def lint() -> Count:
    count = make_check("lint", BUILD, "check-lint", "tests/lint")
    report, result = pytest_once("lint-py", "tests/lint", "-n", JOBS)
    count += judged(counts.of_junit(report) if report.exists() else Count(), result)
    return count


def once(build: Callable[[], tuple[Path, Result]]) -> Callable[[], tuple[Path, Result]]:
    """The build is made when it is asked for first; who asks meanwhile, in another lane, waits for it."""
    made, lock = cache(build), threading.Lock()

    def one_at_a_time() -> tuple[Path, Result]:
        with lock:
            return made()

    return one_at_a_time


TEST_PROGRAMS = ("check", "TESTS=")  # with no test to run, `check` builds what tests need and ends
TARGETS = {"asan": TEST_PROGRAMS, "tsan": TEST_PROGRAMS, "tsan-threads": ("thread-programs",), "fuzz": ("fuzz-programs",)}


# Links the hundreds of test programs in a quarter of the time of ld. Unlike that one it would ask for what libgsoap leaves to its users.
LINKER = 'LDFLAGS="-fuse-ld=gold -Wl,--allow-shlib-undefined"'


def configured(name: str, *arguments: str, target: str = "") -> tuple[Path, Result]:
    """A build of its own below build/, made by clang with other flags."""
    folder = BUILD / name
    folder.mkdir(exist_ok=True)
    command = f'../../configure -q CC="ccache clang-14" CFLAGS="-O1 -gline-tables-only" {LINKER} --enable-werror {" ".join(arguments)}'
    done_with = folder / "configured-with"
    if not (folder / "Makefile").exists() or not done_with.exists() or done_with.read_text() != command:
        configure = run(f"{name}-configure", "bash", "-ec", command, cwd=folder, limit_s=BEHIND_LIMIT_S)
        if not configure.ok:
            return folder, configure
        done_with.write_text(command)
    return folder, run(f"{name}-make", "make", f"-j{JOBS}", *TARGETS[target or name], cwd=folder, limit_s=BEHIND_LIMIT_S)


def sanitizer_env(build: Path | None = None) -> dict[str, str]:
    supp = TOP / "tests/sanitize"
    symbolizer = "/usr/bin/llvm-symbolizer-14"
    return {
        "ASAN_OPTIONS": f"detect_leaks=1:detect_stack_use_after_return=1:external_symbolizer_path={symbolizer}",
        "LSAN_OPTIONS": f"suppressions={supp}/lsan.supp:print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": f"suppressions={supp}/tsan.supp:second_deadlock_stack=1:external_symbolizer_path={symbolizer}",
        **({"KAAS_BUILD": str(build)} if build else {}),
    }


@once
def asan_build() -> tuple[Path, Result]:
    return configured("asan", "--enable-sanitizers=address,undefined")


@once
def integration_build() -> tuple[Path, Result]:
    """With the programs of both builds, and its tests read once, so that not each worker compiles them."""
    plain_build()
    run("integration-read", sys.executable, "-m", "pytest", "-q", "--collect-only", "tests/integ", limit_s=BEHIND_LIMIT_S)
    return asan_build()


@once
def threads_build() -> tuple[Path, Result]:
    return configured("tsan", "--enable-sanitizers=thread", target="tsan-threads")


@once
def tsan_build() -> tuple[Path, Result]:
    return configured("tsan", "--enable-sanitizers=thread")


@once
def plain_build() -> tuple[Path, Result]:
    """The one that users get, with the programs that pytest runs beside the daemon."""
    return BUILD, run("plain-make", "make", f"-j{JOBS}", "world-programs", cwd=BUILD, limit_s=BEHIND_LIMIT_S)


@once
def plain_store_build() -> tuple[Path, Result]:
    """And the programs of the store, which a landing runs with sanitizers only."""
    return BUILD, run("plain-store-make", "make", f"-j{JOBS}", "world-programs", "store-programs", cwd=BUILD, limit_s=BEHIND_LIMIT_S)


def unit() -> Count:
    folder, built = asan_build()
    return make_check("unit", folder, "check-units", "tests", env=sanitizer_env()) if built.ok else judged(Count(), built)


# The tests mostly wait for events, so five at a time keep two cores busy; each worker has a world of its own. The order of files
# is that of tests/integ/conftest.py, the long ones first.
SIDE_BY_SIDE = ("-n", "5", "--dist", "loadfile", "--no-loadscope-reorder")


def in_world(name: str, build: tuple[Path, Result], tests: str) -> Count:
    """Tests of tests/integ in this build. Those marked users_build take that one whatever is tested (tests/integ/conftest.py)."""
    folder, built = build
    users, users_built = plain_build()
    if not built.ok or not users_built.ok:
        return judged(Count(), built, users_built)
    return pytest(name, "integ", *SIDE_BY_SIDE, choice=("-m", tests), env=sanitizer_env(folder), limit_s=SUITE_LIMIT_S)


def integration() -> Count:
    return in_world("integration", asan_build(), "not full")


def integration_quick() -> Count:
    return in_world("integration-quick", asan_build(), "not full and not slow")


def integration_rest() -> Count:
    """What takes long for what it tells, or tells what other tests tell as well: each says why."""
    return in_world("integration-rest", asan_build(), "full")


def integration_plain() -> Count:
    return in_world("integration-plain", plain_store_build(), "not users_build")


def threads() -> Count:
    """The programs that start threads, and those of the store; the daemon itself is in `tsan`."""
    folder, built = threads_build()
    if not built.ok:
        return judged(Count(), built)
    count = make_check("threads", folder, "check-threads", "tests", env=sanitizer_env())
    count += pytest("threads-store", "integ/store/test_store.py", "-n", JOBS, env=sanitizer_env(folder))
    return count


def tsan() -> Count:
    folder, built = tsan_build()
    if not built.ok:
        return judged(Count(), built)
    count = make_check("tsan-unit", folder, "check-units", "tests", env=sanitizer_env())
    count += in_world("tsan", tsan_build(), "not users_build")
    return count


def go() -> Count:
    folder = TOP / "tests/vcenter"
    vet = run("go-vet", "go", "vet", "./...", cwd=folder)
    test = run("go", "go", "test", "-count=1", "-json", "./...", cwd=folder)
    count = judged(counts.of_go(test.output), test)
    count.add(f"go vet:\n{vet.tail()}", vet.ok)
    return count


@once
def kube_build() -> tuple[Path, Result]:
    """Kubernetes' own programs, at the lowest priority: minutes on a machine that has never built them."""
    return KUBE, run("kube-build", "scripts/kube", "build", "current", "replay", limit_s=KUBE_LIMIT_S)


@once
def kube_builds() -> tuple[Path, Result]:
    return KUBE, run("kube-builds", "scripts/kube", "build", limit_s=KUBE_LIMIT_S)


@once
def node_build() -> tuple[Path, Result]:
    """The files of a node image, of these programs; without CoreDNS, whose build takes minutes and which only clusters need."""
    kube_build()
    return KUBE, run("node-build", "scripts/package", "node-image", "--root", "--without-dns", limit_s=KUBE_LIMIT_S)


def node() -> Count:
    """The node image keeps its contract, and what breaks it is named."""
    (_, image), (_, built) = node_build(), plain_build()
    if not image.ok or not built.ok:
        return judged(Count(), image, built)
    return pytest("node", "node", choice=("-m", "not full"))


def node_rest() -> Count:
    """The node image as an OVA, imported, and booted."""
    return pytest("node-rest", "node", choice=("-m", "full"), limit_s=SUITE_LIMIT_S)


def kube() -> Count:
    """Two at a time: a cluster is half a gigabyte, and its start is all computing. With our client as AddressSanitizer sees it."""
    (_, built), (folder, ours) = kube_build(), asan_build()
    if not built.ok or not ours.ok:
        return judged(Count(), built, ours)
    return pytest("kube", "kube", "-n", "2", "--dist", "loadfile", choice=("-m", "not full"), env=sanitizer_env(folder))


# Each worker has a cluster and a world, and waits most of its time: for patience to end, and for what is tried again.
CONNECTED_SIDE_BY_SIDE = ("-n", "3", "--dist", "loadfile")


def connected() -> Count:
    """kaasd under the sanitizers beside a real Kubernetes."""
    (_, built), (folder, ours), (_, plain) = kube_build(), asan_build(), plain_build()
    if not built.ok or not ours.ok or not plain.ok:
        return judged(Count(), built, ours, plain)
    return pytest("connected", "connected", *CONNECTED_SIDE_BY_SIDE, env=sanitizer_env(folder))


def kube_rest() -> Count:
    """With the release before as well, which no landing builds."""
    (_, built), (folder, ours), (_, plain) = kube_builds(), asan_build(), plain_build()
    if not built.ok or not ours.ok or not plain.ok:
        return judged(Count(), built, ours, plain)
    count = pytest("kube-rest", "kube", choice=("-m", "full"), env=sanitizer_env(folder))
    older = {**sanitizer_env(folder), "KAAS_KUBE_MODULE": "older"}
    count += pytest("connected-older", "connected", *CONNECTED_SIDE_BY_SIDE, env=older)
    return count


def guests() -> Count:
    """One after the other: a boot is seconds of computing. With kaasd under the sanitizers."""
    (_, image), (folder, ours) = node_build(), asan_build()
    if not image.ok or not ours.ok:
        return judged(Count(), image, ours)
    return pytest("guests", "guest", choice=("-m", "not full"), env=sanitizer_env(folder))


def guests_rest() -> Count:
    """With a cluster by kubeadm, from the node image, which is made the first time on a machine."""
    (_, built), (_, plain) = kube_build(), plain_build()
    if not built.ok or not plain.ok:
        return judged(Count(), built, plain)
    return pytest("guests-rest", "guest", choice=("-m", "full"), limit_s=SUITE_LIMIT_S)


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
    return in_browser("browser", "not rare")


def pictures() -> Count:
    """The states that are seen seldom, too, and a picture of each in build/pictures."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    return in_browser("pictures", "rare or pictured", {"KAAS_SHOTS": str(PICTURES)})


def in_browser(name: str, tests: str, env: dict[str, str] | None = None) -> Count:
    return pytest(name, "ui", "-n", "3", "--dist", "worksteal", choice=("-m", tests), env=env, limit_s=SUITE_LIMIT_S)


def contract() -> Count:
    """300 made-up requests for each operation and person; scripts/contract-fuzz makes more."""
    folder, built = asan_build()
    return pytest("contract", "contract", "-n", "2", "--dist", "worksteal", env=sanitizer_env(folder),
                  limit_s=SUITE_LIMIT_S) if built.ok else judged(Count(), built)


def faults_asan() -> Count:
    """Other faults than those in the build that users get, whose memory is held to bounds, too."""
    folder, built = asan_build()
    if not built.ok:
        return judged(Count(), built)
    result = run("faults-asan", "scripts/faults", "--faults", "1000", "--seed", "2", env=sanitizer_env(folder), limit_s=SUITE_LIMIT_S)
    return judged(Count(1) if result.ok else Count(), result)


def faults_jobs() -> Count:
    """Clusters of machines that only report, and of some that boot."""
    _, image = node_build()
    _, built = plain_build()
    if not image.ok or not built.ok:
        return judged(Count(), image, built)
    return verdict("faults-jobs", "scripts/faults", "--jobs", "--minutes", "44")()


def generators() -> Count:
    """Programs of others read docs/openapi.yaml, and two of the clients that they make work with a kaasd."""
    folder, built = plain_build()
    return pytest("generators", "generators", limit_s=SUITE_LIMIT_S) if built.ok else judged(Count(), built)


def install() -> Count:
    """The commands of README.md on a bare Debian with systemd as init."""
    return pytest("install", "install", limit_s=SUITE_LIMIT_S)


def upgrade() -> Count:
    """From each release of tests/releases; the older programs are built once a machine."""
    folder, built = plain_build()
    return pytest("upgrade", "upgrade", limit_s=SUITE_LIMIT_S) if built.ok else judged(Count(), built)


def pilot() -> Count:
    """kaasctl pilot against simulators of two versions; the older one is built once a machine."""
    folder, built = plain_build()
    return pytest("pilot", "replay", limit_s=SUITE_LIMIT_S) if built.ok else judged(Count(), built)


def demo() -> Count:
    """The walk through the main job in the build that users get, without and with a domain."""
    with ThreadPoolExecutor(2) as pool:  # each in a world of its own
        walks = list(pool.map(lambda more: run("".join(("demo", *more)), "scripts/demo", "--once", *more), ((), WITH_AD)))
    count = Count()
    for walk in walks:
        count += judged(counts.of_steps(walk.output), walk)
    return count


def demo_kube() -> Count:
    """The walk with a real Kubernetes."""
    _, built = kube_build()
    if not built.ok:
        return judged(Count(), built)
    walk = run("demo-kube", "scripts/demo", "--once", *WITH_KUBE)
    return judged(counts.of_steps(walk.output), walk)


def demo_create() -> Count:
    """The walk of a cluster of machines that boot; the image of the machines is built once a machine."""
    walk = run("demo-create", "scripts/demo", "--once", *CREATE, limit_s=SUITE_LIMIT_S)
    return judged(counts.of_steps(walk.output), walk)


def sabotage() -> Count:
    """Each sabotage of the walk is noticed: FAILED for the step it breaks, and exit status 1."""
    _, built = kube_build()
    return sabotaged(((), WITH_AD, WITH_KUBE), int(JOBS)) if built.ok else judged(Count(), built)


def sabotage_create() -> Count:
    """The same of the walk of a cluster of machines that boot: one after another, since five machines take 1.5 GB."""
    return sabotaged((CREATE,), 1)


def sabotaged(walks_of: Sequence[tuple[str, ...]], jobs: int) -> Count:
    count = Count()
    ways = [(name, more) for more in walks_of for name in sabotages(*more)]
    with ThreadPoolExecutor(jobs) as pool:  # each walks in a world of its own, and mostly waits
        walks = pool.map(lambda way: run(f"demo-{way[0]}", "scripts/demo", "--once", *way[1], "--sabotage", way[0],
                                         limit_s=SUITE_LIMIT_S), ways)
    for (name, _), broken in zip(ways, walks, strict=True):
        count.add(f"the sabotage of {name} went unnoticed:\n{broken.tail()}", not broken.ok and f"FAILED {name}" in broken.output)
    count.add(f"only {len(ways)} sabotages are known", len(ways) >= 8)
    return count


def sabotages(*more: str) -> list[str]:
    listed = run("demo-sabotages", "scripts/demo", "--list-sabotage", *more)
    return listed.output.split() if listed.ok else []


def distcheck() -> Count:
    result = run("distcheck", "make", "-C", str(BUILD), f"-j{JOBS}", "distcheck",
                 "DISTCHECK_CONFIGURE_FLAGS=--enable-werror CC='ccache gcc' CFLAGS=-O2",  # nobody debugs it
                 limit_s=BEHIND_LIMIT_S)
    unpacked = next(BUILD.glob("harmony-kaas-*/_build/sub"), None)  # left behind by a failure only
    inner = counts.of_automake(unpacked, "tests") if unpacked and not result.ok else Count()
    count = Count(said=inner.said)
    count.add("\n".join([f"distcheck:\n{result.tail()}", *inner.failed]), result.ok)
    return count


def verdict(name: str, *command: str) -> Callable[[], Count]:
    """A suite that is one command: it passes or fails as a whole."""
    def suite() -> Count:
        result = run(name, *command, limit_s=SUITE_LIMIT_S)
        return Count(1) if result.ok else Count(failed=[f"{' '.join(command)}:\n{result.tail()}"])

    return suite


# Through how many source files outside src/base and src/port these go at most: a reader has to open each.
REQUEST_FILES_MAX = {("GET", "/v2/clusters"): 50, ("POST", "/v2/login/vcenter"): 82}


def path() -> Count:
    count = Count()
    for (method, url), most in REQUEST_FILES_MAX.items():
        result = run(f"path-{method.lower()}", "scripts/path", method, url, str(most), limit_s=SUITE_LIMIT_S)
        count.add(f"{method} {url}:\n{result.tail()}", result.ok)
    return count


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


SUITES = [
    Suite("lint", "rules of the house: headers, includes, sizes, secrets, texts", lint, "quick"),
    Suite("page", "types and tests of the web page", page, "quick"),
    Suite("browser", "the web page in Chromium, and the contract of the interface", browser, "landing",
          parts=("ui-plugin/", "tests/ui/", "tests/env/", "tests/hx/", "tests/vcenter/client/", "tests/conftest.py", "pytest.ini",
                 "tests/requirements.txt", "docs/openapi.yaml")),
    Suite("go", "the strict vCenter's own tests", go, "landing", beside=True, parts=("tests/vcenter/", "scripts/lib/go.sh")),
    Suite("unit", "C unit tests", unit, "quick", build=asan_build),
    Suite("integration-quick", "the daemon in a world of its own, without the slow tests", integration_quick, "quick only",
          build=integration_build),
    Suite("integration", "the daemon in a world of its own", integration, "landing", build=integration_build),
    # Kubernetes' programs, the first time on a machine a build of minutes, are asked for before what only a suite in front needs.
    Suite("connected", "kaasd connected to a real Kubernetes", connected, "landing", build=kube_build, beside=True),
    Suite("demo", "the walk of scripts/demo, without and with a domain", demo, "landing"),
    Suite("threads", "unit and store tests that start threads, with ThreadSanitizer", threads, "landing", build=threads_build),
    Suite("kube", "real Kubernetes: the world that other tests lean on, and our client of it", kube, "landing", build=kube_build,
          beside=True,
          parts=("tests/kube/", "tests/env/", "scripts/kube", "scripts/lib/", "tests/conftest.py", "pytest.ini", "tests/requirements.txt",
                 "src/k8s/", "src/kubernetes/", "src/model/provision/", "src/provision/", "src/port/", "src/base/", "etc/bundles/",
                 "tests/integ/bundle_probe.c", "tests/integ/etcd_probe.c", "tests/integ/kube_watch_probe.c",
                 "tests/integ/node_documents.c")),
    Suite("guests", "machines that boot at the strict vCenter, and a cluster that one command makes of them", guests, "landing",
          build=node_build, beside=True),
    Suite("dist", "the source package holds what git tracks", verdict("dist", "scripts/dist-compare"), "landing", behind=True),
    Suite("tidy", "clang-tidy on the files that changed", tidy.run_changed, "landing", behind=True),
    Suite("tidy-all", "clang-tidy on all files", tidy.run_all, "full"),
    Suite("integration-rest", "integration tests that are not in a landing, each with its reason", integration_rest, "full"),
    Suite("kube-rest", "real Kubernetes of the release before", kube_rest, "full"),
    Suite("node", "the node image: its contract, and what is said when it is broken", node, "full", build=node_build),
    Suite("node-rest", "the node image as an OVA: imported by govc, booted by qemu", node_rest, "full"),
    Suite("guests-rest", "machines that are ill; a cluster of machines that boot, by kubeadm", guests_rest, "full", build=kube_build),
    Suite("integration-plain", "the integration tests in the build that users get", integration_plain, "full"),
    Suite("tsan", "unit and integration tests with ThreadSanitizer", tsan, "full"),
    Suite("pictures", "the page in every state, home and theme: a picture each, and axe-core", pictures, "full"),
    Suite("contract", "made-up requests for every operation, by three people", contract, "full"),
    Suite("generators", "clients that others generate from the contract, and what linters say of it", generators, "full"),
    Suite("demo-kube", "the walk of scripts/demo with a real Kubernetes", demo_kube, "full", build=kube_build),
    Suite("sabotage", "each sabotage of scripts/demo is noticed", sabotage, "full", build=kube_build),
    Suite("demo-create", "the walk of scripts/demo with a cluster that is made", demo_create, "full", build=kube_build),
    Suite("sabotage-create", "each sabotage of that walk is noticed", sabotage_create, "full", build=kube_build),
    Suite("distcheck", "source package builds, tests and installs", distcheck, "full"),
    Suite("install", "README.md on a bare Debian: installed, set up, started at boot, removed", install, "full"),
    Suite("upgrade", "from each older release: upgrade, side by side, back, three replicas one after the other", upgrade, "full"),
    Suite("pilot", "kaasctl pilot against unmodified simulators of two versions", pilot, "full"),
    Suite("fuzz", "short runs of the fuzz targets", fuzz, "full"),
    Suite("coverage", "the seeds of the fuzz targets reach 95 % of each decoder", verdict("coverage", "scripts/decoder-coverage"), "full"),
    Suite("faults", "2,000 faults against three vCenters", verdict("faults", "scripts/faults", "--faults", "2000", "--seed", "1"), "full"),
    Suite("faults-asan", "1,000 other faults, with AddressSanitizer and UBSan", faults_asan, "full"),
    Suite("faults-jobs", "500 clusters, and 8 of machines that boot, are made while kaasd is killed at each commit", faults_jobs, "full",
          build=node_build),
    Suite("path", "a list and a sign-on go through few source files", path, "full"),
    Suite("recipes", "each change of tests/recipes touches few files, builds and passes its tests", verdict("recipes", "scripts/recipes"),
          "full"),
    Suite("planted", "the fuzz targets find planted mistakes", verdict("planted", "scripts/fuzz-planted"), "full"),
]
