"""Routes: which model a deployment uses for what, and what a token of it costs at most.

The models file is TOML. A route without prices, or without a bound of output tokens, has no cost control and is
refused: nothing is guessed, and no price list of anybody's is asked.

    [truth]                             # the route that works on truth-analysis runs
    route = "main"

    [routes.main]
    kind = "openai-compatible"          # or "anthropic"
    base_url = "https://models.example/v1"
    model = "a-model"
    key_env = "MODELS_KEY"              # the environment variable that holds the key; left out where there is none
    input_usd_per_million = 2.50        # the dearest input token: writing to a cache included
    output_usd_per_million = 10.00      # reasoning included
    max_output_tokens = 8192            # of one request
"""

import tomllib
from decimal import ROUND_CEILING, Decimal
from typing import Annotated, Any, Literal

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from schemas.errors import CostControlUnavailable

NANOUSD_PER_TOKEN = 1_000  # of a price of one dollar per million tokens
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Price = Annotated[Decimal, Field(ge=0, le=100_000)]


class Route(BaseModel):
    """One model at one provider."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["openai-compatible", "anthropic"]
    base_url: AnyHttpUrl
    model: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    key_env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")] | None = None
    input_usd_per_million: Price
    output_usd_per_million: Price
    max_output_tokens: int = Field(ge=256, le=64_000)
    request_seconds: float = Field(default=300, gt=0, le=1_800)

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int:
        """What so many tokens cost at most, rounded up."""
        dollars = input_tokens * self.input_usd_per_million + output_tokens * self.output_usd_per_million
        return int((dollars * NANOUSD_PER_TOKEN).to_integral_value(rounding=ROUND_CEILING))


class Use(BaseModel):
    """What a route is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    route: Name


class Models(BaseModel):
    """The models file. Shape: without `truth`, runs are worked on from outside."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    routes: dict[Name, Route]
    truth: Use | None = None


def truth_route(text: str) -> tuple[str, Route] | None:
    """The name and the route that works on truth-analysis runs; None where none is to.

    Raises: CostControlUnavailable, which names the field and never its value.
    """
    models = _read(text)
    if models.truth is None:
        return None
    found = models.routes.get(models.truth.route)
    if found is None:
        raise CostControlUnavailable("The models file has no such route.", field="truth.route")
    return models.truth.route, found


def _read(text: str) -> Models:
    try:
        given: dict[str, Any] = tomllib.loads(text, parse_float=Decimal)
        return Models.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(name)[:64] for name in first["loc"])
        raise CostControlUnavailable("The models file is unfit.", field=place, reason=first["type"]) from None
    except ValueError:
        raise CostControlUnavailable("The models file is no TOML.") from None
