"""The metrics of a running stack: served on loopback, named by dashboards and alerts, told alike by every exporter."""

import json
import os
import re
import signal
import socket
import urllib.request
from pathlib import Path

import psutil
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.ops.running import Command, command, outrider, wait_until

HOUSE = Path(__file__).resolve().parents[3]
SELECTOR = re.compile(r"(outrider_[a-z_]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)\s*(=~|!=|=)\s*"([^"]*)"')


def url_of(fleet: Command) -> str:
    return next(line for line in fleet.lines if line.startswith("  metrics")).split()[3]


def samples(url: str) -> list[Sample]:
    """What is served there, as soon as it is."""

    def read() -> list[Sample]:
        try:
            with urllib.request.urlopen(url, timeout=60) as reply:
                text = reply.read().decode()
        except OSError:
            return []
        return [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    wait_until(read, "the metrics are served")
    return read()


def scrape(url: str) -> dict[str, list[dict[str, str]]]:
    """The labels of every series, by the name of its samples."""
    found: dict[str, list[dict[str, str]]] = {}
    for sample in samples(url):
        found.setdefault(sample.name, []).append(sample.labels)
    return found


def expressions(value: object) -> list[str]:
    """Every query of a dashboard or an alert file."""
    if isinstance(value, list):
        return [found for part in value for found in expressions(part)]
    if not isinstance(value, dict):
        return []
    own = [value[name] for name in ("expr", "definition") if isinstance(value.get(name), str)]
    return own + [found for part in value.values() for found in expressions(part)]


def documents() -> list[tuple[str, str]]:
    board = json.loads((HOUSE / "ops/dashboards/outrider.json").read_text())
    rules = yaml.safe_load((HOUSE / "ops/alerts/outrider.yml").read_text())
    return [("dashboard", one) for one in expressions(board)] + [("alert", one) for one in expressions(rules)]


def test_every_series_that_a_dashboard_or_an_alert_names_is_served(fleet: Command) -> None:
    """Issue 4: names, labels and the values that are written out; also before anything was ever counted."""
    served = scrape(url_of(fleet))
    assert len(documents()) > 30
    for where, expression in documents():
        named = SELECTOR.findall(expression)
        assert named, (where, expression)
        for name, labels in named:
            assert name in served or name == "outrider_project_budget_denials_total", (where, name)
            for label, relation, value in LABEL.findall(labels):
                known = {series.get(label) for series in served[name]}
                assert known != {None}, (where, name, label)
                if relation == "=":
                    assert value in known, (where, name, label, value)


def test_every_metric_that_is_served_is_on_the_dashboard(fleet: Command) -> None:
    shown = {name for where, one in documents() if where == "dashboard" for name, _labels in SELECTOR.findall(one)}
    bases = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in scrape(url_of(fleet))}
    assert bases == {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown} - {
        "outrider_project_budget_denials_total"
    }


def test_dashboard_is_one_that_grafana_takes() -> None:
    board = json.loads((HOUSE / "ops/dashboards/outrider.json").read_text())
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        if panel["type"] != "row":
            assert panel["description"].endswith(".")
            assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}


def test_status_tells_where_the_metrics_are(fleet: Command, fleet_home: Path) -> None:
    assert json.loads(outrider("status", "--json", home=fleet_home).stdout)["metrics"] == url_of(fleet)
    assert url_of(fleet) in outrider("status", home=fleet_home).stdout


@pytest.mark.parametrize("part", ["metrics", "flower"])
def test_what_people_and_prometheus_look_at_listens_on_loopback_alone(fleet: Command, part: str) -> None:
    line = next(line for line in fleet.lines if line.startswith(f"  {part}"))
    process, port = psutil.Process(int(line.split()[2])), int(re.search(r":(\d+)/", line).group(1))

    def listening() -> list[tuple[str, int]]:
        return [tuple(one.laddr) for one in process.net_connections() if one.status == psutil.CONN_LISTEN]

    wait_until(listening, f"{part} listens")
    assert listening() == [("127.0.0.1", port)]


def test_another_exporter_tells_the_same_and_ends_when_it_is_asked_to(fleet: Command, fleet_home: Path) -> None:
    """`outrider metrics`, as a deployment with stores of its own runs it."""
    ended = outrider("fetch", "http://127.0.0.1/", home=fleet_home)
    assert ended.returncode == 2, ended.stderr

    def refusals(url: str) -> float:
        found = [one for one in samples(url) if one.name == "outrider_operations_total"]
        return sum(one.value for one in found if one.labels["code"] == "blocked_address")

    with command("ops", "metrics", "--port", "0", home=fleet_home) as another:
        url = another.wait_for("metrics at http://127.0.0.1:").split()[2]
        wait_until(lambda: refusals(url) >= 1, "the end is counted")
        assert refusals(url_of(fleet)) == refusals(url)
        assert another.end() == 0


@pytest.mark.usefixtures("fleet")
def test_metrics_says_so_when_its_port_is_taken(fleet_home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = outrider("metrics", "--port", port, home=fleet_home)
    assert ended.returncode == 1
    assert f"cannot listen at 127.0.0.1:{port}: Address already in use" in ended.stderr


def test_metrics_says_so_when_nothing_runs(home: Path) -> None:
    ended = outrider("metrics", home=home)
    assert ended.returncode == 3
    assert "nothing runs" in ended.stderr


def test_metrics_tell_of_stores_that_do_not_answer(home: Path) -> None:
    """A deployment's exporter outlives its stores: it says which one is away, and no number of it."""
    nowhere = {"OUTRIDER_DATABASE_URL": "postgresql://127.0.0.1:1/x", "OUTRIDER_BROKER_URL": "redis://127.0.0.1:1/0"}
    with command("ops", "metrics", "--port", "0", home=home, **nowhere) as exporter:
        url = exporter.wait_for("metrics at").split()[2]
        found = [(one.name, one.value) for one in samples(url)]
        assert exporter.end() == 0
    assert found == [("outrider_ledger_up", 0), ("outrider_broker_up", 0)]


@pytest.mark.fault
def test_a_killed_exporter_is_started_again_and_goes_on_counting(fleet: Command) -> None:
    line = next(line for line in fleet.lines if line.startswith("  metrics"))
    before = scrape(url_of(fleet))
    os.kill(int(line.split()[2]), signal.SIGKILL)
    fleet.wait_for("metrics ended with status -9")
    assert scrape(url_of(fleet)).keys() == before.keys()
