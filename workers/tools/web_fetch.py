"""web_fetch: one public page, read through the guard, given as text."""

import json

from schemas.destination import Destination
from schemas.document import Document, Link
from schemas.errors import ChangedContent, InvalidArguments
from schemas.reply import Reply
from schemas.tools.web_fetch import NOTICE, TOOL, Args, BudgetOut, LinkOut, Result
from workers.bench import Bench, Rules
from workers.net.judge import judge_place
from workers.shift import handles

TITLE_CHARS = 300  # a title is a line; longer ones are keyword lists
LINKS_BYTES = 16_000  # a quarter of the reply: the text comes first


def place_of(args: Args, rules: Rules) -> Destination:
    """Where the call wants to go, judged as far as can be said without a packet. Raises: Refused."""
    place = Destination.parse(args.url)
    judge_place(place, rules.limits)
    return place


@handles(TOOL, prepare=place_of)
def web_fetch(args: Args, place: Destination, bench: Bench) -> Result:
    """Fetch one public page and give its text. Raises: Refused, Failed."""
    reply = bench.ride(place)
    document = bench.read(reply)
    digest = document.text_sha256()
    _check_continuation(args, document, digest)
    frame = _frame(args, place, reply, document, digest, bench)
    content = _fitting(document.text[args.offset : args.offset + args.maxChars], frame, bench.limits.reply_bytes)
    end = args.offset + len(content)
    more = end < len(document.text)
    return frame.model_copy(update={"content": content, "nextOffset": end if more else None, "truncated": more})


def _check_continuation(args: Args, document: Document, digest: str) -> None:
    if args.expectedHash is not None and args.expectedHash != digest:
        raise ChangedContent("The page's text is not the text that was being read.", expected=args.expectedHash)
    if args.offset > len(document.text):
        raise InvalidArguments(
            "offset lies behind the end of the text.", field="offset", offset=args.offset, totalChars=len(document.text)
        )


def _frame(args: Args, place: Destination, reply: Reply, document: Document, digest: str, bench: Bench) -> Result:
    """The result with everything but its text."""
    return Result(
        url=place.href,
        finalUrl=reply.url(),
        title=document.title[:TITLE_CHARS],
        contentType=reply.content_type or "",
        retrievedAt=bench.now().isoformat(timespec="seconds").replace("+00:00", "Z"),
        content="",
        contentHash=digest,
        offset=args.offset,
        nextOffset=None,
        totalChars=len(document.text),
        truncated=False,
        sourceTruncated=document.source_truncated,
        links=_bounded_links(document.links[: bench.limits.links_max]),
        notice=NOTICE,
        budget=BudgetOut(step=bench.budget.step, run=bench.budget.run),
        limits={
            "deadlineSeconds": bench.limits.deadline_seconds,
            "maxRedirects": bench.limits.redirects_max,
            "wireBytes": bench.limits.wire_bytes,
            "decodedBytes": bench.limits.decoded_bytes,
            "sourceChars": bench.limits.source_chars,
            "replyBytes": bench.limits.reply_bytes,
        },
    )


def _bounded_links(links: tuple[Link, ...]) -> tuple[LinkOut, ...]:
    kept: list[LinkOut] = []
    used = 0
    for link in links:
        out = LinkOut(text=link.text, url=link.url)
        used += len(out.model_dump_json().encode()) + 1
        if used > LINKS_BYTES:
            break
        kept.append(out)
    return tuple(kept)


def _fitting(text: str, frame: Result, reply_bytes: int) -> str:
    """The longest beginning of the text with which the whole reply stays within its bytes of UTF-8 JSON (M107)."""
    room = (
        reply_bytes - len(frame.model_dump_json().encode()) - len(str(frame.totalChars))
    )  # nextOffset: digits for null
    if _json_bytes(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _json_bytes(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2
