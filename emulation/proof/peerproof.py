"""Proof of the ways between stations: delay, rate, order and losses through every direction that a packet meets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from emulation.kernel import kernel
from emulation.plan.linkplan import LinkPlan
from emulation.profile.timeline import LinkState
from emulation.proof.asked import Asked
from emulation.proof.between import asked_between
from emulation.proof.lanes import rate_seconds
from emulation.proof.probe import PORT
from emulation.proof.proof import USUAL, End, Samples, opened, probe_direction
from emulation.proof.sidebyside import FRAMES_PER_S, Lane, run
from records.link import LinkCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerEnds:
    """Two stations of a plan that a probe goes between, from the first to the second."""

    sender: str
    receiver: str
    sends: End
    receives: End


def probe_peers(
    plan: LinkPlan, pairs: Sequence[PeerEnds], samples: Samples = USUAL, *, renumber: Callable[[], None],
    state: LinkState | None = None,
) -> tuple[LinkCheck, ...]:  # fmt: skip
    """Measure delay, rate, order and losses between stations, and say which in each check's `path`.

    renumber: the link's.  It is called before and in between: pairs that share a list of losses go one after the other.
    state: what the link is in; None = what it begins with.  Nothing else may use the link meanwhile.
    """
    now, found = state or plan.first, list[LinkCheck]()
    groups = dict.fromkeys(number for number, members in enumerate(plan.groups) if members)
    rate_s = rate_seconds(plan, groups, samples.rate_s, frames_per_s=FRAMES_PER_S[kernel.current()])
    samples = replace(samples, rate_s=rate_s)
    for some in rounds(plan, now, pairs):
        renumber()
        with ExitStack() as paths:
            lanes = []
            for number, (one, asked) in enumerate(some):
                path = opened(asked, one.sends, one.receives, paths, port=PORT + number)
                lanes.append(Lane(path, probe_direction(asked, samples), uses(plan, asked)))
            for (one, _), checks in zip(some, run(lanes), strict=True):
                path_name = f"{one.sender} to {one.receiver}"
                found += [check.model_copy(update={"path": path_name}) for check in checks]
    return tuple(found)


def rounds(plan: LinkPlan, state: LinkState, pairs: Iterable[PeerEnds]) -> Iterator[list[tuple[PeerEnds, Asked]]]:
    """Pairs that can be probed side by side, as no two of them share a list of losses; and what is asked of each.

    On one air those whose delays differ go alone: frames of one come down while another's go up, which is not foretold.
    """
    left: list[tuple[PeerEnds, Asked]] = []
    for one in pairs:
        asked = asked_between(plan, state, one.sender, one.receiver)
        if uses(plan, asked) and _delays_differ(asked):
            yield [(one, asked)]
        else:
            left.append((one, asked))
    while left:
        now, later, taken = [], [], set[str]()
        for one, asked in left:
            lists = {hop.loss.name for hop in asked.hops}
            if lists & taken:
                later.append((one, asked))
            else:
                now.append((one, asked))
                taken |= lists
        yield now
        left = later


def _delays_differ(asked: Asked) -> bool:
    return any(one.side.jitter or one.side.reorder or one.side.duplicate for one in asked.hops)


def uses(plan: LinkPlan, asked: Asked) -> dict[str, float]:
    """What a burst takes of what it shares with others (see emulation.proof.sidebyside.Lane): all of a shared
    medium.
    """
    return {"medium": 1.0} if plan.profile.medium == "shared" and asked.side.rate else {}
