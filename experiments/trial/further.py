"""The segments of a trial beside the first one: their links in force, read, sampled and played."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from emulation.kernel.namespace import KernelError, enter
from emulation.kernel.netlink import Netlink
from emulation.line.serving import LineProcess
from emulation.link import link as links
from emulation.link.link import Link, Player
from emulation.plan.linkplan import LinkPlan
from emulation.tc.player import Played
from experiments.trial.checks.queue_use import rates_set
from experiments.trial.observers.sampling import PERIOD_S, queue_rows
from experiments.trial.observers.softnet import port_drops
from experiments.trial.reading import Reading, reading
from records.schema import resources_table
from topologies.network import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherMeasured:
    """What a segment has recorded; readings and played are as in Measured.

    resources: samples of its queues, under the names that these have on the segment.
    """

    plan: LinkPlan
    readings: tuple[Reading, Reading, Reading, Reading]
    played: tuple[Played, ...]
    resources: pa.Table

    def named(self, segment: str) -> pa.Table:
        """The samples, and the rates that a timeline has set, with subjects of its own: `queue:<segment>/air`."""
        rates = rates_set(self.plan, self.played, since_ns=self.readings[0].t_ns)
        rows = pa.concat_tables([self.resources, rates])
        subjects = pc.replace_substring(rows.column("subject"), "queue:", f"queue:{segment}/")
        subjects = pc.if_else(pc.equal(subjects, "ports"), f"ports:{segment}", subjects)
        return rows.set_column(rows.schema.get_field_index("subject"), rows.schema.field("subject"), subjects)


class Further:
    """Links by segment; there are none in a topology of one segment, and then nothing happens here.

    process: carries those that the line makes.
    """

    def __init__(self, plans: Mapping[str, LinkPlan], network: Network, process: LineProcess) -> None:
        self._plans, self._network, self._process = plans, network, process
        self._links: dict[str, Link] = {}
        self._samplers: dict[str, _Sampler] = {}
        self._players: dict[str, Player] = {}
        self._readings: dict[str, list[Reading]] = {name: [] for name in plans}

    @contextmanager
    def applied(self) -> Iterator[Mapping[str, Link]]:
        """Have all links in force."""
        with ExitStack() as shaped:
            for name, plan in self._plans.items():
                ports = self._network.segments[name].ports
                self._links[name] = shaped.enter_context(links.applied(plan, ports, self._process, name))
            yield self._links
        self._links = {}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Sample the links, and have players ready for their timelines."""
        with ExitStack() as stack:
            for name, link in self._links.items():
                self._samplers[name] = stack.enter_context(_sampled(link))
                self._players[name] = stack.enter_context(links.playing(link))
            yield

    def check(self) -> None:
        """Raise KernelError when one does not work any more, with which and why."""
        for name, link in list(self._links.items()):
            try:
                link.check()
            except KernelError as error:
                raise KernelError(f"segment {name}: {error}") from error

    def renumber(self) -> None:
        """Count packets from zero again."""
        for link in self._links.values():
            link.renumber()

    def start(self, start_ns: int) -> None:
        """Let timelines begin; their moment 0 is `start_ns` (CLOCK_MONOTONIC)."""
        for player in self._players.values():
            player.start(start_ns)

    def read(self) -> None:
        """Read all counters."""
        for name, link in self._links.items():
            self._readings[name].append(reading(link))

    def measured(self) -> dict[str, FurtherMeasured]:
        """What has been recorded, by segment."""
        found = {}
        for name, plan in self._plans.items():
            before, start, end, last = self._readings[name]
            sampler = self._samplers[name]
            found[name] = FurtherMeasured(
                plan=plan,
                readings=(before, start, end, last),
                played=tuple(self._players[name].played),
                resources=resources_table(sampler.rows),
            )
        return found


class _Sampler:
    """Samples a link's queues on a fixed grid, in a thread in its access point's namespace."""

    def __init__(self, link: Link) -> None:
        self.rows: list[tuple[int, str, str, float]] = []
        self._link = link
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="segment-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, after a last sample."""
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        enter(self._link.ports.pid)
        due = time.monotonic()
        with Netlink() as netlink, suppress(KernelError):  # the link no longer works, which its guard notices, too
            stopped = False
            while not stopped:
                due += PERIOD_S
                stopped = self._stop.wait(max(0.0, due - time.monotonic()))
                self.rows += queue_rows(self._link, netlink)
                with suppress(OSError, ValueError, IndexError):  # not recorded then
                    drops = port_drops(set(self._link.devices))
                    self.rows.append((time.monotonic_ns(), "ports", "dropped_packets", drops))


@contextmanager
def _sampled(link: Link) -> Iterator[_Sampler]:
    sampler = _Sampler(link)
    try:
        yield sampler
    finally:
        sampler.stop()
