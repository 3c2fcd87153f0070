"""Random numbers by packet number: the same on every machine, whatever else was asked for.  Pure."""

from __future__ import annotations

from hashlib import shake_128
from struct import Struct

WORDS = 8  # of 32 bits for each packet: one for each purpose, so that changing one setting moves no other's draws
_PACKETS = 256
_BLOCK = Struct(f"<{_PACKETS * WORDS}I")
TWO_32 = 1 << 32


class Draws:
    """The draws of one numbered sequence of packets.

    Those of packets 256 k to 256 k + 255 are the output of SHAKE-128 (FIPS 202) over `airwire-line-1|seed|name|k`, as
    little-endian 32-bit words, `WORDS` for each packet.
    """

    __slots__ = ("_block", "_name", "_seed", "_words")

    def __init__(self, seed: int, name: str) -> None:
        self._seed, self._name = seed, name
        self._block = -1
        self._words: tuple[int, ...] = ()

    def of(self, number: int) -> tuple[int, ...]:
        """The `WORDS` draws of a packet, each from 0 to 2^32 - 1."""
        block, place = divmod(number, _PACKETS)
        if block != self._block:
            text = f"airwire-line-1|{self._seed}|{self._name}|{block}"
            self._words = _BLOCK.unpack(shake_128(text.encode()).digest(_BLOCK.size))
            self._block = block
        return self._words[place * WORDS : (place + 1) * WORDS]


def threshold(share: float) -> int:
    """What a draw must stay below for something to happen in `share` of all packets."""
    return round(share * TWO_32)
