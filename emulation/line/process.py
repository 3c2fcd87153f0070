"""The line's process: one for a trial, asked over its standard input, answering a line for each question.

The first line is a request: profile, stations and their MAC addresses, seed, durations, and where the ports are.
Then words, a line each: `counts`, `renumber`, `start <ns>`.  It ends when its standard input does.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import ExitStack
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict
from pyroute2 import IPRoute

from emulation import linkplan
from emulation.accesspoint import Ports
from emulation.line.layout import Line
from emulation.line.loop import Loop
from emulation.line.system import awake, first_in_line
from emulation.line.taps import taps
from emulation.namespace import KernelError, enter
from emulation.profile import LinkProfile

# Below what a trial's own watchers have would not do: they wait, and frames do not.
_PRIORITY = 10


class Request(BaseModel):
    """What the line's process is told.  ports: a station's port; macs: its MAC address, as hexadecimal digits."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: LinkProfile
    stations: tuple[str, ...]
    seed: int
    seconds: float
    timeline_s: float
    pid: int
    ports: dict[str, str]
    wired: str
    macs: dict[str, str]

    def plan(self) -> linkplan.LinkPlan:
        """The plan, the same as its owner's."""
        return linkplan.plan(
            self.profile, self.stations, seed=self.seed, seconds=self.seconds, timeline_s=self.timeline_s
        )

    @classmethod
    def of(cls, plan: linkplan.LinkPlan, ports: Ports, macs: dict[str, str], **said: Any) -> Request:
        """What to tell for a plan."""
        return cls(profile=plan.profile, pid=ports.pid, ports=ports.stations, wired=ports.wired, macs=macs, **said)


class Served:
    """Answers questions about a line that runs."""

    def __init__(self, line: Line, given: int) -> None:
        self._line, self._given = line, given
        self._text = b""
        self.loop: Loop

    def told(self) -> bool:
        """Read what there is to read; False when its owner has gone."""
        data = os.read(self._given, 65_536)
        if not data:
            return False
        *lines, self._text = (self._text + data).split(b"\n")
        for one in lines:
            word, *rest = one.decode().split()
            answer: dict[str, Any] = {}
            if word == "counts":
                answer = self._counts()
            elif word == "renumber":
                self._line.renumber()
            elif word == "start":
                self.loop.start(int(rest[0]))
            say(answer)
        return True

    def _counts(self) -> dict[str, Any]:
        tally = self.loop.tally
        late = np.asarray(tally.late_ns, dtype=np.int64)
        tally.late_ns.clear()
        return {
            "queues": {
                name: [air.sent, air.sent_bytes, air.overflowed, air.backlog_bytes()]
                for name, air in self._line.airs.items()
            },
            "losses": {name: [one.seen, one.dropped, one.dark] for name, one in self._line.lists.items()},
            "late_ns": [*np.percentile(late, (50, 99, 99.9, 100)).tolist()] if len(late) else [],
            "given_out": len(late),
            "read": tally.read,
            "refused": tally.refused,
            "too_large": tally.too_large,
            "wakes": tally.wakes,
            "played": tally.played,
        }


def say(answer: dict[str, Any]) -> None:
    """Send a line of answer."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until standard input ends; a line with `error` says why there was nothing to serve."""
    request = Request.model_validate_json(sys.stdin.buffer.readline())
    plan = request.plan()
    try:
        with ExitStack() as stack:
            enter(request.pid)
            ip = stack.enter_context(IPRoute())
            line = Line(plan, {name: bytes.fromhex(mac) for name, mac in request.macs.items()}, seed=request.seed)
            handles = stack.enter_context(taps(ip, [request.wired, *(request.ports[name] for name in request.macs)]))
            slept = stack.enter_context(awake())
            problem = first_in_line(_PRIORITY)
            if problem:
                raise KernelError(problem)
            served = Served(line, sys.stdin.fileno())
            served.loop = Loop(line, handles, sys.stdin.fileno(), served.told)
            gc.collect()
            gc.freeze()
            gc.disable()
            say({"ready": True, "awake": slept})
            served.loop.run()
    except KernelError as error:
        say({"error": str(error)})
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
