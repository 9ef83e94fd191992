"""Truth-analysis runs through the Celery door, as an orchestrator and its worker session call them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from broker import intake
from ops.lab.control import LabControl
from ops.lab.engine import block, results_page
from ops.lab.http import message
from tests.fleet import Fleet

PASSAGE = "The moon is made of basalt. Some say cheese, and cheese it is not."
ENGINE = "html.duckduckgo.com"


def prepare_arguments(passage: str = PASSAGE, **more: Any) -> dict[str, Any]:
    """What a truth_prepare brings."""
    return {
        "document": {"id": "doc-1", "title": "On the moon"},
        "passage": passage,
        "selector": {"exact": passage, "prefix": "Hear. ", "suffix": " So.", "start": 6, "end": 6 + len(passage)},
        "folder": f"f-{uuid4().hex[:8]}",
        **more,
    }


def call(fleet: Fleet, tool: str, arguments: dict[str, Any], context: dict[str, str] | None = None) -> dict[str, Any]:
    """One tool call, from message to envelope."""
    return fleet.reply(intake.submit(tool, arguments, context or fleet.context(), ledger=fleet.ledger), 90)


@dataclass(frozen=True, slots=True)
class Worker:
    """One run and the session that works on it."""

    fleet: Fleet
    run: str
    project: str = "local"

    def context(self, **more: str) -> dict[str, str]:
        """The worker session's context."""
        return self.fleet.context(session=f"{self.run}-cowork-truth-analysis", project=self.project, **more)

    def send(self, capability: str, **arguments: Any) -> intake.Handle:
        """Send one capability call."""
        name = f"cowork_truth_analysis_{capability}"
        return intake.submit(name, {"run_id": self.run, **arguments}, self.context(), ledger=self.fleet.ledger)

    def call(self, capability: str, **arguments: Any) -> dict[str, Any]:
        """One capability call, from message to envelope."""
        return self.fleet.reply(self.send(capability, **arguments), 90)

    def get(self) -> dict[str, Any]:
        """The run's context."""
        return value_of(self.call("job_get"))

    def hits(self, query: str = "moon basalt") -> list[dict[str, Any]]:
        """What a search found."""
        return value_of(self.call("search", query=query))["hits"]

    def status(self) -> dict[str, Any]:
        """Where the run stands, for its orchestrator."""
        return value_of(
            call(self.fleet, "truth_status", {"run_id": self.run}, self.fleet.context(project=self.project))
        )


def value_of(envelope: dict[str, Any]) -> dict[str, Any]:
    """The value of a completed call."""
    assert envelope["outcome"] == "completed", envelope["error"]
    return envelope["value"]


def code_of(envelope: dict[str, Any]) -> str:
    """The error's code of a call that did not complete."""
    assert envelope["error"] is not None, envelope
    return envelope["error"]["code"]


def prepared(fleet: Fleet, arguments: dict[str, Any] | None = None) -> Worker:
    """A prepared run, in a project of its own: its pace and slots are nobody else's."""
    project = f"p-{uuid4().hex[:8]}"
    context = fleet.context(project=project)
    value = value_of(call(fleet, "truth_prepare", arguments or prepare_arguments(), context))
    return Worker(fleet, value["run_id"], project)


def launched(fleet: Fleet, arguments: dict[str, Any] | None = None) -> Worker:
    """A run that its session may work on."""
    worker = prepared(fleet, arguments)
    context = fleet.context(project=worker.project)
    value_of(call(fleet, "truth_launch", {"run_id": worker.run}, context))
    return worker


def find(lab: LabControl, *links: str) -> None:
    """Make the search engine find exactly these links."""
    blocks = [block(f"Title {number}", link, f"Snippet {number}") for number, link in enumerate(links, start=1)]
    page(lab, blocks)


def page(lab: LabControl, blocks: Sequence[str]) -> None:
    """Make the search engine answer with these blocks."""
    headers = {"Content-Type": "text/html; charset=UTF-8"}
    lab.wire(ENGINE, message(200, headers, results_page(list(blocks)).encode()))


def output(**more: Any) -> dict[str, Any]:
    """A submission without candidates."""
    return {"schema": "outrider/truth-output/1", "source_coverage": [], "candidates": [], **more}


def candidate(exact: str = "The moon is made of basalt.", **more: Any) -> dict[str, Any]:
    """One claim candidate whose expression is these words of the passage."""
    return {
        "proposition": exact,
        "claim_kind": "factual",
        "confidence_extraction": 0.9,
        "expression": {"role": "asserts", "selector": {"exact": exact}},
        **more,
    }
