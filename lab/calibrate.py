"""`lab calibrate`: what link profiles deliver of what they ask, on each kernel of this machine."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from emulation import library
from experiments import calibration, provenance
from experiments.kernels import Kernels
from lab.common import DEFAULT_RESULTS, ROOT, Status, fail, out, shown, tidy, told
from results.calibration import Calibrated, write_csv

DEFAULT_OUT = ROOT / "build" / "calibration"


def calibrate(
    profiles: Annotated[
        list[str] | None, typer.Argument(help="Link profiles, by name or file; default: the whole library.")
    ] = None,
    kernel: Annotated[str, typer.Option("--kernel", help="host, lab, both, or auto (the first that can).")] = "both",
    out_folder: Annotated[
        Path, typer.Option("--out", help="Where the table and the plot go.", file_okay=False)
    ] = DEFAULT_OUT,
    seed: Annotated[int, typer.Option(help="Of the losses.")] = 1,
) -> None:
    """Measure asked against delivered for each PROFILE, both ways, and write a table (CSV, Markdown) and a plot.

    Exit status: 0 all hold; 1 something failed; 2 the command is wrong; 3 some are outside what is tolerated.
    """
    with told():
        if kernel not in calibration.WANTED:
            fail(f"--kernel: {kernel!r} is not one of {', '.join(calibration.WANTED)}", Status.USAGE)
        tidy(DEFAULT_RESULTS)
        loaded = [library.load(name) for name in profiles or library.names()]
        out_folder.mkdir(parents=True, exist_ok=True)
        found: list[Calibrated] = []
        log = out_folder / "messages.log"
        with log.open("w") as messages:
            for one in calibration.calibrate(loaded, wanted=kernel, kernels=Kernels(), seed=seed, messages=messages):
                out.print(_line(one), markup=False)
                found.append(one)
        _write(found, out_folder)
        raise typer.Exit(_status(found, log))


def _line(one: Calibrated) -> str:
    start = f"{one.profile:<22} {one.kernel:<5}"
    if one.refused:
        return f"{start} {'FAILED' if one.failed else 'not here'}: {one.refused}"
    again = f", probed {one.tries} times" if one.tries > 1 else ""
    stall = f"worst stall {one.stall_s * 1e3:.0f} ms"
    which = ", ".join(f"{check.direction} {check.quantity}" for check in one.outside)
    return f"{start} {f'OUTSIDE: {which}' if which else 'holds'}  ({one.seconds:.1f} s{again}, {stall})"


def _write(found: Sequence[Calibrated], folder: Path) -> None:
    from analysis import calibration as report  # noqa: PLC0415 - matplotlib imports slowly; only this needs it
    from analysis.plots.calibration import calibration_plot  # noqa: PLC0415

    machine = provenance.gather()
    order = sorted(found, key=lambda one: (one.profile, one.kernel))
    write_csv(folder / "calibration.csv", order)
    plot = calibration_plot(order)
    (folder / "calibration.png").write_bytes(plot.png)
    (folder / "calibration.svg").write_bytes(plot.svg)
    release = machine.kernel.release.split()[0]
    where = f"{machine.machine.cores} cores of an {machine.machine.cpu_model}, Linux {release}"
    page = report.page(
        order,
        command=shlex.join(["lab", *sys.argv[1:]]),
        revision=machine.git.revision[:7] + (" with changes" if machine.git.dirty else ""),
        machine=where,
        picture="calibration.png",
    )
    (folder / "calibration.md").write_text(page)
    out.print(report.summary(found))
    out.print(f"table: {shown(folder / 'calibration.md')} and .csv; plot: {shown(folder / 'calibration.png')} and .svg")


def _status(found: Sequence[Calibrated], log: Path) -> Status:
    if any(one.failed for one in found) or all(one.refused for one in found):
        fail(f"not everything could be measured; see above and {shown(log)}", Status.FAILED)
    return Status.NOT_ALL_VALID if any(one.outside for one in found) else Status.ALL_VALID
