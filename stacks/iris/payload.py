"""What a message carries, sealed once where it begins and opened once where it ends.  Pure, but for the keys drawn.

As in the original, each message has a key of its own, which its header has.  Who passes a message on seals only the
header anew, with the session's key.
"""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stacks.iris.frames import SECRET_BYTES, Message, lasting

# From so many bytes on.  What is smaller travels with its header, where a key of its own would cost more than it saves.
BULK_BYTES = 4096
_NONCE = bytes(12)  # always the same: a key seals one message


class PayloadError(ValueError):
    """What has come is not what its sender has sealed, or belongs to another message."""


def sealed(message: Message) -> Message:
    """A message with its data under a key of its own, bound to what its header keeps on the way."""
    secret = os.urandom(SECRET_BYTES)
    data = AESGCM(secret).encrypt(_NONCE, message.data, lasting(message))
    return message._replace(data=data, secret=secret)


def opened(message: Message) -> Message:
    """What was sealed; PayloadError where it is damaged or another message's."""
    try:
        data = AESGCM(message.secret).decrypt(_NONCE, message.data, lasting(message))
    except (InvalidTag, ValueError) as error:
        raise PayloadError(f"{len(message.data)} bytes are not what their header is of") from error
    return message._replace(data=data, secret=b"")


def beginning(secret: bytes, data: bytes, size: int) -> bytes:
    """The first bytes of sealed data, for who only watches: that they are its sender's is not shown.

    NIST SP 800-38D, section 7.1: data is encrypted in counter mode from the second block on.
    """
    counter = modes.CTR(_NONCE + (2).to_bytes(4, "big"))
    return Cipher(algorithms.AES(secret), counter).decryptor().update(data[:size])
