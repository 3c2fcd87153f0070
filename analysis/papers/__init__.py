"""A published study against our campaigns of it: row by row, claim by claim, figure by figure.

`analysis.papers.build` writes its page; it is not imported here, since what draws imports slowly.
"""

from analysis.papers.choice import check, on_other_links
from analysis.papers.paper import Paper, PaperError, read_paper
from analysis.papers.result import PaperResult, hold

__all__ = ["Paper", "PaperError", "PaperResult", "check", "hold", "on_other_links", "read_paper"]
