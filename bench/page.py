"""How long does the page take to show something, how much is fetched for it, and how fast does a letter in the filter answer? In Chromium,
for a tab of its own and for the panel in the frame of another page. options: [--clusters N] [--rounds N]."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from env import browser, fill
from env.certs import make_server_cert
from env.filled import filled
from env.kaasd import Kaasd
from env.mariadb import Mariadb
from env.places import TOP
from hx import HxConnect
from lib import panel
from playwright.sync_api import Page

OUT = Path(__file__).resolve().parent / "out/page.json"
DIST = TOP / "ui-plugin/dist"
# Notes when the rows for the last question are painted: the first frame after the table has them.
NOTE = """
const begin = (event, q) => { window.began = event.timeStamp; window.waiting = window.painted(q); };
addEventListener('input', (event) => begin(event, event.composedPath()[0].value.trim()), true);
addEventListener('click', (event) => event.composedPath()[0].type === 'submit' && begin(event, ''), true);
window.painted = (q) => new Promise((done) => {
  const look = () => requestAnimationFrame(() => {
    const list = document.querySelector('kaas-app')?.shadowRoot?.querySelector('kaas-cluster-list');
    const table = list?.shadowRoot?.querySelector('kaas-cluster-table');
    const { model } = list ?? {};
    if (!model || model.loading || model.page === null || model.query.q !== q || table?.clusters !== model.page.items) return look();
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0);
  });
  look();
});
window.first = window.painted('');
"""
# What was asked for before the answer with the rows was there; what the page asks for afterwards, nobody waits for.
FETCHED = """() => {
  const all = performance.getEntriesByType('resource').filter(({ name }) => !name.includes('favicon'));
  const rows = all.find(({ name }) => name.includes('/v2/clusters?'));
  return all.filter((entry) => entry.startTime < rows.responseEnd).map(({ name }) => name);
}"""
Rounds = dict[str, list[float]]


def kilobytes(entry: str) -> float:
    """What a browser that has nothing yet fetches of this page, compressed."""
    text = (DIST / entry).read_text()
    whole = [text.encode()]
    names = {name for name in (file.name for file in DIST.iterdir()) if f'./{name}"' in text and name.endswith((".js", ".css", ".svg"))}
    whole += [(DIST / name).read_bytes() for name in names]
    return sum(len(gzip.compress(part)) for part in whole) / 1024


def sign_in(page: Page, kaasd: Kaasd, rounds: Rounds) -> None:
    """In a tab of its own, by the password of a local account."""
    page.goto(f"{kaasd.url}/ui/")
    page.fill("input[name=username]", "admin")
    if page.locator("input[name=account]").count():
        page.check("input[name=account][value=local]", force=True)
    page.fill("input[name=password]", kaasd.admin_password)
    page.click("button[type=submit]")
    shown = page.evaluate("() => window.waiting")
    rounds["tab: click to rows, ms"].append(shown - page.evaluate("() => window.began"))
    rounds["tab: requests until rows"].append(1 + len(page.evaluate(FETCHED)))  # and the page itself


def load_again(page: Page, rounds: Rounds) -> None:
    page.reload()
    shown = page.evaluate("() => window.first")
    rounds["tab, loaded again: rows, ms"].append(shown)


def type_letters(page: Page, words: list[str], rounds: Rounds) -> None:
    page.click("input[type=search]")
    for word in words:
        for letter in word:
            page.keyboard.press(letter)
            shown = page.evaluate("() => window.waiting")
            rounds["tab: letter to rows, ms"].append(shown - page.evaluate("() => window.began"))
            page.wait_for_timeout(300)  # as people type, who look at what comes
        page.fill("input[type=search]", "")
        page.evaluate("() => window.waiting")


def open_panel(page: Page, db: Mariadb, kaasd: Kaasd, hx: HxConnect, rounds: Rounds) -> None:
    frame = panel.open_panel(page, db, kaasd, hx, "?hx_cluster=HX-East")
    shown = frame.evaluate("() => window.first")
    rounds["panel: rows, ms"].append(shown)  # since the frame began to load
    rounds["panel: requests until rows"].append(1 + len(frame.evaluate(FETCHED)))


def measure(db: Mariadb, kaasd: Kaasd, hx: HxConnect, count: int) -> Rounds:
    rounds: Rounds = defaultdict(list)
    for number in range(count):
        with tempfile.TemporaryDirectory() as profile, browser.page(Path(profile)) as page:
            page.add_init_script(NOTE)
            sign_in(page, kaasd, rounds)
            load_again(page, rounds)
            type_letters(page, [str((number * 37 + k * 113) % 900 + 100) for k in range(3)], rounds)
        with tempfile.TemporaryDirectory() as profile, browser.page(Path(profile)) as page:
            page.add_init_script(NOTE)
            open_panel(page, db, kaasd, hx, rounds)
        print(f"round {number + 1} of {count}", file=sys.stderr, flush=True)
    return rounds


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench page")
    parser.add_argument("--clusters", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()

    def write(db: Mariadb) -> None:
        fill.fill(db, clusters=options.clusters, nodes_per_cluster=5, hx_clusters=max(options.clusters // 200, 2), observed=True)

    with tempfile.TemporaryDirectory() as folder:
        cert = make_server_cert(Path(folder))
        with filled("pg", write, {"log": {"level": "notice"}, "hx": {"read_interval": "0s"}}) as (db, kaasd), \
                HxConnect(cert.cert_file, cert.key_file) as hx:
            panel.connect(kaasd, hx, cert.sha256)
            rounds = measure(db, kaasd, hx, options.rounds)
    for entry in ("index.html", "panel.html", "vsphere.html"):
        rounds[f"{entry} and what it needs, KiB gzip"] = [kilobytes(entry)]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"clusters": options.clusters, "rounds": rounds}, indent=1))
    for name, values in rounds.items():
        ordered = sorted(values)
        print(f"{name:42} median {statistics.median(values):8.1f}   p90 {ordered[int(len(ordered) * 0.9)]:8.1f}   n {len(values)}")


if __name__ == "__main__":
    main()
