"""One campaign, one world: what would differ between a campaign's finished trials and those that are still to run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from experiments.campaign.linkbound import link_decides
from experiments.campaign.prepare import settings_of
from experiments.trial.context import services
from experiments.trial.provenance import Provenance
from experiments.trial.revision import changed_since
from experiments.workers.place import Place
from experiments.workers.programs import digests, named
from records.campaign import Campaign, Cell
from records.manifest import Git, Machine, Manifest
from records.store import DamagedTrial, Trial
from records.verdict import State
from stacks.folders import found
from stacks.installed import needs

_SERIES = re.compile(r"\d+\.\d+")
_MOST_FILES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """what: of which kind.  before: of so many valid trials.  now: of those still to run."""

    what: str
    before: str
    trials: int
    now: str

    @property
    def text(self) -> str:
        """In one line."""
        return f"{self.what}: {self.before} in {self.trials} trial{'s' * (self.trials != 1)}, now {self.now}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """Where and with what trials would run now.  places: of each cell.  lab_release: of the lab kernel.

    changed: the files that have changed since a revision, see experiments.trial.revision.
    """

    origin: Provenance
    places: Mapping[str, Place]
    lab_release: str
    changed: Callable[[Git], tuple[str, ...] | None] = changed_since


@dataclass(frozen=True, slots=True)
class _Compared:
    """todo: cells with trials to run; elsewhere: those of them that another machine may measure as well."""

    valid: Sequence[Manifest]
    todo: Sequence[Cell]
    elsewhere: frozenset[str]
    now: Now


def differences(
    campaign: Campaign, finished: Sequence[Trial], todo: Collection[str], now: Now
) -> tuple[Difference, ...]:
    """In what the next trials (of cells `todo`) would differ from the valid ones; empty when they may stand together.

    Code, link emulation (own kernel, lab kernel or line), kernel release, versions of the servers and kind of processor
    are compared; what a manifest does not say is passed over.  Cells that the link decides
    (experiments.campaign.linkbound) may have another kind of processor, and another build of the same series of
    kernels.
    """
    cells = {cell.name: cell for cell in campaign.cells}
    wanted = [cells[name] for name in cells if name in todo]
    compared = _Compared(
        valid=[manifest for trial in finished if (manifest := _valid(trial)) is not None],
        todo=wanted,
        elsewhere=frozenset(one.name for one in wanted if link_decides(one, _of(one, finished))),
        now=now,
    )
    if not compared.todo:
        return ()
    parts = (_code, _medium, _kernel, _servers, _processor)
    return tuple(one for part in parts for one in part(compared))


def _of(cell: Cell, finished: Iterable[Trial]) -> list[Trial]:
    return [trial for trial in finished if trial.path.parent.name == cell.name]


def _valid(trial: Trial) -> Manifest | None:
    """What does not count cannot be mixed with anything."""
    with suppress(DamagedTrial):
        if trial.verdict().state is State.VALID:
            return trial.manifest()
    return None


def _counted(what: str, found: Iterable[tuple[str, str]]) -> Iterator[Difference]:
    """A difference for each pair of before and now, with how often it was found."""
    pairs = list(found)
    for before, now in dict.fromkeys(pairs):
        yield Difference(what=what, before=before, trials=pairs.count((before, now)), now=now)


def _code(compared: _Compared) -> Iterator[Difference]:
    here = compared.now.origin.git
    told: dict[Git, str] = {}
    for git in {manifest.git for manifest in compared.valid}:
        files = compared.now.changed(git)
        if files is None:
            told[git] = f"{_revision(here)}, and in which files they differ is not known"
        elif files:
            more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
            told[git] = f"{_revision(here)} (changed: {', '.join(files[:_MOST_FILES])}{more})"
    pairs = [(f"revision {_revision(one.git)}", told[one.git]) for one in compared.valid if one.git in told]
    return _counted("code that runs trials", pairs)


def _revision(git: Git) -> str:
    return git.revision[:12] + (" with uncommitted changes" if git.dirty else "")


def _medium(compared: _Compared) -> Iterator[Difference]:
    """Cell by cell: a campaign may have some on one kernel or medium and some on another."""
    places = compared.now.places
    pairs = [(_place(one), places.get(one.cell.name, _place(one))) for one in compared.valid]
    return _counted("link emulated by", ((before.text, now.text) for before, now in pairs if before != now))


def _place(manifest: Manifest) -> Place:
    """Where a trial's link was; before there was a choice of media, tc made all."""
    return Place(manifest.kernel.chosen, manifest.medium or "tc")


def _kernel(compared: _Compared) -> Iterator[Difference]:
    pairs = []
    for chosen, release in (("host", compared.now.origin.kernel.release), ("lab", compared.now.lab_release)):
        mine = [cell for cell in compared.todo if compared.now.places[cell.name].kernel == chosen]
        if not mine:
            continue
        series_is_enough = all(cell.name in compared.elsewhere for cell in mine)
        before = [one.kernel.release for one in compared.valid if one.kernel.chosen == chosen]
        pairs += [(one, release) for one in before if not _same(one, release, series=series_is_enough)]
    return _counted("kernel", pairs)


def _same(before: str, now: str, *, series: bool) -> bool:
    """series: whether 6.1.0-25 and 6.1.0-28 are the same.  Of the lab kernel only the release is known beforehand."""
    if series:
        return _SERIES.findall(before)[:1] == _SERIES.findall(now)[:1]
    words = min(len(before.split()), len(now.split()))
    return before.split()[:words] == now.split()[:words]


def _servers(compared: _Compared) -> Iterator[Difference]:
    here, by_stack = dict(compared.now.origin.versions), defaultdict[str, set[str]](set)
    for cell in compared.todo:
        settings = settings_of(cell)
        here |= digests(settings.workload)
        by_stack[settings.stack] |= {*_versions(cell), *named(settings.workload)}
    names = set().union(*by_stack.values())
    for name in sorted(names):
        alike = [one for one in compared.valid if name in by_stack.get(one.stack, set()) and name in one.versions]
        pairs = [(one.versions[name], here.get(name, "absent")) for one in alike]
        yield from _counted(name, (pair for pair in pairs if pair[0] != pair[1]))


def _versions(cell: Cell) -> tuple[str, ...]:
    """What the speed of a cell's servers depends on: names in a manifest's versions."""
    settings = settings_of(cell)
    return needs(settings.stack, (service.role for service in services(settings)), found()).names


def _processor(compared: _Compared) -> Iterator[Difference]:
    if all(cell.name in compared.elsewhere for cell in compared.todo):
        return iter(())
    here = compared.now.origin.machine
    pairs = (
        (_kind(one.machine, cores=one.kernel.chosen == "host"), _kind(here, cores=one.kernel.chosen == "host"))
        for one in compared.valid
    )
    return _counted("processor", (pair for pair in pairs if pair[0] != pair[1]))


def _kind(machine: Machine, *, cores: bool) -> str:
    """cores: whether a trial could use all of the machine's; a lab kernel has one."""
    return f"{machine.cpu_model}, {machine.cores} cores" if cores else machine.cpu_model
