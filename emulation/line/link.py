"""The line in force at an access point, as seen by a trial: one of the links of its process, and what that answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pyroute2 import IPRoute

from emulation.kernel.accesspoint import Ports, check_ports
from emulation.kernel.namespace import in_namespace
from emulation.kernel.netlink import Netlink
from emulation.line import taps
from emulation.line.lateness import Lateness
from emulation.line.request import Answer, Counts, Late, Request, Steps
from emulation.line.serving import LineProcess, serving
from emulation.plan.linkplan import LinkPlan, queues
from emulation.profile.timeline import LinkState
from emulation.tc import losstable
from emulation.tc.losstable import LossCount, StageCount
from emulation.tc.player import Played
from emulation.tc.queuecounts import QueueCount


class LineLink:
    """A plan in force in user space.  Its counters start at zero, and those of its losses again with `renumber`."""

    def __init__(self, plan: LinkPlan, ports: Ports, process: LineProcess, name: str) -> None:
        """name: the process's for it."""
        self.plan, self.ports, self.name = plan, ports, name
        self.shaped = queues(plan)
        names = (ports.wired, *ports.stations.values())
        self.devices = frozenset((*names, *taps.names(len(names))))
        self._process = process
        self._states = tuple(plan.states())
        self.processes = process.processes

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
        self._process.ask(f"renumber {self.name}", Answer)

    def go_through(self, states: Sequence[LinkState]) -> None:
        """Take the link through states of its plan, one after the other, at once."""
        for state in states:
            self._process.ask(f"enter {self.name} {self._states.index(state)}", Answer)

    def late(self) -> Late:
        """How late the line was since the last question, with all its links."""
        return self._process.ask("late", Late)

    def lateness(self) -> Lateness:
        """The same of frames and beats together."""
        late = self.late()
        return late.frames + late.reading

    def start(self, start_ns: int) -> None:
        """Play the timeline from a moment (CLOCK_MONOTONIC, ns) on."""
        self._process.ask(f"start {self.name} {start_ns}", Answer)

    def steps(self) -> list[tuple[int, int]]:
        """Steps of the timeline that are in force, by number, and the moment of each (CLOCK_MONOTONIC, ns)."""
        return self._process.ask(f"steps {self.name}", Steps).played

    def _counts(self) -> Counts:
        return self._process.ask(f"counts {self.name}", Counts)

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
def applied(plan: LinkPlan, ports: Ports, process: LineProcess | None = None, name: str = "link") -> Iterator[LineLink]:
    """Put a plan's link between the stations and the wired side for as long as the context lasts.

    process: what carries it, None = one of its own.  name: by which; no other link of that process has it.
    KernelError says what was refused.
    """
    stations = [station for members in plan.groups for station in members]
    macs = {station: ports.macs[station] for station in sorted(stations, key=list(ports.stations).index)}
    with ExitStack() as undo:
        carrier = process or undo.enter_context(serving())
        ready = carrier.add(name, Request.of(plan, pid=ports.pid, macs=macs))
        undo.callback(carrier.remove, name)
        different = [one.name for one in plan.losses if ready.lists.get(one.name) != one.digest]
        assert not different, f"the line's process made other lists of losses: {different}"
        led = [ports.wired, *(ports.stations[station] for station in macs)]
        undo.callback(_with_ip, ports, lambda ip: taps.release(ip, led))
        _with_ip(ports, lambda ip: taps.lead(ip, led))
        yield LineLink(plan, ports, carrier, name)


def _with_ip(ports: Ports, work: Callable[[IPRoute], None]) -> None:
    def run() -> None:
        with IPRoute() as ip:
            work(ip)

    in_namespace(ports.pid, run)
