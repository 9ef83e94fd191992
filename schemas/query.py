"""Search queries: what every tool that searches asks of one."""

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf"})


def readable_query(query: str) -> str:
    """The query, where all of it can be seen (M84). A validator. Raises: ValueError."""
    if any(unicodedata.category(char) in _UNSEEN for char in query):
        msg = "a query holds no control or formatting characters"
        raise ValueError(msg)
    return query
