"""How a single comparison comes out: its effect, with its interval, against its band."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from analysis.claims import bounds, spans
from analysis.claims.comparisons import Comparison
from analysis.claims.evidence import Evidence
from analysis.claims.multiple import Chance
from analysis.metrics import METRICS
from analysis.statistics import Contrast, Count, bend, never_certain, paired, r_squared, share, unpaired, worth

_PLAIN = frozenset({"difference", "value"})
_COUNTED = _PLAIN | {"ratio"}
VAGUE = "how exact the stated values are leaves it open"


class Answer(StrEnum):
    """Whether one comparison's effect lies in its band: YES and NO need the whole interval."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One comparison: its effect and 95 % interval (None: single values, or too few trials), and why it is unclear.

    measured: whether each of its quantities has a value.  alike: whether they may be compared.  n: trials of the two
    sides, equal when they are pairs; None for single values.  chance: None where nothing could be tested.  sign: ≥ or
    ≤ where the centre is a bound, which has no interval.  Of stated values that are not exact, low and high are how far
    the effect may be off.
    """

    comparison: Comparison
    answer: Answer
    measured: bool = True
    alike: bool = True
    centre: float | None = None
    low: float | None = None
    high: float | None = None
    n: tuple[int, int] | None = None
    paired: bool = True
    chance: Chance | None = None
    why: str = ""
    sign: bounds.Sign = ""


def leaning(found: Outcome) -> Answer:
    """The answer if its effect were taken as exact."""
    if found.answer is not Answer.UNCLEAR or found.centre is None or not found.alike:
        return found.answer
    low = -math.inf if found.sign == "≤" else found.centre
    return _inside(found.comparison, low, math.inf if found.sign == "≥" else found.centre)


def outcome(comparison: Comparison, evidence: Evidence) -> Outcome:
    """One comparison: paired on equal seeds; two quantities without common seeds by Welch's interval.

    What must not be compared is unclear, whatever its effect.
    """
    over, under = (tuple(map(evidence.held, side)) for side in (comparison.over, comparison.under))
    if (over, under) != (comparison.over, comparison.under):
        comparison = replace(comparison, over=over, under=under)
    found = _outcome(comparison, evidence)
    why = evidence.unlike(comparison.quantities)
    if not why:
        return found
    if not found.measured:
        return replace(found, alike=False)
    return replace(found, answer=Answer.UNCLEAR, alike=False, chance=None, why=why)


def _outcome(comparison: Comparison, evidence: Evidence) -> Outcome:
    told = _values(comparison, evidence)
    if isinstance(told, Outcome):
        return told
    values, stated = told
    bounded = [evidence.at_least(one, comparison.quantities) for one in comparison.quantities]
    if comparison.scale == "never":
        return _never(comparison, evidence, values[0], stated)
    if comparison.scale in _FITS:
        return _FITS[comparison.scale](
            comparison, values, exact=bool(stated), vague=any(bounded) or not spans.is_exact(stated)
        )
    sign = bounds.sign_of(comparison, bounded)
    if sign is None:
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=bounds.BOTH)
    over, under = (values[: len(comparison.over)], values[len(comparison.over) :])
    if comparison.weights:
        over, under = _totals(comparison, values)
    counts = [evidence.counts(one) for one in comparison.quantities] if comparison.scale in _COUNTED else []
    if comparison.scale == "ratio" and any(value <= 0 for by_seed in (*over, *under) for value in by_seed.values()):
        return _without_ratio(comparison, over, under, counts, exact=bool(stated or sign))
    return _stated(comparison, over, under, stated) if stated else _decided(comparison, over, under, counts, sign=sign)


def _values(comparison: Comparison, evidence: Evidence) -> tuple[list[Mapping[int, float]], list[spans.Span]] | Outcome:
    """The values of each quantity by seed, and where they are single ones between which ends each lies; or why not."""
    values = []
    for quantity in comparison.quantities:
        values.append(evidence.by_seed(quantity))
        if not values[-1]:
            why = evidence.why_none(quantity)
            return Outcome(comparison=comparison, answer=Answer.UNCLEAR, measured=False, why=why)
    known = [evidence.span(one) for one in comparison.quantities]
    stated = [one for one in known if one is not None]
    if len(stated) in (0, len(known)):
        return values, stated
    if not spans.is_exact(stated):
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=VAGUE)
    return _of_all_seeds(values, known), []


def _of_all_seeds(
    values: Sequence[Mapping[int, float]], known: Sequence[spans.Span | None]
) -> list[Mapping[int, float]]:
    """The values, those that are exact for each seed of the others."""
    seeds = {seed for one, span in zip(values, known, strict=True) if span is None for seed in one}
    return [
        one if span is None else dict.fromkeys(sorted(seeds), next(iter(one.values())))
        for one, span in zip(values, known, strict=True)
    ]


def _stated(
    comparison: Comparison, over: Sequence[Mapping[int, float]], under: Sequence[Mapping[int, float]],
    known: Sequence[spans.Span],
) -> Outcome:  # fmt: skip
    """The outcome of single values.  known: between which ends each of the comparison's quantities lies."""
    centre = _exactly(comparison, *([next(iter(one.values())) for one in side] for side in (over, under)))
    told = Outcome(comparison=comparison, answer=Answer.UNCLEAR, centre=centre)
    if spans.is_exact(known):
        return _sure(replace(told, answer=_inside(comparison, centre, centre)))
    low, high = spans.reach(comparison, known)
    answer = _inside(comparison, low, high)
    found = _sure(replace(told, answer=answer, why=VAGUE if answer is Answer.UNCLEAR else ""))
    if math.isinf(high) and math.isclose(low, centre):
        return replace(found, sign="≥")
    if math.isclose(high, centre) and low <= 0:
        return replace(found, sign="≤")
    return replace(found, low=low, high=high)


def _sure(found: Outcome) -> Outcome:
    """With the chance of what is no matter of chance."""
    inside, outside = (float(found.answer is not which) for which in (Answer.YES, Answer.NO))
    return replace(found, chance=Chance(inside, outside))


def _knee(comparison: Comparison, values: Sequence[Mapping[int, float]], *, exact: bool, vague: bool) -> Outcome:
    """Where a fitted curve bends.  All trials of all places count; exact: single values, whose bend is taken as it is.

    vague: a bound, or a value that is about: nobody can say by how much that moves the bend.
    """
    points = [(at, value) for at, by_seed in zip(comparison.at, values, strict=True) for value in by_seed.values()]
    found = bend([at for at, _ in points], [value for _, value in points])
    told = Outcome(comparison=comparison, answer=Answer.UNCLEAR, paired=False)
    if found is None:
        return replace(told, why="fewer than four places")
    told = replace(told, centre=found.at, n=None if exact else (found.n, found.n))
    if vague:
        return replace(told, why=VAGUE if exact else bounds.NO_FIT)
    if found.straight:
        return replace(told, why="one straight line fits as well")
    if exact:
        return _sure(replace(told, answer=_inside(comparison, found.at, found.at)))
    if found.low is None or found.high is None:
        return replace(told, why="too few trials, no interval")
    answer = _inside(comparison, found.low, found.high)
    why = "the interval reaches over the limit" if answer is Answer.UNCLEAR else ""
    chance = _chance(comparison, (found.p_above, found.p_below))
    return replace(told, answer=answer, low=found.low, high=found.high, chance=chance, why=why)


def _straight(comparison: Comparison, values: Sequence[Mapping[int, float]], *, exact: bool, vague: bool) -> Outcome:
    """How much of a series one straight line explains, by seeds that all places have.  exact, vague: as of a knee."""
    shared = sorted(set.intersection(*map(set, values)))
    fits = {seed: r_squared(comparison.at, [one[seed] for one in values]) for seed in shared}
    if not vague and not exact:
        return _decided(comparison, [fits], [], [], sign="")
    told = Outcome(comparison=comparison, answer=Answer.UNCLEAR, centre=next(iter(fits.values()), None))
    if vague:
        return replace(told, why=VAGUE if exact else bounds.NO_LINE)
    return _sure(replace(told, answer=_inside(comparison, fits[shared[0]], fits[shared[0]])))


def _never(
    comparison: Comparison, evidence: Evidence, by_seed: Mapping[int, float], stated: Sequence[spans.Span]
) -> Outcome:
    """One that was found is enough to say no; that none was, among enough, is a yes of what was looked at.

    Its interval is the share's own: nothing found leaves 3 / n.
    """
    some = any(value > 0 for value in by_seed.values())
    if stated:
        ((low, high),) = stated
        told = Outcome(comparison=comparison, answer=Answer.UNCLEAR, centre=max(by_seed.values()), why=VAGUE)
        return _sure(replace(told, answer=Answer.NO if low else Answer.YES, why="")) if low or not high else told
    counts = evidence.counts(comparison.over[0])
    known, looked = share(counts), round(sum(one.of for one in counts))
    told = Outcome(comparison=comparison, answer=Answer.UNCLEAR, n=(len(by_seed), len(by_seed)),
                   centre=math.fsum(by_seed.values()) / len(by_seed), low=known.low if known else None,
                   high=known.high if known else None)  # fmt: skip
    if some:
        return _sure(replace(told, answer=Answer.NO))
    if looked < comparison.among:
        return replace(told, why=f"none among {looked:,}, and {comparison.among:,} are asked")
    return _sure(replace(told, answer=Answer.YES, why=f"none among {looked:,}"))


def _decided(
    comparison: Comparison, over: Sequence[Mapping[int, float]], under: Sequence[Mapping[int, float]],
    counts: Sequence[Sequence[Count]], *, sign: bounds.Sign,
) -> Outcome:  # fmt: skip
    """The outcome of trials' values that are all there, and of which there is an effect.

    counts: of each quantity, so that a share that did not spread is not certain.
    """
    found = _effect(comparison, over, under)
    if found is None:
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why="no trials of equal seed")
    if counts and not comparison.weights:
        found = never_certain(found, *counts, logarithms=comparison.scale == "ratio")
        if len(counts) == 1 and found.error and counts[0] and not any(one.found for one in counts[0]):
            return _nothing_found(comparison, counts[0], found)
    back = _exp if comparison.scale == "ratio" else float
    told = Outcome(comparison=comparison, answer=Answer.UNCLEAR, centre=back(found.centre), n=found.n,
                   paired=found.paired, sign=sign)  # fmt: skip
    if found.low is None or found.high is None:
        return replace(told, why="one trial, no interval")
    chance = _chance(comparison, bounds.tests(found, sign))
    if sign:
        known = bounds.reach(found, sign)
        answer = _inside(comparison, back(known.low), back(known.high))
        return replace(told, answer=answer, chance=chance, why=bounds.ONE_SIDED)
    low, high = back(found.low), back(found.high)
    answer = _inside(comparison, low, high)
    why = "the interval reaches over the limit" if answer is Answer.UNCLEAR else ""
    least, most = _support(comparison)
    if back(found.centre) > most:  # of repeated messages there may be more than messages
        most = math.inf
    return replace(told, answer=answer, low=max(low, least), high=min(high, most), chance=chance, why=why)


def _nothing_found(comparison: Comparison, counts: Sequence[Count], found: Contrast) -> Outcome:
    """Something of which nothing was seen: it has the report's interval, whose upper end is a one-sided 95 % bound."""
    known, looked, whole = share(counts), sum(one.of for one in counts), worth(counts)
    high = known.high if known is not None and known.high is not None else whole

    def below(end: float) -> float:
        return min((1 - min(end / whole, 1.0)) ** looked / 2, 1.0) if end > 0 else 1.0  # half: that bound's level

    def above(end: float) -> float:
        return 0.0 if end < 0 else 1.0

    answer = _inside(comparison, 0.0, high)
    why = "the interval reaches over the limit" if answer is Answer.UNCLEAR else ""
    return Outcome(comparison=comparison, answer=answer, centre=0.0, low=0.0, high=high, n=found.n,
                   chance=_chance(comparison, (above, below)), why=why)  # fmt: skip


def _support(comparison: Comparison) -> tuple[float, float]:
    """Where the effect can be: an interval that goes on beyond says no more there."""
    if comparison.scale == "r_squared":
        return 0.0, 1.0
    if comparison.scale != "value":
        return -math.inf, math.inf
    units = {METRICS[one.metric].unit for one in comparison.over if one.metric in METRICS}
    return 0.0, 1.0 if units == {"share"} and not comparison.weights else math.inf


def _chance(comparison: Comparison, tests: bounds.Tests) -> Chance:
    """The tests that agree with the interval: inside is above the lower and below the upper end of the band.

    A bound's test is taken in its own direction only (see analysis.claims.bounds), so that it counts among a claim's
    many comparisons with a p that is at most too large.
    """
    above, below = tests
    ends = [None if end is None else _scaled_end(comparison, end) for end in (comparison.low, comparison.high)]
    inside = [test(end) for test, end in zip((above, below), ends, strict=True) if end is not None]
    outside = [test(end) for test, end in zip((below, above), ends, strict=True) if end is not None]
    return Chance(max(inside, default=0.0), min(outside, default=1.0))


def _scaled_end(comparison: Comparison, end: float) -> float:
    return math.log(end) if comparison.scale == "ratio" else end


def _without_ratio(
    comparison: Comparison, over: Sequence[Mapping[int, float]], under: Sequence[Mapping[int, float]],
    counts: Sequence[Sequence[Count]], *, exact: bool,
) -> Outcome:  # fmt: skip
    """Where a value is zero, `first above a times second` is asked of the differences, which always exist."""
    why = "a value is zero or negative: no ratio"
    some = any(value for by_seed in (*over, *under) for value in by_seed.values())
    if len(over) != 1 or len(under) != 1 or exact or not some:
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=why)
    margins = []
    for bound, sign in ((comparison.low, 1.0), (comparison.high, -1.0)):
        if bound is not None:
            first = {seed: sign * value for seed, value in over[0].items()}
            second = {seed: -sign * bound * value for seed, value in under[0].items()}
            margin = _sum([first, second], [1.0, 1.0])
            if margin is not None and not comparison.weights:
                margin = never_certain(margin, *counts, weights=(1.0, bound))
            margins.append(margin)
    known = [one for one in margins if one is not None and one.error is not None]
    if len(known) < len(margins):
        few = "no trials of equal seed" if None in margins else "one trial, no interval"
        return Outcome(comparison=comparison, answer=Answer.UNCLEAR, why=f"{why}; {few}")
    answer = Answer.UNCLEAR
    if all(one.low is not None and one.low > 0 for one in known):
        answer = Answer.YES
    elif any(one.high is not None and one.high < 0 for one in known):
        answer = Answer.NO
    chance = Chance(max(one.p_above(0.0) for one in known), min(one.p_below(0.0) for one in known))
    return Outcome(comparison=comparison, answer=answer, n=known[0].n, paired=known[0].paired, chance=chance,
                   why=f"{why}; judged by differences")  # fmt: skip


def _inside(comparison: Comparison, low: float, high: float) -> Answer:
    """Bounds themselves are outside, so that what is equal is neither more nor less."""
    least = -math.inf if comparison.low is None else comparison.low
    most = math.inf if comparison.high is None else comparison.high
    if (comparison.low is None or least < low) and (comparison.high is None or high < most):
        return Answer.YES
    return Answer.NO if high <= least or low >= most else Answer.UNCLEAR


def _exactly(comparison: Comparison, over: Sequence[float], under: Sequence[float]) -> float:
    """The effect of single values: no logarithms, so that twice as much is exactly 2."""
    if comparison.scale == "ratio":
        return math.prod(over) / math.prod(under)
    return math.fsum(over) - math.fsum(under)


def _totals(
    comparison: Comparison, values: Sequence[Mapping[int, float]]
) -> tuple[list[Mapping[int, float]], list[Mapping[int, float]]]:
    """Each side's weighted sum over trials of equal seed."""
    shared = sorted(set.intersection(*map(set, values)))
    at = len(comparison.over)
    first, second = (
        {seed: math.fsum(w * one[seed] for w, one in zip(weights, side, strict=True)) for seed in shared}
        for weights, side in ((comparison.weights[:at], values[:at]), (comparison.weights[at:], values[at:]))
    )
    return [first], [second] if comparison.under else []


def _effect(
    comparison: Comparison, over: Sequence[Mapping[int, float]], under: Sequence[Mapping[int, float]]
) -> Contrast | None:
    """The effect as a contrast against 0: of logarithms for a ratio, of the values else."""
    signs = [1.0] * len(over) + [-1.0] * len(under)
    return _sum([_scaled(comparison, by_seed) for by_seed in (*over, *under)], signs)


def _sum(values: Sequence[Mapping[int, float]], signs: Sequence[float]) -> Contrast | None:
    """Sum of signed values over trials of equal seed; two of which no seeds are shared are taken as independent."""
    signed = [{seed: sign * one for seed, one in by_seed.items()} for sign, by_seed in zip(signs, values, strict=True)]
    shared = sorted(set.intersection(*map(set, signed)))
    if len(shared) < 2 and len(signed) == 2 and min(map(len, signed)) > 1:
        first, second = (list(by_seed.values()) for by_seed in signed)
        return unpaired([-value for value in second], first)
    return paired([(0.0, sum(by_seed[seed] for by_seed in signed)) for seed in shared])


def _scaled(comparison: Comparison, by_seed: Mapping[int, float]) -> dict[int, float]:
    if comparison.scale == "ratio":
        return {seed: math.log(value) for seed, value in by_seed.items()}
    return dict(by_seed)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


_FITS = {"knee": _knee, "r_squared": _straight}
