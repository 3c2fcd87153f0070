"""The handshake Noise_NNpsk0_25519_AESGCM_SHA256 and its ciphers.  Pure, but for the ephemeral keys that are drawn.

The Noise Protocol Framework, revision 34: sections 5 (objects), 9 (pre-shared keys), 11.3 (rekey), 12 (functions).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NAME = b"Noise_NNpsk0_25519_AESGCM_SHA256"
KEY, TAG, MOST = 32, 16, 65_535  # bytes of a key and of a tag; of a message, at most
_LAST_NONCE = 2**64 - 1


class NoiseError(ValueError):
    """A message is not from somebody who has the key, or not the next one."""


class Cipher:
    """One direction: every message has the next number as its nonce.

    rekey_every: after so many messages there is a new key.
    """

    def __init__(self, key: bytes, *, rekey_every: int = 0) -> None:
        self._key, self._number, self._rekey_every = AESGCM(key), 0, rekey_every

    def seal(self, plain: bytes | bytearray | memoryview, bound: bytes = b"") -> bytes:
        """The ciphertext with its tag.  bound: what is authenticated beside it."""
        nonce = self._nonce()  # first: it may bring the next key
        return self._key.encrypt(nonce, plain, bound)

    def seal_into(self, plain: bytes | bytearray | memoryview, into: memoryview) -> None:
        """The ciphertext with its tag, into room for just that."""
        nonce = self._nonce()
        self._key.encrypt_into(nonce, plain, None, into)

    def open(self, sealed: bytes | bytearray | memoryview, bound: bytes = b"") -> bytes:
        """What was sealed; NoiseError where it was not by this key, or is not the next message."""
        nonce = self._nonce()
        try:
            return self._key.decrypt(nonce, sealed, bound)
        except (InvalidTag, ValueError) as error:
            raise NoiseError("a message does not have the tag that it has to have") from error

    def rekey(self) -> None:
        """The next key, made of this one (section 11.3); numbers go on."""
        self._key = AESGCM(self._key.encrypt(_written(_LAST_NONCE), bytes(KEY), b"")[:KEY])

    def _nonce(self) -> bytes:
        number = self._number
        if number >= _LAST_NONCE:
            raise NoiseError("the cipher has no number left for another message")
        if self._rekey_every and number and number % self._rekey_every == 0:
            self.rekey()
        self._number = number + 1
        return _written(number)


class Handshake:
    """Both messages of NNpsk0: -> psk, e; <- e, ee.

    initiator: whether this side speaks first.  psk: the key of the network, 32 bytes.  prologue: what both sides have
    to agree on, which never travels.  draw: an ephemeral key.
    """

    def __init__(
        self,
        *,
        initiator: bool,
        psk: bytes,
        prologue: bytes,
        draw: Callable[[], X25519PrivateKey] = X25519PrivateKey.generate,
    ) -> None:
        self.initiator, self._draw = initiator, draw
        self._hash = self._chain = NAME.ljust(KEY, b"\0")  # a name of 32 bytes or fewer is not hashed
        self._cipher: Cipher | None = None
        self._own: X25519PrivateKey | None = None
        self._theirs: X25519PublicKey | None = None
        self._mix_hash(prologue)
        self._psk = psk

    @property
    def handshake_hash(self) -> bytes:
        """What identifies the session when the handshake is over (section 11.2)."""
        return self._hash

    def write(self, payload: bytes = b"") -> bytes:
        """This side's message."""
        if self.initiator:
            self._mix_key_and_hash(self._psk)
        self._own = self._draw()
        public = self._own.public_key().public_bytes_raw()
        self._mix_hash(public)
        self._mix_key(public)
        if not self.initiator:
            self._mix_shared()
        return public + self._seal(payload)

    def read(self, message: bytes | bytearray | memoryview) -> bytes:
        """The payload of the other side's message; NoiseError where it is not from somebody who has the key."""
        if len(message) < KEY + TAG:
            raise NoiseError(f"a handshake message has {len(message)} bytes, and needs at least {KEY + TAG}")
        public = bytes(message[:KEY])
        if not self.initiator:
            self._mix_key_and_hash(self._psk)
        self._theirs = X25519PublicKey.from_public_bytes(public)
        self._mix_hash(public)
        self._mix_key(public)
        if self.initiator:
            self._mix_shared()
        return self._open(bytes(message[KEY:]))

    def split(self, *, rekey_every: int = 0) -> tuple[Cipher, Cipher]:
        """The ciphers of what this side sends and of what it receives, when both messages have passed."""
        first, second = _derived(self._chain, b"", 2)
        of_initiator, of_responder = (Cipher(key, rekey_every=rekey_every) for key in (first, second))
        return (of_initiator, of_responder) if self.initiator else (of_responder, of_initiator)

    def _mix_hash(self, data: bytes) -> None:
        self._hash = hashlib.sha256(self._hash + data).digest()

    def _mix_key(self, material: bytes) -> None:
        self._chain, key = _derived(self._chain, material, 2)
        self._cipher = Cipher(key)

    def _mix_key_and_hash(self, material: bytes) -> None:
        self._chain, mixed, key = _derived(self._chain, material, 3)
        self._mix_hash(mixed)
        self._cipher = Cipher(key)

    def _mix_shared(self) -> None:
        assert self._own is not None
        assert self._theirs is not None
        try:
            self._mix_key(self._own.exchange(self._theirs))
        except ValueError as error:  # a point of low order
            raise NoiseError("the other side's ephemeral key gives no shared secret") from error

    def _seal(self, payload: bytes) -> bytes:
        assert self._cipher is not None
        sealed = self._cipher.seal(payload, self._hash)
        self._mix_hash(sealed)
        return sealed

    def _open(self, sealed: bytes) -> bytes:
        assert self._cipher is not None
        payload = self._cipher.open(sealed, self._hash)
        self._mix_hash(sealed)
        return payload


def _derived(chain: bytes, material: bytes, outputs: int) -> list[bytes]:
    """HKDF of section 4.3."""
    secret, found = hmac.digest(chain, material, "sha256"), [b""]
    for number in range(1, outputs + 1):
        found.append(hmac.digest(secret, found[-1] + bytes((number,)), "sha256"))
    return found[1:]


def _written(number: int) -> bytes:
    return number.to_bytes(12, "big")  # AES-GCM of section 12.4: 32 bits of zeros, then the number
