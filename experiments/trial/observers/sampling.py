"""What the machine did meanwhile: processor, memory, queues, and a heartbeat that notices stalls."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import psutil
import pyarrow as pa

from emulation.kernel.namespace import KernelError, enter
from emulation.kernel.netlink import Netlink
from emulation.line.serving import LineProcess
from emulation.link.link import Link
from experiments.trial.observers.heartbeat import Heartbeat, heartbeat
from experiments.trial.observers.linesamples import LineSamples
from experiments.trial.observers.softnet import port_drops, softnet
from experiments.trial.observers.threads import Threads
from records import no_gc
from records.schema import resources_table

PERIOD_S = 0.25


class Sampler:
    """Collects rows of records.schema.RESOURCES.  line: what the line's process told of itself."""

    def __init__(self, processes: Mapping[str, int], process: LineProcess) -> None:
        self._process = process
        self._rows: list[tuple[int, str, str, float]] = []
        self._processes: dict[str, psutil.Process] = {}
        for subject, pid in processes.items():
            with suppress(psutil.NoSuchProcess):  # it died just now; who owns it says so, with its last words
                self._processes[subject] = psutil.Process(pid)
        self._polled_s = 0.0
        self._idlepoll: psutil.Process | None = None
        if (polling := process.idle_polled) is not None:
            with suppress(psutil.NoSuchProcess):
                self._idlepoll = psutil.Process(polling)
        mark, servers = "server:", processes.items()
        self._threads = Threads({name.removeprefix(mark): pid for name, pid in servers if name.startswith(mark)})
        self.line = LineSamples()
        self._stop = threading.Event()

    def table(self) -> pa.Table:
        """Everything sampled so far."""
        return resources_table([*self._rows, *self._threads.rows(), *self.line.rows])

    def sample(self, link: Link, heart: Heartbeat) -> None:
        """Sample on a fixed grid until told to stop; runs in a thread of its own, in the access point's namespace."""
        enter(link.ports.pid)
        due = time.monotonic()
        with Netlink() as netlink, suppress(KernelError):  # the link no longer works, which its guard notices, too
            self.line.begin(self._process)
            while True:
                self._take(netlink, link, heart)
                no_gc.sweep()
                due += PERIOD_S
                if self._stop.wait(max(0.0, due - time.monotonic())):
                    self._take(netlink, link, heart)
                    self.line.end(self._process)
                    return

    def stop(self) -> None:
        """Let the thread end."""
        self._stop.set()

    def _take(self, netlink: Netlink, link: Link, heart: Heartbeat) -> None:
        self._rows += queue_rows(link, netlink)
        for subject, process in self._processes.items():
            self._take_process(subject, process)
        self._threads.take()
        self.line.take(self._process)
        self._take_drops(link)
        now = time.monotonic_ns()
        self._rows.append((now, "heartbeat", "lateness_s", heart.taken()))
        self._rows.append((now, "machine", "load_1m", os.getloadavg()[0]))
        self._rows.append((now, "machine", "cpu_seconds", _busy_seconds() - self._idle_polled_s()))

    def _idle_polled_s(self) -> float:
        """Processor seconds that nobody wanted: spent to keep a processor from halting."""
        if self._idlepoll is not None:
            with suppress(psutil.NoSuchProcess):
                times = self._idlepoll.cpu_times()
                self._polled_s = times.user + times.system
        return self._polled_s

    def _take_drops(self, link: Link) -> None:
        try:
            now, (dropped, squeezed) = time.monotonic_ns(), softnet()
            ports = port_drops(set(link.devices))
        except (OSError, ValueError, IndexError):  # not recorded then, which its check says
            return
        self._rows.append((now, "softirq", "dropped_packets", dropped))
        self._rows.append((now, "softirq", "squeezed", squeezed))
        self._rows.append((now, "ports", "dropped_packets", ports))

    def _take_process(self, subject: str, process: psutil.Process) -> None:
        try:
            with process.oneshot():
                times, rss = process.cpu_times(), process.memory_info().rss
        except psutil.NoSuchProcess:
            return
        now = time.monotonic_ns()
        self._rows.append((now, subject, "cpu_seconds", times.user + times.system))
        self._rows.append((now, subject, "rss_bytes", rss))


def queue_rows(link: Link, netlink: Netlink) -> Iterator[tuple[int, str, str, float]]:
    """Counters of a link's queues; the calling thread is in the access point's namespace."""
    for queue in link.read_queues(netlink):
        now, subject = time.monotonic_ns(), f"queue:{queue.name}"
        yield now, subject, "sent_bytes", queue.bytes
        yield now, subject, "sent_packets", queue.packets
        yield now, subject, "dropped_packets", queue.dropped
        yield now, subject, "backlog_bytes", queue.backlog_bytes


def _busy_seconds() -> float:
    """Processor seconds in use, whoever used them, of the processors that we may run on."""
    every, mine = psutil.cpu_times(percpu=True), os.sched_getaffinity(0)
    of_mine = [one for number, one in enumerate(every) if number in mine or len(every) <= len(mine)]
    return float(sum(sum(one) - one.idle - one.iowait - one.guest - one.guest_nice for one in of_mine))


@contextmanager
def sampling(link: Link, processes: Mapping[str, int], line: LineProcess) -> Iterator[Sampler]:
    """Sample while the context lasts.  processes: subject (`server:...`, `generator:...`) to pid, beside the line's."""
    sampler = Sampler({**processes, **line.processes}, line)
    with no_gc.paused(), heartbeat() as heart:
        thread = threading.Thread(target=sampler.sample, args=(link, heart), name="sampler", daemon=True)
        thread.start()
        try:
            yield sampler
        finally:
            sampler.stop()
            thread.join()
