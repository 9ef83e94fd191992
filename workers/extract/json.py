"""Readable text of a JSON body: the same tokens, indented; numbers and order as they were written."""

import json
import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"[ \t\r\n]*+(?:(?P<string>\"(?:[^\"\\\x00-\x1f]++|\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4}))*+\")"
    r"|(?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)"
    r"|(?P<mark>[\[\]{},:]))"
)
_SPACE = re.compile(r"[ \t\r\n]*+\Z")
_INDENT_DEPTH = 32  # deeper levels are written at this one's indent: 2 MB of "[" must not become 4 TB of spaces

Token = tuple[str, str]  # (kind, text); kind is "string", "scalar", or the mark itself


class NotJson(ValueError):
    """The text is not one JSON value. It says nothing of the text."""


def render_json(source: str, limit: int) -> str:
    """The value, two spaces a level; a little over `limit` characters when the value is longer.

    Raises: NotJson. Validation is of the whole value, also past the limit.
    """
    out: list[str] = []
    size = depth = 0
    before = ""
    for kind, text in _checked(source):
        depth -= kind in "]}"
        if size <= limit:
            out.append(_gap(before, kind, depth) + text)
            size += len(out[-1])
        depth += kind in "[{"
        before = kind
    return "".join(out)


def _gap(before: str, kind: str, depth: int) -> str:
    """What stands between two tokens."""
    if before == ":":
        return " "
    if before == "" or kind in ",:" or (before in "[{" and kind in "]}"):
        return ""
    return "\n" + "  " * min(depth, _INDENT_DEPTH)


def _checked(source: str) -> Iterator[Token]:
    """The tokens, each allowed where it stands: a machine with an explicit stack, so depth costs no recursion."""
    stack: list[str] = []
    want = "value"
    for kind, text in _tokens(source):
        want = _step(stack, want, kind)
        yield kind, text
    if stack or want != "end":
        raise NotJson("the value does not end")


def _step(stack: list[str], want: str, kind: str) -> str:
    """What may come after this token. Raises: NotJson when it may not come here."""
    if kind in "]}":
        if not stack or stack.pop() != {"]": "[", "}": "{"}[kind] or want not in {"after", "first", "first_key"}:
            raise NotJson("a bracket closes what is not open")
        return "after" if stack else "end"
    if want == "after" and kind == ",":
        return "value" if stack[-1] == "[" else "key"
    if want in {"key", "first_key"} and kind == "string":
        return "colon"
    if want == "colon" and kind == ":":
        return "value"
    if want in {"value", "first"}:
        return _value(stack, kind)
    raise NotJson("a token stands where it may not")


def _value(stack: list[str], kind: str) -> str:
    if kind in {"[", "{"}:
        stack.append(kind)
        return "first" if kind == "[" else "first_key"
    if kind in {"string", "scalar"}:
        return "after" if stack else "end"
    raise NotJson("a value is missing")


def _tokens(source: str) -> Iterator[Token]:
    place = 0
    while token := _TOKEN.match(source, place):
        place = token.end()
        if token["string"] is not None:
            yield "string", _readable(token["string"])
        elif token["scalar"] is not None:
            yield "scalar", token["scalar"]
        else:
            yield token["mark"], token["mark"]
    if not _SPACE.match(source, place):
        raise NotJson("what stands here is no token")


def _readable(string: str) -> str:
    """The string with its escaped letters written out; lone surrogates stay escaped, for no text can hold them."""
    if "\\" not in string:
        return string
    value = json.loads(string)
    try:
        value.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False)
