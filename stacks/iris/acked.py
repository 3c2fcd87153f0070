"""Tunnels over the overlay, as in section 4.2 of Szilágyi (2014): what is sent is numbered, every packet is
acknowledged, and only so many may be without an acknowledgement.  Nothing is sent again: what is lost ends the tunnel.
Pure.

Each end says every STALLED_S / 3 how much it has sent.  That comes behind it, on the same way: who misses some of it
for STALLED_S more will never have it.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable

from stacks.iris.ends import GONE, GRANT_BYTES, REPAY_BYTES, STALLED_S, End, Packet, Tell
from stacks.iris.frames import Kind

WINDOW = 256  # packets without an acknowledgement

_PACKET = struct.Struct("!QQI")  # the sender's number of the tunnel, the packet's; as Packet.size
_WORD = struct.Struct(
    "!QQQ"
)  # of Kind.ACK: the sender's number of the tunnel, what it has handed over, what it has sent
_NUMBER = struct.Struct("!Q")  # of Kind.ACK as well: what was handed over, and no more
_AT_ONCE = 2**64 - 1  # of Kind.CLOSE: without what may be under way

AT_ONCE = _NUMBER.pack(_AT_ONCE)


def first_chunk(packet: bytes) -> bytes:
    """What of a packet of Kind.DATA a message begins with; b"" where it is another chunk than the first."""
    if len(packet) < _PACKET.size or not _PACKET.unpack_from(packet)[2]:
        return b""
    return packet[_PACKET.size :]


class Acked(End):
    """One end.  say: to the other end.  heard: when something came last from the other end's node.  number: by which
    the other end calls this one.  ack_every: after so many packets there is an acknowledgement.
    """

    def __init__(
        self,
        connection: int,
        id: int,
        tell: Tell,
        on_over: Callable[[], None],
        *,
        say: Callable[[Kind, bytes], None],
        heard: Callable[[], float],
        clock: Callable[[], float],
        number: int,
        ack_every: int,
    ) -> None:
        super().__init__(connection, id, tell, on_over, clock=clock)
        self._say, self._heard, self._number, self._ack_every = say, heard, number, ack_every
        self._waiting: deque[Packet] = deque()
        self._unacked: deque[int] = deque()
        self._sent = self._acked = 0
        self._closing = self._closed = self._pumping = False
        self._early: dict[int, Packet] = {}
        self._expected = self._handed = self._told = self._untold_bytes = 0
        self._last: int | None = None
        self._promised, self._promised_at = 0, self._heard_at  # what the other end has sent, and since when it says so

    @property
    def done(self) -> bool:
        """Whether all has been sent that the application had for it, or nobody wants it."""
        return self.over and (self._closed or not self._closing)

    def begin(self) -> None:
        """Let the application send."""
        self._grant(GRANT_BYTES)

    def arrived(self, kind: Kind, data: bytes) -> None:
        """Something of the other end; struct.error where it is too short."""
        self._heard_at = self._clock()
        if kind is Kind.DATA:
            self._take(data)
        elif kind is Kind.ACK:
            if len(data) < _WORD.size:
                self._acknowledged(_NUMBER.unpack_from(data)[0])
            else:
                _, handed, sent = _WORD.unpack_from(data)
                self._hear_of(sent)
                self._acknowledged(handed)
        elif (last := _NUMBER.unpack_from(data)[0]) != _AT_ONCE:
            self._last = last
            self._hear_of(last)  # who closes says no more words
            self._give()
        elif self.over:
            self._stop()
        elif self._last is None:  # else it has closed in order, and this answers what it could not take any more
            self._end(GONE)

    def _hear_of(self, sent: int) -> None:
        """So many packets the other end has sent: what is missing of them for long is lost."""
        if self._expected >= self._promised:
            self._promised, self._promised_at = sent, self._heard_at

    def close(self) -> None:
        """The application closes the tunnel, behind what it has sent, for which this end stays as long as it takes."""
        self._closing = True
        self._pump()
        if not self.over:
            self._end("")

    def leave(self) -> None:
        """The application has gone."""
        self._say(Kind.CLOSE, AT_ONCE)
        self._forget()

    def tend(self, now: float) -> None:
        """Acknowledge what is left over; give up where the other end is gone, or something is lost.

        Either end says what it knows every STALLED_S / 3.
        """
        self._give()
        self._repay(1)
        if not self.over and self._expected == self._last:
            return
        self._acknowledge(1)
        if max(self._heard_at, self._heard()) < now - STALLED_S:
            self._give_up(f"no word of the other end for {STALLED_S:g} s")
        elif self._expected < self._promised and self._promised_at < now - STALLED_S:
            self._give_up("something was lost on the way")
        elif now - self._said_at > STALLED_S / 3:
            self._said_at, self._told, self._untold_bytes = now, self._handed, 0
            self._say(Kind.ACK, _WORD.pack(self._number, self._handed, self._sent))

    def _give_up(self, why: str) -> None:
        self._say(Kind.CLOSE, AT_ONCE)
        if self.over:
            self._stop()
        else:
            self._end(why)

    def _stop(self) -> None:
        """Nobody takes what the application has left behind."""
        self._waiting.clear()
        self._closed = True
        self._on_over()

    def _push(self, packet: Packet) -> None:
        self._waiting.append(packet)
        self._pump()

    def _pump(self) -> None:
        """Send what the window has room for.  On one node both ends answer before `say` returns."""
        if self._pumping:
            return
        self._pumping = True
        while self._waiting and self._sent - self._acked < WINDOW:
            size, data = self._waiting.popleft()
            self._unacked.append(len(data))
            self._sent += 1
            self._say(Kind.DATA, _PACKET.pack(self._number, self._sent - 1, size) + data)
        self._pumping = False
        if self._closing and not self._waiting and not self._closed:
            self._closed = True
            self._say(Kind.CLOSE, _NUMBER.pack(self._sent))
            if self.over:
                self._on_over()

    def _acknowledged(self, up_to: int) -> None:
        if not self._acked < up_to <= self._sent:
            return
        for _ in range(up_to - self._acked):
            self._owed += self._unacked.popleft()
        self._acked = up_to
        self._repay(REPAY_BYTES)
        self._pump()

    def _take(self, packet: bytes) -> None:
        _, at, size = _PACKET.unpack_from(packet)
        if not self._expected <= at < self._handed + WINDOW:
            return
        self._early[at] = Packet(size, packet[_PACKET.size :])
        while (found := self._early.pop(self._expected, None)) is not None:
            self._expected += 1
            self._ready.append(found)
        self._give()

    def _give(self) -> None:
        if self.over:  # nobody wants it any more, and who sends it has to go on
            while self._ready:
                self._given(len(self._ready.popleft().data))
            return
        super()._give()
        if self._handed == self._last and not self.over:
            self._end("")

    def _given(self, size: int) -> None:
        self._handed += 1
        self._untold_bytes += size
        # Large chunks may be all that who sends them was granted, long before there are `ack_every`.
        self._acknowledge(1 if self._untold_bytes >= REPAY_BYTES else self._ack_every)

    def _acknowledge(self, least: int) -> None:
        if self._handed - self._told >= least:
            self._told, self._untold_bytes = self._handed, 0
            self._say(Kind.ACK, _NUMBER.pack(self._handed))


def sender(data: bytes) -> int:
    """The sender's own number of the tunnel that Kind.DATA or Kind.ACCEPT is of; struct.error where it is too short."""
    return int(_NUMBER.unpack_from(data)[0])


def asks(kind: Kind, data: bytes) -> bool:
    """Whether who sends this has to know where there is no such tunnel; it then says its number (`sender`)."""
    return kind is Kind.DATA or (kind is Kind.ACK and len(data) >= _WORD.size)


def accepted(number: int) -> bytes:
    """The data of Kind.ACCEPT."""
    return _NUMBER.pack(number)
