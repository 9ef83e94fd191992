"""The recorded cases, one pytest parameter each, named by the case's id."""

import json
from pathlib import Path
from typing import Any

import pytest

_FOLDER = Path(__file__).parent / "data" / "cases"


def cases(kind: str) -> list[Any]:
    """Every case of a kind: address, url, dns, redirect, body, header."""
    lines = (_FOLDER / f"{kind}.jsonl").read_text("utf-8").splitlines()
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]
