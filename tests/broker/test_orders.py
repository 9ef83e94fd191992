"""Orders: a message is read against the closed schemas, and a refusal never repeats what it was given."""

import pytest

from broker.orders import read_order
from schemas.errors import InvalidArguments
from schemas.tools.web_fetch import TOOL

CONTEXT = {"project": "local", "agent": "cli", "run": "r1", "step": "s1"}
HASH = "a" * 64
CANARY = "canary-5f1c"


def nested(depth: int) -> list[object]:
    """A list in a list, that deep."""
    inside: list[object] = []
    for _ in range(depth):
        inside = [inside]
    return inside


def order(arguments: object, context: object = CONTEXT, **more: object):
    return read_order(TOOL, (), {"arguments": arguments, "context": context, **more})


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"url": "https://a.example/"}, id="M104-url-alone"),
        pytest.param({"url": "https://a.example/" + "x" * (4096 - 18)}, id="M104-at-4096"),
        pytest.param({"url": "https://a.example/", "maxChars": 1_000}, id="M106-at-1000"),
        pytest.param({"url": "https://a.example/", "maxChars": 32_000}, id="M106-at-32000"),
        pytest.param({"url": "https://a.example/", "offset": 0}, id="M108-at-0"),
        pytest.param({"url": "https://a.example/", "offset": 1, "expectedHash": HASH}, id="M109-bound"),
        pytest.param({"url": "https://a.example/", "offset": 400_000, "expectedHash": HASH}, id="M108-at-400000"),
        pytest.param({"url": "https://a.example/", "expectedHash": HASH}, id="M109-hash-alone"),
    ],
)
def test_order_is_read_when_arguments_fit(arguments: dict[str, object]) -> None:
    assert order(arguments).args.url == arguments["url"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        pytest.param({}, "arguments.url", id="M104-missing"),
        pytest.param({"url": ""}, "arguments.url", id="M104-empty"),
        pytest.param({"url": "https://a.example/" + "x" * (4097 - 18)}, "arguments.url", id="M104-at-4097"),
        pytest.param({"url": 7}, "arguments.url", id="M104-number"),
        pytest.param({"url": "https://a.example/", "maxChars": 999}, "arguments.maxChars", id="M106-at-999"),
        pytest.param({"url": "https://a.example/", "maxChars": 32_001}, "arguments.maxChars", id="M106-at-32001"),
        pytest.param({"url": "https://a.example/", "maxChars": "5000"}, "arguments.maxChars", id="M106-string"),
        pytest.param({"url": "https://a.example/", "maxChars": 5000.5}, "arguments.maxChars", id="M106-fraction"),
        pytest.param({"url": "https://a.example/", "maxChars": True}, "arguments.maxChars", id="M106-bool"),
        pytest.param({"url": "https://a.example/", "offset": -1}, "arguments.offset", id="M108-negative"),
        pytest.param({"url": "https://a.example/", "offset": 1}, "arguments", id="M109-missing"),
        pytest.param(
            {"url": "https://a.example/", "offset": 400_001, "expectedHash": HASH},
            "arguments.offset",
            id="M108-at-400001",
        ),
        pytest.param(
            {"url": "https://a.example/", "offset": 2**53, "expectedHash": HASH},
            "arguments.offset",
            id="M108-past-json",
        ),
        pytest.param({"url": "https://a.example/", "x": nested(2_000)}, "arguments", id="depth-2000"),
        pytest.param({"url": "https://a.example/", "expectedHash": "A" * 64}, "arguments.expectedHash", id="M109-case"),
        pytest.param(
            {"url": "https://a.example/", "expectedHash": "a" * 63}, "arguments.expectedHash", id="M109-short"
        ),
        pytest.param(
            {"url": "https://a.example/", "expectedHash": HASH + "\n"}, "arguments.expectedHash", id="M109-lf"
        ),
        pytest.param({"url": "https://a.example/", "headers": {}}, "arguments.headers", id="M121-headers"),
        pytest.param([], "arguments", id="list"),
        pytest.param(None, "arguments", id="null"),
    ],
)
def test_order_is_refused_and_names_the_field_when_arguments_do_not_fit(arguments: object, field: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        order(arguments)
    assert refused.value.facts["field"] == field


@pytest.mark.parametrize(
    "context",
    [
        pytest.param({**CONTEXT, "admin": True}, id="unknown-field"),
        pytest.param({key: value for key, value in CONTEXT.items() if key != "project"}, id="no-project"),
        pytest.param({**CONTEXT, "run": ""}, id="empty-run"),
        pytest.param({**CONTEXT, "run": "x" * 129}, id="run-at-129"),
        pytest.param({**CONTEXT, "step": "a b"}, id="space"),
        pytest.param({**CONTEXT, "step": "a\n"}, id="newline"),
        pytest.param({**CONTEXT, "call": 7}, id="number"),
    ],
)
def test_order_is_refused_when_context_does_not_fit(context: dict[str, object]) -> None:
    with pytest.raises(InvalidArguments):
        order({"url": "https://a.example/"}, context)


def test_order_takes_a_run_id_at_its_length_limit() -> None:
    assert order({"url": "https://a.example/"}, {**CONTEXT, "run": "x" * 128}).context.run == "x" * 128


def test_order_is_refused_when_anything_else_is_sent_along() -> None:
    with pytest.raises(InvalidArguments):
        order({"url": "https://a.example/"}, extra=1)
    with pytest.raises(InvalidArguments):
        read_order(TOOL, ({"url": "https://a.example/"},), {})


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "https://a.example/", "maxChars": CANARY},
        {"url": "https://a.example/", "expectedHash": CANARY},
        {"url": [CANARY]},
        {"url": "https://a.example/?q=" + CANARY + "x" * 5000},
        {"url": "https://a.example/", CANARY + " " * 99: 1},
        {"url": "\ud800" + CANARY},
    ],
)
def test_refusal_never_repeats_a_value(arguments: dict[str, object]) -> None:
    """Values may be secrets. An unknown key is named, but bounded and made printable."""
    with pytest.raises(InvalidArguments) as refused:
        order(arguments)
    told = f"{refused.value.message} {refused.value.facts}"
    assert (CANARY in told) == (CANARY + " " * 99 in arguments)
    assert len(told) < 300


def test_digest_binds_key_tool_and_arguments() -> None:
    one = order({"url": "https://a.example/"})
    assert one.digest("k1") == order({"url": "https://a.example/", "maxChars": 16_000}).digest("k1")
    assert one.digest("k1") != one.digest("k2")
    assert one.digest("k1") != order({"url": "https://a.example/", "maxChars": 2_000}).digest("k1")
