"""Shapes: what is no task message never reaches Celery's own unpacking."""

import pytest
from celery.exceptions import InvalidTaskError

from broker.shape import check

HEADERS = {"id": "t1", "task": "web_fetch", "retries": 0, "timelimit": [None, None], "root_id": "t1", "parent_id": None}
BODY = ([], {"arguments": {}}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None})
NEXT = {"task": "follow", "args": [], "kwargs": {}, "options": {}}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param({}, BODY, id="ours"),
        pytest.param({}, ([], {}, None), id="without-embed"),
        pytest.param({}, ([], {}, {"callbacks": [NEXT], "chain": [NEXT, NEXT], "chord": NEXT}), id="with-followers"),
        pytest.param({"id": "x" * 512}, BODY, id="id-at-512"),
        pytest.param({"timelimit": [1, 2.5]}, BODY, id="timelimit"),
    ],
)
def test_message_passes_when_its_shape_is_right(headers: dict[str, object], body: object) -> None:
    check(HEADERS | headers, body)


@pytest.mark.parametrize(
    ("headers", "body", "part"),
    [
        pytest.param({"id": ""}, BODY, "id", id="id-empty"),
        pytest.param({"id": "x" * 513}, BODY, "id", id="id-at-513"),
        pytest.param({"id": 7}, BODY, "id", id="id-number"),
        pytest.param({"id": "\ud800"}, BODY, "id", id="id-lone-surrogate"),
        pytest.param({"id": "a b"}, BODY, "id", id="id-space"),
        pytest.param({"root_id": "\ud800"}, BODY, "root_id", id="root-lone-surrogate"),
        pytest.param({"retries": "many"}, BODY, "retries", id="retries"),
        pytest.param({"timelimit": "soon"}, BODY, "timelimit", id="timelimit-text"),
        pytest.param({"timelimit": [1]}, BODY, "timelimit", id="timelimit-one"),
        pytest.param({"root_id": {}}, BODY, "root_id", id="root"),
        pytest.param({}, {"args": []}, "body", id="body-object"),
        pytest.param({}, ([], {}), "body", id="body-of-two"),
        pytest.param({}, ("args", {}, {}), "args", id="args-text"),
        pytest.param({}, ([], [], {}), "kwargs", id="kwargs-list"),
        pytest.param({}, ([], None, {}), "kwargs", id="kwargs-null"),
        pytest.param({}, ([], {}, "embed"), "embed", id="embed-text"),
        pytest.param({}, ([], {}, {"callbacks": "x"}), "embed", id="callbacks-text"),
        pytest.param({}, ([], {}, {"chain": ["x"]}), "embed", id="chain-of-text"),
        pytest.param({}, ([], {}, {"chord": {"task": 7}}), "embed", id="chord-without-task"),
    ],
)
def test_message_is_rejected_by_the_name_of_the_part(headers: dict[str, object], body: object, part: str) -> None:
    with pytest.raises(InvalidTaskError, match=f"^malformed {part}$"):
        check(HEADERS | headers, body)
