"""What the extraction tests read with."""

from dataclasses import replace
from typing import Any

from schemas.document import Document
from schemas.limits import Limits
from schemas.profiles import WEB_FETCH
from tests.cases import cases
from workers.extract.document import extract

BASE = "https://site.example/a/page.html"
SENTENCE = "The lighthouse keeper wrote one page every evening, and he counted the ships, the gulls and the storms. "


def body_cases(sub: str) -> list[Any]:
    """The recorded body cases of one kind."""
    return [case for case in cases("body") if case.values[0].get("sub") == sub]


def read(body: bytes | str, content_type: str | None = "text/html; charset=utf-8", **limits) -> Document:
    """The body's document under the limits of web_fetch, or some of one's own."""
    raw = body.encode() if isinstance(body, str) else body
    return extract(raw, content_type=content_type, base_url=BASE, limits=limits_of(**limits))


def limits_of(**limits) -> Limits:
    return replace(WEB_FETCH.limits, **limits)


def article(inside: str) -> str:
    """A page of one article: its own paragraph, then what a test puts in."""
    return f"<!doctype html><title>Page</title><body><article><p>{SENTENCE * 3}</p>{inside}<p>{SENTENCE}</p></article>"


def markdown(inside: str) -> str:
    """What becomes of the inside of an article."""
    paragraph = (SENTENCE * 3).strip()
    return read(article(inside)).text.removeprefix(paragraph).removesuffix(SENTENCE.strip()).strip("\n")
