"""Transports and owners for the connections of a node, without a network."""

from __future__ import annotations

from collections.abc import Iterable


class Full:
    """A transport that nobody reads from.  waits: bytes in it.  written: what was given to it.  ended: whether nothing
    more may be.
    """

    def __init__(self, waits: int) -> None:
        self.waits, self.cut, self.ended = waits, False, False
        self.written: list[bytes] = []

    def get_write_buffer_size(self) -> int:
        return self.waits

    def is_closing(self) -> bool:
        return self.cut

    def abort(self) -> None:
        self.cut = True

    def writelines(self, pieces: Iterable[bytes]) -> None:
        assert not self.ended
        self.written += pieces

    def write_eof(self) -> None:
        self.ended = True

    def resume_reading(self) -> None:
        pass


class Busy:
    """What a link's owner does here: nothing.  at: what its clock says."""

    at = 0.0

    def flush_soon(self, link: object) -> None:
        pass

    def alive(self, link: object) -> None:
        pass

    def frames(self, link: object, frames: list[bytes]) -> None:
        pass

    def now(self) -> float:
        return self.at
