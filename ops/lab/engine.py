"""The search engine of the private internet: pages of DuckDuckGo's HTML shape, and how it treats who asks."""

import html
import json
from collections.abc import Sequence
from urllib.parse import parse_qs, quote

from ops.lab.http import Behaviour, Options, Reply, Request, Responder, message

RESULTS = 10
QUERY_CHARS = 499
BANG_TARGET = "https://counted.example/bang"

_HEAD = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} at DuckDuckGo</title></head><body>'
    '<div id="header"><form id="search_form" action="/html/" method="post">'
    '<input name="q" value="{title}"></form></div>'
    '<div id="zero_click_abstract">An <a href="https://instant.example/">instant answer</a> that is no result.</div>'
    '<div class="serp__results"><div id="links" class="results">'
)
_TAIL = (
    '<div class="nav-link"><form action="/html/" method="post"><input type="submit" value="Next">'
    '<input type="hidden" name="vqd" value="4-1"><input type="hidden" name="s" value="10"></form></div>'
    "</div></div></body></html>"
)
NO_RESULTS = (
    '<div class="result results_links results_links_deep result--no-result"><div class="links_main result__body">'
    '<div class="no-results">No results.</div></div></div>'
)
CHALLENGE = (
    '<!DOCTYPE html><html><head><title>DuckDuckGo</title><script src="//duckduckgo.com/anomaly.js?sv=html"></script>'
    '</head><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js" method="POST">'
    '<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>'
    '<div class="anomaly-modal__description">Select all squares containing a duck:</div></form></body></html>'
)


def block(title: str, link: str, snippet: str = "", *, kind: str = "web-result", through: bool = False) -> str:
    """One result. `link` is put behind the engine's redirect link when `through`; kind `result--ad` is paid for."""
    shown = f"//duckduckgo.com/l/?uddg={quote(link, safe='')}&rut={'0' * 64}" if through else link
    href = html.escape(shown)
    return (
        f'<div class="result results_links results_links_deep {kind}"><div class="links_main links_deep result__body">'
        f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="{href}">{html.escape(title)}</a></h2>'
        f'<div class="result__extras"><a class="result__url" href="{href}">{html.escape(link)}</a></div>'
        f'<a class="result__snippet" href="{href}">{html.escape(snippet)}</a></div></div>\n'
    )


def results_page(blocks: Sequence[str], title: str = "words") -> str:
    """A whole page of blocks."""
    return _HEAD.format(title=html.escape(title)) + "".join(blocks) + _TAIL


def engine(options: Options) -> Responder:
    """Answers `/html/` as the real one: `results` (10) for a form; 303 for a !bang, 403 for a long query.

    The first result's snippet is the request as it came, as JSON.
    """
    count = int(options.get("results", RESULTS))

    def answer(request: Request) -> Reply:
        form = {name: values[0] for name, values in _form(request).items()}
        query = form.get("q", "")
        if any("!" in (word[:1], word[-1:]) or word.startswith("\\") for word in query.split()):
            return Reply(wire=message(303, {"Location": BANG_TARGET}, b""))
        if len(query) > QUERY_CHARS:
            return Reply(wire=message(403, {"Content-Type": "text/html"}, CHALLENGE.encode()))
        seen = {"method": request.method, "target": request.target, "form": form, "headers": list(request.headers)}
        first = block(f"{query}: the first", "https://good.example/", json.dumps(seen, ensure_ascii=False))
        paid = block("An advertisement", "https://duckduckgo.com/y.js?ad_domain=paid.example", kind="result--ad")
        more = [_numbered(query, number) for number in range(1, count)]
        page = results_page([paid, first, *more], query).encode()
        return Reply(wire=message(200, {"Content-Type": "text/html; charset=UTF-8"}, page))

    return answer


def _form(request: Request) -> dict[str, list[str]]:
    fields = request.body.decode() if request.method == "POST" else request.target.partition("?")[2]
    return parse_qs(fields, keep_blank_values=True)


def _numbered(query: str, number: int) -> str:
    link = f"https://docs.example/page/{number}?q={quote(query)}"
    return block(f"{query}: number {number}", link, f"Words about {query}.", through=bool(number % 2))


SEARCHED: dict[str, Behaviour] = {"engine": engine}
