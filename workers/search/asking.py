"""Asking a provider: one question, one request, and the hits that its answer holds."""

from dataclasses import dataclass

from schemas.errors import InvalidArguments, OutriderError
from schemas.reply import Ask, Reply
from workers.bench import Bench
from workers.search.outcomes import in_terms_of_search, require_page
from workers.search.provider import Hit, Provider
from workers.search.words import plain_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The one question of a search, as it will leave."""

    provider: Provider
    ask: Ask


def require_words(query: str) -> str:
    """The query's words, without commands to a provider. Raises: InvalidArguments where none are left."""
    words = plain_words(query)
    if not words:
        raise InvalidArguments("The query holds no words to search for.", field="arguments.query")
    return words


def ask_once(question: Question, bench: Bench) -> tuple[Hit, ...]:
    """What the provider found, as it spells it. Raises: Refused, Failed."""
    return bench.apart(question.provider.read, require_page(_ride(question, bench), question.provider))


def _ride(question: Question, bench: Bench) -> Reply:
    try:
        return bench.ride(question.provider.endpoint, question.ask)
    except OutriderError as error:
        raise in_terms_of_search(error, question.provider) from error
