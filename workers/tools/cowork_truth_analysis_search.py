"""cowork_truth_analysis_search: hits for a run, of which each may be fetched."""

from schemas.errors import SearchLimitReached
from schemas.tools.cowork_truth_analysis_search import TOOL, Args, HitOut, Result
from schemas.tools.web_fetch import NOTICE
from schemas.truth import HITS_MAX, SNIPPET_CHARS, TITLE_CHARS, instant, own_id
from workers.bench import Bench
from workers.search.asking import Question, ask_once, require_words
from workers.search.provider import Wanted
from workers.search.sift import sift
from workers.truth.research import Sources, researches

SCHEMA = "outrider/truth-search/1"


def question_of(args: Args, sources: Sources) -> Question:
    """The question that the query means. Raises: InvalidArguments, QueryTooLong."""
    provider = sources.rules.provider
    return Question(provider=provider, ask=provider.ask(Wanted(words=require_words(args.query))))


@researches(TOOL, plan=question_of, key=lambda args: f"search/{own_id('query', args.query)}", full=SearchLimitReached)
def cowork_truth_analysis_search(args: Args, question: Question, bench: Bench) -> Result:
    """Ask the provider once and give at most five hits. Raises: Refused, Failed."""
    titled = [hit for hit in ask_once(question, bench) if hit.title.strip()]
    kept = sift(titled, site=None, limits=bench.limits, count=HITS_MAX)
    return Result(
        schema=SCHEMA,
        analysis_run_id=args.run_id,
        search_id=own_id(args.run_id, "search", args.query),
        query=args.query,
        provider=question.provider.name,
        hits=tuple(
            HitOut(
                hit_id=own_id(args.run_id, "hit", args.query, one.url),
                position=number,
                title=one.title[:TITLE_CHARS],
                url=one.url,
                snippet=one.snippet[:SNIPPET_CHARS],
            )
            for number, one in enumerate(kept, start=1)
        ),
        searched_at=instant(bench.now()),
        notice=NOTICE,
    )
