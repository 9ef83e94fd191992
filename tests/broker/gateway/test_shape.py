"""The shapes that clients are told: closed, of 2020-12, and arguments judged by them without a word of their values."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from broker.gateway.offers import alias_offers, own_offers
from broker.gateway.shape import DIALECT, input_schema, insist_on_shape, output_schema
from schemas.errors import InvalidArguments

WEB_FETCH = own_offers()["web_fetch"].args
OFFERS = [*own_offers().values(), *alias_offers().values()]
URL = "https://example.com/"


def objects(part: Any) -> list[dict[str, Any]]:
    """Every object schema with named properties, however deep."""
    if isinstance(part, list):
        return [found for one in part for found in objects(one)]
    if not isinstance(part, dict):
        return []
    return [part] * ("properties" in part) + [found for one in part.values() for found in objects(one)]


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.name)
def test_schemas_are_valid_and_closed_at_every_depth(offer):
    for found in (input_schema(offer.args), output_schema(offer.result)):
        insist_on_closed(found)


def insist_on_closed(found: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(found)
    assert (found["$schema"], found["type"]) == (DIALECT, "object")
    assert [one for one in objects(found) if one.get("additionalProperties") is not False] == []


def test_property_that_is_called_title_stays_and_the_model_s_titles_go():
    schema = output_schema(own_offers()["web_fetch"].result)
    assert schema["properties"]["title"] == {"type": "string"}
    assert "title" not in schema


@pytest.mark.parametrize(
    ("arguments", "field", "reason"),
    [
        ({}, "arguments.url", "required"),
        ({"url": 5}, "arguments.url", "type"),
        ({"url": "u" * 4_097}, "arguments.url", "maxLength"),
        ({"url": URL, "maxChars": 999}, "arguments.maxChars", "minimum"),
        ({"url": URL, "maxChars": 32_001}, "arguments.maxChars", "maximum"),
        ({"url": URL, "maxChars": "16000"}, "arguments.maxChars", "type"),
        ({"url": URL, "offset": -1}, "arguments.offset", "minimum"),
        ({"url": URL, "offset": 400_001}, "arguments.offset", "maximum"),
        ({"url": URL, "expectedHash": "A" * 64}, "arguments.expectedHash", "anyOf"),
        ({"url": URL, "extra": 1}, "arguments.extra", "additionalProperties"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments, field, reason):
    with pytest.raises(InvalidArguments) as refused:
        insist_on_shape(WEB_FETCH, arguments)
    assert refused.value.facts == {"field": field, "reason": reason}


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": URL},
        {"url": "u" * 4_096},  # at the limit; whether it is a URL is judged elsewhere
        {"url": URL, "maxChars": 1_000},
        {"url": URL, "maxChars": 32_000},
        {"url": URL, "offset": 400_000, "expectedHash": "a" * 64},
        {"url": URL, "expectedHash": None},
    ],
)
def test_arguments_at_their_limits_fit(arguments):
    insist_on_shape(WEB_FETCH, arguments)


def test_refusal_says_no_value_and_a_bounded_name():
    canary = "kanarie"
    deep: Any = canary
    for _ in range(100_000):
        deep = [deep]
    for arguments in (
        {"url": [canary]},
        {"url": URL, "maxChars": canary},
        {"url": URL, "expectedHash": canary},
        {"url": deep},
    ):
        with pytest.raises(InvalidArguments) as refused:
            insist_on_shape(WEB_FETCH, arguments)
        assert canary not in f"{refused.value.message} {refused.value.facts}"
    with pytest.raises(InvalidArguments) as refused:
        insist_on_shape(WEB_FETCH, {"url": URL, "x" * 500 + "\n\x1b[31m": 1})
    assert refused.value.facts["field"] == "arguments." + "x" * 40
