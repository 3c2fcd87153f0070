"""One trial as a process: started, listened to, and ended on every way out."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from emulation.kernel.kernel import KernelName
from experiments.campaign.together import Together
from experiments.scenario.segments import topology_plan
from experiments.trial.connect_time import connect_time_of, servers_s
from experiments.trial.context import Finished, Phase, TrialSpec
from experiments.trial.cpugroups import made
from experiments.trial.later_states import longest_seconds
from experiments.trial.observers.diskspace import watched
from experiments.trial.observers.machinewatch import Reading, watching
from experiments.trial.observers.processes import Ours
from experiments.trial.others import MEASURED, WAITS, Begin
from experiments.workers.isolation import command
from experiments.workers.lines import ProtocolError, read_any
from experiments.workers.worker import Failed, Worker, Workers
from records.campaign import Planned
from records.store import Trial, TrialWriter
from records.verdict import State

_EVENT: TypeAdapter[Phase | Finished | Failed] = TypeAdapter(
    Annotated[Phase | Finished | Failed, Field(discriminator="event")]
)
# What a trial may take beside its own times: each step has a limit of its own; this is for what has none, and more than
# all of those together (deploying, finishing, stopping), but for connecting, whose limit is the link's.
HANG_LIMIT_S: dict[KernelName, float] = {"host": 500.0, "lab": 1200.0}
# A further segment, and the paths to it, are proven up to three times, in seconds where nothing is lossy and slow; of a
# plain switch the paths.
_FURTHER_S: dict[KernelName, float] = {"host": 60.0, "lab": 180.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a trial ended.  failed: there is no result; reasons say why, or which health checks did not pass.

    beside: how many other trials ran at the same time.  seconds: of its own, those left out in which it was measured
    and waited for others to be.
    """

    planned: Planned
    state: State | Literal["failed"]
    reasons: tuple[str, ...]
    seconds: float
    beside: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a trial is run: on which kernel, where its messages go, who is told its phases (name, deliveries).

    limit_s: after which it hangs.  together: it, and the trials at the same time.
    """

    kernel: KernelName
    planned: Planned
    log: Path
    phase: Callable[[str, int], None]
    limit_s: float
    together: Together = field(default_factory=Together)


def run_one(spec: TrialSpec, way: Way, workers: Workers) -> Outcome:
    """Run a trial to its end, in whichever thread.

    One that is not valid, and in whose time the disk was full, has failed: no result of it stays.
    """
    started = time.monotonic()
    writer = TrialWriter(Path(spec.campaign_folder), spec.cell, spec.trial)
    words = command(way.kernel, campaign=way.log.parent)
    with (
        _expected(way),
        _discarded(writer),  # before all that writes: it makes room on the disk
        watched(Path(spec.campaign_folder)) as space,
        way.log.open("a") as messages,
        _placed(spec) as asked,
        workers.started(words, asked.model_dump_json(), messages=messages) as worker,
        _limited(worker, way.limit_s) as limit_reached,
    ):

        def tell(reading: Reading) -> None:
            if wait := way.together.begins(way.planned):
                worker.tell(Begin(after=wait))
            worker.tell(reading)

        with watching(partial(_ours, worker.process.pid, workers), tell) as look:
            heard = _listen(worker, way, look)
    over_s = way.limit_s if limit_reached.is_set() else None
    state, reasons = _committed(writer, heard) or _read_end(heard, worker.process.returncode, way.log, over_s)
    if state is not State.VALID and (explained := space.explain(reasons)):
        # That a stack could not write says nothing about the stack.
        writer.withdraw()
        state, reasons = "failed", explained
    seconds = time.monotonic() - started - heard.waited_s
    return Outcome(planned=way.planned, state=state, reasons=reasons, seconds=seconds, beside=len(spec.beside))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """end: a trial's last word, None when it had none.  phase: its last.  unread: a line that cannot be read.

    waited_s: how long it had nothing more to measure and waited for others.
    """

    end: Finished | Failed | None = None
    phase: str = "start"
    unread: str = ""
    waited_s: float = 0.0


def _listen(worker: Worker, way: Way, look: Callable[[], None]) -> _Heard:
    """Pass a trial's phases on until it has ended, or says something that cannot be read."""
    phase, end, began, waited_s = "start", None, time.monotonic(), 0.0
    for line in worker.answers:
        try:
            event = read_any(line, _EVENT)
        except ProtocolError as error:
            # A trial that is killed can leave half a line.
            return _Heard(phase=phase, unread=str(error) if line.endswith("\n") else "", waited_s=waited_s)
        if not isinstance(event, Phase):
            end = event
            continue
        now = time.monotonic()
        waited_s += now - began if phase == MEASURED else 0.0
        phase, began = event.name, now
        way.together.phase(way.planned, phase)
        way.phase(phase, event.delivered)
        if phase in (*WAITS, "drain"):  # where readings are rare, the next comes late
            look()
    return _Heard(phase=phase, end=end, waited_s=waited_s)


def limit(spec: TrialSpec, kernel: KernelName) -> float:
    """Seconds after which a trial hangs: its own times, and what connecting and proving later states can take."""
    settings, profile = spec.settings, spec.profile
    times, connecting = settings.window, connect_time_of(settings, profile, spec.links, kernel=kernel)
    own_s: float = times.warmup_s + times.window_s + times.drain_s
    linked_s = connecting.all_s + connecting.quiet_s + longest_seconds(settings, profile, kernel)
    further_s = _FURTHER_S[kernel] * (len(topology_plan(settings).segments) - 1)
    return HANG_LIMIT_S[kernel] + own_s + linked_s + further_s + servers_s(settings)


def _committed(writer: TrialWriter, heard: _Heard) -> tuple[State, tuple[str, ...]] | None:
    """What a trial would have said that ended behind its last step: its folder is whole, and stays."""
    if heard.end is not None or not writer.final.exists():
        return None
    verdict = Trial(writer.final).verdict()
    return verdict.state, verdict.reasons()


def _read_end(
    heard: _Heard, status: int, log: Path, limit_s: float | None
) -> tuple[State | Literal["failed"], tuple[str, ...]]:
    """limit_s: after which it was ended, None when it ended by itself."""
    if isinstance(heard.end, Finished):
        return heard.end.state, heard.end.reasons
    if isinstance(heard.end, Failed):
        return "failed", (*heard.end.notes, f"{heard.end.kind}: {heard.end.message}")
    where = f"while in phase {heard.phase!r}; see {log}"
    if heard.unread:
        return "failed", (f"the trial's process said what cannot be read ({heard.unread}) {where}",)
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    if limit_s is not None:
        how = f"after {limit_s:.0f} s, the most that it may take"
    return "failed", (f"the trial's process ended ({how}) {where}",)


def _ours(trial: int, workers: Workers) -> Ours:
    return Ours(trial, beside=workers.pids(), single=[os.getpid()])


@contextmanager
def _placed(spec: TrialSpec) -> Iterator[TrialSpec]:
    """The trial with a folder for its control groups, where it needs any; gone when it is over."""
    if spec.settings.station_cores is None:
        yield spec
        return
    with made() as folder:
        yield spec.model_copy(update={"cpu_groups": str(folder)})


@contextmanager
def _expected(way: Way) -> Iterator[None]:
    """Others wait for the trial no longer than it is there."""
    try:
        yield
    finally:
        way.together.ended(way.planned)


@contextmanager
def _discarded(writer: TrialWriter) -> Iterator[None]:
    """A trial that was killed cannot remove its unfinished folder; a finished one has none."""
    try:
        yield
    finally:
        writer.discard()


@contextmanager
def _limited(worker: Worker, seconds: float) -> Iterator[threading.Event]:
    """Kill the worker after so many seconds; the event tells that it came to that."""
    reached = threading.Event()

    def end() -> None:
        reached.set()
        worker.process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield reached
    finally:
        timer.cancel()
