"""Whether media agree: the same load over the same profiles by each medium, on the same seeds, until that is decided.

An ordinary campaign, whose cells are profiles by places (kernel and medium) by loops.  It begins with a few rounds and
grows, at looks that are planned beforehand (records.equivalence.looks), by the cells that are not decided.

A closed loop gives the throughput, and an open one the latency.  In a closed loop a message's latency is how many of
the copies of the one before were still to come when it was sent, that is where among them the publisher's answer went,
and that the server's threads decide: over 80211b-1m a message took 0.39 to 0.88 s, and the mean of 33 of them scattered
by 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from emulation.profile import library
from emulation.profile.direction import FULL_FRAME
from emulation.profile.lossmodel import share_of
from emulation.profile.profile import LinkProfile
from experiments.campaign import campaign as campaigns
from experiments.campaign.prepare import profile_of, settings_of
from experiments.scenario import scenario as scenarios
from experiments.scenario.overlay import KEY as BASED_ON
from experiments.scenario.scenario import Scenario
from experiments.scenario.settings import Settings
from experiments.workers.isolation import ROOT
from experiments.workers.kernels import Kernels
from experiments.workers.place import Place
from records.agreement import Agreement, By, Losses, Quantity, steady_rate
from records.campaign import Campaign, Cell, read_campaign
from records.counting import counts, read_tables
from records.directions import DIRECTIONS
from records.equivalence import Answer, compared, looks
from records.link import LinkProof
from records.manifest import Manifest
from records.publishing import is_whole
from records.schema import TABLES
from records.store import DamagedTrial, Trial, trials_of
from records.window_metrics import read_ledger
from records.workload import Command, Messages
from records.yaml_lines import text_of

BASE = ROOT / "experiments" / "scenarios" / "agreement.yaml"
# Those that the link decides: losses, none, jitter and delay (twice), long delay, bursts.
PROFILES = ("nistnet-80211", "80211b-1m", "3g", "lte", "geo-satellite", "bursty-interference")
# Each is held against the first of them that there is.
PLACES: dict[By, Place] = {"line": Place("host", "line"), "lab": Place("lab", "tc"), "host": Place("host", "tc")}
Loop = Literal["closed", "open"]
LOOPS: tuple[Loop, ...] = ("closed", "open")
FIRST_LOOK = 3
# Over nistnet-80211 (3 %) a publisher's 38 messages of 20 s scattered by 42 % in latency, so their mean by 7 %: with
# that, 48 pairs would not be enough.
_LOSSY, _LOSSY_WINDOW_S = 0.001, 60
_LATENCY = "latency_mean_s"
_LONGEST_CASE = 41
# An open loop sends half as often as a closed one could, and meets no message of before where nothing is lost.
_PACE, _SEGMENT, _SHORTEST_CYCLE_S = 0.5, 1448, 0.05


def write_scenario(path: Path, wanted: Mapping[str, Sequence[By]], *, base: Path = BASE) -> Scenario:
    """Write the scenario that has each profile (name or file) by each of its media in both loops, and read it.

    Raises what reading a scenario does.
    """
    workload = _load(scenarios.load(base).settings)
    cases = [
        _case(profile, medium, loop, workload, number=number)
        for number, (profile, media) in enumerate(wanted.items(), start=1)
        for medium in media
        for loop in LOOPS
    ]
    path.write_text(text_of({BASED_ON: str(base), "cases": cases}, width=120))
    return scenarios.load(path)


def _load(settings: Settings) -> Messages:
    """TypeError of programs, whose messages nobody counts."""
    if isinstance(settings.workload, Command):
        raise TypeError("whether media agree is asked with messages, and this is a workload of programs")
    return settings.workload


def _case(profile: str, medium: By, loop: Loop, workload: Messages, *, number: int) -> dict[str, object]:
    """number: the profile's, which tells those apart whose names are long and begin alike."""
    loaded = library.load(profile)
    name = f"{medium}-{loop}-{loaded.name}"
    found: dict[str, object] = {
        "case": name if len(name) <= _LONGEST_CASE else f"{name[: _LONGEST_CASE - 4]}-{number}",
        "network": str(Path(profile).resolve()) if profile.endswith((".yaml", ".yml")) else profile,
        "kernel": PLACES[medium].kernel,
        "medium": PLACES[medium].medium,
        **_window(loaded),
    }
    if loop == "open":
        found["workload"] = {"loop": loop, "rate": pace(loaded, workload)}
    return found


def pace(profile: LinkProfile, workload: Messages) -> float:
    """Messages per second of an open loop, half of what a closed one could send over a profile.

    A closed loop waits for a message on its way up, for the copies of it on their way down, and for the answer.
    """
    frames = math.ceil(max(workload.sizes) / _SEGMENT)
    up, down = profile.uplink, profile.downlink
    airtime_s = up.airtime(FULL_FRAME) + workload.deliveries_per_message * down.airtime(FULL_FRAME)
    cycle_s = max(frames * airtime_s + up.delay + down.delay, _SHORTEST_CYCLE_S)
    return float(f"{_PACE / cycle_s:.3g}")


def stations(base: Path = BASE) -> int:
    """How many stations the load has."""
    return scenarios.load(base).settings.stations


def _window(profile: LinkProfile) -> dict[str, object]:
    """A longer window where packets are lost: each wait for one to be sent again scatters throughput and latency."""
    lost = max(share_of(getattr(profile, way).loss) for way in DIRECTIONS)
    return {"window": {"window_s": _LOSSY_WINDOW_S}} if lost > _LOSSY else {}


def why_not(by: By, profile: LinkProfile, kernels: Kernels, *, stations: int) -> str:
    """Why a profile's link for so many stations cannot be had by a medium here, '' when it can."""
    if by == "lab":
        return kernels.why_not_lab(profile)
    return kernels.why_not_host(profile, stations=stations, medium=PLACES[by].medium)


def planned_looks(cap: int) -> tuple[int, ...]:
    """After how many trials is looked."""
    return looks(min(FIRST_LOOK, cap), cap)


def begun(scenario: Scenario, root: Path) -> Path | None:
    """The newest campaign of a scenario below `root`, finished or not, that is not being copied; None without one."""
    for folder in reversed(campaigns.folders(root)):
        with suppress(DamagedTrial):
            if campaigns.is_of(read_campaign(folder), scenario.digest) and is_whole(folder):
                return folder
    return None


def create(scenario: Scenario, root: Path) -> Path:
    """A new campaign with the rounds of the first look."""
    return campaigns.create(scenario, root, first=planned_looks(scenario.settings.trials.cap)[0])


def grow(folder: Path) -> int:
    """Add what has to be run until the next look to a campaign whose trials have all been run; how many trials.

    0 when everything is decided or the last look has been taken.
    """
    campaign = read_campaign(folder)
    undecided = _undecided(campaign, evaluate(folder))
    if not undecided:
        return 0
    cap = settings_of(campaign.cells[0]).trials.cap
    done = max(one.trial for one in campaign.order)
    until = next((look for look in planned_looks(cap) if look > done), done)
    names = [cell.name for cell in campaign.cells]
    more = [
        one
        for one in campaigns.rounds(names, seed=campaign.seed, number=until)
        if one.trial > done and one.cell in undecided
    ]
    if more:
        campaigns.extend(folder, more)
    return len(more)


def evaluate(folder: Path) -> tuple[Agreement, ...]:
    """Each profile's media held against the first of them that it has, in the order of the campaign's cells."""
    campaign = read_campaign(folder)
    sides: dict[tuple[str, By], dict[Loop, _Side]] = {}
    for cell in campaign.cells:
        profile, by, loop = _what(cell)
        sides.setdefault((profile, by), {})[loop] = _side(folder, cell)
    return tuple(
        _agreement(campaign, profile, (first, sides[profile, first]), (second, sides[profile, second]))
        for profile, first, second in _pairs(sides)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """A trial that counts: its seed, messages per second, mean latency in seconds, and what its link lost."""

    name: str
    seed: int
    figures: dict[str, float]
    link: LinkProof


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """A cell: its trials that count, by number; run: how many have been finished."""

    trials: dict[int, _Measured] = field(default_factory=dict)
    run: int = 0


def _side(folder: Path, cell: Cell) -> _Side:
    finished = trials_of(folder / cell.name)
    return _Side(trials={trial.number: _measured(trial) for trial in finished if counts(trial)}, run=len(finished))


def _what(cell: Cell) -> tuple[str, By, Loop]:
    """The profile of a cell, what makes its link, and how its load sends."""
    settings = settings_of(cell)
    by = next(by for by, place in PLACES.items() if (place.kernel, place.medium) == (settings.kernel, settings.medium))
    return profile_of(cell).name, by, _load(settings).loop


def _measured(trial: Trial) -> _Measured:
    manifest = trial.manifest()
    figures = {"throughput": _rate(trial, manifest), "latency": manifest.figures.get(_LATENCY)}
    return _Measured(
        name=f"{trial.path.parent.name}/{trial.path.name}",
        seed=manifest.seed,
        figures={name: value for name, value in figures.items() if value is not None},
        link=trial.link(),
    )


def _rate(trial: Trial, manifest: Manifest) -> float | None:
    """Messages per second; None without a ledger, which packs leave out unless they are asked for it."""
    if {f"{name}.parquet" for name in TABLES} & {one.file for one in trial.elsewhere()}:
        return None
    tables = read_tables(trial, manifest)
    ledger = read_ledger(tables["published"], tables["delivered"], manifest.workload.audiences)
    return steady_rate(ledger, manifest.window)


def _pairs(sides: Mapping[tuple[str, By], object]) -> Iterator[tuple[str, By, By]]:
    """Profile, first and second medium."""
    order = list(PLACES)
    for profile in dict.fromkeys(profile for profile, _ in sides):
        first, *others = sorted((by for other, by in sides if other == profile), key=order.index)
        yield from ((profile, first, other) for other in others)


def _agreement(
    campaign: Campaign, profile: str, one: tuple[By, Mapping[Loop, _Side]], other: tuple[By, Mapping[Loop, _Side]]
) -> Agreement:
    (first, firsts), (second, seconds) = one, other
    run = {loop: min(firsts.get(loop, _Side()).run, seconds.get(loop, _Side()).run) for loop in LOOPS}
    both = {loop: _both(firsts.get(loop, _Side()), seconds.get(loop, _Side())) for loop in LOOPS}
    planned = planned_looks(settings_of(campaign.cells[0]).trials.cap)
    return Agreement(
        profile=profile,
        first=first,
        second=second,
        trials=max(run.values()),
        look=sum(look <= max(run.values()) for look in planned),
        looks=len(planned),
        throughput=_quantity("throughput", both["closed"], len(planned)),
        latency=_quantity("latency", both["open"], len(planned)),
        loaded_latency=_quantity("latency", both["closed"], len(planned)),
        losses=_losses([pair for pairs in both.values() for pair in pairs]),
    )


def _both(first: _Side, second: _Side) -> list[tuple[_Measured, _Measured]]:
    """The trials of equal number and seed."""
    pairs = [(first.trials[number], second.trials[number]) for number in sorted(first.trials.keys() & second.trials)]
    return [(one, other) for one, other in pairs if one.seed == other.seed]


def _quantity(name: str, both: Sequence[tuple[_Measured, _Measured]], looked: int) -> Quantity:
    pairs = [
        (one.figures[name], other.figures[name]) for one, other in both if name in one.figures and name in other.figures
    ]
    means = tuple(float(np.mean(side)) for side in zip(*pairs, strict=True))
    return Quantity(means=(means[0], means[1]) if means else None, compared=compared(pairs, looked=looked))


def _losses(both: Sequence[tuple[_Measured, _Measured]]) -> Losses:
    lists, different = 0, []
    for one, other in both:
        mine, theirs = ({each.name: each.sha256 for each in side.link.loss_lists} for side in (one, other))
        names = sorted(mine.keys() | theirs)
        lists += len(names)
        different += [f"{one.name} {name}" for name in names if mine.get(name) != theirs.get(name)]
    passed, lost = ([0, 0], [0, 0])
    for pair in both:
        for side, measured in enumerate(pair):
            for counters in measured.link.counters:
                if counters.during == "trial":
                    passed[side] += sum(each.seen for each in counters.losses)
                    lost[side] += sum(each.dropped for each in counters.losses)
    unlisted = [
        f"{measured.name} {check.direction}"
        for pair in both
        for measured in pair
        for check in measured.link.checks
        if check.quantity in ("loss", "losses") and not check.holds
    ]
    return Losses(
        lists=lists,
        different=tuple(different),
        unlisted=tuple(unlisted),
        passed=(passed[0], passed[1]),
        lost=(lost[0], lost[1]),
    )


def _undecided(campaign: Campaign, found: Sequence[Agreement]) -> frozenset[str]:
    """Names of the cells that an undecided pair needs, in the loop that has what is not decided."""
    wanted = {
        (one.profile, by, loop)
        for one in found
        if one.answer is Answer.UNDECIDED
        for loop, quantity in (("closed", one.throughput), ("open", one.latency))
        if quantity.compared.answer is Answer.UNDECIDED
        for by in (one.first, one.second)
    }
    return frozenset(cell.name for cell in campaign.cells if _what(cell) in wanted)
