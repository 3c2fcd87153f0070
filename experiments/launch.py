"""One trial as a process: started, listened to, and ended on every way out."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from emulation.kernel import KernelName
from emulation.profile import LinkProfile
from experiments.bench import TrialSpec
from experiments.connect_time import connect_time
from experiments.diskspace import watched
from experiments.isolation import command
from experiments.later_states import longest_seconds
from experiments.machinewatch import Reading, watching
from experiments.processes import Ours
from experiments.revision import ROOT
from experiments.settings import from_campaign
from results.campaign import Planned
from results.store import TrialWriter
from results.verdict import State

# What a trial may take beside its own times: each step has a limit of its own; this is for what has none, and more than
# all of those together (deploying, finishing, stopping), but for connecting, whose limit is the link's.
HANG_LIMIT_S: dict[KernelName, float] = {"host": 500.0, "lab": 1200.0}
_END_LIMIT_S = 10.0


class Interrupted(Exception):
    """No trial may begin any more: whoever runs the campaign is leaving."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a trial ended.  failed: there is no result; reasons say why, or which health checks did not pass.

    beside: how many other trials ran at the same time.
    """

    planned: Planned
    state: State | Literal["failed"]
    reasons: tuple[str, ...]
    seconds: float
    beside: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a trial is run: on which kernel, where its messages go, who is told its phases (name, deliveries)."""

    kernel: KernelName
    planned: Planned
    log: Path
    phase: Callable[[str, int], None]


class Processes:
    """The processes of trials under way.  They may be started and ended by different threads.

    A process dies with the thread that started it (parent-death signal), so that thread stays until it has ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._alive: set[subprocess.Popen[str]] = set()
        self._leaving = False

    def pids(self) -> tuple[int, ...]:
        """The first process of each."""
        with self._lock:
            return tuple(process.pid for process in self._alive)

    def end(self) -> None:
        """Tell all of them that their owner has gone, and start no more."""
        with self._lock:
            self._leaving = True
            for process in self._alive:
                _hang_up(process)

    @contextmanager
    def started(self, kernel: KernelName, log: Path) -> Iterator[subprocess.Popen[str]]:
        """The trial's process, in a session of its own so that Ctrl-C reaches us alone; ended on every way out."""
        process = self._start(kernel, log)
        try:
            yield process
        finally:
            _hang_up(process)
            try:
                process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()  # its namespace of processes goes with it
                process.wait()
            with self._lock:
                self._alive.discard(process)
            assert process.stdout
            process.stdout.close()

    def _start(self, kernel: KernelName, log: Path) -> subprocess.Popen[str]:
        with self._lock, log.open("a") as messages:
            if self._leaving:
                raise Interrupted
            process = subprocess.Popen(
                command(kernel, campaign=log.parent),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                start_new_session=True,
                cwd=ROOT,
            )
            self._alive.add(process)
            return process


def run_one(spec: TrialSpec, way: Way, processes: Processes) -> Outcome:
    """Run a trial to its end, in whichever thread.

    One that is not valid, and in whose time the disk was full, has failed: no result of it stays.
    """
    started = time.monotonic()
    limit_s = limit(spec, way.kernel)
    last: dict[str, Any] = {}
    writer = TrialWriter(Path(spec.campaign_folder), spec.cell, spec.trial)
    with (
        _discarded(writer),  # outermost: it makes room on the disk
        watched(Path(spec.campaign_folder)) as space,
        processes.started(way.kernel, way.log) as process,
        _limited(process, limit_s) as limit_reached,
    ):
        assert process.stdin
        assert process.stdout
        with suppress(BrokenPipeError, ValueError):  # it died at once, or was ended; its end is read below
            process.stdin.write(spec.model_dump_json() + "\n")
            process.stdin.flush()
        ours = partial(_ours, process.pid, processes)
        with watching(ours, partial(_tell, process)) as look:
            for line in process.stdout:
                with suppress(ValueError):  # a trial that is killed can leave half a line
                    last = json.loads(line)
                if last["event"] == "phase":
                    way.phase(last["name"], last["delivered"])
                    if last["name"] == "drain":  # the window is over; where readings are rare, the next may be too late
                        look()
    state, reasons = _read_end(last, process.returncode, way.log, limit_s if limit_reached.is_set() else None)
    if state is not State.VALID and (explained := space.explain(reasons)):
        # That a stack could not write says nothing about the stack.
        writer.withdraw()
        state, reasons = "failed", explained
    seconds = time.monotonic() - started
    return Outcome(planned=way.planned, state=state, reasons=reasons, seconds=seconds, beside=len(spec.beside))


def limit(spec: TrialSpec, kernel: KernelName) -> float:
    """Seconds after which a trial hangs: its own times, and what connecting and proving later states can take."""
    settings, profile = from_campaign(spec.settings), LinkProfile.model_validate(spec.profile)
    times, connecting = settings.window, connect_time(settings, profile, kernel=kernel)
    own_s: float = times.warmup_s + times.window_s + times.drain_s
    linked_s = connecting.all_s + connecting.quiet_s + longest_seconds(settings, profile, kernel)
    return HANG_LIMIT_S[kernel] + own_s + linked_s


def _read_end(
    last: dict[str, Any], status: int, log: Path, limit_s: float | None
) -> tuple[State | Literal["failed"], tuple[str, ...]]:
    """limit_s: after which it was ended, None when it ended by itself."""
    if last.get("event") == "finished":
        return State(last["state"]), tuple(last["reasons"])
    if last.get("event") == "failed":
        return "failed", (*last.get("notes", ()), f"{last['kind']}: {last['message']}")
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    if limit_s is not None:
        how = f"after {limit_s:.0f} s, the most that it may take"
    return "failed", (f"the trial's process ended ({how}) while in phase {last.get('name', 'start')!r}; see {log}",)


def _ours(trial: int, processes: Processes) -> Ours:
    return Ours(trial, beside=processes.pids(), single=[os.getpid()])


def _tell(process: subprocess.Popen[str], reading: Reading) -> None:
    """Send a trial a reading of the machine.  OSError when it hears no more."""
    assert process.stdin
    try:
        if select.select([], [process.stdin], [], 0)[1]:  # else it does not read; nobody may wait for that
            process.stdin.write(reading.model_dump_json() + "\n")
            process.stdin.flush()
    except ValueError as error:
        raise BrokenPipeError("its standard input was closed") from error


def _hang_up(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    with suppress(BrokenPipeError):
        process.stdin.close()  # tells the trial that its owner has gone


@contextmanager
def _discarded(writer: TrialWriter) -> Iterator[None]:
    """A trial that was killed cannot remove its unfinished folder; a finished one has none."""
    try:
        yield
    finally:
        writer.discard()


@contextmanager
def _limited(process: subprocess.Popen[str], seconds: float) -> Iterator[threading.Event]:
    """Kill the process after so many seconds; the event tells that it came to that."""
    reached = threading.Event()

    def end() -> None:
        reached.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield reached
    finally:
        timer.cancel()
