"""Which trials run next, and at the same time.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.scenario.limits import MACHINE_CPU
from experiments.scenario.repeats import SideBySide
from records.campaign import Planned

_TOGETHER = 0.9 * MACHINE_CPU


def next_turn(
    left: Sequence[Planned],
    *,
    most: int,
    shares: Callable[[Planned], bool],
    seconds: Callable[[Planned], float],
    load: Callable[[Planned], float],
) -> tuple[Planned, ...]:
    """The first trial that is left, and beside it others of its round, if they all may share the machine.

    They begin together (together.py), and the next turn when the last of them has ended: so those that take about as
    long as the first go with it.  Rounds are not mixed: the order of trials in time stays that of the plan, to a round.

    seconds: how long a trial may take.  load: its share of the machine's processors; together they leave some of what
    is allowed.
    """
    first, *rest = left
    if not shares(first):
        return (first,)
    beside = [one for one in rest if one.trial == first.trial and one.cell != first.cell and shares(one)]
    beside.sort(key=lambda one: abs(seconds(one) - seconds(first)))
    turn, room = [first], _TOGETHER - load(first)
    for one in beside:
        if len(turn) < most and load(one) <= room:
            turn.append(one)
            room -= load(one)
    return tuple(turn)


def may_share(wanted: SideBySide, levels: dict[str, str], alone_cpu: float | None) -> bool:
    """Whether a cell's trials may run beside others.

    levels: of the cell.  alone_cpu: share of the machine that was in use when its last valid trial ran alone, None
    when there was none; used when the scenario names no cells.
    """
    if wanted.trials == 1:
        return False
    if wanted.when:
        return wanted.names(levels)
    return leaves_room(wanted, alone_cpu)


def leaves_room(wanted: SideBySide, alone_cpu: float | None) -> bool:
    """Whether as many trials as are wanted would stay below the bound if each used what one alone has used."""
    return alone_cpu is not None and alone_cpu * wanted.trials <= MACHINE_CPU
