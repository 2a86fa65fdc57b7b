"""Jobs: a bar in the cluster's row, the steps in its details, what it tells, and what administrators do about it in their own window."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MakePage
from env.certs import ServerCert, make_server_cert
from homes import NAMES, home
from mock_kaasd import MockKaasd, Refusal
from playwright.sync_api import Frame, Locator, Page, expect
from sample import ago, cluster, ident
from sample_jobs import CREATING, DELETING, FAILED, done, line
from watched import WatchedPage

Shots = Callable[[Page, str], None]
LIST = "kaas-cluster-table"
BUSY = f"#/clusters/{ident('cluster lab-new')}"
RED = f"#/clusters/{ident('cluster edge-berlin')}"
# Where every row is, and how wide every column.
PLACES = """() => {
  const inside = (root, name) => root.querySelector(name).shadowRoot;
  const table = ['kaas-app', 'kaas-cluster-list', 'kaas-cluster-table'].reduce(inside, document);
  const place = ({ x, y, width, height }) => [x, y, width, height];
  return [...table.querySelectorAll('tr > *')].map((cell) => place(cell.getBoundingClientRect()));
}"""
SHIFTS = """window.shifts = [];
const take = (list) => shifts.push(...list.getEntries().map(({ value }) => value));
new PerformanceObserver(take).observe({ type: 'layout-shift', buffered: true });
"""


@pytest.fixture(scope="session")
def cert(tmp_path_factory: pytest.TempPathFactory) -> ServerCert:
    return make_server_cert(tmp_path_factory.mktemp("hosts"))


@pytest.fixture(autouse=True)
def jobs(mock: MockKaasd) -> None:
    mock.world.jobs = [dict(job) for job in (CREATING, DELETING, FAILED)]


def opened(mock: MockKaasd, make_page: MakePage, address: str, role: str = "admin", **options: object) -> WatchedPage:
    watched = make_page(**options)
    code = mock.world.give_code(mock.world.session_of("anna@vsphere.local", role), None)
    watched.page.goto(f"{mock.url}/ui/{address}?code={code}")
    watched.page.wait_for_selector("main[aria-busy=false] h1")
    return watched


def row(page: Page | Frame, name: str) -> Locator:
    return page.locator(f"{LIST} tbody tr").filter(has_text=name)


def change(mock: MockKaasd, job: dict[str, Any], **more: Any) -> None:
    mock.world.jobs = [known | more if known["id"] == job["id"] else known for known in mock.world.jobs]


def asked(mock: MockKaasd) -> list[str]:
    return [path for _, path, _ in mock.world.requests if path.startswith("/v2/jobs")]


def step(page: Page | Frame, name: str) -> Locator:
    return page.locator("kaas-cluster-job .steps li").filter(has_text=name)


def test_a_row_has_a_bar_that_follows_the_job(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.jobs.clear()
    why = {"state_reason": "its machines are being made"}  # a second line: there is no room for a third
    mock.world.clusters = [c | why if c["name"] == "lab-new" else c for c in mock.world.clusters]
    watched = opened(mock, make_page, "#/clusters")
    page = watched.page
    expect(row(page, "lab-new")).to_be_visible()
    before = page.evaluate(PLACES)
    assert asked(mock) == ["/v2/jobs"] * 3  # what is queued, what runs, and what is taken back; each row's own is none
    mock.world.jobs = [dict(CREATING), dict(DELETING), dict(FAILED)]
    mock.world.clusters = [c | {"observed_at": ago(seconds=1)} for c in mock.world.clusters]
    bars = page.get_by_role("progressbar")
    expect(bars).to_have_count(2)  # what has failed is not at work
    bar = row(page, "lab-new").get_by_role("progressbar", name="Create the cluster")
    expect(bar).to_have_js_property("value", 42)
    expect(bar).to_have_attribute("title", "Create the cluster: 42 %")
    assert (page.evaluate(PLACES), watched.axe()) == (before, [])
    change(mock, CREATING, steps=done(CREATING["steps"], 12))  # nothing of the cluster changes
    expect(bar).to_have_js_property("value", 54)
    change(mock, CREATING, state="done", ended_at=ago(seconds=0))
    change(mock, DELETING, state="done", ended_at=ago(seconds=0))
    expect(bars).to_have_count(0)
    assert page.evaluate(PLACES) == before
    asked_so_far = len(asked(mock))
    with page.expect_response(lambda answer: "watch=" in answer.url and answer.status == 204):
        pass
    assert len(asked(mock)) == asked_so_far  # nothing is at work: nothing is asked


def test_where_nothing_is_at_work_nothing_is_asked_nor_loaded(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.clusters = [c for c in mock.world.clusters if c["state"] in ("ready", "degraded", "unknown")]
    page = opened(mock, make_page, "#/clusters").page
    row(page, "prod-2").get_by_role("link", name="prod-2", exact=True).click()
    expect(page.get_by_role("heading", name="prod-2", exact=True)).to_be_visible()
    loaded = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert (asked(mock), [name for name in loaded if "job" in name]) == ([], [])


def test_a_service_without_jobs_is_no_fault(mock: MockKaasd, make_page: MakePage) -> None:
    mock.world.refusals["/v2/jobs"] = Refusal(404, "not_found", "there is nothing at /v2/jobs")
    page = opened(mock, make_page, BUSY).page
    expect(page.locator("kaas-cluster-detail dl").first).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text=re.compile("."))).to_have_count(0)
    expect(page.locator("kaas-cluster-job")).to_have_count(0)


def test_steps_with_times_and_reasons(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(mock, make_page, BUSY)
    page = watched.page
    job = page.get_by_role("region", name="Create the cluster")
    for text in ("Under way", "42 %", "9 of 22 steps", "Begun by admin,"):
        expect(job).to_contain_text(text)
    expect(job.get_by_role("progressbar", name="Create the cluster")).to_have_js_property("value", 42)
    expect(job.locator(".steps li")).to_have_count(len(CREATING["steps"]))
    expect(step(page, "Make its certificate authorities")).to_contain_text(re.compile(r"Done.*\d+:\d\d:\d\d.*· 14 sec", re.DOTALL))
    waits = re.compile(r"Waits.*since.*The vCenter clones the template\.", re.DOTALL)
    expect(step(page, "Clone the template: control plane 3")).to_contain_text(waits)
    expect(step(page, "Wait until Kubernetes calls all nodes Ready")).to_contain_text("Not begun")
    assert watched.axe() == []
    shots(page, "job.running.tab")
    change(mock, CREATING, state="done", steps=done(CREATING["steps"], len(CREATING["steps"])), ended_at=ago(seconds=1))
    mock.world.clusters = [c | {"state": "ready"} if c["name"] == "lab-new" else c for c in mock.world.clusters]
    expect(job.get_by_role("status")).to_have_text("Done")  # it is shown on, until somebody leaves
    expect(job).to_contain_text("took 10 min 0 sec")
    expect(job.get_by_role("button")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", name="lab-new", exact=True)).to_be_visible()
    expect(page.locator("kaas-cluster-detail dl").first).to_be_visible()
    expect(job).to_have_count(0)


def test_nothing_moves_when_the_job_is_shown(mock: MockKaasd, make_page: MakePage) -> None:
    """The details wait for it: it does not push them away."""
    watched = make_page()
    watched.page.add_init_script(SHIFTS)
    code = mock.world.give_code(mock.world.session_of("anna@vsphere.local", "admin"), None)
    watched.page.goto(f"{mock.url}/ui/{BUSY}?code={code}")
    expect(watched.page.locator("kaas-cluster-job .steps li").first).to_be_visible()
    before = watched.page.locator("kaas-cluster-detail dl").first.bounding_box()
    change(mock, CREATING, steps=done(CREATING["steps"], 12))
    expect(watched.page.get_by_text("12 of 22 steps")).to_be_visible()
    assert watched.page.locator("kaas-cluster-detail dl").first.bounding_box() == before
    assert sum(watched.page.evaluate("shifts")) < 0.01


def test_why_it_failed_and_what_to_do_is_for_administrators(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(mock, make_page, RED)
    failed = step(watched.page, "Choose name and address: control plane 1")
    expect(failed).to_contain_text("Provider edge: no address is left in 10.9.0.20-10.9.0.21.")
    expect(failed).to_contain_text("Give the provider more addresses: kaasctl provider apply FILE.")
    expect(watched.page.get_by_text("no address is left")).to_have_count(1)
    assert watched.axe() == []
    shots(watched.page, "job.failed.tab")
    page = opened(mock, make_page, RED, "user").page
    expect(step(page, "Choose name and address: control plane 1")).to_contain_text("no address is left")
    expect(page.get_by_text("kaasctl")).to_have_count(0)
    expect(page.locator("kaas-cluster-job").get_by_role("button")).to_have_count(0)


def test_a_reason_that_is_no_steps(mock: MockKaasd, make_page: MakePage) -> None:
    change(mock, FAILED, reason="no replica has this kind of job", remedy="upgrade all of them", steps=FAILED["steps"][:4])
    job = opened(mock, make_page, RED).page.locator("kaas-cluster-job")
    for text in ("No replica has this kind of job.", "Upgrade all of them."):
        expect(job).to_contain_text(text)


def test_cancel_asks_first(mock: MockKaasd, make_page: MakePage, shots: Shots) -> None:
    watched = opened(mock, make_page, BUSY)
    page = watched.page
    job = page.locator("kaas-cluster-job")
    cancel = job.get_by_role("button", name="Cancel the job")
    cancel.click()
    question = page.get_by_role("dialog", name="Cancel the job?")
    expect(question).to_contain_text("machines with their disks")
    assert watched.axe() == []
    shots(page, "job.question.tab")
    expect(question.get_by_role("button", name="Keep the job")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    expect(cancel).to_be_focused()
    cancel.click()
    question.get_by_role("button", name="Keep the job").click()
    assert "POST" not in {method for method, path, _ in mock.world.requests if "jobs" in path}
    cancel.click()
    question.get_by_role("button", name="Cancel the job").click()
    expect(job.get_by_role("status")).to_have_text("Stops after the step under way")
    expect(cancel).to_have_count(0)
    expect(page.get_by_role("heading", name="Create the cluster")).to_be_focused()


def test_retry(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, RED)
    job = watched.page.locator("kaas-cluster-job")
    path = f"/v2/jobs/{FAILED['id']}/retry"
    mock.world.refusals[path] = Refusal(409, "exists", "another job is at work on the cluster", "wait for it")
    job.get_by_role("button", name="Retry").click()
    expect(job.get_by_role("alert")).to_contain_text("The job does not go on")
    expect(job.get_by_role("alert")).to_contain_text("Another job is at work on the cluster.")
    assert watched.axe() == []
    mock.world.refusals.clear()
    job.get_by_role("button", name="Retry").click()
    expect(job.get_by_role("status")).to_have_text("Under way")
    expect(job.get_by_role("button", name="Retry")).to_have_count(0)
    expect(job.locator("kaas-notice")).to_have_count(0)


def test_what_it_tells_is_asked_for_while_somebody_looks(mock: MockKaasd, make_page: MakePage) -> None:
    watched = opened(mock, make_page, BUSY)
    page = watched.page
    sent: list[str] = []
    page.on("request", lambda request: sent.extend(re.findall(r"/lines\?after=(\d+)", request.url)))
    told = page.get_by_role("list", name="What it tells")
    summary = page.get_by_text("What it tells")
    mock.world.job_lines[CREATING["id"]] = [line(n, f"clone the template: line {n}") for n in range(1, 41)]
    with page.expect_request(lambda request: "after=40" in request.url):
        summary.click()
    expect(told.get_by_role("listitem")).to_have_count(40)
    expect(told.get_by_text("line 40", exact=False)).to_be_in_viewport()
    assert watched.axe() == []
    with page.expect_request(lambda request: "after=41" in request.url):
        mock.world.job_lines[CREATING["id"]] += [line(41, "<b>start</b> the machine")]
    expect(told.get_by_role("listitem").last).to_contain_text("<b>start</b> the machine")
    with page.expect_event("requestfailed", lambda request: "after=41" in request.url):
        summary.click()
    with page.expect_request(lambda request: "after=41" in request.url):
        summary.click()
    change(mock, CREATING, state="done", ended_at=ago(seconds=0))
    expect(page.locator("kaas-cluster-job").get_by_role("status")).to_have_text("Done")
    assert sent == ["0", "40", "41", "41"]  # one of them was given up; behind the end nothing is asked


@pytest.mark.parametrize("name", NAMES)
def test_in_each_home(mock: MockKaasd, make_page: MakePage, cert: ServerCert, shots: Shots, name: str) -> None:
    """In a frame nothing is changed: there the same is seen without the buttons."""
    watched = make_page()
    with home(name, mock, cert) as open_:
        frame = open_(watched, "", mock.world.session_of("anna@vsphere.local", "admin"))
        expect(row(frame, "lab-new").get_by_role("progressbar")).to_be_visible()
        shots(watched.page, f"job.row.{name}")
        row(frame, "lab-new").get_by_role("link", name="lab-new").click()
        expect(step(frame, "Clone the template: control plane 3")).to_be_visible()
        expect(frame.locator("kaas-cluster-job").get_by_role("button")).to_have_count(1 if name == "tab" else 0)
        assert watched.axe_in(frame) == []
        shots(watched.page, f"job.details.{name}")


def test_who_may_see_the_cluster_sees_its_job(mock: MockKaasd, make_page: MakePage) -> None:
    page = opened(mock, make_page, BUSY, "user").page
    expect(page.get_by_role("region", name="Create the cluster")).to_contain_text("42 %")
    expect(page.locator("kaas-cluster-job").get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme", "locale"), [(320, "light", "de-DE"), (700, "dark", "de-DE"), (900, "dark", "en-GB"),
                                                        (1280, "dark", "de-DE"), (1920, "light", "en-GB")])
def test_every_width_and_theme(mock: MockKaasd, make_page: MakePage, shots: Shots, width: int, scheme: str, locale: str) -> None:
    mock.world.clusters = [*mock.world.clusters, cluster("lab-3", "creating", [], state_reason="its machines are being made")]
    mock.world.jobs += [CREATING | {"id": ident("another"), "object_id": ident("cluster lab-3"), "object_name": "lab-3"}]
    watched = opened(mock, make_page, "#/clusters", viewport={"width": width, "height": 800}, color_scheme=scheme, locale=locale)
    page = watched.page
    page.get_by_role("progressbar").nth(2).wait_for()
    assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
    shots(page, f"job.row-{width}.tab.{scheme}")
    for address, shown in ((BUSY, "running"), (RED, "failed")):
        page.evaluate(f"location.hash = '{address}'")
        page.locator("kaas-cluster-job .steps li").first.wait_for()
        page.locator("kaas-cluster-job summary").click()
        assert (watched.axe(), watched.overflow(), watched.small_targets()) == ([], 0, [])
        shots(page, f"job.{shown}-{width}.tab.{scheme}")
