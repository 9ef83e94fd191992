"""Orders: what a message asks for, read against the closed schemas before anything else happens."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from schemas.context import Context
from schemas.errors import InvalidArguments
from schemas.tool import Tool

M = TypeVar("M", bound=BaseModel)

_PARTS = {"arguments", "context"}


@dataclass(frozen=True, slots=True)
class Order:
    """One message's model-written arguments and the orchestrator's authority behind them."""

    tool: Tool
    args: Any
    context: Context

    def digest(self, key: str) -> str:
        """The SHA-256 that binds key, tool and arguments: a repeat with other arguments is seen, their text is not.

        Shape: lower-case hex over JSON with sorted keys. The key salts it, so that equal arguments of two calls do not
        look equal in the ledger.
        """
        bound = [self.context.project, key, self.tool.name, self.args.model_dump(mode="json")]
        return sha256(
            json.dumps(bound, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
        ).hexdigest()


def read_order(tool: Tool, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Order:
    """The order in a message. Raises: InvalidArguments, naming the field and never the value."""
    if positional or set(keywords) != _PARTS:
        raise InvalidArguments(
            'A call is sent with kwargs={"arguments": {...}, "context": {...}} and nothing else.', field="kwargs"
        )
    context = _read(Context, keywords["context"], "context")
    args = _read(tool.args, keywords["arguments"], "arguments")
    return Order(tool=tool, args=args, context=context)


def asker(keywords: dict[str, Any]) -> Context | None:
    """Who asks in a message that was refused; None where even that cannot be read."""
    try:
        return _read(Context, keywords.get("context"), "context")
    except InvalidArguments:
        return None


def _read(model: type[M], given: Any, part: str) -> M:
    if not isinstance(given, dict):
        raise InvalidArguments(f"{part} is not an object.", field=part)
    try:
        # As JSON: a list is a tuple's only spelling there, and strict stays strict about numbers and strings.
        return model.model_validate_json(json.dumps(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join([part, *(_shown(name) for name in first["loc"])])
        reason = first["type"]
        raise InvalidArguments(f"{field}: {_words(first)}", field=field, reason=reason) from None
    except RecursionError:
        raise InvalidArguments(f"{part} is nested too deep.", field=part, reason="depth") from None
    except ValueError:
        raise InvalidArguments(f"{part} is not valid Unicode.", field=part, reason="unicode") from None


def _shown(name: int | str) -> str:
    """A field's name, bounded and printable: an unknown key is the caller's text."""
    return "".join(char for char in str(name) if char.isalnum() or char in "_.-")[:40]


def _words(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown field"
    return str(error["msg"]).removeprefix("Value error, ")  # pydantic's own words before ours
