"""The report of a campaign: `build` writes it, `summary` gives what a terminal shows of it."""

from analysis.report.build import NothingToReport, build
from analysis.report.publish import ReportBusy
from analysis.report.summary import CellSummary, MetricSummary, NoReport, RatioSummary, Summary, TrialSummary, summary

__all__ = [
    "CellSummary",
    "MetricSummary",
    "NoReport",
    "NothingToReport",
    "RatioSummary",
    "ReportBusy",
    "Summary",
    "TrialSummary",
    "build",
    "summary",
]
