"""What the trial pages of a report would cost more if matplotlib drew them, too, instead of analysis/plots/svg.py.

    python benchmarks/drawing.py CAMPAIGN

CPU-seconds and bytes of the plots on the pages of all trials of CAMPAIGN.  matplotlib draws the same shapes, as SVG
alone.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from analysis.findings import TrialFinding, gather
from analysis.plots.distribution import distribution
from analysis.plots.journeybars import journey_sketch, trial_bars
from analysis.plots.overtime import measured, overtime
from analysis.plots.raster import figure_of
from analysis.plots.sketch import Sketch
from analysis.plots.style import COLOURS
from analysis.plots.svg import svg
from analysis.trial import reduce_trial
from records.campaign import read_campaign
from records.store import trials
from records.words import GENERAL


def sketches(trial: TrialFinding) -> Iterator[Sketch]:
    """Those on a trial's page."""
    if measured(trial):
        yield overtime([trial], title="Over time", note="", colour=COLOURS[0], words=GENERAL)
    if trial.ecdf:
        yield distribution(trial, colour=COLOURS[0], words=GENERAL)
    if trial.journey:
        yield journey_sketch([trial_bars(trial, COLOURS[0])])


def by_matplotlib(sketch: Sketch) -> bytes:
    """The sketch as SVG."""
    data = io.BytesIO()
    figure_of(sketch).savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    return data.getvalue()


def cost(draw: Callable[[Sketch], bytes], found: list[Sketch]) -> tuple[float, int]:
    """CPU-seconds of drawing all of them, the less of two runs, and the bytes of the files."""
    runs, size = [], 0
    for _ in range(2):
        before = time.process_time()
        size = sum(len(draw(sketch)) for sketch in found)
        runs.append(time.process_time() - before)
    return min(runs), size


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaign", type=Path)
    campaign = parser.parse_args().campaign
    finished = trials(campaign)
    rows = pa.Table.from_batches([reduce_trial(one.path, number) for number, one in enumerate(finished)])
    findings = gather(read_campaign(campaign), campaign, finished, rows)
    shown = [trial for cell in findings.cells for trial in cell.trials]
    found = [sketch for trial in shown for sketch in sketches(trial)]
    print(f"{len(found)} plots on the pages of {len(shown)} trials")
    for name, draw in (("analysis/plots/svg.py", svg), ("matplotlib", by_matplotlib)):
        seconds, size = cost(draw, found)
        print(f"{name:<24} {seconds:6.2f} CPU-s, {1e3 * seconds / len(found):6.1f} ms a plot, {size / 1e6:6.2f} MB")


if __name__ == "__main__":
    main()
