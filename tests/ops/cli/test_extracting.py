"""`outrider extract`: a file is read here, without a network."""

import json
from pathlib import Path

import pytest

from ops.cli.run import run

PAGE = Path(__file__).parents[2] / "data" / "extract" / "news.html"


@pytest.mark.parametrize(("form", "begins"), [("markdown", "# Harbour reopens"), ("text", "Harbour reopens")])
def test_extract_prints_the_text_of_a_file(form: str, begins: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", str(PAGE), "--format", form]) == 0
    assert capsys.readouterr().out.startswith(begins)


def test_extract_prints_the_document_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", str(PAGE), "--format", "json", "--base-url", "https://coast.example/n/"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["title"].startswith("Harbour reopens")
    assert told["links"][0]["url"] == "https://coast.example/people/7"
    assert told["extractor"].startswith("outrider/")
    assert len(told["text_sha256"]) == 64


def test_extract_explains_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", str(PAGE), "--explain"]) == 0
    said = capsys.readouterr().out
    assert "container: body > div.layout > article.story" in said
    assert "dropped aside.related" in said
    assert run(["extract", str(PAGE), "--explain", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["genre"] == "page"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["https://a.example/", "--explain"], 1, "Save the page"),
        (["/no/such/file"], 1, "cannot be read"),
        (["data.json", "--explain"], 2, "this is json"),
        (["empty.html"], 3, "empty_source"),
        (["empty.html", "--explain"], 3, "no body"),
    ],
)
def test_extract_says_what_it_cannot_do(
    words: list[str], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    (tmp_path / "data.json").write_text("{}")
    (tmp_path / "empty.html").write_text("")
    monkeypatch.chdir(tmp_path)

    assert run(["extract", *words]) == code
    assert said in capsys.readouterr().err
