"""An authenticated, encrypted session between two nodes, over any ordered stream of bytes.  Sans IO.

On the stream: records of two bytes of length and a message of Noise; both handshake messages are records as well.  In
the records, one after the other and regardless of where they end: frames of four bytes of length and a body.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from stacks.iris.noise import MOST, TAG, Cipher, Handshake, NoiseError

REKEY_EVERY = 1 << 22  # records
MAX_FRAME = 16 * 1024 * 1024 + 4096  # a message of a client's at its largest, with its header
_HELLO = 1024  # bytes of a handshake message, at most: whoever sends it is not known yet
_PLAIN = MOST - TAG
_RECORD, _FRAME = struct.Struct("!H"), struct.Struct("!I")


class SessionError(ValueError):
    """The peer is not one of ours, or something on the way changed what it sent; the session is over."""


class Session:
    """One side of a session.

    hello: what the other side learns in the handshake.  network: the name both have to agree on, which never travels.
    peer: the other side's hello, None before it came.  established: whether the other side has shown, in this very
    session, that it has the key.
    """

    def __init__(
        self, *, initiator: bool, key: bytes, network: str, hello: bytes, rekey_every: int = REKEY_EVERY
    ) -> None:
        self.peer: bytes | None = None
        self.established = False
        self._hello, self._rekey_every = hello, rekey_every
        self._handshake: Handshake | None = Handshake(initiator=initiator, psk=key, prologue=_prologue(network))
        self._sends: Cipher | None = None
        self._receives: Cipher | None = None
        self._stream, self._plain = bytearray(), bytearray()
        self._out: list[bytes] = []
        self._clear = b""
        self.queued_bytes = 0
        if initiator:
            self._clear = _record(self._handshake.write(hello))

    def send(self, *parts: bytes) -> None:
        """Have a frame go out with the next `outgoing`; its body is the parts, one behind the other."""
        size = sum(map(len, parts))
        self._out.append(_FRAME.pack(size))
        self._out += parts
        self.queued_bytes += size + _FRAME.size

    def outgoing(self) -> bytes | bytearray:
        """What has to go onto the stream now: frames that wait are gathered in as few records as they fit into."""
        clear, self._clear = self._clear, b""
        if not self._out or self._sends is None:
            return clear
        plain = b"".join(self._out)
        self._out.clear()
        self.queued_bytes = 0
        return clear + self._sealed(self._sends, plain)

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that are whole with these bytes; SessionError when the session is over."""
        try:
            return [frame for message in self._records(data) for frame in self._read(message)]
        except NoiseError as error:
            raise SessionError(str(error)) from error

    def _records(self, data: bytes) -> Iterator[memoryview]:
        if self._stream:
            self._stream += data
            data = bytes(self._stream)
            self._stream.clear()
        view, at, end = memoryview(data), 0, len(data)
        while end - at >= _RECORD.size:
            (size,) = _RECORD.unpack_from(data, at)
            if not self.established and size > _HELLO and self._handshake is not None:
                raise SessionError(f"a handshake message of {size} bytes, where {_HELLO} are allowed")
            if end - at - _RECORD.size < size:
                break
            at += _RECORD.size
            yield view[at : at + size]
            at += size
        self._stream += view[at:]

    def _read(self, message: memoryview) -> list[bytes]:
        if self._receives is None:
            self._shake(message)
            return []
        plain = self._receives.open(message)
        self.established = True
        return self._frames(plain)

    def _shake(self, message: memoryview) -> None:
        shaking = self._handshake
        assert shaking is not None
        self.peer = shaking.read(message)
        if not shaking.initiator:
            self._clear = _record(shaking.write(self._hello))
        self._sends, self._receives = shaking.split(rekey_every=self._rekey_every)
        self._handshake = None
        # Who speaks first has heard an answer to its own ephemeral key.  The other may have heard an old message again,
        # and knows better with the first record.
        self.established = shaking.initiator

    def _frames(self, plain: bytes) -> list[bytes]:
        found: list[bytes] = []
        if self._plain:
            self._plain += plain
            if len(self._plain) < _FRAME.size + self._size(self._plain):
                return found
            plain = bytes(self._plain)
            self._plain.clear()
        at, end = 0, len(plain)
        while end - at >= _FRAME.size:
            (size,) = _FRAME.unpack_from(plain, at)
            if size > MAX_FRAME:
                raise SessionError(f"a frame of {size} bytes, where {MAX_FRAME} are allowed")
            if end - at - _FRAME.size < size:
                break
            at += _FRAME.size
            found.append(plain[at : at + size])
            at += size
        self._plain += plain[at:]
        return found

    @staticmethod
    def _size(plain: bytearray) -> int:
        return int(_FRAME.unpack_from(plain)[0]) if len(plain) >= _FRAME.size else 0

    @staticmethod
    def _sealed(cipher: Cipher, plain: bytes) -> bytearray:
        sealed = bytearray(_on_the_stream(len(plain)))
        source, into, at = memoryview(plain), memoryview(sealed), 0
        for start in range(0, len(plain), _PLAIN):
            piece = source[start : start + _PLAIN]
            size = len(piece) + TAG
            _RECORD.pack_into(sealed, at, size)
            cipher.seal_into(piece, into[at + _RECORD.size : at + _RECORD.size + size])
            at += _RECORD.size + size
        return sealed


def sealed_bytes(bodies: Iterable[int]) -> int:
    """How many bytes frames take on the stream that leave together.  bodies: how many each of them has."""
    return _on_the_stream(sum(size + _FRAME.size for size in bodies))


def _on_the_stream(plain_bytes: int) -> int:
    return plain_bytes + -(-plain_bytes // _PLAIN) * (_RECORD.size + TAG)


def _record(message: bytes) -> bytes:
    return _RECORD.pack(len(message)) + message


def _prologue(network: str) -> bytes:
    return b"airwire iris 1\0" + network.encode()
