"""Pages made to break extractors: each of a given size, and each but the last few with a sentence to keep."""

from collections.abc import Callable
from random import Random

SENTENCE = "The lighthouse keeper wrote one page every evening, and he counted the ships, the gulls and the storms. "
Flood = Callable[[int], str]

FLOODS: dict[str, Flood] = {
    "deep": lambda n: "<div><p>a" * (n // 9) + SENTENCE,
    "deep lists": lambda n: "<ul><li>x" * (n // 9) + SENTENCE,
    "deep quotes": lambda n: "<blockquote>" * (n // 12) + SENTENCE,
    "deep tables": lambda n: "<table><tr><td>x" * (n // 16) + SENTENCE,
    "deep emphasis": lambda n: "<b>x" * (n // 4) + SENTENCE,
    "deep spans": lambda n: f"<p>{SENTENCE}" + "<span>x" * (n // 7),
    "deep doubts": lambda n: "<div class=widget>" * 200 + f"<p>{SENTENCE}</p>" + "<i>x</i><p>y</p>" * (n // 16),
    "foster parents": lambda n: f"<p>{SENTENCE}<table>" + "<p>foo<b>" * (n // 9),
    "wide table": lambda n: f"<p>{SENTENCE}<table>" + ("<tr>" + "<td>x" * 50) * (n // 254),
    "column spans": lambda n: f"<p>{SENTENCE}<table>" + "<tr><td colspan=1000 rowspan=65534>x" * (n // 36),
    "one attribute": lambda n: f'<div class="{"a " * (n // 2)}"><p>{SENTENCE}</div>',
    "many attributes": lambda n: "<div " + " ".join(f"a{i}=1" for i in range(n // 9)) + f">{SENTENCE}</div>",
    "stray quotes and many attributes": lambda n: '<div x"y ' + "a=1 " * (n // 4) + f">{SENTENCE}</div>",
    "special characters": lambda n: f"<p>{SENTENCE}" + "*_[<" * (n // 4),
    "backticks": lambda n: f"<p>{SENTENCE}</p><pre>{'`' * n}</pre>",
    "spaces": lambda n: f"<p>{SENTENCE}{' ' * n}</p>",
    "breaks": lambda n: f"<p>{SENTENCE}" + "a<br>" * (n // 5),
    "paragraphs": lambda n: f"<p>{SENTENCE}" + "<p>ab</p>" * (n // 9),
    "headings": lambda n: f"<p>{SENTENCE}" + "<h1>ab</h1>" * (n // 11),
    "links": lambda n: f"<p>{SENTENCE * 9}" + "<a href=/x>y</a> " * (n // 17),
    "images": lambda n: f"<p>{SENTENCE}" + "<img alt='one two three'>" * (n // 25),
    "metas": lambda n: f"<p>{SENTENCE}" + "<meta name=a content=b>" * (n // 23),
    "hidden": lambda n: '<p style="display:none">x</p>' * (n // 29) + f"<p>{SENTENCE}",
    "classes": lambda n: f"<p>{SENTENCE}" + "".join(f"<div class='nav-{i} x:{i}'>x</div>" for i in range(n // 32)),
    "segments": lambda n: f"<p>{SENTENCE}" + "".join(
        f"<template id='P:{i:x}'></template><div hidden id='S:{i:x}'>x</div>"
        f'<script>$RS("S:{i:x}","P:{i:x}")</script>'
        for i in range(n // 100)
    ),
    "unclosed comment": lambda n: f"<p>{SENTENCE}</p><!-- " + "- " * (n // 2),
    "unclosed script": lambda n: f"<p>{SENTENCE}</p><script>" + "if(a<b){}" * (n // 9),
    "unclosed attribute": lambda n: f'<p>{SENTENCE}</p><div a="' + "<p>x</p>" * (n // 8),
    "options": lambda n: f"<select>{'<option>x' * (n // 9)}</select><p>{SENTENCE}",
    "buttons": lambda n: f"<p>{SENTENCE}</p>" + "<button>" * 240 + "<i>x</i>" * (n // 8) + "<p>z",
    "forms": lambda n: "<div><form>" * 200 + f"<p>{SENTENCE}</p>" + "<i>x</i>" * (n // 8),
    "articles": lambda n: f"<article><h2>ab</h2><p>{SENTENCE}</article>" * (n // 140),
    "code lines": lambda n: f"<p>{SENTENCE}</p><pre>" + "<span class=line>x</span>" * (n // 25),
    "references": lambda n: f"<p>{SENTENCE}" + "&#1;&#x41;&amp;" * (n // 15),
    "NUL": lambda n: f"<p>{SENTENCE}" + "a\0b " * (n // 4),
}  # fmt: skip


def written(size: int) -> str:
    """An ordinary long page: sections of prose, links, lists, code and tables."""
    draw = Random(3)  # noqa: S311 - the same page each time
    stock = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randrange(2, 10))) for _ in range(2_000)]

    def said(count: int) -> str:
        return " ".join(draw.choices(stock, k=count))

    out: list[str] = []
    total = 0
    while total < size:
        number = len(out)
        out.append(
            f"<section><h2>{said(3)}</h2><p>{said(60)} <a href='/x{number}'>{said(2)}</a> <code>c{number}</code>.</p>"
            f"<ul><li>{said(6)}<li>{said(7)}</ul><pre>a = {number}\n\n  b</pre>"
            f"<table><tr><th>k<th>v<tr><td>{said(3)}<td>{number}</table></section>"
        )
        total += len(out[-1])
    return "<main>" + "".join(out) + "</main>"
