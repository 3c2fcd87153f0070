"""For how long a single receiver had nothing while something happened to nodes, which the others' messages hide."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.measure import Measured
from analysis.metric import Metric
from records.manifest import Consumer, Window

METRICS = (
    Metric(
        name="longest_silence_of_one_s", label="Longest silence of one {receiver}", unit="s", better="lower",
        compared=True, leads=True,
        about="longest time inside the window in which a {receiver} that was there received nothing, the worst of all; "
        "where something happens to nodes",
    ),
)  # fmt: skip


def measure(trial: Measured) -> dict[str, float]:
    """Nothing where nothing happened to nodes, or no receiver was there."""
    manifest = trial.manifest
    if not manifest.node_events:
        return {}
    silences = [
        silence
        for consumer in manifest.workload.consumers
        if consumer.caller is None  # replies are in no ledger of messages
        for silence in _silences(consumer, trial.ledger.t_recv[trial.ledger.consumer == consumer.id], manifest.window)
    ]
    return {"longest_silence_of_one_s": max(silences) / 1e9} if silences else {}


def _silences(consumer: Consumer, t_recv: np.ndarray, window: Window) -> Iterator[int]:
    """Its longest silence (ns) each time that it was there: from its coming, or arrival, to the next, or its going."""
    for start, end in _there(consumer, window):
        inside = np.sort(t_recv[(t_recv >= start) & (t_recv < end)])
        yield int(np.diff(np.concatenate([[start], inside, [end]])).max())


def _there(consumer: Consumer, window: Window) -> Iterator[tuple[int, int]]:
    """When it was there inside the window; who has set out to come back is there when it is back, or was due."""
    since: int | None = window.start_ns
    for one in sorted(consumer.absences, key=lambda one: one.left_ns):
        if since is not None and one.left_ns > since:
            yield since, min(one.left_ns, window.end_ns)
        back = one.due_ns if one.back_ns is None else one.back_ns
        since = None if back is None else max(since or back, window.start_ns, back)
    if since is not None and since < window.end_ns:
        yield since, window.end_ns
