"""Findings of campaigns that are reduced in this process: Spark gives the same (test_reductions_on_spark.py)."""

from __future__ import annotations

from pathlib import Path

from packs import reduced

from analysis.details import Reduced
from analysis.findings import Findings
from analysis.report.build import found


def findings_of(campaign: Path) -> Findings:
    """What came of a campaign; nothing is kept."""
    return found(campaign, lambda paths: Reduced(rows=reduced(paths)))
