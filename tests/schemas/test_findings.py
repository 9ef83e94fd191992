"""X8: whatever is altered in a chain of receipts is found, and named."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.chain import Head, Link, Row, follow, genesis
from schemas.findings import Fault, verify
from schemas.receipt import canonical, digest_of
from tests.chains import body_of, chain_of, whole_chain, with_link, without

LENGTHS = st.integers(1, 12)
OTHER = digest_of("something else")


def named(findings):
    return {finding.operation_id for finding in findings}


def faults(findings):
    return [(finding.fault, finding.operation_id, finding.position) for finding in findings]


@given(length=st.integers(0, 12))
def test_verify_finds_nothing_when_the_chain_is_whole(length):
    chain = whole_chain(length)
    assert verify(replace(chain, head=chain.head if length else None)) == ()


@given(data=st.data(), length=LENGTHS)
def test_verify_names_the_receipt_when_one_character_of_it_was_edited(data, length):
    chain, index = whole_chain(length), data.draw(st.integers(0, length - 1))
    body = chain.links[index].body
    place, letter = data.draw(st.integers(0, len(body) - 1)), data.draw(st.characters(codec="utf-8"))
    edited = body[:place] + letter + body[place + 1 :]

    found = verify(with_link(chain, index, body=edited))

    assert (named(found) == {f"op-{index}"}) if edited != body else (found == ())


@given(data=st.data(), length=LENGTHS)
def test_verify_names_the_receipt_alone_when_its_body_and_digest_were_edited(data, length):
    chain, index = whole_chain(length), data.draw(st.integers(0, length - 1))
    edited = body_of(index, milliseconds=0)

    found = verify(with_link(chain, index, body=edited, digest=digest_of(edited)))

    assert faults(found) == [(Fault.LINK_WRONG, f"op-{index}", index + 1)]


@given(data=st.data(), length=LENGTHS, field=st.sampled_from(["digest", "link", "operation_id", "position"]))
def test_verify_names_the_receipt_when_one_field_of_its_row_was_edited(data, length, field):
    chain, index = whole_chain(length), data.draw(st.integers(0, length - 1))
    other = data.draw(st.integers(-2, 30).filter(lambda n: n != index + 1)) if field == "position" else OTHER

    found = verify(with_link(chain, index, **{field: other}))

    blamed = named(found) - {None}
    assert blamed & {f"op-{index}", other} if field == "position" else blamed <= {f"op-{index}", OTHER}
    assert blamed


@given(data=st.data(), length=LENGTHS)
def test_verify_names_the_place_when_a_receipt_was_removed(data, length):
    chain, index = whole_chain(length), data.draw(st.integers(0, length - 1))

    assert faults(verify(without(chain, index))) == [(Fault.MISSING, None, index + 1)]


@given(data=st.data(), length=LENGTHS)
def test_verify_names_the_operation_when_its_receipt_was_removed_and_the_rest_made_to_fit(data, length):
    """Whoever relinks everything leaves the operation, which has ended without a receipt."""
    index = data.draw(st.integers(0, length - 1))
    bodies = [body_of(number) for number in range(length) if number != index]
    chain = replace(chain_of(bodies), bare=(f"op-{index}",))
    names = [f"op-{number}" for number in range(length) if number != index]
    links = tuple(replace(link, operation_id=name) for link, name in zip(chain.links, names, strict=True))

    assert faults(verify(replace(chain, links=links))) == [(Fault.MISSING, f"op-{index}", None)]


@given(data=st.data(), length=st.integers(2, 12))
def test_verify_finds_the_closed_gap_when_a_receipt_was_removed_and_the_rest_renumbered(data, length):
    chain, index = whole_chain(length), data.draw(st.integers(0, length - 2))
    rest = without(chain, index).links
    links = tuple(replace(link, position=number) for number, link in enumerate(rest, start=1))

    found = verify(replace(chain, links=links, head=Head(length=length - 1, link=chain.head.link)))

    assert (Fault.LINK_WRONG, f"op-{index + 1}", index + 1) in faults(found)


@given(data=st.data(), length=st.integers(2, 12), what=st.sampled_from(["places", "places_and_links", "receipts"]))
def test_verify_names_both_when_two_receipts_were_swapped(data, length, what):
    chain = whole_chain(length)
    one, two = data.draw(st.lists(st.integers(0, length - 1), min_size=2, max_size=2, unique=True))
    fields = {
        "places": ("position",),
        "places_and_links": ("position", "link"),
        "receipts": ("body", "digest"),
    }[what]
    first, second = chain.links[one], chain.links[two]
    swapped = with_link(chain, one, **{name: getattr(second, name) for name in fields})
    swapped = with_link(swapped, two, **{name: getattr(first, name) for name in fields})

    assert {f"op-{one}", f"op-{two}"} <= named(verify(swapped))


@given(data=st.data(), length=LENGTHS, shifts=st.booleans(), fits=st.booleans(), name=st.sampled_from(["a", "z"]))
def test_verify_names_the_forged_when_a_receipt_was_put_in(data, length, shifts, fits, name):
    """Whether it fits behind the one before it, and whether those behind it were moved on with the head."""
    chain, place = whole_chain(length), data.draw(st.integers(1, length + 1))
    before = genesis("p", "r") if place == 1 else chain.links[place - 2].link
    body = body_of(99, operation=name)
    link = follow(before, digest_of(body)) if fits else OTHER
    forged = Link(position=place, operation_id=name, body=body, digest=digest_of(body), link=link)
    moved = int(shifts and place <= length)
    rest = [replace(link, position=link.position + moved * (link.position >= place)) for link in chain.links]
    head = Head(length=length + moved, link=chain.head.link)

    assert name in named(verify(replace(chain, links=(*rest, forged), head=head)))


@given(data=st.data(), length=st.integers(2, 12))
def test_verify_names_the_places_when_the_tail_was_cut(data, length):
    chain, kept = whole_chain(length), data.draw(st.integers(1, length - 1))
    [found] = verify(replace(chain, links=chain.links[:kept]))

    assert (found.fault, found.position) == (Fault.MISSING, kept + 1)


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        (None, Fault.HEAD_MISSING),
        (Head(length=3, link=OTHER), Fault.HEAD_WRONG),
        (Head(length=2, link=OTHER), Fault.BEYOND_HEAD),
    ],
    ids=["gone", "another-link", "shorter"],
)
def test_verify_says_so_when_the_head_was_altered(head, fault):
    assert fault in [finding.fault for finding in verify(replace(whole_chain(3), head=head))]


def row(**fields):
    told = {"project": "p", "run": "r", "step": "s", "agent": "a", "call": "c", "tool": "t", "arguments_sha256": "0"}
    return {**told, "state": "completed", "sent": "sent", **fields}


@pytest.mark.parametrize(
    ("field", "value"),
    [("state", "failed"), ("code", "tls_error"), ("sent", "not_sent"), ("agent", "b"), ("call", "d"), ("run", "q")],
)
def test_verify_names_the_operation_when_its_row_says_something_else(field, value):
    told = row(code=None)
    chain = chain_of([body_of(0, error=None, **{k: v for k, v in told.items() if k != "code"})])
    assert verify(with_link(chain, 0, row=Row(**told))) == ()

    [found] = verify(with_link(chain, 0, row=Row(**(told | {field: value}))))

    assert (found.fault, found.operation_id) == (Fault.ROW_DIFFERS, "op-0")
    assert field in found.words


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("[]", Fault.UNREADABLE),
        ("{", Fault.UNREADABLE),
        ("[" * 100_000, Fault.UNREADABLE),
        ('{"a":NaN}', Fault.UNREADABLE),
        ('{"a":1e999}', Fault.UNREADABLE),
        ('{"b":1,"a":2}', Fault.NOT_CANONICAL),
        ('{"a": 1}', Fault.NOT_CANONICAL),
        ('{"a":1,"a":1}', Fault.NOT_CANONICAL),
        ('{"a":1.0}', Fault.NOT_CANONICAL),
        ('{"a":9007199254740993}', Fault.NOT_CANONICAL),
        ('{"a":"\\u0041"}', Fault.NOT_CANONICAL),
    ],
)
def test_verify_says_so_when_the_bytes_are_no_canonical_object(body, fault):
    assert fault in [finding.fault for finding in verify(chain_of([body]))]


def test_genesis_is_another_when_the_run_or_the_project_is():
    starts = {genesis(project, run) for project in ("p", "q") for run in ("r", 'r","x":"')}
    assert len(starts) == 4
    assert genesis("p", "r") == digest_of(canonical({"run": "r", "project": "p", "chain": "outrider/1"}))
