"""Code: blocks between fences, line for line as the page shows them, or a span in a line."""

import re

from workers.extract.clean import clean
from workers.extract.forms import mark
from workers.extract.marks import is_code_line, tags
from workers.extract.tree import Node

_LANGUAGE = re.compile(
    r"(?:^|[\s:])(?:language|lang|highlight-source|highlight|brush:|sourcecode|src)[-: ]+([a-z0-9+#_]{1,20})(?![\w-])"
    r"|^(\w{1,20}) sourcecode"
)
_FENCE_MAX = 16
BACKTICK = mark("`")
_BACKTICKS = re.compile("`+")
_NO_LANGUAGE = frozenset({"", "default", "none", "text", "plain", "plaintext", "notranslate", "txt"})
_ENDS_LINE = tags("div p li tr dt dd")


def _without_empty_ends(lines: list[str]) -> list[str]:
    """Cut once at each end: taken off one by one, a million empty lines are a million moves of the rest."""
    first = next((number for number, line in enumerate(lines) if line), len(lines))
    last = next((number for number, line in enumerate(reversed(lines)) if line), 0)
    return lines[first : len(lines) - last]


def write_code(node: Node, outer: tuple[Node, ...]) -> str:
    """The block between fences, with its language; empty when it holds nothing. `outer` may name the language too."""
    lines = [line.rstrip() for line in clean(verbatim(node)).replace("\xa0", " ").split("\n")]
    lines = _without_empty_ends(lines)
    if not lines:
        return ""
    fence = _fence(lines)
    if not fence:
        return "\n".join(f"    {line}" if line else "" for line in lines)
    return mark(f"{fence}{_language(node, outer)}\n") + "\n".join(lines) + mark(f"\n{fence}")


def _fence(lines: list[str]) -> str:
    """A fence that no line of the block can close; empty when that would be longer than anybody writes."""
    for char in "`~":
        runs = (len(line) - len(line.lstrip(char)) for line in map(str.lstrip, lines))
        longest = max(runs, default=0)
        if longest < _FENCE_MAX:
            return char * max(3, longest + 1)
    return ""


def verbatim(node: Node) -> str:
    """The node's text with its white space, its breaks, and a line's end where a line has an element of its own."""
    out: list[str] = []
    _verbatim(node, out)
    return "".join(out)


def _verbatim(node: Node, out: list[str]) -> None:
    for place, kid in enumerate(node.kids):
        if isinstance(kid, str):
            out.append(kid)
        elif kid.tag == "br":
            out.append("\n")
        elif not kid.mark:
            _verbatim(kid, out)
            if (kid.tag in _ENDS_LINE or is_code_line(kid.tag, kid.attrs)) and not _is_broken(
                out, node.kids[place + 1 : place + 2]
            ):
                out.append("\n")


def _is_broken(written: list[str], following: list[str | Node]) -> bool:
    """Whether the page breaks the line itself."""
    if written and written[-1].endswith("\n"):
        return True
    kid = following[0] if following else ""
    return kid.startswith(("\n", "\r")) if isinstance(kid, str) else kid.tag == "br"


def _language(node: Node, outer: tuple[Node, ...]) -> str:
    inner = [kid for kid in node.kids if isinstance(kid, Node)][:2]
    for one in (node, *inner, *reversed(outer[-2:])):
        found = _LANGUAGE.search(one.classes) if one.classes else None
        name = (
            (found[1] or found[2] if found else "") or one.attrs.get("data-lang", "") or one.attrs.get("lang-code", "")
        )
        if name.lower() not in _NO_LANGUAGE and name.isascii() and len(name) <= 20:
            return name.lower().split()[0].strip("`")
    return ""


def code_span(text: str) -> str:
    """Inline code, between more backticks than it holds."""
    text = " ".join(text.split())
    if not text:
        return ""
    if "`" not in text:
        return f"{BACKTICK}{text}{BACKTICK}"
    fence = "`" * (max(len(run) for run in _BACKTICKS.findall(text)) + 1)
    pad = " " if "`" in {text[0], text[-1]} else ""
    return mark(fence + pad) + text + mark(pad + fence)
