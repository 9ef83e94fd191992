"""The review desk's API: what a person is shown of a run, and one decision a candidate, for ever."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from hashlib import sha256

import pytest
from sqlalchemy.exc import DBAPIError

from broker.ledger.audit import read_audit
from broker.ledger.truth_folders import open_folder
from schemas.grants import FLEET, MANAGE, REVIEW, RUNS
from schemas.receipt import canonical
from tests.ledger_calls import run_sql
from tests.review_runs import QUOTE, SECOND, TEXT, URL, completed
from tests.truth_runs import stored, tamper

KEPT = ("truth_folders", "truth_runs", "truth_outputs", "operations", "receipts")


@pytest.fixture
def reviewer(make_token) -> str:
    return make_token(REVIEW)


def books(ledger) -> dict[str, list]:
    """Everything that no decision may touch."""
    return {name: sorted(run_sql(ledger, f"TABLE {name}"), key=str) for name in KEPT}


def counts(ledger) -> tuple[int, int]:
    return tuple(run_sql(ledger, f"SELECT count(*) FROM truth_{name}")[0][0] for name in ("decisions", "attachments"))  # noqa: S608 - constants


def test_run_is_shown_with_every_quote_and_the_coverage_of_its_receipts(admin, ledger, reviewer):
    """M23, M65, M76, M77: coverage is the server's; each quote stands where its selector says, in the captured text."""
    done = completed(ledger)
    [row] = admin.api("GET", "X/reviews", reviewer).json()["data"]
    assert (row["run"], row["title"], row["candidates"], row["decided"]) == (done.run.id, "Moon <i>", 3, 0)
    review = admin.api("GET", done.place, reviewer).json()["data"]
    assert [(one["source"], one["status"]) for one in review["coverage"]] == [
        ("selected_passage", "searched"),
        ("existing_truth", "supplied"),
        ("web", "partial"),
    ]
    assert [(one["state"], one["code"], one["what"]) for one in review["searches"]] == [
        ("completed", None, "moon basalt"),
        ("failed", "source_blocked", None),
    ]
    [source] = review["sources"]
    assert (source["sourceUrl"], source["text"], source["textTruncated"]) == (URL, TEXT, True)
    assert (source["receipt"], source["receiptDigest"]) == (done.receipt, done.receipt_digest)
    first = review["candidates"][0]
    assert [one["attachable"] for one in first["evidence"]] == [True, True, False, True, False]
    for one in first["evidence"][:3]:
        quote, position = one["selector"]
        assert source["text"][position["start"] : position["end"]] == quote["exact"] == one["exact"]
    assert [one["sha256"] for one in review["candidates"]] == list(done.candidates)
    assert "quarantined" in review["notice"]


def test_list_holds_completed_runs_of_the_project_alone(admin, ledger, reviewer):
    done, _other = completed(ledger), completed(ledger, project="Y")
    stored(ledger, project="X")
    rows = admin.api("GET", "X/reviews", reviewer).json()["data"]
    assert [one["run"] for one in rows] == [done.run.id]
    at = datetime.fromisoformat(rows[0]["submittedAt"])
    for before, found in ((at, 0), (at + timedelta(microseconds=1), 1)):
        listed = admin.api("GET", "X/reviews", reviewer, params={"before": before.isoformat()}).json()["data"]
        assert len(listed) == found
    far = {"before": "0001-01-01T00:00:00+23:59"}
    assert admin.api("GET", "X/reviews", reviewer, params=far).json()["data"] == []


def test_only_the_selected_exact_passage_is_promoted(admin, ledger, reviewer):
    """M65, M80: with its text, selector, source, receipt and digests; and nothing but the desk's own books grows."""
    done = completed(ledger)
    before = books(ledger)
    answer = admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision(attach=[1]))
    assert answer.status_code == 200
    [kept] = answer.json()["data"]["attachments"]
    start = TEXT.index(SECOND)
    assert kept["passage"] == {
        "kind": "web_fetch",
        "relationship": "partially_supports",
        "exact": SECOND,
        "exact_sha256": sha256(SECOND.encode()).hexdigest(),
        "selector": [
            {
                "type": "TextQuoteSelector",
                "exact": SECOND,
                "prefix": TEXT[max(0, start - 96) : start],
                "suffix": TEXT[start + len(SECOND) :][:96],
            },
            {"type": "TextPositionSelector", "start": start, "end": start + len(SECOND)},
        ],
        "fetch_id": kept["passage"]["fetch_id"],
        "source_url": URL,
        "requested_url": "http://moon.example/",
        "title": "Basalt of the <moon>",
        "text_sha256": sha256(TEXT.encode()).hexdigest(),
        "text_truncated": True,
        "acquired_at": "2026-11-30T12:00:00.000+00:00",
        "receipt": {"operation": done.receipt, "digest": done.receipt_digest},
    }
    assert kept["sha256"] == sha256(canonical(kept["passage"]).encode()).hexdigest()
    assert counts(ledger) == (1, 1)
    assert books(ledger) == before


def test_nothing_is_attached_that_was_not_selected(admin, ledger, reviewer):
    """M65: a decision without a selection promotes nothing; a folder's store is read as before (M80)."""
    done = completed(ledger)
    folder = open_folder(ledger, "X", "f")
    answer = admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision())
    assert answer.json()["data"]["attachments"] == []
    assert (counts(ledger), folder.newest()) == ((1, 0), done.run.snapshot)
    review = admin.api("GET", done.place, reviewer).json()["data"]
    assert [one["decision"] is None for one in review["candidates"]] == [False, True, True]


def test_decision_is_audited_with_who_and_when_and_no_content(admin, ledger, reviewer):
    """M141's way: identifiers, who, when; no word of the passage, the quote or the source."""
    done = completed(ledger)
    made = admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision(attach=[0])).json()["data"]
    [entry] = read_audit(ledger, "X")
    assert (entry.action, entry.actor) == ("truth.candidate.decide", made["decidedBy"])
    assert entry.actor.endswith(":alice")
    assert made["decidedAt"].startswith(entry.at.isoformat()[:19])
    assert entry.facts == {
        "run": done.run.id,
        "candidate_sha256": done.candidates[0],
        "decision": "save_as_proposed",
        "claim_id": None,
        "attached": [0],
    }


def test_same_decision_again_is_the_recorded_one_and_another_one_is_refused(admin, ledger, make_token):
    """One decision a candidate: whose was first holds."""
    done = completed(ledger)
    path, alice, bob = f"{done.place}/decisions", make_token(REVIEW), make_token(REVIEW, name="bob")
    first = admin.api("POST", path, alice, json=done.decision(attach=[1, 0]))
    again = admin.api("POST", path, bob, json=done.decision(attach=[0, 1, 1]))
    assert (again.status_code, again.json()) == (200, first.json())
    for other in ({"decision": "dismiss"}, {"attach": [0]}, {"decision": "connect_existing", "claimId": "c1"}):
        refused = admin.api("POST", path, bob, json=done.decision(**other))
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "review_conflict")
        assert refused.json()["error"]["facts"] == {"reason": "decided_otherwise"}
    assert (counts(ledger), len(read_audit(ledger, "X"))) == ((1, 2), 1)


def test_one_of_16_racing_decisions_is_recorded(admin, ledger, reviewer):
    done = completed(ledger)
    wishes = [done.decision(**({"decision": "dismiss"} if number % 2 else {"attach": [0]})) for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        codes = list(
            pool.map(lambda wish: admin.api("POST", f"{done.place}/decisions", reviewer, json=wish).status_code, wishes)
        )
    assert sorted(codes) == [200] * 8 + [409] * 8
    assert counts(ledger)[0] == len(read_audit(ledger, "X")) == 1


@pytest.mark.parametrize(
    ("wish", "field", "reason"),
    [
        pytest.param({"attach": [2]}, "attach", "not_attachable", id="contradicts"),
        pytest.param({"attach": [4]}, "attach", "not_attachable", id="M75-passage-citation"),
        pytest.param({"attach": [5]}, "attach", "not_attachable", id="no-such-evidence"),
        pytest.param({"attach": [0], "decision": "dismiss"}, "attach", "not_of_this_decision", id="dismissed"),
        pytest.param({"decision": "connect_existing"}, "claimId", "missing", id="no-claim"),
        pytest.param({"decision": "connect_existing", "claimId": "c9"}, "claimId", "not_of_the_context", id="foreign"),
        pytest.param({"claimId": "c1"}, "claimId", "not_of_this_decision", id="claim-of-no-use"),
        pytest.param({"attach": [10]}, "body.attach.0", "less_than", id="over-ten-pieces"),
        pytest.param({"decision": "accept"}, "body.decision", "literal_error", id="no-such-decision"),
        pytest.param({"actor": "mallory"}, "body.actor", "extra_forbidden", id="closed"),
    ],
)
def test_decision_that_cannot_be_given_is_refused(admin, ledger, reviewer, wish, field, reason):
    done = completed(ledger)
    answer = admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision(**wish))
    assert (answer.status_code, answer.json()["error"]["facts"]) == (422, {"field": field, "reason": reason})
    assert counts(ledger) == (0, 0)


def test_candidate_is_connected_to_a_claim_of_the_context(admin, ledger, reviewer):
    done = completed(ledger)
    wish = done.decision(1, decision="connect_existing", claimId="c1")
    made = admin.api("POST", f"{done.place}/decisions", reviewer, json=wish).json()["data"]
    assert (made["decision"], made["claimId"], made["attachments"]) == ("connect_existing", "c1", [])


def test_recorded_span_is_attached_by_its_name(admin, ledger, reviewer):
    """M75: a truth_span is evidence that the folder holds already: no receipt of a fetch belongs to it."""
    done = completed(ledger)
    made = admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision(attach=[3])).json()["data"]
    [kept] = made["attachments"]
    assert (kept["passage"]["kind"], kept["passage"]["span_id"], kept["passage"]["exact"]) == ("truth_span", "s1", "q")
    assert run_sql(ledger, "SELECT operation_id FROM truth_attachments") == [(None,)]


def test_decision_is_bound_to_the_output_and_the_candidate_that_were_read(admin, ledger, reviewer):
    done = completed(ledger)
    other = admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision(outputSha256="0" * 64))
    assert (other.status_code, other.json()["error"]["facts"]) == (409, {"reason": "other_output"})
    unknown = done.decision(candidateSha256="0" * 64)
    assert admin.api("POST", f"{done.place}/decisions", reviewer, json=unknown).status_code == 404
    assert counts(ledger) == (0, 0)


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE truth_outputs SET body = replace(body, 'basalt', 'cheese')", id="output"),
        pytest.param(
            "UPDATE truth_outputs SET body = replace(body, '0.9', '0.8'), "
            "sha256 = encode(sha256(convert_to(replace(body, '0.9', '0.8'), 'UTF8')), 'hex')",
            id="output-with-its-digest",
        ),
        pytest.param("UPDATE receipts SET body = replace(body, 'billion', 'million')", id="M65-captured-text"),
        pytest.param("UPDATE truth_runs SET passage = replace(passage, 'moon', 'sun')", id="M16-passage"),
    ],
)
def test_altered_run_is_neither_shown_nor_decided(admin, ledger, reviewer, statement):
    """M16, M76: what was altered behind the ledger's back is told, and no person vouches for it."""
    done = completed(ledger)
    tamper(ledger, statement)
    for answer in (
        admin.api("GET", done.place, reviewer),
        admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision()),
    ):
        assert (answer.status_code, answer.json()["error"]["facts"]) == (409, {"reason": "altered"})
    assert counts(ledger) == (0, 0)


def test_altered_passage_is_told(admin, ledger, reviewer):
    done = completed(ledger)
    admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision(attach=[1]))
    tamper(ledger, "UPDATE truth_attachments SET body = replace(body, '3.5', '4.5')")
    assert admin.api("GET", done.place, reviewer).status_code == 409
    tamper(ledger, "DELETE FROM truth_attachments")
    assert admin.api("GET", done.place, reviewer).status_code == 409


@pytest.mark.parametrize("table", ["truth_decisions", "truth_attachments"])
@pytest.mark.parametrize("change", ["UPDATE {} SET run = run", "DELETE FROM {}"])
def test_what_was_decided_stays_decided(admin, ledger, reviewer, table, change):
    done = completed(ledger)
    admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision(attach=[0]))
    with pytest.raises(DBAPIError, match="row_is_final"):
        run_sql(ledger, change.format(table))
    assert counts(ledger) == (1, 1)


@pytest.mark.parametrize(
    ("permissions", "project", "expected"),
    [((REVIEW,), "X", 200), ((REVIEW,), "Y", 403), ((MANAGE, RUNS, FLEET), None, 403), (None, None, 401)],
)
def test_desk_opens_to_reviewers_of_the_project_alone(admin, ledger, make_token, permissions, project, expected):
    done = completed(ledger)
    token = None if permissions is None else make_token(*permissions, project=project)
    for method, path, body in (
        ("GET", "X/reviews", None),
        ("GET", done.place, None),
        ("POST", f"{done.place}/decisions", done.decision()),
    ):
        assert admin.api(method, path, token, json=body).status_code == expected, path
    assert counts(ledger) == ((1, 0) if expected == 200 else (0, 0))


def test_run_that_is_not_completed_or_another_project_s_is_not_there(admin, ledger, reviewer):
    running, foreign = stored(ledger, project="X"), completed(ledger, project="Y")
    for run in (running.id, foreign.run.id, "nothing"):
        assert admin.api("GET", f"X/reviews/{run}", reviewer).status_code == 404


def test_hidden_characters_are_part_of_the_exact_passage(admin, ledger, reviewer):
    """M76: what is shown by its number is kept as it is."""
    done = completed(ledger)
    made = admin.api("POST", f"{done.place}/decisions", reviewer, json=done.decision(attach=[0])).json()["data"]
    assert made["attachments"][0]["passage"]["exact"] == QUOTE
