"""What the comparison says, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from analysis.answer import primary
from analysis.compare import Comparison, compare, held, level_of, matches, unequal
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.metric import Metric
from analysis.partial import MEASURES
from analysis.stationarity import series_label
from analysis.units import (
    NOTABLE,
    TWICE,
    WIDE,
    brief_range,
    digits,
    inside_sentence,
    is_equal,
    quantity,
    relative_spread,
    shows,
    times_range,
    times_text,
)
from analysis.worded import chosen, metrics_for, that_lead, words_for
from records.counts import out_of, several
from records.stopping import End
from records.verdict import IN_CLIENT, SHARED_MACHINE, Health

Pair = tuple[CellFinding, CellFinding]  # the baseline's and the other
_NOT_THE_SCENARIOS = (SHARED_MACHINE, IN_CLIENT)
_FEW = 3  # levels that a sentence names
_RATIOS = ("delivered_per_s", "published_per_s", "latency_p50_s", "response_p50_s")


def verdict_line(findings: Findings) -> str:
    """Whether the numbers may be believed."""
    said = (_validity(findings), _parts(findings), _measures(findings), _precision(findings), _kernels(findings))
    return " ".join(filter(None, said))


def _parts(findings: Findings) -> str:
    """How many trials lack what is made of captures; '' when none does."""
    partial = [one for one in findings.trials if any(not name.startswith(MEASURES) for name in one.partial)]
    if not partial:
        return ""
    counting = sum(trial.standing is Standing.VALID for trial in partial)
    return (
        f"Of {len(partial)} trial{'s' * (len(partial) != 1)} a capture, or what is made of it, could not be analysed; "
        f"{counting} of them count{'s' * (counting == 1)} with what the ledger says."
    )


def _measures(findings: Findings) -> str:
    """Whose metrics trials lack because the module failed; '' when none did."""
    failed = Counter(name for trial in findings.trials for name in trial.partial if name.startswith(MEASURES))
    return " ".join(
        f"{name.removeprefix(MEASURES)}, a module of metrics, failed in {count} trial{'s' * (count != 1)}."
        for name, count in sorted(failed.items())
    )


def _precision(findings: Findings) -> str:
    """How the stopping rule left the cells; '' when the number of trials was fixed."""
    ends = Counter(cell.precision.end for cell in findings.cells if cell.precision is not None)
    words = {
        End.PRECISE: "precise enough",
        End.INCONCLUSIVE: "inconclusive in a metric when the cap of trials was reached",
        End.GOING_ON: "not yet precise",
    }
    parts = ", ".join(f"{ends[end]} {said}" for end, said in words.items() if ends[end])
    return f"Of {several(ends.total(), 'cell')}, {parts}." if parts else ""


def _kernels(findings: Findings) -> str:
    """A warning when cells that are compared ran on different kernels, of which one is much slower."""
    inside = [trial.metrics["lab_kernel"] > 0 for trial in findings.trials if "lab_kernel" in trial.metrics]
    if not any(inside):
        return ""
    if all(inside):
        return "All ran in the lab kernel."
    there = sum(inside)
    return (
        f"{several(there)} ran in the lab kernel and {len(inside) - there} on the machine's own: what differs between "
        "them may be the kernels' (run with --kernel lab to have all on one)."
    )


def _validity(findings: Findings) -> str:
    trials = findings.trials
    if not trials:
        return "No trial of it counts here."
    valid = sum(trial.standing is Standing.VALID for trial in trials)
    if valid == len(trials):
        who = "All {valid} trials are" if valid > 1 else "The one trial is"
        return f"{who.format(valid=valid)} valid: {_waived(trials)}."
    rest = ", ".join(
        f"{count} {standing}"
        for standing in Standing
        if standing is not Standing.VALID and (count := sum(trial.standing is standing for trial in trials))
    )
    if len(trials) == 1:
        return f"The one planned trial is {trials[0].standing}. Only valid trials enter the numbers below."
    return f"{valid} of {len(trials)} planned trials are valid, {rest}. Only valid trials enter the numbers below."


def _waived(trials: Sequence[TrialFinding]) -> str:
    """In how many trials a health check failed that does not count, and who says so."""
    whose: Counter[str] = Counter()
    for trial in trials:
        found = [
            next((why for why in _NOT_THE_SCENARIOS if f"(waived: {why})" in reason), "")
            for reason in trial.reasons
            if reason.partition(":")[0].endswith(f" {Health.WAIVED}")
        ]
        if trial.metrics.get("waived", 0) > len(found):
            found.append("")  # of a reduction that keeps no reasons
        whose.update(set(found))
    said = {"": "the scenario waives a health check that failed"} | {
        why: f"a health check that failed does not count, because {why}" for why in _NOT_THE_SCENARIOS
    }
    told = [f"in {whose[why]} of them {text}" if len(trials) > 1 else text for why, text in said.items() if whose[why]]
    return ", ".join(told) or "no health check failed"


def trends_line(findings: Findings) -> str:
    """How many windows were not steady; empty when all were."""
    moving = [trial for trial in findings.trials if trial.trends]
    if not moving:
        return ""
    tested = sum(bool(trial.trend_tests) for trial in findings.trials)
    words = words_for(findings.cells)
    series = dict.fromkeys(series_label(trend.series, words) for trial in moving for trend in trial.trends)
    return (
        f"In {out_of(len(moving), tested)} {' or '.join(series)} still rose or fell during the window, beyond "
        "chance; the trials stay valid, and a mean over such a window depends on its length."
        + _asked_for(sum(bool(trial.trends) for cell in findings.cells if cell.ramped for trial in cell.trials))
    )


def _asked_for(trials: int) -> str:
    return f" In {trials} of them the load's rate is to change: the scenario has a ramp." if trials else ""


def headlines(findings: Findings) -> tuple[str, ...]:
    """One sentence for each level that is compared and each chief metric; none when nothing is compared.

    Pairs of cells whose guarantees differ have sentences of their own, which say so.
    """
    found = []
    for against, pairs in _groups(findings).items():
        sentences = [_ratios([compare(a, b, name) for a, b in pairs]) for name in _names(pairs, _chief(pairs))]
        sentences.append(_losses([compare(a, b, "loss_share") for a, b in pairs]))
        found += [f"{against}: {text}" for text in sentences if text]
    return tuple(found)


def leading(findings: Findings) -> tuple[str, ...]:
    """The primary metrics: in one sentence for a single level, in one each for the levels that differ the most."""
    found = matches(findings)
    pairs = [(match.baseline, other) for match in found for other in match.others]
    levels: dict[str, list[Pair]] = {}
    for one, other in pairs:
        levels.setdefault(level_of(findings, other), []).append((one, other))
    names, known = _names(pairs, primary(findings.cells)), metrics_for(findings.cells)
    if len(levels) == 1:
        ((level, mine),) = levels.items()
        said = ", ".join(f"{inside_sentence(known[name].label)} {_briefly(mine, name)}" for name in names)
        return (f"{level} against {level_of(findings, pairs[0][0])}{_unjudged(mine)}: {said}.",)
    return tuple(f"{known[name].label} against {level_of(findings, pairs[0][0])}: {_most(levels, name)}."
                 for name in names if pairs)  # fmt: skip


def _most(levels: Mapping[str, Sequence[Pair]], name: str) -> str:
    """The levels that differ the most in a metric, in their order."""
    said = {level: _briefly(pairs, name) for level, pairs in levels.items()}
    if len(set(said.values())) == 1:
        return f"{next(iter(said.values()))} for {', '.join(said)}"
    apart = {level: _furthest(pairs, name) for level, pairs in levels.items()}
    ranked = sorted(levels, key=lambda level: -apart[level])
    least = sum(math.isinf(far) for far in apart.values())  # they are told, however many
    chosen = ranked[: max(_FEW, least + 1)]
    told = [f"{text} for {level}{_unjudged(levels[level])}" for level, text in said.items() if level in chosen]
    rest = ranked[len(chosen) :]
    less = "less" if all(apart[level] for level in rest) else "less, or not that it shows"
    return ", ".join(told) + (f", the {len(rest)} other{'s' * (len(rest) > 1)} {less}" if rest else "")


def _furthest(pairs: Sequence[Pair], name: str) -> float:
    """The largest difference that shows, as a logarithm: infinite where one has no ratio, 0 where none shows."""
    ratios = [compare(one, other, name).ratio for one, other in pairs]
    if any(one.ratio is None for one in ratios):
        return math.inf
    return max((abs(math.log(one.ratio)) for one in ratios if one.ratio and one.differs is not False), default=0.0)


def _briefly(pairs: Sequence[Pair], name: str) -> str:
    ratios = [compare(one, other, name).ratio for one, other in pairs]
    without = sum(one.ratio is None for one in ratios)
    some = f" (no ratio in {without} of {len(ratios)} pairs of cells)" if 0 < without < len(ratios) else ""
    return brief_range(ratios) + some


def _unjudged(pairs: Sequence[Pair]) -> str:
    return " (guarantees differ, neither is better)" if any(unequal(*pair) for pair in pairs) else ""


def _groups(findings: Findings) -> dict[str, list[Pair]]:
    """All pairs of cells, by what the other is and what it is held against."""
    found: dict[str, list[Pair]] = {}
    for match in matches(findings):
        for other in match.others:
            against = f"{level_of(findings, other)} against {level_of(findings, match.baseline)}"
            if differ := unequal(match.baseline, other):
                against += f", neither of them better, since {differ}"
            found.setdefault(against, []).append((match.baseline, other))
    return found


def _names(pairs: Sequence[Pair], metrics: Sequence[str]) -> list[str]:
    """These metrics, a latency by the definition that all of these cells have."""
    return [held(metric, *(cell for pair in pairs for cell in pair)) for metric in metrics]


def _chief(pairs: Sequence[Pair]) -> tuple[str, ...]:
    cells = [cell for pair in pairs for cell in pair]
    return (*that_lead(cells), *chosen(_RATIOS, cells))


def _ratios(compared: Sequence[Comparison]) -> str:
    have = [one.ratio for one in compared if one.ratio.ratio is not None]
    if not have:
        return ""
    values = sorted(ratio.ratio for ratio in have if ratio.ratio is not None)
    label = inside_sentence(_metrics(compared)[compared[0].metric].label)
    if not any(map(shows, have)):
        coarsest = max(have, key=lambda ratio: (not is_equal(ratio), ratio.detectable or math.inf))
        which = f" (the least certain of {len(have)} pairs of cells)" if len(have) > 1 else ""
        return f"{label}: {times_text(coarsest)}{which}."
    largest = max(values[-1], 1 / values[0])
    in_percent = largest - 1 >= NOTABLE and largest < TWICE and (values[-1] <= 1 or values[0] >= 1)
    if largest - 1 < NOTABLE:
        text = f"{label} is equal"
    elif in_percent:  # as the tables have it (analysis.units)
        sizes = sorted(abs(value - 1) * 100 for value in values)
        text = f"{label} is {_range(sizes)} % {'lower' if values[-1] <= 1 else 'higher'}"
    elif values[-1] <= 1:
        size = _range([1 / value for value in reversed(values)])
        text = f"{label} is {size} times lower"
    elif values[0] >= 1:
        text = f"{label} is {_range(values)} times as high"
    else:
        text = f"{label} is {_range(values)} times the baseline's"
    spreads = [spread for ratio in have if (spread := relative_spread(ratio)) is not None]
    notes = []
    if spreads and in_percent:  # ± 3 % beside 23.4 % could be of either
        widest = max(have, key=lambda one: relative_spread(one) or 0)
        some = " at the widest" if len(have) > 1 else ""
        notes.append(f"95 % interval of the ratio {_range([widest.low or 0, widest.high or 0])}{some}")
    elif spreads and max(spreads) <= WIDE:
        notes.append(f"± {digits(max(spreads) * 100, significant=2)} %" + (" at most" if len(have) > 1 else ""))
    elif spreads:
        widest = max(have, key=lambda one: relative_spread(one) or 0)
        # The ends are of what the sentence says, which is how many times less only where all are.
        ends = times_range(widest) if text.endswith("lower") else _range([widest.low or 0, widest.high or 0])
        notes.append(f"95 % interval {ends} at the widest")
    notes += [f"{len(have)} pairs of cells"] if len(have) > 1 else []
    notes.append(_pairs([ratio.n for ratio in have]))
    if undefined := len(compared) - len(have):
        notes.append(f"undefined for {undefined}")
    if unclear := sum(not shows(ratio) for ratio in have):
        notes.append(f"no difference detectable for {unclear}")
    return text + (f" ({', '.join(notes)})" if notes else "") + "."


def _pairs(numbers: Sequence[int]) -> str:
    """Of how many pairs of trials the ratios are; one pair has no interval, which is said."""
    least, most = min(numbers), max(numbers)
    each = " each" if len(numbers) > 1 else ""
    if most == 1:
        return f"a single pair of trials{each}, no interval"
    return f"{most if least == most else f'{least} to {most}'} pairs of trials{each}"


def _losses(compared: Sequence[Comparison]) -> str:
    before = [one.before.mean for one in compared if one.before]
    after = [one.after.mean for one in compared if one.after]
    if not before or not after or max(before + after) == 0:
        return ""
    metric = _metrics(compared)["loss_share"]
    label, most, against = inside_sentence(metric.label), quantity(metric, max(after)), quantity(metric, max(before))
    return f"{label}: {most} at most, against {against}."


def _metrics(compared: Sequence[Comparison]) -> Mapping[str, Metric]:
    """In the words of what is compared."""
    return metrics_for(cell for one in compared for cell in (one.baseline, one.other))


def _range(values: Sequence[float]) -> str:
    low, high = digits(values[0]), digits(values[-1])
    return low if low == high else f"{low} to {high}"
