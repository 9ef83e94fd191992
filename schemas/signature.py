"""Signatures of exported chains: Ed25519 (RFC 8032) over the file's first line, which covers the rest.

The first line names project, run, length and head; the head covers every link, and each link its receipt.
"""

from base64 import b64decode, b64encode
from dataclasses import replace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from schemas.chain import Chain, Signature, statement


def sign(chain: Chain, pem: bytes) -> Chain:
    """The chain with its signature. Raises: ValueError, which tells nothing of the key, when it is no such key."""
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):  # TypeError: it has a password
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("the key is not an Ed25519 private key in PEM without a password")  # noqa: TRY004 - a file's content
    made = key.sign(statement(chain).encode())
    public = key.public_key().public_bytes_raw()
    return replace(chain, signature=Signature(key=b64encode(public).decode(), signature=b64encode(made).decode()))


def is_right(chain: Chain) -> bool:
    """Whether the chain's signature was made for it, by the key that it names."""
    if chain.signature is None:
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(b64decode(chain.signature.key, validate=True))
        key.verify(b64decode(chain.signature.signature, validate=True), statement(chain).encode())
    except (ValueError, InvalidSignature):
        return False
    return True
