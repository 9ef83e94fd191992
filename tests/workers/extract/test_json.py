"""JSON bodies: validated, indented, otherwise as written (M111)."""

import json

import pytest

from tests.workers.extract.reading import read
from workers.extract.json import NotJson, render_json

JSON = "application/json"


def test_json_keeps_numbers_order_and_repeated_names():
    text = read(b'{"b":1.10,"a":[1e400,-0,12345678901234567890],"b":{},"c":[]}', JSON).text

    assert text == (
        '{\n  "b": 1.10,\n  "a": [\n    1e400,\n    -0,\n    12345678901234567890\n  ],\n  "b": {},\n  "c": []\n}'
    )


def test_json_writes_escaped_letters_out_when_they_are_text():
    text = read(rb'["\u65e5\u672c", "\ud83d\ude00", "a\"b\\c\n\u0000", "\ud800"]', JSON).text

    assert text.splitlines()[1:-1] == ['  "日本",', '  "😀",', r'  "a\"b\\c\n\u0000",', r'  "\ud800"']


@pytest.mark.parametrize("value", ['{"a": [1, {"b": null}], "c": "d"}', "[[], {}, [{}]]", '"x"', "0", " true\n"])
def test_json_means_the_same_after_it(value):
    assert json.loads(render_json(value, 1_000)) == json.loads(value)


@pytest.mark.parametrize(
    "value",
    ["", "{", "[1,]", "[1 2]", '{"a"}', '{"a":}', "{1:2}", "[1}", "]", "01", "+1", "1.", "nul",
     "'a'", '"\t"', "[1]]", "{,}",
     '{"a":1,}', "1 2", ",", ":", '"\\x"', "NaN"],
)  # fmt: skip
def test_json_is_refused_when_it_is_none(value):
    with pytest.raises(NotJson):
        render_json(value, 1_000)


def test_json_that_is_none_is_read_as_text_with_a_note():
    document = read(b'callback({"a": 1})', JSON)

    assert (document.kind, document.text, document.notes) == ("json", 'callback({"a": 1})', ("invalid_json",))


def test_json_nested_deeply_costs_no_recursion_and_bounded_text():
    document = read(b"[" * 500_000 + b"]" * 500_000, JSON)

    assert document.source_truncated
    assert len(document.text) <= 400_000
