"""What a command builds when its trials have been run: the time it takes, on the safe side, and how to do it later."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from analysis.extent import Extent
from analysis.reductions.cost import START_S, trials_s
from experiments.trial.observers.diskspace import naming
from lab.common import Status, err, note, out, shown
from records.commands import DURATION
from records.store import trials
from records.times import ReportTime, note_report, report_time
from records.verdict import State
from records.workload import Pattern, words_of

if TYPE_CHECKING:
    from analysis.report.summary import Summary
    from analysis.spark.target import Where


_MOST_DECLARED = 4  # metrics of programs that a terminal has room for
# What captures of a trial are taken for before one has been recorded: of the default experiment the mean is 83 MB.
_UNSEEN_BYTES = 100_000_000
# On top, since a machine with other work takes twice as long; less where a report of the campaign was built before.
_UNSEEN_MARGIN, _MARGIN = 2.5, 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """build: build it, from a campaign's folder.  later: the commands that do so, once no time was left for it.

    study_s: CPU-seconds of a study's page, 0 without one.
    """

    build: Callable[[Path], Status]
    later: Callable[[Path], tuple[str, ...]]
    study_s: float = 0.0

    def run(self, folder: Path) -> Status:
        """Build it and remember how long that took."""
        began = time.monotonic()
        status = self.build(folder)
        if status is not Status.FAILED:
            number, size = recorded(folder)
            seconds = time.monotonic() - began
            study = self.study_s > 0
            note_report(folder, ReportTime(seconds=seconds, trials=number, capture_bytes=size, study=study))
        return status

    def takes_s(self, folder: Path, more: int = 0) -> float:
        """Seconds to build it when so many more trials have ended; 0 when there is no trial to report."""
        number, size = recorded(folder)
        if number + more == 0:
            return 0.0
        mean = size / number if number else _UNSEEN_BYTES
        return expected_s(number + more, round(size + more * mean), study_s=self.study_s, last=report_time(folder))


def recorded(folder: Path) -> tuple[int, int]:
    """How many trials of a campaign are finished, and the bytes of their captures."""
    finished = trials(folder)
    return len(finished), sum(file.stat().st_size for trial in finished for file in trial.path.glob("*.pcap"))


def expected_s(number: int, capture_bytes: int, *, study_s: float, last: ReportTime | None) -> float:
    """Seconds to report so many trials, by our figures, and by how much longer than these the last report took."""
    cost = _cost(number, capture_bytes) + study_s
    if last is None:
        return _UNSEEN_MARGIN * cost
    then = _cost(last.trials, last.capture_bytes) + study_s * last.study
    return _MARGIN * cost * max(last.seconds / then, 1.0)


def _cost(number: int, capture_bytes: int) -> float:
    return START_S + trials_s(number, capture_bytes)


def reporting(*, master: Where = None, by: str | None = None, extent: Extent = Extent.ALL) -> Closing:
    """A campaign's own report.  by: the factor that it compares, None = the campaign's own."""
    return Closing(
        build=partial(build, master=master, by=by, extent=extent), later=lambda folder: (reported_by(folder, extent),)
    )


def reported_by(folder: Path, extent: Extent) -> str:
    """The command that makes a campaign's report."""
    return shlex.join(("lab", "report", shown(folder), *extent.words))


def build(folder: Path, *, master: Where = None, by: str | None = None, extent: Extent = Extent.ALL) -> Status:
    """Build a campaign's report, say what is in it and where it is."""
    from analysis import report  # noqa: PLC0415 - Spark and matplotlib import slowly; only this needs them

    return built(folder, lambda: report.build(folder, master=master, by=by, extent=extent, say=note))


def built(folder: Path, work: Callable[[], Path]) -> Status:
    """Do `work`, which writes a report into `folder` and gives its page; say what is in it and where it is."""
    from analysis import report  # noqa: PLC0415 - as above
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415

    try:
        with naming(folder):
            path = work()
    except (report.NothingToReport, report.ReportBusy, SparkFailed) as error:
        err.print(str(error), style="red")
        return Status.FAILED
    return tell(folder, path)


def tell(folder: Path, page: Path) -> Status:
    """Say what is in a campaign's report, which is at `page`."""
    from analysis import report  # noqa: PLC0415

    summary = report.summary(folder)
    table = Table(box=None, pad_edge=False)
    table.add_column("cell", overflow="fold")
    columns = _columns(summary)
    for heading in ("trials", *columns.values()):
        table.add_column(Text(heading), justify="right")
    for cell in summary.cells:
        states = ", ".join(f"{count} {state}" for state, count in cell.states.items() if count)
        figures = [cell.metrics[name].text if name in cell.metrics else "-" for name in columns]
        table.add_row(Text(" ".join(cell.levels.values()) or cell.name), states, *figures)
        if cell.stopping:
            table.add_row(Text(f"  {cell.stopping}", style="dim"))
    out.print()
    out.print(table)
    out.print()
    for line in filter(None, (summary.verdict, summary.trends, *summary.headlines)):
        out.print(line)
    for line in summary.failed:
        err.print(line, style="yellow")
    out.print(f"report: {shown(page)}")
    others = sum(count for cell in summary.cells for state, count in cell.states.items() if state != State.VALID)
    return Status.NOT_ALL_VALID if others else Status.ALL_VALID


def _columns(summary: Summary) -> dict[str, str]:
    """What a terminal shows of each cell, metric to heading, in the words of its pattern; the report has the rest."""
    used = {"air_utilisation": "medium used"}
    own = dict(list(summary.declared.items())[:_MOST_DECLARED]) | {DURATION: "mean duration"}
    if set(summary.patterns) == {Pattern.COMMAND}:
        return own | used
    words = words_of(summary.patterns)
    sent, received = words.done
    counted = [cell for cell in summary.cells if cell.metrics]
    answered = counted and all("response_p50_s" in cell.metrics for cell in counted)
    timed, what = ("publish_latency_mean_s", words.answer) if answered else ("latency_mean_s", words.latency)
    return {
        **(own if Pattern.COMMAND in summary.patterns else {}),
        "published_per_s": f"{sent}/s",
        "delivered_per_s": f"{received}/s",
        timed: f"mean {what}",
        **used,
    }
