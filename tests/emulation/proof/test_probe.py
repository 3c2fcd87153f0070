"""When a probe stops waiting: at silence, but not at a silence that this machine's stall made."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any, cast

from emulation.proof.probe import ProbePath

WAIT_S, STALL_S = 0.02, 0.06
_NUMBER, _STAMP = struct.Struct("!QQ"), struct.Struct("qq")


class Receiver:
    """A socket on which these happen, one after another: silence of so many seconds, or a numbered packet."""

    def __init__(self, happens: Sequence[float | int]) -> None:
        self.left = list(happens)

    def settimeout(self, seconds: float) -> None:
        assert seconds == WAIT_S

    def gettimeout(self) -> float:
        return WAIT_S

    def recvmsg(self, *_: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, None]:
        match self.left.pop(0):
            case int(number):
                return _NUMBER.pack(number, 0), [(0, 0, _STAMP.pack(1, number))], 0, None
            case seconds:
                time.sleep(seconds)
                raise TimeoutError


def collected(*happens: float | int) -> tuple[list[int], list[float | int]]:
    """Numbers of the packets that were collected of three sent, and what had not happened by then."""
    receiver = Receiver(happens)
    path = ProbePath(cast(Any, None), cast(socket.socket, receiver))
    path.wait(WAIT_S)
    path.sent = 3
    return path.collect(3).number.tolist(), receiver.left


def test_the_last_packet_is_the_end() -> None:
    assert collected(0, 1, 2, WAIT_S) == ([0, 1, 2], [WAIT_S])


def test_silence_is_the_end(monkeypatch: Any) -> None:
    monkeypatch.setattr("emulation.proof.probe._STALL_S", 10.0)
    assert collected(0, WAIT_S, 2) == ([0], [2])


def test_a_stall_is_not_silence() -> None:
    assert collected(0, STALL_S, 1, STALL_S, 2) == ([0, 1, 2], [])


def test_a_machine_that_only_stalls_is_not_waited_for_for_ever() -> None:
    assert collected(0, *[STALL_S] * 4, 1) == ([0], [1])
