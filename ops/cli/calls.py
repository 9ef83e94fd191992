"""`outrider fetch`, `search` and `call`: one tool call, its result on stdout, its account on stderr."""

import io
import json
import textwrap
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.markdown import Markdown

from ops.cli.carrying import Answer, Call, carry, own_context
from ops.cli.printing import OURS, UNKNOWN, exit_code, give, give_json, leave, say
from ops.cli.progress import Progress
from schemas.tools import tool_names

_TEXT_COLUMNS = 100


class Format(StrEnum):
    """How a fetched page is printed."""

    MARKDOWN = "markdown"
    TEXT = "text"
    JSON = "json"


def fetch(
    url: Annotated[str, typer.Argument(help="Public http or https address.", metavar="URL")],
    *,
    max_chars: Annotated[int | None, typer.Option(help="Longest text wanted, 1,000 to 32,000 characters.")] = None,
    offset: Annotated[int | None, typer.Option(help="Character to begin at; needs --expected-hash.")] = None,
    expected_hash: Annotated[str | None, typer.Option(help="contentHash of the call that began this text.")] = None,
    form: Annotated[Format, typer.Option("--format", help="How the page is printed.")] = Format.MARKDOWN,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope, alone, on stdout.")] = False,
) -> None:
    """Read one public page through the fleet, and print its text.

    Uses the running stack, or starts one for the call. Progress and the receipt line go to stderr. Ctrl-C cancels.

    Example: outrider fetch https://example.com/ --max-chars 4000
    """
    arguments = {"url": url, "maxChars": max_chars, "offset": offset, "expectedHash": expected_hash}
    given = {name: value for name, value in arguments.items() if value is not None}
    _carry(Call("web_fetch", given, own_context()), lambda value: give(text_of(value, form)), as_json=as_json)


def search(
    query: Annotated[str, typer.Argument(help="Public words to search for.", metavar="QUERY")],
    *,
    max_results: Annotated[int | None, typer.Option(help="Most results wanted, 1 to 10.")] = None,
    site: Annotated[str | None, typer.Option(help="Only results of this public domain.", metavar="DOMAIN")] = None,
    time_range: Annotated[str | None, typer.Option(help="d, w, m or y: past day to past year, a hint.")] = None,
    region: Annotated[str | None, typer.Option(help="Region code such as us-en or wt-wt, a hint.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope, alone, on stdout.")] = False,
) -> None:
    """Search the public web through the fleet, and print what was found.

    The query goes to the deployment's search provider. Progress and the receipt line go to stderr. Ctrl-C cancels.

    Example: outrider search "PostgreSQL transaction isolation" --site postgresql.org
    """
    arguments = {"query": query, "maxResults": max_results, "site": site, "timeRange": time_range, "region": region}
    given = {name: value for name, value in arguments.items() if value is not None}
    _carry(Call("web_search", given, own_context()), lambda value: give(list_of(value)), as_json=as_json)


def call(
    tool: Annotated[str, typer.Argument(help="Name of a tool, for instance web_fetch.", metavar="TOOL")],
    *,
    arguments: Annotated[str, typer.Option(help="What a model would write, as a JSON object.", metavar="JSON")],
    context: Annotated[
        str | None, typer.Option(help="project, agent, run, step as a JSON object; default: yours.", metavar="JSON")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope, alone, on stdout.")] = False,
) -> None:
    """Call any tool with arguments and a context of your own, and print its value.

    Example: outrider call web_fetch --arguments '{"url": "https://example.com/"}'

    For another project, add: --context '{"project": "research", "agent": "designer", "run": "run-7", "step": "read"}'
    """
    if tool not in tool_names():
        why = f"there is no tool {tool!r}; there are: {', '.join(tool_names())}"
        raise typer.BadParameter(why, param_hint="TOOL")
    authority = own_context() if context is None else _json_object(context, "--context")
    _carry(Call(tool, _json_object(arguments, "--arguments"), authority), give_json, as_json=as_json)


def _carry(wanted: Call, give_value: Callable[[dict[str, Any]], None], *, as_json: bool) -> None:
    """Carry the call, show its answer, and leave with the exit code that says how it ended. Raises: typer.Exit."""

    def show(answer: Answer) -> None:
        if as_json:
            give_json(answer.envelope)
        elif answer.envelope["value"] is not None:
            give_value(answer.envelope["value"])
        _account(answer)

    with Progress() as progress:
        answer = carry(wanted, progress, show)
    code = exit_code(answer.envelope)
    # Whoever interrupted a call asked for no result, however it ended.
    leave(UNKNOWN if answer.interrupted and code != OURS else code)


def _json_object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = f"is not JSON, or nested too deep ({error})"
        raise typer.BadParameter(why, param_hint=option) from error
    if not isinstance(value, dict):
        why = 'must be a JSON object, like {"url": "https://example.com/"}'
        raise typer.BadParameter(why, param_hint=option)
    return value


def text_of(value: dict[str, Any], form: Format) -> str:
    """A fetched page as it is to be printed."""
    if form is Format.JSON:
        return json.dumps(value, ensure_ascii=False, indent=2)
    content = str(value["content"])
    if form is Format.TEXT:
        console = Console(file=io.StringIO(), width=_TEXT_COLUMNS, color_system=None, force_terminal=False)
        with console.capture() as captured:
            console.print(Markdown(content, hyperlinks=False))
        return "\n".join(line.rstrip() for line in captured.get().splitlines())
    return content


def list_of(value: dict[str, Any]) -> str:
    """Found results as a list to read: title, address and snippet of each."""
    entries = []
    for number, one in enumerate(value["results"], start=1):
        snippet = textwrap.fill(one["snippet"], _TEXT_COLUMNS, initial_indent="   ", subsequent_indent="   ")
        entries.append("\n".join(line for line in (f"{number}. {one['title']}", f"   {one['url']}", snippet) if line))
    return "\n\n".join(entries) or f"{value['provider']} found nothing."


def _account(answer: Answer) -> None:
    """Tell on stderr how it ended."""
    envelope = answer.envelope
    if (error := envelope["error"]) is not None:
        say(f"{envelope['outcome']}: {error['message']} ({error['code']})")
        say(f"hint: {error['hint']}")
    if (value := envelope["value"]) is not None and value.get("nextOffset") is not None:
        more = f"--offset {value['nextOffset']} --expected-hash {value['contentHash']}"
        say(f"more: {value['nextOffset']} of {value['totalChars']} characters so far; go on with {more}")
    say(receipt_line(answer))


def receipt_line(answer: Answer) -> str:
    """The account of a call in one line: operation, whether a request left, digest, host, bytes, time."""
    envelope = answer.envelope
    if (receipt := envelope["receipt"]) is None:
        return f"receipt: none; {_UNRECORDED.get(envelope['outcome'], 'it did not reach this command')}"
    words = [f"receipt: {receipt['id']}", receipt["sent"], receipt["digest"]]
    if answer.receipt is not None:
        body = json.loads(answer.receipt)
        hops = body.get("hops", [])
        if hops:
            words.append(urlsplit(hops[-1]["origin"]).netloc)
            words.append(f"{sum(hop.get('wire_bytes', 0) for hop in hops):,} bytes")
        if "milliseconds" in body:  # not in the receipt of a call that no worker has settled
            words.append(f"{body['milliseconds']:.0f} ms")
    return " · ".join(words)


_UNRECORDED = {
    "refused": "nothing left this machine",
    "cancelled": "the call was taken back before it began",
    "unknown": "whether a request was sent is not known here: `outrider status` shows what is pending",
}
