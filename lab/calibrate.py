"""`lab calibrate`: what link profiles deliver of what they ask, on each kernel and medium of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from emulation import library
from experiments import calibration
from experiments.agreement import PLACES, PROFILES
from experiments.kernels import NOT_IN_THE_LAB, Kernels
from lab.agreement import Asked, agree
from lab.beforehand import Care, LowDisk, Mix
from lab.common import DEFAULT_RESULTS, ROOT, Results, Status, fail, out, shown, tidy, told
from lab.madeby import made
from lab.within import For
from results.agreement import By
from results.calibration import Calibrated, write_csv

DEFAULT_OUT = ROOT / "build" / "calibration"


def calibrate(
    profiles: Annotated[
        list[str] | None, typer.Argument(help="Link profiles, by name or file; default: the whole library.")
    ] = None,
    kernel: Annotated[str, typer.Option("--kernel", help="host, lab, both, or auto (the first that can).")] = "both",
    medium: Annotated[
        str, typer.Option("--medium", help="On this machine's own kernel: tc, line, both, or auto (as trials have it).")
    ] = "both",
    out_folder: Annotated[
        Path, typer.Option("--out", help="Where the table and the plot go.", file_okay=False)
    ] = DEFAULT_OUT,
    seed: Annotated[int, typer.Option(help="Of the losses.")] = 1,
    agreement: Annotated[
        bool,
        typer.Option("--agreement", help="Compare what a load measures by each medium, instead; by default over six."),
    ] = False,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="With --agreement: line, lab (tc in the lab kernel), host (tc). Default: all."),
    ] = None,
    results: Results = DEFAULT_RESULTS,
    new: Annotated[bool, typer.Option("--new", help="With --agreement: start afresh.")] = False,
    mix: Mix = False,
    low_disk: LowDisk = False,
    duration: For = None,
) -> None:
    """Measure asked against delivered for each PROFILE, both ways, and write a table (CSV, Markdown) and a plot.

    With --agreement, run a load over each PROFILE by each medium, on the same seeds, until throughput and latency are
    equal within 3 %, are not, or the most trials have been run; finished trials are never run again.

    Exit status: 0 all hold; 1 something failed; 2 the command is wrong; 3 some are outside what is tolerated, not
    equal or not decided; 4 the time of --for is up.
    """
    with told():
        if agreement:
            asked = Asked(
                profiles=profiles or PROFILES,
                by=_media(by),
                out_folder=out_folder,
                results=results,
                new=new,
                duration=duration,
                care=Care(mix=mix, room=low_disk),
            )
            tidy(results)
            raise typer.Exit(agree(asked))
        if by or new or duration:
            fail("--by, --new and --for belong to --agreement", Status.USAGE)
        if kernel not in calibration.WANTED:
            fail(f"--kernel: {kernel!r} is not one of {', '.join(calibration.WANTED)}", Status.USAGE)
        if medium not in calibration.MEDIA:
            fail(f"--medium: {medium!r} is not one of {', '.join(calibration.MEDIA)}", Status.USAGE)
        if (kernel, medium) == ("lab", "line"):
            fail(f"--kernel lab --medium line: {NOT_IN_THE_LAB}; leave one of them out", Status.USAGE)
        tidy(DEFAULT_RESULTS)
        loaded = [library.load(name) for name in profiles or library.names()]
        out_folder.mkdir(parents=True, exist_ok=True)
        chosen = Kernels(medium="line" if medium == "line" else "tc" if medium == "tc" else "auto")
        found: list[Calibrated] = []
        log = out_folder / "messages.log"
        with log.open("w") as messages:
            for one in calibration.calibrate(
                loaded, wanted=kernel, medium=medium, kernels=chosen, seed=seed, messages=messages
            ):
                out.print(_line(one), markup=False)
                found.append(one)
        _write(found, out_folder)
        raise typer.Exit(_status(found, log))


def _media(words: Sequence[str] | None) -> tuple[By, ...]:
    """The media to compare, in their order."""
    if unknown := sorted(set(words or ()) - set(PLACES)):
        fail(f"--by: {unknown[0]!r} is not one of {', '.join(PLACES)}", Status.USAGE)
    return tuple(one for one in PLACES if not words or one in words)


def _line(one: Calibrated) -> str:
    start = f"{one.profile:<22} {one.by:<5}"
    if one.refused:
        return f"{start} {'FAILED' if one.failed else 'not here'}: {one.refused}"
    again = f", probed {one.tries} times" if one.tries > 1 else ""
    stall = f"worst stall {one.stall_s * 1e3:.0f} ms"
    which = ", ".join(f"{check.direction} {check.quantity}" for check in one.outside)
    return f"{start} {f'OUTSIDE: {which}' if which else 'holds'}  ({one.seconds:.1f} s{again}, {stall})"


def _write(found: Sequence[Calibrated], folder: Path) -> None:
    from analysis import calibration as report  # noqa: PLC0415 - matplotlib imports slowly; only this needs it
    from analysis.plots.calibration import calibration_plot  # noqa: PLC0415

    order = sorted(found, key=lambda one: (one.profile, one.kernel, one.medium))
    write_csv(folder / "calibration.csv", order)
    plot = calibration_plot(order)
    (folder / "calibration.png").write_bytes(plot.png)
    (folder / "calibration.svg").write_bytes(plot.svg)
    (folder / "calibration.md").write_text(report.page(order, **made(), picture="calibration.png"))
    out.print(report.summary(found))
    out.print(f"table: {shown(folder / 'calibration.md')} and .csv; plot: {shown(folder / 'calibration.png')} and .svg")


def _status(found: Sequence[Calibrated], log: Path) -> Status:
    if any(one.failed for one in found) or all(one.refused for one in found):
        fail(f"not everything could be measured; see above and {shown(log)}", Status.FAILED)
    return Status.NOT_ALL_VALID if any(one.outside for one in found) else Status.ALL_VALID
