"""The line in force at an access point, as seen by a trial: its process, and what that answers."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel
from pyroute2 import IPRoute

from emulation.kernel.accesspoint import Ports, check_ports
from emulation.kernel.namespace import KernelError, in_namespace
from emulation.kernel.netlink import Netlink
from emulation.line import taps
from emulation.line.lateness import Lateness
from emulation.line.request import Answer, Counts, Late, Ready, Request, Steps
from emulation.plan.linkplan import LinkPlan, queues
from emulation.profile.timeline import LinkState
from emulation.tc import losstable
from emulation.tc.losstable import LossCount, StageCount
from emulation.tc.player import Played
from emulation.tc.queuecounts import QueueCount

_ROOT = Path(__file__).resolve().parents[2]
# A line goes before all others: it answers at once, however busy this machine is.
_BEGIN_LIMIT_S, _ANSWER_LIMIT_S, _END_LIMIT_S = 60.0, 5.0, 5.0
_LOOK_S = 0.5  # a stall of this machine takes one look's time, however long it is
M = TypeVar("M", bound=BaseModel)


class _Process:
    """The line's process, and a conversation with it."""

    def __init__(self, request: Request) -> None:
        self._lock = threading.Lock()
        self._text = b""
        self._over = ""
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", sys.executable, "-P", "-m", "emulation.line.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])},
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._first = request.model_dump_json().encode() + b"\n"

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def ready(self) -> Ready:
        """Wait until it has devices; KernelError says why it has none."""
        return self._asked(self._first, Ready, _BEGIN_LIMIT_S)

    def ask(self, word: str, kind: type[M]) -> M:
        """Ask with a line of words.

        KernelError when it says why it cannot answer, and when it has ended or does not answer: at once from then on.
        """
        return self._asked(word.encode() + b"\n", kind, _ANSWER_LIMIT_S)

    def end(self) -> None:
        """Have it end, by force if it does not by itself."""
        with self._lock:
            with suppress(BrokenPipeError):
                self._stdin.close()
            try:
                self._process.wait(0 if self._over else _END_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._stdout.close()
            self._stderr.close()
            self._over = self._over or f"the line's process (pid {self.pid}) was ended: its link has been taken off"

    def _asked(self, words: bytes, kind: type[M], limit_s: float) -> M:
        with self._lock:
            if self._over:
                raise KernelError(self._over)
            try:
                os.write(self._stdin.fileno(), words)
                answer = self._line(limit_s)
            except BrokenPipeError:
                self._over = self._ended()
            except TimeoutError:
                self._over = f"the line's process (pid {self.pid}) has not answered for {limit_s:g} s"
            if self._over:
                raise KernelError(self._over)
        if error := Answer.model_validate_json(answer).error:
            raise KernelError(error)
        return kind.model_validate_json(answer)

    def _line(self, limit_s: float) -> bytes:
        left, answers = round(limit_s / _LOOK_S), select.poll()
        answers.register(self._stdout, select.POLLIN)
        while b"\n" not in self._text:
            if not answers.poll(_LOOK_S * 1e3):
                left -= 1
                if not left:
                    raise TimeoutError
                continue
            data = os.read(self._stdout.fileno(), 1 << 20)
            if not data:
                raise BrokenPipeError
            self._text += data
        line, _, self._text = self._text.partition(b"\n")
        return line

    def _ended(self) -> str:
        said = ""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_LIMIT_S)
            said = self._stderr.read().decode(errors="replace").strip()
        if "\n" in said:  # a fault of ours
            print(said, file=sys.stderr)
        status = self._process.returncode
        how = signal.Signals(-status).name if status and status < 0 else f"status {status}"
        last = f": {said.splitlines()[-1]}" if said else ""
        return f"the line's process (pid {self.pid}) ended, and without it no packet crosses the link ({how}{last})"


class LineLink:
    """A plan in force in user space.  Its counters start at zero, and those of its losses again with `renumber`."""

    def __init__(self, plan: LinkPlan, ports: Ports, process: _Process) -> None:
        self.plan, self.ports = plan, ports
        self.shaped = queues(plan)
        names = (ports.wired, *ports.stations.values())
        self.devices = frozenset((*names, *taps.names(len(names))))
        self._process = process
        self._states = tuple(plan.states())
        self.processes = {"line": process.pid}

    def check(self) -> None:
        """Raise KernelError when the line's process or a port has gone, or the process hangs."""
        self._process.ask("here", Answer)
        check_ports(self.ports)

    def queue_counts(self) -> tuple[QueueCount, ...]:
        """Counters of every shaped queue."""
        return self.timed_queue_counts()[1]

    def timed_queue_counts(self) -> tuple[int, tuple[QueueCount, ...]]:
        """The moment (CLOCK_MONOTONIC, ns) and the counters of every shaped queue then."""
        counts = self._counts()
        found = []
        for queue in self.shaped:
            packets, size, dropped, backlog = counts.queues[queue.name]
            found.append(
                QueueCount(name=queue.name, bytes=size, packets=packets, dropped=dropped, backlog_bytes=backlog)
            )
        return counts.t_ns, tuple(found)

    def read_queues(self, netlink: Netlink) -> tuple[QueueCount, ...]:  # noqa: ARG002 - the other way's
        """Counters of every shaped queue."""
        return self.queue_counts()

    def loss_counts(self) -> tuple[LossCount, ...]:
        """Counters of the loss stage, in the order of the plan's losses."""
        return self._losses(self._counts())

    def stage_counts(self) -> StageCount:
        """All counters of the loss stage, and those of what came to it.

        What must have met it is what did, and what a port has received and the line has not.
        """
        before = in_namespace(self.ports.pid, lambda: losstable.received(self.ports))
        counts = self._counts()
        after = in_namespace(self.ports.pid, lambda: losstable.received(self.ports))
        losses = self._losses(counts)
        met = {way: sum(one.seen for one in losses if one.direction == way) for way in before}
        return StageCount(
            losses=losses,
            dark={way: counts.dark[way] for way in before},
            entered={
                way: (met[way] + before[way] - counts.read[way], met[way] + after[way] - counts.read[way])
                for way in self.plan.directions
            },
            received=after,
        )

    def renumber(self) -> None:
        """Count packets from zero again: what passed until now has no part in what follows."""
        self._process.ask("renumber", Answer)

    def go_through(self, states: Sequence[LinkState]) -> None:
        """Take the link through states of its plan, one after the other, at once."""
        for state in states:
            self._process.ask(f"enter {self._states.index(state)}", Answer)

    def late(self) -> Late:
        """How late the line was since the last question."""
        return self._process.ask("late", Late)

    def lateness(self) -> Lateness:
        """The same of frames and beats together."""
        late = self.late()
        return late.frames + late.reading

    def start(self, start_ns: int) -> None:
        """Play the timeline from a moment (CLOCK_MONOTONIC, ns) on."""
        self._process.ask(f"start {start_ns}", Answer)

    def steps(self) -> list[tuple[int, int]]:
        """Steps of the timeline that are in force, by number, and the moment of each (CLOCK_MONOTONIC, ns)."""
        return self._process.ask("steps", Steps).played

    def _counts(self) -> Counts:
        return self._process.ask("counts", Counts)

    def _losses(self, counts: Counts) -> tuple[LossCount, ...]:
        return tuple(
            LossCount(
                name=one.name,
                direction=one.direction,
                seen=counts.losses[one.name][0],
                dropped=counts.losses[one.name][1],
            )
            for one in self.plan.losses
        )


class LinePlayer:
    """Has the line play its own timeline.  played: the steps that were in force, in order."""

    def __init__(self, link: LineLink) -> None:
        self._link = link
        self._start_ns = 0
        self.played: list[Played] = []

    def start(self, start_ns: int) -> None:
        """Begin; `start_ns` (CLOCK_MONOTONIC) is moment 0 of the timeline."""
        self._start_ns = start_ns
        if self._link.plan.steps:
            self._link.start(start_ns)

    def read(self) -> None:
        """Ask what has been played."""
        steps = self._link.plan.steps
        for number, t_ns in self._link.steps() if steps and self._start_ns else ():
            step = steps[number]
            due_ns = self._start_ns + round(step.at_s * 1e9)
            self.played.append(Played(label=step.label, at_s=step.at_s, due_ns=due_ns, t_ns=t_ns))


@contextmanager
def playing(link: LineLink) -> Iterator[LinePlayer]:
    """Have a player ready for a link's timeline."""
    player = LinePlayer(link)
    yield player
    player.read()


@contextmanager
def applied(plan: LinkPlan, ports: Ports) -> Iterator[LineLink]:
    """Put a plan's link between the stations and the wired side for as long as the context lasts.

    KernelError says what was refused.
    """
    stations = [name for members in plan.groups for name in members]
    macs = {name: ports.macs[name] for name in sorted(stations, key=list(ports.stations).index)}
    process = _Process(Request.of(plan, pid=ports.pid, macs=macs))
    with ExitStack() as undo:
        undo.callback(process.end)
        ready = process.ready()
        different = [one.name for one in plan.losses if ready.lists.get(one.name) != one.digest]
        assert not different, f"the line's process made other lists of losses: {different}"
        led = [ports.wired, *(ports.stations[name] for name in macs)]
        undo.callback(_with_ip, ports, lambda ip: taps.release(ip, led))
        _with_ip(ports, lambda ip: taps.lead(ip, led))
        yield LineLink(plan, ports, process)


def _with_ip(ports: Ports, work: Callable[[IPRoute], None]) -> None:
    def run() -> None:
        with IPRoute() as ip:
            work(ip)

    in_namespace(ports.pid, run)
