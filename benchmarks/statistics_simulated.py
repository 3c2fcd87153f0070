"""How often intervals hold the truth, and trend tests raise false alarms: the tables of docs/statistics.md.

python benchmarks/statistics_simulated.py
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analysis.statistics import Count, bootstrap_mean, estimate, share, trend
from records.equivalence import MARGIN, Answer, compared, looks
from records.precision import half_width
from records.stopping import End, Rule, judge

SETS, SERIES, BATCHES = 1500, 4000, 64


def coverage(generator: np.random.Generator) -> None:
    shapes: dict[str, tuple[Callable[[int], np.ndarray], float]] = {
        "normal": (lambda n: generator.normal(0, 1, n), 0.0),
        "log-normal": (lambda n: generator.lognormal(0, 0.5, n), math.exp(0.125)),
    }
    print(f"share of {SETS} sets of trials whose 95 % interval of the mean holds the truth")
    for shape, (draw, truth) in shapes.items():
        for n in (3, 4, 5, 8, 20):
            held = dict.fromkeys(("t", "bootstrap", "plain bootstrap"), 0)
            for _ in range(SETS):
                sample = draw(n)
                mean, ends = estimate(sample.tolist()), bootstrap_mean(sample.tolist())
                held["t"] += mean is not None and (mean.low or 0) <= truth <= (mean.high or 0)
                held["bootstrap"] += ends is not None and ends[0] <= truth <= ends[1]
                resampled = sample[generator.integers(0, n, (1000, n))].mean(axis=1)
                low, high = np.quantile(resampled, (0.025, 0.975))
                held["plain bootstrap"] += bool(low <= truth <= high)
            print(f"  {shape:<11} {n:>3} trials: " + ", ".join(f"{k} {v / SETS:.3f}" for k, v in held.items() if v))


def bounded(generator: np.random.Generator) -> None:
    shapes: dict[str, tuple[Callable[[int], np.ndarray], float]] = {
        "normal, 20 %": (lambda n: np.abs(generator.normal(1, 0.2, n)), 1.0),
        "log-normal, 0.5": (lambda n: generator.lognormal(0, 0.5, n), math.exp(0.125)),
        "log-normal, 1": (lambda n: generator.lognormal(0, 1, n), math.exp(0.5)),
    }
    print(f"share of {SETS} sets of trials whose interval of what cannot be negative holds the mean, and above 0")
    for shape, (draw, truth) in shapes.items():
        for n in (2, 3, 4, 5, 8):
            found = [(estimate(one, "positive"), estimate(one)) for one in (draw(n).tolist() for _ in range(SETS))]
            used = sum((one.low or 0) <= truth <= (one.high or 0) for one, _ in found if one) / SETS
            plain = sum((one.low or 0) <= truth <= (one.high or 0) for _, one in found if one) / SETS
            below = sum((one.low or 0) < 0 for _, one in found if one) / SETS
            print(f"  {shape:<16} {n} trials: {used:.3f}; plain t {plain:.3f}, of which below 0 {below:.3f}")


def shares(generator: np.random.Generator) -> None:
    print(f"share of {SETS} sets of trials whose binomial interval holds the share of messages lost")
    for p, of, together in (
        (0.012, 130, 0.0),
        (0.05, 60, 0.0),
        (0.001, 1000, 0.0),
        (0.05, 400, 0.01),
        (0.05, 400, 0.1),
    ):
        for n in (2, 3, 5):
            held = 0
            for _ in range(SETS):
                rates = generator.beta(p * (1 / together - 1), (1 - p) * (1 / together - 1), n) if together else p
                lost = generator.binomial(of, rates, n)
                found = share([Count(int(one), of) for one in lost])
                held += found is not None and (found.low or 0) <= p <= (found.high or 0)
            print(f"  {p:.1%} of {of}, correlation {together:g}, {n} trials: {held / SETS:.3f}")


def stopping(generator: np.random.Generator) -> None:
    print(f"{SETS} cells until ±5 %, at most 10 trials: mean trials, share at the cap, coverage if precise, of all")
    for least in (3, 5):
        rule = Rule(least=least, most=10, half_width=0.05, metrics=("metric",))
        for spread in (0.01, 0.02, 0.03, 0.04, 0.06, 0.10):
            ended = [repeated(rule, generator.normal(1, spread, rule.most).tolist()) for _ in range(SETS)]
            held = np.array([abs(float(np.mean(values)) - 1) <= half_width(values) for values, _ in ended])
            capped = np.array([end is End.INCONCLUSIVE for _, end in ended])
            precise = f"{held[~capped].mean():.3f}" if not capped.all() else "-"
            mean = np.mean([len(values) for values, _ in ended])
            print(f"  least {least}, {spread:.0%}: {mean:.1f}, {capped.mean():.3f}, {precise}, {held.mean():.3f}")


def repeated(rule: Rule, world: list[float]) -> tuple[list[float], End]:
    """The trials of a cell, whose values the world decides, and how it ended."""
    for run in range(rule.least, rule.most + 1):
        found = judge(rule, [{"metric": value} for value in world[:run]], run=run)
        if found.end is not End.GOING_ON:
            break
    return world[:run], found.end


def dependent(generator: np.random.Generator, length: int, phi: float) -> np.ndarray:
    series = generator.standard_normal((SERIES, length))
    for at in range(1, length):
        series[:, at] = phi * series[:, at - 1] + math.sqrt(1 - phi * phi) * series[:, at]
    return series


def slowest_wave(series: np.ndarray) -> np.ndarray:
    found = (trend(one) for one in series)
    return np.array([1.0 if one is None else one.p for one in found])


def newey_west(series: np.ndarray) -> np.ndarray:
    length = series.shape[1]
    place = np.arange(length) - (length - 1) / 2
    slope = series @ place / (place @ place)
    scores = (series - series.mean(1, keepdims=True) - slope[:, None] * place) * place
    lags = min(math.ceil(1.3 * math.sqrt(length)), length - 1)
    variance = (scores**2).sum(1)
    for lag in range(1, lags + 1):
        variance += 2 * (1 - lag / (lags + 1)) * (scores[:, lag:] * scores[:, :-lag]).sum(1)
    p: np.ndarray = 2 * stats.t.sf(np.abs(slope) * (place @ place) / np.sqrt(variance), length - 2)
    return p


def mann_kendall(series: np.ndarray) -> np.ndarray:
    """Hamed and Rao 1998: the variance by the autocorrelation of the detrended ranks, significant lags only."""
    length = series.shape[1]
    first, second = np.triu_indices(length, 1)
    score = np.sign(series[:, second] - series[:, first]).sum(1)
    place = np.arange(length) - (length - 1) / 2
    ranks = series.argsort(1).argsort(1).astype(float)
    away = ranks - ranks.mean(1, keepdims=True) - (ranks @ place / (place @ place))[:, None] * place
    total, inflation = (away**2).sum(1), np.ones(len(series))
    for lag in range(1, length - 2):
        rho = np.divide((away[:, lag:] * away[:, :-lag]).sum(1), total, where=total > 0, out=np.zeros(len(series)))
        weight = (length - lag) * (length - lag - 1) * (length - lag - 2)
        inflation += (
            2 / (length * (length - 1) * (length - 2)) * weight * np.where(abs(rho) > 1.96 / length**0.5, rho, 0)
        )
    variance = length * (length - 1) * (2 * length + 5) / 18 * np.maximum(inflation, 0.05)
    p: np.ndarray = 2 * stats.norm.sf((np.abs(score) - 1) / np.sqrt(variance))
    return p


def halves(series: np.ndarray) -> np.ndarray:
    """Means of three batches of the first half against three of the second."""
    each = series.shape[1] // 6
    means = series[:, : 6 * each].reshape(len(series), 6, each).mean(2)
    p: np.ndarray = stats.ttest_ind(means[:, :3], means[:, 3:], axis=1).pvalue
    return p


def trends(generator: np.random.Generator) -> None:
    print(f"share of {SERIES} windows in which a trend is found at 5 %: without one, and with one")
    for seconds in (8, 30, 120):
        for phi in (0.0, 0.3, 0.6):
            fine = dependent(generator, BATCHES, phi ** (seconds / BATCHES) if phi else 0.0)
            coarse = dependent(generator, seconds, phi)
            found = []
            for name, test, series in (
                ("Newey-West", newey_west, coarse),
                ("Mann-Kendall", mann_kendall, coarse),
                ("halves", halves, fine),
                ("slowest wave", slowest_wave, fine),
            ):
                # The trend is twelve standard deviations of a window's mean from end to end.
                slope = 12 * float(series.mean(1).std()) * (np.linspace(0, 1, series.shape[1]) - 0.5)
                alarms, hits = (float((test(one) <= 0.05).mean()) for one in (series, series + slope))
                found.append(f"{name} {alarms:.3f} {hits:.2f}")
            print(f"  {seconds:>3} s, phi {phi}: " + ", ".join(found))


def equivalence(generator: np.random.Generator) -> None:
    planned = looks(3, 48)
    print(f"{SETS} comparisons, looked at after {planned}: called equal, not equal, undecided; mean trials; and, with")
    print("each look as if it were the only one, how often something wrong is said")
    for truth in (0.0, 0.01, 0.02, 0.03, 0.04, 0.06):
        for spread in (0.005, 0.02, 0.05):
            worlds = generator.normal(math.log1p(truth), spread, (SETS, planned[-1]))
            ended = [decided(world, planned, looked=len(planned)) for world in worlds]
            naive = [decided(world, planned, looked=1)[0] for world in worlds]
            shares = " ".join(f"{sum(one is answer for one, _ in ended) / SETS:.3f}" for answer in Answer)
            wrong = Answer.EQUAL if truth >= MARGIN else Answer.DIFFERENT
            mean = np.mean([number for _, number in ended])
            mistaken = sum(one is wrong for one in naive) / SETS
            print(f"  true {truth:.0%}, pairs scatter by {spread:.1%}: {shares}; {mean:.1f}; {mistaken:.3f}")


def decided(world: np.ndarray, planned: tuple[int, ...], *, looked: int) -> tuple[Answer, int]:
    """The answer to a comparison whose differences of logarithms the world decides, and after how many trials."""
    for number in planned:
        answer = compared([(1.0, math.exp(one)) for one in world[:number]], looked=looked).answer
        if answer is not Answer.UNDECIDED:
            break
    return answer, number


if __name__ == "__main__":
    randomness = np.random.default_rng(20050)
    coverage(randomness)
    trends(randomness)
    stopping(np.random.default_rng(5))
    bounded(np.random.default_rng(6))
    shares(np.random.default_rng(7))
    equivalence(np.random.default_rng(8))
