"""web_search: one question to one provider, its results as data."""

from collections.abc import Sequence

from schemas.destination import Destination
from schemas.errors import AddressRefused, InvalidArguments
from schemas.tools.web_fetch import NOTICE, BudgetOut
from schemas.tools.web_search import TOOL, Args, HitOut, Result
from workers.bench import Bench, Rules
from workers.net.judge import judge_host
from workers.search.asking import Question, ask_once, require_words
from workers.search.provider import Wanted
from workers.search.sift import Kept, sift
from workers.shift import handles

TITLE_CHARS = 300  # ten of the longest titles and URLs leave room for snippets


def question_of(args: Args, rules: Rules) -> Question:
    """The question that the call means, judged as far as can be said without a packet. Raises: Refused."""
    words = require_words(args.query)
    if args.site is not None:
        _insist_on_public(args.site)
    wanted = Wanted(words=words, site=args.site, time_range=args.timeRange, region=args.region)
    return Question(provider=rules.provider, ask=rules.provider.ask(wanted))


@handles(TOOL, prepare=question_of)
def web_search(args: Args, question: Question, bench: Bench) -> Result:
    """Ask the provider once and give its results. Raises: Refused, Failed."""
    kept = sift(ask_once(question, bench), site=args.site, limits=bench.limits, count=args.maxResults)
    frame = Result(
        provider=question.provider.name,
        query=args.query,
        retrievedAt=bench.now().isoformat(timespec="seconds").replace("+00:00", "Z"),
        results=(),
        truncated=False,
        notice=NOTICE,
        budget=BudgetOut(step=bench.budget.step, run=bench.budget.run),
    )
    return _fitting(frame, kept, bench.limits.reply_bytes)


def _insist_on_public(site: str) -> None:
    try:
        judge_host(Destination.parse(f"https://{site}/"))
    except AddressRefused:
        raise InvalidArguments("The site is no public domain.", field="arguments.site") from None


def _fitting(frame: Result, kept: Sequence[Kept], reply_bytes: int) -> Result:
    """The result within its bytes of UTF-8 JSON (M102): the longest snippets are cut to one length, never a URL."""
    low, high = 0, max((len(one.snippet) for one in kept), default=0)
    if len((whole := _with(frame, kept, high)).model_dump_json().encode()) <= reply_bytes:
        return whole
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(_with(frame, kept, middle).model_dump_json().encode()) <= reply_bytes
        low, high = (middle, high) if fits else (low, middle - 1)
    return _with(frame, kept, low)


def _with(frame: Result, kept: Sequence[Kept], snippet_chars: int) -> Result:
    cut = any(len(one.snippet) > snippet_chars or len(one.title) > TITLE_CHARS for one in kept)
    results = tuple(
        HitOut(title=one.title[:TITLE_CHARS].rstrip(), url=one.url, snippet=one.snippet[:snippet_chars].rstrip())
        for one in kept
    )
    return frame.model_copy(update={"results": results, "truncated": cut})
