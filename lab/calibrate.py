"""`lab calibrate`: what link profiles deliver of what they ask, on each kernel and medium of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from emulation.profile import library
from experiments.tools import calibration
from experiments.tools.agreement import PLACES, PROFILES
from experiments.workers.kernels import NOT_IN_THE_LAB, Kernels
from lab.agreement import Asked, agree
from lab.beforehand import Care
from lab.common import DEFAULT_RESULTS, Status, fail, out, shown, told
from lab.madeby import made
from lab.start import tidy
from records.agreement import By
from records.calibration import Calibrated, write_csv


def calibrate(
    *,
    profiles: list[str] | None,
    kernel: str,
    medium: str,
    out_folder: Path,
    seed: int,
    agreement: bool,
    by: list[str] | None,
    results: Path,
    new: bool,
    mix: bool,
    low_disk: bool,
    duration: str | None,
) -> None:
    """Measure the profiles, or compare the media, and write table and plot."""
    with told():
        if agreement:
            if (kernel, medium, seed) != ("both", "both", 1):
                fail("--kernel, --medium and --seed do not go with --agreement, whose media --by names", Status.USAGE)
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
                out.print(_line(one))
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
