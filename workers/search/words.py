"""Words to search for: a query without what a provider would take for a command."""

import re

# `!g`, `g!` and a lone `!` make DuckDuckGo and SearXNG answer with a redirect to another site, a leading backslash
# with one to the first result. No search depends on either mark: engines skip punctuation (decision 0010).
_COMMANDS = re.compile(r"[!\\\uff01\uff3c\ufe57\ufe68]")


def plain_words(query: str) -> str:
    """The query's words, each with one space between; empty where it held none."""
    return " ".join(_COMMANDS.sub(" ", query).split())
