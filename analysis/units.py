"""Writing values with their units, for readers: three significant digits, one prefix for a value and its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.metric import Metric, Unit
from analysis.statistics import EQUAL_WITHIN, Contrast, Estimate, Ratio

TWICE = 2.0  # smaller factors are said in per cent
WIDE = 0.5  # an interval wider than this share of its ratio is given by its ends, being far from symmetric
_EVEN = 0.1  # an interval whose sides differ by less than this share of the wider one is written with ±, and that side
NOTABLE = 0.005  # a ratio nearer to 1 than this is called equal: it is 1.00 in three digits
_PREFIXES: dict[Unit, tuple[tuple[float, str], ...]] = {
    "1/s": ((1.0, "msg/s"),),
    "bit/s": ((1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "share": ((0.01, "%"),),
    "B": ((1.0, "B"),),
    "count": ((1.0, ""),),
}
# Words that files of published values may say a unit in, beside those above: by how much to multiply.
_WORDS: dict[Unit, dict[str, float]] = {
    "1/s": {"1/s": 1.0},
    "bit/s": {"Gbit/s": 1e9, "B/s": 8.0, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9},
    "s": {"min": 60.0},
    "share": {"share": 1.0},
    "B": {"kB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1024.0**2},
    "count": {"count": 1.0},
}


def words(unit: Unit) -> dict[str, float]:
    """Every word for a unit of this kind, and how many of the SI unit it is."""
    return {word: factor for factor, word in _PREFIXES[unit] if word} | _WORDS[unit]


def scale(unit: Unit, value: float) -> tuple[float, str]:
    """The factor to divide by, and the unit to write behind, for a value of that size."""
    steps = _PREFIXES[unit]
    return next((step for step in steps if abs(value) >= step[0]), steps[-1] if value else steps[0])


def unit_of(metric: Metric, value: float) -> tuple[float, str]:
    """As scale; of a rate with what it is of."""
    factor, unit = scale(metric.unit, value)
    return factor, f"{metric.each}/s" if metric.unit == "1/s" else unit


def digits(value: float, *, significant: int = 3) -> str:
    """So many significant digits, all digits before the point, no exponents where people would not write them."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "−∞" if value < 0 else "∞"
    size = math.floor(math.log10(abs(float(f"{value:.{significant - 1}e}"))))
    if size >= 6 or size < -4:
        return f"{value:.{significant - 1}e}"
    return f"{value:,.{max(0, significant - 1 - size)}f}".replace(",", "\u202f")


def percent(share: float) -> str:
    """A share as per cent, of two digits, or all before the point."""
    hundredths = 100 * share
    return f"{hundredths:.2g}" if abs(hundredths) < 99.5 else f"{hundredths:.0f}"


def quantity(metric: Metric, value: float | None, *, at_least: bool = False) -> str:
    """A value with its unit; a dash when there is none.  at_least: it is a lower bound."""
    if value is None:
        return "–"
    if at_least:
        return f"≥ {quantity(metric, value)}"
    factor, unit = unit_of(metric, value)
    if metric.unit == "count" and math.isfinite(value) and value == round(value):
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{digits(value / factor)} {unit}".rstrip()


def interval(metric: Metric, found: Estimate | None) -> str:
    """Mean and 95 % interval with their unit: `12.3 ± 0.4 ms`, or its ends where it is not symmetric,
    `19.7 [5.10, 76.2] ms`.  A lower bound is said to be one, `≥ 12.0 s`, and has no interval; so is a single trial.
    """
    if found is None:
        return "–"
    factor, unit = unit_of(metric, found.mean or found.high or 0.0)
    mean = digits(found.mean / factor)
    if found.at_least:
        return f"≥ {mean} {unit}".rstrip() + (" (1 trial)" if found.n == 1 else "")
    if found.low is None or found.high is None:
        return f"{mean} {unit}".rstrip() + (" (1 trial)" if found.n == 1 else "")
    sides = (found.mean - found.low) / factor, (found.high - found.mean) / factor
    if max(sides) - min(sides) <= _EVEN * max(sides):
        return f"{mean} ± {_same_places(max(sides), mean)} {unit}".rstrip()
    return f"{mean} [{digits(found.low / factor)}, {digits(found.high / factor)}] {unit}".rstrip()


def _same_places(half_width: float, mean: str) -> str:
    """As many places as the mean has, more when they would show nothing."""
    if half_width == 0:
        return "0"
    if "e" in mean:
        return digits(half_width, significant=2)
    places = len(mean.partition(".")[2])
    return f"{half_width:.{places}f}" if half_width >= 10.0**-places else digits(half_width, significant=1)


def factor_text(ratio: Ratio) -> str:
    """A ratio with its interval and pairs, as in `0.081 [0.070, 0.094], 3 pairs`; or why there is none."""
    if ratio.ratio is None:
        return f"undefined: {ratio.undefined}"
    if ratio.low is None or ratio.high is None:
        return f"{digits(ratio.ratio)} ({pairs_text(ratio.n)}, no interval)"
    return f"{digits(ratio.ratio)} [{digits(ratio.low)}, {digits(ratio.high)}], {pairs_text(ratio.n)}"


def pairs_text(n: int) -> str:
    """How many pairs of trials a ratio is of."""
    return "1 pair" if n == 1 else f"{n} pairs"


def times_text(ratio: Ratio) -> str:
    """The same in words: how many times as much or less, and how sure that is; or that it cannot be told."""
    if ratio.ratio is None:
        return ""
    if ratio.low is None or ratio.high is None:
        return f"{_times(ratio.ratio)} in the {pairs_text(ratio.n)} there is; how much of it is chance cannot be told"
    if not shows(ratio):
        return _undetected(ratio)
    sureness = _sureness(ratio) if max(ratio.ratio, 1 / ratio.ratio) >= TWICE else ""
    return f"{_times(ratio.ratio)}{sureness} ({pairs_text(ratio.n)})"


def shows(ratio: Ratio) -> bool:
    """Whether there is a difference that can be told: some are proven, and less than three digits say."""
    if ratio.differs is False:
        return False
    return ratio.ratio is None or notable(ratio.ratio) or not is_equal(ratio)


def notable(ratio: float) -> bool:
    """Whether three digits tell it from equal."""
    return max(ratio, 1 / ratio) - 1 >= NOTABLE


def brief(ratio: Ratio) -> str:
    """The same in a few words, as beside a mark: `71.2 times lower`, `3.00 times as high`; or why there is none."""
    if ratio.ratio is None:
        return ratio.undefined or "–"
    if not shows(ratio):
        return (
            f"equal within {digits(EQUAL_WITHIN * 100, significant=1)} %" if is_equal(ratio) else "no difference shown"
        )
    return _times(ratio.ratio, _HIGH) + (" (1 pair)" if ratio.n == 1 else "")


def brief_range(ratios: Sequence[Ratio]) -> str:
    """Several ratios in a few words: `54.6 to 238 times lower`, `up to 8 % higher` where some show no difference."""
    have = [one for one in ratios if one.ratio is not None]
    if not have:
        reasons = set(map(brief, ratios))
        return reasons.pop() if len(reasons) == 1 else "no ratio"
    shown = sorted(one.ratio for one in have if one.ratio is not None and shows(one) and notable(one.ratio))
    if not shown or len(have) == 1:
        said = list(dict.fromkeys(map(brief, have)))
        return said[0] if len(said) == 1 else "no difference shown"
    alone = " (1 pair each)" if all(one.differs is None for one in have) else ""
    return _range(shown, have) + alone


def _range(shown: Sequence[float], have: Sequence[Ratio]) -> str:
    low, high = (_times(end, _HIGH) for end in (shown[0], shown[-1]))
    if len(shown) < len(have) and (shown[-1] < 1 or shown[0] > 1):
        return f"up to {low if shown[-1] < 1 else high}"
    (first, _, unit), (last, _, same) = low.partition(" "), high.partition(" ")
    if unit == same and first != last:
        return f"{last} to {first} {unit}" if shown[-1] < 1 else f"{first} to {last} {unit}"
    return low if low == high else f"{low} to {high}"


_MUCH, _HIGH = ("as much", "more", "less"), ("as high", "higher", "lower")


def _times(ratio: float, words: tuple[str, str, str] = _MUCH) -> str:
    """`2.50 times as much`, as 2.50 times more could be 3.50 times as much; below twice `23.4 % more`."""
    same, more, less = words
    times = max(ratio, 1 / ratio)
    if times - 1 < NOTABLE:
        return "equal"
    if times < TWICE:
        return f"{digits(abs(ratio - 1) * 100)} % {more if ratio > 1 else less}"
    return f"{digits(times)} times {same if ratio > 1 else less}"


def _undetected(ratio: Ratio) -> str:
    """Equal when the whole interval is near 1; else what would have shown."""
    if is_equal(ratio):
        return f"equal within {digits(EQUAL_WITHIN * 100, significant=1)} % ({pairs_text(ratio.n)})"
    return f"no difference detectable; {detectable_text(ratio)} ({pairs_text(ratio.n)})"


def is_equal(ratio: Ratio) -> bool:
    """Whether its interval is within 5 % of equal."""
    if ratio.low is None or ratio.high is None:
        return False
    return max(1 / ratio.low, ratio.high) <= 1 + EQUAL_WITHIN


def detectable_text(ratio: Ratio) -> str:
    """The smallest difference that these trials could have shown."""
    factor = ratio.detectable
    if factor is None or not math.isfinite(factor):
        return "no factor would have shown"
    if factor > 1000:
        return "nothing below a thousandfold would have shown"
    if factor < 2:
        return f"more than {digits((factor - 1) * 100, significant=2)} % would have shown"
    return f"more than {digits(factor, significant=2)} times would have shown"


def _sureness(ratio: Ratio) -> str:
    spread = relative_spread(ratio)
    if spread is None:
        return ""
    if spread <= WIDE:
        return f", ± {digits(spread * 100, significant=2)} %"
    return f", {times_range(ratio)}"


def times_range(ratio: Ratio) -> str:
    """The ends of a ratio's interval as times as much, or as times less when the ratio is below 1."""
    if ratio.ratio is None or ratio.low is None or ratio.high is None:
        return "no interval"
    ends = sorted((ratio.low, ratio.high) if ratio.ratio > 1 else (1 / ratio.low, 1 / ratio.high))
    return f"{digits(ends[0])} to {digits(ends[1])}"


def difference_text(metric: Metric, found: Contrast | None) -> str:
    """How far two shares are apart, in points of a per cent, with its interval; empty for other units."""
    if metric.unit != "share" or found is None:
        return ""
    points = digits(abs(found.centre) * 100)
    way = "more" if found.centre > 0 else "less"
    if found.half_width is None:
        return f"{points} points {way} in the 1 pair there is; how much of it is chance cannot be told"
    half = digits(found.half_width * 100, significant=2)
    pairs = pairs_text(min(found.n))
    if not found.differs:
        shown = f"no difference detectable; more than {half} points would have shown ({pairs})"
        return shown if found.half_width else f"equal ({pairs})"
    return f"{points} ± {half} points {way} ({pairs})"


def relative_spread(ratio: Ratio) -> float | None:
    """The wider side of a ratio's interval, as a share of the ratio; None without an interval."""
    if ratio.ratio is None or ratio.low is None or ratio.high is None:
        return None
    return max(ratio.high / ratio.ratio - 1, 1 - ratio.low / ratio.ratio)


def inside_sentence(label: str) -> str:
    """A label as it stands inside a sentence: its first letter small, unless it is an abbreviation's."""
    return label if label[1:2].isupper() else label[0].lower() + label[1:]
