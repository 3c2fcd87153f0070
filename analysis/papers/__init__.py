"""A published study against our campaigns of it: row by row, claim by claim, figure by figure."""

from analysis.papers.build import write
from analysis.papers.choice import check, on_other_links
from analysis.papers.paper import Paper, PaperError, read_paper
from analysis.papers.result import PaperResult, hold

__all__ = ["Paper", "PaperError", "PaperResult", "check", "hold", "on_other_links", "read_paper", "write"]
