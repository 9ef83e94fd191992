"""The API keeps to its OpenAPI document, whatever is sent to it."""

import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    ignored_auth,
]
QUIETLY = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}
EXAMPLES = 25  # an operation and a kind of data; each is a request to a real server and a real database


def test_api_answers_what_its_document_says_when_valid_and_invalid_requests_are_made_up(admin, make_token):
    """No 5xx, no undocumented status, no undocumented body; invalid data is refused, and so is a missing token."""
    schema = schemathesis.openapi.from_url(f"{admin.url}/api/admin/openapi.json")
    headers = {"Authorization": f"Bearer {make_token()}"}
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 11
    for operation in operations:
        for mode in schemathesis.GenerationMode:
            try_out(operation, mode, headers)


def try_out(operation, mode, headers) -> None:
    """Requests made up for one operation, of one kind of data."""
    valid = mode is schemathesis.GenerationMode.POSITIVE

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(**QUIETLY, max_examples=EXAMPLES)
    def run(case) -> None:
        answer = case.call(headers=headers)
        accepted = [positive_data_acceptance] if valid and answer.status_code != 412 else []  # a made-up If-Match
        case.validate_response(answer, checks=[*CHECKS, *accepted], headers=headers)

    run()


@given(words=st.binary(max_size=200))
@settings(**QUIETLY, max_examples=50)
def test_any_bytes_for_a_token_are_401(admin, words):
    """A token is whatever somebody sends: latin-1, control characters, nothing."""
    text = bytes(byte for byte in words if byte >= 0x20 and byte != 0x7F)
    answer = admin.ask("GET", "/api/admin/projects/p/web-search", headers={"Authorization": b"Bearer " + text})
    assert answer.status_code == 401
