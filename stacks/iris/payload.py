"""What a message carries, sealed once where it begins and opened once where it ends.  Pure, but for the keys drawn.

As in the original, the header of a message has the key that it is sealed with.  Who passes it on seals only the header
anew, with the key of the session.
"""

from __future__ import annotations

import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stacks.iris.frames import SECRET_BYTES, FrameError, Message, lasting

# From so many bytes on.  What is smaller is sealed with its header: by itself it would take longer.
BULK_BYTES = 16 * 1024
RENEWED_EVERY = 1024  # so many are sealed with one key: who has been given it can open no more than these
_NUMBER_BYTES = 8
_KEY_BYTES = SECRET_BYTES - _NUMBER_BYTES
_ABOVE = bytes(12 - _NUMBER_BYTES)  # of a nonce, before the number
_REMEMBERED = 1024  # keys of others


class PayloadError(FrameError):
    """What has come is not what its sender has sealed, or belongs to something else."""


class Sealer:
    """Seals what begins at one place.

    Its key is drawn here, and the numbers of what is sealed with it rise: so there is no nonce twice.
    """

    def __init__(self) -> None:
        self._number = 0

    def sealed(self, message: Message) -> Message:
        """A message with its data sealed, and bound to what its header keeps on the way."""
        secret, data = self.seal(message.data, lasting(message))
        return _with(message, data, secret)

    def seal(self, data: bytes, bound: bytes) -> tuple[bytes, bytes]:
        """The secret that opens data, and the data sealed.  bound: what it belongs to."""
        if self._number % RENEWED_EVERY == 0:
            self._key, self._number = os.urandom(_KEY_BYTES), 0
            self._cipher = AESGCM(self._key)
        number = self._number.to_bytes(_NUMBER_BYTES, "big")
        self._number += 1
        return self._key + number, self._cipher.encrypt(_ABOVE + number, data, bound)


def opened(message: Message) -> Message:
    """What was sealed; PayloadError where it is damaged or another message's."""
    return _with(message, unsealed(message.secret, message.data, lasting(message)), b"")


def unsealed(secret: bytes, data: bytes | memoryview, bound: bytes) -> bytes:
    """What `Sealer.seal` was given; PayloadError where that was something else."""
    key, number = secret[:_KEY_BYTES], secret[_KEY_BYTES:]
    try:
        return _cipher(key).decrypt(_ABOVE + number, data, bound)
    except (InvalidTag, ValueError) as error:
        raise PayloadError(f"{len(data)} bytes are not what was sealed, or belong to something else") from error


@lru_cache(maxsize=_REMEMBERED)
def _cipher(key: bytes) -> AESGCM:
    return AESGCM(key)


def _with(message: Message, data: bytes, secret: bytes) -> Message:
    op, kind, key, origin, number, _, limit_ms, hops, in_tree, _ = message
    return Message(op, kind, key, origin, number, data, limit_ms, hops, in_tree, secret)


def beginning(secret: bytes, data: bytes, size: int) -> bytes:
    """The first bytes of sealed data, for who only watches: that they are its sender's is not shown.

    NIST SP 800-38D, section 7.1: data is encrypted in counter mode from the second block on.
    """
    key, number = secret[:_KEY_BYTES], secret[_KEY_BYTES:]
    counter = modes.CTR(_ABOVE + number + (2).to_bytes(4, "big"))
    return Cipher(algorithms.AES(key), counter).decryptor().update(data[:size])
