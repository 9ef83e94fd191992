"""Errors: they pickle, and a stored receipt's error comes back as its own kind."""

import pickle

from schemas.errors import AddressRefused, HttpError, Internal, revive


def test_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(HttpError("No.", status=404)))  # noqa: S301 - our own bytes
    assert (type(error), error.message, error.facts) == (HttpError, "No.", {"status": 404})


def test_stored_code_comes_back_as_its_kind_and_an_unknown_one_as_internal() -> None:
    assert type(revive("http_error", "No.", {})) is HttpError
    assert type(revive("blocked_address", "No.", {})) is AddressRefused
    assert type(revive("code_of_a_newer_version", "No.", {})) is Internal
