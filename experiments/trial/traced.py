"""What a trial's queues carried while a recorded trace set their rate, from its counters and samples."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.proof.traceproof import QueueReading, TraceUse, trace_check
from experiments.trial.further import FurtherMeasured
from experiments.trial.measure import Measured
from records.link import LinkCheck


def trace_checks(plan: LinkPlan, measured: Measured | FurtherMeasured) -> tuple[LinkCheck, ...]:
    """A check for each queue whose rate a trace sets, if that had begun when the window ended."""
    return tuple(map(trace_check, _uses(plan, measured)))


def _uses(plan: LinkPlan, measured: Measured | FurtherMeasured) -> Iterator[TraceUse]:
    traces = [event.trace for event in plan.profile.timeline if event.trace]
    steps = [one for step, one in zip(plan.steps, measured.played, strict=False) if step.label in ("", "trace begins")]
    _, start, end, _ = measured.readings
    if not traces or not steps or steps[0].t_ns >= end.t_ns:
        return
    for queue, first, last in zip(linkplan.queues(plan), start.queues, end.queues, strict=True):
        if not queue.traced:
            continue
        sampled = _samples(measured.resources, queue.name, start.t_ns, end.t_ns)
        yield TraceUse(
            queue=queue.name,
            direction=queue.direction,
            trace=traces[0],
            rate_before=linkplan.medium(queue, plan.first).rate or 0.0,
            begins_ns=steps[0].due_ns,
            late_s=max(one.late_s for one in steps),
            readings=(
                QueueReading(t_ns=start.t_ns, sent_bytes=first.bytes, backlog_bytes=first.backlog_bytes),
                *sampled,
                QueueReading(t_ns=end.t_ns, sent_bytes=last.bytes, backlog_bytes=last.backlog_bytes),
            ),
        )


def _samples(resources: pa.Table, queue: str, start_ns: int, end_ns: int) -> list[QueueReading]:
    """The sampler's readings of a queue between two moments; what it reads at one time has one time."""
    mine = resources.filter(pc.equal(resources.column("subject"), f"queue:{queue}"))
    found: dict[str, dict[int, float]] = {}
    for t_ns, metric, value in zip(
        *(mine.column(name).to_pylist() for name in ("t_ns", "metric", "value")), strict=True
    ):
        if start_ns < t_ns < end_ns:
            found.setdefault(metric, {})[t_ns] = value
    sent, waiting = found.get("sent_bytes", {}), found.get("backlog_bytes", {})
    return [
        QueueReading(t_ns=t_ns, sent_bytes=int(sent[t_ns]), backlog_bytes=int(waiting[t_ns]))
        for t_ns in sorted(sent.keys() & waiting.keys())
    ]
