"""A module of metrics or plots that cannot be used is named in the report, and takes nothing else with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from synthetic_campaign import Spec, write_campaign

from analysis.report.build import REPORT, TRIALS

ROOT = Path(__file__).parents[2]
PACKAGES = ("analysis", "emulation", "experiments", "lab", "records", "stacks", "topologies")
METRICS = """
from analysis.metric import Metric
METRICS = (
    Metric(name="{name}", label="It", unit="{unit}", better=None, about="it"),
)
def measure(trial):
    return {{}}
"""
PLOTS = "analysis/plots/sections"
FAULTY = {
    "analysis/measures/unit.py": METRICS.format(name="it", unit="ms"),
    "analysis/measures/taken.py": METRICS.format(name="lost", unit="count"),
    "analysis/measures/broken.py": "x = (\n",
    f"{PLOTS}/absent.py": "\nfrom analysis import nowhere\n",
    f"{PLOTS}/broken.py": "x = 1\ny = )\n",
    f"{PLOTS}/untitled.py": "def draw(findings): return []\n",
    f"{PLOTS}/stale.py": """
from dataclasses import replace
from analysis.plots.cells import cells_plot
TITLE = "Stale"
def draw(findings):
    yield cells_plot(findings, "lost")
    yield replace(cells_plot(findings, "loss_share"), name="cells-delivered-per-s")
""",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """What the terminal, the report and a trial's page say where such modules are."""
    tree, results = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("results")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("*.pyc"))
    for name, text in FAULTY.items():
        (tree / name).write_text(text)
    campaign = write_campaign(results, Spec(trials=1, bodies=(100,), guarantees=("nondurable",)))
    done = subprocess.run(
        [sys.executable, "-m", "lab", "report", campaign, "--results", results],
        env=os.environ | {"PYTHONPATH": str(tree), "COLUMNS": "2000"},
        cwd=tree, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Traceback" not in said
    page = sorted((campaign / TRIALS).rglob("*.html"))[0]
    return said, *(file.read_text().replace("&#39;", "'") for file in (campaign / REPORT, page))


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("unit", "unit.py:4: ValueError: metric 'it': unit 'ms' is not one of 1/s, bit/s, s, share, B, count"),
        ("taken", "taken.py: metric 'lost' is declared in analysis/metrics.py already, and needs another name"),
        ("broken", "broken.py:1: SyntaxError: '(' was never closed"),
    ],
)
def test_a_module_of_metrics_that_cannot_be_used_is_named(shown: tuple[str, str, str], what: str, why: str) -> None:
    terminal, report, page = shown
    assert re.search(rf"metrics not measured: {what} in (\d) of \1 trials, such as \S+/1: {re.escape(why)}", terminal)
    assert f"{what}, a module of metrics, failed in" in report
    assert why in page


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("absent", "absent.py:2: ImportError: cannot import name 'nowhere' from 'analysis'"),
        ("broken", "broken.py:2: SyntaxError: unmatched ')'"),
        ("untitled", "untitled.py: has no TITLE; a module there has TITLE and draw"),
    ],
)
def test_a_module_of_plots_that_cannot_be_used_is_named(shown: tuple[str, str, str], title: str, why: str) -> None:
    terminal, report, _ = shown
    assert f"plots not drawn: {title}: {why}" in terminal
    assert re.search(rf"<h3>{title}</h3>\s*<p>Not drawn: {re.escape(why)}", report)


def test_the_plots_of_other_modules_and_those_before_a_clash_of_names_stand(shown: tuple[str, str, str]) -> None:
    terminal, report, _ = shown
    of = dict(re.findall(r"<h3>([^<]*)</h3>(.*?)(?=<h3>|</section>)", report, re.DOTALL))
    assert of["Stale"].count("<figure>") == 2
    assert of["Throughput and link use by cell"].count("<figure>") == 2
    told = "plot 'cells-delivered-per-s', since a plot of the section 'Stale' has that name too"
    assert f"plots not drawn: Throughput and link use by cell: {told}" in terminal
