"""Health checks of the processes that a trial consists of, and of whether the machine kept them waiting.  Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.trial.checks.samples import Measured, growth, inside, series, share, subjects
from records.verdict import Check

if TYPE_CHECKING:
    from experiments.trial.checks.health import Evidence

_SERVER, _THREAD = "server:", "thread:"
_LATE = "longest that the generator was late with a send"
_BEGAN_LATE = "longest that a program was started after the window's start"
_NONE: Measured = (0.0, "the stack has no servers")


def process_checks(evidence: Evidence) -> dict[Check, Measured]:
    """Processor and memory of servers and clients; lateness of the generator and of a sleeper."""
    none = evidence.serverless and evidence.programs is None  # programs' servers are none of a stack's
    return {
        Check.GENERATOR_CPU: _busiest(evidence, "generator:", 1),
        Check.SERVER_CPU: _NONE if none else _together(evidence),
        Check.SERVER_THREAD: _NONE if none else _thread(evidence),
        Check.SERVER_MEMORY: _NONE if none else _memory(evidence),
        Check.SEND_LATENESS: (evidence.send_lateness_s, _LATE if evidence.programs is None else _BEGAN_LATE),
        Check.HEARTBEAT: _heartbeat(evidence),
        Check.STATION_CPU: _stations(evidence),
    }


def _shares(evidence: Evidence, prefix: str, cores: int) -> dict[str, float]:
    shares = {}
    for subject in subjects(evidence.resources, prefix):
        times, seconds = inside(evidence.resources, evidence.window, subject, "cpu_seconds")
        if len(times) > 1:
            shares[subject] = share(times, seconds, cores)
    return shares


def _busiest(evidence: Evidence, prefix: str, cores: int) -> Measured:
    shares = _shares(evidence, prefix, cores)
    if not shares:
        return None, f"no processor samples of any {prefix.rstrip(':')} inside the window"
    name = max(shares, key=lambda subject: shares[subject])
    return shares[name], f"{name} used {shares[name]:.0%}"


def _together(evidence: Evidence) -> Measured:
    """All processes of the stack's services, on however many servers."""
    shares = _shares(evidence, _SERVER, evidence.cores)
    if not shares:
        return None, "no processor samples of any server inside the window"
    names = ", ".join(f"{name} {used:.0%}" for name, used in shares.items())
    whole = sum(shares.values())
    return whole, f"{next(iter(shares))} used {whole:.0%}" if len(shares) == 1 else f"together {whole:.0%}: {names}"


def _stations(evidence: Evidence) -> Measured:
    """The station that used most of its share, all its processes together."""
    if evidence.station_cores is None:
        return 0.0, "no station has a share of its own"
    shares = _shares(evidence, "", 1)
    used = {
        name: sum(shares[one] for one in subjects_) / evidence.station_cores
        for name, subjects_ in evidence.stations.items()
        if shares.keys() >= set(subjects_)
    }
    if used.keys() != evidence.stations.keys():
        return None, f"no processor samples of {', '.join(sorted(evidence.stations.keys() - used.keys()))}"
    if not used:
        return 0.0, "no station lived long enough for two samples inside the window"
    name = max(used, key=lambda one: used[one])
    return used[name], f"{name} used {used[name]:.0%} of its {evidence.station_cores:g} cores"


def _thread(evidence: Evidence) -> Measured:
    """The busiest thread of all servers; no thread used more than its whole process."""
    whole = _shares(evidence, _SERVER, 1)
    if not whole:
        return None, "no processor samples of any server inside the window"
    found: dict[str, float] = {}
    unread = set(whole)
    for subject in subjects(evidence.resources, _THREAD):
        grown = growth(*series(evidence.resources, subject, "cpu_seconds"), evidence.window)
        if grown is not None:
            found[subject] = grown
            unread.discard(_SERVER + subject.removeprefix(_THREAD).partition("/")[0])
    bounds = found | {name: whole[name] for name in unread}
    name = max(bounds, key=lambda one: bounds[one])
    if name in found:
        return found[name], f"{name} was on a processor for {found[name]:.0%} of the window"
    return bounds[name], f"at most: all threads of {name} together used {bounds[name]:.0%} of a core"


def _memory(evidence: Evidence) -> Measured:
    peaks = {}
    for subject in subjects(evidence.resources, _SERVER):
        _, values = inside(evidence.resources, evidence.window, subject, "rss_bytes")
        if len(values):
            peaks[subject] = float(values.max() / evidence.memory_bytes)
    if not peaks:
        return None, "no memory samples of any server inside the window"
    name = max(peaks, key=lambda subject: peaks[subject])
    return peaks[name], f"{name} held {peaks[name]:.1%}"


def _heartbeat(evidence: Evidence) -> Measured:
    """The sample after the window counts too: a stall that outlasts the window is told when it is over."""
    window = evidence.window
    t_ns, lateness = series(evidence.resources, "heartbeat", "lateness_s")
    within = (t_ns >= window.start_ns) & (t_ns < window.end_ns)
    if not within.any():
        return None, "the heartbeat left no sample inside the window"
    after = lateness[t_ns >= window.end_ns][:1]
    worst = float(max(lateness[within].max(), *after, abs(evidence.clock_step_s)))
    return worst, "longest that this machine kept a 10 ms sleeper waiting, or moved its wall clock"
