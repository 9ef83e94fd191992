"""X8 offline: an exported chain comes back as it was, or not at all; and a signature holds for one chain alone."""

from base64 import b64encode
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from schemas.chain import Head, Signature
from schemas.chain_file import NotAChain, export, parse
from schemas.findings import Fault, verify
from schemas.signature import sign
from tests.chains import body_of, chain_of, whole_chain, without


def pem_of(key, encryption=None):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = b64encode(KEY.public_key().public_bytes_raw()).decode()


def lines_of(chain):
    return [line.encode() for line in export(chain)]


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("signed", [False, True])
def test_parse_gives_the_chain_that_was_exported(length, signed):
    chain = whole_chain(length) if length else replace(whole_chain(0), head=None)
    chain = sign(chain, pem_of(KEY)) if signed else chain
    assert parse(lines_of(chain)) == chain


def test_parse_gives_odd_names_and_bodies_back():
    chain = chain_of([body_of(0, note="\u2028 \x7f \U0001f600 \\n")], project="\u00e9", run='"')
    assert parse(lines_of(chain)) == chain


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b""],
        [b"\xff"],
        [b"[]"],
        [b"[" * 100_000],
        [b'{"chain":"outrider/2","head":"","length":0,"project":"p","run":"r"}\n'],
        [b'{"chain":"outrider/1","head":"","length":true,"project":"p","run":"r"}\n'],
        [b'{"chain":"outrider/1","head":"","length":0,"project":"p","run":"\\ud800"}\n'],
        [b'{"chain":"outrider/1", "head":"","length":0,"project":"p","run":"r"}\n'],
    ],
    ids=["nothing", "empty", "no-utf-8", "a-list", "deep", "another-format", "true", "half-a-pair", "white-space"],
)
def test_parse_refuses_a_file_when_its_first_line_is_not_a_chains(lines):
    with pytest.raises(NotAChain, match="line 1"):
        parse(lines)


@pytest.mark.parametrize(
    "line",
    [b"\n", b"{}\n", b'{"body":"","digest":"","link":"","operation":"","position":1.5}\n', b'{"body":""}\n'],
)
def test_parse_refuses_a_file_when_a_later_line_is_no_receipts(line):
    with pytest.raises(NotAChain, match="line 3"):
        parse([*lines_of(whole_chain(1)), line])


def test_parse_refuses_a_file_when_something_stands_behind_the_signature():
    lines = lines_of(sign(whole_chain(2), pem_of(KEY)))
    for more in (lines[1], lines[-1]):
        with pytest.raises(NotAChain, match="line 5"):
            parse([*lines, more])


def test_verify_finds_nothing_when_the_signer_is_the_one_that_was_named():
    chain = sign(whole_chain(3), pem_of(KEY))
    assert (verify(chain), verify(chain, signer=PUBLIC)) == ((), ())


@pytest.mark.parametrize(
    "alter",
    [
        lambda chain: replace(chain, signature=None),
        lambda chain: sign(chain, pem_of(Ed25519PrivateKey.generate())),
        lambda chain: replace(chain_of([body_of(0, note="anew")]), signature=chain.signature),
        lambda chain: replace(without(chain, 2), head=Head(length=2, link=chain.links[1].link)),
        lambda chain: replace(chain, signature=Signature(key=PUBLIC, signature="AA==")),
        lambda chain: replace(chain, signature=Signature(key=PUBLIC, signature="\u00e9")),
        lambda chain: replace(chain, signature=Signature(key="AA==", signature=chain.signature.signature)),
    ],
    ids=["none", "another-key", "another-chain", "tail-cut", "no-signature", "no-base64", "no-key"],
)
def test_verify_finds_a_wrong_signature_when_the_chain_was_written_anew_and_its_signer_is_named(alter):
    """The rewriting that a chain alone cannot show: whole in itself, and not what the key signed."""
    chain = alter(sign(whole_chain(3), pem_of(KEY)))
    assert [finding.fault for finding in verify(chain, signer=PUBLIC)] == [Fault.SIGNATURE_WRONG]


@pytest.mark.parametrize(
    "pem",
    [b"", pem_of(generate_private_key(SECP256R1())), pem_of(KEY, BestAvailableEncryption(b"canary"))],
    ids=["nothing", "another-kind", "with-a-password"],
)
def test_sign_refuses_a_key_when_it_is_not_one_for_this(pem):
    with pytest.raises(ValueError, match="not an Ed25519 private key"):
        sign(whole_chain(1), pem)
