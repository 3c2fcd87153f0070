"""Writing values with their units, for readers: three significant digits, one prefix for a value and its interval."""

from __future__ import annotations

import math

from analysis.metrics import Metric, Unit
from analysis.statistics import Estimate, Ratio

_PREFIXES: dict[Unit, tuple[tuple[float, str], ...]] = {
    "1/s": ((1.0, "msg/s"),),
    "bit/s": ((1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "share": ((0.01, "%"),),
    "B": ((1.0, "B"),),
    "count": ((1.0, ""),),
}


def scale(unit: Unit, value: float) -> tuple[float, str]:
    """The factor to divide by, and the unit to write behind, for a value of that size."""
    steps = _PREFIXES[unit]
    return next((step for step in steps if abs(value) >= step[0]), steps[-1] if value else steps[0])


def digits(value: float) -> str:
    """Three significant digits, without exponents where people would not write them."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "∞"
    size = abs(value)
    if size >= 1e6 or size < 1e-4:
        return f"{value:.2e}"
    if size >= 100:
        return f"{value:,.0f}".replace(",", " ")
    places = max(0, 2 - math.floor(math.log10(size)))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text and value == round(value) else text


def quantity(metric: Metric, value: float | None) -> str:
    """A value with its unit; a dash when there is none."""
    if value is None:
        return "–"
    factor, unit = scale(metric.unit, value)
    return f"{digits(value / factor)} {unit}".rstrip()


def interval(metric: Metric, found: Estimate | None) -> str:
    """Mean ± half width, unit; a single trial is said to be one."""
    if found is None:
        return "–"
    factor, unit = scale(metric.unit, found.mean)
    mean = digits(found.mean / factor)
    if found.half_width is None:
        return f"{mean} {unit}".rstrip() + " (1 trial)"
    return f"{mean} ± {_same_places(found.half_width / factor, mean)} {unit}".rstrip()


def _same_places(half_width: float, mean: str) -> str:
    if half_width == 0:
        return "0"
    places = len(mean.partition(".")[2]) if "." in mean else 0
    needed = max(places, -math.floor(math.log10(half_width)))
    return f"{half_width:.{min(needed, 6)}f}"


def factor_text(ratio: Ratio) -> str:
    """A ratio with its interval, as in `0.081 [0.070, 0.094]`; or why there is none."""
    if ratio.ratio is None:
        return f"undefined: {ratio.undefined}"
    if ratio.low is None or ratio.high is None:
        return f"{digits(ratio.ratio)} (1 pair, no interval)"
    return f"{digits(ratio.ratio)} [{digits(ratio.low)}, {digits(ratio.high)}]"


def times_text(ratio: Ratio) -> str:
    """The same in words: how many times more or less, ± the interval's wider side."""
    if ratio.ratio is None:
        return ""
    if ratio.differs is False:
        return "no difference shown"
    times = max(ratio.ratio, 1 / ratio.ratio)
    if times < 1.0005:
        return "equal"
    word = "more" if ratio.ratio > 1 else "less"
    change = f"{digits(times)} times {word}" if times >= 2 else f"{digits((ratio.ratio - 1) * 100)} %".replace("-", "−")
    spread = relative_spread(ratio)
    return change if spread is None or times < 2 else f"{change}, ± {digits(spread * 100)} %"


def relative_spread(ratio: Ratio) -> float | None:
    """The wider side of a ratio's interval, as a share of the ratio; None without an interval."""
    if ratio.ratio is None or ratio.low is None or ratio.high is None:
        return None
    return max(ratio.high / ratio.ratio - 1, 1 - ratio.low / ratio.ratio)
