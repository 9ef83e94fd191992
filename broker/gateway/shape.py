"""Shapes: the closed JSON Schemas of a tool, as clients are told them, and arguments judged by them before dispatch."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from pydantic import BaseModel

from schemas.errors import InvalidArguments

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Rules whose own value says what is wrong; of any other the name is enough, and a caller's value is never said.
_TELLING = {"type", "maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems", "pattern"}


@cache
def input_schema(args: type[BaseModel]) -> dict[str, Any]:
    """What a tool's arguments must be. Shape: an object that takes no other property."""
    return _schema(args, mode="validation")


@cache
def output_schema(result: type[BaseModel]) -> dict[str, Any]:
    """What a tool's structured content is when its call was completed."""
    return _schema(result, mode="serialization")


def insist_on_shape(args: type[BaseModel], arguments: dict[str, Any]) -> None:
    """Nothing, for arguments that fit. Raises: InvalidArguments, naming the field and never the value."""
    try:
        wrong = next(_validator(args).iter_errors(arguments), None)
    except RecursionError:
        raise InvalidArguments("arguments are nested too deep.", field="arguments", reason="depth") from None
    if wrong is not None:
        field, words = _told(wrong)
        raise InvalidArguments(f"{field}: {words}", field=field, reason=str(wrong.validator))


@cache
def _validator(args: type[BaseModel]) -> Draft202012Validator:
    schema = input_schema(args)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def _schema(model: type[BaseModel], *, mode: Any) -> dict[str, Any]:
    schema: dict[str, Any] = _without_titles(model.model_json_schema(mode=mode))
    return {"$schema": DIALECT, **{name: value for name, value in schema.items() if name != "description"}}


def _without_titles(part: Any, *, names: bool = False) -> Any:
    """The schema without the titles that the model's names gave it; a property that is called so stays."""
    if isinstance(part, list):
        return [_without_titles(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = {key: value for key, value in part.items() if names or key != "title"}
    return {key: _without_titles(value, names=key in {"properties", "$defs"}) for key, value in kept.items()}


def _told(wrong: ValidationError) -> tuple[str, str]:
    """The field and the rule. An unknown field is the caller's own text: shown bounded and printable."""
    path = ["arguments", *(str(part) for part in wrong.absolute_path)]
    if wrong.validator == "additionalProperties":
        known = set(wrong.schema.get("properties", {}))
        unknown = next((name for name in wrong.instance if name not in known), "")
        return ".".join([*path, _shown(unknown)]), "unknown field"
    if wrong.validator == "required":
        missing = next((name for name in wrong.validator_value if name not in wrong.instance), "")
        return ".".join([*path, missing]), "missing"
    words = f"does not fit {wrong.validator}"
    return ".".join(path), f"{words} {wrong.validator_value}" if wrong.validator in _TELLING else words


def _shown(name: str) -> str:
    return "".join(char for char in name if char.isalnum() or char in "_.-")[:40]
