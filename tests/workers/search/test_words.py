"""Words without commands: whatever would make the provider answer from elsewhere is gone, the words are not (M99)."""

import pytest

from workers.search.words import plain_words


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("!g python", "g python"),
        ("python !w", "python w"),
        ("python w!", "python w"),
        ("a !g b", "a g b"),
        ("! python", "python"),
        ("!!g python", "g python"),
        ("\uff01g python", "g python"),
        ("\\python", "python"),
        ("\uff3cpython", "python"),
        ('"!g python"', '" g python"'),
        ("(!g)", "( g)"),
        ("css !important", "css important"),
        ("a != b", "a = b"),
        ("C:\\Windows\\System32", "C: Windows System32"),
        ("#!/bin/sh", "# /bin/sh"),
        ("site:a.example -b +c", "site:a.example -b +c"),
        ("  many   spaces\u3000here ", "many spaces here"),
        ("!!! \\", ""),
    ],
)
def test_commands_are_searched_as_words(query: str, words: str) -> None:
    assert plain_words(query) == words
