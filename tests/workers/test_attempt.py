"""Attempts: an admitted call ends in the ledger, whatever its ride brought or its account held."""

from collections.abc import Callable
from time import monotonic
from typing import Any, cast

import pytest
from pydantic import BaseModel
from sqlalchemy import Engine

from broker.ledger.operations import admit
from broker.ledger.overview import read_operation
from broker.ledger.projects import Project, save_project
from schemas.errors import NetworkError
from schemas.operation import Lease
from tests.ledger_calls import request
from workers.attempt import Attempt, carry_out
from workers.bench import Bench
from workers.hands import Hands


class Value(BaseModel):
    """A result whose field may hold what JSON cannot."""

    word: str


def ride(ledger: Engine, perform: Callable[[Bench], BaseModel]) -> dict[str, Any]:
    """The envelope of one attempt with this handler, and the state that the ledger keeps."""
    save_project(ledger, Project(id="p", enabled=True, fetch_enabled=True, agents=("a",)), actor="tests")
    asked = request()
    lease = admit(ledger, asked)
    assert isinstance(lease, Lease)
    hands = Hands(ledger=ledger, road=cast("Any", None), extraction=cast("Any", None))
    envelope = carry_out(Attempt(asked.tool, asked, lease, monotonic(), perform), hands, lambda _stage, _facts: None)
    view = read_operation(ledger, lease.operation_id)
    assert view is not None
    return envelope.model_dump() | {"state": str(view.state)}


def raising(error: Exception) -> Callable[[Bench], BaseModel]:
    def perform(_bench: Bench) -> BaseModel:
        raise error

    return perform


@pytest.mark.parametrize(
    ("perform", "code"),
    [
        pytest.param(raising(NetworkError("No.", host="a.example")), "network_error", id="plain-facts"),
        pytest.param(raising(NetworkError("No.", number=2**53)), "internal", id="a-number-past-json"),
        pytest.param(raising(NetworkError("No.", number=float("nan"))), "internal", id="not-a-number"),
        pytest.param(raising(NetworkError("No.", word="\ud800")), "internal", id="a-lone-surrogate"),
        pytest.param(raising(ZeroDivisionError("secret")), "internal", id="a-bug"),
        pytest.param(lambda _bench: Value(word="fine"), None, id="a-value"),
    ],
)
def test_admitted_call_ends_at_once_and_once(ledger: Engine, perform: Callable[[Bench], BaseModel], code: str) -> None:
    """What the account cannot hold settles as internal: never a lease that runs out, never a changing answer."""
    found = ride(ledger, perform)
    assert (found["error"] or {}).get("code") == code
    assert found["state"] == ("failed" if code else "completed")
    assert found["receipt"]["id"] == found["operation"]
    assert "secret" not in str(found)
