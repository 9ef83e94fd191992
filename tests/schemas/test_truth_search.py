"""The truth search's arguments: one normal form of a query, bounded (M32)."""

import pytest
from pydantic import ValidationError

from schemas.tools.cowork_truth_analysis_search import Args


@pytest.mark.parametrize("size", [499, 500])
def test_query_is_taken_up_to_500_characters(size: int) -> None:
    """Code points, and after white space was made normal."""
    assert len(Args(run_id="r", query="  " + "é" * size + "\n\n").query) == size


@pytest.mark.parametrize("query", ["x" * 501, "", " \t\n", "a\u202eb", "a\x07b"])
def test_query_that_is_too_long_empty_or_unreadable_is_refused(query: str) -> None:
    with pytest.raises(ValidationError):
        Args(run_id="r", query=query)


def test_white_space_makes_no_other_query() -> None:
    assert Args(run_id="r", query=" moon\u00a0 basalt\n").query == "moon basalt"
