"""The benchmark of extraction judges rightly, and its reports of bad pages are met (X16)."""

import gzip
import json
from pathlib import Path

import pytest

from ops.bench.constructs import of_html, of_markdown, shares, word_f1
from ops.bench.corpora import pages, suites
from ops.bench.extraction import growth, ours, page_of, scores, stages
from ops.bench.reports import REPORTS, body_of, failing, unmet

MARKDOWN = "# A b\n\n- one `c`\n- two\n\n```py\nx = 1\n\ny\n```\n\n| k | v |\n| --- | --- |\n| 1 | 2 |\n"
HTML = (
    "<main><h1>A b</h1><ul><li>one <code>c</code><li>two</ul><pre>x = 1\n\ny</pre>"
    "<table><tr><th>k<th>v<tr><td>1<td>2</table></main>"
)
REPORT_IDS = [json.loads(line)["id"] for line in REPORTS.read_text("utf-8").splitlines()]


def test_reports_of_bad_pages_are_met():
    assert failing(REPORTS, ours) == {}


@pytest.mark.parametrize("case_id", REPORT_IDS)
def test_report_is_one_that_an_extractor_can_fail(case_id):
    line = next(one for one in REPORTS.read_text("utf-8").splitlines() if json.loads(one)["id"] == case_id)
    case = json.loads(line)
    assert body_of(case)
    everything = " ".join(case.get("no", ()))
    assert list(unmet(case, everything))


def test_constructs_of_a_page_and_of_its_markdown_are_the_same():
    from lxml import html

    said, got = of_markdown(MARKDOWN)

    assert shares([(of_html(html.fromstring(HTML)), got)]) == dict.fromkeys(
        ("code", "cell", "heading", "item", "inline"), 1.0
    )
    assert word_f1(said, "A b one c two x 1 y k v 1 2") == (1.0, 1.0, 1.0)
    assert word_f1("", "a") == (0.0, 0.0, 0.0)


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    wcxb, docs = tmp_path / "web" / "dev", tmp_path / "docs"
    for folder in (wcxb / "html", wcxb / "ground-truth", docs / "html"):
        folder.mkdir(parents=True)
    body = b"<html><body><nav>Menu</nav>" + HTML.encode() + b"</body></html>"
    (wcxb / "html" / "1.html.gz").write_bytes(gzip.compress(body))
    truth = {"main_content": "A b one c two x = 1 y k v 1 2"}
    (wcxb / "ground-truth" / "1.json").write_text(json.dumps({"url": "https://a.example/", "ground_truth": truth}))
    (docs / "html" / "m-0.html").write_bytes(body)
    entry = {"id": "m-0", "family": "m", "path": "m.html", "xpath": "//main", "drop": ["//h1"]}
    (docs / "manifest.json").write_text(json.dumps([entry]))
    return tmp_path


def test_corpora_are_read_in_both_layouts(corpora: Path):
    found = dict(suites(corpora))

    assert sorted(found) == ["docs", "web/dev"]
    (manual,), (web,) = pages(found["docs"], None), pages(found["web/dev"], None)
    assert "A b" not in manual.truth
    assert (manual.held["item"].total(), web.held["code"].total()) == (2, 1)
    told = scores(found["docs"], None)["outrider"]
    assert told["recall"] == 1.0
    assert told["structure"] == 1.0


def test_stages_share_the_time_and_floods_have_their_size():
    assert sum(stages([page_of("written", 20_000)] * 3).values()) == pytest.approx(1.0)
    assert 190_000 < len(page_of("links", 200_000)) < 210_000
    assert len(growth("spaces")) == 3
