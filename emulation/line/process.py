"""The line's process: one for a trial, whatever number of links that has, asked over its standard input.

It reads words, a line each (see words), and answers a line for each.  `add <link> <request>` gives it a link: a
Request, whose devices it then makes.  `remove <link>` takes the link from it.  `counts`, `steps`, `renumber`,
`start <ns>` and `enter <number>`, for a state of the plan, name a link, too; `late` and `here`, to be answered, are
about the process.  It ends when its standard input does, and with a line on standard error when it cannot go on.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass

from emulation.kernel.namespace import KernelError, enter
from emulation.kernel.system import awake, first_in_line, tap, tap_name
from emulation.line import words
from emulation.line.alarm import Alarm
from emulation.line.layout import Line
from emulation.line.loop import Carried, Loop
from emulation.line.medium import WIRED
from emulation.line.request import Answer, Counts, Late, Ready, Request, Steps
from emulation.line.words import Word
from emulation.profile.timeline import LinkState
from records.directions import DIRECTIONS

# Below it what a trial's own watchers have would not do: they wait, and frames do not.
_PRIORITY = 10
# Room for more than the heap keeps would be mapped and locked at every word, while frames wait: for 1 MiB 0.5 ms.
_READ_BYTES = 1 << 16

Opened = Callable[[Request, ExitStack], tuple[list[int], bool]]


@dataclass(frozen=True, slots=True)
class _Link:
    """A link and what came with it.  owned: what is given back with the link."""

    carried: Carried
    states: tuple[LinkState, ...]
    owned: ExitStack


class Served:
    """Answers questions about links, and about the loop that carries them."""

    def __init__(self, given: int, answers: int, opened: Opened) -> None:
        """given, answers: descriptors.  opened: makes a link's ports, see `devices`."""
        self._given, self._answers, self._opened = given, answers, opened
        self._links: dict[str, _Link] = {}
        self._text = b""
        self.loop: Loop

    def told(self) -> bool:
        """Read what there is to read, and answer; False when its owner has gone."""
        data = os.read(self._given, _READ_BYTES)
        if not data:
            return False
        *lines, self._text = (self._text + data).split(b"\n")
        if len(self._text) > words.LONGEST and not words.gives_a_link(self._text):
            lines, self._text = [*lines, self._text], b""
        for one in lines:
            answer = self._given_link(one) if words.gives_a_link(one) else self._asked(one)
            os.write(self._answers, answer.model_dump_json().encode() + b"\n")
        return True

    def close(self) -> None:
        """Give back what the links have."""
        for name in list(self._links):
            self._remove(name)

    def _asked(self, line: bytes) -> Answer:
        try:
            word = words.parse(line, states={name: len(link.states) for name, link in self._links.items()})
        except ValueError as error:
            return Answer(error=str(error))
        return self._answer(word)

    def _given_link(self, line: bytes) -> Answer:
        try:
            return self._add(line)
        except (ValueError, OSError, KernelError) as error:
            return Answer(error=str(error))

    def _add(self, line: bytes) -> Ready:
        """Frames of other links wait meanwhile, and their lateness tells: links are there before a load begins."""
        name, text = words.new_link(line, there=self._links)
        try:
            request = Request.model_validate_json(text)
            macs = {station: bytes.fromhex(mac) for station, mac in request.macs.items()}
            plan = request.plan()
            made = Line(plan, macs)
        except ValueError as error:
            raise ValueError(f"the line's process was asked for what cannot be: {error}") from error
        with ExitStack() as stack:
            handles, sleepless = self._opened(request, stack)
            carried = Carried(name, made, handles)
            self.loop.add(carried)
            self._links[name] = _Link(carried, tuple(plan.states()), stack.pop_all())
        return Ready(lists={one.name: one.digest for one in plan.losses}, awake=sleepless)

    def _remove(self, name: str) -> None:
        link = self._links.pop(name)
        self.loop.remove(link.carried)
        link.owned.close()
        del link
        gc.collect()  # by hand, as nobody else does: a link is a ring of objects, and their memory is locked

    def _answer(self, word: Word) -> Answer:
        if word.name == "late":
            return self._late()
        if not word.link:
            return Answer()
        link = self._links[word.link]
        line = link.carried.line
        if word.name == "counts":
            return self._counts(link.carried)
        if word.name == "steps":
            return Steps(played=link.carried.tally.played)
        if word.name == "renumber":
            line.renumber()
        elif word.name == "start":
            link.carried.start(word.number)
        elif word.name == "enter":
            line.enter(time.monotonic_ns(), link.states[word.number])
        else:
            self._remove(word.link)
        return Answer()

    def _counts(self, link: Carried) -> Counts:
        self.loop.drain(link)
        line, read, now = link.line, link.tally.read, time.monotonic_ns()
        link.play(now, time.monotonic_ns)  # what leaves the air by now meets the state that it should
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
        tallies = [link.carried.tally for link in self._links.values()]
        buckets, worst_ns = self.loop.late.taken()
        beats, worst_beat_ns = self.loop.beats.taken()
        return Late(
            buckets=buckets,
            worst_ns=worst_ns,
            beats=beats,
            worst_beat_ns=worst_beat_ns,
            refused=sum(one.refused for one in tallies),
            too_large=sum(one.too_large for one in tallies),
            largest=max((one.largest for one in tallies), default=0),
            wakes=self.loop.wakes,
        )


def devices(request: Request, owned: ExitStack) -> tuple[list[int], bool]:
    """Descriptors of a link's ports, and whether the kernel could be asked that processors do not sleep deeply.

    The process stays in the access point's namespace that it entered last.  KernelError says what cannot be had.
    """
    enter(request.pid)
    handles = []
    for port in range(len(request.macs) + 1):
        handles.append(tap(tap_name(port)))
        owned.callback(os.close, handles[-1])
    sleepless = owned.enter_context(awake())
    if problem := first_in_line(_PRIORITY):
        raise KernelError(problem)
    return handles, sleepless


def main() -> int:
    """Serve until standard input ends."""
    served = Served(sys.stdin.fileno(), sys.stdout.fileno(), devices)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        with (
            closing(Alarm((sys.stdin.fileno(),), time.monotonic_ns())) as alarm,
            closing(served),
        ):
            served.loop = Loop(alarm, sys.stdin.fileno(), served.told)
            served.loop.run()
    except KernelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
