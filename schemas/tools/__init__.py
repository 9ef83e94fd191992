"""The catalogue: this folder is it, one file a tool."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from schemas.tool import Tool


@cache
def catalogue() -> dict[str, Tool]:
    """Every tool by name, in name order. A new tool is a new file here; nothing else lists them."""
    return {name: import_module(f"{__name__}.{name}").TOOL for name in sorted(tool_names())}


def tool_names() -> tuple[str, ...]:
    """The names alone, without importing a contract."""
    return tuple(module.name for module in iter_modules(__path__))
