"""`lab calibrate --agreement`: whether a load measures the same by each medium of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from emulation.profile import library
from experiments.campaign import campaign as campaigns
from experiments.scenario.scenario import Scenario
from experiments.tools import agreement
from experiments.tools.agreement import PLACES
from experiments.workers.kernels import Kernels
from lab import execution
from lab.beforehand import Care, look_at_room
from lab.common import Status, fail, gravest, out, shown
from lab.madeby import made
from lab.within import Command, budget
from records.agreement import Agreement, By, write_csv
from records.campaign import read_campaign
from records.equivalence import Answer

_BROKEN_OFF = (Status.FAILED, Status.TIME_IS_UP, Status.INTERRUPTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """profiles: names or files.  by: the media that are compared.  out_folder: for table and scenario."""

    profiles: Sequence[str]
    by: Sequence[By]
    out_folder: Path
    results: Path
    new: bool = False
    duration: str | None = None
    care: Care = field(default_factory=Care)

    def command(self) -> Command:
        """The command that goes on with it."""
        by = [word for one in self.by for word in ("--by", one)] if tuple(self.by) != tuple(PLACES) else []
        places = ["--results", shown(self.results), "--out", shown(self.out_folder)]
        return Command(words=("calibrate", "--agreement", *self.profiles, *by, *places), duration=self.duration)


def agree(asked: Asked) -> Status:
    """Run what is missing until every comparison is decided or the time is up, and write the table.

    0 all media are equal; 1 something failed; 3 some are not, or not decided; 4 the time was up before that.
    """
    limit = budget(asked.duration)
    kernels = Kernels()
    wanted, refused = possible(asked, kernels)
    for (profile, by), why in refused.items():
        out.print(f"{profile:<22} {by}: not here: {why}")
    if not wanted:
        fail("no profile can be had by two media here, so nothing can be compared", Status.FAILED)
    asked.out_folder.mkdir(parents=True, exist_ok=True)
    scenario = agreement.write_scenario(asked.out_folder / "agreement.yaml", wanted)
    folder, care = _folder(scenario, asked)
    status = Status.ALL_VALID
    while campaigns.missing(folder, read_campaign(folder)) or agreement.grow(folder):
        done = execution.execute(folder, kernels, again=asked.command(), closing=None, budget=limit, care=care)
        if done in _BROKEN_OFF:
            status = done
            break
    found = agreement.evaluate(folder)
    for one in found:
        out.print(_line(one))
    _write(found, refused, scenario, asked)
    equal = all(one.answer is Answer.EQUAL for one in found)
    return gravest(status, Status.ALL_VALID if equal else Status.NOT_ALL_VALID)


def possible(asked: Asked, kernels: Kernels) -> tuple[dict[str, list[By]], dict[tuple[str, By], str]]:
    """The media that each profile can be had by, where they are two or more; and why the others cannot be compared."""
    wanted: dict[str, list[By]] = {}
    refused: dict[tuple[str, By], str] = {}
    called: dict[str, str] = {}
    stations = agreement.stations()
    for name in asked.profiles:
        profile = library.load(name)
        if (other := called.setdefault(profile.name, name)) != name:
            fail(f"{other} and {name} are both called {profile.name!r}: give one another name", Status.USAGE)
        whys = {by: agreement.why_not(by, profile, kernels, stations=stations) for by in asked.by}
        refused |= {(profile.name, by): why for by, why in whys.items() if why}
        can = [by for by, why in whys.items() if not why]
        if len(can) > 1:
            wanted[name] = can
        else:
            refused |= {(profile.name, by): "there is nothing to compare it with" for by in can}
    return wanted, refused


def _folder(scenario: Scenario, asked: Asked) -> tuple[Path, Care]:
    """The campaign of this comparison, or a new one that the disk has room for."""
    folder = None if asked.new else agreement.begun(scenario, asked.results)
    if folder is not None:
        out.print(f"taking up {shown(folder)} (--new starts afresh)")
        return folder, asked.care
    if not asked.care.room:
        look_at_room(scenario, asked.results)
    folder = agreement.create(scenario, asked.results)
    out.print(f"campaign {shown(folder)}")
    return folder, replace(asked.care, looked=True)


def _line(one: Agreement) -> str:
    from analysis import agreement as report  # noqa: PLC0415 - what it needs imports slowly

    return report.line(one)


def _write(found: Sequence[Agreement], refused: dict[tuple[str, By], str], scenario: Scenario, asked: Asked) -> None:
    from analysis import agreement as report  # noqa: PLC0415

    page, table = asked.out_folder / "agreement.md", asked.out_folder / "agreement.csv"
    page.write_text(
        report.section(
            found,
            refused,
            looks=agreement.planned_looks(scenario.settings.trials.cap),
            **made(),
        )
    )
    write_csv(table, found)
    out.print(report.summary(found))
    out.print(f"table: {shown(page)} and .csv")
