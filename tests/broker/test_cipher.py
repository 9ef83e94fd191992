"""The cipher of sealed requests: any key of the list opens, the first one seals, and nothing else is opened."""

import json
from base64 import b64encode
from dataclasses import fields, replace

import pytest
from pydantic import ValidationError

from broker.cipher import seal, unseal
from broker.settings import Settings
from schemas.errors import RequestUnreadable
from schemas.operation import Binding

OLD, NEW, OTHER = (bytes([n]) * 32 for n in range(3))
BINDING = Binding(
    operation_id="6a1f1f0e-0000-4000-8000-000000000000",
    project="p",
    key="k",
    tool="web_fetch",
    agent="a",
    run="r",
    step="s",
    arguments_digest="a" * 64,
)
PLAIN = json.dumps({"url": "https://canary.example/"}).encode()


def test_request_opens_with_the_key_that_sealed_it() -> None:
    sealed = seal((OLD,), PLAIN, BINDING)
    assert unseal((OLD,), sealed, BINDING) == PLAIN
    assert b"canary" not in sealed


def test_key_is_replaced_when_the_new_one_stands_in_front() -> None:
    """First every process learns the new key as a second one, then the clients seal with it, then the old one goes."""
    before, after = seal((OLD,), PLAIN, BINDING), seal((NEW, OLD), PLAIN, BINDING)
    assert unseal((NEW, OLD), before, BINDING) == unseal((OLD, NEW), after, BINDING) == PLAIN
    assert unseal((NEW,), after, BINDING) == PLAIN
    with pytest.raises(RequestUnreadable):
        unseal((NEW,), before, BINDING)


def test_two_seals_of_one_request_have_nothing_in_common() -> None:
    one, two = (seal((OLD,), PLAIN, BINDING) for _ in range(2))
    assert one[1:13] != two[1:13]
    assert one[13:] != two[13:]


@pytest.mark.parametrize("name", [field.name for field in fields(Binding)])
def test_request_does_not_open_when_a_word_of_its_operation_is_another(name: str) -> None:
    sealed = seal((OLD,), PLAIN, BINDING)
    with pytest.raises(RequestUnreadable):
        unseal((OLD,), sealed, replace(BINDING, **{name: getattr(BINDING, name) + "x"}))


def test_request_does_not_open_when_words_moved_from_one_field_to_the_next() -> None:
    sealed = seal((OLD,), PLAIN, replace(BINDING, run="rs", step="x"))
    with pytest.raises(RequestUnreadable):
        unseal((OLD,), sealed, replace(BINDING, run="r", step="sx"))


@pytest.mark.parametrize("place", range(len(seal((OLD,), PLAIN, BINDING))))
def test_request_does_not_open_when_any_byte_was_changed(place: int) -> None:
    sealed = bytearray(seal((OLD,), PLAIN, BINDING))
    sealed[place] ^= 1
    with pytest.raises(RequestUnreadable):
        unseal((OLD,), bytes(sealed), BINDING)


@pytest.mark.parametrize("length", [0, 1, 12, 13, 28, 29])
def test_request_does_not_open_when_it_was_cut_short(length: int) -> None:
    with pytest.raises(RequestUnreadable):
        unseal((OLD,), seal((OLD,), PLAIN, BINDING)[:length], BINDING)


@pytest.mark.parametrize("keys", [(), (OTHER,)], ids=["no-key", "another-key"])
def test_request_does_not_open_without_its_key(keys: tuple[bytes, ...]) -> None:
    with pytest.raises(RequestUnreadable) as told:
        unseal(keys, seal((OLD,), PLAIN, BINDING), BINDING)
    assert "canary" not in str(told.value) + str(told.value.facts)


def encoded(key: bytes) -> str:
    return b64encode(key).decode()


def test_setting_is_a_list_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTRIDER_SEAL_KEY", f"{encoded(NEW)}, {encoded(OLD)}")
    assert Settings().seal_keys() == (NEW, OLD)
    monkeypatch.setenv("OUTRIDER_SEAL_KEY", "")
    assert Settings().seal_keys() == ()


@pytest.mark.parametrize(
    "words",
    [encoded(b"k" * 31), encoded(b"k" * 33), "canary!", f"{encoded(NEW)},"],
    ids=["31-bytes", "33-bytes", "no-base64", "empty-second"],
)
def test_setting_that_is_no_key_is_refused_and_not_told(words: str) -> None:
    with pytest.raises(ValidationError) as told:
        Settings(seal_key=words)
    assert words.strip(",") not in str(told.value)
    assert "32 bytes" in str(told.value)


def test_key_is_not_shown_when_settings_are() -> None:
    found = Settings(seal_key=encoded(NEW))
    assert encoded(NEW) not in repr(found) + str(found) + str(found.model_dump()) + found.model_dump_json()
