"""cowork_truth_analysis_search: hits for a run, of which each may be fetched."""

from dataclasses import dataclass

from schemas.errors import InvalidArguments, OutriderError, SearchLimitReached
from schemas.reply import Ask, Reply
from schemas.tools.cowork_truth_analysis_search import TOOL, Args, HitOut, Result
from schemas.tools.web_fetch import NOTICE
from schemas.truth import HITS_MAX, SNIPPET_CHARS, TITLE_CHARS, instant, own_id
from workers.bench import Bench
from workers.search.outcomes import in_terms_of_search, require_page
from workers.search.provider import Provider, Wanted
from workers.search.sift import sift
from workers.search.words import plain_words
from workers.truth.research import Sources, researches

SCHEMA = "outrider/truth-search/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The one question, as it will leave."""

    provider: Provider
    ask: Ask


def plan_of(args: Args, sources: Sources) -> Plan:
    """The question that the query means. Raises: InvalidArguments, QueryTooLong."""
    words = plain_words(args.query)
    if not words:
        raise InvalidArguments("The query holds no words to search for.", field="arguments.query")
    provider = sources.rules.provider
    return Plan(provider=provider, ask=provider.ask(Wanted(words=words)))


@researches(TOOL, plan=plan_of, key=lambda args: f"search/{own_id('query', args.query)}", full=SearchLimitReached)
def cowork_truth_analysis_search(args: Args, plan: Plan, bench: Bench) -> Result:
    """Ask the provider once and give at most five hits. Raises: Refused, Failed."""
    reply = require_page(_ride(plan, bench), plan.provider)
    titled = [hit for hit in bench.apart(plan.provider.read, reply) if hit.title.strip()]
    kept = sift(titled, site=None, limits=bench.limits, count=HITS_MAX)
    return Result(
        schema=SCHEMA,
        analysis_run_id=args.run_id,
        search_id=own_id(args.run_id, "search", args.query),
        query=args.query,
        provider=plan.provider.name,
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


def _ride(plan: Plan, bench: Bench) -> Reply:
    try:
        return bench.ride(plan.provider.endpoint, plan.ask)
    except OutriderError as error:
        raise in_terms_of_search(error, plan.provider) from error
