"""Alert rules, their tests and the dashboard name metrics and commands that there are, and Prometheus' own program takes them."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml
from csource import TOP
from env.places import program

ALERTS = TOP / "etc/prometheus/kaas-alerts.yaml"
TESTS = sorted(ALERTS.parent.glob("kaas-alerts-*test.yaml"))
DASHBOARD = TOP / "etc/grafana/kaas.json"
ROWS = re.findall(r'^METRIC\(\w+, (\w+), "(\w+)", "([\w,]*)"', (TOP / "src/base/work/metrics.def").read_text(), re.M)
SCRAPE_LABELS = {"job", "instance"}


def series() -> dict[str, set[str]]:
    """Name of each series with its labels."""
    found: dict[str, set[str]] = {}
    for kind, name, labels in ROWS:
        own = set(labels.split(",")) - {""}
        found |= {name + suffix: own for suffix in (("_sum", "_count") if kind == "HISTOGRAM" else ("",))}
        if kind == "HISTOGRAM":
            found[f"{name}_bucket"] = own | {"le"}
    return found


def expressions() -> list[str]:
    tenants = TOP / "examples/monitoring/tenant-alerts.yaml"
    rules = [rule["expr"] for path in (ALERTS, tenants) for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]
    panels = [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel.get("targets", [])]
    series_of_tests = [one["series"] for file in TESTS for test in yaml.safe_load(file.read_text())["tests"]
                       for one in test["input_series"]]
    return rules + panels + series_of_tests


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def test_metrics_and_labels_that_are_named_are_there() -> None:
    known, wrong = series(), []
    for expr in expressions():
        for name, _, labels in re.findall(r"\b((?:kaas|process)_\w+)\b(\{([^}]*)\})?", expr):
            used = set(re.findall(r"(\w+) ?(?:=|!)", labels)) - SCRAPE_LABELS
            if name not in known or not used <= known[name]:
                wrong.append(f"{name}{{{labels}}}")
    assert not wrong, "not in src/base/work/metrics.def: " + ", ".join(wrong)


def test_most_of_the_table_is_on_the_dashboard() -> None:
    text = DASHBOARD.read_text()
    left_out = [name for _, name, _ in ROWS if name not in text]
    assert len(left_out) < len(ROWS) / 2, left_out


def test_each_alert_says_what_to_do() -> None:
    for alert in alerts():
        assert alert["labels"]["severity"] in ("critical", "warning", "info"), alert["alert"]
        assert set(alert["annotations"]) == {"summary", "description", "remedy"}, alert["alert"]
        assert re.search(r"`[^`]+`", alert["annotations"]["remedy"]), f"{alert['alert']}: the remedy names no command"


def test_each_alert_has_a_test() -> None:
    text = "".join(file.read_text() for file in TESTS)
    assert not (untested := [alert["alert"] for alert in alerts() if alert["alert"] not in text]), untested


def test_the_commands_of_remedies_are_there() -> None:
    helped = subprocess.run([program("kaasctl"), "--help"], capture_output=True, text=True, check=True).stdout
    alone = {("health",), ("doctor",), ("version",), ("backup",)}
    commands = {tuple(line.split()[:2]) for line in helped.splitlines() if line.startswith("  ")} | alone
    options = re.findall(r'^OPTION\(\w+, \w+, "([\w.]+)"', (TOP / "src/config/options.def").read_text(), re.M)
    sections = {option.split(".")[0] for option in options}
    for alert in alerts():
        text = alert["annotations"]["remedy"] + alert["annotations"]["description"]
        for words in re.findall(r"kaasctl ([a-z-]+(?: [a-z-]+)?)", text):
            assert tuple(words.split()) in commands or (words.split()[0],) in commands, f"{alert['alert']}: kaasctl {words}"
        for option in re.findall(r"(?<![\w/-])([a-z]+\.[a-z_]+)\b", text):
            assert option.split(".")[0] not in sections or option in options, f"{alert['alert']}: {option}"


def test_prometheus_takes_the_rules_and_their_tests_pass() -> None:
    for command in (["check", "rules", ALERTS], ["test", "rules", *TESTS]):
        said = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stdout + said.stderr


def test_prometheus_takes_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids) > 30
    rules = [{"record": f"panel:{panel['id']}:{target['refId']}",
              "expr": target["expr"].replace("$__rate_interval", "5m").replace("$job", "kaas").replace("$instance", ".*")}
             for panel in dashboard["panels"] for target in panel.get("targets", [])]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    said = subprocess.run(["promtool", "check", "rules", tmp_path / "panels.yaml"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
