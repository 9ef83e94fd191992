"""The body of a parsed page, with what libxml2 left in its head.

libxml2 knows the elements of HTML 4: a page that omits `<body>` and begins with `<main>` or `<article>` keeps them in
its head, where nobody reads. WHATWG HTML begins the body at the first element that no head may hold.
"""

from lxml import etree

from workers.extract.tree import Element

# Source: WHATWG HTML, tree construction, the "in head" insertion mode.
_OF_HEAD = frozenset(
    {"base", "basefont", "bgsound", "link", "meta", "noframes", "noscript", "script", "style", "template", "title"}
)


def body_of(root: Element) -> Element | None:
    """The body; a new one where only the head held content. None where there is neither."""
    body, head = root.find(".//body"), root.find("./head")
    strays = [] if head is None else _strays(head)
    if not strays:
        return body
    if body is None:
        body = etree.SubElement(root, "body")
    _put_first(body, strays)
    return body


def _strays(head: Element) -> list[Element]:
    """The head's children from the first one on that begins the body."""
    children = [child for child in head if child.find(".//body") is None]  # a body cannot move into itself
    for number, child in enumerate(children):
        if child.tag not in _OF_HEAD:
            return children[number:]
    return []


def _put_first(body: Element, strays: list[Element]) -> None:
    text, body.text = body.text, None
    for number, stray in enumerate(strays):
        body.insert(number, stray)
    if text:
        strays[-1].tail = (strays[-1].tail or "") + text
