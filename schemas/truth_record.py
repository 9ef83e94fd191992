"""Records: what a run's receipts say that it searched and fetched, and the coverage that follows from them.

Coverage is the server's word alone: it is made from receipts, so that no worker can report what was not done.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from schemas.errors import InvalidOutput
from schemas.operation import OperationState
from schemas.truth import FETCHES_MAX, QUERIES_MAX

Source = Literal["selected_passage", "existing_truth", "web"]
Status = Literal["supplied", "searched", "partial", "not_searched", "unavailable", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One search or fetch of a run.

    Shape: `value` is what its worker was given, None unless it completed; `digest` is its receipt's, None before
    its end.
    """

    operation_id: str
    state: OperationState
    code: str | None
    value: dict[str, Any] | None
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """All searches and fetches of a run. Order: as they were admitted."""

    searches: tuple[Account, ...] = ()
    fetches: tuple[Account, ...] = ()

    def hit(self, hit_id: str) -> dict[str, Any] | None:
        """The hit of that id, with its `provider`, if a search of this run found it."""
        for value in _values(self.searches):
            for hit in value["hits"]:
                if hit["hit_id"] == hit_id:
                    return {**hit, "provider": value["provider"]}
        return None

    def fetched(self, fetch_id: str) -> dict[str, Any] | None:
        """What a completed fetch of this run captured."""
        account = self.fetch(fetch_id)
        return None if account is None else account.value

    def fetch(self, fetch_id: str) -> Account | None:
        """The completed fetch of this run that has this id."""
        return next((one for one in self.fetches if one.value is not None and one.value["fetch_id"] == fetch_id), None)


class Coverage(BaseModel):
    """How far one source was gone through."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: Source
    status: Status
    detail: str = ""


def coverage_of(record: Record, *, truncated: bool) -> tuple[Coverage, ...]:
    """The coverage that the server vouches for: what was supplied, and what the web's receipts amount to (M23)."""
    truth = "Supplied within its bounds; more is recorded." if truncated else "Supplied whole."
    return (
        Coverage(source="selected_passage", status="supplied", detail="Supplied whole."),
        Coverage(source="existing_truth", status="supplied", detail=truth),
        Coverage(source="web", status=_web_status(record), detail=_web_detail(record)),
    )


def reported(said: Iterable[Coverage], record: Record, *, truncated: bool) -> tuple[Coverage, ...]:
    """The server's coverage, where the worker went through what it was supplied. Raises: InvalidOutput if overstated.

    A worker alone knows whether it read what it was given. About the web it has no say (M24, M77).
    """
    allowed: dict[Source, frozenset[Status]] = {
        "selected_passage": frozenset({"supplied", "searched"}),
        "existing_truth": frozenset({"supplied", "partial" if truncated else "searched"}),
        "web": _WEB_NOT_OVERSTATED[_web_status(record)],
    }
    told: dict[Source, Coverage] = {}
    for entry in said:
        if entry.source in told:
            raise InvalidOutput("A source's coverage is reported twice.", source=entry.source)
        if entry.status not in allowed[entry.source] | _MODEST:
            raise InvalidOutput(
                "The reported coverage is more than was done.", source=entry.source, reported=entry.status
            )
        told[entry.source] = entry
    return tuple(_promoted(entry, told.get(entry.source)) for entry in coverage_of(record, truncated=truncated))


def _promoted(entry: Coverage, said: Coverage | None) -> Coverage:
    """The server's entry, with the worker's word for what it went through of what it was supplied."""
    if entry.source == "web" or said is None or said.status in _MODEST:
        return entry
    return entry.model_copy(update={"status": said.status})


_MODEST: frozenset[Status] = frozenset({"not_searched", "unavailable", "failed"})  # says less than anybody else would
_WEB_NOT_OVERSTATED: dict[Status, frozenset[Status]] = {
    "searched": frozenset({"searched", "partial"}),
    "partial": frozenset({"partial"}),
    "failed": frozenset(),
    "not_searched": frozenset(),
}


def _web_status(record: Record) -> Status:
    everything = (*record.searches, *record.fetches)
    if not everything:
        return "not_searched"
    if not any(_completed(one) for one in record.searches):
        return "failed"
    cut = any(value["acquisition_metadata"]["text_truncated"] for value in _values(record.fetches))
    return "partial" if cut or not all(_completed(one) for one in everything) else "searched"


def _web_detail(record: Record) -> str:
    searches, fetches = (sum(map(_completed, ones)) for ones in (record.searches, record.fetches))
    return (
        f"Queries: {len(record.searches)} of {QUERIES_MAX}, completed {searches}. "
        f"Fetches: {len(record.fetches)} of {FETCHES_MAX}, completed {fetches}."
    )


def _completed(account: Account) -> bool:
    return account.state is OperationState.COMPLETED


def _values(accounts: Iterable[Account]) -> Iterable[dict[str, Any]]:
    return (account.value for account in accounts if account.value is not None)
