"""The cipher of sealed requests: what our own clients ask for, unreadable on its way and at rest.

AES-256-GCM with a random nonce of 96 bits. The deployment's first key seals and all of its keys open, so that a key is
replaced by putting a new one in front. A seal is bound to its operation: moved to another row, it does not open.
"""

import json
import os
from dataclasses import astuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from schemas.errors import RequestUnreadable
from schemas.operation import Binding

Keys = tuple[bytes, ...]

FORM = b"\x01"  # the layout below; another one gets another first byte
_NONCE_BYTES = 12  # NIST SP 800-38D: 2^32 seals under one key before a random nonce is likely to meet itself


def seal(keys: Keys, plain: bytes, binding: Binding) -> bytes:
    """The sealed form. Shape: form byte, nonce, ciphertext with its tag."""
    nonce = os.urandom(_NONCE_BYTES)
    return FORM + nonce + AESGCM(keys[0]).encrypt(nonce, plain, _bound(binding))


def unseal(keys: Keys, sealed: bytes, binding: Binding) -> bytes:
    """The plain form. Raises: RequestUnreadable when no key opens it, or it is not this operation's."""
    form, nonce, body = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    if form == FORM:
        for key in keys:
            try:
                return AESGCM(key).decrypt(nonce, body, _bound(binding))
            except (InvalidTag, ValueError):
                continue
    raise RequestUnreadable("The accepted request does not open with the keys of this worker.", keys=len(keys))


def _bound(binding: Binding) -> bytes:
    return json.dumps(["outrider/request/1", *astuple(binding)]).encode()
