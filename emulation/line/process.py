"""The line's process: one for a link, asked over its standard input, answering a line for each question.

The first line is a Request.  Then words, a line each (see words): `counts`, `late`, `steps`, `renumber`, `start <ns>`,
`enter <number>` for a state of the plan, and `here`, to be answered.  It ends when its standard input does, and with a
line on standard error when it cannot go on.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import ExitStack

from emulation.kernel.namespace import KernelError, enter
from emulation.kernel.system import awake, first_in_line, tap, tap_name
from emulation.line import words
from emulation.line.layout import Line
from emulation.line.loop import Loop
from emulation.line.medium import WIRED
from emulation.line.request import Answer, Counts, Late, Ready, Request, Steps
from emulation.line.words import Word
from records.directions import DIRECTIONS

# Below it what a trial's own watchers have would not do: they wait, and frames do not.
_PRIORITY = 10


class Served:
    """Answers questions about a line that runs."""

    def __init__(self, line: Line, given: int, answers: int, *, text: bytes = b"") -> None:
        """given, answers: descriptors.  text: what has been read already."""
        self.line, self._given, self._answers = line, given, answers
        self._states = tuple(line.plan.states())
        self._text = text
        self.loop: Loop

    def told(self) -> bool:
        """Read what there is to read, and answer; False when its owner has gone."""
        data = os.read(self._given, 65_536)
        if not data:
            return False
        *lines, self._text = (self._text + data).split(b"\n")
        if len(self._text) > words.LONGEST:
            lines, self._text = [*lines, self._text], b""
        for one in lines:
            try:
                answer = self._answer(words.parse(one, states=len(self._states)))
            except ValueError as error:
                answer = Answer(error=str(error))
            say(self._answers, answer)
        return True

    def _answer(self, word: Word) -> Answer:
        if word.name == "counts":
            return self._counts()
        if word.name == "late":
            return self._late()
        if word.name == "steps":
            return Steps(played=self.loop.tally.played)
        if word.name == "renumber":
            self.line.renumber()
        elif word.name == "start":
            self.loop.start(word.number)
        elif word.name == "enter":
            self.line.enter(time.monotonic_ns(), self._states[word.number])
        return Answer()

    def _counts(self) -> Counts:
        self.loop.drain()
        line, read, now = self.line, self.loop.tally.read, time.monotonic_ns()
        line.medium.advance(now)
        return Counts(
            t_ns=now,
            queues={
                name: (air.sent, air.sent_bytes, air.overflowed, air.backlog_bytes()) for name, air in line.airs.items()
            },
            losses={name: (one.seen, one.dropped) for name, one in line.lists.items()},
            dark={
                way: sum(one.dark for one in line.lists.values() if one.losses.direction == way) for way in DIRECTIONS
            },
            read={"uplink": sum(read) - read[WIRED], "downlink": read[WIRED]},
        )

    def _late(self) -> Late:
        tally = self.loop.tally
        buckets, worst_ns = tally.late.taken()
        beats, worst_beat_ns = tally.beats.taken()
        return Late(
            buckets=buckets,
            worst_ns=worst_ns,
            beats=beats,
            worst_beat_ns=worst_beat_ns,
            refused=tally.refused,
            too_large=tally.too_large,
            largest=tally.largest,
            wakes=tally.wakes,
        )


def say(handle: int, answer: Answer) -> None:
    """Send a line of answer."""
    os.write(handle, answer.model_dump_json().encode() + b"\n")


def main() -> int:
    """Serve until standard input ends; the first answer says why there was nothing to serve."""
    loop: Loop | None = None
    given, answers = sys.stdin.fileno(), sys.stdout.fileno()
    try:
        first, rest = _first_line(given)
        request, line = _asked(first)
        with ExitStack() as stack:
            enter(request.pid)
            handles = [tap(tap_name(port)) for port in range(len(request.macs) + 1)]
            for handle in handles:
                stack.callback(os.close, handle)
            sleepless = stack.enter_context(awake())
            if problem := first_in_line(_PRIORITY):
                raise KernelError(problem)
            served = Served(line, given, answers, text=rest)
            served.loop = loop = Loop(line, handles, given, served.told)
            gc.collect()
            gc.freeze()
            gc.disable()
            say(answers, Ready(lists={one.name: one.digest for one in line.plan.losses}, awake=sleepless))
            loop.run()
    except KernelError as error:
        if loop is None:
            say(answers, Ready(error=str(error)))
        else:
            print(error, file=sys.stderr)
        return 1
    return 0


def _asked(text: bytes) -> tuple[Request, Line]:
    """KernelError when it asks for nothing that can be."""
    try:
        request = Request.model_validate_json(text)
        macs = {name: bytes.fromhex(mac) for name, mac in request.macs.items()}
        return request, Line(request.plan(), macs)
    except ValueError as error:
        raise KernelError(f"the line's process was asked for what cannot be: {error}") from error


def _first_line(handle: int) -> tuple[bytes, bytes]:
    """The first line, and what was read behind it."""
    found = b""
    while b"\n" not in found and (data := os.read(handle, 1 << 20)):
        found += data
    line, _, rest = found.partition(b"\n")
    return line, rest


if __name__ == "__main__":
    sys.exit(main())
