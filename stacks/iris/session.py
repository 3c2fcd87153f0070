"""An authenticated, encrypted session between two nodes, over any ordered stream of bytes.  Sans IO.

On the stream: records of two bytes of length and a message of Noise; both handshake messages are records as well.  In
the records, one after the other and regardless of where they end: frames of four bytes of length and a body.

What is sealed already is not sealed once more: the rest of such a body follows the record in which its frame ends, in
the order of frames, as it is.  Its length is in that record, and so is the key that it is sealed with (`payload`).  Who
changes it on the way cannot make it anything that opens, and who takes or adds bytes makes the next record none.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable

from stacks.iris.noise import TAG, Cipher, Handshake, NoiseError

REKEY_EVERY = 1 << 22  # records
MAX_FRAME = 16 * 1024 * 1024 + 4096  # a message of a client's at its largest, with its header
_HELLO = 1024  # bytes of a handshake message, at most: whoever sends it is not known yet
# Of a record that is sent, at most: whoever has to wait for the whole of it, over a slow link, has it soon.
_PLAIN = 16 * 1024 - TAG
_RECORD, _FRAME, _BESIDE = struct.Struct("!H"), struct.Struct("!I"), struct.Struct("!II")
_GOES_ON = 1 << 31  # in a frame's length, which counts only what is in records: the length of the rest comes next


class SessionError(ValueError):
    """The peer is not one of ours, or something on the way changed what it sent; the session is over."""


class Session:
    """One side of a session.

    hello: what the other side learns in the handshake.  network: the name both have to agree on, which never travels.
    peer: the other side's hello, None before it came.  established: whether the other side has shown, in this very
    session, that it has the key.  records: how many have been opened.
    """

    def __init__(
        self, *, initiator: bool, key: bytes, network: str, hello: bytes, rekey_every: int = REKEY_EVERY
    ) -> None:
        self.peer: bytes | None = None
        self.established = False
        self.records = 0
        self._hello, self._rekey_every = hello, rekey_every
        self._handshake: Handshake | None = Handshake(initiator=initiator, psk=key, prologue=_prologue(network))
        self._sends: Cipher | None = None
        self._receives: Cipher | None = None
        self._plain, self._wanted = bytearray(), 0  # a frame that goes on in the next record; its bytes, at least
        self._coming = deque[tuple[bytes, int]]()  # frames, and how many bytes of each come beside the records
        self._pieces: list[bytes | memoryview] = []  # of what is not whole yet: a record, or a rest
        self._held = self._need = 0
        self._out: list[bytes] = []
        self._beside: list[bytes] = []  # what comes behind the record that these make
        self._groups: list[tuple[bytes, list[bytes]]] = []  # such records and what is beside them, in order
        self._gathered = 0  # bytes of _out
        self._clear = b""
        self.queued_bytes = 0
        if initiator:
            self._clear = _record(self._handshake.write(hello))

    @property
    def in_a_record(self) -> bool:
        """Whether the last bytes are of a record that is not whole yet."""
        return bool(self._pieces) and not self._coming

    def send(self, *parts: bytes, beside: bytes = b"") -> None:
        """Have a frame go out with the next `outgoing`; its body is the parts, one behind the other.

        beside: the rest of the body, which is sealed already and goes as it is.
        """
        size = sum(map(len, parts))
        length = _BESIDE.pack(size | _GOES_ON, len(beside)) if beside else _FRAME.pack(size)
        if (beside or self._beside) and self._gathered + len(length) + size > _PLAIN:
            self._next()  # what comes beside a record follows it, so all its frames are in that one
        self._out.append(length)
        self._out += parts
        self._gathered += len(length) + size
        self.queued_bytes += len(length) + size + len(beside)
        if beside:
            self._beside.append(beside)

    def outgoing(self) -> list[bytes | bytearray]:
        """What has to go onto the stream now: frames that wait are gathered in as few records as they fit into."""
        written: list[bytes | bytearray] = []
        if self._clear:
            written.append(self._clear)
            self._clear = b""
        if self._sends is not None and self._out:
            self._next()
            for plain, beside in self._groups:
                written.append(self._sealed(self._sends, plain))
                written += beside
            self._groups.clear()
            self.queued_bytes = 0
        return written

    def _next(self) -> None:
        """What comes from now on goes behind what comes beside the records of what has gathered."""
        self._groups.append((b"".join(self._out), self._beside))
        self._out.clear()
        self._beside, self._gathered = [], 0

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that are whole with these bytes; SessionError when the session is over."""
        found: list[bytes] = []
        at = 0
        if self._pieces:
            self._pieces.append(data)
            self._held += len(data)
            if self._held < self._need:
                return found
            if self._coming:
                at = len(data) - (self._held - self._need)
                self._pieces[-1] = memoryview(data)[:at]
                found.append(b"".join((self._coming.popleft()[0], *self._pieces)))
            else:
                data = b"".join(self._pieces)
            self._pieces.clear()
        try:
            self._records(data, at, found)
        except NoiseError as error:
            raise SessionError(str(error)) from error
        return found

    def _records(self, data: bytes, at: int, found: list[bytes]) -> None:
        """Take all that is whole from `at` on, and keep the rest."""
        view, end = memoryview(data), len(data)
        while True:
            if self._coming:
                head, need = self._coming[0]
                if end - at < need:
                    break
                found.append(b"".join((head, view[at : at + need])))
                self._coming.popleft()
            else:
                need = _RECORD.size
                if end - at < need:
                    break
                need += _RECORD.unpack_from(data, at)[0]
                if need > _RECORD.size + _HELLO and self._handshake is not None:
                    raise SessionError(
                        f"a handshake message of {need - _RECORD.size} bytes, where {_HELLO} are allowed"
                    )
                if end - at < need:
                    break
                self._read(view[at + _RECORD.size : at + need], found)
            at += need
        if at < end:
            self._pieces.append(view[at:])
            self._held, self._need = end - at, need

    def _read(self, message: memoryview, found: list[bytes]) -> None:
        if self._receives is None:
            self._shake(message)
        else:
            plain = self._receives.open(message)
            self.established = True
            self.records += 1
            self._frames(plain, found)

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

    def _frames(self, plain: bytes, found: list[bytes]) -> None:
        if self._plain:
            self._plain += plain
            if len(self._plain) < self._wanted:
                return
            plain = bytes(self._plain)
            self._plain.clear()
        at, end = 0, len(plain)
        while end - at >= _FRAME.size:
            (size,) = _FRAME.unpack_from(plain, at)
            start, rest = at + _FRAME.size, 0
            if goes_on := size & _GOES_ON:
                if end - at < _BESIDE.size:
                    self._wanted = _BESIDE.size
                    break
                size, rest = size ^ _GOES_ON, _BESIDE.unpack_from(plain, at)[1]
                start = at + _BESIDE.size
            if size + rest > MAX_FRAME:
                raise SessionError(f"a frame of {size + rest} bytes, where {MAX_FRAME} are allowed")
            if end - start < size:
                self._wanted = start + size - at
                break
            at = start + size
            if goes_on or self._coming:
                self._coming.append((plain[start:at], rest))
            else:
                found.append(plain[start:at])
        else:
            self._wanted = _FRAME.size
        self._plain += plain[at:]

    @staticmethod
    def _sealed(cipher: Cipher, plain: bytes) -> bytes | bytearray:
        if len(plain) <= _PLAIN:
            return _record(cipher.seal(plain))
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
    return b"airwire iris 2\0" + network.encode()
