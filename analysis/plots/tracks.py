"""What is drawn over time, one track under the other: curves with their names, each track with a scale of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from analysis.details import Points
from analysis.findings import Standing, TrialFinding
from analysis.metrics import METRICS
from analysis.plots.style import INK, MUTED
from analysis.units import scale
from records.words import Words

_DASH, _DOTS = (4.0, 2.0), (1.0, 1.8)
_DIRECTIONS = {"uplink": (), "downlink": _DASH}
_TALL, _LOW = 98.0, 36.0  # points
_ROOM = 1.12  # of a scale, for its highest value
_BYTES = ((1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The same series of all trials.  name: written beside the axis, at the height `beside`."""

    name: str
    lines: tuple[tuple[Points, tuple[float, ...]], ...]  # points and dash of each trial
    colour: str
    beside: float
    width: float = 1.0
    steps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """height: of its axes, points.  top: of its scale, which begins at 0.  shade: (second, share) to be shaded."""

    title: str
    height: float
    top: float
    curves: tuple[Curve, ...]
    percent: bool = False
    shade: tuple[tuple[float, float], ...] = ()

    @property
    def parts(self) -> int:
        """Into how many parts its ticks may cut it."""
        return 5 if self.height >= _TALL else 3


def tracks(trials: Sequence[TrialFinding], *, colour: str, words: Words, dotted: bool) -> list[Track]:
    """The tracks that a trial has anything for.  dotted: lines of trials that do not count are dotted."""
    of_link = (draw(trials, dotted) for draw in (_use, _queue, _sent_again, _rate))
    return [track for track in (_throughput(trials, colour, words, dotted), *of_link) if track is not None]


def _throughput(trials: Sequence[TrialFinding], colour: str, words: Words, dotted: bool) -> Track | None:
    sent, received = words.done
    curves = [
        *_curve(trials, "published_per_s", sent, MUTED, dotted=dotted, width=1.2),
        *_curve(trials, "delivered_per_s", received, colour, dotted=dotted, width=1.2),
    ]
    return _track(f"{words.message}s per second", curves, height=_TALL)


def _use(trials: Sequence[TrialFinding], dotted: bool) -> Track | None:
    curves = _curve(trials, "utilisation_air", "air", INK, dotted=dotted)
    for name, dash in _DIRECTIONS.items():
        curves += _curve(trials, f"utilisation_{name}", name, INK, dotted=dotted, dash=dash)
    return _track("link use", curves, least=1.05 / _ROOM, percent=True)


def _queue(trials: Sequence[TrialFinding], dotted: bool) -> Track | None:
    peak = _peak(trials, "backlog_bytes")
    factor, unit = next((step for step in _BYTES if peak >= step[0]), _BYTES[-1])
    curves = _curve(trials, "backlog_bytes", "waiting", INK, dotted=dotted, factor=factor)
    return _track(f"{unit} waiting in the link's queues", curves, least=1.0)


def _sent_again(trials: Sequence[TrialFinding], dotted: bool) -> Track | None:
    """The mean of the trials that count: a line for each of them, twice, nobody could follow."""
    counted = [trial for trial in trials if not dotted or trial.standing is Standing.VALID] or trials
    curves = []
    for name, dash in _DIRECTIONS.items():
        if points := _mean([trial.seconds.get(f"retr_per_s_{name}", []) for trial in counted]):
            beside = median(value for _, value in points)
            curves.append(Curve(name=name, lines=((points, dash),), colour=INK, beside=beside))
    shade = tuple(_mean([_recovery(trial) for trial in counted]))
    said = "packets per second sent again or overtaken" + (", mean" if len(counted) > 1 else "")
    return _track(said + ("; shaded: loss recovery" if shade else ""), curves, least=1.0, shade=shade)


def _recovery(trial: TrialFinding) -> Points:
    """Share of each second in which a flow recovered, of the busier direction."""
    busier: dict[float, float] = {}
    for direction in _DIRECTIONS:
        for t, share in trial.seconds.get(f"recovery_{direction}", []):
            busier[t] = min(max(busier.get(t, 0.0), share), 1.0)
    return sorted(busier.items())


def _mean(series: Sequence[Points]) -> Points:
    """Means of whole seconds; the first and last, which end where each trial's load does, only if most have them."""
    found: dict[float, list[float]] = {}
    for points in series:
        for t, value in points:
            found.setdefault(round(t, 1), []).append(value)
    most = max(map(len, found.values()), default=0)
    return [(t, mean(values)) for t, values in sorted(found.items()) if 2 * len(values) > most]


def _rate(trials: Sequence[TrialFinding], _: bool) -> Track | None:
    """The rates of the first trial that has them: a timeline sets the same ones in all."""
    ordered = sorted(trials, key=lambda trial: trial.standing is not Standing.VALID)
    names = {trial.number: [name for name in trial.seconds if name.startswith("rate_")] for trial in ordered}
    first = next((trial for trial in ordered if names[trial.number]), None)
    if first is None:
        return None
    peak = max(_peak([first], name) for name in names[first.number])
    factor, unit = scale(METRICS["goodput_bit_s"].unit, peak)
    curves = []
    for series in names[first.number]:
        name = series.removeprefix("rate_")
        dash = _DASH if name.startswith("downlink") else ()
        curves += _curve([first], series, name, INK, dotted=False, dash=dash, factor=factor, steps=True)
    return _track(f"rate, {unit}", curves)


def _curve(
    trials: Sequence[TrialFinding], series: str, name: str, colour: str, *, dotted: bool, width: float = 1.0,
    dash: tuple[float, ...] = (), factor: float = 1.0, steps: bool = False,
) -> list[Curve]:  # fmt: skip
    """One curve, or none when no trial has the series."""
    lines = []
    for trial in trials:
        if points := trial.seconds.get(series):
            counts = not dotted or trial.standing is Standing.VALID
            lines.append(([(t, value / factor) for t, value in points], dash if counts else _DOTS))
    if not lines:
        return []
    inside = [value for points, _ in lines for t, value in points if t > 0]
    beside = median(inside or [value for points, _ in lines for _, value in points])
    return [Curve(name=name, lines=tuple(lines), colour=colour, beside=beside, width=width, steps=steps)]


def _track(
    title: str, curves: Sequence[Curve], *, height: float = _LOW, least: float = 0.0, percent: bool = False,
    shade: tuple[tuple[float, float], ...] = (),
) -> Track | None:  # fmt: skip
    if not curves and not shade:
        return None
    peak = max((value for curve in curves for points, _ in curve.lines for _, value in points), default=0.0)
    top = max(peak, least) * _ROOM or 1.0
    return Track(title=title, height=height, top=top, curves=tuple(curves), percent=percent, shade=shade)


def _peak(trials: Sequence[TrialFinding], series: str) -> float:
    return max((value for trial in trials for _, value in trial.seconds.get(series, [])), default=0.0)
