"""A pin is proof because one place makes it."""

import ast
from pathlib import Path

HOUSE = Path(__file__).parents[3]
FLOORS = ("schemas", "broker", "workers", "ops")


def test_pin_is_made_by_the_resolver_alone():
    makers = {
        path.relative_to(HOUSE).as_posix()
        for floor in FLOORS
        for path in (HOUSE / floor).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Pin"
    }

    assert makers == {"workers/net/resolve.py"}
