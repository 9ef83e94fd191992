"""What a request can cost at most, and what its provider says that it did (M31, X11)."""

import json
from decimal import Decimal
from typing import Any

import pytest

from schemas.errors import CostControlUnavailable
from workers.models.ceiling import OVERHEAD_TOKENS, reported_nanousd, worst_nanousd
from workers.models.route import Route, truth_route

BOUND = 4_096


def route(kind: str = "openai-compatible", **more: Any) -> Route:
    given = {"input_usd_per_million": Decimal("2.5"), "output_usd_per_million": Decimal(10), "max_output_tokens": BOUND}
    return Route(kind=kind, base_url="http://127.0.0.1:1/v1", model="m", **(given | more))


@pytest.mark.parametrize("bound", [1, BOUND])
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_worst_case_is_every_byte_a_token_and_the_whole_bound(name: str, bound: int) -> None:
    body = json.dumps({name: bound, "messages": [{"role": "user", "content": "moon \u6708 \U0001f315"}]}).encode()
    assert worst_nanousd(route(), body) == (len(body) + OVERHEAD_TOKENS) * 2_500 + bound * 10_000


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"max_tokens": BOUND + 1},
        {"max_tokens": 0},
        {"max_tokens": True},
        {"max_tokens": 1, "max_completion_tokens": BOUND + 1},
        {"max_tokens": 1, "n": 2},
        {"max_tokens": 1, "stream": True},
        [],
    ],
)
def test_request_that_bounds_nothing_is_refused(asked: Any) -> None:
    with pytest.raises(CostControlUnavailable):
        worst_nanousd(route(), json.dumps(asked).encode())


def test_body_that_is_no_json_is_refused() -> None:
    with pytest.raises(CostControlUnavailable):
        worst_nanousd(route(), b"--boundary")


@pytest.mark.parametrize(
    ("kind", "usage", "tokens"),
    [
        ("openai-compatible", {"prompt_tokens": 3, "completion_tokens": 2}, (3, 2)),
        ("openai-compatible", {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 15}, (3, 12)),
        ("anthropic", {"input_tokens": 3, "output_tokens": 2}, (3, 2)),
        (
            "anthropic",
            {"input_tokens": 3, "output_tokens": 2, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7},
            (15, 2),
        ),
    ],
)
def test_reported_usage_counts_all_of_it(kind: str, usage: dict[str, int], tokens: tuple[int, int]) -> None:
    cost = reported_nanousd(route(kind), json.dumps({"usage": usage}).encode())
    assert cost == tokens[0] * 2_500 + tokens[1] * 10_000


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"usage": None},
        {"usage": []},
        {"usage": {"prompt_tokens": 1}},
        {"usage": {"prompt_tokens": -1, "completion_tokens": 1}},
        {"usage": {"prompt_tokens": "1", "completion_tokens": 1}},
        {"usage": {"prompt_tokens": 1.0, "completion_tokens": 1}},
        {"usage": {"prompt_tokens": True, "completion_tokens": 1}},
    ],
)
def test_usage_that_cannot_be_read_is_not_reported(told: Any) -> None:
    assert reported_nanousd(route(), json.dumps(told).encode()) is None


def test_cost_is_rounded_up() -> None:
    assert route(input_usd_per_million=Decimal("0.0001")).cost_nanousd(1, 0) == 1


FILE = '[truth]\nroute = "a"\n[routes.a]\nkind = "anthropic"\nbase_url = "https://models.example"\nmodel = "m"\n'
PRICED = FILE + "input_usd_per_million = 3\noutput_usd_per_million = 0.1\nmax_output_tokens = 1024\n"


def test_prices_are_read_as_they_are_written() -> None:
    found = truth_route(PRICED)
    assert found is not None
    assert (found[0], found[1].cost_nanousd(0, 10)) == ("a", 1_000)


def test_file_without_a_use_names_no_route() -> None:
    assert truth_route(PRICED.replace('[truth]\nroute = "a"\n', "")) is None


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (FILE, "routes.a.input_usd_per_million"),
        (PRICED.replace("input_usd_per_million = 3\n", ""), "routes.a.input_usd_per_million"),
        (PRICED.replace("= 0.1", "= nan"), "routes.a.output_usd_per_million"),
        (PRICED.replace("= 0.1", "= -0.1"), "routes.a.output_usd_per_million"),
        (PRICED.replace("max_output_tokens = 1024\n", ""), "routes.a.max_output_tokens"),
        (PRICED.replace('route = "a"', 'route = "b"'), "truth.route"),
        (PRICED + "free = true\n", "routes.a.free"),
        ("[truth", None),
    ],
)
def test_file_that_prices_nothing_is_refused_by_field(text: str, field: str | None) -> None:
    with pytest.raises(CostControlUnavailable) as refused:
        truth_route(text)
    assert refused.value.facts.get("field") == field
