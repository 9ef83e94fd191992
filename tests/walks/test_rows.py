"""Rows of the mission that no other walk tells by itself: what a fetch leaves alone, counts, publishes and proves."""

import json
import subprocess
import sys
from hashlib import sha256

import psycopg2
import pytest
from psycopg2 import sql

from broker.ledger.projects import Project, save_project
from broker.ledger.receipts import read_receipt
from ops.lab.control import LabControl
from tests.fleet import Fleet

PAGE = "<!doctype html><title>T</title><main><p>{}</p></main>"
WORDS = "Words enough for a reader who wants to know how it all began. " * 8


def hop_of(fleet: Fleet, operation: str) -> dict[str, object]:
    stored = read_receipt(fleet.ledger, operation)
    assert stored is not None
    return json.loads(stored.body)["hops"][-1]


def test_links_are_listed_without_asking_for_their_names(fleet: Fleet, lab: LabControl) -> None:
    """M115: links are data; DNS is not asked just to list them."""
    links = "".join(f'<p>{WORDS}<a href="https://link{n}.example/">link {n}</a></p>' for n in range(5))
    lab.site("linking.example", site="page", body=PAGE.format(links))
    value = fleet.fetch("https://linking.example/")["value"]
    assert len(value["links"]) == 5
    assert {query["name"].rstrip(".") for query in lab.queries()} == {"linking.example"}


@pytest.mark.parametrize(
    "answer",
    ["168.63.129.16", "127.0.0.1", "192.168.0.1", "169.254.169.254", "224.0.0.1", "192.0.2.1", "0.0.0.0", "100.64.0.1"],
)
def test_name_is_refused_for_what_dns_answers(fleet: Fleet, lab: LabControl, answer: str) -> None:
    """M203, M204, C14: the wire server, loopback, private, metadata, multicast, documentation: also as an answer."""
    lab.dns("answers.example", A=[answer])
    envelope = fleet.fetch("https://answers.example/")
    assert (envelope["error"]["code"], envelope["receipt"]["sent"]) == ("blocked_address", "not_sent")
    assert answer not in json.dumps(envelope)


def test_peer_of_the_socket_is_the_pinned_address(fleet: Fleet, lab: LabControl) -> None:
    """M205: what the socket was connected to is checked before the request leaves, and written down."""
    del lab
    hop = hop_of(fleet, fleet.fetch("https://good.example/")["operation"])
    assert hop["peer"] in hop["addresses"]
    assert hop["sent"] == "sent"


def test_gzip_is_asked_for_and_bounded_on_both_sides(fleet: Fleet, lab: LabControl) -> None:
    """C6, C7: wire and decoded bytes are counted apart, and the decimal limits are published with the result."""
    del lab
    envelope = fleet.fetch("https://good.example/")
    hop = hop_of(fleet, envelope["operation"])
    assert 0 < hop["wire_bytes"] < hop["decoded_bytes"]
    limits = envelope["value"]["limits"]
    assert (limits["wireBytes"], limits["decodedBytes"], limits["replyBytes"]) == (2_000_000, 2_000_000, 64_000)


def test_digests_of_body_and_text_are_kept_apart(fleet: Fleet, lab: LabControl) -> None:
    """C8: body_sha256 is of the bytes that came, contentHash of the extracted text."""
    body = PAGE.format(WORDS)
    lab.site("digest.example", site="page", body=body)
    envelope = fleet.fetch("https://digest.example/")
    assert hop_of(fleet, envelope["operation"])["body_sha256"] == sha256(body.encode()).hexdigest()
    assert envelope["value"]["contentHash"] == sha256(envelope["value"]["content"].encode()).hexdigest()


def test_fetch_leaves_nothing_but_its_own_books(fleet: Fleet, lab: LabControl) -> None:
    """M158: no memory and no evidence is written: of all tables only the ledger's own books gain rows."""
    del lab
    before = row_counts(fleet)
    assert fleet.fetch("https://good.example/")["outcome"] == "completed"
    grown = {table for table, count in row_counts(fleet).items() if count > before[table]}
    books = {"operations", "receipts", "chains", "slots", "counters", "pacing"}
    assert grown <= books | {"tally_mark", "tally_ends", "tally_times"}  # an exporter that begins counts


SHELL = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())"


def test_permissions_of_one_project_change_no_other_capability(fleet: Fleet, lab: LabControl) -> None:
    """M159: with both tools taken from a project, other projects go on, and so does the network of its shell."""
    lab.site("shell.example", site="page", type="text/plain", body="What a shell may read.")
    closed, other = fleet.project(), fleet.project()
    save_project(fleet.ledger, Project(id=closed, agents=("cli",)), actor="test")
    for call in (fleet.fetch, fleet.search):
        refused = call("https://good.example/", context=fleet.context(project=closed))
        assert refused["error"]["code"] == "capability_disabled"
        assert call("https://good.example/", context=fleet.context(project=other))["outcome"] == "completed"
    shell = subprocess.run(
        [sys.executable, "-c", SHELL, "http://shell.example/"],
        env=fleet.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert shell.stdout.strip() == "What a shell may read."


def row_counts(fleet: Fleet) -> dict[str, int]:
    """How many rows each table of the database holds."""
    connection = psycopg2.connect(fleet.settings.database_url)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            names = [name for (name,) in cursor.fetchall()]
            counts = {}
            for name in names:
                cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))
                counts[name] = cursor.fetchone()[0]
            return counts
    finally:
        connection.close()
