"""The golden corpus (M111, M163, M210): pages and the Markdown that they must give, byte for byte."""

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from schemas.document import Document
from tests.workers.extract.reading import read
from workers.extract.version import EXTRACTOR, extractor

_FOLDER = Path(__file__).parents[2] / "data" / "extract"
_ROOT = Path(__file__).parents[3]
_TYPES = {"shift_jis": "text/html; charset=Shift_JIS", "xhtml": "application/xhtml+xml"}
_PAGES = sorted(path.stem for path in _FOLDER.glob("*.html"))
_HASHES = """
import sys
from tests.workers.extract.test_golden import golden, _PAGES
print([golden(name).text_sha256() for name in _PAGES])
"""


def golden(name: str) -> Document:
    return read((_FOLDER / f"{name}.html").read_bytes(), _TYPES.get(name, "text/html"))


@pytest.mark.parametrize("name", _PAGES)
def test_extract_gives_the_golden_markdown(name):
    assert golden(name).text + "\n" == (_FOLDER / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "title", "charset"),
    [
        ("manual", "Installing", "utf-8"),
        ("news", "Harbour reopens after nine months | The Coast Daily", "utf-8"),
        ("shift_jis", "港の再開", "shift_jis"),
        ("xhtml", "Kapitel 2: Züge", "utf-8"),
    ],
)
def test_extract_gives_title_and_charset(name, title, charset):
    document = golden(name)

    assert (document.title, document.charset) == (title, charset)


def test_extract_shows_nothing_hidden_and_no_furniture():
    for name in _PAGES:
        text = golden(name).text
        assert not [word for word in ("SECRET", "cookies", "Advertisement", "Most read", "never shown") if word in text]


def test_extract_gives_what_a_login_page_or_an_empty_shell_says_without_error():
    """M163: no document behind it is no error."""
    assert "open to members only" in golden("login").text
    assert "enable JavaScript" in golden("shell").text


def test_extract_gives_the_same_text_in_any_process():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _HASHES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }

    assert outputs == {f"{[golden(name).text_sha256() for name in _PAGES]}\n"}


def test_extractor_version_counts_up_with_the_golden_corpus():
    """X16: a receipt names what made a text; another text from the same bytes needs another name."""
    told = json.loads((_FOLDER / "version.json").read_text("utf-8"))
    digest = sha256("".join(golden(name).text_sha256() for name in _PAGES).encode()).hexdigest()

    assert extractor().split()[0] == EXTRACTOR == told["extractor"]
    assert digest == told["sha256"], "count EXTRACTOR up, then write both into version.json"
