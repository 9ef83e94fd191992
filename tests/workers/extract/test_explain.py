"""Why a page reads as it does."""

from tests.workers.extract.reading import BASE, SENTENCE, article
from workers.extract.explain import explain_html


def test_explanation_names_what_was_left_out_and_why():
    found = explain_html(
        article(
            f"<div class=share-buttons>Share it</div><div style='display:none'>SECRET</div><p>{SENTENCE}</p>"
            "<div><a href=/a>One</a> <a href=/b>Two</a> <a href=/c>Three</a></div>"
        ) + "<div class=outer>Far away</div>",
        BASE,
    )  # fmt: skip

    whys = {part.begins.split(" ")[0]: part.why for part in found.parts if not part.kept}
    assert found.genre == "page"
    assert found.container == "body > article"
    assert whys["Share"] == "its class or id is furniture's (share-buttons)"
    assert whys["SECRET"] == "out of a reader's sight"
    assert whys["One"] == "mostly links"
    assert whys["Far"] == "outside the chosen container"
    assert [part.where for part in found.parts if part.kept] == ["article"]


def test_explanation_is_none_where_nothing_was_weighed():
    assert explain_html("", BASE) is None
    assert explain_html("<div>" * 5_000 + "x", BASE) is None
