"""`outrider extract`: what a page reads as, and why."""

import mimetypes
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ops.cli.calls import Format, fetch
from ops.cli.printing import FAILED, OK, REFUSED, give, give_json, leave, say
from schemas.document import Document
from schemas.errors import OutriderError
from schemas.limits import Limits
from schemas.profiles import WEB_FETCH
from workers.extract import mime
from workers.extract.charset import decode, name_charset
from workers.extract.document import extract as read
from workers.extract.explain import Explanation, explain_html
from workers.extract.sniff import sniff
from workers.extract.version import extractor

_LIMITS: Limits = WEB_FETCH.limits
_TYPES = {".md": "text/markdown", ".markdown": "text/markdown"}
_NOWHERE = "https://page.invalid/"


def extract(
    page: Annotated[str, typer.Argument(help="A file, or a public http or https address.", metavar="FILE|URL")],
    *,
    form: Annotated[Format, typer.Option("--format", help="How the text is printed.")] = Format.MARKDOWN,
    explain: Annotated[bool, typer.Option("--explain", help="Print what was kept and left out, and why.")] = False,
    base_url: Annotated[
        str, typer.Option(help="Where a file's page came from: its links are resolved against it.", metavar="URL")
    ] = _NOWHERE,
) -> None:
    """Read one page as a worker would, and print its text; with --explain, why it reads so.

    A file is read here and the network is never touched. An address is fetched by the fleet, as `outrider fetch` does,
    and the worker's own text is printed; its bytes never come here, so --explain needs a file: save the page first.

    Example: outrider extract page.html --explain
    """
    if page.lower().startswith(("http://", "https://")):
        if explain:
            why = "needs a file: what a worker fetches stays with it. Save the page, then explain the file"
            raise typer.BadParameter(why, param_hint="--explain")
        fetch(page, max_chars=None, offset=None, expected_hash=None, form=form, as_json=False)
        return
    body = _body(Path(page))
    content_type = _TYPES.get(Path(page).suffix.lower()) or mimetypes.guess_type(page)[0]
    if explain:
        _explain(body, content_type, base_url, as_json=form is Format.JSON)
    else:
        _print(body, content_type, base_url, form)


def _body(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
        raise typer.BadParameter(why, param_hint="FILE") from error


def _print(body: bytes, content_type: str | None, base_url: str, form: Format) -> None:
    shape: Literal["text", "markdown"] = "text" if form is Format.TEXT else "markdown"
    try:
        document = read(body, content_type=content_type, base_url=base_url, limits=_LIMITS, form=shape)
    except OutriderError as error:
        say(f"{error} ({error.code})")
        leave(FAILED)
    if form is Format.JSON:
        give_json(_told(document))
    else:
        give(document.text)
    leave(OK)


def _told(document: Document) -> dict[str, Any]:
    return {**asdict(document), "text_sha256": document.text_sha256(), "extractor": extractor()}


def _explain(body: bytes, content_type: str | None, base_url: str, *, as_json: bool) -> None:
    media = mime.parse(content_type)
    kind = sniff(body, media)
    if kind != "html":
        say(f"only a page is explained, and this is {kind}: it is given as it is, or not at all")
        leave(REFUSED)
    found = explain_html(decode(body, name_charset(body, media.charset, markup=True)), base_url)
    if found is None:
        say("the page has no body, or nests too deep to have any structure: nothing was weighed")
        leave(FAILED)
    if as_json:
        give_json({**asdict(found), "extractor": extractor()})
    else:
        give(_lines(found))
    leave(OK)


def _lines(found: Explanation) -> str:
    """One line a part: kept or dropped, how much text and how much of it linked, where, why, and how it begins."""
    lines = [f"read as: {found.genre}", f"container: {found.container}", f"extractor: {extractor()}", ""]
    for part in found.parts:
        size = f"{part.chars:,} chars, {part.link_chars:,} linked" if part.chars else "not entered"
        begins = f" | {part.begins}" if part.begins else ""
        lines.append(f"{'kept   ' if part.kept else 'dropped'} {part.where} ({size}): {part.why}{begins}")
    return "\n".join(lines)
