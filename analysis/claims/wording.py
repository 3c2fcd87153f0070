"""What decided a claim, for readers."""

from __future__ import annotations

from analysis.claims.comparisons import Comparison, Quantity
from analysis.claims.outcomes import Answer, Outcome
from analysis.claims.vocabulary import Quantifier
from analysis.metrics import METRICS
from analysis.units import digits, inside_sentence, pairs_text, quantity

_HOW_MANY: dict[Quantifier, str] = {"all": "all", "most": "more than half", "any": "one at least"}
_SCALES: dict[str, str] = {"r_squared": "R²"}


def effect(outcome: Outcome) -> str:
    """The effect with its interval, `31.6 [30.1, 33.2]`; or why there is none."""
    if outcome.centre is None:
        return outcome.why
    three = (outcome.centre, outcome.low, outcome.high)
    values = [_value(outcome.comparison, value) for value in three if value is not None]
    ends = f" [{values[1]}, {values[2]}]" if len(values) == 3 else ""
    sign = f"{outcome.sign} " if outcome.sign else ""
    pairs = f", {_trials(outcome)}" if (ends or sign) and outcome.n else ""
    told = outcome.why and (not ends or outcome.comparison.scale == "never")
    return sign + values[0] + ends + pairs + (f" ({outcome.why})" if told else "")


def _trials(outcome: Outcome) -> str:
    first, second = outcome.n or (0, 0)
    if outcome.comparison.scale == "knee":
        return f"{first} values"
    if not outcome.paired:
        return f"{second} and {first} trials"
    return pairs_text(first) if outcome.comparison.under else f"{first} trial{'s' * (first != 1)}"


def asked(comparison: Comparison) -> str:
    """The band: `above 5`, `5 to 20`; with so many digits that its ends differ."""
    if comparison.scale == "never":
        return "none"
    low, high = (None if end is None else _value(comparison, end) for end in (comparison.low, comparison.high))
    if low is not None and low == high and comparison.low is not None and comparison.high is not None:
        low, high = f"{comparison.low:.7g}", f"{comparison.high:.7g} (SI units)"
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"above {low}" if low is not None else f"below {high}" if high is not None else "any"


def subject(comparison: Comparison) -> str:
    """What is compared, `set1-07 / set1-05, wireline, subscriber throughput`; what all share is said once."""
    same = [len({one[place] for one in comparison.quantities}) == 1 for place in range(3)]
    first = comparison.quantities[0]
    shared = [_word(first, place) for place in range(3) if same[place] and not (place == 0 and all(same))]

    def name(one: Quantity) -> str:
        return " ".join(_word(one, place) for place in range(3) if not same[place]) or one.case

    if comparison.at:
        curve = f"{', '.join(map(name, comparison.over))} over {', '.join(f'{place:g}' for place in comparison.at)}"
        return ", ".join([f"{_SCALES.get(comparison.scale, comparison.scale)} of {curve}", *shared])
    weights = comparison.weights or (1.0,) * len(comparison.quantities)
    names = [
        name(one) if w == 1 else f"{w:.3g} {name(one)}" for w, one in zip(weights, comparison.quantities, strict=True)
    ]
    join, at = " + " if comparison.weights else " × ", len(comparison.over)
    over, under = (join.join(side).replace(" + -1 ", " − ").replace(" + -", " − ") for side in (names[:at], names[at:]))
    sign = " − " if comparison.scale == "difference" else " / "
    if len(comparison.under) > 1:
        over, under = f"({over})" if at > 1 else over, f"({under})"
    return ", ".join([over + (sign + under if under else ""), *shared])


def counts(answers: list[Answer], quantifier: Quantifier, *, may_be_chance: bool = False) -> str:
    """`3 of 3; all needed`, and whether too few of so many decide it to be more than chance."""
    yes, unclear = answers.count(Answer.YES), answers.count(Answer.UNCLEAR)
    chance = "; of so many some may be so by chance" if may_be_chance else ""
    doubt = f", {unclear} unclear" if unclear else ""
    return f"{yes} of {len(answers)}{doubt}; {_HOW_MANY[quantifier]} needed{chance}"


def _word(one: Quantity, place: int) -> str:
    return inside_sentence(METRICS[one.metric].label) if place == 2 else one[place]


def _value(comparison: Comparison, value: float) -> str:
    if comparison.scale in ("ratio", "knee", "r_squared"):
        return digits(value)
    text = quantity(METRICS[comparison.over[0].metric], value)
    return f"{text} per 1" if comparison.scale == "slope" else text
