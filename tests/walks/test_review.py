"""The review desk end to end: a run of real tasks in the private internet, judged through the stack's admin server."""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
import requests

from broker.ledger.receipts import read_receipt
from broker.ledger.tokens import Wanted, create_token
from ops.lab.control import LabControl
from schemas.grants import REVIEW
from tests.fleet import Fleet, wait_until
from tests.stores import rows
from tests.truth_calls import Worker, call, candidate, code_of, find, launched, output, prepare_arguments, value_of

SOURCE = "https://text.example/"
QUOTE = "A plain text."
START_SECONDS = 30


class Desk:
    """A reviewer's session at the running admin server: the API with a token, the pages as a browser without script."""

    def __init__(self, site: str, token: str) -> None:
        self.site, self.token = site, token
        self.person = requests.Session()
        form = self.person.get(f"{site}/admin/login", timeout=30).text
        self.person.post(f"{site}/admin/login", data={"csrf": proof_in(form), "token": token}, timeout=30)

    def api(self, path: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return requests.get(f"{self.site}/api/admin/projects/{path}", headers=headers, timeout=30)

    def page(self, path: str) -> str:
        return self.person.get(f"{self.site}/admin/projects/{path}", timeout=30).text

    def decide(self, path: str, **form: object) -> requests.Response:
        page = self.page(path)
        output_sha256 = re.findall(r'name="output" value="(\w+)"', page)[0]
        sent = {"csrf": proof_in(page), "output": output_sha256, **form}
        return self.person.post(f"{self.site}/admin/projects/{path}", data=sent, timeout=30)


def proof_in(page: str) -> str:
    """The proof of the page's last form: the one of its content, not the log-out's."""
    return re.findall(r'name="csrf" value="(\w+)"', page)[-1]


def answers(site: str) -> bool:
    try:
        return requests.get(f"{site}/admin/login", timeout=5).ok
    except requests.ConnectionError:
        return False


@pytest.fixture
def desk(fleet: Fleet) -> Iterator[Desk]:
    site = str(fleet.state.admin_url).removesuffix("/admin/")
    wait_until(lambda: answers(site), seconds=START_SECONDS, what="the admin server")
    wanted = Wanted(name="rita", permissions=(REVIEW,), project=None, seconds=3600)
    opened = Desk(site, create_token(fleet.ledger, wanted, actor="tests")[1])
    yield opened
    opened.person.close()


def completed(fleet: Fleet, lab: LabControl, folder: str) -> Worker:
    """A run through its tasks alone: prepared, launched, searched, fetched, submitted."""
    find(lab, SOURCE)
    worker = launched(fleet, prepare_arguments(folder=folder))
    [hit] = worker.hits()
    fetch_id = value_of(worker.call("fetch", hit_id=hit["hit_id"]))["fetch_id"]
    web = {"kind": "web_fetch", "fetch_id": fetch_id, "relationship": "supports", "selector": {"exact": QUOTE}}
    candidates = [candidate(evidence=[web]), candidate("Some say cheese", evidence=[web])]
    value_of(worker.call("job_submit", output=output(candidates=candidates)))
    return worker


def test_person_promotes_one_passage_of_a_real_run_and_the_rest_stays_quarantined(
    fleet: Fleet, lab: LabControl, desk: Desk
) -> None:
    """M27, M65, M75-M80: what a person selects is kept with its receipt; later runs know nothing of it."""
    folder = f"f-{uuid4().hex[:8]}"
    worker = completed(fleet, lab, folder)
    place = f"{worker.project}/reviews/{worker.run}"
    review = desk.api(place).json()["data"]
    assert [(one["source"], one["status"]) for one in review["coverage"]][2] == ("web", "searched")
    first, second = (f"{place}/candidates/{one['sha256']}" for one in review["candidates"])
    page = desk.page(first)
    assert f"<mark>{QUOTE}</mark>" in page
    assert f'href="{SOURCE}" rel="noreferrer noopener nofollow"' in page
    assert rows(fleet, "SELECT count(*) FROM truth_decisions WHERE run = %s", worker.run) == [(0,)]

    assert desk.decide(first, decision="save_as_proposed", attach="0").status_code == 200
    assert desk.decide(second, decision="dismiss").status_code == 200

    told, dismissed = (one["decision"] for one in desk.api(place).json()["data"]["candidates"])
    assert (told["decision"], dismissed["decision"], dismissed["attachments"]) == ("save_as_proposed", "dismiss", [])
    [attachment] = told["attachments"]
    assert_kept(fleet, attachment["passage"], review["sources"])
    audit = "SELECT count(*) FROM audit WHERE project = %s AND action = 'truth.candidate.decide' AND actor = %s"
    assert told["decidedBy"].endswith(":rita")
    assert rows(fleet, audit, worker.project, told["decidedBy"]) == [(2,)]
    assert rows(fleet, "SELECT count(*) FROM truth_folders WHERE folder = %s", folder) == [(0,)]
    context = fleet.context(project=worker.project)
    later = value_of(call(fleet, "truth_prepare", prepare_arguments(folder=folder), context))["run_id"]
    assert Worker(fleet, later, worker.project).get()["existing_truth"]["claims"] == []
    assert sum(lab.hits("text.example").values()) == 1


def assert_kept(fleet: Fleet, passage: dict[str, Any], sources: list[dict[str, Any]]) -> None:
    """The passage leads back to the one source, and to the receipt of its fetch."""
    receipt = read_receipt(fleet.ledger, passage["receipt"]["operation"])
    assert receipt is not None
    assert (passage["exact"], passage["source_url"], passage["receipt"]["digest"]) == (QUOTE, SOURCE, receipt.digest)
    [source] = sources
    assert passage["text_sha256"] == source["textSha256"] == sha256(source["text"].encode()).hexdigest()


def test_worker_s_session_opens_no_desk(fleet: Fleet, lab: LabControl, desk: Desk) -> None:
    """M27: a run that is not completed is on no desk, and no capability of a session decides anything."""
    del lab
    worker = launched(fleet)
    assert desk.api(f"{worker.project}/reviews/{worker.run}").status_code == 404
    forged = {**output(), "decisions": [{"decision": "save_as_proposed"}]}
    assert code_of(worker.call("job_submit", output=forged)) == "invalid_output"
    assert rows(fleet, "SELECT count(*) FROM truth_decisions WHERE run = %s", worker.run) == [(0,)]
