"""Pages that are streamed in segments: each is read where it belongs (M111)."""

from tests.workers.extract.reading import SENTENCE, read


def page(scripts: str) -> str:
    return (
        f"<body><main><h1>Streamed</h1><p>FIRST {SENTENCE * 2}</p><template id='P:1'></template><p>LAST {SENTENCE}</p>"
        f"<template id='B:0'></template><p>Loading</p></main>"
        f"<div hidden id='S:1'><p>SECOND {SENTENCE * 2}</p></div><div hidden id='S:0'><p>LATE {SENTENCE}</p></div>"
        + scripts
    )


def test_segments_are_read_where_their_scripts_put_them():
    text = read(page('<script>$RS("S:1","P:1")</script><script>$RC("B:0","S:0")</script>')).text

    places = [text.index(word) for word in ("FIRST", "SECOND", "LAST", "LATE")]
    assert places == sorted(places)


def test_moves_that_name_nothing_or_their_own_inside_change_nothing():
    scripts = '<script>$RS("S:9","P:1")</script><script>$RS("S:1","P:77")</script><script>$RC("S:1","S:1")</script>'

    assert "FIRST" in read(page(scripts)).text
